//! The `checkpoints` section of a configuration file: its keys, their defaults and its values.
//!
//! Only files in the plain form that a person would write are read. No rule defines the meaning of any
//! other form, or of an undocumented key.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Bytes of a megabyte.
const MEGABYTE: u64 = 1024 * 1024;

/// What can be configured, by the names in the file (behaviour: Base and configuration).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ConfigurationAnswer")]
pub struct Configuration {
    /// Whether automatic checkpoints are taken.
    pub enabled: bool,
    /// How many checkpoints of a project are listed.
    pub max_snapshots: u64,
    /// The size limit of the store, in megabytes.
    pub max_total_size_mb: u64,
    /// The size limit of a captured file, in megabytes.
    pub max_file_size_mb: u64,
    /// Whether the store is swept at startup.
    pub auto_prune: bool,
    /// The days after which a sweep removes what was not used.
    pub retention_days: u64,
    /// Whether a sweep removes projects whose directory is gone.
    pub delete_orphans: bool,
    /// The hours between two sweeps.
    pub min_interval_hours: u64,
}

impl Default for Configuration {
    fn default() -> Self {
        Configuration {
            enabled: false,
            max_snapshots: 20,
            max_total_size_mb: 500,
            max_file_size_mb: 10,
            auto_prune: true,
            retention_days: 7,
            delete_orphans: true,
            min_interval_hours: 24,
        }
    }
}

impl Configuration {
    /// The size limit of the store, in bytes.
    pub fn max_total_bytes(&self) -> u64 {
        self.max_total_size_mb.saturating_mul(MEGABYTE)
    }

    /// The configuration in a file; `None` where no rule defines its meaning.
    pub fn read(file: &str) -> Option<Configuration> {
        let mut written = Map::new();
        let mut sections = Vec::new();
        for line in file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            match line.strip_prefix("  ") {
                Some(line) if sections.last() == Some(&"checkpoints") => {
                    let (key, value) = line.split_once(": ")?;
                    let value = serde_json::from_str(value).ok()?;
                    // Of a duplicate key, either value may count.
                    if written.insert(key.to_owned(), value).is_some() {
                        return None;
                    }
                }
                Some(_) if !sections.is_empty() => {}
                _ => sections.push(line.strip_suffix(':')?),
            }
        }
        if sections.iter().filter(|name| **name == "checkpoints").count() > 1 {
            return None;
        }
        let Ok(Value::Object(mut values)) = serde_json::to_value(Configuration::default()) else {
            return None;
        };
        for (key, value) in written {
            *values.get_mut(&key)? = value;
        }
        let configuration: Configuration = serde_json::from_value(Value::Object(values)).ok()?;
        (configuration.max_snapshots > 0).then_some(configuration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_takes_the_named_keys_and_defaults_for_the_rest() {
        let default = Configuration::default();
        assert_eq!(Configuration::read(""), Some(default.clone()));
        let file = "# mine\nmodel:\n  name: \"x\"\n\ncheckpoints:\n  enabled: true\n  \
                    retention_days: 3\nother:\n  enabled: false\n";
        let expected = Configuration { enabled: true, retention_days: 3, ..default };
        assert_eq!(Configuration::read(file), Some(expected));
    }

    #[test]
    fn read_returns_none_for_a_file_whose_meaning_no_document_defines() {
        for file in [
            "checkpoints:\n  enabled: 1\n",
            "checkpoints:\n  max_snapshots: -1\n",
            "checkpoints:\n  max_snapshots: 0\n",
            "checkpoints:\n  keep: 1\n",
            "checkpoints:\n  enabled: true\n  enabled: false\n",
            "checkpoints:\ncheckpoints:\n",
            "checkpoints: true\n",
            "checkpoints:\n  enabled\n",
            "  enabled: true\n",
        ] {
            assert_eq!(Configuration::read(file), None, "{file}");
        }
    }
}
