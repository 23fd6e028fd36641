//! Runs the mutants of one bundled subject through the plan of its gate, each in a linked copy of the package.

use super::PowerError;
use super::mutants::{Mutant, Parser, list, marked};
use super::notice::{Baseline, Judge, Outcome, baseline};
use super::record::{Header, Judged, Line, write};
use super::workshop::{Confinement, Workshop};
use crate::bundled::{Bundled, PACKAGES};
use crate::runner::Until;
use crate::sandbox::Scratch;
use crate::subject::{AdapterCommand, Identity, NewSubject};
use crate::suite::{Plan, introduce};
use crate::trial::trial;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// What is needed to run the mutants of a subject.
pub struct PowerRun {
    sources: &'static [&'static str],
    packages: PathBuf,
    parser: Parser,
    plan: Plan,
    identity: Identity,
    /// The unchanged package.
    package: AdapterCommand,
    scratch: Scratch,
    /// The folder of the sandboxes.
    folder: TempDir,
    /// Each workshop runs one mutant at a time.
    workshops: Mutex<Vec<Workshop>>,
}

/// The mutants of a subject.
pub struct Mutants {
    /// How many there are.
    pub total: usize,
    /// Those on lines that the plan reaches.
    pub reached: Vec<Mutant>,
    /// The results of the package without them.
    baseline: Baseline,
    /// The lines of each file that each history of the plan reaches.
    lines: Vec<BTreeSet<(String, usize)>>,
}

impl PowerRun {
    /// Prepares one workshop for each job of the plan of the gate; the subject is installed below `cache`.
    ///
    /// # Errors
    /// The parser cannot be installed, or the package cannot be copied or started.
    pub fn new(
        bundled: &Bundled,
        cache: &Path,
        plan: &Plan,
        confinement: Confinement,
    ) -> Result<Self, PowerError> {
        let Confinement { folder, command: confined } = confinement;
        let parser = Parser::install(cache, bundled.sources)?;
        let not_started =
            |error| PowerError::File(format!("{} cannot be started", bundled.full_name()), error);
        let package = bundled.command(cache).map_err(not_started)?;
        let workshop = |_| Workshop::of(bundled, cache, &confined);
        let workshops: Vec<Workshop> =
            (0..plan.jobs.max(1)).map(workshop).collect::<Result<_, _>>()?;
        let scratch = Scratch::at(folder.path().to_owned());
        let (identity, capabilities) =
            introduce(&package.opener(), &scratch).map_err(PowerError::Run)?;
        Ok(PowerRun {
            sources: bundled.sources,
            packages: bundled.folder(cache).join(PACKAGES),
            parser,
            plan: plan.within(&capabilities),
            identity,
            package,
            scratch,
            folder,
            workshops: Mutex::new(workshops),
        })
    }

    /// The parameters of a run of a sample of these mutants.
    pub fn header(&self, seed: u64, sample: usize, mutants: &Mutants) -> Header {
        Header {
            suite: env!("CARGO_PKG_VERSION").to_owned(),
            subject: self.identity.clone(),
            seed,
            sample,
            mutants: mutants.total,
            reached: mutants.reached.len(),
            seeds: self.plan.seeds.clone(),
            histories: self.plan.histories,
            operations: self.plan.options.operations_max,
            cases: self.plan.cases.len(),
        }
    }

    /// The results of the unchanged package.
    ///
    /// # Errors
    /// The package cannot be run.
    pub fn baseline(&self) -> Result<Baseline, PowerError> {
        self.in_workshop(|workshop| {
            baseline(&self.plan, &workshop.command().opener(), &self.scratch)
        })
    }

    /// The mutants of all source files.
    ///
    /// # Errors
    /// A file cannot be read, or does not run with the marks that show which lines the plan reaches.
    pub fn mutants(&self, baseline: Baseline) -> Result<Mutants, PowerError> {
        let mut mutants = Vec::new();
        let mut lines = vec![BTreeSet::new(); self.plan.all() as usize];
        for source in self.sources {
            mutants.extend(list(&self.parser, &self.packages, source)?);
            let file = self.folder.path().join("lines");
            let marked = marked(&self.parser, &self.packages.join(source), &file)?;
            self.in_workshop(|workshop| {
                let open = workshop.command().opener();
                workshop.with(source, &marked, || -> Result<(), PowerError> {
                    for (number, lines) in (0..).zip(&mut lines) {
                        self.run_marked(number, &open, &baseline, source)?;
                        let text = fs::read_to_string(&file).unwrap_or_default();
                        let _ = fs::remove_file(&file);
                        let numbers = text.lines().filter_map(|line| line.parse().ok());
                        lines.extend(numbers.map(|number: usize| ((*source).to_owned(), number)));
                    }
                    Ok(())
                })
            })??;
        }
        let total = mutants.len();
        mutants.retain(|mutant| lines.iter().any(|lines| mutant.is_reached(lines)));
        Ok(Mutants { total, reached: mutants, baseline, lines })
    }

    /// Runs a history of the plan in a process of its own, which reports its lines.
    fn run_marked(
        &self,
        number: u64,
        open: &NewSubject<'_>,
        baseline: &Baseline,
        source: &str,
    ) -> Result<(), PowerError> {
        let (origin, history) = self.plan.history(number);
        let trial = trial(&history, open, &self.scratch.with_fresh_processes(), Until::End)?;
        let failures = trial.ended(&origin).failures;
        match failures.into_iter().find(|failure| !baseline.knows(failure)) {
            Some(unknown) => Err(PowerError::Instrumented(source.to_owned(), unknown)),
            None => Ok(()),
        }
    }

    /// Runs a mutant, and adds its outcome to the file.
    ///
    /// # Errors
    /// [`PowerError::File`].
    pub fn judge(
        &self,
        mutants: &Mutants,
        mutant: &Mutant,
        file: &Mutex<File>,
    ) -> Result<Judged, PowerError> {
        let path = self.packages.join(&mutant.file);
        let failed = |error| PowerError::File(path.display().to_string(), error);
        let changed = mutant.applied(&fs::read(&path).map_err(failed)?);
        let reaches = |history: usize| mutant.is_reached(&mutants.lines[history]);
        let outcome: Outcome = self.in_workshop(|workshop| {
            let open = workshop.command().opener();
            let package = self.package.opener();
            let Self { plan, scratch, .. } = self;
            let judge = Judge { plan, baseline: &mutants.baseline, package: &package, scratch };
            workshop.with(&mutant.file, &changed, || judge.judge(&open, reaches))
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
