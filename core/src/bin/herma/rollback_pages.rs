//! Texts for people about a rollback: the restore, its preview, and errors in its arguments.

use crate::pages::{Page, dir_option, directory, directory_word, evicted, remarked};
use crate::text::{Style, Tone, count, line, local_time, name, shell_word, short_id};
use crate::whole_pages;
use herma_core::printed::short;
use herma_core::rollback_line::SyntaxError;
use herma_core::{
    Direction, INTERRUPTED, Interrupted, LossyPath, Preview, Remark, RestoreOptions, Restored,
    Scope, Token, Undone,
};
use std::path::Path;

/// What to restore.
pub struct RestoreRequest<'a> {
    /// The directory of the project.
    pub project: &'a Path,
    /// Whether the command named the project with `--dir`.
    pub is_named: bool,
    /// The checkpoint, as typed.
    pub target: &'a [u8],
    /// How much of it.
    pub scope: Scope<&'a [u8]>,
    /// The token of the preview that it must follow.
    pub token: Option<Token>,
    /// Whether it continues a rollback that was interrupted.
    pub continues: bool,
    /// What it undoes or redoes, if that is no rollback.
    pub heading: Option<String>,
}

impl RestoreRequest<'_> {
    /// Which step it is, if it undoes a rollback or redoes it.
    pub fn direction(&self) -> Option<Direction> {
        Direction::parse(self.target)
    }

    /// The command that restores what was not restored. `undo` once more would undo something else.
    pub fn again(&self, restored: &Restored) -> String {
        let exact = if self.scope.options().exact { " --exact" } else { "" };
        let id = short_id(&restored.id);
        format!("herma rollback {id}{}{exact}{}", self.named(), paths(&self.scope))
    }

    /// The option that names the project in a suggested command, empty if the command did not name it.
    fn named(&self) -> String {
        dir_option(self.is_named.then_some(self.project))
    }
}

/// The error in the words that follow `before`, with carets below the wrong word.
pub fn misread(before: &str, words: &[u8], SyntaxError { message, at }: &SyntaxError) -> String {
    let words_before = line(words.get(..at.start).unwrap_or_default());
    let wrong = line(words.get(at.clone()).unwrap_or_default());
    let indent = " ".repeat(before.chars().count() + words_before.chars().count());
    let carets = "^".repeat(wrong.chars().count().max(1));
    let message = line(message);
    format!("{message} [usage]\n  {before}{}\n  {indent}{carets}\n", line(words))
}

/// A rollback that was interrupted.
pub fn interrupted(
    style: Style,
    interrupted: Option<&Interrupted>,
    directory: Option<&Path>,
) -> String {
    let mut page = Page::default();
    if let Some(interrupted) = interrupted {
        let told = interrupted.told(directory);
        writeln!(page, "\n{} {told}", style.paint(Tone::Notable, "⚠"));
    }
    page.0
}

/// Notices after a list, after an empty line.
pub fn notices(style: Style, notices: &[String]) -> String {
    let start = if notices.is_empty() { "" } else { "\n" };
    let mark = style.paint(Tone::Notable, "⚠");
    let lines = notices.iter().map(|notice| format!("{mark} {}\n", line(notice)));
    start.to_owned() + &lines.collect::<String>()
}

/// Other projects that have checkpoints: those that contain this one, and then the rest.
pub fn elsewhere(project: &Path, projects: &[LossyPath]) -> String {
    let mut page = Page::default();
    let contains = |directory: &&LossyPath| project.starts_with(directory.as_os_str());
    let (around, rest): (Vec<_>, Vec<_>) = projects.iter().partition(contains);
    for (title, directories) in [
        ("A directory that contains this one has checkpoints:", around),
        ("Other projects have checkpoints:", rest),
    ] {
        if !directories.is_empty() {
            writeln!(page, "\n{title}");
        }
        for directory in directories {
            writeln!(page, "  herma rollback --dir {}", directory_word(directory));
        }
    }
    page.0
}

/// The restore that an undo or a redo undoes: one that changed nothing is not the newest that can be undone.
fn undone(style: Style, wanted: &RestoreRequest<'_>, restored: &Restored) -> Option<String> {
    if let Some(heading) = &wanted.heading {
        return Some(format!("{heading}\n"));
    }
    let Undone { target, time } = restored.undone.as_ref()?;
    let time = time.map(|time| format!(" of {}", local_time(time))).unwrap_or_default();
    Some(match wanted.direction()? {
        Direction::Undo => {
            format!("Undo of the rollback{time} to checkpoint {}\n", short(style, target))
        }
        Direction::Redo => format!("Redo of the rollback, after the undo{time}\n"),
    })
}

/// What a restore would do.
pub fn preview(
    style: Style,
    wanted: &RestoreRequest<'_>,
    Preview { would, token }: &Preview,
) -> String {
    let mut page = Page(undone(style, wanted, would).unwrap_or_default());
    let id = short(style, &would.id);
    let directory = directory(wanted.project);
    let would_do = if has_changes(would) { "would do this" } else { "would change nothing" };
    let end = if has_changes(would) { ":" } else { "" };
    writeln!(page, "A restore of checkpoint {id} {would_do} in {directory}{end}");
    page.0 += &rows(style, would, &PREVIEW_WORDS);
    if let Some(why) = &would.forced_past {
        writeln!(
            page,
            "\nThe present files cannot be saved first, so this cannot be undone: {}",
            line(why)
        );
    }
    if has_changes(would) {
        let target = match wanted.direction() {
            Some(_) => name(wanted.target),
            None => short_id(&would.id).to_owned(),
        };
        let RestoreOptions { exact, force } = wanted.scope.options();
        let exact = if exact { " --exact" } else { "" };
        let force = if force { " --force" } else { "" };
        let options = format!("{}{exact}{force}{}", wanted.named(), paths(&wanted.scope));
        writeln!(page, "\nNothing was changed. To do exactly this:");
        writeln!(page, "  herma rollback {target} --as-previewed {token}{options}");
    }
    page.0
}

/// The words that name the paths of a scope in a suggested command.
fn paths(scope: &Scope<&[u8]>) -> String {
    let paths: Vec<String> = scope.paths().iter().map(shell_word).collect();
    if paths.is_empty() { String::new() } else { format!(" -- {}", paths.join(" ")) }
}

/// Whether a file or a part of the agent's state was changed, or would be.
fn has_changes(restored: &Restored) -> bool {
    let changes_state = restored.agent.as_ref().is_some_and(|agent| !agent.changed.is_empty());
    !restored.restored.is_empty() || !restored.removed.is_empty() || changes_state
}

/// What a restore did. If it took no checkpoint, the `newest` already was the state before.
pub fn restored(
    style: Style,
    wanted: &RestoreRequest<'_>,
    restored: &Restored,
    newest: Option<&str>,
) -> String {
    let mut page = Page(undone(style, wanted, restored).unwrap_or_default());
    let id = short(style, &restored.id);
    let directory = directory(wanted.project);
    let lists = [&restored.failed, &restored.kept, &restored.missing];
    if has_changes(restored) && !restored.failed.is_empty() {
        writeln!(page, "Restored checkpoint {id} only in part in {directory}");
    } else if has_changes(restored) {
        writeln!(page, "Restored checkpoint {id} in {directory}");
    } else if lists.iter().any(|remarks| !remarks.is_empty()) {
        writeln!(page, "Restored nothing of checkpoint {id} in {directory}");
    } else {
        let paths: Vec<String> = wanted.scope.paths().iter().map(name).collect();
        let verb = if paths.len() > 1 { "match" } else { "matches" };
        let place = if paths.is_empty() { directory } else { paths.join(", ") };
        writeln!(page, "Nothing to restore: {place} already {verb} checkpoint {id}");
    }
    page.0 += &rows(style, restored, &DONE_WORDS);
    let footer = footer(style, wanted, restored, newest);
    if !footer.is_empty() {
        writeln!(page);
    }
    page.0 + &footer
}

/// What to do next, and where the state before the restore is.
fn footer(
    style: Style,
    wanted: &RestoreRequest<'_>,
    restored: &Restored,
    newest: Option<&str>,
) -> String {
    let mut page = Page::default();
    let changed = has_changes(restored);
    let direction = wanted.direction();
    // If no checkpoint could be taken, even an exact restore removes nothing.
    if !restored.left.is_empty() && restored.forced_past.is_none() && direction.is_none() {
        writeln!(page, "Files listed as left are newer than the checkpoint; --exact removes them");
    }
    let before = "Your files as they were before this restore";
    let saved = restored.safety.as_deref().or(newest);
    match (&restored.forced_past, saved) {
        (Some(why), _) => {
            writeln!(page, "{before} could not be saved: {}", line(why));
            if changed {
                writeln!(page, "This restore cannot be undone");
            }
        }
        (None, Some(id)) if changed || restored.safety.is_some() => {
            writeln!(page, "{before}: checkpoint {}", short(style, id));
        }
        (None, None) if changed => {
            writeln!(
                page,
                "The project directory did not exist, so there was nothing to save first"
            );
        }
        (None, _) => {}
    }
    if let Some(saved) = saved.filter(|_| changed && restored.forced_past.is_none()) {
        let step = match direction {
            // Undo goes back to before the rollback that was interrupted.
            _ if wanted.continues => format!("rollback {}", short_id(saved)),
            // An undo that was interrupted is only completed.
            Some(_) if restored.interrupted => format!("rollback {} --exact", short_id(saved)),
            Some(Direction::Undo) => "redo".to_owned(),
            Some(Direction::Redo) | None => "undo".to_owned(),
        };
        writeln!(page, "To get them back: herma {step}{}", wanted.named());
    }
    if restored.interrupted {
        let again = match direction.map(Direction::word) {
            Some(word) => format!("herma rollback {word}{}", wanted.named()),
            None => wanted.again(restored),
        };
        writeln!(page, "To continue: {again}");
    }
    evicted(&restored.evicted, &mut page);
    page.0
}

/// The words for what happened to a path, in the order of the rows.
const DONE_WORDS: [&str; 7] =
    ["restored", "removed", "left", "kept", "missing", "failed", "not saved"];
/// The words for what would happen to a path.
const PREVIEW_WORDS: [&str; 7] =
    ["restore", "remove", "leave", "keep", "missing", "fail", "not saved"];

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

/// One row for each path of the answer, or for each of the first of many, and for each part of the agent's state that
/// differed, after an empty line; then what the restore leaves behind.
fn rows(
    style: Style,
    restored: &Restored,
    [restored_word, removed, left, kept, missing, failed, unsaved]: &[&'static str; 7],
) -> String {
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
    let parts = restored.agent.iter().flat_map(whole_pages::changed_parts);
    let rows = [
        plain(*restored_word, Tone::Good, &restored.restored),
        plain(*removed, Tone::Bad, &restored.removed),
        plain(*left, Tone::Place, &restored.left),
        explained(*kept, Tone::Notable, &restored.kept),
        explained(*missing, Tone::Notable, &restored.missing),
        explained(*failed, Tone::Bad, &failures),
        not_done,
        explained(*unsaved, Tone::Notable, &restored.left_out),
        parts.map(|text| (*restored_word, Tone::Good, text)).collect(),
    ];
    let rows = rows.map(cut).concat();
    let words = rows.iter().map(|(word, ..)| word.len());
    let width = words.fold(restored_word.len(), usize::max);
    let row = |(word, tone, text): &PathRow| {
        format!("  {}  {text}\n", style.paint(*tone, &format!("{word:<width$}")))
    };
    let start = if rows.is_empty() { "" } else { "\n" };
    let rows: String = rows.iter().map(row).collect();
    let left = restored.agent.as_ref().map(|agent| whole_pages::left_behind(style, agent));
    [start, &rows, &left.unwrap_or_default()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(target: &[u8]) -> RestoreRequest<'_> {
        let scope = Scope::All(RestoreOptions { exact: false, force: false });
        let project = Path::new("/home/you/project");
        RestoreRequest {
            project,
            is_named: false,
            target,
            scope,
            token: None,
            continues: false,
            heading: None,
        }
    }

    #[test]
    fn footer_names_the_newest_checkpoint_only_if_something_changed() {
        let shown = |restored| {
            let done = Restored { restored, ..Restored::default() };
            footer(Style::default(), &request(b"1"), &done, Some("0123456789"))
        };
        assert!(shown(vec![b"a".to_vec()]).contains("before this restore: checkpoint 0123456"));
        assert!(!shown(Vec::new()).contains("checkpoint"));
    }

    #[test]
    fn footer_names_the_checkpoint_to_go_back_to_after_a_rollback_that_continues_another() {
        let wanted = RestoreRequest { continues: true, ..request(b"1") };
        let safety = Some("0123456789".to_owned());
        let done = Restored { restored: vec![b"a".to_vec()], safety, ..Restored::default() };
        let shown = footer(Style::default(), &wanted, &done, None);
        assert!(shown.contains("To get them back: herma rollback 0123456\n"), "{shown}");
    }

    #[test]
    fn preview_and_restored_warn_that_a_forced_restore_cannot_be_undone() {
        let paths = || vec![b"a.txt".to_vec()];
        let forced_past = Some("the disk is full".to_owned());
        let done =
            Restored { restored: paths(), left: paths(), forced_past, ..Restored::default() };
        let page = restored(Style::default(), &request(b"1"), &done, None);
        assert!(page.contains("This restore cannot be undone"), "{page}");
        assert!(!page.contains("--exact"), "{page}");
        let preview = Preview { would: done, token: "0123456789abcdef".parse().unwrap() };
        let scope = Scope::All(RestoreOptions { exact: false, force: true });
        let wanted = RestoreRequest { is_named: true, scope, ..request(b"undo") };
        let page = super::preview(Style::default(), &wanted, &preview);
        assert!(page.contains("herma rollback undo --as-previewed"), "{page}");
        assert!(page.contains("cannot be undone: the disk is full"), "{page}");
        assert!(page.contains("--as-previewed 0123456789abcdef"), "{page}");
    }

    #[test]
    fn restored_counts_paths_that_were_not_done_and_names_the_command_that_goes_on() {
        let not_done = |path: &[u8]| Remark { path: path.to_vec(), why: INTERRUPTED.into() };
        let done = Restored {
            id: "1123456789".into(),
            restored: vec![b"a.txt".to_vec()],
            failed: vec![not_done(b"b.txt"), not_done(b"c.txt")],
            missing: vec![Remark { path: b"big".to_vec(), why: "larger than 1 byte".into() }],
            interrupted: true,
            ..Restored::default()
        };
        let below =
            Scope::Below(vec![&b"d0"[..], b"d1"], RestoreOptions { exact: true, force: false });
        let below = RestoreRequest { scope: below, ..request(b"1") };
        let page = restored(Style::default(), &below, &done, None);
        let command = "To continue: herma rollback 1123456 --exact -- d0 d1\n";
        assert!(page.contains(command), "{page}");
        let page = restored(Style::default(), &request(b"undo"), &done, Some("0123456789"));
        assert!(page.contains("To continue: herma rollback undo\n"), "{page}");
        let command = "To get them back: herma rollback 0123456 --exact\n";
        assert!(page.contains(command), "{page}");
        let page = restored(Style::default(), &request(b"1"), &done, None);
        assert!(page.contains("not done  2 paths"), "{page}");
        assert!(page.contains("missing   big  (larger than 1 byte)"), "{page}");
        assert!(page.contains("To continue: herma rollback 1123456\n"), "{page}");
        let before = Some("0123456789".to_owned());
        let journal = Interrupted { target: "1123456789".into(), before, ..Interrupted::default() };
        let page = interrupted(Style::default(), Some(&journal), None);
        assert!(page.contains("1123456") && page.contains("0123456"), "{page}");
        assert!(interrupted(Style::default(), None, None).is_empty());
    }

    #[test]
    fn restored_counts_what_follows_the_first_of_many_paths() {
        let paths =
            |count: usize| (0..count).map(|path| format!("{path:03}").into_bytes()).collect();
        let lines = |count| {
            let done = Restored { restored: paths(count), ..Restored::default() };
            let text = |row: &str| row.trim_start_matches("  restored  ").to_owned();
            rows(Style::default(), &done, &DONE_WORDS).lines().skip(1).map(text).collect::<Vec<_>>()
        };
        assert_eq!((lines(51).len(), lines(52).len()), (51, 51));
        assert_eq!(lines(51).last().unwrap(), "050");
        assert_eq!(lines(40_000)[49..], ["049", "… and 39950 more (--json lists all)"]);
    }

    #[test]
    fn restored_names_the_step_back_and_a_kept_file_is_no_change() {
        let safety = Some("0123456789".to_owned());
        let restored = |done: &Restored, target| {
            let wanted = RestoreRequest { is_named: true, ..request(target) };
            super::restored(Style::default(), &wanted, done, None)
        };
        let paths = vec![b"my file".to_vec()];
        let done = Restored { restored: paths, safety, ..Restored::default() };
        let page = restored(&done, b"1");
        assert!(page.contains("To get them back: herma undo --dir /home/you/project\n"), "{page}");
        let page = restored(&done, b"undo");
        assert!(page.contains("To get them back: herma redo --dir /home/you/project\n"), "{page}");
        let kept = vec![Remark { path: b"my file".to_vec(), why: "larger than 10 bytes".into() }];
        let page = restored(&Restored { kept, ..Restored::default() }, b"1");
        assert!(page.starts_with("Restored nothing of checkpoint"), "{page}");
        assert!(!page.contains("To get them back"), "{page}");
    }
}
