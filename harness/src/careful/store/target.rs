//! Finds what a request names: its project, its checkpoint, and the files of a single path.

use super::{CodedMessage, Store, StoredCheckpoint};
use crate::careful::snapshot::{Snapshot, snapshot_of};
use herma_model::bytes::{ancestors, below, join};
use herma_model::{ByteString, Code, Node};
use std::os::unix::ffi::OsStrExt;

const BAD_PATH: CodedMessage = (Code::BadPath, "the path leads out of the project");
const NOT_IN_CHECKPOINT: CodedMessage = (Code::NotInCheckpoint, "the checkpoint has no such path");
const IN_THE_WAY: CodedMessage = (Code::WouldOverwrite, "something else is in the way");

impl Store {
    /// The project at an absolute path, relative to the root of the sandbox.
    pub(super) fn project(&self, dir: &[u8]) -> ByteString {
        let root = self.sandbox.root().as_os_str().as_bytes();
        let rest = dir.strip_prefix(root).unwrap_or_default();
        ByteString::from(rest.strip_prefix(b"/").unwrap_or(rest))
    }

    /// The index of the checkpoint that a target names, oldest first.
    pub(super) fn index_of(
        &self,
        project: &ByteString,
        target: &[u8],
    ) -> Result<usize, CodedMessage> {
        if self.habits.checks_project_first {
            self.check_project(project)?;
        }
        let checkpoints = self.histories.get(project).map_or(&[][..], Vec::as_slice);
        let unknown_target = (self.habits.unknown_target, "there is no such checkpoint");
        let text = std::str::from_utf8(target).map_err(|_| unknown_target)?;
        if let Some(number) = text.parse::<usize>().ok().filter(|number| number.to_string() == text)
            && self.habits.can("target.number")
            && let Some(index) = number.checked_sub(1)
        {
            let numbered = checkpoints.iter().enumerate().rev();
            let mut numbered = numbered.filter(|(_, checkpoint)| self.has_number(checkpoint));
            if let Some((index, _)) = numbered.nth(index) {
                return Ok(index);
            }
        }
        let mut labelled = checkpoints
            .iter()
            .enumerate()
            .filter(|(_, checkpoint)| checkpoint.label.as_deref() == Some(text));
        if let Some((index, _)) = labelled.next() {
            let is_only = labelled.next().is_none();
            return is_only.then_some(index).ok_or((Code::AmbiguousCheckpoint, "several have it"));
        }
        if let Some(index) = checkpoints.iter().position(|checkpoint| checkpoint.id == text) {
            return Ok(index);
        }
        let is_short = self.habits.can("target.short") && text.len() >= 4;
        let has_prefix = |checkpoint: &&StoredCheckpoint| {
            let prefix = checkpoint.id.get(..text.len());
            is_short && prefix.is_some_and(|prefix| prefix.eq_ignore_ascii_case(text))
        };
        let mut found =
            checkpoints.iter().enumerate().filter(|(_, checkpoint)| has_prefix(checkpoint));
        match (found.next(), found.next()) {
            (Some((only, _)), None) => Ok(only),
            (None, _) => Err(unknown_target),
            _ => Err((Code::AmbiguousCheckpoint, "several begin so")),
        }
    }

    /// Refuses a directory that cannot be a project; a deleted directory is one if it has checkpoints.
    fn check_project(&self, project: &ByteString) -> Result<(), CodedMessage> {
        if *project == self.sandbox.layout().home {
            return Err((Code::ScopeHome, "the home is no project"));
        }
        match self.capture(project) {
            Err((Code::MissingDirectory, _)) if self.histories.contains_key(project) => Ok(()),
            captured => captured.map(drop),
        }
    }

    /// The part of a snapshot that a single path means: a file, or everything in a folder.
    pub(super) fn part(
        &self,
        project: &[u8],
        snapshot: &Snapshot,
        typed: &[u8],
    ) -> Result<Snapshot, CodedMessage> {
        let mut names: Vec<&[u8]> = Vec::new();
        if typed.is_empty() || typed.starts_with(b"/") || typed.contains(&0) {
            return Err(BAD_PATH);
        }
        let files = self.files()?;
        for name in typed.split(|byte| *byte == b'/') {
            let parent = join(project, &names.join(&b'/'));
            match name {
                b"" | b"." => {}
                b".." if matches!(files.get(&parent), Some(Node::Link { .. })) => {
                    return Err(BAD_PATH);
                }
                b".." => drop(names.pop().ok_or(BAD_PATH)?),
                name => names.push(name),
            }
        }
        let path = names.join(&b'/');
        let above = || ancestors(&path).map(|ancestor| files.get(&join(project, ancestor)));
        if path.is_empty() || above().any(|node| matches!(node, Some(Node::Link { .. }))) {
            return Err(BAD_PATH);
        }
        let is_requested = |file: &[u8]| *file == *path || below(&path, file).is_some();
        let part: Snapshot = snapshot
            .iter()
            .filter(|(file, _)| is_requested(file))
            .map(|(file, content)| (file.clone(), content.clone()))
            .collect();
        if part.is_empty() {
            return Err(NOT_IN_CHECKPOINT);
        }
        let path_in_sandbox = join(project, &path);
        let blocked = above().any(|node| !matches!(node, None | Some(Node::Directory)))
            || part.contains_key(&ByteString::from(&*path))
                && !snapshot_of(&files, &path_in_sandbox).is_empty();
        if blocked { Err(IN_THE_WAY) } else { Ok(part) }
    }
}
