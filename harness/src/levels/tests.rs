//! Tests of the levels, their reports and their page.

use super::*;
use crate::results::Results;
use crate::results::junit::tests::results;
use crate::suite::Verdict;

/// Results in which every rule of the rule book held, after enough histories.
fn perfect() -> Results {
    let mut results = results("too many", "three");
    let rule = results.rules[0].clone();
    let held = |judged: RuleRef| {
        let id = judged.id.to_owned();
        crate::results::RuleJudged { id, tier: judged.tier.to_string(), ..rule.clone() }
    };
    results.rules = rules::catalogue().map(held).collect();
    results.failures.clear();
    results.started.histories = 60;
    results.started.operations = 40;
    let needs = rules::catalogue().flat_map(|rule| rule.needs);
    results.started.capabilities = needs.map(|need| (*need).to_owned()).collect();
    results
}

fn report(results: &Results) -> ConformanceReport {
    ConformanceReport::of(std::slice::from_ref(results), "2026-01-31").unwrap()
}

fn set(results: &mut Results, rule: &str, verdict: Verdict) {
    let found = results.rules.iter_mut().find(|judged| judged.id == rule).unwrap();
    found.verdict = verdict;
}

#[test]
fn frozen_levels_are_those_of_the_rule_book() {
    let lists = LevelLists::of_rule_book();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/levels/0.1.toml");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, lists.to_toml()).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(file).unwrap(),
        lists.to_toml(),
        "a rule changed its level: UPDATE_DOCS=1 writes the lists of an unpublished version again; a \
         published one keeps its file, and the next version gets its own"
    );
    assert!(env!("CARGO_PKG_VERSION").starts_with(RULE_BOOK));
    assert_eq!(lists.rules().count(), rules::catalogue().count());
}

#[test]
fn report_earns_every_level_only_if_no_must_rule_of_it_failed_or_was_skipped() {
    let mut results = perfect();
    let all = ["documented", "integrity", "durability", "agent"];
    assert_eq!(report(&results).levels, all);
    for verdict in [Verdict::Broken, Verdict::Unstable, Verdict::NotExercised] {
        set(&mut results, "restore/bytes", verdict);
        assert_eq!(report(&results).levels, ["documented", "durability", "agent"], "{verdict:?}");
    }
    set(&mut results, "restore/bytes", Verdict::NotApplicable);
    assert_eq!(report(&results).levels, all);
    let advice = rules::catalogue().find(|rule| rule.level == Level::Should).unwrap();
    set(&mut results, advice.id, Verdict::Broken);
    assert_eq!(report(&results).levels, all);
    results.rules.retain(|rule| rule.id != "crash/atomic" && !rule.id.starts_with("lock/"));
    assert!(!report(&results).levels.contains(&"durability".to_owned()));
}

#[test]
fn report_earns_no_level_below_the_floor_or_with_too_few_histories() {
    let mut results = perfect();
    results.started.histories = 59;
    assert_eq!(report(&results).levels, [""; 0]);
    let mut results = perfect();
    results.finished.planned = results.finished.histories + 1;
    assert_eq!(report(&results).levels, [""; 0]);
    let mut results = perfect();
    results.rules.iter_mut().for_each(|rule| rule.verdict = Verdict::NotApplicable);
    assert_eq!(report(&results).levels, [""; 0]);
}

#[test]
fn report_takes_the_worst_verdict_of_several_runs_of_one_implementation() {
    let mut broken = perfect();
    set(&mut broken, "restore/bytes", Verdict::Broken);
    let both = ConformanceReport::of(&[perfect(), broken.clone()], "2026-01-31").unwrap();
    assert_eq!(both.verdict("restore/bytes"), Some(Verdict::Broken));
    broken.started.subject.version = "2".into();
    let error = ConformanceReport::of(&[perfect(), broken], "2026-01-31").unwrap_err();
    assert!(matches!(error, ReportError::Different(..)), "{error}");
}

#[test]
fn check_accepts_a_report_as_written_and_refuses_each_kind_of_wrong_one() {
    let right = report(&perfect());
    assert_eq!(ConformanceReport::from_yaml(&right.to_yaml()).unwrap(), right);
    assert_eq!(right.check(), Ok(()));
    let refused = |change: &dyn Fn(&mut ConformanceReport)| {
        let mut report = right.clone();
        change(&mut report);
        report.check().unwrap_err()
    };
    let removed = refused(&|report| drop(report.held.pop()));
    assert!(matches!(removed, ReportError::Verdicts(_, 0)), "{removed}");
    let twice = refused(&|report| report.held.push("restore/bytes".into()));
    assert!(matches!(twice, ReportError::Verdicts(_, 2)), "{twice}");
    let claimed = refused(&|report| drop(report.levels.pop()));
    assert!(matches!(claimed, ReportError::Claim(..)), "{claimed}");
    let skipped = refused(&|report| {
        report.held.retain(|rule| rule != "restore/exact");
        report.not_applicable.insert("restore/exact".into(), "restore.exact".into());
    });
    assert!(matches!(skipped, ReportError::Capability(..)), "{skipped}");
    let lacking = refused(&|report| report.capabilities.clear());
    assert!(matches!(lacking, ReportError::Capability(..)), "{lacking}");
    let unsaid = refused(&|report| {
        report.held.retain(|rule| rule != "restore/bytes");
        report.not_exercised.insert("restore/bytes".into(), " ".into());
    });
    assert!(matches!(unsaid, ReportError::NoReason(_)), "{unsaid}");
    assert!(matches!(
        refused(&|report| report.date = "soon".into()),
        ReportError::Field("date", _)
    ));
    assert!(matches!(refused(&|report| report.runs.clear()), ReportError::NoResults));
}

#[test]
fn badge_names_the_earned_levels() {
    let report = report(&perfect());
    assert!(
        badge::endpoint(&report)
            .contains("\"message\":\"documented, integrity, durability, agent\"")
    );
    assert!(badge::svg(&report).contains(">documented, integrity, durability, agent</text>"));
}
