//! The store as it would be without the damage that a history did to it, for plain git to read: git
//! waits for a fifo forever and reads nothing of a store without a head, and what it would say of
//! damage is no news. What is lost is told from the files alone.

use super::loose;
use super::plain_git::Git;
use crate::git_objects::name_of;
use crate::sandbox::harm::Left;
use crate::sandbox::stock::Stock;
use crate::sandbox::store_edits::Harmed;
use crate::sandbox::{Sandbox, Understood, edits};
use herma_model::observation::is_stored;
use herma_model::store::ENVELOPES;
use herma_model::{ByteString, Object, World};
use serde::de::IgnoredAny;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The damage of one history.
#[derive(Debug, Default)]
pub struct Harms(Vec<Harmed>);

/// Git on the store, or on a copy of it in which what a history damaged is whole.
pub struct Reading<'a> {
    plain: &'a Git,
    mended: Option<(Git, TempDir)>,
}

impl Reading<'_> {
    /// Whether it is such a copy.
    pub fn is_mended(&self) -> bool {
        self.mended.is_some()
    }
}

impl Deref for Reading<'_> {
    type Target = Git;

    fn deref(&self) -> &Git {
        self.mended.as_ref().map_or(self.plain, |(git, _)| git)
    }
}

impl Harms {
    /// A history damaged this. What was damaged already held before what it held first.
    pub fn add(&mut self, mut harmed: Harmed) {
        let was = Left::Bytes(harmed.was.clone());
        let is_before = |one: &&Harmed| one.path == harmed.path && one.left == was;
        if let Some(before) = self.0.iter().rev().find(is_before) {
            harmed.was.clone_from(&before.was);
        }
        self.0.push(harmed);
    }

    /// Whether a history damaged nothing.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether anything of the checkpoints themselves was damaged, not only what is noted of them.
    pub fn is_of_history(&self) -> bool {
        self.0.iter().any(|one| {
            let path = Path::new("store").join(&one.path);
            let git_reads = ["HEAD", "config", "packed-refs", "shallow"];
            git_reads.iter().any(|read| one.path == Path::new(read))
                || is_stored(path.as_os_str().as_bytes())
        })
    }

    /// Whether that file of the store is still as damage left it.
    fn stands(&self, store: &Path, path: &Path) -> bool {
        self.0.iter().any(|one| one.path == path && one.stands(store))
    }

    /// Git on the store as it would be without the damage that is still there.
    ///
    /// # Errors
    /// The store cannot be read or copied.
    pub fn reading<'a>(
        &self,
        plain: &'a Git,
        sandbox: &Sandbox,
        understood: &Understood,
    ) -> io::Result<Reading<'a>> {
        let store = sandbox.store();
        let harms: Vec<&Harmed> = self.0.iter().filter(|one| one.stands(&store)).collect();
        if harms.is_empty() || !store.is_dir() {
            return Ok(Reading { plain, mended: None });
        }
        let beside = sandbox.root().parent().unwrap_or(Path::new("/"));
        let folder = tempfile::Builder::new().prefix("herma-").tempdir_in(beside)?;
        let copy = folder.path().join("store");
        edits::copy_with(&store, &copy, &|from, to| {
            let kind = fs::symlink_metadata(from)?;
            if kind.is_file() {
                fs::copy(from, to)?;
            } else if kind.is_dir() {
                fs::set_permissions(to, kind.permissions())?;
            }
            Ok(())
        })?;
        // The first damage of a file knows what it held.
        harms.into_iter().rev().try_for_each(|one| mend(&copy, one))?;
        let git = Git::on(copy, understood.clone());
        Ok(Reading { plain, mended: Some((git, folder)) })
    }

    /// Which of these objects are not stored whole, where `git` reads the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn lost(
        &self,
        store: &Path,
        git: &Git,
        objects: &BTreeSet<Object>,
    ) -> io::Result<BTreeSet<Object>> {
        let folder = store.join("objects");
        let named = objects.iter().filter_map(|object| Some((object, name_of(object)?)));
        let absent: Vec<(&Object, String)> =
            named.filter(|(_, name)| !loose::is_whole(&folder, name)).collect();
        if absent.is_empty() {
            return Ok(BTreeSet::new());
        }
        let is_packed = fs::read_dir(folder.join("pack")).is_ok_and(|mut all| all.next().is_some());
        let mut stock = if is_packed { Stock::of(git.store())? } else { Stock::default() };
        // Where git reads it, a damaged pack is whole.
        let is_harmed = |pack: &PathBuf| {
            ["pack", "idx"].iter().any(|ending| self.stands(store, &pack.with_extension(ending)))
        };
        stock.packs.retain(|pack, _| !is_harmed(pack));
        let packed = |name: &String| stock.packs.values().any(|ids| ids.contains(name));
        let lost = absent.into_iter().filter(|(_, name)| !packed(name));
        Ok(lost.map(|(object, _)| object.clone()).collect())
    }

    /// The agent's state in checkpoints of which a damaged `packed-refs` named it, and nothing does now.
    pub fn lost_states(&self, store: &Path) -> BTreeSet<Object> {
        let packed = text(store, "packed-refs");
        let harms = self.0.iter().filter(|harmed| harmed.path == Path::new("packed-refs"));
        let before = harms.map(|harmed| String::from_utf8_lossy(&harmed.was));
        let names: BTreeSet<String> = before
            .flat_map(|text| {
                let names = text.lines().filter_map(|line| line.split_once(' '));
                let names = names.map(|(_, name)| name.to_owned());
                names.filter(|name| name.starts_with(ENVELOPES)).collect::<Vec<_>>()
            })
            .collect();
        let is_lost = |name: &&String| !packed.contains(&name[..]) && !store.join(name).exists();
        let id = |name: &String| name.rsplit('/').next().unwrap_or_default().to_owned();
        names.iter().filter(is_lost).map(|name| Object::State(id(name))).collect()
    }
}

/// Puts back what was damaged, as far as git reads it. A ref goes with the note of its project.
fn mend(copy: &Path, one: &Harmed) -> io::Result<()> {
    let path = copy.join(&one.path);
    let name = one.path.file_name().unwrap_or_default().to_string_lossy();
    let is_packed_refs = one.path == Path::new("packed-refs");
    let is_read = one.path.starts_with("objects")
        || ["HEAD", "config", "shallow"].iter().any(|read| one.path == Path::new(read));
    let noted = |name: &str| copy.join("projects").join(format!("{name}.json")).exists();
    let parent = path.parent().unwrap_or(copy);
    let _ = if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
    // What a subject did away with, with the other half of it, was no pack any more.
    let is_half = ["pack", "idx"].iter().any(|ending| {
        let half = path.with_extension(ending);
        path.starts_with(copy.join("objects/pack")) && half != path && !half.exists()
    });
    let is_noted = || one.path.starts_with("refs") && noted(&name);
    if is_half || !(is_read || is_packed_refs || is_noted()) {
        return Ok(());
    }
    if !parent.exists() {
        fs::create_dir_all(parent)?;
        fs::set_permissions(parent, fs::metadata(copy)?.permissions())?;
    }
    let was = String::from_utf8_lossy(&one.was);
    // Of what else it names the metadata says nothing.
    let is_noted = |line: &&str| {
        line.trim_end().split_once(" refs/hermes/").is_some_and(|(_, hash)| noted(hash))
    };
    let bytes = match is_packed_refs {
        true => was.split_inclusive('\n').filter(is_noted).collect::<String>().into_bytes(),
        false => one.was.clone(),
    };
    fs::write(&path, bytes)?;
    fs::set_permissions(&path, one.permissions.clone())
}

/// What a file of the store holds; nothing where there is no file.
fn text(store: &Path, path: &str) -> String {
    match Left::at(&store.join(path)) {
        Ok(Left::Bytes(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    }
}

/// The projects whose newest checkpoint nothing in the store names.
pub fn adrift(world: &World, store: &Path) -> BTreeSet<ByteString> {
    let text = |path: &str| text(store, path);
    let packed = text("packed-refs");
    // What is cut short may hold the id, and says nothing to who reads it as JSON.
    let is_json = |text: &String| serde_json::from_str::<IgnoredAny>(text).is_ok();
    let is_adrift = |project: &ByteString| {
        let hash = world.hash(project);
        let noted = Some(text(&format!("projects/{hash}.json"))).filter(is_json);
        let places = [text(&format!("refs/hermes/{hash}")), noted.unwrap_or_default()];
        let newest = world.newest(project);
        newest.is_some_and(|newest| {
            !places.iter().chain([&packed]).any(|text| text.contains(&newest.id))
        })
    };
    let projects = world.histories().map(|(project, _)| project.clone());
    projects.filter(is_adrift).collect()
}
