//! A history that does not end: it is kept in a file and said, while it still runs.
//!
//! Nothing here ends it, since what runs in this process cannot be stopped.

use crate::running::file_name;
use herma_harness::history::{self, History};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// How long a history may run before anything is said of it.
const PATIENCE: Duration = Duration::from_secs(60);

/// The histories that run at the moment.
pub struct Overdue {
    /// Where those are kept that do not end.
    folder: PathBuf,
    /// The seeds of the run, as text.
    seeds: String,
    running: Mutex<BTreeMap<String, Running>>,
}

struct Running {
    history: History,
    begun: Instant,
    /// The file it is kept in, once it was said.
    file: Option<PathBuf>,
}

impl Overdue {
    /// None runs yet.
    pub fn new(folder: PathBuf, seeds: &[u64]) -> Self {
        let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        Overdue { folder, seeds, running: Mutex::default() }
    }

    /// A history begins.
    pub fn begins(&self, origin: &str, history: &History, now: Instant) {
        let one = Running { history: history.clone(), begun: now, file: None };
        self.running().insert(origin.to_owned(), one);
    }

    /// A history ended, so that it need not be kept for that it does not.
    pub fn ends(&self, origin: &str) {
        let ended = self.running().remove(origin);
        if let Some(file) = ended.and_then(|one| one.file) {
            // A file that stays is a history that holds, which harms nobody.
            let _ = std::fs::remove_file(file);
        }
    }

    /// Keeps every history that has been running for too long; what is to be said of each, once.
    pub fn look(&self, now: Instant) -> Vec<String> {
        let is_new = |one: &Running| one.file.is_none() && now >= one.begun + PATIENCE;
        let mut running = self.running();
        let new = running.iter_mut().filter(|(_, one)| is_new(one));
        new.map(|(origin, one)| {
            let what = format!("does not end: {origin}, seed {}", self.seeds);
            let file = self.folder.join(file_name(&what));
            let kept = match history::file::save(&file, &one.history, &what) {
                Ok(()) => format!("it is kept in {}", file.display()),
                Err(error) => error.to_string(),
            };
            one.file = Some(file);
            format!("{origin} has been running for {} s; {kept}", PATIENCE.as_secs())
        })
        .collect()
    }

    fn running(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.running.lock().expect("no thread panics while it holds this")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_for_too_long_is_kept_and_said_once_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let text = "operations:\n- list: {dir: work/alpha}\n";
        let history = history::file::from_yaml(text, folder.path()).unwrap();
        let overdue = Overdue::new(folder.path().to_owned(), &[7]);
        let begun = Instant::now();
        overdue.begins("history 3", &history, begun);
        overdue.begins("history 4", &history, begun + PATIENCE);
        assert!(overdue.look(begun + PATIENCE - Duration::from_secs(1)).is_empty());
        let file = folder.path().join("does-not-end-history-3-seed-7.yaml");
        let said = format!("history 3 has been running for 60 s; it is kept in {}", file.display());
        assert_eq!(overdue.look(begun + PATIENCE), [said]);
        assert!(overdue.look(begun + PATIENCE).is_empty());
        let kept = history::file::read(&file).unwrap();
        assert_eq!(history::file::from_yaml(&kept, &file).unwrap(), history);
        overdue.ends("history 3");
        assert!(!file.exists());
    }
}
