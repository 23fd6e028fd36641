//! Learning from an operation that did not do as it must.
//!
//! What was believed of the checkpoints may be wrong then. Where the store can be read, it says what
//! each of them holds; else what was taken or restored by that operation is unknown, and nothing is
//! judged by it until somebody sees it.

use super::history::History;
use super::{Checkpoint, World};
use crate::bytes::ByteString;
use crate::capture::Captured;
use crate::observation::{Commit, Histories, Observation};
use std::collections::BTreeSet;
use std::sync::Arc;

impl World {
    /// Takes in what was seen around a request that broke a rule.
    pub fn learn_amiss(&mut self, seen: &Observation) {
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
                    for checkpoint in history.into_iter().flat_map(|history| &mut history.all) {
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
            self.find(&self.locate(dir), &text).ok().map(|(_, one)| one.id.clone())
        });
        let protected = seen.protected().filter_map(|(_, id)| id.cloned());
        seen.taken().cloned().into_iter().chain(protected).chain(target).collect()
    }

    /// The checkpoints of each project are those that are stored, with what they hold there.
    fn learn_stored(&mut self, stored: &Histories) {
        let projects: BTreeSet<ByteString> =
            self.histories.keys().chain(&self.known).cloned().collect();
        for project in projects {
            let ids = stored.visible.get(&self.hash(&project)).map_or(&[][..], Vec::as_slice);
            let known = self.histories.remove(&project).unwrap_or_default();
            let (dropped, known) = (known.out_of_sight(self.settings.max_snapshots), known.all);
            let is_dropped = |one: &&Checkpoint| !ids.contains(&one.id);
            let as_stored = |id: &String| {
                let believed = known.iter().find(|one| one.id == *id);
                stored.commits.get(id).map(|commit| checkpoint_of(id, commit, believed))
            };
            let visible: Vec<Checkpoint> = ids.iter().rev().filter_map(as_stored).collect();
            let gone: Vec<Checkpoint> =
                known[..dropped].iter().filter(is_dropped).cloned().collect();
            if !gone.is_empty() || !visible.is_empty() {
                self.histories.insert(project, History::of(gone, visible));
            }
        }
    }
}

/// A checkpoint as it is stored, and as it was believed to be where that is no contradiction.
fn checkpoint_of(id: &str, commit: &Commit, believed: Option<&Checkpoint>) -> Checkpoint {
    let as_stored = |captured: Arc<Captured>| match captured.tree == *commit.tree {
        true => captured,
        false => Arc::new(Captured { tree: (*commit.tree).clone(), ..(*captured).clone() }),
    };
    // What it left out no tree shows: of whom nobody knew what it holds, nobody knows it now.
    let captured = believed.map_or_else(|| Some(Arc::default()), |one| one.captured.clone());
    let time = commit.seconds.parse().unwrap_or_default();
    Checkpoint {
        id: id.to_owned(),
        captured: captured.map(as_stored),
        reason: believed.and_then(|one| one.reason.clone()),
        time,
        safety: believed.is_some_and(|one| one.safety),
        carried: believed.map(|one| one.carried.clone()).unwrap_or_default(),
    }
}
