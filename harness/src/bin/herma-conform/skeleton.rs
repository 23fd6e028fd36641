//! The adapters that `adapter new` prints: one protocol loop for each language, with the example store that
//! is most like the user's own store. They are in `harness/adapters/templates`.

use crate::ending::{USAGE, fail, print_text};
use std::process::ExitCode;

/// The languages of the skeletons.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Language {
    /// Python 3.11.4 and later; standard library only.
    Python,
    /// Node 18 and later; standard library only.
    Node,
    /// Rust, with serde_json; only for a store of copies.
    Rust,
}

/// What a store keeps.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum StoreKind {
    /// A copy of the tree for every checkpoint.
    Copies,
    /// A git commit for every checkpoint.
    Git,
    /// An archive for every checkpoint.
    Archive,
    /// One log of all changes.
    Log,
}

/// The file of one language and one store, from `harness/adapters/templates`.
macro_rules! template {
    ($name:literal) => {
        include_str!(concat!("../../../adapters/templates/", $name))
    };
}

/// `herma-conform adapter new`.
pub fn print(language: Language, store: StoreKind) -> ExitCode {
    match assemble(language, store) {
        Some(adapter) => {
            print_text(&adapter);
            ExitCode::SUCCESS
        }
        None => fail(
            "`--lang rust` supports only `--for copies`; Python and Node support every store",
            USAGE,
        ),
    }
}

/// The protocol loop of the language, with the store inserted at its placeholder. The answer to `hello` of a
/// store of git declares that.
fn assemble(language: Language, kind: StoreKind) -> Option<String> {
    let (protocol, placeholder, store) = match (language, kind) {
        (Language::Rust, StoreKind::Copies) => return Some(template!("adapter.rs").to_owned()),
        (Language::Rust, _) => return None,
        (Language::Python, kind) => {
            let store = match kind {
                StoreKind::Copies => template!("python/copies.py"),
                StoreKind::Git => template!("python/git.py"),
                StoreKind::Archive => template!("python/archive.py"),
                StoreKind::Log => template!("python/log.py"),
            };
            (template!("python/protocol.py"), "# STORE\n", store)
        }
        (Language::Node, kind) => {
            let store = match kind {
                StoreKind::Copies => template!("node/copies.mjs"),
                StoreKind::Git => template!("node/git.mjs"),
                StoreKind::Archive => template!("node/archive.mjs"),
                StoreKind::Log => template!("node/log.mjs"),
            };
            (template!("node/protocol.mjs"), "// STORE\n", store)
        }
    };
    let adapter = protocol.replacen(placeholder, store, 1);
    Some(match (language, kind) {
        (Language::Python, StoreKind::Git) => adapter.replacen(
            "\"reusable\": True,\n",
            "\"reusable\": True,\n        \"git\": True,\n",
            1,
        ),
        (Language::Node, StoreKind::Git) => {
            adapter.replacen("reusable: true,\n", "reusable: true,\n    git: true,\n", 1)
        }
        _ => adapter,
    })
}
