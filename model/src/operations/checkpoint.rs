//! Taking a checkpoint, automatically or manually: the correct outcome, and the comparison with it.

use super::{checkpoint_units, refusal};
use crate::allowed::{Allowed, AllowedCheckpoint, CheckpointKind};
use crate::answer::{Answer, CheckpointOutcome, Code, Remark};
use crate::bytes::ByteString;
use crate::capture::Captured;
use crate::excuse::Excuse;
use crate::files::Node;
use crate::place::Location;
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
    /// The automatic checkpoint, once per turn. [`World::learn`] records when the slot of a turn is used.
    ///
    /// Implements [`rules::TURN_ONCE`], [`rules::TURN_PER_PROJECT`],
    /// [`rules::TURN_NOTHING_USES_SLOT`], [`rules::TURN_DISABLED`] and
    /// [`rules::RESTORE_SAFETY_OUTSIDE_TURN`].
    pub(super) fn allows_automatic(&self, dir: &[u8]) -> Allowed {
        let location = self.locate(dir);
        let project = match &location {
            Location::Inside(path, _) => path.clone(),
            Location::FileSystemRoot | Location::Elsewhere(_) => ByteString::default(),
        };
        let refusal = self.out_of_scope(&location);
        if !self.settings.enabled {
            return without_capture(project, CheckpointKind::Disabled, &rules::TURN_DISABLED, None);
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
        without_capture(project, CheckpointKind::Deduped, rule, refusal)
    }

    /// The manual checkpoint, which depends neither on `enabled` nor on the turn.
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
        let captured = self.capture(&project);
        if captured.tree.len() > self.settings.max_files {
            return Allowed::Refused(vec![TOO_MANY_FILES]);
        }
        if self.is_history_unknown(&project) {
            return Allowed::Unknown(Excuse::Damage);
        }
        let newest = self.newest(&project);
        let is_newest_unknown = newest.is_some_and(|newest| newest.captured.is_none());
        let first_of_nothing = captured.tree.is_empty() && newest.is_none();
        let recognises = self.has("take.unchanged");
        let captured_before = newest.and_then(|newest| newest.captured.as_ref());
        let same = captured_before.is_some_and(|before| before.tree == captured.tree);
        // No rule says whether a change of permissions alone is a change.
        let other_permissions =
            captured_before.is_some_and(|before| !before.has_permissions_of(&captured));
        let state = newest.and_then(|newest| self.is_state_of(newest));
        // Where the newest is damaged, the one before it may be the newest that can be read.
        let is_newest_damaged = newest.is_some_and(|newest| self.is_damaged(newest));
        let may_hold_tree = |checkpoint: &Checkpoint| {
            let before = checkpoint.captured.as_ref();
            before.is_none_or(|before| before.tree == captured.tree)
        };
        let held = self.history(&project).iter().any(may_hold_tree) || captured.tree.is_empty();
        let (kind, rule) = self.expected_kind(&project, &captured, recognises);
        // No rule says whether parts of a state alone are worth the first checkpoint.
        let may_decline_first = !self.has("take.declines_empty") || self.has_state();
        let may_represent =
            state.is_none() || state == Some(true) && (!recognises || other_permissions);
        Allowed::Checkpoint(Box::new(AllowedCheckpoint {
            project,
            kind,
            rule,
            may_refuse: Vec::new(),
            may_be_unchanged: first_excuse([
                (is_newest_unknown, Excuse::Unobserved),
                (same && may_represent, Excuse::NoRule),
                (first_of_nothing && may_decline_first, Excuse::NoRule),
                (is_newest_damaged && held, Excuse::Damage),
            ]),
            may_be_created: is_newest_damaged,
            alternatives: &[],
            captured: Some(captured),
        }))
    }

    /// The expected outcome of a checkpoint with this content.
    ///
    /// Implements [`rules::CAPTURE_CREATED`], [`rules::CAPTURE_UNCHANGED`] and
    /// [`rules::CAPTURE_EMPTY_FIRST`]; a part of the agent's state is a change like a file
    /// ([`rules::AGENT_PARTS`]).
    pub(super) fn expected_kind(
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
        let is_unchanged = recognises_unchanged && before.has_permissions_of(captured);
        match self.is_state_of(newest) {
            Some(false) => (CheckpointKind::Created, &rules::AGENT_PARTS),
            Some(true) if is_unchanged => (CheckpointKind::Unchanged, &rules::CAPTURE_UNCHANGED),
            _ => created,
        }
    }

    /// Every rule that is broken by declining this request, because of the turn or because automatic
    /// checkpoints are off, where a checkpoint or a refusal is expected.
    pub(super) fn rules_against_declining(&self, request: &Request) -> Vec<RuleRef> {
        let project = request.dir().and_then(|dir| self.canonical(dir)).unwrap_or_default();
        let mut broken: Vec<RuleRef> = Vec::new();
        match request {
            Request::EnsureCheckpoint { .. } => {
                if self.was_restored_in_turn(&project) {
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

/// The first excuse that applies.
fn first_excuse(excuses: [(bool, Excuse); 4]) -> Option<Excuse> {
    excuses.into_iter().find_map(|(applies, excuse)| applies.then_some(excuse))
}

/// The correct behaviour where it is unknown whether the slot is used: no checkpoint, or these refusals by
/// an implementation that captures the files.
fn deduped_or_refused(project: ByteString, may_refuse: Vec<Refusal>) -> Allowed {
    let mut allowed = without_capture(project, CheckpointKind::Deduped, &rules::TURN_ONCE, None);
    if let Allowed::Checkpoint(checkpoint) = &mut allowed {
        checkpoint.may_refuse = may_refuse;
    }
    allowed
}

/// The correct behaviour that needs no capture. Where the location is out of scope, its refusal is
/// allowed as well.
pub(super) fn without_capture(
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
        may_be_unchanged: None,
        alternatives: &[],
        may_be_created: false,
        captured: None,
    }))
}

/// Compares the answer to a request for a checkpoint with the expected outcome.
pub(super) fn compare(
    world: &World,
    request: &Request,
    expected: &AllowedCheckpoint,
    answer: &Answer,
) -> Checks {
    let compared = ComparedAnswer { world, request, expected, answer };
    let mut checks = Checks::default();
    match answer {
        Answer::Refused { .. } if !expected.may_refuse.is_empty() => {
            checks.excused(expected.rule, refusal::excuse(answer), 1);
            refusal::compare(world, &expected.may_refuse, answer, &mut checks);
        }
        Answer::Taken { outcome, skipped } => {
            let is_expected = kind_of(outcome) == expected.kind;
            if let Some(excuse) = compared.excuse(outcome, skipped).filter(|_| !is_expected) {
                checks.excused(expected.rule, excuse, 1);
            } else {
                compared.compare_outcome(kind_of(outcome), &mut checks);
            }
            if let CheckpointOutcome::Created { id } = outcome {
                compared.compare_created(id, skipped, &mut checks);
            }
        }
        _ => compared.compare_missing(&mut checks),
    }
    checks
}

fn kind_of(outcome: &CheckpointOutcome) -> CheckpointKind {
    match outcome {
        CheckpointOutcome::Created { .. } => CheckpointKind::Created,
        CheckpointOutcome::Deduped => CheckpointKind::Deduped,
        CheckpointOutcome::Unchanged => CheckpointKind::Unchanged,
        CheckpointOutcome::Disabled => CheckpointKind::Disabled,
        CheckpointOutcome::NotDue => CheckpointKind::NotDue,
    }
}

/// Whether a request is declined, because of the turn or because automatic checkpoints are off.
fn declines(kind: CheckpointKind) -> bool {
    use CheckpointKind::{Deduped, Disabled, NotDue};
    matches!(kind, Deduped | Disabled | NotDue)
}

/// The answer to a request for a checkpoint, with the expected outcome.
struct ComparedAnswer<'a> {
    world: &'a World,
    request: &'a Request,
    expected: &'a AllowedCheckpoint,
    answer: &'a Answer,
}

impl ComparedAnswer<'_> {
    /// Why an outcome is allowed in addition to the expected one, if it is.
    fn excuse(&self, outcome: &CheckpointOutcome, skipped: &[Remark]) -> Option<Excuse> {
        let expected = self.expected;
        let found = kind_of(outcome);
        let is_unchanged = || checkpoint_units::is_unchanged(self.world, expected, skipped);
        match found {
            CheckpointKind::Unchanged if expected.may_be_unchanged.is_some() => {
                expected.may_be_unchanged
            }
            CheckpointKind::Unchanged if is_unchanged() => Some(Excuse::Unit),
            CheckpointKind::Created
                if expected.may_be_created && expected.kind == CheckpointKind::Unchanged =>
            {
                Some(Excuse::Damage)
            }
            _ => expected.alternatives.contains(&found).then_some(Excuse::NoRule),
        }
    }

    fn compare_outcome(&self, found: CheckpointKind, checks: &mut Checks) {
        let expected = self.expected;
        let is_expected = !declines(expected.kind);
        let fail = || self.mismatch();
        let is_event = matches!(self.request, Request::Event { .. });
        checks.held(&rules::AGENT_TRIGGERS, u64::from(is_event && found == expected.kind));
        if declines(found) && found != expected.kind {
            let main: RuleRef = match is_expected {
                true if is_event => &rules::AGENT_TRIGGERS,
                true => &rules::CAPTURE_CREATED,
                false => expected.rule,
            };
            checks.check(Judge::Answer, main, false, fail);
        } else {
            checks.check(Judge::Answer, expected.rule, found == expected.kind, fail);
        }
        if is_expected {
            for rule in self.world.rules_against_declining(self.request) {
                checks.check(Judge::Answer, rule, !declines(found), fail);
            }
            for rule in self.world.rules_against_too_many(&expected.project) {
                checks.held(rule, 1);
            }
        }
        if found == CheckpointKind::Unchanged && expected.kind == CheckpointKind::Created {
            compare_missed_change(self.world, expected, checks);
        }
    }

    fn compare_created(&self, id: &str, skipped: &[Remark], checks: &mut Checks) {
        let expected = self.expected;
        let is_existing = is_existing_id(self.world, expected, id);
        checks.check(Judge::Answer, &rules::CAPTURE_HONEST, !is_existing, || {
            Mismatch::new("an earlier id", "the id of a new checkpoint", plain(&self.answer))
                .kind(Kind::Dishonest)
        });
        if let (Some(captured), CheckpointKind::Created) = (&expected.captured, expected.kind) {
            compare_left_out(self.world, captured, skipped, checks);
            for rule in captured.skipped_file_rules() {
                checks.held(rule, 1);
            }
        }
    }

    /// Compares an answer without an outcome, which may be due to a file that should only have been left
    /// out.
    fn compare_missing(&self, checks: &mut Checks) {
        let expected = self.expected;
        if let Answer::Refused { code: Code::TooManyFiles, .. } = self.answer {
            for rule in self.world.rules_against_too_many(&expected.project) {
                checks.check(Judge::Answer, rule, false, || self.mismatch());
            }
            return;
        }
        checks.check(Judge::Answer, expected.rule, false, || self.mismatch());
        for rule in expected.captured.iter().flat_map(|captured| captured.skipped_file_rules()) {
            checks.check(Judge::Answer, rule, false, || self.mismatch());
        }
    }

    fn mismatch(&self) -> Mismatch {
        let kind = self.expected.kind.word();
        let symptom = match self.expected.kind {
            // The actual outcome is not part of the symptom: it depends on the files alone.
            CheckpointKind::Deduped => "not deduped".to_owned(),
            _ if word(self.answer) == "deduped" => "deduped".to_owned(),
            _ => format!("{}, not {}", word(self.answer), kind),
        };
        Mismatch::new(symptom, kind, plain(&self.answer))
    }
}

/// Whether an id is that of an existing checkpoint. An evicted or damaged checkpoint may have had the
/// same content, reason and second: then a new one has the same id.
fn is_existing_id(world: &World, expected: &AllowedCheckpoint, id: &str) -> bool {
    let tree =
        |captured: &Option<Arc<Captured>>| captured.as_ref().map(|captured| captured.tree.clone());
    let history = world.history(&expected.project);
    let listed = world.listed(&expected.project);
    let differs = |checkpoint: &Checkpoint| tree(&checkpoint.captured) != tree(&expected.captured);
    let evicted = &history[..history.len() - listed.len()];
    listed.iter().any(|checkpoint| checkpoint.id == id && !world.is_damaged(checkpoint))
        || evicted.iter().any(|checkpoint| checkpoint.id == id && differs(checkpoint))
}

/// Compares a change that was missed: if something about the changed paths explains that, its rule is
/// broken.
fn compare_missed_change(world: &World, expected: &AllowedCheckpoint, checks: &mut Checks) {
    let Some(captured) = &expected.captured else { return };
    let newest = world.history(&expected.project).last();
    let before = newest.and_then(|newest| newest.captured.clone());
    let before = before.unwrap_or_default();
    let changed = tree::differences(&before.tree, &captured.tree).into_keys();
    let wrong: Vec<explain::Wrong> =
        changed.map(|path| (path.clone(), before.tree.get(path).cloned())).collect();
    let explanation = explain::rule_for(captured, &wrong);
    if explain::is_specific(explanation) {
        checks.check(Judge::Answer, explanation, false, || content::mismatch(captured, &wrong));
    }
}

/// Compares the report of the files that were left out.
fn compare_left_out(world: &World, captured: &Captured, skipped: &[Remark], checks: &mut Checks) {
    let reported: BTreeSet<&ByteString> = skipped.iter().map(|remark| &remark.path).collect();
    for path in captured.unreadable().filter(|_| world.has("take.skipped")) {
        let is_reported = reported.contains(path);
        checks.check(Judge::Answer, &rules::CAPTURE_UNREADABLE, is_reported, || {
            let expected = format!("{path} reported as skipped");
            Mismatch::new(
                "left out, not reported",
                expected,
                format!("skipped: {skipped}", skipped = plain(&skipped)),
            )
            .kind(Kind::Dishonest)
        });
    }
    checkpoint_units::compare(world, captured, skipped, checks);
    let is_in_unit =
        |path: &ByteString| captured.units.iter().any(|unit| unit.members.contains_key(path));
    let captured_and_reported =
        reported.iter().find(|path| captured.tree.contains_key(**path) && !is_in_unit(path));
    checks.check(Judge::Answer, &rules::CAPTURE_HONEST, captured_and_reported.is_none(), || {
        let expected = "no captured path reported as skipped";
        let found = plain(&captured_and_reported);
        Mismatch::new("captured, reported as skipped", expected, found).kind(Kind::Dishonest)
    });
}
