//! Requests to several processes at the same time, and the world that results from some order of these
//! requests.

use super::meanwhile::OtherProcess;
use super::{Calls, RunError, Runner};
use crate::history::concrete::{self, ConcreteStep};
use crate::history::{CallPosition, InjectedEvent, Injection};
use crate::inject::{Injected, Point};
use crate::sandbox::store_edits;
use crate::subject::Subject;
use herma_model::injected::Injected as Happened;
use herma_model::together::ConcurrentCall;
use herma_model::{Answer, Observation, Request, StoreEdit, World};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// The requests to other processes during a request.
struct ConcurrentRequests {
    /// The requests to each process, one after the other.
    by_process: Vec<Vec<Request>>,
    /// The call at which the first request of the first process is killed.
    kill: CallPosition,
    /// Whether git collects garbage meanwhile.
    collects: bool,
}

/// The outcome of concurrent requests.
#[derive(Default)]
struct ConcurrentOutcome {
    calls: Vec<ConcurrentCall>,
    killed: Option<Injected>,
}

impl ConcurrentRequests {
    /// The requests of an injection, without those for which no order with `request` defines what is right.
    fn of(request: &Request, processes: u8, injection: &Injection, world: &World) -> Self {
        let mut concurrent = ConcurrentRequests {
            by_process: vec![Vec::new(); usize::from(processes)],
            kill: injection.call,
            collects: false,
        };
        let has_order = |second: &Request| {
            matches!(second, Request::List { .. }) || world.has_order(request, second)
        };
        let steps = injection.meanwhile.iter().map(|operation| concrete::step(operation, world));
        for (number, step) in steps.enumerate() {
            let process = number % concurrent.by_process.len();
            match step {
                ConcreteStep::Ask(requests) => {
                    concurrent.by_process[process].extend(requests.into_iter().filter(has_order));
                }
                ConcreteStep::Store(StoreEdit::Collected) => concurrent.collects = true,
                _ => {}
            }
        }
        concurrent.by_process.retain(|requests| !requests.is_empty());
        concurrent
    }

    /// Makes these requests, and `request` in one more process. All processes open their subject before any
    /// request is made.
    fn run(&self, request: &Request, process: &OtherProcess<'_>) -> ConcurrentOutcome {
        let clock = &AtomicU64::new(0);
        let first = (std::slice::from_ref(request), CallPosition::End);
        let others = self.by_process.iter().enumerate();
        let others = others.map(|(number, requests)| match number {
            0 => (&requests[..], self.kill),
            _ => (&requests[..], CallPosition::End),
        });
        thread::scope(|scope| {
            let (is_ready, ready) = mpsc::channel();
            let open = |(requests, kill)| {
                let (start, starts) = mpsc::channel::<()>();
                let process = process.shared();
                let is_ready = is_ready.clone();
                let thread = scope.spawn(move || {
                    let mut subject = process.open();
                    let _ = is_ready.send(());
                    let _ = starts.recv();
                    ask_in_turn(subject.as_mut(), requests, kill, clock)
                });
                (start, thread)
            };
            let (starts, threads): (Vec<_>, Vec<_>) =
                [first].into_iter().chain(others).map(open).unzip();
            // A process that could not be opened is not waited for.
            drop(is_ready);
            for _ in &threads {
                let _ = ready.recv();
            }
            let store = process.sandbox.store();
            let collects = self.collects && store.join("HEAD").exists();
            let garbage = collects.then(|| {
                let mut git = store_edits::collect_garbage(&store);
                git.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
            });
            // All processes begin now.
            drop(starts);
            let mut joined = ConcurrentOutcome::default();
            // The lists show the effect of a thread that panicked.
            for outcome in threads.into_iter().filter_map(|thread| thread.join().ok()) {
                joined.calls.extend(outcome.calls);
                joined.killed = joined.killed.or(outcome.killed);
            }
            if let Some(Ok(mut git)) = garbage {
                let _ = git.wait();
            }
            joined
        })
    }
}

/// Makes one request after the other in a process; the first request is killed at call `kill`. A reply that
/// breaks the protocol is not an answer, and ends the process.
fn ask_in_turn(
    subject: &mut dyn Subject,
    requests: &[Request],
    mut kill: CallPosition,
    clock: &AtomicU64,
) -> ConcurrentOutcome {
    let mut outcome = ConcurrentOutcome::default();
    for request in requests {
        if matches!(request, Request::EnsureCheckpoint { .. }) {
            subject.ask(&Request::NewTurn);
        }
        let point = Point { call: kill, what: InjectedEvent::Kill, gate: Arc::default() };
        let kills = std::mem::replace(&mut kill, CallPosition::End) != CallPosition::End;
        let begin = clock.fetch_add(1, Ordering::SeqCst);
        let killed = if kills { subject.ask_injected(request, &point) } else { Ok(None) };
        let answer = match killed {
            Ok(Some(killed)) => outcome.killed.insert(killed).answer.clone(),
            _ => Some(subject.ask(request)),
        };
        let end = clock.fetch_add(1, Ordering::SeqCst);
        let has_fault = subject.fault().is_some();
        let answer = answer.filter(|_| !has_fault);
        let request = request.clone();
        outcome.calls.push(ConcurrentCall { request, answer, begin, end, is_alone: false });
        if has_fault {
            break;
        }
    }
    outcome
}

impl Runner<'_> {
    /// Judges a request while other processes make theirs, and reads every list. Returns whether anything could
    /// be judged.
    pub(super) fn judge_together(
        &mut self,
        step: usize,
        request: &Request,
        processes: u8,
        injection: &Injection,
    ) -> Result<bool, RunError> {
        let concurrent = ConcurrentRequests::of(request, processes, injection, &self.world);
        if concurrent.by_process.is_empty() {
            return self.judge_request(step, request);
        }
        self.run.operations += 1;
        self.check_files(step)?;
        let allowed = self.world.allows(request);
        let process = OtherProcess {
            sandbox: self.sandbox.shared(),
            seconds: self.world.seconds(),
            opening: self.opening,
        };
        let mut outcome = None;
        let seen = self.observe_with(step, request, &allowed, &mut |subject, asked| {
            if outcome.is_some() || asked != request {
                return subject.ask(asked);
            }
            let joined = outcome.insert(concurrent.run(asked, &process));
            let call = joined.calls.iter().find(|call| call.request == *asked);
            let unanswered = || Answer::Crashed("it did not answer".into());
            call.and_then(|call| call.answer.clone()).unwrap_or_else(unanswered)
        })?;
        let ConcurrentOutcome { mut calls, killed } = outcome.unwrap_or_default();
        let has_happened = killed.as_ref().is_none_or(|killed| killed.came);
        let killed_calls = killed.map(|killed| killed.calls).unwrap_or_default();
        self.run.injected = Some(Calls { calls: killed_calls, came: has_happened });
        self.run.injections += u64::from(has_happened);
        self.injected = Some((injection.what, Happened::Overlapped));
        let requests: Vec<Request> = calls.iter().map(|call| call.request.clone()).collect();
        let lists = self.observe_lists(step, &requests)?;
        let mut time = calls.iter().map(|call| call.end).max().unwrap_or_default();
        for (project, listed) in &lists {
            let request = Request::List { dir: self.world.absolute(project) };
            let answer = Some(Answer::Listed(listed.clone()));
            let begin = time + 1;
            let end = time + 2;
            calls.push(ConcurrentCall { request, answer, begin, end, is_alone: true });
            time = end;
        }
        let (checks, next) = self.world.compare_together(&calls, &seen.files);
        self.record(step, checks);
        match next {
            Some(next) => self.world = next,
            None => {
                self.world.learn_after_violation(&seen);
                for call in calls.into_iter().filter(|call| call.is_alone) {
                    let answer = call.answer.unwrap_or(Answer::Done);
                    let files = seen.files.clone();
                    self.world.learn(&Observation::new(call.request, answer, files));
                }
            }
        }
        self.notify_request(step, seen);
        self.judge_lists(step, lists.into_keys())
    }
}
