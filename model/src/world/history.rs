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
    /// Whether any was pinned since anything was known of them: from then on what goes is looked up,
    /// since it need not be the oldest.
    has_pins: bool,
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

fn intersection(mut ids: Vec<String>, others: &[String]) -> Vec<String> {
    ids.retain(|id| others.contains(id));
    ids
}

impl History {
    /// All of which these are not dropped, oldest first; `dropped` come before them.
    pub(super) fn of(dropped: Vec<Checkpoint>, listed: Vec<Checkpoint>) -> Self {
        let count = dropped.len();
        let has_pins = listed.iter().any(|one| one.carried.pinned);
        let all = [dropped, listed].concat();
        History { all, dropped: count, choice: None, is_whole: true, has_pins }
    }

    /// How many are out of sight where `limit` may stay: those that a restore took stay beyond it
    /// until something else is taken.
    ///
    /// Implements [`crate::rules::LIST_AT_MOST`] and [`crate::rules::RESTORE_KEEPS_HISTORY`].
    pub(super) fn out_of_sight(&self, limit: usize) -> usize {
        if self.has_pins {
            return self.dropped;
        }
        let safety = self.all.iter().rev().take_while(|one| one.safety).count();
        let most = limit.saturating_add(safety);
        self.all.len().saturating_sub(most).max(self.dropped)
    }

    /// Takes one in that the newest `limit` remain beside.
    ///
    /// Implements [`crate::rules::LIMIT_NEWEST_REMAIN`].
    pub(super) fn take(&mut self, checkpoint: Checkpoint, limit: usize) {
        self.is_whole = false;
        self.leave_out(&checkpoint.id);
        if self.has_pins {
            self.take_beside_pins(checkpoint, limit);
            return;
        }
        self.all.push(checkpoint);
        self.dropped = self.out_of_sight(limit);
        self.choice = None;
    }

    /// The same where some are pinned: whether these count towards the limit is for the
    /// implementation to choose, and so is which of the others go.
    ///
    /// Implements [`crate::rules::AGENT_PINNED`].
    fn take_beside_pins(&mut self, checkpoint: Checkpoint, limit: usize) {
        let newest = checkpoint.id.clone();
        let all = [&self.all[self.dropped..], &[checkpoint]].concat();
        let spare: Vec<String> = all
            .iter()
            .filter(|one| !one.carried.pinned && one.id != newest)
            .map(|one| one.id.clone())
            .collect();
        let left = limit.saturating_sub(1).min(spare.len());
        let gone = spare[..spare.len() - left].to_vec();
        let is_open = all.len() > limit && !spare.is_empty();
        // One that could go before may still, if it must not now.
        let earlier = self.choice.take().map_or_else(Vec::new, |choice| choice.spare);
        let spare = if is_open { spare } else { intersection(spare, &earlier) };
        let left = if is_open { left } else { spare.len() };
        self.choice = (!spare.is_empty()).then(|| Choice { all: all.clone(), spare, left });
        self.all.truncate(self.dropped);
        self.list(all, &gone);
    }

    /// Labels a checkpoint.
    pub(super) fn label(&mut self, id: &str, label: &str) {
        self.change(id, |one| one.carried.label = Some(label.to_owned()));
    }

    /// Pins a checkpoint, or lets limits drop it again, at once or later.
    ///
    /// Implements [`crate::rules::AGENT_PINNED`].
    pub(super) fn pin(&mut self, id: &str, pinned: bool, limit: usize) {
        self.dropped = self.out_of_sight(limit);
        self.has_pins |= pinned;
        self.change(id, |one| one.carried.pinned = pinned);
        if let Some(choice) = self.choice.as_mut().filter(|_| pinned) {
            choice.spare.retain(|spare| spare != id);
            choice.left = choice.left.min(choice.spare.len());
        }
        let listed = &self.all[self.dropped..];
        let newest = listed.last().map(|one| one.id.clone());
        let is_spare = |one: &&Checkpoint| !one.carried.pinned && Some(&one.id) != newest.as_ref();
        // Where some went, one that only its pin kept may go after them.
        let may_go =
            |one: &&Checkpoint| listed.len() > limit || !pinned && self.dropped > 0 && one.id == id;
        let spare = listed.iter().filter(is_spare).filter(may_go);
        let spare: Vec<String> = spare.map(|one| one.id.clone()).collect();
        let (all, left) = (listed.to_vec(), spare.len());
        if self.has_pins && self.choice.is_none() && left > 0 {
            self.choice = Some(Choice { all, spare, left });
        }
    }

    fn change(&mut self, id: &str, change: impl Fn(&mut Checkpoint)) {
        let open = self.choice.iter_mut().flat_map(|choice| &mut choice.all);
        self.all.iter_mut().chain(open).filter(|one| one.id == id).for_each(change);
    }

    /// Whether any is or was pinned.
    pub(super) fn has_pins(&self) -> bool {
        self.has_pins
    }

    /// Drops all that are listed but these.
    pub(super) fn retain(&mut self, ids: &[String]) {
        let all = self.all.split_off(self.dropped);
        let gone = all.iter().filter(|one| !ids.contains(&one.id)).map(|one| one.id.clone());
        let gone: Vec<String> = gone.collect();
        self.choice = None;
        self.list(all, &gone);
    }

    /// Whether a checkpoint may have made room for others.
    pub(super) fn may_be_gone(&self, id: &str) -> bool {
        self.choice.as_ref().is_some_and(|one| one.spare.iter().any(|spare| spare == id))
    }

    /// Takes one in that was taken before `target` was restored: older ones of its kind make room.
    /// Those must that no other checkpoint came after, and the others may; the oldest are taken for
    /// those that did, until it is seen which. Where it is not known which one was restored, none
    /// must.
    ///
    /// Implements [`crate::rules::RESTORE_KEEPS_HISTORY`].
    pub(super) fn take_safety(
        &mut self,
        checkpoint: Checkpoint,
        target: Option<&str>,
        limit: usize,
    ) {
        self.leave_out(&checkpoint.id);
        self.dropped = self.out_of_sight(limit);
        let listed = &self.all[self.dropped..];
        let may_go =
            |one: &&Checkpoint| one.safety && !one.carried.pinned && Some(&*one.id) != target;
        let spare: Vec<String> = listed.iter().filter(may_go).map(|one| one.id.clone()).collect();
        let newest = listed.iter().rev().take_while(|one| one.safety).filter(may_go).count();
        let excess = (listed.len() + 1).saturating_sub(limit);
        // Those that are pinned need not count.
        let pinned = listed.iter().filter(|one| one.carried.pinned).count();
        let must_go = if target.is_some() { excess.saturating_sub(pinned) } else { 0 };
        let left = spare.len() - must_go.min(newest);
        let all = [listed, &[checkpoint]].concat();
        let gone = spare[..excess.min(spare.len())].to_vec();
        let (spare, left) = if excess > 0 && left > 0 { (spare, left) } else { (Vec::new(), 0) };
        // One that could go before may still.
        let mut earlier = self.choice.take().map_or_else(Vec::new, |choice| choice.spare);
        earlier.retain(|id| !spare.contains(id) && listed.iter().any(|one| one.id == *id));
        let (left, spare) = (left + earlier.len(), [earlier, spare].concat());
        self.choice = (!spare.is_empty()).then(|| Choice { all: all.clone(), spare, left });
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
