//! Written cases: one history for each behaviour that matters by itself, with what it is there
//! for. They are YAML files in `harness/cases`, one folder for each subject of the rule book, and
//! the command carries all of them.
//!
//! A case is data. [`check`] says whether it deserves its place, and [`kill_matrix`] which
//! planted bugs it finds.

pub mod check;
pub mod kill_matrix;
mod needs;

use crate::history::file::{self, HistoryError};
use crate::history::reading;
use crate::history::{History, Operation};
use crate::protocol::capabilities::Capabilities;
use herma_model::Settings;
use herma_model::rules::{self, RuleRef};
use serde::{Deserialize, Serialize};
use std::path::Path;

pub use needs::needs;

/// One written case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name, which is that of its file.
    pub id: String,
    /// The ids of the rules it is there for; the first is the one it is mostly about.
    pub rules: Vec<String>,
    /// The highest tier of those rules.
    pub tier: String,
    /// The capabilities that a subject needs for this case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The real failure it comes from, with a public link where there is one.
    pub origin: String,
    /// The planted bugs that it must find.
    pub kills: Vec<String>,
    /// As in a history.
    #[serde(default, skip_serializing_if = "crate::history::is_default")]
    pub settings: Settings,
    /// As in a history.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub plain_home: bool,
    /// As in a history.
    pub operations: Vec<Operation>,
}

impl Case {
    /// What happens in it.
    pub fn history(&self) -> History {
        let (settings, operations) = (self.settings.clone(), self.operations.clone());
        History { settings, workspace: None, plain_home: self.plain_home, operations }
    }

    /// Its rules, as far as they are in the rule book.
    pub fn rules(&self) -> impl Iterator<Item = RuleRef> {
        self.rules.iter().filter_map(|id| rules::find(id))
    }

    /// Whether a subject with these capabilities can be judged by it.
    pub fn suits(&self, capabilities: &Capabilities) -> bool {
        let has = |need: &str| capabilities.names().any(|name| name == need);
        // An automatic checkpoint in a turn of its own stands for one that a person asks for, unless
        // that is what the case is about.
        let manual = self.rules().any(|rule| rule.needs.contains(&"checkpoint"));
        let served =
            |need: &str| has(need) || need == "checkpoint" && has("ensure_checkpoint") && !manual;
        self.needs.iter().all(|need| served(need)) && capabilities.can_set(&self.history())
    }

    /// Reads a case from a YAML document; `path` is where it came from, for messages.
    ///
    /// # Errors
    /// [`HistoryError::Parse`].
    pub fn from_yaml(text: &str, path: &Path) -> Result<Case, HistoryError> {
        let read: Result<Case, String> = reading::read(text);
        let inside = read.and_then(|case| case.history().stays_inside().map(|()| case));
        inside.map_err(|why| HistoryError::Parse { path: path.to_owned(), why })
    }

    /// The case as a YAML document.
    pub fn to_yaml(&self) -> String {
        serde_saphyr::to_string(self).expect("a case holds only what YAML can say")
    }
}

/// Reads what is to be replayed from a file: a history, or that of a written case.
///
/// # Errors
/// [`HistoryError::Read`], [`HistoryError::Parse`].
pub fn load_history(path: &Path) -> Result<History, HistoryError> {
    let text = file::read(path)?;
    if text.lines().any(|line| line.starts_with("rules:")) {
        return Ok(Case::from_yaml(&text, path)?.history());
    }
    file::from_yaml(&text, path)
}

/// The highest tier of these rules, as it is written.
pub fn tier<'a>(rules: impl Iterator<Item = RuleRef> + 'a) -> String {
    rules.map(|rule| rule.tier).max().map(|tier| tier.to_string()).unwrap_or_default()
}

/// Every case that the command carries, with where it was read from.
static BUNDLED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/cases.rs"));

/// Every case that the command carries, sorted by folder and name.
///
/// # Errors
/// One of them is not valid.
pub fn bundled() -> Result<Vec<Case>, HistoryError> {
    BUNDLED.iter().map(|(path, text)| Case::from_yaml(text, Path::new(path))).collect()
}
