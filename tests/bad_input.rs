//! Bad input and broken machines: every refusal is typed, has a code and says what was not changed, and
//! nothing panics.

mod bystanders;
mod damage;
mod failing;
mod interrupted;
mod io_errors;
mod leftovers;
pub mod machine;
mod permissions;
mod project;
mod saves;
mod seen_whole;
mod store;
mod swaps;
mod threads;
