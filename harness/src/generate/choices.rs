//! Histories from bytes: each byte string is a history, so that any source of bytes generates histories.
//!
//! The bytes are groups of four. The first group determines the settings and the kinds of operation, the
//! second everything that is placed among the fragments, and each further group one fragment. A short input
//! is a short history; an edit of the input is an edit of the history: a coverage-guided fuzzer can insert,
//! remove, copy and exchange fragments. A group is the seed of a strategy, hence no input is rejected.

use super::content::SizeLimits;
use super::operation::Kinds;
use super::parts::{self, HistoryParts, OtherParts};
use super::{Options, drawn, settings_and_swarm};
use crate::history::History;

/// The bytes of one group, which determine one fragment.
pub const BYTES_PER_FRAGMENT: usize = 4;

/// The groups before the fragments.
const GROUPS_FIRST: usize = 2;

/// The number of bytes for a history of so many fragments.
pub fn bytes_for(fragments: usize) -> usize {
    (GROUPS_FIRST + fragments) * BYTES_PER_FRAGMENT
}

/// The history that these bytes stand for. Bytes beyond the maximum number of operations have no effect.
pub fn history_of(options: &Options, bytes: &[u8]) -> History {
    let options = &options.clone().restricted();
    let groups = bytes.chunks(BYTES_PER_FRAGMENT).enumerate();
    let mut seeds = groups.map(|(position, group)| seed(group, position));
    let first = seeds.next().unwrap_or_default();
    let settings_and_swarm = drawn(&settings_and_swarm(options), &first);
    let settings = settings_and_swarm.0;
    let kinds = Kinds(settings_and_swarm.1);
    let limits = SizeLimits::of(&settings, options.units);
    let others = seeds.next().map(|seed| drawn(&parts::other_parts(options, limits), &seed));
    let fragment = parts::fragment(options, limits, kinds);
    let fragments = seeds.take(options.operations_max).map(|seed| drawn(&fragment, &seed));
    let fragments = fragments.collect();
    HistoryParts { fragments, others: others.unwrap_or_else(OtherParts::default) }
        .history(options, settings)
}

/// The seed that a group stands for. Only the first groups have their position in it: a fragment remains the
/// same wherever it is.
fn seed(group: &[u8], position: usize) -> [u8; 32] {
    let mut seed = [0; 32];
    seed[..group.len()].copy_from_slice(group);
    seed[31] = position.min(GROUPS_FIRST) as u8;
    seed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(bytes: &[u8]) -> History {
        history_of(&Options::default(), bytes)
    }

    #[test]
    fn history_of_is_empty_for_no_bytes_and_the_same_for_the_same_bytes() {
        assert!(history(&[]).operations.is_empty());
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(history(&bytes), history(&bytes));
        assert!(!history(&bytes).operations.is_empty());
    }

    #[test]
    fn history_of_keeps_the_other_fragments_when_one_is_removed() {
        // The second group is chosen for a history without anything among its fragments.
        let first = |second: u16| [&[7, 7, 7, 7][..], &second.to_le_bytes(), &[0, 0]].concat();
        let is_plain = |first: &Vec<u8>| history(first).operations.is_empty();
        let first = (0..=u16::MAX).map(first).find(is_plain).expect("some histories are plain");
        let groups = |groups: &[u8]| {
            let fragments = groups.iter().flat_map(|group| [*group; BYTES_PER_FRAGMENT]);
            history(&first.iter().copied().chain(fragments).collect::<Vec<_>>()).operations
        };
        let separately = [groups(&[1]), groups(&[2]), groups(&[3])].concat();
        assert_eq!(groups(&[1, 2, 3]), separately);
        assert_eq!(groups(&[1, 3]), [groups(&[1]), groups(&[3])].concat());
    }

    #[test]
    fn history_of_never_exceeds_the_maximum() {
        let operations = history(&[9; 10_000]).operations;
        assert!((1..=60).contains(&operations.len()), "{}", operations.len());
    }
}
