//! `cost`: what a subject takes where one file is large, and where nothing changed.

use crate::ending::{
    BROKEN, NO_CANARY, NO_VERDICT, NoVerdict, SELF_CHECK, TOO_LITTLE, no_verdict, say, scratch,
};
use crate::subjects::{Chosen, SubjectArguments};
use herma_harness::concurrent::{LaneError, Opened};
use herma_harness::cost::{Lane, canary};
use herma_harness::suite::introduce;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

pub const EXAMPLES: &str = "\
Examples:
  herma-conform cost                       the reference implementation
  herma-conform cost --large 600           with a file of 600 MiB
  herma-conform cost hermes-agent@0.19.0   a real package";

/// The arguments of `cost`.
#[derive(clap::Args)]
pub struct CostArguments {
    /// How large the large file is, in MiB
    #[arg(long, value_name = "MIB", default_value_t = 64, value_parser = clap::value_parser!(u64).range(32..=1_048_576))]
    large: u64,
    /// How many seconds an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    deadline: u64,
    /// Print what was measured as one JSON document
    #[arg(long)]
    json: bool,
    /// Where sandboxes are made; in memory by default
    #[arg(long)]
    scratch: Option<PathBuf>,
    #[command(flatten)]
    subject: SubjectArguments,
}

/// `herma-conform cost`.
///
/// # Errors
/// There is no verdict.
pub fn cost(arguments: &CostArguments) -> Result<ExitCode, NoVerdict> {
    let chosen = Chosen::new(&arguments.subject)?;
    let scratch = scratch(arguments.scratch.clone());
    let failed = |error: LaneError| (format!("{error}; no verdict is given"), NO_VERDICT);
    let unknown = |error| (format!("where is this program: {error}"), NO_VERDICT);
    let program = std::env::current_exe().map_err(unknown)?.into();
    eprintln!("measuring: the canary");
    if !canary(&program, &scratch).map_err(failed)? {
        return Err((NO_CANARY.into(), SELF_CHECK));
    }
    let start = chosen.in_a_process(Duration::from_secs(arguments.deadline))?;
    let open = start.opener();
    let (subject, capabilities) = introduce(&open, &scratch).map_err(no_verdict)?;
    let opened = Opened { open: &open, subject, capabilities };
    let lane = Lane { opened: &opened, start: &start, bytes: arguments.large << 20 };
    let outcome = match lane.run(&scratch, &|what| eprintln!("measuring: {what}")) {
        Err(LaneError::Setup(why)) => {
            say(&format!("not run: {why}\n"));
            return Ok(ExitCode::from(TOO_LITTLE));
        }
        outcome => outcome.map_err(failed)?,
    };
    say(&if arguments.json { outcome.json() } else { outcome.text() });
    Ok(if outcome.broken().next().is_some() { ExitCode::from(BROKEN) } else { ExitCode::SUCCESS })
}
