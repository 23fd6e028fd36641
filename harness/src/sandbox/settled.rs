//! What shows whether a file or a folder is unchanged since an observation: its stat data, if each change has a
//! time of its own, or if the last change was long enough ago.

use rustix::fs::{FileType, Stat};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

/// What is equal as long as a file is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StatData {
    pub(super) inode: u64,
    pub(super) mode: u32,
    pub(super) links: u64,
    pub(super) size: i64,
    pub(super) modified: Time,
    /// When the file or its attributes were changed, which only the kernel sets.
    pub(super) changed: Time,
}

/// Seconds and nanoseconds of Unix time.
pub(super) type Time = (i64, i64);

/// Longer than a tick of any kernel's clock.
const TICK_MAX: Duration = Duration::from_millis(20);

/// Which stat data an observation can rely on: what still has it is unchanged since then.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Settled {
    /// A file that was changed later than this may be changed again within the same tick of the clock.
    pub(super) until: Time,
    /// Whether each change of a file after an observation has a time of its own.
    pub(super) files_have_own_times: bool,
    /// The same for folders.
    pub(super) folders_have_own_times: bool,
}

impl Settled {
    /// Nothing observed yet, on the file system of that folder.
    pub(super) fn on_file_system_of(folder: &Path) -> io::Result<Self> {
        let files_have_own_times = files_have_own_times(folder)?;
        let folders_have_own_times = files_have_own_times && folders_have_own_times(folder)?;
        Ok(Settled { files_have_own_times, folders_have_own_times, ..Settled::default() })
    }

    /// For an observation that begins now.
    pub(super) fn now(self) -> Self {
        let time = clock_gettime(ClockId::Realtime);
        let before =
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32).saturating_sub(TICK_MAX);
        Settled { until: (before.as_secs() as i64, before.subsec_nanos().into()), ..self }
    }

    pub(super) fn has(&self, stat: &StatData) -> bool {
        let has_own_time =
            if stat.is_folder() { self.folders_have_own_times } else { self.files_have_own_times };
        has_own_time || stat.changed < self.until
    }

    /// Whether what had that stat data, and has this now, is unchanged.
    pub(super) fn is_unchanged(&self, earlier: &StatData, now: &StatData) -> bool {
        earlier == now && self.has(now)
    }
}

impl StatData {
    #[allow(clippy::unnecessary_cast, reason = "the types of some fields depend on the system")]
    pub(super) fn of(stat: &Stat) -> Self {
        StatData {
            inode: stat.st_ino as u64,
            mode: stat.st_mode as u32,
            links: stat.st_nlink as u64,
            size: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }

    pub(super) fn is_folder(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::Directory
    }

    pub(super) fn is_file(&self) -> bool {
        FileType::from_raw_mode(self.mode) == FileType::RegularFile
    }
}

/// How many changes within one tick of the clock show whether the file system tells them apart.
const CHANGES: usize = 16;

fn files_have_own_times(folder: &Path) -> io::Result<bool> {
    let mut file = tempfile::tempfile_in(folder)?;
    let mut times = BTreeSet::new();
    for _ in 0..CHANGES {
        file.write_all(b"a")?;
        times.insert(changed(&file.metadata()?));
    }
    Ok(times.len() == CHANGES)
}

/// Linux gives a folder of its `tmpfs` the time of the file that is removed from it, which is a new one only if
/// the file was looked at before.
fn folders_have_own_times(folder: &Path) -> io::Result<bool> {
    let inner = tempfile::tempdir_in(folder)?;
    let file = inner.path().join("file");
    let mut times = BTreeSet::new();
    for _ in 0..CHANGES / 4 {
        File::create(&file)?;
        times.insert(changed(&inner.path().metadata()?));
        fs::remove_file(&file)?;
        times.insert(changed(&inner.path().metadata()?));
    }
    Ok(times.len() == CHANGES / 2)
}

fn changed(metadata: &Metadata) -> Time {
    (metadata.ctime(), metadata.ctime_nsec())
}
