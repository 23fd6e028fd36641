//! `projects/<hash>.json`: which directory a hash stands for, and when it was used.

use crate::disk::atomic_write::write_whole;
use crate::disk::{Disk, folder};
use crate::error::{Error, Result};
use crate::project::Project;
use git2::Oid;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// More bytes than any metadata takes.
const METADATA_BYTES_MAX: u64 = 1024 * 1024;

/// What is known of a project beside its history. The names are those other tools use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Its canonical directory. A path that is not UTF-8 is shown with replacement characters.
    pub workdir: String,
    /// The same as bytes, where it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir_bytes: Option<Vec<u8>>,
    /// The first checkpoint, in seconds since the epoch.
    pub created_at: f64,
    /// The last one, in seconds since the epoch.
    pub last_touch: f64,
    /// The device its directory was on. Only this tool writes and reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
    /// What tells the file system of its directory from another one of the same number. Only this tool
    /// writes and reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<u64>,
    /// Its checkpoints at that time, newest first, so that one that is damaged does not hide those
    /// before it. Only this tool writes and reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Recorded>,
    /// How many pre-rollback checkpoints were dropped whose space is not freed yet. Only this tool
    /// writes and reads it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting: usize,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What is noted of one checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its full id.
    id: String,
    /// When it was taken, in seconds since the epoch; 0 where that was not known.
    pub seconds: i64,
}

impl Recorded {
    /// Whether that is the checkpoint `id`.
    pub fn is(&self, id: Oid) -> bool {
        self.id() == Some(id)
    }

    /// Its id; none where that is no id.
    pub fn id(&self) -> Option<Oid> {
        Oid::from_str(&self.id).ok()
    }
}

/// More older checkpoints than this are not noted of a project.
const RECORDED_MAX: usize = 1_000;

impl Metadata {
    /// The project's directory.
    pub fn directory(&self) -> PathBuf {
        match &self.workdir_bytes {
            Some(bytes) => PathBuf::from(OsStr::from_bytes(bytes)),
            None => PathBuf::from(&self.workdir),
        }
    }
}

/// The newest checkpoint of a project, and what comes before it.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// Its id.
    pub id: Oid,
    /// When it was taken, in seconds since the epoch.
    pub seconds: i64,
    /// The one before it.
    pub parent: Option<Oid>,
}

impl Newest {
    /// This one, and those that were noted before it.
    fn then(&self, noted: &[Recorded]) -> Vec<Recorded> {
        let recorded = |id: Oid, seconds| Recorded { id: id.to_string(), seconds };
        let mut all = vec![recorded(self.id, self.seconds)];
        if let Some(parent) = self.parent {
            let mut older = noted.iter().skip_while(|one| !one.is(parent)).cloned();
            all.push(older.next().unwrap_or_else(|| recorded(parent, 0)));
            all.extend(older.take(RECORDED_MAX));
        }
        all
    }
}

/// What is stored of the project of that hash; none where that is missing or unreadable.
// rule: maintenance/heals
pub fn read(disk: &dyn Disk, store: &Path, hash: &str) -> Option<Metadata> {
    let (content, _) = disk.read(&path_of(store, hash), METADATA_BYTES_MAX).ok()?;
    serde_json::from_slice(&content).ok()
}

/// The same for who must not take a failing disk for nothing there.
///
/// # Errors
/// The disk fails.
// rule: fault/clear-refusal
pub fn stored(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Option<Metadata>> {
    let content = folder::read_if_file(disk, &path_of(store, hash), METADATA_BYTES_MAX)?;
    Ok(content.and_then(|content| serde_json::from_slice(&content).ok()))
}

/// Where that is stored.
pub fn path_of(store: &Path, hash: &str) -> PathBuf {
    store.join("projects").join(format!("{hash}.json"))
}

/// Records that the project was used now and that `newest` is its newest checkpoint. Metadata that
/// cannot be read is replaced.
// rule: layout/metadata
pub fn touch(
    disk: &dyn Disk,
    store: &Path,
    project: &Project,
    seconds: i64,
    newest: &Newest,
) -> Result<()> {
    let now = seconds as f64;
    let before = read(disk, store, &project.hash);
    let noted = before.as_ref().map_or(&[][..], |before| &before.checkpoints);
    let checkpoints = newest.then(noted);
    let bytes = project.directory.as_os_str().as_bytes();
    let metadata = Metadata {
        workdir: String::from_utf8_lossy(bytes).into_owned(),
        workdir_bytes: std::str::from_utf8(bytes).is_err().then(|| bytes.to_vec()),
        waiting: before.as_ref().map_or(0, |before| before.waiting),
        created_at: before.map_or(now, |before| before.created_at),
        last_touch: now,
        device: disk.stat(&project.directory).ok().map(|stat| stat.device),
        file_system: disk.file_system(&project.directory).ok().filter(|id| *id != 0),
        checkpoints,
    };
    write(disk, store, &project.hash, &metadata)
}

/// Changes what is stored of a project; nothing where that is missing or unreadable. Where `work`
/// changes nothing, nothing is written.
pub fn change(
    disk: &dyn Disk,
    store: &Path,
    hash: &str,
    work: impl FnOnce(&mut Metadata),
) -> Result<()> {
    let Some(before) = read(disk, store, hash) else { return Ok(()) };
    let mut metadata = before.clone();
    work(&mut metadata);
    if metadata == before { Ok(()) } else { write(disk, store, hash, &metadata) }
}

fn write(disk: &dyn Disk, store: &Path, hash: &str, metadata: &Metadata) -> Result<()> {
    let path = path_of(store, hash);
    let text = serde_json::to_string(metadata)
        .map_err(|error| Error::unusable(&path, error.to_string()))?;
    write_whole(disk, store, &format!("project-{hash}"), text.as_bytes(), &path)
}
