//! Texts for people about store maintenance: questions, progress and results.

use crate::layout::{columns, padded};
use crate::maintenance::PruneAnswer;
use crate::pages::{Page, directory, directory_word};
use crate::text::{count, line, short_id, size};
use herma_core::ignore::PatternSource;
use herma_core::{
    Cleared, ClearedLegacy, Excluded, ExcludedBy, Holdings, Moved, PruneStep, Verified,
};
use std::path::Path;

/// A longer pattern moves what follows it to the right.
const PATTERN_WIDTH_MAX: usize = 30;

/// What a prune did, or would do.
pub fn pruned(answer: &PruneAnswer, is_preview: bool) -> String {
    let pruned = answer.pruned;
    let mut page = match is_preview {
        true => removals(answer, ["would remove", "Would remove"]),
        false => removals(answer, ["removed", "Removed"]),
    };
    if !is_preview {
        writeln!(page, "Freed {}", size(pruned.bytes_freed));
    }
    if pruned.over_bytes > 0 {
        let over = size(pruned.over_bytes);
        let verb = if is_preview { "would be" } else { "is" };
        let why = "the pinned checkpoints and the newest of each project alone are larger";
        writeln!(page, "The store {verb} {over} over its size limit: {why}");
    }
    if is_preview {
        writeln!(page, "Nothing was changed");
    }
    page.0
}

/// What the automatic prune removed in that step, if it is a project.
pub fn swept(step: &PruneStep<'_>) -> Option<String> {
    let PruneStep::Removed(path) = step else { return None };
    let directory = directory(path);
    Some(format!(
        "Removed the checkpoints of {directory}: it does not exist any more, or was not used for retention_days"
    ))
}

/// What a prune removes, and what it keeps although its directory is gone. The verb is that within a line,
/// and that at its beginning.
fn removals(answer: &PruneAnswer, [verb, first]: [&str; 2]) -> Page {
    let PruneAnswer { pruned, removed: directories, moved, separate } = answer;
    let mut page = Page::default();
    let projects = count(pruned.scanned, "project", "projects");
    let rows = [
        (
            pruned.orphans,
            "project whose directory no longer exists",
            "projects whose directory no longer exists",
        ),
        (pruned.stale, "unused project", "unused projects"),
        (pruned.archives, "old-format archive", "old-format archives"),
        (pruned.dropped, "checkpoint over the size limit", "checkpoints over the size limit"),
    ];
    let removed: Vec<_> = rows.into_iter().filter(|(number, ..)| *number > 0).collect();
    if removed.is_empty() && pruned.over_bytes > 0 {
        writeln!(page, "Examined {projects}");
    } else if removed.is_empty() {
        writeln!(page, "Nothing to remove in {projects}");
    } else {
        writeln!(page, "Examined {projects} and {verb}:");
        for (number, singular, plural) in removed {
            writeln!(page, "  {}", count(number, singular, plural));
        }
    }
    for path in directories {
        writeln!(page, "{first} the checkpoints of {}", directory(path));
    }
    for (old, new) in moved {
        writeln!(
            page,
            "{} was moved and is kept; to give its new directory the checkpoints:",
            directory(old)
        );
        writeln!(page, "{}", move_command(old, new));
    }
    for (old, new) in separate {
        let new = directory(new);
        writeln!(
            page,
            "{} was moved to {new}, which has its own checkpoints; the old ones are kept; to list them:",
            directory(old)
        );
        writeln!(page, "  herma list --dir {}", directory_word(old));
    }
    page
}

/// The command that gives a directory the checkpoints of another one, indented.
fn move_command(old: &Path, new: &Path) -> String {
    format!("  herma checkpoints move {} {}", directory_word(old), directory_word(new))
}

/// Where the checkpoints of a directory are that was moved.
pub fn moved_from(old: &Path, new: &Path) -> String {
    let mut page = Page::default();
    writeln!(
        page,
        "\nIt was moved from {}, which has checkpoints; to move them, too:",
        directory(old)
    );
    writeln!(page, "{}", move_command(old, new));
    page.0
}

/// What a move did.
pub fn moved(moved: &Moved) -> String {
    let mut page = Page::default();
    let checkpoints = count(moved.checkpoints, "checkpoint", "checkpoints");
    let to = directory(&moved.to);
    writeln!(page, "Moved {checkpoints} of {} to {to}", directory(&moved.from));
    page.0
}

/// What no checkpoint of a project holds.
pub fn excluded(project: &Path, excluded: &Excluded, with_paths: bool) -> String {
    let mut page = Page::default();
    let directory = directory(project);
    if excluded.patterns.is_empty() {
        writeln!(page, "No pattern excludes anything of {directory}");
        return page.0;
    }
    let entries = count(excluded.count, "entry", "entries");
    let verb = if excluded.count == 1 { "is" } else { "are" };
    writeln!(page, "{entries} of {directory} {verb} excluded from checkpoints:");
    let text = |pattern: &ExcludedBy| line(&pattern.exclusion.pattern);
    let widths = excluded.patterns.iter().map(|pattern| columns(&text(pattern)));
    let width = widths.max().unwrap_or_default().clamp("PATTERN".len(), PATTERN_WIDTH_MAX);
    writeln!(page, "  ENTRIES  {:<width$}  WHERE", "PATTERN");
    for pattern in &excluded.patterns {
        let place = match &pattern.exclusion.source {
            PatternSource::BuiltIn => "built in".to_owned(),
            PatternSource::Final => "built in, and no file of a project can undo it".to_owned(),
            PatternSource::IgnoreFile { path, line: number } => {
                format!("{}, line {number}", line(path))
            }
        };
        let text = padded(&text(pattern), width);
        writeln!(page, "  {:>7}  {text}  {place}", pattern.count);
        for path in pattern.paths.iter().filter(|_| with_paths) {
            writeln!(page, "             {}", line(path));
        }
    }
    if !with_paths {
        writeln!(page, "A folder is one entry; --paths lists them");
    }
    page.0
}

/// What a verification found.
pub fn verified(verified: &Verified) -> String {
    let mut page = Page::default();
    let checkpoints = count(verified.checkpoints, "checkpoint", "checkpoints");
    let projects = count(verified.projects, "project", "projects");
    writeln!(page, "Read {checkpoints} of {projects}");
    for project in &verified.unreadable {
        let path = line(&project.path);
        let why = line(&project.why);
        writeln!(page, "  {path}: all of its checkpoints are lost: {why}");
    }
    for damaged in &verified.damaged {
        let project = line(&damaged.project);
        let id = short_id(&damaged.id);
        writeln!(page, "  {id} of {project} is damaged:");
        for lost in &damaged.lost {
            let path = if lost.path.is_empty() { "all files".into() } else { line(&lost.path) };
            writeln!(page, "    {path}: {}", line(&lost.why));
        }
    }
    for envelope in &verified.envelopes {
        let path = line(&envelope.path);
        let why = line(&envelope.why);
        writeln!(page, "  {path}: checkpoint {why}; its files are intact");
    }
    for file in &verified.refused_files {
        writeln!(page, "  {}: {}", line(&file.path), line(&file.why));
    }
    if verified.is_intact() {
        writeln!(page, "Everything is intact");
    }
    page.0
}

/// The current step of a prune.
pub fn step(step: &PruneStep<'_>) -> String {
    match step {
        PruneStep::Project(number, total) => format!("Examining project {number} of {total}"),
        PruneStep::Legacy(name) => format!("Examining {}", line(name)),
        PruneStep::Removed(directory)
        | PruneStep::Moved(directory, _)
        | PruneStep::Separate(directory, _) => {
            format!("Examining {}", self::directory(directory))
        }
        PruneStep::Reclaiming => "Freeing space".to_owned(),
        PruneStep::Failed(item, error) => {
            let why = line(error.to_string());
            format!("herma: {}: {why}", line(item))
        }
    }
}

/// The question whether to remove everything.
pub fn clear_question(base: &Path, holdings: &Holdings) -> String {
    let mut parts = match holdings.projects {
        Some(projects) => format!("the checkpoints of {}", count(projects, "project", "projects")),
        None => "the checkpoints of all projects".to_owned(),
    };
    if holdings.archives > 0 {
        parts += &format!(" and {}", archives(holdings.archives));
    }
    if holdings.repositories > 0 {
        let repositories =
            count(holdings.repositories, "old-format repository", "old-format repositories");
        parts += &format!(" and {repositories}");
    }
    question(&parts, base, holdings.bytes)
}

/// The question whether to remove the archives.
pub fn clear_legacy_question(base: &Path, holdings: &Holdings) -> String {
    question(&archives(holdings.archives), base, holdings.archive_bytes)
}

fn question(parts: &str, base: &Path, bytes: u64) -> String {
    let base = directory(base);
    let size = size(bytes);
    format!("This removes {parts} from {base} ({size}).\nThis cannot be undone. Continue? [y/N] ")
}

fn archives(number: usize) -> String {
    count(number, "old-format archive", "old-format archives")
}

/// The user declined.
pub const DECLINED: &str = "Nothing was changed";

/// Everything was removed.
pub fn cleared(cleared: &Cleared) -> String {
    format!("Cleared; {} freed", size(cleared.bytes_freed))
}

/// The archives were removed.
pub fn cleared_legacy(cleared: &ClearedLegacy) -> String {
    format!("Removed {}; {} freed", archives(cleared.archives), size(cleared.bytes_freed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clear_question_names_only_what_exists() {
        let question = |projects, archives, repositories| {
            let holdings = Holdings { projects, archives, repositories, ..Holdings::default() };
            clear_question(Path::new("/base"), &holdings)
        };
        let full = question(Some(2), 1, 1);
        for part in ["the checkpoints of 2 projects", "archive", "1 old-format repository"] {
            assert!(full.contains(part), "{part}: {full}");
        }
        let partial = question(None, 0, 0);
        assert!(partial.contains("the checkpoints of all projects"), "{partial}");
        assert!(!partial.contains(" and "), "{partial}");
    }
}
