//! Judges a request with an injection: its process ended before it answered, or one of its system calls
//! failed.
//!
//! Such a request may take effect or not, and it may be refused, but neither its effect nor its answer may
//! be wrong. Later lists and restores show what it left in the store.

use super::refusal;
use super::restore_outcome::RestoreOutcome;
use super::untouched;
use crate::allowed::{Allowed, AllowedRestore};
use crate::answer::{Answer, Changed, Restored, SweepOutcome};
use crate::bytes::{ByteString, below};
use crate::excuse::Excuse;
use crate::injected::{Aftermath, Injected, Lists};
use crate::observation::Observation;
use crate::plain::plain;
use crate::request::Request;
use crate::rules;
use crate::verdict::{Checks, Judge, Kind, Mismatch};
use crate::world::World;
use std::collections::BTreeMap;

impl World {
    /// Compares the answer and the files of a request with an injection.
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
            (injected, ..) if injected.ends_process() => {
                checks.excused(seen.request.main_rule(), Excuse::Injection, 1);
                self.compare_files(allowed, seen, &mut checks)
            }
            (_, Answer::Refused { code, message, .. }, _) => {
                checks.excused(seen.request.main_rule(), Excuse::Injection, 1);
                let is_clear = refusal::is_clear(self, allowed, *code);
                checks.check(Judge::Answer, &rules::FAULT_CLEAR_REFUSAL, is_clear, || {
                    let found = plain(&seen.answer);
                    let expected = "a refusal whose code says why";
                    Mismatch::new(format!("refused {code}"), expected, found)
                        .kind(Kind::WrongReason)
                });
                if let Allowed::Restore(restore) = allowed {
                    let outcome = RestoreOutcome::new(self, restore, seen);
                    compare_partial_refusal(&outcome, message, &mut checks);
                    self.compare_refused(restore, seen, &mut checks);
                }
                self.compare_files(allowed, seen, &mut checks);
            }
            (_, Answer::Restored(restored), Allowed::Restore(restore))
                if !restored.failed.is_empty()
                    || is_partial(&RestoreOutcome::new(self, restore, seen)) =>
            {
                checks.excused(&rules::RESTORE_HAPPENS, Excuse::Injection, 1);
                let outcome = RestoreOutcome::new(self, restore, seen);
                compare_partial_answer(&outcome, restored, &mut checks);
                self.compare_files(allowed, seen, &mut checks);
            }
            // A sweep that cannot read whether it is expected need not be made.
            (_, Answer::Swept { outcome, counts }, Allowed::Sweep(_))
                if *outcome != SweepOutcome::Done || counts.errors > 0 =>
            {
                checks.excused(seen.request.main_rule(), Excuse::Injection, 1);
                self.compare_files(allowed, seen, &mut checks);
            }
            _ => {
                let seen = self.without_extra_remarks(allowed, seen);
                // A limit need not be kept where counting may have failed.
                let mut world = self.clone();
                world.mark_size_uncertain();
                checks = world.compare(&self.allows_with_read_failure(&seen.request), &seen);
                checks.held(&rules::FAULT_CLEAR_REFUSAL, 1);
            }
        }
        checks
    }

    /// What the world learns from a request with an injection, with the lists after it.
    pub fn aftermath(&self, allowed: &Allowed, seen: &Observation, lists: Lists) -> Aftermath {
        let may_be_gone = match allowed {
            Allowed::Sweep(sweep) => sweep.may_be_gone(),
            _ => Vec::new(),
        };
        Aftermath { lists, unread: extra_remarks(allowed, &seen.answer), may_be_gone }
    }

    /// The paths that a restore left in the project which are neither in the checkpoint nor existed
    /// before, relative to the world's root.
    pub fn debris(&self, allowed: &Allowed, seen: &Observation) -> Vec<ByteString> {
        let Allowed::Restore(restore) = allowed else { return Vec::new() };
        let is_recorded = |path: &ByteString| {
            let relative = below(&restore.project, path).unwrap_or_default();
            let recorded = restore.target.tree.keys();
            relative.is_empty()
                || recorded
                    .into_iter()
                    .any(|path| path[..] == *relative || below(relative, path).is_some())
        };
        let new = self.files.differences(&seen.files).into_iter();
        let new = new.filter(|found| found.older.is_none()).map(|found| found.path);
        let new = new.filter(|path| below(&restore.project, path).is_some());
        new.filter(|path| !is_recorded(path)).cloned().collect()
    }

    /// Compares whether a restore that was refused as unchanged changed nothing.
    fn compare_refused(&self, restore: &AllowedRestore, seen: &Observation, checks: &mut Checks) {
        if !matches!(seen.answer, Answer::Refused { changed: Changed::None, .. }) {
            return;
        }
        let is_inside = |path: &ByteString| below(&restore.project, path).is_some();
        let changed: Vec<_> =
            untouched::differing(self, &seen.files).into_iter().filter(is_inside).collect();
        let rule = &rules::RESTORE_REFUSAL_CHANGES_NOTHING;
        checks.check(Judge::Disk, rule, changed.is_empty(), || {
            let found = format!("changed: {}", plain(&changed));
            Mismatch::new("changed, reported as unchanged", "nothing changed, as reported", found)
                .kind(Kind::Dishonest)
        });
    }

    /// The correct behaviour where the evidence for a removal may be unreadable.
    fn allows_with_read_failure(&self, request: &Request) -> Allowed {
        let mut allowed = self.allows(request);
        if let Allowed::Sweep(sweep) = &mut allowed {
            let dispositions = sweep.projects.values_mut().chain(sweep.repositories.values_mut());
            let dispositions = dispositions.chain(sweep.archives.values_mut());
            dispositions.for_each(|disposition| disposition.may_stay = true);
        }
        allowed
    }

    /// The observation without the remarks about files that could not be read and are reported as left
    /// out: the rest of the checkpoint must be correct. Files that were rewritten unchanged are ignored,
    /// since they may have been unreadable, too.
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

/// The paths that a checkpoint should hold and that are reported as left out.
fn extra_remarks(allowed: &Allowed, answer: &Answer) -> Vec<ByteString> {
    let (Allowed::Checkpoint(checkpoint), Answer::Taken { skipped, .. }) = (allowed, answer) else {
        return Vec::new();
    };
    let Some(captured) = &checkpoint.captured else { return Vec::new() };
    let would_hold = |path: &&ByteString| {
        captured.tree.keys().any(|held| held == *path || below(path, held).is_some())
    };
    skipped.iter().map(|remark| &remark.path).filter(would_hold).cloned().collect()
}

/// Whether a recorded path is not as recorded, and could be.
fn is_partial(outcome: &RestoreOutcome<'_>) -> bool {
    outcome.recorded().any(|(path, _)| outcome.has_failed(path))
}

/// Compares whether a refusal in the middle of a restore names what was restored, or what was not.
fn compare_partial_refusal(outcome: &RestoreOutcome<'_>, message: &str, checks: &mut Checks) {
    let is_named = |path: &ByteString| names(message, &String::from_utf8_lossy(path));
    let restored = outcome.restored();
    let missing: Vec<&ByteString> =
        outcome.recorded().map(|(path, _)| path).filter(|path| outcome.has_failed(path)).collect();
    let is_partial = !restored.is_empty() && !missing.is_empty();
    let holds =
        !is_partial || missing.iter().all(|path| is_named(path)) || restored.iter().all(is_named);
    checks.check(Judge::Answer, &rules::FAULT_NAMES_HALF_RESTORED, holds, || {
        let expected = "a refusal that names the restored paths, or the others";
        let found = format!(
            "restored: {restored}, not restored: {missing}, message: {message:?}",
            restored = plain(&restored),
            missing = plain(&missing)
        );
        Mismatch::new("half restored, not reported", expected, found).kind(Kind::Dishonest)
    });
}

/// Whether a message contains a complete path: not as a part of a longer word, nor as a word like `a`
/// between others.
fn names(message: &str, path: &str) -> bool {
    let is_end = |next: Option<char>| {
        next.is_none_or(|character| !(character.is_alphanumeric() || character == '/'))
    };
    message.match_indices(path).any(|(start, _)| {
        let before = message[..start].chars().next_back();
        let after = message[start + path.len()..].chars().next();
        let is_a_word =
            path.len() == 1 && before.is_none_or(|before| before == ' ') && after == Some(' ');
        is_end(before) && is_end(after) && !is_a_word
    })
}

/// Compares whether the answer to a partial restore names every path that was not restored.
fn compare_partial_answer(outcome: &RestoreOutcome<'_>, restored: &Restored, checks: &mut Checks) {
    let remarks = restored.kept.iter().chain(&restored.failed).map(|remark| &remark.path);
    let named: Vec<&ByteString> = remarks.chain(&restored.left).collect();
    let is_named = |path: &ByteString| {
        named.iter().any(|named| *named == path || below(named, path).is_some())
    };
    let unnamed: Vec<&ByteString> = outcome
        .recorded()
        .map(|(path, _)| path)
        .filter(|path| outcome.has_failed(path) && !is_named(path))
        .collect();
    checks.check(Judge::Disk, &rules::FAULT_NAMES_HALF_RESTORED, unnamed.is_empty(), || {
        let found = format!("neither as recorded nor named: {}", plain(&unnamed));
        let expected = "every path that is not as recorded is named";
        Mismatch::new("failed, not reported", expected, found).kind(Kind::Dishonest)
    });
}
