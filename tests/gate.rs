//! The gate as a stranger's CI uses it: its exit codes, what writes its file, and what refuses to.

use herma_harness::results::Results;
use herma_tests::built_binary;
use pretty_assertions::assert_eq;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use tempfile::TempDir;

const BUG: &str = "list-in-wrong-order";

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Place { folder: tempfile::tempdir().unwrap() };
        place.write(
            "schema = 2\nsubject = \"herma-core\"\nseeds = [3]\nhistories = 12\noperations = 30\n\
             judged = 20\nmost = 0\n",
        );
        place
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
        said(self.conform(&["gate"], subject))
    }

    /// The gate of what was run last, against the list as it is now: what a change of the list comes to
    /// needs no other run.
    fn gate_again(&self, subject: &[&str]) -> (i32, String) {
        let results = self.results();
        said(self.conform(&["gate", "--from", results.to_str().unwrap()], subject))
    }

    fn results(&self) -> PathBuf {
        self.folder.path().join("keep/results.jsonl")
    }

    /// The gate of a broken subject whose failures are all listed with a reason and a link, and the results
    /// of its run, which is one for all tests.
    fn of_the_bug() -> Self {
        static FOUND: OnceLock<[String; 2]> = OnceLock::new();
        let [listed, results] = FOUND.get_or_init(|| {
            let place = Place::new();
            let output = place.conform(&["update", "--allow-new"], &serving(BUG));
            // A person has to say why.
            assert_eq!(output.status.code(), Some(3), "{output:?}");
            let reasoned = place.text().replace("reason = \"\"", "reason = \"planted\"");
            let listed = reasoned.replace("link = \"\"", "link = \"docs/durability.md\"");
            [listed, fs::read_to_string(place.results()).unwrap()]
        });
        let place = Place::new();
        place.write(listed);
        fs::create_dir(place.folder.path().join("keep")).unwrap();
        fs::write(place.results(), results).unwrap();
        place
    }
}

fn said(output: Output) -> (i32, String) {
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

fn serving(bug: &str) -> Vec<&str> {
    static BINARY: OnceLock<String> = OnceLock::new();
    let binary = BINARY.get_or_init(|| built_binary("herma-conform").display().to_string());
    vec!["--", binary, "adapter", "serve", "--bug", bug]
}

#[test]
fn a_failure_that_nobody_expects_is_a_regression_with_its_shortest_history() {
    let (code, said) = Place::new().gate(&serving(BUG));
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("NOT EXPECTED  list/newest-first (fail: another order)"), "{said}");
    assert!(said.contains("failed again 3 times of 3"), "{said}");
    assert!(said.contains("list/newest-first [wrong answer]: "), "{said}");
    assert!(said.contains("4 operations, as asked (>) and answered (<):"), "{said}");
    assert!(
        said.contains("\n    > {\"op\":\"list\",\"dir\":\"$ROOT/work/alpha\"}\n    < {"),
        "{said}"
    );
}

/// What merging these files into a third comes to.
fn merged(parts: &[&Path], into: &Path) -> (i32, String) {
    let mut merge = Command::new(built_binary("herma-conform"));
    said(merge.arg("merge").args(parts).arg("--into").arg(into).output().unwrap())
}

#[test]
fn the_parts_of_a_gate_say_together_what_the_whole_says() {
    let place = Place::of_the_bug();
    let file = |name: &str| place.folder.path().join(name);
    let run = |share: &str, name: &str| {
        let results = file(name);
        let command = ["gate", "--shard", share, "--results", results.to_str().unwrap()];
        let output = place.conform(&command, &serving(BUG));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        (results, String::from_utf8(output.stdout).unwrap())
    };
    let parts: Vec<PathBuf> = (1..=3)
        .map(|index| {
            let (results, said) = run(&format!("{index}/3"), &format!("{index}.jsonl"));
            assert!(said.contains("nothing unexpected; `merge` all parts"), "{said}");
            results
        })
        .collect();
    let direct = file("direct.jsonl");
    fs::copy(place.results(), &direct).unwrap();
    let parts: Vec<&Path> = parts.iter().map(PathBuf::as_path).collect();
    let whole = file("whole.jsonl");
    assert_eq!(merged(&parts, &whole).0, 1, "the rule is broken");
    let read = |path: &Path| Results::read(&fs::read_to_string(path).unwrap()).unwrap();
    let said = |path: &Path| {
        let results = read(path);
        let rules: Vec<_> =
            results.rules.iter().map(|one| (one.id.clone(), one.verdict, one.checks)).collect();
        let failures: Vec<_> =
            results.failures.iter().map(|one| (one.fingerprint.clone(), one.histories)).collect();
        let figures = (results.finished.operations, results.finished.depth.judged);
        (rules, failures, figures, results.finished.behaviours, results.finished.rules)
    };
    assert_eq!(said(&whole), said(&direct));
    let judged = place.conform(&["gate", "--from", whole.to_str().unwrap()], &serving(BUG));
    assert_eq!(judged.status.code(), Some(0), "{judged:?}");
    // One part is missing, one is there twice, one is of another run.
    let other = file("other.jsonl");
    for parts in [&parts[..2], &[parts[0], parts[1], parts[1]]] {
        let (code, said) = merged(parts, &other);
        assert_eq!(code, 2, "{said}");
        assert!(said.contains("of 3 parts there are 1, 2"), "{said}");
    }
    place.write(&place.text().replace("seeds = [3]", "seeds = [4]"));
    let (foreign, _) = run("3/3", "foreign.jsonl");
    let (code, said) = merged(&[parts[0], parts[1], &foreign], &other);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("of different runs: the plan"), "{said}");
    assert!(!other.exists());
    let own = place.text().replace("seeds = [4]", "seeds = [3]");
    let injected = own.replace("seeds = [3]", "seeds = [3]\ninject = true");
    for text in [place.text(), injected] {
        place.write(&text);
        let judged = place.conform(&["gate", "--from", whole.to_str().unwrap()], &serving(BUG));
        assert_eq!(judged.status.code(), Some(2), "results of another plan: {judged:?}");
    }
}

#[test]
fn listed_failures_hold_the_gate_and_every_change_of_the_list_ends_it() {
    let place = Place::of_the_bug();
    let (code, said) = place.gate_again(&serving(BUG));
    assert_eq!(code, 0, "{said}");
    let whole = place.text();
    let at = whole.find("[[expect]]").unwrap();
    // One entry less.
    place.write(&whole[..at]);
    assert_eq!(place.gate_again(&serving(BUG)).0, 1);
    // One that matches nothing.
    let bogus = whole[at..].replacen("list/newest-first", "list/newest-frist", 1);
    place.write(&format!("{}{bogus}", whole.replace("most = 1", "most = 2")));
    let (code, said) = place.gate_again(&serving(BUG));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("did you mean `list/newest-first`"), "{said}");
    // Another failure than the listed one.
    place.write(&whole.replace("another order", "another world"));
    let (code, said) = place.gate_again(&serving(BUG));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("fails differently than expected"), "{said}");
    // One without a reason.
    place.write(&whole.replace("planted", " "));
    assert_eq!(place.gate_again(&serving(BUG)).0, 3);
    // More than may be.
    place.write(&whole.replace("most = 1", "most = 0"));
    assert_eq!(place.gate_again(&serving(BUG)).0, 3);
    // About another version.
    place.write(&whole.replace("=0.1.0", "=7.1.0"));
    assert_eq!(place.gate_again(&serving(BUG)).0, 1);
    // A subject that fails no more.
    place.write(&whole);
    let (code, said) = place.gate(&["core"]);
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("does not fail any more"), "{said}");
}

#[test]
fn what_is_by_design_is_counted_apart_and_needs_a_reason_and_no_link() {
    let place = Place::of_the_bug();
    let known = place.text();
    let meant = known.replace("versions =", "kind = \"by design\"\nversions =");
    let meant =
        meant.replace("link = \"docs/durability.md\"\n", "").replace("most = 1", "most = 0");
    place.write(&meant);
    let (code, said) = place.gate_again(&serving(BUG));
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("by design     list/newest-first (fail: another order): planted"),
        "{said}"
    );
    assert!(said.contains("0 known failures, 1 by design"), "{said}");
    place.write(&meant.replace("planted", ""));
    let (code, said) = place.gate_again(&serving(BUG));
    assert_eq!(code, 3, "{said}");
    assert!(said.contains("has no reason") && !said.contains("has no link"), "{said}");
}

#[test]
fn update_reads_a_run_that_was_made_and_a_shortened_history_stays() {
    let place = Place::new();
    assert_eq!(place.gate(&serving(BUG)).0, 1);
    let kept = place.folder.path().join("keep/list-newest-first-another-order.yaml");
    let (short, results) =
        (fs::read_to_string(&kept).unwrap(), place.folder.path().join("keep/results.jsonl"));
    let from = ["update", "--allow-new", "--from", results.to_str().unwrap()];
    // No such adapter can be started: nothing is run.
    let output = place.conform(&from, &["--", "/nowhere/adapter"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(place.text().contains("[[expect]]"), "{}", place.text());
    // Now it is known, and not shortened again.
    assert_eq!(place.gate(&serving(BUG)).0, 3);
    assert_eq!(fs::read_to_string(&kept).unwrap(), short);
}

#[test]
fn an_adapter_that_ends_early_satisfies_no_expectation() {
    let place = Place::of_the_bug();
    let binary = built_binary("herma-conform").display().to_string();
    let early = format!("sed -u 9q | '{binary}' adapter serve --bug {BUG}");
    let (code, said) = place.gate(&["--", "/bin/sh", "-c", &early]);
    assert_eq!(code, 4, "{said}");
    assert!(said.contains("no verdict is given"), "{said}");
    assert!(!said.contains("the gate holds"), "{said}");
}

#[test]
fn too_little_is_no_success() {
    let place = Place::new();
    place.write(&place.text().replace("judged = 20", "judged = 1000"));
    let (code, said) = place.gate(&["core"]);
    assert_eq!(code, 5, "{said}");
}

#[test]
fn expectations_of_another_subject_and_files_that_are_none_are_refused() {
    let place = Place::new();
    place.write(&place.text().replace("herma-core", "somebody-else"));
    assert_eq!(place.gate(&["core"]).0, 2);
    place.write("schema = 2\nsubjekt = \"x\"\n");
    let (code, said) = place.gate(&["core"]);
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("line 2"), "{said}");
    place.write("schema = 9\nsubject = \"x\"\nseeds = [1]\nhistories = 1\noperations = 1\njudged = 0\nmost = 0\n");
    assert!(place.gate(&["core"]).1.contains("version 9"));
}

#[test]
fn update_lists_nothing_new_unless_it_is_told_to_and_removes_what_is_mended() {
    let place = Place::of_the_bug();
    let listed = place.text();
    let before = &listed[..listed.find("[[expect]]").unwrap()];
    place.write(before);
    let results = place.results();
    let output = place.conform(&["update", "--from", results.to_str().unwrap()], &serving(BUG));
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert_eq!(place.text(), before);
    place.write(&listed);
    let output = place.conform(&["update"], &["core"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!place.text().contains("[[expect]]"), "{}", place.text());
    assert!(place.text().contains("most = 0"), "{}", place.text());
}

#[test]
fn a_gate_that_holds_leaves_results_and_those_that_were_cut_short_are_none() {
    let place = Place::new();
    let (code, said) = place.gate(&["core"]);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("the gate holds"), "{said}");
    let results = place.folder.path().join("keep/results.jsonl");
    let report = |path: &Path, form: &str| {
        let mut command = Command::new(built_binary("herma-conform"));
        command.args(["report", "--as", form, "--from"]).arg(path).output().unwrap()
    };
    for (form, part) in [
        ("text", "rules: "),
        ("json", "\"rules\": ["),
        ("junit", "<testsuite"),
        ("markdown", "herma-core"),
    ] {
        let output = report(&results, form);
        assert_eq!(output.status.code(), Some(0), "{form}: {output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(part), "{form}: {said}");
    }
    let whole = fs::read_to_string(&results).unwrap();
    let cut = place.folder.path().join("cut.jsonl");
    let lines: Vec<&str> = whole.lines().collect();
    fs::write(&cut, lines[..lines.len() - 1].join("\n")).unwrap();
    assert_eq!(report(&cut, "text").status.code(), Some(4));
}

/// An adapter whose list is wrong once, and never again.
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
fn what_does_not_show_again_is_neither_a_failure_nor_held() {
    let place = Place::new();
    place.write(
        "schema = 2\nsubject = \"x\"\nseeds = [3]\nhistories = 6\noperations = 30\njudged = 0\n\
         most = 0\n",
    );
    let (before, folder) = (place.text(), place.folder.path());
    let results = folder.join("keep/results.jsonl");
    let results = results.to_str().unwrap();
    let conform = |command: &[&str], fresh: bool| {
        let subject = if fresh { wrong_once(folder) } else { Vec::new() };
        let subject: Vec<&str> = subject.iter().map(String::as_str).collect();
        said(place.conform(command, &subject))
    };
    let (code, text) = conform(&["gate", "--jobs", "1"], true);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("UNSTABLE: it did not show again"), "{text}");
    assert!(text.contains("the gate DOES NOT HOLD"), "{text}");
    let from = ["--from", results];
    let shell = ["--", "/bin/sh"];
    for command in [&["gate"][..], &["update", "--allow-new"]] {
        let (code, text) = said(place.conform(&[command, &from[..]].concat(), &shell));
        assert_eq!((code, place.text()), (3, before.clone()), "{command:?}: {text}");
    }
    let (code, text) = merged(&[Path::new(results)], &folder.join("whole.jsonl"));
    assert_eq!(code, 3, "{text}");
    for (form, shows) in [
        ("text", "UNSTABLE"),
        ("json", "\"verdict\": \"unstable\""),
        ("junit", "<error message=\"unstable: "),
        ("github", "::unstable, it did not show again"),
        ("markdown", "**1 rule is unstable**"),
    ] {
        let report = Command::new(built_binary("herma-conform"))
            .args(["report", "--from", results, "--as", form])
            .output()
            .unwrap();
        let (code, text) = said(report);
        assert_eq!(code, 3, "{form}: {text}");
        assert!(text.contains(shows), "{form}: {text}");
    }
    let subject = wrong_once(folder);
    let run = Command::new(built_binary("herma-conform"))
        .args(["run", "--seed", "3", "--histories", "6", "--operations", "30", "--jobs", "1"])
        .arg("--keep")
        .arg(folder.join("run"))
        .args(&subject)
        .output()
        .unwrap();
    let (code, text) = said(run);
    assert_eq!(code, 3, "{text}");
}
