//! Pruning the store, and clearing it after the user confirmed it.
//!
//! Questions go to standard error, so that standard output is only the answer.

use crate::agent_folder;
use crate::commands::{Answer, Ending, Failure, Herma};
use crate::maintenance_pages as pages;
use crate::programs::Clearing;
use crate::text;
use crate::waiting::Waiting;
use clap::Args;
use herma_core::{Cleared, ClearedLegacy, LossyPath, PruneOptions, PruneStep, Pruned};
use serde::Serialize;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;
/// Bytes of a megabyte in the configuration.
const MEGABYTE: u64 = 1024 * 1024;
/// At most so many bytes of a reply are read, more than any reply needs.
const REPLY_BYTES_MAX: u64 = 1_024;

// Limits of a prune; those that are not given are as configured.
#[derive(Debug, Args)]
pub struct PruneArguments {
    /// Remove projects and archives unused for more than N days; 0 keeps them
    #[arg(long, value_name = "N")]
    pub retention_days: Option<u64>,
    /// Remove the oldest checkpoints while the store is larger; 0: no limit
    #[arg(long, value_name = "N")]
    pub max_size_mb: Option<u64>,
    /// Keep projects whose directory no longer exists
    #[arg(long)]
    pub keep_orphans: bool,
    /// Only show what would be removed
    #[arg(long)]
    pub dry_run: bool,
}

/// What a prune did or would do, and the projects that it names.
#[derive(Default, Serialize)]
pub struct PruneAnswer {
    /// The figures.
    #[serde(flatten)]
    pub pruned: Pruned,
    /// The directories of the projects that it removed.
    pub removed: Vec<LossyPath>,
    /// The directories of those that were moved, each with the new directory, which can get their checkpoints.
    pub moved: Vec<(LossyPath, LossyPath)>,
    /// The same where the new directory has checkpoints of its own, so that both stay separate.
    pub separate: Vec<(LossyPath, LossyPath)>,
}

impl PruneAnswer {
    fn add(&mut self, step: &PruneStep<'_>) {
        let owned = |path: &Path| LossyPath::from(path.to_owned());
        match step {
            PruneStep::Removed(directory) => self.removed.push(owned(directory)),
            PruneStep::Moved(old, new) => self.moved.push((owned(old), owned(new))),
            PruneStep::Separate(old, new) => self.separate.push((owned(old), owned(new))),
            _ => {}
        }
    }
}

impl Herma {
    /// Shows what no checkpoint of a project holds.
    pub fn excluded(&self, project: &Path, with_paths: bool) -> Result<Answer, Failure> {
        let excluded = self.manager.excluded(project)?;
        let page = || pages::excluded(project, &excluded, with_paths);
        self.answer_in_project(project, &excluded, page)
    }

    /// Removes what is gone or unused, as far as possible.
    pub fn prune(&self, arguments: &PruneArguments) -> Result<Answer, Failure> {
        let configured = PruneOptions::from(self.manager.config());
        // A value that is too large for the type becomes the largest one.
        let retention = arguments.retention_days.map(|days| days.saturating_mul(DAY));
        let size = arguments.max_size_mb.map(|size| size.saturating_mul(MEGABYTE));
        let options = PruneOptions {
            retention_seconds: retention.unwrap_or(configured.retention_seconds),
            max_total_bytes: size.unwrap_or(configured.max_total_bytes),
            delete_orphans: configured.delete_orphans && !arguments.keep_orphans,
        };
        let display = StepDisplay::start(self.json);
        let mut data = PruneAnswer::default();
        let mut show = |step: PruneStep<'_>| {
            data.add(&step);
            display.show(&step);
        };
        let pruned = match arguments.dry_run {
            true => self.manager.preview_prune(&options, &mut show),
            false => self.manager.prune(&options, &mut show),
        };
        drop(display);
        data.pruned = pruned?;
        let answer = Answer::of(self.json, &data, || pages::pruned(&data, arguments.dry_run))?;
        let message = match (data.pruned.errors, arguments.dry_run) {
            (0, _) => return Ok(answer),
            (errors, true) => {
                let projects = text::count(errors, "project", "projects");
                format!("{projects} could not be examined; nothing was changed")
            }
            (errors, false) => {
                let steps = text::count(errors, "step", "steps");
                format!("{steps} failed; all others were done: fix the cause and prune again")
            }
        };
        Ok(answer.incomplete("incomplete", message))
    }

    /// Gives a directory the history of a directory that no longer exists.
    pub fn move_history(&self, old: &Path, new: &Path) -> Result<Answer, Failure> {
        let moved = self.manager.move_history(old, new)?;
        // Where there is no state, there is nothing that could belong to the new place.
        let has_state = self.environment.agent_folder().is_dir();
        if has_state && agent_folder::belongs_to(&self.environment, &moved.from) {
            // Without it the state of the agent is not restored with the files, which a rollback reports.
            let _ = agent_folder::register(&self.environment, &moved.to);
        }
        Answer::of(self.json, &moved, || pages::moved(&moved))
    }

    /// Reads and verifies everything that is stored.
    pub fn verify(&self) -> Result<Answer, Failure> {
        let display = StepDisplay::start(self.json);
        let verified = self.manager.verify(&mut |number, total| {
            display.show(&PruneStep::Project(number, total));
        });
        drop(display);
        let verified = verified?;
        let answer = Answer::of(self.json, &verified, || pages::verified(&verified))?;
        if verified.is_intact() {
            return Ok(answer);
        }
        let message = match verified.has_all_data() {
            true => "the store cannot be read by git and by Herma: do what is said about each file",
            false if verified.is_restorable() => {
                "git refuses a pack of the store, which no checkpoint mends: restore what you need, which still \
                 works, or put the file of the pack back from a backup"
            }
            false => {
                "stored data is damaged: take a checkpoint of each of these projects, which stores \
                 its present files again"
            }
        };
        Ok(answer.incomplete("damaged", message))
    }

    /// Removes everything, if forced or confirmed.
    pub fn clear(&self, force: bool) -> Result<Answer, Failure> {
        let holdings = self.manager.holdings()?;
        if holdings.entries == 0 {
            return self.cleared(false, &Cleared::default(), "There is nothing to clear");
        }
        if !force && !is_confirmed(&pages::clear_question(&self.environment.base, &holdings)) {
            return self.cleared(true, &Cleared::default(), pages::DECLINED);
        }
        let cleared = self.manager.clear()?;
        self.cleared(false, &cleared, &pages::cleared(&cleared))
    }

    /// Removes the legacy archives, if forced or confirmed.
    pub fn clear_legacy(&self, force: bool) -> Result<Answer, Failure> {
        let holdings = self.manager.holdings()?;
        let none = ClearedLegacy::default();
        if holdings.archives == 0 {
            return self.cleared(false, &none, "There are no old-format archives to clear");
        }
        if !force && !is_confirmed(&pages::clear_legacy_question(&self.environment.base, &holdings))
        {
            return self.cleared(true, &none, pages::DECLINED);
        }
        let cleared = self.manager.clear_legacy()?;
        self.cleared(false, &cleared, &pages::cleared_legacy(&cleared))
    }

    fn cleared(
        &self,
        declined: bool,
        cleared: &impl Serialize,
        text: &str,
    ) -> Result<Answer, Failure> {
        let data = Clearing { declined, cleared };
        let answer = Answer::of(self.json, &data, || format!("{text}\n"))?;
        let ending = if declined { Ending::Declined } else { Ending::Done };
        Ok(Answer { ending, ..answer })
    }
}

/// Asks a question and reads one line. Anything but a yes declines, also the end of the input.
pub fn is_confirmed(question: &str) -> bool {
    let mut error = std::io::stderr();
    if error.write_all(question.as_bytes()).and_then(|()| error.flush()).is_err() {
        // A user who was not asked cannot have confirmed.
        return false;
    }
    let mut reply = Vec::new();
    let read = std::io::stdin().lock().take(REPLY_BYTES_MAX).read_until(b'\n', &mut reply);
    if !reply.ends_with(b"\n") {
        // The cursor is still on the line of the question.
        let _ = error.write_all(b"\n");
    }
    let reply = reply.trim_ascii().to_ascii_lowercase();
    read.is_ok() && matches!(reply.as_slice(), b"y" | b"yes")
}

/// Shows the steps of long work on a terminal, and failures at once.
struct StepDisplay {
    newest: Arc<Mutex<String>>,
    /// The line with the newest step, if there is a terminal.
    waiting: Option<Waiting>,
    json: bool,
}

impl StepDisplay {
    /// With JSON nothing is shown: the answer contains everything.
    fn start(json: bool) -> Self {
        let newest = Arc::<Mutex<String>>::default();
        let shown = newest.clone();
        let now = move || shown.lock().map_or_else(|_| String::new(), |newest| newest.clone());
        let is_shown = !json && std::io::stderr().is_terminal();
        let waiting = is_shown.then(|| Waiting::start(now, std::io::stderr()));
        StepDisplay { newest, waiting, json }
    }

    fn show(&self, step: &PruneStep<'_>) {
        match step {
            _ if self.json => {}
            PruneStep::Failed(..) => {
                let wipe = if self.waiting.is_some() { "\r\x1b[K" } else { "" };
                // A failure to write it cannot be reported anywhere.
                let _ = writeln!(std::io::stderr(), "{wipe}{}", pages::step(step));
            }
            step => {
                if let Ok(mut newest) = self.newest.lock() {
                    *newest = pages::step(step);
                }
            }
        }
    }
}
