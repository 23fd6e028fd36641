//! Writes the hunks of a patch to the byte as `git diff` does without any configuration.

use gix_imara_diff::sources::byte_lines;
use gix_imara_diff::{Algorithm, Diff, Hunk, InternedInput};

/// How many lines a hunk shows before and after what changed.
pub const CONTEXT_LINES: usize = 3;
/// Git shows at most this many bytes of the line that names a hunk.
const NAME_BYTES_MAX: usize = 80;

/// The hunks that turn one text into another, as `git diff` shows them.
pub fn text_difference(old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut hunks = Vec::new();
    write(old, new, &mut hunks);
    hunks
}

/// Appends the hunks that turn `old` into `new`, and returns how many lines are added and removed.
// rule: isolation/user-config
pub fn write(old: &[u8], new: &[u8], patch: &mut Vec<u8>) -> (usize, usize) {
    let input = InternedInput::new(byte_lines(old), byte_lines(new));
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_lines(&input);
    let old: Vec<&[u8]> = byte_lines(old).collect();
    let new: Vec<&[u8]> = byte_lines(new).collect();
    let changes: Vec<Hunk> = diff.hunks().collect();
    // Context that two changes share is written once.
    let is_near = |left: &Hunk, right: &Hunk| {
        (right.before.start - left.before.end) as usize <= 2 * CONTEXT_LINES
    };
    let mut name: &[u8] = b"";
    let mut searched = 0;
    for changes in changes.chunk_by(is_near) {
        let hunk = JoinedChanges { old: &old, new: &new, changes };
        let start = hunk.old_start();
        name = old[searched..start].iter().rev().find_map(|line| hunk_name(line)).unwrap_or(name);
        searched = start;
        hunk.write(name, patch);
    }
    (diff.count_additions() as usize, diff.count_removals() as usize)
}

/// Appends lines that all begin with `origin`.
pub fn write_lines(origin: u8, lines: &[&[u8]], patch: &mut Vec<u8>) {
    for line in lines {
        patch.push(origin);
        patch.extend_from_slice(line);
        if !line.ends_with(b"\n") {
            patch.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

/// Changes that are close enough to each other for one hunk.
struct JoinedChanges<'a> {
    old: &'a [&'a [u8]],
    new: &'a [&'a [u8]],
    changes: &'a [Hunk],
}

impl JoinedChanges<'_> {
    /// The first old line of the hunk.
    fn old_start(&self) -> usize {
        let first = self.changes.first().map_or(0, |change| change.before.start as usize);
        first.saturating_sub(CONTEXT_LINES)
    }

    fn write(&self, name: &[u8], patch: &mut Vec<u8>) {
        let mut position = self.old_start();
        let mut body = Vec::new();
        let mut added = 0;
        let mut removed = 0;
        for Hunk { before, after } in self.changes {
            let before = before.start as usize..before.end as usize;
            let after = after.start as usize..after.end as usize;
            write_lines(b' ', &self.old[position..before.start], &mut body);
            position = before.end;
            removed += before.len();
            added += after.len();
            write_lines(b'-', &self.old[before], &mut body);
            write_lines(b'+', &self.new[after], &mut body);
        }
        let end = self.old.len().min(position + CONTEXT_LINES);
        write_lines(b' ', &self.old[position..end], &mut body);
        let old_count = end - self.old_start();
        let new_count = old_count - removed + added;
        let first = self.changes.first().map_or(0, |change| change.after.start as usize);
        let old = range(self.old_start(), old_count);
        let new = range(first.saturating_sub(CONTEXT_LINES), new_count);
        patch.extend_from_slice(format!("@@ -{old} +{new} @@").as_bytes());
        if !name.is_empty() {
            patch.push(b' ');
            patch.extend_from_slice(name);
        }
        patch.push(b'\n');
        patch.extend_from_slice(&body);
    }
}

/// A range of lines as the header of a hunk shows it: the first line, counted from 1, and the number
/// of lines. An empty range shows the line before it, and a number of 1 is left out.
fn range(start: usize, count: usize) -> String {
    match count {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        count => format!("{},{count}", start + 1),
    }
}

/// The name that a line gives to the hunks after it: to git the line is the head of a function if it
/// begins with a letter, `_` or `$`.
fn hunk_name(line: &[u8]) -> Option<&[u8]> {
    let is_head = |byte: &u8| byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$');
    line.first().filter(|byte| is_head(byte))?;
    let mut name = &line[..line.len().min(NAME_BYTES_MAX)];
    while let [rest @ .., b' ' | b'\t' | b'\n' | b'\r'] = name {
        name = rest;
    }
    // Git ends the name before bytes that are not UTF-8, such as a character cut at the limit.
    let valid = name.utf8_chunks().next().map_or(0, |chunk| chunk.valid().len());
    Some(&name[..valid])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    fn of_git(folder: &Path, old: &[u8], new: &[u8]) -> String {
        fs::write(folder.join("old"), old).unwrap();
        fs::write(folder.join("new"), new).unwrap();
        let mut git = Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git.env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(folder);
        let output = git.args(["diff", "--no-index", "old", "new"]).output().unwrap();
        let patch = String::from_utf8_lossy(&output.stdout).into_owned();
        patch.find("\n@@ ").map_or_else(String::new, |start| patch[start + 1..].to_owned())
    }

    fn assert_as_git(folder: &Path, old: &[u8], new: &[u8]) {
        let mut patch = Vec::new();
        let counts = write(old, new, &mut patch);
        let patch = String::from_utf8_lossy(&patch).into_owned();
        let count = |origin| patch.lines().filter(|line| line.starts_with(origin)).count();
        assert_eq!(counts, (count('+'), count('-')));
        assert_eq!(patch, of_git(folder, old, new));
    }

    #[test]
    fn write_ends_lines_and_names_hunks_as_git_does() {
        let folder = tempfile::tempdir().unwrap();
        let long = format!("f{}é\n", "x".repeat(NAME_BYTES_MAX - 2));
        for (old, new) in [
            ("", "a"),
            ("a\n", ""),
            ("a", "a\n"),
            ("a\r\nb\n", "a\nb\r\n"),
            ("a\nb\nc", "a\nB\nc"),
            ("\n", "\n\n"),
        ] {
            assert_as_git(folder.path(), old.as_bytes(), new.as_bytes());
        }
        for name in ["fn a() {\n", " fn a() {\n", "_a \t\r\n", "$a\x0c\n", "a\x0b\n", &long] {
            let text = |line| format!("{name}1\n2\n3\n4\n{line}\n6\n7\n8\n9\n");
            assert_as_git(folder.path(), text("5").as_bytes(), text("five").as_bytes());
        }
        assert_as_git(folder.path(), b"a\xff\n1\n2\n3\n4\n", b"a\xff\n1\n2\n3\nfour\n");
    }

    #[test]
    fn write_makes_the_hunks_of_git_for_generated_texts() {
        let folder = tempfile::tempdir().unwrap();
        let mut state = 1u32;
        let mut below = |limit: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % limit
        };
        for number in 0..60 {
            let distinct = 2 + below(9);
            let mut lines: Vec<String> = (0..below(120))
                .map(|_| match below(distinct) {
                    0 => "\n".to_owned(),
                    1 => "fn name() {\n".to_owned(),
                    word => format!("{}{word}\n", " ".repeat(4 * below(3) as usize)),
                })
                .collect();
            let old = lines.concat();
            for _ in 0..1 + below(9) {
                let from = below(lines.len() as u32 + 1) as usize;
                let to = lines.len().min(from + below(5) as usize);
                let moved: Vec<String> = lines.drain(from..to).collect();
                let target = below(lines.len() as u32 + 1) as usize;
                match below(3) {
                    0 => {}
                    1 => drop(lines.splice(target..target, moved)),
                    _ => lines.insert(target, format!("{number}\n")),
                }
            }
            assert_as_git(folder.path(), old.as_bytes(), lines.concat().as_bytes());
        }
    }
}
