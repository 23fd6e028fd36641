//! The properties that must hold of a store, whatever the last request was.
//!
//! The checkpoints of the world are compared with those in the store, as plain git and the disk show them.
//! A subject whose store cannot be read is not judged by these properties.

pub(crate) mod content;
pub mod explain;
mod layout;
mod naming;
mod pinned;
mod size;
mod truncated_history;
mod v1;

use crate::allowed::Allowed;
use crate::answer::Answer;
use crate::excuse::Excuse;
use crate::observation::{Histories, Observation, StoreLayout};
use crate::rules;
use crate::verdict::{Checks, Judge};
use crate::world::World;

/// The prefix of the refs of all projects.
pub const HISTORIES: &str = "refs/hermes/";

/// The prefix of the refs of checkpoints outside the history of their project.
pub const ROLLBACKS: &str = "refs/rollbacks/";

/// The prefix of the refs of pre-restore checkpoints beyond the limit of the list.
pub const UNLISTED: &str = "refs/unlisted/";

/// The prefix of the refs of pinned checkpoints, which are outside the history once it is truncated.
pub const PINS: &str = "refs/pins/";

/// The prefix of the refs of what checkpoints hold in addition to files.
pub const ENVELOPES: &str = "refs/envelopes/";

/// The prefixes of the refs alongside a history, each followed by the hash of its project.
pub const BESIDE: [&str; 4] = [ROLLBACKS, UNLISTED, PINS, ENVELOPES];

/// Compares the observation of the store around a request with what must hold of it.
pub(crate) fn compare(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    if let Some(base) = &seen.base {
        v1::compare(world, allowed, base, checks);
    }
    if seen.contents.is_none() && seen.histories.is_none() {
        return;
    }
    // The store is compared with the world after the answer.
    let mut updated = world.clone();
    updated.learn_answer(seen);
    // Where an eviction is undecided, it is unknown which checkpoints the size limit evicted.
    let is_undecided =
        updated.histories().any(|(project, _)| updated.is_eviction_undecided(project));
    let visible = seen.readable_histories().map(|stored| &stored.visible);
    if let Some(visible) = visible.or(seen.contents.as_ref().map(|contents| &contents.visible)) {
        updated.settle_all(visible);
    }
    // Damage changes the size of objects.
    let comparable = !is_undecided && !updated.is_any_partially_corrupted();
    if let Some(contents) = &seen.contents {
        match comparable {
            true => size::compare(&updated, seen, contents, checks),
            false => {
                let excuse = if is_undecided { Excuse::Eviction } else { Excuse::Damage };
                checks.excused(&rules::LIMIT_TOTAL_SIZE, excuse, 1);
            }
        }
    }
    if let Some(histories) = &seen.histories {
        naming::compare(&updated, histories, checks);
        // A restore that should have been refused is no evidence of what was captured.
        if matches!((allowed, &seen.answer), (Allowed::Refused(_), Answer::Restored(_))) {
            return;
        }
        content::compare(&updated, histories, checks);
        // What the size limit evicts is not judged by the limit of each project.
        if seen.contents.is_none() {
            truncated_history::compare(&updated, histories, checks);
        }
    }
}

/// The observation at the end of a history.
#[derive(Debug, Default)]
pub struct End {
    /// Whether the home held a hostile git configuration.
    pub hostile: bool,
    /// Whether a program that signs or prompts was run.
    pub ran: bool,
    /// Whether a hook, or another program that the user's configuration names, was run.
    pub hooked: bool,
    /// The stored checkpoints, where they can be read.
    pub histories: Option<Histories>,
    /// The layout of the store, where there is one.
    pub layout: Option<StoreLayout>,
}

impl World {
    /// Compares the observation at the end of a history with what must hold of it.
    ///
    /// Implements [`rules::ISOLATION_USER_CONFIG`] (decides) and [`rules::ISOLATION_NO_SIGNING`].
    pub fn compare_end(&self, end: &End) -> Checks {
        let mut settled = self.clone();
        if let Some(histories) = &end.histories {
            settled.settle_all(&histories.visible);
        }
        settled.compare_settled(end)
    }

    fn compare_settled(&self, end: &End) -> Checks {
        let mut checks = Checks::default();
        checks.held(&rules::ISOLATION_USER_CONFIG, u64::from(end.hostile && !end.hooked));
        if end.hooked {
            let symptom = "a hook ran";
            checks.same(Judge::Disk, &rules::ISOLATION_USER_CONFIG, symptom, &false, &true);
        }
        checks.same(Judge::Disk, &rules::ISOLATION_NO_SIGNING, "ran", &false, &end.ran);
        if let Some(histories) = &end.histories {
            naming::compare(self, histories, &mut checks);
            naming::compare_refs(self, histories, &mut checks);
            if let Some(layout) = &end.layout {
                layout::compare(self, histories, layout, &mut checks);
            }
            if histories.unreadable.is_none() && !histories.refs.is_empty() {
                content::compare(self, histories, &mut checks);
                content::compare_commits(self, histories, &mut checks);
                truncated_history::compare(self, histories, &mut checks);
            }
        }
        checks
    }
}
