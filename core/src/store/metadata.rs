//! `projects/<hash>.json`: the directory of the project with that hash, and when it was used.

use crate::disk::atomic_write::write_atomically;
use crate::disk::{Birth, Disk, folder};
use crate::error::{Error, Result};
use crate::project::{Project, hash_of};
use crate::store::Store;
use crate::store::oid::Oid;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Size limit of metadata in bytes; no metadata is larger.
const METADATA_BYTES_MAX: u64 = 1024 * 1024;

/// What is recorded of a project in addition to its history. The field names are those of other tools.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Metadata {
    /// Its canonical directory. A path that is not UTF-8 has replacement characters.
    pub workdir: String,
    /// The same path as bytes, if it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workdir_bytes: Option<Vec<u8>>,
    /// The time of the first checkpoint, in seconds since the epoch.
    pub created_at: f64,
    /// The time of the last checkpoint, in seconds since the epoch.
    pub last_touch: f64,
    /// The device its directory was on. Only this tool writes and reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<u64>,
    /// Distinguishes the file system of its directory from others with the same device number. Only
    /// this tool writes and reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<u64>,
    /// What identifies its directory under another name. Only this tool writes and reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub birth: Option<Birth>,
    /// Its checkpoints at the time of `last_touch`, newest first, so that a damaged checkpoint does not
    /// hide older ones. Only this tool writes and reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoints: Vec<Recorded>,
    /// The number of evicted pre-restore checkpoints whose space is not collected yet. Only this tool
    /// writes and reads it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub waiting: usize,
    /// Of each session the turn that had its checkpoint last, newest first. Only this tool writes and reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<SessionTurn>,
}

/// A turn of a session, as digests of the same length for all turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionTurn {
    session: String,
    turn: String,
}

/// The turns of so many sessions are recorded at most.
const SESSIONS_MAX: usize = 16;

impl SessionTurn {
    /// The turn `turn` of a session. Sessions may count their turns alike, and a session only has its newest turn.
    pub fn new(session: &str, turn: &str) -> Self {
        let digest = |text: &str| hash_of(Path::new(text));
        SessionTurn { session: digest(session), turn: digest(turn) }
    }

    /// Records the turn as the newest of all.
    pub fn record_in(&self, turns: &mut Vec<SessionTurn>) {
        turns.retain(|recorded| recorded.session != self.session);
        turns.insert(0, self.clone());
        turns.truncate(SESSIONS_MAX);
    }
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// What is recorded of one checkpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// Its full id.
    id: String,
    /// When it was taken, in seconds since the epoch; 0 if that is unknown.
    pub seconds: i64,
}

impl Recorded {
    /// Whether this is the checkpoint `id`.
    pub fn has_id(&self, id: Oid) -> bool {
        self.id() == Some(id)
    }

    /// Its id; `None` if the recorded text is not an id.
    pub fn id(&self) -> Option<Oid> {
        Oid::parse(&self.id)
    }
}

/// How many older checkpoints are recorded for a project at most.
const RECORDED_MAX: usize = 1_000;

impl Metadata {
    /// The same for the directory of this project.
    fn of(self, disk: &dyn Disk, project: &Project) -> Self {
        let bytes = project.directory.as_os_str().as_bytes();
        Metadata {
            workdir: String::from_utf8_lossy(bytes).into_owned(),
            workdir_bytes: std::str::from_utf8(bytes).is_err().then(|| bytes.to_vec()),
            device: disk.stat(&project.directory).ok().map(|stat| stat.device),
            birth: disk.birth(&project.directory),
            file_system: disk.file_system(&project.directory).ok().filter(|id| *id != 0),
            ..self
        }
    }

    /// The first checkpoint that the project ever had, if its checkpoints are recorded from the first on: one whose
    /// time is unknown was taken before that.
    pub fn first(&self) -> Option<Oid> {
        let first = self.checkpoints.last().filter(|first| first.seconds != 0)?;
        first.id().filter(|_| self.checkpoints.len() <= RECORDED_MAX)
    }

    /// The project's directory.
    pub fn directory(&self) -> PathBuf {
        match &self.workdir_bytes {
            Some(bytes) => PathBuf::from(OsStr::from_bytes(bytes)),
            None => PathBuf::from(&self.workdir),
        }
    }
}

/// The newest checkpoint of a project, with its parent.
#[derive(Clone, Copy, Debug)]
pub struct Newest {
    /// Its id.
    pub id: Oid,
    /// When it was taken, in seconds since the epoch.
    pub seconds: i64,
    /// The checkpoint before it.
    pub parent: Option<Oid>,
}

impl Newest {
    /// This checkpoint, and the checkpoints before it among those that were recorded previously.
    fn with_older(&self, previous: &[Recorded]) -> Vec<Recorded> {
        let recorded = |id: Oid, seconds| Recorded { id: id.to_string(), seconds };
        let mut checkpoints = vec![recorded(self.id, self.seconds)];
        if let Some(parent) = self.parent {
            let mut older =
                previous.iter().skip_while(|recorded| !recorded.has_id(parent)).cloned();
            checkpoints.push(older.next().unwrap_or_else(|| recorded(parent, 0)));
            checkpoints.extend(older.take(RECORDED_MAX));
        }
        checkpoints
    }
}

/// Reads the metadata of the project of that hash; `None` if it is missing or unreadable.
// rule: maintenance/heals
pub fn read(disk: &dyn Disk, store: &Path, hash: &str) -> Option<Metadata> {
    let (content, _) = disk.read(&path_of(store, hash), METADATA_BYTES_MAX).ok()?;
    serde_json::from_slice(&content).ok()
}

/// As [`read`], for a caller that must not mistake a failing disk for missing metadata.
///
/// # Errors
/// The disk fails.
// rule: fault/clear-refusal
pub fn stored(disk: &dyn Disk, store: &Path, hash: &str) -> Result<Option<Metadata>> {
    let content = folder::read_if_file(disk, &path_of(store, hash), METADATA_BYTES_MAX)?;
    Ok(content.and_then(|content| serde_json::from_slice(&content).ok()))
}

/// The path of the metadata.
pub fn path_of(store: &Path, hash: &str) -> PathBuf {
    store.join("projects").join(format!("{hash}.json"))
}

/// Records that the project was used at `seconds` since the epoch and that `newest` is its newest
/// checkpoint. Metadata that cannot be read is replaced.
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
    let recorded = before.as_ref().map_or(&[][..], |before| &before.checkpoints);
    let checkpoints = newest.with_older(recorded);
    let metadata = Metadata {
        waiting: before.as_ref().map_or(0, |before| before.waiting),
        created_at: before.as_ref().map_or(now, |before| before.created_at),
        turns: before.map_or_else(Vec::new, |before| before.turns),
        last_touch: now,
        checkpoints,
        ..Metadata::default()
    };
    write(disk, store, &project.hash, &metadata.of(disk, project))
}

/// Writes what is recorded of the project of the hash `old` for another project, as used at `seconds`. Metadata
/// that is missing stays so.
pub fn move_to(store: &Store<'_>, old: &str, project: &Project, seconds: i64) -> Result<()> {
    let Some(recorded) = stored(store.disk, &store.path, old)? else { return Ok(()) };
    let metadata = Metadata { last_touch: seconds as f64, ..recorded.of(store.disk, project) };
    write(store.disk, &store.path, &project.hash, &metadata)
}

/// Changes the metadata of a project, unless it is missing or unreadable. If `edit` changes nothing,
/// nothing is written.
pub fn change(
    disk: &dyn Disk,
    store: &Path,
    hash: &str,
    edit: impl FnOnce(&mut Metadata),
) -> Result<()> {
    let Some(before) = read(disk, store, hash) else { return Ok(()) };
    let mut metadata = before.clone();
    edit(&mut metadata);
    if metadata == before { Ok(()) } else { write(disk, store, hash, &metadata) }
}

fn write(disk: &dyn Disk, store: &Path, hash: &str, metadata: &Metadata) -> Result<()> {
    let path = path_of(store, hash);
    let text = serde_json::to_string(metadata)
        .map_err(|error| Error::unusable(&path, error.to_string()))?;
    write_atomically(disk, store, &format!("project-{hash}"), text.as_bytes(), &path)
}
