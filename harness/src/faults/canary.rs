//! The canary of the fault lane: plain git with nothing around it. A lane that holds nothing against it
//! would notice nothing.

use super::actor::Actor;
use super::fault::{Calls, END, Fault};
use super::{Chosen, Lane, Point, Story};
use crate::damage::naive::Naive;
use crate::damage::{DamageError, Opened};
use crate::history::Left;
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::{AdapterCommand, Identity, Subject};
use herma_model::Settings;
use std::collections::BTreeMap;
use std::ffi::OsString;

/// As it is served to be the canary.
pub const NAIVE: &str = "naive";
/// What it does where the fault comes.
const TAKE: &str = "take+take+take";
const RESTORE: &str = "take+take+restore";

/// Plain git with nothing around it, opened in a sandbox.
pub fn opened_naive(sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Box<dyn Subject> {
    Naive::boxed(sandbox, settings, seconds)
}

/// A fault that must be found, and at which calls.
pub struct Canary {
    fault: Fault,
    story: &'static str,
    /// Whether it is one of these; none is the moment after the operation.
    is_there: Option<fn(&Point) -> bool>,
}

fn is_lock(point: &Point) -> bool {
    point.path.contains("refs/hermes/") && point.path.ends_with(".lock")
}

fn writes_lock(point: &Point) -> bool {
    is_lock(point) && point.call == "write"
}

fn is_ref(point: &Point) -> bool {
    point.path.contains("refs/hermes/") && !point.path.ends_with(".lock")
}

fn is_one(point: &Point) -> bool {
    point.path.ends_with("work/alpha/a.txt")
}

fn is_large(point: &Point) -> bool {
    point.path.ends_with("work/alpha/large.bin") && point.call == "read"
}

fn is_before_folder(point: &Point) -> bool {
    point.path.ends_with("work/alpha/.gitignore") && point.call == "open"
}

const CANARIES: [Canary; 9] = [
    // Where the ref is written: it stays locked.
    Canary { fault: Fault::Kill, story: TAKE, is_there: Some(writes_lock) },
    // Before it is locked: it is moved from what it was before another process moved it.
    Canary { fault: Fault::HoldTake, story: TAKE, is_there: Some(is_lock) },
    // Half an id is none.
    Canary { fault: Fault::Short, story: TAKE, is_there: Some(writes_lock) },
    // A ref that cannot be read is taken for one that is not there.
    Canary { fault: Fault::Read, story: TAKE, is_there: Some(is_ref) },
    // It waits for nothing.
    Canary { fault: Fault::Power(Left::Names), story: TAKE, is_there: None },
    Canary { fault: Fault::Power(Left::Nothing), story: TAKE, is_there: None },
    // It asks nobody whether a file is another one since it looked.
    Canary { fault: Fault::Actor(Actor::Save), story: RESTORE, is_there: Some(is_one) },
    // It reads a large file in pieces, and trusts them.
    Canary { fault: Fault::Actor(Actor::SaveOver), story: TAKE, is_there: Some(is_large) },
    // It looks at a folder, and then opens what is in it by its path.
    Canary { fault: Fault::Actor(Actor::Swap), story: TAKE, is_there: Some(is_before_folder) },
];

/// Whether plain git with nothing around it fails in this lane wherever it must, of the faults that are
/// asked for; the first fault that is missed, if one is.
///
/// # Errors
/// It cannot be asked, or cannot be supervised.
pub fn naive(
    program: &OsString,
    supervised: &[OsString],
    faults: &[Fault],
    scratch: &Scratch,
) -> Result<Option<Fault>, DamageError> {
    let start = AdapterCommand::of_a_bug(program, NAIVE)?;
    let (subject, capabilities) = (Identity::new(NAIVE, ""), Naive::able_to());
    let opened = Opened { open: &start.opener(), subject, capabilities };
    let lane = Lane::new(&opened, &start, supervised, 0);
    let (mut points, mut anyway) = (BTreeMap::new(), BTreeMap::new());
    // What tells of calls at all is needed always.
    let asked = |one: &&Canary| one.fault == Fault::Kill || faults.contains(&one.fault);
    for Canary { fault, story, is_there } in CANARIES.iter().filter(asked) {
        let (story, calls): (Story, Calls) =
            (story.parse().map_err(DamageError::NoPast)?, fault.comes_at().calls());
        if !anyway.contains_key(&story) {
            anyway.insert(story.clone(), lane.anyway(&story, scratch)?);
        }
        let known = (story.clone(), calls, fault.actor());
        if !points.contains_key(&known) {
            points.insert(known.clone(), lane.points(&story, *fault, scratch)?);
        }
        let (all, anyway) = (&points[&known], &anyway[&story]);
        let places: Vec<usize> = match is_there {
            Some(is_there) => (0..all.len()).filter(|at| is_there(&all[*at])).collect(),
            None => vec![END - 1],
        };
        let mut is_found = false;
        for at in places {
            let chosen = Chosen { story: story.clone(), fault: *fault, at: at + 1 };
            is_found |= !lane.run(chosen, anyway, scratch)?.failures.is_empty();
            if is_found {
                break;
            }
        }
        if !is_found {
            return Ok(Some(*fault));
        }
    }
    Ok(None)
}
