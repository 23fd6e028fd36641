//! Fragments about values that a store may change: marks, whole blocks and zeros of contents, targets of links
//! that are not normal, modes, long reasons, and parts of the agent's state that count as nothing; and
//! the fragments about folders that cannot be read, and about repositories in the way.
//!
//! They are generated and appended last, so that no other part of a history changes.

use super::idiom::{checkpoint, last_restore, once_in, restore, restore_file, write};
use super::names::{join, project};
use super::{Options, repositories, unreadable_folders};
use crate::history::Operation;
use herma_model::agent::Part;
use herma_model::content::noise;
use herma_model::{ByteString, Edit, Request};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

/// The fragments of a history, most of them empty.
#[derive(Clone, Debug, Default)]
pub struct Values {
    pub files: Vec<Operation>,
    pub similar_projects: Vec<Operation>,
    pub older_undone: Vec<Operation>,
    pub part: Vec<Operation>,
    /// What is appended after everything else.
    pub last: [Vec<Operation>; 2],
}

/// Fragments for a subject with these options. Few histories have room for them.
pub fn fragments(options: &Options) -> BoxedStrategy<Values> {
    let sometimes = |share, fragment: BoxedStrategy<Vec<Operation>>| {
        option::weighted(share, fragment).prop_map(Option::unwrap_or_default)
    };
    let files = sometimes(0.5, files());
    let similar = sometimes(0.2, similar_projects());
    let similar = once_in(u32::from(options.other_projects), similar);
    let older_undone = once_in(u32::from(options.undo), sometimes(0.2, older_undone()));
    let part = once_in(u32::from(options.agent), sometimes(0.4, part()));
    let unreadable = sometimes(0.2, unreadable_folders::fragment());
    let unreadable = once_in(u32::from(options.unreadable_folders), unreadable);
    let in_the_way = (project(), any::<bool>())
        .prop_map(|(project, exact)| repositories::a_repository_is_in_the_way(&project, exact));
    let in_the_way = sometimes(0.1, in_the_way.boxed());
    (files, similar, older_undone, part, unreadable, in_the_way)
        .prop_map(|(files, similar_projects, older_undone, part, unreadable, in_the_way)| Values {
            files,
            similar_projects,
            older_undone,
            part,
            last: [unreadable, in_the_way],
        })
        .boxed()
}

/// The sizes of whole blocks, which buffers have.
const BLOCKS: &[usize] = &[4_096, 65_536];

/// Contents that begin with a byte order mark.
const MARKED: &[&str] = &["\u{feff}1\n", "\u{feff}", "\u{feff}\u{feff}mark\r\n"];

/// Contents that end with zeros.
const ZEROS: &[&str] = &["1\0\0", "\0\0\0\0", "line\n\0"];

/// Targets of links that name a path as no other link does.
const TARGETS: &[&str] = &["./b", "src//main.rs", "src/../b", "src/", "././src/.", "../alpha/./b"];

/// Permissions that differ in the executable bit, or only in others.
const MODES: &[[u32; 2]] =
    &[[0o644, 0o755], [0o755, 0o644], [0o755, 0o600], [0o600, 0o644], [0o700, 0o755]];

/// One file or link of a fragment.
#[derive(Clone, Copy, Debug)]
enum UnusualFile {
    Marked,
    Block,
    Zeros,
    Link,
    LinkOut,
    Mode,
}

const KINDS: &[UnusualFile] = &[
    UnusualFile::Marked,
    UnusualFile::Block,
    UnusualFile::Zeros,
    UnusualFile::Link,
    UnusualFile::LinkOut,
    UnusualFile::Mode,
];

/// A file or link that is captured, and what happens to it afterwards.
#[derive(Clone, Debug)]
struct ChangedFile {
    /// Its name in the project.
    name: &'static str,
    before: Vec<Edit>,
    since: Vec<Edit>,
}

/// A checkpoint of a few such files with any reason, their changes, and restores of them all or one by one.
fn files() -> BoxedStrategy<Vec<Operation>> {
    let entries = subsequence(KINDS, 2..=3).prop_shuffle();
    let entries = (project(), entries).prop_flat_map(|(project, kinds)| {
        let entries: Vec<_> = kinds.into_iter().map(|kind| entry(&project, kind)).collect();
        (Just(project), entries)
    });
    (entries, reason(), any::<bool>(), 0..4u32)
        .prop_map(|((project, entries), reason, is_listed, ending)| {
            let names: Vec<ByteString> = entries.iter().map(|entry| entry.name.into()).collect();
            let before = entries.iter().flat_map(|entry| entry.before.clone());
            let mut operations: Vec<Operation> = before.map(Operation::from).collect();
            operations.push(Request::Checkpoint { dir: project.clone(), reason }.into());
            let since = entries.into_iter().flat_map(|entry| entry.since);
            operations.extend(since.map(Operation::from));
            operations.extend(is_listed.then(|| Request::List { dir: project.clone() }.into()));
            match ending {
                0 | 1 => {
                    operations.extend(names.into_iter().map(|name| restore_file(&project, name)));
                }
                _ => operations.push(last_restore(&project, ByteString::default(), ending - 1)),
            }
            operations
        })
        .boxed()
}

fn entry(project: &ByteString, kind: UnusualFile) -> BoxedStrategy<ChangedFile> {
    let text = |texts: &'static [&str]| select(texts).prop_map(ByteString::from).boxed();
    let project = project.clone();
    match kind {
        UnusualFile::Marked => file(project, "marked", text(MARKED)),
        UnusualFile::Zeros => file(project, "zeros", text(ZEROS)),
        UnusualFile::Block => {
            let block = (select(BLOCKS), 0..100u32).prop_map(|(size, seed)| noise(size, seed));
            file(project, "block", block.boxed())
        }
        UnusualFile::Link => {
            let path = join(&project, &"to".into());
            let link = move |target: &str| {
                let before = vec![Edit::Link { path: path.clone(), target: target.into() }];
                ChangedFile { name: "to", before, since: vec![Edit::Remove { path: path.clone() }] }
            };
            select(TARGETS).prop_map(link).boxed()
        }
        UnusualFile::LinkOut => Just(link_out(&project)).boxed(),
        UnusualFile::Mode => select(MODES).prop_map(move |modes| mode(&project, modes)).boxed(),
    }
}

/// A file that is removed, or replaced by a short one.
fn file(
    project: ByteString,
    name: &'static str,
    content: BoxedStrategy<ByteString>,
) -> BoxedStrategy<ChangedFile> {
    let path = join(&project, &name.into());
    let write = |path: ByteString, content| Edit::Write { path, content, executable: false };
    (content, any::<bool>())
        .prop_map(move |(content, is_removed)| {
            let since = match is_removed {
                true => Edit::Remove { path: path.clone() },
                false => write(path.clone(), "2".into()),
            };
            ChangedFile { name, before: vec![write(path.clone(), content)], since: vec![since] }
        })
        .boxed()
}

/// A link out of the project that is replaced by a folder, with a file of a name that is also behind the link.
fn link_out(project: &ByteString) -> ChangedFile {
    let path = join(project, &"behind".into());
    let inside = join(&path, &"secret.txt".into());
    let link = Edit::Link { path, target: "../../outside".into() };
    let write = Edit::Write { path: inside, content: "mine\n".into(), executable: false };
    ChangedFile { name: "behind", before: vec![link], since: vec![write] }
}

/// A file of which only the permissions change.
fn mode(project: &ByteString, [before, since]: [u32; 2]) -> ChangedFile {
    let path = join(project, &"mode".into());
    let permit = |bits| Edit::SetPermissions { path: path.clone(), bits };
    let content = ByteString::from("#!/bin/sh\n");
    let write = Edit::Write { path: path.clone(), content, executable: false };
    ChangedFile { name: "mode", before: vec![write, permit(before)], since: vec![permit(since)] }
}

/// Reasons with blank lines, and reasons that are longer than a line or than a field.
fn reason() -> BoxedStrategy<String> {
    const PARAGRAPHS: &[&str] =
        &["first\n\nsecond", "first\n\n\n\nsecond\n\nthird\n", "\n\nfirst\n \nsecond"];
    let repeated = (select(&["why ", "wörtlich "][..]), 30..=90usize)
        .prop_map(|(word, times)| word.repeat(times));
    prop_oneof![
        1 => Just("before patch".to_owned()),
        2 => select(PARAGRAPHS).prop_map(str::to_owned),
        3 => repeated,
    ]
    .boxed()
}

/// Two projects of which the name of one begins with the name of the other: both have a checkpoint, one is
/// restored exactly, and both are listed.
fn similar_projects() -> BoxedStrategy<Vec<Operation>> {
    let names = select(&["work/alpha2", "work/alpha-2", "work/alph"][..]);
    (names, any::<bool>(), 0..1_000u32)
        .prop_map(|(similar, is_first, number)| {
            let mut dirs = [ByteString::from("work/alpha"), similar.into()];
            if is_first {
                dirs.reverse();
            }
            let file = |dir: &ByteString, name: &str, text: &str| {
                let content = ByteString::from(&*format!("{number}{text}\n"));
                write(&join(dir, &name.into()), &content, false)
            };
            let taken = |dir: &ByteString| [file(dir, "a.txt", ""), checkpoint(dir)];
            let mut operations: Vec<Operation> = dirs.iter().flat_map(taken).collect();
            operations.extend(dirs.iter().map(|dir| file(dir, "new.txt", " since")));
            operations.push(restore(&dirs[0], 1, true));
            operations.extend(dirs.into_iter().map(|dir| Request::List { dir }.into()));
            operations
        })
        .boxed()
}

/// Restores of two projects, of which the older is undone.
fn older_undone() -> BoxedStrategy<Vec<Operation>> {
    (any::<bool>(), 0..1_000u32, any::<bool>())
        .prop_map(|(is_first, number, is_redone)| {
            let mut dirs = ["work/alpha", "work/beta"].map(ByteString::from);
            if is_first {
                dirs.reverse();
            }
            let file = |dir: &ByteString, text: &str| {
                let content = ByteString::from(&*format!("{number}{text}\n"));
                write(&join(dir, &"a.txt".into()), &content, false)
            };
            let restored = |dir: &ByteString| {
                let taken = [file(dir, ""), checkpoint(dir)];
                taken.into_iter().chain([file(dir, " since"), restore(dir, 1, false)])
            };
            let mut operations: Vec<Operation> = dirs.iter().flat_map(restored).collect();
            let [dir, _] = dirs;
            operations.push(Request::Undo { dir: dir.clone() }.into());
            operations.extend(is_redone.then(|| Request::Redo { dir }.into()));
            operations
        })
        .boxed()
}

/// A part of the agent's state counts as nothing in a checkpoint, or only afterwards, and is restored.
fn part() -> BoxedStrategy<Vec<Operation>> {
    let nothing = select(vec![json!(""), json!(0), json!(false), json!([]), json!({})]);
    let rich = subsequence(rich_values(), 1..=3).prop_shuffle();
    (project(), select(Part::ALL.to_vec()), nothing, rich, any::<bool>(), 0..1_000u32)
        .prop_map(|(dir, part, nothing, rich, is_rich_later, number)| {
            let mut values = [nothing, json!({ "cards": rich, "head": null })];
            if !is_rich_later {
                values.reverse();
            }
            let [value, later] = values;
            let set = |value: Value| Request::SetState { part, value }.into();
            let get = || Request::GetState { part }.into();
            let content = ByteString::from(&*format!("{number}\n"));
            vec![
                write(&join(&dir, &"a.txt".into()), &content, false),
                set(value),
                checkpoint(&dir),
                set(later),
                get(),
                restore(&dir, 1, false),
                get(),
            ]
        })
        .boxed()
}

/// Values that are long, large, or not ASCII.
fn rich_values() -> Vec<Value> {
    let long = "a long value ".repeat(100);
    let many: Vec<u32> = (0..100).collect();
    vec![json!(9_007_199_254_740_993_u64), json!("größer \u{1f4f8}"), json!(long), json!(many)]
}
