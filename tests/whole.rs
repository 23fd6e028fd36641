//! Checkpoints of agent state: the files and every part of the state are restored, or nothing is, whatever
//! fails; and external actions are never undone without being asked for.

mod agent;
mod comparison;
mod composition;
mod crashes;
mod envelopes;
mod outside;
mod owners;
mod pins;
mod recovery;
