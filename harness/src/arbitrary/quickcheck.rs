//! Histories for tests with `quickcheck`: its choices determine the bytes of a history, and its shrinking
//! uses the steps of our search for the shortest history.

use crate::generate::{Options, bytes_for, history_of};
use crate::history::History;
use crate::shrink::simpler_histories;
use ::quickcheck::{Arbitrary, Gen};

/// A history with these options, of at most as many fragments as the size of `source`.
pub fn history_from(source: &mut Gen, options: &Options) -> History {
    let fragments_max = source.size().clamp(1, options.operations_max.max(1));
    let fragments = usize::arbitrary(source) % fragments_max + 1;
    let bytes: Vec<u8> = (0..bytes_for(fragments)).map(|_| u8::arbitrary(source)).collect();
    history_of(options, &bytes)
}

impl Arbitrary for History {
    fn arbitrary(source: &mut Gen) -> Self {
        history_from(source, &Options::default())
    }

    fn shrink(&self) -> Box<dyn Iterator<Item = Self>> {
        Box::new(simpler_histories(self))
    }
}
