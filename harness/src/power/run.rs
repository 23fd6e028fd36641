//! Runs the mutants of one bundled subject through the plan of its gate, each in a linked copy of the package.

use super::PowerError;
use super::mutants::{Mutant, Parser, list, marked};
use super::notice::{Baseline, Outcome, baseline, judge};
use super::record::{Header, Judged, Line, write};
use super::workshop::{Confinement, Workshop};
use crate::bundled::{Bundled, PACKAGES};
use crate::sandbox::Scratch;
use crate::subject::{AdapterCommand, Identity};
use crate::suite::{Plan, introduce, run_suite};
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
    pub fn mutants(&self, baseline: &Baseline) -> Result<Mutants, PowerError> {
        let mut mutants = Vec::new();
        let mut executed = BTreeSet::new();
        for source in self.sources {
            mutants.extend(list(&self.parser, &self.packages, source)?);
            let lines = self.folder.path().join("lines");
            let marked = marked(&self.parser, &self.packages.join(source), &lines)?;
            let run = |workshop: &Workshop| {
                let open = workshop.command().opener();
                workshop
                    .with(source, &marked, || run_suite(&self.plan, &open, &self.scratch, &|_| {}))
            };
            let findings = self.in_workshop(run)?.map_err(PowerError::Run)?;
            let mut failures = findings.failures.into_keys();
            if let Some(unknown) = failures.find(|failure| !baseline.knows(failure)) {
                return Err(PowerError::Instrumented((*source).to_owned(), unknown));
            }
            let text = fs::read_to_string(&lines).unwrap_or_default();
            let _ = fs::remove_file(&lines);
            let numbers = text.lines().filter_map(|line| line.parse().ok());
            executed.extend(numbers.map(|number: usize| ((*source).to_owned(), number)));
        }
        let total = mutants.len();
        mutants.retain(|mutant| mutant.is_reached(&executed));
        Ok(Mutants { total, reached: mutants })
    }

    /// Runs a mutant, and adds its outcome to the file.
    ///
    /// # Errors
    /// [`PowerError::File`].
    pub fn judge(
        &self,
        baseline: &Baseline,
        mutant: &Mutant,
        file: &Mutex<File>,
    ) -> Result<Judged, PowerError> {
        let path = self.packages.join(&mutant.file);
        let failed = |error| PowerError::File(path.display().to_string(), error);
        let changed = mutant.applied(&fs::read(&path).map_err(failed)?);
        let outcome: Outcome = self.in_workshop(|workshop| {
            let open = workshop.command().opener();
            workshop.with(&mutant.file, &changed, || {
                judge(&self.plan, baseline, &open, &self.package.opener(), &self.scratch)
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
