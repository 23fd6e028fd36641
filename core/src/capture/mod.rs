//! Reads a project: turns the candidates of a walk into a snapshot of the files that were read.
//!
//! The module ends at the snapshot and its stored blobs; the caller makes a checkpoint of them.

pub mod index;
pub mod leftover;
mod parallel;
mod steady;
mod survey;
mod together;
mod tracked;
mod walk;

pub use survey::{excluded, survey};

use crate::capture::index::{FileEntry, Index, Unchanged};
use crate::capture::leftover::{Fate, LeftoverName, Leftovers};
use crate::capture::steady::Failure;
use crate::capture::together::{FoundUnit, Members, Scan};
use crate::capture::tracked::Tracked;
use crate::capture::walk::{Bounds, Candidate, walk};
use crate::disk::{Disk, Kind as FileKind, Stat, is_absence, is_unreadable, of_any_group};
use crate::environment::Config;
use crate::error::{Context, Error, Result};
use crate::ignore::Excludes;
use crate::own_folders::OwnFolders;
use crate::path::on_disk;
use crate::progress::FileProgress;
use crate::store::left_out::{LeftOut, Reason};
use crate::store::object::blob_of;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::permissions::{FileBits, Permissions, SET_GROUP, is_about_a_group};
use crate::store::snapshot::{Item, Mode, Snapshot};
use crate::unit::Unit;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// How often a unit that changes while it is read is read before it is left out.
const ATTEMPTS_MAX: u32 = 10;
/// By how much the pause before each attempt grows.
const PAUSE: Duration = Duration::from_millis(2);
/// The cause that is reported for such a unit.
const KEEPS_CHANGING: &str = "which keeps changing while it is read";

/// The present content of a project.
#[derive(Debug, Default)]
pub struct Current {
    /// The part of it that a checkpoint holds.
    pub snapshot: Snapshot,
    /// Temporary files and folders of interrupted restores, sorted. They are not content of the project
    /// and may be removed: each is stored, or a draft.
    pub leftovers: Vec<Vec<u8>>,
    /// The units in it, each with the cause for which a checkpoint does not hold it, as the end of a
    /// sentence about the unit.
    pub units: BTreeMap<Unit, Option<String>>,
}

/// The result of a capture.
#[derive(Debug, Default)]
pub struct Captured {
    /// The content that was read.
    pub current: Current,
    /// The permissions of its files and folders.
    pub permissions: Permissions,
    /// What was left out, and why; sorted by path.
    pub left_out: Vec<LeftOut>,
    /// The new index, so that the next capture need not read unchanged files.
    pub index: Index,
    /// Whether it is not known what git tracks, since its index cannot be read.
    pub is_tracked_unknown: bool,
}

impl Captured {
    fn without_files(left_out: Vec<LeftOut>, is_tracked_unknown: bool) -> Self {
        Captured { left_out, is_tracked_unknown, ..Captured::default() }
    }
}

/// Reads a project.
pub struct Capture<'a> {
    /// The disk it is on.
    pub disk: &'a dyn Disk,
    /// Its canonical directory.
    pub root: &'a Path,
    /// The folders that belong to no project.
    pub own: OwnFolders,
    /// The limits of a checkpoint.
    pub config: &'a Config,
    /// The hash of the project, if a restore of it was interrupted.
    pub interrupted: Option<&'a str>,
    /// The index of the last capture.
    pub index: &'a Index,
    /// The stat of a file made before anything is read, whose time is that of the file system's clock.
    /// Without it no file is recorded in the new index.
    pub started: Option<Stat>,
    /// How many files were read.
    pub progress: &'a FileProgress,
}

impl Capture<'_> {
    /// Reads the project.
    ///
    /// # Errors
    /// [`Error::TooManyFiles`], [`Error::MissingDirectory`] if the project is removed meanwhile, and
    /// errors of storing. A file that cannot be read is left out instead.
    // rule: capture/read-only
    pub fn run(&self, mut blobs: Blobs<'_, '_>) -> Result<Captured> {
        let before = self.root()?;
        let Config { max_file_bytes, max_files, .. } = *self.config;
        let started = self.started.as_ref();
        let bounds = Bounds { max_file_bytes, max_files, own_folders: &self.own, started };
        let excludes = Excludes::except(&self.config.include);
        let scan = Scan {
            disk: self.disk,
            root: self.root,
            bounds: &bounds,
            excludes: &excludes,
            tracked: Tracked::default(),
            lists_excluded: false,
        };
        let walked = walk(&scan)?;
        let mut captured = Captured::without_files(walked.left_out, walked.is_tracked_unknown);
        let mut folders: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
        for (path, stat) in walked.folders.into_iter().chain([(Vec::new(), before)]) {
            // A restore that was interrupted while it changed a unit leaves an empty folder.
            let name = LeftoverName::of_path(&path);
            if name.is_some_and(|name| self.interrupted == Some(name.hash)) {
                captured.current.leftovers.push(path.clone());
            }
            let bits = self.bits(&path, &stat, before.group);
            folders.insert(path, bits);
        }
        self.classify_leftovers(walked.leftovers, &mut captured, blobs.objects())?;
        let mut read = Vec::with_capacity(walked.candidates.len());
        let mut changed = Vec::new();
        for candidate in walked.candidates {
            match self.unchanged(&candidate, blobs.stored())? {
                Some(item) => read.push((candidate.path, item)),
                None => changed.push(candidate),
            }
        }
        for candidate in self.read_in_parallel(changed, &mut blobs, &mut read)? {
            match self.read(&candidate, blobs.target())? {
                ReadResult::Item(item) => {
                    read.push((candidate.path, item));
                }
                ReadResult::Gone => {}
                ReadResult::LeftOut(left_out) => captured.left_out.push(left_out),
            }
        }
        for (found, cause) in walked.units {
            let cause = match cause {
                Some(cause) => Some(cause),
                None => match self.read_unit(&scan, &found, &mut blobs)? {
                    Ok(members) => {
                        read.extend(members);
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
        self.add_files(&mut captured, read, &folders, before.group);
        captured.left_out.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        // A project that was removed must not be taken for an empty one.
        // rule: capture/honest
        let now = self.root()?;
        if now.identity() != before.identity() {
            return Err(Error::MissingDirectory(self.root.to_owned()));
        }
        Ok(captured)
    }

    /// Adds the files that were read in a project with these folders and that group.
    fn add_files(
        &self,
        captured: &mut Captured,
        mut read: Vec<ReadMember>,
        folders: &BTreeMap<Vec<u8>, u32>,
        group: u32,
    ) {
        // Stable, since that is sooner done: the unchanged files, which are most of them, are sorted.
        read.sort_by(|(left, _), (right, _)| left.cmp(right));
        let bits = |(path, file): &ReadMember| self.bits(path, &file.stat, group);
        let files = read.iter().map(|member| FileBits {
            path: &member.0,
            mode: member.1.item.mode,
            bits: bits(member),
        });
        captured.permissions = Permissions::of(&files.collect::<Vec<_>>(), folders, group);
        let entries = read.iter().filter_map(|(path, file)| Some((&path[..], file.entry?)));
        captured.index = Index::of(entries);
        let items = read.into_iter().map(|(path, file)| (path, file.item));
        captured.current.snapshot = items.collect();
    }

    /// Adds what interrupted restores left: to the leftovers if it may be removed, to what is left out if it
    /// is reported.
    fn classify_leftovers(
        &self,
        candidates: Vec<Candidate>,
        captured: &mut Captured,
        objects: &Objects<'_>,
    ) -> Result<()> {
        let started = self.started.as_ref();
        let leftovers = Leftovers { disk: self.disk, interrupted: self.interrupted, started };
        for candidate in candidates {
            let Some(name) = LeftoverName::of_path(&candidate.path) else { continue };
            let full = on_disk(self.root, &candidate.path);
            match leftovers.fate(&full, &candidate, name, objects)? {
                Fate::Remove => captured.current.leftovers.push(candidate.path),
                Fate::Leave => {}
                Fate::Report => {
                    captured.left_out.push(LeftOut::new(&candidate.path, Reason::Displaced));
                }
            }
        }
        captured.current.leftovers.sort_unstable();
        Ok(())
    }

    /// The permission bits of a file or folder of a project with that group. Of the bits for another
    /// group, or with an access list, only those are kept that everybody has. The bit by which what is made in a
    /// folder gets its group is about that group, too.
    // rule: restore/permissions
    fn bits(&self, path: &[u8], stat: &Stat, group: u32) -> u32 {
        let access_list = || self.disk.access_list(&on_disk(self.root, path));
        let is_kept = !is_about_a_group(stat.mode)
            || stat.group == group && access_list().is_ok_and(|list| list.is_none());
        let bits = if is_kept { stat.mode } else { of_any_group(stat.mode) };
        if stat.group == group { bits } else { bits & !SET_GROUP }
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

    /// Reads all members of a unit as of one moment, or returns why the unit is not captured.
    // rule: unit/captured: decides
    fn read_unit(
        &self,
        scan: &Scan<'_>,
        found: &FoundUnit,
        blobs: &mut Blobs<'_, '_>,
    ) -> Result<UnitRead> {
        let mut last = Members::default();
        for attempt in 0..ATTEMPTS_MAX {
            if attempt > 0 {
                sleep(PAUSE * attempt);
            }
            let mut members = scan.members(found)?;
            if let Some(cause) = members.cause.take() {
                return Ok(Err((members, cause)));
            }
            let mut read = Vec::new();
            for file in &members.files {
                if let Some(item) = self.unchanged(file, blobs.stored())? {
                    read.push((file.path.clone(), item));
                    continue;
                }
                match self.read(file, blobs.target())? {
                    ReadResult::Item(item) => read.push((file.path.clone(), item)),
                    ReadResult::LeftOut(LeftOut { reason: Reason::Changing, .. })
                    | ReadResult::Gone => {}
                    ReadResult::LeftOut(left_out) => {
                        let cause = members.block(left_out);
                        return Ok(Err((members, cause)));
                    }
                }
            }
            if self.is_steady(&scan.members(found)?, &read)? {
                return Ok(Ok(read));
            }
            last = members;
        }
        Ok(Err((last, KEEPS_CHANGING.to_owned())))
    }

    /// Whether the members of a unit, listed again, are exactly those that were read.
    fn is_steady(&self, members: &Members, read: &[ReadMember]) -> Result<bool> {
        let is_same = |(file, (path, item)): (&Candidate, &ReadMember)| {
            file.path == *path && file.stat == item.stat
        };
        if members.cause.is_some()
            || members.files.len() != read.len()
            || !members.files.iter().zip(read).all(is_same)
        {
            return Ok(false);
        }
        // A second change in one tick of the clock shows only in the bytes.
        let is_young = |stat: &Stat| {
            self.started.is_some_and(|started| !stat.is_settled_before(&started))
                && stat.kind == FileKind::File
        };
        for (path, read_item) in read.iter().filter(|(_, item)| is_young(&item.stat)) {
            let full = on_disk(self.root, path);
            match blob_of(self.disk, &full) {
                Ok((blob, _)) if blob == Some(read_item.item.blob) => {}
                Ok(_) => return Ok(false),
                Err(error) if is_unreadable(&error) || is_absence(&error) => return Ok(false),
                Err(error) => return Err(error).context("reading", &full),
            }
        }
        Ok(true)
    }

    /// A file that was certainly not changed since the last capture. If its blob should be `stored` and is not, it
    /// must be read again.
    fn unchanged(
        &self,
        candidate: &Candidate,
        stored: Option<&Objects<'_>>,
    ) -> Result<Option<ReadItem>> {
        let Candidate { path, stat } = candidate;
        let unchanged = self.index.unchanged(path, stat, self.started.as_ref());
        let is_file = stat.kind == FileKind::File;
        let Some(Unchanged { item, entry, mark }) = unchanged.filter(|_| is_file) else {
            return Ok(None);
        };
        let is_stored =
            stored.map_or(Ok(true), |stored| stored.is_still_intact(item.blob, &mark))?;
        Ok(is_stored.then_some(ReadItem { item, entry: Some(entry), stat: *stat }))
    }

    /// Reads a file or link, and stores it if `objects` is given.
    fn read(&self, candidate: &Candidate, objects: Option<&mut Objects<'_>>) -> Result<ReadResult> {
        let started = self.started.as_ref();
        let path = on_disk(self.root, &candidate.path);
        let size_limit = self.config.max_file_bytes;
        let read = match candidate.stat.kind {
            // rule: capture/symlink
            FileKind::Link => match self.disk.read_link(&path) {
                Ok(target) => Ok(Some((steady::blob_id(&target, objects)?, None))),
                Err(error) => Err(Failure::File(error)),
            },
            _ => {
                let limit = if size_limit == 0 { u64::MAX } else { size_limit };
                let read = steady::read(self.disk, &path, limit, started, objects);
                read.map(|file| file.map(|(blob, stat)| (blob, Some(stat))))
            }
        };
        let left_out = |reason| Ok(ReadResult::LeftOut(LeftOut::new(&candidate.path, reason)));
        let (blob, stat) = match read {
            Ok(Some(read)) => read,
            // rule: capture/size-cap
            Ok(None) => return left_out(Reason::TooLarge(size_limit)),
            Err(Failure::File(error)) if error.kind() == ErrorKind::NotFound => {
                return Ok(ReadResult::Gone);
            }
            Err(Failure::Changing) => return left_out(Reason::Changing),
            // rule: capture/unreadable
            Err(Failure::File(error)) if is_unreadable(&error) => {
                let reason = Reason::Unreadable(error.to_string());
                let unreadable = LeftOut::new(&candidate.path, reason);
                return Ok(ReadResult::LeftOut(unreadable.with_stamp(&candidate.stat, started)));
            }
            Err(Failure::File(error)) => return Err(error).context("reading", &path),
            Err(Failure::Store(error)) => return Err(error),
        };
        Ok(ReadResult::Item(match stat {
            Some(stat) => self.read_file(blob, stat),
            None => ReadItem {
                item: Item { mode: Mode::Link, blob },
                entry: None,
                stat: candidate.stat,
            },
        }))
    }

    /// A file that was read, with that stat.
    fn read_file(&self, blob: Oid, stat: Stat) -> ReadItem {
        let item = Item { mode: Mode::of_file(&stat), blob };
        let entry = self
            .started
            .map(|started| FileEntry::new(&stat, item, stat.is_settled_before(&started)));
        ReadItem { item, entry, stat }
    }
}

/// Whether the blobs that are read are stored.
pub enum Blobs<'a, 'o> {
    /// They are stored.
    Keep(&'a mut Objects<'o>),
    /// Only their ids are computed.
    Name(&'a Objects<'o>),
}

impl<'o> Blobs<'_, 'o> {
    /// The objects in which blobs are stored, if they are.
    fn target(&mut self) -> Option<&mut Objects<'o>> {
        match self {
            Blobs::Keep(objects) => Some(objects),
            Blobs::Name(_) => None,
        }
    }

    /// The objects in which blobs should be stored, if they should.
    fn stored(&self) -> Option<&Objects<'o>> {
        match self {
            Blobs::Keep(objects) => Some(objects),
            Blobs::Name(_) => None,
        }
    }

    fn objects(&self) -> &Objects<'o> {
        match self {
            Blobs::Keep(objects) => objects,
            Blobs::Name(objects) => objects,
        }
    }
}

/// The path of a member of a unit, and the item that was read.
type ReadMember = (Vec<u8>, ReadItem);

/// The members of a unit, read as of one moment; or the members found, and why the unit is not captured.
type UnitRead = std::result::Result<Vec<ReadMember>, (Members, String)>;

enum ReadResult {
    Item(ReadItem),
    Gone,
    LeftOut(LeftOut),
}

/// A file or link that was read.
struct ReadItem {
    item: Item,
    /// Its entry in the new index.
    entry: Option<FileEntry>,
    /// Its stat when it was read.
    stat: Stat,
}
