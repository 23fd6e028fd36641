//! Several processes that are asked at the same time, and the world that some order of their requests leads
//! to.

use super::meanwhile::Opening;
use super::{Calls, RunError, Runner};
use crate::history::concrete::{self, Step};
use crate::history::{At, Injection, What};
use crate::inject::{Injected, Point};
use crate::sandbox::{Sandbox, store_edits};
use crate::subject::Subject;
use herma_model::injected::Injected as Happened;
use herma_model::together::Call;
use herma_model::{Answer, Observation, Request, StoreEdit, World};
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// What other processes are asked beside a request.
struct Others {
    /// What each of them is asked, one request after the other.
    asked: Vec<Vec<Request>>,
    /// At which call the first request of the first of them is killed.
    kill: At,
    /// Whether git collects garbage meanwhile.
    collects: bool,
}

/// What came of them.
#[derive(Default)]
struct Came {
    calls: Vec<Call>,
    killed: Option<Injected>,
}

impl Others {
    /// What an injection has others do, as long as an order of two requests says what is right.
    fn beside(request: &Request, (processes, injection): (u8, &Injection), world: &World) -> Self {
        let mut others = Others {
            asked: vec![Vec::new(); usize::from(processes)],
            kill: injection.call,
            collects: false,
        };
        let has_order = |other: &Request| {
            matches!(other, Request::List { .. }) || world.has_order(request, other)
        };
        let steps = injection.meanwhile.iter().map(|one| concrete::step(one, world));
        for (number, step) in steps.enumerate() {
            let process = number % others.asked.len();
            match step {
                Step::Ask(asked) => {
                    others.asked[process].extend(asked.into_iter().filter(has_order));
                }
                Step::Store(StoreEdit::Collected) => others.collects = true,
                _ => {}
            }
        }
        others.asked.retain(|asked| !asked.is_empty());
        others
    }

    /// Asks all of them, and one more process beside them. Each is opened before any is asked.
    fn ask(
        &self,
        request: &Request,
        (sandbox, seconds): (&Sandbox, i64),
        opening: Opening<'_>,
    ) -> Came {
        let clock = &AtomicU64::new(0);
        let own = (std::slice::from_ref(request), At::End);
        let others = self.asked.iter().enumerate();
        let others = others.map(|(number, asked)| match number {
            0 => (&asked[..], self.kill),
            _ => (&asked[..], At::End),
        });
        thread::scope(|scope| {
            let (is_ready, ready) = mpsc::channel();
            let open = |(asked, kill)| {
                let (start, starts) = mpsc::channel::<()>();
                let (place, is_ready) = (sandbox.shared(), is_ready.clone());
                let process = scope.spawn(move || {
                    let mut subject = (opening.new_subject)(&place, opening.settings, seconds);
                    let _ = is_ready.send(());
                    let _ = starts.recv();
                    ask_in_turn(subject.as_mut(), asked, kill, clock)
                });
                (start, process)
            };
            let (starts, processes): (Vec<_>, Vec<_>) =
                [own].into_iter().chain(others).map(open).unzip();
            // Nobody waits for one that could not be opened.
            drop(is_ready);
            for _ in &processes {
                let _ = ready.recv();
            }
            let store = sandbox.store();
            let collects = self.collects && store.join("HEAD").exists();
            let garbage = collects.then(|| {
                let mut git = store_edits::collect_garbage(&store);
                git.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
            });
            // Whoever waits for it begins.
            drop(starts);
            let mut all = Came::default();
            // What ends one of them without a word, the lists show.
            for came in processes.into_iter().filter_map(|one| one.join().ok()) {
                all.calls.extend(came.calls);
                all.killed = all.killed.or(came.killed);
            }
            if let Some(Ok(mut git)) = garbage {
                let _ = git.wait();
            }
            all
        })
    }
}

/// Asks a process one request after the other; the first one is killed at that call. What an adapter says
/// that breaks the protocol is no answer, and ends it.
fn ask_in_turn(
    subject: &mut dyn Subject,
    asked: &[Request],
    mut kill: At,
    clock: &AtomicU64,
) -> Came {
    let mut came = Came::default();
    for request in asked {
        if matches!(request, Request::EnsureCheckpoint { .. }) {
            subject.ask(&Request::NewTurn);
        }
        let point = Point { call: kill, what: What::Kill, gate: Arc::default() };
        let kills = std::mem::replace(&mut kill, At::End) != At::End;
        let begin = clock.fetch_add(1, Ordering::SeqCst);
        let killed = if kills { subject.ask_injected(request, &point) } else { Ok(None) };
        let answer = match killed {
            Ok(Some(killed)) => came.killed.insert(killed).answer.clone(),
            _ => Some(subject.ask(request)),
        };
        let end = clock.fetch_add(1, Ordering::SeqCst);
        let is_over = subject.fault().is_some();
        let answer = answer.filter(|_| !is_over);
        let (request, is_alone) = (request.clone(), false);
        came.calls.push(Call { request, answer, begin, end, is_alone });
        if is_over {
            break;
        }
    }
    came
}

impl Runner<'_> {
    /// Asks while others are asked, and looks at every list. Returns whether anything could be judged.
    pub(super) fn ask_together(
        &mut self,
        step: usize,
        request: &Request,
        (processes, injection): (u8, &Injection),
    ) -> Result<bool, RunError> {
        let others = Others::beside(request, (processes, injection), &self.world);
        if others.asked.is_empty() {
            return self.ask_one(step, request);
        }
        self.run.operations += 1;
        self.check_files(step)?;
        let allowed = self.world.allows(request);
        let (place, opening) = ((self.sandbox.shared(), self.world.seconds()), self.opening);
        let mut came = None;
        let seen = self.observe_by(step, request, &allowed, &mut |subject, one| {
            if came.is_some() || one != request {
                return subject.ask(one);
            }
            let all = came.insert(others.ask(one, (&place.0, place.1), opening));
            let own = all.calls.iter().find(|call| call.request == *one);
            let unanswered = || Answer::Crashed("it did not answer".into());
            own.and_then(|own| own.answer.clone()).unwrap_or_else(unanswered)
        })?;
        let Came { mut calls, killed } = came.unwrap_or_default();
        let came = killed.as_ref().is_none_or(|killed| killed.came);
        let met = killed.map(|killed| killed.calls).unwrap_or_default();
        self.run.injected = Some(Calls { calls: met, came });
        self.run.injections += u64::from(came);
        self.injected = Some((injection.what, Happened::Overlapped));
        let asked: Vec<Request> = calls.iter().map(|call| call.request.clone()).collect();
        let lists = self.lists(step, &asked)?;
        let mut time = calls.iter().map(|call| call.end).max().unwrap_or_default();
        for (project, listed) in &lists {
            let request = Request::List { dir: self.world.absolute(project) };
            let answer = Some(Answer::Listed(listed.clone()));
            let (begin, end) = (time + 1, time + 2);
            calls.push(Call { request, answer, begin, end, is_alone: true });
            time = end;
        }
        let (checks, then) = self.world.compare_together(&calls, &seen.files);
        self.record(step, checks);
        match then {
            Some(then) => self.world = then,
            None => {
                self.world.learn_amiss(&seen);
                for call in calls.into_iter().filter(|call| call.is_alone) {
                    let (answer, files) = (call.answer.unwrap_or(Answer::Done), seen.files.clone());
                    self.world.learn(&Observation::new(call.request, answer, files));
                }
            }
        }
        self.tell_request(step, seen);
        self.judge_lists(step, lists.into_keys())
    }
}
