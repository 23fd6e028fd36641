//! What an implementation claims to do, and what that means for the judges.
//!
//! What is not claimed is not asked ([`super::asked`]), settings are without bounds, and parts of
//! an answer are not compared. The rules that only such things can put to the test are *not
//! applicable*, and shown so; never held.

use herma_model::rules::{self, RuleRef};
use herma_model::{Dialect, Settings};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that can be claimed, and the rules that cannot be judged without it.
static CAPABILITIES: &[(&str, &[RuleRef])] = &[
    ("project_of", &[&rules::SCOPE_ROOT_OF_FILE, &rules::SCOPE_ROOT_NEVER_BROAD]),
    // A directory may be named as a person types it, not by its canonical path alone.
    ("project.spellings", &[&rules::SCOPE_IDENTITY]),
    // Any directory is a project of its own, whatever lies above and below it.
    ("project.any_directory", &[]),
    (
        "scope.refusals",
        &[&rules::SCOPE_NEVER_ROOT, &rules::SCOPE_NEVER_HOME, &rules::SCOPE_BASE_NOT_CAPTURED],
    ),
    // A refusal says why: a malformed target is told from an unknown one.
    ("refusal.reasons", &[]),
    (
        "ensure_checkpoint",
        &[
            &rules::TURN_ONCE,
            &rules::TURN_RESET,
            &rules::TURN_PER_PROJECT,
            &rules::TURN_FAILURE_KEEPS_SLOT,
            &rules::TURN_NOTHING_USES_SLOT,
            &rules::TURN_MANUAL,
            &rules::TURN_DISABLED,
            &rules::RESTORE_SAFETY_OUTSIDE_TURN,
        ],
    ),
    ("checkpoint", &[&rules::TURN_MANUAL]),
    ("take.unchanged", &[&rules::CAPTURE_UNCHANGED, &rules::CAPTURE_EMPTY_FIRST]),
    ("take.skipped", &[]),
    ("capture.default_excludes", &[&rules::CAPTURE_DEFAULT_EXCLUDES, &rules::CAPTURE_SECRETS]),
    ("capture.gitignore", &[&rules::CAPTURE_GITIGNORE]),
    ("capture.no_repositories", &[&rules::CAPTURE_NESTED_REPOSITORY]),
    // What may stand in a project: sockets and fifos, and files their owner may not read.
    ("files.special", &[&rules::CAPTURE_SPECIAL]),
    ("files.unreadable", &[&rules::CAPTURE_UNREADABLE]),
    ("diff", &[&rules::DIFF_PREVIEW, &rules::DIFF_STATS]),
    ("diff.stats", &[&rules::DIFF_STATS]),
    ("list.reason", &[&rules::CAPTURE_REASON]),
    ("list.stats", &[&rules::LIST_STATS, &rules::LIST_OLDEST_NO_STATS]),
    // A checkpoint may be named by its number in the list, or by the first digits of its id.
    ("target.number", &[]),
    ("target.short", &[]),
    ("restore.leaves_new", &[&rules::RESTORE_LEAVES_NEW]),
    ("restore.exact", &[&rules::RESTORE_EXACT]),
    ("restore.force", &[]),
    (
        "restore.safety",
        &[
            &rules::RESTORE_SAFETY_CHECKPOINT,
            &rules::RESTORE_SAFETY_SKIPPED,
            &rules::RESTORE_SAFETY_REQUIRED,
            &rules::RESTORE_SAFETY_OUTSIDE_TURN,
            &rules::RESTORE_SAFETY_KEEPS_TARGET,
            &rules::RESTORE_UNDO,
        ],
    ),
    (
        "restore.file",
        &[&rules::RESTORE_FILE_LITERAL, &rules::RESTORE_FILE_ONLY, &rules::RESTORE_BAD_PATH],
    ),
    ("restore.report", &[&rules::RESTORE_HONEST]),
    ("restore.undoes_turn", &[&rules::RESTORE_UNDOES_TURN]),
    ("settings.enabled", &[&rules::TURN_DISABLED]),
    (
        "settings.max_snapshots",
        &[&rules::LIST_AT_MOST, &rules::LIMIT_NEWEST_REMAIN, &rules::RESTORE_SAFETY_KEEPS_TARGET],
    ),
    ("settings.max_file_bytes", &[&rules::CAPTURE_SIZE_CAP]),
    (
        "settings.max_files",
        &[
            &rules::SCOPE_TOO_MANY_FILES,
            &rules::SCOPE_COUNTS_CAPTURED,
            &rules::RESTORE_SAFETY_REQUIRED,
        ],
    ),
    ("settings.max_total_bytes", OF_TOTAL_SIZE),
    ("sweep", &[&rules::SWEEP_INTERVAL, &rules::MAINTENANCE_NEVER_RAISES]),
    ("prune", OF_PRUNE),
    ("status", &[&rules::MAINTENANCE_COMMANDS]),
    ("clear", &[&rules::MAINTENANCE_COMMANDS]),
    // What v1 left, what others put into the base, and damage to the store.
    (
        "test.store",
        &[&rules::MAINTENANCE_HEALS, &rules::MIGRATION_ARCHIVES, &rules::MIGRATION_LOSES_NOTHING],
    ),
    ("test.clock", &[&rules::LIST_TIME, &rules::SWEEP_STALE, &rules::SWEEP_INTERVAL]),
    (
        "layout",
        &[
            &rules::SCOPE_HASH,
            &rules::LAYOUT_STORE,
            &rules::LAYOUT_FSCK,
            &rules::LAYOUT_METADATA,
            &rules::ISOLATION_PRIVATE,
            &rules::ISOLATION_SELF_CONTAINED,
            &rules::LIMIT_NEWEST_REMAIN,
            &rules::LIMIT_TOTAL_SIZE,
            &rules::LIMIT_NEWEST_STAYS,
            &rules::LIMIT_NO_MORE_THAN_NEEDED,
            &rules::SWEEP_ORPHANS,
            &rules::SWEEP_STALE,
            &rules::SWEEP_EVIDENCE,
            &rules::SWEEP_COUNTS,
            &rules::SWEEP_RECLAIMS,
            &rules::MAINTENANCE_HEALS,
            &rules::MIGRATION_ARCHIVES,
            &rules::MIGRATION_LOSES_NOTHING,
        ],
    ),
];

static OF_TOTAL_SIZE: &[RuleRef] =
    &[&rules::LIMIT_TOTAL_SIZE, &rules::LIMIT_NEWEST_STAYS, &rules::LIMIT_NO_MORE_THAN_NEEDED];

static OF_PRUNE: &[RuleRef] = &[
    &rules::SWEEP_ORPHANS,
    &rules::SWEEP_STALE,
    &rules::SWEEP_EVIDENCE,
    &rules::SWEEP_COUNTS,
    &rules::SWEEP_RECLAIMS,
];

/// Rules about a store that is not the project's own repository.
static OF_A_STORE_OF_ITS_OWN: &[RuleRef] = &[
    &rules::ISOLATION_USER_CONFIG,
    &rules::ISOLATION_USER_REPOSITORY,
    &rules::ISOLATION_NO_SIGNING,
];

/// What a subject may need of the sandbox.
const NEEDS: &[&str] = &["repository"];

/// Capabilities everything there is.
const COMPLETE: &str = "complete";

/// More than any history holds, and still a number in every language.
const UNBOUNDED: usize = 1_000_000_000;

/// What an implementation claims. The names are those of the
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
    claimed: BTreeSet<&'static str>,
    /// Every project is a git repository, and the store lies in it.
    repository: bool,
}

impl Default for Capabilities {
    fn default() -> Self {
        Capabilities::all()
    }
}

impl Capabilities {
    /// Everything that can be claimed.
    pub fn all() -> Self {
        let claimed = CAPABILITIES.iter().map(|(claim, _)| *claim).collect();
        Capabilities { claimed, repository: false }
    }

    /// Nothing but what every implementation does.
    pub fn none() -> Self {
        Capabilities { claimed: BTreeSet::new(), repository: false }
    }

    /// The same and this one.
    ///
    /// # Panics
    /// Where there is no capability of that name, with the nearest one: a name in code that is
    /// spelled wrong is a fault of the code.
    pub fn with(mut self, name: &str) -> Self {
        match known(name) {
            Some(claim) => self.claimed.insert(claim),
            None => panic!("{}", unknown(name)),
        };
        self
    }

    /// Reads what a hello claims. Omitted and false are the same.
    ///
    /// # Errors
    /// A claim that does not exist, with the nearest one that does.
    pub fn read(capabilities: &BTreeMap<String, Value>, needs: &[String]) -> Result<Self, String> {
        if let Some(unknown) = needs.iter().find(|need| !NEEDS.contains(&need.as_str())) {
            return Err(format!("no sandbox offers `{unknown}`; there is {NEEDS:?}"));
        }
        let repository = !needs.is_empty();
        let mut read = Capabilities { claimed: BTreeSet::new(), repository };
        for (name, value) in capabilities {
            match (known(name), value) {
                (Some(claim), Value::Bool(true)) => {
                    read.claimed.insert(claim);
                }
                (Some(_), Value::Bool(false) | Value::Null) => {}
                (None, Value::Bool(true)) if name == COMPLETE => {
                    read.claimed = Capabilities::all().claimed;
                }
                (None, _) if name == COMPLETE => {}
                (Some(claim), value) => {
                    return Err(format!("`{claim}` is true or false, not {value}"));
                }
                (None, _) => {
                    return Err(unknown(name));
                }
            }
        }
        Ok(read)
    }

    /// Whether this is claimed.
    pub fn has(&self, claim: &str) -> bool {
        debug_assert!(known(claim).is_some(), "{claim}");
        self.claimed.contains(claim)
    }

    /// Everything that is claimed, sorted.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.claimed.iter().copied()
    }

    /// What two implementations both claim.
    pub fn in_common(&self, other: &Capabilities) -> Capabilities {
        Capabilities {
            claimed: self.claimed.intersection(&other.claimed).copied().collect(),
            repository: self.repository || other.repository,
        }
    }

    /// The same without one of them.
    pub fn without(&self, claim: &str) -> Capabilities {
        let mut capabilities = self.clone();
        capabilities.claimed.retain(|claimed| *claimed != claim);
        capabilities
    }

    /// Whether anything can be asked about the store as a whole, or done to it.
    pub fn keeps_store(&self) -> bool {
        ["sweep", "prune", "status", "clear", "test.store", "settings.max_total_bytes"]
            .iter()
            .any(|claim| self.has(claim))
    }

    /// Whether every project must be a git repository, in which the subject keeps its store.
    pub fn needs_repository(&self) -> bool {
        self.repository
    }

    /// The claim without which the rule cannot be judged, where it is not made.
    pub fn lacking(&self, rule: RuleRef) -> Option<&'static str> {
        if self.repository && OF_A_STORE_OF_ITS_OWN.contains(&rule) {
            return Some("a store outside the project");
        }
        let needs = CAPABILITIES.iter().filter(|(_, needed_by)| needed_by.contains(&rule));
        needs.map(|(claim, _)| *claim).find(|claim| !self.claimed.contains(claim))
    }

    /// The settings without what is not claimed: who cannot be told a bound is not held to one.
    pub fn restrict_settings(&self, settings: &Settings) -> Settings {
        let mut kept = settings.clone();
        if !self.has("settings.enabled") {
            kept.enabled = true;
        }
        if !self.has("settings.max_snapshots") {
            kept.max_snapshots = UNBOUNDED;
        }
        if !self.has("settings.max_file_bytes") {
            kept.max_file_bytes = 0;
        }
        if !self.has("settings.max_files") {
            kept.max_files = UNBOUNDED;
        }
        if !self.has("settings.max_total_bytes") {
            kept.max_total_bytes = 0;
        }
        kept
    }

    /// How an implementation that claims this differs from the behaviour of the rules.
    pub fn dialect(&self) -> Dialect {
        Dialect {
            recognises_unchanged: self.has("take.unchanged"),
            safety_checkpoint: self.has("restore.safety"),
            default_excludes: self.has("capture.default_excludes"),
            ignore_files: self.has("capture.gitignore"),
            leaves_out_repositories: self.has("capture.no_repositories"),
        }
    }
}

/// The claim of that name as the table has it.
fn known(name: &str) -> Option<&'static str> {
    CAPABILITIES.iter().map(|(claim, _)| *claim).find(|claim| *claim == name)
}

fn unknown(name: &str) -> String {
    format!("there is no claim `{name}`; did you mean `{}`?", nearest(name))
}

/// The claim that shares most with `name`: good enough for a typing error.
fn nearest(name: &str) -> &'static str {
    let shared = |claim: &str| {
        claim.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count()
    };
    CAPABILITIES
        .iter()
        .map(|(claim, _)| *claim)
        .max_by_key(|claim| shared(claim))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_of_every_name_is_everything() {
        let all = Capabilities::all();
        assert_eq!(all.names().fold(Capabilities::none(), Capabilities::with), all);
    }

    #[test]
    #[should_panic(expected = "there is no claim `restore.exac`; did you mean `restore.exact`?")]
    fn a_name_that_is_none_is_refused_with_the_nearest() {
        let _ = Capabilities::none().with("restore.exac");
    }
}
