//! What the runner itself does to a checkpoint base: v1 repositories and archives as v1 made them,
//! foreign files, and damage.

use super::harm::Left;
use super::stock::{Stock, files};
use super::v1_repository::FirstLayout;
use super::{Sandbox, git_alone};
use crate::git_objects;
use herma_model::store_edit::{Damage, Likeness, StoreFile};
use herma_model::{Object, Piece, StoreEdit, World};
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// The name of the only repository in a planted archive.
pub const ARCHIVED: &str = "0123456789abcdef";
/// The file in which v1 noted the directory of a repository.
pub const WORKDIR: &str = "HERMES_WORKDIR";

/// What one change of the base came to.
#[derive(Debug)]
pub enum Done {
    /// There was nothing to change.
    Nothing,
    /// Something was put there.
    Put,
    /// A file of the store was damaged.
    Harmed(Harmed),
}

/// A file of the store that was damaged.
#[derive(Debug)]
pub struct Harmed {
    /// Where it is in the store.
    pub path: PathBuf,
    /// Where the object that was to be damaged would be in the store, had it a file of its own.
    pub sought: PathBuf,
    /// What it held.
    pub was: Vec<u8>,
    /// Its permissions.
    pub permissions: Permissions,
    /// What stands there since.
    pub left: Left,
}

impl Harmed {
    /// Whether what the damage left is still there.
    pub fn stands(&self, store: &Path) -> bool {
        Left::at(&store.join(&self.path)).is_ok_and(|at| at == self.left)
    }
}

/// Carries out one change of the base.
pub fn apply(sandbox: &Sandbox, world: &World, edit: &StoreEdit) -> io::Result<Done> {
    let base = sandbox.base();
    let harm = |path: PathBuf, damage: &Damage| harm(&sandbox.store(), path, *damage);
    match edit {
        StoreEdit::Repository { name, project, changed } => {
            let path = base.join(name);
            // One of that name may be in an archive by now; the two could not be distinguished.
            if path.exists() || world.repositories().contains_key(name) {
                return Ok(Done::Nothing);
            }
            make_repository(
                sandbox.v1_repository(),
                &path,
                Path::new(OsStr::from_bytes(&world.absolute(project))),
            )?;
            set_times(&path, *changed)?;
        }
        StoreEdit::Archive { name, made } => {
            let path = base.join(name);
            if path.exists() {
                return Ok(Done::Nothing);
            }
            looks_like_git(&path.join(ARCHIVED))?;
            fs::write(path.join(ARCHIVED).join(WORKDIR), "/nowhere\n")?;
            set_times(&path, *made)?;
        }
        StoreEdit::Lookalike { name, of, changed } => {
            let path = base.join(name);
            if path.exists() {
                return Ok(Done::Nothing);
            }
            match of {
                Likeness::Repository => looks_like_git(&path)?,
                Likeness::Name | Likeness::Archive | Likeness::Leftover => {
                    fs::create_dir_all(path.join("2019"))?;
                    fs::write(path.join("2019/beach.jpg"), "somebody's photo\n")?;
                }
            }
            set_times(&path, *changed)?;
        }
        StoreEdit::Stray { name } => {
            fs::create_dir_all(&base)?;
            fs::write(base.join(name), "somebody's notes\n")?;
        }
        StoreEdit::Metadata { project, damage } => {
            let name = format!("{}.json", world.hash(project));
            return harm(Path::new("projects").join(name), damage);
        }
        StoreEdit::Index { project, damage } => {
            return harm(Path::new("indexes").join(world.hash(project)), damage);
        }
        StoreEdit::Ref { project, damage } => {
            return harm(Path::new("refs/hermes").join(world.hash(project)), damage);
        }
        StoreEdit::File { file, damage } => {
            let path = path_of(&sandbox.store(), *file)?;
            return path.map_or(Ok(Done::Nothing), |path| harm(path, damage));
        }
        StoreEdit::Collected => {
            let store = sandbox.store();
            if !store.join("HEAD").exists() {
                return Ok(Done::Nothing);
            }
            collect_garbage(&store).output()?;
        }
        StoreEdit::Stored { project, id, piece, damage } => {
            let of = world.history(project).iter().find(|one| one.id == *id);
            let held = of.and_then(|one| one.captured.as_ref());
            let object = held.and_then(|held| Object::of(piece, id, &held.tree));
            let name = object.and_then(|object| git_objects::name_of(&object));
            let Some(name) = name else { return Ok(Done::Nothing) };
            let (folder, rest) = name.split_at(2);
            let own = Path::new("objects").join(folder).join(rest);
            let is_index = *piece == Piece::PackIndex;
            if sandbox.store().join(&own).exists() {
                return if is_index { Ok(Done::Nothing) } else { harm(own, damage) };
            }
            // Of a pack that is damaged in part, or its index, nobody knows which objects can still be read.
            let in_part = matches!(damage, Damage::Halved | Damage::Flipped);
            if in_part || !sandbox.has_store() {
                return Ok(Done::Nothing);
            }
            // Nor of one whose index is damaged already.
            let Ok(stock) = Stock::of(&sandbox.store()) else { return Ok(Done::Nothing) };
            let pack = stock.packs.into_iter().find(|(_, ids)| ids.contains(&name));
            let Some((pack, _)) = pack else { return Ok(Done::Nothing) };
            let packed = sandbox.store().join(pack.with_extension("pack"));
            let is_pack =
                || matches!(Left::at(&packed), Ok(Left::Bytes(of)) if of.starts_with(b"PACK"));
            if is_index && !is_pack() {
                return Ok(Done::Nothing);
            }
            let file = pack.with_extension(if is_index { "idx" } else { "pack" });
            return Ok(match harm(file, damage)? {
                Done::Harmed(harmed) if !is_index => Done::Harmed(Harmed { sought: own, ..harmed }),
                done => done,
            });
        }
        StoreEdit::Marker { says } => {
            fs::create_dir_all(&base)?;
            // With a fraction, as a clock says it.
            let text = says.map_or_else(|| "yesterday".to_owned(), |says| format!("{says}.0"));
            fs::write(base.join(".last_prune"), text)?;
        }
    }
    Ok(Done::Put)
}

/// The path of a file in the store; `None` if its name is not fixed and the store has no such file.
fn path_of(store: &Path, file: StoreFile) -> io::Result<Option<PathBuf>> {
    Ok(Some(match file {
        StoreFile::Head => "HEAD".into(),
        StoreFile::Config => "config".into(),
        StoreFile::PackedRefs => "packed-refs".into(),
        StoreFile::Shallow => "shallow".into(),
        StoreFile::Usage => "usage".into(),
        StoreFile::Exclude => "info/exclude".into(),
        StoreFile::Attributes => "info/attributes".into(),
        StoreFile::CommitGraph => "objects/info/commit-graph".into(),
        StoreFile::ReverseIndex => {
            let all = if store.is_dir() { files(store)? } else { Vec::new() };
            return Ok(all.into_iter().find(|path| path.extension() == Some(OsStr::new("rev"))));
        }
    }))
}

/// Plain git packs a store and removes what is garbage by its own rules.
pub fn collect_garbage(store: &Path) -> Command {
    let mut git = git_alone();
    git.args(["-c", "core.sharedRepository=0600", "--git-dir"]).arg(store).args(["gc", "--quiet"]);
    git
}

/// The place in the base of what an edit puts there and what must stay unchanged.
pub fn content_of(edit: &StoreEdit) -> Option<String> {
    match edit {
        StoreEdit::Repository { name, .. } => Some(name.clone()),
        StoreEdit::Archive { name, .. } => Some(format!("{name}/{ARCHIVED}")),
        StoreEdit::Lookalike { name, .. } => Some(name.clone()),
        _ => None,
    }
}

/// Damages a file of the store, if there is one and it is another one afterwards.
fn harm(store: &Path, path: PathBuf, damage: Damage) -> io::Result<Done> {
    let place = store.join(&path);
    let Ok(Left::Bytes(was)) = Left::at(&place) else { return Ok(Done::Nothing) };
    // What says something else may be believed, and nobody could be blamed for that.
    let is_text = !path.starts_with("objects");
    let left = match damage {
        Damage::Flipped if is_text => return Ok(Done::Nothing),
        Damage::Removed => Left::Nothing,
        Damage::Emptied => Left::Bytes(Vec::new()),
        Damage::Halved => Left::Bytes(was[..was.len() / 2].to_vec()),
        Damage::Garbled => Left::Bytes(b"\0not what it was\xff{".to_vec()),
        Damage::Flipped => {
            let mut bytes = was.clone();
            let middle = bytes.len() / 2;
            bytes.get_mut(middle).into_iter().for_each(|byte| *byte ^= 1);
            Left::Bytes(bytes)
        }
        Damage::Link => Left::Link("nothing".into()),
        Damage::Fifo => Left::Fifo,
        Damage::Folder => Left::Folder,
    };
    let permissions = fs::metadata(&place)?.permissions();
    left.put(&place, permissions.clone())?;
    let sought = path.clone();
    Ok(Done::Harmed(Harmed { path, sought, was, permissions, left }))
}

/// Makes a repository as v1 did, with the path of the working tree beside git's own files.
fn make_repository(v1_repository: &FirstLayout, path: &Path, workdir: &Path) -> io::Result<()> {
    super::edits::copy(&v1_repository.repository()?, path)?;
    let line = [workdir.as_os_str().as_bytes(), b"\n"].concat();
    fs::write(path.join(WORKDIR), line)
}

/// Makes the least that anyone takes for a repository of git.
fn looks_like_git(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path.join("objects"))?;
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n")
}

/// Sets the time of everything at and below `path`, contents first.
fn set_times(path: &Path, seconds: i64) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            set_times(&entry?.path(), seconds)?;
        }
    }
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs());
    File::open(path)?.set_modified(time)
}
