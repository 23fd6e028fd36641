//! Tests of the meaning of lines in an ignore file, with one table of cases for each kind of line.
//!
//! The workspace tests (`tests/ignore.rs`) compare this code with git itself.

use super::*;

/// Whether a project with only this ignore file, at its root, excludes the path; a trailing slash
/// marks a directory.
fn excluded(text: &[u8], path: &str) -> bool {
    let (path, is_directory) = match path.strip_suffix('/') {
        Some(directory) => (directory, true),
        None => (path, false),
    };
    let file = IgnoreFile::parse(text);
    Excludes::new(&[], &[]).excludes(&[(b"", &file)], path.as_bytes(), is_directory)
}

/// Asserts that the pattern matches exactly the first paths.
fn check(pattern: &str, matched: &[&str], unmatched: &[&str]) {
    for path in matched {
        assert!(excluded(pattern.as_bytes(), path), "{pattern:?} takes {path:?}");
    }
    for path in unmatched {
        assert!(!excluded(pattern.as_bytes(), path), "{pattern:?} leaves {path:?}");
    }
}

#[test]
fn a_line_is_a_pattern_a_comment_or_nothing() {
    check("a\nb", &["a", "b"], &["c", "ab"]);
    check("#a", &[], &["a", "#a"]);
    check("\\#a", &["#a"], &["\\#a"]);
    check("\u{feff}a", &["a"], &["\u{feff}a"]);
    check("a\r\nb", &["a", "b"], &["a\r"]);
    check("a\0b", &["a"], &["a\0b"]);
    for text in ["", "\n\n", "# a\n   \n/\n!\n", "\u{feff}# a\r\n\r\n", "[a\n"] {
        check(text, &[], &["", "a", "#", "# a", "!", "[a", "\u{feff}"]);
    }
}

#[test]
fn blanks_at_the_end_count_only_after_a_backslash() {
    check("a  ", &["a"], &["a  "]);
    check("a b", &["a b"], &["a"]);
    check("a\\ ", &["a "], &["a", "a\\"]);
    check("a\\  ", &["a "], &["a", "a  "]);
    check("a \\b ", &["a b"], &["a", "a b "]);
    check("a\t", &["a\t"], &["a"]);
    check("a\\", &[], &["a", "a\\"]);
}

#[test]
fn the_last_line_that_matches_decides() {
    check("*.a\n!b.a", &["a.a"], &["b.a"]);
    check("!b.a\n*.a", &["b.a"], &[]);
    check("\\!a", &["!a"], &["a"]);
}

#[test]
fn slashes_anchor_a_pattern_or_restrict_it_to_directories() {
    check("a", &["a", "d/a", "d/e/a/"], &["d/ab", "a/b"]);
    check("/a", &["a", "a/"], &["d/a"]);
    check("d/a", &["d/a"], &["e/d/a", "a", "d/b/a"]);
    check("a/", &["a/", "d/a/"], &["a"]);
    check("/d/a/", &["d/a/"], &["d/a", "e/d/a/"]);
    check("*.log", &["a.log", "d/b.log", ".log"], &["a.logs", "a.log.b"]);
    check("/*.log", &["a.log"], &["d/b.log"]);
    check("d/*.log", &["d/a.log"], &["d/e/a.log", "a.log"]);
    check("a*c", &["abc", "ac", "d/abbc"], &["ab", "bac", "abcd"]);
}

#[test]
fn a_single_wildcard_matches_any_byte_except_a_slash() {
    check("/a?b", &["axb", "a?b"], &["a/b", "ab", "axxb"]);
    check("a?", &["ab"], &["a", "a\u{e9}"]);
    check("/a*b", &["ab", "axxb"], &["a/b", "ax/b", "abx"]);
    check("*", &["a", "d/a"], &[]);
    check("/*", &["a", "d/"], &["d/a"]);
    check("\\*", &["*"], &["a"]);
    check("a\\bc", &["abc"], &["a\\bc"]);
}

#[test]
fn two_stars_match_complete_components() {
    check("**/a", &["a", "d/a", "d/e/a"], &["da", "d/ba"]);
    check("a/**/b", &["a/b", "a/d/b", "a/d/e/b"], &["ab", "a/db", "d/a/b"]);
    check("a/**", &["a/b", "a/b/c"], &["a/", "ab", "b"]);
    check("a/***/b", &["a/b", "a/d/e/b"], &["ab"]);
    check("/**", &["a", "d/a"], &[]);
    check("a/**\\/b", &["a/d/b"], &["a/b"]);
    check("/**a", &["a", "ba"], &["d/a"]);
    check("d/a**b", &["d/ab", "d/axb"], &["d/a/b"]);
    check("/d?**b", &["dxb", "dxyb"], &["dx/b"]);
    check("/?/**x", &["d/x", "d/ax"], &["d/e/x"]);
    check("/?**/a", &["dx/a"], &["d/e/a", "da"]);
    // Git strips the literal prefix before it matches the stars.
    check("a**/b", &["ab", "ax/y/b", "a/b"], &["b"]);
    check("\\a**/b", &["ax/b"], &["ab", "ax/y/b"]);
}

#[test]
fn a_bracket_matches_one_byte_of_a_set() {
    check("[ab]", &["a", "b"], &["c", "ab", "[ab]"]);
    check("[a-c]", &["a", "b", "c"], &["d", "-"]);
    check("[!a]", &["b", "!"], &["a"]);
    check("[^a]", &["b", "^"], &["a"]);
    check("[a!]", &["a", "!"], &["b"]);
    check("[]a]", &["]", "a"], &["b"]);
    check("[!]a]", &["b"], &["]", "a"]);
    check("[\\]]", &["]"], &["\\"]);
    check("[a-]", &["a", "-"], &["b"]);
    check("[-a]", &["a", "-"], &["b"]);
    check("[a-c-e]", &["b", "-", "e"], &["d"]);
    check("[a-\\c]", &["b", "c"], &["\\", "-"]);
    check("/a[!b]b", &["axb"], &["a/b", "abb"]);
    check("/a[.-0]b", &["a.b", "a0b"], &["a/b"]);
    check("[a", &[], &["a", "[a"]);
    check("[a-", &[], &["a", "[a-"]);
    check("x[b]*", &["xb", "xbc"], &["xc"]);
}

#[test]
fn a_bracket_matches_the_named_classes() {
    let class = |name: &str, matched: &[u8], unmatched: &[u8]| {
        let pattern = format!("x[[:{name}:]]");
        for (bytes, wanted) in [(matched, true), (unmatched, false)] {
            for byte in bytes {
                let file = IgnoreFile::parse(pattern.as_bytes());
                let found =
                    Excludes::new(&[], &[]).excludes(&[(b"", &file)], &[b'x', *byte], false);
                assert_eq!(found, wanted, "{name} and {byte:#x}");
            }
        }
    };
    class("alnum", b"aZ5", b"-\xe9 ");
    class("alpha", b"aZ", b"5\xe9");
    class("blank", b" \t", b"\r\x0ba");
    class("cntrl", b"\x01\x7f", b" a");
    class("digit", b"07", b"a");
    class("graph", b"a!~", b" \x7f");
    class("lower", b"az", b"A5");
    class("print", b" a~", b"\x1f\x7f\xe9");
    class("punct", b"!~_", b"a5 /");
    class("space", b" \t\r", b"\x0b\x0ca");
    class("upper", b"AZ", b"a5");
    class("xdigit", b"09afAF", b"gG");
    check("[[:foo:]a]", &[], &["a", "f"]);
    check("[[:digit:]a]", &["5", "a"], &["b", ":", "]", "[", "d"]);
    check("[a[:digit:]-z]", &["5", "-", "z"], &["b"]);
    check("[\\a-[:alpha:]]", &["a]", ":]", "l]"], &["a", "[]", "b]"]);
    check("[[:a]", &["[", ":", "a"], &["b", "]"]);
    check("[[a]", &["[", "a"], &[":"]);
    check("[[]", &["["], &["]"]);
    check("[[a:]", &["[", "a", ":"], &["]"]);
}

#[test]
fn the_deepest_ignore_file_with_a_match_decides_and_the_default_excludes_come_last() {
    let layered = |defaults: &str, root: &str, deeper: &str, path: &str| {
        let root = root.as_bytes();
        let deeper = deeper.as_bytes();
        let files = [IgnoreFile::parse(root), IgnoreFile::parse(deeper)];
        let above = [(&b""[..], &files[0]), (&b"d"[..], &files[1])];
        Excludes::new(&[defaults], &["secret"]).excludes(&above, path.as_bytes(), false)
    };
    assert!(layered("a", "", "", "d/a"));
    assert!(!layered("a", "!a", "", "d/a"));
    assert!(layered("!a", "a", "", "d/a"));
    assert!(!layered("", "a", "!a", "d/a"));
    assert!(layered("", "!a", "a", "d/a"));
    assert!(layered("", "a", "b", "d/a"));
    assert!(!layered("", "", "a", "a"));
    assert!(!layered("", "", "a", "da/a"));
    assert!(layered("", "", "/a", "d/a"));
    assert!(!layered("", "", "/a", "d/e/a"));
    assert!(!layered("", "", "d/a", "d/a"));
    assert!(layered("!secret", "!secret", "!secret", "d/secret"));
    assert!(layered("", "!.git", "!.git", "d/.git"));
}

#[test]
fn with_repositories_treats_dot_git_like_any_other_name() {
    let excludes = Excludes::new(&["a"], &["b"]);
    assert!(excludes.excludes(&[], b"d/.git", false));
    let excludes = excludes.with_repositories();
    assert!(!excludes.excludes(&[], b"d/.git", true));
    assert!(excludes.excludes(&[], b"a", false) && excludes.excludes(&[], b"b", false));
}

#[test]
fn a_hostile_pattern_costs_no_exponential_time() {
    let directories = "**/a/".repeat(60) + "b";
    let stars = "*a".repeat(90) + "b";
    check(&directories, &[], &[&("a/".repeat(90) + "c")]);
    check(&stars, &[], &[&"a".repeat(200)]);
}

#[test]
fn names_reports_what_any_line_excludes_regardless_of_the_other_lines() {
    let names = |text: &str, path: &str| IgnoreFile::parse(text.as_bytes()).names(path.as_bytes());
    assert!(names("a\n!a", "a"));
    assert!(names("d/", "d/a"), "it is in a directory that is named");
    assert!(!names("d/", "d"), "a file is no directory");
    assert!(!names("!a", "a"));
    assert!(!names("a", "b"));
}
