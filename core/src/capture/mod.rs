//! Reading a project: from the candidates of a walk to a snapshot of what was really read.
//!
//! It ends at the snapshot, whose blobs it stores on the way; making a checkpoint of it is up to
//! the caller.

pub mod index;
pub mod leftover;
mod steady;
mod together;
mod walk;

use crate::capture::index::{Index, Known};
use crate::capture::leftover::{Fate, Leftovers, Name};
use crate::capture::steady::Failure;
use crate::capture::together::{Found, Looking, Members};
use crate::capture::walk::{Bounds, Candidate, walk};
use crate::disk::{Disk, Kind as FileKind, Stat, is_absence, is_unreadable, of_any_group};
use crate::environment::Config;
use crate::error::{Context, Error, Result};
use crate::ignore::Excludes;
use crate::own_folders::OwnFolders;
use crate::path::on_disk;
use crate::store::left_out::{LeftOut, Reason};
use crate::store::object::blob_of;
use crate::store::objects::Objects;
use crate::store::permissions::{Permissions, is_about_a_group};
use crate::store::snapshot::{Item, Mode, Snapshot};
use crate::unit::Unit;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// A unit that changes while it is read is read this often before it is left out, after a pause that
/// grows by this each time.
const ATTEMPTS_MAX: u32 = 10;
const PAUSE: Duration = Duration::from_millis(2);
/// What is said of a unit then.
const KEEPS_CHANGING: &str = "which keeps changing while it is read";

/// What is in a project.
#[derive(Debug, Default)]
pub struct Current {
    /// What a checkpoint holds of it.
    pub snapshot: Snapshot,
    /// What interrupted restores left alongside their paths, sorted: no content of the project, and
    /// stored, or a draft.
    pub leftovers: Vec<Vec<u8>>,
    /// The units in it, each with why a checkpoint does not hold it, as the end of a sentence about it.
    pub units: BTreeMap<Unit, Option<String>>,
}

/// What a capture found.
#[derive(Debug, Default)]
pub struct Captured {
    /// What was read.
    pub current: Current,
    /// What it permitted.
    pub permissions: Permissions,
    /// What was left out, and why; sorted by path.
    pub left_out: Vec<LeftOut>,
    /// What to remember, so that the next capture need not read it again.
    pub index: Index,
}

/// How a project is read.
pub struct Capture<'a> {
    /// The disk it is on.
    pub disk: &'a dyn Disk,
    /// Its canonical directory.
    pub root: &'a Path,
    /// The folders that belong to no project.
    pub own: OwnFolders,
    /// The bounds of a checkpoint.
    pub config: &'a Config,
    /// The hash of the project, where a restore of it was interrupted.
    pub interrupted: Option<&'a str>,
    /// What was known of the files before.
    pub index: &'a Index,
    /// The stat of a file made before anything is read: its time is that of the file system's
    /// clock. Without it nothing is remembered.
    pub started: Option<Stat>,
}

impl Capture<'_> {
    /// Reads the project.
    ///
    /// # Errors
    /// [`Error::TooManyFiles`], [`Error::MissingDirectory`] where the project vanishes meanwhile,
    /// and errors of storing. A file that cannot be read is left out instead.
    // rule: capture/read-only
    pub fn run(&self, mut blobs: Blobs<'_, '_>) -> Result<Captured> {
        let before = self.root()?;
        let Config { max_file_bytes, max_files, .. } = *self.config;
        let started = self.started.as_ref();
        let bounds = Bounds { max_file_bytes, max_files, own: &self.own, started };
        let excludes = Excludes::of_every_project();
        let (disk, root) = (self.disk, self.root);
        let looking = Looking { disk, root, bounds: &bounds, excludes: &excludes };
        let walked = walk(&looking)?;
        let mut captured = Captured { left_out: walked.left_out, ..Captured::default() };
        let mut folders: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for (path, stat) in walked.folders.into_iter().chain([(Vec::new(), before)]) {
            // A restore that died while it changed a unit left an empty folder.
            let name = Name::of_path(&path);
            if name.is_some_and(|name| self.interrupted == Some(name.hash)) {
                captured.current.leftovers.push(path.clone());
            }
            let bits = self.bits(&path, &stat, before.group);
            folders.insert(path, bits);
        }
        let leftovers = Leftovers { disk: self.disk, interrupted: self.interrupted, started };
        for candidate in walked.leftovers {
            let Some(name) = Name::of_path(&candidate.path) else { continue };
            let full = on_disk(self.root, &candidate.path);
            match leftovers.fate(&full, &candidate, name, blobs.stored())? {
                Fate::Remove => captured.current.leftovers.push(candidate.path),
                Fate::Leave => {}
                Fate::Tell => {
                    captured.left_out.push(LeftOut::new(&candidate.path, Reason::Displaced));
                }
            }
        }
        captured.current.leftovers.sort_unstable();
        let mut files = BTreeMap::new();
        for candidate in walked.candidates {
            match self.read(&candidate, blobs.keep())? {
                Read::Item(item) => {
                    let bits = self.bits(&candidate.path, &item.stat, before.group);
                    files.insert(candidate.path.clone(), bits);
                    captured.add(candidate.path, item);
                }
                Read::Gone => {}
                Read::LeftOut(left_out) => captured.left_out.push(left_out),
            }
        }
        for (found, cause) in walked.units {
            let cause = match cause {
                Some(cause) => Some(cause),
                None => match self.read_together(&looking, &found, &mut blobs)? {
                    Ok(members) => {
                        for (path, item) in members {
                            let bits = self.bits(&path, &item.stat, before.group);
                            files.insert(path.clone(), bits);
                            captured.add(path, item);
                        }
                        None
                    }
                    Err((members, cause)) => {
                        captured.left_out.extend(members.left_out(&found.unit, &cause, started));
                        Some(cause)
                    }
                },
            };
            captured.current.units.insert(found.unit, cause);
        }
        captured.permissions =
            Permissions::of(&captured.current.snapshot, &files, &folders, before.group);
        captured.left_out.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        // An empty project and one that is gone must not be confused.
        // rule: capture/honest
        let now = self.root()?;
        if now.identity() != before.identity() {
            return Err(Error::MissingDirectory(self.root.to_owned()));
        }
        Ok(captured)
    }

    /// The permission bits of a file or folder of the project, which has that group: of another one,
    /// and of an access list, what everybody may.
    // rule: restore/permissions
    fn bits(&self, path: &[u8], stat: &Stat, group: u32) -> u32 {
        let has_list = || self.disk.access_list(&on_disk(self.root, path));
        let is_kept = !is_about_a_group(stat.mode)
            || stat.group == group && has_list().is_ok_and(|list| list.is_none());
        if is_kept { stat.mode } else { of_any_group(stat.mode) }
    }

    fn root(&self) -> Result<Stat> {
        match self.disk.stat(self.root) {
            Ok(stat) if stat.kind == FileKind::Directory => Ok(stat),
            Ok(_) => Err(Error::NotADirectory(self.root.to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::MissingDirectory(self.root.to_owned()))
            }
            Err(error) => Err(error).context("looking at", self.root),
        }
    }

    /// Reads all members of a unit as of one moment; or says why none of them is captured.
    // rule: unit/captured
    fn read_together(
        &self,
        looking: &Looking<'_>,
        found: &Found,
        blobs: &mut Blobs<'_, '_>,
    ) -> Result<Together> {
        let mut last = Members::default();
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                sleep(PAUSE * attempt);
            }
            let mut members = looking.look(found)?;
            if let Some(cause) = members.cause.take() {
                return Ok(Err((members, cause)));
            }
            let mut read = Vec::new();
            for file in &members.files {
                match self.read(file, blobs.keep())? {
                    Read::Item(item) => read.push((file.path.clone(), item)),
                    Read::LeftOut(LeftOut { reason: Reason::Changing, .. }) | Read::Gone => {}
                    Read::LeftOut(left_out) => {
                        let cause = members.block(left_out);
                        return Ok(Err((members, cause)));
                    }
                }
            }
            if self.is_steady(&looking.look(found)?, &read)? {
                return Ok(Ok(read));
            }
            last = members;
        }
        Ok(Err((last, KEEPS_CHANGING.to_owned())))
    }

    /// Whether the members of a unit, looked at again, are those that were read and nothing else.
    fn is_steady(&self, again: &Members, read: &[ReadMember]) -> Result<bool> {
        let is_same = |(file, (path, item)): (&Candidate, &ReadMember)| {
            file.path == *path && file.stat == item.stat
        };
        if again.cause.is_some()
            || again.files.len() != read.len()
            || !again.files.iter().zip(read).all(is_same)
        {
            return Ok(false);
        }
        // Of two changes in one tick of the clock the second one leaves no trace but the bytes.
        let is_young = |stat: &Stat| {
            self.started.is_some_and(|started| !stat.is_settled_before(&started))
                && stat.kind == FileKind::File
        };
        for (path, item) in read.iter().filter(|(_, item)| is_young(&item.stat)) {
            let full = on_disk(self.root, path);
            match blob_of(self.disk, &full) {
                Ok((blob, _)) if blob == Some(item.item.blob) => {}
                Ok(_) => return Ok(false),
                Err(error) if is_unreadable(&error) || is_absence(&error) => return Ok(false),
                Err(error) => return Err(error).context("reading", &full),
            }
        }
        Ok(true)
    }

    fn read(&self, candidate: &Candidate, keep: Option<&mut Objects<'_>>) -> Result<Read> {
        let path = on_disk(self.root, &candidate.path);
        let cap = self.config.max_file_bytes;
        let read = match candidate.stat.kind {
            // rule: capture/symlink
            FileKind::Link => match self.disk.read_link(&path) {
                Ok(target) => Ok(Some((steady::name(&target, keep)?, None))),
                Err(error) => Err(Failure::File(error)),
            },
            _ => {
                let mode = Mode::of_file(&candidate.stat);
                // A blob that is not stored any more must be stored again.
                let unchanged = self.index.unchanged(&candidate.path, &candidate.stat, mode);
                let seen = self.index.seen_whole(&candidate.path, self.started.as_ref());
                if let Some(item) = unchanged
                    && keep
                        .as_ref()
                        .map_or(Ok(true), |keep| keep.is_still_whole(item.blob, &seen))?
                {
                    let known = Some(Known::new(&candidate.stat, item, true));
                    return Ok(Read::Item(ReadItem { item, known, stat: candidate.stat }));
                }
                let most = if cap == 0 { u64::MAX } else { cap };
                let read = steady::read(self.disk, &path, most, self.started.as_ref(), keep);
                read.map(|file| file.map(|(blob, stat)| (blob, Some(stat))))
            }
        };
        let left_out = |reason| Ok(Read::LeftOut(LeftOut::new(&candidate.path, reason)));
        let (blob, stat) = match read {
            Ok(Some(read)) => read,
            // rule: capture/size-cap
            Ok(None) => return left_out(Reason::TooLarge(cap)),
            Err(Failure::File(error)) if error.kind() == ErrorKind::NotFound => {
                return Ok(Read::Gone);
            }
            Err(Failure::Changing) => return left_out(Reason::Changing),
            // rule: capture/unreadable
            Err(Failure::File(error)) if is_unreadable(&error) => {
                let reason = Reason::Unreadable(error.to_string());
                let entry = LeftOut::new(&candidate.path, reason);
                let started = self.started.as_ref();
                return Ok(Read::LeftOut(entry.with_stamp(&candidate.stat, started)));
            }
            Err(Failure::File(error)) => return Err(error).context("reading", &path),
            Err(Failure::Store(error)) => return Err(error),
        };
        let mode = stat.as_ref().map_or(Mode::Link, Mode::of_file);
        let item = Item { mode, blob };
        let known = stat
            .zip(self.started)
            .map(|(stat, started)| Known::new(&stat, item, stat.is_settled_before(&started)));
        Ok(Read::Item(ReadItem { item, known, stat: stat.unwrap_or(candidate.stat) }))
    }
}

/// How many files and links of a project a checkpoint would hold, if all of them can be read, and what
/// it would leave out. `root` is canonical.
///
/// # Errors
/// As [`Capture::run`], as far as they show without reading a file.
pub fn survey(
    disk: &dyn Disk,
    root: &Path,
    own: &OwnFolders,
    config: &Config,
) -> Result<(usize, Vec<LeftOut>)> {
    let Config { max_file_bytes, max_files, .. } = *config;
    let bounds = &Bounds { max_file_bytes, max_files, own, started: None };
    let excludes = &Excludes::of_every_project();
    let mut walked = walk(&Looking { disk, root, bounds, excludes })?;
    walked.left_out.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    Ok((walked.candidates.len() + walked.members, walked.left_out))
}

/// What becomes of the blobs that are read.
pub enum Blobs<'a, 'o> {
    /// They are stored.
    Keep(&'a mut Objects<'o>),
    /// They are only named.
    Name(&'a Objects<'o>),
}

impl<'o> Blobs<'_, 'o> {
    fn keep(&mut self) -> Option<&mut Objects<'o>> {
        match self {
            Blobs::Keep(objects) => Some(objects),
            Blobs::Name(_) => None,
        }
    }

    fn stored(&self) -> &Objects<'o> {
        match self {
            Blobs::Keep(objects) => objects,
            Blobs::Name(objects) => objects,
        }
    }
}

/// What was read of a member, and its path.
type ReadMember = (Vec<u8>, ReadItem);

/// The members of a unit, read as of one moment; or what was there, and why none is captured.
type Together = std::result::Result<Vec<ReadMember>, (Members, String)>;

enum Read {
    Item(ReadItem),
    Gone,
    LeftOut(LeftOut),
}

/// A file or link that was read.
struct ReadItem {
    item: Item,
    /// What to remember of it.
    known: Option<Known>,
    /// What it was when it was read.
    stat: Stat,
}

impl Captured {
    fn add(&mut self, path: Vec<u8>, read: ReadItem) {
        if let Some(known) = read.known {
            self.index.insert(path.clone(), known);
        }
        self.current.snapshot.insert(path, read.item);
    }
}
