//! Finds out whether some order of overlapping calls explains all their answers, by the linearizability
//! search of Wing and Gong with Lowe's memoization, over any [`SequentialState`].
//!
//! A call takes effect at one moment between its begin and its end. A call that never ended may take effect
//! at any moment after its begin, or never. A call whose effect is undetermined leads to several states. A
//! call that changes nothing is placed as soon as its answer is allowed: placing it later could explain no
//! more. A search that exceeds its budget has no verdict.

use std::collections::HashSet;

/// A state and its possible successors.
///
/// A call `C` contains its answer, if there was one.
pub trait SequentialState<C>: Clone {
    /// Why an answer is not allowed now.
    type Err;

    /// All states after a call; empty where a call without an answer has no effect now.
    ///
    /// # Errors
    /// The answer is not allowed in this state.
    fn after(&self, call: &C) -> Result<Vec<Self>, Self::Err>;

    /// The key of the state: equal for states with the same successors.
    fn key(&self) -> String;
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
pub enum SearchResult<S, R> {
    /// Every way to explain the answers, as far as the final states differ.
    Explained(Vec<Explained<S>>),
    /// No order explains the answers.
    Unexplained(Unexplained<R>),
    /// The budget was spent before there was a verdict.
    Unknown,
}

/// A node of the search.
#[derive(Clone)]
struct SearchNode<S> {
    state: S,
    done: Vec<bool>,
    order: Vec<usize>,
}

struct OrderSearch<'a, S, C> {
    calls: &'a [Timed<C>],
    /// The indices of the answered calls, in the order of their answers.
    answered: Vec<usize>,
    visited: HashSet<(Vec<bool>, String)>,
    found: Vec<Explained<S>>,
    /// The largest number of leading answers that a node explained, and that node.
    best: Option<(usize, SearchNode<S>)>,
}

/// Searches for every order of `calls` that explains their answers from `start` on, in at most
/// `budget` steps. Each step reduces the budget.
pub fn explain<S: SequentialState<C>, C>(
    start: &S,
    calls: &[Timed<C>],
    budget: &mut usize,
) -> SearchResult<S, S::Err> {
    let mut answered: Vec<usize> =
        (0..calls.len()).filter(|index| calls[*index].end.is_some()).collect();
    answered.sort_by_key(|index| calls[*index].end);
    let mut search =
        OrderSearch { calls, answered, visited: HashSet::new(), found: Vec::new(), best: None };
    let state = start.clone();
    let done = vec![false; calls.len()];
    let mut waiting = vec![SearchNode { state, done, order: Vec::new() }];
    while let Some(mut node) = waiting.pop() {
        if !search.take_calls_without_effect(&mut node, budget) {
            return SearchResult::Unknown;
        }
        if search.visited.insert((node.done.clone(), node.state.key())) {
            search.expand(node, &mut waiting);
        }
    }
    search.result()
}

impl<S: SequentialState<C>, C> OrderSearch<'_, S, C> {
    /// The calls that may come next: those that began before any remaining call was answered.
    fn next(&self, node: &SearchNode<S>) -> Vec<usize> {
        let remaining = self.answered.iter().find(|index| !node.done[**index]);
        let first_end = remaining.and_then(|index| self.calls[*index].end).unwrap_or(u64::MAX);
        let may_be_next =
            |index: &usize| !node.done[*index] && self.calls[*index].begin < first_end;
        (0..self.calls.len()).filter(may_be_next).collect()
    }

    /// Returns false where the budget is spent.
    fn take_calls_without_effect(&self, node: &mut SearchNode<S>, budget: &mut usize) -> bool {
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

    fn expand(&mut self, node: SearchNode<S>, waiting: &mut Vec<SearchNode<S>>) {
        let explained = self.answered.iter().take_while(|index| node.done[**index]).count();
        if explained == self.answered.len() {
            let pending = (0..self.calls.len()).filter(|index| !node.done[*index]).collect();
            return self.found.push(Explained { state: node.state, pending });
        }
        for index in self.next(&node).into_iter().rev() {
            for state in node.state.after(&self.calls[index].call).unwrap_or_default() {
                let mut next = SearchNode { state, ..node.clone() };
                next.done[index] = true;
                next.order.push(index);
                waiting.push(next);
            }
        }
        if self.best.as_ref().is_none_or(|(maximum, _)| explained > *maximum) {
            self.best = Some((explained, node));
        }
    }

    fn result(self) -> SearchResult<S, S::Err> {
        if !self.found.is_empty() {
            return SearchResult::Explained(without_covered(self.found));
        }
        let (explained, node) = self.best.expect("an order that explains all answers was found");
        let first = self.answered[explained];
        match node.state.after(&self.calls[first].call) {
            Err(refusal) => {
                SearchResult::Unexplained(Unexplained { order: node.order, first, refusal })
            }
            // The search holds the state after the call, which explains one answer more.
            Ok(_) => SearchResult::Unknown,
        }
    }
}

/// Removes each explanation that another one covers: an equal state with the same pending calls and
/// possibly more, each of which may never take effect.
fn without_covered<S: SequentialState<C>, C>(mut found: Vec<Explained<S>>) -> Vec<Explained<S>> {
    found.sort_by_key(|explanation| std::cmp::Reverse(explanation.pending.len()));
    let mut kept: Vec<(String, Explained<S>)> = Vec::new();
    for explanation in found {
        let key = explanation.state.key();
        let covers = |(kept_key, wider): &(String, Explained<S>)| {
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
    enum RegisterCall {
        Write(u32),
        Read(u32),
        /// Writes either number.
        WriteEither(u32, u32),
    }

    impl SequentialState<RegisterCall> for Register {
        type Err = String;

        fn after(&self, call: &RegisterCall) -> Result<Vec<Self>, String> {
            match *call {
                RegisterCall::Write(number) => Ok(vec![Register(number)]),
                RegisterCall::WriteEither(first, second) => {
                    Ok(vec![Register(first), Register(second)])
                }
                RegisterCall::Read(number) if number == self.0 => Ok(vec![self.clone()]),
                RegisterCall::Read(_) => Err(format!("it holds {}", self.0)),
            }
        }

        fn key(&self) -> String {
            self.0.to_string()
        }
    }

    fn timed(begin: u64, end: u64, call: RegisterCall) -> Timed<RegisterCall> {
        Timed { begin, end: Some(end), call }
    }

    fn explained(calls: &[Timed<RegisterCall>]) -> Result<Vec<u32>, Unexplained<String>> {
        match explain(&Register(0), calls, &mut 10_000) {
            SearchResult::Explained(explanations) => {
                let mut numbers: Vec<u32> =
                    explanations.into_iter().map(|explanation| explanation.state.0).collect();
                numbers.sort_unstable();
                numbers.dedup();
                Ok(numbers)
            }
            SearchResult::Unexplained(unexplained) => Err(unexplained),
            SearchResult::Unknown => panic!("the budget was spent"),
        }
    }

    #[test]
    fn explain_accepts_any_order_of_overlapping_calls() {
        let calls = [
            timed(0, 9, RegisterCall::Write(1)),
            timed(1, 8, RegisterCall::Write(2)),
            timed(2, 3, RegisterCall::Read(2)),
            timed(4, 5, RegisterCall::Read(1)),
        ];
        assert_eq!(explained(&calls).unwrap(), [1]);
        assert_eq!(explained(&calls[..3]).unwrap(), [1, 2]);
    }

    #[test]
    fn explain_reports_a_stale_read_as_the_first_unexplained_answer() {
        let calls = [
            timed(0, 1, RegisterCall::Write(1)),
            timed(2, 3, RegisterCall::Read(1)),
            timed(4, 5, RegisterCall::Read(0)),
            timed(6, 7, RegisterCall::Read(1)),
        ];
        let unexplained = explained(&calls).unwrap_err();
        assert_eq!(
            (unexplained.first, &unexplained.order[..], &unexplained.refusal[..]),
            (2, &[0, 1][..], "it holds 1")
        );
    }

    #[test]
    fn explain_refuses_an_old_value_after_a_new_one_while_the_write_is_open() {
        let write = timed(0, 9, RegisterCall::Write(1));
        let new = timed(1, 2, RegisterCall::Read(1));
        let old = timed(3, 4, RegisterCall::Read(0));
        assert_eq!(explained(&[write.clone(), new.clone(), old]).unwrap_err().first, 2);
        let old = timed(1, 5, RegisterCall::Read(0));
        assert_eq!(explained(&[write, new, old]).unwrap(), [1]);
    }

    #[test]
    fn explain_lets_a_call_without_an_answer_take_effect_at_any_later_time_or_never() {
        let killed = Timed { begin: 0, end: None, call: RegisterCall::Write(1) };
        let calls =
            [killed, timed(1, 2, RegisterCall::Read(0)), timed(8, 9, RegisterCall::Read(1))];
        assert_eq!(explained(&calls).unwrap(), [1]);
        assert_eq!(explained(&calls[..2]).unwrap(), [0]);
        let calls = [
            calls[0].clone(),
            timed(1, 2, RegisterCall::Read(1)),
            timed(3, 4, RegisterCall::Read(0)),
        ];
        assert_eq!(explained(&calls).unwrap_err().first, 2);
    }

    #[test]
    fn explain_keeps_a_call_without_an_answer_pending_until_it_takes_effect() {
        let killed = Timed { begin: 0, end: None, call: RegisterCall::Write(1) };
        let pending = |calls: &[Timed<RegisterCall>]| match explain(&Register(0), calls, &mut 100) {
            SearchResult::Explained(explanations) => {
                explanations.into_iter().map(|explanation| explanation.pending).collect::<Vec<_>>()
            }
            verdict => panic!("{verdict:?}"),
        };
        assert_eq!(pending(&[killed.clone(), timed(1, 2, RegisterCall::Read(0))]), [[0]]);
        assert_eq!(pending(&[killed, timed(1, 2, RegisterCall::Read(1))]), [Vec::<usize>::new()]);
    }

    #[test]
    fn explain_settles_an_undetermined_write_by_a_later_read() {
        let calls =
            [timed(0, 1, RegisterCall::WriteEither(1, 2)), timed(2, 3, RegisterCall::Read(2))];
        assert_eq!(explained(&calls[..1]).unwrap(), [1, 2]);
        assert_eq!(explained(&calls).unwrap(), [2]);
    }

    #[test]
    fn explain_has_no_verdict_once_the_budget_is_spent() {
        let calls: Vec<_> = (0..9)
            .map(|time| timed(time, 100 + time, RegisterCall::Write(1 + time as u32)))
            .collect();
        let verdict =
            |calls: &[Timed<RegisterCall>], mut budget| explain(&Register(0), calls, &mut budget);
        assert!(matches!(verdict(&calls, 20), SearchResult::Unknown));
        // The same holds where the answers are wrong.
        let wrong = [&calls[..], &[timed(200, 201, RegisterCall::Read(99))]].concat();
        assert!(matches!(verdict(&wrong, 20), SearchResult::Unknown));
        assert!(matches!(
            verdict(&wrong, 1_000_000),
            SearchResult::Unexplained(unexplained) if unexplained.first == 9
        ));
    }

    #[test]
    fn explain_stays_within_its_budget_for_many_calls() {
        let writes =
            (0..12).map(|time| timed(time, 100 + time, RegisterCall::Write(time as u32 % 2)));
        let reads = (0..60).map(|time| timed(20 + time, 90, RegisterCall::Read(0)));
        let calls: Vec<_> = writes.chain(reads).collect();
        let mut budget = 2_000_000;
        assert!(matches!(explain(&Register(0), &calls, &mut budget), SearchResult::Explained(_)));
    }
}
