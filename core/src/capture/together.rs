//! The files of a unit, which are captured all together, as of one moment, or not at all.

use super::walk::{Bounds, Candidate, Chain, levels};
use crate::disk::{Disk, Entry, Kind, Stat, is_unreadable};
use crate::error::{Context, Result};
use crate::ignore::Excludes;
use crate::path::{join, on_disk};
use crate::store::left_out::{LeftOut, Reason};
use crate::unit::{Role, Unit, whose};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::rc::Rc;

/// A unit that a walk found.
pub struct Found {
    /// The unit.
    pub unit: Unit,
    /// The ignore files that hold for it.
    pub ignores: Option<Rc<Chain>>,
}

/// The members of a unit that are there.
#[derive(Debug, Default)]
pub struct Members {
    /// Those that can be captured, in the order of their paths.
    pub files: Vec<Candidate>,
    /// The others, where no ignore rule names them.
    left_out: Vec<LeftOut>,
    /// Why none is captured, as the end of a sentence about the unit.
    pub cause: Option<String>,
}

impl Members {
    /// What is left out of a unit, for that cause.
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
        let matter = match &member.reason {
            Reason::Unreadable(why) => format!("cannot be read: {why}"),
            reason => format!("is {reason}"),
        };
        let cause = whose(&member.path, &matter);
        self.files.retain(|file| file.path != member.path);
        self.left_out.push(member);
        self.cause.get_or_insert_with(|| cause.clone());
        cause
    }
}

/// What decides which members of a unit are captured.
pub struct Looking<'a> {
    /// The disk the project is on.
    pub disk: &'a dyn Disk,
    /// The project's canonical directory.
    pub root: &'a Path,
    /// The bounds of a checkpoint.
    pub bounds: &'a Bounds<'a>,
    /// The patterns that hold in every project.
    pub excludes: &'a Excludes,
}

impl Looking<'_> {
    /// The units of a folder with these entries.
    pub fn units(&self, folder: &[u8], entries: &[Entry]) -> Vec<Unit> {
        let names = entries.iter().map(|(name, _)| name.as_bytes());
        let suggesting: Vec<&[u8]> = names.filter(|name| crate::unit::suggests(name)).collect();
        if suggesting.is_empty() {
            return Vec::new();
        }
        let mut head = |name: &[u8]| {
            let path = on_disk(self.root, &join(folder, name));
            self.disk.read(&path, crate::unit::HEAD_BYTES).ok().map(|(head, _)| head)
        };
        Unit::of_folder(folder, suggesting, &mut head).into_iter().collect()
    }

    /// The members of a unit that are there now.
    ///
    /// # Errors
    /// The disk fails.
    pub fn look(&self, found: &Found) -> Result<Members> {
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
        self.among(found, entries)
    }

    /// The members of a unit among these entries of its folder.
    ///
    /// # Errors
    /// The disk fails.
    // rule: unit/captured
    pub fn among(&self, found: &Found, entries: Vec<Entry>) -> Result<Members> {
        let mut members = Members::default();
        for (name, stat) in entries {
            let role = found.unit.role(name.as_bytes());
            if !matches!(role, Some(Role::Anchor | Role::Member)) {
                continue;
            }
            let path = join(&found.unit.folder, name.as_bytes());
            let full = on_disk(self.root, &path);
            let stat = match stat {
                // A folder of that name holds files of its own.
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
            let cap = self.bounds.max_file_bytes;
            if self.bounds.own.has(&full, Some(&stat))
                || self.excludes.excludes_member(&levels(&found.ignores), &path)
            {
                members.cause.get_or_insert_with(|| whose(&path, "is ignored"));
            } else if stat.kind == Kind::Special {
                // rule: capture/special
                members.block(LeftOut::new(&path, Reason::Special));
            } else if stat.kind == Kind::File && cap > 0 && stat.size > cap {
                // rule: capture/size-cap
                let left_out = LeftOut::new(&path, Reason::TooLarge(cap));
                members.block(left_out.with_stamp(&stat, self.bounds.started));
            } else {
                // Opened here, so that the members of a unit that is left out count towards no limit.
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
