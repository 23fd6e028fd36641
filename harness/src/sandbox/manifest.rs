//! The harness's own observation of a disk: every path below a root with its type, bytes, mode and
//! time.
//!
//! It uses no code of a subject, so its result is independent evidence.

#[cfg(test)]
mod tests;

use super::Sandbox;
use super::settled::{Settled, StatData};
use herma_model::bytes::{file_name, join};
use herma_model::files::SpecialKind;
use herma_model::observation::Names;
use herma_model::{ByteString, Files, Node};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// The flags with which a folder is opened.
pub(super) const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The flags with which a folder is opened to look at what is in it, which needs no permission to list it.
#[cfg(target_os = "linux")]
const ENTERED: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const ENTERED: OFlags = FOLDER;

/// The state of a disk at one moment. Copies are cheap, and share what is unchanged with the observation
/// before.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// The files, as the model sees files.
    pub files: Files,
    /// Files with several hard links.
    pub names: Names,
    /// What each folder holds.
    folders: BTreeMap<ByteString, Folder>,
    pub(super) settled: Settled,
}

/// A folder.
#[derive(Clone, Debug)]
struct Folder {
    /// Its own: as long as it is unchanged, so are the names in the folder.
    stat: StatData,
    items: Arc<Vec<FolderItem>>,
}

/// One item of a folder, in the order in which the system lists them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FolderItem {
    name: ByteString,
    /// `None` for a folder.
    stat: Option<StatData>,
    mode: u32,
}

impl Manifest {
    /// Nothing observed yet, on the file system of that folder.
    ///
    /// # Errors
    /// No file can be written there.
    pub fn none(folder: &Path) -> io::Result<Self> {
        Ok(Manifest { settled: Settled::on_file_system_of(folder)?, ..Manifest::default() })
    }

    /// The same without any file, so that each is read again.
    pub fn forgotten(&self) -> Self {
        Manifest { settled: self.settled, ..Manifest::default() }
    }

    fn is_settled(&self, item: &FolderItem) -> bool {
        item.stat.is_none_or(|stat| self.settled.has(&stat))
    }

    /// Every file in a folder that differs from an earlier observation or is gone, with its earlier stat data
    /// and that of now.
    fn changed<'a>(
        &'a self,
        earlier: &'a Manifest,
    ) -> BTreeMap<ByteString, (&'a StatData, Option<&'a StatData>)> {
        let mut changed = BTreeMap::new();
        for (directory, folder) in &earlier.folders {
            let items = &folder.items;
            let now = self.folders.get(directory).map(|folder| &folder.items);
            if now.is_some_and(|now| Arc::ptr_eq(now, items)) {
                continue;
            }
            let now: BTreeMap<&ByteString, &StatData> = now
                .into_iter()
                .flat_map(|items| items.iter())
                .filter_map(FolderItem::file)
                .collect();
            for (name, stat) in items.iter().filter_map(FolderItem::file) {
                let stat_now = now.get(name).copied();
                if stat_now != Some(stat) {
                    changed.insert(path_in(directory, name), (stat, stat_now));
                }
            }
        }
        changed
    }
}

impl FolderItem {
    /// The name and the stat data of what is not a folder.
    fn file(&self) -> Option<(&ByteString, &StatData)> {
        Some((&self.name, self.stat.as_ref()?))
    }
}

pub(super) fn path_in(directory: &[u8], name: &[u8]) -> ByteString {
    ByteString::from(join(directory, name))
}

/// Reads everything in a sandbox except the base.
///
/// # Errors
/// As [`read`].
pub fn read_all(sandbox: &Sandbox) -> io::Result<Manifest> {
    read(sandbox.root(), &sandbox.base(), None, &Manifest::default())
}

/// Reads everything below `root` except what belongs to the subject: everything at or below `base`,
/// and folders named `store_folder`, if the subject keeps its store in the projects.
///
/// A file is not read again if its stat data is equal to that of the `last` observation. The stat data contains
/// the time of change, which only the kernel sets.
///
/// # Errors
/// Something cannot be read.
pub fn read(
    root: &Path,
    base: &Path,
    store_folder: Option<&str>,
    last: &Manifest,
) -> io::Result<Manifest> {
    let base = base.strip_prefix(root).unwrap_or(base).as_os_str().as_bytes();
    let is_of_subject = |path: &[u8]| {
        *path == *base || store_folder.is_some_and(|name| file_name(path) == name.as_bytes())
    };
    let top = rustix::fs::open(root, FOLDER, Mode::empty())?;
    let mut reading = Reading::begin(last, &is_of_subject);
    reading.pending.push((ByteString::default(), StatData::of(&rustix::fs::fstat(&top)?)));
    while let Some((directory, stat)) = reading.pending.pop() {
        reading.visit(&top, directory, stat)?;
    }
    Ok(reading.end())
}

/// An observation that has begun.
struct Reading<'a> {
    last: &'a Manifest,
    /// What was observed so far. Its files are those of the last observation where nothing else was observed.
    now: Manifest,
    /// Whether a folder belongs to the subject.
    is_of_subject: &'a dyn Fn(&[u8]) -> bool,
    /// Folders that are not read yet.
    pending: Vec<(ByteString, StatData)>,
    /// The names of each inode that has several.
    linked: BTreeMap<u64, BTreeSet<ByteString>>,
}

impl<'a> Reading<'a> {
    fn begin(last: &'a Manifest, is_of_subject: &'a dyn Fn(&[u8]) -> bool) -> Self {
        let settled = last.settled.now();
        let now = Manifest { files: last.files.clone(), settled, ..Manifest::default() };
        Reading { last, now, is_of_subject, pending: Vec::new(), linked: BTreeMap::new() }
    }

    /// Reads a folder with this stat data. Its names are listed only if it changed.
    fn visit(&mut self, top: &OwnedFd, directory: ByteString, stat: StatData) -> io::Result<()> {
        let last = self.last.folders.get(&directory);
        let earlier = last.map_or(&[][..], |folder| &folder.items);
        let is_unchanged =
            last.is_some_and(|last| self.last.settled.is_unchanged(&last.stat, &stat));
        // By their names in the open folder: their paths would be looked up again for each of them.
        let flags = if is_unchanged { ENTERED } else { FOLDER };
        let mode = Mode::from_raw_mode(stat.mode);
        let folder = open_as_owner(top, in_top(&directory), flags, mode)?;
        let names = match is_unchanged {
            true => earlier.iter().map(|item| item.name.clone()).collect(),
            false => names_in(rustix::io::fcntl_dupfd_cloexec(&folder, 0)?)?,
        };
        let mut items = Vec::with_capacity(names.len());
        for name in names {
            let stat = rustix::fs::statat(&folder, &name[..], AtFlags::SYMLINK_NOFOLLOW)?;
            let stat = StatData::of(&stat);
            self.find(&directory, &name, stat);
            let data = (!stat.is_folder()).then_some(stat);
            // Unchanged folders are listed in the same order.
            let item = FolderItem { name, stat: data, mode: stat.mode };
            let same = earlier.get(items.len()).filter(|earlier| **earlier == item);
            items.push(same.cloned().unwrap_or(item));
        }
        let is_settled = || items.iter().all(|item| self.last.is_settled(item));
        let items = match last {
            Some(last) if *last.items == items && is_settled() => Arc::clone(&last.items),
            _ => {
                self.update(top, &directory, &items)?;
                Arc::new(items)
            }
        };
        self.now.folders.insert(directory, Folder { stat, items });
        Ok(())
    }

    /// Records what an item leads to: another folder to read, or other names of a file.
    fn find(&mut self, directory: &[u8], name: &[u8], stat: StatData) {
        if stat.is_folder() {
            let path = path_in(directory, name);
            if !(self.is_of_subject)(&path) {
                self.pending.push((path, stat));
            }
        } else if stat.links > 1 && stat.is_file() {
            self.linked.entry(stat.inode).or_default().insert(path_in(directory, name));
        }
    }

    /// Updates the files to the items of a folder that changed.
    fn update(&mut self, top: &OwnedFd, directory: &[u8], items: &[FolderItem]) -> io::Result<()> {
        let earlier = self.last.folders.get(directory);
        let mut earlier: BTreeMap<&ByteString, &FolderItem> = earlier
            .into_iter()
            .flat_map(|folder| folder.items.iter())
            .map(|item| (&item.name, item))
            .collect();
        for item in items {
            let earlier = earlier.remove(&item.name);
            let same = earlier.filter(|earlier| *earlier == item);
            if same.is_some_and(|same| self.last.is_settled(same)) {
                continue;
            }
            let path = path_in(directory, &item.name);
            let is_folder_as_before =
                item.stat.is_none() && earlier.is_some_and(|earlier| earlier.stat.is_none());
            if !is_folder_as_before {
                self.now.files.remove(&path);
            }
            let Some(stat) = &item.stat else {
                if !is_folder_as_before && !(self.is_of_subject)(&path) {
                    self.now.files.insert(&path, Node::Directory);
                }
                self.now.files.set_folder_permissions(&path, item.mode & 0o777);
                continue;
            };
            self.now.files.insert(&path, node(top, &path, stat)?);
            self.now.files.set_permissions(&path, stat.mode & 0o777);
        }
        for name in earlier.into_keys() {
            self.now.files.remove(&path_in(directory, name));
        }
        Ok(())
    }

    fn end(self) -> Manifest {
        let Reading { mut now, linked, .. } = self;
        for names in linked.into_values() {
            let other_names =
                |path: &ByteString| names.iter().filter(|name| *name != path).cloned().collect();
            now.names.extend(names.iter().map(|path| (path.clone(), other_names(path))));
        }
        now
    }
}

/// The absolute path of a path relative to `root`.
pub fn on_disk(root: &Path, path: &[u8]) -> std::path::PathBuf {
    if path.is_empty() {
        return root.to_owned();
    }
    root.join(std::ffi::OsStr::from_bytes(path))
}

/// The path by which a folder is opened from the top.
fn in_top(directory: &[u8]) -> &[u8] {
    if directory.is_empty() { b"." } else { directory }
}

/// The names in a folder, in the order in which the system lists them.
pub(super) fn names(top: &OwnedFd, directory: &[u8]) -> io::Result<Vec<ByteString>> {
    names_in(rustix::fs::openat(top, in_top(directory), FOLDER, Mode::empty())?)
}

fn names_in(folder: OwnedFd) -> io::Result<Vec<ByteString>> {
    let mut names = Vec::new();
    for entry in Dir::new(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(ByteString::from(name));
        }
    }
    Ok(names)
}

fn node(top: &OwnedFd, path: &[u8], stat: &StatData) -> io::Result<Node> {
    let mode = stat.mode;
    match FileType::from_raw_mode(mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(top, path, Vec::new())?.into_bytes();
            Ok(Node::Link { target: ByteString::from(target) })
        }
        FileType::RegularFile => Ok(Node::File {
            content: ByteString::from(content(top, path, stat)?),
            executable: mode & 0o100 != 0,
            readable: mode & 0o400 != 0,
        }),
        FileType::Fifo => Ok(Node::Special(SpecialKind::Fifo)),
        _ => Ok(Node::Special(SpecialKind::Socket)),
    }
}

/// Opens a file or folder with these permissions. It is made readable while it is opened, if a history made it
/// unreadable.
fn open_as_owner(top: &OwnedFd, path: &[u8], flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    let open = || rustix::fs::openat(top, path, flags, Mode::empty());
    let opened = match open() {
        Err(Errno::ACCESS) if !mode.contains(Mode::RUSR) => {
            rustix::fs::chmodat(top, path, mode | Mode::RUSR, AtFlags::empty())?;
            let opened = open();
            rustix::fs::chmodat(top, path, mode, AtFlags::empty())?;
            opened
        }
        opened => opened,
    };
    Ok(opened?)
}

fn content(top: &OwnedFd, path: &[u8], stat: &StatData) -> io::Result<Vec<u8>> {
    let mode = Mode::from_raw_mode(stat.mode);
    let file = open_as_owner(top, path, OFlags::RDONLY | OFlags::CLOEXEC, mode)?;
    let mut content = Vec::with_capacity(usize::try_from(stat.size).unwrap_or_default() + 1);
    // Through `take`, because reading a `File` to its end asks for its size and position first.
    File::from(file).take(u64::MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// Every file that is unchanged except for its modification time.
pub fn touched(before: &Manifest, after: &Manifest) -> Vec<ByteString> {
    let changed = after.changed(before).into_iter();
    let is_touched = |path: &ByteString, stat: &StatData, now: Option<&StatData>| {
        let modified = now.map(|now| now.modified);
        modified != Some(stat.modified) && before.files.get(path) == after.files.get(path)
    };
    let touched = changed.filter(|(path, (stat, now))| is_touched(path, stat, *now));
    touched.map(|(path, _)| path).collect()
}

/// Every path with the same content as before, but a changed attribute, with the name of the attribute.
pub fn rewritten(before: &Manifest, after: &Manifest) -> BTreeMap<ByteString, &'static str> {
    let mut found = BTreeMap::new();
    for (path, (stat, now)) in after.changed(before) {
        if before.files.get(&path) != after.files.get(&path) {
            continue;
        }
        let attribute = match () {
            () if now.map(|now| now.inode) != Some(stat.inode) => "inode",
            () if now.map(|now| now.modified) != Some(stat.modified) => "time of modification",
            () if before.files.permissions(&path) != after.files.permissions(&path) => {
                "permissions"
            }
            () => continue,
        };
        found.insert(path, attribute);
    }
    found
}

/// A short hash of these bytes.
pub fn digest(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    digest.iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte))
}
