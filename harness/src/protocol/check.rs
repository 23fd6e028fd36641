//! Checks an adapter before it is used to judge anything: runs the [probes](super::probes), one after the
//! other, in a sandbox with one project.

use super::VERSION;
use super::probes::{Conversation, PROBES};
use super::process::{Adapter, Limits};
use crate::history::History;
use crate::sandbox::{Sandbox, Scratch};
use herma_model::rules;
use std::ffi::OsString;
use std::path::Path;

/// The result of one probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The probe, as a sentence that should hold.
    pub probe: &'static str,
    /// The error, if the sentence does not hold.
    pub wrong: Option<String>,
    /// Hints for improvement, each with what to change; none of them is a protocol violation.
    pub hints: Vec<String>,
}

impl Probed {
    fn of(probe: &'static str, found: Result<Vec<String>, String>) -> Self {
        match found {
            Ok(hints) => Probed { probe, wrong: None, hints },
            Err(wrong) => Probed { probe, wrong: Some(wrong), hints: Vec::new() },
        }
    }
}

/// Variables that many users' shells set: programs that prompt the user. No store may run one.
const PROGRAMS: [&str; 8] = [
    "EDITOR",
    "VISUAL",
    "PAGER",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_ASKPASS",
    "SSH_ASKPASS",
    "GIT_SSH_COMMAND",
];

/// The environment of an adapter: the home of the sandbox, the path of programs, and prompting programs.
pub fn environment(sandbox: &Sandbox) -> Vec<(OsString, OsString)> {
    let mut variables = vec![
        ("HOME".into(), sandbox.home().into_os_string()),
        ("HERMES_HOME".into(), sandbox.home().join(".hermes").into_os_string()),
        ("TZ".into(), "UTC".into()),
        ("LC_ALL".into(), "C.UTF-8".into()),
        ("HERMA_PROTOCOL".into(), VERSION.to_string().into()),
    ];
    variables.extend(PROGRAMS.map(|name| (name.into(), "/nowhere/asks".into())));
    if let Some(path) = std::env::var_os("PATH") {
        variables.push(("PATH".into(), path));
    }
    variables
}

/// Runs every probe on the adapter that `command` starts. The first failure ends the run, since
/// later probes would only repeat it.
///
/// # Errors
/// The sandbox cannot be made.
pub fn check(
    command: &[OsString],
    directory: &Path,
    scratch: &Scratch,
    limits: Limits,
) -> std::io::Result<Vec<Probed>> {
    // The rules judge what a hostile git configuration does to a store.
    let history = History { plain_home: true, ..History::default() };
    let sandbox = Sandbox::new(scratch, &history)?;
    std::fs::write(sandbox.root().join("work/alpha/a.txt"), "one\n")?;
    let mut probed = Vec::new();
    let adapter = match Adapter::start(command, directory, &environment(&sandbox), limits) {
        Ok(adapter) => adapter,
        Err(fault) => {
            probed.push(Probed::of("it starts", Err(fault.to_string())));
            return Ok(probed);
        }
    };
    let mut conversation = Conversation::new(adapter, &sandbox);
    for (probe, run) in PROBES {
        let found = Probed::of(probe, run(&mut conversation));
        let failed = found.wrong.is_some();
        probed.push(found);
        if failed {
            return Ok(probed);
        }
    }
    let ended = conversation.finish().map(|()| Vec::new()).map_err(|fault| fault.to_string());
    probed.push(Probed::of("it ends with its input and leaves nothing running", ended));
    let hostile = Sandbox::new(scratch, &History::default())?;
    let opened = opens_in(&hostile, command, directory, limits);
    let hint = |why| {
        format!(
            "in a home with a git configuration and hooks it does not open: {why}; a run reports that as \
             {}",
            rules::ISOLATION_USER_CONFIG.id
        )
    };
    let hints = opened.err().map(hint).into_iter().collect();
    probed.push(Probed::of("it opens a store whatever git is told in the home", Ok(hints)));
    Ok(probed)
}

/// Opens a store in a sandbox.
fn opens_in(
    sandbox: &Sandbox,
    command: &[OsString],
    directory: &Path,
    limits: Limits,
) -> Result<(), String> {
    let adapter = Adapter::start(command, directory, &environment(sandbox), limits);
    let mut conversation = Conversation::new(adapter.map_err(|fault| fault.to_string())?, sandbox);
    conversation.opens()
}
