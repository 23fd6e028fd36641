//! A history as it was asked: what is not as usual when it begins, every change to the files as a person would make it, every request as
//! it was sent, and under it the line that the subject replied.

use crate::divergence::Divergence;
use crate::history::{At, History, Injection, What};
use crate::protocol::capabilities::Capabilities;
use crate::protocol::message::Message;
use crate::runner::{Event, RunError, Until, run_watched};
use crate::sandbox::Scratch;
use crate::subject::NewSubject;
use herma_model::edit::Change;
use herma_model::files::SpecialKind;
use herma_model::plain::plain;
use herma_model::{ByteString, Node, StoreEdit};
use std::path::Path;

/// Longer lines are cut, since nobody reads them to their end.
const LINE_CHARACTERS_MAX: usize = 400;
/// Longer contents of a file are cut.
const CONTENT_BYTES_MAX: usize = 60;
/// Stands for the folder of the sandbox.
const ROOT: &str = "$ROOT";

/// What was asked and answered in one run, a line each, and how it differed: ids and times stand in
/// both as they were in that run.
#[derive(Debug, Default)]
pub struct Transcript {
    /// The lines.
    pub lines: Vec<String>,
    /// What was not as the model allows.
    pub divergences: Vec<Divergence>,
}

impl Transcript {
    /// The same failure as this run had it; the given one where it had none such.
    pub fn own<'a>(&'a self, divergence: &'a Divergence) -> &'a Divergence {
        let is_same = |one: &&Divergence| {
            one.step == divergence.step && one.fingerprint() == divergence.fingerprint()
        };
        self.divergences.iter().find(is_same).unwrap_or(divergence)
    }
}

/// Runs `history` and writes down what was asked and answered.
///
/// # Errors
/// The run could not be made.
pub fn transcript(
    until: Until,
    history: &History,
    new_subject: &NewSubject<'_>,
    scratch: &Scratch,
) -> Result<Transcript, RunError> {
    let (mut root, mut lines) = (String::new(), history.conditions());
    let mut watch = |event| match event {
        Event::Began { root: folder, .. } => root = String::from_utf8_lossy(&folder).into_owned(),
        Event::Edited(changes) => lines.extend(changes.iter().map(changed)),
        Event::DatabaseWritten(database, _) => lines.push(format!(
            "python3 adds {} rows to {} in journal mode {}, then: {}",
            database.rows,
            database.path,
            database.journal_mode.word(),
            database.end.word()
        )),
        Event::Injects(injection) => lines.push(injected(&injection)),
        Event::Measures => {
            lines.push("what the next request takes is measured, in a process of its own".into());
        }
        Event::StoreEdited(edit, file) => lines.push(planted(&edit, file.as_deref())),
        Event::Requested(asked) => {
            lines.push(format!("> {}", plain(&Message::Request(asked.request.clone()))));
            lines.push(format!("< {}", asked.reply));
        }
    };
    let all = Capabilities::default();
    let run = match run_watched(until, history, new_subject, scratch, &all, Some(&mut watch)) {
        Err(RunError::Adapter { step: None, fault }) => {
            lines.extend(["> {\"op\":\"open\"}".to_owned(), format!("< {fault}")]);
            return Ok(Transcript { lines, divergences: Vec::new() });
        }
        run => run?,
    };
    let lines = lines.into_iter().map(|line| cut(&line.replace(&root, ROOT))).collect();
    Ok(Transcript { lines, divergences: run.divergences })
}

/// What is to happen, and when.
fn injected(injection: &Injection) -> String {
    let Injection { call, what, meanwhile } = injection;
    let happens = match (what, call) {
        (What::Together(_), At::End) => "beside the next request other processes".to_owned(),
        (What::Together(_), call) => {
            format!("beside the next request other processes, the first killed at call {call}")
        }
        _ => format!("at call {call} of the next request: {}", what.word()),
    };
    if meanwhile.is_empty() { happens } else { format!("{happens}: {}", plain(meanwhile)) }
}

/// A change to the files, as a command of a shell would have it.
fn changed(change: &Change) -> String {
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
            format!("write {path}: {}{executable}{readable}", shown(content))
        }
        Change::Rewrite(path, content) => {
            format!("write {path} and keep its time: {}", shown(content))
        }
        Change::SetReadable(path, readable) => {
            format!("chmod u{}r {path}", if *readable { '+' } else { '-' })
        }
        Change::SetPermissions(path, bits) => format!("chmod {bits:03o} {path}"),
        Change::HardLink(path, to) => format!("ln {to} {path}"),
        Change::Rename(from, to) => format!("mv {from} {to}"),
    }
}

/// A change of the base, with the file of the store that it damaged.
fn planted(edit: &StoreEdit, file: Option<&Path>) -> String {
    let file = file.map(|file| format!(", which is store/{}", file.display()));
    format!("in the base of the store: {}{}", plain(edit), file.unwrap_or_default())
}

fn shown(content: &[u8]) -> String {
    let few = ByteString::from(&content[..content.len().min(CONTENT_BYTES_MAX)]);
    if content.len() > CONTENT_BYTES_MAX {
        return format!("\"{few}…\" ({} bytes)", content.len());
    }
    format!("\"{few}\"")
}

fn cut(line: &str) -> String {
    let more = line.chars().count().saturating_sub(LINE_CHARACTERS_MAX);
    if more == 0 {
        return line.to_owned();
    }
    let kept: String = line.chars().take(LINE_CHARACTERS_MAX).collect();
    format!("{kept}… ({more} characters more)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::file::from_yaml;
    use crate::subject::CoreSubject;
    use pretty_assertions::assert_eq;

    #[test]
    fn what_was_asked_stands_as_it_was_sent_with_the_reply_under_it() {
        let history = from_yaml(
            "operations:\n- write:\n    path: work/alpha/a\n    content: \"1\"\n- checkpoint:\n    \
             dir: work/alpha\n    reason: r\n- restore:\n    dir: work/alpha\n    target:\n      \
             number: 7\n",
            Path::new("here"),
        );
        let scratch = Scratch::default_place();
        let asked = transcript(Until::End, &history.unwrap(), &CoreSubject::boxed, &scratch);
        let lines = asked.unwrap().lines;
        assert_eq!(lines[0], "write work/alpha/a: \"1\"");
        assert_eq!(lines[1], r#"> {"op":"checkpoint","dir":"$ROOT/work/alpha","reason":"r"}"#);
        assert!(lines[2].contains(r#""outcome":"created""#), "{}", lines[2]);
        assert!(lines[3].contains(r#""target":"7""#), "{}", lines[3]);
        assert!(lines[4].contains("unknown_checkpoint"), "{}", lines[4]);
    }

    #[test]
    fn long_lines_and_files_are_cut_and_say_by_how_much() {
        assert_eq!(shown(&[b'x'; 70]), format!("\"{}…\" (70 bytes)", "x".repeat(60)));
        assert!(cut(&"y".repeat(500)).ends_with("y… (100 characters more)"));
    }
}
