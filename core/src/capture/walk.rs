//! Finds the paths of a project that belong in a checkpoint by one walk over its directories.
//!
//! The walk reads directories, stat data and ignore files; [`crate::capture`] reads the files
//! themselves.

use super::together::{FoundUnit, Scan};
use super::tracked::Tracked;
use crate::capture::leftover::LeftoverName;
use crate::disk::{Kind, ListedEntry, Stat, is_unreadable};
use crate::error::{Context, Error, Result};
use crate::ignore::{EntryKind, Exclusion, IGNORE_BYTES_MAX, IGNORE_FILES, IgnoreFile};
use crate::own_folders::OwnFolders;
use crate::path::{join, on_disk};
use crate::shared::Shared;
use crate::store::left_out::{LeftOut, Reason};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

/// A file or link that belongs in a checkpoint if it can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Relative to the project.
    pub path: Vec<u8>,
    /// Its stat when it was found.
    pub stat: Stat,
}

/// The result of a walk.
#[derive(Default)]
pub struct Walked {
    /// Files and links to capture, except the members of units.
    pub candidates: Vec<Candidate>,
    /// Files and links that restores put alongside others, ignored or not.
    pub leftovers: Vec<Candidate>,
    /// The units, each with the cause for which it is left out, if there is one.
    pub units: Vec<(FoundUnit, Option<String>)>,
    /// How many members of units can be captured.
    pub members: usize,
    /// The paths that were left out although no ignore rule matches them.
    pub left_out: Vec<LeftOut>,
    /// The excluded entries, if they are listed, each with its pattern; a folder ends in a slash and stands for
    /// all that is in it.
    pub excluded: Vec<(Exclusion, Vec<u8>)>,
    /// The folders below the root that may hold captured paths.
    pub folders: BTreeMap<Vec<u8>, Stat>,
    /// Whether it is not known what git tracks, since its index cannot be read.
    pub is_tracked_unknown: bool,
}

/// The ignore files from the project's root down to one directory, innermost first.
pub struct IgnoreChain {
    directory: Vec<u8>,
    file: IgnoreFile,
    above: Option<Arc<IgnoreChain>>,
}

/// The ignore files of a chain, each with its directory, the root first.
pub fn levels(chain: &Option<Arc<IgnoreChain>>) -> Vec<(&[u8], &IgnoreFile)> {
    let mut levels = Vec::new();
    let mut next = chain.as_deref();
    while let Some(chain) = next {
        levels.push((&chain.directory[..], &chain.file));
        next = chain.above.as_deref();
    }
    levels.reverse();
    levels
}

/// The limits of a walk.
pub struct Bounds<'a> {
    /// Files larger than this many bytes are left out; 0 means no limit.
    pub max_file_bytes: u64,
    /// With more readable files than this the walk fails.
    pub max_files: usize,
    /// The folders that are never entered.
    pub own_folders: &'a OwnFolders,
    /// The stat of a file made before the walk.
    pub started: Option<&'a Stat>,
}

/// With fewer folders to visit, other threads would come too late to help.
const PARALLEL_FOLDERS_MIN: usize = 8;

/// A folder that is still to be visited.
struct Pending {
    /// Relative to the project.
    directory: Vec<u8>,
    /// The ignore files above it.
    above: Option<Arc<IgnoreChain>>,
    /// Whether a default exclude names it, so that only what git tracks is captured.
    is_excluded: bool,
}

/// What was found so far.
#[derive(Default)]
struct WalkProgress {
    /// All but the candidates.
    walked: Walked,
    /// The candidates of each folder, with its path.
    candidates: Vec<(Vec<u8>, Vec<Candidate>)>,
    /// How many candidates there are, in how many folders they were checked for being readable, and how many of
    /// these are.
    count: usize,
    checked: usize,
    readable: usize,
}

/// What one folder holds.
#[derive(Default)]
struct FolderFound {
    directory: Vec<u8>,
    walked: Walked,
    pending: Vec<Pending>,
}

/// Walks the project at `root`. On a disk that serves several threads, they share the folders.
///
/// # Errors
/// The root cannot be read, or the disk fails; [`Error::TooManyFiles`]. Paths without permission to read
/// are left out.
pub fn walk(scan: &Scan<'_>) -> Result<Walked> {
    let entries = scan.disk.entries(scan.root).context("reading the directory", scan.root)?;
    // Most projects without a repository cost no call more.
    let repository = entries.iter().find(|(name, _)| name == ".git");
    let kind = repository.and_then(|(_, stat)| Some(stat.as_ref().ok()?.kind));
    let tracked = kind.map_or_else(Tracked::default, |kind| Tracked::read(scan, kind));
    let scan = &Scan { tracked, ..*scan };
    let top = Pending { directory: Vec::new(), above: None, is_excluded: false };
    let top = scan.enter(top, entries)?;
    let mut found = WalkProgress::default();
    let mut pending = found.add(scan, top)?;
    while let Some(next) = pending.pop() {
        let folder = scan.visit(next)?;
        pending.extend(found.add(scan, folder)?);
        if pending.len() >= PARALLEL_FOLDERS_MIN && scan.disk.is_for_many_threads() {
            found = walk_in_parallel(scan, found, std::mem::take(&mut pending))?;
        }
    }
    let WalkProgress { mut walked, mut candidates, .. } = found;
    candidates.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
    walked.candidates = candidates.into_iter().flat_map(|(_, candidates)| candidates).collect();
    for candidates in [&mut walked.candidates, &mut walked.leftovers] {
        // Stable, since that is sooner done: most are in order already.
        candidates.sort_by(|left, right| left.path.cmp(&right.path));
    }
    walked.is_tracked_unknown = scan.tracked.is_unknown;
    walked.units.sort_by_cached_key(|(found, _)| found.unit.path());
    Ok(walked)
}

/// Visits folders, and all below them, with all threads.
fn walk_in_parallel(
    scan: &Scan<'_>,
    found: WalkProgress,
    pending: Vec<Pending>,
) -> Result<WalkProgress> {
    let shared = Shared::new(Ok(found));
    rayon::scope(|scope| {
        pending
            .into_iter()
            .for_each(|next| scope.spawn(|scope| shared_visit(scan, &shared, next, scope)));
    });
    shared.into_inner()
}

/// Visits a folder, unless the walk failed meanwhile, and lets any thread visit those in it.
fn shared_visit<'s>(
    scan: &'s Scan<'_>,
    shared: &'s Shared<Result<WalkProgress>>,
    next: Pending,
    scope: &rayon::Scope<'s>,
) {
    if shared.lock().is_err() {
        return;
    }
    let folder = scan.visit(next);
    let mut shared_found = shared.lock();
    let Ok(found) = &mut *shared_found else { return };
    match folder.and_then(|folder| found.add(scan, folder)) {
        Ok(pending) => {
            drop(shared_found);
            pending.into_iter().for_each(|next| {
                scope.spawn(move |scope| shared_visit(scan, shared, next, scope));
            });
        }
        Err(error) => *shared_found = Err(error),
    }
}

impl Scan<'_> {
    /// Lists a folder; one that disappeared is empty.
    fn visit(&self, next: Pending) -> Result<FolderFound> {
        let full = on_disk(self.root, &next.directory);
        match self.disk.entries(&full) {
            Ok(entries) => self.enter(next, entries),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(FolderFound::default()),
            // rule: capture/unreadable
            Err(error) if is_unreadable(&error) => {
                let mut found = FolderFound::default();
                let reason = Reason::Unreadable(error.to_string());
                found.walked.left_out.push(LeftOut::new(&next.directory, reason));
                Ok(found)
            }
            Err(error) => Err(error).context("reading the directory", &full),
        }
    }

    fn enter(&self, next: Pending, entries: Vec<ListedEntry>) -> Result<FolderFound> {
        let Pending { directory, above, is_excluded } = next;
        let mut found = FolderFound::default();
        let mut ignores = above;
        for name in IGNORE_FILES {
            if entries.iter().any(|(entry, _)| entry == name) {
                ignores = self.add_ignore_file(&directory, name, ignores)?;
            }
        }
        let mut units = Walked::default();
        let entries = self.take_units(&directory, entries, &ignores, &mut units)?;
        // A database in an excluded folder is left out with all of its files.
        match is_excluded {
            true => found.walked.excluded = units.excluded,
            false => found.walked = units,
        }
        let levels = levels(&ignores);
        for (name, stat) in entries {
            let path = join(&directory, name.as_bytes());
            // rule: scope/base-not-captured
            if self.bounds.own_folders.has_below(self.root, &path, stat.as_ref().ok()) {
                continue;
            }
            let stat = match stat {
                Ok(stat) => stat,
                // Removed since the directory was read.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                // rule: capture/unreadable: decides
                Err(error) if is_unreadable(&error) => {
                    let reason = Reason::Unreadable(error.to_string());
                    found.walked.left_out.push(LeftOut::new(&path, reason));
                    continue;
                }
                Err(error) => return Err(error).context("looking at", &on_disk(self.root, &path)),
            };
            if matches!(stat.kind, Kind::File | Kind::Link)
                && LeftoverName::read(name.as_bytes()).is_some()
            {
                found.walked.leftovers.push(Candidate { path, stat });
                continue;
            }
            // rule: capture/independent
            let is_directory = stat.kind == Kind::Directory;
            let is_excluded = is_excluded || self.excludes.excludes(&levels, &path, is_directory);
            // Git has no default excludes: what it tracks is source.
            if is_excluded
                && (!self.tracks(&path, is_directory)
                    || self.excludes.excludes_by_project(&levels, &path, is_directory))
            {
                let kind = if is_directory { EntryKind::Folder } else { EntryKind::File };
                found.walked.excluded.extend(self.listed(&levels, path, kind));
                continue;
            }
            let size_limit = self.bounds.max_file_bytes;
            match stat.kind {
                Kind::Directory => {
                    found.walked.folders.insert(path.clone(), stat);
                    let above = ignores.clone();
                    found.pending.push(Pending { directory: path, above, is_excluded });
                }
                // rule: capture/special
                Kind::Special => {
                    found.walked.left_out.push(LeftOut::new(&path, Reason::Special));
                }
                // rule: capture/size-cap: decides
                Kind::File if size_limit > 0 && stat.size > size_limit => {
                    let left_out = LeftOut::new(&path, Reason::TooLarge(size_limit));
                    found.walked.left_out.push(left_out.with_stamp(&stat, self.bounds.started));
                }
                Kind::File | Kind::Link => found.walked.candidates.push(Candidate { path, stat }),
            }
        }
        found.directory = directory;
        Ok(found)
    }

    /// An entry as it is listed if a pattern excludes it, and excluded entries are listed.
    fn listed(
        &self,
        levels: &[(&[u8], &IgnoreFile)],
        mut path: Vec<u8>,
        kind: EntryKind,
    ) -> Option<(Exclusion, Vec<u8>)> {
        let exclusion = || self.excludes.exclusion(levels, &path, kind);
        let exclusion = self.lists_excluded.then(exclusion).flatten()?;
        if matches!(kind, EntryKind::Folder) {
            path.push(b'/');
        }
        Some((exclusion, path))
    }

    /// Whether git tracks a file, or a file in a directory.
    fn tracks(&self, path: &[u8], is_directory: bool) -> bool {
        if is_directory { self.tracked.has_below(path) } else { self.tracked.has(path) }
    }

    /// Removes the files of units from the entries of a directory, and returns the other entries.
    // rule: unit/captured
    fn take_units(
        &self,
        directory: &[u8],
        entries: Vec<ListedEntry>,
        ignores: &Option<Arc<IgnoreChain>>,
        walked: &mut Walked,
    ) -> Result<Vec<ListedEntry>> {
        let mut rest = entries;
        for unit in self.units(directory, &rest) {
            let is_of_unit = |(name, stat): &ListedEntry| {
                let is_folder = stat.as_ref().is_ok_and(|stat| stat.kind == Kind::Directory);
                !is_folder && unit.role(name.as_bytes()).is_some()
            };
            let (unit_files, other_entries) = rest.into_iter().partition(is_of_unit);
            rest = other_entries;
            if self.lists_excluded {
                let levels = levels(ignores);
                walked.excluded.extend(unit_files.iter().filter_map(|(name, _)| {
                    self.listed(&levels, join(directory, name.as_bytes()), EntryKind::Member)
                }));
            }
            let found = FoundUnit { unit, ignores: ignores.clone() };
            let mut members = self.members_among(&found, unit_files)?;
            let cause = members.cause.take();
            match &cause {
                Some(cause) => {
                    let left_out = members.left_out(&found.unit, cause, self.bounds.started);
                    walked.left_out.extend(left_out);
                }
                None => walked.members += members.files.len(),
            }
            walked.units.push((found, cause));
        }
        Ok(rest)
    }

    /// Adds the ignore file of this name in `directory` to the chain. As in git, an ignore file that cannot be read
    /// or is not a regular file excludes nothing.
    fn add_ignore_file(
        &self,
        directory: &[u8],
        name: &'static str,
        above: Option<Arc<IgnoreChain>>,
    ) -> Result<Option<Arc<IgnoreChain>>> {
        let full = on_disk(self.root, &join(directory, name.as_bytes()));
        match self.disk.read(&full, IGNORE_BYTES_MAX) {
            Ok((text, _)) => {
                let file = IgnoreFile::of(name, &text);
                Ok(Some(Arc::new(IgnoreChain { directory: directory.to_vec(), file, above })))
            }
            Err(error) if is_unreadable(&error) || error.kind() == ErrorKind::NotFound => Ok(above),
            Err(error) => Err(error).context("reading", &full),
        }
    }
}

impl WalkProgress {
    /// Adds what a folder holds, and returns the folders in it.
    fn add(&mut self, scan: &Scan<'_>, folder: FolderFound) -> Result<Vec<Pending>> {
        let FolderFound { directory, walked, pending } = folder;
        self.count += walked.candidates.len();
        self.candidates.push((directory, walked.candidates));
        self.walked.leftovers.extend(walked.leftovers);
        self.walked.units.extend(walked.units);
        self.walked.members += walked.members;
        self.walked.left_out.extend(walked.left_out);
        self.walked.excluded.extend(walked.excluded);
        self.walked.folders.extend(walked.folders);
        self.check_count(scan)?;
        Ok(pending)
    }

    /// Checks the limit on files. Only files that would be captured count, and unreadable files would
    /// not be captured.
    // rule: scope/too-many-files
    // rule: scope/counts-captured
    fn check_count(&mut self, scan: &Scan<'_>) -> Result<()> {
        let limit = scan.bounds.max_files;
        if self.count + self.walked.members <= limit {
            return Ok(());
        }
        let is_readable = |candidate: &&Candidate| {
            let path = on_disk(scan.root, &candidate.path);
            candidate.stat.kind == Kind::Link || scan.disk.read(&path, 0).is_ok()
        };
        // Members of units were opened when they were found.
        let needed = (limit + 1).saturating_sub(self.readable + self.walked.members);
        let unchecked = self.candidates[self.checked..].iter().flat_map(|(_, files)| files);
        self.readable += unchecked.filter(is_readable).take(needed).count();
        self.checked = self.candidates.len();
        if self.readable + self.walked.members > limit {
            return Err(Error::TooManyFiles { dir: scan.root.to_owned(), limit });
        }
        Ok(())
    }
}
