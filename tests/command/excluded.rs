//! What patterns exclude from checkpoints is counted and listed, and a rollback of it names the pattern.

use crate::command::world::CommandFixture;
use pretty_assertions::assert_eq;
use serde_json::json;

/// A project of whose entries each kind of pattern excludes some.
fn project(world: &CommandFixture) {
    world.write(".gitignore", "\n*.tmp\n/made/\n!keep.tmp\n*.db\n");
    world.write("src/.gitignore", "# none\nm.*\n");
    let kept = ["a.rs", "keep.tmp", "src/a.rs", "src/made/b"];
    let excluded =
        ["a.tmp", "src/b.tmp", "made/deep/a", "dist/a", "dist/b", "src/m.c", ".env", "a.log"];
    for path in kept.into_iter().chain(excluded) {
        world.write(path, "1\n");
    }
    // Its members are captured together or not at all, whatever the default excludes.
    world.write("src/app.db", "SQLite format 3\0");
}

#[test]
fn checkpoints_excluded_counts_the_entries_of_each_pattern() {
    let world = CommandFixture::new();
    project(&world);
    let answer = world.herma(&["checkpoints", "excluded", "--json"]).done().json();
    let by = |source: &str, pattern: &str, paths: &[&str]| json!({ "source": source, "pattern": pattern, "count": paths.len(), "paths": paths });
    let by_line = |file: &str, line: usize, by: serde_json::Value| {
        let mut by = by;
        by["file"] = file.into();
        by["line"] = line.into();
        by
    };
    let in_file = |pattern, paths| by("ignore_file", pattern, paths);
    let expected = [
        by("built_in", "*.log", &["a.log"]),
        by("built_in", "dist/", &["dist/"]),
        by("final", ".env", &[".env"]),
        by_line(".gitignore", 2, in_file("*.tmp", &["a.tmp", "src/b.tmp"])),
        by_line(".gitignore", 3, in_file("/made/", &["made/"])),
        by_line(".gitignore", 5, in_file("*.db", &["src/app.db"])),
        by_line("src/.gitignore", 2, in_file("m.*", &["src/m.c"])),
    ];
    assert_eq!(answer["patterns"], json!(expected));
    assert_eq!(answer["count"], 8);
    let listed = world.herma(&["checkpoints", "excluded", "--paths"]).done().text();
    assert!(listed.contains(".gitignore, line 2\n             a.tmp\n"), "{listed}");
    let counted = world.herma(&["checkpoints", "excluded"]).done().text();
    assert!(counted.contains("8 entries of ") && !counted.contains("src/m.c"), "{counted}");
}

#[test]
fn checkpoints_excluded_with_a_directory_reports_about_that_directory() {
    let world = CommandFixture::new();
    project(&world);
    let kept = world.path("src/made");
    let kept = kept.to_str().unwrap();
    let text = world.herma(&["checkpoints", "excluded", kept]).done().text();
    assert!(text.starts_with("No pattern excludes anything of "), "{text}");
    let missing = world.herma(&["checkpoints", "excluded", "no-such-folder"]);
    assert_eq!(missing.refusal(), "missing_directory");
}

// rule: capture/own-ignore-file
#[test]
fn hermaignore_excludes_and_includes_after_the_gitignore_and_the_default_excludes() {
    let world = CommandFixture::new();
    project(&world);
    world.write(".hermaignore", "!a.tmp\n!dist/\na.rs\n!.env\n");
    world.write("src/.hermaignore", "!m.c\n");
    world.herma(&["checkpoint"]).done();
    let answer = world.herma(&["checkpoints", "excluded", "--json"]).done().json();
    let patterns = answer["patterns"].as_array().unwrap().iter();
    let lines: Vec<String> = patterns
        .filter(|pattern| pattern["file"] == ".hermaignore")
        .map(|pattern| format!("{} {}", pattern["line"], pattern["paths"]))
        .collect();
    assert_eq!(lines, [r#"3 ["a.rs","src/a.rs"]"#]);
    for path in ["a.tmp", "dist/a", "src/m.c"] {
        world.remove(path);
    }
    // What the own ignore file of the checkpoint excludes is kept, also when that file is gone.
    for path in [".hermaignore", "src/.hermaignore"] {
        world.remove(path);
    }
    world.write("later.rs", "2\n");
    let restored = world.herma(&["rollback", "1", "--exact"]);
    let why = "in the checkpoint it is excluded by a.rs in line 3 of .hermaignore";
    assert!(restored.exit == Some(0) && restored.text().contains(why), "{}", restored.text());
    for path in ["a.tmp", "dist/a", "src/m.c", "a.rs", "src/a.rs", ".env", ".hermaignore"] {
        assert!(world.has(path), "{path}");
    }
    assert!(!world.has("later.rs"));
    let refused = world.herma(&["rollback", "1", "a.rs"]);
    assert_eq!(refused.refusal(), "not_in_checkpoint");
    assert!(refused.stderr.contains("a.rs in line 3 of .hermaignore"), "{}", refused.stderr);
    let refused = world.herma(&["rollback", "1", ".env"]);
    assert!(refused.stderr.contains("which no file of a project can undo"), "{}", refused.stderr);
}

// rule: restore/left-out
#[test]
fn rollback_of_an_excluded_file_names_the_pattern_and_where_it_is() {
    let world = CommandFixture::new();
    project(&world);
    world.herma(&["checkpoint"]).done();
    for (file, why) in [
        (".env", "the built-in pattern .env, which no file of a project can undo"),
        ("dist/b", "the built-in pattern dist/"),
        ("made/deep/a", "/made/ in line 3 of .gitignore"),
        ("src/m.c", "m.* in line 2 of src/.gitignore"),
        ("src/app.db", "*.db in line 5 of .gitignore"),
    ] {
        let refused = world.herma(&["rollback", "1", file]);
        assert_eq!(refused.refusal(), "not_in_checkpoint");
        let expected = format!("was left out of the checkpoint (excluded by {why});");
        assert!(refused.stderr.contains(&expected), "{}", refused.stderr);
    }
}

#[test]
fn include_captures_what_the_default_excludes_name_and_secrets_that_it_names() {
    let world = CommandFixture::new();
    project(&world);
    world.write(".env.local", "1\n");
    world.write("target/a", "1\n");
    world.configure("checkpoints:\n  include: [dist/, \".env*\", .env.local, \"*.tmp\"]\n");
    world.herma(&["checkpoint"]).done();
    let paths = ["dist/a", ".env.local", ".env", "target/a", "a.tmp"];
    for path in paths {
        world.remove(path);
    }
    world.herma(&["rollback", "1"]).done();
    let restored: Vec<&str> = paths.into_iter().filter(|path| world.has(path)).collect();
    assert_eq!(restored, ["dist/a", ".env.local"]);
    // An exact restore removes what the checkpoint would have held, and undo brings it back.
    world.write("dist/later", "2\n");
    world.write("target/later", "2\n");
    world.herma(&["rollback", "1", "--exact"]).done();
    assert!(!world.has("dist/later") && world.has("target/later"));
    world.herma(&["undo"]).done();
    assert!(world.has("dist/later"));
}

// rule: restore/protects
#[test]
fn rollback_removes_nothing_that_was_excluded_when_the_checkpoint_was_taken() {
    let world = CommandFixture::new();
    project(&world);
    world.herma(&["checkpoint"]).done();
    world.configure("checkpoints:\n  include: [dist/, .env]\n");
    world.write("a.rs", "2\n");
    let restored = world.herma(&["rollback", "1", "--exact"]);
    let why = "in the checkpoint it is excluded by the built-in pattern dist/";
    assert!(restored.exit == Some(0) && restored.text().contains(why), "{}", restored.text());
    assert_eq!(world.read("a.rs"), "1\n");
    assert!(world.has("dist/a") && world.has("dist/b") && world.has(".env"));
    // Without the key again, what a checkpoint holds is restored, and what is there is not lost.
    world.herma(&["checkpoint"]).done();
    world.configure("");
    world.remove("dist/a");
    world.write("dist/b", "2\n");
    world.herma(&["rollback", "1", "--exact"]);
    assert_eq!((world.read("dist/a"), world.read("dist/b")), ("1\n".into(), "2\n".into()));
}

#[test]
fn include_refuses_what_is_not_a_list_of_patterns() {
    let world = CommandFixture::new();
    world.write("a", "1\n");
    for include in ["dist/", "[\"!dist/\"]", "[1]", "[\"\"]", "[\"#a\"]", "[\"a\\nb\"]"] {
        world.configure(&format!("checkpoints:\n  include: {include}\n"));
        let refused = world.herma(&["checkpoint"]);
        assert_eq!(refused.refusal(), "bad_config", "{include}");
    }
}

/// The store is private, and the help says that copies of keys outlive the files there.
#[test]
fn checkpoint_captures_keys_unless_an_ignore_file_names_them() {
    let world = CommandFixture::new();
    let keys = [".aws/credentials", ".netrc", ".npmrc", ".secrets/token", "id_rsa", "server.pem"];
    keys.into_iter().chain([".env"]).for_each(|path| world.write(path, "1\n"));
    assert_eq!(world.held(&world.checkpoint("first")), keys);
    world.write(".gitignore", "id_rsa\n.secrets/\n");
    let expected = [".aws/credentials", ".gitignore", ".netrc", ".npmrc", "server.pem"];
    assert_eq!(world.held(&world.checkpoint("second")), expected);
}

#[test]
fn what_looks_at_an_excluded_path_names_the_pattern() {
    let world = CommandFixture::new();
    project(&world);
    world.herma(&["checkpoint"]).done();
    for (path, pattern) in [
        ("dist/a", "excluded by the built-in pattern dist/"),
        ("src/b.tmp", "excluded by *.tmp in line 2 of .gitignore"),
    ] {
        for looking in [&["diff", "--", path][..], &["cat", "1", path]] {
            let refused = world.herma(looking);
            assert!(refused.stderr.contains(pattern), "{looking:?}: {}", refused.stderr);
            assert_eq!(refused.refusal(), "not_in_checkpoint");
        }
        let text = world.herma(&["log", path]).done().text();
        assert!(text.contains(pattern), "{text}");
    }
    // Beside what changed, what is excluded needs no word.
    world.write("a.rs", "2\n");
    assert!(world.herma(&["diff", "--", "a.rs", "dist"]).done().text().contains("+2"));
}
