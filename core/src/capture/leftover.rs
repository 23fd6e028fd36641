//! Temporary files that a restore created alongside the paths that it wrote, and did not remove. They
//! are identified by name alone, so that no checkpoint captures them, even if the record of the restore
//! is lost.
//!
//! Some of them are drafts: content of a checkpoint that was not yet moved to its path. A draft may
//! always be removed. The others are files of the user that were exchanged with a draft; such a file
//! may be removed only if its content is stored.

use crate::capture::walk::Candidate;
use crate::disk::{Disk, Kind as FileKind, Stat};
use crate::error::Result;
use crate::path::name_of;
use crate::project::TEMPORARY;
use crate::store::object::{Kind, blob_of, id_of};
use crate::store::objects::Objects;
use std::path::Path;

/// No restore has a draft for longer than this many seconds. An older draft is from an interrupted
/// restore, in whichever store that is recorded.
const DRAFT_SECONDS_MAX: i64 = 60 * 60;

/// The name of a file that a restore put alongside a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftoverName<'a> {
    /// The hash of the project that was restored.
    pub hash: &'a str,
    /// Whether a file of that name is always a draft, or a part of one.
    pub is_draft: bool,
}

impl<'a> LeftoverName<'a> {
    /// Parses a name; `None` if no restore gives such a name.
    pub fn read(name: &'a [u8]) -> Option<Self> {
        let rest = std::str::from_utf8(name.strip_prefix(TEMPORARY.as_bytes())?).ok()?;
        let (hash, numbers) = rest.split_once('-')?;
        let is_hex = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_hash = hash.len() == 16 && hash.bytes().all(is_hex);
        let count = numbers.split('-').count();
        let is_valid = is_hash && count <= 2 && numbers.split('-').all(is_number);
        is_valid.then_some(LeftoverName { hash, is_draft: count == 2 })
    }

    /// The leftover name at the end of a path, if it is one.
    pub fn of_path(path: &'a [u8]) -> Option<Self> {
        LeftoverName::read(name_of(path))
    }
}

/// How a leftover is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It may be removed.
    Remove,
    /// It is kept: another restore may need it.
    Leave,
    /// It is reported: no checkpoint holds it.
    Report,
}

/// The leftovers in a project.
pub struct Leftovers<'a> {
    /// The disk it is on.
    pub disk: &'a dyn Disk,
    /// The hash of the project, if a restore of it was interrupted.
    pub interrupted: Option<&'a str>,
    /// The stat of a file made before anything is read.
    pub started: Option<&'a Stat>,
}

impl Leftovers<'_> {
    /// Decides how the leftover at `full` with that name is handled.
    ///
    /// # Errors
    /// A store that cannot be read.
    pub fn fate(
        &self,
        full: &Path,
        candidate: &Candidate,
        name: LeftoverName<'_>,
        objects: &Objects<'_>,
    ) -> Result<Fate> {
        let stat = &candidate.stat;
        if !name.is_draft && !self.is_stored(full, stat, objects)? {
            return Ok(Fate::Report);
        }
        let is_own = self.interrupted == Some(name.hash);
        let is_old = self.started.is_some_and(|started| is_old(stat, started));
        Ok(if is_own || is_old { Fate::Remove } else { Fate::Leave })
    }

    fn is_stored(&self, full: &Path, stat: &Stat, objects: &Objects<'_>) -> Result<bool> {
        let blob = match stat.kind {
            FileKind::Link => {
                self.disk.read_link(full).map(|target| Some(id_of(Kind::Blob, &target)))
            }
            _ => blob_of(self.disk, full).map(|(blob, _)| blob),
        };
        match blob {
            Ok(Some(blob)) => Ok(stat.size == 0 || objects.is_intact(blob)?),
            Ok(None) | Err(_) => Ok(false),
        }
    }
}

fn is_old(stat: &Stat, started: &Stat) -> bool {
    let last = stat.modified.0.max(stat.changed.0);
    started.modified.0.saturating_sub(last) > DRAFT_SECONDS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::temporary_name;

    #[test]
    fn leftover_name_reads_names_that_restores_give_and_no_others() {
        let hash = "0123456789abcdef";
        let name = |end: &str| format!("{}{end}", temporary_name(hash));
        let draft = Some(LeftoverName { hash, is_draft: true });
        assert_eq!(LeftoverName::read(name("-12-0").as_bytes()), draft);
        assert_eq!(LeftoverName::of_path(format!("a/b/{}", name("-0-3")).as_bytes()), draft);
        assert_eq!(
            LeftoverName::read(name("-7").as_bytes()),
            Some(LeftoverName { hash, is_draft: false })
        );
        for end in ["", "-", "-x", "-1-", "-1-2-3", "-1-x", "x-1", "-1\n"] {
            assert_eq!(LeftoverName::read(name(end).as_bytes()), None, "{end}");
        }
        for unrelated in [".herma-restore-0123-1-1", ".herma-restore-0123456789ABCDEF-1", "x"] {
            assert_eq!(LeftoverName::read(unrelated.as_bytes()), None, "{unrelated}");
        }
    }

    #[test]
    fn is_old_also_considers_the_last_change_of_the_inode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("draft");
        std::fs::write(&path, "").unwrap();
        let stat = crate::disk::SystemDisk.stat(&path).unwrap();
        let later = |seconds| Stat { modified: (stat.modified.0 + seconds, 0), ..stat };
        assert!(!is_old(&stat, &stat) && !is_old(&stat, &later(DRAFT_SECONDS_MAX)));
        assert!(is_old(&stat, &later(DRAFT_SECONDS_MAX + 1)));
        let touched = Stat { changed: (stat.changed.0 + 60, 0), ..stat };
        assert!(!is_old(&touched, &later(DRAFT_SECONDS_MAX + 1)));
    }
}
