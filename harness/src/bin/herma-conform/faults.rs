//! `faults`: something happens to a subject's process at one call, and everything is asked.

use crate::commands::{cores, fresh_seed};
use crate::ending::{
    BROKEN, NO_CANARY, NO_VERDICT, NoVerdict, SELF_CHECK, TOO_LITTLE, no_verdict, say, scratch,
};
use crate::progress;
use crate::subjects::{Chosen as ChosenSubject, LaneArguments};
use herma_harness::damage::{DamageError, Opened};
use herma_harness::faults::fault::Fault;
use herma_harness::faults::report::{Extent, Report};
use herma_harness::faults::{Chosen, Lane, Operation, Outcome, naive};
use herma_harness::sandbox::Scratch;
use herma_harness::suite::introduce;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::process::ExitCode;
use std::str::FromStr;
use std::time::Duration;

pub const EXAMPLES: &str = "\
Examples:
  herma-conform faults                           the reference implementation
  herma-conform faults --fault kill --operation take hermes-agent@0.19.0
  herma-conform faults --seed 1 --only take:kill:131  one fault again, with all that is wrong";

/// The arguments of `faults`.
#[derive(clap::Args)]
pub struct FaultsArguments {
    /// The seed of what is there before; a fresh one each time by default
    #[arg(long)]
    seed: Option<u64>,
    /// Only these faults: kill, io, no-space, full, hold-take, hold-prune
    #[arg(long)]
    fault: Vec<Fault>,
    /// Only in these operations: take, restore, prune
    #[arg(long)]
    operation: Vec<Operation>,
    /// At no more than so many calls of each operation, evenly spread
    #[arg(long, value_name = "CALLS", default_value_t = 200)]
    points: usize,
    /// Only this fault, with all that is wrong
    #[arg(long, value_name = "OPERATION:FAULT:CALL", value_parser = only)]
    only: Option<Chosen>,
    #[command(flatten)]
    lane: LaneArguments,
}

fn only(text: &str) -> Result<Chosen, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let [operation, fault, at] = parts[..] else {
        return Err("it is spelled like take:kill:131".into());
    };
    let at = at.parse().map_err(|_| format!("{at:?} is no number of a call"))?;
    Ok(Chosen { operation: Operation::from_str(operation)?, fault: Fault::from_str(fault)?, at })
}

/// `herma-conform faults`.
///
/// # Errors
/// There is no verdict.
pub fn faults(arguments: &FaultsArguments) -> Result<ExitCode, NoVerdict> {
    let chosen = ChosenSubject::new(&arguments.lane.subject)?;
    let (scratch, seed) =
        (scratch(arguments.lane.scratch.clone()), arguments.seed.unwrap_or_else(fresh_seed));
    let unknown = |error| (format!("where is this program: {error}"), NO_VERDICT);
    let program: OsString = std::env::current_exe().map_err(unknown)?.into();
    let supervised = [program.clone(), "supervised".into()];
    canary(&program, &supervised, &scratch)?;
    let start = chosen.in_a_process(Duration::from_secs(arguments.lane.deadline))?;
    let open = start.opener();
    let (subject, capabilities) = introduce(&open, &scratch).map_err(no_verdict)?;
    let opened = Opened { open: &open, subject, capabilities };
    if !opened.capabilities.has("test.store") {
        say(&format!("not run: {} lacks `test.store`\n", opened.subject.name));
        return Ok(ExitCode::from(TOO_LITTLE));
    }
    let lane = Lane { opened: &opened, start: &start, supervised: &supervised, seed };
    let (operations, anyway, all) = planned(&lane, arguments, &scratch)?;
    let jobs = arguments.lane.jobs.unwrap_or_else(cores);
    let outcomes = progress::try_map(&all, "faults", jobs, |one| {
        match lane.run(*one, &anyway[&one.operation], &scratch) {
            Ok(outcome) => Ok((*one, Ok(outcome))),
            Err(error @ DamageError::Sandbox(_)) => Err(failed(error)),
            Err(error) => Ok((*one, Err(error.to_string()))),
        }
    })?;
    let (faults, not_judged) = parted(outcomes);
    let replay =
        format!("herma-conform faults --seed {seed} --deadline {}", arguments.lane.deadline);
    let (subject, spelled) = (opened.subject.clone(), chosen.spelled());
    let report = Report { subject, seed, operations, faults, not_judged, replay, spelled };
    say(&if arguments.lane.json { report.json() } else { report.text(arguments.only.is_some()) });
    Ok(match &report {
        report if report.is_broken() => ExitCode::from(BROKEN),
        report if report.faults.is_empty() => ExitCode::from(TOO_LITTLE),
        _ => ExitCode::SUCCESS,
    })
}

fn failed(error: DamageError) -> NoVerdict {
    (format!("{error}; no verdict is given"), NO_VERDICT)
}

/// What is run of each operation, what is answered wrongly in it without a fault, and all faults.
type Planned = (BTreeMap<Operation, Extent>, BTreeMap<Operation, BTreeSet<String>>, Vec<Chosen>);

fn planned(
    lane: &Lane<'_>,
    arguments: &FaultsArguments,
    scratch: &Scratch,
) -> Result<Planned, NoVerdict> {
    let or_all =
        |given: &[Fault]| if given.is_empty() { Fault::ALL.to_vec() } else { given.to_vec() };
    let mut faults =
        arguments.only.map_or_else(|| or_all(&arguments.fault), |only| vec![only.fault]);
    // What another process is to do meanwhile must be possible, too.
    let needs = |fault: &Fault| fault.meanwhile().and_then(Operation::needs);
    faults.retain(|fault| needs(fault).is_none_or(|one| lane.opened.capabilities.has(one)));
    let (mut extents, mut anyway, mut all) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for operation in Operation::ALL {
        let wanted = arguments.only.map_or_else(
            || arguments.operation.is_empty() || arguments.operation.contains(&operation),
            |only| only.operation == operation,
        );
        if !wanted {
            continue;
        }
        if let Some(lacking) = operation.needs().filter(|one| !lane.opened.capabilities.has(one)) {
            let not_run = Some(format!("it lacks `{lacking}`"));
            extents.insert(operation, Extent { points: 0, exhaustive: false, not_run });
            continue;
        }
        let points = lane.points(operation, scratch).map_err(failed)?;
        let calls = |points: &[herma_harness::faults::Point]| -> Vec<String> {
            points.iter().map(|point| point.call.clone()).collect()
        };
        let again = lane.points(operation, scratch).map_err(failed)?;
        let chosen = spread(points.len(), arguments.points);
        let exhaustive = calls(&points) == calls(&again) && chosen.len() == points.len();
        extents.insert(operation, Extent { points: points.len(), exhaustive, not_run: None });
        anyway.insert(operation, lane.anyway(operation, scratch).map_err(failed)?);
        let of = |fault| chosen.iter().map(move |at| Chosen { operation, fault, at: *at });
        all.extend(faults.iter().flat_map(|fault| of(*fault)));
    }
    Ok((extents, anyway, arguments.only.map_or(all, |only| vec![only])))
}

/// Numbers from 1 to `points`, all or so many of them.
fn spread(points: usize, most: usize) -> Vec<usize> {
    match points <= most {
        true => (1..=points).collect(),
        false => (0..most).map(|one| 1 + one * points / most).collect(),
    }
}

/// The faults of which something can be said, and why nothing can of the others.
fn parted(
    outcomes: Vec<(Chosen, Result<Outcome, String>)>,
) -> (Vec<Outcome>, Vec<(Chosen, String)>) {
    let (mut faults, mut not_judged) = (Vec::new(), Vec::new());
    for (chosen, outcome) in outcomes {
        match outcome {
            Ok(outcome) => faults.push(outcome),
            Err(why) => not_judged.push((chosen, why)),
        }
    }
    (faults, not_judged)
}

/// Plain git with nothing around it is killed while it takes a checkpoint: a lane that holds nothing
/// against it would notice nothing.
fn canary(program: &OsString, supervised: &[OsString], scratch: &Scratch) -> Result<(), NoVerdict> {
    match naive(program, supervised, scratch) {
        Ok(true) => Ok(()),
        Ok(false) => Err((NO_CANARY.into(), SELF_CHECK)),
        Err(DamageError::Sandbox(error)) => Err(failed(error.into())),
        Err(error) => {
            let message = format!("not run: this system tells of no calls, or not of all: {error}");
            Err((message, NO_VERDICT))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_all_of_them_or_evenly_spread() {
        assert_eq!(spread(3, 10), [1, 2, 3]);
        assert_eq!(spread(10, 3), [1, 4, 7]);
    }

    #[test]
    fn one_fault_is_spelled_as_it_is_shown() {
        let one = only("take:no-space:7").unwrap();
        assert_eq!((one.operation, one.fault, one.at), (Operation::Take, Fault::NoSpace, 7));
        for wrong in ["take:kill", "give:kill:1", "take:rust:1", "take:kill:x"] {
            assert!(only(wrong).is_err(), "{wrong}");
        }
    }
}
