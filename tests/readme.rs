//! Runs the commands of the README and of the page of `herma` in their order, in a temporary folder and home. A command that cannot be
//! run in a test is listed with the reason.

use crate::docs::{blocks, path_with_commands, root};
use herma_tests::built_binary;
use std::fs;
use std::process::Command;

/// How the test runs a command of the README.
enum Run {
    /// With these additional words, which make it short; it exits with this code.
    With(&'static str, i32),
    /// Not run, for this reason.
    Not(&'static str),
}
use Run::{Not, With};

const PACKAGES: Run = Not("it needs a package from a registry");

/// The beginning of each command, and how it is run; the first match counts.
const COMMANDS: &[(&str, Run)] = &[
    ("cargo", Not("it is how these tests were built")),
    ("herma-conform bugs --show", With(" list-in-wrong-order", 0)),
    ("herma-conform bugs", With(" list-in-wrong-order", 0)),
    // A step of CI checks all cases.
    ("herma-conform case check", With(" the-users-repository-stays-as-it-is.yaml", 0)),
    ("herma-conform case", With("", 0)),
    ("herma-conform damage", With(" --seed 1 --damages 2", 0)),
    ("herma-conform faults", With(" --requests 1 --calls 2", 0)),
    ("herma-conform concurrent", With(" --seed 1 --histories 1", 0)),
    ("herma-conform cost", Not("it takes long without optimization; `cost` has tests of its own")),
    ("herma-conform run --workspace", With(" --seed 1 --histories 1", 0)),
    ("herma-conform adapter ", With("", 0)),
    ("herma-conform run -- python3", With(" --seed 1 --histories 2 --cases-of list/", 1)),
    ("herma-conform adapters list", With("", 0)),
    // The file expects nothing yet, and a person must add the reasons for what `update` adds.
    ("herma-conform gate --expect", With("", 1)),
    ("herma-conform update", With("", 3)),
    ("herma-conform merge", PACKAGES),
    ("herma-conform level --delta", PACKAGES),
    ("herma-conform level", With("", 0)),
    ("herma-conform gate --from", PACKAGES),
    ("herma-conform", PACKAGES),
    ("printf", With("", 0)),
    ("herma ", With("", 0)),
];

/// The indented lines of a page that are commands, without their trailing comments.
fn commands(page: &str) -> Vec<String> {
    let indented = page.lines().filter_map(|line| line.strip_prefix("    "));
    let typed = indented.map(|line| line.strip_prefix("$ ").unwrap_or(line));
    let is_command = |line: &&str| {
        ["cargo ", "herma-conform", "herma ", "printf "]
            .iter()
            .any(|program| line.starts_with(program))
    };
    // Output also starts with the name of the program.
    let is_output = |line: &&str| line.starts_with("herma-core");
    let commands = typed.filter(|line| is_command(line) && !is_output(line));
    commands.map(|line| line.split(" # ").next().unwrap_or(line).trim_end().to_owned()).collect()
}

#[test]
fn every_command_of_the_readme_exits_as_listed_in_commands() {
    let pages =
        ["README.md", "docs/herma.md"].map(|page| fs::read_to_string(root().join(page)).unwrap());
    let page = pages.concat();
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("src/project");
    fs::create_dir_all(project.join("src")).unwrap();
    fs::write(project.join("src/a.py"), "a = 1\n").unwrap();
    // The README plays a session file of the repository.
    fs::create_dir(project.join("docs")).unwrap();
    let script = "docs/whole-agent.session";
    fs::copy(root().join(script), project.join(script)).unwrap();
    let plan = blocks(&page).into_iter().find(|(words, _)| words == &["toml"]).unwrap().1;
    // Few histories, so that the gate ends soon.
    let short = plan.replace("histories = 60 ", "cases_of = \"list/\"\nhistories = 1 ");
    assert_ne!(plan, short);
    fs::write(folder.path().join("expected.toml"), short).unwrap();
    let case = "the-users-repository-stays-as-it-is.yaml";
    let cases = root().join("harness/cases/isolation");
    fs::copy(cases.join(case), folder.path().join(case)).unwrap();
    let herma = built_binary("herma");
    let conform = built_binary("herma-conform");
    let mut ran = 0;
    // The pages assume that an agent has changed something.
    let mut agent = Command::new(&herma);
    agent
        .arg("checkpoint")
        .current_dir(&project)
        .env("HOME", folder.path())
        .env_remove("HERMES_HOME");
    assert!(agent.status().unwrap().success());
    for command in commands(&page) {
        let entry = COMMANDS.iter().find(|(prefix, _)| command.starts_with(prefix));
        let (_, run) = entry.unwrap_or_else(|| panic!("nothing is said of `{command}`"));
        let (extra_words, code) = match run {
            Not(reason) => {
                eprintln!("not run: {command} ({reason})");
                continue;
            }
            With(extra_words, code) => (extra_words, *code),
        };
        let in_project = command.starts_with("herma ") || command.starts_with("printf ");
        let mut shell = Command::new("bash");
        shell.args(["-c", &with_words(&command, extra_words)]);
        shell.current_dir(if in_project { &project } else { folder.path() });
        shell.env("PATH", path_with_commands(&[&herma, &conform])).env("HOME", folder.path());
        shell.env_remove("HERMES_HOME");
        let output = shell.output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{command}: {output:?}");
        if in_project {
            // The next command has a change to show.
            fs::write(project.join("src/a.py"), format!("a = {ran}\n")).unwrap();
        }
        ran += 1;
    }
    assert!(ran > 10, "{ran}");
}

/// The command with extra words, inserted before the words of an adapter or a redirection.
fn with_words(command: &str, extra_words: &str) -> String {
    let end = [" -- ", " > "].iter().filter_map(|mark| command.find(mark)).min();
    let (head, tail) = command.split_at(end.unwrap_or(command.len()));
    format!("{head}{extra_words}{tail}")
}
