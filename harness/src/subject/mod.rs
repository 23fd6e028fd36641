//! The one seam between the harness and whatever is judged.

mod core;
mod hooked_disk;

pub use self::core::CoreSubject;
pub use hooked_disk::{Call, Hook, HookedDisk};

use crate::sandbox::Sandbox;
use herma_model::{Answer, Request, Settings};

/// An implementation under test, opened on one sandbox.
pub trait Subject {
    /// Answers a request. A subject that fails in a way it has no word for answers
    /// [`Answer::Crashed`].
    fn ask(&mut self, request: &Request) -> Answer;
}

/// Opens a subject in a sandbox, configured with these settings, at that time.
pub type NewSubject<'a> = dyn Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync + 'a;
