//! Listing a project's checkpoints, previewing one, and finding the one a target names.

use super::{Checkpoint, World};
use crate::answer::{Change, Code};
use crate::bytes::ByteString;
use crate::expected::{Expected, ExpectedDiff, ExpectedList, ExpectedListed, Refusal};
use crate::lines::LineBounds;
use crate::place::{Place, Standing};
use crate::rules;
use crate::target::{self, Target};
use crate::tree::{self, Difference, Tree};
use crate::world::checkpoint::TOO_MANY_FILES;
use std::collections::BTreeSet;

impl World {
    /// Implements [`rules::LIST_COMPLETE`], [`rules::LIST_NEWEST_FIRST`],
    /// [`rules::LIST_AT_MOST`], [`rules::LIST_OWN_PROJECT`] and [`rules::LIST_OLDEST_NO_STATS`].
    pub(super) fn list(&self, dir: &[u8]) -> Expected {
        let (project, standing) = match self.locate(dir) {
            Place::Inside(path, standing) => (path, standing),
            Place::FileSystemRoot | Place::Elsewhere(_) => {
                (ByteString::default(), Standing::Nothing)
            }
        };
        let inside = self.canonical(dir).is_some();
        let listed = if inside { self.listed(&project) } else { &[] };
        let mut entries = Vec::with_capacity(listed.len());
        for (index, checkpoint) in listed.iter().enumerate().rev() {
            let before = index.checked_sub(1).map(|before| &listed[before]);
            let stats = before.map(|before| {
                let differences =
                    tree::differences(&before.captured.tree, &checkpoint.captured.tree);
                LineBounds::of(differences.values())
            });
            entries.push(ExpectedListed {
                id: checkpoint.id.clone(),
                time: checkpoint.time,
                reason: checkpoint.reason.clone(),
                stats,
            });
        }
        let own: BTreeSet<&String> =
            self.history(&project).iter().filter_map(|one| one.id.as_ref()).collect();
        let foreign = self
            .histories()
            .flat_map(|(_, all)| all.iter().filter_map(|one| one.id.as_ref()))
            .filter(|id| !own.contains(id))
            .cloned()
            .collect();
        Expected::List(ExpectedList {
            limited: inside && self.history(&project).len() > listed.len(),
            entries,
            foreign,
            deleted: standing == Standing::Nothing,
        })
    }

    /// Implements [`rules::DIFF_PREVIEW`] and [`rules::DIFF_STATS`].
    pub(super) fn diff(&self, dir: &[u8], text: &[u8]) -> Expected {
        let place = self.locate(dir);
        let checkpoint = match self.find(&place, text) {
            Ok((_, checkpoint)) => checkpoint,
            Err(refusal) => return Expected::Refused(vec![refusal]),
        };
        let now = match self.current_tree(&place) {
            Ok(tree) => tree,
            Err(refusal) => return Expected::Refused(vec![refusal]),
        };
        let differences = tree::differences(&checkpoint.captured.tree, &now);
        let kind = |difference: &Difference<'_>| match difference {
            Difference::Added(_) => Change::Added,
            Difference::Deleted(_) => Change::Deleted,
            Difference::Modified(..) => Change::Modified,
        };
        let entries = differences.iter().map(|(path, how)| ((*path).clone(), kind(how))).collect();
        // The limit is about checkpoints; a preview may mind it as well.
        let crowded = now.len() > self.settings.max_files;
        Expected::Diff(ExpectedDiff {
            entries,
            stats: LineBounds::of(differences.values()),
            may_refuse: crowded.then_some(TOO_MANY_FILES).into_iter().collect(),
        })
    }

    fn current_tree(&self, place: &Place) -> Result<Tree, Refusal> {
        let Place::Inside(project, standing) = place else {
            return Ok(Tree::new());
        };
        match standing {
            Standing::Nothing => Ok(Tree::new()),
            Standing::NoDirectory => Err(NOT_A_DIRECTORY),
            Standing::Directory => Ok(self.capture(project).tree),
        }
    }

    /// The checkpoint that `text` names among those listed for the project, with its index.
    ///
    /// Implements [`rules::RESTORE_TARGET`], [`rules::RESTORE_OWN_CHECKPOINT`] and
    /// [`rules::RESTORE_BAD_TARGET`].
    pub(super) fn find(&self, place: &Place, text: &[u8]) -> Result<(usize, &Checkpoint), Refusal> {
        let listed = match place {
            Place::Inside(project, _) => self.listed(project),
            Place::FileSystemRoot | Place::Elsewhere(_) => &[],
        };
        let unknown =
            Refusal { codes: &[Code::UnknownCheckpoint], rule: &rules::RESTORE_OWN_CHECKPOINT };
        // What is no id names no checkpoint either: saying that is as good a reason.
        let malformed = Refusal {
            codes: &[Code::UnknownCheckpoint, Code::BadTarget],
            rule: &rules::RESTORE_BAD_TARGET,
        };
        match target::parse(text, listed.len()) {
            Target::Malformed => Err(malformed),
            Target::Number(number) => {
                let index = listed.len().checked_sub(number).filter(|_| number > 0);
                index.map(|index| (index, &listed[index])).ok_or(malformed)
            }
            Target::Id(digits) => {
                let named = |checkpoint: &&Checkpoint| {
                    checkpoint.id.as_ref().is_some_and(|id| id.starts_with(&digits))
                };
                let mut found = listed.iter().enumerate().filter(|(_, one)| named(one));
                match (found.next(), found.next()) {
                    (Some(only), None) => Ok(only),
                    (None, _) => Err(unknown),
                    (Some(_), Some(_)) => Err(Refusal {
                        codes: &[Code::AmbiguousCheckpoint],
                        rule: &rules::RESTORE_TARGET,
                    }),
                }
            }
        }
    }
}

/// The refusal of a project whose path holds something else now.
pub(super) const NOT_A_DIRECTORY: Refusal =
    Refusal { codes: &[Code::NotADirectory], rule: &rules::SCOPE_NO_DIRECTORY };
