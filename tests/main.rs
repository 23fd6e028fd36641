//! Workspace tests: each module is one subject and reads as a list of sentences about it.
#![allow(clippy::unwrap_used, missing_docs)]

mod adapters;
mod bad_input;
mod blame;
mod careful;
mod cases;
mod command;
mod concurrent;
mod cost;
mod damage;
mod docs;
mod faults;
mod gate;
mod going_on;
mod histories;
mod hostile_input;
mod ignore;
mod interop;
mod large_files;
mod maintenance;
mod many_files;
mod planted_bugs;
mod rules;
mod running;
mod side_by_side;
mod steady;
