//! Two requests of two processes, of which the one was asked while a call of the other waited: as if
//! one of them had come first, whichever.

use crate::answer::{Answer, Code, Counts};
use crate::bytes::below;
use crate::observation::Observation;
use crate::request::Request;
use crate::rules;
use crate::verdict::Checks;
use crate::world::World;

impl World {
    /// Whether an order of the two says all that may come of them. What is captured of a project while
    /// it is restored may be of before and of after.
    pub fn has_order(&self, request: &Request, other: &Request) -> bool {
        let project = |request: &Request| request.dir().and_then(|dir| self.canonical(dir));
        let (Some(one), Some(two)) = (project(request), project(other)) else { return true };
        let is_apart = one != two && below(&one, &two).is_none() && below(&two, &one).is_none();
        !request.restores() || is_apart
    }

    /// Compares what two requests were answered, and what they left: `seen` is of the one, `other` was
    /// answered meanwhile. Returns the world after them, where some order of the two says that.
    ///
    /// Implements [`rules::CONCURRENT_SERIAL`]. What is wrong in either order is told as what is wrong
    /// where the other came first.
    pub fn compare_overlapped(
        &self,
        seen: &Observation,
        other: (&Request, &Answer),
    ) -> (Checks, Option<World>) {
        let mut all = [self.in_order(seen, other, true), self.in_order(seen, other, false)];
        let is_right = |(checks, _): &(Checks, World)| checks.violations.is_empty();
        let right = all.iter().position(is_right);
        let (mut checks, world) =
            std::mem::replace(&mut all[right.unwrap_or(0)], (Checks::default(), self.clone()));
        checks.held(&rules::CONCURRENT_SERIAL, 1);
        (checks, right.map(|_| world))
    }

    /// What is wrong where one of them came first, and the world after both. What the store holds was
    /// looked at after the second.
    fn in_order(
        &self,
        seen: &Observation,
        (request, answer): (&Request, &Answer),
        is_other_first: bool,
    ) -> (Checks, World) {
        let own = Observation { base_changes: None, ..seen.clone() };
        let Observation { base, contents, histories, lost, .. } = seen.clone();
        let other = Observation::new(of_a_turn(request), answer.clone(), seen.files.clone());
        let other = Observation { base, contents, histories, lost, ..other };
        let mut both = vec![own, other];
        if is_other_first {
            both.reverse();
        }
        // Who waited in vain did nothing.
        both.retain(|one| !matches!(one.answer, Answer::Refused { code: Code::Busy, .. }));
        let (mut all, mut world) = (Checks::default(), self.clone());
        world.doubt_upkeep();
        let count = both.len();
        for (number, mut one) in both.into_iter().enumerate() {
            if let Answer::Swept { counts, .. } = &mut one.answer {
                *counts = Counts { errors: 0, ..*counts };
            }
            if number + 1 < count {
                one = Observation::new(one.request, one.answer, one.files);
            }
            let allowed = world.allows(&one.request);
            all.join(world.compare(&allowed, &one));
            world.learn(&one);
        }
        (all, world)
    }
}

/// An automatic checkpoint of another process is the first one of its turn.
pub(crate) fn of_a_turn(request: &Request) -> Request {
    match request.clone() {
        Request::EnsureCheckpoint { dir, reason } => Request::Checkpoint { dir, reason },
        request => request,
    }
}
