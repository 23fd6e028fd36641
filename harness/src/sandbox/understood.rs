//! What git was asked once and need not be asked again in the next sandbox: whether it takes a store
//! with such a head and configuration for a repository.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The bytes of the files that decide it, where git said yes; shared by the sandboxes of one place.
#[derive(Clone, Debug, Default)]
pub struct Understood(Arc<Mutex<BTreeSet<Vec<Vec<u8>>>>>);

impl Understood {
    /// Whether git understood these.
    pub fn has(&self, deciding: &[Vec<u8>]) -> bool {
        self.0.lock().expect("no thread panics while it holds this").contains(deciding)
    }

    /// Git understood these.
    pub fn add(&self, deciding: Vec<Vec<u8>>) {
        self.0.lock().expect("no thread panics while it holds this").insert(deciding);
    }
}
