//! What may stand in the place of a damaged file, and putting it there.

use super::edits::make_fifo;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, symlink};
use std::path::{Path, PathBuf};

/// What stands in the place of a file once it is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// Nothing.
    Nothing,
    /// A file that holds this.
    Bytes(Vec<u8>),
    /// A link that leads there.
    Link(PathBuf),
    /// A fifo.
    Fifo,
    /// A folder.
    Folder,
}

impl Left {
    /// What stands at a path.
    ///
    /// # Errors
    /// It cannot be read.
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

    /// Puts it in the place of a file. What is a file afterwards has these permissions.
    ///
    /// # Errors
    /// There is no file, or it cannot be replaced.
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
    fn what_was_put_in_the_place_of_a_file_stands_there() {
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
