//! The upkeep of the store after an operation: freeing the space of evicted checkpoints and limiting the
//! total size. It needs no lock of the operation, and its failures are retried after the next checkpoint.

use super::Manager;
use crate::maintenance::limits::{self, Evicted};
use crate::report::{self, SizeKept};
use std::sync::Mutex;

/// What the store needs after an operation. Each includes the ones before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Upkeep {
    /// Nothing: no checkpoint was added, or the target of a restore may still be needed.
    #[default]
    None,
    /// The total size is limited.
    CheckSize,
    /// The space of evicted checkpoints is freed.
    Collect,
}

/// When the upkeep after a new checkpoint runs.
#[derive(Debug, Default)]
pub(super) enum UpkeepTime {
    /// Before the request is answered.
    #[default]
    AtOnce,
    /// When [`Manager::collect_deferred`] is called, with the upkeep that is needed by then.
    Deferred(Mutex<Upkeep>),
}

impl Upkeep {
    /// The upkeep after the limit of a project was applied and evicted these; `None` if it was not applied.
    fn after(evicted: Option<&Evicted>) -> Self {
        match evicted {
            None => Upkeep::None,
            Some(evicted) if evicted.must_reclaim => Upkeep::Collect,
            Some(_) => Upkeep::CheckSize,
        }
    }
}

impl Manager {
    /// The same, answering before it frees the space of the checkpoints that a new one evicted: the
    /// caller does not wait for that, and calls [`Manager::collect_deferred`] afterwards.
    pub fn deferring_collection(self) -> Self {
        Manager { upkeep_time: UpkeepTime::Deferred(Mutex::default()), ..self }
    }

    /// Frees the space and limits the total size, where checkpoints postponed that. Failures are logged, and
    /// retried after the next checkpoint.
    // rule: limit/newest-remain
    pub fn collect_deferred(&self) -> SizeKept {
        let UpkeepTime::Deferred(deferred) = &self.upkeep_time else {
            return SizeKept::default();
        };
        let deferred = deferred.lock().map(|mut deferred| std::mem::take(&mut *deferred));
        self.keep_limits(deferred.unwrap_or_default())
    }

    /// Does the upkeep after an operation whose limit evicted these, or defers it. No lock is held. Returns all
    /// that was evicted.
    pub(super) fn do_upkeep_after(&self, evicted: Option<Evicted>) -> report::Evicted {
        let for_size = self.do_upkeep(Upkeep::after(evicted.as_ref()));
        let evicted = report::Evicted::from(evicted.unwrap_or_default());
        report::Evicted { for_size, ..evicted }
    }

    fn do_upkeep(&self, upkeep: Upkeep) -> SizeKept {
        match &self.upkeep_time {
            UpkeepTime::AtOnce => self.keep_limits(upkeep),
            UpkeepTime::Deferred(deferred) => {
                if let Ok(mut deferred) = deferred.lock() {
                    *deferred = (*deferred).max(upkeep);
                }
                SizeKept::default()
            }
        }
    }

    fn keep_limits(&self, upkeep: Upkeep) -> SizeKept {
        let must_reclaim = match upkeep {
            Upkeep::None => return SizeKept::default(),
            Upkeep::CheckSize => false,
            Upkeep::Collect => true,
        };
        limits::after_checkpoint(self.disk.as_ref(), &self.base(), &self.config, must_reclaim)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_asks_to_collect_only_where_space_is_to_be_freed_and_a_collection_outweighs_a_check() {
        let evicted = |must_reclaim| Evicted { must_reclaim, ..Evicted::default() };
        assert_eq!(Upkeep::after(None), Upkeep::None);
        assert_eq!(Upkeep::after(Some(&evicted(false))), Upkeep::CheckSize);
        assert_eq!(Upkeep::after(Some(&evicted(true))), Upkeep::Collect);
        assert_eq!(Upkeep::CheckSize.max(Upkeep::None), Upkeep::CheckSize);
        assert_eq!(Upkeep::CheckSize.max(Upkeep::Collect), Upkeep::Collect);
    }
}
