//! How long each operation takes, for the core and for other tools that are installed, on one machine in one
//! run. Only ratios of one run mean anything: other machines and other hours have other times.
//!
//! `just bench` prints the tables; `just bench --page docs/speed.md` writes them as a page with its plot.
//! `--herma FILE` is the built command, `--files N,N` the sizes of the projects, `--large N` how many large files
//! another project has, `--turns REPOSITORY` a git repository whose last commits are the turns of an agent,
//! `--rounds N` how often each tool starts anew, `--folder DIR` where the projects are: on a disk, since waiting
//! for one is measured, too.

mod growth;
mod page;
mod plan;
mod plot;
mod project;
mod tool;
mod turns;

use growth::Curve;
use herma_harness::sandbox::Scratch;
use plan::{Shape, Step};
use project::SourceTree;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;
use std::{fs, io};
use tool::{Program, Running};
use turns::Turns;

/// The seconds of each tool for each operation on a project.
pub type Times = BTreeMap<(Shape, Step, Program), Vec<f64>>;

/// The most memory that a tool took in a round, and the size of its store after it, in bytes.
pub type Needs = BTreeMap<(Shape, Program), [u64; 2]>;

/// All that one run measured.
#[derive(Default)]
pub struct Results {
    /// The tools, in the order of the tables.
    pub tools: Vec<Program>,
    /// How long everything took.
    pub times: Times,
    /// What it needed.
    pub needs: Needs,
    /// The sizes of stores in the course of many turns.
    pub turns: Option<Turns>,
    /// How the core's times grow with what is stored.
    pub growth: Vec<Curve>,
}

impl Results {
    fn shapes(&self) -> BTreeSet<Shape> {
        self.times.keys().map(|(shape, _, _)| *shape).collect()
    }

    fn median(&self, shape: Shape, step: Step, tool: Program) -> Option<f64> {
        median(self.times.get(&(shape, step, tool))?)
    }

    /// The medians of a tool by the number of source files.
    fn by_files(&self, step: Step, tool: Program) -> Vec<(usize, f64)> {
        let time = |shape: Shape| match shape {
            Shape::Source(files) => Some((files, self.median(shape, step, tool)?)),
            Shape::Large(_) => None,
        };
        self.shapes().into_iter().filter_map(time).collect()
    }
}

/// The arguments of the command.
pub struct CommandArguments {
    herma: PathBuf,
    shapes: Vec<Shape>,
    turns: Option<PathBuf>,
    rounds: usize,
    folder: PathBuf,
    page: Option<PathBuf>,
}

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo starts a benchmark in the folder of its package; the paths of the arguments are those of a user.
    std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))?;
    let arguments = arguments()?;
    let mut results = Results { tools: tool::installed(&arguments.herma), ..Results::default() };
    if let Some(repository) = &arguments.turns {
        results.turns = Some(turns::measure(&arguments, repository, &results.tools)?);
    }
    for &shape in &arguments.shapes {
        for round in 1..=arguments.rounds {
            eprintln!("{shape}, round {round} of {}", arguments.rounds);
            measure(&arguments, shape, &mut results)?;
        }
        eprintln!("{shape}, memory and bytes");
        weigh(&arguments, shape, &mut results)?;
        // A run takes long enough to be interrupted.
        write(&arguments, &results)?;
    }
    results.growth = growth::measure(&arguments)?;
    write(&arguments, &results)?;
    print!("{}", page::tables(&results));
    Ok(())
}

/// Writes the page with what is measured so far.
fn write(arguments: &CommandArguments, results: &Results) -> io::Result<()> {
    let Some(page) = &arguments.page else { return Ok(()) };
    fs::write(page.with_extension("svg"), plot::plot(results))?;
    fs::write(page, page::page(results))
}

fn arguments() -> Result<CommandArguments, String> {
    let mut read = CommandArguments {
        herma: PathBuf::new(),
        // hermes-agent refuses more than 50,000 files.
        shapes: [100, 1_000, 10_000, 49_000].map(Shape::Source).into(),
        turns: None,
        rounds: 5,
        folder: std::env::temp_dir(),
        page: None,
    };
    let mut large = 40;
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let mut value = || given.next().ok_or_else(|| format!("{argument} needs a value"));
        let number = |text: &str| text.parse().map_err(|_| format!("{text:?} is not a number"));
        match argument.as_str() {
            "--herma" => read.herma = std::path::absolute(value()?).unwrap_or_default(),
            "--files" => {
                let files = value()?.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
                read.shapes = files.into_iter().map(Shape::Source).collect();
            }
            "--large" => large = number(&value()?)?,
            "--turns" => read.turns = Some(value()?.into()),
            "--rounds" => read.rounds = number(&value()?)?,
            "--folder" => read.folder = value()?.into(),
            "--page" => read.page = Some(value()?.into()),
            // Cargo says so to every benchmark.
            "--bench" => {}
            _ => return Err(format!("{argument} is not known")),
        }
    }
    if large > 0 {
        read.shapes.push(Shape::Large(large));
    }
    if !read.herma.is_file() {
        return Err("--herma FILE is missing: the built command `herma`".into());
    }
    Ok(read)
}

impl CommandArguments {
    /// A tool on a new project.
    fn start(&self, tool: Program, shape: Shape) -> Result<Running, Box<dyn Error>> {
        let project = SourceTree::new(&Scratch::at(self.folder.clone()), shape)?;
        Running::start(tool, project, &self.herma)
    }
}

/// One round: every tool on a project of its own, in turn for each operation, so that what the machine does
/// beside it meets them all.
fn measure(
    arguments: &CommandArguments,
    shape: Shape,
    results: &mut Results,
) -> Result<(), Box<dyn Error>> {
    let start = |tool: &Program| arguments.start(*tool, shape);
    let mut running: Vec<Running> = results.tools.iter().map(start).collect::<Result<_, _>>()?;
    for (version, (step, changes)) in (1..).zip(plan::steps(shape.files())) {
        // Another one is the first each time.
        running.rotate_left(1);
        for one in &mut running {
            one.project.change(changes, version)?;
            // What was written before is not waited for by what is measured.
            rustix::fs::sync();
            if let Some(took) = one.run(step)? {
                let key = (shape, step, one.tool);
                results.times.entry(key).or_default().push(took.as_secs_f64());
            }
        }
    }
    Ok(())
}

/// A round that is not timed: the tools one after the other, since to watch their memory takes time.
fn weigh(
    arguments: &CommandArguments,
    shape: Shape,
    results: &mut Results,
) -> Result<(), Box<dyn Error>> {
    for tool in results.tools.clone() {
        let mut running = arguments.start(tool, shape)?;
        running.watch_memory();
        for (version, (step, changes)) in (1..).zip(plan::steps(shape.files())) {
            running.project.change(changes, version)?;
            running.run(step)?;
        }
        results.needs.insert((shape, tool), [running.memory(), running.stored()?]);
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

/// Bytes as the pages print them.
fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// The median of several values; `None` of none.
fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}
