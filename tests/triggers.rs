//! `reasons` and `herma classify`: which commands count as changing files, and the reported reasons.

use crate::command::world::{CommandFixture, assert_text};
use herma_core::triggers::reasons;
use herma_model::commands::composed::{self, Around, CONSTRUCTS, MENTIONS, RUNNERS, SHELLS};

/// The commands of a list, each with whether it counts as changing files. A line that starts with none of the
/// marks continues the command before it.
fn commands(text: &str) -> Vec<(bool, String)> {
    let mut commands: Vec<(bool, String)> = Vec::new();
    for line in text.lines() {
        match (line.as_bytes().first(), commands.last_mut()) {
            (Some(b'#'), _) => {}
            (Some(mark @ (b'+' | b'-' | b'~')), _) => {
                commands.push((*mark != b'-', line.get(2..).unwrap_or_default().to_owned()));
            }
            (_, Some((_, command))) => *command += &format!("\n{line}"),
            (_, None) => panic!("the list begins with {line:?}"),
        }
    }
    commands
}

#[test]
fn every_command_of_the_list_is_classified_and_says_why() {
    let mut told = String::new();
    let mut wrong = Vec::new();
    for (destructive, command) in commands(include_str!("triggers/commands.txt")) {
        let found = reasons(&command);
        let shown = found
            .iter()
            .map(|reason| format!("{}: `{}`", reason.why, &command[reason.range.clone()]));
        let shown = shown.collect::<Vec<_>>().join("; ");
        if found.is_empty() == destructive {
            wrong.push(format!("{command}: {shown}"));
        }
        told += &format!("{command}\n    {}\n", if shown.is_empty() { "-" } else { &shown });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("triggers-commands", told));
}

// rule: turn/safe-side
#[test]
fn commands_of_documentation_are_hardly_ever_missed() {
    let (changing, harmless): (Vec<_>, Vec<_>) = commands(include_str!("triggers/documented.txt"))
        .into_iter()
        .partition(|(is_yes, _)| *is_yes);
    let missed = changing.iter().filter(|(_, command)| reasons(command).is_empty()).count();
    let alarms = harmless.iter().filter(|(_, command)| !reasons(command).is_empty()).count();
    assert!(missed * 100 <= changing.len() * 3, "{missed} of {} are missed", changing.len());
    assert!(alarms * 2 <= harmless.len(), "{alarms} of {} are false alarms", harmless.len());
}

// rule: turn/safe-side
#[test]
fn every_command_of_the_grammar_is_classified_by_what_it_runs() {
    let all = |around: &'static [Around]| around.iter().map(Some).chain([None]);
    let inside = |around: Option<&Around>, command: &str| match around {
        Some(around) => around.of(command),
        None => Some(command.to_owned()),
    };
    let mut wrong = Vec::new();
    let mut classified = 0;
    for simple in composed::all() {
        for runner in all(RUNNERS) {
            for outer in all(SHELLS).chain(all(CONSTRUCTS)).chain(all(MENTIONS)) {
                let command = inside(runner, &simple).and_then(|command| inside(outer, &command));
                let Some(command) = command else { continue };
                classified += 1;
                if composed::changes_files(&command) != Some(!reasons(&command).is_empty()) {
                    wrong.push(command);
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {classified}: {wrong:#?}", wrong.len());
    assert!(classified > 2_000, "{classified}");
}

#[test]
fn reasons_neither_panics_nor_takes_long_on_any_text() {
    let deep = "$(".repeat(3_000);
    let long = "rm x; ".repeat(20_000);
    let nested = "eval ".repeat(5_000);
    for text in
        ["", "\0", "\u{fffd}", "'", "\"", "$(", "((((", "<<", "a\\", "é > ü", &deep, &long, &nested]
    {
        let start = std::time::Instant::now();
        for reason in reasons(text) {
            assert!(text.get(reason.range).is_some());
        }
        assert!(start.elapsed().as_secs() < 10, "{} bytes took {:?}", text.len(), start.elapsed());
    }
}

#[test]
fn the_command_explains_its_answer() {
    let world = CommandFixture::new();
    let commands = [
        &["classify", "--", "cd src && sudo /bin/rm -r build 2>&1 > log"][..],
        &["classify", "--", "git", "-C", "src", "checkout", "main"],
        &["classify", "--", "bash -c 'ls; mv a b'"],
        &["classify", "--", "echo 'rm a -> b'"],
        &["classify", "--json", "--", "$TOOL x"],
        &["classify"],
    ];
    let transcripts: Vec<_> = commands.iter().map(|words| world.herma(words)).collect();
    assert_text("classify", &world.transcript(&transcripts));
}
