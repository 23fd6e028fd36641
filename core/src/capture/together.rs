//! The members of a unit, which are captured together, as of one moment, or not at all.

use super::tracked::Tracked;
use super::walk::{Bounds, Candidate, IgnoreChain, levels};
use crate::disk::{Disk, Kind, ListedEntry, Stat, is_unreadable};
use crate::error::{Context, Result};
use crate::ignore::Excludes;
use crate::path::{join, on_disk};
use crate::store::left_out::{LeftOut, Reason};
use crate::unit::{Role, Unit, whose};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

/// A unit that a walk found.
pub struct FoundUnit {
    /// The unit.
    pub unit: Unit,
    /// The ignore files that apply to it.
    pub ignores: Option<Arc<IgnoreChain>>,
}

/// The members of a unit that exist.
#[derive(Debug, Default)]
pub struct Members {
    /// The members that can be captured, in the order of their paths.
    pub files: Vec<Candidate>,
    /// The other members, except ignored ones.
    left_out: Vec<LeftOut>,
    /// Why the unit is not captured, as the end of a sentence about the unit.
    pub cause: Option<String>,
}

impl Members {
    /// All members of the unit as left out for that cause.
    pub fn left_out(self, unit: &Unit, cause: &str, started: Option<&Stat>) -> Vec<LeftOut> {
        let mut left_out = self.left_out;
        left_out.extend(self.files.iter().map(|file| {
            let reason = Reason::Unit(unit.part(cause));
            LeftOut::new(&file.path, reason).with_stamp(&file.stat, started)
        }));
        left_out
    }

    /// Leaves out a member, and with it the unit; returns the cause.
    pub fn block(&mut self, member: LeftOut) -> String {
        let obstacle = match &member.reason {
            Reason::Unreadable(why) => format!("cannot be read: {why}"),
            reason => format!("is {reason}"),
        };
        let cause = whose(&member.path, &obstacle);
        self.files.retain(|file| file.path != member.path);
        self.left_out.push(member);
        self.cause.get_or_insert_with(|| cause.clone());
        cause
    }
}

/// What a search for units and their members depends on.
pub struct Scan<'a> {
    /// The disk the project is on.
    pub disk: &'a dyn Disk,
    /// The project's canonical directory.
    pub root: &'a Path,
    /// The limits of a checkpoint.
    pub bounds: &'a Bounds<'a>,
    /// The ignore patterns of every project.
    pub excludes: &'a Excludes,
    /// What the project's own repository tracks.
    pub tracked: Tracked,
    /// Whether excluded entries are listed.
    pub lists_excluded: bool,
}

impl Scan<'_> {
    /// The units of a folder with these entries.
    pub fn units(&self, folder: &[u8], entries: &[ListedEntry]) -> Vec<Unit> {
        let names = entries.iter().map(|(name, _)| name.as_bytes());
        let suggestive: Vec<&[u8]> = names.filter(|name| crate::unit::suggests(name)).collect();
        if suggestive.is_empty() {
            return Vec::new();
        }
        let mut read_head = |name: &[u8]| {
            let path = on_disk(self.root, &join(folder, name));
            self.disk.read(&path, crate::unit::HEAD_BYTES).ok().map(|(head, _)| head)
        };
        Unit::of_folder(folder, suggestive, &mut read_head).into_iter().collect()
    }

    /// The members of a unit that exist now.
    ///
    /// # Errors
    /// The disk fails.
    pub fn members(&self, found: &FoundUnit) -> Result<Members> {
        let folder = on_disk(self.root, &found.unit.folder);
        let entries = match found.unit.names() {
            Some(names) => {
                let names = names.into_iter().map(OsString::from_vec);
                names
                    .map(|name| {
                        let stat = self.disk.stat(&folder.join(&name));
                        (name, stat)
                    })
                    .collect()
            }
            None => match self.disk.entries(&folder) {
                Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
                entries => entries.context("reading the directory", &folder)?,
            },
        };
        self.members_among(found, entries)
    }

    /// The members of a unit among these entries of its folder.
    ///
    /// # Errors
    /// The disk fails.
    // rule: unit/captured
    pub fn members_among(&self, found: &FoundUnit, entries: Vec<ListedEntry>) -> Result<Members> {
        let mut members = Members::default();
        for (name, stat) in entries {
            let role = found.unit.role(name.as_bytes());
            if !matches!(role, Some(Role::Anchor | Role::Member)) {
                continue;
            }
            let path = join(&found.unit.folder, name.as_bytes());
            let full = on_disk(self.root, &path);
            let stat = match stat {
                // A folder of that name is not a member.
                Ok(stat) if stat.kind == Kind::Directory => continue,
                Ok(stat) => stat,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                // rule: capture/unreadable
                Err(error) if is_unreadable(&error) => {
                    members.block(LeftOut::new(&path, Reason::Unreadable(error.to_string())));
                    continue;
                }
                Err(error) => return Err(error).context("looking at", &full),
            };
            let size_limit = self.bounds.max_file_bytes;
            if self.bounds.own_folders.has(&full, Some(&stat))
                || self.excludes.excludes_by_project(&levels(&found.ignores), &path, false)
            {
                members.cause.get_or_insert_with(|| whose(&path, "is ignored"));
            } else if stat.kind == Kind::Special {
                // rule: capture/special
                members.block(LeftOut::new(&path, Reason::Special));
            } else if stat.kind == Kind::File && size_limit > 0 && stat.size > size_limit {
                // rule: capture/size-cap
                let left_out = LeftOut::new(&path, Reason::TooLarge(size_limit));
                members.block(left_out.with_stamp(&stat, self.bounds.started));
            } else {
                // Opened here, so that the members of a unit that is left out do not count towards the
                // limit on files.
                // rule: scope/counts-captured
                let opened = match stat.kind {
                    Kind::Link => Ok(()),
                    _ => self.disk.read(&full, 0).map(drop),
                };
                match opened {
                    Ok(()) => members.files.push(Candidate { path, stat }),
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    // rule: capture/unreadable
                    Err(error) if is_unreadable(&error) => {
                        let reason = Reason::Unreadable(error.to_string());
                        let left_out = LeftOut::new(&path, reason);
                        members.block(left_out.with_stamp(&stat, self.bounds.started));
                    }
                    Err(error) => return Err(error).context("opening", &full),
                }
            }
        }
        Ok(members)
    }
}
