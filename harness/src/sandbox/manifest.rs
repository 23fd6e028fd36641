//! The harness's own observation of a disk: every path below a root with its type, bytes, mode and
//! time.
//!
//! It uses no code of a subject, so its result is independent evidence.

use super::Sandbox;
use herma_model::bytes::{file_name, join};
use herma_model::files::SpecialKind;
use herma_model::observation::Names;
use herma_model::{ByteString, Files, Node};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// The flags with which a folder is opened.
const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The state of a disk at one moment.
#[derive(Clone, Debug, Default)]
pub struct Manifest {
    /// The files, as the model sees files.
    pub files: Files,
    /// Files with several hard links.
    pub names: Names,
    /// The stat data of each file that is not a directory.
    stats: BTreeMap<ByteString, StatData>,
    /// A file that was changed later than this may be changed again within the same tick of the clock.
    settled_until: Time,
    /// Whether each change after an observation has a time of its own.
    has_own_times: bool,
}

/// What is equal as long as a file is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StatData {
    inode: u64,
    mode: u32,
    links: u64,
    size: i64,
    modified: Time,
    /// When the file or its attributes were changed, which only the kernel sets.
    changed: Time,
}

/// Seconds and nanoseconds of Unix time.
type Time = (i64, i64);

/// Longer than a tick of any kernel's clock.
const TICK_MAX: Duration = Duration::from_millis(20);

impl StatData {
    #[allow(clippy::unnecessary_cast, reason = "the types of some fields depend on the system")]
    fn of(stat: &Stat) -> Self {
        StatData {
            inode: stat.st_ino as u64,
            mode: stat.st_mode as u32,
            links: stat.st_nlink as u64,
            size: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

impl Manifest {
    /// Nothing observed yet, on the file system of that folder.
    ///
    /// # Errors
    /// No file can be written there.
    pub fn none(folder: &Path) -> io::Result<Self> {
        let mut file = tempfile::tempfile_in(folder)?;
        let mut times = BTreeSet::new();
        // Many changes within one tick of the clock: each has a time only if the file system tells them apart.
        for _ in 0..CHANGES {
            file.write_all(b"a")?;
            let metadata = file.metadata()?;
            times.insert((metadata.ctime(), metadata.ctime_nsec()));
        }
        Ok(Manifest { has_own_times: times.len() == CHANGES, ..Manifest::default() })
    }

    /// The node of a file with that stat data, if it is certainly unchanged since this observation.
    fn unchanged(&self, path: &ByteString, stat: &StatData) -> Option<&Node> {
        let is_settled = self.has_own_times || stat.changed < self.settled_until;
        let is_same = self.stats.get(path) == Some(stat);
        if is_same && is_settled { self.files.get(path) } else { None }
    }
}

/// How many changes show whether each has a time of its own.
const CHANGES: usize = 16;

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
    let mut reading = Reading::begin(last);
    let base = base.strip_prefix(root).unwrap_or(base).as_os_str().as_bytes();
    let top = rustix::fs::open(root, FOLDER, Mode::empty())?;
    reading.pending.push(Vec::new());
    while let Some(directory) = reading.pending.pop() {
        let is_store = store_folder.is_some_and(|name| file_name(&directory) == name.as_bytes());
        if directory == base || is_store {
            continue;
        }
        let name = if directory.is_empty() { &b"."[..] } else { &directory };
        let folder = rustix::fs::openat(&top, name, FOLDER, Mode::empty())?;
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let name = entry.file_name();
            if !matches!(name.to_bytes(), b"." | b"..") {
                reading.visit(&folder, name, join(&directory, name.to_bytes()))?;
            }
        }
        if !directory.is_empty() {
            reading.nodes.push((ByteString::from(directory), Node::Directory));
        }
    }
    Ok(reading.end())
}

/// An observation that has begun.
struct Reading<'a> {
    last: &'a Manifest,
    now: Manifest,
    nodes: Vec<(ByteString, Node)>,
    /// Folders that are not read yet.
    pending: Vec<Vec<u8>>,
    /// The names of each inode that has several.
    linked: BTreeMap<u64, BTreeSet<ByteString>>,
}

impl<'a> Reading<'a> {
    fn begin(last: &'a Manifest) -> Self {
        let time = clock_gettime(ClockId::Realtime);
        let before =
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32).saturating_sub(TICK_MAX);
        let now = Manifest {
            settled_until: (before.as_secs() as i64, before.subsec_nanos().into()),
            has_own_times: last.has_own_times,
            ..Manifest::default()
        };
        Reading { last, now, nodes: Vec::new(), pending: Vec::new(), linked: BTreeMap::new() }
    }

    fn visit(&mut self, folder: &OwnedFd, name: &CStr, path: Vec<u8>) -> io::Result<()> {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        if kind == FileType::Directory {
            self.pending.push(path);
            return Ok(());
        }
        let path = ByteString::from(path);
        let data = StatData::of(&stat);
        let node = match self.last.unchanged(&path, &data) {
            Some(node) => node.clone(),
            None => node(folder, name, &stat)?,
        };
        self.nodes.push((path.clone(), node));
        if kind == FileType::RegularFile && data.links > 1 {
            self.linked.entry(data.inode).or_default().insert(path.clone());
        }
        self.now.stats.insert(path, data);
        Ok(())
    }

    fn end(self) -> Manifest {
        let Reading { mut now, nodes, linked, .. } = self;
        now.files = nodes.into_iter().collect();
        for (path, stat) in &now.stats {
            if FileType::from_raw_mode(stat.mode) == FileType::RegularFile {
                now.files.set_permissions(path, stat.mode & 0o777);
            }
        }
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

fn node(folder: &OwnedFd, name: &CStr, stat: &Stat) -> io::Result<Node> {
    let mode = stat.st_mode;
    match FileType::from_raw_mode(mode) {
        FileType::Symlink => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new())?.into_bytes();
            Ok(Node::Link { target: ByteString::from(target) })
        }
        FileType::RegularFile => Ok(Node::File {
            content: ByteString::from(content(folder, name, stat)?),
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
                found.insert(ByteString::from(path), value);
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
    let is_touched = |(path, stat): &(&ByteString, &StatData)| {
        let modified = after.stats.get(*path).map(|after| after.modified);
        modified != Some(stat.modified) && before.files.get(path) == after.files.get(path)
    };
    before.stats.iter().filter(is_touched).map(|(path, _)| path.clone()).collect()
}

/// Every path with the same content as before, but a changed attribute, with the name of the attribute.
pub fn rewritten(before: &Manifest, after: &Manifest) -> BTreeMap<ByteString, &'static str> {
    let mut found = BTreeMap::new();
    for (path, stat) in &before.stats {
        let now = after.stats.get(path);
        if now == Some(stat) || before.files.get(path) != after.files.get(path) {
            continue;
        }
        let attribute = match () {
            () if now.map(|now| now.inode) != Some(stat.inode) => "inode",
            () if now.map(|now| now.modified) != Some(stat.modified) => "time of modification",
            () if before.files.permissions(path) != after.files.permissions(path) => "permissions",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Scratch;
    use rustix::fs::{CWD, Timestamps};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    /// Changes that a file survives with the same size, and each with the same time of modification.
    const CHANGES_OF_A_FILE: [fn(&Path) -> io::Result<()>; 4] = [
        |file| fs::write(file, "two"),
        |file| fs::write(file.with_extension("new"), "six").and_then(|()| replace(file)),
        |file| fs::set_permissions(file, PermissionsExt::from_mode(0o640)),
        |file| fs::remove_file(file).and_then(|()| symlink("one", file)),
    ];

    fn replace(file: &Path) -> io::Result<()> {
        fs::rename(file.with_extension("new"), file)
    }

    fn sandbox() -> (tempfile::TempDir, PathBuf) {
        let folder = Scratch::in_default_directory().temporary().unwrap();
        fs::create_dir(folder.path().join("deep")).unwrap();
        let file = folder.path().join("deep/file");
        fs::write(&file, "one").unwrap();
        fs::write(folder.path().join("one"), "one").unwrap();
        (folder, file)
    }

    /// The time of modification is that of a moment ago again, as a restore or a tool may set it.
    fn keep_time(file: &Path, modified: Time) {
        let time = rustix::fs::Timespec { tv_sec: modified.0, tv_nsec: modified.1 };
        let times = Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(CWD, file, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }

    #[test]
    fn read_finds_every_change_since_the_last_observation_whatever_the_times_are() {
        for tells_apart in [false, true] {
            for change in CHANGES_OF_A_FILE {
                let (folder, file) = sandbox();
                let base = folder.path().join("base");
                let none = Manifest::none(folder.path()).unwrap();
                let has_own_times = none.has_own_times && tells_apart;
                let none = Manifest { has_own_times, ..none };
                let before = read(folder.path(), &base, None, &none).unwrap();
                change(&file).unwrap();
                keep_time(&file, before.stats[&ByteString::from("deep/file")].modified);
                let after = read(folder.path(), &base, None, &before).unwrap();
                let all = read(folder.path(), &base, None, &Manifest::default()).unwrap();
                assert_ne!(after.files, before.files);
                assert_eq!(after.files, all.files);
            }
        }
    }

    #[test]
    fn read_shares_the_content_of_what_is_unchanged() {
        let (folder, _) = sandbox();
        let none = Manifest { has_own_times: true, ..Manifest::default() };
        let base = folder.path().join("base");
        let before = read(folder.path(), &base, None, &none).unwrap();
        let after = read(folder.path(), &base, None, &before).unwrap();
        let place = |manifest: &Manifest| match manifest.files.get(b"one") {
            Some(Node::File { content, .. }) => content.as_ptr(),
            other => panic!("{other:?}"),
        };
        assert_eq!(place(&before), place(&after));
        // Without times of its own a file that was just written may be written again unseen.
        let none = Manifest::default();
        let before = read(folder.path(), &base, None, &none).unwrap();
        let after = read(folder.path(), &base, None, &before).unwrap();
        assert_ne!(place(&before), place(&after));
    }
}
