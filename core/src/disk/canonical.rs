//! The canonical path of a typed path.

use super::{Disk, Kind};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// The number of links that a kernel follows before it reports a loop.
const LINKS_MAX: usize = 40;

/// Resolves every link of an absolute path, also after a missing component, so that a deleted project
/// keeps its canonical path.
// rule: scope/identity
// rule: restore/deleted-project: decides
pub fn canonical(disk: &dyn Disk, path: &Path) -> PathBuf {
    let mut resolved = PathBuf::from("/");
    let mut pending: VecDeque<OsString> = names(path).collect();
    let plain = resolved.join(pending.iter().collect::<PathBuf>());
    // `stat` follows no link, so a path at which it finds something leads through none.
    let is_found = || disk.stat(&plain).is_ok_and(|stat| stat.kind != Kind::Link);
    if pending.iter().all(|name| name != "..") && is_found() {
        return plain;
    }
    let mut links = 0;
    while let Some(name) = pending.pop_front() {
        if name == ".." {
            resolved.pop();
            continue;
        }
        let next = resolved.join(&name);
        let is_link = disk.stat(&next).is_ok_and(|stat| stat.kind == Kind::Link);
        let target = if is_link && links < LINKS_MAX { disk.read_link(&next).ok() } else { None };
        let Some(target) = target else {
            resolved = next;
            continue;
        };
        links += 1;
        let target = PathBuf::from(OsString::from_vec(target));
        if target.is_absolute() {
            resolved = PathBuf::from("/");
        }
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            pending.push_front(name);
        }
    }
    resolved
}

fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}
