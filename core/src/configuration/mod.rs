//! The configuration file: from the `checkpoints` section of `config.yaml` to a [`Config`].
//!
//! The file is shared with other programs, so only that section is checked. An unknown key causes only
//! a warning, since a later version may know it; an invalid value is refused, since its author relies
//! on it.

mod yaml;

use crate::disk::{Disk, canonical, is_absence};
use crate::environment::{Config, DAY_SECONDS, HOUR_SECONDS, MEBIBYTE};
use crate::error::{Context, Error, Result};
use serde_saphyr::Spanned;
use std::fmt;
use std::path::{Path, PathBuf};
use yaml::{Position, Problem, Value, position};

/// The section that is about checkpoints.
const SECTION: &str = "checkpoints";
/// The largest configuration file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How alike two keys must be, from 0 to 1, for one to be suggested for the other.
const ALIKE: f64 = 0.85;

/// The content of a configuration file.
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
    /// The most similar known key.
    pub nearest: Option<&'static str>,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Warning { path, line, column, key, nearest } = self;
        write!(f, "{path:?}, line {line}, column {column}: ")?;
        write!(f, "unknown key \"{key}\" in {SECTION} is ignored: ")?;
        match nearest {
            Some(nearest) => write!(f, "did you mean {nearest}?"),
            None => write!(f, "the keys are {}", names()),
        }
    }
}

/// Reads the file at `path`; one that does not exist, or is empty, means the defaults.
///
/// # Errors
/// [`Error::BadConfig`] for a file that is not YAML, or an invalid value in the section;
/// [`Error::Io`] for one that cannot be read.
// rule: config/keys
pub fn read(disk: &dyn Disk, path: &Path) -> Result<Configured> {
    // A dangling link counts as existing: its target may only be unreachable for now.
    match disk.stat(path) {
        Err(error) if is_absence(&error) => return Ok(Configured::default()),
        stat => stat.context("looking at", path)?,
    };
    let (bytes, _) =
        disk.read(&canonical(disk, path), FILE_BYTES_MAX + 1).context("reading", path)?;
    let mut configured = Configured::default();
    match apply_document(&bytes, &mut configured.config) {
        Ok(unknown) => {
            let warning = |((line, column), key): (Position, String)| {
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

/// The unknown keys and their positions.
type Unknown = Vec<(Position, String)>;

/// Changes `config` to what the file says, and returns the unknown keys.
fn apply_document(bytes: &[u8], config: &mut Config) -> std::result::Result<Unknown, Problem> {
    let text = text(bytes)?;
    let document = yaml::parse(text)?;
    let sections = match document.value {
        Value::Null => return Ok(Vec::new()),
        Value::Mapping(sections) => sections,
        value => {
            let why = format!("the file must be a mapping of sections, but is {value}");
            return Err((position(document.referenced), why));
        }
    };
    let own_key = Value::Text(SECTION.to_owned());
    let sections: Vec<_> = sections.into_iter().filter(|(key, _)| key.value == own_key).collect();
    refuse_duplicates(&sections)?;
    match sections.into_iter().next() {
        Some((_, section)) => apply_section(section, config),
        None => Ok(Vec::new()),
    }
}

/// Refuses duplicate keys, since all values of a key but one would be ignored.
fn refuse_duplicates(
    entries: &[(Spanned<Value>, Spanned<Value>)],
) -> std::result::Result<(), Problem> {
    for (index, (key, _)) in entries.iter().enumerate() {
        if entries[..index].iter().any(|(earlier, _)| earlier.value == key.value) {
            let why = format!("the key {} occurs twice", name_of(&key.value));
            return Err((position(key.referenced), why));
        }
    }
    Ok(())
}

fn name_of(key: &Value) -> String {
    match key {
        Value::Text(name) => name.clone(),
        value => value.to_string(),
    }
}

fn text(bytes: &[u8]) -> std::result::Result<&str, Problem> {
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let why = format!("the file is larger than {} MB", FILE_BYTES_MAX / MEBIBYTE);
        return Err((position_after(""), why));
    }
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
        let byte = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
        let why = format!("the file must be UTF-8, but contains the byte 0x{byte:02x}");
        (position_after(valid), why)
    })
}

/// The position right after a text.
fn position_after(text: &str) -> Position {
    let last = text.rsplit('\n').next().unwrap_or_default();
    (text.matches('\n').count() as u64 + 1, last.chars().count() as u64 + 1)
}

fn apply_section(
    section: Spanned<Value>,
    config: &mut Config,
) -> std::result::Result<Unknown, Problem> {
    let entries = match section.value {
        Value::Null => return Ok(Vec::new()),
        Value::Bool(enabled) => {
            config.enabled = enabled;
            return Ok(Vec::new());
        }
        Value::Mapping(entries) => entries,
        value => {
            let why = invalid_value(SECTION, &value, "true, false or a mapping of its keys");
            return Err((position(section.referenced), why));
        }
    };
    refuse_duplicates(&entries)?;
    let mut unknown = Vec::new();
    for (key, Spanned { value, referenced, .. }) in entries {
        match KEYS.iter().find(|setting| key.value == Value::Text(setting.name.to_owned())) {
            Some(setting) => (setting.set)(config, &value).map_err(|allowed| {
                (position(referenced), invalid_value(setting.name, &value, allowed))
            })?,
            None => {
                let key_position = position(key.referenced);
                unknown.push((key_position, name_of(&key.value)));
            }
        }
    }
    Ok(unknown)
}

/// The message for a value that is not allowed.
fn invalid_value(key: &str, found: &Value, allowed: &str) -> String {
    let wrong_entry = match found {
        Value::List(entries) if key == "include" => {
            entries.iter().find(|entry| pattern(entry).is_none())
        }
        _ => None,
    };
    let mut why = match wrong_entry {
        Some(entry) => format!("{key} contains {entry}, but must be {allowed}"),
        None => format!("{key} is {found}, but must be {allowed}"),
    };
    // Booleans in older versions of YAML.
    if let Value::Text(text) = found
        && allowed.starts_with("true")
    {
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
const KEYS: [Key; 15] = [
    Key { name: "enabled", set: |config, value| put(&mut config.enabled, boolean(value)) },
    Key {
        name: "max_snapshots",
        set: |config, value| put(&mut config.max_snapshots, number(value)),
    },
    Key {
        name: "max_total_size_mb",
        set: |config, value| put(&mut config.max_total_bytes, amount(value, MEBIBYTE)),
    },
    Key {
        name: "max_file_size_mb",
        set: |config, value| put(&mut config.max_file_bytes, amount(value, MEBIBYTE)),
    },
    Key { name: "auto_prune", set: |config, value| put(&mut config.auto_prune, boolean(value)) },
    Key {
        name: "retention_days",
        set: |config, value| put(&mut config.retention_seconds, amount(value, DAY_SECONDS)),
    },
    Key {
        name: "delete_orphans",
        set: |config, value| put(&mut config.delete_orphans, boolean(value)),
    },
    Key {
        name: "min_interval_hours",
        set: |config, value| put(&mut config.min_interval_seconds, amount(value, HOUR_SECONDS)),
    },
    Key { name: "include", set: |config, value| put(&mut config.include, patterns(value)) },
    // The keys of the policy of an agent.
    Key {
        name: "before_high_risk",
        set: |config, value| put(&mut config.policy.before_high_risk, boolean(value)),
    },
    Key {
        name: "mass_edit_files",
        set: |config, value| {
            put(&mut config.policy.mass_edit_files, amount(value, 1).map(|n| n as usize))
        },
    },
    Key {
        name: "milestone_percent",
        set: |config, value| put(&mut config.policy.milestone_percent, amount(value, 1)),
    },
    Key {
        name: "card_done",
        set: |config, value| put(&mut config.policy.card_done, boolean(value)),
    },
    Key {
        name: "every_turns",
        set: |config, value| put(&mut config.policy.every_turns, amount(value, 1)),
    },
    Key {
        name: "long_call_seconds",
        set: |config, value| put(&mut config.policy.long_call_seconds, amount(value, 1)),
    },
];

fn put<T>(field: &mut T, value: Meaning<T>) -> Meaning<()> {
    value.map(|value| *field = value)
}

fn boolean(value: &Value) -> Meaning<bool> {
    match value {
        Value::Bool(truth) => Ok(*truth),
        _ => Err("true or false"),
    }
}

fn number(value: &Value) -> Meaning<usize> {
    match value {
        // A number too large for the type becomes the maximum of the type.
        Value::Number(number) if *number >= 1.0 && number.fract() == 0.0 => Ok(*number as usize),
        _ => Err("a whole number of at least 1"),
    }
}

/// A number of units, in bytes or seconds.
fn amount(value: &Value, unit: u64) -> Meaning<u64> {
    match value {
        // 0 turns a limit off, so that a small number must not be rounded to 0; a number too large for
        // the type becomes the maximum of the type.
        Value::Number(number) if *number >= 0.0 && number.is_finite() => {
            Ok(((number * unit as f64).round() as u64).max(u64::from(*number > 0.0)))
        }
        _ => Err("a number of at least 0"),
    }
}

/// Patterns of an ignore file, which only include.
fn patterns(value: &Value) -> Meaning<Vec<String>> {
    let patterns = match value {
        Value::List(values) => values.iter().map(pattern).collect(),
        _ => None,
    };
    patterns.ok_or("a list of patterns as in a .gitignore, such as [dist/, \"*.log\"], without !")
}

fn pattern(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) if is_pattern(text) => Some(text.clone()),
        _ => None,
    }
}

/// Whether a text is one line of an ignore file that names paths.
fn is_pattern(text: &str) -> bool {
    !text.trim().is_empty() && !text.starts_with(['!', '#']) && !text.contains(['\n', '\r', '\0'])
}

fn nearest(key: &str) -> Option<&'static str> {
    let key = key.to_lowercase();
    let alike = KEYS.iter().map(|setting| (strsim::jaro_winkler(&key, setting.name), setting.name));
    let (alike, name) = alike.max_by(|left, right| left.0.total_cmp(&right.0))?;
    (alike >= ALIKE).then_some(name)
}

fn names() -> String {
    KEYS.map(|key| key.name).join(", ")
}

#[cfg(test)]
mod tests;
