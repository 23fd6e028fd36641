//! A verdict on one history: one run, and after a failure another one that shows the cause.
//!
//! A refusal may be due to a fifo or an unreadable file; these are blamed if the same history holds
//! without any of them. A name may be why a file was not captured; it is blamed if the same history
//! holds with plain names.
//!
//! A failure that only occurs while a store is damaged is blamed on the damage: that of its
//! bookkeeping must stop nothing, and any other costs what needs it.
//!
//! A failure that only occurs where something was made to happen at a call is blamed on that: a process
//! that hangs afterwards on a lock, everything else on what happened.
//!
//! A failure that only occurs with the hostile git configuration in the home is blamed on that
//! configuration, whichever rule shows it first. So one leak is not reported as many other
//! failures, and does not hide them.

use crate::divergence::{Divergence, Fingerprint, Judge, Mismatch, Violation};
use crate::history::plain_names::with_plain_names;
use crate::history::{Event, History, Operation, StoreEvent};
use crate::protocol::fault::Fault;
use crate::runner::{Run, RunError, Until, run_until};
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
    /// The run as the history says, each difference blamed on its cause.
    pub run: Run,
    /// Differences that the same history shows in a plain home only, because it ended earlier in
    /// the hostile one.
    pub plain: Vec<Divergence>,
}

/// Runs `history` in a fresh sandbox until world and subject disagree, and again where it fails.
///
/// # Errors
/// As [`run`](crate::runner::run).
pub fn trial(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Trial, RunError> {
    trial_until(Until::Disagreement, history, new_subject, scratch)
}

/// As [`trial`], as far as `until` says. What only follows from an earlier failure is left as it is.
///
/// # Errors
/// As [`trial`].
pub fn trial_until(
    until: Until,
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Trial, RunError> {
    let answering = Cell::new(Duration::ZERO);
    let run = |history: &History| {
        let run = run_until(until, history, new_subject, scratch)?;
        answering.set(answering.get() + run.depth.answering);
        Ok(run)
    };
    let mut trial = trial_of_configuration(history, &run)?;
    let in_plain_home = History { plain_home: true, ..history.clone() };
    for (history, seen) in
        [(history, &mut trial.run.divergences), (&in_plain_home, &mut trial.plain)]
    {
        blame_on_files(history, seen, &run)?;
        acquit_names(history, seen, &run)?;
        blame_on_damage(history, seen, &run)?;
        blame_on_injection(history, seen, &run)?;
    }
    // Each run took its time, whichever of them is reported.
    trial.run.depth.answering = answering.get();
    Ok(trial)
}

/// Whether a rule is about the configuration in a hostile home, so that no plain home shows a break.
pub fn is_of_configuration(rule: &str) -> bool {
    [rules::ISOLATION_USER_CONFIG.id, rules::ISOLATION_NO_SIGNING.id].contains(&rule)
}

/// Runs a history, always in the same way.
type Again<'a> = &'a dyn Fn(&History) -> Result<Run, RunError>;

/// Whether an edit makes a file that may stop something.
type Suspect = fn(&Edit) -> bool;

/// Checks whether a request is still refused without the files that may have caused the refusal.
fn blame_on_files(
    history: &History,
    seen: &mut [Divergence],
    run: Again<'_>,
) -> Result<(), RunError> {
    let suspects: [(RuleRef, Suspect); 2] = [
        (&rules::CAPTURE_UNREADABLE, |one| {
            matches!(one, Edit::SetReadable { readable: false, .. })
        }),
        (&rules::CAPTURE_SPECIAL, |one| matches!(one, Edit::MakeSpecial { .. })),
    ];
    for (rule, makes_one) in suspects {
        let suspected = |one: &Divergence| {
            let configured = *one.rule == rules::ISOLATION_USER_CONFIG;
            let alone = one.follows.is_none() && !configured;
            let blamed = one.rule == rule && one.judge == Judge::Answer;
            alone && (blamed || one.symptoms.iter().any(|other| other.rule == rule))
        };
        if !seen.iter().any(suspected) {
            continue;
        }
        let makes_one = |one: &Operation| matches!(one, Operation::Edit(edit) if makes_one(edit));
        let without = run(&without(history, &makes_one))?.divergences;
        for divergence in seen.iter_mut().filter(|one| suspected(one)) {
            let shown = |one: Fingerprint| without.iter().any(|other| other.fingerprint() == one);
            if divergence.rule == rule {
                // What is only a wrong reason is no cause, and what shows without these files is.
                let found = divergence
                    .symptoms
                    .iter()
                    .position(|one| shown(Fingerprint::of(one.rule, &one.mismatch)));
                found.into_iter().for_each(|at| divergence.blame_symptom(at));
            } else if !shown(divergence.fingerprint()) {
                divergence.rule = rule;
            }
        }
    }
    Ok(())
}

/// Checks whether files are still not captured whose names nothing can take for more: then not their
/// names are to blame, but whatever is without them.
fn acquit_names(
    history: &History,
    seen: &mut [Divergence],
    run: Again<'_>,
) -> Result<(), RunError> {
    let suspected =
        |one: &Divergence| one.follows.is_none() && *one.rule == rules::CAPTURE_ANY_NAME;
    if !seen.iter().any(suspected) {
        return Ok(());
    }
    let Some(plain) = with_plain_names(history) else { return Ok(()) };
    let plain = run(&plain)?.divergences;
    for divergence in seen.iter_mut().filter(|one| suspected(one)) {
        let is_same = |one: &&Divergence| {
            one.step == divergence.step && one.mismatch.symptom == divergence.mismatch.symptom
        };
        if let Some(same) = plain.iter().find(is_same) {
            divergence.rule = same.rule;
        }
    }
    Ok(())
}

/// Runs `history`, and once more in a plain home if it fails in a hostile one.
fn trial_of_configuration(history: &History, run: Again<'_>) -> Result<Trial, RunError> {
    let mut hostile = match run(history) {
        Err(RunError::Adapter { step: None, fault }) if !history.plain_home => {
            return not_opened(history, fault, run);
        }
        hostile => hostile?,
    };
    let needs_cause =
        |one: &Divergence| one.follows.is_none() && !one.rule.id.starts_with("isolation/");
    let is_plain = history.plain_home || hostile.capabilities.needs_repository();
    // What the configuration breaks at once may hide everything else.
    let hides = |one: &Divergence| needs_cause(one) || is_of_configuration(one.rule.id);
    if is_plain || !hostile.divergences.iter().any(hides) {
        return Ok(Trial { run: hostile, plain: Vec::new() });
    }
    let plain = History { plain_home: true, ..history.clone() };
    let plain = run(&plain)?;
    if plain.depth.after_failure < hostile.depth.after_failure {
        hostile.depth = plain.depth;
        for (rule, times) in plain.checks {
            *hostile.checks.entry(rule).or_default() += times;
        }
        hostile.coverage.join(plain.coverage);
    }
    let mut plain = plain.divergences;
    for divergence in &mut hostile.divergences {
        // A failure that shows at a later step in a plain home has another cause; one that shows
        // there beside another failure has not.
        let same = plain.iter().any(|one| one.shows_too(divergence));
        if needs_cause(divergence) && !same {
            blame(divergence, &rules::ISOLATION_USER_CONFIG, "with no git configuration");
        }
    }
    // What followed from another failure, and does not show in a plain home, is no news, unless it is
    // about the configuration itself.
    let in_plain =
        |one: &Divergence| plain.iter().any(|other| other.fingerprint() == one.fingerprint());
    let is_news = |one: &Divergence| is_of_configuration(one.rule.id) || in_plain(one);
    hostile.divergences.retain(|one| one.follows.is_none() || is_news(one));
    let shown = |one: &Divergence| {
        let same = |other: &&Divergence| other.fingerprint() == one.fingerprint();
        let shown = hostile.divergences.iter().find(same);
        shown.is_some_and(|other| other.follows.is_none() || one.follows.is_some())
    };
    plain.retain(|one| !shown(one));
    Ok(Trial { run: hostile, plain })
}

/// A store that does not open in a hostile home. Where it opens in a plain one, that is due to the
/// configuration; where it does not, the adapter has not answered.
fn not_opened(history: &History, fault: Fault, run: Again<'_>) -> Result<Trial, RunError> {
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
type Damages = fn(&StoreEvent) -> bool;

/// Checks whether differences also occur with an undamaged store. How a sweep treats damage, and what
/// must be said of what is damaged, has rules of its own.
fn blame_on_damage(
    history: &History,
    damaged: &mut [Divergence],
    run: Again<'_>,
) -> Result<(), RunError> {
    let costs: [(RuleRef, Damages); 2] = [
        (&rules::MAINTENANCE_HEALS, |event| {
            matches!(event, StoreEvent::Metadata { .. } | StoreEvent::Index { .. })
        }),
        (&rules::MAINTENANCE_DAMAGE, |event| {
            use StoreEvent::{File, Ref, Stored};
            matches!(event, Stored { .. } | Ref { .. } | File { .. })
        }),
    ];
    let needs_cause = |one: &Divergence| {
        let area = one.rule.id.split('/').next().unwrap_or_default();
        let own = matches!(area, "isolation" | "limit" | "sweep" | "maintenance" | "migration");
        let of_damage: [RuleRef; 3] = [
            &rules::CAPTURE_STORED,
            &rules::RESTORE_HONEST,
            &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
        ];
        one.follows.is_none() && !own && !of_damage.contains(&one.rule)
    };
    for (rule, damages) in costs {
        let whole = without(
            history,
            &|one| matches!(one, Operation::Event(Event::Store(event)) if damages(event)),
        );
        if whole == *history || !damaged.iter().any(needs_cause) {
            continue;
        }
        let whole = run(&whole)?.divergences;
        for divergence in damaged.iter_mut().filter(|one| needs_cause(one)) {
            let fingerprint = divergence.fingerprint();
            // It may have been blamed on something else already.
            let same = |one: &Divergence| {
                one.fingerprint() == fingerprint
                    || one.step == divergence.step
                        && one.mismatch.symptom == divergence.mismatch.symptom
            };
            if whole.iter().any(same) {
                continue;
            }
            // Where the history ended earlier, nothing shows what damage has to do with it.
            let earlier =
                whole.iter().find(|one| one.follows.is_none() && one.step < divergence.step);
            match earlier {
                Some(earlier) => divergence.follows = Some(earlier.fingerprint()),
                None => blame(divergence, rule, "with no damage"),
            }
        }
    }
    Ok(())
}

/// Checks whether differences also occur where nothing is made to happen.
fn blame_on_injection(
    history: &History,
    injected: &mut [Divergence],
    run: Again<'_>,
) -> Result<(), RunError> {
    let own: [RuleRef; 5] = [
        &rules::FAULT_CLEAR_REFUSAL,
        &rules::FAULT_NAMES_HALF_RESTORED,
        &rules::CAPTURE_STEADY,
        &rules::CAPTURE_CONTAINED,
        &rules::RESTORE_KEEPS_SAVES,
    ];
    let needs_cause = |one: &Divergence| {
        let is_own = own.contains(&one.rule) || one.rule.id.starts_with("isolation/");
        one.follows.is_none() && !is_own && one.after.is_some()
    };
    if !injected.iter().any(needs_cause) {
        return Ok(());
    }
    let plain = run(&history.before_calls())?.divergences;
    for divergence in injected.iter_mut().filter(|one| needs_cause(one)) {
        let Some((what, happened)) = divergence.after else { continue };
        if plain.iter().any(|one| one.shows_too(divergence)) {
            continue;
        }
        // A request that does wrong by itself does it in another way where something happens.
        let before = plain.iter().find(|one| one.follows.is_none() && one.step <= divergence.step);
        if let Some(before) = before {
            divergence.follows = Some(before.fingerprint());
            continue;
        }
        let symptom = divergence.mismatch.symptom.clone();
        let cause = happened.rule_of(divergence.rule, &divergence.mismatch);
        blame(divergence, cause, "where nothing is made to happen");
        // The rule says what happened but for which call failed, and how. Whoever waits for a lock does so
        // whatever it is asked.
        divergence.mismatch.symptom = match *cause {
            _ if *cause == rules::FAULT_CLEAR_REFUSAL => format!("{}: {symptom}", what.word()),
            _ if *cause == rules::LOCK_STALE => "a lock of a dead process is waited for".to_owned(),
            _ => symptom,
        };
    }
    Ok(())
}

/// The history with each such operation replaced by one that does nothing.
fn without(history: &History, leaves_out: &dyn Fn(&Operation) -> bool) -> History {
    let mut history = history.clone();
    for operation in history.operations.iter_mut().filter(|one| leaves_out(one)) {
        *operation = Operation::Event(Event::Advance { seconds: 0 });
    }
    history
}

/// Blames a difference on its real cause.
fn blame(divergence: &mut Divergence, cause: RuleRef, otherwise: &str) {
    let mismatch = divergence.mismatch.clone();
    let area = divergence.rule.id.split('/').next().unwrap_or_default();
    let symptom = format!("decides about {area}");
    let (rule, expected) = (divergence.rule.id, mismatch.expected);
    let expected = format!("{expected} ({rule}, as {otherwise})");
    divergence.rule = cause;
    divergence.mismatch = Mismatch { symptom, expected, ..mismatch };
}
