//! Judges two overlapping requests of two processes: one is made while a call of the other waits. The
//! result must be as if they had been made one after the other, in either order.

use crate::answer::{Answer, Code, Counts};
use crate::bytes::below;
use crate::observation::Observation;
use crate::request::Request;
use crate::rules;
use crate::verdict::Checks;
use crate::world::World;

impl World {
    /// Whether every possible result of the two requests is that of some order. A capture during a
    /// restore of the same project may mix the states before and after.
    pub fn has_order(&self, request: &Request, overlapping: &Request) -> bool {
        let project = |request: &Request| request.dir().and_then(|dir| self.canonical(dir));
        let (Some(left), Some(right)) = (project(request), project(overlapping)) else {
            return true;
        };
        let is_apart =
            left != right && below(&left, &right).is_none() && below(&right, &left).is_none();
        !request.restores() || is_apart
    }

    /// Compares the answers and effects of two requests: `seen` is of the first, and `request`
    /// got its answer meanwhile. Returns the world after them, where some order explains the observation.
    ///
    /// Implements [`rules::CONCURRENT_SERIAL`]. Where no order does, the violations are those with
    /// the overlapping request first.
    pub fn compare_overlapped(
        &self,
        seen: &Observation,
        request: &Request,
        answer: &Answer,
    ) -> (Checks, Option<World>) {
        let mut orders = [
            self.in_order(seen, request, answer, true),
            self.in_order(seen, request, answer, false),
        ];
        let is_right = |(checks, _): &(Checks, World)| checks.violations.is_empty();
        let right = orders.iter().position(is_right);
        let (mut checks, world) =
            std::mem::replace(&mut orders[right.unwrap_or(0)], (Checks::default(), self.clone()));
        checks.held(&rules::CONCURRENT_SERIAL, 1);
        (checks, right.map(|_| world))
    }

    /// The comparison of the two requests in one order, and the world after both. The store was examined
    /// after the second.
    fn in_order(
        &self,
        seen: &Observation,
        request: &Request,
        answer: &Answer,
        is_overlapping_first: bool,
    ) -> (Checks, World) {
        let interrupted = Observation { base_changes: None, ..seen.clone() };
        let Observation { base, contents, histories, lost, .. } = seen.clone();
        let overlapping = Observation::new(of_a_turn(request), answer.clone(), seen.files.clone());
        let overlapping = Observation { base, contents, histories, lost, ..overlapping };
        let mut observations = vec![interrupted, overlapping];
        if is_overlapping_first {
            observations.reverse();
        }
        // A request that is refused as busy did nothing.
        observations.retain(|observation| {
            !matches!(observation.answer, Answer::Refused { code: Code::Busy, .. })
        });
        let mut checks = Checks::default();
        let mut world = self.clone();
        let count = observations.len();
        for (index, mut observation) in observations.into_iter().enumerate() {
            // Also after a prune: while it holds the store, no checkpoint frees space.
            world.mark_size_uncertain();
            if let Answer::Swept { counts, .. } = &mut observation.answer {
                *counts = Counts { errors: 0, ..*counts };
            }
            if index + 1 < count {
                observation =
                    Observation::new(observation.request, observation.answer, observation.files);
            }
            let allowed = world.allows(&observation.request);
            checks.join(world.compare(&allowed, &observation));
            world.learn(&observation);
            // What a sweep removed first is missing from the base, which was seen after both.
            if let (Answer::Swept { counts, .. }, Some(base)) = (&observation.answer, &seen.base)
                && counts.orphans + counts.stale > 0
            {
                world.maintenance.forget_missing(base);
            }
        }
        (checks, world)
    }
}

/// The request as another process makes it: its automatic checkpoint is the first of its turn.
pub(crate) fn of_a_turn(request: &Request) -> Request {
    match request.clone() {
        Request::EnsureCheckpoint { dir, reason } => Request::Checkpoint { dir, reason },
        request => request,
    }
}
