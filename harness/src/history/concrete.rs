//! From a symbolic operation to the concrete request a subject is asked, with what the model
//! knows of the world so far.

use super::{DatabaseWrite, Event, Injection, Operation, StoreEvent, Target};
use crate::git_objects;
use herma_model::store_edit::Likeness;
use herma_model::world::Checkpoint;
use herma_model::{ByteString, Edit, Node, Request, StoreEdit, World};
use jiff::Timestamp;

/// What an operation means in a given world.
#[derive(Debug)]
pub enum Step {
    /// The runner edits files itself.
    Edit(Edit),
    /// The runner changes the store itself.
    Store(StoreEdit),
    /// A process of its own writes a database.
    Database(DatabaseWrite),
    /// Something happens while the subject is asked next.
    Inject(Injection),
    /// What the next request takes is measured.
    Measure,
    /// The subject is asked, once or several times.
    Ask(Vec<Request>),
}

/// Digits of an id that no checkpoint has, for a target that does not exist in this world.
const NOBODY: &str = "0123456789abcdef0123456789abcdef01234567";

/// The beginning of a link target that is an absolute path into the sandbox.
pub const SANDBOX: &str = "$SANDBOX";

/// Makes `operation` concrete.
pub fn step(operation: &Operation, world: &World) -> Step {
    match operation {
        Operation::Ask(request) => Step::Ask(vec![concrete(request.clone(), world)]),
        Operation::Edit(edit) => Step::Edit(located(edit, world)),
        Operation::Event(Event::Store(event)) => match store_edit(event, world) {
            Some(edit) => Step::Store(edit),
            None => Step::Ask(Vec::new()),
        },
        Operation::Event(Event::Database(database)) => Step::Database(database.clone()),
        Operation::Event(Event::Inject(injection)) => Step::Inject(injection.clone()),
        Operation::Event(Event::Measure) => Step::Measure,
        Operation::Event(Event::RestoreEach { dir }) => {
            Step::Ask(restore_each(&typed(dir, world), world))
        }
        Operation::Event(Event::Advance { seconds }) => {
            // Git knows no time before the epoch.
            let seconds = world.seconds().saturating_add(*seconds).max(0);
            Step::Ask(vec![Request::SetClock { seconds }])
        }
    }
}

/// The request as the subject gets it.
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

/// The edit with the sandbox's path filled in.
fn located(edit: &Edit, world: &World) -> Edit {
    let inside = |target: &[u8]| match target.strip_prefix(SANDBOX.as_bytes())? {
        [] => Some(world.absolute(b"")),
        [b'/', path @ ..] => Some(world.absolute(path)),
        // A name like any other.
        _ => None,
    };
    match edit {
        Edit::Link { path, target } => {
            let target = inside(target).unwrap_or_else(|| target.clone());
            Edit::Link { path: path.clone(), target }
        }
        other => other.clone(),
    }
}

/// The inverse of that: the sandbox at `root` replaced by [`SANDBOX`].
pub fn without_place(node: &Node, root: &[u8]) -> Node {
    match node {
        Node::Link { target } => match target.strip_prefix(root) {
            Some(inside) => Node::Link { target: [SANDBOX.as_bytes(), inside].concat().into() },
            None => node.clone(),
        },
        other => other.clone(),
    }
}

/// The change of the store; none where it is about what is not there.
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
                // Another second than that of any archive of a history.
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
            let (project, piece) = (project(dir), piece.clone());
            StoreEdit::Stored { project, id, piece, damage: *damage }
        }
        StoreEvent::Ref { dir, damage } => {
            StoreEdit::Ref { project: project(dir), damage: *damage }
        }
        StoreEvent::File { file, damage } => StoreEdit::File { file: *file, damage: *damage },
        StoreEvent::Collected => StoreEdit::Collected,
    })
}

/// The name of an archive that was made at that time.
fn archive(made: i64) -> String {
    let moment = Timestamp::from_second(made).unwrap_or_default();
    moment.strftime("legacy-%Y%m%d-%H%M%S").to_string()
}

fn restore_each(dir: &ByteString, world: &World) -> Vec<Request> {
    let project = world.canonical(dir).unwrap_or_default();
    let ids = world.history(&project).iter().rev().map(|one| one.id.as_str());
    ids.map(|id| Request::Restore {
        dir: dir.clone(),
        target: id.into(),
        exact: true,
        force: false,
    })
    .collect()
}

/// The path as the subject gets it.
pub fn typed(path: &ByteString, world: &World) -> ByteString {
    match &path[..] {
        [b'~', ..] | [b'/', ..] => path.clone(),
        [b'.', b'/', relative @ ..] => ByteString::from(relative),
        inside => world.absolute(inside),
    }
}

/// The target as the subject gets it.
pub fn spell(target: &Target, world: &World) -> ByteString {
    let nobody = || NOBODY.to_owned();
    let text = match target {
        Target::Text(text) => return text.clone(),
        Target::Number(number) => number.to_string(),
        Target::Id { of, back, digits } => {
            let id = checkpoint(of, *back, world).map(|checkpoint| checkpoint.id.clone());
            short(id.unwrap_or_else(nobody), *digits, world)
        }
        Target::TreeOf { of, back } => checkpoint(of, *back, world)
            .and_then(|one| one.captured.as_ref())
            .map_or_else(nobody, |one| git_objects::tree_id(&one.tree).to_string()),
        Target::BlobOf { of, back } => checkpoint(of, *back, world)
            .and_then(|one| one.captured.as_ref()?.tree.values().next().cloned())
            .map_or_else(nobody, |entry| git_objects::blob_id(entry.bytes()).to_string()),
    };
    ByteString::from(text.as_str())
}

/// The first digits of an id, such that their meaning does not depend on the id: too few digits are
/// never a number, and otherwise digits are added until they are no number and only this checkpoint
/// has them.
fn short(id: String, digits: usize, world: &World) -> String {
    const TOO_FEW: &str = "abc";
    if digits <= TOO_FEW.len() {
        return TOO_FEW[..digits].to_owned();
    }
    let others = world.histories().flat_map(|(_, all)| all.iter().map(|one| &one.id));
    let others: Vec<&String> = others.filter(|other| **other != id).collect();
    let says_one = |short: &&str| {
        !short.bytes().all(|byte| byte.is_ascii_digit())
            && !others.iter().any(|other| other.starts_with(*short))
    };
    let mut lengths = digits.min(id.len())..=id.len();
    let short = lengths.find_map(|length| id.get(..length).filter(says_one));
    short.unwrap_or(&id).to_owned()
}

fn checkpoint<'a>(of: &ByteString, back: usize, world: &'a World) -> Option<&'a Checkpoint> {
    let project = world.canonical(&typed(of, world))?;
    world.history(&project).iter().rev().nth(back)
}
