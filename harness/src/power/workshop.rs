//! A linked copy of a bundled subject in which one file can be changed.
//!
//! Its files share their bytes with those in the cache folder, so it takes no space; whoever runs
//! something in it must not let that write there.

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

/// How long a mutant may take for one reply.
const REPLY_MAX: Duration = Duration::from_secs(20);

/// A linked copy of a subject; it is removed when this is dropped.
pub struct Workshop {
    folder: TempDir,
    /// The package in the cache folder.
    pristine: PathBuf,
    command: AdapterCommand,
}

impl Workshop {
    /// Links the subject into a folder of its own in the cache folder. `confined` is the command
    /// line before the adapter's own that keeps it from writing elsewhere.
    ///
    /// # Errors
    /// [`PowerError::File`].
    pub fn of(bundled: &Bundled, cache: &Path, confined: &[OsString]) -> Result<Self, PowerError> {
        let file = |error| PowerError::File(cache.display().to_string(), error);
        let folder = tempfile::Builder::new().prefix("power-").tempdir_in(cache).map_err(file)?;
        let (from, to) = (bundled.folder(cache), bundled.folder(folder.path()));
        link(&from, &to).map_err(file)?;
        let mut command = bundled.command(folder.path()).map_err(file)?;
        command.command.splice(0..0, confined.iter().cloned());
        command.limits.reply = REPLY_MAX;
        Ok(Workshop { folder, pristine: from.join(PACKAGES), command })
    }

    /// How the subject is started.
    pub fn command(&self) -> &AdapterCommand {
        &self.command
    }

    /// Does something while a source file of the package holds other bytes.
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
        // Written anew: through the link, the bytes in the cache folder would change.
        fs::remove_file(&path).and_then(|()| fs::write(&path, changed)).map_err(failed)?;
        let done = work();
        fs::remove_file(&path).map_err(failed)?;
        fs::hard_link(self.pristine.join(source), &path).map_err(failed)?;
        Ok(done)
    }
}

/// A place for the sandboxes of mutants alone, and the command line that confines them to it.
pub fn confined(scratch: &Scratch, program: &Path) -> io::Result<(TempDir, Vec<OsString>)> {
    let place = scratch.temporary()?;
    let confined = vec![program.into(), "confined".into(), place.path().into(), "--".into()];
    Ok((place, confined))
}

/// Makes a copy of a folder whose files are links to the same bytes.
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
    fn a_change_is_seen_in_the_copy_alone_and_undone() {
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
