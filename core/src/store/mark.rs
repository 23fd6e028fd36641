//! A mark identifies the state of the files that hold an object by their stat data, so that an object
//! need not be read again while nothing touches its files.
//!
//! A mark is taken before an object is verified. While the files have the same mark, the object is
//! intact; if they have another mark, the object has to be read.

use crate::disk::Stat;
use sha1::{Digest, Sha1};

/// A time of the file system's clock, in seconds and nanoseconds.
pub type Moment = (i64, i64);

/// The part of a mark that is recorded.
pub type MarkDigest = [u8; Mark::BYTES];

/// The mark of one or more files, and the time of the last change of any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    digest: MarkDigest,
    changed: Moment,
}

/// The recorded mark of the files in which an object was intact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordedMark {
    /// The digest of the mark; `None` if nothing is recorded.
    pub digest: Option<MarkDigest>,
    /// When it was recorded.
    pub moment: Option<Moment>,
}

impl Mark {
    /// The length of a digest in bytes.
    pub const BYTES: usize = 20;

    /// The mark of the files with these stats, which share the name `name`.
    pub fn of(name: &[u8], stats: &[Stat]) -> Self {
        let mut hash = Sha1::new();
        hash.update(name);
        let mut last = (i64::MIN, 0);
        for Stat { size, modified, changed, .. } in stats {
            hash.update(size.to_be_bytes());
            for part in [modified.0, modified.1, changed.0, changed.1] {
                hash.update(part.to_be_bytes());
            }
            last = last.max(*changed);
        }
        Mark { digest: hash.finalize().into(), changed: last }
    }

    /// The part of the mark that is recorded.
    pub fn digest(&self) -> MarkDigest {
        self.digest
    }

    /// Whether nothing touched the files since the mark was recorded. Two changes in one tick of the
    /// clock look the same, so that the last change must be older than the record.
    // rule: capture/stored
    pub fn is_unchanged_since(&self, recorded: &RecordedMark) -> bool {
        recorded.digest == Some(self.digest)
            && recorded.moment.is_some_and(|moment| self.changed < moment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Kind;

    fn stat(size: u64, modified: i64, changed: Moment) -> Stat {
        Stat {
            kind: Kind::File,
            mode: 0o400,
            size,
            modified: (modified, 5),
            changed,
            device: 1,
            inode: 2,
            user: 3,
            group: 4,
        }
    }

    #[test]
    fn is_unchanged_since_holds_only_for_the_same_files_which_nothing_touched() {
        let pack = stat(9, 100, (100, 5));
        let index = stat(8, 90, (100, 6));
        let mark = Mark::of(b"a", &[pack, index]);
        let recorded = |moment| RecordedMark { digest: Some(mark.digest()), moment };
        let later = recorded(Some((100, 7)));
        assert!(mark.is_unchanged_since(&later));
        let same_tick = recorded(Some((100, 6)));
        assert!(!mark.is_unchanged_since(&same_tick), "the last touch may have been another");
        assert!(!mark.is_unchanged_since(&recorded(None)));
        assert!(!mark.is_unchanged_since(&RecordedMark { digest: None, ..later }));
        let touched = [
            (&b"b"[..], pack, index),
            (b"a", index, pack),
            (b"a", stat(7, 100, (100, 5)), index),
            (b"a", stat(9, 101, (100, 5)), index),
            (b"a", stat(9, 100, (99, 5)), index),
            (b"a", stat(9, 100, (100, 4)), index),
            (b"a", pack, stat(8, 90, (100, 5))),
        ];
        for (name, pack, index) in touched {
            let changed_mark = Mark::of(name, &[pack, index]);
            assert!(!changed_mark.is_unchanged_since(&later), "{pack:?} {index:?}");
        }
    }
}
