//! The canary of the fault lane: plain git with nothing around it. A lane that holds nothing against it
//! would notice nothing.

use super::fault::{Fault, Power};
use super::{Chosen, Lane, Point, Story};
use crate::damage::naive::Naive;
use crate::damage::{DamageError, Opened};
use crate::sandbox::{Sandbox, Scratch};
use crate::subject::{AdapterCommand, Identity, Subject};
use herma_model::Settings;
use std::ffi::OsString;

/// As it is served to be the canary.
pub const NAIVE: &str = "naive";
/// What it does where the fault comes.
const STORY: &str = "take+take+take";

/// Plain git with nothing around it, opened in a sandbox.
pub fn opened_naive(sandbox: &Sandbox, settings: &Settings, seconds: i64) -> Box<dyn Subject> {
    Naive::boxed(sandbox, settings, seconds)
}

/// A fault that must be found, and at which calls.
pub struct Canary {
    fault: Fault,
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

const CANARIES: [Canary; 6] = [
    // Where the ref is written: it stays locked.
    Canary { fault: Fault::Kill, is_there: Some(writes_lock) },
    // Before it is locked: it is moved from what it was before another process moved it.
    Canary { fault: Fault::HoldTake, is_there: Some(is_lock) },
    // Half an id is none.
    Canary { fault: Fault::Short, is_there: Some(writes_lock) },
    // A ref that cannot be read is taken for one that is not there.
    Canary { fault: Fault::Read, is_there: Some(is_ref) },
    // It waits for nothing.
    Canary { fault: Fault::Power(Power::Bytes), is_there: None },
    Canary { fault: Fault::Power(Power::Names), is_there: None },
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
    let lane = Lane { opened: &opened, start: &start, supervised, seed: 0 };
    let story: Story = STORY.parse().map_err(DamageError::NoPast)?;
    let (mut points, mut reads) = (Vec::new(), Vec::new());
    let anyway = lane.anyway(&story, scratch)?;
    // What tells of calls at all is needed always.
    let asked = |one: &&Canary| one.fault == Fault::Kill || faults.contains(&one.fault);
    for Canary { fault, is_there } in CANARIES.iter().filter(asked) {
        let is_read = *fault == Fault::Read;
        let all = if is_read { &mut reads } else { &mut points };
        if all.is_empty() {
            *all = lane.points(&story, is_read, scratch)?;
        }
        let places: Vec<usize> = match is_there {
            Some(is_there) => (0..all.len()).filter(|at| is_there(&all[*at])).collect(),
            None => vec![all.len()],
        };
        let mut is_found = false;
        for at in places {
            let chosen = Chosen { story: story.clone(), fault: *fault, at: at + 1 };
            is_found |= !lane.run(chosen, &anyway, scratch)?.failures.is_empty();
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
