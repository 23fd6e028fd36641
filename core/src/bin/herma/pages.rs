//! Answers for people, in the layout of the document that the first rules come from (their source is
//! `seed 000`).
//!
//! Every name, reason and message is escaped by [`crate::text`]. Only a patch that is written to a file
//! or to another program stays unchanged, so that git can apply it.

use crate::layout::{columns, name_width, padded};
use crate::text::{Style, Tone, ago, count, line, name, shell_word, short_id, size};
use herma_core::printed::{self, short};
use herma_core::{
    Change, Clock, Diff, DiffEntry, Evicted, ListName, Listed, Outcome, ProjectState, Remark,
    SizeKept, Stats, Status, SystemClock, Taken, Unlisted,
};
use std::fmt::{Arguments, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The width of the column of the states of projects.
const STATE_WIDTH: usize = "directory gone".len();

/// A page, written line by line with `writeln!`.
#[derive(Default)]
pub struct Page(pub String);

impl Page {
    /// What `writeln!` calls.
    pub fn write_fmt(&mut self, text: Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(text);
    }
}

/// A path of the system, escaped for display.
pub fn directory(path: &Path) -> String {
    name(path.as_os_str().as_bytes())
}

/// A path of the system as a word of a command that can be typed.
pub fn directory_word(path: &Path) -> String {
    shell_word(path.as_os_str().as_bytes())
}

/// The option that names a directory, after a space; empty without one.
pub fn dir_option(dir: Option<&Path>) -> String {
    dir.map(|dir| format!(" --dir {}", directory_word(dir))).unwrap_or_default()
}

/// The outcome of a manual checkpoint.
pub fn taken(style: Style, project: &Path, taken: &Taken) -> String {
    let mut page = Page::default();
    let project = directory(project);
    match &taken.outcome {
        Outcome::Created { id } => {
            writeln!(page, "Took checkpoint {} of {project}", short(style, id));
        }
        Outcome::Deduped => {
            writeln!(page, "No checkpoint taken of {project}: this turn already has its checkpoint")
        }
        Outcome::Unchanged { id: Some(id) } => writeln!(
            page,
            "No checkpoint taken of {project}: nothing changed since checkpoint {}",
            short(style, id)
        ),
        // A checkpoint that the command takes is never turned off.
        Outcome::Unchanged { id: None } | Outcome::Disabled => {
            writeln!(page, "No checkpoint taken of {project}: there are no files to capture")
        }
    }
    page.0 + &set_aside(style, taken)
}

/// What a checkpoint left out, and what limits removed for it.
pub fn set_aside(style: Style, taken: &Taken) -> String {
    let mut page = Page::default();
    if !taken.skipped.is_empty() {
        writeln!(page, "\nLeft out:");
        for remark in &taken.skipped {
            writeln!(page, "  {}", remarked(remark));
        }
    }
    for notice in &taken.notices {
        writeln!(page, "{} {}", style.paint(Tone::Notable, "⚠"), line(notice));
    }
    evicted(&taken.evicted, &mut page);
    page.0
}

/// The checkpoints that limits evicted.
pub fn evicted(evicted: &Evicted, page: &mut Page) {
    if !evicted.ids.is_empty() {
        let ids = short_ids(evicted.ids.iter().map(String::as_str));
        writeln!(page, "Removed, to keep at most max_snapshots checkpoints: {ids}");
    }
    for_size(evicted.for_size).into_iter().for_each(|message| writeln!(page, "{message}"));
}

/// What the limit on the size of the store did, a message each.
pub fn for_size(SizeKept { evicted, is_above_limit }: SizeKept) -> Vec<String> {
    let removed = (evicted > 0).then(|| {
        let checkpoints = count(evicted, "checkpoint", "checkpoints");
        format!("Removed, to keep the store below max_total_size_mb: {checkpoints}")
    });
    let above = is_above_limit.then(|| {
        "The store is larger than max_total_size_mb: `herma checkpoints prune` says why".to_owned()
    });
    removed.into_iter().chain(above).collect()
}

/// The first few of some ids, and how many more there are.
fn short_ids<'a>(ids: impl ExactSizeIterator<Item = &'a str>) -> String {
    const SHOWN_MAX: usize = 5;
    let more = ids.len().saturating_sub(SHOWN_MAX);
    let shown: Vec<&str> = ids.take(SHOWN_MAX).map(short_id).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &more
}

/// A path and the remark on it.
pub fn remarked(remark: &Remark) -> String {
    format!("{}  ({})", name(&remark.path), line(&remark.why))
}

/// The checkpoints of a project.
pub fn listed(
    style: Style,
    project: &Path,
    checkpoints: &[Listed],
    unlisted: &[Unlisted],
) -> String {
    let mut page = Page::default();
    let project = directory(project);
    if checkpoints.is_empty() {
        writeln!(page, "No checkpoints for {project}");
        return page.0;
    }
    writeln!(page, "📸 Checkpoints for {project}:");
    writeln!(page);
    let now = style.terminal.then(|| SystemClock.seconds());
    for line in printed::list(style, checkpoints, now) {
        writeln!(page, "{line}");
    }
    if !unlisted.is_empty() {
        let names: Vec<String> =
            unlisted.iter().map(|checkpoint| checkpoint.name.to_string()).collect();
        writeln!(page, "\n  Not listed, but kept from before rollbacks: {}", names.join(", "));
    }
    let shows_changes =
        checkpoints.iter().any(|listed| listed.stats.is_some_and(|stats| stats.files > 0));
    let is_before_rollback = |listed: &Listed| matches!(listed.name, ListName::BeforeRollback(_));
    let shows_rollbacks = checkpoints.iter().any(is_before_rollback);
    if shows_changes || shows_rollbacks {
        writeln!(page);
    }
    if shows_changes {
        writeln!(page, "Changes are since the checkpoint below.");
    }
    if shows_rollbacks {
        writeln!(page, "Those named u1, u2, … were taken before a rollback or an undo.");
    }
    page.0
}

/// The commands below a list, after an empty line, for the project in `dir` if that was named.
pub fn list_commands(has_checkpoints: bool, dir: Option<&Path>) -> String {
    let option = dir_option(dir);
    let rows = match has_checkpoints {
        true => vec![
            (format!("herma rollback <N>{option}"), "restore to checkpoint N"),
            (format!("herma rollback diff <N>{option}"), "show what changed since checkpoint N"),
            (
                format!("herma rollback <N> <file>{option}"),
                "restore a single file from checkpoint N",
            ),
        ],
        false => {
            let word = dir.map(|dir| format!(" {}", directory_word(dir))).unwrap_or_default();
            vec![(format!("herma checkpoint{word}"), "take a checkpoint")]
        }
    };
    // As wide as the longest command without a directory.
    const WIDTH_MIN: usize = 25;
    let longest = rows.iter().map(|(command, _)| columns(command)).max().unwrap_or_default();
    let width = longest.max(WIDTH_MIN);
    let line =
        |(command, text): &(String, &str)| format!("  {}    {text}\n", padded(command, width));
    rows.iter().map(line).fold("\n".to_owned(), |page, line| page + &line)
}

/// What changed since a checkpoint: a summary as git gives it, then the patch.
pub fn diff(style: Style, project: &Path, diff: &Diff) -> Vec<u8> {
    let mut bytes = changed(style, project, diff, NamedRows::ALL).into_bytes();
    if diff.entries.is_empty() {
        return bytes;
    }
    bytes.push(b'\n');
    if style.terminal {
        bytes.extend_from_slice(patch_on_terminal(style, &diff.patch).as_bytes());
    } else {
        bytes.extend_from_slice(&diff.patch);
    }
    bytes
}

/// How many files a summary names, and for the command that names all, the project if that was typed.
#[derive(Clone, Copy)]
pub struct NamedRows<'a> {
    pub max: usize,
    pub dir: Option<&'a Path>,
}

impl NamedRows<'_> {
    /// All files.
    pub const ALL: NamedRows<'static> = NamedRows { max: usize::MAX, dir: None };
}

/// Which files changed since a checkpoint, and how much: the first of them, and a summary.
pub fn changed(style: Style, project: &Path, diff: &Diff, rows: NamedRows<'_>) -> String {
    let mut page = Page::default();
    let id = short(style, &diff.id);
    let project = directory(project);
    if diff.entries.is_empty() {
        writeln!(page, "Nothing changed in {project} since checkpoint {id}");
        write_left_out(diff, &mut page);
        return page.0;
    }
    let entries = &diff.entries[..diff.entries.len().min(rows.max)];
    let names: Vec<String> = entries.iter().map(|entry| name(&entry.path)).collect();
    let width = name_width(style, &names);
    for (entry, name) in entries.iter().zip(names) {
        writeln!(page, " {} | {}", padded(&name, width), amount(style, entry));
    }
    if entries.len() < diff.entries.len() {
        let more = diff.entries.len() - entries.len();
        let dir = dir_option(rows.dir);
        writeln!(page, " … and {more} more (`herma diff --stat{dir}` lists all)");
    }
    writeln!(page, "{}", summary(&diff.stats));
    write_left_out(diff, &mut page);
    page.0
}

fn write_left_out(diff: &Diff, page: &mut Page) {
    let titled = [
        ("Not compared, since the checkpoint left them out:", &diff.left_out),
        ("Not compared, since a checkpoint taken now would leave them out:", &diff.left_out_now),
    ];
    for (title, remarks) in titled.into_iter().filter(|(_, remarks)| !remarks.is_empty()) {
        writeln!(page, "{title}");
        remarks.iter().for_each(|remark| writeln!(page, "  {}", remarked(remark)));
    }
}

/// The last line of a summary, which leaves out a zero unless both are zero.
fn summary(stats: &Stats) -> String {
    let mut summary = format!(" {} changed", count(stats.files, "file", "files"));
    if stats.added > 0 || stats.removed == 0 {
        summary += ", ";
        summary += &count(stats.added, "insertion(+)", "insertions(+)");
    }
    if stats.removed > 0 || stats.added == 0 {
        summary += ", ";
        summary += &count(stats.removed, "deletion(-)", "deletions(-)");
    }
    summary
}

fn amount(style: Style, entry: &DiffEntry) -> String {
    let amount = match entry.lines {
        None => "binary".to_owned(),
        // The same bytes as before: only the executable bit changed.
        Some((0, 0)) if entry.change == Change::Modified => "mode".to_owned(),
        Some((added, removed)) => format!(
            "{} {}",
            style.paint(Tone::Good, &format!("+{added}")),
            style.paint(Tone::Bad, &format!("-{removed}")),
        ),
    };
    match entry.change {
        Change::Added => format!("{amount} (new)"),
        Change::Deleted if entry.uncaptured => {
            format!("{amount} (there, but not captured any more)")
        }
        Change::Deleted => format!("{amount} (deleted)"),
        Change::Modified => amount,
    }
}

fn patch_on_terminal(style: Style, patch: &[u8]) -> String {
    let mut page = Page::default();
    let mut is_header = true;
    for bytes in patch.split_inclusive(|byte| *byte == b'\n') {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        // A tab inside a text is harmless.
        let text: Vec<String> = bytes.split(|byte| *byte == b'\t').map(line).collect();
        let text = text.join("\t");
        is_header = bytes.starts_with(b"diff --git ") || is_header && !bytes.starts_with(b"@@");
        writeln!(
            page,
            "{}",
            match bytes.first() {
                _ if is_header => style.paint(Tone::Head, &text),
                Some(b'@') => style.paint(Tone::Place, &text),
                Some(b'+') => style.paint(Tone::Good, &text),
                Some(b'-') => style.paint(Tone::Bad, &text),
                _ => text,
            }
        );
    }
    page.0
}

/// What the store holds, and its size.
pub fn status(style: Style, status: &Status, now: i64) -> String {
    let mut page = Page::default();
    let legacy: u64 = status.legacy.iter().map(|(_, bytes)| bytes).sum();
    writeln!(page, "Store:           {}", directory(&status.base));
    writeln!(page, "Total size:      {}", size(status.total_bytes));
    writeln!(page, "  checkpoints    {}", size(status.store_bytes));
    if legacy > 0 {
        writeln!(page, "  old archives   {}", size(legacy));
    }
    if status.others > 0 {
        let entries = count(status.others, "entry", "entries");
        writeln!(page, "  not from herma {entries}");
    }
    writeln!(page, "Projects:        {}", status.projects.len());
    if !status.projects.is_empty() {
        writeln!(page);
        projects(style, status, now, &mut page);
    }
    for project in &status.projects {
        let Some(interrupted) = &project.interrupted else { continue };
        let workdir = project.workdir.as_deref();
        let told = interrupted.told(workdir);
        let workdir = workdir.map_or_else(|| name(&project.hash), directory);
        writeln!(page, "{} {workdir}: {told}", style.paint(Tone::Notable, "⚠"));
    }
    if !status.legacy.is_empty() {
        writeln!(page, "\nOld-format archives ({}):", status.legacy.len());
        for (archive, bytes) in &status.legacy {
            writeln!(page, "  {}  {}", name(archive), size(*bytes));
        }
        writeln!(page, "\nTo remove them: herma checkpoints clear-legacy");
    }
    page.0
}

fn projects(style: Style, status: &Status, now: i64, page: &mut Page) {
    let rows = status.projects.iter().map(|project| {
        let workdir = match &project.workdir {
            Some(workdir) => directory(workdir),
            None => format!("unknown ({})", line(&project.hash)),
        };
        let state = match project.state {
            ProjectState::Live => "ok",
            ProjectState::Orphan => "directory gone",
            ProjectState::Unknown => "not accessible",
        };
        let touched = project.last_touch.map_or_else(|| "-".to_owned(), |time| ago(time, now));
        let checkpoints = match (project.checkpoints, project.unlisted) {
            (None, _) => "?".to_owned(),
            (Some(listed), 0) => listed.to_string(),
            (Some(listed), unlisted) => format!("{listed} + {unlisted}"),
        };
        (workdir, checkpoints, touched, state)
    });
    let rows: Vec<_> = rows.collect();
    let longest = rows.iter().map(|row| row.2.len()).max().unwrap_or_default();
    let used = longest.max("LAST USED".len());
    writeln!(page, "  CHECKPOINTS  {:<used$}  {:<STATE_WIDTH$}  DIRECTORY", "LAST USED", "STATE");
    for (workdir, checkpoints, touched, state) in rows {
        let tone = if state == "ok" { Tone::Good } else { Tone::Notable };
        let gap = " ".repeat(STATE_WIDTH.saturating_sub(state.len()));
        let state = style.paint(tone, state);
        writeln!(page, "  {checkpoints:>11}  {touched:<used$}  {state}{gap}  {workdir}");
    }
    if status.projects.iter().any(|project| project.unlisted > 0) {
        writeln!(page, "  + counts those from before rollbacks for which the list has no room");
    }
}

#[cfg(test)]
mod tests;
