//! The replacement of a damaged file, and how it is written.

use super::edits::make_fifo;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// The replacement of a damaged file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
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

impl Left {
    /// Reads what exists at a path.
    ///
    /// # Errors
    /// The path cannot be read.
    pub fn at(path: &Path) -> io::Result<Left> {
        let kind = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Left::Nothing),
            found => found?.file_type(),
        };
        Ok(match () {
            () if kind.is_file() => Left::Bytes(fs::read(path)?),
            () if kind.is_symlink() => Left::Link(fs::read_link(path)?),
            () if kind.is_dir() => Left::Folder,
            () => Left::Fifo,
        })
    }

    /// Replaces a file. If the replacement is a file, it gets these permissions.
    ///
    /// # Errors
    /// The file does not exist, or cannot be replaced.
    pub fn put(&self, path: &Path, permissions: Permissions) -> io::Result<()> {
        fs::remove_file(path)?;
        match self {
            Left::Nothing => Ok(()),
            Left::Bytes(bytes) => {
                fs::write(path, bytes)?;
                fs::set_permissions(path, permissions)
            }
            Left::Link(target) => symlink(target, path),
            Left::Fifo => make_fifo(path, "600"),
            Left::Folder => DirBuilder::new().mode(0o700).create(path),
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
        for left in
            [Left::Bytes(b"other".to_vec()), Left::Link("nowhere".into()), Left::Fifo, Left::Folder]
        {
            fs::write(&path, "it").unwrap();
            let permissions = fs::metadata(&path).unwrap().permissions();
            left.put(&path, permissions.clone()).unwrap();
            assert_eq!(Left::at(&path).unwrap(), left);
            if left == Left::Folder {
                fs::remove_dir(&path).unwrap();
                assert!(Left::Nothing.put(&path, permissions).is_err());
            } else {
                Left::Nothing.put(&path, permissions).unwrap();
            }
            assert_eq!(Left::at(&path).unwrap(), Left::Nothing);
        }
    }
}
