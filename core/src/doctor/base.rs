//! Checks of the checkpoint base: whether it exists and can be used, or could be made; which other users
//! may read it; and how much it may still grow.

use super::{Check, Finding, Machine};
use crate::disk::{Disk, Kind, Stat, canonical, is_absence};
use crate::environment::{Config, MEBIBYTE};
use std::io;
use std::path::{Path, PathBuf};

/// With less free space than this, even a small checkpoint may not fit.
const FREE_BYTES_MIN: u64 = 10 * MEBIBYTE;
/// A small checkpoint makes fewer files than this.
const FREE_FILES_MIN: u64 = 100;
/// Objects are in folders of a folder of the store.
const FOLDERS_DEEP: usize = 2;
/// What works with a store that can only be read.
const READABLE: &str =
    "; its checkpoints are listed and compared, but none is taken, and a rollback needs --force";
/// The end of each advice about a base that cannot be used.
const ELSEWHERE: &str = "or set HERMES_HOME to a directory in which you may write";

/// Checks whether the base and the store in it can be used, or made. `configured` is the path of the
/// base as configured, before links are resolved.
pub fn usability(disk: &dyn Disk, machine: &dyn Machine, configured: &Path) -> Finding {
    let base = canonical(disk, configured);
    match disk.stat(&base) {
        Ok(stat) => existing(disk, machine, &base, &stat),
        Err(error) if is_absence(&error) => missing(disk, machine, configured, &base),
        Err(error) => no_access(disk, machine, &base, &error),
    }
}

fn existing(disk: &dyn Disk, machine: &dyn Machine, base: &Path, stat: &Stat) -> Finding {
    let store = base.join("store");
    let of_base = || unusable(disk, machine, base, stat);
    let store_stat = match disk.stat(&store) {
        Ok(stat) => stat,
        Err(error) if is_absence(&error) => {
            let fine = || Check::Base.ok(format!("{base:?} exists, without a store yet"));
            return of_base().unwrap_or_else(fine);
        }
        Err(error) => return of_base().unwrap_or_else(|| no_access(disk, machine, &store, &error)),
    };
    if let Some(finding) = unusable(disk, machine, &store, &store_stat) {
        let is_readable = disk.list(&store).is_ok() && machine.may_write(&store).is_err();
        let works = if is_readable { READABLE } else { "" };
        return Finding { found: finding.found + works, ..finding };
    }
    let fine = || Check::Base.ok(format!("{base:?} contains a store"));
    of_base().or_else(|| unusable_below(disk, machine, &store, FOLDERS_DEEP)).unwrap_or_else(fine)
}

/// The reason why a folder of the store cannot be used, such as one that root made for itself, if there is one.
fn unusable_below(
    disk: &dyn Disk,
    machine: &dyn Machine,
    folder: &Path,
    levels: usize,
) -> Option<Finding> {
    let names = disk.list(folder).ok().filter(|_| levels > 0)?;
    names.into_iter().find_map(|name| {
        let path = folder.join(name);
        let stat = disk.stat(&path).ok().filter(|stat| stat.kind == Kind::Directory)?;
        unusable(disk, machine, &path, &stat)
            .or_else(|| unusable_below(disk, machine, &path, levels - 1))
    })
}

/// The reason why a directory of this tool cannot be used, if there is one.
fn unusable(disk: &dyn Disk, machine: &dyn Machine, path: &Path, stat: &Stat) -> Option<Finding> {
    if stat.kind != Kind::Directory {
        let found = format!("{path:?} is not a directory");
        return Some(Check::Base.trouble(found, format!("move it away, {ELSEWHERE}")));
    }
    let denied = match (disk.list(path), machine.may_write(path)) {
        (Err(error), _) => Some(format!("cannot be read: {error}")),
        (Ok(_), Err(error)) => Some(format!("cannot be written: {error}")),
        (Ok(_), Ok(())) => None,
    };
    let Some(owner) = other_owner(machine, path, stat) else {
        let found = format!("{path:?} {}", denied?);
        let advice = format!("give yourself permission to read and write it, {ELSEWHERE}");
        return Some(Check::Base.trouble(found, advice));
    };
    // Files that another user makes there belong to that user and are closed to the owner.
    let advice =
        format!("run herma as its owner, make yourself the owner with chown -R, {ELSEWHERE}");
    Some(match denied {
        Some(denied) => Check::Base.trouble(format!("{owner}; it {denied}"), advice),
        None if machine.user() == 0 => Check::Base.notice(owner, advice),
        None => Check::Base.trouble(owner, advice),
    })
}

/// Who owns a directory, if it is another user.
fn other_owner(machine: &dyn Machine, path: &Path, stat: &Stat) -> Option<String> {
    let user = machine.user();
    let found = format!("{path:?} belongs to user {}, and you are user {user}", stat.user);
    (stat.user != user).then_some(found)
}

fn missing(disk: &dyn Disk, machine: &dyn Machine, configured: &Path, base: &Path) -> Finding {
    let (above, stat) = match nearest(disk, base) {
        Ok(existing) => existing,
        Err((path, error)) => return no_access(disk, machine, &path, &error),
    };
    let link = broken_link(disk, configured);
    let through = match &link {
        Some((link, target)) => {
            format!(" ({link:?} is a link to {target:?}, which does not exist)")
        }
        None => String::new(),
    };
    if stat.kind != Kind::Directory {
        let found = format!("{base:?} cannot be created: {above:?} is not a directory{through}");
        return Check::Base.trouble(found, format!("move {above:?} away, {ELSEWHERE}"));
    }
    if let Err(error) = machine.may_write(&above) {
        let found = format!("{base:?} cannot be created in {above:?}: {error}{through}");
        let advice = format!("give yourself permission to write there, {ELSEWHERE}");
        return Check::Base.trouble(found, advice);
    }
    if link.is_some() {
        let found = format!("{base:?} does not exist{through}; a checkpoint would create it");
        let advice = "if it belongs on a volume that is not mounted, mount the volume first";
        return Check::Base.notice(found, advice);
    }
    Check::Base.ok(format!("{base:?} does not exist yet; the first checkpoint creates it"))
}

fn no_access(disk: &dyn Disk, machine: &dyn Machine, path: &Path, error: &io::Error) -> Finding {
    let closed = path.ancestors().find_map(|above| Some((above, disk.stat(above).ok()?)));
    let owner = closed.and_then(|(above, stat)| other_owner(machine, above, &stat));
    let owner = owner.map_or_else(String::new, |owner| format!("; {owner}"));
    let found = format!("{path:?} cannot be accessed: {error}{owner}");
    let advice = format!("give yourself permission to enter the directories above it, {ELSEWHERE}");
    Check::Base.trouble(found, advice)
}

/// The path itself with its stat, or the nearest path above it that exists.
pub fn nearest(disk: &dyn Disk, path: &Path) -> Result<(PathBuf, Stat), (PathBuf, io::Error)> {
    for ancestor in path.ancestors() {
        match disk.stat(ancestor) {
            Ok(stat) => return Ok((ancestor.to_owned(), stat)),
            Err(error) if is_absence(&error) => {}
            Err(error) => return Err((ancestor.to_owned(), error)),
        }
    }
    Err((path.to_owned(), io::ErrorKind::NotFound.into()))
}

/// The first broken link on a path, and its target.
fn broken_link(disk: &dyn Disk, configured: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut ancestors: Vec<&Path> = configured.ancestors().collect();
    ancestors.reverse();
    ancestors.into_iter().find_map(|ancestor| {
        let link = canonical(disk, ancestor.parent()?).join(ancestor.file_name()?);
        let is_link = disk.stat(&link).is_ok_and(|stat| stat.kind == Kind::Link);
        let target = canonical(disk, &link);
        (is_link && disk.stat(&target).is_err()).then_some((link, target))
    })
}

/// Checks which other users may read or change the base. `home` is canonical.
pub fn privacy(disk: &dyn Disk, base: &Path, home: &Path) -> Finding {
    let mode = match disk.stat(base) {
        Ok(stat) if stat.kind == Kind::Directory => stat.mode & 0o777,
        _ => {
            return Check::Privacy.ok("checkpoint files are readable by their owner only");
        }
    };
    if mode & 0o077 == 0 {
        return Check::Privacy.ok(format!("{base:?} is readable by its owner only"));
    }
    let closed = |bits| above(base, home).into_iter().find(|path| !permits(disk, path, bits));
    if let Some(path) = closed(0o011) {
        let found =
            format!("{base:?} is readable by its owner only, because {path:?} is closed to others");
        return Check::Privacy.ok(found);
    }
    let advice = format!("chmod 700 {base:?}");
    let found = |risk: &str| format!("{base:?} has the permissions {mode:o}: {risk}");
    // A user who may write there can give another store to the next restore.
    if mode & 0o002 != 0 && closed(0o001).is_none() {
        let found = found("any user can replace the stored checkpoints");
        return Check::Privacy.trouble(found, advice);
    }
    Check::Privacy.notice(found("other users can access it"), advice)
}

/// The directories above the base that protect it: those up to the home directory, or, outside it, the
/// parent directory. Directories further up belong to the system.
fn above<'a>(base: &'a Path, home: &Path) -> Vec<&'a Path> {
    let above = base.ancestors().skip(1);
    if base.starts_with(home) {
        above.take_while(|path| path.starts_with(home)).collect()
    } else {
        above.take(1).collect()
    }
}

/// Whether any of these permission bits is set; `true` if that is unknown.
fn permits(disk: &dyn Disk, path: &Path, bits: u32) -> bool {
    disk.stat(path).map_or(true, |stat| stat.mode & bits != 0)
}

/// Checks the free space where the base is or would be made.
pub fn space(disk: &dyn Disk, machine: &dyn Machine, base: &Path, config: &Config) -> Finding {
    let existing = nearest(disk, base).map(|(existing, _)| existing);
    let space = existing.map_err(|(_, error)| error).and_then(|path| machine.space(&path));
    let space = match space {
        Ok(space) => space,
        Err(error) => {
            let found = format!("the free space at {base:?} is not known: {error}");
            return Check::Space.notice(found, "make sure that there is enough");
        }
    };
    let free = format!("{} MB are free at {base:?}", space.bytes / MEBIBYTE);
    if space.bytes < FREE_BYTES_MIN {
        let found = format!("the disk of the checkpoint store is nearly full: {free}");
        let advice = "make room, for example with `herma checkpoints prune` or a smaller retention_days in the \
                      configuration";
        return Check::Space.trouble(found, advice);
    }
    if let Some(files) = space.files.filter(|files| *files < FREE_FILES_MIN) {
        let found = format!("only {files} more files can be created at {base:?}");
        return Check::Space
            .trouble(found, "remove some files, for example with `herma checkpoints prune`");
    }
    let limit = config.max_total_bytes;
    if space.bytes < limit {
        let found = format!("{free}, and the store may grow to {} MB", limit / MEBIBYTE);
        let advice = "free some space, or lower max_total_size_mb in the configuration";
        return Check::Space.notice(found, advice);
    }
    Check::Space.ok(free)
}
