//! Taking a checkpoint, automatically or manually: what it may come to, and whether it did.

use super::{checkpoint_units, refusal};
use crate::allowed::{Allowed, AllowedCheckpoint, CheckpointKind};
use crate::answer::{Answer, CheckpointOutcome, Code, Remark};
use crate::bytes::ByteString;
use crate::capture::Captured;
use crate::files::Node;
use crate::place::Place;
use crate::plain::plain;
use crate::refusal::Refusal;
use crate::request::Request;
use crate::rules::{self, RuleRef};
use crate::store::{content, explain};
use crate::tree;
use crate::verdict::{Checks, Judge, Kind, Mismatch, word};
use crate::world::{Checkpoint, Slot, World};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The refusal of a project with more files than the limit.
pub(super) const TOO_MANY_FILES: Refusal =
    Refusal { codes: &[Code::TooManyFiles], rule: &rules::SCOPE_TOO_MANY_FILES };

impl World {
    /// An automatic checkpoint, once per turn. [`World::learn`] says when the slot of a turn is used.
    ///
    /// Implements [`rules::TURN_ONCE`], [`rules::TURN_PER_PROJECT`],
    /// [`rules::TURN_NOTHING_USES_SLOT`], [`rules::TURN_DISABLED`] and
    /// [`rules::RESTORE_SAFETY_OUTSIDE_TURN`].
    pub(super) fn allows_automatic(&self, dir: &[u8]) -> Allowed {
        let place = self.locate(dir);
        let project = match &place {
            Place::Inside(path, _) => path.clone(),
            Place::FileSystemRoot | Place::Elsewhere(_) => ByteString::default(),
        };
        let refusal = self.out_of_scope(&place);
        if !self.settings.enabled {
            return settled(project, CheckpointKind::Disabled, &rules::TURN_DISABLED, None);
        }
        let rule: RuleRef = match self.slot(&project) {
            Some(Slot::Taken) => &rules::TURN_ONCE,
            Some(Slot::NothingToSave) => &rules::TURN_NOTHING_USES_SLOT,
            Some(Slot::Unclear) => {
                return match self.allows_new(project.clone(), refusal) {
                    Allowed::Refused(may_refuse) => deduped_or_refused(project, may_refuse),
                    allowed => allowed.or_as_well(&[CheckpointKind::Deduped]),
                };
            }
            _ => return self.allows_new(project, refusal),
        };
        settled(project, CheckpointKind::Deduped, rule, refusal)
    }

    /// A manual checkpoint: neither `enabled` nor the turn is asked.
    ///
    /// Implements [`rules::TURN_MANUAL`].
    pub(super) fn allows_manual(&self, dir: &[u8]) -> Allowed {
        let project = self.canonical(dir).unwrap_or_default();
        self.allows_new(project, self.out_of_scope(&self.locate(dir)))
    }

    /// Implements [`rules::SCOPE_TOO_MANY_FILES`] and [`rules::SCOPE_COUNTS_CAPTURED`].
    pub(super) fn allows_new(&self, project: ByteString, refusal: Option<Refusal>) -> Allowed {
        if let Some(refusal) = refusal {
            return Allowed::Refused(vec![refusal]);
        }
        let captured = Arc::new(self.capture(&project));
        if captured.tree.len() > self.settings.max_files {
            return Allowed::Refused(vec![TOO_MANY_FILES]);
        }
        if self.is_adrift(&project) {
            return Allowed::Unknown;
        }
        let newest = self.newest(&project);
        let unseen = newest.is_some_and(|newest| newest.captured.is_none());
        let first_of_nothing = captured.tree.is_empty() && newest.is_none();
        let recognises = self.has("take.unchanged");
        let captured_before = newest.and_then(|newest| newest.captured.as_ref());
        let same = captured_before.is_some_and(|before| before.tree == captured.tree);
        // No rule says whether other permissions alone are a change.
        let free = captured_before.is_some_and(|one| one.permissions != captured.permissions);
        let state = newest.and_then(|newest| self.is_state_of(newest));
        // Where the newest is damaged, the one before it may be the newest that can be read.
        let doubtful = newest.is_some_and(|newest| self.is_damaged(newest));
        let holds_it =
            |one: &Checkpoint| one.captured.as_ref().is_none_or(|one| one.tree == captured.tree);
        let held = self.history(&project).iter().any(holds_it) || captured.tree.is_empty();
        let (kind, rule) = self.due(&project, &captured, recognises);
        // Nor is it said whether a project without files is worth one that has parts of a state.
        let may_decline_first = !self.has("take.declines_empty") || self.has_state();
        let stands = state.is_none() || state == Some(true) && (!recognises || free);
        Allowed::Checkpoint(Box::new(AllowedCheckpoint {
            project,
            kind,
            rule,
            may_refuse: Vec::new(),
            may_be_unchanged: unseen
                || same && stands
                || first_of_nothing && may_decline_first
                || doubtful && held,
            may_be_created: doubtful,
            also: &[],
            captured: Some(captured),
        }))
    }

    /// What a checkpoint of this content comes to.
    ///
    /// Implements [`rules::CAPTURE_CREATED`], [`rules::CAPTURE_UNCHANGED`] and
    /// [`rules::CAPTURE_EMPTY_FIRST`]; a part of the agent's state is a change like a file
    /// ([`rules::AGENT_PARTS`]).
    pub(super) fn due(
        &self,
        project: &[u8],
        captured: &Captured,
        recognises_unchanged: bool,
    ) -> (CheckpointKind, RuleRef) {
        let created: (CheckpointKind, RuleRef) = (CheckpointKind::Created, &rules::CAPTURE_CREATED);
        let Some(newest) = self.newest(project) else {
            let declines = self.has("take.declines_empty") && captured.tree.is_empty();
            return match declines && !self.has_state() {
                true => (CheckpointKind::Unchanged, &rules::CAPTURE_EMPTY_FIRST),
                false => created,
            };
        };
        let before = newest.captured.as_ref().filter(|before| before.tree == captured.tree);
        let Some(before) = before else { return created };
        let is_whole = recognises_unchanged && before.permissions == captured.permissions;
        match self.is_state_of(newest) {
            Some(false) => (CheckpointKind::Created, &rules::AGENT_PARTS),
            Some(true) if is_whole => (CheckpointKind::Unchanged, &rules::CAPTURE_UNCHANGED),
            _ => created,
        }
    }

    /// Every rule that is broken by declining this request, because of the turn or because nothing
    /// is taken automatically, where a checkpoint or a refusal is due.
    pub(super) fn rules_against_declining(&self, request: &Request) -> Vec<RuleRef> {
        let project = request.dir().and_then(|dir| self.canonical(dir)).unwrap_or_default();
        let mut broken: Vec<RuleRef> = Vec::new();
        match request {
            Request::EnsureCheckpoint { .. } => {
                if self.was_rolled_back(&project) {
                    broken.push(&rules::RESTORE_SAFETY_OUTSIDE_TURN);
                }
                match self.slot(&project) {
                    Some(Slot::AttemptFailed) => broken.push(&rules::TURN_FAILURE_KEEPS_SLOT),
                    Some(Slot::Renewed) => broken.push(&rules::TURN_RESET),
                    _ => {}
                }
                if self.any_uses_slot() {
                    broken.push(&rules::TURN_PER_PROJECT);
                }
            }
            Request::Event { .. } => {}
            _ if self.uses_slot(&project) || !self.settings.enabled => {
                broken.push(&rules::TURN_MANUAL);
            }
            _ => {}
        }
        broken
    }

    /// Every rule that is broken by refusing a project for its number of files, where it has no
    /// more than the limit.
    fn rules_against_too_many(&self, project: &[u8]) -> Vec<RuleRef> {
        let files = self.files.below(project).filter(|(_, node)| **node != Node::Directory);
        let mut broken: Vec<RuleRef> = vec![&rules::SCOPE_TOO_MANY_FILES];
        if files.count() > self.settings.max_files {
            broken.push(&rules::SCOPE_COUNTS_CAPTURED);
        }
        broken
    }
}

/// Where it is not known whether the slot is used, who looks at the files may refuse.
fn deduped_or_refused(project: ByteString, may_refuse: Vec<Refusal>) -> Allowed {
    let mut allowed = settled(project, CheckpointKind::Deduped, &rules::TURN_ONCE, None);
    if let Allowed::Checkpoint(due) = &mut allowed {
        due.may_refuse = may_refuse;
    }
    allowed
}

/// An answer that needs no look at the files. Where the place is out of scope as well, saying that
/// instead is as good.
pub(super) fn settled(
    project: ByteString,
    kind: CheckpointKind,
    rule: RuleRef,
    refusal: Option<Refusal>,
) -> Allowed {
    Allowed::Checkpoint(Box::new(AllowedCheckpoint {
        project,
        kind,
        rule,
        may_refuse: refusal.into_iter().collect(),
        may_be_unchanged: false,
        also: &[],
        may_be_created: false,
        captured: None,
    }))
}

/// Compares what a request for a checkpoint came to with what it may come to.
pub(super) fn compare(
    world: &World,
    request: &Request,
    due: &AllowedCheckpoint,
    answer: &Answer,
    checks: &mut Checks,
) {
    if matches!(answer, Answer::Refused { .. }) && !due.may_refuse.is_empty() {
        return refusal::compare(world, &due.may_refuse, answer, checks);
    }
    let Answer::Taken { outcome, skipped } = answer else {
        return not_taken(world, due, answer, checks);
    };
    let found = match outcome {
        CheckpointOutcome::Created { .. } => CheckpointKind::Created,
        CheckpointOutcome::Deduped => CheckpointKind::Deduped,
        CheckpointOutcome::Unchanged => CheckpointKind::Unchanged,
        CheckpointOutcome::Disabled => CheckpointKind::Disabled,
        CheckpointOutcome::NotDue => CheckpointKind::NotDue,
    };
    let as_good = match found {
        CheckpointKind::Unchanged => due.may_be_unchanged,
        CheckpointKind::Created => due.may_be_created && due.kind == CheckpointKind::Unchanged,
        _ => false,
    };
    let without = || checkpoint_units::is_unchanged(world, due, skipped);
    let is_unchanged = found == CheckpointKind::Unchanged && without();
    if as_good || is_unchanged || due.also.contains(&found) {
        return;
    }
    let declines = |kind| {
        use CheckpointKind::{Deduped, Disabled, NotDue};
        matches!(kind, Deduped | Disabled | NotDue)
    };
    let (declined, is_due) = (declines(found), !declines(due.kind));
    let fail = || mismatch(due, answer);
    let happened = matches!(request, Request::Event { .. });
    checks.held(&rules::AGENT_TRIGGERS, u64::from(happened && found == due.kind));
    if declined && found != due.kind {
        let main: RuleRef = match is_due {
            true if happened => &rules::AGENT_TRIGGERS,
            true => &rules::CAPTURE_CREATED,
            false => due.rule,
        };
        checks.check(Judge::Answer, main, false, fail);
    } else {
        checks.check(Judge::Answer, due.rule, found == due.kind, fail);
    }
    if is_due {
        for rule in world.rules_against_declining(request) {
            checks.check(Judge::Answer, rule, !declined, fail);
        }
        for rule in world.rules_against_too_many(&due.project) {
            checks.held(rule, 1);
        }
    }
    if found == CheckpointKind::Unchanged && due.kind == CheckpointKind::Created {
        not_seen(world, due, checks);
    }
    if let CheckpointOutcome::Created { id } = outcome {
        let earlier = is_earlier(world, due, id);
        checks.check(Judge::Answer, &rules::CAPTURE_HONEST, !earlier, || {
            Mismatch::new("an earlier id", "the id of a new checkpoint", plain(&answer))
                .kind(Kind::Dishonest)
        });
        if let (Some(captured), CheckpointKind::Created) = (&due.captured, due.kind) {
            left_out(world, captured, skipped, checks);
            for rule in captured.stop_nothing() {
                checks.held(rule, 1);
            }
        }
    }
}

/// Whether an id is that of a checkpoint of before. One that a limit dropped, or that is damaged, may
/// have held the same, for the same reason and in the same second: then its id says what is stored
/// now, too.
fn is_earlier(world: &World, due: &AllowedCheckpoint, id: &str) -> bool {
    let tree = |one: &Option<Arc<Captured>>| one.as_ref().map(|captured| captured.tree.clone());
    let (all, listed) = (world.history(&due.project), world.listed(&due.project));
    let differs = |one: &Checkpoint| tree(&one.captured) != tree(&due.captured);
    let dropped = &all[..all.len() - listed.len()];
    listed.iter().any(|one| one.id == id && !world.is_damaged(one))
        || dropped.iter().any(|one| one.id == id && differs(one))
}

fn mismatch(due: &AllowedCheckpoint, answer: &Answer) -> Mismatch {
    let kind = due.kind.word();
    let symptom = match due.kind {
        // What else it did says nothing of why: that depends on the files alone.
        CheckpointKind::Deduped => "not deduped".to_owned(),
        _ if word(answer) == "deduped" => "deduped".to_owned(),
        _ => format!("{}, not {}", word(answer), kind),
    };
    Mismatch::new(symptom, kind, plain(&answer))
}

/// Where a refusal stands for an answer, what should only have been left out may have stopped it.
fn not_taken(world: &World, due: &AllowedCheckpoint, answer: &Answer, checks: &mut Checks) {
    let fail = || mismatch(due, answer);
    if let Answer::Refused { code: Code::TooManyFiles, .. } = answer {
        for rule in world.rules_against_too_many(&due.project) {
            checks.check(Judge::Answer, rule, false, fail);
        }
        return;
    }
    checks.check(Judge::Answer, due.rule, false, fail);
    for rule in due.captured.iter().flat_map(|captured| captured.stop_nothing()) {
        checks.check(Judge::Answer, rule, false, fail);
    }
}

/// A change was not seen: if something about the changed paths explains that, its rule is broken.
fn not_seen(world: &World, due: &AllowedCheckpoint, checks: &mut Checks) {
    let Some(captured) = &due.captured else { return };
    let before = world.history(&due.project).last().and_then(|newest| newest.captured.clone());
    let before = before.unwrap_or_default();
    let changed = tree::differences(&before.tree, &captured.tree).into_keys();
    let wrong: Vec<explain::Wrong> =
        changed.map(|path| (path.clone(), before.tree.get(path).cloned())).collect();
    let explanation = explain::rule_for(captured, &wrong);
    if explain::is_specific(explanation) {
        checks.check(Judge::Answer, explanation, false, || content::mismatch(captured, &wrong));
    }
}

/// What is said of the files that were left out.
fn left_out(world: &World, captured: &Captured, skipped: &[Remark], checks: &mut Checks) {
    let reported: BTreeSet<&ByteString> = skipped.iter().map(|remark| &remark.path).collect();
    for path in captured.unreadable().filter(|_| world.has("take.skipped")) {
        let said = reported.contains(path);
        checks.check(Judge::Answer, &rules::CAPTURE_UNREADABLE, said, || {
            let expected = format!("{path} reported as skipped");
            Mismatch::new(
                "left out unsaid",
                expected,
                format!("skipped: {skipped}", skipped = plain(&skipped)),
            )
            .kind(Kind::Dishonest)
        });
    }
    checkpoint_units::compare(world, captured, skipped, checks);
    let of_unit =
        |path: &ByteString| captured.units.iter().any(|one| one.members.contains_key(path));
    let both = reported.iter().find(|path| captured.tree.contains_key(**path) && !of_unit(path));
    checks.check(Judge::Answer, &rules::CAPTURE_HONEST, both.is_none(), || {
        let expected = "no captured path reported as skipped";
        Mismatch::new("captured, said to be skipped", expected, plain(&both)).kind(Kind::Dishonest)
    });
}
