//! Written cases: one history for each behaviour that matters by itself, with its rules and planted bugs.
//! They are YAML files in `harness/cases`, one folder for each subject of the rule book, and the command
//! contains all of them.
//!
//! A case is data. [`check`] checks that it is useful, and [`kill_matrix`] shows which planted bugs it finds.

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
    /// Its name, which is also the name of its file.
    pub id: String,
    /// The ids of the rules that it covers; the first is the most important one.
    pub rules: Vec<String>,
    /// The highest tier of these rules.
    pub tier: String,
    /// The capabilities that a subject needs for this case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The real failure that it is derived from, with a public link if there is one.
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
    /// Its history.
    pub fn history(&self) -> History {
        History {
            settings: self.settings.clone(),
            workspace: None,
            plain_home: self.plain_home,
            operations: self.operations.clone(),
        }
    }

    /// Those of its rules that are in the rule book.
    pub fn rules(&self) -> impl Iterator<Item = RuleRef> {
        self.rules.iter().filter_map(|id| rules::find(id))
    }

    /// Whether a subject with these capabilities can be judged by it.
    pub fn is_applicable(&self, capabilities: &Capabilities) -> bool {
        let has = |need: &str| capabilities.names().any(|name| name == need);
        // An automatic checkpoint in a separate turn replaces a manual one, unless the case is about manual
        // checkpoints.
        let is_about_manual = self.rules().any(|rule| rule.needs.contains(&"checkpoint"));
        let is_served = |need: &str| {
            has(need) || need == "checkpoint" && has("ensure_checkpoint") && !is_about_manual
        };
        self.needs.iter().all(|need| is_served(need)) && capabilities.can_set(&self.history())
    }

    /// Reads a case from a YAML document; `path` is its origin in messages.
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

/// Reads the history to replay from a file, which contains a history or a written case.
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

/// The name of the highest tier of these rules.
pub fn tier<'a>(rules: impl Iterator<Item = RuleRef> + 'a) -> String {
    rules.map(|rule| rule.tier).max().map(|tier| tier.to_string()).unwrap_or_default()
}

/// The path and the text of every case that the command contains.
static BUNDLED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/cases.rs"));

/// Those of the cases that the command contains whose name or rules contain `text`, sorted by folder and name.
///
/// # Errors
/// A case is not valid.
pub fn bundled_of(text: Option<&str>) -> Result<Vec<Case>, HistoryError> {
    let Some(text) = text else { return bundled() };
    let mut cases = mentioning(&[text])?;
    cases.retain(|case| case.rules.iter().chain([&case.id]).any(|name| name.contains(text)));
    Ok(cases)
}

/// Every case that the command contains, sorted by folder and name.
///
/// # Errors
/// A case is not valid.
pub fn bundled() -> Result<Vec<Case>, HistoryError> {
    mentioning(&[""])
}

/// Those of the cases that the command contains whose documents contain any of these texts: to read all of them
/// takes longer than to run one.
///
/// # Errors
/// A case is not valid.
pub fn mentioning(texts: &[&str]) -> Result<Vec<Case>, HistoryError> {
    let is_wanted = |document: &str| texts.iter().any(|text| document.contains(text));
    let wanted = BUNDLED.iter().filter(|(_, document)| is_wanted(document));
    wanted.map(|(path, document)| Case::from_yaml(document, Path::new(path))).collect()
}
