//! Remembers for later sandboxes whether git accepts a store with a given head and configuration as a
//! repository.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The contents of the deciding files, for each accepted store; shared by the sandboxes of a `Scratch`.
#[derive(Clone, Debug, Default)]
pub struct AcceptedStores(Arc<Mutex<BTreeSet<Vec<Vec<u8>>>>>);

impl AcceptedStores {
    /// Whether git is known to accept a store with these files.
    pub fn has(&self, deciding: &[Vec<u8>]) -> bool {
        self.0.lock().expect("no thread panics while it holds this").contains(deciding)
    }

    /// Records that git accepted a store with these files.
    pub fn add(&self, deciding: Vec<Vec<u8>>) {
        self.0.lock().expect("no thread panics while it holds this").insert(deciding);
    }
}
