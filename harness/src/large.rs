//! A large project to run histories on: many, deep, long-named and large files, the same each time.
//! Real projects are read by `workspace`.

use herma_model::content::noise;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The number of files, and the number in one folder.
const MANY: usize = 4_000;
const IN_ONE_FOLDER: usize = 1_000;
/// Nested folders.
const DEEP: usize = 200;
/// The longest name that most file systems allow, in bytes.
const NAME_BYTES_MAX: usize = 255;
/// Nested folders with such names: a path may have 4,096 bytes, some of which name the sandbox.
const LONG: usize = 12;
/// At the usual file size limit, and above it. Larger files are left to histories that measure: here
/// every file is read after each operation.
const SIZES: [(&str, usize); 2] = [("at-most.bin", 10 << 20), ("too-large.bin", (10 << 20) + 1)];

/// The size of a project that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// How many files.
    pub files: usize,
    /// How many bytes the files hold.
    pub bytes: u64,
}

/// Makes the project in a folder that does not exist yet.
///
/// # Errors
/// The folder exists, or it cannot be written.
pub fn make(root: &Path) -> io::Result<Made> {
    fs::create_dir(root)?;
    let mut project = Project { root, made: Made { files: 0, bytes: 0 } };
    project.file("README.md", b"A project that is large in every way.\n")?;
    project.file(".gitignore", b"*.tmp\n")?;
    for number in 0..MANY {
        let text = format!("file {number}\n").repeat(1 + number % 50);
        let path = format!("many/{}/file-{number}.txt", number / IN_ONE_FOLDER);
        project.file(path, text.as_bytes())?;
    }
    let mut deep = PathBuf::from("deep");
    for level in 0..DEEP {
        deep.push("d");
        if level % 20 == 19 {
            project.file(deep.join("file.txt"), format!("at {level}\n").as_bytes())?;
        }
    }
    let names: [&[u8]; 3] = [b"n", "\u{e4}".as_bytes(), b"\xff"];
    for name in names {
        let name = name.repeat(NAME_BYTES_MAX / name.len());
        project.file(Path::new("names").join(OsStr::from_bytes(&name)), b"a long name\n")?;
    }
    let long = "l".repeat(NAME_BYTES_MAX);
    let folders: PathBuf = (0..LONG).map(|_| long.as_str()).collect();
    project.file(folders.join("file.txt"), b"a long path\n")?;
    for (name, size) in SIZES {
        project.file(name, &noise(size, size as u32))?;
    }
    Ok(project.made)
}

struct Project<'a> {
    root: &'a Path,
    made: Made,
}

impl Project<'_> {
    fn file(&mut self, path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let path = self.root.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, bytes)?;
        self.made.files += 1;
        self.made.bytes += bytes.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::sample;

    #[test]
    fn make_creates_many_and_deep_files_and_refuses_an_existing_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("large");
        let made = make(&root).unwrap();
        assert!(made.files > 4_000 && made.bytes > 20 << 20, "{made:?}");
        assert!(make(&root).is_err());
        let (_, paths) = sample(&root).unwrap();
        let longest =
            |measure: fn(&[u8]) -> usize| paths.iter().map(|path| measure(path)).max().unwrap();
        assert!(longest(|path| path.split(|byte| *byte == b'/').count()) > 20);
    }
}
