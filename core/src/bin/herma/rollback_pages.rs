//! What a rollback answers people: the restore, its preview, and what is wrong with the words.

use crate::pages::{Page, directory, evicted, remarked};
use crate::text::{Style, Tone, count, line, name, shell_word};
use crate::whole_pages;
use herma_core::printed::{SHORT, short};
use herma_core::rollback_line::Misread;
use herma_core::{Extent, INTERRUPTED, Interrupted, Preview, Remark, RestoreOptions, Restored};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Where the state before a restore can be found.
#[derive(Debug)]
pub enum Undo {
    /// In the checkpoint that was taken before.
    Taken(String),
    /// In the newest checkpoint, which already was that state.
    Newest(String),
    /// Nowhere, because the project was gone.
    WasGone,
    /// Nowhere, because no checkpoint could be taken.
    Impossible(String),
}

/// The one file that was restored.
#[derive(Clone, Copy, Debug)]
pub struct Alone<'a> {
    /// Its path relative to the project.
    pub file: &'a [u8],
    /// Whether anything stood there before.
    pub was_there: bool,
}

/// What is wrong with the words that follow `before`, with a caret below the word to blame.
pub fn misread(before: &str, typed: &[u8], Misread { message, at }: &Misread) -> String {
    let typed_before = line(typed.get(..at.start).unwrap_or_default());
    let blamed = line(typed.get(at.clone()).unwrap_or_default());
    let indent = " ".repeat(before.chars().count() + typed_before.chars().count());
    let carets = "^".repeat(blamed.chars().count().max(1));
    let message = line(message.as_bytes());
    format!("{message} [usage]\n  {before}{}\n  {indent}{carets}\n", line(typed))
}

/// A rollback that was interrupted.
pub fn interrupted(style: Style, interrupted: Option<&Interrupted>) -> Vec<u8> {
    let mut page = Page::default();
    if let Some(interrupted) = interrupted {
        page.blank();
        page.line(format_args!("{} {interrupted}", style.paint(Tone::Notable, "⚠")));
    }
    page.0.into_bytes()
}

/// Other projects that have checkpoints.
pub fn elsewhere(projects: &[String]) -> Vec<u8> {
    let mut page = Page::default();
    if !projects.is_empty() {
        page.blank();
        page.line("Projects with checkpoints:");
        for project in projects {
            page.line(format_args!("  herma rollback --dir {}", shell_word(project.as_bytes())));
        }
    }
    page.0.into_bytes()
}

/// What a restore would do.
pub fn preview(
    style: Style,
    project: &Path,
    is_named: bool,
    extent: Extent<'_>,
    Preview { would, token }: &Preview,
) -> Vec<u8> {
    let mut page = Page::default();
    let (id, shown) = (short(style, &would.id), directory(project));
    if !is_change(would) {
        page.line(format_args!("A restore of checkpoint {id} would change nothing in {shown}"));
    } else {
        page.line(format_args!("A restore of checkpoint {id} would do this in {shown}:"));
    }
    let rows = rows(would, &WOULD);
    if !rows.is_empty() {
        page.blank();
    }
    for (word, tone, text) in rows {
        page.line(format_args!("  {}  {text}", style.paint(tone, &format!("{word:<7}"))));
    }
    if let Some(agent) = &would.agent {
        page.0 += &whole_pages::would_roll_back(style, agent);
    }
    if let Some(why) = &would.forced_past {
        page.blank();
        page.line(format_args!(
            "No checkpoint of the state before could be taken: {}",
            line(why.as_bytes())
        ));
    }
    if is_change(would) {
        let id = would.id.get(..SHORT).unwrap_or(&would.id);
        let how = match extent {
            Extent::One(file) => format!(" -- {}", shell_word(file)),
            Extent::All(RestoreOptions { exact, force }) => {
                [(exact, " --exact"), (force, " --force")]
                    .iter()
                    .filter_map(|(given, option)| given.then_some(*option))
                    .collect()
            }
        };
        let named = named(project, is_named);
        page.blank();
        page.line("Nothing was changed; to do this and nothing else:");
        page.line(format_args!("  herma rollback {id} --as-previewed {token}{named}{how}"));
    }
    page.0.into_bytes()
}

/// Whether anything is, or would be, other than before: a file, or a part of the agent's state.
fn is_change(restored: &Restored) -> bool {
    let of_state = restored.agent.as_ref().is_some_and(|agent| !agent.changed.is_empty());
    !restored.restored.is_empty() || !restored.removed.is_empty() || of_state
}

/// What a restore did.
pub fn restored(
    style: Style,
    (project, is_named): (&Path, bool),
    restored: &Restored,
    undo: &Undo,
    alone: Option<Alone<'_>>,
) -> Vec<u8> {
    let mut page = Page::default();
    if let Some(agent) = &restored.agent {
        page.0 += &whole_pages::rolled_back(style, restored, agent);
        page.blank();
    }
    let changed = is_change(restored);
    let (id, shown) = (short(style, &restored.id), directory(project));
    if !restored.failed.is_empty() {
        page.line(format_args!("Restored only a part of checkpoint {id} in {shown}"));
    } else if changed {
        page.line(format_args!("Restored checkpoint {id} in {shown}"));
    } else if !restored.kept.is_empty() || !restored.missing.is_empty() {
        page.line(format_args!("Nothing was changed for checkpoint {id} in {shown}"));
    } else {
        page.line(format_args!("Nothing had to change for checkpoint {id} in {shown}"));
    }
    let rows = rows(restored, &DID);
    if !rows.is_empty() {
        page.blank();
    }
    for (word, tone, text) in rows {
        page.line(format_args!("  {}  {text}", style.paint(tone, &format!("{word:<8}"))));
    }
    let named = named(project, is_named);
    let footer = footer(style, (changed, alone), restored, undo, &named);
    if !footer.0.is_empty() {
        page.blank();
    }
    (page.0 + &footer.0).into_bytes()
}

/// The option that names the project in a suggested command, for the same current directory.
fn named(project: &Path, is_named: bool) -> String {
    if !is_named {
        return String::new();
    }
    format!(" --dir {}", shell_word(project.as_os_str().as_bytes()))
}

/// What to do next, and where the state before is.
fn footer(
    style: Style,
    (changed, alone): (bool, Option<Alone<'_>>),
    restored: &Restored,
    undo: &Undo,
    named: &str,
) -> Page {
    let mut page = Page::default();
    // If no checkpoint could be taken, even an exact restore removes nothing.
    if !restored.left.is_empty() && restored.forced_past.is_none() {
        page.line("Files that are left were created since; --exact removes them");
    }
    match undo {
        Undo::Taken(id) => {
            let id = short(style, id);
            page.line(format_args!("The state before was saved as checkpoint {id}"));
        }
        Undo::Newest(id) if changed => {
            let id = short(style, id);
            page.line(format_args!("The state before is in the list as checkpoint {id}"));
        }
        Undo::Impossible(why) => {
            let why = line(why.as_bytes());
            page.line(format_args!("No checkpoint of the state before could be taken: {why}"));
            if changed {
                page.line("What was changed cannot be undone");
            }
        }
        Undo::WasGone if changed => {
            page.line("The project was gone, so there was no state before to save");
        }
        Undo::Newest(_) | Undo::WasGone => {}
    }
    if let Undo::Taken(id) | Undo::Newest(id) = undo
        && changed
    {
        let id = id.get(..SHORT).unwrap_or(id);
        match alone {
            Some(Alone { file, was_there: true }) => {
                let file = shell_word(file);
                page.line(format_args!("To undo: herma rollback {id}{named} -- {file}"));
            }
            Some(Alone { file, .. }) => {
                page.line(format_args!("To undo: remove {}, which was not there", name(file)));
            }
            // Exact, since the restore may have added files.
            None => page.line(format_args!("To undo: herma rollback {id} --exact{named}")),
        }
    }
    if restored.interrupted && alone.is_none() {
        let id = restored.id.get(..SHORT).unwrap_or(&restored.id);
        page.line(format_args!("To go on: herma rollback {id}{named}"));
    }
    evicted(&restored.evicted, &mut page);
    page
}

/// What happened to a path, in the order of the rows.
const DID: [&str; 7] = ["restored", "removed", "left", "kept", "missing", "failed", "unsaved"];
/// What would happen to it.
const WOULD: [&str; 7] = ["restore", "remove", "leave", "keep", "missing", "fail", "unsaved"];

/// One row for each path of the answer.
fn rows(
    restored: &Restored,
    [did, removed, left, kept, missing, failed, unsaved]: &[&'static str; 7],
) -> Vec<(&'static str, Tone, String)> {
    let others = restored.others.as_deref().unwrap_or_default();
    let marked = |path: &Vec<u8>, text: String| match others.binary_search(path) {
        Ok(_) => format!("{text} (changed by another hand)"),
        Err(_) => text,
    };
    let plain = |word, tone, paths: &[Vec<u8>]| {
        paths.iter().map(|path| (word, tone, marked(path, name(path)))).collect::<Vec<_>>()
    };
    let explained = |word, tone, remarks: &[Remark]| {
        let row = |one: &Remark| (word, tone, marked(&one.path, remarked(one)));
        remarks.iter().map(row).collect::<Vec<_>>()
    };
    // There may be thousands that an interrupted rollback did not get to.
    let is_failure = |remark: &&Remark| remark.why != INTERRUPTED;
    let failures: Vec<Remark> = restored.failed.iter().filter(is_failure).cloned().collect();
    let not_done = match restored.failed.len() - failures.len() {
        0 => Vec::new(),
        paths => vec![("not done", Tone::Bad, count(paths, "path", "paths"))],
    };
    [
        plain(*did, Tone::Good, &restored.restored),
        plain(*removed, Tone::Bad, &restored.removed),
        plain(*left, Tone::Place, &restored.left),
        explained(*kept, Tone::Notable, &restored.kept),
        explained(*missing, Tone::Notable, &restored.missing),
        explained(*failed, Tone::Bad, &failures),
        not_done,
        explained(*unsaved, Tone::Notable, &restored.left_out),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_state_before_is_matters_only_where_something_changed() {
        let style = Style::of_output(false, |_| None);
        let undo = Undo::Newest("0123456789".into());
        let told = |changed| footer(style, (changed, None), &Restored::default(), &undo, "").0;
        assert!(told(true).contains("is in the list as checkpoint 0123456"));
        assert!(!told(false).contains("is in the list"));
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_cannot_be_undone_is_said_before_and_after() {
        let style = Style::of_output(false, |_| None);
        let place = Path::new("/home/you/project");
        let one = || vec![b"a.txt".to_vec()];
        let forced_past = Some("the disk is full".to_owned());
        let done = Restored { restored: one(), left: one(), forced_past, ..Restored::default() };
        let undo = Undo::Impossible("the disk is full".into());
        let said = text(restored(style, (place, false), &done, &undo, None));
        assert!(said.contains("What was changed cannot be undone"), "{said}");
        assert!(!said.contains("--exact"), "{said}");
        let preview = Preview { would: done, token: "0123456789abcdef".parse().unwrap() };
        let extent = Extent::All(RestoreOptions { exact: false, force: true });
        let said = text(super::preview(style, place, true, extent, &preview));
        assert!(said.contains("could be taken: the disk is full"), "{said}");
        assert!(said.contains("--as-previewed 0123456789abcdef"), "{said}");
    }

    #[test]
    fn an_interrupted_rollback_counts_what_it_did_not_do_and_says_how_to_go_on() {
        let style = Style::of_output(false, |_| None);
        let not_done = |path: &[u8]| Remark { path: path.to_vec(), why: INTERRUPTED.into() };
        let done = Restored {
            id: "1123456789".into(),
            restored: vec![b"a.txt".to_vec()],
            failed: vec![not_done(b"b.txt"), not_done(b"c.txt")],
            missing: vec![Remark { path: b"big".to_vec(), why: "larger than 1 byte".into() }],
            interrupted: true,
            ..Restored::default()
        };
        let undo = Undo::Taken("0123456789".into());
        let said = text(restored(style, (Path::new("/p"), false), &done, &undo, None));
        assert!(said.contains("not done  2 paths"), "{said}");
        assert!(said.contains("missing   big  (larger than 1 byte)"), "{said}");
        assert!(said.contains("To go on: herma rollback 1123456\n"), "{said}");
        let before = Some("0123456789".to_owned());
        let due = Interrupted { target: "1123456789".into(), before };
        let said = text(interrupted(style, Some(&due)));
        assert!(said.contains("1123456") && said.contains("0123456"), "{said}");
        assert!(interrupted(style, None).is_empty());
    }

    #[test]
    fn one_file_is_undone_as_one_file_and_what_is_kept_is_no_change() {
        let style = Style::of_output(false, |_| None);
        let named = (Path::new("/home/you/project"), false);
        let restored = |done: &Restored, was_there| {
            let alone = Alone { file: b"my file", was_there };
            text(super::restored(
                style,
                named,
                done,
                &Undo::Taken("0123456789".into()),
                Some(alone),
            ))
        };
        let done = Restored { restored: vec![b"my file".to_vec()], ..Restored::default() };
        let said = restored(&done, true);
        assert!(said.contains("To undo: herma rollback 0123456 -- 'my file'"), "{said}");
        let said = restored(&done, false);
        assert!(said.contains("To undo: remove my file, which was not there"), "{said}");
        let kept = vec![Remark { path: b"my file".to_vec(), why: "larger than 10 bytes".into() }];
        let said = restored(&Restored { kept, ..Restored::default() }, true);
        assert!(said.starts_with("Nothing was changed for checkpoint"), "{said}");
    }
}
