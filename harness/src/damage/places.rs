//! The files of a store that may be damaged: what each is, and by which name it is drawn.
//!
//! The name of a project's files holds a hash of where its sandbox is, and a commit may have another
//! id each time. So files are drawn by what they are for, and the same number means the same damage.

use super::past::{Past, Which};
use crate::git_objects::{self, ObjectKind};
use crate::sandbox::stock::{Stock, files, loose};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a file of a store is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The content of a file, in a file of its own.
    Blob,
    /// A folder, in a file of its own.
    Tree,
    /// A checkpoint, in a file of its own.
    Commit,
    /// An object that no listed checkpoint needs.
    Spare,
    /// Many objects in one file.
    Pack,
    /// Where in a pack each object is.
    PackIndex,
    /// What git keeps only to be faster.
    Speed,
    /// The newest checkpoint of a project.
    Ref,
    /// Many refs in one file.
    PackedRefs,
    /// By which git knows a repository.
    Head,
    /// Git's settings.
    Config,
    /// Which blob each file of a project was.
    Index,
    /// Which directory a project is.
    Metadata,
    /// Where histories end.
    Shallow,
    /// An estimate of the store's size.
    Usage,
    /// What is excluded, and attributes.
    Info,
    /// Anything else.
    Other,
}

impl Kind {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Blob => "loose blob",
            Kind::Tree => "loose tree",
            Kind::Commit => "loose commit",
            Kind::Spare => "loose object that nothing needs",
            Kind::Pack => "pack",
            Kind::PackIndex => "index of a pack",
            Kind::Speed => "file that only makes git faster",
            Kind::Ref => "ref",
            Kind::PackedRefs => "packed-refs",
            Kind::Head => "HEAD",
            Kind::Config => "config",
            Kind::Index => "index of a project",
            Kind::Metadata => "metadata of a project",
            Kind::Shallow => "shallow",
            Kind::Usage => "usage",
            Kind::Info => "info",
            Kind::Other => "other file",
        }
    }

    /// Whether objects are in it.
    pub fn holds_objects(self) -> bool {
        matches!(
            self,
            Kind::Blob | Kind::Tree | Kind::Commit | Kind::Spare | Kind::Pack | Kind::PackIndex
        )
    }
}

/// One file of a store.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where it is in the store.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
    /// What it is for: the same whenever the same past is made.
    pub name: String,
    /// How long it is, in bytes.
    pub bytes: u64,
    /// The object in it, if it is one.
    pub object: Option<String>,
    /// The project that it belongs to, if it is one's.
    pub project: Option<usize>,
}

impl Stock {
    /// The objects of which no other copy is left without this file.
    pub fn only_in(&self, place: &Place) -> BTreeSet<String> {
        if let Some(id) = &place.object {
            let packed = self.packs.values().any(|ids| ids.contains(id));
            return if packed { BTreeSet::new() } else { BTreeSet::from([id.clone()]) };
        }
        if !matches!(place.kind, Kind::Pack | Kind::PackIndex) {
            return BTreeSet::new();
        }
        let own = place.path.with_extension("");
        let elsewhere = |id: &&String| {
            let mut others = self.packs.iter().filter(|(pack, _)| **pack != own);
            self.loose.contains(*id) || others.any(|(_, ids)| ids.contains(*id))
        };
        let ids = self.packs.get(&own).into_iter().flatten();
        ids.filter(|id| !elsewhere(id)).cloned().collect()
    }
}

/// Every file of the store that may be damaged.
///
/// # Errors
/// The store cannot be read.
pub fn places(store: &Path, past: &Past) -> io::Result<Vec<Place>> {
    let objects = objects(past);
    let mut found = Vec::new();
    for path in files(store)? {
        if let Some(place) = place(store, path, past, &objects)? {
            found.push(place);
        }
    }
    let mut packs: Vec<&mut Place> =
        found.iter_mut().filter(|one| one.path.starts_with("objects/pack")).collect();
    // The name of a pack need not say what is in it; how long it is does well enough.
    packs.sort_by_key(|one| one.bytes);
    for (number, pack) in packs.into_iter().enumerate() {
        let ending = pack.path.extension().unwrap_or_default().display();
        pack.name = format!("{ending} {number:03}");
    }
    Ok(found)
}

fn place(
    store: &Path,
    path: PathBuf,
    past: &Past,
    objects: &BTreeMap<String, (Kind, String)>,
) -> io::Result<Option<Place>> {
    let text = path.to_string_lossy().into_owned();
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // A lock belongs to who holds it, and nobody reads a hook or what is not yet stored.
    let passing = ["locks/", "fresh/", "hooks/"].iter().any(|folder| text.starts_with(folder));
    if passing || name.ends_with(".lock") {
        return Ok(None);
    }
    let bytes = fs::metadata(store.join(&path))?.len();
    let object = loose(&path);
    let project = past.project_of(name.trim_end_matches(".json"));
    let (kind, name) = match &object {
        Some(id) => objects.get(id).cloned().unwrap_or((Kind::Spare, id.clone())),
        None => (
            kind_of(&text, &name),
            match project {
                Some(project) => past.projects[project].name.to_owned(),
                None => text,
            },
        ),
    };
    Ok(Some(Place { path, kind, name, bytes, object, project }))
}

fn kind_of(path: &str, name: &str) -> Kind {
    match path {
        "packed-refs" => Kind::PackedRefs,
        "HEAD" => Kind::Head,
        "config" => Kind::Config,
        "shallow" => Kind::Shallow,
        "usage" => Kind::Usage,
        _ if path.starts_with("refs/hermes/") => Kind::Ref,
        _ if path.starts_with("indexes/") => Kind::Index,
        _ if path.starts_with("projects/") => Kind::Metadata,
        _ if path.starts_with("info/") && name != "refs" => Kind::Info,
        _ if name.ends_with(".pack") => Kind::Pack,
        _ if name.ends_with(".idx") => Kind::PackIndex,
        _ if path.starts_with("objects/") || path == "info/refs" => Kind::Speed,
        _ => Kind::Other,
    }
}

/// What each object is, and the first place where it is needed.
fn objects(past: &Past) -> BTreeMap<String, (Kind, String)> {
    let mut found: BTreeMap<String, (Kind, String)> = BTreeMap::new();
    for (which, checkpoint) in past.checkpoints() {
        let Which { project, at } = which;
        let of = format!("{} {}", past.projects[project].name, at + 1);
        found.entry(checkpoint.id.clone()).or_insert((Kind::Commit, of.clone()));
        for (id, kind, path) in git_objects::named(&checkpoint.tree) {
            let kind = if kind == ObjectKind::Blob { Kind::Blob } else { Kind::Tree };
            let path = if path.is_empty() { ".".into() } else { path };
            let name = format!("{of}: {path}");
            found.entry(id.to_string()).or_insert((kind, name));
        }
    }
    found
}
