//! The checkpoints of one project: which are listed, and which made room for others.

use super::Checkpoint;

/// All checkpoints that were ever taken of one project.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Those that were dropped, and after them those that are not, oldest first.
    pub(super) all: Vec<Checkpoint>,
    /// How many of them were dropped at least.
    pub(super) dropped: usize,
    /// What is listed where some made room and which ones is not known.
    choice: Option<Choice>,
    /// Whether all that should be listed were seen to be, since the last one that was not taken
    /// before a restore.
    pub(super) is_whole: bool,
}

/// Which pre-rollback checkpoints made room, which is for the implementation to choose.
#[derive(Clone, Debug)]
struct Choice {
    /// What would be listed if none had, oldest first.
    all: Vec<Checkpoint>,
    /// The ids of those that may have.
    spare: Vec<String>,
    /// How many of these may be left.
    left: usize,
}

impl History {
    /// All of which these are not dropped, oldest first; `dropped` come before them.
    pub(super) fn of(dropped: Vec<Checkpoint>, listed: Vec<Checkpoint>) -> Self {
        let count = dropped.len();
        let all = [dropped, listed].concat();
        History { all, dropped: count, choice: None, is_whole: true }
    }

    /// How many are out of sight where `limit` may stay: those that a restore took stay beyond it
    /// until something else is taken.
    ///
    /// Implements [`crate::rules::LIST_AT_MOST`] and [`crate::rules::RESTORE_KEEPS_HISTORY`].
    pub(super) fn out_of_sight(&self, limit: usize) -> usize {
        let safety = self.all.iter().rev().take_while(|one| one.safety).count();
        let most = limit.saturating_add(safety);
        self.all.len().saturating_sub(most).max(self.dropped)
    }

    /// Takes one in that the newest `limit` remain beside.
    ///
    /// Implements [`crate::rules::LIMIT_NEWEST_REMAIN`].
    pub(super) fn take(&mut self, checkpoint: Checkpoint, limit: usize) {
        self.leave_out(&checkpoint.id);
        self.all.push(checkpoint);
        self.dropped = self.out_of_sight(limit);
        self.choice = None;
        self.is_whole = false;
    }

    /// Takes one in that was taken before `target` was restored: older ones of its kind make room.
    /// Those must that no other checkpoint came after, and the others may; the oldest are taken for
    /// those that did, until it is seen which.
    ///
    /// Implements [`crate::rules::RESTORE_KEEPS_HISTORY`].
    pub(super) fn take_safety(&mut self, checkpoint: Checkpoint, target: &str, limit: usize) {
        self.leave_out(&checkpoint.id);
        self.dropped = self.out_of_sight(limit);
        let listed = &self.all[self.dropped..];
        let may_go = |one: &&Checkpoint| one.safety && one.id != target;
        let spare: Vec<String> = listed.iter().filter(may_go).map(|one| one.id.clone()).collect();
        let newest = listed.iter().rev().take_while(|one| one.safety).filter(may_go).count();
        let excess = (listed.len() + 1).saturating_sub(limit);
        let left = spare.len() - excess.min(newest);
        let all = [listed, &[checkpoint]].concat();
        let gone = spare[..excess.min(spare.len())].to_vec();
        self.choice = (excess > 0 && left > 0).then(|| Choice { all: all.clone(), spare, left });
        self.all.truncate(self.dropped);
        self.list(all, &gone);
    }

    /// Leaves out the one of that id: it was damaged, and is taken again as the same one.
    fn leave_out(&mut self, id: &str) {
        let same = self.all[self.dropped..].iter().position(|one| one.id == id);
        if let Some(at) = same {
            self.all.remove(self.dropped + at);
        }
    }

    /// Lists these without those that are `gone`.
    fn list(&mut self, all: Vec<Checkpoint>, gone: &[String]) {
        let (dropped, listed): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|one| gone.contains(&one.id));
        self.all.extend(dropped);
        self.dropped = self.all.len();
        self.all.extend(listed);
    }

    /// Whether it is not known which of the pre-rollback checkpoints are left.
    pub(super) fn is_open(&self) -> bool {
        self.choice.is_some()
    }

    /// Takes in which checkpoints are left, newest first. What is missing beside pre-rollback ones
    /// that may be stays due.
    pub(super) fn settle(&mut self, ids: &[&String], limit: usize) {
        if let Some(Choice { all, spare, left }) = self.choice.clone() {
            let is_gone = |id: &&String| !ids.contains(id);
            let gone: Vec<String> = spare.iter().filter(is_gone).cloned().collect();
            if spare.len() - gone.len() <= left {
                self.choice = None;
                let listed = |one: &Checkpoint| all.iter().any(|other| other.id == one.id);
                self.all.retain(|one| !listed(one));
                self.list(all, &gone);
            }
        }
        let due = self.all[self.out_of_sight(limit)..].iter().rev();
        self.is_whole |= due.map(|one| &one.id).eq(ids.iter().copied());
    }
}
