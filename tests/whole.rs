//! Checkpoints of a whole agent: its files and every part of its state come back, or nothing does,
//! whatever fails on the way; and what was done outside is never undone unasked.

mod agent;
mod comparison;
mod composition;
mod crashes;
mod envelopes;
mod outside;
mod owners;
mod pins;
mod recovery;
