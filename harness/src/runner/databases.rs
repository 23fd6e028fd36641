//! Real databases in a run: the world learns the files that a process wrote, and for a restore the oracle
//! observes the rows that SQLite reads afterwards.

use super::{Event, RunError, Runner, notify};
use crate::database::{SUFFIXES, file_path};
use crate::history::DatabaseWrite;
use crate::sandbox::edits;
use herma_model::answer::Answer;
use herma_model::edit::Change;
use herma_model::{Allowed, ByteString, Edit, Node, Observation, bytes};
use std::io;

impl Runner<'_> {
    /// Lets a process write a database, and updates the world with the files on the disk at its paths.
    pub(super) fn write_database(
        &mut self,
        step: usize,
        database: &DatabaseWrite,
    ) -> Result<(), RunError> {
        self.run.operations += 1;
        let failed = |source: io::Error| RunError::Edit { step, source };
        let mut changes = self.prepare_paths(database).map_err(failed)?;
        self.databases.write(self.sandbox.root(), database).map_err(failed)?;
        self.oracle.edited();
        let seen = self.oracle.files(&self.sandbox)?.clone();
        for path in SUFFIXES.map(|suffix| file_path(&database.path, suffix)) {
            if seen.get(&path) == self.world.files.get(&path) {
                continue;
            }
            let edit = match seen.get(&path) {
                Some(Node::File { content, executable, .. }) => {
                    let content = content.clone();
                    Edit::Write { path: path.clone(), content, executable: *executable }
                }
                _ => Edit::Remove { path: path.clone() },
            };
            changes.extend(self.world.edit(&edit));
            if let Some(bits) = seen.permissions(&path) {
                self.world.edit(&Edit::SetPermissions { path, bits });
            }
        }
        notify(&mut self.watch, || Event::DatabaseWritten(database.clone(), changes));
        Ok(())
    }

    /// Makes the folder of a database, and removes what exists at its paths and is not a file.
    fn prepare_paths(&mut self, database: &DatabaseWrite) -> io::Result<Vec<Change>> {
        let parent = ByteString::from(bytes::parent(&database.path));
        let mut edits_needed = vec![Edit::MakeDirectory { path: parent }];
        for path in SUFFIXES.map(|suffix| file_path(&database.path, suffix)) {
            if !matches!(self.world.files.get(&path), None | Some(Node::File { .. })) {
                edits_needed.push(Edit::Remove { path });
            }
        }
        let mut changes = Vec::new();
        for edit in edits_needed {
            for change in self.world.edit(&edit) {
                edits::apply(self.sandbox.root(), &change)?;
                changes.push(change);
            }
        }
        Ok(changes)
    }

    /// Observes the rows that SQLite reads around a restore.
    pub(super) fn read_databases(
        &self,
        allowed: &Allowed,
        seen: &mut Observation,
    ) -> Result<(), RunError> {
        if let (Allowed::Restore(restore), Answer::Restored(_)) = (allowed, &seen.answer)
            && !self.databases.written.is_empty()
        {
            let checkpoint = &restore.target.tree;
            let before = &self.world.files;
            seen.databases =
                self.databases.rows(&restore.project, checkpoint, before, &seen.files)?;
        }
        Ok(())
    }
}
