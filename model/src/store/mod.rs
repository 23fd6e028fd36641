//! What must hold of a store: properties of its state, whatever was asked last.
//!
//! They compare what the world knows of checkpoints with what is stored, as plain git and the disk
//! show it. A subject whose store nobody can read is judged by none of them.

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
use crate::observation::{Histories, Observation, StoreLayout};
use crate::rules;
use crate::verdict::{Checks, Judge};
use crate::world::World;

/// Where the refs of all projects are.
pub const HISTORIES: &str = "refs/hermes/";

/// Where the refs are of checkpoints that stand beside the history of their project.
pub const ROLLBACKS: &str = "refs/rollbacks/";

/// Where the refs are of those that the list has no room for.
pub const UNLISTED: &str = "refs/unlisted/";

/// Where the refs are of pinned checkpoints, which stand beside it as well once a limit drops the rest.
pub const PINS: &str = "refs/pins/";

/// Where the refs are of what checkpoints carry beside files.
pub const ENVELOPES: &str = "refs/envelopes/";

/// Where refs are that belong to a history, each below the hash of its project.
pub const BESIDE: [&str; 4] = [ROLLBACKS, UNLISTED, PINS, ENVELOPES];

/// Compares what was seen of the store around a request with what must hold of it.
pub(crate) fn compare(world: &World, allowed: &Allowed, seen: &Observation, checks: &mut Checks) {
    if let Some(base) = &seen.base {
        v1::compare(world, allowed, base, checks);
    }
    if seen.contents.is_none() && seen.histories.is_none() {
        return;
    }
    // What is stored is held against what is known once the answer is.
    let mut known = world.clone();
    known.learn_answer(seen);
    // Where some may have made room, nobody can say which of them were dropped for their size.
    let is_open = known.histories().any(|(project, _)| known.is_open(project));
    let visible = seen.readable_histories().map(|stored| &stored.visible);
    if let Some(visible) = visible.or(seen.contents.as_ref().map(|contents| &contents.visible)) {
        known.settle_all(visible);
    }
    // What is damaged takes another size than it did.
    let comparable = !is_open && !known.is_any_disturbed();
    if let Some(contents) = seen.contents.as_ref().filter(|_| comparable) {
        size::compare(&known, seen, contents, checks);
    }
    if let Some(histories) = &seen.histories {
        naming::compare(&known, histories, checks);
        // What was restored although that must be refused says nothing of what was captured.
        if matches!((allowed, &seen.answer), (Allowed::Refused(_), Answer::Restored(_))) {
            return;
        }
        content::compare(&known, histories, checks);
        // What a bound on the size drops is not for the limit of each project to say.
        if seen.contents.is_none() {
            truncated_history::compare(&known, histories, checks);
        }
    }
}

/// What was seen when a history ended.
#[derive(Debug, Default)]
pub struct End {
    /// Whether the home held a hostile git configuration.
    pub hostile: bool,
    /// Whether a program that signs or asks was run.
    pub ran: bool,
    /// Whether a hook, or another program that the user's configuration names, was run.
    pub hooked: bool,
    /// What is stored, where that can be read.
    pub histories: Option<Histories>,
    /// How, where there is a store.
    pub layout: Option<StoreLayout>,
}

impl World {
    /// Compares what is left at the end of a history with what must hold of it.
    ///
    /// Implements [`rules::ISOLATION_USER_CONFIG`] and [`rules::ISOLATION_NO_SIGNING`].
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
            let what = "a hook ran";
            checks.same(Judge::Disk, &rules::ISOLATION_USER_CONFIG, what, &false, &true);
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
