//! Histories that do not end: each is kept in a file and reported, while it still runs.
//!
//! This module does not end them, since what runs in this process cannot be stopped.

use super::kept::file_name;
use crate::history::{self, History};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a history may run before it is reported.
const REPORT_AFTER: Duration = Duration::from_secs(60);

/// The histories that run at the moment.
pub struct RunningHistories {
    /// Where overdue histories are kept.
    folder: PathBuf,
    /// The seeds of the run, as text.
    seeds: String,
    running: Mutex<BTreeMap<String, Running>>,
}

struct Running {
    /// `None` if a file holds it already.
    history: Option<History>,
    begun: Instant,
    is_reported: bool,
}

impl RunningHistories {
    /// No history runs yet.
    pub fn new(folder: PathBuf, seeds: &[u64]) -> Self {
        let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        RunningHistories { folder, seeds, running: Mutex::default() }
    }

    /// Records that a history begins. It need not be given if a file holds it, which is then its origin.
    pub fn begin(&self, origin: &str, history: Option<&History>, now: Instant) {
        let running = Running { history: history.cloned(), begun: now, is_reported: false };
        self.running().insert(origin.to_owned(), running);
    }

    /// Records that a history ended, so that it need no longer be kept as overdue.
    pub fn end(&self, origin: &str) {
        let ended = self.running().remove(origin);
        if ended.is_some_and(|history| history.is_reported && history.history.is_some()) {
            // A file that cannot be removed is a history without failures, which does no harm.
            let _ = std::fs::remove_file(self.file(&self.description(origin)));
        }
    }

    /// Keeps every history that has been running for too long, and returns a message about each, once.
    pub fn report(&self, now: Instant) -> Vec<String> {
        let is_new =
            |running: &Running| !running.is_reported && now >= running.begun + REPORT_AFTER;
        let mut histories = self.running();
        let new = histories.iter_mut().filter(|(_, running)| is_new(running));
        new.map(|(origin, running)| {
            running.is_reported = true;
            let history = running.history.as_ref();
            let kept = history.map_or(String::new(), |history| self.keep(origin, history));
            format!("{origin} has been running for {} s{kept}", REPORT_AFTER.as_secs())
        })
        .collect()
    }

    /// Keeps a history, and returns a message about that.
    fn keep(&self, origin: &str, history: &History) -> String {
        let description = self.description(origin);
        let file = self.file(&description);
        match history::file::save(&file, history, &description) {
            Ok(()) => format!("; it is saved in {}", file.display()),
            Err(error) => format!("; {error}"),
        }
    }

    fn description(&self, origin: &str) -> String {
        format!("does not end: {origin}, seed {}", self.seeds)
    }

    fn file(&self, description: &str) -> PathBuf {
        self.folder.join(file_name(description))
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.running.lock().expect("no thread panics while it holds this")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_keeps_an_overdue_history_once_and_end_removes_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let text = "operations:\n- list: {dir: work/alpha}\n";
        let history = history::file::from_yaml(text, folder.path()).unwrap();
        let histories = RunningHistories::new(folder.path().to_owned(), &[7]);
        let begun = Instant::now();
        histories.begin("history 3", Some(&history), begun);
        histories.begin("history 4", Some(&history), begun + REPORT_AFTER);
        assert!(histories.report(begun + REPORT_AFTER - Duration::from_secs(1)).is_empty());
        let file = folder.path().join("does-not-end-history-3-seed-7.yaml");
        let message =
            format!("history 3 has been running for 60 s; it is saved in {}", file.display());
        assert_eq!(histories.report(begun + REPORT_AFTER), [message]);
        assert!(histories.report(begun + REPORT_AFTER).is_empty());
        let kept = history::file::read(&file).unwrap();
        assert_eq!(history::file::from_yaml(&kept, &file).unwrap(), history);
        histories.end("history 3");
        assert!(!file.exists());
    }

    #[test]
    fn report_does_not_keep_an_overdue_history_that_is_in_a_file_already() {
        let folder = tempfile::tempdir().unwrap();
        let histories = RunningHistories::new(folder.path().to_owned(), &[7]);
        let begun = Instant::now();
        histories.begin("kept.yaml", None, begun);
        assert_eq!(histories.report(begun + REPORT_AFTER), ["kept.yaml has been running for 60 s"]);
        assert!(histories.report(begun + REPORT_AFTER).is_empty());
        histories.end("kept.yaml");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
