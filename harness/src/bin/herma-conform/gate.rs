//! `gate` compares a run with the known failures of a subject; `update` lists them.

use crate::arguments::GateArguments;
use crate::ending::{BROKEN, NO_VERDICT, NoVerdict, TOO_LITTLE, UNSTABLE, USAGE, print_text};
use crate::reporting;
use crate::running;
use crate::subjects::{ChosenSubject, quoted};
use herma_harness::expectations::{
    self, Expectations, ExpectationsError, Judgement, UpdateRefused, judge, report,
};
use herma_harness::results::Results;
use herma_harness::suite::Plan;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// The expectations need work.
const NEEDS_WORK: u8 = 3;

/// `herma-conform gate`.
///
/// # Errors
/// There is no verdict.
pub fn gate(arguments: &GateArguments) -> Result<ExitCode, NoVerdict> {
    let (subject, expectations) = load_subject(arguments)?;
    let results = load_or_run(arguments, "gate", &subject, &expectations)?;
    check_subject(&expectations, &results)?;
    let judgement = judge(&expectations, &results);
    print_text(&report::text(&results, &judgement));
    if std::env::var_os(crate::hermetic::GITHUB).is_some() {
        let file = arguments.expect.clone().unwrap_or_default().display().to_string();
        print_text(&report::annotations(&judgement, &file));
    }
    Ok(exit_code(&judgement))
}

/// The expectations of a file for the results of an earlier run.
///
/// # Errors
/// The file cannot be read, or is about another subject or another plan.
pub fn expectations_for(file: &Path, results: &Results) -> Result<Expectations, NoVerdict> {
    let expectations = Expectations::load(file).map_err(|error| (error.to_string(), USAGE))?;
    check_subject(&expectations, results)?;
    check_plan(&expectations, results)?;
    Ok(expectations)
}

/// The exit code of a gate.
pub fn exit_code(judgement: &Judgement<'_>) -> ExitCode {
    if !judgement.regressions.is_empty() {
        ExitCode::from(BROKEN)
    } else if !judgement.unstable.is_empty() {
        ExitCode::from(UNSTABLE)
    } else if !judgement.needs_work.is_empty() {
        ExitCode::from(NEEDS_WORK)
    } else if judgement.too_little.is_some() {
        ExitCode::from(TOO_LITTLE)
    } else {
        ExitCode::SUCCESS
    }
}

/// `herma-conform update`.
///
/// # Errors
/// There is no verdict, or the file is not written.
pub fn update(arguments: &GateArguments, allow_new: bool) -> Result<ExitCode, NoVerdict> {
    let Some(file) = &arguments.expect else {
        return Err(("`update` writes an expectations file: name it with --expect".into(), USAGE));
    };
    let (subject, before) = load_subject(arguments)?;
    let results = load_or_run(arguments, "update", &subject, &before)?;
    if !results.started.share.is_whole() {
        let why = "these are the results of one part: `merge` all parts first; nothing was written";
        return Err((why.into(), USAGE));
    }
    let after = expectations::update(&before, &results, allow_new)
        .map_err(|refused| (refused.to_string(), code_of(&refused)))?;
    after.save(file).map_err(|error| (error.to_string(), NO_VERDICT))?;
    let incomplete = after.expect.iter().filter(|entry| entry.wanting().count() > 0).count();
    print_text(&format!(
        "{}: {} expected failures, {incomplete} of them without a reason or a link\n",
        file.display(),
        after.expect.len()
    ));
    Ok(ExitCode::from(if incomplete > 0 { NEEDS_WORK } else { 0 }))
}

/// `NEEDS_WORK` where a user has to decide; otherwise the command line is wrong.
fn code_of(refused: &UpdateRefused) -> u8 {
    match refused {
        UpdateRefused::OtherSubject(..) => USAGE,
        UpdateRefused::CutShort(..) | UpdateRefused::NotRunAgain(_) => TOO_LITTLE,
        UpdateRefused::Flaky(..) | UpdateRefused::New(_) => NEEDS_WORK,
    }
}

/// The subject and its expectations.
fn load_subject(arguments: &GateArguments) -> Result<(ChosenSubject, Expectations), NoVerdict> {
    let subject = ChosenSubject::new(&arguments.subject)?;
    let expectations = load(arguments, &subject)?;
    let subject = if expectations.inject { subject.supervised()? } else { subject };
    Ok((subject, expectations))
}

/// The expectations in the given file, or those that come with the subject. With injections, failures
/// that are expected without injections may occur, too.
fn load(arguments: &GateArguments, subject: &ChosenSubject) -> Result<Expectations, NoVerdict> {
    let read = |text, origin: &str| Expectations::read(text, format!("expectations of {origin}"));
    let bundled = || subject.expectations().map(|(name, text)| read(text, name));
    let expectations = match &arguments.expect {
        Some(file) => Some(Expectations::load(file)),
        None if arguments.inject => {
            let origin = format!("injections into{}", subject.spelling());
            subject.injected().map(|text| read(text, &origin))
        }
        None => bundled(),
    };
    let why = "no such expectations are bundled with this subject: name a file with --expect";
    let cannot_be_read = |error: ExpectationsError| (error.to_string(), USAGE);
    let mut expectations = expectations.ok_or((why.into(), USAGE))?.map_err(cannot_be_read)?;
    if let (true, Some(bundled)) = (expectations.inject, bundled()) {
        let bundled = bundled.map_err(cannot_be_read)?;
        expectations.elsewhere = if bundled.inject { Vec::new() } else { bundled.expect };
    }
    Ok(expectations)
}

fn check_subject(expectations: &Expectations, results: &Results) -> Result<(), NoVerdict> {
    let actual = &results.started.subject.name;
    let expected = &expectations.subject;
    if actual == expected {
        return Ok(());
    }
    Err((format!("the results are about `{actual}`, the expectations about `{expected}`"), USAGE))
}

fn check_plan(expectations: &Expectations, results: &Results) -> Result<(), NoVerdict> {
    let differs =
        "the plan of these results differs from that of the expectations; nothing was judged";
    match expectations.is_plan_of(&results.started) {
        true => Ok(()),
        false => Err((differs.into(), USAGE)),
    }
}

/// The results of a run of the plan: of the run whose results were given, or of a new run.
fn load_or_run(
    arguments: &GateArguments,
    command: &str,
    subject: &ChosenSubject,
    expectations: &Expectations,
) -> Result<Results, NoVerdict> {
    if let Some(file) = &arguments.from {
        let results = reporting::results(file)?;
        check_plan(expectations, &results)?;
        return Ok(results);
    }
    let plan = Plan {
        // New failures are shrunk and run again; one that does not show again is not listed.
        shrink_budget: subject.shrink_budget(),
        share: arguments.execution.shard,
        time_budget: arguments.time_budget.map(Duration::from_secs),
        ..expectations
            .plan(running::cases(expectations.cases_of.as_deref())?, arguments.execution.jobs())
    };
    let paths = arguments.execution.paths(subject);
    let options = match &arguments.expect {
        Some(file) => format!(" --expect {}", quoted(file)),
        None if arguments.inject => " --inject".to_owned(),
        None => String::new(),
    };
    let replay = format!("herma-conform {command}{options}{}", subject.spelling());
    running::run(&plan, subject, &paths, replay).map(|(results, _)| results)
}
