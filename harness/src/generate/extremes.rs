//! Fragments about extremes: a file of more than a mebibyte, a folder with many files, a file that its owner may
//! not write, a file many folders deep, and a very long path. Each is captured, changed or removed, and restored.
//!
//! They are generated and appended last, so that no other history changes.

use super::content::SizeLimits;
use super::idiom::{checkpoint, last_restore, write};
use super::names::{join, project};
use crate::history::Operation;
use herma_model::content::noise;
use herma_model::{ByteString, Edit};
use proptest::prelude::*;
use proptest::sample::select;

const MEBIBYTE: usize = 1 << 20;

/// Large files have at most this many bytes.
const SIZE_MAX: usize = MEBIBYTE + 100_000;

/// A file that is captured, and what happens to it afterwards.
#[derive(Clone, Debug)]
struct Extreme {
    project: ByteString,
    /// The file, in the project.
    name: ByteString,
    before: Vec<Operation>,
    since: Vec<Operation>,
}

/// A checkpoint of a project with something extreme, an edit of it, and a restore.
pub fn fragment(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    // Where large files are left out, they show nothing.
    let is_left_out = limits.cap > 0 && limits.cap < SIZE_MAX as u64;
    let extreme = prop_oneof![
        if is_left_out { 0 } else { 7 } => large(),
        4 => many(),
        4 => read_only(),
        4 => small_file_at(deep()),
        4 => small_file_at(long()),
    ];
    (extreme, 0..4u32)
        .prop_map(|(extreme, ending)| {
            let Extreme { project, name, before, since } = extreme;
            let last = last_restore(&project, name, ending);
            [before, vec![checkpoint(&project)], since, vec![last]].concat()
        })
        .boxed()
}

/// A file that changes only after its first mebibyte, or is removed.
fn large() -> BoxedStrategy<Extreme> {
    let size = || MEBIBYTE + 1..=SIZE_MAX;
    (project(), size(), size(), 0..1_000u32, any::<bool>())
        .prop_map(|(project, size, later_size, seed, is_removed)| {
            let name = ByteString::from("large");
            let path = join(&project, &name);
            // Longer noise begins with shorter noise of the same seed.
            let before = vec![write(&path, &noise(size, seed), false)];
            let since = match is_removed {
                true => Edit::Remove { path }.into(),
                false => write(&path, &noise(later_size, seed), false),
            };
            Extreme { project, name, before, since: vec![since] }
        })
        .boxed()
}

/// A folder with more files than a hasty store lists at once: one of them changes, or the folder is removed.
fn many() -> BoxedStrategy<Extreme> {
    (project(), 70..=100u32, 1..=70u32, any::<bool>())
        .prop_map(|(project, files, changed, is_removed)| {
            let folder = join(&project, &"many".into());
            let name = ByteString::from(&*format!("many/{changed}"));
            let since = match is_removed {
                true => Edit::Remove { path: folder.clone() }.into(),
                false => write(&join(&project, &name), &"x\n".into(), false),
            };
            let before = vec![Edit::Fill { path: folder, files }.into()];
            Extreme { project, name, before, since: vec![since] }
        })
        .boxed()
}

/// A file that its owner may not write, before its checkpoint or only afterwards.
fn read_only() -> BoxedStrategy<Extreme> {
    let bits = select(vec![0o444, 0o444, 0o400, 0o555]);
    (project(), select(vec!["x", "src/x"]), bits, 0..4u32)
        .prop_map(|(project, name, bits, change)| {
            let name = ByteString::from(name);
            let path = join(&project, &name);
            let read_only: Operation = Edit::SetPermissions { path: path.clone(), bits }.into();
            let write = |content: &str| write(&path, &content.into(), false);
            let since = match change {
                0 => vec![Edit::Remove { path: path.clone() }.into()],
                1 => vec![Edit::Rewrite { path: path.clone(), content: "2\n".into() }.into()],
                _ => vec![write("changed"), read_only.clone()],
            };
            let mut before = vec![write("1\n")];
            before.extend((change < 3).then_some(read_only));
            Extreme { project, name, before, since }
        })
        .boxed()
}

/// A file at a generated path, which changes, or whose outermost folder is removed.
fn small_file_at(name: BoxedStrategy<ByteString>) -> BoxedStrategy<Extreme> {
    (project(), name, any::<bool>(), 0..1_000u32)
        .prop_map(|(project, name, is_removed, number)| {
            let path = join(&project, &name);
            let folder = name.split(|byte| *byte == b'/').next().unwrap_or_default();
            let since = match is_removed {
                true => Edit::Remove { path: join(&project, &folder.into()) }.into(),
                false => write(&path, &"2\n".into(), false),
            };
            // With a new file alongside, there is a checkpoint even if this one is left out.
            let near =
                write(&join(&project, &"near".into()), &number.to_string().as_str().into(), false);
            let before = vec![write(&path, &"1\n".into(), false), near];
            Extreme { project, name, before, since: vec![since] }
        })
        .boxed()
}

/// A file 9 to 14 folders deep.
fn deep() -> BoxedStrategy<ByteString> {
    (9..=14usize).prop_map(|folders| ByteString::from(&*("d/".repeat(folders) + "x"))).boxed()
}

/// A path of more than 600 bytes, in names that every file system permits.
fn long() -> BoxedStrategy<ByteString> {
    (3..=5usize, 210..=255usize)
        .prop_map(|(names, bytes)| {
            ByteString::from(vec!["n".repeat(bytes); names].join("/").as_str())
        })
        .boxed()
}
