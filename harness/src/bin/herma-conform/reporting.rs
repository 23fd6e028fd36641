//! `report`, `export` and `schema`: results, histories and the protocol in other forms.

use crate::commands::load;
use crate::ending::{NO_VERDICT, NoVerdict, USAGE, colour, fail, say, scratch};
use crate::subjects::Chosen;
use crate::{Form, HistoryArguments};
use herma_harness::export;
use herma_harness::protocol::schema as protocol_schema;
use herma_harness::results::{Results, ResultsError, github, junit, text};
use std::path::Path;
use std::process::ExitCode;

/// `herma-conform report`.
pub fn report(from: &Path, form: Form) -> ExitCode {
    let stream = match std::fs::read_to_string(from) {
        Ok(stream) => stream,
        Err(error) => return fail(&format!("{from:?} cannot be read: {error}"), USAGE),
    };
    let results = match Results::read(&stream) {
        Ok(results) => results,
        Err(error @ ResultsError::NoEnd) => return fail(&error.to_string(), NO_VERDICT),
        Err(error) => return fail(&format!("{from:?}: {error}"), USAGE),
    };
    say(&match form {
        Form::Text => text::report(&results, colour()),
        Form::Json => text::json(&results),
        Form::Junit => junit::report(&results),
        Form::Github => github::annotations(&results),
        Form::Markdown => github::summary(&results),
    });
    ExitCode::SUCCESS
}

/// `herma-conform export`.
///
/// # Errors
/// There is no script.
pub fn export(arguments: &HistoryArguments) -> Result<ExitCode, NoVerdict> {
    let history = load(&arguments.file)?;
    let start = match Chosen::new(&arguments.subject)? {
        Chosen::Adapter { start, .. } => start,
        Chosen::Core => {
            let message = "only what is behind an adapter can be driven by a script; the core is \
                           so by `-- herma-conform adapter serve`";
            return Err((message.into(), USAGE));
        }
    };
    let script = export::script(&history, &start, &scratch(arguments.scratch.clone()))
        .map_err(|error| (format!("{error}; nothing is exported"), NO_VERDICT))?;
    say(&script);
    Ok(ExitCode::SUCCESS)
}

/// `herma-conform schema`.
pub fn schema() -> ExitCode {
    say(&protocol_schema::text());
    ExitCode::SUCCESS
}
