//! Histories that measure the cost of requests for small and for large files. They do nothing else, since
//! each large file costs seconds.

use super::idiom::{once_in, write};
use crate::history::{Event, History, Operation, Target};
use herma_model::content::noise;
use herma_model::operations::cost::{MEMORY_STEP_MIN, READING_STEP_MIN};
use herma_model::{Request, Settings};
use proptest::prelude::*;

const PROJECT: &str = "work/alpha";
const FILE: &str = "work/alpha/a";
const NEWEST: Target = Target::Number(1);
/// A request and its name.
type Named = (&'static str, fn() -> Request<Target>);

/// The requests whose memory is measured.
const REQUESTS: [Named; 5] = [
    ("checkpoint", || Request::Checkpoint { dir: PROJECT.into(), reason: "r".into() }),
    ("list", || Request::List { dir: PROJECT.into() }),
    ("diff", || Request::Diff { dir: PROJECT.into(), target: NEWEST }),
    ("restore", || Request::Restore {
        dir: PROJECT.into(),
        target: NEWEST,
        exact: false,
        force: false,
    }),
    ("restore one file", || Request::RestoreFile {
        dir: PROJECT.into(),
        target: NEWEST,
        path: "a".into(),
    }),
];

/// One of these histories in one of `one_in` cases; never if `one_in` is 0.
pub fn history(one_in: u32) -> BoxedStrategy<Option<History>> {
    // Checkpoints are the most common request.
    let request = prop_oneof![1 => Just(0), 1 => 1..REQUESTS.len()];
    let history = prop_oneof![
        2 => request.prop_map(|request| memory(request, MEMORY_STEP_MIN)),
        1 => Just(unchanged(READING_STEP_MIN)),
    ];
    once_in(one_in, history.prop_map(Some))
}

/// Whether the growth of memory can be judged with files of up to so many bytes. Smaller files still show the
/// growth of reading, for a store that keeps no larger ones.
pub fn judges_memory(bytes: u64) -> bool {
    bytes / 2 >= MEMORY_STEP_MIN
}

/// All of these histories with their names, with files of up to so many bytes.
pub fn measured(bytes: u64) -> Vec<(String, History)> {
    let name = |request: usize| format!("measured: {}", REQUESTS[request].0);
    let requests = if judges_memory(bytes) { REQUESTS.len() } else { 0 };
    let memory = (0..requests).map(|request| (name(request), memory(request, bytes / 2)));
    memory.chain([("measured: nothing changed".to_owned(), unchanged(bytes))]).collect()
}

/// Measures a request, given by its number, with a file of 0, `step` and 2 * `step` bytes.
// rule: cost/memory
fn memory(request: usize, step: u64) -> History {
    let mut operations = Vec::new();
    for (seed, bytes) in (0..).zip([0, step, 2 * step]) {
        operations.push(file(bytes, 2 * seed));
        if request > 0 {
            operations.extend([REQUESTS[0].1().into(), file(bytes, 2 * seed + 1)]);
        }
        operations.extend([Event::Measure.into(), REQUESTS[request].1().into()]);
    }
    history_of(operations)
}

/// Measures a checkpoint of an unchanged file of 0 and of `step` bytes. The checkpoint before it is measured,
/// too, so that it is taken when the times of the file can be trusted.
// rule: cost/unchanged
fn unchanged(step: u64) -> History {
    let of_size = |bytes| {
        let measured: [Operation; 2] = [Event::Measure.into(), REQUESTS[0].1().into()];
        [&[file(bytes, 1)][..], &measured, &measured].concat()
    };
    history_of([of_size(0), of_size(step)].concat())
}

fn file(bytes: u64, seed: u32) -> Operation {
    write(&FILE.into(), &noise(usize::try_from(bytes).unwrap_or(usize::MAX), seed), false)
}

fn history_of(operations: Vec<Operation>) -> History {
    let settings = Settings { max_file_bytes: 0, ..Settings::default() };
    History { settings, workspace: None, plain_home: true, operations }
}
