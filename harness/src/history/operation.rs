//! Operations of a history. The name of an operation is read first and selects its parser, so that an error says
//! which operation is wrong.

use super::{Injection, StoreEvent};
use crate::nearest::nearest;
use herma_model::request::REQUESTS;
use herma_model::{ByteString, Edit, Request};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, VariantAccess, Visitor,
};
use serde::{Deserialize, Serialize, forward_to_deserialize_any};
use std::fmt;
use std::marker::PhantomData;

/// How a request names a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// By its number in the list.
    Number(u32),
    /// By the first digits of the id of a project's checkpoint.
    Id {
        /// The project of the checkpoint, which may differ from the project of the request.
        of: ByteString,
        /// The number of newer checkpoints of the project.
        back: usize,
        /// The number of digits, at most all of them.
        digits: usize,
    },
    /// By the id of a checkpoint's root tree, which is not the id of a checkpoint.
    TreeOf {
        /// The project.
        of: ByteString,
        /// The number of newer checkpoints of the project.
        back: usize,
    },
    /// By the id of the first blob in a checkpoint, which is not the id of a checkpoint.
    BlobOf {
        /// The project.
        of: ByteString,
        /// The number of newer checkpoints of the project.
        back: usize,
    },
    /// By these bytes, as typed.
    Text(ByteString),
}

/// One operation of a history.
///
/// Directories and files are relative to the sandbox. A path that begins with a tilde or with `./` is passed to
/// the subject unchanged; `/` is the root of the file system. The target of a link is used unchanged, unless it
/// begins with `$SANDBOX/`: then it is an absolute path into the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Operation {
    /// A request to the subject.
    Ask(Request<Target>),
    /// An edit of a file.
    Edit(Edit),
    /// Any other event.
    Event(Event),
}

/// An event of a history that is not a request or an edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Time passes; it may also be set back.
    Advance {
        /// The number of seconds.
        seconds: i64,
    },
    /// A full restore of every checkpoint of the project, one after the other, newest first; each removes the
    /// files created since.
    RestoreEach {
        /// The project.
        dir: ByteString,
    },
    /// The store is changed without a request.
    Store(StoreEvent),
    /// A separate process writes rows into a real SQLite database.
    Database(DatabaseWrite),
    /// An injection into a call of the next request that reads or changes checkpoints.
    Inject(Injection),
    /// The next request that reads or changes checkpoints goes to a separate process, and the cost of its
    /// processes is measured.
    Measure,
}

/// How a real database is written; it is created if it does not exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseWrite {
    /// The database file.
    pub path: ByteString,
    /// How SQLite stores a transaction.
    pub journal_mode: JournalMode,
    /// The number of added rows.
    pub rows: u32,
    /// How the process ends.
    pub end: DatabaseEnd,
}

/// How SQLite stores a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalMode {
    /// In a `-journal` file, which is removed after the transaction.
    Delete,
    /// In a `-wal` file.
    Wal,
}

impl JournalMode {
    /// The name of the mode in SQLite.
    pub fn word(self) -> &'static str {
        match self {
            JournalMode::Delete => "delete",
            JournalMode::Wal => "wal",
        }
    }
}

/// How a process that wrote a database ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseEnd {
    /// It closes the database.
    Closed,
    /// It is killed: the rows remain in a `-wal`, or a `-journal` remains in the middle of a transaction.
    Killed,
    /// It does not end: it keeps the database open until the next write or the end of the history.
    Open,
}

impl DatabaseEnd {
    /// Its name.
    pub fn word(self) -> &'static str {
        match self {
            DatabaseEnd::Closed => "closed",
            DatabaseEnd::Killed => "killed",
            DatabaseEnd::Open => "open",
        }
    }
}

impl From<Request<Target>> for Operation {
    fn from(request: Request<Target>) -> Self {
        Operation::Ask(request)
    }
}

impl From<Edit> for Operation {
    fn from(edit: Edit) -> Self {
        Operation::Edit(edit)
    }
}

impl From<Event> for Operation {
    fn from(event: Event) -> Self {
        Operation::Event(event)
    }
}

/// The names of [`Event`].
const EVENTS: &[&str] = &["advance", "restore_each", "store", "database", "inject", "measure"];
/// The names of [`Edit`].
const EDITS: &[&str] = &[
    "write",
    "rewrite",
    "remove",
    "fill",
    "make_directory",
    "link",
    "make_special",
    "set_readable",
    "set_permissions",
    "set_folder_permissions",
    "set_folder_readable",
    "hard_link",
    "rename",
];

/// The names of all requests.
fn requests() -> impl Iterator<Item = &'static str> {
    REQUESTS.iter().map(|kind| kind.name)
}

impl<'de> Deserialize<'de> for Operation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_enum("Operation", &[], ByName)
    }
}

struct ByName;

impl<'de> Visitor<'de> for ByName {
    type Value = Operation;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an operation by its name")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, access: A) -> Result<Operation, A::Error> {
        let (name, fields) = access.variant::<String>()?;
        let is_among = |mut names: Box<dyn Iterator<Item = &str>>| names.any(|found| found == name);
        let is_request = is_among(Box::new(requests()));
        let is_edit = EDITS.contains(&&name[..]);
        let named = Named { fields, name: name.clone(), error: PhantomData };
        if is_request {
            return Request::deserialize(named).map(Operation::Ask);
        }
        if is_edit {
            return Edit::deserialize(named).map(Operation::Edit);
        }
        if EVENTS.contains(&&name[..]) {
            return Event::deserialize(named).map(Operation::Event);
        }
        let names = requests().chain(EDITS.iter().copied()).chain(EVENTS.iter().copied());
        let message =
            format!("no operation is called `{name}`; did you mean `{}`?", nearest(&name, names));
        Err(A::Error::custom(message))
    }
}

/// A variant whose name was read, passed on to the type that has the variant.
struct Named<A, E> {
    name: String,
    fields: A,
    error: PhantomData<E>,
}

impl<'de, A: VariantAccess<'de>> Deserializer<'de> for Named<A, A::Error> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_enum(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de, A: VariantAccess<'de>> EnumAccess<'de> for Named<A, A::Error> {
    type Error = A::Error;
    type Variant = A;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, A), A::Error> {
        let name: serde::de::value::StringDeserializer<A::Error> = self.name.into_deserializer();
        Ok((seed.deserialize(name)?, self.fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Operation, String> {
        serde_saphyr::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn operation_is_deserialized_by_its_name() {
        let sweep = Operation::Ask(Request::Sweep);
        assert_eq!(read("sweep"), Ok(sweep));
        let advance = Operation::Event(Event::Advance { seconds: -5 });
        assert_eq!(read("advance: {seconds: -5}"), Ok(advance));
        let remove = Operation::Edit(Edit::Remove { path: "a".into() });
        assert_eq!(read("remove: {path: a}"), Ok(remove));
    }

    #[test]
    fn deserializing_an_operation_reports_the_error_of_the_named_operation() {
        for (text, expected) in [
            (
                "chekpoint: {dir: a}",
                "no operation is called `chekpoint`; did you mean `checkpoint`?",
            ),
            ("checkpoint: {dir: a}", "missing field `reason`"),
            ("write: {path: a}", "missing field `content`"),
            ("advance: {seconds: soon}", "soon"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn every_name_in_events_and_edits_is_the_name_of_an_operation() {
        for name in EVENTS.iter().chain(EDITS) {
            let error = read(&format!("{name}: {{}}")).unwrap_err();
            assert!(!error.contains(&format!("`{name}`")), "{name}: {error}");
        }
    }
}
