//! A disk in memory: nothing to make durable, nothing to clean up, copied in microseconds. Only the oracles of
//! hostile input use it; everything else runs on a real disk.
//!
//! There is one process and one user: every lock is free, and permissions are kept but forbid nothing.

use herma_core::disk::{Access, Disk, Kind, LockGuard, Sharing, Stat, Stream};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, Cursor, ErrorKind, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The longest name of a file in bytes, as on common file systems.
const NAME_BYTES_MAX: usize = 255;

/// A file, directory or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    kind: Kind,
    mode: u32,
    /// The content, or the target of a link.
    pub content: Arc<[u8]>,
    /// The count of changes of the disk when this node last changed, which is its time in nanoseconds.
    modified: i64,
    inode: u64,
}

/// A path as the names of its components, each after a zero byte: such keys are compared byte by byte, and
/// everything below a directory follows its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(Arc<[u8]>);

impl Key {
    /// The key of an absolute path.
    pub fn of(path: &Path) -> Self {
        let names = path.as_os_str().as_bytes().split(|byte| *byte == b'/');
        let mut key = Vec::with_capacity(path.as_os_str().len());
        for name in names.filter(|name| !name.is_empty() && *name != b".") {
            key.push(0);
            key.extend_from_slice(name);
        }
        Key(key.into())
    }

    /// The path.
    pub fn path(&self) -> PathBuf {
        let names = self.0.split(|byte| *byte == 0).skip(1);
        let start = PathBuf::from("/");
        names.fold(start, |path, name| path.join(OsStr::from_bytes(name)))
    }

    /// Whether this is the key of a directory or of anything below it.
    pub fn is_within(&self, directory: &Key) -> bool {
        let rest = self.0.strip_prefix(&directory.0[..]);
        rest.is_some_and(|rest| rest.first().is_none_or(|byte| *byte == 0))
    }

    fn parent(&self) -> Option<Key> {
        let end = self.0.iter().rposition(|byte| *byte == 0)?;
        Some(Key(self.0[..end].into()))
    }

    /// This key with its first part, the key of `from`, replaced by that of `to`.
    fn moved(&self, from: &Key, to: &Key) -> Key {
        Key([&to.0[..], &self.0[from.0.len()..]].concat().into())
    }
}

/// Every node by its path. The parents of each are directories.
pub type Tree = BTreeMap<Key, Node>;

#[derive(Clone, Default)]
struct Contents {
    tree: Tree,
    changes: i64,
    calls: u64,
}

/// A disk in memory.
#[derive(Default)]
pub struct MemoryDisk {
    state: Mutex<Contents>,
}

struct FreeLock;

impl LockGuard for FreeLock {}

impl MemoryDisk {
    /// A disk with only its root.
    pub fn new() -> Self {
        let disk = MemoryDisk::default();
        disk.state().put(Key::of(Path::new("/")), Kind::Directory, 0o755, &[]);
        disk
    }

    /// A copy with the same content, for which no call was counted.
    pub fn copy(&self) -> Self {
        let state = Contents { calls: 0, ..self.state().clone() };
        MemoryDisk { state: Mutex::new(state) }
    }

    /// Everything on the disk.
    pub fn tree(&self) -> Tree {
        self.state().tree.clone()
    }

    /// How many calls were made.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// Writes a file, and the directories above it, whatever was there.
    pub fn place(&self, path: &Path, content: &[u8]) {
        let mut state = self.state();
        let parents = path.ancestors().skip(1).collect::<Vec<_>>();
        for parent in parents.into_iter().rev().map(Key::of) {
            if state.tree.get(&parent).is_none_or(|node| node.kind != Kind::Directory) {
                state.put(parent, Kind::Directory, 0o755, &[]);
            }
        }
        let key = Key::of(path);
        state.remove_below(&key);
        state.put(key, Kind::File, 0o644, content);
    }

    /// Removes a file, or a directory with everything in it.
    pub fn take_away(&self, path: &Path) {
        self.state().remove_below(&Key::of(path));
    }

    fn state(&self) -> MutexGuard<'_, Contents> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.calls += 1;
        state
    }

    fn write(&self, path: &Path, kind: Kind, content: &[u8], mode: u32) -> io::Result<()> {
        let key = Key::of(path);
        let mut state = self.state();
        state.require_free(&key)?;
        state.put(key, kind, mode, content);
        Ok(())
    }

    fn moved(&self, from: &Path, to: &Path, replaces: bool) -> io::Result<()> {
        let [from, to] = [from, to].map(Key::of);
        let mut state = self.state();
        let is_directory = |node: &Node| node.kind == Kind::Directory;
        let moves_directory = is_directory(state.node(&from)?);
        match state.require_free(&to) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists || !replaces => {
                return Err(error);
            }
            Err(_) => match (moves_directory, is_directory(state.node(&to)?)) {
                (false, false) => {}
                (true, true) => state.require_empty(&to)?,
                (true, false) => return Err(ErrorKind::NotADirectory.into()),
                (false, true) => return Err(ErrorKind::IsADirectory.into()),
            },
            Ok(()) => {}
        }
        if to == from {
            return Ok(());
        }
        if to.is_within(&from) {
            return Err(ErrorKind::InvalidInput.into());
        }
        state.remove_below(&to);
        state.rename_below(&from, &to);
        Ok(())
    }
}

impl Contents {
    fn put(&mut self, key: Key, kind: Kind, mode: u32, content: &[u8]) {
        self.changes += 1;
        let node = Node {
            kind,
            mode,
            content: content.into(),
            modified: self.changes,
            inode: self.changes.unsigned_abs(),
        };
        self.tree.insert(key, node);
    }

    fn node(&self, key: &Key) -> io::Result<&Node> {
        self.tree.get(key).ok_or_else(|| self.absence(key))
    }

    /// Why there is nothing at this path.
    fn absence(&self, key: &Key) -> io::Error {
        if key.0.split(|byte| *byte == 0).any(|name| name.len() > NAME_BYTES_MAX) {
            return io::Error::from_raw_os_error(libc::ENAMETOOLONG);
        }
        let parents = std::iter::successors(key.parent(), Key::parent);
        let nearest = parents.into_iter().find_map(|parent| self.tree.get(&parent));
        let has_folder = nearest.is_none_or(|node| node.kind == Kind::Directory);
        if has_folder { ErrorKind::NotFound } else { ErrorKind::NotADirectory }.into()
    }

    /// Fails if something is at this path, or nothing can be.
    fn require_free(&self, key: &Key) -> io::Result<()> {
        if self.tree.contains_key(key) {
            return Err(ErrorKind::AlreadyExists.into());
        }
        let absence = self.absence(key);
        let has_folder = key.parent().is_some_and(|parent| self.tree.contains_key(&parent));
        if has_folder && absence.kind() == ErrorKind::NotFound { Ok(()) } else { Err(absence) }
    }

    fn require_empty(&self, key: &Key) -> io::Result<()> {
        let is_empty = self.below(key).nth(1).is_none();
        if is_empty { Ok(()) } else { Err(ErrorKind::DirectoryNotEmpty.into()) }
    }

    /// The node at this path and everything below it.
    fn below(&self, key: &Key) -> impl Iterator<Item = (&Key, &Node)> {
        self.tree.range(key.clone()..).take_while(move |(below, _)| below.is_within(key))
    }

    fn remove_below(&mut self, key: &Key) {
        let keys: Vec<Key> = self.below(key).map(|(key, _)| key.clone()).collect();
        for key in keys {
            self.tree.remove(&key);
        }
    }

    fn rename_below(&mut self, from: &Key, to: &Key) {
        let keys: Vec<Key> = self.below(from).map(|(key, _)| key.clone()).collect();
        for key in keys {
            if let Some(node) = self.tree.remove(&key) {
                self.tree.insert(key.moved(from, to), node);
            }
        }
    }
}

fn stat(node: &Node) -> Stat {
    Stat {
        kind: node.kind,
        mode: node.mode,
        size: node.content.len() as u64,
        modified: (0, node.modified),
        changed: (0, node.modified),
        device: 1,
        inode: node.inode,
        user: 0,
        group: 0,
    }
}

impl Disk for MemoryDisk {
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        self.state().node(&Key::of(path)).map(stat)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let key = Key::of(path);
        let state = self.state();
        if state.node(&key)?.kind != Kind::Directory {
            return Err(ErrorKind::NotADirectory.into());
        }
        let names = state.below(&key).skip(1).map(|(child, _)| &child.0[key.0.len() + 1..]);
        let children = names.filter(|name| !name.contains(&0));
        Ok(children.map(|name| OsStr::from_bytes(name).to_owned()).collect())
    }

    fn open_at(&self, path: &Path, offset: u64) -> io::Result<(Stream, Stat)> {
        let state = self.state();
        let node = state.node(&Key::of(path))?;
        if node.kind != Kind::File {
            return Err(ErrorKind::InvalidInput.into());
        }
        let mut stream = Cursor::new(node.content.clone());
        stream.set_position(offset);
        Ok((Box::new(stream), stat(node)))
    }

    fn file_system(&self, _directory: &Path) -> io::Result<u64> {
        Ok(1)
    }

    fn free_bytes(&self, _directory: &Path) -> io::Result<u64> {
        Ok(1 << 40)
    }

    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = self.state();
        let node = state.node(&Key::of(path))?;
        if node.kind != Kind::Link {
            return Err(ErrorKind::InvalidInput.into());
        }
        Ok(node.content.to_vec())
    }

    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        self.write(path, Kind::File, content, mode)
    }

    fn write_soon(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        self.write(path, Kind::File, content, mode)
    }

    fn write_from(&self, path: &Path, content: &mut dyn Read, mode: u32) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        self.write(path, Kind::File, &bytes, mode)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.stat(path).map(|_| ())
    }

    fn sync_file_system(&self, path: &Path) -> io::Result<()> {
        self.stat(path).map(|_| ())
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        let existing = match state.node(&Key::of(path)) {
            Ok(node) if node.kind == Kind::File => (node.content.to_vec(), node.mode),
            Ok(_) => return Err(ErrorKind::InvalidInput.into()),
            Err(_) => {
                state.require_free(&Key::of(path))?;
                (Vec::new(), 0o600)
            }
        };
        state.put(Key::of(path), Kind::File, existing.1, &[&existing.0, content].concat());
        Ok(())
    }

    fn make_link(&self, target: &[u8], path: &Path) -> io::Result<()> {
        self.write(path, Kind::Link, target, 0o777)
    }

    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        self.write(path, Kind::Directory, &[], mode)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.moved(from, to, true)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.moved(from, to, false)
    }

    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()> {
        let between = Key::of(&left.with_file_name("\u{1}exchanged"));
        let [left, right] = [left, right].map(Key::of);
        let mut state = self.state();
        state.node(&left)?;
        state.node(&right)?;
        state.rename_below(&left, &between);
        state.rename_below(&right, &left);
        state.rename_below(&between, &right);
        Ok(())
    }

    fn access_list(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.stat(path).map(|_| None)
    }

    fn permit(&self, path: &Path, access: &Access) -> io::Result<()> {
        self.permit_directory(path, access.bits)
    }

    fn permit_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        let mut state = self.state();
        let key = Key::of(path);
        state.node(&key)?;
        if let Some(node) = state.tree.get_mut(&key) {
            node.mode = mode;
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.node(&Key::of(path))?.kind == Kind::Directory {
            return Err(ErrorKind::IsADirectory.into());
        }
        state.tree.remove(&Key::of(path));
        Ok(())
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        if state.node(&Key::of(path))?.kind != Kind::Directory {
            return Err(ErrorKind::NotADirectory.into());
        }
        state.require_empty(&Key::of(path))?;
        state.tree.remove(&Key::of(path));
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.stat(path).map(|_| ())
    }

    fn try_lock(&self, path: &Path, _sharing: Sharing) -> io::Result<Option<Box<dyn LockGuard>>> {
        let mut state = self.state();
        if state.node(&Key::of(path)).is_err() {
            state.require_free(&Key::of(path))?;
            state.put(Key::of(path), Kind::File, 0o600, &[]);
        }
        Ok(Some(Box::new(FreeLock)))
    }

    fn try_lock_bytes(
        &self,
        path: &Path,
        _start: u64,
        _length: u64,
    ) -> io::Result<Option<Box<dyn LockGuard>>> {
        self.stat(path).map(|_| Some(Box::new(FreeLock) as Box<dyn LockGuard>))
    }
}
