//! Snapshots of every text of `herma-conform` that a user reads on the way to a verdict.
//!
//! Figures that depend on the generator, and times, are replaced by `#`.

use crate::docs::path_with_commands;
use herma_tests::built_binary;
use std::fs;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A checkpoint, a change, another checkpoint and a list: enough to reveal a list in the wrong order.
const HISTORY: &str = "operations:
- write: {path: work/alpha/a, content: one}
- checkpoint: {dir: work/alpha, reason: first}
- write: {path: work/alpha/a, content: two}
- checkpoint: {dir: work/alpha, reason: second}
- list: {dir: work/alpha}
";

/// An adapter with a bug that every list reveals.
const BUG: &str = "herma-conform adapter serve --bug list-in-wrong-order";

/// A folder in which commands are run as a user types them, and the transcript so far.
struct Session {
    folder: TempDir,
    transcript: String,
}

impl Session {
    fn new() -> Session {
        Session { folder: tempfile::tempdir().unwrap(), transcript: String::new() }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Runs a line in a shell, and returns its standard output.
    fn run(&mut self, line: &str) -> String {
        let binary = built_binary("herma-conform");
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(&self.folder)
            .env("PATH", path_with_commands(&[&binary]))
            // Help is as wide as the terminal.
            .env_remove("COLUMNS")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        self.transcript +=
            &format!("$ {line}\n{printed}{}", String::from_utf8(output.stderr).unwrap());
        match output.status.code() {
            Some(0) => {}
            code => self.transcript += &format!("[exit {}]\n", code.unwrap_or(-1)),
        }
        self.transcript.push('\n');
        printed
    }

    /// Compares the transcript with its snapshot.
    #[track_caller]
    fn assert_snapshot(&self, name: &str) {
        let folder = fs::canonicalize(&self.folder).unwrap();
        let transcript = self.transcript.replace(folder.to_str().unwrap(), "[folder]");
        // Progress is printed every second, so the number of lines depends on the machine.
        let prefixes = ["histories: ", "failures shortened: "];
        let is_progress = |line: &&str| {
            prefixes.iter().any(|prefix| line.starts_with(prefix)) || line.contains("searching")
        };
        let transcript = numbered_ids(&transcript);
        let lines = transcript.lines().filter(|line| !is_progress(line)).map(figures);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let text = lines.collect::<Vec<_>>().join("\n");
        settings.bind(|| insta::assert_snapshot!(format!("conform-{name}"), text));
    }
}

/// The text with every git object id replaced by its number in order of appearance.
fn numbered_ids(text: &str) -> String {
    let mut ids: Vec<&str> = Vec::new();
    let mut numbered = String::new();
    for word in text.split_inclusive(|character: char| !character.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|character: char| !character.is_ascii_alphanumeric());
        if bare.len() != 40 || !bare.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            numbered += word;
            continue;
        }
        let number = ids.iter().position(|id| *id == bare).unwrap_or_else(|| {
            ids.push(bare);
            ids.len() - 1
        });
        numbered += &format!("[id {}]{}", number + 1, &word[bare.len()..]);
    }
    numbered
}

/// Replaces the figures of a line by `#` if they depend on the generator or the machine.
fn figures(line: &str) -> String {
    const WITH: &[&str] = &[
        " checks",
        " histories",
        "% of",
        "% judged",
        "behaviours covered",
        "executions",
        " s</",
        "time=",
    ];
    if !WITH.iter().any(|part| line.contains(part)) || line.starts_with('$') {
        return line.to_owned();
    }
    let mut text = String::new();
    for character in line.chars() {
        match character {
            '0'..='9' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            '.' if text.ends_with('#') => {}
            character => text.push(character),
        }
    }
    text
}

#[test]
fn what_can_be_done_and_how() {
    let mut session = Session::new();
    for command in [
        "",
        "run ",
        "replay ",
        "export ",
        "gate ",
        "update ",
        "report ",
        "level ",
        "capabilities ",
        "adapter new ",
        "adapter check ",
    ] {
        session.run(&format!("herma-conform {command}--help"));
    }
    session.assert_snapshot("help");
}

#[test]
fn what_an_adapter_does_wrong() {
    let mut session = Session::new();
    session.run("herma-conform adapter check -- herma-conform adapter serve");
    session.run("herma-conform adapter check -- ./adapter");
    session.run("herma-conform adapter check -- sh -c 'echo Welcome; cat > /dev/null'");
    session.run("herma-conform adapter check");
    for hello in [
        r#"{"restore.exakt":true}"#,
        r#"{"undo":true}"#,
        r#"{"checkpoint":"yes"}"#,
        r#"{"checkpoint":true},"needs":["a moon"]"#,
    ] {
        let reply = format!(
            r#"{{"id":1,"ok":{{"protocol":1,"impl":{{"name":"x","version":"1"}},"capabilities":{hello}}}}}"#
        );
        session.write("hello", &format!("{reply}\n"));
        session
            .run("herma-conform adapter check -- sh -c 'read -r line; cat hello; cat > /dev/null'");
    }
    session.run("herma-conform adapter new --lang rust --for git");
    session.run("herma-conform adapter new --for zip");
    session.assert_snapshot("adapter-check");
}

#[test]
fn a_verdict_and_every_form_of_it() {
    let mut session = Session::new();
    session.run(&format!(
        "herma-conform run --seed 1 --histories 2 --cases-of list/ --jobs 1 -- {BUG}"
    ));
    for form in ["junit", "github", "markdown"] {
        session.run(&format!(
            "herma-conform report --from herma-failures/adapter/results.jsonl --as {form}"
        ));
    }
    session.run("herma-conform level --date 2026-01-31 herma-failures/adapter/results.jsonl");
    session.run("herma-conform level --delta herma-failures/adapter/results.jsonl herma-failures/adapter/results.jsonl");
    session.assert_snapshot("verdict");
}

#[test]
fn one_failure_to_look_at() {
    let mut session = Session::new();
    session.write("history.yaml", HISTORY);
    session.run(&format!("herma-conform replay history.yaml -- {BUG}"));
    session.run("herma-conform replay history.yaml core");
    session.run(&format!("herma-conform export --plain history.yaml -- {BUG}"));
    session.assert_snapshot("failure");
}

#[test]
fn a_gate_that_holds_one_that_does_not_and_one_that_needs_a_person() {
    let mut session = Session::new();
    session.write(
        "expected.toml",
        "schema = 2\nsubject = \"herma-core\"\nseeds = [1]\nhistories = 2\noperations = 30\n\
         cases_of = \"list/\"\njudged = 0\nmost = 0\n",
    );
    session.run(&format!("herma-conform gate --expect expected.toml -- {BUG}"));
    let from = "--from herma-failures/adapter/results.jsonl";
    session.run(&format!("herma-conform update --expect expected.toml {from} -- {BUG}"));
    session
        .run(&format!("herma-conform update --allow-new --expect expected.toml {from} -- {BUG}"));
    session.run("cat expected.toml");
    session.run(&format!("herma-conform gate --expect expected.toml {from} -- {BUG}"));
    session.run(
        "sed -i -e 's/^reason = \"\"/reason = \"oldest first is what we show\"/' -e '/^link/d' -e \
         '/^versions/i kind = \"by design\"' expected.toml",
    );
    session.run(&format!("herma-conform gate --expect expected.toml {from} -- {BUG}"));
    session.assert_snapshot("gate");
}

#[test]
fn what_is_refused_says_why_and_what_to_do() {
    let mut session = Session::new();
    for (name, text) in [
        ("field.yaml", "settings: {max_snapshots: many}\noperations: []\n"),
        ("operation.yaml", "operations:\n- chekpoint: {dir: work/alpha, reason: r}\n"),
        ("missing.yaml", "operations:\n- checkpoint: {dir: work/alpha}\n"),
        ("outside.yaml", "operations:\n- write: {path: /etc/passwd, content: x}\n"),
        ("broken.yaml", "operations: [\n"),
        ("broken.toml", "schema = 2\nsubject = 7\n"),
        ("results.jsonl", "{}\n"),
    ] {
        session.write(name, text);
    }
    for name in ["field", "operation", "missing", "outside", "broken", "nowhere"] {
        session.run(&format!("herma-conform replay {name}.yaml"));
    }
    for line in [
        "case check field.yaml",
        "run hermes",
        "run hermes-agent@9.9.9",
        "run --seed one",
        "run --time-budget soon",
        "run --shard 3/2",
        "run -- herma-conform adapter serve --bug list-in-wrong-ordr",
        "gate --expect broken.toml core",
        "gate --expect nowhere.toml core",
        "report --from results.jsonl",
        "report --from nowhere.jsonl",
        "adapters install nothing@1",
        "faults --requests two",
        "damage core --damages none",
        "bugs --only nothing",
    ] {
        session.run(&format!("herma-conform {line}"));
    }
    session.assert_snapshot("refused");
}
