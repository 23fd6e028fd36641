//! The numbers of added and removed lines that a correct line diff may report.
//!
//! Diff algorithms differ, and their heuristics may miss the shortest script. Added minus removed lines is
//! the same for all algorithms, so this difference is checked exactly; the added lines are only checked
//! against a lower and an upper bound.

use crate::tree::{Entry, EntryDifference};
use serde::Serialize;

/// The correct counts of added and removed lines for a set of differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LineBounds {
    /// Files that differ.
    pub files: usize,
    /// Added minus removed lines.
    pub balance: i64,
    /// The fewest added lines of any correct diff.
    pub added_min: usize,
    /// The most added lines of any correct diff.
    pub added_max: usize,
    /// The most files that may have moved: each may count as one differing file, or as two.
    pub moved_max: usize,
}

impl LineBounds {
    /// The bounds for all of `differences` together.
    pub fn of<'a>(differences: impl Iterator<Item = &'a EntryDifference<'a>>) -> Self {
        let mut total = LineBounds::default();
        let mut added_files = 0;
        let mut deleted_files = 0;
        for difference in differences {
            added_files += usize::from(matches!(difference, EntryDifference::Added(_)));
            deleted_files += usize::from(matches!(difference, EntryDifference::Deleted(_)));
            let bounds = LineBounds::of_difference(difference);
            total.files += bounds.files;
            total.balance += bounds.balance;
            total.added_min += bounds.added_min;
            total.added_max += bounds.added_max;
        }
        total.moved_max = added_files.min(deleted_files);
        total
    }

    fn of_difference(difference: &EntryDifference<'_>) -> Self {
        let (old, new): (&[u8], &[u8]) = match difference {
            EntryDifference::Added(new) => (&[], new.bytes()),
            EntryDifference::Deleted(old) => (old.bytes(), &[]),
            EntryDifference::Modified(old, new) => (old.bytes(), new.bytes()),
        };
        // A change of the executable bit alone has no lines.
        let same_kind = |old: &Entry, new: &Entry| {
            std::mem::discriminant(old) == std::mem::discriminant(new) && old.bytes() == new.bytes()
        };
        let only_mode =
            matches!(difference, EntryDifference::Modified(old, new) if same_kind(old, new));
        if only_mode || is_binary(old) || is_binary(new) {
            return LineBounds { files: 1, ..LineBounds::default() };
        }
        let old = split(old);
        let new = split(new);
        let balance = new.len() as i64 - old.len() as i64;
        LineBounds {
            files: 1,
            balance,
            added_min: new.len() - common(&old, &new),
            added_max: new.len(),
            moved_max: 0,
        }
    }

    /// Whether these counts of files and lines are correct.
    pub fn allow_for(&self, files: usize, added: usize, removed: usize) -> bool {
        // The lines that a moved file keeps are neither added nor removed, whether it counts as one file
        // or two.
        let moved = self.moved_max > 0 && added <= self.added_max;
        if files == self.files {
            let balance = added as i128 - removed as i128;
            return self.allow(added, removed) || moved && balance == i128::from(self.balance);
        }
        let removed_max = self.added_max as i128 - i128::from(self.balance);
        moved
            && files < self.files
            && files + self.moved_max >= self.files
            && removed as i128 <= removed_max
    }

    /// Whether these counts of lines are within the bounds.
    fn allow(&self, added: usize, removed: usize) -> bool {
        added as i128 - removed as i128 == i128::from(self.balance)
            && (self.added_min..=self.added_max).contains(&added)
    }
}

/// Git treats a file as binary when a NUL is among its first 8000 bytes.
fn is_binary(content: &[u8]) -> bool {
    content.iter().take(8000).any(|byte| *byte == 0)
}

fn split(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Above this many comparisons the table takes too long; the bound is then looser.
const COMPARISONS_MAX: usize = 1_000_000;

/// The length of the longest common subsequence, or an upper bound of it for long files.
fn common(old: &[&[u8]], new: &[&[u8]]) -> usize {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let old = &old[head..];
    let new = &new[head..];
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    let old = &old[..old.len() - tail];
    let new = &new[..new.len() - tail];
    if old.len() * new.len() > COMPARISONS_MAX {
        return head + tail + old.len().min(new.len());
    }
    let mut row = vec![0usize; new.len() + 1];
    for old_line in old {
        let mut diagonal = 0;
        for (column, new_line) in new.iter().enumerate() {
            let above = row[column + 1];
            row[column + 1] =
                if old_line == new_line { diagonal + 1 } else { above.max(row[column]) };
            diagonal = above;
        }
    }
    head + tail + row[new.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteString;
    use pretty_assertions::assert_eq;

    fn file(content: &str) -> Entry {
        Entry::File { content: ByteString::from(content.as_bytes()), executable: false }
    }

    #[test]
    fn allow_counts_a_changed_line_as_one_added_and_one_removed() {
        let old = file("a\nb\nc\n");
        let new = file("a\nx\nc\n");
        let bounds = LineBounds::of([EntryDifference::Modified(&old, &new)].iter());
        assert!(bounds.allow(1, 1));
        assert!(bounds.allow(3, 3), "a clumsy diff is still correct");
        assert!(!bounds.allow(0, 0));
        assert!(!bounds.allow(2, 1));
        assert!(!bounds.allow(4, 4));
    }

    #[test]
    fn line_bounds_of_a_binary_file_or_a_mode_change_are_zero() {
        let old = file("a\n");
        let new = file("a\0\nb\n");
        let bounds = LineBounds::of([EntryDifference::Modified(&old, &new)].iter());
        assert!(bounds.allow(0, 0));
        assert_eq!(bounds.files, 1);
        let executable = Entry::File { content: ByteString::from(&b"a\n"[..]), executable: true };
        let bounds = LineBounds::of([EntryDifference::Modified(&old, &executable)].iter());
        assert!(bounds.allow(0, 0));
        assert!(!bounds.allow(1, 1));
    }

    fn bounds(old: &[u8], new: &[u8]) -> LineBounds {
        let entry = |bytes| Entry::File { content: ByteString::from(bytes), executable: false };
        LineBounds::of([EntryDifference::Modified(&entry(old), &entry(new))].iter())
    }

    #[test]
    fn line_bounds_of_several_files_are_their_sums() {
        let one_line = file("a\n");
        let two_lines = file("a\nb\n");
        let three_lines = file("a\nb\nc\n");
        let differences = [
            EntryDifference::Added(&three_lines),
            EntryDifference::Deleted(&one_line),
            EntryDifference::Modified(&one_line, &two_lines),
        ];
        let expected =
            LineBounds { files: 3, balance: 3, added_min: 4, added_max: 5, moved_max: 1 };
        assert_eq!(LineBounds::of(differences.iter()), expected);
    }

    #[test]
    fn allow_for_counts_a_moved_file_as_one_or_two() {
        let old = file("a\nb\n");
        let new = file("a\nc\nd\n");
        let unrelated = file("x\n");
        let moved = [EntryDifference::Added(&new), EntryDifference::Deleted(&old)];
        let bounds = LineBounds::of(moved.iter());
        assert!(bounds.allow_for(2, 3, 2));
        assert!(bounds.allow_for(2, 2, 1), "lines may be counted as of one file all the same");
        assert!(
            bounds.allow_for(1, 2, 1) && bounds.allow_for(1, 0, 0) && bounds.allow_for(1, 3, 2)
        );
        for (files, added, removed) in [(0, 0, 0), (3, 3, 2), (1, 4, 2), (1, 3, 3)] {
            assert!(!bounds.allow_for(files, added, removed));
        }
        let stayed = [EntryDifference::Added(&new), EntryDifference::Modified(&old, &unrelated)];
        let bounds = LineBounds::of(stayed.iter());
        assert!(bounds.allow_for(2, 4, 2) && !bounds.allow_for(1, 4, 2));
    }

    #[test]
    fn line_bounds_count_a_file_that_becomes_a_link_with_the_same_bytes() {
        let link = Entry::Link { target: ByteString::from(&b"a\n"[..]) };
        let found = LineBounds::of([EntryDifference::Modified(&file("a\n"), &link)].iter());
        let expected = LineBounds { files: 1, added_max: 1, ..LineBounds::default() };
        assert_eq!(found, expected);
    }

    #[test]
    fn added_min_counts_the_lines_outside_the_longest_common_subsequence() {
        for (old, new, least) in [
            ("", "", 0),
            ("a\nb\nc\nd\n", "a\nb\nc\nd\n", 0),
            ("a\nb\nc\nd\n", "b\nc\nd\ne\n", 1),
            ("a\nb\nc\nd\n", "d\nc\nb\na\n", 3),
            ("h\nb\nx\na\nb\nt\n", "h\nx\nb\na\nc\nt\n", 2),
            ("a\na\n", "a\na\na\n", 1),
            ("a\nb", "a\nb\n", 1),
        ] {
            assert_eq!(bounds(old.as_bytes(), new.as_bytes()).added_min, least, "{old:?} {new:?}");
        }
    }

    #[test]
    fn is_binary_looks_for_a_nul_in_the_first_8000_bytes_only() {
        let with_nul_at = |offset: usize| [&vec![b'x'; offset][..], b"\0\n"].concat();
        assert_eq!(bounds(b"", &with_nul_at(7999)).added_max, 0);
        assert_eq!(bounds(b"", &with_nul_at(8000)).added_max, 1);
        assert_eq!(bounds(&with_nul_at(0), b"a\n").added_max, 0);
    }

    #[test]
    fn added_min_of_long_files_is_a_looser_lower_bound() {
        let lines = |from: usize, to: usize| {
            (from..to).map(|line| format!("{line}\n")).collect::<String>().into_bytes()
        };
        // Only the first and the last line are common, in as many lines as the table takes.
        let framed = |middle: Vec<u8>| [b"first\n", &middle[..], b"last\n"].concat();
        let old = framed(lines(0, 1000));
        let new = framed(lines(5000, 6000));
        assert_eq!(bounds(&old, &new).added_min, 1000);
        let new = framed(lines(5000, 6001));
        assert_eq!(bounds(&old, &new).added_min, 1);
    }
}
