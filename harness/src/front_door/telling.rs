//! Tells an agent a story through its front door, looks at the disk, its list and its requests, and has each compared.

use super::agent::{AgentProcess, DoorCode, DoorError};
use super::disk::{changes, read_files, write_file, write_files};
use super::ledger::{Breach, Ledger, ListMoment};
use super::restores::Preview;
use super::rules;
use super::story::{FileTexts, Story, StoryOperation};
use crate::sandbox::git_alone;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

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
    pub(super) prefix: &'a str,
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
        if self.has("git-project") {
            self.make_repository().map_err(io)?;
        }
        self.open()?;
        self.ledger.listed = self.listing()?;
        for (number, operation) in story.operations.iter().enumerate() {
            let number = number + 1;
            match operation {
                StoryOperation::Say(steps) => self.say(number, steps, true)?,
                StoryOperation::Refuse(steps) => self.say(number, steps, false)?,
                StoryOperation::Preview(choice) => self.preview(number, *choice)?,
                StoryOperation::Restore { to, file } => {
                    self.restore(number, *to, file.as_deref())?
                }
                StoryOperation::RestoreUnknown => self.restore_unknown(number)?,
                StoryOperation::Undo => self.undo(number)?,
                StoryOperation::Resume => self.resume(number)?,
                StoryOperation::SecondProcess => self.second_process(number)?,
                StoryOperation::Compact => self.compact(number)?,
                StoryOperation::Fork => self.fork(number)?,
                StoryOperation::Edit { path, content } => {
                    self.edit(number, path, content.as_deref()).map_err(io)?;
                }
            }
        }
        Ok(())
    }

    /// A person changes a file, or removes it.
    fn edit(&mut self, number: usize, path: &str, content: Option<&str>) -> std::io::Result<()> {
        let did = match content {
            Some(text) => {
                write_file(&self.project, path, text)?;
                format!("edits {path}: {text:?}")
            }
            None => {
                std::fs::remove_file(self.project.join(path))?;
                format!("removes {path}")
            }
        };
        self.log(format!("{number}. a person {did}"));
        self.ledger.add_edit(path, content);
        Ok(())
    }

    fn make_repository(&self) -> std::io::Result<()> {
        let author = ["-c", "user.name=Herma", "-c", "user.email=herma@localhost"];
        let commit = [&author[..], &["commit", "--quiet", "--message=first"]].concat();
        for arguments in [&["init", "--quiet"][..], &["add", "."], &commit] {
            let output = git_alone().current_dir(&self.project).args(arguments).output()?;
            if !output.status.success() {
                return Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr)));
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

    /// Checks a rule.
    pub(super) fn judge(&mut self, rule: &'static str, holds: bool, text: impl FnOnce() -> String) {
        let breach = self.ledger.judge(rule, holds, text);
        self.breach(breach);
    }

    /// Checks a rule which says that the files are still these; returns the files.
    pub(super) fn judge_unchanged(&mut self, rule: &'static str, before: &FileTexts) -> FileTexts {
        let after = self.files();
        self.judge(rule, after == *before, || changes(before, &after).join("; "));
        after
    }

    /// Whether the agent has this capability.
    pub(super) fn has(&self, capability: &str) -> bool {
        self.ledger.capabilities.has(capability)
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
        self.judge_unchanged(rules::LOOKING, &before);
        Ok(result)
    }

    fn listing(&mut self) -> Result<Vec<String>, DoorError> {
        if !self.has("list") {
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

    pub(super) fn rule_of_writes(&self) -> &'static str {
        let proposes = self.has("redo-call");
        if proposes && self.before_restore.is_some() { rules::REDO } else { rules::UNASKED }
    }
}

/// The beginning of a text, on one line.
pub(super) fn shortened(text: &Value) -> String {
    let text = text.as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    text.chars().take(200).collect()
}
