//! The list as it is printed for people.

use super::*;

/// The rules broken by printing a checkpoint with this reason as `line`.
fn printed(reason: &str, line: &str) -> String {
    let mut scene = Scene::with("a=1");
    scene.perform("take alpha");
    let stats = Some(Stats { files: 1, added: 2, removed: 0 });
    let id = "0123abcd".repeat(5);
    let reason = reason.to_owned();
    let entry = Listed { number: 1, id, time: 1_773_635_760, reason, stats };
    let answer = Answer::Printed { checkpoints: vec![entry], printed: line.to_owned() };
    scene.broken_by("print alpha", answer)
}

#[test]
fn print_list_shows_each_checkpoint_on_a_line_in_the_documented_layout() {
    let good = "Checkpoints of it:\n\n  1. 0123abc  2026-03-16 04:36  before it  (1 file, +2/-0)\n";
    assert_eq!(printed("before it", good), "");
    for (line, why) in [
        ("1. 0123 2026-03-15 23:36:00 before it (1 file, +2/-0)", "another zone, fewer blanks"),
        ("1. 0123abc 2026-03-16 04:36 before... (1 file, +2/-0)", "a reason that is cut"),
    ] {
        assert_eq!(printed("before it", line), "", "{why}");
    }
    for (line, why) in [
        ("", "nothing"),
        ("2. 0123abc 2026-03-16 04:36 before it (1 file, +2/-0)", "another number"),
        ("1. 012 2026-03-16 04:36 before it (1 file, +2/-0)", "an id that is too short"),
        ("1. 0124abc 2026-03-16 04:36 before it (1 file, +2/-0)", "another id"),
        ("1. 0123abc before it (1 file, +2/-0)", "no time"),
        ("1. 0123abc 2026-03-16 04:37 before it (1 file, +2/-0)", "another minute"),
        ("1. 0123abc 2026-03-14 04:36 before it (1 file, +2/-0)", "another day"),
        ("1. 0123abc 2026-03-16 04:36 before it", "no changes"),
        ("1. 0123abc 2026-03-16 04:36 before it (2 files, +2/-0)", "other changes"),
    ] {
        assert_eq!(printed("before it", line), "list/layout", "{why}");
    }
}

#[test]
fn print_list_keeps_a_reason_on_one_line_and_escapes_control_characters() {
    let line = |reason: &str| format!("1. 0123abc 2026-03-16 04:36 {reason} (1 file, +2/-0)");
    assert_eq!(printed("two\nlines \u{1b}[31m", &line(r"two\nlines \x1b[31m")), "");
    assert_eq!(printed("a\u{1b}[31mb", &line("a\u{1b}[31mb")), "capture/reason-one-line");
    assert_eq!(printed("two\nlines", &line("two")), "capture/reason-one-line");
    assert_eq!(printed("two\nlines", &line("two\nlines")), "capture/reason-one-line");
    assert_eq!(printed("two\n", &line("two\n")), "capture/reason-one-line");
}
