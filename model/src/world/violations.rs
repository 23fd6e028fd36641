//! Updates the world after an operation that violated a rule.
//!
//! The content that the world recorded of checkpoints may then be wrong. If the store can be read, it shows
//! the content of each checkpoint. Otherwise the checkpoints that the operation took or restored are
//! unknown, and not judged until they are observed.

use super::history::History;
use super::{Checkpoint, World};
use crate::bytes::ByteString;
use crate::capture::Captured;
use crate::observation::{Commit, Histories, Observation};
use std::collections::BTreeSet;
use std::sync::Arc;

impl World {
    /// Records the observation of a request that broke a rule.
    pub fn learn_after_violation(&mut self, seen: &Observation) {
        let mut projects: Vec<ByteString> = seen.protected().map(|(dir, _)| dir.clone()).collect();
        projects.extend(seen.request.dir().cloned());
        let projects: Vec<_> = projects.iter().filter_map(|dir| self.canonical(dir)).collect();
        let touched = self.touched_by(seen);
        self.learn(seen);
        match seen.readable_histories() {
            Some(stored) => self.learn_stored(stored),
            None => {
                for project in projects {
                    let history = self.histories.get_mut(&project);
                    let checkpoints =
                        history.into_iter().flat_map(|history| &mut history.checkpoints);
                    for checkpoint in checkpoints {
                        if touched.contains(&checkpoint.id) {
                            checkpoint.captured = None;
                        }
                    }
                }
            }
        }
    }

    /// The checkpoints that a request took or restored, by their ids.
    fn touched_by(&self, seen: &Observation) -> BTreeSet<String> {
        let target = seen.request.dir().zip(self.target_of(&seen.request));
        let target = target.and_then(|(dir, text)| {
            self.find(&self.locate(dir), &text).ok().map(|(_, checkpoint)| checkpoint.id.clone())
        });
        let protected = seen.protected().filter_map(|(_, id)| id.cloned());
        seen.taken().cloned().into_iter().chain(protected).chain(target).collect()
    }

    /// Records that the checkpoints of each project are those that are stored, with their stored content.
    fn learn_stored(&mut self, stored: &Histories) {
        let projects: BTreeSet<ByteString> =
            self.histories.keys().chain(&self.known_directories).cloned().collect();
        for project in projects {
            let ids = stored.visible.get(&self.hash(&project)).map_or(&[][..], Vec::as_slice);
            let history = self.histories.remove(&project).unwrap_or_default();
            let evicted_count = history.evicted_count(self.settings.max_snapshots);
            let recorded = history.checkpoints;
            let is_invisible = |checkpoint: &&Checkpoint| !ids.contains(&checkpoint.id);
            let as_stored = |id: &String| {
                let recorded = recorded.iter().find(|checkpoint| checkpoint.id == *id);
                stored.commits.get(id).map(|commit| checkpoint_of(id, commit, recorded))
            };
            let visible: Vec<Checkpoint> = ids.iter().rev().filter_map(as_stored).collect();
            let gone: Vec<Checkpoint> =
                recorded[..evicted_count].iter().filter(is_invisible).cloned().collect();
            if !gone.is_empty() || !visible.is_empty() {
                self.histories.insert(project, History::of(gone, visible));
            }
        }
    }
}

/// A checkpoint as it is stored, and as the world recorded it where that is consistent.
fn checkpoint_of(id: &str, commit: &Commit, recorded: Option<&Checkpoint>) -> Checkpoint {
    let as_stored = |captured: Arc<Captured>| match captured.tree == *commit.tree {
        true => captured,
        false => Arc::new(Captured { tree: (*commit.tree).clone(), ..(*captured).clone() }),
    };
    // A tree does not show what was left out: a checkpoint with unknown content stays unknown.
    let captured =
        recorded.map_or_else(|| Some(Arc::default()), |checkpoint| checkpoint.captured.clone());
    let time = commit.seconds.parse().unwrap_or_default();
    Checkpoint {
        id: id.to_owned(),
        captured: captured.map(as_stored),
        reason: recorded.and_then(|checkpoint| checkpoint.reason.clone()),
        time,
        safety: recorded.is_some_and(|checkpoint| checkpoint.safety),
        carried: recorded.map(|checkpoint| checkpoint.carried.clone()).unwrap_or_default(),
    }
}
