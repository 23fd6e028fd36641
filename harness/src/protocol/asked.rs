//! What of a history is put to an implementation that does not claim everything.
//!
//! What comes closest among what is claimed stands in an operation's place; where nothing does,
//! the operation is left out. That is never a verdict, and never changes what a claim is judged by.
//! What could harm the machine is left out for everybody.

use super::capabilities::Capabilities;
use crate::history::{Operation, Target, concrete};
use herma_model::{ByteString, Edit, World};

/// The directories that are projects from the start.
const PROJECTS: [&[u8]; 2] = [b"work/alpha", b"work/beta"];

/// What is asked for in the place of one operation, in this state of the world.
pub fn asked_for(
    capabilities: &Capabilities,
    operation: &Operation,
    world: &World,
) -> Vec<Operation> {
    let kept = match operation {
        Operation::ProjectOf { .. } => capabilities.has("project_of"),
        Operation::Ensure { .. } => capabilities.has("ensure_checkpoint"),
        Operation::Diff { .. } => capabilities.has("diff"),
        Operation::RestoreFile { .. } => capabilities.has("restore.file"),
        Operation::RestoreEach { .. } => capabilities.has("restore.exact"),
        Operation::Advance { .. } => capabilities.has("test.clock"),
        Operation::Edit(edit) => is_offered(capabilities, edit),
        // What comes of these is seen by looking at the store alone.
        Operation::Sweep => capabilities.has("sweep") && capabilities.has("layout"),
        Operation::Prune { .. } => capabilities.has("prune") && capabilities.has("layout"),
        Operation::Status => capabilities.has("status"),
        Operation::Clear | Operation::ClearLegacy => {
            capabilities.has("clear") && capabilities.has("layout")
        }
        Operation::Store(_) => capabilities.has("test.store") && capabilities.has("layout"),
        _ => true,
    };
    if !kept {
        return Vec::new();
    }
    let mut operation = operation.clone();
    let writes = matches!(
        operation,
        Operation::Restore { .. } | Operation::RestoreFile { .. } | Operation::RestoreEach { .. }
    );
    if let Some(dir) = dir_of(&mut operation) {
        // Nobody is asked to write outside the sandbox, however surely it would be refused: whoever
        // does not refuse it writes to the machine that this runs on.
        if writes && world.canonical(&concrete::typed(dir, world)).is_none() {
            return Vec::new();
        }
        match directory(capabilities, dir, world) {
            Some(spelled) => *dir = spelled,
            None => return Vec::new(),
        }
    }
    let dir = dir_of(&mut operation).cloned().unwrap_or_default();
    if let Some(target) = target_of(&mut operation)
        && !restrict_target(capabilities, target, &dir)
    {
        return Vec::new();
    }
    match operation {
        Operation::Prune { retention_days, max_total_bytes, delete_orphans } => {
            let bounded = capabilities.has("settings.max_total_bytes");
            let max_total_bytes = if bounded { max_total_bytes } else { 0 };
            vec![Operation::Prune { retention_days, max_total_bytes, delete_orphans }]
        }
        // Who cannot be asked by hand takes one in a turn of its own.
        Operation::Checkpoint { dir, reason } if !capabilities.has("checkpoint") => {
            let ensured = capabilities.has("ensure_checkpoint");
            let own = ensured.then_some(Operation::Ensure { dir, reason });
            own.map_or(Vec::new(), |ensure| vec![Operation::NewTurn, ensure])
        }
        Operation::Restore { dir, target, exact, force } => vec![Operation::Restore {
            dir,
            target,
            // Who always removes what was created since can be asked for nothing else.
            exact: capabilities.has("restore.exact")
                && (exact || !capabilities.has("restore.leaves_new")),
            force: force && capabilities.has("restore.force"),
        }],
        operation => vec![operation],
    }
}

/// Whether an edit leaves the subject what it may count on.
fn is_offered(capabilities: &Capabilities, edit: &Edit) -> bool {
    let in_repository = |path: &ByteString| {
        let names_one = path.split(|byte| *byte == b'/').any(|name| name == b".git");
        // A project that goes takes its repository with it.
        names_one || path.split(|byte| *byte == b'/').count() < 3
    };
    let paths: Vec<&ByteString> = match edit {
        Edit::MakeSpecial { .. } if !capabilities.has("files.special") => return false,
        Edit::SetReadable { .. } if !capabilities.has("files.unreadable") => return false,
        Edit::Rename { from, to } => vec![from, to],
        Edit::Write { path, .. }
        | Edit::Remove { path }
        | Edit::MakeDirectory { path }
        | Edit::Link { path, .. }
        | Edit::MakeSpecial { path }
        | Edit::SetReadable { path, .. } => vec![path],
    };
    !capabilities.needs_repository() || !paths.into_iter().any(in_repository)
}

fn dir_of(operation: &mut Operation) -> Option<&mut ByteString> {
    match operation {
        Operation::Ensure { dir, .. }
        | Operation::Checkpoint { dir, .. }
        | Operation::List { dir }
        | Operation::Diff { dir, .. }
        | Operation::Restore { dir, .. }
        | Operation::RestoreEach { dir }
        | Operation::RestoreFile { dir, .. } => Some(dir),
        _ => None,
    }
}

fn target_of(operation: &mut Operation) -> Option<&mut Target> {
    match operation {
        Operation::Diff { target, .. }
        | Operation::Restore { target, .. }
        | Operation::RestoreFile { target, .. } => Some(target),
        _ => None,
    }
}

/// The directory as the subject may be told it; none where it may not be asked about it.
fn directory(capabilities: &Capabilities, dir: &ByteString, world: &World) -> Option<ByteString> {
    let canonical = world.canonical(&concrete::typed(dir, world));
    if !capabilities.has("scope.refusals")
        && !canonical.as_ref().is_some_and(|path| world.may_be_project(path))
    {
        return None;
    }
    if !capabilities.has("project.any_directory")
        && !canonical.as_ref().is_some_and(|path| PROJECTS.contains(&&path[..]))
    {
        return None;
    }
    if capabilities.has("project.spellings") { Some(dir.clone()) } else { canonical }
}

/// Spells a target as the subject may be told it; answers whether it may at all.
fn restrict_target(capabilities: &Capabilities, target: &mut Target, dir: &ByteString) -> bool {
    if let Target::Number(number @ 1..) = *target
        && !capabilities.has("target.number")
    {
        *target = Target::Id { of: dir.clone(), back: number as usize - 1, digits: usize::MAX };
    }
    if let Target::Id { digits, .. } = target
        && !capabilities.has("target.short")
    {
        *digits = usize::MAX;
    }
    match target {
        Target::Number(_) => capabilities.has("target.number"),
        // What could be digits of an id or a number means something else to everyone.
        Target::Text(text)
            if !(capabilities.has("target.number") && capabilities.has("target.short")) =>
        {
            text.is_empty() || !text.iter().all(u8::is_ascii_hexdigit)
        }
        _ => true,
    }
}
