//! Which commands count as ones that change files, and what is said of them.

use crate::command::world::{World, agreed};
use herma_core::triggers::reasons;

/// The commands of the list, each with whether it changes files. A command goes on over lines that open
/// with none of the marks.
fn commands() -> Vec<(bool, String)> {
    let mut all: Vec<(bool, String)> = Vec::new();
    for line in include_str!("triggers/commands.txt").lines() {
        match (line.as_bytes().first(), all.last_mut()) {
            (Some(b'#'), _) => {}
            (Some(mark @ (b'+' | b'-')), _) => {
                all.push((*mark == b'+', line.get(2..).unwrap_or_default().to_owned()));
            }
            (_, Some((_, before))) => *before += &format!("\n{line}"),
            (_, None) => panic!("the list begins with {line:?}"),
        }
    }
    all
}

#[test]
fn every_command_of_the_list_is_classified_and_says_why() {
    let mut told = String::new();
    let mut wrong = Vec::new();
    for (destructive, command) in commands() {
        let found = reasons(&command);
        let said =
            found.iter().map(|one| format!("{}: `{}`", one.why, &command[one.range.clone()]));
        let said = said.collect::<Vec<_>>().join("; ");
        if found.is_empty() == destructive {
            wrong.push(format!("{command}: {said}"));
        }
        told += &format!("{command}\n    {}\n", if said.is_empty() { "-" } else { &said });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("triggers-commands", told));
}

#[test]
fn no_text_makes_it_panic_or_takes_long() {
    let deep = "$(".repeat(3_000);
    let long = "rm x; ".repeat(20_000);
    let nested = "eval ".repeat(5_000);
    for text in
        ["", "\0", "\u{fffd}", "'", "\"", "$(", "((((", "<<", "a\\", "é > ü", &deep, &long, &nested]
    {
        let begun = std::time::Instant::now();
        for one in reasons(text) {
            assert!(text.get(one.range).is_some());
        }
        assert!(begun.elapsed().as_secs() < 10, "{} bytes took {:?}", text.len(), begun.elapsed());
    }
}

#[test]
fn the_command_explains_its_answer() {
    let world = World::new();
    let asked = [
        &["classify", "--", "cd src && sudo /bin/rm -r build 2>&1 > log"][..],
        &["classify", "--", "git", "-C", "src", "checkout", "main"],
        &["classify", "--", "bash -c 'ls; mv a b'"],
        &["classify", "--", "echo 'rm a -> b'"],
        &["classify", "--json", "--", "$TOOL x"],
        &["classify"],
    ];
    let said: Vec<_> = asked.iter().map(|words| world.herma(words)).collect();
    agreed("classify", &world.transcript(&said));
}
