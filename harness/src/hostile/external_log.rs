//! The log of an agent's external actions, with any bytes. No compensation runs twice, a number is given once,
//! and a log that is refused stays as it is.

use super::memory_disk::{Key, MemoryDisk};
use super::targets::Judgement;
use herma_core::disk::Disk;
use herma_core::state::{Compensation, Compensations, External};
use herma_core::{ActionNote, Clock};
use std::path::Path;
use std::sync::{Arc, Mutex};

const FOLDER: &str = "/root/agent";
const KIND: &str = "mail";
const USER: &str = "user";

/// A clock that stands still.
struct Still;

impl Clock for Still {
    fn seconds(&self) -> i64 {
        crate::runner::FIRST_SECOND
    }
}

/// A compensation that notes the numbers of its actions; every third one fails.
#[derive(Default)]
struct Noting(Mutex<Vec<u64>>);

impl Compensation for Noting {
    fn run(&self, action: &ActionNote) -> Result<(), String> {
        let mut numbers = self.0.lock().map_err(|error| error.to_string())?;
        numbers.push(action.number);
        if action.number.is_multiple_of(3) { Err("it fails".into()) } else { Ok(()) }
    }
}

/// Judges the core on a log with these bytes; gets far if the log is read.
///
/// # Errors
/// The violated expectation, as a text.
pub fn judge(bytes: &[u8]) -> Judgement {
    let disk = Arc::new(MemoryDisk::new());
    let path = Path::new(FOLDER).join("external.json");
    disk.place(&path, bytes);
    let noting = Arc::new(Noting::default());
    let kinds: Compensations =
        Compensations::from([(KIND.into(), noting.clone() as Arc<dyn Compensation>)]);
    let shared: Arc<dyn Disk> = disk.clone();
    let external = External::new(shared, Arc::new(Still), Path::new(FOLDER), kinds);
    let recorded = external.record(KIND, Some("1"), None);
    let Ok(before) = external.all() else {
        let kept = disk.tree().get(&Key::of(&path)).map(|node| node.content.to_vec());
        return match (recorded, kept) {
            (Err(_), Some(kept)) if kept == bytes => Ok(false.into()),
            (recorded, _) => Err(format!("a refused log was changed: {recorded:?}")),
        };
    };
    let number = recorded.map_err(|error| format!("read, but not written: {error}"))?;
    let same = before.iter().filter(|action| action.note.number == number).count();
    if same != 1 && number != u64::MAX {
        return Err(format!("{same} actions have the number {number}"));
    }
    let failed = |error: herma_core::Error| format!("read, but refused: {error}");
    external.after(0).map_err(failed)?;
    external.leave_behind(0, "checkpoint", "project").map_err(failed)?;
    external.compensate(USER, false).map_err(failed)?;
    external.compensate(USER, false).map_err(failed)?;
    external.accept(USER).map_err(failed)?;
    external.compensate(USER, true).map_err(failed)?;
    let mut numbers = noting.0.lock().map_err(|error| error.to_string())?.clone();
    let runs = numbers.len();
    numbers.sort_unstable();
    numbers.dedup();
    match numbers.len() == runs {
        true => Ok(true.into()),
        false => Err(format!("a compensation ran twice: {numbers:?}, {runs} runs")),
    }
}

/// A log with an action of each standing.
pub fn seeds() -> Vec<Vec<u8>> {
    let standings =
        ["begun", "open", "compensating", "compensated", "failed\",\"why\":\"x", "accepted"];
    let logs = standings.iter().map(|standing| {
        format!(
            "{{\"version\":1,\"last\":7,\"actions\":[{{\"number\":7,\"kind\":\"{KIND}\",\"at\":1,\
             \"standing\":\"{standing}\",\"left_by\":\"x\",\"left_in\":\"p\"}}],\"audit\":[{{\"at\":1,\
             \"who\":\"u\",\"action\":7,\"what\":\"accepted\"}}]}}"
        )
        .into_bytes()
    });
    logs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_read() {
        for seed in seeds() {
            let text = String::from_utf8_lossy(&seed).into_owned();
            assert!(judge(&seed).expect(&text).got_far, "{text}");
        }
    }
}
