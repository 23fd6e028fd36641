//! Translates symbolic operations into concrete requests, edits and events, using the world that the model
//! expects so far.

use super::{DatabaseWrite, Event, Injection, Operation, StoreEvent, Target};
use crate::git_objects::{self, KnownIds};
use herma_model::store_edit::Likeness;
use herma_model::world::Checkpoint;
use herma_model::{ByteString, Edit, Node, Request, StoreEdit, World};
use jiff::Timestamp;

/// The meaning of an operation in a given world.
#[derive(Debug)]
pub enum ConcreteStep {
    /// The runner edits files.
    Edit(Edit),
    /// The runner changes the store.
    Store(StoreEdit),
    /// A separate process writes a database.
    Database(DatabaseWrite),
    /// The next request gets an injection.
    Inject(Injection),
    /// The cost of the next request is measured.
    Measure,
    /// The subject gets these requests.
    Ask(Vec<Request>),
}

/// An id that no checkpoint has, for a target that does not exist in this world.
const UNUSED_ID: &str = "0123456789abcdef0123456789abcdef01234567";

/// The beginning of a link target that is an absolute path into the sandbox.
pub const SANDBOX: &str = "$SANDBOX";

/// The concrete step of an operation.
pub fn step(operation: &Operation, world: &World) -> ConcreteStep {
    match operation {
        Operation::Ask(request) => ConcreteStep::Ask(vec![concrete(request.clone(), world)]),
        Operation::Edit(edit) => ConcreteStep::Edit(located(edit, world)),
        Operation::Event(Event::Store(event)) => match store_edit(event, world) {
            Some(edit) => ConcreteStep::Store(edit),
            None => ConcreteStep::Ask(Vec::new()),
        },
        Operation::Event(Event::Database(database)) => ConcreteStep::Database(database.clone()),
        Operation::Event(Event::Inject(injection)) => ConcreteStep::Inject(injection.clone()),
        Operation::Event(Event::Measure) => ConcreteStep::Measure,
        Operation::Event(Event::RestoreEach { dir }) => {
            ConcreteStep::Ask(restore_each(&typed(dir, world), world))
        }
        Operation::Event(Event::Advance { seconds }) => {
            // Git knows no time before the epoch.
            let seconds = world.seconds().saturating_add(*seconds).max(0);
            ConcreteStep::Ask(vec![Request::SetClock { seconds }])
        }
    }
}

/// The concrete request of a symbolic one.
fn concrete(mut request: Request<Target>, world: &World) -> Request {
    if let Request::ProjectOf { file: path } | Request::BeforeTool { dir: path, .. } = &mut request
    {
        *path = typed(path, world);
    }
    if let Request::External { compensation: Some(compensation), .. } = &mut request {
        compensation.log = typed(&compensation.log, world);
    }
    if let Some(dir) = request.dir_mut() {
        *dir = typed(dir, world);
    }
    request.with_target(|target| spell(&target, world))
}

/// The edit with [`SANDBOX`] replaced by the path of the sandbox.
fn located(edit: &Edit, world: &World) -> Edit {
    let inside = |target: &[u8]| match target.strip_prefix(SANDBOX.as_bytes())? {
        [] => Some(world.absolute(b"")),
        [b'/', path @ ..] => Some(world.absolute(path)),
        // An ordinary name.
        _ => None,
    };
    match edit {
        Edit::Link { path, target } => {
            let target = inside(target).unwrap_or_else(|| target.clone());
            Edit::Link { path: path.clone(), target }
        }
        edit => edit.clone(),
    }
}

/// The node with the path of the sandbox, `root`, replaced by [`SANDBOX`].
pub fn with_sandbox_placeholder(node: &Node, root: &[u8]) -> Node {
    match node {
        Node::Link { target } => match target.strip_prefix(root) {
            Some(inside) => Node::Link { target: [SANDBOX.as_bytes(), inside].concat().into() },
            None => node.clone(),
        },
        node => node.clone(),
    }
}

/// The concrete change of the store; `None` if it concerns a checkpoint that does not exist.
fn store_edit(event: &StoreEvent, world: &World) -> Option<StoreEdit> {
    let project = |dir: &ByteString| world.canonical(&typed(dir, world)).unwrap_or_default();
    let ago = |days: u16| (world.seconds() - i64::from(days) * 24 * 60 * 60).max(0);
    Some(match event {
        StoreEvent::Repository { dir, days } => {
            let project = project(dir);
            StoreEdit::Repository { name: world.hash(&project), project, changed: ago(*days) }
        }
        StoreEvent::Archive { days } => {
            StoreEdit::Archive { name: archive(ago(*days)), made: ago(*days) }
        }
        StoreEvent::Stray => StoreEdit::Stray { name: "notes.txt".into() },
        StoreEvent::Lookalike { of, days } => {
            let changed = ago(*days);
            let name = match of {
                Likeness::Name => "legacy-photos".into(),
                // No archive of a history has this second in its name.
                Likeness::Archive => archive(changed + 1),
                Likeness::Repository => "mirror".into(),
                Likeness::Leftover => ".removing-photos".into(),
            };
            StoreEdit::Lookalike { name, of: *of, changed }
        }
        StoreEvent::Metadata { dir, damage } => {
            StoreEdit::Metadata { project: project(dir), damage: *damage }
        }
        StoreEvent::Index { dir, damage } => {
            StoreEdit::Index { project: project(dir), damage: *damage }
        }
        StoreEvent::Marker { hours } => {
            let says = hours.map(|hours| world.seconds() - i64::from(hours) * 60 * 60);
            StoreEdit::Marker { says }
        }
        StoreEvent::Stored { dir, back, piece, damage } => {
            let id = checkpoint(dir, *back, world)?.id.clone();
            let project = project(dir);
            StoreEdit::Stored { project, id, piece: piece.clone(), damage: *damage }
        }
        StoreEvent::Ref { dir, damage } => {
            StoreEdit::Ref { project: project(dir), damage: *damage }
        }
        StoreEvent::File { file, damage } => StoreEdit::File { file: *file, damage: *damage },
        StoreEvent::AnyFile { part, damage } => StoreEdit::AnyFile { part: *part, damage: *damage },
        StoreEvent::Collected => StoreEdit::Collected,
    })
}

/// The name of an archive that was made at that time, in seconds.
fn archive(made: i64) -> String {
    let moment = Timestamp::from_second(made).unwrap_or_default();
    moment.strftime("legacy-%Y%m%d-%H%M%S").to_string()
}

fn restore_each(dir: &ByteString, world: &World) -> Vec<Request> {
    let project = world.canonical(dir).unwrap_or_default();
    let ids = world.history(&project).iter().rev().map(|checkpoint| checkpoint.id.as_str());
    ids.map(|id| Request::Restore {
        dir: dir.clone(),
        target: id.into(),
        exact: true,
        force: false,
    })
    .collect()
}

/// The concrete path of a symbolic one.
pub fn typed(path: &ByteString, world: &World) -> ByteString {
    match &path[..] {
        [b'~', ..] | [b'/', ..] => path.clone(),
        [b'.', b'/', relative @ ..] => ByteString::from(relative),
        inside => world.absolute(inside),
    }
}

/// The concrete target of a symbolic one.
pub fn spell(target: &Target, world: &World) -> ByteString {
    let unused_id = || UNUSED_ID.to_owned();
    let text = match target {
        Target::Text(text) => return text.clone(),
        Target::Number(number) => number.to_string(),
        Target::Id { of, back, digits } => {
            let id = checkpoint(of, *back, world).map(|checkpoint| checkpoint.id.clone());
            short(id.unwrap_or_else(unused_id), *digits, world)
        }
        Target::TreeOf { of, back } => checkpoint(of, *back, world)
            .and_then(|checkpoint| checkpoint.captured.as_ref())
            .map_or_else(unused_id, |captured| {
                git_objects::tree_id(&captured.tree, &KnownIds::default()).to_string()
            }),
        Target::BlobOf { of, back } => checkpoint(of, *back, world)
            .and_then(|checkpoint| checkpoint.captured.as_ref()?.tree.values().next().cloned())
            .map_or_else(unused_id, |entry| git_objects::blob_id(entry.bytes()).to_string()),
    };
    ByteString::from(text.as_str())
}

/// The first digits of an id, with a meaning that does not depend on the id: too few digits are replaced by
/// letters, and otherwise digits are added until they are not a number and only this checkpoint has them.
fn short(id: String, digits: usize, world: &World) -> String {
    const TOO_FEW: &str = "abc";
    if digits <= TOO_FEW.len() {
        return TOO_FEW[..digits].to_owned();
    }
    let ids = world
        .histories()
        .flat_map(|(_, checkpoints)| checkpoints.iter().map(|checkpoint| &checkpoint.id));
    let other_ids: Vec<&String> = ids.filter(|candidate| **candidate != id).collect();
    let is_unambiguous = |short: &&str| {
        !short.bytes().all(|byte| byte.is_ascii_digit())
            && !other_ids.iter().any(|other_id| other_id.starts_with(*short))
    };
    let mut lengths = digits.min(id.len())..=id.len();
    let short = lengths.find_map(|length| id.get(..length).filter(is_unambiguous));
    short.unwrap_or(&id).to_owned()
}

fn checkpoint<'a>(of: &ByteString, back: usize, world: &'a World) -> Option<&'a Checkpoint> {
    let project = world.canonical(&typed(of, world))?;
    world.history(&project).iter().rev().nth(back)
}
