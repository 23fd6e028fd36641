//! The runner's own edits of a checkpoint base, the folder of the store: it adds v1 repositories, archives as v1
//! made them and third-party files, and damages files.

use super::harm::Replacement;
use super::stock::{Stock, files};
use super::v1_repository::V1Repository;
use super::{Sandbox, git_alone};
use crate::git_objects;
use herma_model::store_edit::{Damage, Likeness, StoreFile};
use herma_model::{Object, Piece, StoreEdit, World};
use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

/// The name of the only repository in a planted archive.
pub const ARCHIVED: &str = "0123456789abcdef";
/// The number of parts of [`StoreEdit::AnyFile`].
const PARTS: usize = 16;
/// The file in which v1 recorded the directory of a repository.
pub const WORKDIR: &str = "HERMES_WORKDIR";

/// The outcome of an edit of the base.
#[derive(Debug)]
pub enum EditOutcome {
    /// There was nothing to change.
    Nothing,
    /// Something was added to the base.
    Added,
    /// A file of the store was damaged.
    Damaged(DamagedFile),
}

/// A file of the store that was damaged.
#[derive(Debug)]
pub struct DamagedFile {
    /// Its path in the store.
    pub path: PathBuf,
    /// The path that the damaged object would have in the store as a loose object.
    pub object_path: PathBuf,
    /// Its content before the damage.
    pub content: Vec<u8>,
    /// Its permissions.
    pub permissions: Permissions,
    /// What replaced the file.
    pub replacement: Replacement,
}

impl DamagedFile {
    /// Whether the replacement is still in place.
    pub fn is_in_place(&self, store: &Path) -> bool {
        Replacement::at(&store.join(&self.path)).is_ok_and(|found| found == self.replacement)
    }
}

/// Makes one edit of the base.
pub fn apply(sandbox: &Sandbox, world: &World, edit: &StoreEdit) -> io::Result<EditOutcome> {
    let base = sandbox.base();
    let damage_file = |path: PathBuf, damage: &Damage| damage_file(&sandbox.store(), path, *damage);
    match edit {
        StoreEdit::Repository { name, project, changed } => {
            let path = base.join(name);
            // A repository of that name may be in an archive by now; the two would be indistinguishable.
            if path.exists() || world.repositories().contains_key(name) {
                return Ok(EditOutcome::Nothing);
            }
            make_repository(sandbox.v1_repository(), &path, &world.absolute(project))?;
            set_times(&path, *changed)?;
        }
        StoreEdit::Archive { name, made } => {
            let path = base.join(name);
            if path.exists() {
                return Ok(EditOutcome::Nothing);
            }
            make_git_lookalike(&path.join(ARCHIVED))?;
            fs::write(path.join(ARCHIVED).join(WORKDIR), "/nowhere\n")?;
            set_times(&path, *made)?;
        }
        StoreEdit::Lookalike { name, of: likeness, changed } => {
            let path = base.join(name);
            if path.exists() {
                return Ok(EditOutcome::Nothing);
            }
            make_lookalike(&path, *likeness)?;
            set_times(&path, *changed)?;
        }
        StoreEdit::Stray { name } => {
            fs::create_dir_all(&base)?;
            fs::write(base.join(name), "somebody's notes\n")?;
        }
        StoreEdit::Metadata { project, damage } => {
            let name = format!("{}.json", world.hash(project));
            return damage_file(Path::new("projects").join(name), damage);
        }
        StoreEdit::Index { project, damage } => {
            return damage_file(Path::new("indexes").join(world.hash(project)), damage);
        }
        StoreEdit::Ref { project, damage } => {
            return damage_file(Path::new("refs/hermes").join(world.hash(project)), damage);
        }
        StoreEdit::File { file, damage } => {
            let path = path_of(&sandbox.store(), *file)?;
            return path.map_or(Ok(EditOutcome::Nothing), |path| damage_file(path, damage));
        }
        StoreEdit::AnyFile { part, damage } => return damage_any_file(&base, *part, *damage),
        StoreEdit::Collected if !sandbox.store().join("HEAD").exists() => {
            return Ok(EditOutcome::Nothing);
        }
        StoreEdit::Collected => drop(collect_garbage(&sandbox.store()).output()?),
        StoreEdit::Stored { project, id, piece, damage } => {
            let checkpoint = world.history(project).iter().find(|checkpoint| checkpoint.id == *id);
            let captured = checkpoint.and_then(|checkpoint| checkpoint.captured.as_ref());
            let object = captured.and_then(|captured| Object::of(piece, id, &captured.tree));
            let name = object.and_then(|object| git_objects::name_of(&object));
            let Some(name) = name else { return Ok(EditOutcome::Nothing) };
            return damage_object(sandbox, &name, *piece == Piece::PackIndex, *damage);
        }
        StoreEdit::Marker { says: time } => {
            fs::create_dir_all(&base)?;
            // With a fraction, as a clock returns it.
            let text = time.map_or_else(|| "yesterday".to_owned(), |time| format!("{time}.0"));
            fs::write(base.join(".last_prune"), text)?;
        }
    }
    Ok(EditOutcome::Added)
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
            let paths = if store.is_dir() { files(store)? } else { Vec::new() };
            return Ok(paths.into_iter().find(|path| path.extension() == Some(OsStr::new("rev"))));
        }
    }))
}

/// The command with which plain git packs a store and removes garbage by its own rules.
pub fn collect_garbage(store: &Path) -> Command {
    let mut git = git_alone();
    git.args(["-c", "core.sharedRepository=0600", "--git-dir"]).arg(store).args(["gc", "--quiet"]);
    git
}

/// The path in the base of what an edit adds and what must stay unchanged.
pub fn content_of(edit: &StoreEdit) -> Option<String> {
    match edit {
        StoreEdit::Repository { name, .. } => Some(name.clone()),
        StoreEdit::Archive { name, .. } => Some(format!("{name}/{ARCHIVED}")),
        StoreEdit::Lookalike { name, .. } => Some(name.clone()),
        _ => None,
    }
}

/// Damages the file of the base at whose beginning that part is. What the file holds is unknown, so that nothing of
/// it is observed.
fn damage_any_file(base: &Path, part: u8, damage: Damage) -> io::Result<EditOutcome> {
    let paths = if base.is_dir() { files(base)? } else { Vec::new() };
    let Some(path) = paths.get(usize::from(part) * paths.len() / PARTS) else {
        return Ok(EditOutcome::Nothing);
    };
    Ok(match damage_file(base, path.clone(), damage)? {
        EditOutcome::Damaged(_) => EditOutcome::Added,
        outcome => outcome,
    })
}

/// Damages a file of the store, if the file exists and the damage changes it.
fn damage_file(store: &Path, path: PathBuf, damage: Damage) -> io::Result<EditOutcome> {
    let absolute = store.join(&path);
    let Ok(Replacement::Bytes(content)) = Replacement::at(&absolute) else {
        return Ok(EditOutcome::Nothing);
    };
    // Text with a flipped bit may still be valid; a store that then uses it breaks no rule.
    let is_text = !path.starts_with("objects");
    let replacement = match damage {
        Damage::Flipped if is_text => return Ok(EditOutcome::Nothing),
        Damage::Removed => Replacement::Nothing,
        Damage::Emptied => Replacement::Bytes(Vec::new()),
        Damage::Halved => Replacement::Bytes(content[..content.len() / 2].to_vec()),
        Damage::Garbled => Replacement::Bytes(b"\0not what it was\xff{".to_vec()),
        Damage::Flipped => {
            let mut bytes = content.clone();
            let middle = bytes.len() / 2;
            bytes.get_mut(middle).into_iter().for_each(|byte| *byte ^= 1);
            Replacement::Bytes(bytes)
        }
        Damage::Link => Replacement::Link("nothing".into()),
        Damage::Fifo => Replacement::Fifo,
        Damage::Folder => Replacement::Folder,
    };
    let permissions = fs::metadata(&absolute)?.permissions();
    replacement.put(&absolute, permissions.clone())?;
    let object_path = path.clone();
    Ok(EditOutcome::Damaged(DamagedFile { path, object_path, content, permissions, replacement }))
}

/// Damages the file of an object: its loose file, or else its pack; with `is_index` the index of its pack.
fn damage_object(
    sandbox: &Sandbox,
    name: &str,
    is_index: bool,
    damage: Damage,
) -> io::Result<EditOutcome> {
    let store = sandbox.store();
    let (folder, rest) = name.split_at(2);
    let loose = Path::new("objects").join(folder).join(rest);
    if store.join(&loose).exists() {
        return match is_index {
            true => Ok(EditOutcome::Nothing),
            false => damage_file(&store, loose, damage),
        };
    }
    // In a partially damaged pack or pack index, it is unknown which objects can still be read.
    let is_partial = matches!(damage, Damage::Halved | Damage::Flipped);
    if is_partial || !sandbox.has_store() {
        return Ok(EditOutcome::Nothing);
    }
    // The same holds for a pack whose index is damaged already.
    let Ok(stock) = Stock::of(&store) else { return Ok(EditOutcome::Nothing) };
    let pack = stock.packs.into_iter().find(|(_, ids)| ids.contains(name));
    let Some((pack, _)) = pack else { return Ok(EditOutcome::Nothing) };
    let content = || Replacement::at(&store.join(pack.with_extension("pack")));
    let is_pack = || matches!(content(), Ok(Replacement::Bytes(raw)) if raw.starts_with(b"PACK"));
    if is_index && !is_pack() {
        return Ok(EditOutcome::Nothing);
    }
    let file = pack.with_extension(if is_index { "idx" } else { "pack" });
    Ok(match damage_file(&store, file, damage)? {
        EditOutcome::Damaged(damaged) if !is_index => {
            EditOutcome::Damaged(DamagedFile { object_path: loose, ..damaged })
        }
        outcome => outcome,
    })
}

/// Makes a folder that looks like one of v1 or of a store, and is not.
fn make_lookalike(path: &Path, likeness: Likeness) -> io::Result<()> {
    match likeness {
        Likeness::Repository => make_git_lookalike(path),
        Likeness::Name | Likeness::Archive | Likeness::Leftover => {
            fs::create_dir_all(path.join("2019"))?;
            fs::write(path.join("2019/beach.jpg"), "somebody's photo\n")
        }
    }
}

/// Makes a repository as v1 did, with the path of the working tree in a file next to git's own files.
fn make_repository(v1_repository: &V1Repository, path: &Path, workdir: &[u8]) -> io::Result<()> {
    super::edits::copy(&v1_repository.repository()?, path)?;
    let line = [workdir, b"\n"].concat();
    fs::write(path.join(WORKDIR), line)
}

/// Makes the minimum that is mistaken for a git repository.
fn make_git_lookalike(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path.join("objects"))?;
    fs::write(path.join("HEAD"), "ref: refs/heads/main\n")
}

/// Sets the modification time of everything at and below `path`, contents first.
fn set_times(path: &Path, seconds: i64) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        for entry in fs::read_dir(path)? {
            set_times(&entry?.path(), seconds)?;
        }
    }
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.unsigned_abs());
    File::open(path)?.set_modified(time)
}
