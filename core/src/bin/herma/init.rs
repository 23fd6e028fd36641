//! `herma init`: puts the hook into the settings of an agent, shows the difference first, and takes it out again.

use crate::commands::{Answer, Ending, Failure};
use crate::hooked_agents::{AGENTS, HookedAgent, Settings};
use crate::maintenance::is_confirmed;
use crate::maintenance_pages::DECLINED;
use crate::pages::Page;
use crate::settings_edit::{self as edit, JsonHook};
use crate::text::shell_word;
use clap::Args;
use clap::builder::PossibleValuesParser;
use herma_core::agent::HookLog;
use herma_core::disk::SystemDisk;
use herma_core::doctor::{Check, Finding, Verdict};
use herma_core::{Environment, text_difference};
use serde::Serialize;
use std::ffi::OsString;
use std::fs;
use std::io::{ErrorKind, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub struct InitArguments {
    /// The agent [default: list them]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(AGENTS.iter().map(|agent| agent.name)))]
    agent: Option<String>,
    /// Take the hook out again
    #[arg(long)]
    undo: bool,
    /// Do not ask for confirmation
    #[arg(short, long)]
    force: bool,
}

/// A file, as it is and as it is to be; without a text there is no file.
struct Edit {
    path: PathBuf,
    before: Option<String>,
    after: Option<String>,
    mode: u32,
}

/// The answer in JSON.
#[derive(Serialize)]
struct Initialised<'a> {
    agent: &'static str,
    files: Vec<&'a Path>,
    difference: String,
    declined: bool,
}

/// An agent in the list, in JSON.
#[derive(Serialize)]
struct ListedAgent {
    agent: &'static str,
    settings: PathBuf,
    is_hooked: bool,
    /// The program of the hook, if it cannot be run.
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_program: Option<PathBuf>,
}

/// Adds the hook or takes it out; without a name, lists the agents.
///
/// # Errors
/// The settings cannot be read or written, or have a form in which no hook can be put.
pub fn answer(
    arguments: &InitArguments,
    json: bool,
    environment: &Environment,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Answer, Failure> {
    let wanted = |agent: &&HookedAgent| Some(agent.name) == arguments.agent.as_deref();
    let Some(agent) = AGENTS.iter().find(wanted) else {
        return list(json, environment, variable);
    };
    let path = agent.path(&environment.home, variable);
    let edits = edits(agent, &path, arguments.undo)?;
    let edits: Vec<Edit> = edits.into_iter().filter(Edit::is_change).collect();
    edits.iter().try_for_each(Edit::check_writable)?;
    let difference: String = edits.iter().map(Edit::difference).collect();
    let question = format!("{difference}\nWrite this? [y/N] ");
    let declined = !edits.is_empty() && !arguments.force && !is_confirmed(&question);
    if !declined {
        edits.iter().try_for_each(Edit::write)?;
        let log = HookLog::new(&SystemDisk, environment);
        match (arguments.undo, edits.is_empty()) {
            (true, _) => log.forget(agent.name)?,
            (false, false) => log.set_up(agent.name)?,
            (false, true) => {}
        }
    }
    let files = edits.iter().map(|edit| edit.path.as_path()).collect();
    let data = Initialised { agent: agent.name, files, difference, declined };
    let answer = Answer::of(json, &data, || page(agent, arguments.undo, declined, &edits))?;
    let ending = if declined { Ending::Declined } else { Ending::Done };
    Ok(Answer { ending, ..answer })
}

/// The agents; those have the hook from which taking it out would change something.
fn listed(
    environment: &Environment,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<ListedAgent> {
    let listed = |agent: &HookedAgent| {
        let settings = agent.path(&environment.home, &variable);
        let edits = edits(agent, &settings, true).unwrap_or_default();
        let hooked: Vec<&Edit> = edits.iter().filter(|edit| edit.is_change()).collect();
        let texts = hooked.iter().filter_map(|edit| edit.before.as_deref());
        let lost = |text| edit::programs(text, agent.name).into_iter().find(|path| is_lost(path));
        let lost_program = texts.filter_map(lost).next();
        ListedAgent { agent: agent.name, settings, is_hooked: !hooked.is_empty(), lost_program }
    };
    AGENTS.iter().map(listed).collect()
}

/// Whether a program cannot be run. One without a path is looked for by a shell.
fn is_lost(program: &Path) -> bool {
    let is_executable = |found: fs::Metadata| found.is_file() && found.mode() & 0o111 != 0;
    program.is_absolute() && !fs::metadata(program).is_ok_and(is_executable)
}

/// A finding of `herma doctor` for each hook whose program cannot be run.
pub fn lost_hooks(
    environment: &Environment,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<Finding> {
    let finding = |ListedAgent { agent, lost_program, .. }: ListedAgent| {
        Some(Finding {
            check: Check::Hooks,
            verdict: Verdict::Trouble,
            found: format!("the program of the hook of {agent} cannot be run: {:?}", lost_program?),
            advice: Some(format!("run `herma init --agent {agent}`")),
        })
    };
    listed(environment, variable).into_iter().filter_map(finding).collect()
}

/// The list of agents as an answer.
fn list(
    json: bool,
    environment: &Environment,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Result<Answer, Failure> {
    let listed = listed(environment, variable);
    Answer::of(json, &listed, || {
        let mut page = Page::default();
        writeln!(page, "{:<10}{:<6}SETTINGS", "AGENT", "HOOK");
        for ListedAgent { agent, settings, is_hooked, lost_program } in &listed {
            let hook = if *is_hooked { "yes" } else { "-" };
            writeln!(page, "{agent:<10}{hook:<6}{}", settings.display());
            if let Some(program) = lost_program {
                let again = format!("herma init --agent {agent}");
                writeln!(page, "{:16}its program {program:?} cannot be run: {again}", "");
            }
        }
        writeln!(page, "\nherma init --agent AGENT  add the hook to the settings of an agent");
        page.0
    })
}

fn page(agent: &HookedAgent, undo: bool, declined: bool, edits: &[Edit]) -> String {
    let title = agent.title;
    let files: Vec<String> = edits.iter().map(|edit| edit.path.display().to_string()).collect();
    let files = files.join(", ");
    match (declined, undo, edits.is_empty()) {
        (true, ..) if !std::io::stdin().is_terminal() => {
            let undo = if undo { " --undo" } else { "" };
            let again = format!("herma init --agent {}{undo} --force", agent.name);
            format!("{DECLINED}; to change it without a question, type `{again}`\n")
        }
        (true, ..) => format!("{DECLINED}\n"),
        (_, false, true) => format!("{title} has the hook already\n"),
        (_, true, true) => format!("{title} has no hook of Herma\n"),
        (_, true, false) => {
            format!("Took the hook out of {files}: {title} takes no checkpoints any more\n")
        }
        (_, false, false) => {
            let note = agent.note;
            let note = if note.is_empty() { String::new() } else { format!("{note}\n") };
            format!(
                "Added the hook to {files}: {title} takes a checkpoint before each turn's first change from now \
                 on\n{note}After a bad turn `herma undo` gives the files back. `herma doctor` tells when the hook \
                 was called last,\nand `herma init --agent {} --undo` takes it out\n",
                agent.name
            )
        }
    }
}

/// What the hook runs: this program by its whole path, since an agent that does not find it says nothing.
fn command(agent: &HookedAgent) -> Result<String, Failure> {
    let program = std::env::current_exe().map_err(|error| {
        let why = format!("the path of this program is not known ({error}); nothing was changed");
        Failure::new("io", why)
    })?;
    Ok(format!("{} hook {}", shell_word(program.as_os_str().as_bytes()), agent.name))
}

fn edits(agent: &HookedAgent, path: &Path, undo: bool) -> Result<Vec<Edit>, Failure> {
    let name = agent.name;
    let command = command(agent)?;
    let edited = |new: &dyn Fn(&str) -> Result<String, String>| -> Result<Vec<Edit>, Failure> {
        let before = read(path)?;
        let after =
            new(before.as_deref().unwrap_or_default()).map_err(|why| unusable(path, &why))?;
        // Whether `herma init` made an existing file is not known, so it stays, even if it is empty.
        let after = Some(after).filter(|after| before.is_some() || !after.is_empty());
        Ok(vec![Edit { path: path.to_owned(), before, after, mode: 0o600 }])
    };
    match agent.settings {
        Settings::Json { events, hook, is_versioned } => {
            let with_hook = |before: &str, command: &str| {
                let hook = JsonHook { agent: name, command, value: hook(command) };
                edit::with_json_hooks(before, is_versioned, &events, &hook)
            };
            edited(&|before| match undo {
                true => edit::without_json_hooks(before, name, &events),
                false => with_hook(before, &command),
            })
        }
        Settings::Yaml(event) => {
            let new = |before: &str| match undo {
                true => edit::without_yaml_hook(before, name, event),
                false => edit::with_yaml_hook(before, name, event, &command),
            };
            edited(&new)
        }
        Settings::Files(names, text) => {
            names.iter().map(|file| own_file(&path.join(file), text, &command, undo)).collect()
        }
    }
}

/// Adds or removes a file that holds only the hook. A file that the user wrote or changed is not touched.
fn own_file(
    path: &Path,
    text: fn(&str) -> String,
    command: &str,
    undo: bool,
) -> Result<Edit, Failure> {
    let before = read(path)?;
    let is_ours = before.as_deref().is_none_or(|before| is_made_by(before, text));
    let after = match (undo, is_ours) {
        (false, false) => return Err(unusable(path, "it is a file of your own")),
        (true, false) => before.clone(),
        (true, true) => None,
        (false, true) => Some(text(command)),
    };
    Ok(Edit { path: path.to_owned(), before, after, mode: 0o700 })
}

/// Whether a file is what `herma init` writes, whatever the path of the program was.
fn is_made_by(found: &str, text: fn(&str) -> String) -> bool {
    const MARK: &str = "COMMAND";
    let template = text(MARK);
    let same_line = |(found, template): (&str, &str)| match template.split_once(MARK) {
        Some((before, after)) => found.starts_with(before) && found.ends_with(after),
        None => found == template,
    };
    found.lines().count() == template.lines().count()
        && found.lines().zip(template.lines()).all(same_line)
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            Err(unusable(path, "it is a link that leads nowhere"))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unusable(path, &error.to_string())),
    }
}

fn unusable(path: &Path, why: &str) -> Failure {
    Failure::new("settings", format!("{path:?} cannot be edited: {why}; it was not changed"))
}

impl Edit {
    fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// Refuses to replace a file that its user protects, which a rename would do all the same.
    fn check_writable(&self) -> Result<(), Failure> {
        match fs::metadata(&self.path) {
            Ok(found) if found.permissions().readonly() => {
                Err(unusable(&self.path, "it may not be written"))
            }
            _ => Ok(()),
        }
    }

    fn difference(&self) -> String {
        let [before, after] =
            [&self.before, &self.after].map(|text| text.as_deref().unwrap_or_default());
        let hunks = text_difference(before.as_bytes(), after.as_bytes());
        format!("{}\n{}", self.path.display(), String::from_utf8_lossy(&hunks))
    }

    /// Replaces the file in one step; a link stays, and what it leads to is replaced.
    fn write(&self) -> Result<(), Failure> {
        if read(&self.path)? != self.before {
            return Err(unusable(&self.path, "it was changed meanwhile"));
        }
        self.try_write().map_err(|error| {
            let why = format!("{:?} cannot be written ({error}); it is as it was", self.path);
            Failure::new("settings", why)
        })
    }

    fn try_write(&self) -> std::io::Result<()> {
        let path = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let Some(after) = &self.after else { return fs::remove_file(path) };
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder)?;
        let fresh = path.with_extension(format!("herma-{}", std::process::id()));
        let mut file = fs::OpenOptions::new().write(true).create_new(true).open(&fresh)?;
        let mode = fs::metadata(&path).map_or(self.mode, |found| found.permissions().mode());
        let written = file
            .set_permissions(fs::Permissions::from_mode(mode))
            .and_then(|()| file.write_all(after.as_bytes()))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&fresh, &path));
        written.inspect_err(|_| {
            let _ = fs::remove_file(&fresh);
        })
    }
}
