//! The configuration file: from the `checkpoints` section of `config.yaml` to a [`Config`].
//!
//! The file is shared with other programs, so only that section is checked. An unknown key in it is
//! only warned of, since a later version may know it; an invalid value is refused, since whoever
//! wrote it relies on it.

mod yaml;

use crate::disk::{Disk, canonical, is_absence};
use crate::environment::{Config, DAY_SECONDS, HOUR_SECONDS, MEBIBYTE};
use crate::error::{Context, Error, Result};
use serde_saphyr::Spanned;
use std::fmt;
use std::path::{Path, PathBuf};
use yaml::{Place, Value, Wrong, place};

/// The section that is about checkpoints.
const SECTION: &str = "checkpoints";
/// More bytes than anyone writes into a configuration.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How alike two keys must be, from 0 to 1, for one to be suggested for the other.
const ALIKE: f64 = 0.85;

/// What a configuration file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configured {
    /// The configuration.
    pub config: Config,
    /// Keys that are ignored.
    pub warnings: Vec<Warning>,
}

/// An unknown key of the section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The file.
    pub path: PathBuf,
    /// Its line, from 1.
    pub line: u64,
    /// Its column in characters, from 1.
    pub column: u64,
    /// The key as written.
    pub key: String,
    /// A known key that is similar.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Warning { path, line, column, key, nearest } = self;
        write!(f, "{path:?}, line {line}, column {column}: ")?;
        write!(f, "{SECTION} has no key \"{key}\", which is ignored: ")?;
        match nearest {
            Some(nearest) => write!(f, "is {nearest} meant?"),
            None => write!(f, "there are {}", names()),
        }
    }
}

/// Reads the file at `path`; one that does not exist, or is empty, means the defaults.
///
/// # Errors
/// [`Error::BadConfig`] for a file that is not YAML, or an invalid value in the section;
/// [`Error::Io`] for one that cannot be read.
pub fn read(disk: &dyn Disk, path: &Path) -> Result<Configured> {
    // A dangling link counts as there: its target may only be out of reach for now.
    match disk.stat(path) {
        Err(error) if is_absence(&error) => return Ok(Configured::default()),
        stat => stat.context("looking at", path)?,
    };
    let (bytes, _) =
        disk.read(&canonical(disk, path), FILE_BYTES_MAX + 1).context("reading", path)?;
    let mut configured = Configured::default();
    match understand(&bytes, &mut configured.config) {
        Ok(unknown) => {
            let warning = |((line, column), key): (Place, String)| {
                let nearest = nearest(&key);
                Warning { path: path.to_owned(), line, column, key, nearest }
            };
            configured.warnings = unknown.into_iter().map(warning).collect();
            Ok(configured)
        }
        Err(((line, column), why)) => {
            Err(Error::BadConfig { path: path.to_owned(), line, column, why })
        }
    }
}

/// The unknown keys and their places.
type Unknown = Vec<(Place, String)>;

/// Changes `config` to what the file says, and returns the unknown keys.
fn understand(bytes: &[u8], config: &mut Config) -> std::result::Result<Unknown, Wrong> {
    let text = text(bytes)?;
    let document = yaml::parse(text)?;
    let sections = match document.value {
        Value::Null => return Ok(Vec::new()),
        Value::Mapping(sections) => sections,
        other => {
            let why = format!("the file is {other}, but must be a mapping of sections");
            return Err((place(document.referenced), why));
        }
    };
    let ours = Value::Text(SECTION.to_owned());
    let sections: Vec<_> = sections.into_iter().filter(|(key, _)| key.value == ours).collect();
    refuse_duplicates(&sections)?;
    match sections.into_iter().next() {
        Some((_, section)) => apply(section, config),
        None => Ok(Vec::new()),
    }
}

/// One of two values of the same key would be ignored.
fn refuse_duplicates(
    entries: &[(Spanned<Value>, Spanned<Value>)],
) -> std::result::Result<(), Wrong> {
    for (at, (key, _)) in entries.iter().enumerate() {
        if entries[..at].iter().any(|(other, _)| other.value == key.value) {
            let why = format!("the key {} is there twice", name_of(&key.value));
            return Err((place(key.referenced), why));
        }
    }
    Ok(())
}

fn name_of(key: &Value) -> String {
    match key {
        Value::Text(name) => name.clone(),
        other => other.to_string(),
    }
}

fn text(bytes: &[u8]) -> std::result::Result<&str, Wrong> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let why = format!("the file is larger than {} MB", FILE_BYTES_MAX / MEBIBYTE);
        return Err((behind(""), why));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let why = format!("the byte 0x{byte:02x} is no UTF-8, which the file must be");
        (behind(valid), why)
    })
}

/// The place right behind a text.
fn behind(text: &str) -> Place {
    let last = text.rsplit('\n').next().unwrap_or_default();
    (text.matches('\n').count() as u64 + 1, last.chars().count() as u64 + 1)
}

fn apply(section: Spanned<Value>, config: &mut Config) -> std::result::Result<Unknown, Wrong> {
    let entries = match section.value {
        Value::Null => return Ok(Vec::new()),
        Value::Bool(enabled) => {
            config.enabled = enabled;
            return Ok(Vec::new());
        }
        Value::Mapping(entries) => entries,
        other => {
            let why = unfit(SECTION, &other, "true, false or a mapping of its keys");
            return Err((place(section.referenced), why));
        }
    };
    refuse_duplicates(&entries)?;
    let mut unknown = Vec::new();
    for (key, Spanned { value, referenced, .. }) in entries {
        match KEYS.iter().find(|known| key.value == Value::Text(known.name.to_owned())) {
            Some(known) => (known.set)(config, &value)
                .map_err(|allowed| (place(referenced), unfit(known.name, &value, allowed)))?,
            None => {
                let at = place(key.referenced);
                unknown.push((at, name_of(&key.value)));
            }
        }
    }
    Ok(unknown)
}

/// The message for a value that is not allowed.
fn unfit(key: &str, found: &Value, allowed: &str) -> String {
    let mut why = format!("{key} is {found}, but must be {allowed}");
    // Booleans in older versions of YAML.
    if let Value::Text(text) = found {
        match text.to_ascii_lowercase().as_str() {
            "yes" | "on" | "y" => why += " (write true)",
            "no" | "off" | "n" => why += " (write false)",
            _ => {}
        }
    }
    why
}

/// The meaning of a value, or what is allowed instead.
type Meaning<T> = std::result::Result<T, &'static str>;

/// A key of the section.
struct Key {
    name: &'static str,
    set: fn(&mut Config, &Value) -> Meaning<()>,
}

/// The keys of the section, as the behaviour lists them.
const KEYS: [Key; 14] = [
    Key { name: "enabled", set: |to, value| put(&mut to.enabled, boolean(value)) },
    Key { name: "max_snapshots", set: |to, value| put(&mut to.max_snapshots, number(value)) },
    Key {
        name: "max_total_size_mb",
        set: |to, value| put(&mut to.max_total_bytes, amount(value, MEBIBYTE)),
    },
    Key {
        name: "max_file_size_mb",
        set: |to, value| put(&mut to.max_file_bytes, amount(value, MEBIBYTE)),
    },
    Key { name: "auto_prune", set: |to, value| put(&mut to.auto_prune, boolean(value)) },
    Key {
        name: "retention_days",
        set: |to, value| put(&mut to.retention_seconds, amount(value, DAY_SECONDS)),
    },
    Key { name: "delete_orphans", set: |to, value| put(&mut to.delete_orphans, boolean(value)) },
    Key {
        name: "min_interval_hours",
        set: |to, value| put(&mut to.min_interval_seconds, amount(value, HOUR_SECONDS)),
    },
    // Those of a whole agent.
    Key {
        name: "before_high_risk",
        set: |to, value| put(&mut to.policy.before_high_risk, boolean(value)),
    },
    Key {
        name: "mass_edit_files",
        set: |to, value| put(&mut to.policy.mass_edit_files, amount(value, 1).map(|n| n as usize)),
    },
    Key {
        name: "milestone_percent",
        set: |to, value| put(&mut to.policy.milestone_percent, amount(value, 1)),
    },
    Key { name: "card_done", set: |to, value| put(&mut to.policy.card_done, boolean(value)) },
    Key { name: "every_turns", set: |to, value| put(&mut to.policy.every_turns, amount(value, 1)) },
    Key {
        name: "long_call_seconds",
        set: |to, value| put(&mut to.policy.long_call_seconds, amount(value, 1)),
    },
];

fn put<T>(place: &mut T, value: Meaning<T>) -> Meaning<()> {
    value.map(|value| *place = value)
}

fn boolean(value: &Value) -> Meaning<bool> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        _ => Err("true or false"),
    }
}

fn number(value: &Value) -> Meaning<usize> {
    match value {
        // What is too large for the type is the largest there is.
        Value::Number(number) if *number >= 1.0 && number.fract() == 0.0 => Ok(*number as usize),
        _ => Err("a whole number of at least 1"),
    }
}

/// A number of units, in bytes or seconds.
fn amount(value: &Value, unit: u64) -> Meaning<u64> {
    match value {
        // 0 turns a limit off, so that a little must not be rounded to 0; what is too large for the
        // type is the largest there is.
        Value::Number(number) if *number >= 0.0 && number.is_finite() => {
            Ok(((number * unit as f64).round() as u64).max(u64::from(*number > 0.0)))
        }
        _ => Err("a number of at least 0"),
    }
}

fn nearest(key: &str) -> Option<&'static str> {
    let key = key.to_lowercase();
    let alike = KEYS.iter().map(|known| (strsim::jaro_winkler(&key, known.name), known.name));
    let (alike, name) = alike.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (alike >= ALIKE).then_some(name)
}

fn names() -> String {
    KEYS.map(|key| key.name).join(", ")
}

#[cfg(test)]
mod tests;
