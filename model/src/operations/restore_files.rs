//! Judges what a restore does to files apart from their content: whether it rewrites files that need no
//! change, and what it does to permissions and hard links.
//!
//! The evidence is the file system before and after the restore. The permissions that a file had when it
//! was captured are known only for checkpoints whose capture was observed.

use super::restore_outcome::RestoreOutcome;
use crate::bytes::{ByteString, ancestors, below, join};
use crate::files::Node;
use crate::observation::{Names, Observation};
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use std::collections::BTreeSet;

/// The permissions of group and others.
const OPEN: u32 = 0o077;
/// The permissions of group and others for a folder that all may read and enter.
const OPEN_FOLDER: u32 = 0o055;
/// The permissions of group and others to enter a folder.
const ENTER: u32 = 0o011;
/// All permissions except the right to execute.
const NOT_EXECUTE: u32 = 0o666;

/// Compares what a restore did to files apart from their content.
pub(super) fn compare(outcome: &RestoreOutcome<'_>, seen: &Observation, checks: &mut Checks) {
    untouched(outcome, seen, checks);
    let restored = outcome.recorded().map(|(path, _)| path);
    let restored = restored.filter(|path| outcome.changed(path) && outcome.is_as_recorded(path));
    let folders: BTreeSet<&[u8]> =
        restored.flat_map(|path| std::iter::once(&b""[..]).chain(ancestors(path))).collect();
    for folder in folders {
        folder_permissions(outcome, seen, folder, checks);
    }
    for (path, _) in outcome.recorded() {
        permissions(outcome, seen, path, checks);
        if other_names(&seen.names.0, &outcome.full(path)).next().is_some() && outcome.changed(path)
        {
            checks.held(&rules::RESTORE_HARD_LINKS, 1);
        }
    }
}

/// Implements [`rules::RESTORE_UNTOUCHED`].
fn untouched(outcome: &RestoreOutcome<'_>, seen: &Observation, checks: &mut Checks) {
    let is_untouched = |path: &ByteString| {
        let is_unchanged = outcome.node_before(path) == outcome.node_after(path);
        let was_recorded = is_unchanged && outcome.is_as_recorded(path);
        was_recorded && !outcome.is_of_restored_unit(path)
    };
    let found = seen.rewritten.iter().find(|(full, _)| {
        below(&outcome.allowed.project, full)
            .map(ByteString::from)
            .as_ref()
            .is_some_and(is_untouched)
    });
    if found.is_none() && !outcome.allowed.target.tree.keys().any(is_untouched) {
        return;
    }
    checks.check(Judge::Disk, &rules::RESTORE_UNTOUCHED, found.is_none(), || {
        let (path, change) =
            found.map(|(path, change)| (path.clone(), *change)).unwrap_or_default();
        let expected = format!("{path}, which was as recorded, unchanged");
        Mismatch::new(format!("another {change}"), expected, format!("{path}: another {change}"))
    });
}

/// Implements [`rules::RESTORE_PERMISSIONS`].
fn permissions(
    outcome: &RestoreOutcome<'_>,
    seen: &Observation,
    path: &ByteString,
    checks: &mut Checks,
) {
    let full = outcome.full(path);
    let is_restored = outcome.changed(path) && outcome.is_as_recorded(path);
    let Some(current) = seen.files.permissions(&full).filter(|_| is_restored) else { return };
    let (holds, symptom, expected) = match outcome.node_before(path) {
        Some(Node::File { readable: true, .. }) => {
            let before = outcome.world.files.permissions(&full).unwrap_or(current);
            let changed = (current ^ before) & NOT_EXECUTE;
            let holds = changed & !(before & closed(outcome, path)) == 0;
            (holds, "a replaced file has other permissions", before)
        }
        // An unreadable file must not be replaced, which another rule covers.
        Some(Node::File { .. }) => return,
        _ => {
            let Some(captured) = outcome.allowed.target.permissions.get(path) else { return };
            (current & OPEN & !captured == 0, "a file has wider permissions", *captured)
        }
    };
    checks.check(Judge::Disk, &rules::RESTORE_PERMISSIONS, holds, || {
        Mismatch::new(symptom, format!("{path}: {expected:03o}"), format!("{path}: {current:03o}"))
    });
}

/// The permissions of group and others that a file did not give them when it was captured, since it or a folder above
/// it was closed to them. None if that is not known.
fn closed(outcome: &RestoreOutcome<'_>, path: &[u8]) -> u32 {
    let target = &outcome.allowed.target;
    let Some(captured) = target.permissions.get(path) else { return 0 };
    let by_folder = |folder| {
        let bits = target.folder_permissions(folder).unwrap_or(OPEN_FOLDER);
        (ENTER & !bits) * 0o7
    };
    let folders = std::iter::once(&b""[..]).chain(ancestors(path));
    folders.map(by_folder).fold(OPEN & !captured, |closed, bits| closed | bits)
}

/// Judges a folder above a restored path.
///
/// Implements [`rules::RESTORE_FOLDER_PERMISSIONS`].
fn folder_permissions(
    outcome: &RestoreOutcome<'_>,
    seen: &Observation,
    folder: &[u8],
    checks: &mut Checks,
) {
    let full = match folder {
        b"" => outcome.allowed.project.clone(),
        _ => outcome.full(folder),
    };
    let captured = outcome.allowed.target.folder_permissions(folder);
    let (Some(current), Some(captured)) = (seen.files.folder_permissions(&full), captured) else {
        return;
    };
    let before = outcome.world.files.folder_permissions(&full).unwrap_or_default();
    let allowed = captured | before;
    let holds = current & OPEN & !allowed == 0;
    // A folder that all users could enter, as with the default permissions, shows nothing.
    if holds && allowed & OPEN_FOLDER == OPEN_FOLDER {
        return;
    }
    checks.check(Judge::Disk, &rules::RESTORE_FOLDER_PERMISSIONS, holds, || {
        let shown = |bits: u32| match folder {
            b"" => format!("the project: {bits:03o}"),
            _ => format!("{}: {bits:03o}", ByteString::from(folder)),
        };
        Mismatch::new("a folder has wider permissions", shown(captured), shown(current))
    });
}

/// Blames the changes of a restored file's other names on the restore, where they are names of one file
/// before and afterwards: then the file was written in place.
///
/// Implements [`rules::RESTORE_HARD_LINKS`].
pub(super) fn blame_other_names(
    outcome: &RestoreOutcome<'_>,
    seen: &Observation,
    broken: &mut Vec<(RuleRef, ByteString)>,
) {
    let has_restored_name = |path: &ByteString| {
        let is_still_name = |name: &&ByteString| {
            other_names(&seen.names.1, path).any(|other_name| other_name == *name)
        };
        let is_restored = |name: &ByteString| {
            let relative = below(&outcome.allowed.project, name).map(ByteString::from);
            relative.is_some_and(|name| {
                let recorded = outcome.allowed.target.tree.contains_key(&name);
                recorded && outcome.is_requested(&name) && outcome.is_as_recorded(&name)
            })
        };
        other_names(&seen.names.0, path).filter(is_still_name).any(is_restored)
    };
    // The rule is about bytes, and a file has one set of permissions under all its names.
    let content = |node: Option<&Node>| match node {
        Some(Node::File { content, .. }) => Some(content.clone()),
        _ => None,
    };
    let files = &outcome.world.files;
    let keeps_bytes = |path: &ByteString| content(files.get(path)) == content(seen.files.get(path));
    broken.retain(|(_, path)| {
        !(has_restored_name(path) && keeps_bytes(path)) || outcome.is_restorable(path)
    });
    for (rule, path) in broken {
        if has_restored_name(path) && !keeps_bytes(path) {
            *rule = &rules::RESTORE_HARD_LINKS;
        }
    }
}

/// The other names of a file that has several.
fn other_names<'a>(names: &'a Names, path: &ByteString) -> impl Iterator<Item = &'a ByteString> {
    names.get(path).into_iter().flatten()
}

impl RestoreOutcome<'_> {
    /// A path of the project, relative to the world's root.
    fn full(&self, path: &[u8]) -> ByteString {
        ByteString::from(join(&self.allowed.project, path))
    }

    /// Whether a path of the world is recorded and requested.
    fn is_restorable(&self, full: &[u8]) -> bool {
        let relative = below(&self.allowed.project, full).map(ByteString::from);
        relative.is_some_and(|path| {
            self.allowed.target.tree.contains_key(&path) && self.is_requested(&path)
        })
    }
}
