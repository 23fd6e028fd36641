//! `report` and `merge` with `--expect`, which judge like the gate, and a gate whose time is too short.

use super::*;
use pretty_assertions::assert_eq;

#[test]
fn report_and_merge_judge_with_expect_like_the_gate() {
    let fixture = GateFixture::of_the_bug();
    let results = fixture.results();
    let results = results.to_str().unwrap();
    let all = fixture.folder.path().join("all.jsonl");
    let conform = |words: &[&str]| {
        let mut command = Command::new(built_binary("herma-conform"));
        let expect = command.args(words).arg("--expect").arg(fixture.file());
        exit_code_and_text(expect.output().unwrap())
    };
    let report = |form| ["report", "--from", results, "--as", form];
    let merge = ["merge", results, "--into", all.to_str().unwrap()];
    for (words, expected) in [
        (&merge[..], "the gate holds"),
        (&report("text"), "expected      list/newest-first"),
        (&report("junit"), "failures=\"0\""),
        (&report("markdown"), "is broken unexpectedly. 1 failure is expected."),
        (&report("github"), ""),
    ] {
        let (code, text) = conform(words);
        assert_eq!(code, 0, "{words:?}: {text}");
        assert!(text.contains(expected) && !text.contains("::error"), "{words:?}: {text}");
    }
    assert_eq!(conform(&report("json")).0, 2);
    fixture.write(&fixture.text().replace("another order", "another world"));
    for (form, expected) in
        [("junit", "herma.gate"), ("github", "::error file="), ("text", "NEEDS")]
    {
        let (code, text) = conform(&report(form));
        assert_eq!(code, 3, "{text}");
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn gate_and_update_judge_too_little_if_the_time_budget_ends_before_the_plan() {
    let fixture = GateFixture::new();
    fixture.write(&fixture.text().replace("histories = 12", "histories = 100000"));
    let before = fixture.text();
    for command in ["gate", "update"] {
        let output = fixture.conform(&[command, "--time-budget", "2"], &["core"]);
        let (code, text) = exit_code_and_text(output);
        assert_eq!(code, 5, "{text}");
        assert!(text.contains("histories ran: allow more time"), "{text}");
    }
    assert_eq!(fixture.text(), before);
}
