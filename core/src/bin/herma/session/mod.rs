//! `herma session`: a stand-in for an agent's session, to try checkpoints manually and to drive them
//! in tests. The user types what the agent would do; the tools really write files.
//!
//! `lines` parses the input and `tools` changes files; `agent` keeps the agent's state in addition to
//! its files; with `rollback` the conversation follows the files; `scratch` runs all of it in a temporary
//! project. The library decides when a checkpoint is taken.

mod agent;
mod lines;
mod rollback;
mod scratch;
mod tools;

use crate::commands::{Failure, Herma};
use crate::pages::{self, remarked};
use crate::rollback_pages;
use crate::shell;
use crate::text::{self, Style, Tone, short_id};
use herma_core::agent::{CheckpointManager, Conversation, Event, Protected, Tool};
use herma_core::rollback_line::SyntaxError;
use herma_core::{Environment, Outcome};
use lines::{Lines, ParsedLine, SessionCommand};
use rollback::Steps;
use scratch::Scratch;
use std::ffi::OsStr;
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// The text of the command `help`.
const HELP: &str = "\
say WORDS                  a message to the agent, which begins a turn
write_file PATH TEXT       a file tool: writes a file that contains the text and a line end
write_file PATH <<END      the same with the following lines, up to a line END
patch <<END                a file tool: applies the patch in the following lines, up to a line END
terminal COMMAND           runs a shell command in the directory of the session
slow SECONDS COMMAND       the same, and the agent expects it to take so long
/rollback …                as on the command line: /rollback, /rollback diff 1, /rollback 1,
                           /rollback undo; the conversation goes with the files
/checkpoint LABEL          takes a checkpoint with this label, and pins it
/unpin N                   unpins a checkpoint, so that the limits may remove it
log                        shows the conversation
compact                    replaces the turns of the conversation by a single turn

The agent's state. Each of these adds to it, and then checkpoints contain it; /rollback alone
restores the newest checkpoint, files and state:
card ID STATE TITLE        adds a card to the board, or moves it to another state
goal TEXT                  sets the goal of the agent
progress NUMBER            sets the progress of the goal, from 0 to 1
remember TEXT              adds a memory, which becomes the newest in the index
outside KIND ID            records an external action: outside github.pr.opened 1234
outside KIND to RECIPIENT  records a sent message: outside slack.message.sent to '#eng'
register KIND COMMAND      sets the shell command that undoes such actions; it can use $HERMA_ID
/rollback-actions          undoes the actions that rollbacks left behind; --again retries failures
/accept-external           accepts the actions that rollbacks left behind
actions                    lists the external actions; audit: who decided what, and when
hand_off NAME              a sub-agent takes over; back: its parent continues
explain COMMAND            tells whether a checkpoint would be taken before a command, and why
scratch                    as the first line: the session runs in a temporary project with its own
                           store, with automatic checkpoints, and leaves nothing behind
help                       shows this help
exit                       ends the session; written files stay

Quote names that contain spaces: write_file 'my file.txt' \"some text\". Lines that begin with # are skipped.
";

/// A running session.
pub struct Session<W> {
    /// The directory that tools start from.
    pub directory: PathBuf,
    /// How long a command of the terminal may take.
    pub limit: Duration,
    /// Where answers go.
    pub output: W,
    style: Style,
    checkpoints: CheckpointManager,
    /// The checkpoint managers of agents that handed over and wait, each with the name of the sub-agent
    /// that took over.
    waiting: Vec<(String, CheckpointManager)>,
    environment: Environment,
    /// How many turns have begun, so that each has an id of its own.
    turns_begun: u64,
    /// What executes `/rollback`, or why nothing can.
    herma: Result<Herma, Failure>,
    conversation: Conversation,
    /// What rollbacks undid of it.
    steps: Steps,
    /// How many lines failed.
    failures: usize,
    /// The temporary project of the session, if it has one.
    scratch: Option<Scratch>,
}

impl<W: Write> Session<W> {
    /// A session in the current directory of an environment.
    pub fn new(environment: &Environment, style: Style, limit: Duration, output: W) -> Self {
        Session {
            waiting: Vec::new(),
            environment: environment.clone(),
            turns_begun: 0,
            directory: environment.current_directory.clone(),
            limit,
            output,
            style,
            checkpoints: CheckpointManager::configured(environment.clone()),
            herma: Herma::new(environment.clone(), false, style),
            conversation: Conversation::default(),
            steps: Steps::default(),
            failures: 0,
            scratch: None,
        }
    }

    /// Executes the lines until they end, and returns how many failed. A prompt is shown where a user
    /// types; otherwise each line is repeated before its answer.
    ///
    /// # Errors
    /// Input that cannot be read, output that cannot be written.
    pub fn run(&mut self, input: impl BufRead, is_typed: bool) -> io::Result<usize> {
        self.greet()?;
        self.find_agent()?;
        let mut lines = Lines::new(input);
        loop {
            if is_typed {
                write!(self.output, "> ")?;
                self.output.flush()?;
            }
            let Some(ParsedLine { text, command }) = lines.next()? else { break };
            let is_silent = matches!(command, Ok(SessionCommand::Nothing));
            if !is_typed && !is_silent {
                writeln!(self.output, "> {}", text::line(&text))?;
            }
            match command {
                Ok(SessionCommand::Exit) => break,
                Ok(SessionCommand::Scratch) if !self.enter_scratch()? => break,
                Ok(command) => self.execute(command)?,
                Err(misread) => self.misread("", &text, &misread)?,
            }
            self.report_trouble()?;
        }
        Ok(self.failures)
    }

    fn greet(&mut self) -> io::Result<()> {
        self.report_trouble()?;
        if !self.checkpoints.is_enabled() {
            self.notice(
                "automatic checkpoints are off: to take one before tools run, write \"enabled: true\" \
                 below \"checkpoints:\" in the configuration file",
            )?;
        }
        Ok(())
    }

    /// Prints what went wrong with checkpoints, each kind once; the session goes on.
    fn report_trouble(&mut self) -> io::Result<()> {
        self.checkpoints.trouble().iter().try_for_each(|trouble| self.notice(trouble))
    }

    fn notice(&mut self, text: &str) -> io::Result<()> {
        let word = self.style.paint(Tone::Notable, "notice:");
        writeln!(self.output, "{word} {}", text::line(text))
    }

    fn failed(&mut self, text: &str) -> io::Result<()> {
        self.failures += 1;
        let word = self.style.paint(Tone::Bad, "failed:");
        writeln!(self.output, "{word} {}", text::line(text))
    }

    fn misread(&mut self, before: &str, words: &[u8], misread: &SyntaxError) -> io::Result<()> {
        self.failures += 1;
        let text = rollback_pages::misread(before, words, misread);
        write!(self.output, "{} {text}", self.style.paint(Tone::Bad, "failed:"))
    }

    /// What `herma` answers; a failure is printed.
    fn ask<T>(
        &mut self,
        request: impl FnOnce(&Herma) -> Result<T, Failure>,
    ) -> io::Result<Option<T>> {
        let answer = match &self.herma {
            Ok(herma) => request(herma),
            Err(failure) => Err(failure.clone()),
        };
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(failure) => self.failed(&failure.message).map(|()| None),
        }
    }

    fn execute(&mut self, command: SessionCommand) -> io::Result<()> {
        match command {
            SessionCommand::Nothing | SessionCommand::Scratch | SessionCommand::Exit => Ok(()),
            SessionCommand::Say(message) => self.say(&message),
            SessionCommand::Agent(command) => self.agent(&command),
            SessionCommand::WriteFile { path, content } => self.write_file(&path, &content),
            SessionCommand::Patch(body) => self.patch(&body),
            SessionCommand::Terminal { command, seconds } => self.terminal(&command, seconds),
            SessionCommand::Rollback { before, rest } => self.roll_back(&before, &rest),
            SessionCommand::Log => self.log(),
            SessionCommand::Compact => {
                let turns = text::count(self.conversation.turns().len(), "turn", "turns");
                self.conversation.compact("earlier conversation");
                self.print(&format!("{turns} compacted into one"))
            }
            SessionCommand::Explain(command) => {
                let decision = self.checkpoints.explain(&Event::Command(&command));
                let would = if decision.trigger.is_some() { "would" } else { "would not" };
                self.print(&format!("{would} take a checkpoint: {}", decision.why))
            }
            SessionCommand::Help => write!(self.output, "{}", HELP),
        }
    }

    fn write_file(&mut self, path: &[u8], content: &[u8]) -> io::Result<()> {
        let path = PathBuf::from(OsStr::from_bytes(path));
        let directory = self.directory.clone();
        let tool = Tool::WriteFile { path: &path, directory: &directory };
        let shown = pages::directory(&path);
        match self.use_tool(&tool, || tools::write_file(&directory.join(&path), content))? {
            Ok(()) => {
                let bytes = text::count(content.len(), "byte", "bytes");
                self.did(&format!("wrote {bytes} to {shown}"))
            }
            Err(error) => self.failed(&format!("{shown} was not written: {error}")),
        }
    }

    fn patch(&mut self, body: &[u8]) -> io::Result<()> {
        let directory = self.directory.clone();
        let tool = Tool::Patch { body, directory: &directory };
        match self.use_tool(&tool, || tools::apply_patch(&directory, body))? {
            Ok(done) => done.iter().try_for_each(|step| self.did(step)),
            Err(why) => self.failed(&format!("the patch was not applied: {why}")),
        }
    }

    fn terminal(&mut self, command: &str, seconds: Option<u64>) -> io::Result<()> {
        let directory = self.directory.clone();
        self.report_event(&Event::Command(command))?;
        if let Some(seconds) = seconds {
            self.report_event(&Event::LongCall { what: command, seconds })?;
        }
        let tool = Tool::Terminal { command, directory: &directory };
        let mut line = shell::line(command);
        line.current_dir(&directory);
        let limit = self.limit;
        match self.use_tool(&tool, || shell::run(line, limit))? {
            Ok(finished) => {
                for line in
                    finished.output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
                {
                    writeln!(self.output, "  | {}", text::line(line))?;
                }
                self.failures += usize::from(!finished.is_success);
                self.did(&format!("ran {command:?}: {}", finished.status))
            }
            Err(error) => self.failed(&format!("{command:?} was not run: {error}")),
        }
    }

    /// Runs a tool after the checkpoints that it needs.
    fn use_tool<T>(&mut self, tool: &Tool<'_>, work: impl FnOnce() -> T) -> io::Result<T> {
        self.protect(tool)?;
        let done = work();
        self.checkpoints.after(tool);
        Ok(done)
    }

    /// Takes the checkpoints that a tool needs, and prints them.
    fn protect(&mut self, tool: &Tool<'_>) -> io::Result<()> {
        for Protected { project, taken } in self.checkpoints.before(tool) {
            let Some(taken) = taken else { continue };
            if let Outcome::Created { id } = &taken.outcome {
                self.took(id, false);
                let project = pages::directory(&project);
                writeln!(self.output, "  took checkpoint {} of {project}", short_id(id))?;
            }
            for remark in &taken.skipped {
                writeln!(self.output, "  left out: {}", remarked(remark))?;
            }
        }
        Ok(())
    }

    /// Prints what a tool did, and records it in the conversation.
    fn did(&mut self, step: &str) -> io::Result<()> {
        self.conversation.note(step);
        self.remember_call(step)?;
        self.print(step)
    }

    fn log(&mut self) -> io::Result<()> {
        for (number, turn) in self.conversation.turns().iter().enumerate() {
            writeln!(self.output, "  {}. {}", number + 1, text::line(&turn.message))?;
            for step in &turn.steps {
                writeln!(self.output, "       {}", text::line(step))?;
            }
        }
        Ok(())
    }
}
