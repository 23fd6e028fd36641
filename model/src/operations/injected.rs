//! A request during which something was made to happen: its process ended before it answered, or one of
//! its calls to the disk failed.
//!
//! It may take effect or not, and may be refused; it may never be wrong. What it leaves stored is for
//! the lists and restores that follow to say.

use super::restore::Outcome;
use super::untouched;
use crate::allowed::{Allowed, AllowedRestore};
use crate::answer::{Answer, Changed, Code, Restored, SweepOutcome};
use crate::bytes::{ByteString, below};
use crate::injected::{Aftermath, Injected, Lists};
use crate::observation::Observation;
use crate::plain::plain;
use crate::request::Request;
use crate::rules;
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::World;
use std::collections::BTreeMap;

impl World {
    /// Compares what was answered, and what was done to files, during a request in which something was
    /// made to happen.
    ///
    /// Implements [`rules::FAULT_CLEAR_REFUSAL`] and [`rules::FAULT_NAMES_HALF_RESTORED`].
    pub fn compare_injected(
        &self,
        allowed: &Allowed,
        seen: &Observation,
        injected: Injected,
    ) -> Checks {
        let mut checks = Checks::default();
        match (injected, &seen.answer, allowed) {
            (happened, ..) if happened.ends_process() => {
                self.compare_files(allowed, seen, &mut checks)
            }
            (_, Answer::Refused { code, message, .. }, _) => {
                let is_clear = !self.has("refusal.reasons") || *code != Code::Internal;
                checks.check(Judge::Answer, &rules::FAULT_CLEAR_REFUSAL, is_clear, || {
                    let found = plain(&seen.answer);
                    let due = "a refusal whose code says why";
                    Mismatch::new("refused internal", due, found).kind(Kind::WrongReason)
                });
                if let Allowed::Restore(due) = allowed {
                    half_restored(&Outcome::new(self, due, seen), message, &mut checks);
                    self.compare_refused(due, seen, &mut checks);
                }
                self.compare_files(allowed, seen, &mut checks);
            }
            (_, Answer::Restored(restored), Allowed::Restore(due))
                if !restored.failed.is_empty() || is_half(&Outcome::new(self, due, seen)) =>
            {
                names_what_failed(&Outcome::new(self, due, seen), restored, &mut checks);
                self.compare_files(allowed, seen, &mut checks);
            }
            // Who cannot see whether it is due need not make one.
            (_, Answer::Swept { outcome, counts }, Allowed::Sweep(_))
                if *outcome != SweepOutcome::Done || counts.errors > 0 =>
            {
                self.compare_files(allowed, seen, &mut checks);
            }
            _ => {
                let seen = self.without_extra_remarks(allowed, seen);
                // Who could not count what there is keeps no bound.
                let mut then = self.clone();
                then.doubt_upkeep();
                checks = then.compare(&self.who_may_not_see(&seen.request), &seen);
                checks.held(&rules::FAULT_CLEAR_REFUSAL, 1);
            }
        }
        checks
    }

    /// What there is to learn of it, with what is listed after it.
    pub fn aftermath(&self, allowed: &Allowed, seen: &Observation, lists: Lists) -> Aftermath {
        let may_be_gone = match allowed {
            Allowed::Sweep(due) => due.may_be_gone(),
            _ => Vec::new(),
        };
        Aftermath { lists, unread: extra_remarks(allowed, &seen.answer), may_be_gone }
    }

    /// What a restore left in the project that is neither of the checkpoint nor was there before:
    /// relative to the world's root.
    pub fn debris(&self, allowed: &Allowed, seen: &Observation) -> Vec<ByteString> {
        let Allowed::Restore(due) = allowed else { return Vec::new() };
        let is_recorded = |path: &ByteString| {
            let inside = below(&due.project, path).unwrap_or_default();
            let recorded = due.target.tree.keys();
            inside.is_empty()
                || recorded
                    .into_iter()
                    .any(|one| one[..] == *inside || below(inside, one).is_some())
        };
        let is_new = |path: &ByteString| self.files.get(path).is_none();
        let below_project = seen.files.below(&due.project).map(|(path, _)| path);
        below_project.filter(|path| is_new(path) && !is_recorded(path)).cloned().collect()
    }

    /// A refusal that says that it changed nothing changed nothing.
    fn compare_refused(&self, due: &AllowedRestore, seen: &Observation, checks: &mut Checks) {
        if !matches!(seen.answer, Answer::Refused { changed: Changed::None, .. }) {
            return;
        }
        let is_inside = |path: &ByteString| below(&due.project, path).is_some();
        let changed: Vec<_> =
            untouched::differing(self, &seen.files).into_iter().filter(is_inside).collect();
        let rule = &rules::RESTORE_REFUSAL_CHANGES_NOTHING;
        checks.check(Judge::Disk, rule, changed.is_empty(), || {
            let found = format!("changed: {}", plain(&changed));
            Mismatch::new("changed, said to be none", "nothing changed, as it is said", found)
                .kind(Kind::Dishonest)
        });
    }

    /// Nothing changes outside of what the request is to change.
    fn compare_files(&self, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
        if !seen.request.restores() {
            untouched::compare(self, allowed, seen, checks);
            return;
        }
        let Some(project) = seen.request.dir().and_then(|dir| self.canonical(dir)) else { return };
        let is_outside = |path: &ByteString| below(&project, path).is_none() && *path != project;
        let outside: Vec<_> =
            untouched::differing(self, &seen.files).into_iter().filter(is_outside).collect();
        checks.check(Judge::Disk, &rules::RESTORE_CONTAINED, outside.is_empty(), || {
            let found = format!("changed: {}", plain(&outside));
            Mismatch::new("changes outside", "nothing outside the project changed", found)
        });
    }

    /// What is allowed to who may not see that something is to go.
    fn who_may_not_see(&self, request: &Request) -> Allowed {
        let mut allowed = self.allows(request);
        if let Allowed::Sweep(due) = &mut allowed {
            let each = due.projects.values_mut().chain(due.repositories.values_mut());
            each.chain(due.archives.values_mut()).for_each(|one| one.may_stay = true);
        }
        allowed
    }

    /// Of a checkpoint that left out what could not be read and says so, without what it says of that:
    /// it is what it must be of everything else. Nor does it matter that files were written again as they
    /// were by who could not see that.
    fn without_extra_remarks(&self, allowed: &Allowed, seen: &Observation) -> Observation {
        let extra = extra_remarks(allowed, &seen.answer);
        let mut seen =
            Observation { touched: Vec::new(), rewritten: BTreeMap::new(), ..seen.clone() };
        if let Answer::Taken { skipped, .. } = &mut seen.answer {
            skipped.retain(|remark| !extra.contains(&remark.path));
        }
        seen
    }
}

/// The paths that a checkpoint would hold and that are said to be left out.
fn extra_remarks(allowed: &Allowed, answer: &Answer) -> Vec<ByteString> {
    let (Allowed::Checkpoint(due), Answer::Taken { skipped, .. }) = (allowed, answer) else {
        return Vec::new();
    };
    let Some(captured) = &due.captured else { return Vec::new() };
    let would_hold = |path: &&ByteString| {
        captured.tree.keys().any(|one| one == *path || below(path, one).is_some())
    };
    skipped.iter().map(|remark| &remark.path).filter(would_hold).cloned().collect()
}

/// Whether a recorded path is not as recorded, and could be.
fn is_half(outcome: &Outcome<'_>) -> bool {
    outcome.recorded().any(|(path, _)| outcome.has_failed(path))
}

/// A refusal in the middle of a restore names what was brought back, or what was not.
fn half_restored(outcome: &Outcome<'_>, message: &str, checks: &mut Checks) {
    let is_named = |path: &ByteString| names(message, &String::from_utf8_lossy(path));
    let restored = outcome.restored();
    let missing: Vec<&ByteString> =
        outcome.recorded().map(|(path, _)| path).filter(|path| outcome.has_failed(path)).collect();
    let is_half = !restored.is_empty() && !missing.is_empty();
    let holds =
        !is_half || missing.iter().all(|path| is_named(path)) || restored.iter().all(is_named);
    checks.check(Judge::Answer, &rules::FAULT_NAMES_HALF_RESTORED, holds, || {
        let expected = "a refusal that names what was brought back, or what was not";
        let found = format!(
            "brought back: {restored}, not: {missing}, and {message:?}",
            restored = plain(&restored),
            missing = plain(&missing)
        );
        Mismatch::new("half restored unsaid", expected, found).kind(Kind::Dishonest)
    });
}

/// Whether a message has a path as a whole: not as a part of a longer word, nor as a word like `a`
/// between others.
fn names(message: &str, path: &str) -> bool {
    let is_end = |one: Option<char>| one.is_none_or(|one| !(one.is_alphanumeric() || one == '/'));
    message.match_indices(path).any(|(at, _)| {
        let before = message[..at].chars().next_back();
        let after = message[at + path.len()..].chars().next();
        let is_a_word =
            path.len() == 1 && before.is_none_or(|one| one == ' ') && after == Some(' ');
        is_end(before) && is_end(after) && !is_a_word
    })
}

/// A restore that says that it brought back a part of it names every other path.
fn names_what_failed(outcome: &Outcome<'_>, restored: &Restored, checks: &mut Checks) {
    let remarks = restored.kept.iter().chain(&restored.failed).map(|remark| &remark.path);
    let named: Vec<&ByteString> = remarks.chain(&restored.left).collect();
    let is_named =
        |path: &ByteString| named.iter().any(|one| *one == path || below(one, path).is_some());
    let unnamed: Vec<&ByteString> = outcome
        .recorded()
        .map(|(path, _)| path)
        .filter(|path| outcome.has_failed(path) && !is_named(path))
        .collect();
    checks.check(Judge::Disk, &rules::FAULT_NAMES_HALF_RESTORED, unnamed.is_empty(), || {
        let found = format!("neither as recorded nor named: {}", plain(&unnamed));
        let expected = "every path that is not as recorded is named";
        Mismatch::new("failed unsaid", expected, found).kind(Kind::Dishonest)
    });
}
