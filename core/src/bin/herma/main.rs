//! The `herma` command: the reference implementation as a person uses it.
//!
//! This is the one place that reads the process: its arguments, `HOME`, `HERMES_HOME`, the current
//! directory, and what its output is. [`arguments`] parses, [`commands`] does what was asked,
//! [`pages`] answers people and [`programs`] answers programs.
#![forbid(unsafe_code)]

mod arguments;
mod classify;
mod commands;
mod doctor;
mod help;
mod maintenance;
mod maintenance_pages;
mod manual;
mod pages;
mod programs;
mod rollback;
mod rollback_pages;
mod session;
mod shell;
mod whole;
mod whole_pages;

use arguments::{Alone, Asked, Request, SessionArguments, Unasked};
use commands::{Answer, Ending, Failure, Herma};
use herma_core::configuration::Warning;
use herma_core::disk::SystemDisk;
use herma_core::doctor::{Surroundings, SystemMachine};
use herma_core::rollback_line::Misread;
use herma_core::text;
use herma_core::{Environment, SystemClock};
use programs::{Reason, Refusal};
use session::Session;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::ffi::OsString;
use std::io::{BufReader, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use text::Style;

/// Done, also when there was nothing to do.
const DONE: u8 = 0;
/// The person was asked and said no.
const DECLINED: u8 = 1;
/// Not done, not wholly done, or not understood.
const FAILED: u8 = 2;

/// A signal ended a rollback before it was done, and the answer says what was.
const INTERRUPTED: u8 = 130;

/// Set by Ctrl-C and its like from now on, the second of which ends the process.
fn signalled() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // Where it cannot be caught, it ends the process at once, and the store records the rollback.
        let second = flag::register_conditional_shutdown(signal, INTERRUPTED.into(), flag.clone());
        let _ = second.and_then(|_| flag::register(signal, flag.clone()));
    }
    flag
}

fn main() -> ExitCode {
    let typed: Vec<OsString> = std::env::args_os().collect();
    let exit = match Request::read(&typed) {
        Ok(Request::Usual(asked)) => {
            answer(&asked).unwrap_or_else(|failure| refuse(&failure, asked.json))
        }
        Ok(Request::Alone { json, task }) => {
            answer_alone(json, &task).unwrap_or_else(|failure| refuse(&failure, json))
        }
        Ok(Request::Session(asked)) => {
            play(&asked).unwrap_or_else(|failure| refuse(&failure, false))
        }
        Err(unasked) => {
            // The arguments are not parsed, so that this is a guess.
            let options = typed.iter().take_while(|word| *word != "--");
            let json = options.into_iter().any(|word| word == "--json");
            match unasked {
                Unasked::Usage(error) => refuse_usage(&error, json),
                Unasked::Rollback { line, misread } => refuse_line(&line, &misread, json),
            }
        }
    };
    ExitCode::from(exit)
}

/// Says what is wrong with the words after `rollback`, and points at it.
fn refuse_line(line: &[u8], misread: &Misread, json: bool) -> u8 {
    if json {
        refuse_in_json(&Failure { code: "usage", message: misread.message.clone() });
    } else {
        let text = rollback_pages::misread("herma rollback ", line, misread);
        print(
            std::io::stderr(),
            &format!("herma: {text}For more information, try 'herma rollback --help'.\n"),
        );
    }
    FAILED
}

/// Where the process is; `needs_here` where it matters which directory it is in.
fn surrounding(needs_here: bool) -> Result<Environment, Failure> {
    let is_relative = |path: OsString| !path.is_empty() && Path::new(&path).is_relative();
    let needs_it = needs_here || variable("HERMES_HOME").is_some_and(is_relative);
    let current_directory = match std::env::current_dir() {
        Err(error) if needs_it => return Err(Failure::no_current_directory(error)),
        // No path starts from it.
        Err(_) => PathBuf::from("/"),
        Ok(found) => found,
    };
    Environment::from_variables(|name| variable(name).map(PathBuf::from), current_directory)
        .ok_or_else(Failure::no_home)
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn style() -> Style {
    Style::of_output(std::io::stdout().is_terminal(), variable)
}

/// Does what was asked, prints the answer, and returns the exit code.
fn answer(asked: &Asked) -> Result<u8, Failure> {
    let environment = surrounding(asked.is_about_here())?;
    let (herma, warnings) = Herma::new(environment, asked.json, style())?;
    let interrupt = if asked.restores() { signalled() } else { Arc::default() };
    let herma = herma.interrupted_by(&interrupt);
    warnings.iter().for_each(warn);
    herma.recovered(asked).iter().for_each(|said| notice(said));
    let exit = match herma.run(asked) {
        Ok(answer) => say(&answer, asked.json)?,
        Err(failure) => refuse(&failure, asked.json),
    };
    let is_interrupted = exit == FAILED && interrupt.load(Ordering::Relaxed);
    let exit = if is_interrupted { INTERRUPTED } else { exit };
    herma.afterwards(asked).iter().for_each(|said| notice(said));
    Ok(exit)
}

/// Does what needs no store, prints the answer, and returns the exit code.
fn answer_alone(json: bool, task: &Alone) -> Result<u8, Failure> {
    let answer = match task {
        Alone::Doctor => {
            let given = Surroundings {
                disk: &SystemDisk,
                clock: &SystemClock,
                machine: &SystemMachine,
                home: variable("HOME").map(PathBuf::from),
                hermes_home: variable("HERMES_HOME").map(PathBuf::from),
                current_directory: std::env::current_dir().ok(),
            };
            doctor::answer(json, style(), &given)?
        }
        Alone::Completions(shell) => manual::completions(*shell, json)?,
        Alone::Page(page) => manual::page(page.as_deref(), json)?,
    };
    say(&answer, json)
}

/// Prints an answer, and returns the exit code.
fn say(Answer { bytes, ending, .. }: &Answer, json: bool) -> Result<u8, Failure> {
    match std::io::stdout().lock().write_all(bytes).and_then(|()| std::io::stdout().flush()) {
        Ok(()) => {}
        // The reader has read enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => return Err(Failure::unheard(&error)),
    }
    // rule: maintenance/commands
    match ending {
        Ending::Done => Ok(DONE),
        Ending::Declined => Ok(DECLINED),
        Ending::Incomplete(failure) => {
            if !json {
                complain(failure);
            }
            Ok(FAILED)
        }
    }
}

/// Plays a session, and returns the exit code.
fn play(asked: &SessionArguments) -> Result<u8, Failure> {
    let environment = surrounding(true)?;
    let here = &environment.current_directory;
    let directory = asked.dir.as_ref().map_or_else(|| here.clone(), |dir| here.join(dir));
    if !directory.is_dir() {
        return Err(Failure::no_such_directory(&directory));
    }
    let environment = Environment { current_directory: directory, ..environment };
    let limit = Duration::from_secs(asked.time_limit);
    let mut session = Session::new(&environment, style(), limit, std::io::stdout().lock());
    let failures = match &asked.script {
        Some(script) => {
            let file = std::fs::File::open(script);
            let file = file.map_err(|error| Failure::unreadable(script, &error))?;
            session.run(BufReader::new(file), false)
        }
        None => session.run(std::io::stdin().lock(), std::io::stdin().is_terminal()),
    };
    match failures.map_err(|error| Failure::unheard(&error))? {
        0 => Ok(DONE),
        _ => Ok(FAILED),
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

/// Prints clap's message: a usage error, or the help that was asked for.
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
    if wanted {
        print(std::io::stdout(), &safe)
    } else {
        print(std::io::stderr(), &safe)
    }
    if wanted { DONE } else { FAILED }
}

fn refuse_in_json(failure: &Failure) {
    let refusal = Refusal { error: Reason { code: failure.code, message: &failure.message } };
    if let Ok(text) = programs::json(&refusal) {
        print(std::io::stdout(), &String::from_utf8_lossy(&text));
    }
}

fn warn(warning: &Warning) {
    let message = text::line(warning.to_string().as_bytes());
    print(std::io::stderr(), &format!("herma: warning: {message}\n"));
}

/// Says what was done before what was asked.
fn notice(said: &str) {
    print(std::io::stderr(), &format!("herma: notice: {}\n", text::line(said.as_bytes())));
}

fn complain(failure: &Failure) {
    let message = text::line(failure.message.as_bytes());
    print(std::io::stderr(), &format!("herma: {message} [{}]\n", failure.code));
}

/// Writes a text, and ignores a failure, since nobody is left to be told.
fn print(mut output: impl Write, text: &str) {
    let _ = output.write_all(text.as_bytes());
}
