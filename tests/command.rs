//! The `herma` command as a person or a program meets it: what it says, how it ends, and that
//! nothing harmful gets through it in either direction.
//!
//! What a checkpoint holds and what a restore does are judged elsewhere, through the library.

mod answers;
mod configuration;
mod doctor;
mod left_out;
mod maintenance;
mod manual;
mod mounts;
mod preview;
mod refusals;
mod safety;
mod session;
mod sessions;
mod whole;
pub mod world;
