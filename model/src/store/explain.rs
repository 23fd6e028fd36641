//! Explains a wrong checkpoint: finds the broken rule about capturing by the properties that the wrong
//! paths have and the right paths do not.

use crate::bytes::{ByteString, ancestors, is_plain};
use crate::capture::Captured;
use crate::rules::{self, RuleRef};
use crate::tree::Entry;

/// A path that differs in a checkpoint, with the stored entry, if any.
pub type Wrong = (ByteString, Option<Entry>);

/// The rule to blame for all of `wrong`, the paths in which a checkpoint differs from what should have
/// been captured: the rule that explains every path that is wrong in the same way as the first.
pub fn rule_for(captured: &Captured, wrong: &[Wrong]) -> RuleRef {
    let way = |(path, found): &Wrong| (captured.tree.contains_key(path), found.is_some());
    // A path that was not left out may follow from a missing one, such as an ignore file.
    let missing = wrong.iter().find(|(path, _)| captured.tree.contains_key(path));
    let Some(first) = missing.or(wrong.first()) else {
        return &rules::CAPTURE_INDEPENDENT;
    };
    let alike: Vec<Vec<RuleRef>> = wrong
        .iter()
        .filter(|wrong_path| way(wrong_path) == way(first))
        .map(|(path, found)| reasons(captured, path, found.as_ref(), wrong))
        .collect();
    let (path, found) = first;
    let first_reasons = reasons(captured, path, found.as_ref(), wrong);
    let mut shared =
        first_reasons.iter().filter(|rule| alike.iter().all(|reasons| reasons.contains(rule)));
    shared.next().or(first_reasons.first()).copied().unwrap_or(&rules::CAPTURE_INDEPENDENT)
}

/// Whether a rule explains why a single path is wrong, unlike the rules about all files and bytes.
pub fn is_specific(rule: RuleRef) -> bool {
    ![&rules::CAPTURE_BYTES, &rules::CAPTURE_INDEPENDENT].contains(&rule)
}

/// Every rule that may explain why one path is wrong, the likeliest first.
fn reasons(
    captured: &Captured,
    path: &ByteString,
    found: Option<&Entry>,
    wrong: &[Wrong],
) -> Vec<RuleRef> {
    let Some(entry) = captured.tree.get(path) else {
        return vec![why_left_out(captured, path).unwrap_or(&rules::CAPTURE_GITIGNORE)];
    };
    match found {
        None => left_out_despite(captured, path, entry, wrong),
        Some(found) => {
            let mut reasons = wrong_content(entry, found);
            let is_in_unit = captured.units.iter().any(|unit| unit.members.contains_key(path));
            if is_in_unit && reasons == [&rules::CAPTURE_BYTES] {
                reasons.insert(0, &rules::UNIT_CAPTURED);
            }
            reasons
        }
    }
}

/// The rule by which a path was left out, if it was; a path in a directory that is left out completely is
/// left out by the same rule.
pub(crate) fn why_left_out(captured: &Captured, path: &[u8]) -> Option<RuleRef> {
    let closed = |directory: &[u8]| captured.closed.get(directory);
    let rule = ancestors(path).find_map(closed).or(captured.left_out.get(path));
    rule.copied()
}

fn left_out_despite(
    captured: &Captured,
    path: &ByteString,
    entry: &Entry,
    wrong: &[Wrong],
) -> Vec<RuleRef> {
    let despite = captured.despite.get(path).into_iter().flatten().copied();
    let mut reasons: Vec<RuleRef> =
        despite.filter(|rule| !is_met_elsewhere(captured, rule, wrong)).collect();
    if matches!(entry, Entry::Link { .. }) {
        reasons.push(&rules::CAPTURE_SYMLINK);
    }
    if !is_plain(path) {
        reasons.push(&rules::CAPTURE_ANY_NAME);
    }
    reasons.push(&rules::CAPTURE_INDEPENDENT);
    reasons
}

/// Whether another path under the same rule was captured correctly: then a misreading of the rule does
/// not explain the failure. Ignore patterns are excepted, since each may be misread separately.
fn is_met_elsewhere(captured: &Captured, rule: RuleRef, wrong: &[Wrong]) -> bool {
    let uniform_rules = [&rules::CAPTURE_SIZE_CAP, &rules::CAPTURE_NESTED_REPOSITORY];
    let is_right = |path: &ByteString| wrong.iter().all(|(wrong_path, _)| wrong_path != path);
    uniform_rules.contains(&rule)
        && captured.despite.iter().any(|(path, rules)| is_right(path) && rules.contains(&rule))
}

fn wrong_content(entry: &Entry, found: &Entry) -> Vec<RuleRef> {
    match (entry, found) {
        (Entry::Link { .. }, _) => vec![&rules::CAPTURE_SYMLINK],
        (Entry::File { content, .. }, Entry::File { content: stored, .. }) if content == stored => {
            vec![&rules::CAPTURE_EXECUTABLE]
        }
        (Entry::File { content, .. }, _) if converted(content) == converted(found.bytes()) => {
            vec![&rules::CAPTURE_NO_CONVERSION]
        }
        _ => vec![&rules::CAPTURE_BYTES],
    }
}

/// The content of a file with normalized line ends and without expanded keywords.
fn converted(content: &[u8]) -> Vec<u8> {
    let mut normalized = Vec::new();
    let mut rest: Vec<u8> = content.iter().copied().filter(|byte| *byte != b'\r').collect();
    while let Some(start) = rest.windows(4).position(|window| window == b"$Id:") {
        let after = rest.split_off(start + 3);
        normalized.append(&mut rest);
        let end = after.iter().position(|byte| *byte == b'$' || *byte == b'\n');
        rest = after[end.unwrap_or(0)..].to_vec();
        if end.is_none() {
            break;
        }
    }
    normalized.append(&mut rest);
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> Entry {
        Entry::File { content: content.as_bytes().into(), executable: false }
    }

    fn captured(paths: &[(&str, &[RuleRef])]) -> Captured {
        let mut captured = Captured::default();
        for (path, despite) in paths {
            captured.tree.insert((*path).into(), file("x"));
            captured.despite.insert((*path).into(), despite.to_vec());
        }
        captured
    }

    fn blamed(captured: &Captured, missing: &[&str]) -> &'static str {
        let missing: Vec<ByteString> = missing.iter().map(|path| (*path).into()).collect();
        let wrong: Vec<Wrong> = missing.into_iter().map(|path| (path, None)).collect();
        rule_for(captured, &wrong).id
    }

    #[test]
    fn rule_for_a_missing_path_is_a_rule_that_only_this_path_tests() {
        let captured = captured(&[("a", &[&rules::CAPTURE_SIZE_CAP]), ("b", &[]), ("*", &[])]);
        assert_eq!(blamed(&captured, &["a"]), "capture/size-cap");
        assert_eq!(blamed(&captured, &["b"]), "capture/independent");
        assert_eq!(blamed(&captured, &["*"]), "capture/any-name");
    }

    #[test]
    fn rule_for_a_missing_path_skips_a_rule_that_a_captured_path_tests_too() {
        let cap: &[RuleRef] = &[&rules::CAPTURE_SIZE_CAP];
        assert_eq!(blamed(&captured(&[("a", cap), ("b", cap)]), &["a"]), "capture/independent");
        assert_eq!(blamed(&captured(&[("a", cap), ("b", cap)]), &["a", "b"]), "capture/size-cap");
    }

    #[test]
    fn rule_for_several_missing_paths_is_one_that_all_of_them_test() {
        let captured = captured(&[("*", &[&rules::CAPTURE_SIZE_CAP]), ("?", &[])]);
        assert_eq!(blamed(&captured, &["*", "?"]), "capture/any-name");
    }

    #[test]
    fn wrong_content_is_a_conversion_where_only_line_ends_or_keywords_differ() {
        let reason = |expected, found| wrong_content(&file(expected), &file(found))[0].id;
        assert_eq!(reason("a\r\n", "a\n"), "capture/no-conversion");
        assert_eq!(reason("$Id: x $\n", "$Id$\n"), "capture/no-conversion");
        assert_eq!(reason("a\n", "a\r\n"), "capture/no-conversion");
        assert_eq!(reason("a\r\n", "b\r\n"), "capture/bytes");
        assert_eq!(reason("$Id: x", "$Id: y"), "capture/bytes");
    }

    #[test]
    fn rule_for_one_wrong_path_depends_on_its_type_name_and_content() {
        let link = |target: &str| Entry::Link { target: target.as_bytes().into() };
        let program =
            |content: &str| Entry::File { content: content.as_bytes().into(), executable: true };
        for (path, entry, found, rule) in [
            ("a", link("b"), None, "capture/symlink"),
            ("a b", link("b"), None, "capture/symlink"),
            ("a", link("b"), Some(file("x")), "capture/symlink"),
            ("a b", file("x"), None, "capture/any-name"),
            ("-a", file("x"), None, "capture/any-name"),
            ("a/B-1_2.c", file("x"), None, "capture/independent"),
            ("a", file("a\r\n"), None, "capture/independent"),
            ("a b", file("x"), Some(program("x")), "capture/executable"),
            ("a", file("x"), Some(program("y")), "capture/bytes"),
            ("a", file("x"), Some(link("y")), "capture/bytes"),
        ] {
            let mut captured = Captured::default();
            captured.tree.insert(path.into(), entry);
            let wrong = ByteString::from(path);
            assert_eq!(rule_for(&captured, &[(wrong, found)]).id, rule, "{path}");
        }
    }

    #[test]
    fn rule_for_an_extra_path_is_the_rule_that_leaves_it_or_its_directory_out() {
        let mut captured = Captured::default();
        captured.left_out.insert("a".into(), &rules::CAPTURE_SIZE_CAP);
        captured.closed.insert("d".into(), &rules::CAPTURE_DEFAULT_EXCLUDES);
        for (path, rule) in [
            ("a", "capture/size-cap"),
            ("d/x/y", "capture/default-excludes"),
            ("other", "capture/gitignore"),
        ] {
            let wrong = ByteString::from(path);
            assert_eq!(rule_for(&captured, &[(wrong, Some(file("x")))]).id, rule, "{path}");
        }
        // A missing path goes before an extra one, which may follow from it.
        captured.tree.insert("b".into(), file("x"));
        let extra = ByteString::from("a");
        let missing = ByteString::from("b");
        let wrong = [(extra, Some(file("x"))), (missing, None)];
        assert_eq!(rule_for(&captured, &wrong).id, "capture/independent");
    }

    #[test]
    fn is_specific_excludes_the_rules_about_all_files_and_bytes() {
        assert!(!is_specific(&rules::CAPTURE_BYTES) && !is_specific(&rules::CAPTURE_INDEPENDENT));
        assert!(is_specific(&rules::CAPTURE_SIZE_CAP));
    }
}
