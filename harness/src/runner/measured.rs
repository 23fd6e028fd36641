//! Measuring in a run: a request goes to a new process, and the memory and reads of its processes are
//! part of the observation.

use super::{RunError, Runner};
use crate::coverage;
use crate::protocol::translate;
use herma_model::Request;
use std::thread;
use std::time::{Duration, SystemTime};

/// The coarsest resolution of file times for any tool, and the tolerated difference between two clocks.
const TICK: Duration = Duration::from_secs(1);
const CLOCKS_DIFFER: Duration = Duration::from_millis(100);

impl Runner<'_> {
    /// Judges a request and measures it: allow, observe, compare, learn. Returns whether it could be judged.
    pub(super) fn judge_measured(
        &mut self,
        step: usize,
        request: &Request,
    ) -> Result<bool, RunError> {
        self.run.operations += 1;
        self.check_files(step)?;
        let is_checkpoint =
            matches!(request, Request::Checkpoint { .. } | Request::EnsureCheckpoint { .. });
        if is_checkpoint && !self.world.is_settled() {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            thread::sleep(TICK - Duration::from_nanos(now.subsec_nanos().into()) + CLOCKS_DIFFER);
        }
        self.learn_restart(true);
        let state = coverage::state(&self.world, request);
        let allowed = self.world.allows(request);
        let mut measured = None;
        let mut seen = self.observe_with(step, request, &allowed, &mut |subject, request| {
            let (answer, figures) = subject.ask_measured(request);
            measured = figures;
            answer
        })?;
        seen.measured = measured;
        if self.watch.is_some() {
            // The process that replied has ended.
            self.reply = translate::reply(0, seen.answer.clone()).to_string();
        }
        let judged = self.compare_and_learn(step, state, &allowed, seen)?;
        self.learn_restart(true);
        Ok(judged)
    }
}
