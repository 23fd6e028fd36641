//! Pruning the store, and clearing it after the person confirmed it.
//!
//! Questions go to standard error, so that standard output is only the answer.

use crate::arguments::PruneArguments;
use crate::commands::{Answer, Ending, Failure, Herma};
use crate::maintenance_pages as pages;
use crate::programs::Clearing;
use crate::text;
use herma_core::{Cleared, ClearedLegacy, PruneOptions, PruneStep};
use serde::Serialize;
use std::io::{BufRead, IsTerminal, Read, Stderr, Write};
use std::time::{Duration, Instant};

/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;
/// Bytes of a megabyte, as the configuration means it.
const MEGABYTE: u64 = 1024 * 1024;
/// Progress is shown after this time.
const QUIET: Duration = Duration::from_secs(1);
/// More bytes than any answer to a question takes.
const REPLY_BYTES_MAX: u64 = 1_024;

impl Herma {
    /// Removes what is gone or old, as far as it can.
    pub fn prune(&self, asked: &PruneArguments) -> Result<Answer, Failure> {
        let configured = PruneOptions::from(self.manager.config());
        // What is too large for the type is the largest there is.
        let retention = asked.retention_days.map(|days| days.saturating_mul(DAY));
        let size = asked.max_size_mb.map(|size| size.saturating_mul(MEGABYTE));
        let options = PruneOptions {
            retention_seconds: retention.unwrap_or(configured.retention_seconds),
            max_total_bytes: size.unwrap_or(configured.max_total_bytes),
            delete_orphans: configured.delete_orphans && !asked.keep_orphans,
        };
        let mut progress = Progress::start(self.json);
        let pruned = self.manager.prune(&options, &mut |step| progress.show(&step));
        progress.wipe();
        let pruned = pruned?;
        let answer = self.done(&pruned, || pages::pruned(&pruned))?;
        if pruned.errors == 0 {
            return Ok(answer);
        }
        let things = text::count(pruned.errors, "thing", "things");
        let message = format!(
            "{things} could not be done and stayed as it was; the rest was done: fix the cause \
             and prune again"
        );
        Ok(Answer { ending: Ending::Incomplete(Failure { code: "incomplete", message }), ..answer })
    }

    /// Reads everything that is stored.
    pub fn verify(&self) -> Result<Answer, Failure> {
        let mut progress = Progress::start(self.json);
        let verified = self.manager.verify(&mut |number, of| {
            progress.show(&PruneStep::Project(number, of));
        });
        progress.wipe();
        let verified = verified?;
        let answer = self.done(&verified, || pages::verified(&verified))?;
        if verified.is_whole() {
            return Ok(answer);
        }
        let message = "something stored is damaged; nothing was changed: take a checkpoint of the \
                       projects, which stores again what they still have"
            .to_owned();
        Ok(Answer { ending: Ending::Incomplete(Failure { code: "damaged", message }), ..answer })
    }

    /// Removes everything, if forced or confirmed.
    pub fn clear(&self, force: bool) -> Result<Answer, Failure> {
        let holdings = self.manager.holdings()?;
        if holdings.entries == 0 {
            return self.cleared(&Cleared::default(), pages::NOTHING_TO_CLEAR.to_vec());
        }
        if !force && !is_confirmed(&pages::clear_question(&self.environment.base, &holdings)) {
            return self.declined(&Cleared::default());
        }
        let cleared = self.manager.clear()?;
        self.cleared(&cleared, pages::cleared(&cleared))
    }

    /// Removes the legacy archives, if forced or confirmed.
    pub fn clear_legacy(&self, force: bool) -> Result<Answer, Failure> {
        let holdings = self.manager.holdings()?;
        if holdings.archives == 0 {
            return self.cleared(&ClearedLegacy::default(), pages::NO_ARCHIVES.to_vec());
        }
        if !force && !is_confirmed(&pages::clear_legacy_question(&self.environment.base, &holdings))
        {
            return self.declined(&ClearedLegacy::default());
        }
        let cleared = self.manager.clear_legacy()?;
        self.cleared(&cleared, pages::cleared_legacy(&cleared))
    }

    fn cleared(&self, cleared: &impl Serialize, page: Vec<u8>) -> Result<Answer, Failure> {
        self.done(&Clearing { declined: false, cleared }, || page)
    }

    fn declined(&self, nothing: &impl Serialize) -> Result<Answer, Failure> {
        let data = Clearing { declined: true, cleared: nothing };
        let answer = self.done(&data, || pages::DECLINED.to_vec())?;
        Ok(Answer { ending: Ending::Declined, ..answer })
    }
}

/// Asks a question and reads one line. Anything but a yes is a no, also the end of the input.
fn is_confirmed(question: &str) -> bool {
    let mut error = std::io::stderr();
    if error.write_all(question.as_bytes()).and_then(|()| error.flush()).is_err() {
        // Whoever was not asked cannot have said yes.
        return false;
    }
    let mut reply = Vec::new();
    let read = std::io::stdin().lock().take(REPLY_BYTES_MAX).read_until(b'\n', &mut reply);
    if !reply.ends_with(b"\n") {
        // The line of the question is not ended yet.
        let _ = error.write_all(b"\n");
    }
    let reply = reply.trim_ascii().to_ascii_lowercase();
    read.is_ok() && matches!(reply.as_slice(), b"y" | b"yes")
}

/// Shows the progress of long work on a terminal, on one line that is written over.
struct Progress<W> {
    output: W,
    started: Instant,
    is_shown: bool,
    is_wanted: bool,
    terminal: bool,
}

impl Progress<Stderr> {
    /// With JSON nothing is shown: the answer has it all.
    fn start(json: bool) -> Self {
        let output = std::io::stderr();
        let terminal = output.is_terminal();
        Progress { output, started: Instant::now(), is_shown: false, is_wanted: !json, terminal }
    }
}

impl<W: Write> Progress<W> {
    fn show(&mut self, step: &PruneStep<'_>) {
        if !self.is_wanted {
            return;
        }
        // Nobody is left to be told where these cannot be written.
        if let PruneStep::Failed(..) = step {
            self.wipe();
            let _ = writeln!(self.output, "{}", pages::step(step));
        } else if self.terminal && is_long(self.started.elapsed()) {
            self.wipe();
            let _ = write!(self.output, "{}", pages::step(step));
            self.is_shown = true;
        }
    }

    fn wipe(&mut self) {
        if self.is_shown {
            let _ = write!(self.output, "\r\x1b[K");
            self.is_shown = false;
        }
    }
}

fn is_long(elapsed: Duration) -> bool {
    elapsed > QUIET
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_written_over_the_one_before_and_wiped_in_the_end() {
        let mut output = Vec::new();
        let started = Instant::now().checked_sub(2 * QUIET).unwrap();
        let (is_shown, is_wanted, terminal) = (false, true, true);
        let mut progress = Progress { output: &mut output, started, is_shown, is_wanted, terminal };
        progress.show(&PruneStep::Project(1, 2));
        progress.show(&PruneStep::Reclaiming);
        progress.wipe();
        progress.wipe();
        let text = String::from_utf8(output).unwrap();
        assert_eq!(text, "Looking at project 1 of 2\r\x1b[KFreeing space\r\x1b[K");
    }

    #[test]
    fn what_is_no_terminal_is_told_of_no_step() {
        let mut output = Vec::new();
        let started = Instant::now().checked_sub(2 * QUIET).unwrap();
        let (is_shown, is_wanted, terminal) = (false, true, false);
        let mut progress = Progress { output: &mut output, started, is_shown, is_wanted, terminal };
        progress.show(&PruneStep::Reclaiming);
        progress.wipe();
        assert_eq!(output, b"");
    }

    #[test]
    fn nothing_is_said_in_the_first_second() {
        assert!(!is_long(QUIET));
        assert!(is_long(QUIET + Duration::from_nanos(1)));
    }
}
