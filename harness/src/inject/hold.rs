//! The signals between the suite and the supervisor of a process. Each signal is a file: the process is
//! held at a call, it is released, or the power was lost.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time between two checks for a file.
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Longer than any other operation may take: after that no release is expected.
const HELD_MAX: Duration = Duration::from_secs(300);

/// The two files of one supervised process.
pub struct Hold {
    held: PathBuf,
    released: PathBuf,
}

/// The file that exists after a power loss, next to the record of calls.
pub fn power_went(points: &Path) -> PathBuf {
    points.with_extension("power-went")
}

impl Hold {
    /// The files next to the record of calls of the process.
    pub fn beside(points: &Path) -> Self {
        Hold { held: points.with_extension("held"), released: points.with_extension("released") }
    }

    /// Signals that a call is held, and waits until it is released.
    ///
    /// # Errors
    /// The signal cannot be written.
    pub fn hold(&self) -> io::Result<()> {
        File::create(&self.held)?;
        let started = Instant::now();
        while !self.released.exists() && started.elapsed() < HELD_MAX {
            sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Waits until a call is held, or until `is_over`; returns whether a call is held.
    pub fn wait(&self, is_over: &dyn Fn() -> bool) -> bool {
        while !self.held.exists() {
            if is_over() {
                return self.held.exists();
            }
            sleep(POLL_INTERVAL);
        }
        true
    }

    /// Releases the call.
    ///
    /// # Errors
    /// The signal cannot be written.
    pub fn release(&self) -> io::Result<()> {
        File::create(&self.released).map(drop)
    }
}
