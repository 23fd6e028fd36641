//! The one seam between the harness and whatever is judged.

mod core;
mod hooked_disk;
mod process;

pub use self::core::CoreSubject;
pub use hooked_disk::{Call, Hook, HookedDisk};
pub use process::{AdapterCommand, ProcessSubject};

use crate::protocol::capabilities::Capabilities;
use crate::protocol::fault::Fault;
use crate::sandbox::Sandbox;
use herma_model::{Answer, Request, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which implementation, in which version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The commit, where the version does not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

impl Default for Identity {
    fn default() -> Self {
        let (name, version) = ("herma-core".into(), env!("CARGO_PKG_VERSION").into());
        Identity { name, version, commit: None }
    }
}

/// An implementation under test, opened on one sandbox.
pub trait Subject {
    /// Answers a request. A subject that fails in a way it has no word for answers
    /// [`Answer::Crashed`].
    fn ask(&mut self, request: &Request) -> Answer;

    /// Who the subject is.
    fn identity(&self) -> Identity {
        Identity::default()
    }

    /// What the subject claims to do; nothing else is asked of it.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// What is wrong with the adapter, once it broke the protocol; then no answer of it counts.
    fn fault(&self) -> Option<&Fault> {
        None
    }
}

/// Opens a subject in a sandbox, configured with these settings, at that time.
pub type NewSubject<'a> = dyn Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync + 'a;
