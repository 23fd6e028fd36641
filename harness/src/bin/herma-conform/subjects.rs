//! The implementation that a command judges: the core, a bundled one by its name, or an adapter by its
//! command line.

use crate::ending::{NO_VERDICT, NoVerdict, USAGE};
use crate::hermetic;
use herma_core::text::shell_word;
use herma_harness::bundled::{self, Bundled};
use herma_harness::sandbox::Sandbox;
use herma_harness::shrink;
use herma_harness::subject::{AdapterCommand, CoreSubject, Subject};
use herma_model::Settings;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The name of the core.
const CORE: &str = "core";
/// Each execution of a history behind an adapter costs a process.
const SHRINK_BUDGET_OF_ADAPTERS: usize = 200;

/// The arguments that name a subject.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SubjectArguments {
    /// `core` (the reference) or a name from `adapters list`, such as hermes-agent@0.19.0
    pub subject: Option<String>,
    /// The command that starts an adapter
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

/// An implementation that can be opened in any sandbox.
pub enum ChosenSubject {
    /// The core, in this process.
    Core,
    /// An implementation behind an adapter.
    Adapter {
        /// How it is started.
        start: AdapterCommand,
        /// How the command line names it.
        spelling: String,
        /// The bundled subject, if it is one.
        bundled: Option<&'static Bundled>,
    },
}

impl ChosenSubject {
    /// The subject that the arguments name.
    ///
    /// # Errors
    /// There is no such subject, or it is not installed.
    pub fn new(arguments: &SubjectArguments) -> Result<Self, NoVerdict> {
        match (&arguments.subject, &arguments.command[..]) {
            (Some(name), []) => ChosenSubject::named(name),
            (None, []) => Ok(ChosenSubject::Core),
            (Some(name), _) => Err((format!("give either `{name}` or a command, not both"), USAGE)),
            (None, command) => {
                let spelling =
                    format!("-- {}", command.iter().map(quoted).collect::<Vec<_>>().join(" "));
                let directory = std::env::current_dir()
                    .map_err(|error| (format!("no current directory: {error}"), NO_VERDICT))?;
                let command = command.to_vec();
                Ok(ChosenSubject::Adapter {
                    start: AdapterCommand { command, directory, ..AdapterCommand::default() },
                    spelling,
                    bundled: None,
                })
            }
        }
    }

    /// The core or a bundled subject.
    ///
    /// # Errors
    /// As [`ChosenSubject::new`].
    pub fn named(name: &str) -> Result<Self, NoVerdict> {
        if name == CORE {
            return Ok(ChosenSubject::Core);
        }
        let bundled = bundled::find(name).map_err(|why| (why, USAGE))?;
        let cache = hermetic::cache();
        let spelling = bundled.full_name();
        if !bundled.is_installed(&cache) {
            let hint = format!("install it with `herma-conform adapters install {spelling}`");
            return Err((format!("{spelling} is not installed; {hint}"), USAGE));
        }
        let start = bundled
            .command(&cache)
            .map_err(|error| (format!("{spelling} cannot be started: {error}"), NO_VERDICT))?;
        Ok(ChosenSubject::Adapter { start, spelling, bundled: Some(bundled) })
    }

    /// The name of the subject and the text of the expectations that come with it.
    pub fn expectations(&self) -> Option<(&str, &'static str)> {
        match self {
            ChosenSubject::Core => Some((CORE, include_str!("../../../expectations/core.toml"))),
            ChosenSubject::Adapter { spelling, bundled, .. } => {
                bundled.map(|subject| (spelling.as_str(), subject.expectations))
            }
        }
    }

    /// The text of the expectations under injections that come with the subject.
    pub fn injected(&self) -> Option<&'static str> {
        match self {
            ChosenSubject::Core => None,
            ChosenSubject::Adapter { bundled, .. } => bundled.and_then(Bundled::injected),
        }
    }

    /// The same with injections at calls; those into the process of an adapter come from a supervisor.
    ///
    /// # Errors
    /// The path of this program is not known.
    pub fn supervised(mut self) -> Result<Self, NoVerdict> {
        if let ChosenSubject::Adapter { start, .. } = &mut self {
            start.supervisor = Some(vec![program_path()?.into(), "supervised".into()]);
        }
        Ok(self)
    }

    /// The same, whose store may be damaged whatever its adapter claims.
    pub fn damageable(mut self) -> Self {
        if let ChosenSubject::Adapter { start, .. } = &mut self {
            start.is_damageable = true;
        }
        self
    }

    /// What opens the subject in a sandbox.
    pub fn opener(&self) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
        let adapter = match self {
            ChosenSubject::Core => None,
            ChosenSubject::Adapter { start, .. } => Some(start.opener()),
        };
        move |sandbox, settings, seconds| match &adapter {
            None => CoreSubject::boxed(sandbox, settings, seconds),
            Some(open) => open(sandbox, settings, seconds),
        }
    }

    /// The same in a process of its own. For the core, this program serves as the adapter.
    ///
    /// # Errors
    /// The path of this program is not known.
    pub fn in_a_process(self) -> Result<Self, NoVerdict> {
        if matches!(self, ChosenSubject::Adapter { .. }) {
            return Ok(self);
        }
        let unknown = |error| (format!("no current directory: {error}"), NO_VERDICT);
        let start = AdapterCommand::bundled_core(&program_path()?, None).map_err(unknown)?;
        Ok(ChosenSubject::Adapter { start, spelling: CORE.to_owned(), bundled: None })
    }

    /// The arguments that name the subject, with a blank before them; empty for the core.
    pub fn spelling(&self) -> String {
        match self {
            ChosenSubject::Core => String::new(),
            ChosenSubject::Adapter { spelling, .. } => format!(" {spelling}"),
        }
    }

    /// How many executions the search for one shortest history may take.
    pub fn shrink_budget(&self) -> usize {
        match self {
            ChosenSubject::Core => shrink::BUDGET_DEFAULT,
            ChosenSubject::Adapter { .. } => SHRINK_BUDGET_OF_ADAPTERS,
        }
    }
}

fn program_path() -> Result<PathBuf, NoVerdict> {
    std::env::current_exe()
        .map_err(|error| (format!("the path of this program is unknown: {error}"), NO_VERDICT))
}

/// A word, quoted for a shell if necessary.
pub fn quoted(word: impl AsRef<Path>) -> String {
    shell_word(word.as_ref().as_os_str().as_bytes())
}
