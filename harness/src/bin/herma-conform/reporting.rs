//! `report`, `merge`, `export` and `schema`: results, histories and the protocol in other forms.

use crate::arguments::{Form, HistoryArguments, ReportArguments};
use crate::commands::load;
use crate::ending::{
    BROKEN, NO_VERDICT, NoVerdict, UNSTABLE, USAGE, colour, fail, print_text, scratch,
};
use crate::subjects::ChosenSubject;
use herma_harness::export;
use herma_harness::history::History;
use herma_harness::html;
use herma_harness::protocol::schema as protocol_schema;
use herma_harness::results::{self, Results, ResultsError, excused, github, junit, text};
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
pub fn merge(parts: &[PathBuf], into: &Path) -> ExitCode {
    let read_part = |part: &PathBuf| Ok((part.display().to_string(), results(part)?));
    let merged =
        parts.iter().map(read_part).collect::<Result<Vec<_>, NoVerdict>>().and_then(|parts| {
            let merged = results::merge(parts).map_err(|error| (error.to_string(), USAGE))?;
            merged
                .save(into)
                .map_err(|error| (format!("{into:?} cannot be written: {error}"), NO_VERDICT))?;
            Ok(merged)
        });
    let merged = match merged {
        Ok(merged) => merged,
        Err((message, code)) => return fail(&message, code),
    };
    print_text(&text::report(&merged, text::Style { colour: colour(), rules: false }));
    print_text(&format!("results: {}\n", into.display()));
    let is_broken = merged.finished.rules.contains_key(&Verdict::Broken);
    if is_broken { ExitCode::from(BROKEN) } else { unless_unstable(&merged) }
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
    print_text(&match arguments.form {
        Form::Text => {
            text::report(&results, text::Style { colour: colour(), rules: arguments.rules })
        }
        Form::Json => text::json(&results),
        Form::Junit => junit::report(&results),
        Form::Github => github::annotations(&results),
        Form::Markdown => github::summary(&results),
        Form::Excuses => excused::page(&results),
    });
    Ok(unless_unstable(&results))
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
