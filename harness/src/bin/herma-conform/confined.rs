//! `confined`: runs a command that can write to one folder only. Mutants run like this, since they may do
//! anything.
//!
//! Linux prevents other writes (Landlock); reading, executing and exit codes are not affected.

use crate::ending::{NO_VERDICT, fail};
use landlock::{
    ABI, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus,
};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The command can write here, too: programs discard output there.
const NOWHERE: &str = "/dev/null";

/// Replaces this process by `command`, with its temporary files in the folder, too.
pub fn run(folder: &Path, command: &[OsString]) -> ExitCode {
    match confine(folder) {
        Ok(RulesetStatus::FullyEnforced) => {}
        Ok(_) => return fail("this system cannot confine a command; nothing was run", NO_VERDICT),
        Err(error) => {
            let message = format!("the command cannot be confined: {error}; nothing was run");
            return fail(&message, NO_VERDICT);
        }
    }
    let mut confined = Command::new(&command[0]);
    let error = confined.args(&command[1..]).env("TMPDIR", folder).exec();
    fail(&format!("{:?} cannot be started: {error}", command[0]), NO_VERDICT)
}

fn confine(folder: &Path) -> Result<RulesetStatus, Box<dyn std::error::Error>> {
    let writes = AccessFs::from_write(ABI::V3);
    let beneath = |path: &Path, access| -> Result<_, Box<dyn std::error::Error>> {
        Ok::<_, Box<dyn std::error::Error>>(PathBeneath::new(PathFd::new(path)?, access))
    };
    let restricted = || -> Result<_, Box<dyn std::error::Error>> {
        let rules = Ruleset::default().handle_access(writes)?.create()?;
        let rules = rules.add_rule(beneath(folder, writes)?)?;
        let nowhere = AccessFs::WriteFile | AccessFs::Truncate;
        Ok(rules.add_rule(beneath(Path::new(NOWHERE), nowhere)?)?)
    };
    let enforced = restricted()?.restrict_self()?;
    Ok(enforced.ruleset)
}
