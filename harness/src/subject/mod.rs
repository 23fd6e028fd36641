//! The one seam between the harness and whatever is judged.

mod core;
mod hooked_disk;
mod process;

pub use self::core::CoreSubject;
pub use hooked_disk::{Call, Hook, HookedDisk};
pub use process::{AdapterCommand, ProcessSubject};

use crate::protocol::claims::Claims;
use crate::protocol::fault::Fault;
use crate::sandbox::Sandbox;
use herma_model::{Answer, Request, Settings};

/// An implementation under test, opened on one sandbox.
pub trait Subject {
    /// Answers a request. A subject that fails in a way it has no word for answers
    /// [`Answer::Crashed`].
    fn ask(&mut self, request: &Request) -> Answer;

    /// What the subject claims to do; nothing else is asked of it.
    fn claims(&self) -> Claims {
        Claims::default()
    }

    /// What is wrong with the adapter, once it broke the protocol; then no answer of it counts.
    fn fault(&self) -> Option<&Fault> {
        None
    }
}

/// Opens a subject in a sandbox, configured with these settings, at that time.
pub type NewSubject<'a> = dyn Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync + 'a;
