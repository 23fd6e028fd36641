//! The `herma-conform` command: judges an implementation and reports which rules hold.
//!
//! Its files parse arguments, call the library, print, and choose the exit code.

mod adapters;
mod agent;
mod arguments;
mod bugs;
mod cases;
mod commands;
mod comparing;
mod confined;
mod ending;
mod gate;
mod hermetic;
mod interruption;
mod levels;
mod model;
mod power;
mod progress;
mod reporting;
mod run_arguments;
mod running;
mod skeleton;
mod subjects;
mod supervised;

use arguments::{AdapterCommand, AdaptersCommand, Arguments, Command};
use clap::Parser;
use ending::{exit_code_of, print_text};
use herma_harness::protocol::claims;
use std::process::ExitCode;

/// The command of the command line; `run` if it names none.
fn parsed_command() -> Command {
    Arguments::parse().command.unwrap_or_else(|| {
        let defaults = Arguments::parse_from(["herma-conform", "run"]);
        defaults.command.expect("run is a command")
    })
}

fn main() -> ExitCode {
    let command = parsed_command();
    match &command {
        Command::Rules { json } => return commands::rules(*json),
        Command::Schema => return reporting::schema(),
        Command::Capabilities { json } => {
            print_text(&if *json { claims::json() } else { claims::text() });
            return ExitCode::SUCCESS;
        }
        Command::Report(arguments) => return exit_code_of(reporting::report(arguments)),
        Command::Level(arguments) => return exit_code_of(levels::level(arguments)),
        Command::Merge(arguments) => return exit_code_of(reporting::merge(arguments)),
        Command::Adapter(AdapterCommand::New { lang, kept }) => {
            return skeleton::print(*lang, *kept);
        }
        Command::Adapter(AdapterCommand::Serve { bug }) => return adapters::serve(bug.as_deref()),
        Command::Adapters(AdaptersCommand::List) => return adapters::list(),
        Command::Adapters(AdaptersCommand::Install { names }) => return adapters::install(names),
        Command::Model(arguments) => return model::serve(arguments),
        Command::Confined { folder, command } => return confined::run(folder, command),
        Command::Supervised(arguments) => return supervised::run(arguments),
        Command::Agent(arguments) => {
            if let Some(code) = agent::prepare(arguments) {
                return code;
            }
        }
        Command::Power(arguments) => {
            // Installing reads the user's registry settings, so it happens in the user's environment.
            if let Err((message, code)) = power::prepare(arguments) {
                return ending::fail(&message, code);
            }
        }
        _ => {}
    }
    // Everything else runs a subject, which never sees the user's own environment.
    if let Some(code) = hermetic::enter() {
        return code;
    }
    exit_code_of(match &command {
        Command::Run(arguments) => commands::run(arguments),
        Command::Replay(arguments) => commands::replay(arguments),
        Command::Shrink(arguments) => commands::shrink(arguments),
        Command::Export { history, plain } => reporting::export(history, *plain),
        Command::Gate(arguments) => gate::gate(arguments),
        Command::Update { gate, allow_new } => gate::update(gate, *allow_new),
        Command::Case(command) => cases::case(command),
        Command::Compare(arguments) => comparing::compare(arguments),
        Command::Project { folder } => commands::project(folder),
        Command::Bugs(arguments) => bugs::bugs(arguments),
        Command::Power(arguments) => power::power(arguments),
        Command::Agent(arguments) => agent::judge(arguments),
        Command::Cost(arguments) => commands::cost(arguments),
        Command::Damage(arguments) => commands::damage(arguments),
        Command::Faults(arguments) => commands::faults(arguments),
        Command::Concurrent(arguments) => commands::concurrent(arguments),
        Command::Adapter(AdapterCommand::Check { scratch, command }) => {
            adapters::check(command, scratch.clone())
        }
        Command::Rules { .. }
        | Command::Schema
        | Command::Report(_)
        | Command::Level(_)
        | Command::Capabilities { .. }
        | Command::Merge { .. }
        | Command::Adapter(_)
        | Command::Model(_)
        | Command::Confined { .. }
        | Command::Supervised(_)
        | Command::Adapters(_) => unreachable!("these were answered before"),
    })
}
