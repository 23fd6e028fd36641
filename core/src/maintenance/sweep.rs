//! The automatic prune. It runs at most once per interval, which a marker file in the base ensures, and
//! never makes its caller fail.

use crate::disk::atomic_write::{make_new_named, move_file};
use crate::disk::{Disk, Kind, Sharing};
use crate::environment::{Clock, Config};
use crate::error::{Error, Result};
use crate::maintenance::prune::{Prune, PruneOptions, PruneStep};
use crate::report::{Pruned, Swept};
use crate::store::base::MARKER;
use crate::store::lock;
use std::path::Path;

/// The largest marker that is read, in bytes.
const MARKER_BYTES_MAX: u64 = 1_024;

/// A sweep of a base.
pub struct Sweep<'a> {
    /// The disk.
    pub disk: &'a dyn Disk,
    /// The base on it.
    pub base: &'a Path,
    /// The clock that tells whether the interval is over.
    pub clock: &'a dyn Clock,
    /// What is pruned, and how often.
    pub config: &'a Config,
}

impl Sweep<'_> {
    /// Prunes as configured, if the interval is over. Failures are logged and counted.
    // rule: maintenance/never-raises
    pub fn run(&self, progress: &mut dyn FnMut(PruneStep<'_>)) -> Swept {
        let Sweep { disk, base, clock, config } = *self;
        let exists = disk.stat(base).is_ok_and(|stat| stat.kind == Kind::Directory);
        if !config.auto_prune || !exists {
            return Swept::Off;
        }
        let is_over = || is_interval_over(disk, base, clock.seconds(), config.min_interval_seconds);
        if !is_over() {
            return Swept::NotDue;
        }
        // Of two sweeps that begin together the second sees the marker of the first. There may be no store
        // yet, or one without locks, that another process is about to create.
        let base_lock = lock::take_briefly(disk, base, Sharing::Exclusive);
        if matches!(base_lock, Err(Error::Busy(_))) || !is_over() {
            return Swept::NotDue;
        }
        let options = PruneOptions::from(config);
        let prune = Prune {
            disk,
            base,
            now: clock.seconds(),
            options: &options,
            is_preview: false,
            progress,
            pruned: Pruned::default(),
        };
        let pruned = prune.run().unwrap_or_else(|error| {
            tracing::debug!("the sweep was not done: {error}");
            Pruned { errors: 1, ..Pruned::default() }
        });
        // A concurrent prune may take the unfinished marker for a leftover.
        let write = || write_marker(disk, base, clock.seconds());
        if let Err(error) = write().or_else(|_| write()).or_else(|_| write()) {
            // The next sweep is only earlier than necessary.
            tracing::debug!("the time of the sweep was not recorded: {error}");
        }
        Swept::Done(pruned)
    }
}

/// Whether the marker is older than the interval. One without a time, or in the future, does not count.
// rule: sweep/interval
fn is_interval_over(disk: &dyn Disk, base: &Path, now: i64, interval: u64) -> bool {
    let marker = disk.read(&base.join(MARKER), MARKER_BYTES_MAX);
    let text = marker.map(|(text, _)| String::from_utf8_lossy(&text).into_owned());
    let last: Option<f64> = text.ok().and_then(|text| text.trim().parse().ok());
    let since = last.map(|last| now as f64 - last);
    // Also true for NaN.
    !since.is_some_and(|since| (0.0..interval as f64).contains(&since))
}

fn write_marker(disk: &dyn Disk, base: &Path, now: i64) -> Result<()> {
    // With a decimal point, as other tools write it.
    let text = format!("{:?}", now as f64);
    // If a power loss takes it, the next sweep is only earlier than necessary.
    let write = |path: &Path| disk.write_soon(path, text.as_bytes(), 0o600);
    let draft = make_new_named(base, MARKER, write)?;
    move_file(disk, &draft, &base.join(MARKER))
}
