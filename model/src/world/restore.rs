//! Bringing a checkpoint back: what is written, removed, left and kept.

use super::World;
use super::listing::NOT_A_DIRECTORY;
use crate::answer::Code;
use crate::bytes::{self, ByteString};
use crate::capture::Captured;
use crate::expected::{CheckpointKind, Expected, ExpectedRestore, Refusal};
use crate::files::Node;
use crate::place::{Place, Standing};
use crate::rules::{self, RuleRef};
use crate::tree::{Entry, Tree};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The paths a restore touches, by what becomes of them.
#[derive(Default)]
struct Plan {
    restored: BTreeSet<ByteString>,
    removed: BTreeSet<ByteString>,
    kept: BTreeSet<ByteString>,
    may_keep: BTreeSet<ByteString>,
}

/// What the restore of one path may do away with.
struct Judgement<'a> {
    world: &'a World,
    project: &'a [u8],
    captured: &'a Tree,
    target: &'a Tree,
}

impl Judgement<'_> {
    fn node(&self, path: &[u8]) -> Option<&Node> {
        self.world.files.get(&bytes::join(self.project, path))
    }

    /// Whether what stands at `path` can be taken away: the pre-rollback checkpoint holds it, and
    /// the ignore files of the target do not cover it either.
    fn expendable(&self, path: &[u8]) -> bool {
        self.captured.contains_key(&ByteString::from(path))
            && !self.world.capturer.ignored_by(self.target, path)
    }

    /// What must be removed before `path` can be written; none where that would lose something.
    ///
    /// Implements [`rules::RESTORE_PROTECTS`].
    fn in_the_way(&self, path: &ByteString) -> Option<Vec<ByteString>> {
        for ancestor in bytes::ancestors(path) {
            match self.node(ancestor) {
                None => return Some(Vec::new()),
                Some(Node::Directory) => {}
                Some(_) => {
                    let expendable = self.expendable(ancestor);
                    return expendable.then(|| vec![ByteString::from(ancestor)]);
                }
            }
        }
        match self.node(path) {
            None => Some(Vec::new()),
            Some(Node::Directory) => {
                let content = self.content(path);
                content.iter().all(|path| self.expendable(path)).then_some(content)
            }
            Some(_) => self.captured.contains_key(path).then(Vec::new),
        }
    }

    /// Everything below `path` that is no directory.
    fn content(&self, path: &[u8]) -> Vec<ByteString> {
        let full = bytes::join(self.project, path);
        let files = self.world.files.below(&full).filter(|(_, node)| **node != Node::Directory);
        files
            .filter_map(|(full, _)| bytes::below(self.project, full))
            .map(ByteString::from)
            .collect()
    }
}

impl World {
    /// Implements [`rules::RESTORE_BYTES`], [`rules::RESTORE_EXECUTABLE`],
    /// [`rules::RESTORE_TYPE`], [`rules::RESTORE_LEAVES_NEW`], [`rules::RESTORE_EXACT`],
    /// [`rules::RESTORE_UNDO`] and [`rules::RESTORE_DELETED_PROJECT`].
    pub(super) fn restore(
        &mut self,
        dir: &[u8],
        text: &[u8],
        exact: bool,
        force: bool,
    ) -> Expected {
        let (mut expected, captured) = match self.prepare(dir, text, None, force) {
            Ok(prepared) => prepared,
            Err(refusals) => return Expected::Refused(refusals),
        };
        let project = expected.project.clone();
        let mut plan = Plan::default();
        let target = Arc::clone(&expected.target);
        let judgement = Judgement {
            world: self,
            project: &project,
            captured: &captured.tree,
            target: &target.tree,
        };
        for (path, entry) in &target.tree {
            if captured.tree.get(path) != Some(entry) {
                self.plan_one(&judgement, path, entry, &mut plan);
            }
        }
        // Without a pre-rollback checkpoint nothing is held that could be removed.
        let held = expected.safety.1 != &rules::RESTORE_SAFETY_REQUIRED;
        for path in captured.tree.keys() {
            if target.tree.contains_key(path) || plan.removed.contains(path) {
                continue;
            }
            if !exact || !held {
                expected.left.insert(path.clone());
            } else if self.capturer.ignored_by(&target.tree, path) {
                plan.kept.insert(path.clone());
            } else {
                plan.removed.insert(path.clone());
            }
        }
        self.carry_out(&project, &target.tree, &plan);
        expected.restored = plan.restored;
        expected.removed = plan.removed;
        expected.kept = plan.kept;
        expected.may_keep = plan.may_keep;
        expected.captured = captured;
        Expected::Restore(Box::new(expected))
    }

    fn plan_one(
        &self,
        judgement: &Judgement<'_>,
        path: &ByteString,
        entry: &Entry,
        plan: &mut Plan,
    ) {
        match judgement.in_the_way(path) {
            Some(obstacles) => {
                plan.removed.extend(obstacles);
                plan.restored.insert(path.clone());
            }
            // Uncaptured content that already is what it should be is lost neither way.
            None if judgement.node(path) == Some(&entry.node()) => {
                plan.may_keep.insert(path.clone());
            }
            None => {
                plan.kept.insert(path.clone());
            }
        }
    }

    fn carry_out(&mut self, project: &[u8], target: &Tree, plan: &Plan) {
        for path in &plan.removed {
            self.remove_with_empty_parents(project, path);
        }
        for path in &plan.restored {
            let full = bytes::join(project, path);
            // A path that is both removed as an obstacle and restored cannot be: obstacles are
            // proper ancestors or descendants.
            if self.files.is_directory(&full) {
                self.files.remove(&full);
            }
            self.files.make_parents(&full);
            self.files.insert(&full, target[path].node());
        }
    }

    /// Removes a path and the directories that it leaves empty, but not the project.
    fn remove_with_empty_parents(&mut self, project: &[u8], path: &[u8]) {
        self.files.remove(&bytes::join(project, path));
        for directory in bytes::ancestors(path).rev() {
            let full = bytes::join(project, directory);
            if self.files.below(&full).next().is_some() {
                return;
            }
            self.files.remove(&full);
        }
    }

    /// Implements [`rules::RESTORE_FILE_LITERAL`] and [`rules::RESTORE_FILE_ONLY`].
    pub(super) fn restore_file(&mut self, dir: &[u8], text: &[u8], typed: &[u8]) -> Expected {
        let (mut expected, captured) = match self.prepare(dir, text, Some(typed), false) {
            Ok(prepared) => prepared,
            Err(refusals) => return Expected::Refused(refusals),
        };
        let project = expected.project.clone();
        let path = expected.only.clone().unwrap_or_default();
        if captured.tree.get(&path) != expected.target.tree.get(&path) {
            let plan = Plan { restored: BTreeSet::from([path]), ..Plan::default() };
            let target = Arc::clone(&expected.target);
            self.carry_out(&project, &target.tree, &plan);
            expected.restored = plan.restored;
        }
        expected.captured = captured;
        Expected::Restore(Box::new(expected))
    }

    /// Finds the target, judges the path, and takes the pre-rollback checkpoint.
    ///
    /// Implements [`rules::RESTORE_SAFETY_CHECKPOINT`], [`rules::RESTORE_SAFETY_SKIPPED`],
    /// [`rules::RESTORE_SAFETY_REQUIRED`], [`rules::RESTORE_SAFETY_OUTSIDE_TURN`] (the slot is
    /// not touched) and [`rules::RESTORE_SAFETY_KEEPS_TARGET`] (the target is found first).
    fn prepare(
        &mut self,
        dir: &[u8],
        text: &[u8],
        typed: Option<&[u8]>,
        force: bool,
    ) -> Result<(ExpectedRestore, Arc<Captured>), Vec<Refusal>> {
        let place = self.locate(dir);
        let found = self.find(&place, text).map(|(index, target)| (index, target.clone()));
        let project = self.canonical(dir).unwrap_or_default();
        let path = typed.map(|typed| self.literal_path(&project, typed)).transpose();
        let (found, path) = match (found, path) {
            (Ok(found), Ok(path)) => (found, path),
            (found, path) => return Err([found.err(), path.err()].into_iter().flatten().collect()),
        };
        let ((index, target), Place::Inside(project, standing)) = (found, place) else {
            // Only a place inside the world has checkpoints.
            return Err(vec![]);
        };
        if standing == Standing::NoDirectory {
            return Err(vec![NOT_A_DIRECTORY]);
        }
        let captured = match standing {
            Standing::Directory => Arc::new(self.capture(&project)),
            _ => Arc::default(),
        };
        if let Some(path) = &path {
            self.judge_file(&project, &target.captured.tree, &captured, path)
                .map_err(|no| vec![no])?;
        }
        let safety = self.take_safety(&project, &captured, standing, force)?;
        let listed_before = self.history(&project).len() - usize::from(safety.0);
        let evicting = safety.0 && listed_before >= self.settings.max_snapshots && index == 0;
        let expected = ExpectedRestore {
            project,
            only: path,
            target: Arc::clone(&target.captured),
            restored: BTreeSet::new(),
            removed: BTreeSet::new(),
            left: BTreeSet::new(),
            kept: BTreeSet::new(),
            may_keep: BTreeSet::new(),
            safety,
            undo: target.safety,
            deleted: standing == Standing::Nothing,
            evicting,
            captured: Arc::default(),
        };
        Ok((expected, captured))
    }

    fn take_safety(
        &mut self,
        project: &ByteString,
        captured: &Arc<Captured>,
        standing: Standing,
        force: bool,
    ) -> Result<(bool, RuleRef), Vec<Refusal>> {
        match self.safety_refusal(captured) {
            Some(_) if force => return Ok((false, &rules::RESTORE_SAFETY_REQUIRED)),
            Some(refusal) => return Err(vec![refusal]),
            None => {}
        }
        if standing == Standing::Nothing || !self.dialect.safety_checkpoint {
            return Ok((false, &rules::RESTORE_SAFETY_SKIPPED));
        }
        match self.record(project, captured, None, true).0 {
            CheckpointKind::Created => {
                self.rolled_back.insert(project.clone());
                Ok((true, &rules::RESTORE_SAFETY_CHECKPOINT))
            }
            _ => Ok((false, &rules::RESTORE_SAFETY_SKIPPED)),
        }
    }

    /// The project-relative path that a typed one names, without meaningless components.
    ///
    /// Implements [`rules::RESTORE_BAD_PATH`].
    fn literal_path(&self, project: &[u8], typed: &[u8]) -> Result<ByteString, Refusal> {
        let refused = bad_path(&[Code::BadPath]);
        if typed.is_empty() || typed.starts_with(b"/") || typed.contains(&0) {
            return Err(refused);
        }
        let mut components: Vec<&[u8]> = Vec::new();
        for component in typed.split(|byte| *byte == b'/') {
            match component {
                b"" | b"." => {}
                b".." => {
                    let before = bytes::join(project, &components.join(&b'/'));
                    // The parent of what a link leads to is not the directory the link is in.
                    let through_link = matches!(self.files.get(&before), Some(Node::Link { .. }));
                    if through_link || components.pop().is_none() {
                        return Err(refused);
                    }
                }
                name => components.push(name),
            }
        }
        if components.is_empty() {
            return Err(bad_path(&[Code::BadPath, Code::NotInCheckpoint]));
        }
        Ok(ByteString(components.join(&b'/')))
    }

    /// Why no pre-rollback checkpoint can be taken.
    fn safety_refusal(&self, captured: &Captured) -> Option<Refusal> {
        let codes = &[Code::NoSafetyCheckpoint, Code::TooManyFiles];
        (captured.tree.len() > self.settings.max_files)
            .then_some(Refusal { codes, rule: &rules::RESTORE_SAFETY_REQUIRED })
    }

    /// Whether a single file can be restored without touching any other path.
    ///
    /// Implements [`rules::RESTORE_BAD_PATH`] where links are concerned.
    fn judge_file(
        &self,
        project: &[u8],
        target: &Tree,
        captured: &Captured,
        path: &ByteString,
    ) -> Result<(), Refusal> {
        let judgement = Judgement { world: self, project, captured: &captured.tree, target };
        for ancestor in bytes::ancestors(path) {
            match judgement.node(ancestor) {
                None => break,
                Some(Node::Directory) => {}
                Some(Node::Link { .. }) => {
                    return Err(bad_path(&[Code::BadPath, Code::NotInCheckpoint]));
                }
                Some(_) => {
                    let codes = &[Code::WouldOverwrite, Code::NotInCheckpoint, Code::BadPath];
                    return Err(Refusal { codes, rule: &rules::RESTORE_FILE_ONLY });
                }
            }
        }
        if !target.contains_key(path) {
            let codes = &[Code::NotInCheckpoint];
            return Err(Refusal { codes, rule: &rules::RESTORE_FILE_LITERAL });
        }
        let codes = &[Code::WouldOverwrite];
        match judgement.node(path) {
            Some(Node::Directory) if !judgement.content(path).is_empty() => {
                Err(Refusal { codes, rule: &rules::RESTORE_FILE_ONLY })
            }
            None | Some(Node::Directory) => Ok(()),
            Some(_) if captured.tree.contains_key(path) => Ok(()),
            Some(_) => Err(Refusal { codes, rule: &rules::RESTORE_PROTECTS }),
        }
    }
}

fn bad_path(codes: &'static [Code]) -> Refusal {
    Refusal { codes, rule: &rules::RESTORE_BAD_PATH }
}
