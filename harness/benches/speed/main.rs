//! How long each operation takes, for the core and for other tools that are installed, on one machine in one
//! run. Only ratios of one run mean anything: other machines and other hours have other times.
//!
//! `just bench` prints a table; `just bench --page docs/speed.md` writes it as a page with its plot.
//! `--herma FILE` is the built command, `--files N,N` the sizes of the projects, `--rounds N` how often each
//! tool starts anew, `--folder DIR` where the projects are: on a disk, since waiting for one is measured, too.

mod page;
mod project;
mod tool;

use herma_harness::sandbox::Scratch;
use project::SourceTree;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;
use tool::{Program, Running};

/// An operation that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// The first checkpoint.
    First,
    /// A checkpoint after nothing changed.
    Unchanged,
    /// A checkpoint after one file changed.
    One,
    /// A checkpoint after 100 files changed.
    Hundred,
    /// A checkpoint after every second file changed.
    Half,
    /// The list of all checkpoints.
    List,
    /// What changed since the newest checkpoint.
    Diff,
    /// One file as it was before.
    RestoreOne,
    /// Every second file as it was before.
    RestoreHalf,
    /// Freeing space.
    Prune,
}

/// How many of so many files change.
type Changes = fn(usize) -> usize;

/// The operations of a round in order: how often each, and how many files change before it.
const PLAN: &[(Step, usize, Changes)] = &[
    (Step::First, 1, |_| 0),
    (Step::Unchanged, 3, |_| 0),
    (Step::One, 10, |_| 1),
    (Step::Hundred, 3, |files| files.min(100)),
    (Step::Half, 2, |files| files / 2),
    (Step::List, 3, |_| 0),
    (Step::Diff, 3, |_| 1),
    (Step::RestoreOne, 3, |_| 1),
    (Step::RestoreHalf, 1, |_| 0),
    (Step::Prune, 1, |_| 0),
];

/// The seconds of each tool for each operation on a project of so many files.
pub type Times = BTreeMap<(usize, Step, Program), Vec<f64>>;

/// The arguments of the command.
struct CommandArguments {
    herma: PathBuf,
    files: Vec<usize>,
    rounds: usize,
    folder: PathBuf,
    page: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = arguments()?;
    let tools = tool::installed(&arguments.herma);
    let mut times = Times::new();
    for &files in &arguments.files {
        for round in 1..=arguments.rounds {
            eprintln!("{files} files, round {round} of {}", arguments.rounds);
            measure(&arguments, &tools, files, &mut times)?;
        }
    }
    print!("{}", page::tables(&times, &tools));
    if let Some(page) = arguments.page {
        std::fs::write(page.with_extension("svg"), page::plot(&times, &tools))?;
        std::fs::write(&page, page::page(&times, &tools))?;
    }
    Ok(())
}

fn arguments() -> Result<CommandArguments, String> {
    let mut read = CommandArguments {
        herma: PathBuf::new(),
        files: vec![100, 1_000, 10_000],
        rounds: 5,
        folder: std::env::temp_dir(),
        page: None,
    };
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{argument} needs a value"));
        let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is not a number"));
        match argument.as_str() {
            "--herma" => read.herma = std::path::absolute(value()?).unwrap_or_default(),
            "--files" => read.files = value()?.split(',').map(number).collect::<Result<_, _>>()?,
            "--rounds" => read.rounds = number(&value()?)?,
            "--folder" => read.folder = value()?.into(),
            "--page" => read.page = Some(value()?.into()),
            // Cargo says so to every benchmark.
            "--bench" => {}
            _ => return Err(format!("{argument} is not known")),
        }
    }
    if !read.herma.is_file() {
        return Err("--herma FILE is missing: the built command `herma`".into());
    }
    Ok(read)
}

/// One round: every tool on a project of its own, in turn for each operation, so that what the machine does
/// beside it meets them all.
fn measure(
    arguments: &CommandArguments,
    tools: &[Program],
    files: usize,
    times: &mut Times,
) -> Result<(), Box<dyn Error>> {
    let scratch = Scratch::at(arguments.folder.clone());
    let start = |tool: &Program| {
        let project = SourceTree::new(&scratch, files)?;
        Running::start(*tool, project, &arguments.herma)
    };
    let mut running: Vec<Running> = tools.iter().map(start).collect::<Result<_, _>>()?;
    let mut number = 0;
    for (operation, repeats, changes) in PLAN {
        for _ in 0..*repeats {
            number += 1;
            // Another one is the first each time.
            running.rotate_left(1);
            for one in &mut running {
                one.project.change(changes(files), number)?;
                // What was written before is not waited for by what is measured.
                rustix::fs::sync();
                if let Some(took) = one.run(*operation)? {
                    let key = (files, *operation, one.tool);
                    times.entry(key).or_default().push(took.as_secs_f64());
                }
            }
        }
    }
    Ok(())
}

/// Seconds as the pages print them.
fn seconds(time: f64) -> String {
    let time = Duration::from_secs_f64(time);
    if time < Duration::from_secs(1) {
        format!("{:.1} ms", time.as_secs_f64() * 1000.0)
    } else {
        format!("{:.2} s", time.as_secs_f64())
    }
}
