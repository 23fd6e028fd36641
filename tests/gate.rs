//! `herma-conform gate` and `update` as a third party's CI uses them: exit codes, and which commands write or
//! refuse to write the file of expectations.

mod reports;

use herma_harness::results::Results;
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

const BUG: &str = "list-in-wrong-order";

struct GateFixture {
    folder: TempDir,
}

impl GateFixture {
    fn new() -> Self {
        let fixture = GateFixture { folder: tempfile::tempdir().unwrap() };
        fixture.write(
            "schema = 2\nsubject = \"herma-core\"\nseeds = [3]\nhistories = 12\noperations = 30\n\
             cases_of = \"list/\"\njudged = 20\nmost = 0\n",
        );
        fixture
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("expected.toml")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    fn conform(&self, command: &[&str], subject: &[&str]) -> Output {
        Command::new(built_binary("herma-conform"))
            .args(command)
            .arg("--expect")
            .arg(self.file())
            .arg("--keep")
            .arg(self.folder.path().join("keep"))
            .args(subject)
            .output()
            .unwrap()
    }

    fn gate(&self, subject: &[&str]) -> (i32, String) {
        exit_code_and_text(self.conform(&["gate"], subject))
    }

    /// Judges the results of the last run again, against the current file of expectations.
    fn gate_again(&self, subject: &[&str]) -> (i32, String) {
        let results = self.results();
        exit_code_and_text(self.conform(&["gate", "--from", results.to_str().unwrap()], subject))
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("keep/results.jsonl")
    }

    /// A gate that lists all failures of a broken subject with a reason and a link, and the results of the
    /// run, which all tests share.
    fn of_the_bug() -> Self {
        static FOUND: OnceLock<[String; 2]> = OnceLock::new();
        let [expectations, results] = FOUND.get_or_init(|| {
            let fixture = GateFixture::new();
            let output = fixture.conform(&["update", "--allow-new"], &serving(BUG));
            // A person must add the reasons.
            assert_eq!(output.status.code(), Some(3), "{output:?}");
            let with_reasons = fixture.text().replace("reason = \"\"", "reason = \"planted\"");
            let expectations = with_reasons.replace("link = \"\"", "link = \"docs/durability.md\"");
            [expectations, fs::read_to_string(fixture.results()).unwrap()]
        });
        let fixture = GateFixture::new();
        fixture.write(expectations);
        fs::create_dir(fixture.folder.path().join("keep")).unwrap();
        fs::write(fixture.results(), results).unwrap();
        fixture
    }
}

fn exit_code_and_text(output: Output) -> (i32, String) {
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

fn serving(bug: &str) -> Vec<&str> {
    static BINARY: OnceLock<String> = OnceLock::new();
    let binary = BINARY.get_or_init(|| built_binary("herma-conform").display().to_string());
    vec!["--", binary, "adapter", "serve", "--bug", bug]
}

#[test]
fn gate_reports_an_unexpected_failure_with_its_shortest_history() {
    let (code, text) = GateFixture::new().gate(&serving(BUG));
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("NOT EXPECTED  list/newest-first (fail: another order)"), "{text}");
    assert!(text.contains("reproduced 3 times of 3"), "{text}");
    assert!(text.contains("list/newest-first [wrong answer]: "), "{text}");
    assert!(text.contains("5 operations, requests (>) and replies (<):"), "{text}");
    assert!(
        text.contains("\n    > {\"op\":\"list\",\"dir\":\"$ROOT/work/alpha\"}\n    < {"),
        "{text}"
    );
}

/// Runs `merge` on these files.
fn merged(parts: &[&Path], into: &Path) -> (i32, String) {
    let mut merge = Command::new(built_binary("herma-conform"));
    exit_code_and_text(merge.arg("merge").args(parts).arg("--into").arg(into).output().unwrap())
}

#[test]
fn merge_of_all_shards_of_a_gate_equals_the_unsharded_run() {
    let fixture = GateFixture::of_the_bug();
    let file = |name: &str| fixture.folder.path().join(name);
    let run = |share: &str, name: &str| {
        let results = file(name);
        let command = ["gate", "--shard", share, "--results", results.to_str().unwrap()];
        let output = fixture.conform(&command, &serving(BUG));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        (results, String::from_utf8(output.stdout).unwrap())
    };
    let parts: Vec<PathBuf> = (1..=3)
        .map(|index| {
            let (results, text) = run(&format!("{index}/3"), &format!("{index}.jsonl"));
            assert!(text.contains("nothing unexpected; `merge` all parts"), "{text}");
            results
        })
        .collect();
    let direct = file("direct.jsonl");
    fs::copy(fixture.results(), &direct).unwrap();
    let parts: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    let complete = file("whole.jsonl");
    assert_eq!(merged(&parts, &complete).0, 1, "the rule is broken");
    let read = |path: &Path| Results::read(&fs::read_to_string(path).unwrap()).unwrap();
    let summary = |path: &Path| {
        let results = read(path);
        let rules: Vec<_> =
            results.rules.iter().map(|rule| (rule.id.clone(), rule.verdict, rule.checks)).collect();
        let failures: Vec<_> = results
            .failures
            .iter()
            .map(|failure| (failure.fingerprint.clone(), failure.histories))
            .collect();
        let figures = (results.finished.operations, results.finished.depth.judged);
        (rules, failures, figures, results.finished.behaviours, results.finished.rules)
    };
    assert_eq!(summary(&complete), summary(&direct));
    let judged = fixture.conform(&["gate", "--from", complete.to_str().unwrap()], &serving(BUG));
    assert_eq!(judged.status.code(), Some(0), "{judged:?}");
    // One part is missing, one is given twice, one is from another run.
    let rejected = file("other.jsonl");
    for parts in [&parts[..2], &[parts[0], parts[1], parts[1]]] {
        let (code, text) = merged(parts, &rejected);
        assert_eq!(code, 2, "{text}");
        assert!(text.contains("of 3 parts there are 1, 2"), "{text}");
    }
    fixture.write(&fixture.text().replace("seeds = [3]", "seeds = [4]"));
    let (other_run, _) = run("3/3", "foreign.jsonl");
    let (code, text) = merged(&[parts[0], parts[1], &other_run], &rejected);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("of different runs: the plan"), "{text}");
    assert!(!rejected.exists());
    let original = fixture.text().replace("seeds = [4]", "seeds = [3]");
    let injected = original.replace("seeds = [3]", "seeds = [3]\ninject = true");
    for text in [fixture.text(), injected] {
        fixture.write(&text);
        let judged =
            fixture.conform(&["gate", "--from", complete.to_str().unwrap()], &serving(BUG));
        assert_eq!(judged.status.code(), Some(2), "results of another plan: {judged:?}");
    }
}

#[test]
fn gate_passes_with_listed_failures_and_fails_after_any_change_of_the_list() {
    let fixture = GateFixture::of_the_bug();
    let (code, text) = fixture.gate_again(&serving(BUG));
    assert_eq!(code, 0, "{text}");
    let complete = fixture.text();
    let first_entry = complete.find("[[expect]]").unwrap();
    // An entry is missing.
    fixture.write(&complete[..first_entry]);
    assert_eq!(fixture.gate_again(&serving(BUG)).0, 1);
    // An entry matches nothing.
    let bogus = complete[first_entry..].replacen("list/newest-first", "list/newest-frist", 1);
    fixture.write(&format!("{}{bogus}", complete.replace("most = 1", "most = 2")));
    let (code, text) = fixture.gate_again(&serving(BUG));
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("did you mean `list/newest-first`"), "{text}");
    // The failure differs from the listed one.
    fixture.write(&complete.replace("another order", "another world"));
    let (code, text) = fixture.gate_again(&serving(BUG));
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("fails differently than expected"), "{text}");
    // An entry has no reason.
    fixture.write(&complete.replace("planted", " "));
    assert_eq!(fixture.gate_again(&serving(BUG)).0, 3);
    // More known failures than `most` allows.
    fixture.write(&complete.replace("most = 1", "most = 0"));
    assert_eq!(fixture.gate_again(&serving(BUG)).0, 3);
    // The entry is about another version.
    fixture.write(&complete.replace("=0.1.0", "=7.1.0"));
    assert_eq!(fixture.gate_again(&serving(BUG)).0, 1);
    // The subject no longer fails.
    fixture.write(&complete);
    let (code, text) = fixture.gate(&["core"]);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("does not fail any more"), "{text}");
}

#[test]
fn gate_counts_failures_by_design_separately_and_requires_a_reason_but_no_link() {
    let fixture = GateFixture::of_the_bug();
    let listed = fixture.text();
    let by_design = listed.replace("versions =", "kind = \"by design\"\nversions =");
    let by_design =
        by_design.replace("link = \"docs/durability.md\"\n", "").replace("most = 1", "most = 0");
    fixture.write(&by_design);
    let (code, text) = fixture.gate_again(&serving(BUG));
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("by design     list/newest-first (fail: another order): planted"),
        "{text}"
    );
    assert!(text.contains("0 known failures, 1 by design"), "{text}");
    fixture.write(&by_design.replace("planted", ""));
    let (code, text) = fixture.gate_again(&serving(BUG));
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("has no reason") && !text.contains("has no link"), "{text}");
}

#[test]
fn update_reads_an_earlier_run_and_keeps_its_shrunk_histories() {
    let fixture = GateFixture::new();
    assert_eq!(fixture.gate(&serving(BUG)).0, 1);
    let kept = fixture.folder.path().join("keep/list-newest-first-another-order.yaml");
    let shrunk = fs::read_to_string(&kept).unwrap();
    let results = fixture.folder.path().join("keep/results.jsonl");
    let from = ["update", "--allow-new", "--from", results.to_str().unwrap()];
    // This adapter does not exist, so nothing is run.
    let output = fixture.conform(&from, &["--", "/nowhere/adapter"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(fixture.text().contains("[[expect]]"), "{}", fixture.text());
    // The failure is known now, and its history is not shrunk again.
    assert_eq!(fixture.gate(&serving(BUG)).0, 3);
    assert_eq!(fs::read_to_string(&kept).unwrap(), shrunk);
}

#[test]
fn gate_gives_no_verdict_for_an_adapter_that_exits_early() {
    let fixture = GateFixture::of_the_bug();
    let binary = built_binary("herma-conform").display().to_string();
    let script = format!("sed -u 9q | '{binary}' adapter serve --bug {BUG}");
    let (code, text) = fixture.gate(&["--", "/bin/sh", "-c", &script]);
    assert_eq!(code, 4, "{text}");
    assert!(text.contains("no verdict is given"), "{text}");
    assert!(!text.contains("the gate holds"), "{text}");
}

#[test]
fn gate_fails_if_fewer_operations_are_judged_than_expected() {
    let fixture = GateFixture::new();
    fixture.write(&fixture.text().replace("judged = 20", "judged = 1000"));
    let (code, text) = fixture.gate(&["core"]);
    assert_eq!(code, 5, "{text}");
}

#[test]
fn gate_refuses_expectations_of_another_subject_and_invalid_files() {
    let fixture = GateFixture::new();
    fixture.write(&fixture.text().replace("herma-core", "somebody-else"));
    assert_eq!(fixture.gate(&["core"]).0, 2);
    fixture.write("schema = 2\nsubjekt = \"x\"\n");
    let (code, text) = fixture.gate(&["core"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("line 2"), "{text}");
    fixture.write("schema = 9\nsubject = \"x\"\nseeds = [1]\nhistories = 1\noperations = 1\njudged = 0\nmost = 0\n");
    assert!(fixture.gate(&["core"]).1.contains("version 9"));
}

#[test]
fn update_adds_failures_only_with_allow_new_and_removes_fixed_ones() {
    let fixture = GateFixture::of_the_bug();
    let listed = fixture.text();
    let header = &listed[..listed.find("[[expect]]").unwrap()];
    fixture.write(header);
    let results = fixture.results();
    let output = fixture.conform(&["update", "--from", results.to_str().unwrap()], &serving(BUG));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(fixture.text(), header);
    fixture.write(&listed);
    let output = fixture.conform(&["update"], &["core"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!fixture.text().contains("[[expect]]"), "{}", fixture.text());
    assert!(fixture.text().contains("most = 0"), "{}", fixture.text());
}

#[test]
fn report_reads_the_results_of_a_gate_and_refuses_truncated_results() {
    let fixture = GateFixture::new();
    let (code, text) = fixture.gate(&["core"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("the gate holds"), "{text}");
    let results = fixture.folder.path().join("keep/results.jsonl");
    let report = |path: &Path, format: &str| {
        let mut command = Command::new(built_binary("herma-conform"));
        command.args(["report", "--as", format, "--from"]).arg(path).output().unwrap()
    };
    for (format, expected) in [
        ("text", "rules: "),
        ("json", "\"rules\": ["),
        ("junit", "<testsuite"),
        ("markdown", "herma-core"),
    ] {
        let output = report(&results, format);
        assert_eq!(output.status.code(), Some(0), "{format}: {output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains(expected), "{format}: {text}");
    }
    let complete = fs::read_to_string(&results).unwrap();
    let truncated = fixture.folder.path().join("cut.jsonl");
    let lines: Vec<&str> = complete.lines().collect();
    fs::write(&truncated, lines[..lines.len() - 1].join("\n")).unwrap();
    assert_eq!(report(&truncated, "text").status.code(), Some(4));
}

/// An adapter whose `list` is wrong exactly once.
fn wrong_once(folder: &Path) -> Vec<String> {
    let file = folder.join("adapter.sh");
    let script = format!(
        r#"n=$(cat '{0}/started' | wc -l); echo >> '{0}/started'
say() {{ printf '{{"id":%s,"ok":%s}}\n' "$id" "$1"; }}
while read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%,*}}
  case $line in
    *'"op":"hello"'*) say '{{"protocol":1,"impl":{{"name":"x","version":"1.0.0"}}}}' ;;
    *'"op":"list"'*)
      if [ "$n" -lt 3 ] || [ -e '{0}/wrong' ]; then say '{{"checkpoints":[]}}'
      else : > '{0}/wrong'
        say '{{"checkpoints":[{{"number":1,"id":"aaaa","time":0,"reason":""}}]}}'; fi ;;
    *'"op":"open"'* | *'"op":"close"'*) say '{{}}' ;;
    *) printf '{{"id":%s,"err":{{"code":"unknown_checkpoint","message":"","changed":"none"}}}}\n' "$id" ;;
  esac
done
"#,
        folder.display()
    );
    fs::write(folder.join("started"), "").unwrap();
    let _ = fs::remove_file(folder.join("wrong"));
    fs::write(&file, script).unwrap();
    ["--", "/bin/sh", file.to_str().unwrap()].map(str::to_owned).to_vec()
}

#[test]
fn gate_reports_a_failure_that_is_not_reproduced_as_unstable() {
    let fixture = GateFixture::new();
    fixture.write(
        "schema = 2\nsubject = \"x\"\nseeds = [3]\nhistories = 6\noperations = 30\njudged = 0\n\
         cases_of = \"list/\"\nmost = 0\n",
    );
    let before = fixture.text();
    let folder = fixture.folder.path();
    let results = folder.join("keep/results.jsonl");
    let results = results.to_str().unwrap();
    let conform = |command: &[&str], fresh: bool| {
        let subject = if fresh { wrong_once(folder) } else { Vec::new() };
        let subject: Vec<&str> = subject.iter().map(String::as_str).collect();
        exit_code_and_text(fixture.conform(command, &subject))
    };
    let (code, text) = conform(&["gate", "--jobs", "1"], true);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("UNSTABLE: it was not reproduced"), "{text}");
    assert!(text.contains("the gate DOES NOT HOLD"), "{text}");
    let from = ["--from", results];
    let shell = ["--", "/bin/sh"];
    for command in [&["gate"][..], &["update", "--allow-new"]] {
        let (code, text) =
            exit_code_and_text(fixture.conform(&[command, &from[..]].concat(), &shell));
        assert_eq!((code, fixture.text()), (3, before.clone()), "{command:?}: {text}");
    }
    let (code, text) = merged(&[Path::new(results)], &folder.join("whole.jsonl"));
    assert_eq!(code, 3, "{text}");
    for (format, expected) in [
        ("text", "UNSTABLE"),
        ("json", "\"verdict\": \"unstable\""),
        ("junit", "<error message=\"unstable: "),
        ("github", "::unstable, it was not reproduced"),
        ("markdown", "**1 rule is unstable**"),
    ] {
        let report = Command::new(built_binary("herma-conform"))
            .args(["report", "--from", results, "--as", format])
            .output()
            .unwrap();
        let (code, text) = exit_code_and_text(report);
        assert_eq!(code, 3, "{format}: {text}");
        assert!(text.contains(expected), "{format}: {text}");
    }
    let subject = wrong_once(folder);
    let run = Command::new(built_binary("herma-conform"))
        .args(["run", "--seed", "3", "--histories", "6", "--operations", "30", "--jobs", "1"])
        .args(["--cases-of", "list/"])
        .arg("--keep")
        .arg(folder.join("run"))
        .args(&subject)
        .output()
        .unwrap();
    let (code, text) = exit_code_and_text(run);
    assert_eq!(code, 3, "{text}");
}
