//! Maintenance of the store, through the library: what is moved, what is removed and on what evidence, and
//! that damage to one project does not affect another.

mod clear;
mod fold;
mod full_disk;
mod healing;
mod killed;
mod limits;
mod migration;
mod only_copies;
mod prune;
mod reclaim;
mod rollbacks;
mod status;
mod sweep;
mod total;
pub mod world;
