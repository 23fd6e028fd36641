//! `report`, `merge`, `export` and `schema`: results, histories and the protocol in other forms.

use crate::arguments::{Form, HistoryArguments, MergeArguments, ReportArguments};
use crate::commands::load;
use crate::ending::{BROKEN, NO_VERDICT, NoVerdict, UNSTABLE, USAGE, colour, print_text, scratch};
use crate::gate;
use crate::subjects::ChosenSubject;
use herma_harness::expectations::{judge, report as gate_report};
use herma_harness::export;
use herma_harness::history::History;
use herma_harness::html;
use herma_harness::protocol::schema as protocol_schema;
use herma_harness::results::{
    self, AcceptedFailures, Results, ResultsError, excused, github, junit, text,
};
use herma_harness::suite::Verdict;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The results in a file.
///
/// # Errors
/// The file contains no valid results.
pub fn results(from: &Path) -> Result<Results, NoVerdict> {
    let stream = std::fs::read_to_string(from)
        .map_err(|error| (format!("{from:?} cannot be read: {error}"), USAGE))?;
    Results::read(&stream).map_err(|error| match error {
        ResultsError::NoEnd => (error.to_string(), NO_VERDICT),
        error => (format!("{from:?}: {error}"), USAGE),
    })
}

/// `herma-conform merge`.
///
/// # Errors
/// A file cannot be read or written, or the parts are not those of one run.
pub fn merge(arguments: &MergeArguments) -> Result<ExitCode, NoVerdict> {
    let MergeArguments { parts, into, expect } = arguments;
    let read_part = |part: &PathBuf| Ok((part.display().to_string(), results(part)?));
    let parts: Vec<_> = parts.iter().map(read_part).collect::<Result<_, NoVerdict>>()?;
    let merged = results::merge(parts).map_err(|error| (error.to_string(), USAGE))?;
    merged
        .save(into)
        .map_err(|error| (format!("{into:?} cannot be written: {error}"), NO_VERDICT))?;
    let exit = match expect {
        Some(file) => print_expected(&merged, file, Form::Text)?,
        None => {
            print_text(&text::report(&merged, text::Style { colour: colour(), rules: false }));
            match merged.finished.rules.contains_key(&Verdict::Broken) {
                true => ExitCode::from(BROKEN),
                false => unless_unstable(&merged),
            }
        }
    };
    print_text(&format!("results: {}\n", into.display()));
    Ok(exit)
}

/// `herma-conform report`.
///
/// # Errors
/// A file cannot be read or written.
pub fn report(arguments: &ReportArguments) -> Result<ExitCode, NoVerdict> {
    if let Some(html) = &arguments.html {
        return report_as_html(html, &arguments.results);
    }
    let results = results(arguments.from.as_deref().unwrap_or(Path::new("")))?;
    if let Some(file) = &arguments.expect {
        return print_expected(&results, file, arguments.form);
    }
    let accepted = AcceptedFailures::default();
    print_text(&match arguments.form {
        Form::Text => {
            text::report(&results, text::Style { colour: colour(), rules: arguments.rules })
        }
        Form::Json => text::json(&results),
        Form::Junit => junit::report(&results, &accepted),
        Form::Github => github::annotations(&results),
        Form::Markdown => github::summary(&results, &accepted),
        Form::Excuses => excused::page(&results),
    });
    Ok(unless_unstable(&results))
}

/// Prints results as the gate of an expectations file judges them; returns the exit code of the gate.
fn print_expected(results: &Results, file: &Path, form: Form) -> Result<ExitCode, NoVerdict> {
    let expectations = gate::expectations_for(file, results)?;
    let judgement = judge(&expectations, results);
    print_text(&match form {
        Form::Text => gate_report::text(results, &judgement),
        Form::Junit => junit::report(results, &judgement.accepted()),
        Form::Github => gate_report::annotations(&judgement, &file.display().to_string()),
        Form::Markdown => github::summary(results, &judgement.accepted()),
        Form::Json | Form::Excuses => {
            let message = "--expect needs a report as text, junit, github or markdown";
            return Err((message.into(), USAGE));
        }
    });
    Ok(gate::exit_code(&judgement))
}

fn report_as_html(file: &Path, paths: &[PathBuf]) -> Result<ExitCode, NoVerdict> {
    let read: Vec<Results> = paths.iter().map(|path| results(path)).collect::<Result<_, _>>()?;
    let page = html::page(&read).map_err(|error| (error.to_string(), NO_VERDICT))?;
    std::fs::write(file, page)
        .map_err(|error| (format!("{file:?} cannot be written: {error}"), NO_VERDICT))?;
    print_text(&format!("{}: {} results\n", file.display(), read.len()));
    Ok(ExitCode::SUCCESS)
}

/// Success, unless a failure did not show again: callers that check only the exit code must not take
/// that for a result.
fn unless_unstable(results: &Results) -> ExitCode {
    if results.is_unstable() { ExitCode::from(UNSTABLE) } else { ExitCode::SUCCESS }
}

/// `herma-conform export`.
///
/// # Errors
/// There is no script.
pub fn export(arguments: &HistoryArguments, plain: bool) -> Result<ExitCode, NoVerdict> {
    let history = load(&arguments.file)?;
    let history = History { plain_home: plain || history.plain_home, ..history };
    let start = match ChosenSubject::new(&arguments.subject)? {
        ChosenSubject::Adapter { start, .. } => start,
        ChosenSubject::Core => {
            let message = "a script can only drive an adapter; for the core, give \
                           `-- herma-conform adapter serve`";
            return Err((message.into(), USAGE));
        }
    };
    let script = export::script(&history, &start, &scratch(arguments.scratch.clone()))
        .map_err(|error| (format!("{error}; nothing is exported"), NO_VERDICT))?;
    print_text(&script);
    Ok(ExitCode::SUCCESS)
}

/// `herma-conform schema`.
pub fn schema() -> ExitCode {
    print_text(&protocol_schema::text());
    ExitCode::SUCCESS
}
