//! The texts for people: colours, and parts that are printed only if there is something to report.

use super::*;
use herma_core::{Interrupted, ListName, ProjectStatus};
use std::path::PathBuf;

#[test]
fn summary_leaves_out_a_zero_unless_both_numbers_are_zero() {
    let shown = |added, removed| summary(&Stats { files: 1, added, removed });
    assert_eq!(shown(2, 0), " 1 file changed, 2 insertions(+)");
    assert_eq!(shown(0, 1), " 1 file changed, 1 deletion(-)");
    assert_eq!(shown(1, 2), " 1 file changed, 1 insertion(+), 2 deletions(-)");
    assert_eq!(shown(0, 0), " 1 file changed, 0 insertions(+), 0 deletions(-)");
}

#[test]
fn amount_is_mode_only_for_a_modified_file_without_changed_lines() {
    let style = Style::default();
    let entry = |change, lines| DiffEntry { path: b"a".to_vec(), change, lines, uncaptured: false };
    let shown = |change, lines| amount(style, &entry(change, lines));
    assert_eq!(shown(Change::Modified, Some((0, 0))), "mode");
    assert_eq!(shown(Change::Added, Some((0, 0))), "+0 -0 (new)");
    assert_eq!(shown(Change::Deleted, Some((0, 3))), "+0 -3 (deleted)");
    assert_eq!(shown(Change::Modified, None), "binary");
}

#[test]
fn listed_shows_changed_files_only_where_some_changed() {
    let checkpoint = |number, files| Listed {
        name: ListName::Number(number),
        id: "0123456789".into(),
        time: 0,
        reason: "r".into(),
        stats: Some(Stats { files, added: 0, removed: 0 }),
        damage: (number == 2).then(|| "object 12 is missing".into()),
        label: None,
        pinned: false,
    };
    let style = Style::default();
    let page = listed(style, Path::new("/p"), &[checkpoint(1, 1), checkpoint(2, 0)], &[]);
    assert_eq!(page.matches("(1 file, +0/-0)").count(), 1, "{page}");
    assert_eq!(page.matches("damaged: object 12 is missing").count(), 1, "{page}");
    assert_eq!(page.matches("+0/-0").count(), 1, "{page}");
}

#[test]
fn status_shows_only_a_live_project_in_green() {
    let style = Style::of_output(true, |name| (name == "TERM").then(|| "xterm".into()));
    let state = |state| {
        let project = ProjectStatus {
            hash: String::new(),
            workdir: None,
            checkpoints: None,
            unlisted: 0,
            last_touch: None,
            state,
            interrupted: None,
        };
        let report = Status {
            base: PathBuf::from("/").into(),
            total_bytes: 0,
            store_bytes: 0,
            legacy: Vec::new(),
            others: 0,
            projects: vec![project],
        };
        status(style, &report, 0)
    };
    assert!(state(ProjectState::Live).contains("\x1b[32mok\x1b[m"));
    assert!(state(ProjectState::Orphan).contains("\x1b[33mdirectory gone\x1b[m"));
}

#[test]
fn patch_on_terminal_colours_headers_hunks_and_changed_lines() {
    let style = Style::of_output(true, |name| (name == "TERM").then(|| "xterm".into()));
    let patch = b"diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\tb\n+c\x1b\n d\n\
        diff --git a/y b/y\n--- a/y\n@@ -1 +0,0 @@\n--- e\n";
    let expected = "\x1b[1mdiff --git a/x b/x\x1b[m\n\x1b[1m--- a/x\x1b[m\n\x1b[1m+++ b/x\x1b[m\n\
        \x1b[36m@@ -1 +1 @@\x1b[m\n\x1b[31m-a\tb\x1b[m\n\x1b[32m+c\\x1b\x1b[m\n d\n\
        \x1b[1mdiff --git a/y b/y\x1b[m\n\x1b[1m--- a/y\x1b[m\n\x1b[36m@@ -1 +0,0 @@\x1b[m\n\
        \x1b[31m--- e\x1b[m\n";
    assert_eq!(patch_on_terminal(style, patch), expected);
}

/// Without colours.
fn plain() -> Style {
    Style::default()
}

fn text(bytes: impl Into<Vec<u8>>) -> String {
    String::from_utf8(bytes.into()).unwrap()
}

#[test]
fn listed_names_the_checkpoints_that_are_not_listed() {
    let unlisted = |number: usize| Unlisted {
        name: ListName::BeforeRollback(number),
        id: format!("{number}123456789"),
        time: 0,
        reason: "pre-rollback".into(),
    };
    let listed = [Listed {
        name: ListName::Number(1),
        id: "0123456789".into(),
        time: 0,
        reason: "r".into(),
        stats: None,
        damage: None,
        label: None,
        pinned: false,
    }];
    let shown =
        |unlisted: &[Unlisted]| text(super::listed(plain(), Path::new("/p"), &listed, unlisted));
    let named = shown(&[unlisted(2), unlisted(3)]);
    assert!(named.contains("  Not listed, but kept from before rollbacks: u2, u3\n"), "{named}");
    assert!(!shown(&[]).contains("Not listed"), "{}", shown(&[]));
}

#[test]
fn taken_names_evicted_checkpoints_left_out_files_and_notices() {
    let evicted = |ids: &[&str], for_size| Evicted {
        ids: ids.iter().map(|&id| id.to_owned()).collect(),
        for_size: SizeKept { evicted: for_size, is_above_limit: for_size > 1 },
    };
    let shown = |evicted| {
        let outcome = Outcome::Created { id: "0123456789".into() };
        let notices = vec!["mind\x1b that".into()];
        let skipped = vec![Remark { path: b"big".to_vec(), why: "larger than 1 byte".into() }];
        let taken = Taken { outcome, skipped, notices, evicted };
        text(super::taken(plain(), Path::new("/p"), &taken))
    };
    let page = shown(evicted(&["1123456789"], 1));
    assert!(page.contains("  big  (larger than 1 byte)\n"), "{page}");
    assert!(page.contains("mind\\x1b that\n"), "{page}");
    assert!(page.contains("at most max_snapshots checkpoints: 1123456\n"), "{page}");
    assert!(page.contains("below max_total_size_mb: 1 checkpoint\n"), "{page}");
    assert!(!page.contains("is larger than max_total_size_mb"), "{page}");
    assert!(!shown(evicted(&[], 0)).contains("Removed"), "{page}");
    assert!(shown(evicted(&[], 2)).contains("The store is larger than max_total_size_mb"));
}

#[test]
fn diff_names_left_out_files_also_if_nothing_else_changed() {
    let shown = |entries| {
        let remark = |path: &[u8], why: &str| vec![Remark { path: path.to_vec(), why: why.into() }];
        let compared = Diff {
            id: "0123456789".into(),
            until: None,
            entries,
            stats: Stats { files: 1, added: 1, removed: 0 },
            left_out: remark(b"big", "larger than 1 byte"),
            left_out_now: remark(b"pipe", "not a regular file"),
            patch: vec![],
        };
        text(diff(plain(), Path::new("/p"), &compared))
    };
    let path = b"a".to_vec();
    let lines = Some((1, 0));
    let changed = DiffEntry { path, change: Change::Added, lines, uncaptured: false };
    for (entries, head) in [(vec![], "Nothing changed"), (vec![changed], " a | +1 -0 (new)")] {
        let page = shown(entries);
        assert!(page.starts_with(head), "{page}");
        assert!(page.contains("left them out:\n  big  (larger than 1 byte)\n"), "{page}");
        assert!(page.contains("leave them out:\n  pipe  (not a regular file)\n"), "{page}");
    }
}

#[test]
fn status_warns_of_an_interrupted_rollback_and_counts_third_party_entries() {
    let interrupted = Some(Interrupted { target: "1123456789".into(), ..Interrupted::default() });
    let project = ProjectStatus {
        hash: "0123".into(),
        workdir: Some(PathBuf::from("/p").into()),
        checkpoints: Some(2),
        unlisted: 3,
        last_touch: Some(0),
        state: ProjectState::Unknown,
        interrupted,
    };
    let status = Status {
        base: PathBuf::from("/b").into(),
        total_bytes: 3,
        store_bytes: 1,
        legacy: vec![("legacy-1".into(), 2)],
        others: 1,
        projects: vec![project],
    };
    let page = text(super::status(plain(), &status, 60));
    for expected in [
        "  not from herma 1 entry\n",
        "Old-format archives (1):\n  legacy-1  2 B\n",
        "⚠ /p: a rollback to 1123456 was interrupted: `herma rollback 1123456 --dir /p` continues it\n",
        "        2 + 3  1m ago     not accessible  /p\n",
        "+ counts those from before rollbacks",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
}
