//! What the file system says of the files that hold an object, by which they are known again as long as
//! nothing touches them.
//!
//! A mark is taken before an object is read there and found whole. Where the same mark is found again,
//! the object is still whole; any other says nothing, and the object is read.

use crate::disk::Stat;
use sha1::{Digest, Sha1};

/// The moment of the file system's clock when a file was touched, in seconds and nanoseconds.
pub type Moment = (i64, i64);

/// The mark of some files, and when the last of them was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    digest: [u8; Mark::BYTES],
    changed: Moment,
}

/// What is remembered of where an object was whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// The digest of the mark that its files had; none where nothing is remembered.
    pub digest: Option<[u8; Mark::BYTES]>,
    /// When that was written down.
    pub moment: Option<Moment>,
}

impl Mark {
    /// Bytes of the digest of one.
    pub const BYTES: usize = 20;

    /// The mark of the files that are called `name` together.
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

    /// What is remembered of it.
    pub fn digest(&self) -> [u8; Mark::BYTES] {
        self.digest
    }

    /// Whether nothing touched the files since. Two touches in one tick of the clock look the same, so
    /// that the last one must be older than what was written down.
    // rule: capture/stored
    pub fn is_still(&self, seen: &Seen) -> bool {
        seen.digest == Some(self.digest) && seen.moment.is_some_and(|moment| self.changed < moment)
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
    fn a_mark_is_that_of_the_same_files_which_nothing_touched() {
        let (one, other) = (stat(9, 100, (100, 5)), stat(8, 90, (100, 6)));
        let mark = Mark::of(b"a", &[one, other]);
        let seen = |moment| Seen { digest: Some(mark.digest()), moment };
        let later = seen(Some((100, 7)));
        assert!(mark.is_still(&later));
        assert!(!mark.is_still(&seen(Some((100, 6)))), "the last touch may have been another");
        assert!(!mark.is_still(&seen(None)));
        assert!(!mark.is_still(&Seen { digest: None, ..later }));
        let touched = [
            (&b"b"[..], one, other),
            (b"a", other, one),
            (b"a", stat(7, 100, (100, 5)), other),
            (b"a", stat(9, 101, (100, 5)), other),
            (b"a", stat(9, 100, (99, 5)), other),
            (b"a", stat(9, 100, (100, 4)), other),
            (b"a", one, stat(8, 90, (100, 5))),
        ];
        for (name, one, other) in touched {
            assert!(!Mark::of(name, &[one, other]).is_still(&later), "{one:?} {other:?}");
        }
    }
}
