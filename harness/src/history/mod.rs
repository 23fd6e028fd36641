//! Histories: the operations of one run, in the form that users write and read.
//!
//! A request in a history names directories relative to the sandbox, and checkpoints by their position in a
//! project's history, so that it means the same on every machine. Every operation is valid in every state, so
//! every subsequence of a history is a history.

pub(crate) mod concrete;
pub mod file;
mod injection;
mod operation;
pub(crate) mod plain_names;
pub(crate) mod reading;

pub use injection::{CallPosition, InjectedEvent, Injection, PowerLoss};
pub use operation::{DatabaseEnd, DatabaseWrite, Event, JournalMode, Operation, Target};

use herma_model::store_edit::{Damage, Likeness, StoreFile};
use herma_model::{ByteString, Edit, Piece, Settings};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A history: the initial conditions and the operations of one run, which starts with a fresh sandbox.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// The settings of the subject.
    #[serde(default, skip_serializing_if = "is_default")]
    pub settings: Settings,
    /// A real directory whose copy is the first project, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<std::path::PathBuf>,
    /// Whether the home directory has no git configuration; otherwise it has a hostile one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_home: bool,
    /// The operations, in order.
    pub operations: Vec<Operation>,
}

impl History {
    /// The unusual initial conditions, one per line: settings that differ from the defaults, and a home
    /// directory without a git configuration.
    pub fn conditions(&self) -> Vec<String> {
        let unusual = self.unusual_settings().into_iter();
        let unusual: Vec<String> =
            unusual.map(|(name, value)| format!("{name}: {value}")).collect();
        let settings = (!unusual.is_empty()).then(|| format!("settings: {}", unusual.join(", ")));
        let home = self.plain_home.then(|| "home: without a git configuration".to_owned());
        settings.into_iter().chain(home).collect()
    }

    /// The settings that differ from the defaults.
    pub fn unusual_settings(&self) -> BTreeMap<String, serde_json::Value> {
        let fields = |settings: &Settings| match serde_json::to_value(settings) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let default = fields(&Settings::default());
        let differs = |(name, value): &(String, _)| default.get(name) != Some(value);
        fields(&self.settings).into_iter().filter(differs).collect()
    }

    /// Whether the damage of the history is possible for a store with these capabilities: a file is damaged by
    /// its meaning where the layout is known, and by its position elsewhere.
    pub fn has_possible_damage(&self, has_layout: bool) -> bool {
        use StoreEvent::{AnyFile, File, Index, Metadata, Ref, Stored};
        self.operations.iter().all(|operation| match operation {
            Operation::Event(Event::Store(AnyFile { .. })) => !has_layout,
            Operation::Event(Event::Store(
                Stored { .. } | Ref { .. } | File { .. } | Metadata { .. } | Index { .. },
            )) => has_layout,
            _ => true,
        })
    }

    /// The history in which injections at several calls happen at `call` only; unchanged if `call` is
    /// `None`.
    pub fn at_call(&self, call: Option<CallPosition>) -> History {
        self.with_calls(|planned| if planned.is_for_several() { call } else { None })
    }

    /// The history without effects at calls: only the edits for which a call would wait are made, before the
    /// request.
    pub fn before_calls(&self) -> History {
        self.with_calls(|_| Some(CallPosition::Call(0)))
    }

    /// The history in which an injection at one call happens at every call instead; `None` if it has no
    /// injection.
    pub fn at_every_call(&self) -> Option<History> {
        let every = self.with_calls(|call| {
            matches!(call, CallPosition::Call(_)).then_some(CallPosition::Every)
        });
        every.is_for_every_call().then_some(every)
    }

    /// The history with the calls of injections replaced where `replace` returns another one.
    fn with_calls(&self, replace: impl Fn(CallPosition) -> Option<CallPosition>) -> History {
        let mut history = self.clone();
        for operation in &mut history.operations {
            if let Operation::Event(Event::Inject(injection)) = operation {
                injection.call = replace(injection.call).unwrap_or(injection.call);
            }
        }
        history
    }

    /// Whether an injection is for several calls, so that the history means several runs, one for each
    /// call.
    pub fn is_for_every_call(&self) -> bool {
        self.injections().any(|(_, injection)| injection.call.is_for_several())
    }

    /// The injections, each with the number of its operation, from 0.
    pub fn injections(&self) -> impl Iterator<Item = (usize, &Injection)> {
        let numbered = self.operations.iter().enumerate();
        numbered.filter_map(|(number, operation)| match operation {
            Operation::Event(Event::Inject(injection)) => Some((number, injection)),
            _ => None,
        })
    }

    /// Checks that no edit can change anything outside the sandbox. The runner itself carries out edits, so a
    /// third-party history must not name files of the user who runs it.
    ///
    /// # Errors
    /// The first edit that can, in words.
    pub(crate) fn stays_inside(&self) -> Result<(), String> {
        let outside = self.operations.iter().enumerate().find_map(|(number, operation)| {
            let paths = match operation {
                Operation::Edit(edit) => edit.paths(),
                Operation::Event(Event::Database(database)) => vec![&database.path],
                Operation::Event(Event::Inject(injection)) => {
                    if let Err(why) = injection.is_possible() {
                        return Some(format!("operations[{number}]: {why}"));
                    }
                    injection.edits().flat_map(Edit::paths).collect()
                }
                _ => return None,
            };
            let path = paths.into_iter().find(|path| !is_inside(path))?;
            Some(format!(
                "operations[{number}]: the path `{path}` is not one below the sandbox: write it \
                 relative to that, without `.` and `..`"
            ))
        });
        outside.map_or(Ok(()), Err)
    }
}

/// Whether a relative path stays below its base folder, whatever exists there.
fn is_inside(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| ![&b""[..], b".", b".."].contains(&name) && !name.contains(&0);
    path.split(|byte| *byte == b'/').all(is_name)
}

pub(crate) fn is_default(settings: &Settings) -> bool {
    *settings == Settings::default()
}

/// A change in the checkpoint base (the folder that contains the store) that no request makes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoreEvent {
    /// A v1 repository of a directory is added.
    Repository {
        /// The directory.
        dir: ByteString,
        /// The number of days since its last change.
        days: u16,
    },
    /// An archive of v1 repositories is added.
    Archive {
        /// The number of days since it was made.
        days: u16,
    },
    /// A third-party file is added.
    Stray,
    /// An unrelated folder that looks like a part of the store is added.
    Lookalike {
        /// The part that it looks like.
        of: Likeness,
        /// The number of days since its last change.
        days: u16,
    },
    /// The metadata of a project is damaged.
    Metadata {
        /// The project.
        dir: ByteString,
        /// The kind of damage.
        damage: Damage,
    },
    /// The index of a project is damaged.
    Index {
        /// The project.
        dir: ByteString,
        /// The kind of damage.
        damage: Damage,
    },
    /// A stored piece of a checkpoint is damaged: its own file, or the pack that contains it. A pack is
    /// only damaged in a way that loses all of it.
    Stored {
        /// The project.
        dir: ByteString,
        /// The number of newer checkpoints of the project.
        back: usize,
        /// The piece of the checkpoint.
        piece: Piece,
        /// The kind of damage.
        damage: Damage,
    },
    /// A file is damaged of a store whose layout is unknown.
    AnyFile {
        /// The part of the files, sorted by their paths, at whose beginning it is: of 16, from 0.
        part: u8,
        /// The kind of damage.
        damage: Damage,
    },
    /// The ref of a project is damaged, if it is a separate file.
    Ref {
        /// The project.
        dir: ByteString,
        /// The kind of damage.
        damage: Damage,
    },
    /// A file of the store that belongs to no project is damaged, if it exists.
    File {
        /// The file.
        file: StoreFile,
        /// The kind of damage.
        damage: Damage,
    },
    /// A user runs plain `git gc` in the store, unless the store is damaged.
    Collected,
    /// The marker of the last sweep is changed.
    Marker {
        /// The number of hours since the sweep; `None` for a marker whose text is not a time.
        hours: Option<i32>,
    },
}

#[cfg(test)]
mod tests {
    use super::file::from_yaml;

    #[test]
    fn from_yaml_refuses_edits_outside_the_sandbox() {
        for edit in [
            "write: {path: /tmp/a, content: x}",
            "write: {path: work/../../a, content: x}",
            "remove: {path: ..}",
            "remove: {path: \"\"}",
            "make_directory: {path: work//a}",
            "link: {path: ./a, target: b}",
            "rename: {from: work/a, to: /tmp/a}",
            "hard_link: {path: work/a, to: ../a}",
            "database: {path: /tmp/a.db, journal_mode: wal, rows: 1, end: closed}",
            "inject: {call: 1, what: hold, meanwhile: [{remove: {path: /tmp/a}}]}",
        ] {
            let text = format!("operations:\n- new_turn\n- {edit}\n");
            let error = from_yaml(&text, "here".as_ref()).unwrap_err().to_string();
            assert!(error.contains("operations[1]: the path `"), "{edit}: {error}");
        }
        let inside = "operations:\n- link: {path: work/a.., target: /etc}\n";
        assert!(from_yaml(inside, "here".as_ref()).is_ok());
    }
}
