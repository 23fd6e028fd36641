//! Where histories come from, one after the other: drawn, or drawn with a preference for what
//! reaches something new. Both depend on a seed and on what was learned, and on nothing else.

use super::{Options, draw};
use crate::coverage::Coverage;
use crate::history::History;
use sha2::{Digest, Sha256};

/// Histories, one after the other.
pub trait Source {
    /// The next one; `None` at the end.
    fn next(&mut self) -> Option<History>;

    /// Records which behaviours a history covered.
    fn learn(&mut self, _history: &History, _met: Coverage) {}
}

/// The histories of a seed, in order.
pub struct Drawn {
    options: Options,
    seed: u64,
    number: u64,
}

impl Drawn {
    /// Starts with the first one.
    pub fn new(options: Options, seed: u64) -> Self {
        Drawn { options, seed, number: 0 }
    }
}

impl Source for Drawn {
    fn next(&mut self) -> Option<History> {
        self.number += 1;
        Some(draw(&self.options, self.seed, self.number - 1))
    }
}

/// Novelty-guided: every other history continues one that covered something new, from some point in
/// it.
pub struct Guided {
    drawn: Drawn,
    coverage: Coverage,
    /// Histories that covered something for the first time.
    novel: Vec<History>,
}

impl Guided {
    /// Starts with the first one.
    pub fn new(options: Options, seed: u64) -> Self {
        Guided {
            drawn: Drawn::new(options, seed),
            coverage: Coverage::default(),
            novel: Vec::new(),
        }
    }

    /// A number below `end` that depends on the seed, on how many histories there were, and on
    /// what it is for.
    fn choose(&self, purpose: u8, end: usize) -> usize {
        let Drawn { seed, number, .. } = self.drawn;
        let text = [&seed.to_le_bytes()[..], &number.to_le_bytes(), &[purpose]].concat();
        let digest = Sha256::digest(text);
        let number = digest.iter().take(7).fold(0usize, |value, byte| value << 8 | *byte as usize);
        number % end.max(1)
    }
}

impl Source for Guided {
    fn next(&mut self) -> Option<History> {
        let fresh = self.drawn.next()?;
        let parent = self.novel.get(self.choose(0, self.novel.len()));
        let Some(parent) = parent.filter(|_| self.drawn.number.is_multiple_of(2)) else {
            return Some(fresh);
        };
        let cut = self.choose(1, parent.operations.len() + 1);
        let mut operations = parent.operations[..cut].to_vec();
        operations.extend(fresh.operations);
        operations.truncate(self.drawn.options.operations_max);
        Some(History { operations, ..parent.clone() })
    }

    fn learn(&mut self, history: &History, coverage: Coverage) {
        if self.coverage.join(coverage) {
            self.novel.push(history.clone());
        }
    }
}
