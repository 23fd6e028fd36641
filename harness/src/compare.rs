//! Two implementations, or two versions of the same implementation, on the same histories: their
//! answers and the files they leave on the disk, side by side.
//!
//! Neither is judged. Only requests that both are capable of are made, so that every difference is a
//! difference in behaviour. Ids are compared by the order in which they first appear; messages for
//! people are not compared.

use crate::generate::{self, Options};
use crate::history::History;
use crate::history::concrete::with_sandbox_placeholder;
use crate::parallel;
use crate::protocol::capabilities::Capabilities;
use crate::runner::{Event, RequestRecord, RunError, RunOptions, Until, run};
use crate::sandbox::Scratch;
use crate::shrink::shorten;
use crate::subject::NewSubject;
use herma_model::answer::Answer;
use herma_model::rules::RuleRef;
use herma_model::verdict::word;
use herma_model::{ByteString, Files, Node};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The same request answered in two ways.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The rule that the request is mostly about.
    pub rule: RuleRef,
    /// The operation, from 0.
    pub step: usize,
    /// The request.
    pub request: String,
    /// What differs, without paths, ids or numbers.
    pub symptom: String,
    /// What the first implementation did.
    pub one: String,
    /// What the second implementation did.
    pub other: String,
}

impl Difference {
    /// Whether both are the same difference, possibly in different histories.
    fn is_same(&self, difference: &Difference) -> bool {
        self.rule == difference.rule && self.symptom == difference.symptom
    }
}

/// A way in which two implementations differ.
#[derive(Clone, Debug)]
pub struct Differing {
    /// How they differ.
    pub difference: Difference,
    /// How many histories show it first.
    pub histories: u64,
    /// The lowest number of these histories.
    pub number: u64,
    /// The shortest history found.
    pub history: History,
}

/// Two implementations to compare, and how.
pub struct Comparison<'a> {
    /// The first implementation.
    pub one: &'a NewSubject<'a>,
    /// The second implementation.
    pub other: &'a NewSubject<'a>,
    /// The capabilities that both have.
    pub capabilities: Capabilities,
    /// Where sandboxes are made.
    pub scratch: &'a Scratch,
}

/// What an implementation did on one request, without its sandbox's path and without free choices.
struct Reaction {
    record: Box<RequestRecord>,
    request: String,
    answer: String,
    /// The paths that differ from the start; `None` for a removed path.
    files: BTreeMap<ByteString, Option<Node>>,
}

impl Comparison<'_> {
    /// Compares both on generated histories, `jobs` at a time; `progress` is called after each.
    ///
    /// # Errors
    /// A run could not be made.
    pub fn run(
        &self,
        options: &Options,
        seed: u64,
        histories: u64,
        jobs: usize,
        progress: &(dyn Fn() + Sync),
    ) -> Result<Vec<Differing>, RunError> {
        // SQLite writes random numbers into its journals: no two runs leave the same bytes.
        let options = Options { databases: false, ..options.clone() };
        let differing = |number| -> Result<_, RunError> {
            let history = generate::generate_history(&options, seed, number);
            let difference = self.difference(&history);
            progress();
            Ok(difference?.map(|difference| (number, history, difference)))
        };
        let found = parallel::try_map(0..histories, jobs, differing)?;
        Ok(self.grouped(found.into_iter().flatten()))
    }

    fn grouped(&self, found: impl Iterator<Item = (u64, History, Difference)>) -> Vec<Differing> {
        let mut groups: Vec<Differing> = Vec::new();
        for (number, history, difference) in found {
            match groups.iter_mut().find(|group| group.difference.is_same(&difference)) {
                Some(group) => group.histories += 1,
                None => groups.push(Differing { difference, histories: 1, number, history }),
            }
        }
        for group in &mut groups {
            let wanted = group.difference.clone();
            let fails = |candidate: &History| {
                let found = self.difference(candidate).ok().flatten();
                found.filter(|found| found.is_same(&wanted)).map(|found| found.step)
            };
            group.history = shorten(&group.history, wanted.step, SHRINK_BUDGET, &fails);
            if let Ok(Some(difference)) = self.difference(&group.history) {
                group.difference = difference;
            }
        }
        groups.sort_by_key(|group| group.difference.rule.id);
        groups
    }

    /// The first difference that a history shows.
    ///
    /// # Errors
    /// A run could not be made.
    pub fn difference(&self, history: &History) -> Result<Option<Difference>, RunError> {
        let left_reactions = self.reactions(self.one, history)?;
        let right_reactions = self.reactions(self.other, history)?;
        for (left, right) in left_reactions.iter().zip(&right_reactions) {
            if left.request != right.request {
                // The requests depend on earlier answers.
                return Ok(None);
            }
            let same_answer = left.answer == right.answer;
            let same_files = left.files == right.files;
            if same_answer && same_files {
                continue;
            }
            let words = (word(&left.record.answer), word(&right.record.answer));
            let symptom = match words {
                _ if same_answer => "other files".to_owned(),
                (left, right) if left == right => format!("{left}, with another content"),
                (left, right) => format!("{left}, and {right}"),
            };
            let shown = |reaction: &Reaction, reference: &Reaction| match same_answer {
                true => differing_files(&reaction.files, &reference.files),
                false => reaction.answer.clone(),
            };
            return Ok(Some(Difference {
                rule: left.record.request.main_rule(),
                step: left.record.step,
                request: left.request.clone(),
                symptom,
                one: shown(left, right),
                other: shown(right, left),
            }));
        }
        Ok(None)
    }

    fn reactions(
        &self,
        subject: &NewSubject<'_>,
        history: &History,
    ) -> Result<Vec<Reaction>, RunError> {
        let mut reactions = Vec::new();
        let mut ids = Vec::new();
        let mut sandbox_path = String::new();
        let mut start = Files::default();
        let mut left_out: BTreeSet<ByteString> = BTreeSet::new();
        let mut watch = |event| match event {
            Event::Began { root, files } => {
                sandbox_path = String::from_utf8_lossy(&root).into_owned();
                start = files;
            }
            Event::Edited(_)
            | Event::StoreEdited(..)
            | Event::DatabaseWritten(..)
            | Event::Injects(_)
            | Event::Measures => {}
            Event::Requested(record) => {
                let request = comparable(&record.request, &sandbox_path, &mut ids);
                let mut answer = record.answer.clone();
                match &mut answer {
                    Answer::Taken { skipped, .. } => {
                        left_out.extend(skipped.iter().map(|remark| remark.path.clone()));
                    }
                    // Whether a file changed since is only known from the clock of the file system.
                    Answer::Restored(restored) => {
                        restored.kept.retain(|remark| !left_out.contains(&remark.path));
                    }
                    _ => {}
                }
                let answer = comparable(&answer, &sandbox_path, &mut ids);
                let files = changes(&start, &record.after, &sandbox_path);
                reactions.push(Reaction { record, request, answer, files });
            }
        };
        let options = RunOptions {
            until: Until::Disagreement,
            limit: self.capabilities.clone(),
            watch: Some(&mut watch),
        };
        run(history, subject, self.scratch, options)?;
        Ok(reactions)
    }
}

/// Executions for each shortest history; an execution is a run of both.
const SHRINK_BUDGET: usize = 200;

/// A request or answer without the sandbox's path and without what each implementation chooses
/// freely.
fn comparable(message: &impl Serialize, sandbox_path: &str, ids: &mut Vec<String>) -> String {
    let mut value = serde_json::to_value(message).unwrap_or_default();
    without_choices(&mut value, ids);
    let mut text = value.to_string().replace(sandbox_path, "");
    for (number, id) in ids.iter().enumerate() {
        text = text.replace(id.as_str(), &format!("checkpoint {number}"));
        // A reason may name another checkpoint by a short id.
        if let Some(short) = id.get(..7) {
            text = text.replace(short, &format!("checkpoint {number}"));
        }
    }
    text
}

fn without_choices(value: &mut Value, ids: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                !["message", "why", "time", "bytes_freed"].contains(&name.as_str())
            });
            // The id of an external action is not the id of a checkpoint.
            let is_action = fields.contains_key("kind");
            for (name, field) in fields {
                match field {
                    Value::String(id) if !is_action && (name == "id" || name == "safety") => {
                        if !ids.contains(id) {
                            ids.push(id.clone());
                        }
                    }
                    // A target may be the beginning of an id.
                    Value::String(typed) if name == "target" => {
                        let is_prefix = |id: &String| typed.len() >= 4 && id.starts_with(&**typed);
                        if let Some(number) = ids.iter().rposition(is_prefix) {
                            *typed = format!("{} digits of checkpoint {number}", typed.len());
                        }
                    }
                    // In the agent's state, of a request or an answer, an id is the id of a card.
                    Value::Object(_) if name == "value" || name == "state" => {}
                    // A status names its projects in any order.
                    Value::Array(projects) if name == "projects" => {
                        projects.sort_by_key(Value::to_string);
                    }
                    field => without_choices(field, ids),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| without_choices(item, ids)),
        _ => {}
    }
}

/// Every path that differs from the start, without the sandbox's own path in link targets.
fn changes(start: &Files, after: &Files, sandbox_path: &str) -> BTreeMap<ByteString, Option<Node>> {
    let paths = start.iter().chain(after.iter()).map(|(path, _)| path);
    let changed = paths.filter(|path| start.get(path) != after.get(path));
    let node = |node| with_sandbox_placeholder(node, sandbox_path.as_bytes());
    changed.map(|path| (path.clone(), after.get(path).map(node))).collect()
}

/// The first few paths that differ between `files` and `reference`, as `files` has them.
fn differing_files(
    files: &BTreeMap<ByteString, Option<Node>>,
    reference: &BTreeMap<ByteString, Option<Node>>,
) -> String {
    let paths: BTreeSet<&ByteString> = files.keys().chain(reference.keys()).collect();
    let differing = paths.into_iter().filter(|path| files.get(*path) != reference.get(*path));
    let line = |path: &ByteString| {
        let node = files.get(path).and_then(Option::as_ref);
        format!("{path}: {}", herma_model::verdict::shown(node))
    };
    differing.take(3).map(line).collect::<Vec<_>>().join("; ")
}
