//! The replacement of a damaged file, and how it is written.

use super::edits::make_fifo;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// The replacement of a damaged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// Nothing.
    Nothing,
    /// A file with this content.
    Bytes(Vec<u8>),
    /// A link with this target.
    Link(PathBuf),
    /// A fifo.
    Fifo,
    /// A folder.
    Folder,
}

impl Replacement {
    /// Reads what exists at a path.
    ///
    /// # Errors
    /// The path cannot be read.
    pub fn at(path: &Path) -> io::Result<Replacement> {
        let kind = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Replacement::Nothing);
            }
            found => found?.file_type(),
        };
        Ok(match () {
            () if kind.is_file() => Replacement::Bytes(fs::read(path)?),
            () if kind.is_symlink() => Replacement::Link(fs::read_link(path)?),
            () if kind.is_dir() => Replacement::Folder,
            () => Replacement::Fifo,
        })
    }

    /// Replaces a file. If the replacement is a file, it gets these permissions.
    ///
    /// # Errors
    /// The file does not exist, or cannot be replaced.
    pub fn put(&self, path: &Path, permissions: Permissions) -> io::Result<()> {
        fs::remove_file(path)?;
        match self {
            Replacement::Nothing => Ok(()),
            Replacement::Bytes(bytes) => {
                fs::write(path, bytes)?;
                fs::set_permissions(path, permissions)
            }
            Replacement::Link(target) => symlink(target, path),
            Replacement::Fifo => make_fifo(path, "600"),
            Replacement::Folder => DirBuilder::new().mode(0o700).create(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn put_replaces_a_file_with_what_at_then_returns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        for left in [
            Replacement::Bytes(b"other".to_vec()),
            Replacement::Link("nowhere".into()),
            Replacement::Fifo,
            Replacement::Folder,
        ] {
            fs::write(&path, "it").unwrap();
            let permissions = fs::metadata(&path).unwrap().permissions();
            left.put(&path, permissions.clone()).unwrap();
            assert_eq!(Replacement::at(&path).unwrap(), left);
            if left == Replacement::Folder {
                fs::remove_dir(&path).unwrap();
                assert!(Replacement::Nothing.put(&path, permissions).is_err());
            } else {
                Replacement::Nothing.put(&path, permissions).unwrap();
            }
            assert_eq!(Replacement::at(&path).unwrap(), Replacement::Nothing);
        }
    }
}
