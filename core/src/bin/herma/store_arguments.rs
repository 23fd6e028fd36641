//! The subcommands of `herma checkpoints` and `herma actions`.

use crate::help;
use crate::maintenance::PruneArguments;
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

// The subcommands of `herma checkpoints`.
// rule: maintenance/commands
#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// List the projects of the store and its size (the default)
    #[command(visible_alias = "list")]
    Status,
    /// Remove projects that no longer exist or are unused, and free space
    #[command(after_help = help::PRUNE)]
    Prune(PruneArguments),
    /// Give a renamed or moved project the checkpoints of its old directory
    #[command(after_help = help::MOVE)]
    Move {
        /// The directory that no longer exists
        old: PathBuf,
        /// The directory that the project is in now
        new: PathBuf,
    },
    /// Count what patterns exclude from the checkpoints of a project
    #[command(after_help = help::EXCLUDED)]
    Excluded {
        /// The project's directory [default: the project of the current directory]
        #[arg(value_name = "DIR")]
        dir: Option<PathBuf>,
        /// List the excluded paths, too
        #[arg(long)]
        paths: bool,
    },
    /// Remove every checkpoint of every project, and all archives
    #[command(after_help = help::CLEAR)]
    Clear(Consent),
    /// Read everything in the store, and list what is damaged
    #[command(after_help = help::VERIFY)]
    Verify,
    /// Remove the old-format archives; checkpoints stay
    #[command(after_help = help::CLEAR_LEGACY)]
    ClearLegacy(Consent),
}

// The subcommands of `herma actions`.
// rule: agent/compensation
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand)]
pub enum ActionsCommand {
    /// List the external actions and their states (the default)
    #[command(after_help = help::ACTIONS)]
    List,
    /// Undo the actions that rollbacks left behind, newest first, each once
    #[command(after_help = help::ACTIONS)]
    Compensate {
        /// Also retry those that failed or were interrupted
        #[arg(long)]
        again: bool,
    },
    /// Accept the actions that rollbacks left behind
    #[command(after_help = help::ACTIONS)]
    Accept,
    /// Show who decided what, and when
    #[command(after_help = help::ACTIONS)]
    Audit,
}

impl StoreCommand {
    /// The project that was named.
    pub fn project(&self) -> Option<&Path> {
        match self {
            StoreCommand::Excluded { dir, .. } => dir.as_deref(),
            _ => None,
        }
    }
}

#[derive(Debug, Args)]
pub struct Consent {
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub force: bool,
}
