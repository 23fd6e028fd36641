//! The special things that a failure needs, such as a link, a limit or an unusual name: the history that shows it
//! runs again with something plain in place of each, and the operation then breaks no rule.
//!
//! Shrinking alone does not show this, since it keeps a special thing that is as short as a plain one.

use crate::divergence::Divergence;
use crate::history::plain_names::with_plain_names;
use crate::history::{Event, History, Operation};
use crate::sandbox::Scratch;
use crate::shrink::{Shrunk, until};
use crate::subject::NewSubject;
use crate::trial::trial;
use herma_model::blame::INDEPENDENT;
use herma_model::bytes::is_plain;
use herma_model::{ByteString, Edit, Settings};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The special things without which the failing operation breaks no rule. None are known of a history with events,
/// and of a variant that already fails earlier.
pub fn special_things(
    shrunk: &Shrunk,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> BTreeSet<String> {
    let Shrunk { history, divergence, .. } = shrunk;
    let is_refusal = |divergence: &Divergence| divergence.mismatch.symptom.starts_with("refused ");
    let breaks_rule = |candidate: &Divergence| {
        // Where a refusal is gone, its cause is, too.
        let is_same = is_refusal(candidate) || !is_refusal(divergence);
        let is_earlier = candidate.step < divergence.step;
        let is_here = candidate.step == divergence.step && is_same;
        (is_earlier || is_here) && !INDEPENDENT.contains(&candidate.rule)
    };
    let is_needed = |variant: &History| {
        let trial = trial(variant, new_subject, scratch, until(divergence));
        // A run that cannot be made is no evidence.
        trial.is_ok_and(|trial| !trial.run.divergences.iter().any(breaks_rule))
    };
    let needed = variants(history).into_iter().filter(|(_, variant)| is_needed(variant));
    needed.map(|(special, _)| special).collect()
}

/// The history without each special thing.
fn variants(history: &History) -> BTreeMap<String, History> {
    let has_events = history.operations.iter().any(|operation| {
        let is_plain =
            |event: &Event| matches!(event, Event::Advance { .. } | Event::RestoreEach { .. });
        matches!(operation, Operation::Event(event) if !is_plain(event))
    });
    if has_events {
        return BTreeMap::new();
    }
    let mut variants = BTreeMap::new();
    if let Some(variant) = with_plain_names(history) {
        variants.insert(unusual_names(history), variant);
    }
    for name in history.unusual_settings().into_keys() {
        if let Some(settings) = with_default(&history.settings, &name) {
            variants.insert(name, History { settings, ..history.clone() });
        }
    }
    for (index, operation) in history.operations.iter().enumerate() {
        let Operation::Edit(edit) = operation else { continue };
        let Some((special, plain)) = plain(edit) else { continue };
        let variant = variants.entry(special).or_insert_with(|| history.clone());
        variant.operations[index] = plain;
    }
    variants
}

fn with_default(settings: &Settings, name: &str) -> Option<Settings> {
    let mut fields = serde_json::to_value(settings).ok()?;
    let default: Value = serde_json::to_value(Settings::default()).ok()?;
    let field = fields.get_mut(name)?;
    *field = default.get(name)?.clone();
    serde_json::from_value(fields).ok()
}

/// What is special about an edit, and a plain operation in its place.
fn plain(edit: &Edit) -> Option<(String, Operation)> {
    let nothing = || Operation::Event(Event::Advance { seconds: 0 });
    let write = |path: &ByteString, content: &ByteString| {
        let path = path.clone();
        Operation::Edit(Edit::Write { path, content: content.clone(), executable: false })
    };
    // The content differs from what shrinking writes, so that this is a change wherever the special thing is.
    let content = ByteString::from("p");
    let name = |path: &&ByteString| hidden_name(path);
    if let Some(name) = edit.paths().iter().find_map(name) {
        return Some((name + &shown_content(edit), nothing()));
    }
    let (special, plain) = match edit {
        // Shrinking leaves a target of one letter if the target does not matter.
        Edit::Link { path, target } if target.len() > 1 => {
            return Some((format!("a link to {target}"), write(path, &content)));
        }
        Edit::Link { path, .. } => ("a link", write(path, &content)),
        Edit::HardLink { path, .. } => ("a hard link", write(path, &content)),
        Edit::MakeSpecial { path, .. } => ("a special file", write(path, &content)),
        Edit::Write { path, content, executable: true } => {
            ("an executable bit", write(path, content))
        }
        Edit::SetReadable { .. } => ("an unreadable file", nothing()),
        Edit::SetFolderReadable { .. } => ("an unreadable folder", nothing()),
        Edit::SetPermissions { .. } | Edit::SetFolderPermissions { .. } => {
            ("permissions", nothing())
        }
        _ => return None,
    };
    Some((special.to_owned(), plain))
}

/// The part of a path from the first name that begins with a dot, such as that of an ignore file or a repository.
fn hidden_name(path: &ByteString) -> Option<String> {
    let starts_name =
        |index: &usize| path[*index] == b'.' && (*index == 0 || path[index - 1] == b'/');
    let start = (0..path.len()).find(starts_name)?;
    Some(path[start..].escape_ascii().to_string())
}

/// What a special file contains: another content may be another cause.
fn shown_content(edit: &Edit) -> String {
    match edit {
        Edit::Write { content, .. } | Edit::Rewrite { content, .. } => format!(": {content}"),
        _ => String::new(),
    }
}

/// The names that with plain names would be others.
fn unusual_names(history: &History) -> String {
    let paths = history.operations.iter().flat_map(|operation| match operation {
        Operation::Edit(edit) => edit.paths(),
        Operation::Ask(request) => request.dir().into_iter().collect(),
        Operation::Event(_) => Vec::new(),
    });
    let names: BTreeSet<&[u8]> = paths
        .flat_map(|path| path.split(|byte| *byte == b'/'))
        .filter(|name| !is_plain(name))
        .collect();
    if names.iter().any(|name| std::str::from_utf8(name).is_err()) {
        return "a name that is not UTF-8".to_owned();
    }
    let names: Vec<String> = names.iter().map(|name| name.escape_ascii().to_string()).collect();
    format!("the name {}", names.join(", "))
}
