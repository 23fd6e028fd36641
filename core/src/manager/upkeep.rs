//! The upkeep of the store after an operation: freeing the space of evicted checkpoints and limiting the
//! total size. It needs no lock of the operation, and its failures are retried after the next checkpoint.

use super::Manager;
use crate::maintenance::limits::{self, Evicted};
use crate::report::{self, SizeKept};
use std::sync::Mutex;

/// What the store needs after an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Upkeep {
    /// The space of evicted checkpoints is freed.
    frees_space: bool,
    /// The total size is limited. A restore leaves that to the next checkpoint: it may not remove what it
    /// restores, nor the user's work.
    limits_size: bool,
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
    /// The upkeep after a checkpoint whose limit evicted these; `None` if there is no new checkpoint.
    pub(super) fn after_checkpoint(evicted: Option<&Evicted>) -> Self {
        Upkeep { limits_size: evicted.is_some(), ..Upkeep::after_restore(evicted) }
    }

    /// The upkeep after a restore that evicted these.
    // rule: restore/keeps-history
    pub(super) fn after_restore(evicted: Option<&Evicted>) -> Self {
        let frees_space = evicted.is_some_and(|evicted| evicted.must_reclaim);
        Upkeep { frees_space, limits_size: false }
    }

    fn and(self, other: Upkeep) -> Self {
        Upkeep {
            frees_space: self.frees_space || other.frees_space,
            limits_size: self.limits_size || other.limits_size,
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

    /// Does the upkeep after an operation that evicted these, or defers it. No lock is held. Returns all that was
    /// evicted.
    pub(super) fn do_upkeep_after(
        &self,
        evicted: Option<Evicted>,
        upkeep: impl FnOnce(Option<&Evicted>) -> Upkeep,
    ) -> report::Evicted {
        let for_size = self.do_upkeep(upkeep(evicted.as_ref()));
        let evicted = report::Evicted::from(evicted.unwrap_or_default());
        report::Evicted { for_size, ..evicted }
    }

    fn do_upkeep(&self, upkeep: Upkeep) -> SizeKept {
        match &self.upkeep_time {
            UpkeepTime::AtOnce => self.keep_limits(upkeep),
            UpkeepTime::Deferred(deferred) => {
                if let Ok(mut deferred) = deferred.lock() {
                    *deferred = deferred.and(upkeep);
                }
                SizeKept::default()
            }
        }
    }

    fn keep_limits(&self, upkeep: Upkeep) -> SizeKept {
        let Upkeep { frees_space, limits_size } = upkeep;
        let disk = self.disk.as_ref();
        if frees_space {
            limits::free(disk, &self.base());
        }
        match limits_size {
            true => limits::keep_size(disk, &self.base(), &self.config),
            false => SizeKept::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restore_limits_no_size_and_each_frees_space_only_where_that_is_due() {
        let evicted = |must_reclaim| Evicted { must_reclaim, ..Evicted::default() };
        let checkpoint = |must_reclaim| Upkeep::after_checkpoint(Some(&evicted(must_reclaim)));
        let restore = |must_reclaim| Upkeep::after_restore(Some(&evicted(must_reclaim)));
        assert_eq!(Upkeep::after_checkpoint(None), Upkeep::default());
        assert_eq!(restore(false), Upkeep::default());
        assert_eq!(checkpoint(false).and(restore(true)), checkpoint(true));
        assert_ne!(restore(true), checkpoint(true));
    }
}
