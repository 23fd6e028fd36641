//! Real databases in a run: the world takes in what a process wrote, and a restore is observed by what
//! SQLite reads afterwards.

use super::{Event, RunError, Runner, tell};
use crate::database::{SUFFIXES, beside};
use crate::history::DatabaseWrite;
use crate::sandbox::edits;
use herma_model::answer::Answer;
use herma_model::edit::Change;
use herma_model::{Allowed, ByteString, Edit, Node, Observation, bytes};
use std::io;

impl Runner<'_> {
    /// Has a database written, and takes in what is really on the disk at its paths.
    pub(super) fn write_database(
        &mut self,
        step: usize,
        database: &DatabaseWrite,
    ) -> Result<(), RunError> {
        self.run.operations += 1;
        let failed = |source: io::Error| RunError::Edit { step, source };
        let mut changes = self.make_room(database).map_err(failed)?;
        self.databases.write(self.sandbox.root(), database).map_err(failed)?;
        self.oracle.edited();
        let seen = self.oracle.files(&self.sandbox)?.clone();
        for path in SUFFIXES.map(|suffix| beside(&database.path, suffix)) {
            if seen.get(&path) == self.world.files.get(&path) {
                continue;
            }
            let edit = match seen.get(&path) {
                Some(Node::File { content, executable, .. }) => {
                    let content = ByteString::from(&content[..]);
                    Edit::Write { path: path.clone(), content, executable: *executable }
                }
                _ => Edit::Remove { path: path.clone() },
            };
            changes.extend(self.world.edit(&edit));
            if let Some(bits) = seen.permissions(&path) {
                self.world.edit(&Edit::SetPermissions { path, bits });
            }
        }
        tell(&mut self.watch, || Event::DatabaseWritten(database.clone(), changes));
        Ok(())
    }

    /// Makes the folder of a database, and removes what is at its paths and no file.
    fn make_room(&mut self, database: &DatabaseWrite) -> io::Result<Vec<Change>> {
        let parent = ByteString::from(bytes::parent(&database.path));
        let mut wanted = vec![Edit::MakeDirectory { path: parent }];
        for path in SUFFIXES.map(|suffix| beside(&database.path, suffix)) {
            if !matches!(self.world.files.get(&path), None | Some(Node::File { .. })) {
                wanted.push(Edit::Remove { path });
            }
        }
        let mut changes = Vec::new();
        for edit in wanted {
            for change in self.world.edit(&edit) {
                edits::apply(self.sandbox.root(), &change)?;
                changes.push(change);
            }
        }
        Ok(changes)
    }

    /// Observes what SQLite reads around a restore.
    pub(super) fn read_databases(
        &self,
        allowed: &Allowed,
        seen: &mut Observation,
    ) -> Result<(), RunError> {
        if let (Allowed::Restore(due), Answer::Restored(_)) = (allowed, &seen.answer)
            && !self.databases.written.is_empty()
        {
            let (then, files) =
                ((&due.project[..], &due.target.tree), (&self.world.files, &seen.files));
            seen.databases = self.databases.rows(then, files)?;
        }
        Ok(())
    }
}
