//! Finds the paths of a project that belong in a checkpoint by one walk over its directories.
//!
//! The walk reads directories, stat data and ignore files; [`crate::capture`] reads the files
//! themselves.

use super::together::{FoundUnit, Scan};
use crate::capture::leftover::LeftoverName;
use crate::disk::{Disk, Kind, ListedEntry, Stat, is_unreadable};
use crate::error::{Context, Error, Result};
use crate::ignore::{Excludes, IGNORE_BYTES_MAX, IgnoreFile};
use crate::own_folders::OwnFolders;
use crate::path::{join, on_disk};
use crate::store::left_out::{LeftOut, Reason};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

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
    /// The folders below the root that may hold captured paths.
    pub folders: BTreeMap<Vec<u8>, Stat>,
}

/// The ignore files from the project's root down to one directory, innermost first.
pub struct IgnoreChain {
    directory: Vec<u8>,
    file: IgnoreFile,
    above: Option<Rc<IgnoreChain>>,
}

/// The ignore files of a chain, each with its directory, the root first.
pub fn levels(chain: &Option<Rc<IgnoreChain>>) -> Vec<(&[u8], &IgnoreFile)> {
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

struct Walk<'a> {
    disk: &'a dyn Disk,
    root: &'a Path,
    bounds: &'a Bounds<'a>,
    excludes: &'a Excludes,
    walked: Walked,
    pending: Vec<(Vec<u8>, Option<Rc<IgnoreChain>>)>,
    /// How many candidates were checked for being readable, and how many of these are.
    checked: usize,
    readable: usize,
}

/// Walks the project at `root`.
///
/// # Errors
/// The root cannot be read, or the disk fails; [`Error::TooManyFiles`]. Paths without permission to read
/// are left out.
pub fn walk(scan: &Scan<'_>) -> Result<Walked> {
    let Scan { disk, root, bounds, excludes } = *scan;
    let mut walk = Walk {
        disk,
        root,
        bounds,
        excludes,
        walked: Walked::default(),
        pending: Vec::new(),
        checked: 0,
        readable: 0,
    };
    let entries = disk.entries(root).context("reading the directory", root)?;
    walk.enter(Vec::new(), None, entries)?;
    while let Some((directory, above)) = walk.pending.pop() {
        let full = on_disk(root, &directory);
        match disk.entries(&full) {
            Ok(entries) => walk.enter(directory, above, entries)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            // rule: capture/unreadable
            Err(error) if is_unreadable(&error) => {
                let reason = Reason::Unreadable(error.to_string());
                walk.walked.left_out.push(LeftOut::new(&directory, reason));
            }
            Err(error) => return Err(error).context("reading the directory", &full),
        }
    }
    for candidates in [&mut walk.walked.candidates, &mut walk.walked.leftovers] {
        candidates.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    }
    Ok(walk.walked)
}

impl Walk<'_> {
    fn enter(
        &mut self,
        directory: Vec<u8>,
        above: Option<Rc<IgnoreChain>>,
        entries: Vec<ListedEntry>,
    ) -> Result<()> {
        let has_ignore_file = entries.iter().any(|(name, _)| name == ".gitignore");
        let ignores =
            if has_ignore_file { self.add_ignore_file(&directory, above)? } else { above };
        let entries = self.take_units(&directory, entries, &ignores)?;
        let levels = levels(&ignores);
        for (name, stat) in entries {
            let path = join(&directory, name.as_bytes());
            let full: PathBuf = on_disk(self.root, &path);
            // rule: scope/base-not-captured
            if self.bounds.own_folders.has(&full, stat.as_ref().ok()) {
                continue;
            }
            let stat = match stat {
                Ok(stat) => stat,
                // Removed since the directory was read.
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                // rule: capture/unreadable: decides
                Err(error) if is_unreadable(&error) => {
                    let reason = Reason::Unreadable(error.to_string());
                    self.walked.left_out.push(LeftOut::new(&path, reason));
                    continue;
                }
                Err(error) => return Err(error).context("looking at", &full),
            };
            if matches!(stat.kind, Kind::File | Kind::Link)
                && LeftoverName::read(name.as_bytes()).is_some()
            {
                self.walked.leftovers.push(Candidate { path, stat });
                continue;
            }
            // rule: capture/independent
            if self.excludes.excludes(&levels, &path, stat.kind == Kind::Directory) {
                continue;
            }
            let size_limit = self.bounds.max_file_bytes;
            match stat.kind {
                Kind::Directory => {
                    self.walked.folders.insert(path.clone(), stat);
                    self.pending.push((path, ignores.clone()));
                }
                // rule: capture/special
                Kind::Special => {
                    self.walked.left_out.push(LeftOut::new(&path, Reason::Special));
                }
                // rule: capture/size-cap: decides
                Kind::File if size_limit > 0 && stat.size > size_limit => {
                    let left_out = LeftOut::new(&path, Reason::TooLarge(size_limit));
                    self.walked.left_out.push(left_out.with_stamp(&stat, self.bounds.started));
                }
                Kind::File | Kind::Link => self.walked.candidates.push(Candidate { path, stat }),
            }
        }
        self.check_count()
    }

    /// Removes the files of units from the entries of a directory, and returns the other entries.
    // rule: unit/captured
    fn take_units(
        &mut self,
        directory: &[u8],
        entries: Vec<ListedEntry>,
        ignores: &Option<Rc<IgnoreChain>>,
    ) -> Result<Vec<ListedEntry>> {
        let Walk { disk, root, bounds, excludes, .. } = *self;
        let scan = Scan { disk, root, bounds, excludes };
        let mut rest = entries;
        for unit in scan.units(directory, &rest) {
            let is_of_unit = |(name, stat): &ListedEntry| {
                let is_folder = stat.as_ref().is_ok_and(|stat| stat.kind == Kind::Directory);
                !is_folder && unit.role(name.as_bytes()).is_some()
            };
            let (unit_files, other_entries) = rest.into_iter().partition(is_of_unit);
            rest = other_entries;
            let found = FoundUnit { unit, ignores: ignores.clone() };
            let mut members = scan.members_among(&found, unit_files)?;
            let cause = members.cause.take();
            match &cause {
                Some(cause) => {
                    let left_out = members.left_out(&found.unit, cause, bounds.started);
                    self.walked.left_out.extend(left_out);
                }
                None => self.walked.members += members.files.len(),
            }
            self.walked.units.push((found, cause));
        }
        Ok(rest)
    }

    /// Checks the limit on files. Only files that would be captured count, and unreadable files would
    /// not be captured.
    // rule: scope/too-many-files
    // rule: scope/counts-captured
    fn check_count(&mut self) -> Result<()> {
        let candidates = &self.walked.candidates;
        let limit = self.bounds.max_files;
        if candidates.len() + self.walked.members <= limit {
            return Ok(());
        }
        let is_readable = |candidate: &&Candidate| {
            let path = on_disk(self.root, &candidate.path);
            candidate.stat.kind == Kind::Link || self.disk.read(&path, 0).is_ok()
        };
        // Members of units were opened when they were found.
        let needed = (limit + 1).saturating_sub(self.readable + self.walked.members);
        let unchecked = candidates[self.checked..].iter();
        self.readable += unchecked.filter(is_readable).take(needed).count();
        self.checked = candidates.len();
        if self.readable + self.walked.members > limit {
            return Err(Error::TooManyFiles { dir: self.root.to_owned(), limit });
        }
        Ok(())
    }

    /// Adds the ignore file of `directory` to the chain. As in git, an ignore file that cannot be read
    /// or is not a regular file excludes nothing.
    fn add_ignore_file(
        &self,
        directory: &[u8],
        above: Option<Rc<IgnoreChain>>,
    ) -> Result<Option<Rc<IgnoreChain>>> {
        let full = on_disk(self.root, &join(directory, b".gitignore"));
        match self.disk.read(&full, IGNORE_BYTES_MAX) {
            Ok((text, _)) => {
                let file = IgnoreFile::parse(&text);
                Ok(Some(Rc::new(IgnoreChain { directory: directory.to_vec(), file, above })))
            }
            Err(error) if is_unreadable(&error) || error.kind() == ErrorKind::NotFound => Ok(above),
            Err(error) => Err(error).context("reading", &full),
        }
    }
}
