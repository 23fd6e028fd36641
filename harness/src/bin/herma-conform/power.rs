//! `power`: how many changes of a bundled subject's source its gate notices.

use crate::ending::{NO_VERDICT, NoVerdict, USAGE, no_verdict, print_text, scratch};
use crate::subjects::{ChosenSubject, quoted};
use crate::{hermetic, progress, running};
use herma_harness::bundled::{self, Bundled, PACKAGES};
use herma_harness::expectations::{Expectation, Expectations};
use herma_harness::generate::Options;
use herma_harness::power::{
    Baseline, Header, Judged, Line, Mutant, Outcome, Parser, PowerError, Records, Workshop,
    baseline, confined, judge, list, marked, page, sample, write,
};
use herma_harness::sandbox::Scratch;
use herma_harness::share::Share;
use herma_harness::suite::{Plan, introduce, run_suite};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
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
    /// How many mutants run at the same time; one for each core by default
    #[arg(long)]
    jobs: Option<usize>,
    /// Where sandboxes are made; in memory by default
    #[arg(long)]
    scratch: Option<PathBuf>,
}

fn failed(error: PowerError) -> NoVerdict {
    (error.to_string(), NO_VERDICT)
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
    let jobs = arguments.jobs.unwrap_or_else(crate::commands::cores);
    let run = Run::new(bundled, scratch(arguments.scratch.clone()), jobs)?;
    let baseline = run.baseline()?;
    let (total, reached) = run.mutants(&baseline)?;
    let header = Header {
        suite: env!("CARGO_PKG_VERSION").to_owned(),
        subject: run.identity.clone(),
        seed: arguments.seed,
        sample: arguments.sample,
        mutants: total,
        reached: reached.len(),
        seeds: run.plan.seeds.clone(),
        histories: run.plan.histories,
        operations: run.plan.options.operations_max,
        cases: run.plan.cases.len(),
    };
    let mut records = Records::new(header);
    let results = arguments.results.display().to_string();
    if let Some(earlier) = Records::read(&arguments.results).map_err(failed)? {
        records.merge(earlier, "this run", &results).map_err(failed)?;
    }
    let sampled = sample(reached, arguments.seed, arguments.sample, arguments.shard);
    let remaining: Vec<Mutant> =
        sampled.into_iter().filter(|mutant| !records.judged.contains_key(&mutant.id())).collect();
    let written = |error| (format!("{results} cannot be written: {error}"), NO_VERDICT);
    let file = Mutex::new(records.file(&arguments.results).map_err(written)?);
    let judged = progress::try_map(&remaining, "mutants", jobs, |mutant| {
        run.judge(&baseline, mutant, &file).map_err(failed)
    })?;
    records.judged.extend(judged.into_iter().map(|judged| (judged.mutant.id(), judged)));
    for path in &arguments.with {
        let name = path.display().to_string();
        let part = Records::read(path).map_err(failed)?;
        let part = part.ok_or_else(|| (format!("{name} does not exist"), USAGE))?;
        records.merge(part, &results, &name).map_err(failed)?;
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

/// What is needed to run the mutants of a subject.
struct Run {
    bundled: &'static Bundled,
    packages: PathBuf,
    parser: Parser,
    plan: Plan,
    identity: herma_harness::subject::Identity,
    scratch: Scratch,
    /// The folder of the sandboxes.
    folder: tempfile::TempDir,
    /// Each workshop runs one mutant at a time.
    workshops: Mutex<Vec<Workshop>>,
}

impl Run {
    fn new(bundled: &'static Bundled, scratch: Scratch, jobs: usize) -> Result<Self, NoVerdict> {
        let subject = ChosenSubject::named(&bundled.full_name())?;
        let cache = hermetic::cache();
        let packages = bundled.folder(&cache).join(PACKAGES);
        let parser = Parser::install(&cache, bundled.sources).map_err(failed)?;
        let program = std::env::current_exe();
        let confined = program.and_then(|program| confined(&scratch, &program));
        let (folder, confined): (_, Vec<OsString>) =
            confined.map_err(|error| (format!("no folder for sandboxes: {error}"), NO_VERDICT))?;
        let workshops: Result<Vec<Workshop>, PowerError> =
            (0..jobs.max(1)).map(|_| Workshop::of(bundled, &cache, &confined)).collect();
        let workshops = Mutex::new(workshops.map_err(failed)?);
        let scratch = Scratch::at(folder.path().to_owned());
        let (identity, capabilities) =
            introduce(&subject.opener(), &scratch).map_err(no_verdict)?;
        let plan = plan(&subject, jobs)?.within(&capabilities);
        Ok(Run { bundled, packages, parser, plan, identity, scratch, folder, workshops })
    }

    /// How many mutants there are, and those on lines that the plan reaches.
    fn mutants(&self, baseline: &Baseline) -> Result<(usize, Vec<Mutant>), NoVerdict> {
        let mut mutants = Vec::new();
        let mut executed = BTreeSet::new();
        for source in self.bundled.sources {
            mutants.extend(list(&self.parser, &self.packages, source).map_err(failed)?);
            let lines = self.folder.path().join("lines");
            let marked =
                marked(&self.parser, &self.packages.join(source), &lines).map_err(failed)?;
            let run = |workshop: &Workshop| {
                let open = workshop.command().opener();
                workshop
                    .with(source, &marked, || run_suite(&self.plan, &open, &self.scratch, &|_| {}))
            };
            let findings = self.in_workshop(run).map_err(failed)?.map_err(no_verdict)?;
            if let Some(unknown) = findings.failures.keys().find(|failure| !baseline.knows(failure))
            {
                let message = format!(
                    "instrumented, {source} shows the new failure {unknown}; nothing was run"
                );
                return Err((message, NO_VERDICT));
            }
            let text = fs::read_to_string(&lines).unwrap_or_default();
            let _ = fs::remove_file(&lines);
            let numbers = text.lines().filter_map(|line| line.parse().ok());
            executed.extend(numbers.map(|number: usize| ((*source).to_owned(), number)));
        }
        let count = mutants.len();
        mutants.retain(|mutant| mutant.is_reached(&executed));
        Ok((count, mutants))
    }

    fn baseline(&self) -> Result<Baseline, NoVerdict> {
        let run =
            |workshop: &Workshop| baseline(&self.plan, &workshop.command().opener(), &self.scratch);
        self.in_workshop(run).map_err(failed)
    }

    /// Runs a mutant, and records its outcome.
    fn judge(
        &self,
        baseline: &Baseline,
        mutant: &Mutant,
        file: &Mutex<File>,
    ) -> Result<Judged, PowerError> {
        let path = self.packages.join(&mutant.file);
        let failed = |error| PowerError::File(path.display().to_string(), error);
        let changed = mutant.applied(&fs::read(&path).map_err(failed)?);
        let package = ChosenSubject::named(&self.bundled.full_name());
        let package = package.expect("it was found before");
        let outcome: Outcome = self.in_workshop(|workshop| {
            let open = workshop.command().opener();
            workshop.with(&mutant.file, &changed, || {
                judge(&self.plan, baseline, &open, &package.opener(), &self.scratch)
            })
        })?;
        let judged = Judged { mutant: mutant.clone(), outcome };
        let mut file = file.lock().expect("no thread panics while it holds this");
        write(&mut file, &Line::Judged(Box::new(judged.clone()))).map_err(failed)?;
        Ok(judged)
    }

    /// Runs `work` in a workshop that no other job uses meanwhile.
    fn in_workshop<T>(&self, work: impl FnOnce(&Workshop) -> T) -> T {
        let take = || self.workshops.lock().expect("no thread panics while it holds this").pop();
        let workshop = take().expect("there are as many as jobs");
        let result = work(&workshop);
        self.workshops.lock().expect("no thread panics while it holds this").push(workshop);
        result
    }
}

/// The plan of the gate.
fn plan(subject: &ChosenSubject, jobs: usize) -> Result<Plan, NoVerdict> {
    let (name, text) =
        subject.expectations().expect("expectations come with every bundled subject");
    let expectations = Expectations::read(text, format!("expectations of {name}"))
        .map_err(|error| (error.to_string(), USAGE))?;
    Ok(Plan {
        options: Options { operations_max: expectations.operations, ..Options::default() },
        kept: Vec::new(),
        cases: running::cases()?,
        jobs,
        shrink_budget: 0,
        time_budget: None,
        known: expectations.expect.iter().map(Expectation::fingerprint).collect(),
        share: Share::default(),
        seeds: expectations.seeds,
        histories: expectations.histories,
    })
}
