//! Tests of a capture: which files it contains, which it leaves out, and which rules are counted as
//! tested by it.

use super::*;
use crate::edit::Edit;
use crate::files::SpecialKind;
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// The project of every test, and the base in it.
const PROJECT: &str = "work/p";
const BASE: &str = "work/p/base";

fn write(files: &mut Files, path: &str, content: &[u8]) {
    let path = ByteString::from(&*format!("{PROJECT}/{path}"));
    Edit::Write { path, content: content.into(), executable: false }.apply(files);
}

/// Files with these empty files in the project.
fn files(paths: &[&str]) -> Files {
    let mut files = Files::default();
    for path in paths {
        write(&mut files, path, b"");
    }
    files
}

fn special(path: &str, kind: SpecialKind) -> Edit {
    Edit::MakeSpecial { path: path.into(), kind }
}

fn capturer(lacks: &[&str]) -> Capturer {
    Capturer::new(&|capability| !lacks.contains(&capability))
}

/// The capture of a subject with every capability but these.
fn captured(files: &Files, lacks: &[&str], file_bytes_max: u64) -> Arc<Captured> {
    let bounds = Bounds { file_bytes_max, base: BASE.as_bytes() };
    capturer(lacks).capture(files, PROJECT.as_bytes(), &bounds)
}

fn by_default(files: &Files) -> Arc<Captured> {
    captured(files, &[], 0)
}

fn held(captured: &Captured) -> Vec<String> {
    captured.tree.keys().map(ByteString::to_string).collect()
}

/// The paths that were left out, each with its rule.
fn left_out(captured: &Captured) -> Vec<(String, &'static str)> {
    captured.left_out.iter().map(|(path, rule)| (path.to_string(), rule.id)).collect()
}

/// How many files test the rule.
fn tests_of(captured: &Captured, rule: RuleRef) -> usize {
    captured.tested.get(rule.id).map_or(0, |(_, count)| *count)
}

fn file(content: &str, executable: bool) -> Entry {
    Entry::File { content: ByteString::from(content.as_bytes()), executable }
}

fn link(target: &str) -> Entry {
    Entry::Link { target: ByteString::from(target.as_bytes()) }
}

#[test]
fn capture_holds_files_and_links_as_they_are() {
    let mut files = files(&["deep/er/file"]);
    let path = "work/p/run".into();
    let content = "#!".into();
    Edit::Write { path, content, executable: true }.apply(&mut files);
    Edit::Link { path: "work/p/link".into(), target: "to".into() }.apply(&mut files);
    Edit::MakeDirectory { path: "work/p/empty".into() }.apply(&mut files);
    special("work/p-beside", SpecialKind::Socket).apply(&mut files);
    let captured = by_default(&files);
    assert_eq!(held(&captured), ["deep/er/file", "link", "run"]);
    assert_eq!(captured.tree[&b"run"[..]], file("#!", true));
    assert_eq!(captured.tree[&b"link"[..]], link("to"));
    assert!(captured.left_out.is_empty());
    assert_eq!(tests_of(&captured, &rules::CAPTURE_INDEPENDENT), 3);
    assert_eq!(tests_of(&captured, &rules::CAPTURE_GITIGNORE), 0);
    assert_eq!(tests_of(&captured, &rules::CAPTURE_NESTED_REPOSITORY), 0);
    assert_eq!(tests_of(&captured, &rules::CAPTURE_SIZE_CAP), 1, "the only one that is not empty");
}

#[test]
fn capture_leaves_out_the_base_as_one_path() {
    let captured = by_default(&files(&["base/inside", "basement"]));
    assert_eq!(held(&captured), ["basement"]);
    assert_eq!(left_out(&captured), [("base".to_owned(), "scope/base-not-captured")]);
}

#[test]
fn capture_leaves_out_a_file_above_file_bytes_max_and_counts_a_file_of_that_size() {
    let mut files = files(&[]);
    for size in [2usize, 3, 4, 5] {
        write(&mut files, &size.to_string(), &vec![b'x'; size]);
    }
    let limited = captured(&files, &[], 4);
    assert_eq!(held(&limited), ["2", "3", "4"]);
    assert_eq!(left_out(&limited), [("5".to_owned(), "capture/size-cap")]);
    assert_eq!(tests_of(&limited, &rules::CAPTURE_SIZE_CAP), 2);
    let single_byte = captured(&files, &[], 1);
    assert_eq!(
        (held(&single_byte).len(), tests_of(&single_byte, &rules::CAPTURE_SIZE_CAP)),
        (0, 4)
    );
    write(&mut files, "empty", b"");
    let unlimited = captured(&files, &[], 0);
    assert_eq!(held(&unlimited), ["2", "3", "4", "5", "empty"]);
    // Every file that a limit of zero bytes would leave out tests that 0 is no limit.
    assert_eq!(tests_of(&unlimited, &rules::CAPTURE_SIZE_CAP), 4);
}

#[test]
fn capture_leaves_out_special_and_unreadable_files() {
    let mut files = files(&["secret", "plain"]);
    Edit::SetReadable { path: "work/p/secret".into(), readable: false }.apply(&mut files);
    special("work/p/socket", SpecialKind::Socket).apply(&mut files);
    let captured = by_default(&files);
    assert_eq!(held(&captured), ["plain"]);
    let expected = [("secret", "capture/unreadable"), ("socket", "capture/special")];
    assert_eq!(left_out(&captured), expected.map(|(path, rule)| (path.to_owned(), rule)));
    assert!(captured.unreadable().eq(&[ByteString::from("secret")]));
    assert_eq!(tests_of(&captured, &rules::CAPTURE_UNREADABLE), 1);
    assert_eq!(tests_of(&captured, &rules::CAPTURE_SPECIAL), 1);
}

#[test]
fn has_unrecorded_is_true_for_everything_in_an_unreadable_folder() {
    let mut files = files(&["d/e/f", "d/.gitignore", "plain"]);
    Edit::SetFolderReadable { path: "work/p/d".into(), readable: false }.apply(&mut files);
    let captured = by_default(&files);
    assert_eq!(held(&captured), ["plain"]);
    assert_eq!(left_out(&captured), [("d".to_owned(), "capture/unreadable")]);
    assert!(captured.unreadable().eq(&[ByteString::from("d")]));
    for (path, expected) in
        [("d", true), ("d/e/f", true), ("d/new", true), ("plain", false), ("de", false)]
    {
        assert_eq!(captured.has_unrecorded(path.as_bytes()), expected, "{path}");
    }
    // An ignored folder is not entered, whoever may list it.
    write(&mut files, ".gitignore", b"d/\n");
    let ignored = by_default(&files);
    assert_eq!(left_out(&ignored), []);
    assert!(!ignored.has_unrecorded(b"d/e/f"));
}

#[test]
fn capture_leaves_out_excluded_files_by_the_rule_for_their_name() {
    let mut files = files(&[".env", ".git/HEAD", "a.log", "deep/.git", "mine", "target/x", "z"]);
    write(&mut files, ".gitignore", b"mine");
    special("work/p/b.log", SpecialKind::Fifo).apply(&mut files);
    let captured = by_default(&files);
    assert_eq!(held(&captured), [".gitignore", "z"]);
    let expected = [
        (".env", "capture/secrets"),
        ("a.log", "capture/default-excludes"),
        ("b.log", "capture/default-excludes"),
        ("deep/.git", "capture/nested-repository"),
        ("mine", "capture/gitignore"),
    ];
    assert_eq!(left_out(&captured), expected.map(|(path, rule)| (path.to_owned(), rule)));
    // The two logs and the directory `target`.
    assert_eq!(tests_of(&captured, &rules::CAPTURE_DEFAULT_EXCLUDES), 3);
    assert_eq!(tests_of(&captured, &rules::CAPTURE_SPECIAL), 0);
    // The file that the ignore file excludes, and the two that it does not.
    assert_eq!(tests_of(&captured, &rules::CAPTURE_GITIGNORE), 3);
    // An ignore file could re-include the secret. The project's own repository is not nested; the file
    // `deep/.git` is, and makes its directory a nested repository.
    assert_eq!(tests_of(&captured, &rules::CAPTURE_SECRETS), 1);
    assert_eq!(tests_of(&captured, &rules::CAPTURE_NESTED_REPOSITORY), 1);
    let without_ignore_file = by_default(&self::files(&[".env", "a"]));
    assert_eq!(tests_of(&without_ignore_file, &rules::CAPTURE_SECRETS), 0);
}

#[test]
fn capture_counts_every_file_in_a_nested_repository_as_a_test() {
    let captured = by_default(&files(&["a/.git/HEAD", "a/b/c", "a/d", "e/f", "g"]));
    assert_eq!(held(&captured), ["a/b/c", "a/d", "e/f", "g"]);
    assert_eq!(tests_of(&captured, &rules::CAPTURE_NESTED_REPOSITORY), 3);
}

#[test]
fn capture_and_ignored_by_apply_deeper_ignore_files_first_and_only_below_them() {
    let mut files = files(&["d/x", "d/y", "d/e/x", "x", "y"]);
    write(&mut files, ".gitignore", b"x\ny");
    write(&mut files, "d/.gitignore", b"!x");
    write(&mut files, "d/e/.gitignore", b"/x");
    let captured = by_default(&files);
    assert_eq!(held(&captured), [".gitignore", "d/.gitignore", "d/e/.gitignore", "d/x"]);
    let capturer_with_all = capturer(&[]);
    for (path, ignored) in [
        ("d/x", false),
        ("d/y", true),
        ("d/e/x", true),
        ("x", true),
        ("z", false),
        ("target/z", true),
        ("d/target/deep/z", true),
        (".env", true),
        ("d/e", false),
    ] {
        assert_eq!(
            capturer_with_all.ignored_by(&captured.tree, path.as_bytes()),
            ignored,
            "{path}"
        );
    }
    let lacks = ["capture.gitignore"];
    assert_eq!(self::captured(&files, &lacks, 0).tree.len(), 8);
    assert!(!capturer(&lacks).ignored_by(&captured.tree, b"x"));
}

#[test]
fn capture_and_ignored_by_read_the_own_ignore_file_after_the_gitignore_of_its_directory() {
    let mut files = files(&["a", "b", "c", "dist/x", "made/x", ".env", "d/a", "d/b"]);
    write(&mut files, ".gitignore", b"a\nmade");
    write(&mut files, ".hermaignore", b"!a\n!made\n!dist\nb\n!.env");
    write(&mut files, "d/.gitignore", b"a\n!b");
    let captured = by_default(&files);
    let ignore_files = [".gitignore", ".hermaignore"];
    let kept = ["a", "c", "d/.gitignore", "d/b", "dist/x", "made/x"];
    assert_eq!(held(&captured), [&ignore_files[..], &kept].concat());
    let own = "capture/own-ignore-file";
    let expected = [(".env", "capture/secrets"), ("b", own), ("d/a", "capture/gitignore")];
    assert_eq!(left_out(&captured), expected.map(|(path, rule)| (path.to_owned(), rule)));
    let despite_own: Vec<String> = captured
        .despite
        .iter()
        .filter(|(_, rules)| rules.first().is_some_and(|rule| rule.id == own))
        .map(|(path, _)| path.to_string())
        .collect();
    assert_eq!(despite_own, ["a", "d/b", "dist/x", "made/x"]);
    let ignored_by =
        |capturer: &Capturer, path: &str| capturer.ignored_by(&captured.tree, path.as_bytes());
    for (path, by_both, by_git) in [
        ("a", false, true),
        ("b", true, false),
        ("d/b", false, false),
        ("d/a", true, true),
        ("made/y", false, true),
        ("dist/y", false, true),
        (".env", true, true),
    ] {
        assert_eq!(ignored_by(&capturer(&[]), path), by_both, "{path}");
        let lacking = capturer(&["capture.own_ignore_file"]);
        assert_eq!(ignored_by(&lacking, path), by_git, "{path}");
    }
    let named = capturer(&[]).with_own_ignore_file(&".other".into());
    assert!(ignored_by(&named, "a"));
}

#[test]
fn capture_ignores_an_ignore_file_that_is_a_link_or_cannot_be_read() {
    let mut unreadable = files(&["x"]);
    write(&mut unreadable, ".gitignore", b"x");
    Edit::SetReadable { path: "work/p/.gitignore".into(), readable: false }.apply(&mut unreadable);
    assert_eq!(held(&by_default(&unreadable)), ["x"]);
    let mut linked = files(&["x"]);
    write(&mut linked, "lines", b"x");
    Edit::Link { path: "work/p/.gitignore".into(), target: "lines".into() }.apply(&mut linked);
    let captured = by_default(&linked);
    assert_eq!(held(&captured), [".gitignore", "lines", "x"]);
    assert!(!capturer(&[]).ignored_by(&captured.tree, b"x"));
}

#[test]
fn capture_without_exclusion_capabilities_holds_what_the_rules_leave_out() {
    let mut files = files(&[".env", "target/x", "d/.git/HEAD"]);
    write(&mut files, ".gitignore", b"d");
    let repositories = "capture.no_repositories";
    let excludes = "capture.default_excludes";
    let lacks = ["capture.gitignore", excludes, repositories];
    let expected = [".env", ".gitignore", "d/.git/HEAD", "target/x"];
    assert_eq!(held(&captured(&files, &lacks, 0)), expected);
    assert_eq!(held(&captured(&files, &lacks[..2], 0)), [".env", ".gitignore", "target/x"]);
    assert_eq!(held(&captured(&files, &["capture.gitignore", repositories], 0)), [".gitignore"]);
}

/// The tested rules without the first, which every file tests.
fn also_tested(path: &str, entry: &Entry) -> Vec<&'static str> {
    let tested = content_rules(path.as_bytes(), entry);
    assert_eq!(tested[0], &rules::CAPTURE_INDEPENDENT);
    tested[1..].iter().map(|rule| rule.id).collect()
}

#[test]
fn content_rules_returns_the_rules_that_a_name_and_a_content_test() {
    let bytes = "capture/bytes";
    assert_eq!(also_tested("a/B-1_2.c", &file("x\n\r", false)), [bytes]);
    assert_eq!(also_tested("a", &file("", true)), [bytes, "capture/executable"]);
    for content in ["a\r\n", "$Id$"] {
        assert_eq!(also_tested("a", &file(content, false)), [bytes, "capture/no-conversion"]);
    }
    assert_eq!(also_tested("a", &file("\n\r$", false)), [bytes]);
    assert_eq!(also_tested("a", &link("b")), ["capture/symlink"]);
    for name in ["a b", "*", "\u{e9}", "a\n"] {
        assert_eq!(also_tested(name, &file("", false)), [bytes, "capture/any-name"], "{name:?}");
    }
}

#[test]
fn despite_records_only_paths_that_a_misreading_would_leave_out() {
    let mut files = files(&["empty", "small/.git/HEAD", "small/file", "x.pyc"]);
    write(&mut files, ".gitignore", b"!*.pyc\nnamed\n!named\n");
    write(&mut files, "named", b"");
    write(&mut files, "exact", b"1234");
    let captured = captured(&files, &[], 4);
    let despite = captured.despite.iter().map(|(path, rules)| {
        (path.to_string(), rules.iter().map(|rule| rule.id).collect::<Vec<_>>())
    });
    let expected = [
        ("exact", "capture/size-cap"),
        ("named", "capture/gitignore"),
        ("small/file", "capture/nested-repository"),
        ("x.pyc", "capture/default-excludes"),
    ];
    let expected = expected.map(|(path, rule)| (path.to_owned(), vec![rule]));
    assert_eq!(despite.filter(|(path, _)| path != ".gitignore").collect::<Vec<_>>(), expected);
    write(&mut files, "named", b"n");
    let by_default = by_default(&files);
    // No limit that is taken for one leaves out every file, and so explains less than a name.
    let named = by_default.despite[&ByteString::from("named")].iter().map(|rule| rule.id);
    assert_eq!(named.collect::<Vec<_>>(), ["capture/gitignore", "capture/size-cap"]);
    assert!(by_default.despite.contains_key(&ByteString::from("exact")), "there is no cap");
    assert!(!by_default.despite.contains_key(&ByteString::from("empty")));
}

/// Edits of the project, each of which may change what is captured of other paths.
fn edits() -> Vec<Edit> {
    let path = |path: &str| ByteString::from(&*format!("{PROJECT}/{path}"));
    let write = |name: &str, content: &str| Edit::Write {
        path: path(name),
        content: content.into(),
        executable: false,
    };
    let rename = |from: &str, to: &str| Edit::Rename { from: path(from), to: path(to) };
    vec![
        write("f", "f"),
        write("f", "\r\n$Id$"),
        write("d/f", "longer than the limit"),
        write("d", "a file"),
        write("d/e/f", ""),
        write("build/f", "f"),
        write("base/f", "f"),
        write(".gitignore", "*.log\n!.env\n"),
        write("d/.gitignore", "e\nf\n"),
        write("x.log", "a log"),
        write(".env", "a secret"),
        write("d/.git/HEAD", "main"),
        write("data", "SQLite format 3\0"),
        write("data-wal", "a log"),
        Edit::Write {
            path: path("d/db-wal"),
            content: b"\x37\x7f\x06\x82"[..].into(),
            executable: false,
        },
        Edit::SetPermissions { path: path("f"), bits: 0o700 },
        Edit::SetFolderPermissions { path: path("d"), bits: 0o700 },
        Edit::SetFolderPermissions { path: PROJECT.into(), bits: 0o750 },
        Edit::SetFolderReadable { path: path("d"), readable: false },
        Edit::SetReadable { path: path("f"), readable: false },
        Edit::Link { path: path("d/e"), target: "f".into() },
        Edit::MakeSpecial { path: path("d/f"), kind: SpecialKind::Fifo },
        Edit::MakeDirectory { path: path("d/e/f") },
        rename("d", "n/d"),
        rename("d/e", "build"),
        Edit::Remove { path: path("d") },
        Edit::Remove { path: path("d/.gitignore") },
        Edit::Write { path: "elsewhere".into(), content: "f".into(), executable: false },
    ]
}

#[test]
fn a_capture_after_edits_is_that_of_the_same_files_captured_for_the_first_time() {
    for (first, second) in
        edits().iter().flat_map(|first| edits().into_iter().map(move |second| (first, second)))
    {
        let capturer = capturer(&[]);
        let mut files = files(&["f", "d/f", "d/e/f", "run.sh"]);
        for edit in [None, Some(first), Some(&second), Some(first)] {
            edit.map(|edit| edit.apply(&mut files));
            for file_bytes_max in [9, 0] {
                let bounds = Bounds { file_bytes_max, base: BASE.as_bytes() };
                let again = capturer.capture(&files, PROJECT.as_bytes(), &bounds);
                let new = captured(&files, &[], file_bytes_max);
                assert_eq!(format!("{again:#?}"), format!("{new:#?}"), "{first:?}, {second:?}");
            }
        }
    }
}
