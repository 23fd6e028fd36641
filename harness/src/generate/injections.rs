//! Injections into a call of a checkpoint, a restore or a maintenance request, and requests that show the
//! effect.
//!
//! Injections are rare, because each may require a second run: only one in a few histories has any. These
//! fragments are generated separately, so that all other histories do not change.

use super::content::SizeLimits;
use super::damage::follow_up;
use super::idiom::{self, PRUNE, ProjectFile, checkpoint, once_in, prune, restore, write};
use super::names;
use crate::history::{
    CallPosition, Event, InjectedEvent, Injection, Operation, PowerLoss, StoreEvent, Target,
};
use herma_model::{ByteString, Edit, Request};
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A few fragments, each with its position in the history, in one history of `one_in`.
pub fn fragments(limits: SizeLimits, one_in: u32) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let fragment = prop_oneof![4 => fragment(limits), 2 => edited(limits), 1 => overlapped(limits)];
    let fragments = prop::collection::vec((any::<Index>(), fragment), 1..=3).boxed();
    once_in(one_in, fragments)
}

/// Fragments about a packed store. They were added later and are generated separately, so that nothing else
/// changes.
pub fn fragments_with_packs(
    limits: SizeLimits,
    one_in: u32,
) -> BoxedStrategy<Vec<(Index, Vec<Operation>)>> {
    let fragments = (any::<Index>(), killed_prunes(limits)).prop_map(|fragment| vec![fragment]);
    // Much rarer than other injections: taking over git's lock from a killed process takes seconds.
    once_in(2 * one_in * one_in, fragments)
}

/// A generated effect at a generated call. Most requests make few calls, some of the core a hundred.
fn injection() -> BoxedStrategy<Injection> {
    let effect = select(InjectedEvent::ALONE.to_vec());
    let call =
        prop_oneof![3 => 1..=8u64, 3 => 1..=40u64, 2 => 1..=120u64].prop_map(CallPosition::Call);
    let at_end = Just(CallPosition::End);
    (effect, prop_oneof![3 => call, 1 => at_end])
        .prop_map(|(effect, call)| {
            let is_possible = effect.ends_process() || call != CallPosition::End;
            let call = if is_possible { call } else { CallPosition::Call(1) };
            // Before the end, this power loss has the effect of another one at an earlier call.
            let at_end = effect == InjectedEvent::PowerLoss(PowerLoss::Nothing);
            Injection::new(if at_end { CallPosition::End } else { call }, effect)
        })
        .boxed()
}

/// Takes a checkpoint of a file and changes it, injects into a request, and shows the effect.
fn fragment(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    (idiom::project_file(limits), injection(), 0..13usize, follow_up())
        .prop_map(|(project_file, injection, request, follow_up)| {
            let ProjectFile { project: dir, path, content } = project_file;
            let more = names::join(&dir, &"more.txt".into());
            vec![
                write(&path, &content, false),
                write(&more, &content, false),
                checkpoint(&dir),
                write(&path, &"2".into(), false),
                write(&more, &"2".into(), false),
                Event::Inject(injection).into(),
                request_under_injection(request, &dir, &path),
                write(&path, &"3".into(), true),
                follow_up,
                restore(&dir, 1, false),
            ]
        })
        .boxed()
}

/// How often an injection is repeated, each time at a later call.
const REPETITIONS: u64 = 4;

/// Edits of the project while it is captured or restored: a file is saved in place or by a rename, or a folder
/// is replaced by a link to a folder outside.
fn edited(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    (idiom::project_file(limits), 1..=24u64, 0..3usize, any::<bool>(), follow_up())
        .prop_map(|(project_file, call, edit, restores, follow_up)| {
            let ProjectFile { project: dir, path, content } = project_file;
            let inside = |name: &str| names::join(&dir, &name.into());
            let folder = inside("moved");
            let moved_folder = inside("aside");
            let twin = ByteString::from("outside/twin/in.txt");
            let mut operations = vec![
                write(&names::join(&folder, &"in.txt".into()), &"inside".into(), false),
                write(&twin, &"beyond".into(), false),
                write(&path, &content, false),
                checkpoint(&dir),
            ];
            for call in call..call + REPETITIONS {
                let meanwhile = match edit {
                    0 => vec![save(&path)],
                    1 => {
                        let from = inside("fresh.tmp");
                        vec![save(&from), Edit::Rename { from, to: path.clone() }]
                    }
                    _ => {
                        let target = "$SANDBOX/outside/twin".into();
                        vec![
                            Edit::Rename { from: folder.clone(), to: moved_folder.clone() },
                            Edit::Link { path: folder.clone(), target },
                        ]
                    }
                };
                let injection = Injection::edited(CallPosition::Call(call), meanwhile);
                operations.extend([
                    write(&path, &"the second version".into(), false),
                    Event::Inject(injection).into(),
                    if restores { restore(&dir, 1, false) } else { checkpoint(&dir) },
                ]);
                if edit == 2 {
                    operations.push(Edit::Remove { path: folder.clone() }.into());
                    operations.push(
                        Edit::Rename { from: moved_folder.clone(), to: folder.clone() }.into(),
                    );
                }
            }
            operations.extend([follow_up, restore(&dir, 1, false)]);
            operations
        })
        .boxed()
}

/// Another process takes a checkpoint of the same project or of another one, or prunes, each time some calls
/// later.
fn overlapped(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    (idiom::project_file(limits), 1..=24u64, 0..3usize, 0..13usize, follow_up())
        .prop_map(|(project_file, call, overlapping, request, follow_up)| {
            let ProjectFile { project: dir, path, content } = project_file;
            let other_project = ByteString::from("work/beta");
            let overlapping = match overlapping {
                0 => Request::Checkpoint { dir: dir.clone(), reason: "other".into() },
                1 => Request::Checkpoint { dir: other_project.clone(), reason: "other".into() },
                _ => PRUNE,
            };
            let mut operations = vec![write(&path, &content, false), checkpoint(&dir)];
            for number in 0..REPETITIONS {
                let call = CallPosition::Call(call + 4 * number);
                operations.extend([
                    write(&path, &format!("version {number}").as_str().into(), false),
                    write(
                        &names::join(&other_project, &"in.txt".into()),
                        &number.to_string().as_str().into(),
                        false,
                    ),
                    Event::Inject(Injection::overlapped(call, overlapping.clone())).into(),
                    request_under_injection(request, &dir, &path),
                ]);
            }
            operations.extend([follow_up, restore(&dir, 1, false)]);
            operations
        })
        .boxed()
}

/// Prunes of a packed store are killed while they write the objects that stay, each time some calls later.
fn killed_prunes(limits: SizeLimits) -> impl Strategy<Value = Vec<Operation>> {
    (idiom::project_file(limits), 1..=100u64).prop_map(|(project_file, call)| {
        let ProjectFile { project: dir, path, content } = project_file;
        let removed_project = ByteString::from("work/gone");
        let mut operations = vec![write(&path, &content, false), checkpoint(&dir)];
        for number in 0..REPETITIONS {
            let kill = Injection::new(
                CallPosition::Call(call + REPETITIONS * number),
                InjectedEvent::Kill,
            );
            operations.extend([
                write(
                    &names::join(&removed_project, &"a".into()),
                    &number.to_string().as_str().into(),
                    false,
                ),
                checkpoint(&removed_project),
                Event::Store(StoreEvent::Collected).into(),
                Edit::Remove { path: removed_project.clone() }.into(),
                Event::Inject(kill).into(),
                prune(),
                prune(),
            ]);
        }
        operations.push(restore(&dir, 1, false));
        operations
    })
}

/// Saves a file with the size that it had.
fn save(path: &ByteString) -> Edit {
    Edit::Write { path: path.clone(), content: "the third one here".into(), executable: false }
}

/// The request into which something is injected.
fn request_under_injection(request: usize, dir: &ByteString, path: &ByteString) -> Operation {
    let target = Target::Number(1);
    let inside = herma_model::bytes::below(dir, path).unwrap_or_default();
    let dir = dir.clone();
    match request {
        0..4 => checkpoint(&dir),
        4..7 => restore(&dir, 1, request == 4),
        7 => Request::RestoreFile { dir, target, path: inside.into() }.into(),
        8 => prune(),
        9 | 10 => Request::List { dir }.into(),
        11 => Request::Diff { dir, target }.into(),
        _ => Request::Sweep.into(),
    }
}
