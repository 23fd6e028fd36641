//! Measuring in a run: a request is asked of a process of its own, and what its processes take is a part
//! of what is observed.

use super::{RunError, Runner};
use crate::coverage;
use crate::protocol::translate;
use herma_model::Request;
use std::thread;
use std::time::{Duration, SystemTime};

/// The longest tick that the times of files have for any tool, and what two clocks may differ by.
const TICK: Duration = Duration::from_secs(1);
const CLOCKS_DIFFER: Duration = Duration::from_millis(100);

impl Runner<'_> {
    /// Allow, observe and measure, compare, learn. Returns whether that could be judged.
    pub(super) fn ask_measured(
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
        self.starts_again(true);
        let state = coverage::state(&self.world, request);
        let allowed = self.world.allows(request);
        let mut measured = None;
        let mut seen = self.observe_by(step, request, &allowed, &mut |subject, request| {
            let (answer, figures) = subject.ask_measured(request);
            measured = figures;
            answer
        })?;
        seen.measured = measured;
        if self.watch.is_some() {
            // The process that replied is gone.
            self.reply = translate::reply(0, seen.answer.clone()).to_string();
        }
        let judged = self.judge(step, state, &allowed, seen)?;
        self.starts_again(true);
        Ok(judged)
    }
}
