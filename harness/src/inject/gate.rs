//! Makes a call of one thread wait for another thread. The call waits at this gate while the other thread
//! does something; the other thread first waits until the call has come to the gate.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The state of a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    /// A call waits.
    Held,
    /// The call may continue, or no call is expected any more.
    Over,
}

/// A gate for one call.
#[derive(Debug, Default)]
pub struct Gate {
    stage: Mutex<Stage>,
    changed: Condvar,
}

impl Gate {
    /// Called by a call: waits until it may continue.
    pub fn hold(&self) {
        let mut stage = self.stage();
        if *stage == Stage::Open {
            *stage = Stage::Held;
            self.changed.notify_all();
        }
        while *stage == Stage::Held {
            stage = self.changed.wait(stage).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until a call is held, or no call is expected any more; returns whether a call is held.
    pub fn wait(&self) -> bool {
        let mut stage = self.stage();
        while *stage == Stage::Open {
            stage = self.changed.wait(stage).unwrap_or_else(PoisonError::into_inner);
        }
        *stage == Stage::Held
    }

    /// Lets the call continue; no further call is held.
    pub fn end(&self) {
        *self.stage() = Stage::Over;
        self.changed.notify_all();
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[test]
    fn hold_returns_only_after_the_waiting_thread_ends_the_gate() {
        let gate = Gate::default();
        let is_done = AtomicBool::new(false);
        let is_held = thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let is_held = gate.wait();
                is_done.store(true, Ordering::SeqCst);
                gate.end();
                is_held
            });
            gate.hold();
            assert!(is_done.load(Ordering::SeqCst));
            waiting.join().unwrap()
        });
        // A later call is not held.
        gate.hold();
        assert!(is_held);
    }

    #[test]
    fn wait_returns_false_if_no_call_comes_before_the_end() {
        let gate = Gate::default();
        gate.end();
        assert!(!gate.wait());
    }
}
