//! Whether some order of overlapping calls explains all their answers: the search of Wing and Gong
//! with Lowe's memo, over anything that can say what follows one call.
//!
//! A call takes effect at one moment between its begin and its end. One that never ended may take
//! effect at any moment after its begin, or never. What a state leaves open is several states
//! after a call. A call that changes nothing and may be answered so now is taken at once: later it
//! could explain no more than now. A search that costs more than it may says nothing.

use std::collections::HashSet;
use std::hash::Hash;

/// A state, and what may follow it.
pub trait State: Clone {
    /// What is called, with its answer if there was one.
    type Call;
    /// Equal for states of which the same follows.
    type Key: Eq + Hash + Clone;
    /// Why an answer is none that may be given now.
    type Refusal;

    /// All states after a call; none where one without an answer has no effect now.
    ///
    /// # Errors
    /// The answer is none that may be given in this state.
    fn after(&self, call: &Self::Call) -> Result<Vec<Self>, Self::Refusal>;

    /// What tells it from others.
    fn key(&self) -> Self::Key;
}

/// A call between two moments.
#[derive(Clone, Debug)]
pub struct Timed<C> {
    /// When it was begun.
    pub begin: u64,
    /// When it was answered, if it was.
    pub end: Option<u64>,
    /// What it is.
    pub call: C,
}

/// One way in which all answers are explained.
#[derive(Clone, Debug)]
pub struct Explained<S> {
    /// The state afterwards.
    pub state: S,
    /// The calls without an answer that have not taken effect, by their places.
    pub open: Vec<usize>,
}

/// What no order explains.
#[derive(Clone, Debug)]
pub struct Unexplained<R> {
    /// An order of calls that explains as many answers as any, the earliest first.
    pub order: Vec<usize>,
    /// The first answer that comes after it and that none explains.
    pub first: usize,
    /// Why not, after that order.
    pub why: R,
}

/// What a search found.
#[derive(Clone, Debug)]
pub enum Verdict<S, R> {
    /// Every way in which the answers are explained, as far as their states differ.
    Explained(Vec<Explained<S>>),
    /// There is none.
    Unexplained(Unexplained<R>),
    /// The budget was spent before that was known.
    Unknown,
}

/// A place in the search.
#[derive(Clone)]
struct Node<S> {
    state: S,
    done: Vec<bool>,
    order: Vec<usize>,
}

struct Search<'a, S: State> {
    calls: &'a [Timed<S::Call>],
    /// The places of the calls that were answered, in the order of their answers.
    answered: Vec<usize>,
    seen: HashSet<(Vec<bool>, S::Key)>,
    found: Vec<Explained<S>>,
    /// How many of the first answers were explained at most, and where.
    best: Option<(usize, Node<S>)>,
}

/// Looks for every order of `calls` that explains their answers from `start` on, in at most
/// `budget` steps. Each step is taken off it.
pub fn explain<S: State>(
    start: &S,
    calls: &[Timed<S::Call>],
    budget: &mut usize,
) -> Verdict<S, S::Refusal> {
    let mut answered: Vec<usize> = (0..calls.len()).filter(|at| calls[*at].end.is_some()).collect();
    answered.sort_by_key(|at| calls[*at].end);
    let (seen, found, best) = (HashSet::new(), Vec::new(), None);
    let mut search = Search { calls, answered, seen, found, best };
    let (state, done) = (start.clone(), vec![false; calls.len()]);
    let mut waiting = vec![Node { state, done, order: Vec::new() }];
    while let Some(mut node) = waiting.pop() {
        if !search.take_what_changes_nothing(&mut node, budget) {
            return Verdict::Unknown;
        }
        if search.seen.insert((node.done.clone(), node.state.key())) {
            search.look(node, &mut waiting);
        }
    }
    search.verdict()
}

impl<S: State> Search<'_, S> {
    /// The calls that may come next: begun before any that is left was answered.
    fn next(&self, node: &Node<S>) -> Vec<usize> {
        let left = self.answered.iter().find(|at| !node.done[**at]);
        let first = left.and_then(|at| self.calls[*at].end).unwrap_or(u64::MAX);
        let may = |at: &usize| !node.done[*at] && self.calls[*at].begin < first;
        (0..self.calls.len()).filter(may).collect()
    }

    /// Returns false where the budget is spent.
    fn take_what_changes_nothing(&self, node: &mut Node<S>, budget: &mut usize) -> bool {
        loop {
            let key = node.state.key();
            let mut taken = false;
            for at in self.next(node) {
                if self.calls[at].end.is_none() {
                    continue;
                }
                let Some(left) = budget.checked_sub(1) else { return false };
                *budget = left;
                let Ok(mut after) = node.state.after(&self.calls[at].call) else { continue };
                if let Some(state) = after.pop().filter(|one| after.is_empty() && one.key() == key)
                {
                    node.state = state;
                    node.done[at] = true;
                    node.order.push(at);
                    taken = true;
                }
            }
            if !taken {
                return true;
            }
        }
    }

    fn look(&mut self, node: Node<S>, waiting: &mut Vec<Node<S>>) {
        let explained = self.answered.iter().take_while(|at| node.done[**at]).count();
        if explained == self.answered.len() {
            let open = (0..self.calls.len()).filter(|at| !node.done[*at]).collect();
            return self.found.push(Explained { state: node.state, open });
        }
        for at in self.next(&node).into_iter().rev() {
            for state in node.state.after(&self.calls[at].call).unwrap_or_default() {
                let mut next = Node { state, ..node.clone() };
                next.done[at] = true;
                next.order.push(at);
                waiting.push(next);
            }
        }
        if self.best.as_ref().is_none_or(|(most, _)| explained > *most) {
            self.best = Some((explained, node));
        }
    }

    fn verdict(self) -> Verdict<S, S::Refusal> {
        if !self.found.is_empty() {
            return Verdict::Explained(without_lesser(self.found));
        }
        let (explained, node) = self.best.expect("what explains all answers was found");
        let first = self.answered[explained];
        match node.state.after(&self.calls[first].call) {
            Err(why) => Verdict::Unexplained(Unexplained { order: node.order, first, why }),
            // Its state is in the search and explains one answer more.
            Ok(_) => Verdict::Unknown,
        }
    }
}

/// A state of which the same follows as of another one follows from that, too, where the other
/// leaves more calls open: each may take no effect.
fn without_lesser<S: State>(mut found: Vec<Explained<S>>) -> Vec<Explained<S>> {
    found.sort_by_key(|one| std::cmp::Reverse(one.open.len()));
    let mut kept: Vec<(S::Key, Explained<S>)> = Vec::new();
    for one in found {
        let key = one.state.key();
        let covers = |(other, more): &(S::Key, Explained<S>)| {
            *other == key && one.open.iter().all(|at| more.open.contains(at))
        };
        if !kept.iter().any(covers) {
            kept.push((key, one));
        }
    }
    kept.into_iter().map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A place for one number.
    #[derive(Clone, Debug, PartialEq)]
    struct Register(u32);

    #[derive(Clone, Copy, Debug)]
    enum Call {
        Write(u32),
        Read(u32),
        /// Either number is kept.
        WriteOne(u32, u32),
    }

    impl State for Register {
        type Call = Call;
        type Key = u32;
        type Refusal = String;

        fn after(&self, call: &Call) -> Result<Vec<Self>, String> {
            match *call {
                Call::Write(number) => Ok(vec![Register(number)]),
                Call::WriteOne(one, other) => Ok(vec![Register(one), Register(other)]),
                Call::Read(number) if number == self.0 => Ok(vec![self.clone()]),
                Call::Read(_) => Err(format!("it holds {}", self.0)),
            }
        }

        fn key(&self) -> u32 {
            self.0
        }
    }

    fn at(begin: u64, end: u64, call: Call) -> Timed<Call> {
        Timed { begin, end: Some(end), call }
    }

    fn explained(calls: &[Timed<Call>]) -> Result<Vec<u32>, Unexplained<String>> {
        match explain(&Register(0), calls, &mut 10_000) {
            Verdict::Explained(all) => {
                let mut all: Vec<u32> = all.into_iter().map(|one| one.state.0).collect();
                all.sort_unstable();
                all.dedup();
                Ok(all)
            }
            Verdict::Unexplained(why) => Err(why),
            Verdict::Unknown => panic!("the budget was spent"),
        }
    }

    #[test]
    fn overlapping_calls_are_explained_by_any_order_of_them() {
        let calls = [
            at(0, 9, Call::Write(1)),
            at(1, 8, Call::Write(2)),
            at(2, 3, Call::Read(2)),
            at(4, 5, Call::Read(1)),
        ];
        assert_eq!(explained(&calls).unwrap(), [1]);
        assert_eq!(explained(&calls[..3]).unwrap(), [1, 2]);
    }

    #[test]
    fn a_stale_read_is_the_first_answer_that_nothing_explains() {
        let calls = [
            at(0, 1, Call::Write(1)),
            at(2, 3, Call::Read(1)),
            at(4, 5, Call::Read(0)),
            at(6, 7, Call::Read(1)),
        ];
        let why = explained(&calls).unwrap_err();
        assert_eq!((why.first, &why.order[..], &why.why[..]), (2, &[0, 1][..], "it holds 1"));
    }

    #[test]
    fn what_was_seen_once_is_not_unseen_while_the_write_goes_on() {
        let write = at(0, 9, Call::Write(1));
        let (new, old) = (at(1, 2, Call::Read(1)), at(3, 4, Call::Read(0)));
        assert_eq!(explained(&[write.clone(), new.clone(), old]).unwrap_err().first, 2);
        let old = at(1, 5, Call::Read(0));
        assert_eq!(explained(&[write, new, old]).unwrap(), [1]);
    }

    #[test]
    fn a_call_without_an_answer_takes_effect_at_any_later_time_or_never() {
        let killed = Timed { begin: 0, end: None, call: Call::Write(1) };
        let calls = [killed, at(1, 2, Call::Read(0)), at(8, 9, Call::Read(1))];
        assert_eq!(explained(&calls).unwrap(), [1]);
        assert_eq!(explained(&calls[..2]).unwrap(), [0]);
        let calls = [calls[0].clone(), at(1, 2, Call::Read(1)), at(3, 4, Call::Read(0))];
        assert_eq!(explained(&calls).unwrap_err().first, 2);
    }

    #[test]
    fn a_call_without_an_answer_is_open_until_it_took_effect() {
        let killed = Timed { begin: 0, end: None, call: Call::Write(1) };
        let open = |calls: &[Timed<Call>]| match explain(&Register(0), calls, &mut 100) {
            Verdict::Explained(all) => all.into_iter().map(|one| one.open).collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(open(&[killed.clone(), at(1, 2, Call::Read(0))]), [[0]]);
        assert_eq!(open(&[killed, at(1, 2, Call::Read(1))]), [Vec::<usize>::new()]);
    }

    #[test]
    fn what_is_left_open_is_settled_by_what_is_seen_later() {
        let calls = [at(0, 1, Call::WriteOne(1, 2)), at(2, 3, Call::Read(2))];
        assert_eq!(explained(&calls[..1]).unwrap(), [1, 2]);
        assert_eq!(explained(&calls).unwrap(), [2]);
    }

    #[test]
    fn a_spent_budget_is_no_verdict() {
        let calls: Vec<_> =
            (0..9).map(|one| at(one, 100 + one, Call::Write(1 + one as u32))).collect();
        let verdict = |calls: &[Timed<Call>], mut budget| explain(&Register(0), calls, &mut budget);
        assert!(matches!(verdict(&calls, 20), Verdict::Unknown));
        // Neither is it one where the answers are wrong.
        let wrong = [&calls[..], &[at(200, 201, Call::Read(99))]].concat();
        assert!(matches!(verdict(&wrong, 20), Verdict::Unknown));
        assert!(matches!(verdict(&wrong, 1_000_000), Verdict::Unexplained(one) if one.first == 9));
    }

    #[test]
    fn the_memo_keeps_many_calls_cheap() {
        let writes = (0..12).map(|one| at(one, 100 + one, Call::Write(one as u32 % 2)));
        let reads = (0..60).map(|one| at(20 + one, 90, Call::Read(0)));
        let calls: Vec<_> = writes.chain(reads).collect();
        let mut budget = 2_000_000;
        assert!(matches!(explain(&Register(0), &calls, &mut budget), Verdict::Explained(_)));
    }
}
