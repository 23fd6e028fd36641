//! Ownership of the agent state: the locks of the files that its parts name. A process holds them while it
//! changes the parts, or while it reads all parts in one consistent state.
//!
//! The order of locks is fixed: first the lock of a project, then these. While a process holds these, it
//! takes no lock of a project. The manager decides when they are taken.

use super::State;
use crate::disk::{Disk, Sharing};
use crate::error::{Error, Result};
use crate::store::lock::Lock;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

/// Owns the state until it is dropped.
pub struct Owner {
    _locks: Vec<Lock>,
}

/// Takes a lock, waiting for it as long as the caller accepts.
pub type Take = fn(&dyn Disk, &Path, Sharing) -> Result<Lock>;

impl State {
    /// Takes the locks of all parts, exclusively or shared with other readers.
    ///
    /// # Errors
    /// [`Error::Busy`] while another process holds one; a disk that fails.
    // rule: agent/all-or-none
    pub(crate) fn lock_parts(
        &self,
        disk: &dyn Disk,
        sharing: Sharing,
        take: Take,
    ) -> Result<Owner> {
        let files: BTreeSet<_> = self.parts.iter().filter_map(|part| part.lock_file()).collect();
        let mut locks = Vec::new();
        for file in files {
            match take(disk, &file, sharing) {
                Err(error) if cannot_be_created(&error) => {
                    tracing::debug!("the agent's state has no lock, and cannot have one: {error}");
                }
                taken => locks.push(taken?),
            }
        }
        Ok(Owner { _locks: locks })
    }
}

/// Whether a lock file does not exist and cannot be created, so that no process holds it: its folder is
/// missing, withheld or read-only, or the disk is full.
fn cannot_be_created(error: &Error) -> bool {
    let Error::Io { source, .. } = error else { return false };
    let is_folder_unusable = matches!(
        source.kind(),
        ErrorKind::NotFound | ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    );
    is_folder_unusable || error.is_full_disk()
}
