//! `faults`: something happens to a subject's process at one call, and everything is asked.

use crate::commands::{cores, fresh_seed};
use crate::ending::{
    BROKEN, NO_CANARY, NO_VERDICT, NoVerdict, SELF_CHECK, TOO_LITTLE, no_verdict, say, scratch,
};
use crate::progress;
use crate::subjects::{Chosen as ChosenSubject, LaneArguments};
use herma_harness::damage::{DamageError, Opened};
use herma_harness::faults::fault::{self, Calls, Fault};
use herma_harness::faults::report::{Extent, Report};
use herma_harness::faults::{Chosen, Lane, Operation, Outcome, Point, Story, naive};
use herma_harness::sandbox::Scratch;
use herma_harness::share::Share;
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
  herma-conform faults --length 3                what up to three operations leave, then one more
  herma-conform faults --seed 1 --only take+take:kill:31  one fault again, with all that is wrong";

/// The arguments of `faults`.
#[derive(clap::Args)]
pub struct FaultsArguments {
    /// The seed of what is there before; a fresh one each time by default
    #[arg(long)]
    seed: Option<u64>,
    /// Only these faults: kill, io, no-space, full, short, hold-take, hold-prune, read, power-bytes,
    /// power-torn, power-names, save, save-over, swap
    #[arg(long)]
    fault: Vec<Fault>,
    /// Only in these operations: take, restore, restore-file, prune, sweep, list, diff
    #[arg(long)]
    operation: Vec<Operation>,
    /// In the last operation of every story of up to so many; by default of the first checkpoint of
    /// all, and of each operation after two checkpoints
    #[arg(long, value_name = "OPERATIONS")]
    length: Option<usize>,
    /// At no more than so many calls of each operation, evenly spread
    #[arg(long, value_name = "CALLS", default_value_t = 20)]
    points: usize,
    /// Only this part of the faults, such as 1/4: a long search is made in several goes, or on several
    /// machines
    #[arg(long, default_value_t)]
    shard: Share,
    /// Only this fault, with all that is wrong
    #[arg(long, value_name = "STORY:FAULT:CALL", value_parser = only)]
    only: Option<Chosen>,
    #[command(flatten)]
    lane: LaneArguments,
}

fn only(text: &str) -> Result<Chosen, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let [story, fault, at] = parts[..] else {
        return Err("it is spelled like take+take:kill:131".into());
    };
    let at = fault::place(at)?;
    Ok(Chosen { story: Story::from_str(story)?, fault: Fault::from_str(fault)?, at })
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
    let only = arguments.only.as_ref();
    let faults = match (only, &arguments.fault[..]) {
        (Some(only), _) => vec![only.fault],
        (None, []) => Fault::ALL.to_vec(),
        (None, some) => some.to_vec(),
    };
    canary(&program, &supervised, &faults, &scratch)?;
    let start = chosen.in_a_process(Duration::from_secs(arguments.lane.deadline))?;
    let open = start.opener();
    let (subject, capabilities) = introduce(&open, &scratch).map_err(no_verdict)?;
    let opened = Opened { open: &open, subject, capabilities };
    let capabilities = &opened.capabilities;
    if capabilities.needs_repository() || capabilities.store_folder().is_some() {
        let name = &opened.subject.name;
        say(&format!("not run: {name} keeps its store in the project, which is changed here\n"));
        return Ok(ExitCode::from(TOO_LITTLE));
    }
    let lane = Lane::new(&opened, &start, &supervised, seed);
    let lane = lane.of_what_is_captured(&scratch).map_err(failed)?;
    let Planned { stories, anyway, all } = planned(&lane, arguments, &faults, &scratch)?;
    let jobs = arguments.lane.jobs.unwrap_or_else(cores);
    let outcomes = progress::try_map(&all, "faults", jobs, |one| {
        match lane.run(one.clone(), &anyway[&one.story], &scratch) {
            Ok(outcome) => Ok((one.clone(), Ok(outcome))),
            Err(error @ DamageError::Sandbox(_)) => Err(failed(error)),
            Err(error) => Ok((one.clone(), Err(error.to_string()))),
        }
    })?;
    let (faults, not_judged) = parted(outcomes);
    let replay =
        format!("herma-conform faults --seed {seed} --deadline {}", arguments.lane.deadline);
    let (subject, spelled) = (opened.subject.clone(), chosen.spelled());
    let anyway = anyway.into_iter().collect();
    let report = Report { subject, seed, stories, faults, anyway, not_judged, replay, spelled };
    say(&if arguments.lane.json { report.json() } else { report.text(only.is_some()) });
    Ok(match &report {
        report if report.is_broken() => ExitCode::from(BROKEN),
        report if report.faults.is_empty() => ExitCode::from(TOO_LITTLE),
        _ => ExitCode::SUCCESS,
    })
}

fn failed(error: DamageError) -> NoVerdict {
    (format!("{error}; no verdict is given"), NO_VERDICT)
}

/// What is run of each story, what is answered wrongly in it without a fault, and all faults.
#[derive(Default)]
struct Planned {
    stories: Vec<Extent>,
    anyway: BTreeMap<Story, BTreeSet<String>>,
    all: Vec<Chosen>,
}

fn planned(
    lane: &Lane<'_>,
    arguments: &FaultsArguments,
    faults: &[Fault],
    scratch: &Scratch,
) -> Result<Planned, NoVerdict> {
    let lacks = |needed: &&str| !lane.opened.capabilities.has(needed);
    let stories = match (&arguments.only, arguments.length) {
        (Some(only), _) => vec![only.story.clone()],
        (None, Some(length)) => Story::up_to(length),
        (None, None) => Story::usual(),
    };
    let wanted = |story: &Story| {
        arguments.operation.is_empty() || arguments.operation.contains(&story.last())
    };
    let mut planned = Planned::default();
    for story in stories.into_iter().filter(wanted) {
        let lacking = story.needs().find(lacks);
        if let Some(lacking) = lacking {
            let not_run = Some(format!("it lacks `{lacking}`"));
            let (points, calls, exhaustive) = (0, Calls::All, false);
            planned.stories.push(Extent { story, calls, points, exhaustive, not_run });
            continue;
        }
        // What another process is to do meanwhile must be possible, too.
        let meanwhile = |fault: &Fault| fault.meanwhile().and_then(Operation::needs);
        let can_be = |fault: &&Fault| {
            fault.is_for(story.last()) && !meanwhile(fault).as_ref().is_some_and(lacks)
        };
        let mut like: BTreeMap<_, Vec<Fault>> = BTreeMap::new();
        for fault in faults.iter().filter(can_be) {
            like.entry((fault.comes_at().calls(), fault.actor())).or_default().push(*fault);
        }
        for faults in like.values() {
            let chosen = calls(lane, &story, (faults, arguments.points), scratch, &mut planned.all);
            planned.stories.push(chosen?);
        }
        let anyway = lane.anyway(&story, scratch).map_err(failed)?;
        planned.anyway.insert(story, anyway);
    }
    if let Some(only) = &arguments.only {
        planned.all = vec![only.clone()];
    } else if !arguments.shard.is_whole() {
        let mut numbers = 0..;
        planned.all.retain(|_| numbers.next().is_some_and(|number| arguments.shard.holds(number)));
        planned.stories.iter_mut().for_each(|extent| extent.exhaustive = false);
    }
    Ok(planned)
}

/// The calls of the last operation of a story, and every fault at no more than so many of them. The
/// faults come at the same calls.
fn calls(
    lane: &Lane<'_>,
    story: &Story,
    (faults, most): (&[Fault], usize),
    scratch: &Scratch,
    all: &mut Vec<Chosen>,
) -> Result<Extent, NoVerdict> {
    let calls = faults[0].comes_at().calls();
    let points = lane.points(story, faults[0], scratch).map_err(failed)?;
    let again = lane.points(story, faults[0], scratch).map_err(failed)?;
    let names = |points: &[Point]| -> Vec<String> {
        points.iter().map(|point| point.call.clone()).collect()
    };
    let mut exhaustive = names(&points) == names(&again);
    for fault in faults {
        let places = fault.comes_at().among(&points);
        let chosen = spread(places.len(), most).into_iter().map(|at| places[at - 1]);
        exhaustive &= places.len() <= most;
        all.extend(chosen.map(|at| Chosen { story: story.clone(), fault: *fault, at }));
    }
    let (story, points) = (story.clone(), points.len());
    Ok(Extent { story, calls, points, exhaustive, not_run: None })
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

/// Plain git with nothing around it meets the same faults: a lane that holds nothing against it would
/// notice nothing.
fn canary(
    program: &OsString,
    supervised: &[OsString],
    faults: &[Fault],
    scratch: &Scratch,
) -> Result<(), NoVerdict> {
    match naive(program, supervised, faults, scratch) {
        Ok(None) => Ok(()),
        Ok(Some(missed)) => Err((format!("{NO_CANARY} ({missed})"), SELF_CHECK)),
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
        let one = only("take+take:no-space:7").unwrap();
        assert_eq!((one.story.takes(), one.fault, one.at), (1, Fault::NoSpace, 7));
        for wrong in ["take:kill", "give:kill:1", "take:rust:1", "take:kill:x"] {
            assert!(only(wrong).is_err(), "{wrong}");
        }
    }
}
