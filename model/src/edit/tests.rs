//! The effect of each edit on the files, and the changes that it returns.

use super::*;
use pretty_assertions::assert_eq;

fn file(content: &str) -> Node {
    let content = ByteString::from(content.as_bytes());
    Node::File { content, executable: false, readable: true }
}

fn write(path: &str, content: &str) -> Edit {
    Edit::Write { path: path.into(), content: content.into(), executable: false }
}

fn rename(from: &str, to: &str) -> Edit {
    Edit::Rename { from: from.into(), to: to.into() }
}

/// Files at `a/b/f`, `a/g` and `c`.
fn files() -> Files {
    let mut files = Files::default();
    for (path, content) in [("a/b/f", "f"), ("a/g", "g"), ("c", "c")] {
        write(path, content).apply(&mut files);
    }
    files
}

fn paths(files: &Files) -> Vec<String> {
    files.iter().map(|(path, _)| path.to_string()).collect()
}

/// Applies the edit to [`files`] and returns the paths and the changes.
fn applied(edit: &Edit) -> (Vec<String>, Vec<Change>) {
    let mut files = files();
    let changes = edit.apply(&mut files);
    (paths(&files), changes)
}

fn assert_no_effect(edit: &Edit) {
    let mut edited = files();
    assert_eq!(edit.apply(&mut edited), [], "{edit:?}");
    assert_eq!(edited, files(), "{edit:?}");
}

#[test]
fn write_removes_obstacles_and_makes_missing_directories() {
    let (after, changes) = applied(&write("c/d/e", "e"));
    assert_eq!(after, ["a", "a/b", "a/b/f", "a/g", "c", "c/d", "c/d/e"]);
    assert_eq!(
        changes,
        [
            Change::Remove("c".into()),
            Change::Make("c".into(), Node::Directory),
            Change::Make("c/d".into(), Node::Directory),
            Change::Make("c/d/e".into(), file("e")),
        ]
    );
    let (after, changes) = applied(&write("a/b", "b"));
    assert_eq!(after, ["a", "a/b", "a/g", "c"]);
    assert_eq!(changes, [Change::Remove("a/b".into()), Change::Make("a/b".into(), file("b"))]);
}

fn special(path: &str, kind: SpecialKind) -> Edit {
    Edit::MakeSpecial { path: path.into(), kind }
}

#[test]
fn link_make_special_and_make_directory_make_a_node_of_their_kind() {
    let target = ByteString::from(&b"to"[..]);
    for (edit, node) in [
        (Edit::Link { path: "n".into(), target: "to".into() }, Node::Link { target }),
        (special("n", SpecialKind::Socket), Node::Special(SpecialKind::Socket)),
        (special("n", SpecialKind::Fifo), Node::Special(SpecialKind::Fifo)),
        (Edit::MakeDirectory { path: "n".into() }, Node::Directory),
    ] {
        let mut files = files();
        assert_eq!(edit.apply(&mut files), [Change::Make("n".into(), node.clone())]);
        assert_eq!(files.get(b"n"), Some(&node));
    }
    assert_no_effect(&Edit::MakeDirectory { path: "a/b".into() });
    let (after, _) = applied(&Edit::MakeDirectory { path: "c".into() });
    assert_eq!(after, ["a", "a/b", "a/b/f", "a/g", "c"]);
}

#[test]
fn remove_deletes_an_existing_path_and_nothing_behind_an_obstacle() {
    let (after, changes) = applied(&Edit::Remove { path: "a/b".into() });
    assert_eq!(after, ["a", "a/g", "c"]);
    assert_eq!(changes, [Change::Remove("a/b".into())]);
    assert_no_effect(&Edit::Remove { path: "none".into() });
    assert_no_effect(&Edit::Remove { path: "c/below".into() });
}

#[test]
fn paths_returns_each_path_that_an_edit_names() {
    for (edit, paths) in [
        (write("a", ""), vec!["a"]),
        (rename("a", "b"), vec!["a", "b"]),
        (Edit::HardLink { path: "a".into(), to: "b".into() }, vec!["a", "b"]),
    ] {
        let found: Vec<_> = edit.paths().iter().map(|path| path.to_string()).collect();
        assert_eq!(found, paths);
    }
}

#[test]
fn rewrite_changes_only_files_and_keeps_their_permissions() {
    let mut files = files();
    files.set_permissions(b"c", 0o750);
    let rewrite = |path: &str| Edit::Rewrite { path: path.into(), content: "new".into() };
    let content = ByteString::from(&b"new"[..]);
    let changes = rewrite("c").apply(&mut files);
    assert_eq!(changes, [Change::Rewrite("c".into(), content.clone())]);
    let expected = Node::File { content, executable: true, readable: true };
    assert_eq!((files.get(b"c"), files.permissions(b"c")), (Some(&expected), Some(0o750)));
    for path in ["a", "none", "c/below"] {
        assert_no_effect(&rewrite(path));
    }
}

#[test]
fn set_readable_revokes_and_grants_the_right_to_read_of_files_only() {
    let mut files = files();
    for readable in [false, true] {
        let edit = Edit::SetReadable { path: "c".into(), readable };
        assert_eq!(edit.apply(&mut files), [Change::SetReadable("c".into(), readable)]);
        let content = ByteString::from(&b"c"[..]);
        let expected = Node::File { content, executable: false, readable };
        assert_eq!(files.get(b"c"), Some(&expected));
    }
    for path in ["a", "none", "c/below"] {
        assert_no_effect(&Edit::SetReadable { path: path.into(), readable: false });
    }
}

#[test]
fn set_folder_readable_revokes_and_grants_the_right_to_list_folders_only() {
    let mut files = files();
    for (readable, bits) in [(false, 0o311), (true, 0o711)] {
        let edit = Edit::SetFolderReadable { path: "a/b".into(), readable };
        assert_eq!(edit.apply(&mut files), [Change::SetPermissions("a/b".into(), bits)]);
        assert_eq!(files.is_unreadable_folder(b"a/b"), !readable);
    }
    for path in ["a/g", "none", "c/below", ""] {
        assert_no_effect(&Edit::SetFolderReadable { path: path.into(), readable: false });
    }
}

#[test]
fn set_permissions_changes_only_files_and_rename_keeps_the_bits() {
    let set = |path: &str| Edit::SetPermissions { path: path.into(), bits: 0o600 };
    let mut files = files();
    assert_eq!(set("a/g").apply(&mut files), [Change::SetPermissions("a/g".into(), 0o600)]);
    rename("a", "d").apply(&mut files);
    assert_eq!(files.permissions(b"d/g"), Some(0o600));
    rename("d/g", "e").apply(&mut files);
    assert_eq!(files.permissions(b"e"), Some(0o600));
    write("e", "again").apply(&mut files);
    assert_eq!(files.permissions(b"e"), Some(0o644));
    for path in ["a", "none", "c/below"] {
        assert_no_effect(&set(path));
    }
}

#[test]
fn fill_writes_numbered_files_and_keeps_the_others() {
    let fill = |path: &str, files| Edit::Fill { path: path.into(), files };
    let (after, changes) = applied(&fill("a", 2));
    assert_eq!(after, ["a", "a/1", "a/2", "a/b", "a/b/f", "a/g", "c"]);
    assert_eq!(
        changes,
        [Change::Make("a/1".into(), file("1")), Change::Make("a/2".into(), file("2"))]
    );
    let (after, _) = applied(&fill("c", 1));
    assert_eq!(after, ["a", "a/b", "a/b/f", "a/g", "c", "c/1"]);
    assert_no_effect(&fill("c", 0));
}

#[test]
fn set_folder_permissions_changes_only_folders_which_the_owner_may_always_enter() {
    let set = |path: &str, bits| Edit::SetFolderPermissions { path: path.into(), bits };
    let mut files = files();
    let changes = set("a/b", 0o050).apply(&mut files);
    assert_eq!(changes, [Change::SetPermissions("a/b".into(), 0o750)]);
    rename("a", "d").apply(&mut files);
    assert_eq!(files.folder_permissions(b"d/b"), Some(0o750));
    rename("d/b", "e").apply(&mut files);
    assert_eq!(files.folder_permissions(b"e"), Some(0o750));
    Edit::MakeDirectory { path: "e".into() }.apply(&mut files);
    assert_eq!(files.folder_permissions(b"e"), Some(0o750));
    Edit::Remove { path: "e".into() }.apply(&mut files);
    Edit::MakeDirectory { path: "e".into() }.apply(&mut files);
    assert_eq!(files.folder_permissions(b"e"), Some(0o755));
    for path in ["a/g", "none", "c/below", ""] {
        assert_no_effect(&set(path, 0o700));
    }
}

#[test]
fn hard_link_has_the_content_and_permissions_of_its_file_and_needs_a_file() {
    let link = |path: &str, to: &str| Edit::HardLink { path: path.into(), to: to.into() };
    let mut files = files();
    files.set_permissions(b"c", 0o600);
    let changes = link("a/b", "c").apply(&mut files);
    let made = Change::HardLink("a/b".into(), "c".into());
    assert_eq!(changes, [Change::Remove("a/b".into()), made]);
    assert_eq!(files.get(b"a/b"), Some(&file("c")));
    assert_eq!(files.permissions(b"a/b"), Some(0o600));
    for (path, to) in [("c", "c"), ("c", "a"), ("c", "none"), ("c", "a/g/below")] {
        assert_no_effect(&link(path, to));
    }
    // The obstacle was the file itself, or a directory with the file in it.
    let (after, changes) = applied(&link("a", "a/g"));
    assert_eq!((after, changes), (vec!["c".to_owned()], vec![Change::Remove("a".into())]));
    let (after, _) = applied(&link("c/d", "c"));
    assert_eq!(after, ["a", "a/b", "a/b/f", "a/g", "c"]);
}

#[test]
fn set_permissions_is_serialized_with_three_octal_digits() {
    let edit = Edit::SetPermissions { path: "a".into(), bits: 0o40 };
    let text = serde_json::to_string(&edit).unwrap();
    assert_eq!(text, r#"{"set_permissions":{"path":"a","bits":"040"}}"#);
    assert_eq!(serde_json::from_str::<Edit>(&text).unwrap(), edit);
    for bits in ["", "8", "1000", "rw"] {
        let text = text.replace("040", bits);
        assert!(serde_json::from_str::<Edit>(&text).is_err(), "{bits}");
    }
}

#[test]
fn rename_moves_a_directory_with_its_content() {
    let mut files = files();
    let changes = rename("a/b", "c/d").apply(&mut files);
    assert_eq!(paths(&files), ["a", "a/g", "c", "c/d", "c/d/f"]);
    assert_eq!(files.get(b"c/d/f"), Some(&file("f")));
    assert_eq!(
        changes,
        [
            Change::Remove("c".into()),
            Change::Make("c".into(), Node::Directory),
            Change::Rename("a/b".into(), "c/d".into()),
        ]
    );
    let (after, _) = applied(&rename("a/g", "c"));
    assert_eq!(after, ["a", "a/b", "a/b/f", "c"]);
}

#[test]
fn rename_into_or_over_itself_or_of_a_missing_path_has_no_effect() {
    for (from, to) in
        [("a", "a"), ("a", "a/x"), ("a/b", "a"), ("none", "c"), ("c/below", "a"), ("c", "c/d")]
    {
        assert_no_effect(&rename(from, to));
    }
}
