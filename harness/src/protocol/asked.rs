//! Adapts the operations of a history to an implementation that lacks some capabilities.
//!
//! An operation is replaced by the closest operation that the implementation is capable of; if there is
//! none, it is left out. Neither counts as a verdict, and neither changes how the claimed capabilities are
//! judged. Operations that could harm the machine are left out for every implementation.

use super::capabilities::Capabilities;
use super::known::{INJECTION, MEASUREMENT};
use super::own_ignore_file::renamed;
use crate::database;
use crate::history::{Event, Injection, Operation, StoreEvent, Target, concrete};
use herma_model::request::{About, Effect};
use herma_model::target::begins_with;
use herma_model::{ByteString, Edit, Request, World};

/// The projects that exist from the start.
const PROJECTS: [&[u8]; 2] = [b"work/alpha", b"work/beta"];

/// The operations that replace one operation, in this state of the world.
pub fn supported_operations(
    capabilities: &Capabilities,
    operation: &Operation,
    world: &World,
) -> Vec<Operation> {
    let renamed = capabilities.own_ignore_file().map(|name| renamed(operation, name));
    let operation = renamed.as_ref().unwrap_or(operation);
    let keep_if = |is_kept: bool| if is_kept { vec![operation.clone()] } else { Vec::new() };
    match operation {
        Operation::Ask(request) => {
            let requests = requests(capabilities, request.clone(), world);
            requests.into_iter().map(Operation::Ask).collect()
        }
        Operation::Edit(edit) => keep_if(is_offered(capabilities, edit)),
        Operation::Event(Event::Advance { .. }) => keep_if(capabilities.has("test.clock")),
        Operation::Event(Event::Inject(injection)) if capabilities.has(INJECTION) => {
            let each =
                |operation: &Operation| supported_operations(capabilities, operation, world).pop();
            let meanwhile: Vec<Operation> = injection.meanwhile.iter().filter_map(each).collect();
            let injection = Injection { meanwhile, ..injection.clone() };
            let is_possible = injection.is_possible().is_ok();
            is_possible.then(|| Event::Inject(injection).into()).into_iter().collect()
        }
        Operation::Event(Event::Inject(_)) => Vec::new(),
        Operation::Event(Event::Measure) => keep_if(capabilities.has(MEASUREMENT)),
        Operation::Event(Event::Database(write)) => {
            let edit = Edit::Remove { path: write.path.clone() };
            // Real databases need a program that writes them, too.
            let has_databases = capabilities.has("capture.units") && database::is_available();
            keep_if(has_databases && is_offered(capabilities, &edit))
        }
        Operation::Event(Event::Store(StoreEvent::AnyFile { .. })) => {
            keep_if(capabilities.has("test.damage") && !capabilities.has("layout"))
        }
        Operation::Event(Event::Store(event)) => {
            use StoreEvent::{File, Ref, Stored};
            let is_damage = matches!(event, Stored { .. } | Ref { .. } | File { .. });
            let needed = if is_damage { "test.damage" } else { "test.store" };
            keep_if(capabilities.has(needed) && capabilities.has("layout"))
        }
        Operation::Event(Event::RestoreEach { dir }) => {
            let offered = capabilities.has("restore.exact") && is_inside(dir, world);
            let dir = offered.then(|| directory(capabilities, dir, world)).flatten();
            dir.map(|dir| Event::RestoreEach { dir }.into()).into_iter().collect()
        }
    }
}

/// The requests that replace one request.
fn requests(
    capabilities: &Capabilities,
    mut request: Request<Target>,
    world: &World,
) -> Vec<Request<Target>> {
    let kind = request.kind();
    // A change to the store can only be observed in the store itself.
    let is_observable = (kind.about, kind.effect) != (About::Store, Effect::Stores);
    let needs = kind.capability.map(|(needed, _)| needed).into_iter().chain(request.also_needs());
    // Only a sub-agent can return to its parent.
    let has_no_parent = request == Request::Join && !world.has_parent();
    if !needs.into_iter().all(|needed| capabilities.has(needed))
        || has_no_parent
        || !(is_observable || capabilities.has("layout"))
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
        && !(restrict_target(capabilities, target, &dir)
            && is_unambiguous(capabilities, target, &dir, world))
    {
        return Vec::new();
    }
    match &mut request {
        Request::Prune { max_total_bytes, .. } => {
            *max_total_bytes = capabilities.max_total_bytes(*max_total_bytes);
        }
        Request::Restore { exact, force, .. } => {
            // A subject that always removes files created since cannot be asked to leave them.
            *exact = capabilities.has("restore.exact")
                && (*exact || !capabilities.has("restore.leaves_new"));
            *force &= capabilities.has("restore.force");
        }
        Request::RestoreLatest { exact, .. } => {
            *exact = capabilities.has("restore.exact")
                && (*exact || !capabilities.has("restore.leaves_new"));
        }
        Request::External { compensation, .. } if !capabilities.has("external.compensate") => {
            *compensation = None;
        }
        // Without manual checkpoints, an automatic checkpoint is taken in a new turn.
        Request::Checkpoint { reason, .. } if !capabilities.has("checkpoint") => {
            let ensure = Request::EnsureCheckpoint { dir, reason: std::mem::take(reason) };
            let ensured = capabilities.has("ensure_checkpoint");
            return if ensured { vec![Request::NewTurn, ensure] } else { Vec::new() };
        }
        _ => {}
    }
    vec![request]
}

/// Whether a directory is in the sandbox. No subject is asked to write outside of it, even where it
/// must refuse: a subject that does not refuse would write to the machine that runs the suite.
fn is_inside(dir: &ByteString, world: &World) -> bool {
    world.canonical(&concrete::typed(dir, world)).is_some()
}

/// Whether an edit is possible for the subject, and does not affect a store in a project.
fn is_offered(capabilities: &Capabilities, edit: &Edit) -> bool {
    let is_avoided = |path: &ByteString| {
        let mut names = path.split(|byte| *byte == b'/');
        // Removal of a project would remove the store in it.
        let holds_store = capabilities.store_folder().is_some() && names.clone().count() < 3;
        holds_store || names.any(|name| capabilities.avoids(name))
    };
    let can_be_made = match edit {
        Edit::MakeSpecial { .. } => capabilities.has("files.special"),
        Edit::SetReadable { .. } => capabilities.has("files.unreadable"),
        // What is in such a folder was left out, which only a store can tell that records what it left out.
        Edit::SetFolderReadable { .. } => {
            capabilities.has("files.unreadable") && capabilities.has("checkpoint.left_out")
        }
        _ => true,
    };
    can_be_made && !edit.paths().into_iter().any(is_avoided)
}

/// The directory as it may be given to the subject; `None` if it must not be given.
fn directory(capabilities: &Capabilities, dir: &ByteString, world: &World) -> Option<ByteString> {
    let canonical = world.canonical(&concrete::typed(dir, world));
    if refusal_of(canonical.as_ref(), world).is_some_and(|claim| !capabilities.has(claim)) {
        return None;
    }
    if !capabilities.has("project.any_directory")
        && !canonical.as_ref().is_some_and(|path| PROJECTS.contains(&&path[..]))
    {
        return None;
    }
    if capabilities.has("project.spellings") { Some(dir.clone()) } else { canonical }
}

/// The capability to refuse a directory as a project, if it must be refused; `None` for a directory is one
/// outside the sandbox, such as the file system's root.
fn refusal_of(canonical: Option<&ByteString>, world: &World) -> Option<&'static str> {
    match canonical {
        None => Some("scope.refuses_root"),
        Some(path) if path == world.home() => Some("scope.refuses_home"),
        Some(path) => (!world.may_be_project(path)).then_some("scope.refuses_store"),
    }
}

/// Changes a target to a form that may be given to the subject; returns whether it may be used at all.
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
        // Text that could be a number or the digits of an id has a different meaning for each subject.
        Target::Text(text)
            if !(capabilities.has("target.number") && capabilities.has("target.short")) =>
        {
            text.is_empty() || !text.iter().all(u8::is_ascii_hexdigit)
        }
        _ => true,
    }
}

/// Whether the rules define what a complete id means: it may be a prefix of another id, and so also name
/// that checkpoint, but only where short ids are supported.
fn is_unambiguous(
    capabilities: &Capabilities,
    target: &Target,
    dir: &ByteString,
    world: &World,
) -> bool {
    if capabilities.has("target.short") || !matches!(target, Target::Id { .. }) {
        return true;
    }
    let project = world.canonical(&concrete::typed(dir, world)).unwrap_or_default();
    let text = concrete::spell(target, world);
    let text = String::from_utf8_lossy(&text);
    let is_longer = |id: &String| begins_with(id, &text) && *id != text;
    let listed = world.listed(&project);
    listed.iter().any(|checkpoint| checkpoint.id == text)
        || !listed.iter().any(|checkpoint| is_longer(&checkpoint.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_offered_refuses_edits_of_the_store_in_a_project_and_of_avoided_names() {
        let hello = r#"{"protocol": 1, "impl": {"name": "toy", "version": "1"},
            "store_folder": ".kept", "avoids": ["build"]}"#;
        let toy = Capabilities::of(&serde_json::from_str(hello).unwrap()).unwrap();
        for (path, offered) in [
            ("work/alpha", false),
            ("work/alpha/.kept/a", false),
            ("work/alpha/a/build", false),
            ("work/alpha/build/a", false),
            ("work/alpha/builds", true),
            ("work/alpha/.git/HEAD", true),
        ] {
            let edit = Edit::Remove { path: path.into() };
            assert_eq!(is_offered(&toy, &edit), offered, "{path}");
            assert!(is_offered(&Capabilities::none(), &edit), "{path}");
        }
    }
}
