//! What the calls of hooks leave for each other and for the user: the turn that the user began last in a session,
//! when each agent called its hook last, and which checkpoints its hook removed. They are in small files
//! of the folder `herma-hooks`, next to the base: `AGENT.SESSION.turn`, with a hash of the session, `AGENT.json` and
//! `AGENT.removed`. They only decide whether one checkpoint more is taken, so nothing waits for the disk.

use crate::disk::atomic_write::make_new_named;
use crate::disk::{Disk, Stat, folder};
use crate::environment::Environment;
use crate::error::{Context, Result};
use crate::project::hash_of;
use crate::store::make_directories;
use crate::text::count;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const FILE_BYTES_MAX: u64 = 64 * 1024;

/// The hook logs of all agents.
pub struct HookLog<'a> {
    disk: &'a dyn Disk,
    folder: PathBuf,
}

/// The last call of an agent's hook before a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCall {
    /// When, in seconds since the epoch.
    pub time: i64,
    /// The tool and what it changes, as the list shows it.
    pub reason: String,
    /// Why the tool had no checkpoint, if it needed one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The directory of the project, for people; the first one if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// A file of the tool that is in no project, for people: no checkpoint holds it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<String>,
    /// The newest failure of the calls before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierFailure>,
}

/// A call of a hook that took no checkpoint, though the tool needed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierFailure {
    /// When, in seconds since the epoch.
    pub time: i64,
    /// Why.
    pub failure: String,
    /// The directory of the project, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

impl EarlierFailure {
    /// The failure of a call, or else the newest before it.
    pub fn newest(call: LastCall) -> Option<Self> {
        let LastCall { time, failure, project, earlier, .. } = call;
        failure.map(|failure| EarlierFailure { time, failure, project }).or(earlier)
    }
}

/// What a hook removed from the store: the checkpoints of a project, or those over the size limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// When, in seconds since the epoch.
    pub time: i64,
    /// The directory of the project, for people; `None` for checkpoints over the size limit, of any projects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many checkpoints the size limit evicted.
    #[serde(default)]
    pub evicted: usize,
}

impl Removal {
    /// Describes the removals of an agent's hook for people, in one sentence for each cause.
    pub fn described(agent: &str, removals: &[Removal]) -> Vec<String> {
        let projects: Vec<&str> =
            removals.iter().filter_map(|removal| removal.project.as_deref()).collect();
        let of_projects = (!projects.is_empty()).then(|| {
            let projects = projects.join(", ");
            format!(
                "the hook of {agent} removed the checkpoints of {projects}: each no longer existed, or was not \
                 used for retention_days"
            )
        });
        let evicted: usize = removals.iter().map(|removal| removal.evicted).sum();
        let for_size = (evicted > 0).then(|| {
            let checkpoints = count(evicted, "checkpoint", "checkpoints");
            format!(
                "the hook of {agent} removed {checkpoints}, the oldest, to keep the store below max_total_size_mb"
            )
        });
        of_projects.into_iter().chain(for_size).collect()
    }
}

/// For each agent so many of the newest removals are recorded at most.
const REMOVALS_MAX: usize = 100;

/// The file of a session's turn is removed after so long without a turn.
const TURN_SECONDS_MAX: i64 = 30 * 24 * 60 * 60;

impl<'a> HookLog<'a> {
    /// The logs next to a base.
    pub fn new(disk: &'a dyn Disk, environment: &Environment) -> Self {
        HookLog { disk, folder: environment.base.with_file_name("herma-hooks") }
    }

    /// Records that an agent has a hook, which has not been called yet.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn set_up(&self, agent: &str) -> Result<()> {
        self.write(&format!("{agent}.json"), b"null")
    }

    /// Forgets an agent that has no hook any more.
    ///
    /// # Errors
    /// A file cannot be removed.
    pub fn forget(&self, agent: &str) -> Result<()> {
        let is_its =
            |name: &String| name.strip_prefix(agent).is_some_and(|rest| rest.starts_with('.'));
        let names = folder::text_names(self.disk, &self.folder).unwrap_or_default();
        for name in names.iter().filter(|name| is_its(name)) {
            folder::remove_file(self.disk, &self.folder.join(name))?;
        }
        Ok(())
    }

    /// Records the last call, with the newest failure before it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record(&self, agent: &str, call: LastCall) -> Result<()> {
        let name = format!("{agent}.json");
        let earlier = self.last_call(&name).and_then(EarlierFailure::newest);
        let call = LastCall { earlier, ..call };
        let content = serde_json::to_vec(&call).unwrap_or_default();
        self.write(&name, &content).or_else(|error| {
            // On a full disk the file that is there has room in its last block.
            let line = [b"\n", &content[..]].concat();
            self.disk.append(&self.folder.join(&name), &line).map_err(|_| error)
        })
    }

    /// The last line that can be read: each has a call.
    fn last_call(&self, name: &str) -> Option<LastCall> {
        let content = self.read(name)?;
        content
            .split(|byte| *byte == b'\n')
            .rev()
            .find_map(|line| serde_json::from_slice(line).ok())
    }

    /// Records what an agent's hook removed, if anything.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn record_removals(&self, agent: &str, removals: Vec<Removal>) -> Result<()> {
        if removals.is_empty() {
            return Ok(());
        }
        let mut removals = [self.removals(agent), removals].concat();
        removals.drain(..removals.len().saturating_sub(REMOVALS_MAX));
        let content = serde_json::to_vec(&removals).unwrap_or_default();
        self.write(&format!("{agent}.removed"), &content)
    }

    /// What an agent's hook removed, the oldest first.
    pub fn removals(&self, agent: &str) -> Vec<Removal> {
        let recorded = self.read(&format!("{agent}.removed"));
        recorded.and_then(|recorded| serde_json::from_slice(&recorded).ok()).unwrap_or_default()
    }

    /// The newest failure of each agent's hook.
    pub fn failures(&self) -> impl Iterator<Item = (String, EarlierFailure)> {
        let agents = self.agents().into_iter();
        agents.filter_map(|(agent, last)| Some((agent, EarlierFailure::newest(last?)?)))
    }

    /// The agents that have a hook, each with the last call, if there was one.
    pub fn agents(&self) -> Vec<(String, Option<LastCall>)> {
        let names = folder::text_names(self.disk, &self.folder).unwrap_or_default();
        let agent = |name: &String| {
            let agent = name.strip_suffix(".json")?.to_owned();
            Some((agent, self.last_call(name)))
        };
        names.iter().filter_map(agent).collect()
    }

    /// Records that the user began a turn of a session at that time, with an id that no other turn has.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin_turn(&self, agent: &str, session: &str, turn: &str, now: i64) -> Result<()> {
        self.remove_old_turns(now);
        self.write(&turn_of(agent, session), turn.as_bytes())
    }

    /// The turn of a session, if the user began one.
    pub fn turn(&self, agent: &str, session: &str) -> Option<String> {
        String::from_utf8(self.read(&turn_of(agent, session))?).ok()
    }

    /// One that cannot be removed is only a file too many.
    fn remove_old_turns(&self, now: i64) {
        for name in folder::text_names(self.disk, &self.folder).unwrap_or_default() {
            let path = self.folder.join(&name);
            let is_old = |stat: Stat| now.saturating_sub(stat.modified.0) > TURN_SECONDS_MAX;
            if name.ends_with(".turn") && self.disk.stat(&path).is_ok_and(is_old) {
                let _ = self.disk.remove_file(&path);
            }
        }
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let (content, _) = self.disk.read(&self.folder.join(name), FILE_BYTES_MAX).ok()?;
        Some(content)
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        make_directories(self.disk, &self.folder)?;
        let path = self.folder.join(name);
        let write = |fresh: &Path| self.disk.write_soon(fresh, content, 0o600);
        let fresh = make_new_named(&self.folder, &format!("{name}.new"), write)?;
        self.disk.rename(&fresh, &path).context("replacing", &path)
    }
}

fn turn_of(agent: &str, session: &str) -> String {
    format!("{agent}.{}.turn", hash_of(Path::new(session)))
}
