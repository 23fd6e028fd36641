//! Histories guided by the behaviours that earlier histories covered: half of them are mutants of histories
//! that were the first to cover a behaviour.

use super::{BYTES_PER_FRAGMENT, Options, bytes_for, history_of};
use crate::coverage::{Behaviour, Coverage};
use crate::history::History;
use proptest::prelude::{Rng, RngExt};
use proptest::test_runner::{RngAlgorithm, TestRng};
use std::collections::BTreeSet;

/// The mutations of one mutant, at most.
const MUTATIONS_MAX: usize = 4;

/// A generator that learns from what its histories covered.
pub struct Guided {
    options: Options,
    random: TestRng,
    /// The bytes of each history that was the first to cover a behaviour.
    kept: Vec<Vec<u8>>,
    covered: BTreeSet<Behaviour>,
    /// The bytes of the last history.
    last: Vec<u8>,
}

impl Guided {
    /// A generator that has not learned anything: the same seed and the same coverage give the same
    /// histories.
    pub fn new(options: Options, seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let random = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
        Guided { options, random, kept: Vec::new(), covered: BTreeSet::new(), last: Vec::new() }
    }

    /// Generates the next history.
    pub fn generate(&mut self) -> History {
        let continues = !self.kept.is_empty() && self.random.random_bool(0.5);
        self.last = if continues { self.mutant() } else { self.fresh() };
        history_of(&self.options, &self.last)
    }

    /// Keeps the last history if it covered a behaviour that no earlier history covered.
    pub fn learn(&mut self, coverage: &Coverage) {
        let known = self.covered.len();
        self.covered.extend(coverage.0.keys().cloned());
        if self.covered.len() > known {
            self.kept.push(self.last.clone());
        }
    }

    fn fresh(&mut self) -> Vec<u8> {
        let fragments = self.random.random_range(1..=self.options.operations_max);
        let mut bytes = vec![0; bytes_for(fragments)];
        self.random.fill_bytes(&mut bytes);
        bytes
    }

    /// A kept history with some fragments replaced, inserted, removed or taken from another kept history.
    fn mutant(&mut self) -> Vec<u8> {
        let mut bytes = self.kept[self.random.random_range(0..self.kept.len())].clone();
        for _ in 0..self.random.random_range(1..=MUTATIONS_MAX) {
            let groups = bytes.len().div_ceil(BYTES_PER_FRAGMENT);
            let start = self.random.random_range(0..groups) * BYTES_PER_FRAGMENT;
            let end = (start + BYTES_PER_FRAGMENT).min(bytes.len());
            let mut fragment = [0; BYTES_PER_FRAGMENT];
            self.random.fill_bytes(&mut fragment);
            match self.random.random_range(0..4) {
                0 => drop(bytes.splice(start..end, fragment)),
                1 => drop(bytes.splice(start..start, fragment)),
                2 if groups > 1 => drop(bytes.drain(start..end)),
                _ => {
                    let other = &self.kept[self.random.random_range(0..self.kept.len())];
                    bytes.truncate(start);
                    bytes.extend(other.iter().skip(start));
                }
            }
            if bytes.is_empty() {
                bytes = self.fresh();
            }
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generate_continues_a_history_that_covered_something_new() {
        let mut guided = Guided::new(Options::default(), 1);
        guided.generate();
        let behaviour =
            Behaviour { state: "one".into(), operation: "two".into(), outcome: "three".into() };
        let coverage = Coverage([(behaviour, 1)].into());
        guided.learn(&coverage);
        let first = guided.last.clone();
        let mut same_settings = 0;
        for _ in 0..40 {
            guided.generate();
            guided.learn(&coverage);
            same_settings += usize::from(guided.last[..4] == first[..4]);
        }
        assert_eq!(guided.kept, [first]);
        assert!(same_settings > 8, "{same_settings}");
    }
}
