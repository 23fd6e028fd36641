//! Whether some order of overlapping calls explains all their answers: the linearizability search of
//! Wing and Gong with Lowe's memoization, over any [`State`].
//!
//! A call takes effect at one moment between its begin and its end. A call that never ended may take
//! effect at any moment after its begin, or never. An undetermined effect gives several states after
//! a call. A call that changes nothing and whose answer is allowed now is taken at once: later it
//! could explain no more than now. A search that exceeds its budget has no verdict.

use std::collections::HashSet;
use std::hash::Hash;

/// A state and its possible successors.
pub trait State: Clone {
    /// A call, with its answer if there was one.
    type Call;
    /// Equal for states with the same successors.
    type Key: Eq + Hash + Clone;
    /// Why an answer is not allowed now.
    type Refusal;

    /// All states after a call; empty where a call without an answer has no effect now.
    ///
    /// # Errors
    /// The answer is not allowed in this state.
    fn after(&self, call: &Self::Call) -> Result<Vec<Self>, Self::Refusal>;

    /// The key that distinguishes the state from others.
    fn key(&self) -> Self::Key;
}

/// A call with its begin and its end.
#[derive(Clone, Debug)]
pub struct Timed<C> {
    /// When the call began.
    pub begin: u64,
    /// When the call was answered, if it was.
    pub end: Option<u64>,
    /// The call itself.
    pub call: C,
}

/// One way to explain all answers.
#[derive(Clone, Debug)]
pub struct Explained<S> {
    /// The state afterwards.
    pub state: S,
    /// The indices of the calls without an answer that have not taken effect.
    pub pending: Vec<usize>,
}

/// Calls that no order explains.
#[derive(Clone, Debug)]
pub struct Unexplained<R> {
    /// An order of calls that explains as many answers as possible, the earliest call first.
    pub order: Vec<usize>,
    /// The next call, whose answer is not explained.
    pub first: usize,
    /// Why its answer is not allowed after that order.
    pub refusal: R,
}

/// The result of a search.
#[derive(Clone, Debug)]
pub enum Verdict<S, R> {
    /// Every way to explain the answers, as far as the final states differ.
    Explained(Vec<Explained<S>>),
    /// No order explains the answers.
    Unexplained(Unexplained<R>),
    /// The budget was spent before there was a verdict.
    Unknown,
}

/// A node of the search.
#[derive(Clone)]
struct Node<S> {
    state: S,
    done: Vec<bool>,
    order: Vec<usize>,
}

struct Search<'a, S: State> {
    calls: &'a [Timed<S::Call>],
    /// The indices of the answered calls, in the order of their answers.
    answered: Vec<usize>,
    visited: HashSet<(Vec<bool>, S::Key)>,
    found: Vec<Explained<S>>,
    /// The largest number of leading answers that a node explained, and that node.
    best: Option<(usize, Node<S>)>,
}

/// Searches for every order of `calls` that explains their answers from `start` on, in at most
/// `budget` steps. Each step reduces the budget.
pub fn explain<S: State>(
    start: &S,
    calls: &[Timed<S::Call>],
    budget: &mut usize,
) -> Verdict<S, S::Refusal> {
    let mut answered: Vec<usize> =
        (0..calls.len()).filter(|index| calls[*index].end.is_some()).collect();
    answered.sort_by_key(|index| calls[*index].end);
    let mut search =
        Search { calls, answered, visited: HashSet::new(), found: Vec::new(), best: None };
    let state = start.clone();
    let done = vec![false; calls.len()];
    let mut waiting = vec![Node { state, done, order: Vec::new() }];
    while let Some(mut node) = waiting.pop() {
        if !search.take_calls_without_effect(&mut node, budget) {
            return Verdict::Unknown;
        }
        if search.visited.insert((node.done.clone(), node.state.key())) {
            search.expand(node, &mut waiting);
        }
    }
    search.verdict()
}

impl<S: State> Search<'_, S> {
    /// The calls that may come next: those that began before any remaining call was answered.
    fn next(&self, node: &Node<S>) -> Vec<usize> {
        let remaining = self.answered.iter().find(|index| !node.done[**index]);
        let first_end = remaining.and_then(|index| self.calls[*index].end).unwrap_or(u64::MAX);
        let may_be_next =
            |index: &usize| !node.done[*index] && self.calls[*index].begin < first_end;
        (0..self.calls.len()).filter(may_be_next).collect()
    }

    /// Returns false where the budget is spent.
    fn take_calls_without_effect(&self, node: &mut Node<S>, budget: &mut usize) -> bool {
        loop {
            let key = node.state.key();
            let mut taken = false;
            for index in self.next(node) {
                if self.calls[index].end.is_none() {
                    continue;
                }
                let Some(remaining) = budget.checked_sub(1) else { return false };
                *budget = remaining;
                let Ok(mut states) = node.state.after(&self.calls[index].call) else { continue };
                if let Some(state) =
                    states.pop().filter(|state| states.is_empty() && state.key() == key)
                {
                    node.state = state;
                    node.done[index] = true;
                    node.order.push(index);
                    taken = true;
                }
            }
            if !taken {
                return true;
            }
        }
    }

    fn expand(&mut self, node: Node<S>, waiting: &mut Vec<Node<S>>) {
        let explained = self.answered.iter().take_while(|index| node.done[**index]).count();
        if explained == self.answered.len() {
            let pending = (0..self.calls.len()).filter(|index| !node.done[*index]).collect();
            return self.found.push(Explained { state: node.state, pending });
        }
        for index in self.next(&node).into_iter().rev() {
            for state in node.state.after(&self.calls[index].call).unwrap_or_default() {
                let mut next = Node { state, ..node.clone() };
                next.done[index] = true;
                next.order.push(index);
                waiting.push(next);
            }
        }
        if self.best.as_ref().is_none_or(|(maximum, _)| explained > *maximum) {
            self.best = Some((explained, node));
        }
    }

    fn verdict(self) -> Verdict<S, S::Refusal> {
        if !self.found.is_empty() {
            return Verdict::Explained(without_covered(self.found));
        }
        let (explained, node) = self.best.expect("what explains all answers was found");
        let first = self.answered[explained];
        match node.state.after(&self.calls[first].call) {
            Err(refusal) => Verdict::Unexplained(Unexplained { order: node.order, first, refusal }),
            // The search holds the state after the call, which explains one answer more.
            Ok(_) => Verdict::Unknown,
        }
    }
}

/// Removes each explanation that another one covers: an equal state with the same pending calls and
/// possibly more, each of which may never take effect.
fn without_covered<S: State>(mut found: Vec<Explained<S>>) -> Vec<Explained<S>> {
    found.sort_by_key(|explanation| std::cmp::Reverse(explanation.pending.len()));
    let mut kept: Vec<(S::Key, Explained<S>)> = Vec::new();
    for explanation in found {
        let key = explanation.state.key();
        let covers = |(kept_key, wider): &(S::Key, Explained<S>)| {
            *kept_key == key
                && explanation.pending.iter().all(|index| wider.pending.contains(index))
        };
        if !kept.iter().any(covers) {
            kept.push((key, explanation));
        }
    }
    kept.into_iter().map(|(_, explanation)| explanation).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A register that holds one number.
    #[derive(Clone, Debug, PartialEq)]
    struct Register(u32);

    #[derive(Clone, Copy, Debug)]
    enum Call {
        Write(u32),
        Read(u32),
        /// Writes either number.
        WriteEither(u32, u32),
    }

    impl State for Register {
        type Call = Call;
        type Key = u32;
        type Refusal = String;

        fn after(&self, call: &Call) -> Result<Vec<Self>, String> {
            match *call {
                Call::Write(number) => Ok(vec![Register(number)]),
                Call::WriteEither(first, second) => Ok(vec![Register(first), Register(second)]),
                Call::Read(number) if number == self.0 => Ok(vec![self.clone()]),
                Call::Read(_) => Err(format!("it holds {}", self.0)),
            }
        }

        fn key(&self) -> u32 {
            self.0
        }
    }

    fn timed(begin: u64, end: u64, call: Call) -> Timed<Call> {
        Timed { begin, end: Some(end), call }
    }

    fn explained(calls: &[Timed<Call>]) -> Result<Vec<u32>, Unexplained<String>> {
        match explain(&Register(0), calls, &mut 10_000) {
            Verdict::Explained(explanations) => {
                let mut numbers: Vec<u32> =
                    explanations.into_iter().map(|explanation| explanation.state.0).collect();
                numbers.sort_unstable();
                numbers.dedup();
                Ok(numbers)
            }
            Verdict::Unexplained(unexplained) => Err(unexplained),
            Verdict::Unknown => panic!("the budget was spent"),
        }
    }

    #[test]
    fn explain_accepts_any_order_of_overlapping_calls() {
        let calls = [
            timed(0, 9, Call::Write(1)),
            timed(1, 8, Call::Write(2)),
            timed(2, 3, Call::Read(2)),
            timed(4, 5, Call::Read(1)),
        ];
        assert_eq!(explained(&calls).unwrap(), [1]);
        assert_eq!(explained(&calls[..3]).unwrap(), [1, 2]);
    }

    #[test]
    fn explain_reports_a_stale_read_as_the_first_unexplained_answer() {
        let calls = [
            timed(0, 1, Call::Write(1)),
            timed(2, 3, Call::Read(1)),
            timed(4, 5, Call::Read(0)),
            timed(6, 7, Call::Read(1)),
        ];
        let unexplained = explained(&calls).unwrap_err();
        assert_eq!(
            (unexplained.first, &unexplained.order[..], &unexplained.refusal[..]),
            (2, &[0, 1][..], "it holds 1")
        );
    }

    #[test]
    fn explain_refuses_an_old_value_after_a_new_one_while_the_write_is_open() {
        let write = timed(0, 9, Call::Write(1));
        let new = timed(1, 2, Call::Read(1));
        let old = timed(3, 4, Call::Read(0));
        assert_eq!(explained(&[write.clone(), new.clone(), old]).unwrap_err().first, 2);
        let old = timed(1, 5, Call::Read(0));
        assert_eq!(explained(&[write, new, old]).unwrap(), [1]);
    }

    #[test]
    fn explain_lets_a_call_without_an_answer_take_effect_at_any_later_time_or_never() {
        let killed = Timed { begin: 0, end: None, call: Call::Write(1) };
        let calls = [killed, timed(1, 2, Call::Read(0)), timed(8, 9, Call::Read(1))];
        assert_eq!(explained(&calls).unwrap(), [1]);
        assert_eq!(explained(&calls[..2]).unwrap(), [0]);
        let calls = [calls[0].clone(), timed(1, 2, Call::Read(1)), timed(3, 4, Call::Read(0))];
        assert_eq!(explained(&calls).unwrap_err().first, 2);
    }

    #[test]
    fn explain_keeps_a_call_without_an_answer_pending_until_it_takes_effect() {
        let killed = Timed { begin: 0, end: None, call: Call::Write(1) };
        let pending = |calls: &[Timed<Call>]| match explain(&Register(0), calls, &mut 100) {
            Verdict::Explained(explanations) => {
                explanations.into_iter().map(|explanation| explanation.pending).collect::<Vec<_>>()
            }
            verdict => panic!("{verdict:?}"),
        };
        assert_eq!(pending(&[killed.clone(), timed(1, 2, Call::Read(0))]), [[0]]);
        assert_eq!(pending(&[killed, timed(1, 2, Call::Read(1))]), [Vec::<usize>::new()]);
    }

    #[test]
    fn explain_settles_an_undetermined_write_by_a_later_read() {
        let calls = [timed(0, 1, Call::WriteEither(1, 2)), timed(2, 3, Call::Read(2))];
        assert_eq!(explained(&calls[..1]).unwrap(), [1, 2]);
        assert_eq!(explained(&calls).unwrap(), [2]);
    }

    #[test]
    fn explain_has_no_verdict_once_the_budget_is_spent() {
        let calls: Vec<_> =
            (0..9).map(|time| timed(time, 100 + time, Call::Write(1 + time as u32))).collect();
        let verdict = |calls: &[Timed<Call>], mut budget| explain(&Register(0), calls, &mut budget);
        assert!(matches!(verdict(&calls, 20), Verdict::Unknown));
        // The same holds where the answers are wrong.
        let wrong = [&calls[..], &[timed(200, 201, Call::Read(99))]].concat();
        assert!(matches!(verdict(&wrong, 20), Verdict::Unknown));
        assert!(matches!(
            verdict(&wrong, 1_000_000),
            Verdict::Unexplained(unexplained) if unexplained.first == 9
        ));
    }

    #[test]
    fn explain_stays_within_its_budget_for_many_calls() {
        let writes = (0..12).map(|time| timed(time, 100 + time, Call::Write(time as u32 % 2)));
        let reads = (0..60).map(|time| timed(20 + time, 90, Call::Read(0)));
        let calls: Vec<_> = writes.chain(reads).collect();
        let mut budget = 2_000_000;
        assert!(matches!(explain(&Register(0), &calls, &mut budget), Verdict::Explained(_)));
    }
}
