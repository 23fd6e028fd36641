//! The prune that happens by itself: at most once in a while, by a marker in the base, and never
//! in the way of what a caller is doing.

use crate::atomic_write::{replace_file, write_new_named};
use crate::base::MARKER;
use crate::disk::Kind;
use crate::error::Result;
use crate::manager::Manager;
use crate::prune::PruneOptions;
use crate::report::{Pruned, Swept};

/// More bytes than the marker takes.
const MARKER_BYTES_MAX: u64 = 1_024;

impl Manager {
    /// Prunes as configured, if that is due. Whatever goes wrong is logged and counted.
    pub fn sweep(&self) -> Swept {
        let base = self.disk.stat(&self.base());
        if !self.config.auto_prune || !base.is_ok_and(|stat| stat.kind == Kind::Directory) {
            return Swept::Off;
        }
        if !self.is_due() {
            return Swept::NotDue;
        }
        let pruned = self.prune(&PruneOptions::from(&self.config), &mut |_| {});
        let pruned = pruned.unwrap_or_else(|error| {
            log::debug!("the sweep was not done: {error}");
            Pruned { errors: 1, ..Pruned::default() }
        });
        if let Err(error) = self.write_marker() {
            // The next sweep is earlier than it need be.
            log::debug!("the time of the sweep was not noted: {error}");
        }
        Swept::Done(pruned)
    }

    /// A marker that says no time, or one in the future, is that of no sweep.
    fn is_due(&self) -> bool {
        let marker = self.disk.read(&self.base().join(MARKER), MARKER_BYTES_MAX);
        let text = marker.map(|(text, _)| String::from_utf8_lossy(&text).into_owned());
        let last: Option<f64> = text.ok().and_then(|text| text.trim().parse().ok());
        let since = last.map(|last| self.clock.seconds() as f64 - last);
        let interval = self.config.min_interval_seconds as f64;
        // Also true of what is no number.
        !since.is_some_and(|since| (0.0..interval).contains(&since))
    }

    fn write_marker(&self) -> Result<()> {
        let (disk, base) = (self.disk.as_ref(), self.base());
        // With a point, as other tools write it.
        let text = format!("{:?}", self.clock.seconds() as f64);
        let fresh = write_new_named(disk, &base, MARKER, text.as_bytes(), 0o600)?;
        replace_file(disk, &fresh, &base.join(MARKER))
    }
}
