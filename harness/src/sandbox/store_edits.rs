//! What the runner itself does to a checkpoint base: v1 repositories and archives as v1 made them,
//! foreign files, and damage.

use super::Sandbox;
use super::v1_repository::FirstLayout;
use herma_model::store_edit::{Damage, Likeness};
use herma_model::{StoreEdit, World};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The name of the only repository in a planted archive.
pub const ARCHIVED: &str = "0123456789abcdef";
/// The file in which v1 noted the directory of a repository.
pub const WORKDIR: &str = "HERMES_WORKDIR";

/// Carries out one change of the base; returns whether there was anything to change.
pub fn apply(sandbox: &Sandbox, world: &World, edit: &StoreEdit) -> io::Result<bool> {
    let base = sandbox.base();
    let in_store = |folder: &str, name: String| sandbox.store().join(folder).join(name);
    match edit {
        StoreEdit::Repository { name, project, changed } => {
            let path = base.join(name);
            // One of that name may be in an archive by now; the two could not be distinguished.
            if path.exists() || world.repositories().contains_key(name) {
                return Ok(false);
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
                return Ok(false);
            }
            looks_like_git(&path.join(ARCHIVED))?;
            fs::write(path.join(ARCHIVED).join(WORKDIR), "/nowhere\n")?;
            set_times(&path, *made)?;
        }
        StoreEdit::Lookalike { name, of, changed } => {
            let path = base.join(name);
            if path.exists() {
                return Ok(false);
            }
            match of {
                Likeness::Repository => looks_like_git(&path)?,
                Likeness::Name | Likeness::Archive => {
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
            return harm(&in_store("projects", format!("{}.json", world.hash(project))), *damage);
        }
        StoreEdit::Index { project, damage } => {
            return harm(&in_store("indexes", world.hash(project)), *damage);
        }
        StoreEdit::Marker { says } => {
            fs::create_dir_all(&base)?;
            // With a fraction, as a clock says it.
            let text = says.map_or_else(|| "yesterday".to_owned(), |says| format!("{says}.0"));
            fs::write(base.join(".last_prune"), text)?;
        }
    }
    Ok(true)
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

fn harm(path: &Path, damage: Damage) -> io::Result<bool> {
    let Ok(content) = fs::read(path) else {
        return Ok(false);
    };
    match damage {
        Damage::Removed => fs::remove_file(path)?,
        Damage::Emptied => fs::write(path, "")?,
        Damage::Halved => fs::write(path, &content[..content.len() / 2])?,
        Damage::Garbled => fs::write(path, b"\0not what it was\xff{")?,
    }
    Ok(true)
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
