//! The checkpoint base: whether it is there and can be used, or could be made; who else may look into
//! it; and how much it may still grow.

use super::{Check, Finding, Machine};
use crate::disk::{Disk, Kind, Stat, canonical, is_absence};
use crate::environment::{Config, MEBIBYTE};
use std::io;
use std::path::{Path, PathBuf};

/// With less than this free, not even a small checkpoint is sure to fit.
const FREE_LEAST: u64 = 10 * MEBIBYTE;
/// A small checkpoint takes fewer files than this.
const FREE_FILES_LEAST: u64 = 100;
/// What helps wherever the base cannot be.
const ELSEWHERE: &str = "or set HERMES_HOME to a directory in which you may write";

/// Whether the base and the store in it can be used, or made. `typed` is the base as it is configured,
/// with any links on the way.
pub fn place(disk: &dyn Disk, machine: &dyn Machine, typed: &Path) -> Finding {
    let base = canonical(disk, typed);
    match disk.stat(&base) {
        Ok(stat) => there(disk, machine, &base, &stat),
        Err(error) if is_absence(&error) => missing(disk, machine, typed, &base),
        Err(error) => unseen(&base, &error),
    }
}

fn there(disk: &dyn Disk, machine: &dyn Machine, base: &Path, stat: &Stat) -> Finding {
    let store = base.join("store");
    let found = match disk.stat(&store) {
        Ok(stat) => Some(stat),
        Err(error) if is_absence(&error) => None,
        Err(error) => return unseen(&store, &error),
    };
    for (path, stat) in [(base, Some(stat)), (&store, found.as_ref())] {
        let Some(stat) = stat else { continue };
        if let Some(finding) = unusable(disk, machine, path, stat) {
            return finding;
        }
    }
    let what = if found.is_some() { "holds a store" } else { "is there, without a store yet" };
    Finding::ok(Check::Base, format!("{base:?} {what}"))
}

/// What keeps a directory of ours from being used.
fn unusable(disk: &dyn Disk, machine: &dyn Machine, path: &Path, stat: &Stat) -> Option<Finding> {
    if stat.kind != Kind::Directory {
        let found = format!("{path:?} is no directory");
        return Some(Finding::trouble(Check::Base, found, format!("move it away, {ELSEWHERE}")));
    }
    let listed = disk.list(path).map(drop);
    if let Err(error) = listed.and_then(|()| machine.may_write(path)) {
        let found = format!("{path:?} cannot be read and written: {error}");
        let advice = format!("make it yours to read and write, {ELSEWHERE}");
        return Some(Finding::trouble(Check::Base, found, advice));
    }
    let user = machine.user();
    if stat.user == user {
        return None;
    }
    let found = format!("{path:?} belongs to user {}, and you are user {user}", stat.user);
    // What somebody else makes there is theirs, and closed to its owner.
    let advice = format!("run this as its owner, give it to yourself with chown -R, {ELSEWHERE}");
    let works = user == 0;
    let finding = if works { Finding::notice } else { Finding::trouble };
    Some(finding(Check::Base, found, advice))
}

fn missing(disk: &dyn Disk, machine: &dyn Machine, typed: &Path, base: &Path) -> Finding {
    let (above, stat) = match nearest(disk, base) {
        Ok(found) => found,
        Err((path, error)) => return unseen(&path, &error),
    };
    let link = broken_link(disk, typed);
    let through = match &link {
        Some((link, target)) => format!(" ({link:?} is a link to {target:?}, which is not there)"),
        None => String::new(),
    };
    if stat.kind != Kind::Directory {
        let found = format!("{base:?} cannot be made: {above:?} is no directory{through}");
        return Finding::trouble(Check::Base, found, format!("move that away, {ELSEWHERE}"));
    }
    if let Err(error) = machine.may_write(&above) {
        let found = format!("{base:?} cannot be made in {above:?}: {error}{through}");
        let advice = format!("get the permission to write there, {ELSEWHERE}");
        return Finding::trouble(Check::Base, found, advice);
    }
    if link.is_some() {
        let found = format!("{base:?} is not there{through}; a checkpoint would make it");
        let advice = "if it is on a volume that is not mounted, mount that first";
        return Finding::notice(Check::Base, found, advice);
    }
    Finding::ok(Check::Base, format!("{base:?} is not there yet; the first checkpoint makes it"))
}

fn unseen(path: &Path, error: &io::Error) -> Finding {
    let found = format!("{path:?} cannot be looked at: {error}");
    let advice = format!("get the permission to go through the directories above, {ELSEWHERE}");
    Finding::trouble(Check::Base, found, advice)
}

/// What is there of a path: itself, or the nearest directory above.
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

/// The first link on a path that leads nowhere, and where it would lead.
fn broken_link(disk: &dyn Disk, typed: &Path) -> Option<(PathBuf, PathBuf)> {
    let mut ancestors: Vec<&Path> = typed.ancestors().collect();
    ancestors.reverse();
    ancestors.into_iter().find_map(|ancestor| {
        let link = canonical(disk, ancestor.parent()?).join(ancestor.file_name()?);
        let is_link = disk.stat(&link).is_ok_and(|stat| stat.kind == Kind::Link);
        let target = canonical(disk, &link);
        (is_link && disk.stat(&target).is_err()).then_some((link, target))
    })
}

/// Who else may look into the base, or change it. `home` is canonical.
pub fn privacy(disk: &dyn Disk, base: &Path, home: &Path) -> Finding {
    let mode = match disk.stat(base) {
        Ok(stat) if stat.kind == Kind::Directory => stat.mode & 0o777,
        _ => return Finding::ok(Check::Privacy, "what a checkpoint makes is for its owner only"),
    };
    if mode & 0o077 == 0 {
        return Finding::ok(Check::Privacy, format!("only its owner may look into {base:?}"));
    }
    let closed = |bits| above(base, home).into_iter().find(|path| !permits(disk, path, bits));
    if let Some(path) = closed(0o011) {
        let found = format!("only its owner gets through {path:?} to {base:?}");
        return Finding::ok(Check::Privacy, found);
    }
    let advice = format!("chmod 700 {base:?}");
    let found = |who: &str| format!("{base:?} has the permissions {mode:o}: {who}");
    // Whoever may write there can give another store to the next restore.
    if mode & 0o002 != 0 && closed(0o001).is_none() {
        let found = found("anybody may replace what is stored in it");
        return Finding::trouble(Check::Privacy, found, advice);
    }
    Finding::notice(Check::Privacy, found("it is open to others than its owner"), advice)
}

/// The directories that somebody has to get through to the base: up to the home, or the one that it is
/// in. Those further up are the system's.
fn above<'a>(base: &'a Path, home: &Path) -> Vec<&'a Path> {
    let above = base.ancestors().skip(1);
    if base.starts_with(home) {
        above.take_while(|path| path.starts_with(home)).collect()
    } else {
        above.take(1).collect()
    }
}

/// Whether one of these permission bits is set; also where that cannot be seen.
fn permits(disk: &dyn Disk, path: &Path, bits: u32) -> bool {
    disk.stat(path).map_or(true, |stat| stat.mode & bits != 0)
}

/// What is free where the base is, or would be made.
pub fn space(disk: &dyn Disk, machine: &dyn Machine, base: &Path, config: &Config) -> Finding {
    let place = nearest(disk, base).map(|(place, _)| place);
    let space = place.map_err(|(_, error)| error).and_then(|place| machine.space(&place));
    let space = match space {
        Ok(space) => space,
        Err(error) => {
            let found = format!("what is free at {base:?} cannot be told: {error}");
            return Finding::notice(Check::Space, found, "see to it that there is some");
        }
    };
    let free = format!("{} MB are free at {base:?}", space.bytes / MEBIBYTE);
    if space.bytes < FREE_LEAST {
        let advice =
            format!("free some, {ELSEWHERE}; `herma checkpoints prune` makes the store smaller");
        return Finding::trouble(Check::Space, free, advice);
    }
    if let Some(files) = space.files.filter(|files| *files < FREE_FILES_LEAST) {
        let found = format!("only {files} more files can be made at {base:?}");
        return Finding::trouble(Check::Space, found, format!("remove some, {ELSEWHERE}"));
    }
    let most = config.max_total_bytes;
    if space.bytes < most {
        let found = format!("{free}, and the store may grow to {} MB", most / MEBIBYTE);
        let advice = "free some, or make max_total_size_mb smaller in the configuration";
        return Finding::notice(Check::Space, found, advice);
    }
    Finding::ok(Check::Space, free)
}
