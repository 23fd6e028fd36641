//! A verdict on one history: one run, and after a failure further runs that find the cause.
//!
//! A fifo or an unreadable file may cause a refusal; it is blamed if the same history passes without such
//! files. The name of a file may be the reason that the file was not captured; the name is blamed if the
//! same history passes with plain names.
//!
//! A store whose checkpoints cannot be read may leave out what it should capture, which shows when that is restored;
//! `left_out` finds out.
//!
//! A failure that only occurs while a store is damaged is blamed on the damage: damaged bookkeeping must
//! stop nothing, and other damage may only affect what depends on the damaged file.
//!
//! A failure that only occurs with an injection is blamed on the injection. If a process then hangs or finds
//! the store busy, the rule about stale locks is blamed; otherwise the rule about the injected event.
//!
//! A failure that only occurs with the hostile git configuration in the home is blamed on that
//! configuration, whichever rule shows it first. So a single leak is not reported as many other failures,
//! and does not hide them.

mod left_out;

use crate::divergence::{Divergence, Fingerprint, Judge, Mismatch, Violation};
use crate::history::plain_names::with_plain_names;
use crate::history::{Event, History, Operation, StoreEvent};
use crate::protocol::fault::Fault;
use crate::runner::{Run, RunError, RunOptions, Until, run};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use herma_model::Edit;
use herma_model::blame::Failure;
use herma_model::rules::{self, RuleRef};
use std::cell::Cell;
use std::time::Duration;

/// What a history showed.
#[derive(Debug)]
pub struct Trial {
    /// The run of the history, each difference blamed on its cause.
    pub run: Run,
    /// Differences that the same history shows in a plain home only, because it ended earlier in
    /// the hostile home.
    pub plain: Vec<Divergence>,
}

/// Runs `history` in a fresh sandbox until the end that `until` names, and again where it fails.
/// Differences that only follow from an earlier failure are not blamed on another cause.
///
/// # Errors
/// As [`run`].
pub fn trial(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
    until: Until,
) -> Result<Trial, RunError> {
    let answering = Cell::new(Duration::ZERO);
    let run_variant = |history: &History| {
        let options = RunOptions { until, ..RunOptions::default() };
        let run = run(history, new_subject, scratch, options)?;
        answering.set(answering.get() + run.depth.answering);
        Ok(run)
    };
    let mut trial = trial_of_configuration(history, &run_variant)?;
    let in_plain_home = History { plain_home: true, ..history.clone() };
    for (history, divergences) in
        [(history, &mut trial.run.divergences), (&in_plain_home, &mut trial.plain)]
    {
        blame_on_files(history, divergences, &run_variant)?;
        acquit_names(history, divergences, &run_variant)?;
        left_out::blame(history, divergences, &trial.run.capabilities, &run_variant)?;
        blame_on_damage(history, divergences, &run_variant)?;
        blame_on_injection(history, divergences, &run_variant)?;
    }
    // Every run counts, whichever of them is reported.
    trial.run.depth.answering = answering.get();
    Ok(trial)
}

/// Whether a rule is about the configuration in a hostile home, so that it cannot break in a plain home.
pub fn is_of_configuration(rule: &str) -> bool {
    [rules::ISOLATION_USER_CONFIG.id, rules::ISOLATION_NO_SIGNING.id].contains(&rule)
}

/// Runs a variant of a history, always in the same way.
type RunVariant<'a> = &'a dyn Fn(&History) -> Result<Run, RunError>;

/// Whether an edit makes a file that may cause a refusal.
type IsSuspect = fn(&Edit) -> bool;

/// Checks whether a request is still refused without the files that may have caused the refusal.
fn blame_on_files(
    history: &History,
    divergences: &mut [Divergence],
    run: RunVariant<'_>,
) -> Result<(), RunError> {
    let suspects: [(RuleRef, IsSuspect); 2] = [
        (&rules::CAPTURE_UNREADABLE, |edit| {
            matches!(
                edit,
                Edit::SetReadable { readable: false, .. }
                    | Edit::SetFolderReadable { readable: false, .. }
            )
        }),
        (&rules::CAPTURE_SPECIAL, |edit| matches!(edit, Edit::MakeSpecial { .. })),
    ];
    for (rule, is_suspect) in suspects {
        let may_be_caused = |divergence: &Divergence| {
            let is_configured = *divergence.rule == rules::ISOLATION_USER_CONFIG;
            let is_candidate = divergence.follows.is_none() && !is_configured;
            let is_blamed = divergence.rule == rule && divergence.judge == Judge::Answer;
            is_candidate
                && (is_blamed || divergence.symptoms.iter().any(|symptom| symptom.rule == rule))
        };
        if !divergences.iter().any(may_be_caused) {
            continue;
        }
        let makes_suspect =
            |operation: &Operation| matches!(operation, Operation::Edit(edit) if is_suspect(edit));
        let without_files = run(&without(history, &makes_suspect))?.divergences;
        let shows_without_files = |fingerprint: Fingerprint| {
            without_files.iter().any(|candidate| candidate.fingerprint() == fingerprint)
        };
        for divergence in divergences.iter_mut().filter(|divergence| may_be_caused(divergence)) {
            if divergence.rule == rule {
                // A mere wrong reason is not the cause; a symptom that shows without these files is.
                let found = divergence.symptoms.iter().position(|symptom| {
                    shows_without_files(Fingerprint::of(symptom.rule, &symptom.mismatch))
                });
                found.into_iter().for_each(|index| divergence.blame_symptom(index));
            } else if !shows_without_files(divergence.fingerprint()) {
                divergence.rule = rule;
            }
        }
    }
    Ok(())
}

/// Checks whether files are still not captured after they get plain names: then the names are not to
/// blame, but the rule that is blamed with plain names.
fn acquit_names(
    history: &History,
    divergences: &mut [Divergence],
    run: RunVariant<'_>,
) -> Result<(), RunError> {
    let blames_name = |divergence: &Divergence| {
        divergence.follows.is_none() && *divergence.rule == rules::CAPTURE_ANY_NAME
    };
    if !divergences.iter().any(blames_name) {
        return Ok(());
    }
    let Some(plain_history) = with_plain_names(history) else { return Ok(()) };
    let plain = run(&plain_history)?.divergences;
    for divergence in divergences.iter_mut().filter(|divergence| blames_name(divergence)) {
        let is_same = |candidate: &&Divergence| {
            candidate.step == divergence.step
                && candidate.mismatch.symptom == divergence.mismatch.symptom
        };
        if let Some(same) = plain.iter().find(is_same) {
            divergence.rule = same.rule;
        }
    }
    Ok(())
}

/// Runs `history`, and once more in a plain home if it fails in a hostile one.
fn trial_of_configuration(history: &History, run: RunVariant<'_>) -> Result<Trial, RunError> {
    let mut hostile = match run(history) {
        Err(RunError::Adapter { step: None, fault }) if !history.plain_home => {
            return not_opened(history, fault, run);
        }
        hostile => hostile?,
    };
    let needs_cause = |divergence: &Divergence| {
        divergence.follows.is_none() && !divergence.rule.id.starts_with("isolation/")
    };
    let is_plain = history.plain_home || hostile.capabilities.needs_repository();
    // A failure of the configuration at the start may hide everything else.
    let needs_plain_run = |divergence: &Divergence| {
        needs_cause(divergence) || is_of_configuration(divergence.rule.id)
    };
    if is_plain || !hostile.divergences.iter().any(needs_plain_run) {
        return Ok(Trial { run: hostile, plain: Vec::new() });
    }
    let plain = run(&History { plain_home: true, ..history.clone() })?;
    if plain.depth.after_failure < hostile.depth.after_failure {
        hostile.depth = plain.depth;
        for (rule, times) in plain.checks {
            *hostile.checks.entry(rule).or_default() += times;
        }
        for (excused, times) in plain.excused {
            *hostile.excused.entry(excused).or_default() += times;
        }
        hostile.coverage.join(plain.coverage);
    }
    let mut plain = plain.divergences;
    for divergence in &mut hostile.divergences {
        // A failure that shows at a later step in a plain home has another cause; a failure that is
        // only a symptom there has not.
        let is_in_plain = plain.iter().any(|candidate| candidate.also_shows(divergence));
        if needs_cause(divergence) && !is_in_plain {
            blame(divergence, &rules::ISOLATION_USER_CONFIG, "with no git configuration");
        }
    }
    // A difference that followed from another failure, and does not show in a plain home, is dropped,
    // unless it is about the configuration itself.
    let shows_in_plain = |divergence: &Divergence| {
        plain.iter().any(|candidate| candidate.fingerprint() == divergence.fingerprint())
    };
    let is_relevant = |divergence: &Divergence| {
        is_of_configuration(divergence.rule.id) || shows_in_plain(divergence)
    };
    hostile
        .divergences
        .retain(|divergence| divergence.follows.is_none() || is_relevant(divergence));
    let is_reported = |divergence: &Divergence| {
        let is_same = |candidate: &&Divergence| candidate.fingerprint() == divergence.fingerprint();
        let same = hostile.divergences.iter().find(is_same);
        same.is_some_and(|same| same.follows.is_none() || divergence.follows.is_some())
    };
    plain.retain(|divergence| !is_reported(divergence));
    Ok(Trial { run: hostile, plain })
}

/// The trial of a store that does not open in a hostile home. If it opens in a plain home, the
/// configuration is the cause; if not, the adapter has not answered.
fn not_opened(history: &History, fault: Fault, run: RunVariant<'_>) -> Result<Trial, RunError> {
    let plain = run(&History { plain_home: true, ..history.clone() });
    let plain = plain.ok().filter(|plain| !plain.capabilities.needs_repository());
    let Some(plain) = plain else { return Err(RunError::Adapter { step: None, fault }) };
    let mismatch = Mismatch::new(
        "does not open",
        "a store that opens, as with no git configuration",
        fault.to_string(),
    );
    let rule = &rules::ISOLATION_USER_CONFIG;
    let cause = Violation { rule, judge: Judge::Answer, mismatch };
    let failure = Failure { cause, symptoms: Vec::new() };
    let mut hostile = plain;
    let plain =
        std::mem::replace(&mut hostile.divergences, vec![Divergence::new(0, failure, None)]);
    *hostile.checks.entry(rule.id).or_default() += 1;
    Ok(Trial { run: hostile, plain })
}

/// Whether an event damages a part of the store.
type IsDamage = fn(&StoreEvent) -> bool;

/// Checks whether differences also occur with an undamaged store. Separate rules say how a sweep treats
/// damage, and how damage must be reported.
fn blame_on_damage(
    history: &History,
    divergences: &mut [Divergence],
    run: RunVariant<'_>,
) -> Result<(), RunError> {
    let causes: [(RuleRef, IsDamage); 2] = [
        (&rules::MAINTENANCE_HEALS, |event| {
            matches!(event, StoreEvent::Metadata { .. } | StoreEvent::Index { .. })
        }),
        (&rules::MAINTENANCE_DAMAGE, |event| {
            use StoreEvent::{File, Ref, Stored};
            matches!(event, Stored { .. } | Ref { .. } | File { .. })
        }),
    ];
    let needs_cause = |divergence: &Divergence| {
        let area = divergence.rule.id.split('/').next().unwrap_or_default();
        let is_excluded =
            matches!(area, "isolation" | "limit" | "sweep" | "maintenance" | "migration");
        let damage_rules: [RuleRef; 3] = [
            &rules::CAPTURE_STORED,
            &rules::RESTORE_HONEST,
            &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
        ];
        divergence.follows.is_none() && !is_excluded && !damage_rules.contains(&divergence.rule)
    };
    for (rule, is_damage) in causes {
        if !divergences.iter().any(needs_cause) {
            break;
        }
        let intact_history = without(
            history,
            &|operation| matches!(operation, Operation::Event(Event::Store(event)) if is_damage(event)),
        );
        if intact_history == *history {
            continue;
        }
        let intact = run(&intact_history)?.divergences;
        for divergence in divergences.iter_mut().filter(|divergence| needs_cause(divergence)) {
            let fingerprint = divergence.fingerprint();
            // Another rule may have been blamed already.
            let is_same = |candidate: &Divergence| {
                candidate.fingerprint() == fingerprint
                    || candidate.step == divergence.step
                        && candidate.mismatch.symptom == divergence.mismatch.symptom
            };
            if intact.iter().any(is_same) {
                continue;
            }
            // Where the undamaged history failed earlier, nothing shows whether damage is the cause.
            let earlier = intact
                .iter()
                .find(|candidate| candidate.follows.is_none() && candidate.step < divergence.step);
            match earlier {
                Some(earlier) => divergence.follows = Some(earlier.fingerprint()),
                None => blame(divergence, rule, "with no damage"),
            }
        }
    }
    Ok(())
}

/// Checks whether differences also occur without the injection.
fn blame_on_injection(
    history: &History,
    divergences: &mut [Divergence],
    run: RunVariant<'_>,
) -> Result<(), RunError> {
    let excluded_rules: [RuleRef; 5] = [
        &rules::FAULT_CLEAR_REFUSAL,
        &rules::FAULT_NAMES_HALF_RESTORED,
        &rules::CAPTURE_STEADY,
        &rules::CAPTURE_CONTAINED,
        &rules::RESTORE_KEEPS_SAVES,
    ];
    let needs_cause = |divergence: &Divergence| {
        let is_excluded = excluded_rules.contains(&divergence.rule)
            || divergence.rule.id.starts_with("isolation/");
        divergence.follows.is_none() && !is_excluded && divergence.after.is_some()
    };
    if !divergences.iter().any(needs_cause) {
        return Ok(());
    }
    let plain = run(&history.before_calls())?.divergences;
    for divergence in divergences.iter_mut().filter(|divergence| needs_cause(divergence)) {
        let Some((injection, happened)) = divergence.after else { continue };
        if plain.iter().any(|candidate| candidate.also_shows(divergence)) {
            continue;
        }
        // A request that fails by itself fails in another way with the injection.
        let earlier = plain
            .iter()
            .find(|candidate| candidate.follows.is_none() && candidate.step <= divergence.step);
        if let Some(earlier) = earlier {
            divergence.follows = Some(earlier.fingerprint());
            continue;
        }
        let symptom = divergence.mismatch.symptom.clone();
        let cause = happened.rule_of(divergence.rule, &divergence.mismatch);
        blame(divergence, cause, "where nothing is made to happen");
        // The rule names the injection, except which kind of call failed. A process that waits for a lock
        // waits whatever the request is.
        divergence.mismatch.symptom = match *cause {
            _ if *cause == rules::FAULT_CLEAR_REFUSAL => format!("{}: {symptom}", injection.word()),
            _ if *cause == rules::LOCK_STALE => "a lock of a dead process is waited for".to_owned(),
            _ => symptom,
        };
    }
    Ok(())
}

/// The history with each operation that `is_left_out` replaced by an operation without effect.
fn without(history: &History, is_left_out: &dyn Fn(&Operation) -> bool) -> History {
    let mut history = history.clone();
    for operation in history.operations.iter_mut().filter(|operation| is_left_out(operation)) {
        *operation = Operation::Event(Event::Advance { seconds: 0 });
    }
    history
}

/// Blames a difference on its real cause.
fn blame(divergence: &mut Divergence, cause: RuleRef, condition: &str) {
    let mismatch = divergence.mismatch.clone();
    let area = divergence.rule.id.split('/').next().unwrap_or_default();
    let symptom = format!("decides about {area}");
    let rule = divergence.rule.id;
    let expected = format!("{} ({rule}, as {condition})", mismatch.expected);
    divergence.rule = cause;
    divergence.mismatch = Mismatch { symptom, expected, ..mismatch };
}
