//! Which place a path means, which place may be a project, and which one a file belongs to.

use super::*;
use pretty_assertions::assert_eq;

#[test]
fn a_typed_path_starts_at_the_root_the_home_or_the_current_directory() {
    let scene = Scene::with("");
    for (typed, canonical) in [
        ("~", Some("home")),
        ("~/x", Some("home/x")),
        ("~x", Some("work/~x")),
        ("alpha", Some("work/alpha")),
        ("./alpha/../beta", Some("work/beta")),
        ("/world", Some("")),
        ("/world/work//alpha", Some("work/alpha")),
        ("/worldly", None),
        ("/elsewhere", None),
        ("/", None),
    ] {
        let canonical = canonical.map(ByteString::from);
        assert_eq!(scene.world.canonical(typed.as_bytes()), canonical, "{typed}");
    }
    assert_eq!(scene.world.absolute(b""), ByteString::from("/world"));
    assert_eq!(scene.world.absolute(b"work/alpha"), ByteString::from("/world/work/alpha"));
    assert_eq!(scene.world.hash(b"work/alpha"), "935b51dbbd3006f8");
}

#[test]
fn what_is_out_of_scope_is_refused_with_a_code_that_says_why() {
    let mut scene = Scene::with("/work/file= /home/.hermes/checkpoints/project/file=");
    let no_directory: &[Code] = &[Code::MissingDirectory, Code::NotADirectory];
    let base: &[Code] = &[Code::ScopeBase, Code::MissingDirectory, Code::NotADirectory];
    for (dir, codes, rule) in [
        ("/", &[Code::ScopeRoot][..], "scope/never-root"),
        ("//", &[Code::ScopeRoot], "scope/never-root"),
        ("~", &[Code::ScopeHome], "scope/never-home"),
        ("~/.hermes/checkpoints", base, "scope/base-not-captured"),
        ("~/.hermes/checkpoints/project", base, "scope/base-not-captured"),
        ("/elsewhere", no_directory, "scope/no-directory"),
        ("/worldly", no_directory, "scope/no-directory"),
        ("none", &[Code::MissingDirectory], "scope/no-directory"),
        ("file", &[Code::NotADirectory], "scope/no-directory"),
    ] {
        let asked = format!("take {dir}");
        assert_eq!(refusals(&scene.allows(&asked)), [(codes, rule)], "{dir}");
        for code in codes {
            assert_eq!(scene.answered(&asked, refused(*code)), "", "{dir}");
        }
        assert_eq!(scene.answered(&asked, created(1)), rule, "{dir}");
    }
    // What only holds the base is a project; of the base nothing is captured.
    scene.put("/home/.hermes/kept=");
    scene.ask("take ~/.hermes");
    let [taken] = scene.world.history(b"home/.hermes") else { panic!("one checkpoint") };
    let captured = taken.captured.as_ref().unwrap();
    assert_eq!(texts(captured.tree.keys()), ["kept"]);
    assert_eq!(captured.left_out[&"checkpoints".into()].id, "scope/base-not-captured");
}

#[test]
fn no_rule_leaves_it_open_that_the_home_or_the_base_is_a_project() {
    let scene = Scene::with("");
    for no in ["", "home", "home/.hermes", "home/.hermes/checkpoints", "home/.hermes/checkpoints/a"]
    {
        assert!(!scene.world.may_be_project(no.as_bytes()), "{no}");
    }
    for yes in ["work", "work/alpha", "home/a", "home/.hermes/a"] {
        assert!(scene.world.may_be_project(yes.as_bytes()), "{yes}");
    }
}

#[test]
fn an_edit_of_the_world_says_what_it_takes_on_a_disk() {
    let changes = Scene::with("").world.edit(&Edit::MakeDirectory { path: "new".into() });
    assert_eq!(changes, [crate::edit::Change::Make("new".into(), Node::Directory)]);
}

/// The project of the file and the rule that says so. Only that one may be answered.
fn project_of(scene: &Scene, file: &str) -> (Option<String>, &'static str) {
    let asked = format!("project {file}");
    let Allowed::Project { path, rule } = scene.allows(&asked) else { panic!("{file}") };
    let other = Some("/world/other".into());
    for (answer, broken) in [(path.clone(), ""), (other, rule.id)] {
        assert_eq!(scene.answered(&asked, Answer::Project(answer)), broken, "{file}");
    }
    assert_eq!(scene.answered(&asked, Answer::Done), rule.id, "{file}");
    (path.map(|path| path.to_string()), rule.id)
}

#[test]
fn a_file_belongs_to_the_nearest_marked_directory_above_it() {
    let mut scene = Scene::with("Cargo.toml= deep/file=");
    let of = |path: &str| (Some(path.to_owned()), "scope/root-of-file");
    for file in ["alpha/deep/file", "alpha/deep", "alpha", "alpha/none/none"] {
        assert_eq!(project_of(&scene, file), of("/world/work/alpha"), "{file}");
    }
    // Where nothing is marked, it is the directory itself, or the one the file is in.
    for file in ["beta", "beta/file"] {
        assert_eq!(project_of(&scene, file), of("/world/work/beta"), "{file}");
    }
    scene.put("/go.mod=");
    assert_eq!(project_of(&scene, "beta/file"), of("/world"));
    let seen = scene.checks(&scene.seen("project beta/file", Answer::Project(None)));
    assert_eq!(symptoms(&seen), ["no project"]);
}

#[test]
fn a_marker_must_lead_somewhere() {
    let mut scene = Scene::with("");
    for (target, marks) in [("none", false), ("/etc/none", false), ("beta", true), ("/..", true)] {
        scene.put(&format!("/work/Makefile>{target}"));
        let found = project_of(&scene, "alpha/file").0.unwrap();
        assert_eq!(found == "/world/work", marks, "{target}: {found}");
    }
}

#[test]
fn neither_the_root_nor_the_home_directory_is_the_project_of_a_file() {
    let scene =
        Scene::with("/home/.git/HEAD= /home/deep/er/file= /home/marked/package.json= /Gemfile=");
    let (broad, nearest) = ("scope/root-never-broad", "scope/root-of-file");
    for (file, project, rule) in [
        ("/", None, broad),
        ("~", None, broad),
        ("~/file", None, broad),
        ("~/deep/er/file", Some("/world/home/deep/er"), broad),
        ("~/marked/file", Some("/world/home/marked"), nearest),
        ("/etc/deep/file", Some("/etc/deep"), nearest),
        ("/etc", None, nearest),
    ] {
        assert_eq!(project_of(&scene, file), (project.map(str::to_owned), rule), "{file}");
    }
}

/// A scene where `alpha` has a checkpoint in this turn and another name.
fn aliased() -> Scene {
    let mut scene = Scene::with("a=1 /work/link>alpha");
    scene.ask("ensure link");
    scene
}

#[test]
fn a_first_checkpoint_of_nothing_is_none_of_another_project() {
    let scene = Scene::with("/work/link>alpha");
    assert_eq!(scene.answered("take link", created(1)), "capture/empty-first");
}

#[test]
fn a_project_of_another_name_is_no_other_project() {
    let identity = "scope/identity";
    let missing = || refused(Code::MissingDirectory);
    let unknown = || refused(Code::UnknownCheckpoint);
    let nothing = || Answer::Listed(Vec::new());
    for (edit, asked, answer, mistaken) in [
        ("", "take link", created(2), true),
        ("", "ensure link", created(2), true),
        ("", "take /world/work/alpha", created(2), false),
        ("", "take link", missing(), true),
        ("", "take link", refused(Code::NotADirectory), true),
        ("", "take link", refused(Code::Io), false),
        ("-/work/alpha", "ensure link", missing(), false),
        ("", "list link", nothing(), true),
        ("", "list ./beta", nothing(), false),
        ("", "list link", Answer::Done, false),
        ("", "diff link 1", unknown(), true),
        ("", "diff link 1", missing(), false),
        ("", "restore link 1", unknown(), true),
        ("", "restore link 1", missing(), false),
        ("", "file link 1 ..", unknown(), true),
        ("", "file link 1 ..", missing(), true),
        ("", "file link 1 ..", refused(Code::BadPath), false),
        ("", "diff link 9", unknown(), false),
        ("", "diff link 9", Answer::Done, false),
        ("", "diff link 9", missing(), true),
    ] {
        let mut scene = aliased();
        scene.put(edit);
        let found = scene.answered(asked, answer.clone());
        assert_eq!(found.contains(identity), mistaken, "{asked}: {answer:?}: {found}");
        let checks = scene.checks(&scene.seen(asked, answer));
        let is_alias = !asked.contains("/world");
        assert_eq!(count(&checks, identity), u64::from(is_alias), "{asked}");
    }
    // Something new is due, and what is not there may have made room for it.
    let mut scene = aliased();
    scene.put("a=2");
    assert_eq!(scene.answered("take link", created(2)), "");
    scene.world.settings.max_snapshots = 1;
    let keeps = "restore/safety-keeps-target";
    assert_eq!(scene.answered("restore link 1", unknown()), keeps);
    // Where nobody says why it refuses, that tells nothing.
    let mut scene = Scene::without("refusal.reasons", "a=1 /work/link>alpha");
    scene.ask("take alpha");
    assert_eq!(scene.answered("take link", missing()), "capture/unchanged");
    assert_eq!(scene.answered("file link 1 ..", unknown()), "");
}

#[test]
fn a_command_whose_meaning_is_known_is_to_be_classified_so_and_no_other() {
    let scene = Scene::with("");
    let answer = |changes_files| Answer::Classified { changes_files };
    for (command, changes) in [("rm a.txt", true), ("ls; echo 'a -> b'", false)] {
        let asked = format!("classify {command}");
        assert_eq!(scene.answered(&asked, answer(changes)), "", "{command}");
        assert_eq!(scene.answered(&asked, answer(!changes)), "turn/shell-words", "{command}");
        assert_eq!(scene.answered(&asked, Answer::Done), "turn/shell-words", "{command}");
    }
    for changes in [true, false] {
        assert_eq!(scene.answered("classify frobnicate", answer(changes)), "");
    }
    for (command, changes, symptom) in
        [("rm a.txt", false, "not noticed"), ("ls # rm x", true, "a false alarm")]
    {
        let seen = scene.seen(&format!("classify {command}"), answer(changes));
        assert_eq!(symptoms(&scene.checks(&seen)), [symptom]);
    }
}
