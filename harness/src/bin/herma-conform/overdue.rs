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
    /// None of one that is in a file already.
    history: Option<History>,
    begun: Instant,
    is_said: bool,
}

impl Overdue {
    /// None runs yet.
    pub fn new(folder: PathBuf, seeds: &[u64]) -> Self {
        let seeds = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        Overdue { folder, seeds, running: Mutex::default() }
    }

    /// A history begins; it need not be given where a file holds it, which is then its origin.
    pub fn begins(&self, origin: &str, history: Option<&History>, now: Instant) {
        let one = Running { history: history.cloned(), begun: now, is_said: false };
        self.running().insert(origin.to_owned(), one);
    }

    /// A history ended, so that it need not be kept for that it does not.
    pub fn ends(&self, origin: &str) {
        let ended = self.running().remove(origin);
        if ended.is_some_and(|one| one.is_said && one.history.is_some()) {
            // A file that stays is a history that holds, which harms nobody.
            let _ = std::fs::remove_file(self.file(&self.shows(origin)));
        }
    }

    /// Keeps every history that has been running for too long; what is to be said of each, once.
    pub fn look(&self, now: Instant) -> Vec<String> {
        let is_new = |one: &Running| !one.is_said && now >= one.begun + PATIENCE;
        let mut running = self.running();
        let new = running.iter_mut().filter(|(_, one)| is_new(one));
        new.map(|(origin, one)| {
            one.is_said = true;
            let kept = one.history.as_ref().map_or(String::new(), |one| self.kept(origin, one));
            format!("{origin} has been running for {} s{kept}", PATIENCE.as_secs())
        })
        .collect()
    }

    /// Keeps a history; what is to be said of that.
    fn kept(&self, origin: &str, history: &History) -> String {
        let shows = self.shows(origin);
        let file = self.file(&shows);
        match history::file::save(&file, history, &shows) {
            Ok(()) => format!("; it is kept in {}", file.display()),
            Err(error) => format!("; {error}"),
        }
    }

    fn shows(&self, origin: &str) -> String {
        format!("does not end: {origin}, seed {}", self.seeds)
    }

    fn file(&self, shows: &str) -> PathBuf {
        self.folder.join(file_name(shows))
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
        overdue.begins("history 3", Some(&history), begun);
        overdue.begins("history 4", Some(&history), begun + PATIENCE);
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
    #[test]
    fn what_is_in_a_file_already_is_said_and_kept_no_second_time() {
        let folder = tempfile::tempdir().unwrap();
        let overdue = Overdue::new(folder.path().to_owned(), &[7]);
        let begun = Instant::now();
        overdue.begins("kept.yaml", None, begun);
        assert_eq!(overdue.look(begun + PATIENCE), ["kept.yaml has been running for 60 s"]);
        assert!(overdue.look(begun + PATIENCE).is_empty());
        overdue.ends("kept.yaml");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
