//! The permissions of a checkpoint's files and folders, as a header of its commit.
//!
//! A git tree keeps the executable bit of a file and no other permissions. Git, and every tool that
//! reads a checkpoint through git, skips unknown headers. A checkpoint without this header was taken by
//! another tool: its permissions are unknown, so that its files are restored for their owner only.

use crate::disk::of_any_group;
use crate::path::{ancestors, parent};
use crate::store::header::{escaped, unescaped};
use crate::store::snapshot::Mode;
use std::collections::BTreeMap;

/// The name of the header.
const NAME: &str = "herma-permissions ";
/// The name of the header with the special bits of folders. Older versions skip it.
const SPECIAL_NAME: &str = "herma-special-bits folders";
/// The bit by which what is made in a folder gets the group of the folder.
pub const SET_GROUP: u32 = 0o2000;
/// That bit, and the sticky bit, by which only its owner may delete a file from the folder.
pub const SPECIAL: u32 = SET_GROUP | 0o1000;
/// The least bits with which the owner can read a file and use a folder.
const FILE_MIN: u32 = 0o400;
const FOLDER_MIN: u32 = 0o700;
/// The bits for reading and writing.
const NOT_EXECUTE: u32 = 0o666;

/// The permission bits of the files and folders of a checkpoint. The bits for the group are about the
/// group of the project; of the permissions of another group or of an access list, only those are kept
/// that everybody has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permissions {
    /// The bits of most files, without those for executing.
    file: u32,
    /// The bits of most folders.
    folder: u32,
    /// The bits of files and folders that differ from those; the path of a folder ends in a slash.
    exceptions: BTreeMap<Vec<u8>, u32>,
    /// The special bits of the folders that have some; the paths end in a slash.
    special: BTreeMap<Vec<u8>, u32>,
    /// The group of the project, if its bits give it more than everybody has or a folder has special bits.
    group: Option<u32>,
    /// Whether the checkpoint records any permissions.
    is_known: bool,
}

/// The permissions of a checkpoint with unknown permissions.
impl Default for Permissions {
    fn default() -> Self {
        let exceptions = BTreeMap::new();
        let special = BTreeMap::new();
        Permissions {
            file: 0o600,
            folder: 0o700,
            exceptions,
            special,
            group: None,
            is_known: false,
        }
    }
}

/// A captured file or link, and its permission bits.
pub struct FileBits<'a> {
    /// Relative to the project.
    pub path: &'a [u8],
    /// Its type.
    pub mode: Mode,
    /// The bits.
    pub bits: u32,
}

impl Permissions {
    /// The permissions of captured files, sorted by path, and of the folders above them, including the
    /// project's directory, whose path is empty; `group` is the group of the project.
    pub fn of(files: &[FileBits<'_>], folders: &BTreeMap<Vec<u8>, u32>, group: u32) -> Self {
        let folders_of = files.iter().map(|file| parent(file.path));
        let mut parents: Vec<&[u8]> = folders_of.collect();
        // Most files are in the folder of the file before.
        parents.dedup();
        let above: Vec<&[u8]> = parents.iter().flat_map(|path| ancestors(path)).collect();
        parents.extend(above);
        parents.push(b"");
        parents.sort_unstable();
        parents.dedup();
        let recorded: Vec<(&[u8], u32)> =
            parents.into_iter().filter_map(|path| Some((path, *folders.get(path)?))).collect();
        let special = recorded.iter().filter(|(_, bits)| bits & SPECIAL != 0);
        let special: BTreeMap<Vec<u8>, u32> =
            special.map(|(path, bits)| ([path, &b"/"[..]].concat(), bits & SPECIAL)).collect();
        let folders: Vec<(&[u8], u32)> =
            recorded.into_iter().map(|(path, bits)| (path, bits & 0o777)).collect();
        let default = Permissions::default();
        let mut permissions = Permissions {
            file: most_common(files.iter().map(|file| file.bits & NOT_EXECUTE), default.file),
            folder: most_common(folders.iter().map(|(_, bits)| *bits), default.folder),
            special,
            is_known: true,
            ..default
        };
        let mut bits = files.iter().map(|file| file.bits & 0o777);
        if bits.any(is_about_a_group)
            || folders.iter().any(|(_, bits)| is_about_a_group(*bits))
            || !permissions.special.is_empty()
        {
            permissions.group = Some(group);
        }
        for FileBits { path, mode, bits } in files {
            let bits = bits & 0o777;
            if with_execute(permissions.file, *mode) != bits {
                permissions.exceptions.insert(path.to_vec(), bits);
            }
        }
        for (path, bits) in folders {
            if permissions.folder != bits {
                permissions.exceptions.insert([path, b"/"].concat(), bits);
            }
        }
        permissions
    }

    /// The bits of a file that is restored: its owner may read it, and execute it if its mode says so.
    // rule: restore/permissions
    pub fn of_file(&self, path: &[u8], mode: Mode) -> u32 {
        let bits = self.exceptions.get(path).copied();
        let bits = bits.unwrap_or_else(|| with_execute(self.file, mode)) | FILE_MIN;
        if mode == Mode::Executable { bits | 0o100 } else { bits & !0o111 }
    }

    /// The bits of a folder that is restored.
    // rule: restore/folder-permissions
    pub fn of_folder(&self, path: &[u8]) -> u32 {
        let path = [path, b"/"].concat();
        let bits = self.exceptions.get(&path).copied().unwrap_or(self.folder);
        bits | self.special.get(&path).copied().unwrap_or(0) & SPECIAL | FOLDER_MIN
    }

    /// Whether the checkpoint records any permissions.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// The group that the bits are about; `None` if they give it no more than everybody has.
    pub fn group(&self) -> Option<u32> {
        self.group
    }

    /// The header of a commit: first the most common bits and the group, then a line for each exception,
    /// with newlines and backslashes in its path escaped. Special bits of folders are in a header of their own.
    pub fn to_header(&self) -> Vec<u8> {
        let group = self.group.map(|group| format!(" {group}")).unwrap_or_default();
        let first_line = format!("{NAME}{:03o} {:03o}{group}\n", self.file, self.folder);
        let mut header = first_line.into_bytes();
        for (path, bits) in &self.exceptions {
            header.extend_from_slice(format!(" {bits:03o} ").as_bytes());
            header.extend_from_slice(&escaped(path));
            header.push(b'\n');
        }
        if !self.special.is_empty() {
            header.extend_from_slice(format!("{SPECIAL_NAME}\n").as_bytes());
        }
        for (path, bits) in &self.special {
            header.extend_from_slice(format!(" {bits:04o} ").as_bytes());
            header.extend_from_slice(&escaped(path));
            header.push(b'\n');
        }
        header
    }

    /// The permissions in the headers of a commit; the default if any part cannot be read.
    pub fn of_headers(headers: &[u8]) -> Self {
        read(headers).unwrap_or_default()
    }
}

fn read(headers: &[u8]) -> Option<Permissions> {
    let mut lines = headers.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let first_line = lines.find_map(|line| line.strip_prefix(NAME.as_bytes()))?;
    let mut fields = std::str::from_utf8(first_line).ok()?.split(' ');
    let file = fields.next()?;
    let folder = fields.next()?;
    let group = fields.next().map(|group| group.parse().ok());
    let group = group.map_or(Some(None), |group| group.map(Some))?;
    let file = octal(file.as_bytes(), 3)?;
    let folder = octal(folder.as_bytes(), 3)?;
    let exceptions = bits_of_paths(lines, 3)?;
    let mut lines = headers.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let special = match lines.any(|line| line == SPECIAL_NAME.as_bytes()) {
        true => bits_of_paths(lines, 4)?,
        false => BTreeMap::new(),
    };
    let is_known = true;
    let permissions = Permissions { file, folder, exceptions, special, group, is_known };
    fields.next().is_none().then_some(permissions)
}

/// The lines of a header after its first one, each with so many digits and a path.
fn bits_of_paths<'a>(
    lines: impl Iterator<Item = &'a [u8]>,
    digits: usize,
) -> Option<BTreeMap<Vec<u8>, u32>> {
    let line = |line: &[u8]| {
        let (bits, path) = line.split_at_checked(digits)?;
        Some((unescaped(path.strip_prefix(b" ")?)?, octal(bits, digits)?))
    };
    lines.map_while(|line| line.strip_prefix(b" ")).map(line).collect()
}

fn octal(digits: &[u8], count: usize) -> Option<u32> {
    let is_octal =
        digits.len() == count && digits.iter().all(|digit| (b'0'..=b'7').contains(digit));
    let append = |value, digit: &u8| value * 8 + u32::from(digit - b'0');
    is_octal.then(|| digits.iter().fold(0, append))
}

/// Whether the bits give a group more than everybody has.
pub fn is_about_a_group(bits: u32) -> bool {
    of_any_group(bits) != bits
}

/// Adds the bits for executing to those of an executable file: any user who may read it may execute it.
fn with_execute(bits: u32, mode: Mode) -> u32 {
    if mode == Mode::Executable { bits | (bits & 0o444) >> 2 } else { bits }
}

fn most_common(values: impl Iterator<Item = u32>, default: u32) -> u32 {
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    values.for_each(|bits| *counts.entry(bits).or_default() += 1);
    counts.into_iter().max_by_key(|(_, count)| *count).map_or(default, |(bits, _)| bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Permissions {
        let bits: &[(&[u8], Mode, u32)] = &[
            (b"a", Mode::Plain, 0o100_644),
            (b"b", Mode::Executable, 0o755),
            (b"d/c\n\\n \xff", Mode::Plain, 0o600),
            (b"d/e/f", Mode::Plain, 0o644),
            (b"d/e/g", Mode::Executable, 0o744),
        ];
        let files =
            bits.iter().map(|(path, mode, bits)| FileBits { path, mode: *mode, bits: *bits });
        let files: Vec<FileBits<'_>> = files.collect();
        let folders = [(&b""[..], 0o755), (b"d", 0o700), (b"d/e", 0o755), (b"empty", 0o711)];
        let folders = folders.map(|(path, bits)| (path.to_vec(), bits)).into_iter().collect();
        Permissions::of(&files, &folders, 12)
    }

    #[test]
    fn to_header_names_a_group_whose_bits_give_it_more_than_everybody_has() {
        let permissions_of = |bits: u32, folder: u32| {
            let files = [FileBits { path: b"a", mode: Mode::Plain, bits }];
            let folders = [(Vec::new(), folder)].into_iter().collect();
            Permissions::of(&files, &folders, 12)
        };
        for (file, folder, group) in
            [(0o644, 0o755, None), (0o640, 0o755, Some(12)), (0o600, 0o750, Some(12))]
        {
            let read = Permissions::of_headers(&permissions_of(file, folder).to_header());
            assert_eq!(read, permissions_of(file, folder));
            assert_eq!(read.group(), group);
        }
        let header = permissions_of(0o640, 0o755).to_header();
        assert_eq!(header.escape_ascii().to_string(), r"herma-permissions 640 755 12\n");
    }

    #[test]
    fn of_headers_reads_what_to_header_wrote() {
        let header = example().to_header();
        let text = header.escape_ascii().to_string();
        let exceptions = r" 700 d/\n 600 d/c\\n\\\\n \xff\n 744 d/e/g\n";
        assert_eq!(text, format!(r"herma-permissions 644 755\n{exceptions}"));
        let commit = [b"tree 1\ncommitter x\n", &header[..], b"\n 600 not a header\n"].concat();
        let read = Permissions::of_headers(&commit);
        assert_eq!(read, example());
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
    fn to_header_keeps_the_special_bits_of_folders_where_older_versions_do_not_look() {
        let files = [FileBits { path: b"d/e/f", mode: Mode::Plain, bits: 0o6755 }];
        let folders = [(&b""[..], 0o755), (b"d", 0o1777), (b"d/e", 0o2755)];
        let folders = folders.map(|(path, bits)| (path.to_vec(), bits)).into_iter().collect();
        let header = Permissions::of(&files, &folders, 12).to_header();
        let permissions = "herma-permissions 644 755 12\n 777 d/\n 755 d/e/f\n";
        let special = "herma-special-bits folders\n 1000 d/\n 2000 d/e/\n";
        assert_eq!(header, [permissions, special].concat().into_bytes());
        let read = Permissions::of_headers(&header);
        for (path, bits) in [(&b""[..], 0o755), (b"d", 0o1777), (b"d/e", 0o2755)] {
            assert_eq!(read.of_folder(path), bits, "{}", path.escape_ascii());
        }
        assert_eq!(read.of_file(b"d/e/f", Mode::Plain), 0o644);
    }

    #[test]
    fn of_headers_permits_only_the_owner_where_a_header_is_missing_or_invalid() {
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
            b"herma-permissions 644 755\nherma-special-bits folders\n 100 d/\n",
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
    fn of_file_and_of_folder_always_permit_the_owner_to_read_and_enter() {
        let header = b"herma-permissions 040 000\n 711 program\n 611 text\n";
        let read = Permissions::of_headers(header);
        assert_eq!(read.of_file(b"a", Mode::Plain), 0o440);
        assert_eq!(read.of_file(b"program", Mode::Executable), 0o711);
        assert_eq!(read.of_file(b"text", Mode::Plain), 0o600);
        assert_eq!(read.of_folder(b"d"), 0o700);
    }
}
