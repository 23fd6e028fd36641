//! The capabilities of an implementation, and what they mean for judging it.
//!
//! Requests beyond its capabilities are not made ([`super::asked`]), limits that it cannot set are judged
//! as no limit, and parts of an answer that it does not give are not compared. Rules that need a missing
//! capability are reported as *not applicable*, never as held.

use super::known::{
    COMPLETE, FOLDER_PERMISSIONS, INJECTION, MAX_FILE_BYTES, MAX_TOTAL_BYTES, MEANINGS,
    MEASUREMENT, OWN_IGNORE_FILE, OWN_WAYS, WHOLE_AGENT, find, known, unknown_message,
};
use super::message::Hello;
use super::units::{Units, least_common_multiple, unit};
use crate::history::{History, Operation};
use herma_model::rules::{self, RuleRef};
use herma_model::{Request, Settings};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Rules that only apply to a store outside the project's own repository.
static OF_A_STORE_OF_ITS_OWN: &[RuleRef] = &[
    &rules::ISOLATION_USER_CONFIG,
    &rules::ISOLATION_USER_REPOSITORY,
    &rules::ISOLATION_NO_SIGNING,
];

/// What a subject may require of the sandbox.
const NEEDS: &[&str] = &["repository"];

/// The folder of a project that holds a store in the project's own repository.
const REPOSITORY: &str = ".git";

/// More than any history contains, and within the integers of every language.
const UNBOUNDED: usize = 1_000_000_000;

/// The capabilities of an implementation. Their names are those of the
/// [protocol](crate::protocol::schema), which says what each means.
///
/// ```
/// use herma_harness::protocol::capabilities::Capabilities;
///
/// let all_but_one = Capabilities::all().without("restore.exact");
/// let few = Capabilities::none().with("checkpoint").with("diff");
/// assert!(few.has("diff") && !few.has("restore.exact"));
/// assert_eq!(few.in_common(&all_but_one), few);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Each claimed capability with its unit; only a size can have a unit other than 1.
    claimed: BTreeMap<&'static str, u64>,
    /// Whether every project is a git repository that holds the store.
    repository: bool,
    /// Whether the store was declared to be a git repository.
    git: bool,
    /// The name of the folder in every project that holds the store.
    store_folder: Option<String>,
    /// Names of files and folders that histories must not use.
    avoids: BTreeSet<String>,
    /// How many checkpoints of a project are kept, if that is fixed.
    keeps: Option<usize>,
    /// The name of the store's own ignore file, if it was declared.
    own_ignore_file: Option<String>,
    /// Claimed capabilities that cannot be judged on this machine, each with the reason and a remedy.
    withheld: BTreeMap<&'static str, &'static str>,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities::all()
    }
}

impl Capabilities {
    /// All capabilities.
    pub fn all() -> Self {
        let claimed = known().map(|(name, _)| (name, 1)).collect();
        Capabilities { claimed, ..Capabilities::none() }
    }

    /// All capabilities that the rules require for files.
    pub fn complete() -> Self {
        let optional = OWN_WAYS.iter().chain(WHOLE_AGENT);
        optional.fold(Capabilities::all(), |capabilities, name| capabilities.without(name))
    }

    /// All capabilities that the rules require for files and agent state.
    pub fn whole_agent() -> Self {
        WHOLE_AGENT
            .iter()
            .fold(Capabilities::complete(), |capabilities, name| capabilities.with(name))
    }

    /// The capabilities of the core of this project.
    pub fn of_the_core() -> Self {
        let optional = [
            "capture.units",
            OWN_IGNORE_FILE,
            FOLDER_PERMISSIONS,
            "restore.keeps_undo",
            "restore.undo",
            "target.stable_number",
            INJECTION,
        ];
        optional.into_iter().fold(Capabilities::whole_agent(), Capabilities::with)
    }

    /// No capabilities: only what every implementation does.
    pub fn none() -> Self {
        Capabilities {
            claimed: BTreeMap::new(),
            repository: false,
            git: false,
            store_folder: None,
            avoids: BTreeSet::new(),
            keeps: None,
            own_ignore_file: None,
            withheld: BTreeMap::new(),
        }
    }

    /// These capabilities and one more.
    ///
    /// # Panics
    /// If there is no capability of that name; the message suggests the nearest name.
    pub fn with(mut self, name: &str) -> Self {
        match find(name) {
            Some(claim) => self.claimed.insert(claim, 1),
            None => panic!("{}", unknown_message(name)),
        };
        self
    }

    /// The capabilities in a hello, with everything else that it declares about the implementation.
    ///
    /// # Errors
    /// As [`Capabilities::read`].
    pub fn of(hello: &Hello) -> Result<Self, String> {
        let mut capabilities = Capabilities::read(&hello.capabilities, &hello.needs)?;
        if !capabilities.repository {
            capabilities.store_folder.clone_from(&hello.store_folder);
        }
        // The folder exists in every project, whatever a history does.
        if hello.avoids.iter().any(|name| name == REPOSITORY) {
            return Err("`avoids` names `.git`, which is in every project: claim \
                        `capture.no_repositories` where it is left out"
                .into());
        }
        if hello.keeps == Some(0) {
            return Err("`keeps` is 0: at least one checkpoint is kept".into());
        }
        capabilities.git = hello.git;
        capabilities.avoids.extend(hello.avoids.iter().cloned());
        capabilities.keeps = hello.keeps;
        Ok(capabilities)
    }

    /// Reads the capabilities of a hello; an omitted capability is false.
    ///
    /// # Errors
    /// A capability that does not exist, with the nearest name that does, or a value that is neither
    /// a boolean nor, for a size, its unit.
    pub fn read(capabilities: &BTreeMap<String, Value>, needs: &[String]) -> Result<Self, String> {
        if let Some(unknown) = needs.iter().find(|need| !NEEDS.contains(&need.as_str())) {
            let offered = NEEDS.join("`, `");
            return Err(format!("no sandbox offers `{unknown}`; there is `{offered}`"));
        }
        let mut read = Capabilities::none();
        if !needs.is_empty() {
            read.repository = true;
            read.store_folder = Some(REPOSITORY.to_owned());
        }
        for (name, value) in capabilities {
            match (find(name), value) {
                // The suite determines these itself.
                (Some(INJECTION | MEASUREMENT), _) => {}
                (Some(OWN_IGNORE_FILE), Value::Bool(true)) => {
                    return Err(format!("`{OWN_IGNORE_FILE}` is false or the name of the file"));
                }
                (Some(OWN_IGNORE_FILE), Value::String(name)) => {
                    read.claimed.insert(OWN_IGNORE_FILE, 1);
                    read.own_ignore_file = Some(name.clone());
                }
                (Some(claim), Value::Bool(true)) => {
                    read.claimed.insert(claim, 1);
                }
                (Some(_), Value::Bool(false) | Value::Null) => {}
                (None, Value::Bool(true)) if name == COMPLETE => {
                    read.claimed = Capabilities::complete().claimed;
                }
                (None, _) if name == COMPLETE => {}
                (Some(claim), value) => {
                    read.claimed.insert(claim, unit(claim, value)?);
                }
                (None, _) => {
                    return Err(unknown_message(name));
                }
            }
        }
        Ok(read)
    }

    /// Whether these include the capability.
    pub fn has(&self, claim: &str) -> bool {
        debug_assert!(find(claim).is_some(), "{claim}");
        self.claimed.contains_key(claim)
    }

    /// The names of these capabilities, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.claimed.keys().copied()
    }

    /// The capabilities that two implementations both have, and what the words of this one mean.
    pub fn in_common(&self, capabilities: &Capabilities) -> Capabilities {
        let common = |(claim, unit): (&&'static str, &u64)| {
            let other =
                capabilities.claimed.get(claim).or(MEANINGS.contains(claim).then_some(unit))?;
            Some((*claim, least_common_multiple(*unit, *other)))
        };
        let names: BTreeSet<&String> =
            [self, capabilities].iter().filter_map(|of| of.own_ignore_file.as_ref()).collect();
        let differs = |claim: &str| claim == OWN_IGNORE_FILE && names.len() > 1;
        let claimed = self.claimed.iter().filter(|(claim, _)| !differs(claim));
        Capabilities {
            claimed: claimed.filter_map(common).collect(),
            repository: self.repository || capabilities.repository,
            git: self.git || capabilities.git,
            store_folder: self.store_folder.clone().or_else(|| capabilities.store_folder.clone()),
            avoids: self.avoids.union(&capabilities.avoids).cloned().collect(),
            keeps: self.keeps.into_iter().chain(capabilities.keeps).min(),
            own_ignore_file: names.into_iter().next().cloned(),
            withheld: self
                .withheld
                .iter()
                .chain(&capabilities.withheld)
                .map(|(claim, why)| (*claim, *why))
                .collect(),
        }
    }

    /// These capabilities without one of them.
    pub fn without(&self, claim: &str) -> Capabilities {
        let mut capabilities = self.clone();
        capabilities.claimed.retain(|claimed, _| *claimed != claim);
        capabilities
    }

    /// These capabilities without a claimed one that cannot be judged on this machine, for the reason `why`.
    pub fn withhold(&self, claim: &'static str, why: &'static str) -> Capabilities {
        let mut capabilities = self.without(claim);
        if self.has(claim) {
            capabilities.withheld.insert(claim, why);
        }
        capabilities
    }

    /// Why the rule cannot be judged, if it cannot.
    pub fn why_not(&self, rule: RuleRef) -> Option<String> {
        let lacking = self.lacking(rule)?;
        let withheld = self.why_withheld(lacking).map(str::to_owned);
        Some(withheld.unwrap_or_else(|| format!("lacks `{lacking}`")))
    }

    /// Why a claimed capability cannot be judged on this machine, if it cannot.
    pub fn why_withheld(&self, claim: &str) -> Option<&'static str> {
        self.withheld.get(claim).copied()
    }

    /// Whether the implementation stores any agent state.
    pub fn has_agent_state(&self) -> bool {
        WHOLE_AGENT.iter().any(|name| self.has(name))
    }

    /// Whether any operation on the complete store is possible.
    pub fn has_store_operations(&self) -> bool {
        ["sweep", "prune", "status", "clear", "test.store", MAX_TOTAL_BYTES]
            .iter()
            .any(|claim| self.has(claim))
    }

    /// Whether every project must be a git repository, in which the subject keeps its store.
    pub fn needs_repository(&self) -> bool {
        self.repository
    }

    /// Whether the store is a git repository, or several.
    pub fn uses_git(&self) -> bool {
        self.git || self.repository || self.has("layout")
    }

    /// The name of the folder in every project that holds the store, if there is one.
    pub fn store_folder(&self) -> Option<&str> {
        self.store_folder.as_deref()
    }

    /// The name of the store's own ignore file, if it differs from the name that histories use.
    pub fn own_ignore_file(&self) -> Option<&str> {
        self.own_ignore_file.as_deref().filter(|name| *name != herma_model::ignore::OWN_IGNORE_FILE)
    }

    /// Whether histories must not use files or folders of this name.
    pub fn avoids(&self, name: &[u8]) -> bool {
        let is_store = self.store_folder().is_some_and(|folder| folder.as_bytes() == name);
        is_store || self.avoids.iter().any(|avoided| avoided.as_bytes() == name)
    }

    /// A missing capability without which the rule cannot be judged, if there is one.
    pub fn lacking(&self, rule: RuleRef) -> Option<&'static str> {
        if self.repository && OF_A_STORE_OF_ITS_OWN.contains(&rule) {
            return Some("a store outside the project");
        }
        rule.needs.iter().copied().find(|claim| !self.claimed.contains_key(claim))
    }

    /// The settings, without limits that the implementation cannot set, so that it is not judged by these.
    pub fn restrict_settings(&self, settings: &Settings) -> Settings {
        let mut restricted = settings.clone();
        if !self.has("settings.enabled") {
            restricted.enabled = true;
        }
        if !self.has("settings.max_snapshots") {
            restricted.max_snapshots = self.keeps.unwrap_or(UNBOUNDED);
        }
        if !self.has("settings.max_files") {
            restricted.max_files = UNBOUNDED;
        }
        restricted.max_file_bytes = self.settable(MAX_FILE_BYTES, restricted.max_file_bytes);
        restricted.max_total_bytes = self.settable(MAX_TOTAL_BYTES, restricted.max_total_bytes);
        restricted
    }

    /// The units of the size limits for files and the store.
    pub fn units(&self) -> Units {
        let unit = |claim| self.claimed.get(claim).copied().unwrap_or(1);
        Units { file: unit(MAX_FILE_BYTES), total: unit(MAX_TOTAL_BYTES) }
    }

    /// The store size limit that is actually set: `bytes`, or no limit (0) if it cannot be set to `bytes`.
    pub fn max_total_bytes(&self, bytes: u64) -> u64 {
        self.settable(MAX_TOTAL_BYTES, bytes)
    }

    /// Whether each limit of a history can be set, or belongs to a missing capability.
    pub fn can_set(&self, history: &History) -> bool {
        let is_settable =
            |claim, bytes: u64| self.unit(claim).is_none_or(|unit| bytes.is_multiple_of(unit));
        let prunes = history.operations.iter().filter_map(|operation| match operation {
            Operation::Ask(Request::Prune { max_total_bytes, .. }) => Some(*max_total_bytes),
            _ => None,
        });
        let settings = &history.settings;
        let mut totals = prunes.chain([settings.max_total_bytes]);
        totals.all(|bytes| is_settable(MAX_TOTAL_BYTES, bytes))
            && is_settable(MAX_FILE_BYTES, settings.max_file_bytes)
    }

    fn settable(&self, claim: &str, bytes: u64) -> u64 {
        self.unit(claim).filter(|unit| bytes.is_multiple_of(*unit)).map_or(0, |_| bytes)
    }

    /// The unit of a size limit that can be set and judged.
    fn unit(&self, claim: &str) -> Option<u64> {
        // Which checkpoints a limit on the store evicts is known from the sizes of what is stored.
        let is_judged = claim != MAX_TOTAL_BYTES || self.has("layout");
        self.claimed.get(claim).copied().filter(|_| is_judged)
    }
}

#[cfg(test)]
mod tests;
