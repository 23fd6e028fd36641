//! The `herma` command: the command line of the reference implementation.
//!
//! Only this file reads the state of the process: its arguments, `HOME`, `HERMES_HOME`, the current
//! directory, and whether its output is a terminal; a session can change to a temporary project.
//! [`arguments`] parses, [`commands`] executes,
//! [`pages`] prints answers for people and [`programs`] prints JSON.
#![forbid(unsafe_code)]

mod agent_folder;
mod arguments;
mod classify;
mod commands;
mod completion;
mod doctor;
mod exit;
mod help;
mod hook;
mod hooked_agents;
mod init;
mod layout;
mod look;
mod maintenance;
mod maintenance_pages;
mod manual;
mod moment;
mod pager;
mod pages;
mod permitted;
mod programs;
mod request;
mod rollback;
mod rollback_arguments;
mod rollback_pages;
mod run;
mod session;
mod settings_edit;
mod shell;
mod store_arguments;
mod waiting;
mod whole;
mod whole_pages;

use arguments::{OtherCommand, ParseError, Request, SessionArguments};
use commands::{Answer, Ending, Failure, Herma};
use exit::{DECLINED, DONE, INCOMPLETE, INTERRUPTED, USAGE};
use herma_core::configuration::Warning;
use herma_core::disk::SystemDisk;
use herma_core::doctor::{Surroundings, SystemMachine};
use herma_core::rollback_line::SyntaxError;
use herma_core::text;
use herma_core::{Config, Environment, SystemClock, is_relative};
use programs::{Refusal, Version};
use request::StoreRequest;
use run::RunArguments;
use session::Session;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::ffi::{OsStr, OsString};
use std::io::{BufReader, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use text::Style;
use waiting::Waiting;

/// A flag that SIGINT and SIGTERM set from now on; the second such signal ends the process.
fn interrupt_flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A signal that cannot be caught ends the process at once; the store records the rollback.
        let registered =
            flag::register_conditional_shutdown(signal, INTERRUPTED.into(), flag.clone());
        let _ = registered.and_then(|_| flag::register(signal, flag.clone()));
    }
    flag
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let shell = variable(completion::VARIABLE);
    let is_answered =
        |shell: &OsString| completion::answered(&words, shell, read_environment(false).ok());
    if shell.as_ref().is_some_and(is_answered) {
        return ExitCode::from(DONE);
    }
    let exit = match Request::read(&words) {
        Ok(Request::Store(request)) => {
            let exit =
                run_request(&request).unwrap_or_else(|failure| refuse(&failure, request.json));
            let has_one = request.has_one_failure_code() && exit > DECLINED;
            if has_one { USAGE } else { exit }
        }
        Ok(Request::Other { json, command }) => {
            run_other(&command, json).unwrap_or_else(|failure| refuse(&failure, json))
        }
        Err(error) => {
            // The arguments could not be parsed, so this is a guess.
            let options = words.iter().take_while(|word| *word != "--");
            let json = options.into_iter().any(|word| word == "--json");
            match error {
                // An agent takes 2 for an order to block its tool.
                ParseError::Usage(error)
                    if arguments::command_of(&words) == Some(OsStr::new("hook")) =>
                {
                    refuse_usage(&error, json).min(DECLINED)
                }
                ParseError::Usage(error) => refuse_usage(&error, json),
                ParseError::Rollback { misread, .. } if json => {
                    refuse_in_json(&Failure::new("usage", misread.message));
                    USAGE
                }
                ParseError::Rollback { line, misread } => {
                    refuse_line(arguments::command_of(&words), &line, &misread)
                }
            }
        }
    };
    ExitCode::from(exit)
}

/// Prints what is wrong with a line of `rollback` or of a command that shares its words, with a caret below it.
fn refuse_line(command: Option<&OsStr>, line: &[u8], misread: &SyntaxError) -> u8 {
    let command = command.and_then(OsStr::to_str).unwrap_or("rollback");
    // `list`, `show`, `undo` and `redo` are words of the line.
    let begin = match line.starts_with(command.as_bytes()) {
        true => "herma ".to_owned(),
        false => format!("herma {command} "),
    };
    let text = rollback_pages::misread(&begin, line, misread);
    print_error(&format!("herma: {text}For more information, try 'herma {command} --help'.\n"));
    USAGE
}

/// The environment of the process. A missing current directory is an error only if
/// `needs_current_directory` is set or `HERMES_HOME` is relative.
fn read_environment(needs_current_directory: bool) -> Result<Environment, Failure> {
    let is_relative = |path: OsString| !path.is_empty() && is_relative(Path::new(&path));
    let is_required = needs_current_directory || variable("HERMES_HOME").is_some_and(is_relative);
    let current_directory = match std::env::current_dir() {
        Err(error) if is_required => {
            let message = format!(
                "the current directory does not exist ({error}); nothing was changed: change to an \
                 existing directory, and name a deleted project with --dir"
            );
            return Err(Failure::new("no_current_directory", message));
        }
        // No path is relative to it.
        Err(_) => PathBuf::from("/"),
        Ok(directory) => directory,
    };
    Environment::from_variables(|name| variable(name).map(PathBuf::from), current_directory)
        .ok_or_else(|| {
            Failure::new(
                "no_home",
                "HOME is not set to an absolute path, so the store cannot be found; nothing was \
                 changed: set HOME to your home directory",
            )
        })
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

fn style() -> Style {
    Style::of_output(std::io::stdout().is_terminal(), variable)
}

/// Executes a request to the store, prints the answer, and returns the exit code.
fn run_request(request: &StoreRequest) -> Result<u8, Failure> {
    let environment = read_environment(request.depends_on_current_directory())?;
    let herma = match Herma::new(environment.clone(), request.json, style()) {
        Err(Failure { message, .. }) if request.rescues() => {
            let problem = message.trim_end_matches("; nothing was changed");
            notice(&format!("{problem}; the defaults are used instead, without any limit"));
            Herma::with_config(environment, request.json, style(), Config::without_limits())
        }
        herma => herma?,
    };
    let interrupt = if request.restores() { interrupt_flag() } else { Arc::default() };
    let herma = herma.interrupted_by(&interrupt);
    herma.warnings.iter().for_each(warn);
    herma.recover(request).iter().for_each(|message| notice(message));
    let herma = herma.in_project_of(request);
    let is_shown = !request.json && std::io::stderr().is_terminal();
    let waiting = request.takes_long().filter(|_| is_shown);
    let progress = Arc::default();
    let herma = herma.showing(&progress);
    let waiting = waiting.map(|reading| {
        Waiting::start(move || waiting::step(reading, &progress), std::io::stderr())
    });
    let answer = herma.run(request);
    drop(waiting);
    let is_for_people = !request.json && !request.prints_files();
    let answer = if is_for_people { answer.map(wrapped) } else { answer };
    let is_paged = request.may_be_long() && !request.json && std::io::stdout().is_terminal();
    let exit = match answer {
        Ok(answer) if is_paged && page(&answer) => DONE,
        Ok(answer) => print_answer(&answer, request.json)?,
        Err(failure) => refuse(&failure, request.json),
    };
    let is_interrupted = exit > DECLINED && interrupt.load(Ordering::Relaxed);
    let exit = if is_interrupted { INTERRUPTED } else { exit };
    herma.afterwards(request).iter().for_each(|message| notice(message));
    Ok(exit)
}

/// Executes a command that prepares what it needs itself, and returns the exit code.
fn run_other(command: &OtherCommand, json: bool) -> Result<u8, Failure> {
    let answer = match command {
        OtherCommand::Init(arguments) => {
            init::answer(arguments, json, &read_environment(false)?, variable)?
        }
        OtherCommand::Hook { agent } => return Ok(run_hook(agent)),
        OtherCommand::Run(arguments) => return run_command(arguments),
        OtherCommand::Session(arguments) => return run_session(arguments),
        OtherCommand::Doctor => examine(json)?,
        OtherCommand::Completions { shell } => completion::script(*shell, json)?,
        OtherCommand::Man { page } if !json && std::io::stdout().is_terminal() => {
            return show_manual(page.as_deref());
        }
        OtherCommand::Man { page } => manual::page(page.as_deref(), json)?,
    };
    print_answer(&answer, json)
}

/// Shows a man page, or the help page where there is no `man`.
fn show_manual(page: Option<&str>) -> Result<u8, Failure> {
    let source = manual::page(page, false)?;
    let interrupt = interrupt_flag();
    if !pager::shows_manual(&source.bytes, variable) && !interrupt.load(Ordering::Relaxed) {
        print_help(&manual::help_page(page)?);
    }
    Ok(DONE)
}

/// Checks whether checkpoints can work here.
fn examine(json: bool) -> Result<Answer, Failure> {
    let surroundings = Surroundings {
        disk: &SystemDisk,
        clock: &SystemClock,
        machine: &SystemMachine,
        home: variable("HOME").map(PathBuf::from),
        hermes_home: variable("HERMES_HOME").map(PathBuf::from),
        current_directory: std::env::current_dir().ok(),
    };
    let of_hooks = read_environment(false)
        .map(|environment| init::lost_hooks(&environment, variable))
        .unwrap_or_default();
    let answer = doctor::answer(json, style(), &surroundings, of_hooks)?;
    Ok(if json { answer } else { wrapped(answer) })
}

/// Runs a command between a checkpoint and a summary, and returns its exit code.
fn run_command(arguments: &RunArguments) -> Result<u8, Failure> {
    let herma = Herma::new(read_environment(true)?, false, style())?;
    herma.warnings.iter().for_each(warn);
    let project = herma.project(arguments.project.dir.as_deref());
    // A signal is for the command; what it changed until then is told.
    let interrupted = interrupt_flag();
    let terminated = Arc::default();
    let _ = flag::register(SIGTERM, Arc::clone(&terminated));
    herma.in_project(&project).run_command(arguments, &interrupted, &terminated)
}

/// Answers the call of an agent's hook. Whatever happens, the agent goes on.
fn run_hook(agent: &str) -> u8 {
    if std::io::stdin().is_terminal() {
        notice("an agent writes to the input of this command: see `herma hook --help`");
        return DECLINED;
    }
    let failure = match read_environment(false) {
        Ok(environment) => hook::answer(&environment, agent, std::io::stdin().lock()),
        Err(failure) => Some(failure.message),
    };
    if let Some(message) = failure {
        notice(&message);
    }
    print(std::io::stdout(), "{}\n");
    DONE
}

/// The answer with lines that are at most as long as the terminal is wide.
fn wrapped(answer: Answer) -> Answer {
    let columns = layout::terminal_columns();
    match (columns, std::str::from_utf8(&answer.bytes)) {
        (Some(columns), Ok(text)) => {
            Answer { bytes: layout::wrapped(text, columns).into_bytes(), ..answer }
        }
        _ => answer,
    }
}

/// Shows an answer in a pager, which a signal ends first. Returns whether it was shown.
fn page(answer: &Answer) -> bool {
    let _interrupt = interrupt_flag();
    matches!(answer.ending, Ending::Done) && pager::shows(&answer.bytes, variable)
}

/// Prints an answer, and returns the exit code.
fn print_answer(Answer { bytes, ending, .. }: &Answer, json: bool) -> Result<u8, Failure> {
    let bytes = match ending {
        Ending::Incomplete(failure) if json => &programs::with_error(bytes, failure)?,
        _ => bytes,
    };
    match std::io::stdout().lock().write_all(bytes).and_then(|()| std::io::stdout().flush()) {
        Ok(()) => {}
        // The reader closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(error) => return Err(Failure::answer_not_written(&error)),
    }
    match ending {
        Ending::Done => Ok(DONE),
        Ending::Declined => Ok(DECLINED),
        Ending::Incomplete(failure) => {
            if !json {
                print_failure(failure);
            }
            Ok(exit::of(failure.code))
        }
    }
}

/// Runs a session, and returns the exit code.
fn run_session(arguments: &SessionArguments) -> Result<u8, Failure> {
    let environment = read_environment(true)?;
    let current_directory = &environment.current_directory;
    let directory = arguments
        .dir
        .as_ref()
        .map_or_else(|| current_directory.clone(), |dir| current_directory.join(dir));
    if !directory.is_dir() {
        let message =
            format!("{directory:?} is not a directory; nothing was changed: create it first");
        return Err(Failure::new("not_a_directory", message));
    }
    let environment = Environment { current_directory: directory, ..environment };
    let limit = Duration::from_secs(arguments.time_limit);
    let mut session = Session::new(&environment, style(), limit, std::io::stdout().lock());
    let failures = match &arguments.script {
        Some(script) => {
            let file = std::fs::File::open(script).map_err(|error| {
                let message = format!("{script:?} cannot be read ({error}); nothing was changed");
                Failure::new("unreadable", message)
            })?;
            session.run(BufReader::new(file), false)
        }
        None => session.run(std::io::stdin().lock(), std::io::stdin().is_terminal()),
    };
    match failures.map_err(|error| Failure::answer_not_written(&error))? {
        0 => Ok(DONE),
        _ => Ok(INCOMPLETE),
    }
}

/// Prints why there is no answer, and returns the exit code.
fn refuse(failure: &Failure, json: bool) -> u8 {
    if json {
        refuse_in_json(failure);
    } else {
        print_failure(failure);
    }
    exit::of(failure.code)
}

/// Prints clap's message: a usage error, or the help that was asked for.
fn refuse_usage(error: &clap::Error, json: bool) -> u8 {
    let is_help = !error.use_stderr();
    let rendered = error.render().to_string();
    if json && error.kind() == clap::error::ErrorKind::DisplayVersion {
        let version = Version { version: env!("CARGO_PKG_VERSION") };
        let text = programs::json(&version).unwrap_or_default();
        print(std::io::stdout(), &String::from_utf8_lossy(&text));
        return DONE;
    }
    if json && !is_help {
        let message = rendered.split("\n\nUsage:").next().unwrap_or_default();
        let message = message.trim_start_matches("error: ").trim_end().to_owned();
        refuse_in_json(&Failure::new("usage", message));
        return USAGE;
    }
    // The message repeats arguments, which may be file names that a shell completed.
    let lines: Vec<String> = rendered.lines().map(text::line).collect();
    let safe = lines.join("\n") + "\n";
    if is_help {
        print_help(&safe);
        return DONE;
    }
    print_error(&safe);
    USAGE
}

/// Prints a help page.
fn print_help(text: &str) {
    let columns = layout::terminal_columns();
    let fitting = columns.map(|columns| layout::wrapped_help(text, columns));
    print(std::io::stdout(), fitting.as_deref().unwrap_or(text));
}

fn refuse_in_json(failure: &Failure) {
    let written =
        programs::json(&Refusal { error: failure }).map(|text| std::io::stdout().write_all(&text));
    // Who does not hear it here is told there.
    if !matches!(written, Ok(Ok(()))) {
        print_failure(failure);
    }
}

fn warn(warning: &Warning) {
    print_message(&format!("warning: {warning}"));
}

/// Prints something that was done besides the request.
fn notice(message: &str) {
    print_message(&format!("notice: {message}"));
}

fn print_failure(Failure { code, message }: &Failure) {
    print_message(&format!("{message} [{code}]"));
}

fn print_message(message: &str) {
    print_error(&format!("herma: {}\n", text::line(message)));
}

/// Prints a text on standard error.
fn print_error(text: &str) {
    let columns = layout::columns_of(std::io::stderr());
    let fitting = columns.map(|columns| layout::wrapped(text, columns));
    print(std::io::stderr(), fitting.as_deref().unwrap_or(text));
}

/// Writes a text and ignores a failure, which could not be reported anywhere.
fn print(mut output: impl Write, text: &str) {
    let _ = output.write_all(text.as_bytes());
}
