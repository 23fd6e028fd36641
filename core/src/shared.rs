//! A value that threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value that one thread uses at a time. A thread that panicked leaves it to the others as it is.
#[derive(Debug, Default)]
pub struct Shared<T>(Mutex<T>);

impl<T> Shared<T> {
    /// A value to share.
    pub fn new(value: T) -> Self {
        Shared(Mutex::new(value))
    }

    /// Waits until no other thread uses the value. The thread must not use it already.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value itself.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
