//! Restores a checkpoint: plans, stores a pre-restore checkpoint, and writes and removes files.

use super::{CodedMessage, Store, StoredCheckpoint};
use crate::careful::snapshot::{FolderPermissions, Snapshot, snapshot_of};
use crate::careful::units::Present;
use crate::careful::{bounds, units};
use crate::protocol::known::FOLDER_PERMISSIONS;
use crate::sandbox::{edits, manifest};
use herma_model::answer::Restored;
use herma_model::bytes::{ancestors, join};
use herma_model::edit::Change;
use herma_model::{Answer, ByteString, Code, Files, Node};
use std::collections::BTreeSet;
use std::io;

impl Store {
    /// Restores all files and parts of a checkpoint, and reports the external actions since.
    pub(super) fn restore_all(
        &mut self,
        project: &ByteString,
        index: usize,
        exact: bool,
    ) -> Result<Answer, CodedMessage> {
        let checkpoint = &self.histories[project][index];
        let parts = checkpoint.parts.clone();
        let actions = checkpoint.actions;
        let snapshot = checkpoint.captured.snapshot.clone();
        let mut report = self.restore(project, index, snapshot, exact)?;
        // Parts that were not set then are unset again.
        self.agent.parts = parts;
        if self.habits.can("external") {
            report.external = Some(self.agent.roll_back(actions));
        }
        Ok(Answer::Restored(report))
    }

    /// Restores a part of the snapshot of a checkpoint; `exact` removes files that it does not have.
    pub(super) fn restore(
        &mut self,
        project: &ByteString,
        index: usize,
        mut part: Snapshot,
        exact: bool,
    ) -> Result<Restored, CodedMessage> {
        let files = self.files()?;
        let before = match files.get(project) {
            None => None,
            Some(Node::Directory) => Some(snapshot_of(&files, project)),
            Some(_) => return Err((Code::NotADirectory, "the project is no directory")),
        };
        let checkpoint = &self.histories[project][index];
        let target_id = checkpoint.id.clone();
        let target = checkpoint.captured.clone();
        let folders = self.folders_to_permit(checkpoint, &files);
        let newest = self.histories.get(project).and_then(|checkpoints| checkpoints.last());
        let is_present_state = |newest: &StoredCheckpoint| {
            let captured = before.clone().map(|present| self.captured(present).snapshot);
            captured.as_ref() == Some(&newest.captured.snapshot) && newest.parts == self.agent.parts
        };
        let is_stored = newest.is_some_and(is_present_state);
        let saves = self.habits.can("restore.safety") && before.is_some() && !is_stored;
        let present = before.unwrap_or_default();
        let captured = self.captured(present.clone());
        let mut plan = units::Plan::default();
        if self.habits.can("settings.max_file_bytes") {
            plan = bounds::plan(&target, &captured, &mut part);
        } else if self.habits.can("capture.units") {
            let before = Present { snapshot: &present, captured: &captured };
            plan = units::plan(&target, before, &mut part, exact);
        }
        let before = captured.snapshot.clone();
        let safety =
            saves.then(|| self.store_pre_restore_checkpoint(project, &target_id, captured));
        let in_sandbox = |path: &ByteString| ByteString::from(join(project, path));
        let is_new =
            |path: &&ByteString| !target.snapshot.contains_key(*path) && !plan.kept.contains(*path);
        // An undo removes only what the undone restore brought.
        let may_go = |path: &&ByteString| {
            self.made.as_ref().is_none_or(|made| made.get(*path) == before.get(*path))
        };
        let new_files = || before.keys().filter(is_new);
        let not_written = |_| (Code::Io, "the project cannot be written");
        // Files are removed first, since they may be in the way of restored ones.
        if exact {
            self.remove(new_files().filter(may_go).map(in_sandbox)).map_err(not_written)?;
        }
        self.remove(plan.remove.iter().map(in_sandbox)).map_err(not_written)?;
        self.write(part.iter().map(|(path, file)| (in_sandbox(path), file)))
            .map_err(not_written)?;
        self.permit(&folders, part.keys().map(in_sandbox)).map_err(not_written)?;
        let after = snapshot_of(&self.files()?, project);
        let node =
            |files: &Snapshot, path: &ByteString| files.get(path).map(|(node, _)| node.clone());
        let changed = |path: &&ByteString| node(&present, path) != node(&part, path);
        Ok(Restored {
            safety,
            restored: part.keys().filter(changed).cloned().collect(),
            removed: present.keys().filter(|path| !after.contains_key(*path)).cloned().collect(),
            left: new_files().filter(|path| after.contains_key(*path)).cloned().collect(),
            kept: self.remarks(&plan.kept),
            ..Restored::default()
        })
    }

    /// The folders that get the permissions of a checkpoint: those that are missing; in a store whose restores
    /// are exact, all.
    fn folders_to_permit(&self, checkpoint: &StoredCheckpoint, files: &Files) -> FolderPermissions {
        let is_missing = |folder: &ByteString| !files.is_directory(folder);
        let is_permitted = |folder: &ByteString| {
            self.habits.can(FOLDER_PERMISSIONS)
                && (self.habits.can("restore.exact") || is_missing(folder))
        };
        let folders = checkpoint.folders.clone().into_iter();
        folders.filter(|(folder, _)| is_permitted(folder)).collect()
    }

    /// Sets the permissions of those of the folders that are above restored paths.
    fn permit(
        &self,
        folders: &FolderPermissions,
        restored: impl Iterator<Item = ByteString>,
    ) -> io::Result<()> {
        let above: BTreeSet<ByteString> = restored
            .flat_map(|path| ancestors(&path).map(ByteString::from).collect::<Vec<_>>())
            .collect();
        let mut permitted = folders.iter().filter(|(folder, _)| above.contains(*folder));
        permitted.try_for_each(|(folder, bits)| {
            edits::apply(self.sandbox.root(), &Change::SetPermissions(folder.clone(), *bits))
        })
    }

    /// Writes each node after removing what is in its way. A replaced file keeps its permissions.
    fn write<'a>(
        &self,
        nodes: impl Iterator<Item = (ByteString, &'a (Node, Option<u32>))>,
    ) -> io::Result<()> {
        let root = self.sandbox.root();
        let mut files = manifest::read_all(&self.sandbox)?.files;
        for (path, (node, recorded_bits)) in nodes {
            if files.get(&path) == Some(node) {
                continue;
            }
            let blocked = files.obstacle(&path).is_some() || !snapshot_of(&files, &path).is_empty();
            if blocked && self.habits.leaves_obstacles {
                continue;
            }
            let obstacle = files.obstacle(&path).map(|(obstacle, _)| ByteString::from(obstacle));
            let present_bits = files.permissions(&path).map(|bits| match node {
                Node::File { executable: true, .. } => bits | 0o100,
                _ => bits & !0o111,
            });
            let removed = obstacle.or_else(|| files.get(&path).map(|_| path.clone()));
            if let Some(removed) = removed {
                edits::apply(root, &Change::Remove(removed.clone()))?;
                files.remove(&removed);
            }
            for directory in ancestors(&path).filter(|ancestor| !files.is_directory(ancestor)) {
                edits::apply(root, &Change::Make(directory.into(), Node::Directory))?;
            }
            files.make_parents(&path);
            edits::apply(root, &Change::Make(path.clone(), node.clone()))?;
            if let (Some(bits), Node::File { .. }) = (present_bits.or(*recorded_bits), node) {
                edits::apply(root, &Change::SetPermissions(path.clone(), bits))?;
            }
            files.insert(&path, node.clone());
        }
        Ok(())
    }

    /// Removes those of the paths that still exist.
    fn remove(&self, mut paths: impl Iterator<Item = ByteString>) -> io::Result<()> {
        let root = self.sandbox.root();
        paths.try_for_each(|path| match edits::apply(root, &Change::Remove(path)) {
            Err(error)
                if error.kind() != io::ErrorKind::NotFound
                    && error.kind() != io::ErrorKind::NotADirectory =>
            {
                Err(error)
            }
            _ => Ok(()),
        })
    }
}
