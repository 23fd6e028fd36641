//! Each command that any output names can be typed as it stands, in the state in which it was printed, and does
//! what it was named for: it is no misspelling, and not refused.

use super::world::{CommandFixture, CommandOutput, binary};
use herma_core::text::shell_word;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::process::Command;

/// Names that a shell reads in another way, unless they are quoted.
const NAMES: &[&str] =
    &["a.txt", "with space", "it's", "-dash", "src/b", "$HOME", "ü", "u1", "undo"];

/// Commands that a user types. `{}` stands for the name of a file.
const COMMANDS: &[&str] = &[
    "herma checkpoint",
    "herma checkpoint --label tested",
    "herma rollback",
    "herma rollback 1",
    "herma rollback 2",
    "herma rollback u1",
    "herma rollback 9",
    "herma rollback 1 --exact",
    "herma rollback 1 --dry-run",
    "herma rollback 1 --exact --dry-run",
    "herma rollback 3 -- {}",
    "herma rollback 2 --dry-run -- {}",
    "herma rollback 3 --dry-run -- {}",
    "herma rollback show 1",
    "herma rollback diff 1",
    "herma rollback tested",
    "herma pin 1",
    "herma unpin 1",
    "herma undo",
    "herma undo --dry-run",
    "herma redo",
    "herma redo --dry-run",
    "herma doctor",
    "herma checkpoints",
    "herma checkpoints prune",
    "herma checkpoints verify",
];

#[derive(Clone, Debug)]
enum UserAction {
    /// Writes a file.
    Write(&'static str, u8),
    /// Removes a file, if it is there.
    Remove(&'static str),
    /// A command with the name of a file, and perhaps one of those that its output names, if it names any.
    Type(&'static str, &'static str, Option<Index>),
}

fn action() -> impl Strategy<Value = UserAction> {
    prop_oneof![
        3 => (select(NAMES), 0..3u8).prop_map(|(name, content)| UserAction::Write(name, content)),
        1 => select(NAMES).prop_map(UserAction::Remove),
        8 => (select(COMMANDS), select(NAMES), weighted(0.8, any::<Index>()))
            .prop_map(|(line, name, follow)| UserAction::Type(line, name, follow)),
    ]
}

/// The commands in a text: up to the end of the line, of the quotation or of the column.
fn named_commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        for (start, _) in line.match_indices("herma ") {
            let before = &line[..start];
            let is_first =
                before.trim_start().is_empty() || before.ends_with("`") || before.ends_with(": ");
            let end = if before.ends_with('`') { "`" } else { "   " };
            let command = line[start..].split(end).next().unwrap_or_default().trim_end();
            // A placeholder is for the reader to fill in; a complaint begins with the name of the program.
            let is_complete = !command.contains(['<', '…']);
            if is_first && is_complete {
                found.push(command.to_owned());
            }
        }
    }
    found
}

/// Runs a line in a shell.
fn typed(fixture: &CommandFixture, line: &str) -> CommandOutput {
    let mut shell = Command::new("/bin/sh");
    fixture.prepare(&mut shell);
    let folder = binary().parent().unwrap().display();
    shell.env("PATH", format!("{folder}:/usr/local/bin:/usr/bin:/bin"));
    CommandOutput::new(line.to_owned(), shell.args(["-c", line]).output().unwrap())
}

/// Types a line and returns what it prints; one that an output named must not be refused.
fn run(fixture: &CommandFixture, line: &str, is_named: bool) -> Result<String, TestCaseError> {
    let said = typed(fixture, line);
    let text = format!("{}{}", said.text(), said.stderr);
    prop_assert!(!text.contains("panicked"), "{line}: {text}");
    let is_misread = said.stderr.contains("Usage:") || said.stderr.contains("try 'herma");
    prop_assert!(!is_misread, "{line}: {text}");
    prop_assert!(!is_named || said.exit == Some(0), "{line}: {:?} {text}", said.exit);
    Ok(text)
}

fn edit(fixture: &CommandFixture, action: &UserAction) {
    match action {
        UserAction::Write(name, content) => fixture.write(name, content.to_string()),
        UserAction::Remove(name) if fixture.has(name) => fixture.remove(name),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn each_command_that_an_output_names_can_be_typed_at_once(actions in vec(action(), 1..16)) {
        let fixture = CommandFixture::new();
        for (name, content) in [("-dash", "0"), ("it's", "1"), ("a.txt", "2"), ("it's", "3")] {
            fixture.write(name, content);
            fixture.checkpoint("taken");
        }
        fixture.write("src/b c", "1");
        for action in actions {
            let UserAction::Type(line, name, follow) = action else {
                edit(&fixture, &action);
                continue;
            };
            let line = line.replace("{}", &shell_word(name.as_bytes()));
            let text = run(&fixture, &line, false)?;
            let named = named_commands(&text);
            if let Some(index) = follow.filter(|_| !named.is_empty()) {
                run(&fixture, &named[index.index(named.len())], true)?;
            }
        }
    }
}
