//! Histories for tests with `arbitrary`, such as the targets of `cargo-fuzz` and `bolero`. No input is
//! rejected, and a short input is a short history.

use crate::generate::{Options, history_of};
use crate::history::History;
use ::arbitrary::{Arbitrary, Result, Unstructured};

impl<'a> Arbitrary<'a> for History {
    fn arbitrary(source: &mut Unstructured<'a>) -> Result<Self> {
        let length = source.arbitrary_len::<u8>()?;
        Ok(history_of(&Options::default(), source.bytes(length)?))
    }

    fn arbitrary_take_rest(source: Unstructured<'a>) -> Result<Self> {
        Ok(history_of(&Options::default(), source.take_rest()))
    }

    fn size_hint(_depth: usize) -> (usize, Option<usize>) {
        (0, None)
    }
}
