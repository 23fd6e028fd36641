//! The YAML of a configuration file: every value with its position, or why the file is not YAML.
//!
//! This module knows no keys. All values have one type, since most of the file belongs to other
//! programs and may contain anything.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{
    DuplicateKeyPolicy, Location, MergeKeyPolicy, MessageFormatter, NonFiniteFloatPolicy, Options,
    Spanned, UserMessageFormatter,
};
use std::fmt;

/// How many characters of a text are shown.
const SHOWN_MAX: usize = 40;
/// How many values aliases may expand to.
const REPLAYED_MAX: usize = 100_000;

/// A line and a column, both counted from 1, the column in characters.
pub type Position = (u64, u64);

/// Where a file is invalid, and why.
pub type Problem = (Position, String);

/// The position of a location; an unknown location counts as the beginning of the file.
pub fn position(location: Location) -> Position {
    (location.line().max(1), location.column().max(1))
}

/// A value of any kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Null, or nothing at all.
    Null,
    /// A boolean.
    Bool(bool),
    /// Any number; one too large for the type is infinite.
    Number(f64),
    /// A text.
    Text(String),
    /// A list, of any values.
    List(Vec<Value>),
    /// Keys and their values, in order.
    Mapping(Vec<(Spanned<Value>, Spanned<Value>)>),
}

/// Reads the one document of a file.
///
/// # Errors
/// Text that is not YAML, and aliases that expand to too much. A key may occur twice: the caller must
/// judge that.
pub fn parse(text: &str) -> Result<Spanned<Value>, Problem> {
    // An empty document has no position to report.
    let document: Option<Spanned<Value>> = serde_saphyr::from_str_with_options(text, options())
        .map_err(|error| {
            let why = UserMessageFormatter.format_message(&error).into_owned();
            (position(error.location().unwrap_or(Location::UNKNOWN)), why)
        })?;
    let nothing = || Spanned::new(Value::Null, Location::UNKNOWN, Location::UNKNOWN);
    Ok(document.unwrap_or_else(nothing))
}

fn options() -> Options {
    serde_saphyr::options! {
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: REPLAYED_MAX },
        merge_keys: MergeKeyPolicy::Merge,
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        // As in YAML 1.2: yes and 1_000 are texts.
        strict_booleans: true,
        underscored_numbers_as_strings: true,
        // Other sections may contain them, and our section refuses them with its own message.
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("empty"),
            Value::Bool(truth) => write!(f, "{truth}"),
            // The digits of such a large number carry no information.
            Value::Number(number) if number.is_finite() && number.abs() >= 1e15 => {
                write!(f, "{number:e}")
            }
            Value::Number(number) => write!(f, "{number}"),
            Value::Text(text) => match text.char_indices().nth(SHOWN_MAX) {
                Some((end, _)) => write!(f, "the text \"{}…\"", &text[..end]),
                None => write!(f, "the text \"{text}\""),
            },
            Value::List(_) => f.write_str("a list"),
            Value::Mapping(_) => f.write_str("a mapping"),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Anything)
    }
}

/// Accepts any value.
struct Anything;

impl<'de> Visitor<'de> for Anything {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Value::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Mapping(entries))
    }
}
