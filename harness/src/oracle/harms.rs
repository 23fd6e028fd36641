//! A store that a history damaged, as plain git is to read it: if necessary, a copy in which the damaged
//! files are repaired. Otherwise git would wait for a fifo forever, read nothing of a store without a head,
//! and complain about damage that is not the subject's fault. Lost objects are determined from the files
//! alone.

use super::loose;
use super::plain_git::Git;
use crate::git_objects::name_of;
use crate::sandbox::harm::Replacement;
use crate::sandbox::stock::Stock;
use crate::sandbox::store_edits::DamagedFile;
use crate::sandbox::{AcceptedStores, Sandbox, edits};
use herma_model::answer::CheckpointOutcome::Created;
use herma_model::observation::is_stored;
use herma_model::store::ENVELOPES;
use herma_model::{Answer, ByteString, Object, World};
use serde::de::IgnoredAny;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::ops::Deref;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// The files that a history damaged.
#[derive(Debug, Default)]
pub struct StoreDamage {
    files: Vec<DamagedFile>,
    /// The names of the objects of each agent state that git has listed, by the id of its commit.
    states: RefCell<BTreeMap<String, BTreeSet<String>>>,
}

/// Git on the store, or on a copy of it in which the damaged files are repaired.
pub struct GitView<'a> {
    plain: &'a Git,
    repaired: Option<(Git, TempDir)>,
}

impl GitView<'_> {
    /// Whether this is git on a repaired copy.
    pub fn is_repaired(&self) -> bool {
        self.repaired.is_some()
    }
}

impl Deref for GitView<'_> {
    type Target = Git;

    fn deref(&self) -> &Git {
        self.repaired.as_ref().map_or(self.plain, |(git, _)| git)
    }
}

impl StoreDamage {
    /// Adds a damaged file. A file that was damaged before keeps its content before the first damage.
    pub fn add(&mut self, mut damaged: DamagedFile) {
        let content = Replacement::Bytes(damaged.content.clone());
        let is_earlier =
            |earlier: &&DamagedFile| earlier.path == damaged.path && earlier.replacement == content;
        if let Some(earlier) = self.files.iter().rev().find(is_earlier) {
            damaged.content.clone_from(&earlier.content);
        }
        self.files.push(damaged);
    }

    /// Whether nothing is damaged.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Whether the checkpoints themselves were damaged, not only bookkeeping.
    pub fn affects_checkpoints(&self) -> bool {
        self.files.iter().any(|damaged| {
            let path = Path::new("store").join(&damaged.path);
            let git_reads = ["HEAD", "config", "packed-refs", "shallow"];
            git_reads.iter().any(|file| damaged.path == Path::new(file))
                || is_stored(path.as_os_str().as_bytes())
        })
    }

    /// The damaged files for which git refuses the store.
    pub fn refused_files(&self, store: &Path) -> Vec<String> {
        let is_refused =
            |damaged: &&DamagedFile| does_git_refuse(damaged) && damaged.is_in_place(store);
        let refused = self.files.iter().filter(is_refused);
        let names: BTreeSet<String> =
            refused.map(|damaged| damaged.path.display().to_string()).collect();
        names.into_iter().collect()
    }

    /// As [`StoreDamage::refused_files`], if a new checkpoint was taken.
    pub fn refused_after(&self, store: &Path, answer: &Answer) -> Option<Vec<String>> {
        let is_taken = matches!(answer, Answer::Taken { outcome: Created { .. }, .. });
        is_taken.then(|| self.refused_files(store))
    }

    /// Whether a file of the store is still as the damage left it.
    fn is_still_damaged(&self, store: &Path, path: &Path) -> bool {
        self.files.iter().any(|damaged| damaged.path == path && damaged.is_in_place(store))
    }

    /// Git on the store as it would be without the damage that is still there.
    ///
    /// # Errors
    /// The store cannot be read or copied.
    pub fn git_view<'a>(
        &self,
        plain: &'a Git,
        sandbox: &Sandbox,
        accepted_stores: &AcceptedStores,
    ) -> io::Result<GitView<'a>> {
        let store = sandbox.store();
        let damaged: Vec<&DamagedFile> =
            self.files.iter().filter(|damaged| damaged.is_in_place(&store)).collect();
        if damaged.is_empty() || !store.is_dir() {
            return Ok(GitView { plain, repaired: None });
        }
        let parent = sandbox.root().parent().unwrap_or(Path::new("/"));
        let folder = tempfile::Builder::new().prefix("herma-").tempdir_in(parent)?;
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
        // The first damage of a file has its original content.
        damaged.into_iter().rev().try_for_each(|damaged| repair(&copy, damaged))?;
        let git = Git::on(copy, accepted_stores.clone());
        Ok(GitView { plain, repaired: Some((git, folder)) })
    }

    /// Which of these objects are not stored intact, where `git` reads the store.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn lost(
        &self,
        store: &Path,
        git: &Git,
        objects: &BTreeSet<Object>,
    ) -> io::Result<BTreeSet<Object>> {
        let named: Vec<(&Object, String)> =
            objects.iter().filter_map(|object| Some((object, name_of(object)?))).collect();
        let names = named.iter().map(|(_, name)| name.clone()).collect();
        let lost = self.lost_names(store, git, names)?;
        let is_lost = |(_, name): &(&Object, String)| lost.contains(name);
        Ok(named.into_iter().filter(is_lost).map(|(object, _)| object.clone()).collect())
    }

    /// The names of these objects that are not stored intact.
    fn lost_names(
        &self,
        store: &Path,
        git: &Git,
        mut names: BTreeSet<String>,
    ) -> io::Result<BTreeSet<String>> {
        let folder = store.join("objects");
        names.retain(|name| !loose::is_intact(&folder, name));
        if names.is_empty() {
            return Ok(names);
        }
        let is_packed =
            fs::read_dir(folder.join("pack")).is_ok_and(|mut entries| entries.next().is_some());
        let mut stock = if is_packed { Stock::of(git.store())? } else { Stock::default() };
        // In the store that git reads, a damaged pack is repaired.
        let is_damaged = |pack: &PathBuf| {
            let extensions = ["pack", "idx"];
            extensions
                .iter()
                .any(|extension| self.is_still_damaged(store, &pack.with_extension(extension)))
        };
        stock.packs.retain(|pack, _| !is_damaged(pack));
        names.retain(|name| !stock.packs.values().any(|ids| ids.contains(name)));
        Ok(names)
    }

    /// The agent states of which an object is not stored intact. Projects share objects: a damaged pack of one
    /// may hold those of another's state.
    ///
    /// # Errors
    /// As [`StoreDamage::lost`].
    pub fn incomplete_states(&self, store: &Path, git: &Git) -> io::Result<BTreeSet<Object>> {
        if !self.files.iter().any(|damaged| damaged.path.starts_with("objects")) {
            return Ok(BTreeSet::new());
        }
        let mut incomplete = BTreeSet::new();
        let refs = git.refs()?.unwrap_or_default();
        for (name, id) in refs.iter().filter(|(name, _)| name.starts_with(ENVELOPES)) {
            if !self.lost_names(store, git, self.names_of_state(git, id)?)?.is_empty() {
                incomplete.insert(state_of(name));
            }
        }
        Ok(incomplete)
    }

    /// The names of the objects that a commit reaches, as far as git reads them. Where it reads all, they stay
    /// the same.
    fn names_of_state(&self, git: &Git, id: &str) -> io::Result<BTreeSet<String>> {
        if let Some(names) = self.states.borrow().get(id) {
            return Ok(names.clone());
        }
        let listed = git.run(&["rev-list", "--objects", "--no-object-names", id])?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        let names: BTreeSet<String> = text.lines().map(str::to_owned).collect();
        if listed.status.success() {
            self.states.borrow_mut().insert(id.to_owned(), names.clone());
        }
        Ok(names)
    }

    /// The agent states that a damaged `packed-refs` named, and no ref names now.
    pub fn lost_states(&self, store: &Path) -> BTreeSet<Object> {
        let packed = text(store, "packed-refs");
        let damaged_files =
            self.files.iter().filter(|damaged| damaged.path == Path::new("packed-refs"));
        let texts = damaged_files.map(|damaged| String::from_utf8_lossy(&damaged.content));
        let names: BTreeSet<String> = texts
            .flat_map(|text| {
                let names = text.lines().filter_map(|line| line.split_once(' '));
                let names = names.map(|(_, name)| name.to_owned());
                names.filter(|name| name.starts_with(ENVELOPES)).collect::<Vec<_>>()
            })
            .collect();
        let is_lost = |name: &&String| !packed.contains(&name[..]) && !store.join(name).exists();
        names.iter().filter(is_lost).map(|name| state_of(name)).collect()
    }
}

/// Whether git refuses a store because of a damaged file. Git needs no settings and no packed refs.
fn does_git_refuse(damaged: &DamagedFile) -> bool {
    let needs_content = match damaged.path.to_str() {
        Some("HEAD") => true,
        Some("config" | "packed-refs") => false,
        _ => return false,
    };
    match &damaged.replacement {
        Replacement::Bytes(content) if needs_content => !content.starts_with(b"ref: refs/"),
        // The beginning of a file of settings may be valid settings.
        Replacement::Bytes(content) => {
            let is_text = !content.contains(&0);
            let is_cut = damaged.path == Path::new("packed-refs") && !content.ends_with(b"\n");
            !content.is_empty() && (!is_text || is_cut)
        }
        Replacement::Nothing | Replacement::Link(_) => needs_content,
        Replacement::Fifo | Replacement::Folder => true,
    }
}

/// The agent state that a ref names.
fn state_of(name: &str) -> Object {
    Object::State(name.rsplit('/').next().unwrap_or_default().to_owned())
}

/// Repairs a damaged file, if git reads it. A ref is repaired only if the metadata of its project exists.
fn repair(copy: &Path, damaged: &DamagedFile) -> io::Result<()> {
    let path = copy.join(&damaged.path);
    let name = damaged.path.file_name().unwrap_or_default().to_string_lossy();
    let is_packed_refs = damaged.path == Path::new("packed-refs");
    let is_read = damaged.path.starts_with("objects")
        || ["HEAD", "config", "shallow"].iter().any(|file| damaged.path == Path::new(file));
    let has_metadata = |name: &str| copy.join("projects").join(format!("{name}.json")).exists();
    let parent = path.parent().unwrap_or(copy);
    let _ = if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
    // A pack or index whose other half the subject has removed is not part of the store any more.
    let is_half = ["pack", "idx"].iter().any(|ending| {
        let half = path.with_extension(ending);
        path.starts_with(copy.join("objects/pack")) && half != path && !half.exists()
    });
    let is_recorded = || damaged.path.starts_with("refs") && has_metadata(&name);
    if is_half || !(is_read || is_packed_refs || is_recorded()) {
        return Ok(());
    }
    if !parent.exists() {
        fs::create_dir_all(parent)?;
        fs::set_permissions(parent, fs::metadata(copy)?.permissions())?;
    }
    let content = String::from_utf8_lossy(&damaged.content);
    // Only lines of projects with metadata are restored.
    let is_recorded = |line: &&str| {
        line.trim_end().split_once(" refs/hermes/").is_some_and(|(_, hash)| has_metadata(hash))
    };
    let bytes = match is_packed_refs {
        true => content.split_inclusive('\n').filter(is_recorded).collect::<String>().into_bytes(),
        false => damaged.content.clone(),
    };
    fs::write(&path, bytes)?;
    fs::set_permissions(&path, damaged.permissions.clone())
}

/// The text of a file of the store; empty if it is not a file.
fn text(store: &Path, path: &str) -> String {
    match Replacement::at(&store.join(path)) {
        Ok(Replacement::Bytes(bytes)) => String::from_utf8_lossy(&bytes).into_owned(),
        _ => String::new(),
    }
}

/// The projects whose newest checkpoint is not named by any ref or metadata of the store.
pub fn unnamed_projects(world: &World, store: &Path) -> BTreeSet<ByteString> {
    let text = |path: &str| text(store, path);
    let packed = text("packed-refs");
    // Truncated metadata may contain the id, but is not valid JSON for its readers.
    let is_json = |text: &String| serde_json::from_str::<IgnoredAny>(text).is_ok();
    let is_unnamed = |project: &ByteString| {
        let hash = world.hash(project);
        let metadata = Some(text(&format!("projects/{hash}.json"))).filter(is_json);
        let texts = [text(&format!("refs/hermes/{hash}")), metadata.unwrap_or_default()];
        let newest = world.newest(project);
        newest.is_some_and(|newest| {
            !texts.iter().chain([&packed]).any(|text| text.contains(&newest.id))
        })
    };
    let projects = world.histories().map(|(project, _)| project.clone());
    projects.filter(is_unnamed).collect()
}
