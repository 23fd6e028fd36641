//! Which requests of a history are made of an implementation that lacks some capabilities.
//!
//! An operation is replaced by the closest one that the implementation is capable of; if there is
//! none, it is left out. Neither is a verdict, and neither changes how a capability is judged.
//! Operations that could harm the machine are left out for everybody.

use super::capabilities::Capabilities;
use super::known::{INJECTION, MEASUREMENT};
use crate::database;
use crate::history::{Event, Injection, Operation, Target, concrete};
use herma_model::request::{About, Effect};
use herma_model::target::begins_with;
use herma_model::{ByteString, Edit, Request, World};

/// The directories that are projects from the start.
const PROJECTS: [&[u8]; 2] = [b"work/alpha", b"work/beta"];

/// The operations that replace one operation, in this state of the world.
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
        Operation::Event(Event::Inject(injection)) if capabilities.has(INJECTION) => {
            let each = |one: &Operation| asked_for(capabilities, one, world).pop();
            let meanwhile: Vec<Operation> = injection.meanwhile.iter().filter_map(each).collect();
            let injection = Injection { meanwhile, ..injection.clone() };
            let is_possible = injection.is_possible().is_ok();
            is_possible.then(|| Event::Inject(injection).into()).into_iter().collect()
        }
        Operation::Event(Event::Inject(_)) => Vec::new(),
        Operation::Event(Event::Measure) => kept(capabilities.has(MEASUREMENT)),
        Operation::Event(Event::Database(write)) => {
            let edit = Edit::Remove { path: write.path.clone() };
            // Real databases need a program that writes them, too.
            let is_asked = capabilities.has("capture.units") && database::is_available();
            kept(is_asked && is_offered(capabilities, &edit))
        }
        Operation::Event(Event::Store(what)) => {
            use crate::history::StoreEvent::{File, Ref, Stored};
            let is_damage = matches!(what, Stored { .. } | Ref { .. } | File { .. });
            let may = if is_damage { "test.damage" } else { "test.store" };
            kept(capabilities.has(may) && capabilities.has("layout"))
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
    let seen = (kind.about, kind.effect) != (About::Store, Effect::Stores);
    let needs = kind.capability.map(|(needed, _)| needed).into_iter().chain(request.also_needs());
    // Nobody comes back from a sub-agent that there is not.
    let is_alone = request == Request::Join && !world.has_parent();
    if !needs.into_iter().all(|needed| capabilities.has(needed))
        || is_alone
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
        // Without manual checkpoints, an automatic one is taken in a turn of its own.
        Request::Checkpoint { reason, .. } if !capabilities.has("checkpoint") => {
            let ensure = Request::EnsureCheckpoint { dir, reason: std::mem::take(reason) };
            let ensured = capabilities.has("ensure_checkpoint");
            return if ensured { vec![Request::NewTurn, ensure] } else { Vec::new() };
        }
        _ => {}
    }
    vec![request]
}

/// Whether a directory lies in the sandbox. No subject is asked to write outside it, even where it
/// must refuse: one that does not refuse would write to the machine that this runs on.
fn is_inside(dir: &ByteString, world: &World) -> bool {
    world.canonical(&concrete::typed(dir, world)).is_some()
}

/// Whether an edit respects what the subject depends on.
fn is_offered(capabilities: &Capabilities, edit: &Edit) -> bool {
    let is_avoided = |path: &ByteString| {
        let mut names = path.split(|byte| *byte == b'/');
        // Removing a project would remove the store in it.
        let holds_store = capabilities.store_folder().is_some() && names.clone().count() < 3;
        holds_store || names.any(|name| capabilities.avoids(name))
    };
    let can_be_made = match edit {
        Edit::MakeSpecial { .. } => capabilities.has("files.special"),
        Edit::SetReadable { .. } => capabilities.has("files.unreadable"),
        _ => true,
    };
    can_be_made && !edit.paths().into_iter().any(is_avoided)
}

/// The directory as it may be given to the subject; `None` if the subject cannot be asked about it.
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

/// Spells a target as it may be given to the subject; returns whether it may be used at all.
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
        // Text that could be a number or the digits of an id means something else to each subject.
        Target::Text(text)
            if !(capabilities.has("target.number") && capabilities.has("target.short")) =>
        {
            text.is_empty() || !text.iter().all(u8::is_ascii_hexdigit)
        }
        _ => true,
    }
}

/// Whether no rule leaves open what a whole id means: it may be the beginning of another one, which
/// is as good as its name only where short ids are.
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
    let longer = |id: &String| begins_with(id, &text) && *id != text;
    let listed = world.listed(&project);
    listed.iter().any(|one| one.id == text) || !listed.iter().any(|one| longer(&one.id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_edit_reaches_the_store_of_a_project_or_a_name_that_is_avoided() {
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
