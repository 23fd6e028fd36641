//! Tells an agent a story through its front door, looks at the disk, its list and its requests, and has each compared.

use super::agent::{AgentProcess, DoorCode, DoorError};
use super::disk::{changes, read_files, write_file, write_files};
use super::ledger::{Breach, Ledger, ListMoment};
use super::restores::Preview;
use super::rules;
use super::story::{FileTexts, Story, StoryCall, StoryOperation};
use crate::scripted_model::{Exchange, ModelStep};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a tool may take to write after its turn.
const LATE: Duration = Duration::from_secs(3);

/// What came of a story.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The rules that were broken, each once.
    pub breaches: Vec<Breach>,
    /// How often each rule was checked.
    pub checks: BTreeMap<&'static str, u64>,
    /// How many turns the agent had.
    pub turns: usize,
    /// Why the rest of the story was not judged.
    pub unjudged: Option<String>,
    /// Why there is no verdict at all.
    pub infrastructure: Option<String>,
    /// How many processes the agent left running when it ended; they were killed.
    pub left_running: usize,
    /// What happened, for a reader.
    pub transcript: Vec<String>,
}

impl Told {
    /// Whether this rule was broken.
    pub fn breaks(&self, rule: &str) -> bool {
        self.breaches.iter().any(|breach| breach.rule == rule)
    }
}

/// Why a story ends early.
pub(super) enum Stop {
    Failed(DoorError),
    Unjudged(String),
    /// The agent was taken another way to see whether something is lost.
    Enough,
}

impl From<DoorError> for Stop {
    fn from(error: DoorError) -> Self {
        Stop::Failed(error)
    }
}

/// Tells the story; `prefix` is in the names of no other story's turns.
pub fn tell(process: &mut AgentProcess, story: &Story, prefix: &str) -> Told {
    let ledger = Ledger::new(process.hello().capabilities.clone());
    let project = match process.new_project() {
        Ok(project) => project,
        Err(error) => return Told { infrastructure: Some(error.text), ..Told::default() },
    };
    let mut teller = Teller {
        process,
        project,
        prefix,
        ledger,
        told: Told::default(),
        session: Value::Null,
        preview: None,
        before_restore: None,
    };
    match teller.tell(story) {
        Ok(()) | Err(Stop::Enough) => {}
        Err(Stop::Unjudged(why)) => teller.told.unjudged = Some(why),
        Err(Stop::Failed(DoorError { code, text })) => match code {
            DoorCode::Infrastructure => teller.told.infrastructure = Some(text),
            DoorCode::Refused | DoorCode::Unsupported => teller.told.unjudged = Some(text),
            DoorCode::Agent => teller.breach(Some(Breach { rule: rules::ANSWERS, text })),
        },
    }
    if let Some(why) = teller.told.unjudged.clone() {
        teller.log(format!("not judged further: {why}"));
    }
    teller.ledger.check(rules::ANSWERS);
    let Teller { process, ledger, mut told, .. } = teller;
    told.checks = ledger.checks;
    told.turns = ledger.turns.len();
    let breaches = told.breaches.iter_mut().map(|breach| &mut breach.text);
    let texts = breaches.chain(&mut told.transcript).chain(&mut told.unjudged);
    texts.for_each(|text| *text = process.without_folders(text));
    told
}

/// Carries out a story.
pub(super) struct Teller<'a> {
    pub(super) process: &'a mut AgentProcess,
    pub(super) project: PathBuf,
    prefix: &'a str,
    pub(super) ledger: Ledger,
    pub(super) told: Told,
    pub(super) session: Value,
    /// The checkpoint of a preview, and what it says, if nothing has happened since.
    pub(super) preview: Option<(String, Preview)>,
    /// The files before the last restore, if nothing has happened since.
    pub(super) before_restore: Option<FileTexts>,
}

impl Teller<'_> {
    fn tell(&mut self, story: &Story) -> Result<(), Stop> {
        let io = |error: std::io::Error| Stop::Unjudged(format!("the project: {error}"));
        write_files(&self.project, &story.files).map_err(io)?;
        if self.process.hello().capabilities.has("git-project") {
            self.make_repository().map_err(io)?;
        }
        self.open()?;
        self.ledger.listed = self.listing()?;
        for (number, operation) in story.operations.iter().enumerate() {
            let number = number + 1;
            match operation {
                StoryOperation::Say(steps) => self.say(number, steps)?,
                StoryOperation::Preview(choice) => self.preview(number, *choice)?,
                StoryOperation::Restore { to, file } => {
                    self.restore(number, *to, file.as_deref())?
                }
                StoryOperation::RestoreUnknown => self.restore_unknown(number)?,
                StoryOperation::Undo => self.undo(number)?,
                StoryOperation::Resume => self.resume(number)?,
                StoryOperation::Compact => self.compact(number)?,
                StoryOperation::Fork => self.fork(number)?,
                StoryOperation::Edit { path, content } => {
                    match content {
                        Some(text) => write_file(&self.project, path, text),
                        None => std::fs::remove_file(self.project.join(path)),
                    }
                    .map_err(io)?;
                    let did = content
                        .as_ref()
                        .map_or("removes it".to_owned(), |text| format!("{text:?}"));
                    self.log(format!("{number}. a person edits {path}: {did}"));
                    self.ledger.add_edit(path, content.as_deref());
                }
            }
        }
        Ok(())
    }

    fn make_repository(&self) -> std::io::Result<()> {
        let identity = ["-c", "user.name=Herma", "-c", "user.email=herma@localhost"];
        for words in
            [&["init", "--quiet"][..], &["add", "."], &["commit", "--quiet", "-m", "first"]]
        {
            let mut git = Command::new("git");
            git.args(identity).args(words).current_dir(&self.project).env_clear();
            git.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
            let output = git.env("HOME", &self.project).env("GIT_CONFIG_NOSYSTEM", "1").output()?;
            if !output.status.success() {
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                return Err(std::io::Error::other(format!("git {}: {text}", words[0])));
            }
        }
        Ok(())
    }

    /// Adds a line to the transcript.
    pub(super) fn log(&mut self, line: String) {
        self.told.transcript.push(line);
    }

    pub(super) fn breach(&mut self, breaches: impl IntoIterator<Item = Breach>) {
        for breach in breaches {
            self.log(format!("   BROKEN {}: {}", breach.rule, breach.text));
            if !self.told.breaks(breach.rule) {
                self.told.breaches.push(breach);
            }
        }
    }

    pub(super) fn files(&self) -> FileTexts {
        read_files(&self.project)
    }

    pub(super) fn log_changes(&mut self, before: &FileTexts, after: &FileTexts) {
        let lines = changes(before, after);
        let lines = if lines.is_empty() { vec!["unchanged".to_owned()] } else { lines };
        lines.iter().for_each(|line| self.log(format!("   disk: {line}")));
    }

    /// Does something that only looks.
    pub(super) fn look<T>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, DoorError>,
    ) -> Result<T, DoorError> {
        let before = self.files();
        let result = work(self)?;
        let after = self.files();
        let text = || changes(&before, &after).join("; ");
        let breach = self.ledger.judge(rules::LOOKING, before == after, text);
        self.breach(breach);
        Ok(result)
    }

    fn listing(&mut self) -> Result<Vec<String>, DoorError> {
        if !self.process.hello().capabilities.has("list") {
            return Ok(Vec::new());
        }
        match self.look(|teller| teller.process.list()) {
            // A door that should take checkpoints and refuses to list any has none.
            Err(error) if error.code == DoorCode::Refused => {
                self.log(format!("   the list is refused: {error}"));
                Ok(Vec::new())
            }
            listed => listed,
        }
    }

    /// Reads the list.
    pub(super) fn list(&mut self, moment: ListMoment<'_>) -> Result<(), DoorError> {
        let list = self.listing()?;
        let added = list.iter().filter(|id| !self.ledger.listed.contains(id)).count();
        if !matches!(moment, ListMoment::Other) {
            self.log(format!("   list: {} checkpoints, {added} new", list.len()));
        }
        let breaches = self.ledger.add_list(list, moment);
        self.breach(breaches);
        Ok(())
    }

    /// The model's messages for a turn, and the files before each call and after the last one. A call that is not
    /// possible on these files is left out.
    fn script(&mut self, steps: &[Vec<StoryCall>]) -> Result<Scripted, DoorError> {
        let mut files = self.files();
        let mut scripted = Scripted { states: vec![files.clone()], ..Scripted::default() };
        for step in steps {
            let mut message = ModelStep::default();
            let mut done = Vec::new();
            let at_step = files.clone();
            for call in step {
                let mut after = files.clone();
                if !call.apply(&mut after) {
                    continue;
                }
                let mut spelled = self.process.spell(call, &at_step)?;
                message.tools.extend(spelled.pop());
                scripted.messages.extend(
                    spelled
                        .into_iter()
                        .map(|tool| ModelStep { text: String::new(), tools: vec![tool] }),
                );
                files = after;
                scripted.states.push(files.clone());
                done.push(call.clone());
            }
            if !done.is_empty() {
                scripted.messages.push(message);
                scripted.steps.push(done);
            }
        }
        Ok(scripted)
    }

    fn say(&mut self, number: usize, steps: &[Vec<StoryCall>]) -> Result<(), Stop> {
        let scripted = self.script(steps)?;
        let name = format!("{}t{}e", self.prefix, self.ledger.turns.len() + 1);
        self.log(format!("{number}. the user says: do #{name}"));
        for message in &scripted.messages {
            let tools =
                message.tools.iter().map(|tool| format!("{} {}", tool.name, tool.arguments));
            self.log(format!("   the model calls: {}", tools.collect::<Vec<_>>().join(" and ")));
        }
        self.process.model().add_turn(&name, scripted.messages);
        self.process.model().take_exchanges();
        let before = self.files();
        let mut said =
            self.process.ask("say", json!({ "text": format!("do #{name}"), "approve": true }))?;
        self.follow(&mut said);
        let expected = scripted.states.last().cloned().unwrap_or_default();
        let after = self.await_files(&expected);
        self.log(format!("   the agent says: {}", shortened(&said["said"])));
        self.log_changes(&before, &after);
        let exchanges = self.process.model().take_exchanges();
        let is_first = |exchange: &&Exchange| exchange.selected == Some((name.clone(), 0));
        let Some(request) = exchanges.iter().find(is_first) else {
            return Err(Stop::Unjudged(format!("the agent did not ask its model about #{name}")));
        };
        self.ledger.add_turn(name, scripted.steps.clone(), scripted.states);
        self.judge_turn(&scripted.steps, &expected, &after)?;
        let user_texts = request.user_texts();
        let turns = self.ledger.turns.iter().enumerate();
        let has = |name: &str| user_texts.iter().any(|text| text.contains(name));
        let sent =
            turns.filter(|(_, turn)| has(&turn.name)).map(|(index, _)| (index + 1).to_string());
        let sent: Vec<String> = sent.collect();
        self.log(format!("   the request contains the turns {}", sent.join(", ")));
        let breaches = self.ledger.judge_request(&user_texts);
        self.breach(breaches);
        self.preview = None;
        self.before_restore = None;
        self.list(ListMoment::Turn)?;
        Ok(())
    }

    /// Compares the files after a turn with what its tools write.
    fn judge_turn(
        &mut self,
        steps: &[Vec<StoryCall>],
        expected: &FileTexts,
        after: &FileTexts,
    ) -> Result<(), Stop> {
        let of_turn: BTreeSet<&str> = steps.iter().flatten().flat_map(StoryCall::paths).collect();
        let wrong = changes(expected, after);
        let paths = expected.keys().chain(after.keys());
        let mut wrong_paths = paths.filter(|path| expected.get(*path) != after.get(*path));
        if wrong_paths.any(|path| of_turn.contains(path.as_str())) {
            let why = format!("the agent did not do as it was told: {}", wrong.join("; "));
            return Err(Stop::Unjudged(why));
        }
        let is_after_restore = self.before_restore.is_some();
        if steps.is_empty() || is_after_restore || !wrong.is_empty() {
            let breach =
                self.ledger.judge(self.rule_of_writes(), wrong.is_empty(), || wrong.join("; "));
            self.breach(breach);
        }
        Ok(())
    }

    pub(super) fn rule_of_writes(&self) -> &'static str {
        let proposes = self.process.hello().capabilities.has("redo-call");
        if proposes && self.before_restore.is_some() { rules::REDO } else { rules::UNASKED }
    }

    /// The files, once they are as expected or a tool cannot still be running.
    fn await_files(&self, expected: &FileTexts) -> FileTexts {
        let started = Instant::now();
        loop {
            let files = self.files();
            if files == *expected || started.elapsed() > LATE {
                return files;
            }
            sleep(Duration::from_millis(20));
        }
    }
}

/// A turn for the model.
#[derive(Default)]
struct Scripted {
    messages: Vec<ModelStep>,
    states: Vec<FileTexts>,
    /// The calls that are possible.
    steps: Vec<Vec<StoryCall>>,
}

/// The beginning of a text, on one line.
pub(super) fn shortened(text: &Value) -> String {
    let text = text.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(200).collect()
}
