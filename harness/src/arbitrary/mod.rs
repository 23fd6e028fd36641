//! Histories as arguments of property tests, for test stacks other than `proptest`: `quickcheck::Arbitrary`
//! (feature `quickcheck`) and `arbitrary::Arbitrary` (feature `arbitrary`). Both generate with
//! [`crate::generate::history_of`].

#[cfg(feature = "arbitrary")]
mod from_bytes;
#[cfg(feature = "quickcheck")]
mod quickcheck;

#[cfg(feature = "quickcheck")]
pub use quickcheck::history_from;
