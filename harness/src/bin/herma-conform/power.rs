//! `power`: counts how many small changes to the source of a bundled subject its gate notices.

use crate::ending::{NO_VERDICT, NoVerdict, USAGE, no_verdict, print_text, scratch};
use crate::subjects::{ChosenSubject, quoted};
use crate::{hermetic, progress, running};
use herma_harness::bundled::{self, Bundled};
use herma_harness::expectations::Expectations;
use herma_harness::power::{
    Confinement, Mutant, Parser, PowerError, PowerRun, Records, page, sample,
};
use herma_harness::sandbox::Scratch;
use herma_harness::share::Share;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

/// The arguments of `power`.
#[derive(clap::Args)]
pub struct PowerArguments {
    /// A bundled subject, such as rewind-ai
    subject: String,
    /// The seed that selects the mutants of the sample
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many mutants to select from the lines that the gate reaches
    #[arg(long, default_value_t = 60)]
    sample: usize,
    /// Run only this part of the sample, such as 1/4
    #[arg(long, default_value_t)]
    shard: Share,
    /// The file for the results, a line per mutant; a run continues where the file ends
    #[arg(long, value_name = "FILE", default_value = "herma-power.jsonl")]
    results: PathBuf,
    /// Also count these results of another part of the same sample; may be repeated
    #[arg(long, value_name = "FILE")]
    with: Vec<PathBuf>,
    /// Write the figures to this file, as Markdown
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Run nothing, and print the figures of the results that are there
    #[arg(long)]
    no_run: bool,
    /// How many mutants run at the same time; one for each core by default
    #[arg(long)]
    jobs: Option<usize>,
    /// Where sandboxes are made; in memory by default
    #[arg(long)]
    scratch: Option<PathBuf>,
}

fn failed(error: PowerError) -> NoVerdict {
    match error {
        PowerError::Run(error) => no_verdict(error),
        error => (error.to_string(), NO_VERDICT),
    }
}

/// The bundled subject of this name, which must have source files to change.
fn bundled_with_sources(name: &str) -> Result<&'static Bundled, NoVerdict> {
    let bundled = bundled::find(name).map_err(|why| (why, USAGE))?;
    match bundled.sources {
        [] => Err((PowerError::NoSource(bundled.full_name()).to_string(), USAGE)),
        _ => Ok(bundled),
    }
}

/// Installs the parser of the source files.
///
/// # Errors
/// There is no such subject, or the installation fails.
pub fn prepare(arguments: &PowerArguments) -> Result<(), NoVerdict> {
    let bundled = bundled_with_sources(&arguments.subject)?;
    Parser::install(&hermetic::cache(), bundled.sources).map(drop).map_err(failed)
}

/// `herma-conform power`.
///
/// # Errors
/// The unchanged package cannot be judged, or a file cannot be read or written.
pub fn power(arguments: &PowerArguments) -> Result<ExitCode, NoVerdict> {
    let bundled = bundled_with_sources(&arguments.subject)?;
    let results = arguments.results.display().to_string();
    let read = |path: &Path| {
        let records = Records::read(path).map_err(failed)?;
        records.ok_or_else(|| (format!("{} does not exist", path.display()), USAGE))
    };
    let mut records = match arguments.no_run {
        true => read(&arguments.results)?,
        false => run(bundled, arguments)?,
    };
    for path in &arguments.with {
        let part = read(path)?;
        records.merge(part, &results, &path.display().to_string()).map_err(failed)?;
    }
    let replay = format!(
        "herma-conform power {} --seed {} --sample {}",
        bundled.full_name(),
        arguments.seed,
        arguments.sample
    );
    let text = page(&records, &replay);
    print_text(&text);
    if let Some(path) = &arguments.page {
        fs::write(path, text).map_err(|error| {
            (format!("{} cannot be written: {error}", quoted(path)), NO_VERDICT)
        })?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the mutants of the sample that have no result yet, and returns all results.
fn run(bundled: &'static Bundled, arguments: &PowerArguments) -> Result<Records, NoVerdict> {
    let jobs = arguments.jobs.unwrap_or_else(crate::run_arguments::cores);
    let run = prepare_run(bundled, &scratch(arguments.scratch.clone()), jobs)?;
    let baseline = run.baseline().map_err(failed)?;
    let mutants = run.mutants(baseline).map_err(failed)?;
    let header = run.header(arguments.seed, arguments.sample, &mutants);
    let mut records = Records::new(header);
    let results = arguments.results.display().to_string();
    if let Some(earlier) = Records::read(&arguments.results).map_err(failed)? {
        records.merge(earlier, "this run", &results).map_err(failed)?;
    }
    let sampled =
        sample(mutants.reached.clone(), arguments.seed, arguments.sample, arguments.shard);
    let remaining: Vec<Mutant> =
        sampled.into_iter().filter(|mutant| !records.judged.contains_key(&mutant.id())).collect();
    let written = |error| (format!("{results} cannot be written: {error}"), NO_VERDICT);
    let file = Mutex::new(records.file(&arguments.results).map_err(written)?);
    let judged = progress::try_map(&remaining, "mutants", jobs, |mutant| {
        run.judge(&mutants, mutant, &file).map_err(failed)
    })?;
    records.judged.extend(judged.into_iter().map(|judged| (judged.mutant.id(), judged)));
    Ok(records)
}

/// Prepares the run of the plan of the gate.
fn prepare_run(
    bundled: &'static Bundled,
    scratch: &Scratch,
    jobs: usize,
) -> Result<PowerRun, NoVerdict> {
    // Only an installed subject can be run.
    ChosenSubject::named(&bundled.full_name())?;
    let origin = format!("expectations of {}", bundled.full_name());
    let expectations = Expectations::read(bundled.expectations, origin)
        .map_err(|error| (error.to_string(), USAGE))?;
    let plan = expectations.plan(running::cases(expectations.cases_of.as_deref())?, jobs);
    let program = std::env::current_exe();
    let confinement = program
        .and_then(|program| Confinement::new(scratch, &program))
        .map_err(|error| (format!("no folder for sandboxes: {error}"), NO_VERDICT))?;
    PowerRun::new(bundled, &hermetic::cache(), &plan, confinement).map_err(failed)
}
