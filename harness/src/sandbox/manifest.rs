//! The harness's own observation of a disk: every path below a root with its type, bytes, mode and
//! time.
//!
//! It uses no code of a subject, so its result is independent evidence.

use herma_model::bytes::{file_name, join};
use herma_model::files::{Content, SpecialKind};
use herma_model::observation::Names;
use herma_model::{ByteString, Files, Node};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The flags with which a folder is opened.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The state of a disk at one moment.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// The files, as the model sees files.
    pub files: Files,
    /// When each file that is not a directory was last modified: seconds and nanoseconds.
    pub modified: BTreeMap<ByteString, (i64, i64)>,
    /// The inode of each file that is not a directory.
    inodes: BTreeMap<ByteString, u64>,
    /// Files with several hard links.
    pub names: Names,
}

/// Reads everything below `root` except what belongs to the subject: everything at or below `base`,
/// and folders named `store_folder`, if the subject keeps its store in the projects.
///
/// Every file is read completely each time, since an equal time and size do not prove equal bytes. This
/// is most of the cost of a history, so each file is opened relative to its folder.
pub fn read(root: &Path, base: &Path, store_folder: Option<&str>) -> io::Result<Manifest> {
    let mut manifest = Manifest::default();
    let mut nodes: Vec<(ByteString, Node)> = Vec::new();
    let mut permissions: Vec<(ByteString, u32)> = Vec::new();
    let mut linked: BTreeMap<u64, BTreeSet<ByteString>> = BTreeMap::new();
    let base = base.strip_prefix(root).unwrap_or(base).as_os_str().as_bytes();
    let top = rustix::fs::open(root, FOLDER, Mode::empty())?;
    let mut pending = vec![Vec::new()];
    while let Some(directory) = pending.pop() {
        let is_store = store_folder.is_some_and(|name| file_name(&directory) == name.as_bytes());
        if directory == base || is_store {
            continue;
        }
        let name = if directory.is_empty() { &b"."[..] } else { &directory };
        let folder = rustix::fs::openat(&top, name, FOLDER, Mode::empty())?;
        if !directory.is_empty() {
            nodes.push((ByteString::from(&directory[..]), Node::Directory));
        }
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let path = join(&directory, name.to_bytes());
            let stat = rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            let kind = FileType::from_raw_mode(stat.st_mode);
            if kind == FileType::Directory {
                pending.push(path);
                continue;
            }
            let path = ByteString(path);
            nodes.push((path.clone(), node(&folder, name, &stat)?));
            let inode = stat.st_ino as u64;
            if kind == FileType::RegularFile {
                permissions.push((path.clone(), stat.st_mode as u32 & 0o777));
                if stat.st_nlink > 1 {
                    linked.entry(inode).or_default().insert(path.clone());
                }
            }
            manifest.inodes.insert(path.clone(), inode);
            manifest.modified.insert(path, (stat.st_mtime as i64, stat.st_mtime_nsec as i64));
        }
    }
    manifest.files = nodes.into_iter().collect();
    for (path, bits) in permissions {
        manifest.files.set_permissions(&path, bits);
    }
    for names in linked.into_values() {
        let other_names =
            |path: &ByteString| names.iter().filter(|name| *name != path).cloned().collect();
        manifest.names.extend(names.iter().map(|path| (path.clone(), other_names(path))));
    }
    Ok(manifest)
}

/// The absolute path of a path relative to `root`.
pub fn on_disk(root: &Path, path: &[u8]) -> std::path::PathBuf {
    if path.is_empty() {
        return root.to_owned();
    }
    root.join(std::ffi::OsStr::from_bytes(path))
}

fn node(folder: &OwnedFd, name: &CStr, stat: &Stat) -> io::Result<Node> {
    let mode = stat.st_mode;
    match FileType::from_raw_mode(mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new())?.into_bytes();
            Ok(Node::Link { target: Content::from(target) })
        }
        FileType::RegularFile => Ok(Node::File {
            content: Content::from(content(folder, name, stat)?),
            executable: mode & 0o100 != 0,
            readable: mode & 0o400 != 0,
        }),
        FileType::Fifo => Ok(Node::Special(SpecialKind::Fifo)),
        _ => Ok(Node::Special(SpecialKind::Socket)),
    }
}

/// The content of a file. A file that a history made unreadable is made readable while it is read.
fn content(folder: &OwnedFd, name: &CStr, stat: &Stat) -> io::Result<Vec<u8>> {
    let mode = Mode::from_raw_mode(stat.st_mode);
    let open = || rustix::fs::openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let file = match open() {
        Err(Errno::ACCESS) if !mode.contains(Mode::RUSR) => {
            rustix::fs::chmodat(folder, name, mode | Mode::RUSR, AtFlags::empty())?;
            let file = open();
            rustix::fs::chmodat(folder, name, mode, AtFlags::empty())?;
            file
        }
        file => file,
    };
    let mut content = Vec::with_capacity(usize::try_from(stat.st_size).unwrap_or_default() + 1);
    // Through `take`, because reading a `File` to its end asks for its size and position first.
    File::from(file?).take(u64::MAX).read_to_end(&mut content)?;
    Ok(content)
}

/// Every file below a root with its size, or for refs and metadata a hash of its bytes.
pub type Outline = BTreeMap<ByteString, u64>;

/// The outline of everything below `root`; empty if `root` does not exist.
pub fn outline(root: &Path) -> io::Result<Outline> {
    let mut found = BTreeMap::new();
    let mut pending = vec![Vec::new()];
    while let Some(directory) = pending.pop() {
        let entries = match fs::read_dir(on_disk(root, &directory)) {
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let path = join(&directory, entry.file_name().as_bytes());
            if entry.file_type()?.is_dir() {
                // An empty folder is neither size nor history.
                pending.push(path);
            } else {
                let metadata = entry.metadata()?;
                let size = metadata.size();
                let is_pointer = [&b"store/refs/"[..], b"store/projects/", b"store/packed-refs"]
                    .iter()
                    .any(|folder| path.starts_with(folder));
                // A history may have replaced the file with a link or a fifo, which is not followed.
                let is_read = is_pointer && metadata.is_file();
                let value = if is_read { digest(&fs::read(entry.path())?) } else { size };
                found.insert(ByteString(path), value);
            }
        }
    }
    Ok(found)
}

/// Every path in which two outlines differ.
pub fn changes(before: &Outline, after: &Outline) -> Vec<ByteString> {
    let paths: BTreeSet<&ByteString> = before.keys().chain(after.keys()).collect();
    let changed = paths.into_iter().filter(|path| before.get(*path) != after.get(*path));
    changed.cloned().collect()
}

/// Every file that is unchanged except for its modification time.
pub fn touched(before: &Manifest, after: &Manifest) -> Vec<ByteString> {
    if before.modified == after.modified {
        return Vec::new();
    }
    let has_same_content = |path: &ByteString| before.files.get(path) == after.files.get(path);
    let paths = before
        .modified
        .iter()
        .filter(|(path, time)| after.modified.get(*path) != Some(time) && has_same_content(path));
    paths.map(|(path, _)| path.clone()).collect()
}

/// Every path with the same content as before, but a changed attribute, with the name of the attribute.
pub fn rewritten(before: &Manifest, after: &Manifest) -> BTreeMap<ByteString, &'static str> {
    let mut found = BTreeMap::new();
    for (path, inode) in &before.inodes {
        if before.files.get(path) != after.files.get(path) {
            continue;
        }
        let attribute = match () {
            () if after.inodes.get(path) != Some(inode) => "inode",
            () if after.modified.get(path) != before.modified.get(path) => "time of modification",
            () if after.files.permissions(path) != before.files.permissions(path) => "permissions",
            () => continue,
        };
        found.insert(path.clone(), attribute);
    }
    found
}

/// A short hash of these bytes.
pub fn digest(bytes: &[u8]) -> u64 {
    let digest = Sha256::digest(bytes);
    digest.iter().take(8).fold(0, |value, byte| value << 8 | u64::from(*byte))
}
