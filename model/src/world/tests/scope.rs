//! Which place a path means, which place may be a project, and what the world says of itself.

use super::*;
use pretty_assertions::assert_eq;

#[test]
fn a_typed_path_starts_at_the_root_the_home_or_the_current_directory() {
    let scene = Scene::new();
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
}

#[test]
fn what_is_out_of_scope_is_refused_with_a_code_that_says_why() {
    let mut scene = Scene::new();
    scene.write("work/file", "");
    scene.write("home/.hermes/checkpoints/project/file", "");
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
        assert_eq!(scene.take_refused(dir), [(codes, rule)], "{dir}");
    }
    // What only holds the base is a project; of the base nothing is captured.
    scene.write("home/.hermes/kept", "");
    let taken = scene.take("~/.hermes").captured.unwrap();
    assert_eq!(texts(taken.tree.keys()), ["kept"]);
    assert_eq!(taken.left_out[&"checkpoints".into()].id, "scope/base-not-captured");
}

#[test]
fn no_rule_leaves_it_open_that_the_home_or_the_base_is_a_project() {
    let scene = Scene::new();
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
    let mut scene = Scene::new();
    let changes = scene.world.edit(&Edit::MakeDirectory { path: "new".into() });
    assert_eq!(changes, [Change::Make("new".into(), Node::Directory)]);
    assert!(scene.world.files.is_directory(b"new"));
}

#[test]
fn the_world_knows_the_time_it_is_told() {
    let mut scene = Scene::new();
    assert_eq!(scene.world.seconds(), START);
    assert!(matches!(scene.world.step(&Request::SetClock { seconds: 5 }), Expected::Done));
    assert_eq!(scene.world.seconds(), 5);
}

#[test]
fn a_directory_is_known_once_something_was_asked_about_it() {
    let mut scene = Scene::new();
    scene.write("work/file", "");
    for dir in ["alpha", "none", "file", "/elsewhere"] {
        scene.world.step(&Request::List { dir: dir.into() });
    }
    assert_eq!(texts(scene.world.known_directories()), ["work/alpha"]);
}

#[test]
fn repositories_are_captured_only_where_the_dialect_says_so() {
    assert!(!Scene::new().world.captures_repositories());
    let dialect = Dialect { leaves_out_repositories: false, ..Dialect::default() };
    assert!(Scene::of(dialect).world.captures_repositories());
}

#[test]
fn the_newest_checkpoint_of_one_project_can_be_forgotten() {
    let mut scene = Scene::new();
    for (path, dir) in
        [("work/alpha/a", "alpha"), ("work/alpha/b", "alpha"), ("work/beta/b", "beta")]
    {
        scene.write(path, path);
        scene.take(dir);
    }
    let all = |scene: &Scene| -> Vec<(String, Vec<Option<String>>)> {
        let histories = scene.world.histories();
        let ids = |all: &[Checkpoint]| all.iter().map(|one| one.id.clone()).collect();
        histories.map(|(project, all)| (project.to_string(), ids(all))).collect()
    };
    let beta = ("work/beta".to_owned(), vec![Some(id(3))]);
    let alpha = |ids: &[usize]| {
        ("work/alpha".to_owned(), ids.iter().map(|number| Some(id(*number))).collect())
    };
    assert_eq!(all(&scene), [alpha(&[1, 2]), beta.clone()]);
    scene.world.forget_newest(&"work/alpha".into());
    assert_eq!(all(&scene), [alpha(&[1]), beta.clone()]);
    scene.world.forget_newest(&"work/alpha".into());
    scene.world.forget_newest(&"work/alpha".into());
    assert_eq!(all(&scene), [beta]);
    assert!(scene.world.history(b"work/alpha").is_empty());
}
