//! What an implementation claims to do, and what that means for a history and for the judges.
//!
//! What is not claimed is not asked: operations are left out of a history, settings stay at their
//! defaults, and parts of an answer are not compared. The rules that only such things can put to
//! the test are *not applicable*, and shown so; never held.

use crate::history::Operation;
use herma_model::Settings;
use herma_model::rules::{self, RuleRef};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Everything that can be claimed, and the rules that cannot be judged without it.
static CLAIMS: &[(&str, &[RuleRef])] = &[
    ("project_of", &[&rules::SCOPE_ROOT_OF_FILE, &rules::SCOPE_ROOT_NEVER_BROAD]),
    (
        "ensure_checkpoint",
        &[
            &rules::TURN_ONCE,
            &rules::TURN_RESET,
            &rules::TURN_PER_PROJECT,
            &rules::TURN_FAILURE_KEEPS_SLOT,
            &rules::TURN_NOTHING_USES_SLOT,
            &rules::TURN_DISABLED,
            &rules::RESTORE_SAFETY_OUTSIDE_TURN,
        ],
    ),
    ("checkpoint", &[&rules::TURN_MANUAL]),
    ("diff", &[&rules::DIFF_PREVIEW, &rules::DIFF_STATS]),
    ("diff.stats", &[&rules::DIFF_STATS]),
    ("list.stats", &[&rules::LIST_STATS, &rules::LIST_OLDEST_NO_STATS]),
    ("restore.exact", &[&rules::RESTORE_EXACT]),
    ("restore.force", &[]),
    (
        "restore.file",
        &[&rules::RESTORE_FILE_LITERAL, &rules::RESTORE_FILE_ONLY, &rules::RESTORE_BAD_PATH],
    ),
    ("restore.report", &[&rules::RESTORE_HONEST]),
    ("restore.undoes_turn", &[&rules::RESTORE_UNDOES_TURN]),
    ("settings.enabled", &[&rules::TURN_DISABLED]),
    ("settings.max_snapshots", &[&rules::LIST_AT_MOST, &rules::RESTORE_SAFETY_KEEPS_TARGET]),
    ("settings.max_file_bytes", &[]),
    (
        "settings.max_files",
        &[
            &rules::SCOPE_TOO_MANY_FILES,
            &rules::SCOPE_COUNTS_CAPTURED,
            &rules::RESTORE_SAFETY_REQUIRED,
        ],
    ),
    ("take.skipped", &[]),
    ("test.clock", &[&rules::LIST_TIME]),
    (
        "layout",
        &[
            &rules::SCOPE_HASH,
            &rules::LAYOUT_STORE,
            &rules::LAYOUT_FSCK,
            &rules::LAYOUT_METADATA,
            &rules::ISOLATION_PRIVATE,
            &rules::ISOLATION_SELF_CONTAINED,
            &rules::ISOLATION_USER_CONFIG,
        ],
    ),
];

/// Claims everything there is.
const COMPLETE: &str = "complete";

/// What an implementation claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    claimed: BTreeSet<&'static str>,
}

impl Default for Claims {
    fn default() -> Self {
        Claims { claimed: CLAIMS.iter().map(|(claim, _)| *claim).collect() }
    }
}

impl Claims {
    /// Reads what a hello claims. Omitted and false are the same.
    ///
    /// # Errors
    /// A claim that does not exist, with the nearest one that does.
    pub fn read(capabilities: &BTreeMap<String, Value>) -> Result<Self, String> {
        let mut claims = Claims { claimed: BTreeSet::new() };
        for (name, value) in capabilities {
            let known = CLAIMS.iter().map(|(claim, _)| *claim).find(|claim| claim == name);
            match (known, value) {
                (Some(claim), Value::Bool(true)) => {
                    claims.claimed.insert(claim);
                }
                (Some(_), Value::Bool(false) | Value::Null) => {}
                (None, Value::Bool(true)) if name == COMPLETE => return Ok(Claims::default()),
                (None, _) if name == COMPLETE => {}
                (Some(claim), value) => {
                    return Err(format!("`{claim}` is true or false, not {value}"));
                }
                (None, _) => {
                    return Err(format!(
                        "there is no claim `{name}`; did you mean `{}`?",
                        nearest(name)
                    ));
                }
            }
        }
        Ok(claims)
    }

    /// Whether this is claimed.
    pub fn has(&self, claim: &str) -> bool {
        debug_assert!(CLAIMS.iter().any(|(known, _)| *known == claim), "{claim}");
        self.claimed.contains(claim)
    }

    /// The claim without which the rule cannot be judged, where it is not made.
    pub fn lacking(&self, rule: RuleRef) -> Option<&'static str> {
        let needs = CLAIMS.iter().filter(|(_, needed_by)| needed_by.contains(&rule));
        needs.map(|(claim, _)| *claim).find(|claim| !self.claimed.contains(claim))
    }

    /// The settings without what is not claimed.
    pub fn restrict_settings(&self, settings: &Settings) -> Settings {
        let defaults = Settings::default();
        let mut kept = settings.clone();
        if !self.has("settings.enabled") {
            kept.enabled = defaults.enabled;
        }
        if !self.has("settings.max_snapshots") {
            kept.max_snapshots = defaults.max_snapshots;
        }
        if !self.has("settings.max_file_bytes") {
            kept.max_file_bytes = defaults.max_file_bytes;
        }
        if !self.has("settings.max_files") {
            kept.max_files = defaults.max_files;
        }
        kept
    }

    /// What is asked for in the place of one operation: itself, nothing, or what comes closest to
    /// it among what is claimed.
    pub fn asked_for(&self, operation: &Operation) -> Vec<Operation> {
        let kept = match operation {
            Operation::ProjectOf { .. } => self.has("project_of"),
            Operation::Ensure { .. } => self.has("ensure_checkpoint"),
            Operation::Diff { .. } => self.has("diff"),
            Operation::RestoreFile { .. } => self.has("restore.file"),
            Operation::Advance { .. } => self.has("test.clock"),
            _ => true,
        };
        match operation {
            _ if !kept => Vec::new(),
            // Who cannot be asked by hand takes one in a turn of its own.
            Operation::Checkpoint { dir, reason } if !self.has("checkpoint") => {
                let (dir, reason) = (dir.clone(), reason.clone());
                let own =
                    self.has("ensure_checkpoint").then_some(Operation::Ensure { dir, reason });
                own.map_or(Vec::new(), |ensure| vec![Operation::NewTurn, ensure])
            }
            Operation::RestoreEach { .. } if !self.has("restore.exact") => Vec::new(),
            Operation::Restore { dir, target, exact, force } => vec![Operation::Restore {
                dir: dir.clone(),
                target: target.clone(),
                exact: *exact && self.has("restore.exact"),
                force: *force && self.has("restore.force"),
            }],
            operation => vec![operation.clone()],
        }
    }
}

/// The claim that shares most with `name`: good enough for a typing error.
fn nearest(name: &str) -> &'static str {
    let shared = |claim: &str| {
        claim.bytes().zip(name.bytes()).take_while(|(one, other)| one == other).count()
    };
    CLAIMS.iter().map(|(claim, _)| *claim).max_by_key(|claim| shared(claim)).unwrap_or_default()
}
