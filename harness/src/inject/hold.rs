//! What a supervised process and who started it tell each other, by files: that it is held at a call
//! and let go on, and that the power went.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait before looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);
/// Longer than any other operation may take: nobody comes any more.
const HELD_MAX: Duration = Duration::from_secs(300);

/// The two files of one supervised process.
pub struct Hold {
    held: PathBuf,
    released: PathBuf,
}

/// What is there once a power loss came, beside where calls are noted.
pub fn power_went(points: &Path) -> PathBuf {
    points.with_extension("power-went")
}

impl Hold {
    /// Beside where its calls are noted.
    pub fn beside(points: &Path) -> Self {
        Hold { held: points.with_extension("held"), released: points.with_extension("released") }
    }

    /// Says that a call is held, and waits until it may go on.
    ///
    /// # Errors
    /// It cannot be said.
    pub fn hold(&self) -> io::Result<()> {
        File::create(&self.held)?;
        let started = Instant::now();
        while !self.released.exists() && started.elapsed() < HELD_MAX {
            sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Waits until a call is held, or until none can be any more; returns whether one is.
    pub fn wait(&self, is_over: &dyn Fn() -> bool) -> bool {
        while !self.held.exists() {
            if is_over() {
                return self.held.exists();
            }
            sleep(LOOK_AGAIN);
        }
        true
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// It cannot be told.
    pub fn release(&self) -> io::Result<()> {
        File::create(&self.released).map(drop)
    }
}
