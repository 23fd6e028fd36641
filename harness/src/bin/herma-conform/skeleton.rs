//! The adapters that `adapter new` prints: one loop for each language, and the small store that is most
//! like what the author has. They are in `harness/adapters/templates`.

use crate::ending::{USAGE, fail, say};
use std::process::ExitCode;

/// The languages of the skeletons.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Language {
    /// Python 3.11.4 and later, with nothing but its standard library.
    Python,
    /// Node 18 and later, with nothing but its standard library.
    Node,
    /// Rust, with serde_json; only for a store of copies.
    Rust,
}

/// What a store keeps.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Kept {
    /// A copy of the tree for every checkpoint.
    Copies,
    /// A commit for every checkpoint, by the `git` command.
    Git,
    /// An archive for every checkpoint.
    Archive,
    /// One log of what changed.
    Log,
}

/// The file of one language and one store, from `harness/adapters/templates`.
macro_rules! template {
    ($name:literal) => {
        include_str!(concat!("../../../adapters/templates/", $name))
    };
}

/// `herma-conform adapter new`.
pub fn print(language: Language, kept: Kept) -> ExitCode {
    match assembled(language, kept) {
        Some(adapter) => {
            say(&adapter);
            ExitCode::SUCCESS
        }
        None => fail(
            "in Rust there is a skeleton for copies only; Python and Node have one for each store",
            USAGE,
        ),
    }
}

/// The loop of the language around the store; the loop says where the store goes.
fn assembled(language: Language, kept: Kept) -> Option<String> {
    let (around, place, store) = match (language, kept) {
        (Language::Rust, Kept::Copies) => return Some(template!("adapter.rs").to_owned()),
        (Language::Rust, _) => return None,
        (Language::Python, kept) => {
            let store = match kept {
                Kept::Copies => template!("python/copies.py"),
                Kept::Git => template!("python/git.py"),
                Kept::Archive => template!("python/archive.py"),
                Kept::Log => template!("python/log.py"),
            };
            (template!("python/protocol.py"), "# STORE\n", store)
        }
        (Language::Node, kept) => {
            let store = match kept {
                Kept::Copies => template!("node/copies.mjs"),
                Kept::Git => template!("node/git.mjs"),
                Kept::Archive => template!("node/archive.mjs"),
                Kept::Log => template!("node/log.mjs"),
            };
            (template!("node/protocol.mjs"), "// STORE\n", store)
        }
    };
    Some(around.replacen(place, store, 1))
}
