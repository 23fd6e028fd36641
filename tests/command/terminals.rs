//! Terminals of few and of many columns, in a project with names in wide characters.

use crate::command::world::{CommandFixture, terminal_text};

/// How many columns a text takes, if its only wide characters are of East Asia, or pictures.
fn columns(text: &str) -> usize {
    let width = |character| if character >= '\u{2e80}' { 2 } else { 1 };
    text.chars().map(width).sum()
}

/// A project with two checkpoints and a file changed since.
fn wide_project() -> CommandFixture {
    let world = CommandFixture::new();
    let long = format!("{}.txt", "長い名前".repeat(7));
    let names = ["日本語.txt", "plain.txt", "src/설정 파일.toml", &long];
    for (content, reason) in
        [("one\n", "最初"), ("two\n", "変更の前に、全部のファイルを保存する ための一つ")]
    {
        names.iter().for_each(|name| world.write(name, content));
        let reason = [reason; 4].join(" ");
        world.checkpoint(&reason);
    }
    names.iter().for_each(|name| world.write(name, "three\n"));
    world
}

/// The column in which a word begins, in each line that has it after another.
fn starts(text: &str, word: &str) -> Vec<usize> {
    let start = |line: &str| {
        line.find(word)
            .map(|start| &line[..start])
            .filter(|before| !before.trim().is_empty())
            .map(columns)
    };
    text.lines().filter_map(start).collect()
}

#[test]
fn no_line_is_wider_than_the_terminal_unless_it_is_a_word() {
    if !CommandFixture::has_terminal() {
        return;
    }
    let world = wide_project();
    for width in [60, 200] {
        for words in [
            &["list"][..],
            &["list", "--help"],
            &["show", "1"],
            &["diff", "--stat"],
            &["log", "日本語.txt"],
            &["rollback", "2", "--dry-run"],
            &["doctor"],
            &["checkpoints", "status"],
            &["checkpoints", "excluded"],
            &["classify", "--", "rm 日本語.txt > plain.txt"],
            &["cat", "1", "日本語の名前/ではない ファイル.txt"],
            &["rollback", "99"],
            &["rollback", "1", "plain.txt", "--dry"],
            &["checkpoint", "--reason", "-日本語 日本語 日本語 日本語"],
            &["frobnicate"],
            &["man", "frobnicate"],
        ] {
            let text = terminal_text(world.on_terminal(width, words));
            assert!(!text.is_empty(), "{words:?}");
            for line in text.lines() {
                let is_word = !line.trim().contains(' ');
                // It is copied as one line.
                let is_command = line.starts_with("  herma ") && !line.trim().contains("  ");
                assert!(
                    columns(line) <= width || is_word || is_command,
                    "{words:?} at {width}: {line:?}\n{text}"
                );
            }
        }
    }
}

#[test]
fn columns_after_names_with_wide_characters_begin_below_each_other() {
    if !CommandFixture::has_terminal() {
        return;
    }
    let world = wide_project();
    let other = world.home().join("プロジェクト");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("a"), "a").unwrap();
    world.herma(&["checkpoint", other.to_str().unwrap()]).done();
    for width in [60, 200] {
        let text = |words: &[&str]| terminal_text(world.on_terminal(width, words));
        let stat = text(&["diff", "--stat"]);
        // At 60 columns the longest name leaves no room.
        let rows = if width == 60 { 3 } else { 4 };
        let begin = starts(&stat, " | ");
        assert_eq!(begin.len(), rows, "{stat}");
        assert!(begin.iter().all(|column| *column == begin[0]), "{stat}");
        let status = text(&["checkpoints", "status"]);
        let begin = starts(&status, "ok");
        assert_eq!(begin, [begin[0]; 2], "{status}");
        assert!(starts(&status, "STATE") == begin[..1], "{status}");
    }
}
