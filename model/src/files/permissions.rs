//! The permission bits of files and folders. A [`Node`] itself only records whether the owner may read and
//! execute a file.
//!
//! How a restore may change the bits is judged in [`crate::operations::restore`].

use super::{Files, Node};
use crate::bytes::ByteString;

/// The owner may read the file, or list the folder.
const READS: u32 = 0o400;
/// The owner may execute the file.
const EXECUTES: u32 = 0o100;

/// The bits of a folder that was made without choosing them.
pub(crate) const FOLDER_DEFAULT: u32 = 0o755;

/// The bits of a file that was made without choosing them.
fn default_bits(executable: bool, readable: bool) -> u32 {
    let bits = if executable { 0o755 } else { 0o644 };
    if readable { bits } else { bits & !0o444 }
}

impl Files {
    /// The permission bits of the file at `path`; `None` where there is no file.
    pub fn permissions(&self, path: &[u8]) -> Option<u32> {
        let Some(Node::File { executable, readable, .. }) = self.get(path) else { return None };
        let explicit = self.explicit_permissions.get(path).copied();
        Some(explicit.unwrap_or_else(|| default_bits(*executable, *readable)))
    }

    /// Sets the permission bits of the file at `path`; no effect where there is no file.
    pub fn set_permissions(&mut self, path: &[u8], bits: u32) {
        let name = ByteString::from(path);
        let Some(Node::File { executable, readable, .. }) = self.nodes.get_mut(&name) else {
            return;
        };
        (*executable, *readable) = (bits & EXECUTES != 0, bits & READS != 0);
        if bits == default_bits(*executable, *readable) {
            self.explicit_permissions.remove(path);
        } else {
            self.explicit_permissions.insert(name, bits);
        }
    }

    /// The permission bits of the folder at `path`; `None` where there is no folder. Those of the root are
    /// the default.
    pub fn folder_permissions(&self, path: &[u8]) -> Option<u32> {
        let explicit = self.explicit_permissions.get(path).copied();
        self.is_directory(path).then(|| explicit.unwrap_or(FOLDER_DEFAULT))
    }

    /// Whether there is a folder at `path` that its owner may not list.
    pub fn is_unreadable_folder(&self, path: &[u8]) -> bool {
        self.folder_permissions(path).is_some_and(|bits| bits & READS == 0)
    }

    /// The folders with other than the default permission bits, and these.
    pub(crate) fn explicit_folder_permissions(&self) -> impl Iterator<Item = (&ByteString, u32)> {
        let explicit = self.explicit_permissions.iter();
        explicit.filter(|(path, _)| self.is_directory(path)).map(|(path, bits)| (path, *bits))
    }

    /// Sets the permission bits of the folder at `path`; no effect on the root, or where there is no folder.
    pub fn set_folder_permissions(&mut self, path: &[u8], bits: u32) {
        if path.is_empty() || !self.is_directory(path) {
            return;
        }
        if bits == FOLDER_DEFAULT {
            self.explicit_permissions.remove(path);
        } else {
            self.explicit_permissions.insert(ByteString::from(path), bits);
        }
    }
}

/// The serialized form of permission bits: three octal digits.
pub(crate) mod octal {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(bits: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format!("{bits:03o}"))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bits = u32::from_str_radix(&text, 8).ok().filter(|bits| *bits <= 0o777);
        bits.ok_or_else(|| D::Error::custom(format!("{text:?} is not three octal digits")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteString;
    use pretty_assertions::assert_eq;

    fn files(executable: bool) -> Files {
        let node = Node::File { content: ByteString::from(&b"x"[..]), executable, readable: true };
        [(ByteString::from("a"), node), ("d".into(), Node::Directory)].into_iter().collect()
    }

    #[test]
    fn set_permissions_sets_executable_and_readable_of_files_only() {
        for (bits, executable, readable) in
            [(0o644, false, true), (0o600, false, true), (0o710, true, true), (0o200, false, false)]
        {
            let mut files = files(false);
            files.set_permissions(b"a", bits);
            let content = ByteString::from(&b"x"[..]);
            assert_eq!(files.get(b"a"), Some(&Node::File { content, executable, readable }));
            assert_eq!(files.permissions(b"a"), Some(bits));
        }
        let before = files(true);
        let mut files = files(true);
        assert_eq!(files.permissions(b"a"), Some(0o755));
        for path in [&b"d"[..], b"none", b""] {
            files.set_permissions(path, 0o600);
            assert_eq!(files.permissions(path), None);
        }
        assert_eq!(files, before);
    }

    #[test]
    fn set_folder_permissions_sets_the_bits_of_folders_only_until_they_are_removed() {
        let mut files = files(false);
        assert_eq!(files.folder_permissions(b"d"), Some(0o755));
        for path in [&b"a"[..], b"none", b""] {
            files.set_folder_permissions(path, 0o700);
            assert_eq!(files, self::files(false));
        }
        assert_eq!(files.folder_permissions(b"a"), None);
        files.set_folder_permissions(b"d", 0o700);
        assert_eq!(files.folder_permissions(b"d"), Some(0o700));
        assert_eq!(files.permissions(b"d"), None);
        assert_ne!(files, self::files(false));
        let mut replaced = files.clone();
        replaced.remove(b"d");
        replaced.insert(b"d", Node::Directory);
        files.set_folder_permissions(b"d", 0o755);
        assert_eq!(files, self::files(false));
        assert_eq!(replaced, files);
    }

    #[test]
    fn set_permissions_is_reset_by_remove_and_insert_and_default_bits_leave_files_equal() {
        let mut files = files(false);
        let node = files.get(b"a").cloned().unwrap();
        files.set_permissions(b"a", 0o600);
        assert_ne!(files, self::files(false));
        files.set_permissions(b"a", 0o644);
        assert_eq!(files, self::files(false));
        for replace in [Files::remove as fn(&mut Files, &[u8]), |_, _| {}] {
            files.set_permissions(b"a", 0o600);
            replace(&mut files, b"a");
            files.insert(b"a", node.clone());
            assert_eq!(files.permissions(b"a"), Some(0o644));
        }
    }
}
