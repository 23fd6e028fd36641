//! Restores an agent completely: its files and every part of its state, or nothing.
//!
//! A journal that undoes the restore is written before the first change; if the restore fails, or is
//! found to have died, it is undone, as in [`super::recovery`]. See
//! docs/decisions/0026-all-or-nothing-by-undoing.md.

use super::Stored;
use super::envelope::PartNote;
use super::envelopes::Kept;
use super::external::{External, Listed, Since};
use super::journal::Journal;
use super::parts::{PART_BYTES_MAX, State};
use super::recovery::UndoneFiles;
use crate::disk::{Kind as FileKind, folder, is_absence};
use crate::error::{Error, Result};
use crate::path::{on_disk, shown};
use crate::policy::Trigger;
use crate::remark::Remark;
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::snapshot::{Snapshot, is_lost};
use crate::token::Token;
use serde::Serialize;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The parts of the agent state that a restore is to restore.
#[derive(Default)]
pub struct WantedParts {
    /// The parts, each with the text to restore.
    texts: Vec<(PartNote, String)>,
    /// The present text of each part, by its name.
    before: BTreeMap<String, String>,
    /// Notices for the user.
    notices: Vec<String>,
}

impl WantedParts {
    /// The names of the parts that differ now.
    fn changed(&self) -> impl Iterator<Item = &str> {
        let differs =
            |(note, text): &&(PartNote, String)| self.before.get(&note.name) != Some(text);
        self.texts.iter().filter(differs).map(|(note, _)| &note.name[..])
    }

    /// Extends the token of the files by these parts and by the external actions that are left behind.
    pub fn token(&self, files: Token, agent: Option<&AgentRestored>) -> Token {
        let Some(agent) =
            agent.filter(|agent| self.has_parts() || !agent.external_actions.is_empty())
        else {
            return files;
        };
        let present = self.before.iter().map(|(name, text)| format!("{name} {text}"));
        let wanted = self.texts.iter().map(|(note, text)| format!("{} {text}", note.name));
        let left = agent.external_actions.iter().map(|action| action.note.number.to_string());
        files.and(present.chain(wanted).chain(left))
    }

    /// Whether there are parts, so that the restore is all or nothing.
    pub fn has_parts(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Drops the parts: without a pre-restore checkpoint the files could not be undone, so that all or
    /// nothing is impossible.
    pub fn give_up(&mut self) {
        if self.has_parts() {
            self.texts.clear();
            self.notices.push(
                "only files are restored, because the present state could not be saved first; the \
                 agent's state is unchanged"
                    .to_owned(),
            );
        }
    }
}

/// What a restore did to the agent state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AgentRestored {
    /// The parts that are now as the checkpoint carries them.
    pub parts: Vec<PartNote>,
    /// The names of the parts that differed before.
    pub changed: Vec<String>,
    /// The external actions of the agent since, which are left behind, oldest first.
    pub external_actions: Vec<Listed>,
    /// Why the checkpoint was taken, if it is recorded.
    pub trigger: Option<Trigger>,
    /// When it was taken, in seconds since the epoch; 0 if that is not recorded.
    pub taken_at: i64,
    /// The id of the turn of the conversation that the checkpoint belongs to.
    pub turn: Option<String>,
    /// Further notices for the user.
    pub notices: Vec<String>,
}

/// A restore of the agent state and of the files of a project with it.
#[derive(Clone, Copy)]
pub struct StateRestore<'a> {
    pub stored: Stored<'a>,
    pub objects: &'a Objects<'a>,
    /// The directory of the project.
    pub directory: &'a Path,
    /// The checkpoint that is restored, when it was taken, and what it holds.
    pub target: Oid,
    pub seconds: i64,
    pub files: &'a Snapshot,
    pub envelope: &'a Kept,
    pub parts: &'a WantedParts,
}

impl StateRestore<'_> {
    /// Writes the journal that undoes the restore into a project with the files `current`, which the
    /// checkpoint `before` holds.
    pub fn begin(&self, current: &Snapshot, before: Option<Oid>) -> Result<Journal> {
        let is_new = |path: &&Vec<u8>| {
            let full = on_disk(self.directory, path);
            !current.contains_key(*path)
                && folder::stat(self.stored.store.disk, &full)
                    .is_ok_and(|stat| stat.is_none_or(|stat| stat.kind == FileKind::Directory))
        };
        let journal = Journal {
            directory: self.directory.as_os_str().as_bytes().to_vec(),
            creates: self.files.keys().filter(is_new).cloned().collect(),
            target: self.target.to_string(),
            before: before.map(|before| before.to_string()),
            parts: self.parts.before.clone(),
        };
        self.stored.begin_journal(&journal).map(|()| journal)
    }
}

impl State {
    /// The parts that a restore is to restore in addition to the files; nothing is changed.
    ///
    /// # Errors
    /// A part that could not be restored, or whose present state no checkpoint could hold.
    // rule: agent/all-or-none
    pub(crate) fn wanted_parts(
        &self,
        objects: &Objects<'_>,
        envelope: &Kept,
    ) -> Result<WantedParts> {
        let mut found = WantedParts::default();
        if self.names().next().is_none() {
            found.notices.extend(left_alone(envelope));
            return Ok(found);
        }
        let envelope = match envelope {
            Kept::Intact(envelope) => envelope,
            Kept::None => {
                found.notices.push(
                    "the checkpoint contains only files; the agent's state is unchanged".to_owned(),
                );
                return Ok(found);
            }
            Kept::Unreadable(why) => {
                found.notices.push(format!(
                    "the checkpoint is incomplete: {why}; the agent's state is unchanged"
                ));
                return Ok(found);
            }
        };
        for note in &envelope.parts {
            let Some(part) = self.part(&note.name) else {
                found.notices.push(format!(
                    "this agent has no {}, which the checkpoint contains",
                    note.name
                ));
                continue;
            };
            let bad = |why| Error::BadState { part: note.name.clone(), why };
            let blob = Oid::parse(&note.hash).unwrap_or(Oid::ZERO);
            let text = match objects.read_up_to(Kind::Blob, blob, PART_BYTES_MAX) {
                Err(error) if error.is_damage() => Err("damaged"),
                read => match read?.map(String::from_utf8) {
                    Some(Ok(text)) => Ok(text),
                    Some(Err(_)) => Err("damaged"),
                    None => Err("too large"),
                },
            };
            let text = match text {
                Ok(text) => text,
                Err(damage) => {
                    // One damaged part affects all of them, and no file.
                    let name = &note.name;
                    let why = format!(
                        "the checkpoint's {name} is {damage}; the agent's state is unchanged"
                    );
                    return Ok(WantedParts { notices: vec![why], ..WantedParts::default() });
                }
            };
            part.check(&text).map_err(bad)?;
            found.before.insert(note.name.clone(), part.capture().map_err(bad)?);
            found.texts.push((note.clone(), text));
        }
        Ok(found)
    }

    /// Restores the parts after the files, or undoes everything.
    ///
    /// # Errors
    /// [`Error::RestoreUndone`].
    // rule: agent/all-or-none: decides
    pub(crate) fn end_restore(
        &self,
        restore: &StateRestore<'_>,
        journal: &Journal,
        failed: &[Remark],
        undo_files: &dyn Fn(&Journal) -> Result<UndoneFiles>,
    ) -> Result<()> {
        let StateRestore { stored, objects, directory, files, parts, .. } = *restore;
        // Damage affects only what depends on it: if no part would change, the other files are restored
        // nevertheless.
        // rule: maintenance/damage
        let is_about_state = parts.changed().next().is_some();
        let is_reason = |path: &[u8]| is_about_state || !is_lost(objects, files, path);
        let failed = failed.iter().find(|remark| is_reason(&remark.path));
        let mut why = failed
            .map(|remark| format!("{} was not restored: {}", shown(&remark.path), remark.why));
        for (note, text) in parts.texts.iter().take_while(|_| why.is_none()) {
            let part = self.part(&note.name);
            if let Some(Err(cause)) = part.map(|part| part.restore(text)) {
                why = Some(format!("the agent's {} was not restored: {cause}", note.name));
                break;
            }
        }
        // Otherwise a power loss could undo changes whose journal is gone.
        let synced = stored.store.disk.sync_file_system(directory).err();
        // A checkpoint without files does not create a project directory that is gone.
        let synced = synced.filter(|error| why.is_none() && !is_absence(error));
        if let Some(error) = synced {
            why = Some(format!("{}: {error}", directory.display()));
        }
        // As long as its journal exists it would be undone later, over files that are saved until then.
        let ended = why.map_or_else(|| stored.end_journal().map_err(|error| error.cause()), Err);
        let Err(why) = ended else { return Ok(()) };
        let left = match self.undo_restore(stored, journal, undo_files) {
            Ok(left) => left.map(|left| format!("the restore was undone, except for this: {left}")),
            Err(error) => Some(format!("the restore was undone only in part: {}", error.cause())),
        };
        Err(Error::RestoreUndone { why, left })
    }

    /// The report on the agent state after a restore, or for a preview of one.
    // rule: agent/external-listed
    pub(crate) fn restored(
        &self,
        restore: &StateRestore<'_>,
        is_done: bool,
    ) -> Option<AgentRestored> {
        let StateRestore { envelope, parts, .. } = *restore;
        let mut notices = parts.notices.clone();
        if self.is_empty() {
            let agent = AgentRestored { notices, ..AgentRestored::default() };
            return (!agent.notices.is_empty()).then_some(agent);
        }
        let mut external_actions = Vec::new();
        if let Some(external) = self.external() {
            match left_behind(external, restore, is_done) {
                Ok((listed, notice)) => {
                    external_actions = listed;
                    notices.extend(notice);
                }
                Err(error) => notices.push(format!(
                    "the external actions since the checkpoint are not known, and may still have effects: {}",
                    error.cause()
                )),
            }
        }
        let agent = AgentRestored {
            changed: parts.changed().map(str::to_owned).collect(),
            parts: parts.texts.iter().map(|(note, _)| note.clone()).collect(),
            external_actions,
            notices,
            ..AgentRestored::default()
        };
        Some(match envelope {
            Kept::Intact(envelope) => AgentRestored {
                trigger: Some(envelope.trigger),
                taken_at: envelope.taken_at,
                turn: envelope.turn.clone(),
                ..agent
            },
            Kept::None | Kept::Unreadable(_) => agent,
        })
    }
}

/// The external actions since a checkpoint, which a restore that `is_done` leaves behind; and a notice if
/// only their times show which those are.
// rule: agent/external-listed
fn left_behind(
    external: &External,
    restore: &StateRestore<'_>,
    is_done: bool,
) -> Result<(Vec<Listed>, Option<String>)> {
    let StateRestore { envelope, target, directory, .. } = *restore;
    let (since, why) = match envelope {
        Kept::Intact(envelope) if external.last()? >= envelope.external_through => {
            (Since::Action(envelope.external_through), None)
        }
        Kept::Intact(envelope) => {
            (Since::Time(envelope.taken_at), Some("the log of external actions is incomplete"))
        }
        Kept::None | Kept::Unreadable(_) => (
            Since::Time(restore.seconds),
            Some("the checkpoint does not record the external actions before it"),
        ),
    };
    let listed = external.since(since)?;
    if is_done {
        let directory = directory.display().to_string();
        external.leave_since(since, &target.to_string(), &directory)?;
    }
    let is_log_lost = matches!(envelope, Kept::Intact(_));
    let why = why.filter(|_| is_log_lost || !listed.is_empty());
    let notice =
        why.map(|why| format!("{why}: those since the checkpoint are determined by their times"));
    Ok((listed, notice))
}

/// A notice, if a checkpoint carries parts and there is no agent that has them.
// rule: agent/all-or-none
fn left_alone(envelope: &Kept) -> Option<String> {
    let Kept::Intact(envelope) = envelope else { return None };
    let names: Vec<&str> = envelope.parts.iter().map(|part| &part.name[..]).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the checkpoint also contains {}, which no agent here has: only files are restored",
            names.join(", ")
        )
    })
}
