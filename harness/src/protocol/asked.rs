//! What of a history is put to an implementation that does not claim everything.
//!
//! What comes closest among what is claimed stands in an operation's place; where nothing does,
//! the operation is left out. That is never a verdict, and never changes what a claim is judged by.
//! What could harm the machine is left out for everybody.

use super::capabilities::Capabilities;
use crate::history::{Event, Operation, Target, concrete};
use herma_model::request::{About, Effect};
use herma_model::{ByteString, Edit, Request, World};

/// The directories that are projects from the start.
const PROJECTS: [&[u8]; 2] = [b"work/alpha", b"work/beta"];

/// What is asked for in the place of one operation, in this state of the world.
pub fn asked_for(
    capabilities: &Capabilities,
    operation: &Operation,
    world: &World,
) -> Vec<Operation> {
    let kept = |kept: bool| if kept { vec![operation.clone()] } else { Vec::new() };
    match operation {
        Operation::Ask(request) => {
            let asked = requests(capabilities, request.clone(), world);
            asked.into_iter().map(Operation::Ask).collect()
        }
        Operation::Edit(edit) => kept(is_offered(capabilities, edit)),
        Operation::Event(Event::Advance { .. }) => kept(capabilities.has("test.clock")),
        Operation::Event(Event::Store(_)) => {
            kept(capabilities.has("test.store") && capabilities.has("layout"))
        }
        Operation::Event(Event::RestoreEach { dir }) => {
            let offered = capabilities.has("restore.exact") && is_inside(dir, world);
            let dir = offered.then(|| directory(capabilities, dir, world)).flatten();
            dir.map(|dir| Event::RestoreEach { dir }.into()).into_iter().collect()
        }
    }
}

/// The requests that are made in the place of one.
fn requests(
    capabilities: &Capabilities,
    mut request: Request<Target>,
    world: &World,
) -> Vec<Request<Target>> {
    let kind = request.kind();
    // What comes of a change to the store is seen by looking at the store alone.
    let seen = (kind.about, kind.effect) != (About::Store, Effect::Stores);
    if !kind.capability.is_none_or(|(needed, _)| capabilities.has(needed))
        || !(seen || capabilities.has("layout"))
    {
        return Vec::new();
    }
    if let Some(dir) = request.dir_mut() {
        if kind.effect == Effect::Writes && !is_inside(dir, world) {
            return Vec::new();
        }
        match directory(capabilities, dir, world) {
            Some(spelled) => *dir = spelled,
            None => return Vec::new(),
        }
    }
    let dir = request.dir().cloned().unwrap_or_default();
    if let Some(target) = request.target_mut()
        && !restrict_target(capabilities, target, &dir)
    {
        return Vec::new();
    }
    match &mut request {
        Request::Prune { max_total_bytes, .. } if !capabilities.has("settings.max_total_bytes") => {
            *max_total_bytes = 0;
        }
        Request::Restore { exact, force, .. } => {
            // Who always removes what was created since can be asked for nothing else.
            *exact = capabilities.has("restore.exact")
                && (*exact || !capabilities.has("restore.leaves_new"));
            *force &= capabilities.has("restore.force");
        }
        // Who cannot be asked by hand takes one in a turn of its own.
        Request::Checkpoint { reason, .. } if !capabilities.has("checkpoint") => {
            let ensure = Request::EnsureCheckpoint { dir, reason: std::mem::take(reason) };
            let ensured = capabilities.has("ensure_checkpoint");
            return if ensured { vec![Request::NewTurn, ensure] } else { Vec::new() };
        }
        _ => {}
    }
    vec![request]
}

/// Whether a directory lies in the sandbox. Nobody is asked to write outside it, however surely that
/// would be refused: whoever does not refuse it writes to the machine that this runs on.
fn is_inside(dir: &ByteString, world: &World) -> bool {
    world.canonical(&concrete::typed(dir, world)).is_some()
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
