//! Histories: the operations of one run, as people write and read them.
//!
//! A request in a history names directories relative to the sandbox and checkpoints by their place
//! in a project's history, so that it means the same on every machine. Every operation is legal in
//! every state, so every subsequence of a history is a history.

pub(crate) mod concrete;
pub mod file;
mod operation;
pub(crate) mod plain_names;
pub(crate) mod reading;

pub use operation::{Event, Operation, Target};

use herma_model::store_edit::{Damage, Likeness};
use herma_model::{ByteString, Settings};
use serde::{Deserialize, Serialize};

/// One run, from a fresh sandbox on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// What the subject is configured with.
    #[serde(default, skip_serializing_if = "is_default")]
    pub settings: Settings,
    /// A real directory whose copy is the first project, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<std::path::PathBuf>,
    /// Whether the home holds no git configuration instead of a hostile one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_home: bool,
    /// What happens, in order.
    pub operations: Vec<Operation>,
}

pub(crate) fn is_default(settings: &Settings) -> bool {
    *settings == Settings::default()
}

/// Something that happens to the base of a store without a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreEvent {
    /// V1 kept a repository of this directory.
    Repository {
        /// The directory.
        dir: ByteString,
        /// How many days ago it changed last.
        days: u16,
    },
    /// Such repositories were archived.
    Archive {
        /// How many days ago.
        days: u16,
    },
    /// A foreign file lies there.
    Stray,
    /// A foreign folder stands there that looks like something of the store.
    Lookalike {
        /// Like what.
        of: Likeness,
        /// How many days ago it changed last.
        days: u16,
    },
    /// The metadata of a project is damaged.
    Metadata {
        /// The project.
        dir: ByteString,
        /// How.
        damage: Damage,
    },
    /// The index of a project is damaged.
    Index {
        /// The project.
        dir: ByteString,
        /// How.
        damage: Damage,
    },
    /// The marker of the last sweep says something else.
    Marker {
        /// How many hours ago the sweep was; `None` for text that is no time.
        hours: Option<i32>,
    },
}
