//! Runs a plan on a subject, and shows its progress.

use crate::ending::{NO_VERDICT, NoVerdict, SELF_CHECK, USAGE, no_verdict, scratch};
use crate::progress::Progress;
use crate::subjects::{ChosenSubject, quoted};
use herma_harness::cases::{self, Case};
use herma_harness::results::{Record, RecordError, Recorder, Results};
use herma_harness::suite::{Findings, Plan, SuiteEvent, run_suite};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

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
    let record = Record { keep: paths.keep.clone(), results: paths.results.clone(), replay };
    let begun = Instant::now();
    let recorder = Recorder::begin(plan, &open, &scratch, record).map_err(not_recorded)?;
    // The canary, too, takes a part of the time.
    let remaining = |budget: Duration| budget.saturating_sub(begun.elapsed());
    let plan = &Plan { time_budget: plan.time_budget.map(remaining), ..recorder.plan().clone() };
    let progress = Progress::new(plan.all() / plan.share.count as u64, "histories");
    let step = |event: SuiteEvent<'_>| {
        recorder.add(event, Instant::now());
        match event {
            SuiteEvent::Begun(..) => {}
            SuiteEvent::Ended(_) | SuiteEvent::Shortened => progress.step(),
            SuiteEvent::Found(failures) => progress.restart(failures as u64, "failures shortened"),
        }
    };
    let findings = progress.run_with_messages(
        || run_suite(plan, &open, &scratch, &step),
        || recorder.report_overdue(Instant::now()),
    );
    drop(progress);
    let findings = findings.map_err(no_verdict)?;
    let replay =
        |file: &Path| format!("herma-conform replay {}{}", quoted(file), subject.spelling());
    let results = recorder.end(&findings, replay).map_err(not_recorded)?;
    Ok((results, findings))
}

fn not_recorded(error: RecordError) -> NoVerdict {
    match error {
        RecordError::Run(error) => no_verdict(error),
        RecordError::NoCanary => (error.to_string(), SELF_CHECK),
        error => (error.to_string(), NO_VERDICT),
    }
}

/// Every written case, or only those whose name or rules contain a text.
///
/// # Errors
/// A bundled file is not a case; or none contains the text.
pub fn cases(text: Option<&str>) -> Result<Vec<Case>, NoVerdict> {
    let cases = cases::bundled_of(text).map_err(|error| (error.to_string(), USAGE))?;
    match text {
        Some(text) if cases.is_empty() => Err((
            format!("no name and no rule of a written case contains `{text}`; nothing was run"),
            USAGE,
        )),
        _ => Ok(cases),
    }
}
