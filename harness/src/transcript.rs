//! A run of a history as text: unusual conditions at the start, every change to the files as a shell
//! command, every request as it was sent, and under it the reply line of the subject.

use crate::divergence::Divergence;
use crate::history::{CallPosition, History, InjectedEvent, Injection};
use crate::protocol::message::Message;
use crate::runner::{Event, RequestRecord, RunError, RunOptions, Until, run};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use herma_model::edit::Change;
use herma_model::files::SpecialKind;
use herma_model::plain::plain;
use herma_model::verdict::shown;
use herma_model::{ByteString, Files, Node, StoreEdit};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Longer lines are cut, since people do not read them to the end.
const LINE_CHARACTERS_MAX: usize = 400;
/// Longer file contents are cut.
const CONTENT_BYTES_MAX: usize = 60;
/// Stands for the folder of the sandbox.
const ROOT: &str = "$ROOT";

/// At most this many paths are recorded before and after a request.
const PATHS_MAX: usize = 60;

/// The requests and replies of one run, a line each, and its divergences, with the ids and times of
/// that run.
#[derive(Debug, Default)]
pub struct Transcript {
    /// The lines.
    pub lines: Vec<String>,
    /// The files around each request, in the order of the requests.
    pub trees: Vec<TreesOfRequest>,
    /// What the model does not allow.
    pub divergences: Vec<Divergence>,
}

/// The files before and after one request: only those that differ from the sandbox at the beginning, each as
/// `path: what it is`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreesOfRequest {
    /// The operation of the history, from 1.
    pub operation: usize,
    /// The files before the request.
    pub before: Vec<String>,
    /// The files after it.
    pub after: Vec<String>,
}

impl TreesOfRequest {
    fn new(record: &RequestRecord, beginning: &Files) -> Self {
        let list = |files: &Files| {
            let changed = beginning.differences(files).into_iter().take(PATHS_MAX);
            changed.map(|change| format!("{}: {}", change.path, shown(change.newer))).collect()
        };
        let RequestRecord { step, before, after, .. } = record;
        TreesOfRequest { operation: step + 1, before: list(before), after: list(after) }
    }
}

impl Transcript {
    /// The same failure in this run; `divergence` itself if this run did not show it.
    pub fn own<'a>(&'a self, divergence: &'a Divergence) -> &'a Divergence {
        let is_same = |candidate: &&Divergence| {
            candidate.step == divergence.step && candidate.fingerprint() == divergence.fingerprint()
        };
        self.divergences.iter().find(is_same).unwrap_or(divergence)
    }
}

/// Runs `history` and records requests and replies.
///
/// # Errors
/// The run could not be made.
pub fn transcript(
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
    until: Until,
) -> Result<Transcript, RunError> {
    let mut root = String::new();
    let mut beginning = Files::default();
    let mut lines = history.conditions();
    let mut trees = Vec::new();
    let mut watch = |event| match event {
        Event::Began { root: folder, files } => {
            root = String::from_utf8_lossy(&folder).into_owned();
            beginning = files;
        }
        Event::Edited(changes) => lines.extend(changes.iter().map(change_line)),
        Event::DatabaseWritten(database, _) => lines.push(format!(
            "python3 adds {} rows to {} in journal mode {}, then: {}",
            database.rows,
            database.path,
            database.journal_mode.word(),
            database.end.word()
        )),
        Event::Injects(injection) => lines.push(injection_line(&injection)),
        Event::Measures => {
            lines.push("what the next request takes is measured, in a process of its own".into());
        }
        Event::StoreEdited(edit, file) => lines.push(store_edit_line(&edit, file.as_deref())),
        Event::Requested(record) => {
            lines.push(format!("> {}", plain(&Message::Request(record.request.clone()))));
            lines.push(format!("< {}", record.reply));
            trees.push(TreesOfRequest::new(&record, &beginning));
        }
    };
    let options = RunOptions { until, watch: Some(&mut watch), ..RunOptions::default() };
    let run = match run(history, new_subject, scratch, options) {
        Err(RunError::Adapter { step: None, fault }) => {
            lines.extend(["> {\"op\":\"open\"}".to_owned(), format!("< {fault}")]);
            return Ok(Transcript { lines, ..Transcript::default() });
        }
        run => run?,
    };
    let lines = lines.into_iter().map(|line| cut(&line.replace(&root, ROOT))).collect();
    Ok(Transcript { lines, trees, divergences: run.divergences })
}

/// An injection: what is injected, and at which call.
fn injection_line(injection: &Injection) -> String {
    let Injection { call, what: event, meanwhile } = injection;
    let happens = match (event, call) {
        (InjectedEvent::Together(_), CallPosition::End) => {
            "beside the next request other processes".to_owned()
        }
        (InjectedEvent::Together(_), call) => {
            format!("beside the next request other processes, the first killed at call {call}")
        }
        _ => format!("at call {call} of the next request: {}", event.word()),
    };
    if meanwhile.is_empty() { happens } else { format!("{happens}: {}", plain(meanwhile)) }
}

/// A change to the files, as a shell command.
fn change_line(change: &Change) -> String {
    match change {
        Change::Remove(path) => format!("rm -r {path}"),
        Change::Make(path, Node::Directory) => format!("mkdir {path}"),
        Change::Make(path, Node::Special(SpecialKind::Fifo)) => format!("mkfifo {path}"),
        Change::Make(path, Node::Special(SpecialKind::Socket)) => format!("make the socket {path}"),
        Change::Make(path, Node::Link { target }) => {
            format!("ln -s {} {path}", ByteString::from(&target[..]))
        }
        Change::Make(path, Node::File { content, executable, readable }) => {
            let executable = if *executable { ", executable" } else { "" };
            let readable = if *readable { "" } else { ", unreadable" };
            format!("write {path}: {}{executable}{readable}", shown_content(content))
        }
        Change::Rewrite(path, content) => {
            format!("write {path} and keep its time: {}", shown_content(content))
        }
        Change::SetReadable(path, readable) => {
            format!("chmod u{}r {path}", if *readable { '+' } else { '-' })
        }
        Change::SetPermissions(path, bits) => format!("chmod {bits:03o} {path}"),
        Change::HardLink(path, to) => format!("ln {to} {path}"),
        Change::Rename(from, to) => format!("mv {from} {to}"),
    }
}

/// A change of the base, with the damaged file of the store.
fn store_edit_line(edit: &StoreEdit, file: Option<&Path>) -> String {
    let file = file.map(|file| format!(", which is store/{}", file.display()));
    format!("in the base of the store: {}{}", plain(edit), file.unwrap_or_default())
}

fn shown_content(content: &[u8]) -> String {
    let beginning = ByteString::from(&content[..content.len().min(CONTENT_BYTES_MAX)]);
    if content.len() > CONTENT_BYTES_MAX {
        return format!("\"{beginning}…\" ({} bytes)", content.len());
    }
    format!("\"{beginning}\"")
}

fn cut(line: &str) -> String {
    let excess = line.chars().count().saturating_sub(LINE_CHARACTERS_MAX);
    if excess == 0 {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LINE_CHARACTERS_MAX).collect();
    format!("{kept}… ({excess} characters more)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::file::from_yaml;
    use crate::subject::CoreSubject;
    use pretty_assertions::assert_eq;

    #[test]
    fn transcript_has_each_request_as_it_was_sent_with_the_reply_under_it() {
        let history = from_yaml(
            "operations:\n- write:\n    path: work/alpha/a\n    content: \"1\"\n- checkpoint:\n    \
             dir: work/alpha\n    reason: r\n- restore:\n    dir: work/alpha\n    target:\n      \
             number: 7\n",
            Path::new("here"),
        );
        let scratch = Scratch::in_default_directory();
        let transcript = transcript(&history.unwrap(), &CoreSubject::boxed, &scratch, Until::End);
        let Transcript { lines, trees, .. } = transcript.unwrap();
        assert_eq!(lines[0], "write work/alpha/a: \"1\"");
        assert_eq!(lines[1], r#"> {"op":"checkpoint","dir":"$ROOT/work/alpha","reason":"r"}"#);
        assert!(lines[2].contains(r#""outcome":"created""#), "{}", lines[2]);
        assert!(lines[3].contains(r#""target":"7""#), "{}", lines[3]);
        assert!(lines[4].contains("unknown_checkpoint"), "{}", lines[4]);
        assert_eq!(trees.iter().map(|trees| trees.operation).collect::<Vec<_>>(), [2, 3]);
        let file = "work/alpha/a: a file of 1 bytes \"1\"".to_owned();
        assert!(trees[1].before.contains(&file) && trees[1].after.contains(&file), "{trees:?}");
    }

    #[test]
    fn transcript_begins_with_the_settings_and_the_home_that_are_unusual() {
        let text =
            "settings: {max_files: 1, max_file_bytes: 28}\nplain_home: true\noperations: []\n";
        let history = from_yaml(text, Path::new("here")).unwrap();
        let scratch = Scratch::in_default_directory();
        let transcript = transcript(&history, &CoreSubject::boxed, &scratch, Until::End).unwrap();
        let settings = "settings: max_file_bytes: 28, max_files: 1";
        assert_eq!(transcript.lines, [settings, "home: without a git configuration"]);
    }

    #[test]
    fn cut_and_shown_content_shorten_long_text_and_report_the_full_length() {
        assert_eq!(shown_content(&[b'x'; 70]), format!("\"{}…\" (70 bytes)", "x".repeat(60)));
        assert!(cut(&"y".repeat(500)).ends_with("y… (100 characters more)"));
    }
}
