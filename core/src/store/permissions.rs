//! The permissions of a checkpoint's files and folders, as a header of its commit.
//!
//! A git tree keeps the executable bit of a file and nothing else. Git and every tool that reads a
//! checkpoint through it skip a header that they do not know. A checkpoint without one was taken by
//! another tool: of its files nothing is known, so that they are for their owner alone.

use crate::disk::of_any_group;
use crate::path::ancestors;
use crate::store::header::{escaped, unescaped};
use crate::store::snapshot::{Mode, Snapshot};
use std::collections::BTreeMap;

/// The name of the header.
const NAME: &str = "herma-permissions ";
/// What a file needs to be read, and a folder to be entered, by its owner.
const FILE_MIN: u32 = 0o400;
const FOLDER_MIN: u32 = 0o700;
/// Reading and writing.
const NOT_EXECUTE: u32 = 0o666;

/// What each file and folder of a checkpoint permits. What is said of a group is said of the project's:
/// of another one, and of an access list, is kept only what everybody may.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// The bits of most files, without those for executing.
    file: u32,
    /// The bits of most folders.
    folder: u32,
    /// The bits of the others; the path of a folder ends in a slash.
    others: BTreeMap<Vec<u8>, u32>,
    /// The group of the project, where it may do more than everybody.
    group: Option<u32>,
}

/// Those of a checkpoint of which nothing is known.
impl Default for Permissions {
    fn default() -> Self {
        Permissions { file: 0o600, folder: 0o700, others: BTreeMap::new(), group: None }
    }
}

impl Permissions {
    /// Those of the files of a snapshot and of the folders that lead to them, the project's own
    /// included, which is the empty path; `group` is that of the project.
    pub fn of(
        snapshot: &Snapshot,
        files: &BTreeMap<Vec<u8>, u32>,
        folders: &BTreeMap<Vec<u8>, u32>,
        group: u32,
    ) -> Self {
        let files: Vec<(&Vec<u8>, Mode, u32)> = snapshot
            .iter()
            .filter_map(|(path, item)| Some((path, item.mode, files.get(path)? & 0o777)))
            .collect();
        let mut on_the_way: Vec<&[u8]> = snapshot.keys().flat_map(|path| ancestors(path)).collect();
        on_the_way.push(b"");
        on_the_way.sort_unstable();
        on_the_way.dedup();
        let folders: Vec<(&[u8], u32)> = on_the_way
            .into_iter()
            .filter_map(|path| Some((path, folders.get(path)? & 0o777)))
            .collect();
        let usual = Permissions::default();
        let mut all = Permissions {
            file: commonest(files.iter().map(|(_, _, bits)| bits & NOT_EXECUTE), usual.file),
            folder: commonest(folders.iter().map(|(_, bits)| *bits), usual.folder),
            others: BTreeMap::new(),
            group: None,
        };
        let mut bits = files.iter().map(|(_, _, bits)| *bits);
        if bits.any(is_about_a_group) || folders.iter().any(|(_, bits)| is_about_a_group(*bits)) {
            all.group = Some(group);
        }
        for (path, mode, bits) in files {
            if with_execute(all.file, mode) != bits {
                all.others.insert(path.clone(), bits);
            }
        }
        for (path, bits) in folders {
            if all.folder != bits {
                all.others.insert([path, b"/"].concat(), bits);
            }
        }
        all
    }

    /// The bits of a file that comes back; its owner may read it, and execute it as recorded.
    // rule: restore/permissions
    pub fn of_file(&self, path: &[u8], mode: Mode) -> u32 {
        let bits = self.others.get(path).copied();
        let bits = bits.unwrap_or_else(|| with_execute(self.file, mode)) | FILE_MIN;
        if mode == Mode::Executable { bits | 0o100 } else { bits & !0o111 }
    }

    /// The bits of a folder that comes back.
    // rule: restore/permissions
    pub fn of_folder(&self, path: &[u8]) -> u32 {
        let bits = self.others.get(&[path, b"/"].concat()).copied();
        bits.unwrap_or(self.folder) | FOLDER_MIN
    }

    /// The group that the bits are about; none where it may do no more than everybody.
    pub fn group(&self) -> Option<u32> {
        self.group
    }

    /// The header of a commit that says so: first what holds of most and the group, then a line for each
    /// other, with newlines and backslashes in its path escaped.
    pub fn to_header(&self) -> Vec<u8> {
        let group = self.group.map(|group| format!(" {group}")).unwrap_or_default();
        let usual = format!("{NAME}{:03o} {:03o}{group}\n", self.file, self.folder);
        let mut header = usual.into_bytes();
        for (path, bits) in &self.others {
            header.extend_from_slice(format!(" {bits:03o} ").as_bytes());
            header.extend_from_slice(&escaped(path));
            header.push(b'\n');
        }
        header
    }

    /// What the headers of a commit say; nothing is known where any part of it cannot be read.
    pub fn of_headers(headers: &[u8]) -> Self {
        read(headers).unwrap_or_default()
    }
}

fn read(headers: &[u8]) -> Option<Permissions> {
    let mut lines = headers.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let usual = lines.find_map(|line| line.strip_prefix(NAME.as_bytes()))?;
    let mut usual = std::str::from_utf8(usual).ok()?.split(' ');
    let (file, folder) = (usual.next()?, usual.next()?);
    let group = usual.next().map(|group| group.parse().ok());
    let group = group.map_or(Some(None), |group| group.map(Some))?;
    let (file, folder) = (octal(file.as_bytes())?, octal(folder.as_bytes())?);
    let mut others = BTreeMap::new();
    for line in lines.map_while(|line| line.strip_prefix(b" ")) {
        let (bits, path) = line.split_at_checked(3)?;
        others.insert(unescaped(path.strip_prefix(b" ")?)?, octal(bits)?);
    }
    usual.next().is_none().then_some(Permissions { file, folder, others, group })
}

fn octal(digits: &[u8]) -> Option<u32> {
    let is_plain = digits.len() == 3 && digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
    let value = |value, digit: &u8| value * 8 + u32::from(digit - b'0');
    is_plain.then(|| digits.iter().fold(0, value))
}

/// Whether a group may do more than everybody.
pub fn is_about_a_group(bits: u32) -> bool {
    of_any_group(bits) != bits
}

/// Whoever may read an executable file may execute it.
fn with_execute(bits: u32, mode: Mode) -> u32 {
    if mode == Mode::Executable { bits | (bits & 0o444) >> 2 } else { bits }
}

fn commonest(all: impl Iterator<Item = u32>, otherwise: u32) -> u32 {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    all.for_each(|bits| *counts.entry(bits).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map_or(otherwise, |(bits, _)| bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::snapshot::Item;
    use git2::Oid;

    fn some() -> Permissions {
        let blob = Oid::ZERO_SHA1;
        let bits: &[(&[u8], Mode, u32)] = &[
            (b"a", Mode::Plain, 0o100_644),
            (b"b", Mode::Executable, 0o755),
            (b"d/c\n\\n \xff", Mode::Plain, 0o600),
            (b"d/e/f", Mode::Plain, 0o644),
            (b"d/e/g", Mode::Executable, 0o744),
            (b"link", Mode::Link, 0o777),
        ];
        let item = |mode| Item { mode, blob };
        let snapshot = bits.iter().map(|(path, mode, _)| (path.to_vec(), item(*mode))).collect();
        let files = bits.iter().filter(|(_, mode, _)| *mode != Mode::Link);
        let files = files.map(|(path, _, bits)| (path.to_vec(), *bits)).collect();
        let folders = [(&b""[..], 0o755), (b"d", 0o700), (b"d/e", 0o755), (b"empty", 0o711)];
        let folders = folders.map(|(path, bits)| (path.to_vec(), bits)).into_iter().collect();
        Permissions::of(&snapshot, &files, &folders, 12)
    }

    #[test]
    fn a_group_that_may_more_than_everybody_is_named() {
        let blob = Oid::ZERO_SHA1;
        let snapshot = [(b"a".to_vec(), Item { mode: Mode::Plain, blob })].into_iter().collect();
        let of = |file: u32, folder: u32| {
            let files = [(b"a".to_vec(), file)].into_iter().collect();
            let folders = [(Vec::new(), folder)].into_iter().collect();
            Permissions::of(&snapshot, &files, &folders, 12)
        };
        for (file, folder, group) in
            [(0o644, 0o755, None), (0o640, 0o755, Some(12)), (0o600, 0o750, Some(12))]
        {
            let read = Permissions::of_headers(&of(file, folder).to_header());
            assert_eq!(read, of(file, folder));
            assert_eq!(read.group(), group);
        }
        let header = of(0o640, 0o755).to_header();
        assert_eq!(header.escape_ascii().to_string(), r"herma-permissions 640 755 12\n");
    }

    #[test]
    fn files_and_folders_come_back_as_they_were() {
        let header = some().to_header();
        let text = header.escape_ascii().to_string();
        let others = r" 700 d/\n 600 d/c\\n\\\\n \xff\n 744 d/e/g\n";
        assert_eq!(text, format!(r"herma-permissions 644 755\n{others}"));
        let commit = [b"tree 1\ncommitter x\n", &header[..], b"\n 600 not a header\n"].concat();
        let read = Permissions::of_headers(&commit);
        assert_eq!(read, some());
        for (path, mode, bits) in [
            (&b"a"[..], Mode::Plain, 0o644),
            (b"b", Mode::Executable, 0o755),
            (b"d/c\n\\n \xff", Mode::Plain, 0o600),
            (b"d/e/g", Mode::Executable, 0o744),
        ] {
            assert_eq!(read.of_file(path, mode), bits, "{}", path.escape_ascii());
        }
        for (path, bits) in [(&b""[..], 0o755), (b"d", 0o700), (b"d/e", 0o755)] {
            assert_eq!(read.of_folder(path), bits, "{}", path.escape_ascii());
        }
    }

    #[test]
    fn where_nothing_is_known_all_is_for_the_owner() {
        for headers in [
            &b"tree 1\nauthor x\n\nherma-permissions 644 755\n"[..],
            b"herma-permissions 644\n",
            b"herma-permissions 644 755 staff\n",
            b"herma-permissions 644 755 12 12\n",
            b"herma-permissions 644 7555\n",
            b"herma-permissions 648 755\n",
            b"herma-permissions 644 755\n 64\n",
            b"herma-permissions 644 755\n 644a\n",
            b"herma-permissions 644 755\n 644 a\\\n",
        ] {
            let read = Permissions::of_headers(headers);
            assert_eq!(read, Permissions::default(), "{}", headers.escape_ascii());
        }
        let unknown = Permissions::default();
        assert_eq!(unknown.of_file(b"a", Mode::Plain), 0o600);
        assert_eq!(unknown.of_file(b"a", Mode::Executable), 0o700);
        assert_eq!(unknown.of_folder(b"d"), 0o700);
    }

    #[test]
    fn the_owner_can_use_what_comes_back() {
        let header = b"herma-permissions 040 000\n 711 program\n 611 text\n";
        let read = Permissions::of_headers(header);
        assert_eq!(read.of_file(b"a", Mode::Plain), 0o440);
        assert_eq!(read.of_file(b"program", Mode::Executable), 0o711);
        assert_eq!(read.of_file(b"text", Mode::Plain), 0o600);
        assert_eq!(read.of_folder(b"d"), 0o700);
    }
}
