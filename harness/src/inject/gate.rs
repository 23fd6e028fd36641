//! Where a call waits while something else happens, and who does that waits for the call.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How far it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Open,
    /// A call waits.
    Held,
    /// It may go on, or none comes any more.
    Over,
}

/// A gate for one call.
#[derive(Debug, Default)]
pub struct Gate {
    stage: Mutex<Stage>,
    changed: Condvar,
}

impl Gate {
    /// A call is here, and waits until it may go on.
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

    /// Waits until a call is here, or none comes any more; returns whether one is.
    pub fn wait(&self) -> bool {
        let mut stage = self.stage();
        while *stage == Stage::Open {
            stage = self.changed.wait(stage).unwrap_or_else(PoisonError::into_inner);
        }
        *stage == Stage::Held
    }

    /// The call may go on, and none is waited for any more.
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
    fn a_call_waits_for_what_waited_for_it() {
        let (gate, is_done) = (Gate::default(), AtomicBool::new(false));
        let came = thread::scope(|scope| {
            let other = scope.spawn(|| {
                let came = gate.wait();
                is_done.store(true, Ordering::SeqCst);
                gate.end();
                came
            });
            gate.hold();
            assert!(is_done.load(Ordering::SeqCst));
            other.join().unwrap()
        });
        // A later one goes on.
        gate.hold();
        assert!(came);
    }

    #[test]
    fn nobody_waits_for_a_call_that_does_not_come() {
        let gate = Gate::default();
        gate.end();
        assert!(!gate.wait());
    }
}
