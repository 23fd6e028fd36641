//! Parses the body of a patch that a file tool is about to apply: the files that it names, and its
//! changes to each. Reads unified diffs, git diffs, and the form that begins with `*** Begin Patch`.
//!
//! This module parses only the text: no file is read, and applying the patch is up to the tool. Text
//! that is not part of a patch is skipped, since an extra path costs nothing and a missing one costs a
//! file.

use std::collections::BTreeSet;

/// What a patch does to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// The file that it changes, copies, moves or removes; `None` for a new file.
    pub from: Option<Vec<u8>>,
    /// The file that exists afterwards; `None` if it is removed.
    pub to: Option<Vec<u8>>,
    /// Its changes, in order.
    pub hunks: Vec<Hunk>,
}

/// Lines that are replaced by others, each with its line ending.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The lines before the change.
    pub old: Vec<Vec<u8>>,
    /// The lines after the change.
    pub new: Vec<Vec<u8>>,
}

/// Every path that a patch names, sorted.
///
/// Source: rule `turn/triggers`.
///
/// ```
/// let body = b"*** Begin Patch\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n-x\n+y\n*** End Patch\n";
/// let paths = herma_core::triggers::patch::paths(body);
/// assert_eq!(paths, [b"src/a.rs".to_vec(), b"src/b.rs".to_vec()]);
/// ```
pub fn paths(body: &[u8]) -> Vec<Vec<u8>> {
    let files = read(body);
    let named = files.into_iter().flat_map(|file| [file.from, file.to]).flatten();
    named.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The changes of a patch to each of its files, in order.
pub fn read(body: &[u8]) -> Vec<FilePatch> {
    let lines: Vec<&[u8]> = body.split_inclusive(|byte| *byte == b'\n').collect();
    let mut reader = Reader { lines: &lines, at: 0, files: Vec::new() };
    while let Some(line) = reader.next() {
        reader.read_line(line);
    }
    reader.files.into_iter().filter(|file| file.from.is_some() || file.to.is_some()).collect()
}

struct Reader<'a> {
    lines: &'a [&'a [u8]],
    at: usize,
    files: Vec<FilePatch>,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.lines.get(self.at)?;
        self.at += 1;
        Some(line)
    }

    fn peek(&self) -> Option<&'a [u8]> {
        self.lines.get(self.at).copied()
    }

    fn file(&mut self) -> &mut FilePatch {
        if self.files.is_empty() {
            self.files.push(FilePatch::default());
        }
        let last = self.files.len() - 1;
        &mut self.files[last]
    }

    /// Reads a line outside of hunks.
    fn read_line(&mut self, line: &'a [u8]) {
        let line = without_line_ending(line);
        let after = |prefix: &str| line.strip_prefix(prefix.as_bytes());
        if let Some(path) = after("*** Add File: ") {
            self.begin(None, Some(path));
            self.marked_hunks();
        } else if let Some(path) = after("*** Delete File: ") {
            self.begin(Some(path), None);
        } else if let Some(path) = after("*** Update File: ") {
            self.begin(Some(path), Some(path));
            self.marked_hunks();
        } else if let Some(names) = after("diff --git ") {
            let path = same_name(names);
            self.files.push(FilePatch { from: path.clone(), to: path, hunks: Vec::new() });
        } else if let Some(path) = after("rename from ").or(after("copy from ")) {
            self.file().from = Some(unquoted(path));
        } else if let Some(path) = after("rename to ").or(after("copy to ")) {
            self.file().to = Some(unquoted(path));
        } else if line.starts_with(b"new file mode ") {
            self.file().from = None;
        } else if line.starts_with(b"deleted file mode ") {
            self.file().to = None;
        } else if let Some(old) = after("--- ") {
            self.names(old);
        } else if line.starts_with(b"@@ -") {
            self.counted_hunk(line);
        }
    }

    fn begin(&mut self, from: Option<&[u8]>, to: Option<&[u8]>) {
        let path = |path: &[u8]| path.trim_ascii().to_vec();
        self.files.push(FilePatch { from: from.map(path), to: to.map(path), hunks: Vec::new() });
    }

    /// Reads the two lines that name the file before and after the change.
    fn names(&mut self, old: &[u8]) {
        let Some(new) =
            self.peek().and_then(|line| without_line_ending(line).strip_prefix(b"+++ "))
        else {
            return;
        };
        self.at += 1;
        let old = without_date(old);
        let new = without_date(new);
        let is_null = |path: &[u8]| path == b"/dev/null";
        let is_of_git =
            (old.starts_with(b"a/") || is_null(&old)) && (new.starts_with(b"b/") || is_null(&new));
        let path = |path: Vec<u8>| match is_of_git {
            _ if is_null(&path) => None,
            true => path.get(2..).map(<[u8]>::to_vec),
            false => Some(path),
        };
        let from = path(old);
        let to = path(new);
        // The header of git named the same file, unless there was none.
        match self.files.last_mut() {
            Some(last)
                if last.hunks.is_empty()
                    && (last.from == from
                        || last.to == to
                        || last.from.is_none() && last.to.is_none()) =>
            {
                last.from = from;
                last.to = to;
            }
            _ => self.files.push(FilePatch { from, to, hunks: Vec::new() }),
        }
    }

    /// Reads a hunk whose header counts its lines, so that no line of it is taken for another header.
    fn counted_hunk(&mut self, header: &[u8]) {
        let Some((mut old, mut new)) = counts(header) else { return };
        let mut hunk = Hunk::default();
        while let Some(line) = self.peek().filter(|_| old > 0 || new > 0) {
            let (mark, text) =
                line.split_first().map_or((b' ', line), |(mark, text)| (*mark, text));
            match mark {
                b'-' => old = old.saturating_sub(1),
                b'+' => new = new.saturating_sub(1),
                b' ' | b'\n' | b'\r' => (old, new) = (old.saturating_sub(1), new.saturating_sub(1)),
                b'\\' => {}
                _ => break,
            }
            self.at += 1;
            hunk.add_line(mark, text, line);
        }
        if let Some(b'\\') = self.peek().and_then(|line| line.first()) {
            self.at += 1;
            hunk.add_line(b'\\', b"", b"");
        }
        self.file().hunks.push(hunk);
    }

    /// Reads hunks up to the next line with stars; lines with `@@` separate them.
    fn marked_hunks(&mut self) {
        let mut hunk = Hunk::default();
        while let Some(line) = self.peek().filter(|line| {
            !line.starts_with(b"*** ")
                || line.starts_with(b"*** Move to: ")
                || line.starts_with(b"*** End of File")
        }) {
            self.at += 1;
            if let Some(path) = without_line_ending(line).strip_prefix(b"*** Move to: ") {
                self.file().to = Some(path.trim_ascii().to_vec());
            } else if line.starts_with(b"@@") {
                self.file().hunks.push(std::mem::take(&mut hunk));
            } else if !line.starts_with(b"***") {
                let (mark, text) =
                    line.split_first().map_or((b' ', line), |(mark, text)| (*mark, text));
                hunk.add_line(mark, text, line);
            }
        }
        self.file().hunks.push(hunk);
        self.file().hunks.retain(|hunk| *hunk != Hunk::default());
    }
}

impl Hunk {
    /// Adds a line; an empty one stands for an empty line that both sides have.
    fn add_line(&mut self, mark: u8, text: &[u8], line: &[u8]) {
        match mark {
            b'-' => self.old.push(text.to_vec()),
            b'+' => self.new.push(text.to_vec()),
            b' ' => {
                self.old.push(text.to_vec());
                self.new.push(text.to_vec());
            }
            b'\n' | b'\r' => {
                self.old.push(line.to_vec());
                self.new.push(line.to_vec());
            }
            // The line before has no line ending.
            b'\\' => {
                for side in [&mut self.old, &mut self.new] {
                    if let Some(last) = side.last_mut() {
                        last.truncate(without_line_ending(last).len());
                    }
                }
            }
            _ => {}
        }
    }
}

fn without_line_ending(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The name of a `---` line without the date that may follow it.
fn without_date(name: &[u8]) -> Vec<u8> {
    unquoted(name.split(|byte| *byte == b'\t').next().unwrap_or_default())
}

/// The name in a git header, whose two names are the same except for their first letters; `None` if
/// they differ, since other lines name them then.
fn same_name(names: &[u8]) -> Option<Vec<u8>> {
    let parts = names.iter().enumerate().filter(|(_, byte)| **byte == b' ');
    let mut halves = parts.map(|(at, _)| (unquoted(&names[..at]), unquoted(&names[at + 1..])));
    let (old, _) = halves.find(|(old, new)| {
        old.strip_prefix(b"a/").is_some_and(|old| Some(old) == new.strip_prefix(b"b/"))
    })?;
    old.get(2..).map(<[u8]>::to_vec)
}

/// How many old and new lines a hunk has.
fn counts(header: &[u8]) -> Option<(usize, usize)> {
    let old_range = std::str::from_utf8(header.split(|byte| *byte == b' ').nth(1)?).ok()?;
    let new_range = std::str::from_utf8(header.split(|byte| *byte == b' ').nth(2)?).ok()?;
    let count = |range: &str| match range.split_once(',') {
        Some((_, count)) => count.parse().ok(),
        None => Some(1),
    };
    Some((count(old_range.strip_prefix('-')?)?, count(new_range.strip_prefix('+')?)?))
}

/// Decodes a name as git quotes it: in quotation marks, with bytes in octal.
fn unquoted(name: &[u8]) -> Vec<u8> {
    let Some(inner) = name.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) else {
        return name.to_vec();
    };
    let mut bytes = Vec::new();
    let mut rest = inner;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            bytes.push(*byte);
            continue;
        }
        let digits = rest.iter().take(3).take_while(|byte| (b'0'..b'8').contains(byte)).count();
        if digits == 3 {
            let value =
                rest[..3].iter().fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            bytes.push(value as u8);
            rest = &rest[3..];
        } else if let Some((escaped, after)) = rest.split_first() {
            rest = after;
            bytes.push(match escaped {
                b'n' => b'\n',
                b't' => b'\t',
                b'r' => b'\r',
                b'a' => 7,
                b'b' => 8,
                b'v' => 11,
                b'f' => 12,
                literal => *literal,
            });
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(body: &str) -> Vec<String> {
        paths(body.as_bytes()).iter().map(|path| path.escape_ascii().to_string()).collect()
    }

    fn file(from: Option<&str>, to: Option<&str>, hunks: &[(&[&str], &[&str])]) -> FilePatch {
        let path = |path: &str| path.as_bytes().to_vec();
        let lines = |texts: &[&str]| texts.iter().map(|line| line.as_bytes().to_vec()).collect();
        let hunks = hunks.iter().map(|(old, new)| Hunk { old: lines(old), new: lines(new) });
        FilePatch { from: from.map(path), to: to.map(path), hunks: hunks.collect() }
    }

    #[test]
    fn paths_names_the_files_of_a_unified_diff_with_or_without_git() {
        assert_eq!(
            named("--- a.txt\t2026-01-01 10:00\n+++ a.txt\t2026-01-02\n@@ -1 +1 @@\n-x\n+y\n"),
            ["a.txt"]
        );
        assert_eq!(named("--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"), ["old.txt"]);
        assert_eq!(named("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n"), ["new.txt"]);
        assert_eq!(named("--- a.orig\n+++ b.txt\n@@ -1 +1 @@\n-x\n+y\n"), ["a.orig", "b.txt"]);
    }

    #[test]
    fn paths_names_every_file_of_a_git_diff_also_those_without_lines() {
        let body = "diff --git a/with blank b/with blank\nold mode 100644\nnew mode 100755\n\
            diff --git a/one.txt b/two.txt\nsimilarity index 100%\nrename from one.txt\nrename to two.txt\n\
            diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\nindex 000..e69\n\
            diff --git a/gone b/gone\ndeleted file mode 100644\nindex e69..000\n\
            diff --git a/x.bin b/x.bin\nGIT binary patch\nliteral 1\nIcmZPo000310RR91\n";
        assert_eq!(
            named(body),
            ["gone", "one.txt", "two.txt", "with blank", "x.bin", "\\xc3\\xa4"]
        );
        let gone = read(body.as_bytes()).into_iter().find(|file| file.to.is_none());
        assert_eq!(gone, Some(file(Some("gone"), None, &[])));
    }

    #[test]
    fn read_takes_lines_of_a_hunk_that_look_like_headers_as_lines() {
        let body = "--- a/q.sql\n+++ b/q.sql\n@@ -1,3 +1,2 @@\n--- a/not a file\n +++ b/neither\n-*** Add File: nor this\n\
            +x\n--- a/second\n+++ b/second\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n";
        assert_eq!(named(body), ["q.sql", "second"]);
        let expected = file(Some("second"), Some("second"), &[(&["a"], &["b\n"])]);
        assert_eq!(read(body.as_bytes())[1], expected);
    }

    #[test]
    fn read_returns_the_files_of_a_patch_between_stars_and_where_they_move() {
        let body = "*** Begin Patch\n*** Add File: new.txt\n+one\n+two\n*** Update File: src/a.rs\n*** Move to: src/b.rs\n\
            @@ fn main\n x\n-old\n+new\n@@\n-z\n*** End of File\n*** Delete File: old.txt\n*** End Patch\n";
        let expected = [
            file(None, Some("new.txt"), &[(&[], &["one\n", "two\n"])]),
            file(
                Some("src/a.rs"),
                Some("src/b.rs"),
                &[(&["x\n", "old\n"], &["x\n", "new\n"]), (&["z\n"], &[])],
            ),
            file(Some("old.txt"), None, &[]),
        ];
        assert_eq!(read(body.as_bytes()), expected);
    }

    #[test]
    fn paths_decodes_names_as_git_quotes_them() {
        let body = "diff --git \"a/q\\\"\\n\\t\\r\\a\\b\\v\\f\\\\x\" \"b/q\\\"\\n\\t\\r\\a\\b\\v\\f\\\\x\"\n\
            deleted file mode 100644\n";
        assert_eq!(named(body), ["q\\\"\\n\\t\\r\\x07\\x08\\x0b\\x0c\\\\x"]);
    }

    #[test]
    fn read_ends_a_hunk_with_its_lines_and_adds_empty_lines_to_both_sides() {
        let body = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c\n\\ No newline at end of file\n\
            @@ -9,2 +9,2 @@\n-d\n?no line of a hunk\n@@ -20 +20 @@\n-e\n+f\n";
        let hunks: [(&[&str], &[&str]); 3] =
            [(&["a\n", "\n", "b"], &["a\n", "\n", "c"]), (&["d\n"], &[]), (&["e\n"], &["f\n"])];
        assert_eq!(read(body.as_bytes()), [file(Some("x"), Some("x"), &hunks)]);
        assert_eq!(
            read(b"--- a/x\n+++ b/x\n@@ no counts @@\n-a\n"),
            [file(Some("x"), Some("x"), &[])]
        );
    }

    #[test]
    fn paths_is_empty_for_text_that_is_not_a_patch() {
        for body in [
            "",
            "hello\n",
            "@@ -1 +1 @@\n-x\n+y\n",
            "--- a\nno plus\n",
            "diff --git nothing\n",
            "+++ b/x\n",
        ] {
            assert_eq!(named(body), [""; 0], "{body:?}");
        }
    }
}
