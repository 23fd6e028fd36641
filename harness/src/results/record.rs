//! Records a run while it runs: its results as a stream of lines, and each failing history in a file of its own.

use super::kept::file_name;
use super::overdue::RunningHistories;
use super::{Line, Results, SCHEMA, Started};
use crate::canary::canary;
use crate::divergence::Fingerprint;
use crate::history::file::{self, HistoryError};
use crate::runner::RunError;
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use crate::suite::{Findings, Plan, SuiteEvent, introduce};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

/// Why a run cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The subject cannot be run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The suite does not notice failures.
    #[error("the canary (a broken subject) passed: failures go unnoticed; no verdict is given")]
    NoCanary,
    /// A failing history cannot be read or written.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The folder of the failing histories cannot be read.
    #[error("cannot read {0:?}: {1}")]
    Folder(PathBuf, io::Error),
    /// The results cannot be written.
    #[error("{0:?} cannot be written: {1}")]
    Results(PathBuf, io::Error),
}

/// Where a run is recorded.
pub struct Record {
    /// The folder for failing histories.
    pub keep: PathBuf,
    /// The file for the results.
    pub results: PathBuf,
    /// The command that runs the same again.
    pub replay: String,
}

/// Records one run.
pub struct Recorder {
    plan: Plan,
    started: Started,
    record: Record,
    stream: Stream,
    histories: RunningHistories,
}

impl Recorder {
    /// Introduces the subject, runs the canary, and begins to write the results of the plan.
    ///
    /// # Errors
    /// The subject cannot be run, the canary is not noticed, or the results cannot be written.
    pub fn begin(
        plan: &Plan,
        new_subject: &NewSubject<'_>,
        scratch: &Scratch,
        record: Record,
    ) -> Result<Self, RecordError> {
        let (identity, capabilities) = introduce(new_subject, scratch)?;
        let canary = canary(new_subject, scratch)?.ok_or(RecordError::NoCanary)?;
        let plan = plan.within(&capabilities);
        let started = Started {
            schema: SCHEMA,
            suite: env!("CARGO_PKG_VERSION").to_owned(),
            subject: identity,
            capabilities: capabilities.names().map(str::to_owned).collect(),
            uses_git: capabilities.uses_git(),
            seeds: plan.seeds.clone(),
            histories: plan.histories,
            operations: plan.options.operations_max,
            inject: plan.options.injections == 1,
            cases_of: plan.cases_of.clone(),
            preset: plan.preset.clone(),
            kept: plan.kept.len(),
            canary: canary.fingerprint(),
            share: plan.share,
            replay: record.replay.clone(),
        };
        let stream = Stream::begin(&record.results, &started)
            .map_err(|error| RecordError::Results(record.results.clone(), error))?;
        let histories = RunningHistories::new(record.keep.clone(), &plan.seeds);
        Ok(Recorder { plan, started, record, stream, histories })
    }

    /// The part of the plan for which the subject has the capabilities.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Records an event of the run, which happened at that time.
    pub fn add(&self, event: SuiteEvent<'_>, now: Instant) {
        match event {
            SuiteEvent::Begun(origin, history) => {
                let is_kept = self.plan.kept.iter().any(|(name, _)| name == origin);
                self.histories.begin(origin, (!is_kept).then_some(history), now);
            }
            SuiteEvent::Ended(ended) => {
                self.histories.end(&ended.origin);
                self.stream.write(&Line::History(ended.clone()));
            }
            SuiteEvent::Found(_) | SuiteEvent::Shortened => {}
        }
    }

    /// Saves every history that has been running for too long, and returns a message about each, once.
    pub fn report_overdue(&self, now: Instant) -> Vec<String> {
        self.histories.report(now)
    }

    /// Saves the failing histories and writes the remaining lines; `replay` returns the command that replays the
    /// history in a file.
    ///
    /// # Errors
    /// A history or the results cannot be written.
    pub fn end(
        self,
        findings: &Findings,
        replay: impl Fn(&Path) -> String,
    ) -> Result<Results, RecordError> {
        let path = |fingerprint: &Fingerprint| {
            let description = format!("{}-{}", fingerprint.rule, fingerprint.symptom);
            self.record.keep.join(file_name(&description))
        };
        for (fingerprint, failure) in &findings.failures {
            let path = path(fingerprint);
            // A known failure was not shrunk now, and must not replace the shrunk history of an earlier run.
            if failure.reproduced.is_none() && path.exists() {
                continue;
            }
            let comment = format!("{fingerprint}, found in {}", failure.origin);
            file::save(&path, &failure.shrunk.history, &comment)?;
        }
        let results = Results::of(self.started, findings, |fingerprint| replay(&path(fingerprint)));
        results.last_lines().iter().for_each(|line| self.stream.write(line));
        let written = self.stream.end();
        written.map_err(|error| RecordError::Results(self.record.results.clone(), error))?;
        Ok(results)
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Options;
    use crate::history::file::from_yaml;
    use crate::null;
    use crate::results::kept_histories;
    use crate::share::Share;
    use crate::suite::run_suite;
    use std::collections::BTreeSet;

    #[test]
    fn recorder_writes_the_results_and_keeps_each_failing_history_for_the_next_run() {
        let folder = tempfile::tempdir().unwrap();
        let keep = folder.path().join("failures");
        let results = keep.join("results.jsonl");
        let record = Record { keep: keep.clone(), results: results.clone(), replay: "run".into() };
        let text = "operations:\n- checkpoint: {dir: work/alpha, reason: r}\n";
        let plan = Plan {
            seeds: vec![1],
            histories: 0,
            options: Options::default(),
            kept: vec![("given.yaml".into(), from_yaml(text, "here".as_ref()).unwrap())],
            cases: Vec::new(),
            jobs: 1,
            shrink_budget: 10,
            cases_of: None,
            preset: String::new(),
            time_budget: None,
            known: BTreeSet::new(),
            share: Share::default(),
        };
        let open = null::find("null-fails").unwrap().open;
        let scratch = Scratch::in_default_directory();
        let recorder = Recorder::begin(&plan, &open, &scratch, record).unwrap();
        let add = |event: SuiteEvent<'_>| recorder.add(event, Instant::now());
        let findings = run_suite(recorder.plan(), &open, &scratch, &add).unwrap();
        assert_eq!(recorder.report_overdue(Instant::now()), [""; 0]);
        let recorded = recorder.end(&findings, |path| path.display().to_string()).unwrap();
        let kept = kept_histories(&keep).unwrap();
        let kept: BTreeSet<&String> = kept.iter().map(|(name, _)| name).collect();
        let replays: BTreeSet<&String> =
            recorded.failures.iter().map(|failure| &failure.replay).collect();
        assert_eq!(kept, replays);
        assert!(!kept.is_empty());
        let stream = std::fs::read_to_string(&results).unwrap();
        assert!(stream.contains("\"event\":\"history\",\"origin\":\"given.yaml\""), "{stream}");
        assert_eq!(Results::read(&stream).unwrap().failures.len(), kept.len());
    }
}
