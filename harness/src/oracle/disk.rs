//! The second judge: are the files what the model says they are, and were they left alone where
//! nothing was to change?

use super::{Checks, Judge, Kind, Mismatch, mistaken};
use crate::sandbox::manifest::{Manifest, Outline};
use herma_model::answer::Changed;
use herma_model::bytes::{below, file_name, parent};
use herma_model::capture;
use herma_model::expected::{CheckpointKind, Expected, ExpectedRestore};
use herma_model::rules::{self, RuleRef};
use herma_model::{Answer, ByteString, Entry, Node, Request, World};
use std::collections::BTreeSet;
use std::mem::discriminant;

const JUDGE: Judge = Judge::Disk;
/// As many differing paths are told.
const TREE_LINES_MAX: usize = 12;

/// What is compared after one request.
pub struct Look<'a> {
    /// What was asked.
    pub request: &'a Request,
    /// What the model expected.
    pub expected: &'a Expected,
    /// What the subject said.
    pub answer: &'a Answer,
    /// The disk before.
    pub before: &'a Manifest,
    /// The disk after.
    pub after: &'a Manifest,
    /// The store before and after, where it may not have changed.
    pub store: Option<&'a (Outline, Outline)>,
}

impl Look<'_> {
    /// What a change is where there should be none.
    fn blame(&self) -> Kind {
        let unchanged = matches!(self.answer, Answer::Refused { changed: Changed::None, .. });
        if unchanged { Kind::Dishonest } else { Kind::Fail }
    }
}

/// Compares the disk with the world, which already is as a correct subject leaves it.
pub fn judge(world: &mut World, look: &Look<'_>, checks: &mut Checks) {
    if let Some((before, after)) = look.store {
        let rule = unchanged_store_rule(look);
        // A refusal may leave its mark in the bookkeeping, such as when a project was last used,
        // but not in what is stored.
        let refused = matches!(look.expected, Expected::Refused(_));
        let counts = |path: &ByteString| !refused || is_history(path);
        let changed = |path: &&ByteString| counts(path) && before.get(*path) != after.get(*path);
        let paths: Vec<_> = before.keys().chain(after.keys()).filter(changed).collect();
        checks.check(JUDGE, rule, paths.is_empty(), || {
            let found = format!("changed in the store: {paths:?}");
            Mismatch::new("the store changed", "the store as it was", found).kind(look.blame())
        });
    }
    match look.expected {
        Expected::Restore(restore) => {
            // No rule says what becomes of empty directories.
            let (seen, captured) = (&look.after.files, world.captures_repositories());
            world.files.adopt_empty_directories(&restore.project, seen, captured);
            let exact = matches!(look.request, Request::Restore { exact: true, .. });
            let differing = differing(world, look, |path| gravity(restore, world, look, path));
            let rule = mistaken::rule(restore, world, look, &differing);
            let rule_for = |path: &ByteString| {
                rule.unwrap_or_else(|| restore_rule(restore, exact, look, world, path))
            };
            compare(world, look, &differing, rule_for, checks);
            count_restored(restore, look, checks);
        }
        expected => {
            let restores =
                matches!(look.request, Request::Restore { .. } | Request::RestoreFile { .. });
            let rule = match expected {
                Expected::Refused(_) if restores => &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
                _ => &rules::CAPTURE_READ_ONLY,
            };
            let differing = differing(world, look, |_| 0);
            let rule_for = |path: &ByteString| outside_rule(world, path).unwrap_or(rule);
            compare(world, look, &differing, rule_for, checks);
            let touched = look.before.modified != look.after.modified;
            checks.check(JUDGE, rule, !touched || checks.failed_here(), || {
                let same = |(path, time): &(&ByteString, &(i64, i64))| {
                    look.after.modified.get(*path) != Some(time)
                };
                let paths: Vec<_> = look.before.modified.iter().filter(same).collect();
                let found = format!("touched: {paths:?}");
                Mismatch::new("timestamps changed", "timestamps as they were", found)
                    .kind(look.blame())
            });
        }
    }
    checks.held(&rules::ISOLATION_HOME, 1);
    let is_repository = |path: &ByteString| file_name(path) == b".git";
    let repository = look.before.files.iter().any(|(path, _)| is_repository(path));
    checks.held(&rules::ISOLATION_USER_REPOSITORY, u64::from(repository));
}

/// Whether a path of the base is part of what is stored.
fn is_history(path: &[u8]) -> bool {
    [&b"store/refs/"[..], b"store/objects/", b"store/packed-refs"]
        .iter()
        .any(|part| path.starts_with(part))
}

fn unchanged_store_rule(look: &Look<'_>) -> RuleRef {
    match (look.expected, look.request) {
        (Expected::Refused(_), _) => &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
        (Expected::Checkpoint(take), _) if take.kind == CheckpointKind::Disabled => {
            &rules::TURN_DISABLED
        }
        _ => &rules::DIFF_LEAVES_STORE,
    }
}

/// The rule broken by a change of a path that no request may change.
fn outside_rule(world: &World, path: &[u8]) -> Option<RuleRef> {
    let in_repository = path.split(|byte| *byte == b'/').any(|name| name == b".git");
    if in_repository {
        return Some(&rules::ISOLATION_USER_REPOSITORY);
    }
    if path == b"hostile/mark-left" {
        return Some(&rules::ISOLATION_NO_SIGNING);
    }
    let home = world.canonical(b"~").unwrap_or_default();
    below(&home, path).is_some().then_some(&rules::ISOLATION_HOME)
}

/// Every path that is not as it should be, those first that weigh least.
fn differing<'a>(
    world: &'a World,
    look: &'a Look<'_>,
    weight: impl Fn(&ByteString) -> usize,
) -> Vec<&'a ByteString> {
    let (expected, found) = (&world.files, &look.after.files);
    if expected == found {
        return Vec::new();
    }
    let paths: BTreeSet<&ByteString> =
        expected.iter().chain(found.iter()).map(|(path, _)| path).collect();
    let differs = |path: &&ByteString| expected.get(path) != found.get(path);
    let mut differing: Vec<_> = paths.into_iter().filter(differs).collect();
    differing.sort_by_key(|path| weight(path));
    differing
}

/// What is wrong outside the project comes first, then what is of the wrong type: where a link was
/// followed, what it leads to is wrong as well.
fn gravity(restore: &ExpectedRestore, world: &World, look: &Look<'_>, path: &ByteString) -> usize {
    if below(&restore.project, path).is_none() {
        return 0;
    }
    let (due, found) = (world.files.get(path), look.after.files.get(path));
    let same_type = |(due, found)| discriminant::<Node>(due) == discriminant(found);
    if due.zip(found).is_none_or(same_type) { 2 } else { 1 }
}

fn compare(
    world: &World,
    look: &Look<'_>,
    differing: &[&ByteString],
    rule: impl Fn(&ByteString) -> RuleRef,
    checks: &mut Checks,
) {
    let (expected, found) = (&world.files, &look.after.files);
    let Some(first) = differing.first().copied() else { return };
    checks.check(JUDGE, rule(first), false, || {
        let (due, stands) = (expected.get(first), found.get(first));
        let mut tree = Vec::new();
        for path in differing.iter().copied().take(TREE_LINES_MAX) {
            for (side, node) in [('-', expected.get(path)), ('+', found.get(path))] {
                if node.is_some() {
                    tree.push(format!("{side} {path}: {}", shown(node)));
                }
            }
        }
        let told = |node| format!("{first}: {}", shown(node));
        Mismatch::new(symptom(due, stands), told(due), told(stands)).kind(look.blame()).tree(tree)
    });
}

/// In which way a path is wrong, without saying which.
fn symptom(due: Option<&Node>, found: Option<&Node>) -> String {
    let word = |node| match node {
        None => "nothing",
        Some(&Node::Directory) => "a directory",
        Some(Node::Special) => "a special file",
        Some(Node::Link { .. }) => "a link",
        Some(Node::File { .. }) => "a file",
    };
    match (due, found) {
        (Some(Node::Link { .. }), Some(Node::Link { .. })) => "another link".into(),
        (
            Some(Node::File { content, executable, .. }),
            Some(Node::File { content: bytes, executable: mode, .. }),
        ) => {
            let symptom = match (content == bytes, executable == mode) {
                (false, _) => "other bytes",
                (true, false) => "another executable bit",
                (true, true) => "another right to read",
            };
            symptom.into()
        }
        (due, found) => format!("{}, not {}", word(found), word(due)),
    }
}

/// What stands at a path, short enough to read.
pub fn shown(node: Option<&Node>) -> String {
    let text = |bytes: &[u8]| {
        let head = &bytes[..bytes.len().min(60)];
        format!("{} bytes \"{}\"", bytes.len(), head.escape_ascii())
    };
    match node {
        None => "nothing".into(),
        Some(Node::Directory) => "a directory".into(),
        Some(Node::Special) => "a special file".into(),
        Some(Node::Link { target }) => format!("a link to {}", text(target)),
        Some(Node::File { content, executable, readable }) => {
            let flags = match (executable, readable) {
                (true, true) => ", executable",
                (false, false) => ", unreadable",
                (true, false) => ", executable, unreadable",
                (false, true) => "",
            };
            format!("a file of {}{flags}", text(content))
        }
    }
}

/// The rule broken where a path is not as a restore must leave it.
fn restore_rule(
    restore: &ExpectedRestore,
    exact: bool,
    look: &Look<'_>,
    world: &World,
    full: &ByteString,
) -> RuleRef {
    let found = look.after.files.get(full);
    let Some(path) = below(&restore.project, full).map(ByteString::from) else {
        // What was meant for the project went astray, whatever else may not change there.
        let astray = restore.target.tree.values().any(|entry| found == Some(&entry.node()));
        let rule = outside_rule(world, full).filter(|_| !astray);
        return rule.unwrap_or(&rules::RESTORE_CONTAINED);
    };
    if let Some(only) = &restore.only
        && *only != path
    {
        // A path that means more to git may have been taken for that.
        let is_pattern = only.starts_with(b":") || only.iter().any(|byte| b"*?[".contains(byte));
        return if is_pattern { &rules::RESTORE_FILE_LITERAL } else { &rules::RESTORE_FILE_ONLY };
    }
    if restore.restored.contains(&path) {
        return match (&restore.target.tree[&path], found) {
            (Entry::File { content, .. }, Some(Node::File { content: other, .. })) => {
                if content == other { &rules::RESTORE_EXECUTABLE } else { &rules::RESTORE_BYTES }
            }
            (Entry::File { .. }, None) => &rules::RESTORE_BYTES,
            _ => &rules::RESTORE_TYPE,
        };
    }
    if restore.removed.contains(&path) {
        // What is removed otherwise stands in the way of something of another type.
        return if exact { &rules::RESTORE_EXACT } else { &rules::RESTORE_TYPE };
    }
    if restore.left.contains(&path) {
        return &rules::RESTORE_LEAVES_NEW;
    }
    if restore.target.tree.contains_key(&path) && !restore.kept.contains(&path) {
        return &rules::RESTORE_BYTES;
    }
    if file_name(parent(full)) == b".git" {
        return &rules::ISOLATION_USER_REPOSITORY;
    }
    &rules::RESTORE_PROTECTS
}

/// What a restore that left every file right has shown.
fn count_restored(restore: &ExpectedRestore, look: &Look<'_>, checks: &mut Checks) {
    for path in &restore.restored {
        checks.held(&rules::RESTORE_BYTES, 1);
        let entry = &restore.target.tree[path];
        // What comes back as it was had been captured as it was.
        for rule in capture::content_rules(path, entry) {
            checks.held(rule, 1);
        }
        let before = restore.captured.tree.get(path);
        if let (Entry::File { executable: now, .. }, Some(Entry::File { executable: was, .. })) =
            (entry, before)
            && now != was
        {
            checks.held(&rules::RESTORE_EXECUTABLE, 1);
        }
        let is_link = |entry: &Entry| matches!(entry, Entry::Link { .. });
        let was_directory = restore.removed.iter().any(|gone| below(path, gone).is_some());
        if is_link(entry) || before.is_some_and(is_link) || was_directory {
            checks.held(&rules::RESTORE_TYPE, 1);
        }
    }
    checks.held(&rules::RESTORE_PROTECTS, restore.kept.len() as u64);
    checks.held(&rules::RESTORE_LEAVES_NEW, restore.left.len() as u64);
    checks.held(&rules::RESTORE_CONTAINED, 1);
    if restore.only.is_some() {
        checks.held(&rules::RESTORE_FILE_ONLY, 1);
    }
    for (holds, rule) in [
        (restore.undo, &rules::RESTORE_UNDO),
        (restore.deleted, &rules::RESTORE_DELETED_PROJECT),
        (restore.evicting, &rules::RESTORE_SAFETY_KEEPS_TARGET),
    ] {
        checks.held(rule, u64::from(holds));
    }
    let exact = matches!(look.request, Request::Restore { exact: true, .. });
    let removed = if exact { restore.removed.len() as u64 } else { 0 };
    checks.held(&rules::RESTORE_EXACT, removed);
}
