//! What a restore, its preview and its undo are expected to do to files and to the conversation.

use super::ledger::{Breach, Holding, Ledger, Presence, TurnEntry};
use super::rules;
use super::story::FileTexts;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A restore, as it was seen.
pub struct SeenRestore<'a> {
    /// The checkpoint.
    pub id: &'a str,
    /// The files before it, while it ran, and after it.
    pub before: &'a FileTexts,
    pub seen: &'a [FileTexts],
    pub after: &'a FileTexts,
}

/// What a preview says.
#[derive(Clone, Debug)]
pub enum Preview {
    /// These files.
    Files(BTreeSet<String>),
    /// So many files.
    Count(usize),
}

impl fmt::Display for Preview {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Preview::Files(files) => write!(out, "{files:?}"),
            Preview::Count(count) => write!(out, "{count} files"),
        }
    }
}

impl Ledger {
    /// Judges a restore of all files.
    pub fn judge_restore(&mut self, restore: &SeenRestore<'_>) -> Vec<Breach> {
        let Some(holding) = self.holdings.get(restore.id).cloned() else {
            self.set_presence(0, Presence::Open);
            return Vec::new();
        };
        let SeenRestore { before, seen, after, .. } = restore;
        let wrong_in = |files: &FileTexts| {
            let each = holding.files.iter().map(|held| self.wrong(held, files, holding.edits));
            each.min_by_key(Vec::len).unwrap_or_default()
        };
        let wrong = wrong_in(after);
        let was_right = seen.iter().any(|files| wrong_in(files).is_empty());
        let is_created = |path: &&String| {
            let is_held = holding.files.iter().any(|held| held.contains_key(*path));
            !is_held && before.get(*path) == after.get(*path)
        };
        let created: Vec<&String> = wrong.iter().filter(is_created).collect();
        let rest: Vec<&String> = wrong.iter().filter(|path| !is_created(path)).collect();
        let is_later = self.later_states(&holding).any(|files| {
            // A file that was not brought back is no late snapshot: all files have to be those of that moment.
            self.wrong(files, after, holding.edits).is_empty()
        });
        let proposes = self.capabilities.has("redo-call");
        let mut breaches = Vec::new();
        let rule = match () {
            () if proposes && (was_right || is_later) && !wrong.is_empty() => Some(rules::REDO),
            () if was_right && !wrong.is_empty() => Some(rules::UNASKED),
            () if rest.is_empty() => None,
            () if is_later && holding.is_start => Some(self.rule_of(rules::BEFORE_CHANGE, &rest)),
            () => Some(self.rule_of(rules::BYTES, &rest)),
        };
        let is_start = holding.is_start.then_some(rules::BEFORE_CHANGE);
        let is_proposed = proposes.then_some(rules::REDO);
        let has_delegated = (!self.of_sub_agent.is_empty()).then_some(rules::SUB_AGENT);
        let checked = [Some(rules::BYTES), is_start, is_proposed, has_delegated];
        checked.into_iter().flatten().for_each(|rule| self.check(rule));
        let is_wrong_again = matches!(rule, Some(rules::REDO | rules::UNASKED));
        breaches.extend(rule.map(|rule| {
            let paths = if is_wrong_again { wrong.iter().collect() } else { rest };
            Breach { rule, text: describe(&paths, &holding.files, after) }
        }));
        if !self.capabilities.has("keeps-created") && !is_wrong_again {
            let text = || format!("created after the checkpoint, and still there: {created:?}");
            let rule = self.rule_of(rules::CREATED, &created);
            breaches.extend(self.judge(rule, created.is_empty(), text));
        }
        self.undo_turns(&holding, rule.is_none());
        self.is_resumed = false;
        self.last_restore_of_file = Some(false);
        breaches
    }

    /// The files after each change of the checkpoint's turn.
    fn later_states(&self, holding: &Holding) -> impl Iterator<Item = &FileTexts> {
        let turn = holding.turn.and_then(|turn| self.turns.get(turn));
        turn.into_iter().flat_map(|turn| turn.states.iter().skip(1))
    }

    /// A restore undoes the turns from that of its checkpoint, or the last turn alone, if the files show it.
    fn undo_turns(&mut self, holding: &Holding, is_restored: bool) {
        let Some(first) = holding.turn else { return self.set_presence(0, Presence::Open) };
        let last = self.turns.iter().rposition(|turn| turn.presence != Presence::Undone);
        let kept = last.filter(|last| self.turns[*last].presence == Presence::Kept);
        self.set_presence(first, Presence::Open);
        let is_partial = !holding.is_start || self.capabilities.has("redo-call");
        if is_restored && self.capabilities.has("conversation") {
            self.set_presence(first + usize::from(is_partial), Presence::Undone);
        }
        if let Some(last) = kept.filter(|_| self.capabilities.has("undoes-last-turn")) {
            self.turns[last].presence = Presence::Undone;
        }
    }

    fn set_presence(&mut self, first: usize, presence: Presence) {
        self.turns.iter_mut().skip(first).for_each(|turn| turn.presence = presence);
    }

    /// Judges a restore of one file.
    pub fn judge_file_restore(&mut self, restore: &SeenRestore<'_>, file: &str) -> Vec<Breach> {
        let SeenRestore { before, after, id, .. } = restore;
        let others: Vec<String> = {
            let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            let differs = |path: &&String| *path != file && before.get(*path) != after.get(*path);
            paths.into_iter().filter(differs).cloned().collect()
        };
        let text = || format!("other files that changed: {others:?}");
        let mut breaches = Vec::new();
        breaches.extend(self.judge(rules::ONE_FILE, others.is_empty(), text));
        if let Some(holding) = self.holdings.get(*id).cloned() {
            let is_wrong = |held: &FileTexts| {
                self.wrong(held, after, holding.edits).iter().any(|path| path == file)
            };
            let is_right = !holding.files.iter().all(is_wrong);
            let paths = [&file.to_owned()];
            let text = || describe(&paths, &holding.files, after);
            let is_as_after = |files: &FileTexts| files.get(file) == after.get(file);
            let is_late = self.later_states(&holding).any(is_as_after) && holding.is_start;
            let rule = if is_late && !is_right { rules::BEFORE_CHANGE } else { rules::BYTES };
            breaches.extend(self.judge(rule, is_right, text));
        }
        self.is_resumed = false;
        self.last_restore_of_file = Some(true);
        breaches
    }

    /// Compares a preview with the files that its restore has changed.
    pub fn judge_preview(
        &mut self,
        preview: &Preview,
        restore: &SeenRestore<'_>,
    ) -> Option<Breach> {
        let differs = |path: &&String| restore.before.get(*path) != restore.after.get(*path);
        let paths = restore.before.keys().chain(restore.after.keys());
        let judged = |path: &&String| !self.uncovered.contains(*path);
        let changed: BTreeSet<&String> = paths.filter(differs).filter(judged).collect();
        let holding = self.holdings.get(restore.id);
        let is_held = |path: &&String| {
            holding.is_none_or(|holding| holding.files.iter().any(|held| held.contains_key(*path)))
        };
        let keeps_created = self.capabilities.has("keeps-created");
        let is_right = match preview {
            Preview::Files(files) => {
                // Such a preview may show a created file as a difference.
                let files = files.iter().filter(judged);
                let files = files.filter(|path| !keeps_created || is_held(path));
                files.collect::<BTreeSet<_>>() == changed
            }
            // It may count files that are not judged.
            Preview::Count(_) if !self.uncovered.is_empty() => return None,
            Preview::Count(count) => *count == changed.len(),
        };
        let text = format!("the preview names {preview}, the restore changed {changed:?}");
        self.judge(rules::PREVIEW, is_right, || text)
    }

    /// The files of a person alone that a restore of this checkpoint has changed; `None` if there was no such edit.
    pub fn lost_edits(
        &self,
        id: &str,
        after: &FileTexts,
    ) -> Option<BTreeMap<String, Option<String>>> {
        let seen = self.holdings.get(id).map_or(0, |holding| holding.edits);
        let since = self.edits.iter().skip(seen);
        let of_person = since.filter(|(path, _)| !self.of_agent.contains(path));
        let edits: BTreeMap<_, _> = of_person.cloned().collect();
        if edits.is_empty() {
            return None;
        }
        let is_lost =
            |(path, content): &(String, Option<String>)| after.get(path) != content.as_ref();
        Some(edits.into_iter().filter(is_lost).collect())
    }

    /// Judges the undo of a restore before which the files were `before`.
    pub fn judge_undo(&mut self, before: &FileTexts, after: &FileTexts) -> Option<Breach> {
        let wrong = self.wrong(before, after, usize::MAX);
        let paths: Vec<&String> = wrong.iter().collect();
        let text = || describe(&paths, std::slice::from_ref(before), after);
        let is_undone = |turn: &&mut TurnEntry| turn.presence == Presence::Undone;
        self.turns.iter_mut().filter(is_undone).for_each(|turn| turn.presence = Presence::Open);
        self.judge(rules::UNDO, wrong.is_empty(), text)
    }
}

/// What files should have been, and are.
fn describe(paths: &[&String], held: &[FileTexts], found: &FileTexts) -> String {
    let shown = |files: &FileTexts, path: &String| {
        files.get(path).map_or_else(|| "no file".to_owned(), |text| format!("{text:?}"))
    };
    let each = paths.iter().map(|path| {
        let expected = held.first().map_or_else(String::new, |files| shown(files, path));
        format!("{path} is {}, expected {expected}", shown(found, path))
    });
    each.collect::<Vec<_>>().join("; ")
}
