//! Two implementations, or two versions of one, on the same histories: what they answer and what
//! they leave on the disk, side by side.
//!
//! Neither is judged. Only requests that both are capable of are made, so that every difference is
//! one of behaviour. Ids are compared by the order in which they first appear, and messages for
//! people not at all.

use crate::generate::{self, Options};
use crate::history::History;
use crate::history::concrete::without_place;
use crate::parallel;
use crate::protocol::capabilities::Capabilities;
use crate::runner::{Event, RequestRecord, RunError, Until, run_watched};
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
    /// What was asked.
    pub request: String,
    /// What differs, without paths, ids or numbers.
    pub symptom: String,
    /// What the first did.
    pub one: String,
    /// What the other did.
    pub other: String,
}

impl Difference {
    /// Whether both are the same difference, possibly in different histories.
    fn is_same(&self, other: &Difference) -> bool {
        self.rule == other.rule && self.symptom == other.symptom
    }
}

/// A way in which two implementations differ.
#[derive(Clone, Debug)]
pub struct Differing {
    /// How they differ.
    pub difference: Difference,
    /// How many histories show it first.
    pub histories: u64,
    /// The lowest number of these.
    pub number: u64,
    /// The shortest history found.
    pub history: History,
}

/// Two implementations and what to ask them.
pub struct Comparison<'a> {
    /// The first.
    pub one: &'a NewSubject<'a>,
    /// The other.
    pub other: &'a NewSubject<'a>,
    /// The capabilities that both have.
    pub capabilities: Capabilities,
    /// Where sandboxes are made.
    pub scratch: &'a Scratch,
}

/// What one did on one request, without what depends on its sandbox or on its free choices.
struct Done {
    asked: Box<RequestRecord>,
    request: String,
    answer: String,
    /// The paths that differ from the start; `None` for what is gone.
    files: BTreeMap<ByteString, Option<Node>>,
}

impl Comparison<'_> {
    /// Compares both on drawn histories, `jobs` at a time; `progress` is called after each.
    ///
    /// # Errors
    /// A run that could not be made.
    pub fn run(
        &self,
        options: &Options,
        seed: u64,
        histories: u64,
        jobs: usize,
        progress: &(dyn Fn() + Sync),
    ) -> Result<Vec<Differing>, RunError> {
        // SQLite writes random numbers into its journals, so that no two runs leave the same bytes.
        let options = Options { databases: false, ..options.clone() };
        let differing = |number| -> Result<_, RunError> {
            let history = generate::draw(&options, seed, number);
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
    /// A run that could not be made.
    pub fn difference(&self, history: &History) -> Result<Option<Difference>, RunError> {
        let (one, other) = (self.done(self.one, history)?, self.done(self.other, history)?);
        for (one, other) in one.iter().zip(&other) {
            if one.request != other.request {
                // What they are asked depends on what they answered before.
                return Ok(None);
            }
            let (same_answer, same_files) = (one.answer == other.answer, one.files == other.files);
            if same_answer && same_files {
                continue;
            }
            let words = (word(&one.asked.answer), word(&other.asked.answer));
            let symptom = match words {
                _ if same_answer => "other files".to_owned(),
                (one, other) if one == other => format!("{one}, with another content"),
                (one, other) => format!("{one}, and {other}"),
            };
            let shown = |done: &Done, than: &Done| match same_answer {
                true => files_but(&done.files, &than.files),
                false => done.answer.clone(),
            };
            return Ok(Some(Difference {
                rule: one.asked.request.main_rule(),
                step: one.asked.step,
                request: one.request.clone(),
                symptom,
                one: shown(one, other),
                other: shown(other, one),
            }));
        }
        Ok(None)
    }

    fn done(&self, subject: &NewSubject<'_>, history: &History) -> Result<Vec<Done>, RunError> {
        let (mut all, mut ids) = (Vec::new(), Vec::new());
        let (mut place, mut start) = (String::new(), Files::default());
        let mut left_out: BTreeSet<ByteString> = BTreeSet::new();
        let mut watch = |event| match event {
            Event::Began { root, files } => {
                place = String::from_utf8_lossy(&root).into_owned();
                start = files;
            }
            Event::Edited(_)
            | Event::StoreEdited(..)
            | Event::DatabaseWritten(..)
            | Event::Injects(_)
            | Event::Measures => {}
            Event::Requested(asked) => {
                let request = comparable(&asked.request, &place, &mut ids);
                let mut answer = asked.answer.clone();
                match &mut answer {
                    Answer::Taken { skipped, .. } => {
                        left_out.extend(skipped.iter().map(|one| one.path.clone()));
                    }
                    // Whether it is as it was then, only the clock of the file system tells.
                    Answer::Restored(restored) => {
                        restored.kept.retain(|one| !left_out.contains(&one.path));
                    }
                    _ => {}
                }
                let answer = comparable(&answer, &place, &mut ids);
                let files = changes(&start, &asked.after, &place);
                all.push(Done { asked, request, answer, files });
            }
        };
        run_watched(
            Until::Disagreement,
            history,
            subject,
            self.scratch,
            &self.capabilities,
            Some(&mut watch),
        )?;
        Ok(all)
    }
}

/// Executions for one shortest history; each is a run of both.
const SHRINK_BUDGET: usize = 200;

/// A request or answer without the sandbox's path and without what each implementation chooses
/// freely.
fn comparable(said: &impl Serialize, place: &str, ids: &mut Vec<String>) -> String {
    let mut value = serde_json::to_value(said).unwrap_or_default();
    without_choices(&mut value, ids);
    let mut text = value.to_string().replace(place, "");
    for (number, id) in ids.iter().enumerate() {
        text = text.replace(id.as_str(), &format!("checkpoint {number}"));
        // A reason may name another checkpoint, as people do.
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
            // What was done outside has an id of its own, which says nothing of checkpoints.
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
                        let begins = |id: &String| typed.len() >= 4 && id.starts_with(&**typed);
                        if let Some(number) = ids.iter().rposition(begins) {
                            *typed = format!("{} digits of checkpoint {number}", typed.len());
                        }
                    }
                    // The agent's own, asked or answered, in which an id is that of a card.
                    Value::Object(_) if name == "value" || name == "state" => {}
                    // A status names its projects in any order.
                    Value::Array(all) if name == "projects" => {
                        all.sort_by_key(Value::to_string);
                    }
                    other => without_choices(other, ids),
                }
            }
        }
        Value::Array(all) => all.iter_mut().for_each(|one| without_choices(one, ids)),
        _ => {}
    }
}

/// Every path that differs from the start, with the sandbox's own path left out of link targets.
fn changes(start: &Files, after: &Files, place: &str) -> BTreeMap<ByteString, Option<Node>> {
    let paths = start.iter().chain(after.iter()).map(|(path, _)| path);
    let changed = paths.filter(|path| start.get(path) != after.get(path));
    let node = |node| without_place(node, place.as_bytes());
    changed.map(|path| (path.clone(), after.get(path).map(node))).collect()
}

/// The first few paths of `files` that are missing or different in `others`.
fn files_but(
    files: &BTreeMap<ByteString, Option<Node>>,
    others: &BTreeMap<ByteString, Option<Node>>,
) -> String {
    let paths: BTreeSet<&ByteString> = files.keys().chain(others.keys()).collect();
    let differing = paths.into_iter().filter(|path| files.get(*path) != others.get(*path));
    let line = |path: &ByteString| {
        let node = files.get(path).and_then(Option::as_ref);
        format!("{path}: {}", herma_model::verdict::shown(node))
    };
    differing.take(3).map(line).collect::<Vec<_>>().join("; ")
}
