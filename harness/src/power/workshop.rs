//! A linked copy of a bundled subject in which one file can be changed.
//!
//! Its files are hard links to those in the cache folder, so it takes no space; a program that runs in it must
//! not be allowed to write to them.

use super::PowerError;
use crate::bundled::{Bundled, PACKAGES};
use crate::sandbox::{Scratch, edits};
use crate::subject::AdapterCommand;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

/// The maximum time of a mutant for one reply.
const REPLY_MAX: Duration = Duration::from_secs(20);

/// A linked copy of a subject; it is removed on drop.
pub struct Workshop {
    folder: TempDir,
    /// The package in the cache folder.
    pristine: PathBuf,
    command: AdapterCommand,
}

impl Workshop {
    /// Links the subject into a temporary folder in the cache folder. `confined` is the command line that
    /// precedes the adapter's and keeps it from writing elsewhere.
    ///
    /// # Errors
    /// [`PowerError::File`].
    pub fn of(bundled: &Bundled, cache: &Path, confined: &[OsString]) -> Result<Self, PowerError> {
        let file = |error| PowerError::File(cache.display().to_string(), error);
        let folder = tempfile::Builder::new().prefix("power-").tempdir_in(cache).map_err(file)?;
        let from = bundled.folder(cache);
        let to = bundled.folder(folder.path());
        link(&from, &to).map_err(file)?;
        let mut command = bundled.command(folder.path()).map_err(file)?;
        command.command.splice(0..0, confined.iter().cloned());
        command.limits.reply = REPLY_MAX;
        Ok(Workshop { folder, pristine: from.join(PACKAGES), command })
    }

    /// The command that starts the subject.
    pub fn command(&self) -> &AdapterCommand {
        &self.command
    }

    /// Calls `work` while a source file of the package has other bytes.
    ///
    /// # Errors
    /// [`PowerError::File`].
    pub fn with<T>(
        &self,
        source: &str,
        changed: &[u8],
        work: impl FnOnce() -> T,
    ) -> Result<T, PowerError> {
        let failed = |error| PowerError::File(source.to_owned(), error);
        let name = self.pristine.parent().and_then(Path::file_name).unwrap_or_default();
        let path = self.folder.path().join(name).join(PACKAGES).join(source);
        // A new file: writing through the hard link would change the file in the cache folder.
        fs::remove_file(&path).and_then(|()| fs::write(&path, changed)).map_err(failed)?;
        let result = work();
        fs::remove_file(&path).map_err(failed)?;
        fs::hard_link(self.pristine.join(source), &path).map_err(failed)?;
        Ok(result)
    }
}

/// The only folder that mutants can write to.
pub struct Confinement {
    /// The folder of their sandboxes.
    pub(super) folder: TempDir,
    /// The command line that precedes the adapter's.
    pub(super) command: Vec<OsString>,
}

impl Confinement {
    /// A new folder; this suite's command at `program` confines the mutants to it.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn new(scratch: &Scratch, program: &Path) -> io::Result<Self> {
        let folder = scratch.temporary()?;
        let command = vec![program.into(), "confined".into(), folder.path().into(), "--".into()];
        Ok(Confinement { folder, command })
    }
}

/// Copies a folder with hard links instead of files.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    edits::copy_with(from, to, &|source, target| match source.is_dir() {
        true => Ok(()),
        false => fs::hard_link(source, target),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::process::Limits;
    use std::os::unix::fs::symlink;

    #[test]
    fn workshop_with_changes_only_the_copy_and_undoes_the_change() {
        let cache = tempfile::tempdir().unwrap();
        let pristine = cache.path().join("toy-1/packages");
        fs::create_dir_all(pristine.join("inner")).unwrap();
        fs::write(pristine.join("inner/a.py"), "one\n").unwrap();
        symlink("inner/a.py", pristine.join("link")).unwrap();
        let folder = tempfile::tempdir_in(cache.path()).unwrap();
        link(&cache.path().join("toy-1"), &folder.path().join("toy-1")).unwrap();
        let limits = Limits::default();
        let command = AdapterCommand { directory: "/".into(), limits, ..AdapterCommand::default() };
        let copy = folder.path().join("toy-1/packages");
        let workshop = Workshop { folder, pristine: pristine.clone(), command };
        let read = |folder: &Path, name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let during = workshop.with("inner/a.py", b"two\n", || {
            (read(&copy, "inner/a.py"), read(&copy, "link"), read(&pristine, "inner/a.py"))
        });
        assert_eq!(during.unwrap(), ("two\n".into(), "two\n".into(), "one\n".into()));
        assert_eq!(read(&copy, "inner/a.py"), "one\n");
        assert_eq!(read(&pristine, "inner/a.py"), "one\n");
    }
}
