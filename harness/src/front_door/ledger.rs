//! What is known about an agent's checkpoints and conversation while a story is told, and what is expected from that.
//!
//! It is pure: `telling` observes, this compares. A difference that the agent's documentation announces is not a
//! breach: files that its checkpoints do not cover are not judged, and a person's edit may survive a restore.

use super::agent::DoorCapabilities;
use super::rules;
use super::story::{FileTexts, StoryCall};
use std::collections::{BTreeMap, BTreeSet};

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Its id.
    pub rule: &'static str,
    /// What was seen.
    pub text: String,
}

/// Whether the next request contains a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// No restore has undone it.
    Kept,
    /// A restore has undone it.
    Undone,
    /// Either is right, such as for a turn that is undone in part.
    Open,
}

/// A turn.
#[derive(Clone, Debug)]
pub struct TurnEntry {
    /// Its marker in the text of the user.
    pub name: String,
    /// The files before each of its calls, and after the last one.
    pub states: Vec<FileTexts>,
    /// Its calls, by message.
    pub steps: Vec<Vec<StoryCall>>,
    /// Whether the next request contains it.
    pub presence: Presence,
    /// Its checkpoints, oldest first.
    pub ids: Vec<String>,
}

/// What a checkpoint holds.
#[derive(Clone, Debug)]
pub(super) struct Holding {
    /// The files, one of these.
    pub(super) files: Vec<FileTexts>,
    /// The index of its turn; a checkpoint that a restore takes has none.
    pub(super) turn: Option<usize>,
    /// Whether it is from before the first change of its turn.
    pub(super) is_start: bool,
    /// How many edits of a person it has seen.
    pub(super) edits: usize,
}

/// When a list was seen.
#[derive(Clone, Copy, Debug)]
pub enum ListMoment<'a> {
    /// After a turn: new entries are its checkpoints.
    Turn,
    /// After a restore before which the files were these: new entries hold them.
    Restore(&'a FileTexts),
    /// After the conversation was compacted.
    Compaction,
    /// After a second process of the agent.
    SecondProcess,
    /// In a fork, whose checkpoints may have other ids.
    Fork,
    /// At any other moment.
    Other,
}

/// What is known.
#[derive(Debug, Default)]
pub struct Ledger {
    pub(super) capabilities: DoorCapabilities,
    /// Every turn so far.
    pub turns: Vec<TurnEntry>,
    pub(super) holdings: BTreeMap<String, Holding>,
    /// The list of the agent as it was last seen, newest first.
    pub listed: Vec<String>,
    /// Whether a restore may have changed the list since.
    pub is_list_open: bool,
    /// Files that checkpoints are not documented to cover.
    pub(super) uncovered: BTreeSet<String>,
    /// Files that the agent has changed.
    pub(super) of_agent: BTreeSet<String>,
    /// Files that were last changed by a sub-agent.
    pub(super) of_sub_agent: BTreeSet<String>,
    /// What a person changed, in order.
    pub(super) edits: Vec<(String, Option<String>)>,
    /// How often each rule was checked.
    pub checks: BTreeMap<&'static str, u64>,
    /// Whether the session was resumed since the last restore, or at all if there was none.
    pub is_resumed: bool,
    /// Whether the next request is the first of a fork.
    pub is_forked: bool,
    /// Whether the last restore was of one file; `None` if there was none.
    pub(super) last_restore_of_file: Option<bool>,
}

impl Ledger {
    /// Nothing has happened yet.
    pub fn new(capabilities: DoorCapabilities) -> Self {
        Ledger { capabilities, ..Ledger::default() }
    }

    pub(super) fn check(&mut self, rule: &'static str) {
        *self.checks.entry(rule).or_default() += 1;
    }

    /// Checks a rule.
    pub fn judge(
        &mut self,
        rule: &'static str,
        holds: bool,
        text: impl FnOnce() -> String,
    ) -> Option<Breach> {
        self.check(rule);
        (!holds).then(|| Breach { rule, text: text() })
    }

    /// The files that differ and are judged; what a person wrote since the first `edits` edits may have survived.
    pub(super) fn wrong(
        &self,
        expected: &FileTexts,
        found: &FileTexts,
        edits: usize,
    ) -> Vec<String> {
        let paths: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
        let is_edit = |path: &String| {
            let mut last = self.edits.iter().skip(edits).rev();
            let last = last.find(|(edited, _)| edited == path);
            last.is_some_and(|(_, content)| content.as_ref() == found.get(path))
        };
        let is_wrong = |path: &&String| {
            expected.get(*path) != found.get(*path)
                && !self.uncovered.contains(*path)
                && !is_edit(path)
        };
        paths.into_iter().filter(is_wrong).cloned().collect()
    }

    /// The rule for these wrong files: another one if only sub-agents changed them.
    pub(super) fn rule_of(&self, rule: &'static str, paths: &[&String]) -> &'static str {
        let is_of_sub_agent = paths.iter().all(|path| self.of_sub_agent.contains(*path));
        if is_of_sub_agent && !paths.is_empty() { rules::SUB_AGENT } else { rule }
    }

    /// A turn has ended.
    pub fn add_turn(&mut self, name: String, steps: Vec<Vec<StoryCall>>, states: Vec<FileTexts>) {
        for call in steps.iter().flatten() {
            let paths = call.paths().into_iter().map(str::to_owned);
            self.of_agent.extend(paths.clone());
            match call.is_delegated() {
                true => self.of_sub_agent.extend(paths.clone()),
                false => self.of_sub_agent.retain(|path| !call.paths().contains(&&**path)),
            }
            if !self.capabilities.covers(call) {
                self.uncovered.extend(paths);
            }
        }
        let presence = Presence::Kept;
        self.turns.push(TurnEntry { name, states, steps, presence, ids: Vec::new() });
    }

    /// A person has changed a file.
    pub fn add_edit(&mut self, path: &str, content: Option<&str>) {
        self.edits.push((path.to_owned(), content.map(str::to_owned)));
    }

    /// The list was seen again.
    pub fn add_list(&mut self, list: Vec<String>, moment: ListMoment<'_>) -> Vec<Breach> {
        if matches!(moment, ListMoment::Fork) {
            self.rename_ids(&list);
        }
        let new: Vec<String> =
            list.iter().rev().filter(|id| !self.listed.contains(id)).cloned().collect();
        // A turn that a restore has undone may lose its checkpoints at any time.
        let is_kept = |id: &&String| {
            let turn = self.holdings.get(*id).and_then(|holding| self.turns.get(holding.turn?));
            turn.is_some_and(|turn| turn.presence == Presence::Kept)
        };
        let gone = self.listed.iter().filter(|id| !list.contains(id)).filter(is_kept);
        let gone: Vec<&String> = gone.collect();
        let remain = gone.is_empty() || self.is_list_open;
        let gone = format!("no longer listed: {gone:?}");
        let mut breaches = Vec::new();
        let rule = match moment {
            ListMoment::Compaction => rules::COMPACT,
            ListMoment::SecondProcess => rules::SECOND,
            _ => rules::STAYS_LISTED,
        };
        if !self.listed.is_empty() && !matches!(moment, ListMoment::Fork) {
            breaches.extend(self.judge(rule, remain, || gone));
        }
        self.is_list_open = false;
        self.listed = list;
        match moment {
            ListMoment::Turn => breaches.extend(self.assign(new)),
            ListMoment::Restore(files) => {
                let edits = self.edits.len();
                let files = vec![files.clone()];
                let holding = Holding { files, turn: None, is_start: false, edits };
                self.holdings.extend(new.into_iter().map(|id| (id, holding.clone())));
            }
            _ => {}
        }
        breaches
    }

    /// A fork may list copies of the checkpoints under other ids, in the same order.
    fn rename_ids(&mut self, list: &[String]) {
        let is_copy = list.len() == self.listed.len();
        if !is_copy || list.iter().any(|id| self.listed.contains(id)) {
            return;
        }
        for (old, new) in self.listed.clone().iter().zip(list) {
            if let Some(holding) = self.holdings.remove(old) {
                self.holdings.insert(new.clone(), holding);
            }
            let ids = self.turns.iter_mut().flat_map(|turn| &mut turn.ids);
            ids.filter(|id| *id == old).for_each(|id| id.clone_from(new));
        }
    }

    /// The user refused the calls of the last turn: an agent may keep it or not.
    pub fn leave_open(&mut self) {
        self.turns.iter_mut().last().into_iter().for_each(|turn| turn.presence = Presence::Open);
    }

    /// The conversation was compacted: the next request may contain a summary instead of a turn.
    pub fn compact(&mut self) {
        let kept = self.turns.iter_mut().filter(|turn| turn.presence == Presence::Kept);
        kept.for_each(|turn| turn.presence = Presence::Open);
    }

    /// Assigns new checkpoints, oldest first, to the last turn.
    fn assign(&mut self, new: Vec<String>) -> Vec<Breach> {
        let Some(turn) = self.turns.last().cloned() else { return Vec::new() };
        let index = self.turns.len() - 1;
        let mut breaches = Vec::new();
        let calls = turn.steps.iter().flatten();
        let covered = calls.filter(|call| self.capabilities.covers(call)).collect::<Vec<_>>();
        let is_delegated = covered.iter().all(|call| call.is_delegated());
        // A sub-agent may have turns of its own.
        if self.capabilities.has("turn-checkpoints")
            && !covered.iter().any(|call| call.is_delegated())
        {
            let text = || format!("the turn added {} checkpoints", new.len());
            breaches.extend(self.judge(rules::ONCE_A_TURN, new.len() <= 1, text));
        }
        let before = &turn.states[0];
        if new.is_empty() && !covered.is_empty() {
            let same = self.listed.iter().find(|id| {
                self.holdings.get(*id).is_some_and(|holding| {
                    let is_same = |files| self.wrong(before, files, usize::MAX).is_empty();
                    holding.files.iter().any(is_same)
                })
            });
            let ids: Vec<String> = same.into_iter().cloned().collect();
            let text = || "the turn changed files, and added no checkpoint to the list".to_owned();
            let rule = if is_delegated { rules::SUB_AGENT } else { rules::BEFORE_CHANGE };
            breaches.extend(self.judge(rule, !ids.is_empty(), text));
            self.turns[index].ids = ids;
            return breaches;
        }
        let points = self.points(&turn);
        let edits = self.edits.len();
        let holding = |files, is_start| Holding { files, turn: Some(index), is_start, edits };
        if points.len() == new.len() {
            for (id, (files, is_start)) in new.iter().zip(points) {
                self.holdings.insert(id.clone(), holding(files, is_start));
            }
        } else if let Some(oldest) = new.first() {
            self.holdings.insert(oldest.clone(), holding(vec![before.clone()], true));
        }
        self.turns[index].ids = new;
        breaches
    }

    /// The moments of a turn at which this agent takes checkpoints: the files then, and whether it is the first.
    fn points(&self, turn: &TurnEntry) -> Vec<(Vec<FileTexts>, bool)> {
        let start = (vec![turn.states[0].clone()], true);
        let mut points = Vec::new();
        let mut calls = 0;
        for step in &turn.steps {
            let begin = calls;
            let covered = |call: &StoryCall| self.capabilities.covers(call);
            if self.capabilities.has("step-checkpoints") && step.iter().any(covered) {
                points.push((vec![turn.states[begin].clone()], begin == 0));
            }
            for call in step {
                // A tool of the same message may or may not have run.
                if self.capabilities.has("call-checkpoints") && covered(call) {
                    points.push((turn.states[begin..=calls].to_vec(), begin == 0));
                }
                calls += 1;
            }
        }
        if points.is_empty() { vec![start] } else { points }
    }

    /// The turns that the next request contains.
    pub fn judge_request(&mut self, user_texts: &[String]) -> Vec<Breach> {
        let last = self.turns.len().saturating_sub(1);
        let contains = |name: &String| user_texts.iter().any(|text| text.contains(name));
        let earlier = &self.turns[..last];
        let numbered = |presence, present| {
            let is_wrong = move |(_, turn): &(usize, &TurnEntry)| {
                turn.presence == presence && contains(&turn.name) != present
            };
            let wrong = earlier.iter().enumerate().filter(is_wrong);
            wrong.map(|(index, _)| (index + 1).to_string()).collect::<Vec<_>>().join(", ")
        };
        let missing = numbered(Presence::Kept, true);
        let remaining = numbered(Presence::Undone, false);
        let has_undone = earlier.iter().any(|turn| turn.presence == Presence::Undone);
        let has_earlier = !earlier.is_empty();
        let mut breaches = Vec::new();
        if has_undone {
            let rule = match () {
                () if self.is_forked => rules::FORK,
                () if self.is_resumed => rules::RESUMED,
                () => rules::CONVERSATION,
            };
            let text = || format!("the request still contains the undone turns {remaining}");
            breaches.extend(self.judge(rule, remaining.is_empty(), text));
        }
        if has_earlier {
            let rule = match self.last_restore_of_file {
                _ if self.is_forked => rules::FORK,
                _ if self.is_resumed => rules::KEPT,
                Some(true) => rules::FILE_TURNS,
                Some(false) if has_undone => rules::CONVERSATION,
                _ => rules::KEPT,
            };
            let text =
                || format!("the request lacks the turns {missing}, which no restore has undone");
            breaches.extend(self.judge(rule, missing.is_empty(), text));
        }
        self.is_forked = false;
        breaches
    }
}
