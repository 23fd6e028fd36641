//! The automatic prune: at most once per interval, by a marker in the base, and without ever
//! failing the caller.

use crate::disk::atomic_write::{replace_file, write_new_named};
use crate::disk::{Disk, Kind, Sharing};
use crate::environment::{Clock, Config};
use crate::error::{Error, Result};
use crate::maintenance::prune::{PruneOptions, prune};
use crate::report::{Pruned, Swept};
use crate::store::base::MARKER;
use crate::store::lock;
use std::path::Path;

/// More bytes than the marker takes.
const MARKER_BYTES_MAX: u64 = 1_024;

/// Prunes as configured, if that is due. Whatever goes wrong is logged and counted.
// rule: maintenance/never-raises
pub fn sweep(disk: &dyn Disk, base: &Path, clock: &dyn Clock, config: &Config) -> Swept {
    let is_there = disk.stat(base).is_ok_and(|stat| stat.kind == Kind::Directory);
    if !config.auto_prune || !is_there {
        return Swept::Off;
    }
    let due = || is_due(disk, base, clock.seconds(), config.min_interval_seconds);
    if !due() {
        return Swept::NotDue;
    }
    // Of two that begin together the second one sees what the first one notes. There may be no store
    // yet, or one without locks, that another process is about to make.
    let alone = lock::take_briefly(disk, base, Sharing::Exclusive);
    if matches!(alone, Err(Error::Busy(_))) || !due() {
        return Swept::NotDue;
    }
    let options = PruneOptions::from(config);
    let pruned = prune(disk, base, clock.seconds(), &options, &mut |_| {});
    let pruned = pruned.unwrap_or_else(|error| {
        tracing::debug!("the sweep was not done: {error}");
        Pruned { errors: 1, ..Pruned::default() }
    });
    // A prune beside it takes what is not in its place yet for left behind.
    let note = || write_marker(disk, base, clock.seconds());
    if let Err(error) = note().or_else(|_| note()).or_else(|_| note()) {
        // The next sweep is only earlier than need be.
        tracing::debug!("the time of the sweep was not noted: {error}");
    }
    Swept::Done(pruned)
}

/// A marker with no time, or one in the future, counts as none.
// rule: sweep/interval
fn is_due(disk: &dyn Disk, base: &Path, now: i64, interval: u64) -> bool {
    let marker = disk.read(&base.join(MARKER), MARKER_BYTES_MAX);
    let text = marker.map(|(text, _)| String::from_utf8_lossy(&text).into_owned());
    let last: Option<f64> = text.ok().and_then(|text| text.trim().parse().ok());
    let since = last.map(|last| now as f64 - last);
    // Also true of what is no number.
    !since.is_some_and(|since| (0.0..interval as f64).contains(&since))
}

fn write_marker(disk: &dyn Disk, base: &Path, now: i64) -> Result<()> {
    // With a point, as other tools write it.
    let text = format!("{:?}", now as f64);
    let fresh = write_new_named(disk, base, MARKER, text.as_bytes(), 0o600)?;
    replace_file(disk, &fresh, &base.join(MARKER))
}
