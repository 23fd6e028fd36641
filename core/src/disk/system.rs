//! The file system of this machine. Each call uses handles of directories, so that no link is followed,
//! even if a process replaces a directory by a link meanwhile.

#[cfg(target_os = "linux")]
use super::attributes::{self, set_access_list};
use super::owner;
use super::parallel;
use super::place::{self, AnchoredPath, ENTER};
use super::{
    Access, Birth, Disk, Kind, ListedEntry, LockGuard, READ, ReadAt, Sharing, Stat, Stream,
};
use rustix::fd::OwnedFd;
#[cfg(not(target_os = "linux"))]
use rustix::fs::Dir;
#[cfg(target_os = "linux")]
use rustix::fs::RawDir;
use rustix::fs::{self, AtFlags, Gid, Mode, OFlags, RenameFlags};
#[cfg(target_os = "linux")]
use rustix::fs::{StatxAttributes, StatxFlags};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{File, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

/// The file system of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemDisk;

const READ_FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);
/// The size of the buffer for the names in a directory, in bytes.
#[cfg(target_os = "linux")]
const NAMES_BYTES: usize = 32 * 1024;
const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);

fn rename_with(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    let renamed = match (from.file_name(), to.file_name()) {
        // Within one folder, it is opened once.
        (Some(from_name), Some(to_name)) if from.parent() == to.parent() => {
            let folder = AnchoredPath::of(from)?.folder;
            fs::renameat_with(&folder, from_name, &folder, to_name, flags)
        }
        _ => {
            let from = AnchoredPath::of(from)?;
            let to = AnchoredPath::of(to)?;
            fs::renameat_with(&from.folder, from.name, &to.folder, to.name, flags)
        }
    };
    match renamed {
        // A file system without this flag reports it as invalid.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            Err(io::ErrorKind::Unsupported.into())
        }
        renamed => Ok(renamed?),
    }
}

fn write(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
    mode: u32,
    durable: bool,
) -> io::Result<()> {
    let anchored = AnchoredPath::of(path)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
    let mut file = File::from(anchored.open(flags, PRIVATE)?);
    owner::give_file(&anchored.folder, &file);
    let written = fill(&mut file).and_then(|()| {
        fs::fchmod(&file, Mode::from_raw_mode(mode))?;
        if durable { file.sync_all() } else { Ok(()) }
    });
    if written.is_err() {
        // A partial file is useless, but harmless if it cannot be removed.
        let _ = fs::unlinkat(&anchored.folder, anchored.name, AtFlags::empty());
    }
    written
}

#[cfg(not(target_os = "linux"))]
fn set_access_list(_: &OwnedFd, _: Option<&[u8]>) -> io::Result<()> {
    Ok(())
}

/// Opens a regular file, and nothing else, for reading.
fn open_regular(path: &Path) -> io::Result<(File, Stat)> {
    let file = place::open(path, READ)?;
    let stat = Stat::from(&fs::fstat(&file)?);
    if stat.kind != Kind::File {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok((File::from(file), stat))
}

/// The names in a directory, sorted.
fn names(folder: &OwnedFd) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    let mut add = |name: &[u8]| {
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name.to_vec()));
        }
    };
    #[cfg(target_os = "linux")]
    {
        let mut buffer = Vec::with_capacity(NAMES_BYTES);
        let mut entries = RawDir::new(folder, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            add(entry?.file_name().to_bytes());
        }
    }
    #[cfg(not(target_os = "linux"))]
    for entry in Dir::read_from(folder)? {
        add(entry?.file_name().to_bytes());
    }
    names.sort_unstable();
    Ok(names)
}

fn forbids_writing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

impl Disk for SystemDisk {
    fn is_for_many_threads(&self) -> bool {
        parallel::has_threads()
    }

    fn stat(&self, path: &Path) -> io::Result<Stat> {
        let anchored = AnchoredPath::of(path)?;
        Ok(Stat::from(&fs::statat(&anchored.folder, anchored.name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    #[cfg(target_os = "linux")]
    fn birth(&self, path: &Path) -> Option<Birth> {
        let anchored = AnchoredPath::of(path).ok()?;
        let wanted = StatxFlags::BTIME | StatxFlags::INO;
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        let stat = fs::statx(&anchored.folder, anchored.name, flags, wanted).ok()?;
        let is_known = StatxFlags::from_bits_retain(stat.stx_mask).contains(wanted);
        let made = (stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec);
        is_known.then_some(Birth { inode: stat.stx_ino, made })
    }

    #[cfg(target_os = "linux")]
    fn is_mount_point(&self, path: &Path) -> bool {
        let anchored = AnchoredPath::of(path);
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        anchored.is_ok_and(|anchored| {
            let stat = fs::statx(&anchored.folder, anchored.name, flags, StatxFlags::empty());
            stat.is_ok_and(|stat| stat.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
        })
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        names(&place::open_directory(path, READ_FOLDER)?)
    }

    fn entries(&self, path: &Path) -> io::Result<Vec<ListedEntry>> {
        let folder = place::open_directory(path, READ_FOLDER)?;
        let with_stat = |name: OsString| {
            let stat = fs::statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW);
            (name, stat.map(|stat| Stat::from(&stat)).map_err(io::Error::from))
        };
        Ok(names(&folder)?.into_iter().map(with_stat).collect())
    }

    fn read_unchanged(&self, path: &Path, limit: u64) -> io::Result<Option<(Vec<u8>, Stat)>> {
        let (file, before) = open_regular(path)?;
        let content = super::content(&file, before.size, limit)?;
        // The system notes the time at which a file loses its name, too.
        let after = Stat::from(&fs::fstat(&file)?);
        Ok((after == before).then_some((content, before)))
    }

    fn open_to_read_at(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        Ok(Arc::new(open_regular(path)?.0))
    }

    fn open_at(&self, path: &Path, offset: u64) -> io::Result<(Stream, Stat)> {
        let (mut file, stat) = open_regular(path)?;
        if offset > 0 {
            file.seek(SeekFrom::Start(offset))?;
        }
        Ok((Box::new(file), stat))
    }

    fn read_link(&self, path: &Path) -> io::Result<Vec<u8>> {
        let anchored = AnchoredPath::of(path)?;
        Ok(fs::readlinkat(&anchored.folder, anchored.name, Vec::new())?.into_bytes())
    }

    fn write_new(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        write(path, |file| file.write_all(content), mode, true)
    }

    fn write_soon(&self, path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
        write(path, |file| file.write_all(content), mode, false)
    }

    fn write_from(&self, path: &Path, content: &mut dyn Read, mode: u32) -> io::Result<()> {
        write(path, |file| io::copy(content, file).map(drop), mode, false)
    }

    fn file_system(&self, directory: &Path) -> io::Result<u64> {
        let directory = place::open(directory, ENTER)?;
        Ok(fs::fstatvfs(directory)?.f_fsid)
    }

    fn free_bytes(&self, directory: &Path) -> io::Result<u64> {
        let found = fs::fstatvfs(place::open(directory, ENTER)?)?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        Ok(fs::fsync(place::open(path, READ)?)?)
    }
    fn sync_files(&self, paths: &[&Path]) -> io::Result<()> {
        parallel::sync_files(self, paths)
    }

    #[cfg(target_os = "linux")]
    fn sync_file_system(&self, path: &Path) -> io::Result<()> {
        Ok(fs::syncfs(place::open(path, READ)?)?)
    }

    #[cfg(not(target_os = "linux"))]
    fn sync_file_system(&self, _: &Path) -> io::Result<()> {
        fs::sync();
        Ok(())
    }

    fn append(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::NONBLOCK;
        let anchored = AnchoredPath::of(path)?;
        let mut file = File::from(anchored.open(flags, PRIVATE)?);
        owner::give_file(&anchored.folder, &file);
        file.write_all(content)
    }

    fn make_link(&self, target: &[u8], path: &Path) -> io::Result<()> {
        let anchored = AnchoredPath::of(path)?;
        Ok(fs::symlinkat(OsStr::from_bytes(target), &anchored.folder, anchored.name)?)
    }

    fn make_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        let anchored = AnchoredPath::of(path)?;
        fs::mkdirat(&anchored.folder, anchored.name, Mode::from_raw_mode(mode))?;
        owner::give_directory(&anchored.folder, anchored.name);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let from = AnchoredPath::of(from)?;
        let to = AnchoredPath::of(to)?;
        Ok(fs::renameat(&from.folder, from.name, &to.folder, to.name)?)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        rename_with(from, to, RenameFlags::NOREPLACE)
    }

    fn exchange(&self, left: &Path, right: &Path) -> io::Result<()> {
        rename_with(left, right, RenameFlags::EXCHANGE)
    }

    #[cfg(target_os = "linux")]
    fn access_list(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        attributes::access_list(path)
    }

    #[cfg(not(target_os = "linux"))]
    fn access_list(&self, _: &Path) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn permit(&self, path: &Path, access: &Access) -> io::Result<()> {
        let file = place::open(path, READ)?;
        let Some(group) = access.group else { return Ok(()) };
        let is_of_group = fs::fstat(&file)?.st_gid == group
            || fs::fchown(&file, None, Some(Gid::from_raw(group))).is_ok();
        if is_of_group && set_access_list(&file, access.list.as_deref()).is_ok() {
            fs::fchmod(&file, Mode::from_raw_mode(access.bits))?;
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn copy_attributes(&self, from: &Path, to: &Path) -> io::Result<()> {
        attributes::copy(from, to)
    }

    fn give(&self, path: &Path, user: u32, group: u32) {
        owner::give_to(path, user, group);
    }

    fn permit_directory(&self, path: &Path, mode: u32) -> io::Result<()> {
        let anchored = AnchoredPath::of(path)?;
        // A directory that cannot be read cannot be opened, so that its mode is set by name.
        if self.stat(path)?.kind != Kind::Directory {
            return Err(Errno::NOTDIR.into());
        }
        Ok(fs::chmodat(
            &anchored.folder,
            anchored.name,
            Mode::from_raw_mode(mode),
            AtFlags::empty(),
        )?)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let anchored = AnchoredPath::of(path)?;
        Ok(fs::unlinkat(&anchored.folder, anchored.name, AtFlags::empty())?)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let anchored = AnchoredPath::of(path)?;
        Ok(fs::unlinkat(&anchored.folder, anchored.name, AtFlags::REMOVEDIR)?)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        Ok(fs::fsync(place::open_directory(path, READ_FOLDER)?)?)
    }

    fn try_lock(&self, path: &Path, sharing: Sharing) -> io::Result<Option<Box<dyn LockGuard>>> {
        let anchored = AnchoredPath::of(path)?;
        let file = match anchored.open(OFlags::RDWR | OFlags::CREATE, PRIVATE) {
            // A store that may only be read is still restored from, one restore at a time; a directory cannot be
            // opened for writing.
            Err(error)
                if error.kind() == io::ErrorKind::IsADirectory || forbids_writing(&error) =>
            {
                anchored.open(READ, Mode::empty())?
            }
            opened => opened?,
        };
        owner::give_file(&anchored.folder, &file);
        let file = File::from(file);
        let taken = match sharing {
            Sharing::Shared => file.try_lock_shared(),
            Sharing::Exclusive => file.try_lock(),
        };
        match taken {
            Ok(()) => Ok(Some(Box::new(file))),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    #[cfg(target_os = "linux")]
    fn try_lock_bytes(
        &self,
        path: &Path,
        start: u64,
        length: u64,
    ) -> io::Result<Option<Box<dyn LockGuard>>> {
        let file =
            File::from(AnchoredPath::of(path)?.open(OFlags::RDWR | OFlags::NONBLOCK, PRIVATE)?);
        let lock = libc::flock {
            l_type: libc::F_WRLCK as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start as libc::off_t,
            l_len: length as libc::off_t,
            l_pid: 0,
        };
        match nix::fcntl::fcntl(&file, nix::fcntl::FcntlArg::F_OFD_SETLK(&lock)) {
            Ok(_) => Ok(Some(Box::new(file))),
            Err(nix::errno::Errno::EAGAIN | nix::errno::Errno::EACCES) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn try_lock_bytes(&self, _: &Path, _: u64, _: u64) -> io::Result<Option<Box<dyn LockGuard>>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::is_unreadable;
    use std::fs;

    /// Takes a lock that this process may just have released: a process that another test starts holds it
    /// until its `exec`.
    fn lock_in_time(path: &Path, sharing: Sharing) -> Box<dyn LockGuard> {
        let attempt = |_| {
            std::thread::sleep(std::time::Duration::from_millis(10));
            SystemDisk.try_lock(path, sharing).unwrap()
        };
        (0..500).find_map(attempt).unwrap()
    }

    #[test]
    fn try_lock_takes_a_lock_on_a_file_that_may_only_be_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        drop(SystemDisk.try_lock(&path, Sharing::Exclusive).unwrap().unwrap());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        let _shared = lock_in_time(&path, Sharing::Shared);
        assert!(SystemDisk.try_lock(&path, Sharing::Exclusive).unwrap().is_none());
    }

    #[test]
    fn try_lock_locks_a_directory_as_it_locks_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let lock = |sharing| SystemDisk.try_lock(folder.path(), sharing).unwrap();
        let held = lock(Sharing::Exclusive);
        assert!(held.is_some() && lock(Sharing::Shared).is_none());
        drop(held);
        let shared = lock_in_time(folder.path(), Sharing::Shared);
        assert!(lock(Sharing::Shared).is_some() && lock(Sharing::Exclusive).is_none());
        drop(shared);
    }

    #[test]
    fn read_and_append_refuse_a_link_and_a_fifo() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, fifo] = ["file", "link", "fifo"].map(|name| folder.path().join(name));
        fs::write(&file, "one").unwrap();
        std::os::unix::fs::symlink("file", &link).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for path in [&link, &fifo] {
            let read = SystemDisk.read(path, 10).unwrap_err();
            assert!(is_unreadable(&read), "{path:?}: {read}");
            SystemDisk.append(path, b"two").unwrap_err();
        }
        SystemDisk.append(&file, b"two").unwrap();
        assert_eq!(SystemDisk.read(&file, 4).unwrap().0, b"onet");
    }
}
