//! Tests of every form of the command, and of which word is refused in invalid ones.

use super::*;
use proptest::prelude::*;

fn asked(line: &str) -> Result<ParsedRollback, SyntaxError> {
    read(&Line::split(line.as_bytes())?)
}

fn task(line: &str) -> Task {
    asked(line).unwrap_or_else(|misread| panic!("{line}: {misread:?}")).task
}

/// The part of the line that the error points at, and its message.
fn blamed(line: &str) -> (String, String) {
    let misread = asked(line).expect_err(line);
    (line[misread.at].to_owned(), misread.message)
}

fn restore<'a>(target: &str, paths: impl IntoIterator<Item = &'a str>) -> Task {
    Task::Restore {
        target: target.into(),
        paths: paths.into_iter().map(Into::into).collect(),
        options: RestoreOptions::default(),
        dry_run: false,
        token: None,
    }
}

#[test]
fn read_accepts_every_form_of_the_usage() {
    assert_eq!(task(""), Task::List);
    assert_eq!(task("diff 2"), Task::Diff { target: b"2".to_vec() });
    assert_eq!(task("  1  "), restore("1", None));
    assert_eq!(task("4270a8c src/main.rs"), restore("4270a8c", Some("src/main.rs")));
    assert_eq!(task(r#"1 "my file.txt""#), restore("1", Some("my file.txt")));
    assert_eq!(task(r"1 my\ file.txt"), restore("1", Some("my file.txt")));
    assert_eq!(task("1 'it'\\''s'"), restore("1", Some("it's")));
    assert_eq!(task("1 -- --exact"), restore("1", Some("--exact")));
    assert_eq!(task("1 -- diff"), restore("1", Some("diff")));
    assert_eq!(task("1 ''"), restore("1", Some("")));
    assert_eq!(task("1 my file.txt src"), restore("1", ["my", "file.txt", "src"]));
    assert_eq!(task("--to 10m"), restore("@10m", None));
    assert_eq!(task("src --to=14:30 -- diff"), restore("@14:30", ["src", "diff"]));
    let Task::Restore { options, dry_run, token, .. } = task("--exact 1 --dry-run --force") else {
        panic!("no restore")
    };
    assert_eq!(
        (options, dry_run, token),
        (RestoreOptions { exact: true, force: true }, true, None)
    );
    let Task::Restore { token, .. } = task("1 --as-previewed=00112233445566ff") else {
        panic!("no restore")
    };
    assert_eq!(token.map(|token| token.to_string()), Some("00112233445566ff".to_owned()));
    for line in ["--help", "diff -h", "1 2 3 --help", "1 --exact a.txt --help"] {
        assert!(asked(line).unwrap().help, "{line}");
    }
    let asked = asked("--dir '/a b' --json diff 1").unwrap();
    assert_eq!((asked.dir, asked.json), (Some(b"/a b".to_vec()), true));
}

#[test]
fn read_refuses_an_ambiguous_line_and_names_both_meanings() {
    let (at, why) = blamed("1 diff");
    assert_eq!(at, "diff");
    assert!(why.contains("\"diff 1\" shows") && why.contains("\"1 ./diff\" restores"), "{why}");
}

#[test]
fn read_points_at_the_invalid_word() {
    let (word, message) = blamed("--to 10m 1");
    assert!(word == "1" && message.contains("instead of a checkpoint"), "{message}");
    assert_eq!(task("--to 10m ./1"), restore("@10m", ["./1"]));
    assert_eq!(task("--to 10m -- list"), restore("@10m", ["list"]));
    for (line, at, says) in [
        ("list --to 0s", "list", "list takes no --to"),
        ("--to 0s show", "show", "show takes no --to"),
        ("show 1 --to 0s", "show", "show takes no --to"),
        ("diff 1 --to 0s", "diff", "diff takes no --to"),
        ("undo --to 0s", "undo", "undo takes no --to"),
        ("redo --to 0s", "redo", "-- redo"),
        ("1 --exat", "--exat", "did you mean --exact?"),
        ("1 --dry", "--dry", "did you mean --dry-run?"),
        ("1 --zzz", "--zzz", "no option --zzz ("),
        ("--exact", "--exact", "only for a restore"),
        ("diff 1 --force", "--force", "only for a restore"),
        ("undo a.txt", "a.txt", "takes no path"),
        ("undo 1", "1", "takes no number: herma rollback 1"),
        ("undo --exact", "--exact", "what the rollback brought"),
        ("--to", "", "an age or a time"),
        ("--to 1m --to 2m", "--to", "twice"),
        ("diff 1 2", "2", "one checkpoint"),
        ("diff", "", "needs a checkpoint"),
        ("show", "", "needs a checkpoint"),
        ("show 1 2", "2", "one checkpoint"),
        ("list .", ".", "takes no path"),
        ("--dry-run", "--dry-run", "only for a restore"),
        ("diff 1 --as-previewed 0011223344556677", "0011223344556677", "only for a restore"),
        (
            "1 --dry-run --as-previewed 0011223344556677",
            "0011223344556677",
            "leave one of them out",
        ),
        ("1 --as-previewed 123", "123", "16 digits"),
        ("1 --as-previewed", "", "needs the token"),
        ("--dir", "", "needs a directory"),
        ("--dir a --dir b", "--dir", "twice"),
        ("1 --exact=yes", "--exact=yes", "takes no value"),
        ("1 'open", "'open", "not closed"),
        ("1 open\\", "\\", "backslash"),
    ] {
        let (found, why) = blamed(line);
        assert_eq!(found, at, "{line}");
        assert!(why.contains(says), "{line}: {why}");
    }
    let (_, why) = blamed("list -n 3");
    assert_eq!(why, "there is no option -n", "list takes no file");
}

proptest! {
    #[test]
    fn read_accepts_any_bytes_or_points_into_the_line(text in proptest::collection::vec(any::<u8>(), 0..40)) {
        let misread = match Line::split(&text) {
            Ok(line) => read(&line).err(),
            Err(misread) => Some(misread),
        };
        if let Some(misread) = misread {
            prop_assert!(misread.at.start <= misread.at.end && misread.at.end <= text.len());
        }
    }

    #[test]
    fn split_returns_the_words_that_of_words_quoted(words in proptest::collection::vec(".{0,8}", 0..6)) {
        let typed: Vec<std::ffi::OsString> = words.iter().map(Into::into).collect();
        let line = Line::of_words(&typed);
        prop_assert_eq!(Line::split(&line.text).unwrap(), line);
    }
}

#[test]
fn split_unescapes_only_quotes_and_backslashes_within_double_quotes() {
    let line = Line::split(br#"1 "a \"b\\ c\d""#).unwrap();
    assert_eq!(line.words[1].bytes, br#"a "b\ c\d"#);
}
