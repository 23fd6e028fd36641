//! Histories: the operations of one run, as people write and read them.
//!
//! A request in a history names directories relative to the sandbox and checkpoints by their place
//! in a project's history, so that it means the same on every machine. Every operation is legal in
//! every state, so every subsequence of a history is a history.

pub(crate) mod concrete;
pub mod file;
mod injection;
mod operation;
pub(crate) mod plain_names;
pub(crate) mod reading;

pub use injection::{At, Injection, Left, What};
pub use operation::{DatabaseEnd, DatabaseWrite, Event, JournalMode, Operation, Target};

use herma_model::store_edit::{Damage, Likeness, StoreFile};
use herma_model::{ByteString, Edit, Piece, Settings};
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

impl History {
    /// What is not as usual when it begins, a line each: the settings that differ from the default ones,
    /// and a home without a git configuration.
    pub fn conditions(&self) -> Vec<String> {
        let fields = |settings: &Settings| match serde_json::to_value(settings) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let usual = fields(&Settings::default());
        let differing: Vec<String> = fields(&self.settings)
            .into_iter()
            .filter(|(name, value)| usual.get(name) != Some(value))
            .map(|(name, value)| format!("{name}: {value}"))
            .collect();
        let settings =
            (!differing.is_empty()).then(|| format!("settings: {}", differing.join(", ")));
        let home = self.plain_home.then(|| "home: without a git configuration".to_owned());
        settings.into_iter().chain(home).collect()
    }

    /// The same with injections at this call, where they come at each.
    pub fn at_call(&self, call: Option<At>) -> History {
        self.with_calls(|injected| if injected.is_for_several() { call } else { None })
    }

    /// The same where nothing happens at any call: edits that one waits for are made before.
    pub fn before_calls(&self) -> History {
        self.with_calls(|_| Some(At::Call(0)))
    }

    /// The same with injections at each call, where they come at one; none where there is no injection.
    pub fn at_every_call(&self) -> Option<History> {
        let every = self.with_calls(|call| matches!(call, At::Call(_)).then_some(At::Every));
        every.is_for_every_call().then_some(every)
    }

    fn with_calls(&self, other: impl Fn(At) -> Option<At>) -> History {
        let mut history = self.clone();
        for operation in &mut history.operations {
            if let Operation::Event(Event::Inject(injection)) = operation {
                injection.call = other(injection.call).unwrap_or(injection.call);
            }
        }
        history
    }

    /// Whether it stands for a run for each call of a request.
    pub fn is_for_every_call(&self) -> bool {
        self.injections().any(|(_, injection)| injection.call.is_for_several())
    }

    /// Its injections, each with the number of its operation, from 0.
    pub fn injections(&self) -> impl Iterator<Item = (usize, &Injection)> {
        let numbered = self.operations.iter().enumerate();
        numbered.filter_map(|(number, operation)| match operation {
            Operation::Event(Event::Inject(injection)) => Some((number, injection)),
            _ => None,
        })
    }

    /// Whether no edit can change anything outside the sandbox. The runner itself carries out edits,
    /// so a history from a stranger must not name the files of whoever runs it.
    ///
    /// # Errors
    /// The first edit that could, in words.
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

/// Whether a path is one below the folder that it is relative to, whatever stands there.
fn is_inside(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| ![&b""[..], b".", b".."].contains(&name) && !name.contains(&0);
    path.split(|byte| *byte == b'/').all(is_name)
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
    /// A piece of a checkpoint is damaged where it is stored: its own file, or the pack that it is in,
    /// if that is lost as a whole.
    Stored {
        /// The project.
        dir: ByteString,
        /// How many checkpoints were taken of it since.
        back: usize,
        /// Which piece of the checkpoint.
        piece: Piece,
        /// How.
        damage: Damage,
    },
    /// What names the newest checkpoint of a project is damaged, if it has a file of its own.
    Ref {
        /// The project.
        dir: ByteString,
        /// How.
        damage: Damage,
    },
    /// A file of the store is damaged that belongs to no project, if there is one.
    File {
        /// Which file.
        file: StoreFile,
        /// How.
        damage: Damage,
    },
    /// Somebody runs plain `git gc` in the store, unless it is damaged.
    Collected,
    /// The marker of the last sweep says something else.
    Marker {
        /// How many hours ago the sweep was; `None` for text that is no time.
        hours: Option<i32>,
    },
}

#[cfg(test)]
mod tests {
    use super::file::from_yaml;

    #[test]
    fn an_edit_of_what_lies_outside_the_sandbox_is_refused_before_anything_runs() {
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
            let said = from_yaml(&text, "here".as_ref()).unwrap_err().to_string();
            assert!(said.contains("operations[1]: the path `"), "{edit}: {said}");
        }
        let inside = "operations:\n- link: {path: work/a.., target: /etc}\n";
        assert!(from_yaml(inside, "here".as_ref()).is_ok());
    }
}
