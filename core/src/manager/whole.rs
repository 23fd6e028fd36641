//! Rolling back a whole agent: its files and every part of its state, or nothing.
//!
//! What undoes it is noted before the first change; where the rollback fails, or is found to have
//! died, it is taken back, as [`super::recovery`] does. See
//! docs/decisions/0026-all-or-none-by-taking-back.md.

use super::Manager;
use super::rollback::Wanted;
use crate::disk::{Kind as FileKind, folder, is_absence};
use crate::error::{Error, Result};
use crate::path::{on_disk, shown};
use crate::project::Project;
use crate::report::{AgentRestored, Restored};
use crate::restore::Restore;
use crate::state::{External, ListedAction, PART_BYTES_MAX, Since};
use crate::store::envelope::PartNote;
use crate::store::envelopes::Kept;
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::undo::Undo;
use crate::store::{Store, undo};
use crate::token::Token;
use git2::Oid;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;

/// The parts of the agent's state that a rollback is to bring back.
#[derive(Default)]
pub(super) struct WantedParts {
    /// What each is to become.
    texts: Vec<(PartNote, String)>,
    /// What each is now.
    before: BTreeMap<String, String>,
    /// What a person should know of it.
    notices: Vec<String>,
}

impl WantedParts {
    /// The names of those that are something else now.
    fn changed(&self) -> impl Iterator<Item = &str> {
        let is_other =
            |(note, text): &&(PartNote, String)| self.before.get(&note.name) != Some(text);
        self.texts.iter().filter(is_other).map(|(note, _)| &note.name[..])
    }

    /// The token of a preview of the files, for these parts and what is left behind as well.
    pub fn token(&self, files: Token, agent: Option<&AgentRestored>) -> Token {
        let Some(agent) =
            agent.filter(|agent| self.is_whole() || !agent.external_actions.is_empty())
        else {
            return files;
        };
        let now = self.before.iter().map(|(name, text)| format!("{name} {text}"));
        let then = self.texts.iter().map(|(note, text)| format!("{} {text}", note.name));
        let left = agent.external_actions.iter().map(|one| one.note.number.to_string());
        files.and(now.chain(then).chain(left))
    }

    /// Whether there are any, so that the rollback is to be whole.
    pub fn is_whole(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Without a pre-rollback checkpoint there is nothing to go back to, and so no all or none.
    pub fn give_up(&mut self) {
        if self.is_whole() {
            self.texts.clear();
            self.notices.push(
                "without a pre-rollback checkpoint only files come back; the rest of the agent is as \
                 it was"
                    .to_owned(),
            );
        }
    }
}

impl Manager {
    /// What a rollback is to bring back beside the files; nothing is changed.
    ///
    /// # Errors
    /// A part that could not be restored, or whose present state no checkpoint could hold.
    // rule: agent/all-or-none
    pub(super) fn wanted_parts(
        &self,
        objects: &Objects<'_>,
        wanted: &Wanted,
    ) -> Result<WantedParts> {
        let mut found = WantedParts::default();
        if self.state.names().next().is_none() {
            found.notices.extend(left_alone(&wanted.envelope));
            return Ok(found);
        }
        let envelope = match &wanted.envelope {
            Kept::Whole(envelope) => envelope,
            Kept::None => {
                found.notices.push(
                    "the checkpoint carries nothing but files; the rest of the agent is as it was"
                        .to_owned(),
                );
                return Ok(found);
            }
            Kept::Unreadable(why) => {
                found.notices.push(format!("{why}; the rest of the agent is as it was"));
                return Ok(found);
            }
        };
        for note in &envelope.parts {
            let Some(part) = self.state.part(&note.name) else {
                found.notices.push(format!("this agent has no {}", note.name));
                continue;
            };
            let bad = |why| Error::BadState { part: note.name.clone(), why };
            let blob = Oid::from_str(&note.hash).unwrap_or(Oid::ZERO_SHA1);
            let text = match objects.read_up_to(Kind::Blob, blob, PART_BYTES_MAX) {
                Err(error) if error.is_damage() => Err("damaged"),
                read => match read?.map(String::from_utf8) {
                    Some(Ok(text)) => Ok(text),
                    Some(Err(_)) => Err("damaged"),
                    None => Err("larger than any part may be"),
                },
            };
            let text = match text {
                Ok(text) => text,
                Err(how) => {
                    // One damaged part costs all of them, and no file.
                    let name = &note.name;
                    let why = format!("its {name} is {how}; the rest of the agent is as it was");
                    return Ok(WantedParts { notices: vec![why], ..WantedParts::default() });
                }
            };
            part.check(&text).map_err(bad)?;
            found.before.insert(note.name.clone(), part.capture().map_err(bad)?);
            found.texts.push((note.clone(), text));
        }
        Ok(found)
    }

    /// Notes how to undo a rollback to `wanted`, before which `before` holds the files.
    pub(super) fn begin_whole(
        &self,
        (store, project): (&Store<'_>, &Project),
        restore: &Restore<'_>,
        wanted: &Wanted,
        before: Option<Oid>,
        parts: &WantedParts,
    ) -> Result<Undo> {
        let is_new = |path: &&Vec<u8>| {
            let full = on_disk(&project.directory, path);
            !restore.current.contains_key(*path)
                && folder::stat(store.disk, &full)
                    .is_ok_and(|stat| stat.is_none_or(|stat| stat.kind == FileKind::Directory))
        };
        let undo = Undo {
            directory: project.directory.as_os_str().as_bytes().to_vec(),
            creates: wanted.snapshot.keys().filter(is_new).cloned().collect(),
            target: wanted.id.to_string(),
            before: before.map(|before| before.to_string()),
            parts: parts.before.clone(),
        };
        undo::begin(store, &project.hash, &undo).map(|()| undo)
    }

    /// Restores the parts after the files, or takes everything back.
    ///
    /// # Errors
    /// [`Error::RolledBackNothing`].
    // rule: agent/all-or-none
    pub(super) fn end_whole(
        &self,
        (store, objects): (&Store<'_>, &Objects<'_>),
        project: &Project,
        undo: &Undo,
        (wanted, parts): (&Wanted, &WantedParts),
        report: &Restored,
    ) -> Result<()> {
        // What is damaged costs what needs it, and nothing more: where no part would change, the other
        // files come back all the same.
        // rule: maintenance/damage
        let is_about_state = parts.changed().next().is_some();
        let is_reason = |path: &[u8]| is_about_state || !is_lost(objects, wanted, path);
        let failed = report.failed.iter().find(|one| is_reason(&one.path));
        let mut why =
            failed.map(|one| format!("{} was not restored: {}", shown(&one.path), one.why));
        for (note, text) in parts.texts.iter().take_while(|_| why.is_none()) {
            let part = self.state.part(&note.name);
            if let Some(Err(cause)) = part.map(|part| part.restore(text)) {
                why = Some(format!("the agent's {} was not restored: {cause}", note.name));
                break;
            }
        }
        // Or a power loss would take what the note is gone for.
        let disk = self.disk.as_ref();
        let synced = disk.sync_file_system(&project.directory).err();
        // A checkpoint without files leaves a directory that is gone as it is.
        let synced = synced.filter(|error| why.is_none() && !is_absence(error));
        if let Some(error) = synced {
            why = Some(format!("{}: {error}", project.directory.display()));
        }
        // While its note stands it would be taken back later, over what somebody saves until then.
        let ended =
            why.map_or_else(|| undo::end(store, &project.hash).map_err(|error| error.cause()), Err);
        let Err(why) = ended else { return Ok(()) };
        let left = match self.take_back(store, objects, project, undo) {
            Ok(left) => left.map(|left| format!("but for this: {left}")),
            Err(error) => Some(format!("as far as that could be done: {}", error.cause())),
        };
        Err(Error::RolledBackNothing { why, left })
    }

    /// What is said of the agent's state after a rollback, or would be after one.
    // rule: agent/external-listed
    pub(super) fn agent_restored(
        &self,
        project: &Project,
        wanted: &Wanted,
        parts: &WantedParts,
        is_done: bool,
    ) -> Option<AgentRestored> {
        let mut notices = parts.notices.clone();
        if self.state.is_empty() {
            let agent = AgentRestored { notices, ..AgentRestored::default() };
            return (!agent.notices.is_empty()).then_some(agent);
        }
        let mut external_actions = Vec::new();
        if let Some(external) = self.state.external() {
            match left_behind(external, project, wanted, is_done) {
                Ok((listed, notice)) => {
                    external_actions = listed;
                    notices.extend(notice);
                }
                Err(error) => notices.push(format!(
                    "what was done outside since is not known, and may still stand: {}",
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
        Some(match &wanted.envelope {
            Kept::Whole(envelope) => AgentRestored {
                trigger: Some(envelope.trigger),
                taken_at: envelope.taken_at,
                turn: envelope.turn.clone(),
                ..agent
            },
            Kept::None | Kept::Unreadable(_) => agent,
        })
    }
}

/// What was done outside since a checkpoint, which a rollback that `is_done` leaves behind; and what is
/// to be said where only the time tells since when.
// rule: agent/external-listed
fn left_behind(
    external: &External,
    project: &Project,
    wanted: &Wanted,
    is_done: bool,
) -> Result<(Vec<ListedAction>, Option<String>)> {
    let (since, why) = match &wanted.envelope {
        Kept::Whole(envelope) if external.last()? >= envelope.external_through => {
            (Since::Action(envelope.external_through), None)
        }
        Kept::Whole(envelope) => (
            Since::Time(envelope.taken_at),
            Some("of what was done outside, some is noted nowhere any more"),
        ),
        Kept::None | Kept::Unreadable(_) => (
            Since::Time(wanted.seconds),
            Some("the checkpoint does not say what was done outside before it"),
        ),
    };
    let listed = external.since(since)?;
    if is_done {
        let place = project.directory.display().to_string();
        external.leave_since(since, &wanted.id.to_string(), &place)?;
    }
    let is_lost = matches!(wanted.envelope, Kept::Whole(_));
    let why = why.filter(|_| is_lost || !listed.is_empty());
    let notice = why.map(|why| format!("{why}: what was done since is told by its time"));
    Ok((listed, notice))
}

/// What is said where a checkpoint carries parts, and there is no agent that could have them back.
// rule: agent/all-or-none
fn left_alone(envelope: &Kept) -> Option<String> {
    let Kept::Whole(envelope) = envelope else { return None };
    let names: Vec<&str> = envelope.parts.iter().map(|part| &part.name[..]).collect();
    (!names.is_empty()).then(|| {
        format!(
            "the checkpoint also carries {}, which no agent here has: only files come back",
            names.join(", ")
        )
    })
}

/// Whether what a checkpoint holds of a path is damaged, so that no attempt can bring it back.
pub(super) fn is_lost(objects: &Objects<'_>, wanted: &Wanted, path: &[u8]) -> bool {
    let item = wanted.snapshot.get(path);
    let checked = item.map(|item| objects.check(Kind::Blob, item.blob));
    matches!(checked, Some(Err(error)) if error.is_damage())
}
