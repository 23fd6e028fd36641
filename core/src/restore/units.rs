//! Finds the units of a restore: in the project as it is, and in the checkpoint to restore.

use crate::disk::Disk;
use crate::path::{join, name_of, on_disk, parent};
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::snapshot::{Mode, Snapshot};
use crate::unit::{self, Unit};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The units of a restore: those of the project and those of the checkpoint.
#[derive(Default)]
pub struct Units {
    by_folder: BTreeMap<Vec<u8>, BTreeSet<Unit>>,
    /// The units that are recognized in the checkpoint itself.
    pub(super) recorded: BTreeSet<Unit>,
}

/// A project, and what is captured of it.
pub struct CapturedProject<'a> {
    /// The disk the project is on.
    pub disk: &'a dyn Disk,
    /// The project's canonical directory.
    pub root: &'a Path,
    /// The captured files.
    pub snapshot: &'a Snapshot,
    /// The units, each with the reason if no checkpoint holds it.
    pub units: &'a BTreeMap<Unit, Option<String>>,
}

impl Units {
    /// Finds the units of a project and of the checkpoint that holds `target`.
    pub fn of(project: &CapturedProject<'_>, objects: &Objects<'_>, target: &Snapshot) -> Self {
        let CapturedProject { disk, root, snapshot: current, units: captured } = *project;
        let mut names: BTreeMap<&[u8], BTreeSet<Vec<u8>>> = BTreeMap::new();
        for path in target.keys().filter(|path| unit::suggests(name_of(path))) {
            names.entry(parent(path)).or_default().insert(name_of(path).to_vec());
        }
        let changes = target.iter().filter(|(path, item)| current.get(*path) != Some(*item));
        let mut folders: BTreeSet<&[u8]> = changes.map(|(path, _)| parent(path)).collect();
        folders.extend(captured.keys().map(|unit| &unit.folder[..]));
        let mut all_present: BTreeMap<&[u8], BTreeSet<Vec<u8>>> = BTreeMap::new();
        for folder in &folders {
            let present = disk.list(&on_disk(root, folder)).unwrap_or_default();
            let present = present.iter().map(|name| name.as_bytes());
            let suggesting: BTreeSet<_> =
                present.filter(|name| unit::suggests(name)).map(<[u8]>::to_vec).collect();
            if !suggesting.is_empty() {
                names.entry(folder).or_default().extend(suggesting.iter().cloned());
                all_present.insert(folder, suggesting);
            }
        }
        let mut units = Units::default();
        for (folder, names) in names.iter().filter(|(folder, _)| folders.contains(*folder)) {
            let names = || names.iter().map(Vec::as_slice);
            let present = all_present.get(folder);
            let present = || present.into_iter().flatten().map(Vec::as_slice);
            let mut present_head = |name: &[u8]| {
                let read = disk.read(&on_disk(root, &join(folder, name)), unit::HEAD_BYTES);
                read.ok().map(|(head, _)| head)
            };
            let mut found = Unit::of_folder(folder, present(), &mut present_head);
            let mut target_head = |name: &[u8]| recorded_head(objects, target, &join(folder, name));
            let recorded = Unit::of_folder(folder, names(), &mut target_head);
            found.extend(recorded.iter().cloned());
            units.recorded.extend(recorded);
            if !found.is_empty() {
                units.by_folder.insert(folder.to_vec(), found);
            }
        }
        units
    }

    /// All units.
    pub fn all(&self) -> impl Iterator<Item = &Unit> {
        self.by_folder.values().flatten()
    }

    /// The unit that the file at `path` belongs to, even if it is not to be restored.
    pub fn of_path(&self, path: &[u8]) -> Option<&Unit> {
        let units = self.by_folder.get(parent(path))?;
        units.iter().find(|unit| unit.role_of(path).is_some())
    }
}

/// The first bytes of the regular file at a path of a checkpoint, if it holds one that can be read.
fn recorded_head(objects: &Objects<'_>, target: &Snapshot, path: &[u8]) -> Option<Vec<u8>> {
    let item = target.get(path).filter(|item| item.mode != Mode::Link)?;
    objects.header(item.blob).ok().filter(|(kind, _)| *kind == Kind::Blob)?;
    let mut head = Vec::new();
    objects.stream(item.blob).ok()?.take(unit::HEAD_BYTES).read_to_end(&mut head).ok()?;
    Some(head)
}
