//! `gate` and `update`: compares a run with the known failures of a subject, or lists them.

use crate::GateArguments;
use crate::ending::{BROKEN, NO_VERDICT, NoVerdict, TOO_LITTLE, UNSTABLE, USAGE, say};
use crate::reporting;
use crate::running;
use crate::subjects::{Chosen, quoted};
use herma_harness::expectations::{
    self, Expectations, ExpectationsError, Judgement, UpdateRefused, judge, report,
};
use herma_harness::generate::Options;
use herma_harness::results::{Results, Started};
use herma_harness::suite::Plan;
use std::process::ExitCode;

/// The expectations need work.
const NEEDS_WORK: u8 = 3;

/// `herma-conform gate`.
///
/// # Errors
/// There is no verdict.
pub fn gate(arguments: &GateArguments) -> Result<ExitCode, NoVerdict> {
    let (chosen, expectations) = named(arguments)?;
    let results = found(arguments, "gate", &chosen, &expectations)?;
    check_subject(&expectations, &results)?;
    let mut judgement = judge(&expectations, &results);
    if !results.started.share.is_whole() {
        // What one part does not show another may.
        (judgement.needs_work, judgement.too_little) = (Vec::new(), None);
    }
    say(&report::text(&results, &judgement));
    if std::env::var_os(crate::hermetic::GITHUB).is_some() {
        let file = arguments.expect.clone().unwrap_or_default().display().to_string();
        say(&report::annotations(&judgement, &file));
    }
    Ok(code(&judgement))
}

/// The results, if they are of the plan that the expectations are about.
fn of_its_plan(results: Results, of: &Expectations) -> Result<Results, NoVerdict> {
    let Started { seeds, histories, operations, inject, .. } = &results.started;
    let plan = (&of.seeds, of.histories, of.operations, of.inject);
    if (seeds, *histories, *operations, *inject) == plan {
        return Ok(results);
    }
    Err((
        "these results are of another plan than the expectations; nothing was judged".into(),
        USAGE,
    ))
}

fn code(judgement: &Judgement<'_>) -> ExitCode {
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
        return Err(("`update` writes a file: name it with --expect".into(), USAGE));
    };
    let (chosen, before) = named(arguments)?;
    let results = found(arguments, "update", &chosen, &before)?;
    if !results.started.share.is_whole() {
        let why = "these are the results of a part: `merge` all of them first; nothing was written";
        return Err((why.into(), USAGE));
    }
    let after = expectations::update(&before, &results, allow_new)
        .map_err(|refused| (refused.to_string(), code_of(&refused)))?;
    after.save(file).map_err(|error| (error.to_string(), NO_VERDICT))?;
    let wanting = after.expect.iter().filter(|entry| entry.wanting().count() > 0).count();
    say(&format!(
        "{}: {} expected failures, {wanting} of them without a reason or a link\n",
        file.display(),
        after.expect.len()
    ));
    Ok(ExitCode::from(if wanting > 0 { NEEDS_WORK } else { 0 }))
}

/// What a person must decide needs work; the rest is a wrong command line.
fn code_of(refused: &UpdateRefused) -> u8 {
    match refused {
        UpdateRefused::OtherSubject(..) => USAGE,
        UpdateRefused::Flaky(..) | UpdateRefused::New(_) => NEEDS_WORK,
    }
}

/// The subject and what is expected of it.
fn named(arguments: &GateArguments) -> Result<(Chosen, Expectations), NoVerdict> {
    let chosen = Chosen::new(&arguments.subject)?;
    let expectations = load(arguments, &chosen)?;
    let chosen = if expectations.inject { chosen.supervised()? } else { chosen };
    Ok((chosen, expectations))
}

/// The expectations in the file that is named, or those that come with the subject. Under injections
/// what fails without them may fail, too.
fn load(arguments: &GateArguments, chosen: &Chosen) -> Result<Expectations, NoVerdict> {
    let read = |text, of: &str| Expectations::read(text, format!("expectations of {of}"));
    let own = || chosen.expectations().map(|(name, text)| read(text, name));
    let found = match &arguments.expect {
        Some(file) => Some(Expectations::load(file)),
        None if arguments.inject => {
            let of = format!("injections into{}", chosen.spelled());
            chosen.injected().map(|text| read(text, &of))
        }
        None => own(),
    };
    let why = "no such expectations come with this subject: name a file with --expect";
    let cannot_be_read = |error: ExpectationsError| (error.to_string(), USAGE);
    let mut found = found.ok_or((why.into(), USAGE))?.map_err(cannot_be_read)?;
    if let (true, Some(own)) = (found.inject, own()) {
        let own = own.map_err(cannot_be_read)?;
        found.elsewhere = if own.inject { Vec::new() } else { own.expect };
    }
    Ok(found)
}

fn check_subject(expectations: &Expectations, results: &Results) -> Result<(), NoVerdict> {
    let (ran, about) = (&results.started.subject.name, &expectations.subject);
    if ran == about {
        return Ok(());
    }
    Err((format!("`{ran}` was run, and the expectations are about `{about}`"), USAGE))
}

/// The results of a run of the plan: of the one that was made already, or of one made now.
fn found(
    arguments: &GateArguments,
    command: &str,
    chosen: &Chosen,
    expectations: &Expectations,
) -> Result<Results, NoVerdict> {
    if let Some(file) = &arguments.from {
        return of_its_plan(reporting::results(file)?, expectations);
    }
    let known = expectations.expect.iter().chain(&expectations.elsewhere);
    let usual = Options::default();
    let injections = if expectations.inject { 1 } else { usual.injections };
    let plan = Plan {
        seeds: expectations.seeds.clone(),
        histories: expectations.histories,
        options: Options { operations_max: expectations.operations, injections, ..usual },
        // A gate is the same for everybody: histories kept on one machine are not part of it.
        kept: Vec::new(),
        cases: running::cases()?,
        jobs: arguments.place.jobs(),
        shrink_budget: chosen.shrink_budget(),
        time_budget: None,
        // New failures are shrunk and run again; one that does not show again is not listed.
        known: known.map(expectations::Entry::fingerprint).collect(),
        share: arguments.place.shard,
    };
    let place = arguments.place.of(chosen);
    let which = match &arguments.expect {
        Some(file) => format!(" --expect {}", quoted(file)),
        None if arguments.inject => " --inject".to_owned(),
        None => String::new(),
    };
    let replay = format!("herma-conform {command}{which}{}", chosen.spelled());
    running::run(&plan, chosen, &place, replay).map(|(results, _)| results)
}
