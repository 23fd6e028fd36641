//! The `herma` command as users and programs run it: its output, its exit codes, and that nothing
//! harmful passes through it in either direction.
//!
//! Tests of the library judge what a checkpoint holds and what a restore does.

mod answers;
mod completion;
mod configuration;
mod doctor;
mod excluded;
mod hints;
mod hook_log;
mod hooks;
mod incomplete;
mod init;
mod left_out;
mod looking;
mod maintenance;
mod manual;
mod mounts;
mod moved;
mod paths;
mod preview;
mod printed_commands;
mod recording;
mod refusals;
mod safety;
mod scarce;
mod schema;
mod session;
mod sessions;
mod terminals;
mod tracked;
mod turns;
mod undo;
mod whole;
pub mod world;
