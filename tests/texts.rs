//! Every text of `herma-conform` that stands between a person and a verdict, as it was agreed on.
//!
//! Figures that follow from what the generator draws, and times, are replaced by `#`.

use crate::docs::with_commands;
use herma_tests::built_binary;
use std::fs;
use std::process::Command;
use tempfile::TempDir;

/// A checkpoint, a change and another checkpoint, listed: enough for a list in the wrong order.
const HISTORY: &str = "operations:
- write: {path: work/alpha/a, content: one}
- checkpoint: {dir: work/alpha, reason: first}
- write: {path: work/alpha/a, content: two}
- checkpoint: {dir: work/alpha, reason: second}
- list: {dir: work/alpha}
";

/// A bug that every list shows.
const BUG: &str = "herma-conform adapter serve --bug list-in-wrong-order";

/// A folder in which commands are run as a person types them, and what they said so far.
struct Session {
    folder: TempDir,
    said: String,
}

impl Session {
    fn new() -> Session {
        Session { folder: tempfile::tempdir().unwrap(), said: String::new() }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    /// Runs a line in a shell, and answers what it printed.
    fn run(&mut self, line: &str) -> String {
        let binary = built_binary("herma-conform");
        let ended = Command::new("sh")
            .args(["-c", line])
            .current_dir(&self.folder)
            .env("PATH", with_commands(&[&binary]))
            .output()
            .unwrap();
        let printed = String::from_utf8(ended.stdout).unwrap();
        self.said += &format!("$ {line}\n{printed}{}", String::from_utf8(ended.stderr).unwrap());
        match ended.status.code() {
            Some(0) => {}
            code => self.said += &format!("[exit {}]\n", code.unwrap_or(-1)),
        }
        self.said.push('\n');
        printed
    }

    /// Compares all that was said with what was agreed on.
    #[track_caller]
    fn agreed(&self, name: &str) {
        let folder = fs::canonicalize(&self.folder).unwrap();
        let said = self.said.replace(folder.to_str().unwrap(), "[folder]");
        // How far a run is gets told by the second, so how often depends on the machine.
        let begins = ["histories: ", "failures shortened: "];
        let is_progress = |line: &&str| {
            begins.iter().any(|begin| line.starts_with(begin)) || line.contains("searching")
        };
        let said = numbered_ids(&said);
        let lines = said.lines().filter(|line| !is_progress(line)).map(figures);
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        let text = lines.collect::<Vec<_>>().join("\n");
        settings.bind(|| insta::assert_snapshot!(format!("conform-{name}"), text));
    }
}

/// The text with every id of git replaced by its number in the order of appearance.
fn numbered_ids(text: &str) -> String {
    let mut ids: Vec<&str> = Vec::new();
    let mut numbered = String::new();
    for word in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
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

/// A line whose figures change with the generator or the machine, without them.
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
            other => text.push(other),
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
        "capabilities ",
        "adapter new ",
        "adapter check ",
    ] {
        session.run(&format!("herma-conform {command}--help"));
    }
    session.agreed("help");
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
    session.agreed("adapter-check");
}

#[test]
fn a_verdict_and_every_form_of_it() {
    let mut session = Session::new();
    session.run(&format!("herma-conform run --seed 1 --histories 2 --jobs 1 -- {BUG}"));
    for form in ["junit", "github", "markdown"] {
        session.run(&format!(
            "herma-conform report --from herma-failures/adapter/results.jsonl --as {form}"
        ));
    }
    session.agreed("verdict");
}

#[test]
fn one_failure_to_look_at() {
    let mut session = Session::new();
    session.write("history.yaml", HISTORY);
    session.run(&format!("herma-conform replay history.yaml -- {BUG}"));
    session.run("herma-conform replay history.yaml core");
    session.run(&format!("herma-conform export --plain history.yaml -- {BUG}"));
    session.agreed("failure");
}

#[test]
fn a_gate_that_holds_one_that_does_not_and_one_that_needs_a_person() {
    let mut session = Session::new();
    session.write(
        "expected.toml",
        "schema = 2\nsubject = \"herma-core\"\nseeds = [1]\nhistories = 2\noperations = 30\n\
         judged = 0\nmost = 0\n",
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
    session.agreed("gate");
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
    session.agreed("refused");
}
