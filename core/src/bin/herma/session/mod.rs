//! `herma session`: a stand-in for an agent's session, to try checkpoints by hand and to drive them
//! in tests. A person types what the agent would do; the tools really write files.
//!
//! `lines` reads what is typed and `tools` does it; `agent` keeps what the agent has beside its files.
//! When a checkpoint is taken the library decides.

mod agent;
mod lines;
mod tools;

use crate::arguments;
use crate::commands::{Answer, Ending, Failure, Herma};
use crate::rollback_pages;
use crate::shell;
use crate::text::{self, Style, Tone};
use herma_core::agent::{CheckpointManager, Conversation, Event, Protected, Tool};
use herma_core::rollback_line::{self, Line, Misread};
use herma_core::{Environment, Outcome};
use lines::{Asked, Lines, Typed};
use std::ffi::OsStr;
use std::io::{self, BufRead, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

/// A session that goes on.
pub struct Session<W> {
    /// The directory that tools start from.
    pub directory: PathBuf,
    /// How long a command of the terminal may take.
    pub limit: Duration,
    /// Where answers go.
    pub output: W,
    style: Style,
    checkpoints: CheckpointManager,
    /// Those of the agents that handed over and wait, each with the name of who went on.
    waiting: Vec<(String, CheckpointManager)>,
    environment: Environment,
    /// How many turns began, so that each has an id of its own.
    begun: u64,
    /// What answers `/rollback`, or why nothing does.
    herma: Result<Herma, Failure>,
    conversation: Conversation,
    /// How many lines did not come to what they asked.
    failures: usize,
}

impl<W: Write> Session<W> {
    /// A session in the current directory of that environment.
    pub fn new(environment: &Environment, style: Style, limit: Duration, output: W) -> Self {
        Session {
            waiting: Vec::new(),
            environment: environment.clone(),
            begun: 0,
            directory: environment.current_directory.clone(),
            limit,
            output,
            style,
            checkpoints: CheckpointManager::configured(environment.clone()),
            herma: Herma::new(environment.clone(), false, style).map(|(herma, _)| herma),
            conversation: Conversation::default(),
            failures: 0,
        }
    }

    /// Does what the lines ask until they end. A prompt is shown where a person types; otherwise
    /// each line is repeated before its answer.
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
            let Some(Typed { text, asked }) = lines.next()? else { break };
            let is_silent = matches!(asked, Ok(Asked::Nothing));
            if !is_typed && !is_silent {
                writeln!(self.output, "> {}", text::line(&text))?;
            }
            match asked {
                Ok(Asked::Exit) => break,
                Ok(asked) => self.answer(asked)?,
                Err(misread) => self.misread("", &text, &misread)?,
            }
            self.tell_trouble()?;
        }
        Ok(self.failures)
    }

    fn greet(&mut self) -> io::Result<()> {
        self.tell_trouble()?;
        if !self.checkpoints.is_enabled() {
            self.notice(
                "no checkpoints are taken before tools run: set \"enabled: true\" below \
                 \"checkpoints:\" in the configuration file",
            )?;
        }
        Ok(())
    }

    /// What went wrong with checkpoints, each kind once; the session goes on.
    fn tell_trouble(&mut self) -> io::Result<()> {
        for trouble in self.checkpoints.trouble() {
            self.notice(&trouble)?;
        }
        Ok(())
    }

    fn notice(&mut self, text: &str) -> io::Result<()> {
        let word = self.style.paint(Tone::Notable, "notice:");
        writeln!(self.output, "{word} {}", text::line(text.as_bytes()))
    }

    fn failed(&mut self, text: &str) -> io::Result<()> {
        self.failures += 1;
        let word = self.style.paint(Tone::Bad, "failed:");
        writeln!(self.output, "{word} {}", text::line(text.as_bytes()))
    }

    fn misread(&mut self, before: &str, line: &[u8], misread: &Misread) -> io::Result<()> {
        self.failures += 1;
        let text = rollback_pages::misread(before, line, misread);
        write!(self.output, "{} {text}", self.style.paint(Tone::Bad, "failed:"))
    }

    fn answer(&mut self, asked: Asked) -> io::Result<()> {
        match asked {
            Asked::Nothing | Asked::Exit => Ok(()),
            Asked::Say(message) => self.say(&message),
            Asked::Agent(asked) => self.agent(&asked),
            Asked::WriteFile { path, content } => self.write_file(&path, &content),
            Asked::Patch(body) => self.patch(&body),
            Asked::Terminal { command, seconds } => self.terminal(&command, seconds),
            Asked::Rollback { before, rest } => self.roll_back(&before, &rest),
            Asked::Log => self.log(),
            Asked::Help => write!(self.output, "{}", lines::HELP),
        }
    }

    fn write_file(&mut self, path: &[u8], content: &[u8]) -> io::Result<()> {
        let path = PathBuf::from(OsStr::from_bytes(path));
        let directory = self.directory.clone();
        let tool = Tool::WriteFile { path: &path, directory: &directory };
        self.protect(&tool)?;
        let shown = text::name(path.as_os_str().as_bytes());
        let written = tools::write_file(&directory.join(&path), content);
        self.checkpoints.after(&tool);
        match written {
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
        self.protect(&tool)?;
        let applied = tools::apply_patch(&directory, body);
        self.checkpoints.after(&tool);
        match applied {
            Ok(done) => done.iter().try_for_each(|one| self.did(one)),
            Err(why) => self.failed(&format!("the patch was not applied: {why}")),
        }
    }

    fn terminal(&mut self, command: &str, seconds: Option<u64>) -> io::Result<()> {
        let directory = self.directory.clone();
        self.happens(&Event::Command(command))?;
        if let Some(seconds) = seconds {
            self.happens(&Event::LongCall { what: command, seconds })?;
        }
        let tool = Tool::Terminal { command, directory: &directory };
        self.protect(&tool)?;
        let mut line = shell::line(command);
        line.current_dir(&directory);
        let ran = shell::run(line, self.limit);
        self.checkpoints.after(&tool);
        match ran {
            Ok(ended) => {
                for line in
                    ended.output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
                {
                    writeln!(self.output, "  | {}", text::line(line))?;
                }
                self.failures += usize::from(!ended.is_good);
                self.did(&format!("ran {command:?}: {}", ended.how))
            }
            Err(error) => self.failed(&format!("{command:?} was not run: {error}")),
        }
    }

    /// Takes the checkpoints that a tool needs, and says which.
    fn protect(&mut self, tool: &Tool<'_>) -> io::Result<()> {
        for Protected { project, taken } in self.checkpoints.before(tool) {
            let Some(taken) = taken else { continue };
            if let Outcome::Created { id } = &taken.outcome {
                let id = id.get(..7).unwrap_or(id);
                let project = text::name(project.as_os_str().as_bytes());
                writeln!(self.output, "  took checkpoint {id} of {project}")?;
            }
            for remark in &taken.skipped {
                writeln!(self.output, "  left out: {}", crate::pages::remarked(remark))?;
            }
        }
        Ok(())
    }

    /// Says what a tool did, and notes it in the conversation.
    fn did(&mut self, what: &str) -> io::Result<()> {
        self.conversation.note(what);
        self.remember_call(what)?;
        writeln!(self.output, "  {}", text::line(what.as_bytes()))
    }

    fn roll_back(&mut self, before: &str, rest: &[u8]) -> io::Result<()> {
        // A whole agent goes back to the most recent where nothing else is said.
        let is_bare = rest.iter().all(u8::is_ascii_whitespace) && self.has_state();
        let rest = if is_bare { b" 1" } else { rest };
        let read = Line::split(rest).and_then(|line| rollback_line::read(&line));
        let asked = match read {
            Err(misread) => return self.misread(before, rest, &misread),
            Ok(asked) if asked.help => return writeln!(self.output, "{}", rollback_line::USAGE),
            Ok(asked) => asked,
        };
        let herma = match &self.herma {
            Ok(herma) => herma,
            Err(failure) => {
                let message = failure.message.clone();
                return self.failed(&message);
            }
        };
        let asked = arguments::Asked::from_line(asked, false);
        let answered = herma.run(&asked);
        let evicted = herma.afterwards(&asked);
        evicted.map_or(Ok(()), |evicted| writeln!(self.output, "{evicted}"))?;
        if !self.has_state() && self.environment.agent_folder().is_dir() {
            // It came back with the files.
            self.find_agent()?;
        }
        match answered {
            Err(failure) => self.failed(&failure.message),
            Ok(Answer { bytes, ending, undoes_turn, turn }) => {
                self.output.write_all(&bytes)?;
                if let Ending::Incomplete(failure) = ending {
                    self.failed(&failure.message)?;
                }
                if !undoes_turn {
                    return Ok(());
                }
                self.checkpoints.rolled_back();
                let (which, undone) = match turn {
                    Some((id, stays)) => ("A", self.conversation.undo_to(&id, stays)),
                    None => ("The last", self.conversation.undo_last().into_iter().collect()),
                };
                for turn in undone {
                    let message = text::line(turn.message.as_bytes());
                    writeln!(
                        self.output,
                        "{which} turn of the conversation was undone: {message}"
                    )?;
                }
                Ok(())
            }
        }
    }

    fn log(&mut self) -> io::Result<()> {
        for (number, turn) in self.conversation.turns().iter().enumerate() {
            writeln!(self.output, "  {}. {}", number + 1, text::line(turn.message.as_bytes()))?;
            for step in &turn.steps {
                writeln!(self.output, "       {}", text::line(step.as_bytes()))?;
            }
        }
        Ok(())
    }
}
