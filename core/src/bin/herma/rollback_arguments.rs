//! The arguments of `herma rollback`, `list`, `show`, `undo` and `redo` as the help shows them. `herma_core::rollback_line` parses
//! them.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub struct ProjectArguments {
    /// The project's directory [default: that of the current directory]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct ShowArguments {
    /// The checkpoint, by its number, label or id
    #[arg(value_name = "N")]
    _target: OsString,
    #[command(flatten)]
    _project: ProjectArguments,
}

#[derive(Debug, Args)]
pub struct UndoArguments {
    #[command(flatten)]
    _project: ProjectArguments,
    /// Go on even if the present files cannot be saved first: no undo
    #[arg(long = "force")]
    _force: bool,
    /// Show what it would do, and change nothing
    #[arg(long = "dry-run")]
    _dry_run: bool,
    /// Only if the result still matches the preview of this token
    #[arg(long = "as-previewed", value_name = "TOKEN")]
    _token: Option<String>,
}

#[derive(Debug, Args)]
pub struct RollbackArguments {
    #[arg(hide = true)]
    _words: Vec<OsString>,
    #[arg(last = true, hide = true)]
    _literal: Vec<OsString>,
    /// Restore the newest checkpoint that is at least so old
    #[arg(long = "to", value_name = "WHEN")]
    _to: Option<OsString>,
    /// Also remove files created since; a checkpoint saves them first
    #[arg(long = "exact")]
    _exact: bool,
    #[command(flatten)]
    _step: UndoArguments,
}
