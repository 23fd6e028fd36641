//! Runs a plan on a subject, and writes the results as they come.

use crate::ending::{NO_CANARY, NO_VERDICT, NoVerdict, SELF_CHECK, USAGE, no_verdict, scratch};
use crate::overdue::RunningHistories;
use crate::progress::Progress;
use crate::subjects::ChosenSubject;
use herma_harness::canary::canary;
use herma_harness::cases::{self, Case};
use herma_harness::divergence::Fingerprint;
use herma_harness::history::{self, History};
use herma_harness::results::{Line, Results, SCHEMA, Started};
use herma_harness::suite::{Findings, Plan, SuiteEvent, introduce, run_suite};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

/// The paths of a run.
pub struct RunPaths {
    /// Where sandboxes are made.
    pub scratch: Option<PathBuf>,
    /// Where failing histories are kept.
    pub keep: PathBuf,
    /// Where the results are written.
    pub results: PathBuf,
}

/// Runs `plan` on the subject and writes the results; `replay` is the command that repeats the run.
///
/// # Errors
/// The run could not be made.
pub fn run(
    plan: &Plan,
    subject: &ChosenSubject,
    paths: &RunPaths,
    replay: String,
) -> Result<(Results, Findings), NoVerdict> {
    let open = subject.opener();
    let scratch = scratch(paths.scratch.clone());
    let (identity, capabilities) = introduce(&open, &scratch).map_err(no_verdict)?;
    let canary = canary(&open, &scratch).map_err(no_verdict)?;
    let Some(canary) = canary else {
        return Err((NO_CANARY.into(), SELF_CHECK));
    };
    let plan = &plan.within(&capabilities);
    let started = Started {
        schema: SCHEMA,
        suite: env!("CARGO_PKG_VERSION").to_owned(),
        subject: identity,
        capabilities: capabilities.names().map(str::to_owned).collect(),
        seeds: plan.seeds.clone(),
        histories: plan.histories,
        operations: plan.options.operations_max,
        inject: plan.options.injections == 1,
        canary: canary.fingerprint(),
        share: plan.share,
        replay,
    };
    let written = |error| (format!("{:?} cannot be written: {error}", paths.results), NO_VERDICT);
    let stream = Stream::begin(&paths.results, &started).map_err(written)?;
    let progress = Progress::new(plan.all() / plan.share.count as u64, "histories");
    let histories = RunningHistories::new(paths.keep.clone(), &plan.seeds);
    let step = |step: SuiteEvent<'_>| match step {
        SuiteEvent::Begun(origin, history) => {
            let is_kept = plan.kept.iter().any(|(name, _)| name == origin);
            histories.begin(origin, (!is_kept).then_some(history), Instant::now());
        }
        SuiteEvent::Ended(result) => {
            histories.end(&result.origin);
            stream.write(&Line::History(result.clone()));
            progress.step();
        }
        SuiteEvent::Found(failures) => progress.restart(failures as u64, "failures shortened"),
        SuiteEvent::Shortened => progress.step(),
    };
    let findings = progress.run_with_messages(
        || run_suite(plan, &open, &scratch, &step),
        || histories.report(Instant::now()),
    );
    drop(progress);
    let findings = findings.map_err(no_verdict)?;
    let file = |fingerprint: &Fingerprint| {
        paths.keep.join(file_name(&format!("{}-{}", fingerprint.rule, fingerprint.symptom)))
    };
    let replay_failure = |fingerprint: &Fingerprint| {
        let file = crate::subjects::quoted(file(fingerprint));
        format!("herma-conform replay {file}{}", subject.spelling())
    };
    for (fingerprint, failure) in &findings.failures {
        // A known failure was not shrunk now, and must not replace the shrunk history of an earlier run.
        if failure.reproduced.is_none() && file(fingerprint).exists() {
            continue;
        }
        let comment = format!("{fingerprint}, found in {}", failure.origin);
        history::file::save(&file(fingerprint), &failure.shrunk.history, &comment)
            .map_err(|error| (error.to_string(), NO_VERDICT))?;
    }
    let results = Results::of(started, &findings, replay_failure);
    results.last_lines().iter().for_each(|line| stream.write(line));
    stream.end().map_err(written)?;
    Ok((results, findings))
}

/// The name of the file that keeps a history with this description.
pub fn file_name(description: &str) -> String {
    let description = description.to_lowercase();
    let words: Vec<&str> = description
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    format!("{}.yaml", words.join("-"))
}

/// Every written case.
///
/// # Errors
/// A bundled file is not a case.
pub fn cases() -> Result<Vec<Case>, NoVerdict> {
    cases::bundled().map_err(|error| (error.to_string(), USAGE))
}

/// The failing histories of earlier runs, by name.
///
/// # Errors
/// The folder or a file in it cannot be read.
pub fn kept_histories(folder: &Path) -> Result<Vec<(String, History)>, NoVerdict> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err((format!("cannot read {folder:?}: {error}"), USAGE)),
    };
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let load = |path: PathBuf| {
        let history = cases::load_history(&path).map_err(|error| (error.to_string(), USAGE))?;
        Ok((path.display().to_string(), history))
    };
    files.into_iter().map(load).collect()
}

/// Writes results to a file; the first error is returned at the end.
struct Stream(Mutex<(File, io::Result<()>)>);

impl Stream {
    fn begin(path: &Path, started: &Started) -> io::Result<Self> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder)?;
        }
        let stream = Stream(Mutex::new((File::create(path)?, Ok(()))));
        stream.write(&Line::Started(started.clone()));
        Ok(stream)
    }

    fn write(&self, line: &Line) {
        let text = serde_json::to_string(line).expect("a line holds only what JSON can say");
        let mut stream = self.0.lock().expect("no thread panics while it holds this");
        if stream.1.is_ok() {
            stream.1 = writeln!(stream.0, "{text}");
        }
    }

    fn end(self) -> io::Result<()> {
        let (mut file, written) = self.0.into_inner().expect("no thread panics while it holds it");
        written.and_then(|()| file.flush())
    }
}
