//! Which rule about capturing is broken where a checkpoint does not hold what it should: what a
//! wrong path has of its own that explains it, and the right ones do not.

use crate::bytes::{ByteString, ancestors, is_plain};
use crate::capture::Captured;
use crate::rules::{self, RuleRef};
use crate::tree::Entry;

/// A path that a checkpoint does not hold as it should, with what it holds there, if anything.
pub type Wrong = (ByteString, Option<Entry>);

/// The rule to blame for all of `wrong`, the paths in which a checkpoint differs from what was to be
/// captured: what explains every path that is wrong in the same way as the first.
pub fn rule_for(captured: &Captured, wrong: &[Wrong]) -> RuleRef {
    let way = |(path, found): &Wrong| (captured.tree.contains_key(path), found.is_some());
    // What was not left out may follow from what was, such as an ignore file.
    let missing = wrong.iter().find(|one| captured.tree.contains_key(&one.0));
    let Some(first) = missing.or(wrong.first()) else {
        return &rules::CAPTURE_INDEPENDENT;
    };
    let alike: Vec<Vec<RuleRef>> = wrong
        .iter()
        .filter(|one| way(one) == way(first))
        .map(|one| reasons(captured, one, wrong))
        .collect();
    let of_the_first = reasons(captured, first, wrong);
    let mut shared =
        of_the_first.iter().filter(|rule| alike.iter().all(|other| other.contains(rule)));
    shared.next().or(of_the_first.first()).copied().unwrap_or(&rules::CAPTURE_INDEPENDENT)
}

/// Whether a rule says of one path why it is not as it should be, as the rules about any file and
/// its bytes do not.
pub fn is_specific(rule: RuleRef) -> bool {
    ![&rules::CAPTURE_BYTES, &rules::CAPTURE_INDEPENDENT].contains(&rule)
}

/// Every rule that may be why one path is wrong, the likeliest first.
fn reasons(captured: &Captured, (path, found): &Wrong, wrong: &[Wrong]) -> Vec<RuleRef> {
    let Some(entry) = captured.tree.get(path) else {
        return vec![why_left_out(captured, path).unwrap_or(&rules::CAPTURE_GITIGNORE)];
    };
    match found {
        None => left_out_despite(captured, path, entry, wrong),
        Some(found) => {
            let mut reasons = wrong_content(entry, found);
            let of_unit = captured.units.iter().any(|one| one.members.contains_key(path));
            if of_unit && reasons == [&rules::CAPTURE_BYTES] {
                reasons.insert(0, &rules::UNIT_CAPTURED);
            }
            reasons
        }
    }
}

/// The rule by which a path was left out, if it was; what lies in a place that is left out as a whole
/// is left out for the same reason.
pub(crate) fn why_left_out(captured: &Captured, path: &[u8]) -> Option<RuleRef> {
    let closed = |place: &[u8]| captured.closed.get(&ByteString::from(place));
    let rule = ancestors(path).find_map(closed).or(captured.left_out.get(&ByteString::from(path)));
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
/// not explain the failure. Ignore patterns are excepted, since each may be misread by itself.
fn is_met_elsewhere(captured: &Captured, rule: RuleRef, wrong: &[Wrong]) -> bool {
    let says_one_thing = [&rules::CAPTURE_SIZE_CAP, &rules::CAPTURE_NESTED_REPOSITORY];
    let right = |path: &ByteString| wrong.iter().all(|(other, _)| other != path);
    says_one_thing.contains(&rule)
        && captured.despite.iter().any(|(path, rules)| right(path) && rules.contains(&rule))
}

fn wrong_content(entry: &Entry, found: &Entry) -> Vec<RuleRef> {
    match (entry, found) {
        (Entry::Link { .. }, _) => vec![&rules::CAPTURE_SYMLINK],
        (Entry::File { content, .. }, Entry::File { content: other, .. }) if content == other => {
            vec![&rules::CAPTURE_EXECUTABLE]
        }
        (Entry::File { content, .. }, _) if converted(content) == converted(found.bytes()) => {
            vec![&rules::CAPTURE_NO_CONVERSION]
        }
        _ => vec![&rules::CAPTURE_BYTES],
    }
}

/// What is left of a file once its line ends are made the same and its keywords are taken back.
fn converted(content: &[u8]) -> Vec<u8> {
    let mut left = Vec::new();
    let mut rest: Vec<u8> = content.iter().copied().filter(|byte| *byte != b'\r').collect();
    while let Some(at) = rest.windows(4).position(|four| four == b"$Id:") {
        let after = rest.split_off(at + 3);
        left.append(&mut rest);
        let end = after.iter().position(|byte| *byte == b'$' || *byte == b'\n');
        rest = after[end.unwrap_or(0)..].to_vec();
        if end.is_none() {
            break;
        }
    }
    left.append(&mut rest);
    left
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
    fn a_missing_path_is_explained_by_what_it_has_of_its_own() {
        let all = captured(&[("a", &[&rules::CAPTURE_SIZE_CAP]), ("b", &[]), ("*", &[])]);
        assert_eq!(blamed(&all, &["a"]), "capture/size-cap");
        assert_eq!(blamed(&all, &["b"]), "capture/independent");
        assert_eq!(blamed(&all, &["*"]), "capture/any-name");
    }

    #[test]
    fn what_holds_of_a_captured_path_too_explains_nothing() {
        let cap: &[RuleRef] = &[&rules::CAPTURE_SIZE_CAP];
        assert_eq!(blamed(&captured(&[("a", cap), ("b", cap)]), &["a"]), "capture/independent");
        assert_eq!(blamed(&captured(&[("a", cap), ("b", cap)]), &["a", "b"]), "capture/size-cap");
    }

    #[test]
    fn the_reason_is_one_that_all_missing_paths_share() {
        let all = captured(&[("*", &[&rules::CAPTURE_SIZE_CAP]), ("?", &[])]);
        assert_eq!(blamed(&all, &["*", "?"]), "capture/any-name");
    }

    #[test]
    fn other_bytes_are_a_conversion_where_that_is_all_that_differs() {
        let reason = |due, found| wrong_content(&file(due), &file(found))[0].id;
        assert_eq!(reason("a\r\n", "a\n"), "capture/no-conversion");
        assert_eq!(reason("$Id: x $\n", "$Id$\n"), "capture/no-conversion");
        assert_eq!(reason("a\n", "a\r\n"), "capture/no-conversion");
        assert_eq!(reason("a\r\n", "b\r\n"), "capture/bytes");
        assert_eq!(reason("$Id: x", "$Id: y"), "capture/bytes");
    }

    #[test]
    fn one_wrong_path_is_blamed_on_what_is_wrong_with_it() {
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
    fn what_was_not_left_out_is_blamed_on_what_leaves_it_or_its_directory_out() {
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
        // What is missing goes before what should be: the one may follow from the other.
        captured.tree.insert("b".into(), file("x"));
        let (extra, missing) = (ByteString::from("a"), ByteString::from("b"));
        let wrong = [(extra, Some(file("x"))), (missing, None)];
        assert_eq!(rule_for(&captured, &wrong).id, "capture/independent");
    }

    #[test]
    fn rules_about_any_file_explain_nothing() {
        assert!(!is_specific(&rules::CAPTURE_BYTES) && !is_specific(&rules::CAPTURE_INDEPENDENT));
        assert!(is_specific(&rules::CAPTURE_SIZE_CAP));
    }
}
