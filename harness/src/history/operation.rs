//! One operation of a history, and how it is parsed: by its name, so that an error names the
//! operation that is wrong.

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

/// How a checkpoint is named to the subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// By its number in the list.
    Number(u32),
    /// By the first digits of the id of a project's checkpoint.
    Id {
        /// The project the checkpoint was taken of, which need not be the one it is used for.
        of: ByteString,
        /// How many checkpoints were taken of it since.
        back: usize,
        /// How many digits, at most all of them.
        digits: usize,
    },
    /// By the id of the checkpoint's outermost tree, which is no checkpoint.
    TreeOf {
        /// The project.
        of: ByteString,
        /// How many checkpoints were taken of it since.
        back: usize,
    },
    /// By the id of the first blob in the checkpoint, which is no checkpoint.
    BlobOf {
        /// The project.
        of: ByteString,
        /// How many checkpoints were taken of it since.
        back: usize,
    },
    /// By these bytes.
    Text(ByteString),
}

/// One thing that happens.
///
/// Directories and files are relative to the sandbox. One that begins with a tilde or with `./` is
/// given to the subject as it stands; `/` is the file system's root. The target of a link is as
/// written, unless it begins with `$SANDBOX/`: that is an absolute path into the sandbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Operation {
    /// The subject is asked something.
    Ask(Request<Target>),
    /// Somebody edits a file.
    Edit(Edit),
    /// Something happens that is neither.
    Event(Event),
}

/// What happens in a history beside requests and edits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Time passes; it may also be set back.
    Advance {
        /// By how many seconds.
        seconds: i64,
    },
    /// A full restore of every checkpoint the project has, one after the other, newest first, each
    /// removing what was created since.
    RestoreEach {
        /// The project.
        dir: ByteString,
    },
    /// Something happens to the store without a request.
    Store(StoreEvent),
    /// A process of its own writes rows into a real SQLite database.
    Database(DatabaseWrite),
    /// Something happens at one call of the next request that reads or changes checkpoints.
    Inject(Injection),
    /// The next such request is asked of a process of its own, and what its processes take is measured.
    Measure,
}

/// How a real database is written, which is made where there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DatabaseWrite {
    /// The database file.
    pub path: ByteString,
    /// What keeps a transaction.
    pub journal_mode: JournalMode,
    /// How many rows are added.
    pub rows: u32,
    /// How the process ends.
    pub end: DatabaseEnd,
}

/// How SQLite keeps a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JournalMode {
    /// In a `-journal`, which is removed afterwards.
    Delete,
    /// In a `-wal`.
    Wal,
}

impl JournalMode {
    /// What SQLite calls it.
    pub fn word(self) -> &'static str {
        match self {
            JournalMode::Delete => "delete",
            JournalMode::Wal => "wal",
        }
    }
}

/// How a process ends that wrote a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseEnd {
    /// It closes the database.
    Closed,
    /// It is killed: in a `-wal` the rows remain, a `-journal` in the middle of a transaction.
    Killed,
    /// Not at all: it has the database open until it is written again, or the history ends.
    Open,
}

impl DatabaseEnd {
    /// What it is called.
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
    "make_directory",
    "link",
    "make_special",
    "set_readable",
    "set_permissions",
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
        let known = |mut names: Box<dyn Iterator<Item = &str>>| names.any(|one| one == name);
        let (asks, edits) = (known(Box::new(requests())), EDITS.contains(&&name[..]));
        let named = Named { fields, name: name.clone(), error: PhantomData };
        if asks {
            return Request::deserialize(named).map(Operation::Ask);
        }
        if edits {
            return Edit::deserialize(named).map(Operation::Edit);
        }
        if EVENTS.contains(&&name[..]) {
            return Event::deserialize(named).map(Operation::Event);
        }
        let all = requests().chain(EDITS.iter().copied()).chain(EVENTS.iter().copied());
        let message =
            format!("no operation is called `{name}`; did you mean `{}`?", nearest(&name, all));
        Err(A::Error::custom(message))
    }
}

/// A variant whose name was read, handed on to the type that has it.
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
    fn an_operation_is_found_by_its_name() {
        let sweep = Operation::Ask(Request::Sweep);
        assert_eq!(read("sweep"), Ok(sweep));
        let advance = Operation::Event(Event::Advance { seconds: -5 });
        assert_eq!(read("advance: {seconds: -5}"), Ok(advance));
        let remove = Operation::Edit(Edit::Remove { path: "a".into() });
        assert_eq!(read("remove: {path: a}"), Ok(remove));
    }

    #[test]
    fn what_is_wrong_is_said_of_the_operation_that_has_the_name() {
        for (text, says) in [
            (
                "chekpoint: {dir: a}",
                "no operation is called `chekpoint`; did you mean `checkpoint`?",
            ),
            ("checkpoint: {dir: a}", "missing field `reason`"),
            ("write: {path: a}", "missing field `content`"),
            ("advance: {seconds: soon}", "soon"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn every_name_that_is_listed_is_that_of_an_operation() {
        for name in EVENTS.iter().chain(EDITS) {
            let error = read(&format!("{name}: {{}}")).unwrap_err();
            assert!(!error.contains(&format!("`{name}`")), "{name}: {error}");
        }
    }
}
