//! Which directory a path names, which directory may be a project, and to which project a file belongs.

use super::*;
use pretty_assertions::assert_eq;

#[test]
fn canonical_resolves_a_typed_path_from_the_root_the_home_or_the_current_directory() {
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
fn checkpoint_out_of_scope_is_refused_with_the_matching_error_code() {
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
        let request = format!("take {dir}");
        assert_eq!(refusals(&scene.allows(&request)), [(codes, rule)], "{dir}");
        for code in codes {
            assert_eq!(scene.broken_by(&request, refused(*code)), "", "{dir}");
        }
        assert_eq!(scene.broken_by(&request, created(1)), rule, "{dir}");
    }
    // A directory that contains the base is a project; nothing of the base is captured.
    scene.edit("/home/.hermes/kept=");
    scene.perform("take ~/.hermes");
    let [taken] = scene.world.history(b"home/.hermes") else { panic!("one checkpoint") };
    let captured = taken.captured.as_ref().unwrap();
    assert_eq!(texts(captured.tree.keys()), ["kept"]);
    assert_eq!(captured.left_out[&b"checkpoints"[..]].id, "scope/base-not-captured");
}

#[test]
fn an_unneeded_checkpoint_of_a_project_around_the_base_is_blamed_on_the_base() {
    let mut scene = Scene::with("/home/.hermes/kept= a=");
    scene.perform("take ~/.hermes");
    scene.perform("take alpha");
    let broken = scene.broken_by("take ~/.hermes", created(3));
    assert!(broken.starts_with("scope/base-not-captured "), "{broken}");
    assert_eq!(scene.broken_by("take ~/.hermes", taken(CheckpointOutcome::Unchanged)), "");
    assert_eq!(scene.broken_by("take alpha", created(3)), "capture/unchanged");
}

#[test]
fn may_be_project_is_false_for_the_root_the_home_and_the_base() {
    let scene = Scene::with("");
    for path in
        ["", "home", "home/.hermes", "home/.hermes/checkpoints", "home/.hermes/checkpoints/a"]
    {
        assert!(!scene.world.may_be_project(path.as_bytes()), "{path}");
    }
    for path in ["work", "work/alpha", "home/a", "home/.hermes/a"] {
        assert!(scene.world.may_be_project(path.as_bytes()), "{path}");
    }
}

#[test]
fn edit_returns_the_changes_to_make_on_disk() {
    let changes = Scene::with("").world.edit(&Edit::MakeDirectory { path: "new".into() });
    assert_eq!(changes, [crate::edit::Change::Make("new".into(), Node::Directory)]);
}

/// The project of the file, which is the only allowed answer, and the rule that decides it.
fn project_of(scene: &Scene, file: &str) -> (Option<String>, &'static str) {
    let request = format!("project {file}");
    let Allowed::Project { path, rule } = scene.allows(&request) else { panic!("{file}") };
    let wrong = Some("/world/other".into());
    for (answer, broken) in [(path.clone(), ""), (wrong, rule.id)] {
        assert_eq!(scene.broken_by(&request, Answer::Project(answer)), broken, "{file}");
    }
    assert_eq!(scene.broken_by(&request, Answer::Done), rule.id, "{file}");
    (path.map(|path| path.to_string()), rule.id)
}

#[test]
fn project_of_returns_the_nearest_marked_directory_above_a_file() {
    let mut scene = Scene::with("Cargo.toml= deep/file=");
    let project = |path: &str| (Some(path.to_owned()), "scope/root-of-file");
    for file in ["alpha/deep/file", "alpha/deep", "alpha", "alpha/none/none"] {
        assert_eq!(project_of(&scene, file), project("/world/work/alpha"), "{file}");
    }
    // Without a marker, it is the directory itself, or the parent directory of the file.
    for file in ["beta", "beta/file"] {
        assert_eq!(project_of(&scene, file), project("/world/work/beta"), "{file}");
    }
    scene.edit("/go.mod=");
    assert_eq!(project_of(&scene, "beta/file"), project("/world"));
    let checks = scene.checks(&scene.observation("project beta/file", Answer::Project(None)));
    assert_eq!(symptoms(&checks), ["no project"]);
}

#[test]
fn project_of_ignores_a_marker_that_is_a_dangling_link() {
    let mut scene = Scene::with("");
    for (target, marks) in [("none", false), ("/etc/none", false), ("beta", true), ("/..", true)] {
        scene.edit(&format!("/work/Makefile>{target}"));
        let found = project_of(&scene, "alpha/file").0.unwrap();
        assert_eq!(found == "/world/work", marks, "{target}: {found}");
    }
}

#[test]
fn project_of_never_returns_the_root_or_the_home_directory() {
    let scene =
        Scene::with("/home/.git/HEAD= /home/deep/er/file= /home/marked/package.json= /Gemfile=");
    let broad = "scope/root-never-broad";
    let nearest = "scope/root-of-file";
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

/// A scene where `alpha` has a checkpoint in this turn and a second name, `link`.
fn aliased() -> Scene {
    let mut scene = Scene::with("a=1 /work/link>alpha");
    scene.perform("ensure link");
    scene
}

#[test]
fn first_checkpoint_of_an_empty_alias_breaks_only_capture_empty_first() {
    let scene = Scene::with("/work/link>alpha");
    assert_eq!(scene.broken_by("take link", created(1)), "capture/empty-first");
}

#[test]
fn scope_identity_is_broken_if_a_second_name_counts_as_a_second_project() {
    let identity = "scope/identity";
    let missing = || refused(Code::MissingDirectory);
    let unknown = || refused(Code::UnknownCheckpoint);
    let nothing = || Answer::Listed(Vec::new());
    for (edit, request, answer, is_mistaken) in [
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
        scene.edit(edit);
        let found = scene.broken_by(request, answer.clone());
        assert_eq!(found.contains(identity), is_mistaken, "{request}: {answer:?}: {found}");
        let checks = scene.checks(&scene.observation(request, answer));
        let is_alias = !request.contains("/world");
        assert_eq!(count(&checks, identity), u64::from(is_alias), "{request}");
    }
    // A new checkpoint is expected, and a missing one may have been evicted for it.
    let mut scene = aliased();
    scene.edit("a=2");
    assert_eq!(scene.broken_by("take link", created(2)), "");
    scene.world.settings.max_snapshots = 1;
    let keeps = "restore/safety-keeps-target";
    assert_eq!(scene.broken_by("restore link 1", unknown()), keeps);
    // Without reasons for refusals, a refusal is no evidence.
    let mut scene = Scene::without("refusal.reasons", "a=1 /work/link>alpha");
    scene.perform("take alpha");
    assert_eq!(scene.broken_by("take link", missing()), "capture/unchanged");
    assert_eq!(scene.broken_by("file link 1 ..", unknown()), "");
}

#[test]
fn classify_must_be_right_for_known_commands_and_is_free_for_others() {
    let scene = Scene::with("");
    let answer = |changes_files| Answer::Classified { changes_files };
    for (command, changes) in [("rm a.txt", true), ("ls; echo 'a -> b'", false)] {
        let request = format!("classify {command}");
        assert_eq!(scene.broken_by(&request, answer(changes)), "", "{command}");
        assert_eq!(scene.broken_by(&request, answer(!changes)), "turn/shell-words", "{command}");
        assert_eq!(scene.broken_by(&request, Answer::Done), "turn/shell-words", "{command}");
    }
    for changes in [true, false] {
        assert_eq!(scene.broken_by("classify frobnicate", answer(changes)), "");
    }
    assert_eq!(scene.broken_by("classify npm test", answer(false)), "turn/safe-side");
    assert_eq!(scene.broken_by("classify npm test", answer(true)), "");
    for (command, changes, symptom) in
        [("rm a.txt", false, "not noticed"), ("ls # rm x", true, "a false alarm")]
    {
        let observation = scene.observation(&format!("classify {command}"), answer(changes));
        assert_eq!(symptoms(&scene.checks(&observation)), [symptom]);
    }
}
