//! The `herma` command: the reference implementation as a person uses it.
//!
//! This is the one place that reads the process: its arguments, `HOME`, `HERMES_HOME`, the
//! current directory, and how its output is to look. What was asked is in [`arguments`], doing it
//! in [`commands`], the words for people in [`pages`] and those for programs in [`programs`].
#![forbid(unsafe_code)]

mod arguments;
mod commands;
mod maintenance;
mod maintenance_pages;
mod pages;
mod programs;
mod text;

use arguments::Asked;
use commands::{Answer, Ending, Failure, Session};
use herma_core::Environment;
use herma_core::configuration::Warning;
use programs::{Reason, Refusal};
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use text::Style;

/// Done, also when there was nothing to do.
const DONE: u8 = 0;
/// Asked about, and not wanted.
const DECLINED: u8 = 1;
/// Not done, not wholly done, or not understood.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let exit = match Asked::read(&typed) {
        Ok(asked) => answer(&asked).unwrap_or_else(|failure| refuse(&failure, asked.json)),
        Err(error) => {
            // What was typed is not understood, so that this is the best guess at what is wanted.
            let options = typed.iter().take_while(|word| *word != "--");
            let json = options.into_iter().any(|word| word == "--json");
            refuse_usage(&error, json)
        }
    };
    ExitCode::from(exit)
}

/// Does what was asked, says what came of it, and answers the exit code.
fn answer(asked: &Asked) -> Result<u8, Failure> {
    let current_directory = std::env::current_dir().map_err(Failure::no_current_directory)?;
    let variable = |name: &str| std::env::var_os(name);
    let environment =
        Environment::from_variables(|name| variable(name).map(PathBuf::from), current_directory)
            .ok_or_else(Failure::no_home)?;
    let style = Style::of_output(std::io::stdout().is_terminal(), variable);
    let (session, warnings) = Session::new(environment, asked.json, style)?;
    warnings.iter().for_each(warn);
    let Answer { bytes, ending } = session.run(asked)?;
    match std::io::stdout().lock().write_all(&bytes).and_then(|()| std::io::stdout().flush()) {
        Ok(()) => {}
        // Whoever read the answer has read enough of it.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => return Err(Failure::unheard(&error)),
    }
    session.afterwards(asked);
    // rule: maintenance/commands
    match ending {
        Ending::Done => Ok(DONE),
        Ending::Declined => Ok(DECLINED),
        Ending::Incomplete(failure) => {
            if !asked.json {
                complain(&failure);
            }
            Ok(FAILED)
        }
    }
}

/// Says why there is no answer.
fn refuse(failure: &Failure, json: bool) -> u8 {
    if json {
        refuse_in_json(failure);
    } else {
        complain(failure);
    }
    FAILED
}

/// Says what clap has to say: that it does not understand, or the help that was asked for.
fn refuse_usage(error: &clap::Error, json: bool) -> u8 {
    let wanted = !error.use_stderr();
    let rendered = error.render().to_string();
    if json && !wanted {
        let message = rendered.split("\n\nUsage:").next().unwrap_or_default();
        let message = message.trim_start_matches("error: ").trim_end().to_owned();
        refuse_in_json(&Failure { code: "usage", message });
        return FAILED;
    }
    // It repeats what was typed, which may be a file name that a shell filled in.
    let lines: Vec<String> = rendered.lines().map(|one| text::line(one.as_bytes())).collect();
    let safe = lines.join("\n") + "\n";
    // Nobody is left to be told where these cannot be written.
    let _ = if wanted {
        std::io::stdout().write_all(safe.as_bytes())
    } else {
        std::io::stderr().write_all(safe.as_bytes())
    };
    if wanted { DONE } else { FAILED }
}

fn refuse_in_json(failure: &Failure) {
    let refusal = Refusal { error: Reason { code: failure.code, message: &failure.message } };
    if let Ok(text) = programs::json(&refusal) {
        // Nobody is left to be told where this cannot be written.
        let _ = std::io::stdout().write_all(&text);
    }
}

fn warn(warning: &Warning) {
    let message = text::line(warning.to_string().as_bytes());
    // Nobody is left to be told where this cannot be written.
    let _ = writeln!(std::io::stderr(), "herma: warning: {message}");
}

fn complain(failure: &Failure) {
    let message = text::line(failure.message.as_bytes());
    // Nobody is left to be told where this cannot be written.
    let _ = writeln!(std::io::stderr(), "herma: {message} [{}]", failure.code);
}
