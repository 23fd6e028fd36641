//! Every fuzz target: the name of the binary's file chooses the oracle of the harness, so that all of them are
//! built once. With `HERMA_PLANTED` set, it has a planted bug: of the target, or for `history` the one of that
//! name. `.ci/fuzz` builds and runs it.
//!
//! Before libFuzzer reads the arguments, three of our own are answered: `--list-targets`, `--bytes-max` and
//! `--write-seeds FOLDER`.
#![no_main]

use herma_harness::coverage::Coverage;
use herma_harness::generate::history_of;
use herma_harness::hostile::targets::{FuzzTarget, Start, targets};
use herma_harness::planted::{self, hunt};
use herma_harness::sandbox::Scratch;
use herma_harness::{RunOptions, run};
use libfuzzer_sys::fuzz_target;
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU8, Ordering};

static TARGET: LazyLock<FuzzTarget> = LazyLock::new(|| {
    let file = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&file).file_name().unwrap_or_default().to_owned();
    let mut targets = targets().into_iter();
    let target = targets.find(|target| name == *target.name);
    target.unwrap_or_else(|| panic!("{name:?} is not the name of a target"))
});
static START: LazyLock<Start> = LazyLock::new(Start::default);
static PLANTED: LazyLock<Option<String>> = LazyLock::new(|| std::env::var("HERMA_PLANTED").ok());

/// libFuzzer reads these counters as further coverage: one for each behaviour of a history.
#[unsafe(link_section = "__libfuzzer_extra_counters")]
static BEHAVIOURS: [AtomicU8; 4096] = [const { AtomicU8::new(0) }; 4096];

fn count(coverage: &Coverage) {
    for behaviour in coverage.0.keys() {
        let mut hasher = DefaultHasher::new();
        format!("{behaviour:?}").hash(&mut hasher);
        let index = hasher.finish() as usize % BEHAVIOURS.len();
        BEHAVIOURS[index].store(1, Ordering::Relaxed);
    }
}

fn judge(input: &[u8]) -> Result<(), String> {
    let planted = PLANTED.as_deref();
    if let Some(bug) = planted.and_then(planted::find) {
        let history = history_of(&hunt::options(bug), input);
        let scratch = Scratch::in_default_directory();
        let run = run(&history, &bug.opener(), &scratch, RunOptions::default());
        let run = run.map_err(|error| error.to_string())?;
        count(&run.coverage);
        return if run.divergences.is_empty() {
            Ok(())
        } else {
            Err("the planted bug shows".into())
        };
    }
    let seen = match planted {
        Some(_) => TARGET.judge_planted(input, &START),
        None => TARGET.judge(input, &START),
    };
    seen.map(|seen| count(&seen.coverage))
}

/// Answers our own arguments, and ends the process then.
fn answer_own_arguments() {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match &arguments[..] {
        [option] if option == "--list-targets" => {
            targets().iter().for_each(|target| println!("{}", target.name));
        }
        [option] if option == "--bytes-max" => println!("{}", TARGET.bytes_max),
        [option, folder] if option == "--write-seeds" => {
            for (number, seed) in TARGET.seeds(&START).iter().enumerate() {
                let path = Path::new(folder).join(format!("seed-{number}"));
                std::fs::write(path, seed).expect("the folder can be written");
            }
        }
        _ => return,
    }
    std::process::exit(0);
}

fuzz_target!(init: answer_own_arguments(), |input: &[u8]| {
    if let Err(violation) = judge(input) {
        panic!("{violation}\nreplay: just fuzz {} FILE, with this input in FILE", TARGET.name);
    }
});
