//! The canonical path of what a typed path leads to.

use super::{Disk, Kind};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// As many links as a kernel follows before it reports a loop.
const LINKS_MAX: usize = 40;

/// Resolves every link of an absolute path, also beyond the point where something is missing, so
/// that a deleted project keeps its name.
// rule: scope/identity
// rule: restore/deleted-project
pub fn canonical(disk: &dyn Disk, path: &Path) -> PathBuf {
    let mut done = PathBuf::from("/");
    let mut pending: VecDeque<OsString> = names(path).collect();
    let mut links = 0;
    while let Some(name) = pending.pop_front() {
        if name == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&name);
        let is_link = disk.stat(&next).is_ok_and(|stat| stat.kind == Kind::Link);
        let target = if is_link && links < LINKS_MAX { disk.read_link(&next).ok() } else { None };
        let Some(target) = target else {
            done = next;
            continue;
        };
        links += 1;
        let target = PathBuf::from(OsString::from_vec(target));
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            pending.push_front(name);
        }
    }
    done
}

fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}
