//! The README's commands, run in the order in which they stand there, in a folder and a home of their
//! own. A command that nobody could run in a test is listed with the reason.

use crate::docs::{blocks, root, with_commands};
use herma_tests::built_binary;
use std::fs;
use std::process::Command;

/// How a command of the README is run here.
enum Run {
    /// As it stands, but for words that make it short; it ends with this code.
    With(&'static str, i32),
    /// Not at all, and why.
    Not(&'static str),
}
use Run::{Not, With};

const PACKAGES: Run = Not("it needs a package from a registry");

/// The beginning of each command, and how it is run; the first that fits counts.
const COMMANDS: &[(&str, Run)] = &[
    ("cargo", Not("it is how these tests were built")),
    ("herma-conform bugs --show", With(" list-in-wrong-order", 0)),
    ("herma-conform bugs", With(" list-in-wrong-order", 0)),
    // Of all of them, it is a step of CI.
    ("herma-conform case check", With(" the-users-repository-stays-as-it-is.yaml", 0)),
    ("herma-conform case", With("", 0)),
    ("herma-conform damage", With(" --seed 1 --damages 2", 0)),
    ("herma-conform faults", With(" --requests 1 --calls 2", 0)),
    ("herma-conform concurrent", With(" --seed 1 --histories 1", 0)),
    ("herma-conform cost", Not("it takes long without optimization; `cost` has tests of its own")),
    ("herma-conform run --workspace", With(" --seed 1 --histories 1", 0)),
    ("herma-conform adapter ", With("", 0)),
    ("herma-conform run -- python3", With(" --seed 1 --histories 2", 1)),
    ("herma-conform adapters list", With("", 0)),
    // The file expects nothing yet, and of what is expected then a person has to write the reasons.
    ("herma-conform gate --expect", With("", 1)),
    ("herma-conform update", With("", 3)),
    ("herma-conform merge", PACKAGES),
    ("herma-conform gate --from", PACKAGES),
    ("herma-conform", PACKAGES),
    ("printf", With("", 0)),
    ("herma ", With("", 0)),
];

/// The indented lines of a page that are commands, without what is said of them.
fn commands(page: &str) -> Vec<String> {
    let indented = page.lines().filter_map(|line| line.strip_prefix("    "));
    let typed = indented.map(|line| line.strip_prefix("$ ").unwrap_or(line));
    let is_one = |line: &&str| {
        ["cargo ", "herma-conform", "herma ", "printf "].iter().any(|one| line.starts_with(one))
    };
    // The first lines of an output name the program, too.
    let is_output = |line: &&str| line.starts_with("herma-core");
    let all = typed.filter(|line| is_one(line) && !is_output(line));
    all.map(|line| line.split(" # ").next().unwrap_or(line).trim_end().to_owned()).collect()
}

#[test]
fn every_command_of_the_readme_does_what_it_is_said_to_do() {
    let page = fs::read_to_string(root().join("README.md")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("src/project");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::write(project.join("src/a.py"), "a = 1\n").unwrap();
    // What a command of the README plays stands in the tree.
    fs::create_dir(project.join("docs")).unwrap();
    let script = "docs/whole-agent.session";
    fs::copy(root().join(script), project.join(script)).unwrap();
    let plan = blocks(&page).into_iter().find(|(words, _)| words == &["toml"]).unwrap().1;
    // Few histories, so that it ends soon.
    let short = plan.replace("histories = 60 ", "histories = 1 ");
    assert_ne!(plan, short);
    fs::write(folder.path().join("expected.toml"), short).unwrap();
    let case = "the-users-repository-stays-as-it-is.yaml";
    let cases = root().join("harness/cases/isolation");
    fs::copy(cases.join(case), folder.path().join(case)).unwrap();
    let (herma, conform) = (built_binary("herma"), built_binary("herma-conform"));
    let mut ran = 0;
    for command in commands(&page) {
        let found = COMMANDS.iter().find(|(begins, _)| command.starts_with(begins));
        let (_, run) = found.unwrap_or_else(|| panic!("nothing is said of `{command}`"));
        let (more, code) = match run {
            Not(why) => {
                eprintln!("not run: {command} ({why})");
                continue;
            }
            With(more, code) => (more, *code),
        };
        let own = command.starts_with("herma ") || command.starts_with("printf ");
        let mut shell = Command::new("bash");
        shell.args(["-c", &spelled(&command, more)]);
        shell.current_dir(if own { &project } else { folder.path() });
        shell.env("PATH", with_commands(&[&herma, &conform])).env("HOME", folder.path());
        shell.env_remove("HERMES_HOME");
        let ended = shell.output().unwrap();
        assert_eq!(ended.status.code(), Some(code), "{command}: {ended:?}");
        if own {
            // There is something to see at the next one.
            fs::write(project.join("src/a.py"), format!("a = {ran}\n")).unwrap();
        }
        ran += 1;
    }
    assert!(ran > 10, "{ran}");
}

/// The command with more words, which stand before those of an adapter or a file to write.
fn spelled(command: &str, more: &str) -> String {
    let end = [" -- ", " > "].iter().filter_map(|mark| command.find(mark)).min();
    let (own, rest) = command.split_at(end.unwrap_or(command.len()));
    format!("{own}{more}{rest}")
}
