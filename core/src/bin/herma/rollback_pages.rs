//! Texts for people about a rollback: the restore, its preview, and errors in its arguments.

use crate::pages::{Page, directory, evicted, remarked};
use crate::text::{Style, Tone, count, line, name, shell_word};
use crate::whole_pages;
use herma_core::printed::{SHORT, short};
use herma_core::rollback_line::SyntaxError;
use herma_core::{
    Direction, INTERRUPTED, Interrupted, Preview, Remark, RestoreOptions, Restored, Scope, Token,
};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What to restore.
pub struct RestoreRequest<'a> {
    /// The checkpoint, as typed.
    pub target: &'a [u8],
    /// How much of it.
    pub scope: Scope<&'a [u8]>,
    /// The token of the preview that it must follow.
    pub token: Option<Token>,
}

/// Where the state before a restore can be found.
#[derive(Debug)]
pub enum Undo {
    /// In the checkpoint that was taken before the restore.
    Taken(String),
    /// In the newest checkpoint, which already was that state.
    Newest(String),
    /// Nowhere, because the project was gone.
    WasGone,
    /// Nowhere, because no checkpoint could be taken.
    Impossible(String),
}

/// What the answer of a restore is made of.
#[derive(Clone, Copy, Debug)]
pub struct RestoreAnswer<'a> {
    /// The directory of the project.
    pub project: &'a Path,
    /// Whether the command named the project with `--dir`.
    pub is_named: bool,
    /// How much was restored.
    pub scope: &'a Scope<&'a [u8]>,
    /// What the restore did.
    pub restored: &'a Restored,
    /// Where the state before the restore can be found.
    pub undo: &'a Undo,
    /// Which step the restore was, if it undid another.
    pub direction: Option<Direction>,
}

/// The error in the words that follow `before`, with carets below the wrong word.
pub fn misread(before: &str, words: &[u8], SyntaxError { message, at }: &SyntaxError) -> String {
    let words_before = line(words.get(..at.start).unwrap_or_default());
    let wrong = line(words.get(at.clone()).unwrap_or_default());
    let indent = " ".repeat(before.chars().count() + words_before.chars().count());
    let carets = "^".repeat(wrong.chars().count().max(1));
    let message = line(message.as_bytes());
    format!("{message} [usage]\n  {before}{}\n  {indent}{carets}\n", line(words))
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

/// Other projects that have checkpoints: those that contain this one, and then the rest.
pub fn elsewhere(project: &Path, projects: &[String]) -> Vec<u8> {
    let mut page = Page::default();
    let contains = |directory: &&String| project.starts_with(directory);
    let (around, rest): (Vec<&String>, Vec<&String>) = projects.iter().partition(contains);
    for (title, directories) in [
        ("A directory that contains this one has checkpoints:", around),
        ("Other projects have checkpoints:", rest),
    ] {
        if !directories.is_empty() {
            page.blank();
            page.line(title);
        }
        for directory in directories {
            page.line(format_args!("  herma rollback --dir {}", shell_word(directory.as_bytes())));
        }
    }
    page.0.into_bytes()
}

/// What a restore would do.
pub fn preview(
    style: Style,
    project: &Path,
    is_named: bool,
    wanted: &RestoreRequest<'_>,
    Preview { would, token }: &Preview,
) -> Vec<u8> {
    let mut page = Page::default();
    let id = short(style, &would.id);
    let directory = directory(project);
    if !has_changes(would) {
        page.line(format_args!("A restore of checkpoint {id} would change nothing in {directory}"));
    } else {
        page.line(format_args!("A restore of checkpoint {id} would do this in {directory}:"));
    }
    let rows = rows(would, &PREVIEW_WORDS);
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
            "The present files cannot be saved first, so this cannot be undone: {}",
            line(why.as_bytes())
        ));
    }
    if has_changes(would) {
        let id = would.id.get(..SHORT).unwrap_or(&would.id);
        let is_step = Direction::parse(wanted.target).is_some();
        let target = if is_step { name(wanted.target) } else { id.to_owned() };
        let RestoreOptions { exact, force } = wanted.scope.options();
        let options: String = [(exact, " --exact"), (force, " --force")]
            .iter()
            .filter_map(|(is_given, option)| is_given.then_some(*option))
            .collect();
        let options = options + &paths(&wanted.scope);
        let named = named(project, is_named);
        page.blank();
        page.line("Nothing was changed. To do exactly this:");
        page.line(format_args!("  herma rollback {target} --as-previewed {token}{named}{options}"));
    }
    page.0.into_bytes()
}

/// The words that name the paths of a scope in a suggested command.
fn paths(scope: &Scope<&[u8]>) -> String {
    let paths: Vec<String> = scope.paths().iter().map(|path| shell_word(path)).collect();
    if paths.is_empty() { String::new() } else { format!(" -- {}", paths.join(" ")) }
}

/// Whether a file or a part of the agent's state was changed, or would be.
fn has_changes(restored: &Restored) -> bool {
    let changes_state = restored.agent.as_ref().is_some_and(|agent| !agent.changed.is_empty());
    !restored.restored.is_empty() || !restored.removed.is_empty() || changes_state
}

/// What a restore did.
pub fn restored(style: Style, answer: &RestoreAnswer<'_>) -> Vec<u8> {
    let restored = answer.restored;
    let mut page = Page::default();
    if let Some(agent) = &restored.agent {
        page.0 += &whole_pages::rolled_back(style, restored, agent);
        page.blank();
    }
    let changed = has_changes(restored);
    let id = short(style, &restored.id);
    let directory = directory(answer.project);
    if !restored.failed.is_empty() {
        page.line(format_args!("Restored checkpoint {id} only in part in {directory}"));
    } else if changed {
        page.line(format_args!("Restored checkpoint {id} in {directory}"));
    } else if !restored.kept.is_empty() || !restored.missing.is_empty() {
        page.line(format_args!("Restored nothing of checkpoint {id} in {directory}"));
    } else {
        let paths: Vec<String> = answer.scope.paths().iter().map(|path| name(path)).collect();
        let place = if paths.is_empty() { directory } else { paths.join(", ") };
        page.line(format_args!("Nothing to restore: {place} already matches checkpoint {id}"));
    }
    let rows = rows(restored, &DONE_WORDS);
    if !rows.is_empty() {
        page.blank();
    }
    for (word, tone, text) in rows {
        page.line(format_args!("  {}  {text}", style.paint(tone, &format!("{word:<8}"))));
    }
    let footer = footer(style, answer, changed);
    if !footer.0.is_empty() {
        page.blank();
    }
    (page.0 + &footer.0).into_bytes()
}

/// The option that names the project in a suggested command, empty if the command did not name it.
fn named(project: &Path, is_named: bool) -> String {
    if !is_named {
        return String::new();
    }
    format!(" --dir {}", shell_word(project.as_os_str().as_bytes()))
}

/// What to do next, and where the state before the restore is.
fn footer(style: Style, answer: &RestoreAnswer<'_>, changed: bool) -> Page {
    let RestoreAnswer { project, is_named, restored, undo, direction, .. } = *answer;
    let named = named(project, is_named);
    let mut page = Page::default();
    // If no checkpoint could be taken, even an exact restore removes nothing.
    if !restored.left.is_empty() && restored.forced_past.is_none() && direction.is_none() {
        page.line("Files listed as left are newer than the checkpoint; --exact removes them");
    }
    match undo {
        Undo::Taken(id) => {
            let id = short(style, id);
            page.line(format_args!("The state before this restore was saved as checkpoint {id}"));
        }
        Undo::Newest(id) if changed => {
            let id = short(style, id);
            page.line(format_args!(
                "The state before this restore was already saved as checkpoint {id}"
            ));
        }
        Undo::Impossible(why) => {
            let why = line(why.as_bytes());
            page.line(format_args!("The state before this restore could not be saved: {why}"));
            if changed {
                page.line("This restore cannot be undone");
            }
        }
        Undo::WasGone if changed => {
            page.line("The project directory did not exist, so there was nothing to save first");
        }
        Undo::Newest(_) | Undo::WasGone => {}
    }
    if matches!(undo, Undo::Taken(_) | Undo::Newest(_)) && changed {
        let step = match direction {
            Some(Direction::Undo) => "redo",
            Some(Direction::Redo) | None => "undo",
        };
        page.line(format_args!("To get it back: herma {step}{named}"));
    }
    if restored.interrupted {
        let id = restored.id.get(..SHORT).unwrap_or(&restored.id);
        page.line(format_args!("To continue: herma rollback {id}{named}"));
    }
    evicted(&restored.evicted, &mut page);
    page
}

/// The words for what happened to a path, in the order of the rows.
const DONE_WORDS: [&str; 7] =
    ["restored", "removed", "left", "kept", "missing", "failed", "unsaved"];
/// The words for what would happen to a path.
const PREVIEW_WORDS: [&str; 7] =
    ["restore", "remove", "leave", "keep", "missing", "fail", "unsaved"];

/// After this many rows with the same word, the rest is counted.
pub const ROWS_MAX: usize = 50;

type PathRow = (&'static str, Tone, String);

/// The rows with the same word, of which the terminal shows the first; `--json` has all.
fn cut(mut rows: Vec<PathRow>) -> Vec<PathRow> {
    let more = rows.len().saturating_sub(ROWS_MAX);
    if let (2.., Some((word, tone, _))) = (more, rows.first().cloned()) {
        rows.truncate(ROWS_MAX);
        rows.push((word, tone, format!("… and {more} more (--json lists all)")));
    }
    rows
}

/// One row for each path of the answer, or for each of the first of many.
fn rows(
    restored: &Restored,
    [restored_word, removed, left, kept, missing, failed, unsaved]: &[&'static str; 7],
) -> Vec<PathRow> {
    let others = restored.others.as_deref().unwrap_or_default();
    let marked = |path: &Vec<u8>, text: String| match others.binary_search(path) {
        Ok(_) => format!("{text} (edited outside the agent)"),
        Err(_) => text,
    };
    let plain = |word, tone, paths: &[Vec<u8>]| {
        paths.iter().map(|path| (word, tone, marked(path, name(path)))).collect::<Vec<_>>()
    };
    let explained = |word, tone, remarks: &[Remark]| {
        let row = |remark: &Remark| (word, tone, marked(&remark.path, remarked(remark)));
        remarks.iter().map(row).collect::<Vec<_>>()
    };
    // An interrupted rollback may not have reached thousands of paths.
    let is_failure = |remark: &&Remark| remark.why != INTERRUPTED;
    let failures: Vec<Remark> = restored.failed.iter().filter(is_failure).cloned().collect();
    let not_done = match restored.failed.len() - failures.len() {
        0 => Vec::new(),
        paths => vec![("not done", Tone::Bad, count(paths, "path", "paths"))],
    };
    [
        plain(*restored_word, Tone::Good, &restored.restored),
        plain(*removed, Tone::Bad, &restored.removed),
        plain(*left, Tone::Place, &restored.left),
        explained(*kept, Tone::Notable, &restored.kept),
        explained(*missing, Tone::Notable, &restored.missing),
        explained(*failed, Tone::Bad, &failures),
        not_done,
        explained(*unsaved, Tone::Notable, &restored.left_out),
    ]
    .map(cut)
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Scope<&[u8]> = Scope::All(RestoreOptions { exact: false, force: false });

    fn answer<'a>(restored: &'a Restored, undo: &'a Undo) -> RestoreAnswer<'a> {
        let project = Path::new("/home/you/project");
        RestoreAnswer { project, is_named: false, scope: &ALL, restored, undo, direction: None }
    }

    #[test]
    fn footer_names_the_newest_checkpoint_only_if_something_changed() {
        let style = Style::of_output(false, |_| None);
        let undo = Undo::Newest("0123456789".into());
        let done = Restored::default();
        let answer = answer(&done, &undo);
        let shown = |changed| footer(style, &answer, changed).0;
        assert!(shown(true).contains("was already saved as checkpoint 0123456"));
        assert!(!shown(false).contains("already saved"));
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn preview_and_restored_warn_that_a_forced_restore_cannot_be_undone() {
        let style = Style::of_output(false, |_| None);
        let project = Path::new("/home/you/project");
        let paths = || vec![b"a.txt".to_vec()];
        let forced_past = Some("the disk is full".to_owned());
        let done =
            Restored { restored: paths(), left: paths(), forced_past, ..Restored::default() };
        let undo = Undo::Impossible("the disk is full".into());
        let answer = answer(&done, &undo);
        let page = text(restored(style, &answer));
        assert!(page.contains("This restore cannot be undone"), "{page}");
        assert!(!page.contains("--exact"), "{page}");
        let preview = Preview { would: done, token: "0123456789abcdef".parse().unwrap() };
        let scope = Scope::All(RestoreOptions { exact: false, force: true });
        let wanted = RestoreRequest { target: b"undo", scope, token: None };
        let page = text(super::preview(style, project, true, &wanted, &preview));
        assert!(page.contains("herma rollback undo --as-previewed"), "{page}");
        assert!(page.contains("cannot be undone: the disk is full"), "{page}");
        assert!(page.contains("--as-previewed 0123456789abcdef"), "{page}");
    }

    #[test]
    fn restored_counts_paths_that_were_not_done_and_names_the_command_that_goes_on() {
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
        let answer = answer(&done, &undo);
        let page = text(restored(style, &answer));
        assert!(page.contains("not done  2 paths"), "{page}");
        assert!(page.contains("missing   big  (larger than 1 byte)"), "{page}");
        assert!(page.contains("To continue: herma rollback 1123456\n"), "{page}");
        let before = Some("0123456789".to_owned());
        let journal = Interrupted { target: "1123456789".into(), before, below: Vec::new() };
        let page = text(interrupted(style, Some(&journal)));
        assert!(page.contains("1123456") && page.contains("0123456"), "{page}");
        assert!(interrupted(style, None).is_empty());
    }

    #[test]
    fn restored_counts_what_follows_the_first_of_many_paths() {
        let paths =
            |count: usize| (0..count).map(|path| format!("{path:03}").into_bytes()).collect();
        let lines = |count| {
            let done = Restored { restored: paths(count), ..Restored::default() };
            rows(&done, &DONE_WORDS).iter().map(|(_, _, text)| text.clone()).collect::<Vec<_>>()
        };
        assert_eq!((lines(51).len(), lines(52).len()), (51, 51));
        assert_eq!(lines(51).last().unwrap(), "050");
        assert_eq!(lines(40_000)[49..], ["049", "… and 39950 more (--json lists all)"]);
    }

    #[test]
    fn restored_names_the_step_back_and_a_kept_file_is_no_change() {
        let style = Style::of_output(false, |_| None);
        let undo = Undo::Taken("0123456789".into());
        let restored = |done: &Restored, direction| {
            let answer = RestoreAnswer { is_named: true, direction, ..answer(done, &undo) };
            text(super::restored(style, &answer))
        };
        let done = Restored { restored: vec![b"my file".to_vec()], ..Restored::default() };
        let page = restored(&done, None);
        assert!(page.contains("To get it back: herma undo --dir /home/you/project\n"), "{page}");
        let page = restored(&done, Some(Direction::Undo));
        assert!(page.contains("To get it back: herma redo --dir /home/you/project\n"), "{page}");
        let kept = vec![Remark { path: b"my file".to_vec(), why: "larger than 10 bytes".into() }];
        let page = restored(&Restored { kept, ..Restored::default() }, None);
        assert!(page.starts_with("Restored nothing of checkpoint"), "{page}");
        assert!(!page.contains("To get it back"), "{page}");
    }
}
