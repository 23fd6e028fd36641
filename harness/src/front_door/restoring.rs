//! The restores of a story: previews, restores, and their undo, carried out and judged.

use super::agent::DoorCode;
use super::disk::{changes, watch};
use super::ledger::ListMoment;
use super::restores::{Preview, SeenRestore};
use super::rules;
use super::story::{CheckpointChoice, FileTexts};
use super::telling::{Stop, Teller, shortened};
use serde_json::json;
use std::thread::sleep;
use std::time::Duration;

/// How long files are watched after a restore.
const SETTLE: Duration = Duration::from_millis(300);
/// An id that no agent has.
const UNKNOWN: &str = "0123456789abcdef0123456789abcdef01234567";

impl Teller<'_> {
    fn chosen(&self, choice: CheckpointChoice) -> Option<String> {
        let CheckpointChoice::Turn(turn) = choice;
        // A user cannot choose what is no longer listed; whether it may go is judged with the list.
        let id = self.ledger.turns.get(turn - 1)?.ids.first();
        id.filter(|id| self.ledger.listed.contains(id)).cloned()
    }

    pub(super) fn preview(&mut self, number: usize, choice: CheckpointChoice) -> Result<(), Stop> {
        let Some(id) = self.chosen(choice) else { return Ok(()) };
        self.log(format!("{number}. the user previews {id}"));
        let mut answer = self.look(|teller| teller.process.ask("preview", json!({ "id": id })))?;
        let files: Option<Vec<String>> =
            serde_json::from_value(answer["files"].take()).unwrap_or_default();
        let count = answer["count"].as_u64().and_then(|count| usize::try_from(count).ok());
        let root = format!("{}/", self.project.display());
        let relative = |path: &String| path.strip_prefix(&root).unwrap_or(path).to_owned();
        let files = files.map(|files| Preview::Files(files.iter().map(relative).collect()));
        // An agent may answer in words that are not compared.
        if let Some(preview) = files.or(count.map(Preview::Count)) {
            self.log(format!("   it names {preview}"));
            self.preview = Some((id, preview));
        }
        Ok(())
    }

    pub(super) fn restore(
        &mut self,
        number: usize,
        choice: CheckpointChoice,
        file: Option<&str>,
    ) -> Result<(), Stop> {
        self.list(ListMoment::Other)?;
        let Some(id) = self.chosen(choice) else {
            self.log(format!("{number}. there is no checkpoint to restore"));
            return Ok(());
        };
        self.log(format!(
            "{number}. the user restores {id}{}",
            file.map_or(String::new(), |file| format!(", only {file}"))
        ));
        let before = self.files();
        let mut request = json!({ "id": id });
        if let Some(file) = file {
            request["file"] = file.into();
        }
        let (answer, seen) = watch(&self.project, || self.process.ask("restore", request));
        let after = self.files();
        for states in seen.windows(2).filter(|_| seen.len() > 2) {
            self.log(format!("   meanwhile: {}", changes(&states[0], &states[1]).join("; ")));
        }
        self.log_changes(&before, &after);
        match answer {
            Ok(mut answer) => {
                self.log(format!("   the agent says: {}", shortened(&answer["said"])));
                self.follow(&mut answer);
                self.ledger.judge(rules::RESTORABLE, true, String::new);
            }
            // A file that a checkpoint should hold is judged by its bytes.
            Err(error) if error.code == DoorCode::Refused && file.is_some() => {
                self.log(format!("   refused: {error}"));
            }
            Err(error) if error.code == DoorCode::Refused => {
                self.judge(rules::RESTORABLE, false, || format!("it was refused: {error}"));
                self.judge_unchanged(rules::REFUSED, &before);
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        let restore = SeenRestore { id: &id, before: &before, seen: &seen, after: &after };
        let preview =
            self.preview.take().filter(|(previewed, _)| *previewed == id && file.is_none());
        let breaches = match file {
            None => self.ledger.judge_restore(&restore),
            Some(file) => self.ledger.judge_file_restore(&restore, file),
        };
        // What was written again is not what the restore did.
        let is_stable =
            breaches.iter().all(|breach| ![rules::UNASKED, rules::REDO].contains(&breach.rule));
        self.breach(breaches);
        if let Some((_, preview)) = preview.filter(|_| is_stable) {
            let breach = self.ledger.judge_preview(&preview, &restore);
            self.breach(breach);
        }
        self.settle(&before, &after);
        let earlier = self.ledger.listed.clone();
        self.ledger.is_list_open = true;
        self.list(ListMoment::Restore(&before))?;
        self.recover(&id, &after, &earlier)
    }

    /// Whether anything writes after a restore.
    fn settle(&mut self, before: &FileTexts, after: &FileTexts) {
        // There is nothing to undo if nothing was changed.
        self.before_restore = Some(before.clone()).filter(|before| before != after);
        sleep(SETTLE);
        self.judge_unchanged(self.rule_of_writes(), after);
    }

    /// Looks for a person's edits that a restore has changed: an undo, or a checkpoint of the restore, has them.
    fn recover(&mut self, id: &str, after: &FileTexts, earlier: &[String]) -> Result<(), Stop> {
        let Some(lost) = self.ledger.lost_edits(id, after) else { return Ok(()) };
        if lost.is_empty() {
            self.judge(rules::PERSON, true, String::new);
            return Ok(());
        }
        let newest = self.ledger.listed.iter().find(|id| !earlier.contains(id)).cloned();
        let way = if self.has("undo") {
            Some(("undo", json!({})))
        } else {
            newest.map(|id| ("restore", json!({ "id": id })))
        };
        let is_tried = way.is_some();
        if let Some((op, request)) = way {
            self.log(format!("   to have a person's edits back: {op} {request}"));
            self.process.ask(op, request)?;
        }
        let files = self.files();
        let is_back = lost.iter().all(|(path, content)| files.get(path) == content.as_ref());
        let way = if is_tried { "and were not brought back" } else { "and nothing holds them" };
        let text = || format!("edits of a person were changed, {way}: {:?}", lost.keys());
        self.judge(rules::PERSON, is_back, text);
        Err(Stop::Enough)
    }

    pub(super) fn restore_unknown(&mut self, number: usize) -> Result<(), Stop> {
        self.log(format!("{number}. the user restores a checkpoint that does not exist"));
        let before = self.files();
        if let Err(error) = self.process.ask("restore", json!({ "id": UNKNOWN })) {
            self.log(format!("   {error}"));
        }
        self.judge_unchanged(rules::REFUSED, &before);
        Ok(())
    }

    pub(super) fn undo(&mut self, number: usize) -> Result<(), Stop> {
        let Some(before) = self.before_restore.take() else { return Ok(()) };
        self.log(format!("{number}. the user undoes the restore"));
        let now = self.files();
        match self.process.ask("undo", json!({})) {
            Ok(_) => {
                let after = self.files();
                self.log_changes(&now, &after);
                let breach = self.ledger.judge_undo(&before, &after);
                self.breach(breach);
            }
            Err(error) if error.code == DoorCode::Refused => {
                self.judge(rules::UNDO, false, || format!("it was refused: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
        self.ledger.is_list_open = true;
        self.list(ListMoment::Restore(&now))?;
        Ok(())
    }
}
