//! Every excuse is counted for the rule that it excuses.

use super::*;
use crate::excuse::Excuse;
use crate::injected::Injected;
use crate::object::Piece;
use crate::rules::{self, RuleRef};

/// How many comparisons of the rule were excused by the excuse.
fn excused(checks: &Checks, rule: RuleRef, excuse: Excuse) -> u64 {
    checks.excused.get(&(rule.id, excuse)).copied().unwrap_or_default()
}

#[test]
fn excused_counts_a_refused_restore_of_a_damaged_checkpoint() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    scene.lose(1, &Piece::File("a".into()));
    let refusal = scene.observation("restore alpha 1", refused(Code::CorruptCheckpoint));
    let checks = scene.checks(&refusal);
    assert!(checks.violations.is_empty(), "{checks:?}");
    assert_eq!(excused(&checks, &rules::RESTORE_BYTES, Excuse::Damage), 1);
    // A diff that is shown of a damaged checkpoint is not compared, either.
    let shown = scene.correct_observation("diff alpha 1");
    assert_eq!(excused(&scene.checks(&shown), &rules::DIFF_PREVIEW, Excuse::Damage), 1);
}

#[test]
fn damage_excuses_no_refusal_for_a_reason_that_is_not_true() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    scene.lose(1, &Piece::File("a".into()));
    for (code, broken) in [
        (Code::UnknownCheckpoint, ""),
        (Code::StoreUnusable, ""),
        (Code::TooManyFiles, "maintenance/damage"),
        (Code::MissingDirectory, "maintenance/damage"),
        (Code::BadTarget, "maintenance/damage"),
    ] {
        for request in ["restore alpha 1f1f", "diff alpha 1f1f", "list alpha"] {
            assert_eq!(scene.broken_by(request, refused(code)), broken, "{request} {code}");
        }
    }
    // That there are too many files may be true.
    scene.world.settings.max_files = 1;
    scene.edit("b=1");
    assert_eq!(scene.broken_by("diff alpha 1f1f", refused(Code::TooManyFiles)), "");
}

#[test]
fn failed_call_excuses_no_refusal_that_denies_an_existing_checkpoint() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    let judged = |request: &str, code: Code| {
        let seen = scene.observation(request, refused(code));
        let allowed = scene.world.allows(&seen.request);
        broken_rules(scene.world.compare_injected(&allowed, &seen, Injected::CallFailed))
    };
    for (request, code, broken) in [
        ("restore alpha 1", Code::Io, ""),
        ("restore alpha 1", Code::UnknownCheckpoint, "fault/clear-refusal"),
        ("diff alpha 1", Code::UnknownCheckpoint, "fault/clear-refusal"),
        ("take alpha", Code::NotADirectory, "fault/clear-refusal"),
        ("restore alpha 9", Code::UnknownCheckpoint, ""),
        ("list missing", Code::MissingDirectory, ""),
    ] {
        assert_eq!(judged(request, code), broken, "{request} {code}");
    }
}

#[test]
fn excused_is_empty_where_nothing_is_excused() {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    for request in ["restore alpha 1", "diff alpha 1", "list alpha", "take alpha"] {
        let checks = scene.checks(&scene.correct_observation(request));
        assert!(checks.excused.is_empty(), "{request}: {checks:?}");
    }
}

#[test]
fn join_adds_excused_comparisons_and_excused_ignores_none() {
    let rule = &rules::LIST_TIME;
    let mut checks = Checks::default();
    checks.excused(rule, Excuse::NoRule, 0);
    assert!(checks.excused.is_empty());
    checks.excused(rule, Excuse::NoRule, 2);
    checks.join(checks.clone());
    assert_eq!(excused(&checks, rule, Excuse::NoRule), 4);
    assert_eq!(count(&checks, rule.id), 0);
}
