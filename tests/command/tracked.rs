//! Files that the project's own git repository tracks are captured although the default excludes name them.

use crate::command::world::CommandFixture;
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

fn git(directory: &Path, words: &[&str]) {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.env("HOME", directory).current_dir(directory);
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"];
    let ended = git.args(identity).args(words).output().unwrap();
    assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// A repository that tracks files which the default excludes name, next to others of the same folders.
fn repository(world: &CommandFixture) {
    git(&world.project(), &["init", "-q"]);
    for tracked in ["build/webpack.config.js", "dist/deep/a.js", "lib.so", ".env", "ignored/x"] {
        world.write(tracked, "tracked\n");
    }
    git(&world.project(), &["add", "--force", "."]);
    for untracked in ["build/output.js", "build/node_modules/m/a.js", "dist/b.js", "other.so"] {
        world.write(untracked, "untracked\n");
    }
    world.write(".gitignore", "ignored/\n");
    world.write("ignored/y", "untracked\n");
}

fn index(world: &CommandFixture) -> Vec<u8> {
    fs::read(world.path(".git/index")).unwrap()
}

// rule: capture/default-excludes
// rule: isolation/user-repository
#[test]
fn rollback_restores_what_git_tracks_and_nothing_else_of_an_excluded_folder() {
    for version in ["2", "3", "4", "split"] {
        let world = CommandFixture::new();
        repository(&world);
        if version == "split" {
            git(&world.project(), &["update-index", "--split-index"]);
            fs::rename(world.path(".git"), world.home().join("repository")).unwrap();
            symlink("../repository", world.path(".git")).unwrap();
            // The entry of a file that was changed since replaces that in the shared index.
            world.write("dist/deep/a.js", "changed\n");
            git(&world.project(), &["add", "--force", "dist/deep/a.js"]);
            world.write("dist/deep/a.js", "tracked\n");
        } else {
            // Version 3 is written only if an entry needs it.
            git(&world.project(), &["update-index", "--index-version", version]);
        }
        if version == "3" {
            world.write("later", "");
            git(&world.project(), &["add", "--intent-to-add", "later"]);
        }
        let before = index(&world);
        world.herma(&["checkpoint"]).done();
        world.write("build/webpack.config.js", "changed\n");
        world.write("build/output.js", "changed\n");
        fs::remove_dir_all(world.path("dist")).unwrap();
        world.write("lib.so", "changed\n");
        world.write("ignored/x", "changed\n");
        world.write(".env", "changed\n");
        let diff = world.herma(&["rollback", "diff", "1"]).done().text();
        assert!(diff.contains("build/webpack.config.js"), "version {version}: {diff}");
        world.herma(&["rollback", "1", "--exact"]).done();
        for restored in ["build/webpack.config.js", "dist/deep/a.js", "lib.so"] {
            assert_eq!(world.read(restored), "tracked\n", "version {version}: {restored}");
        }
        assert!(!world.path("dist/b.js").exists());
        assert_eq!(world.read("build/output.js"), "changed\n");
        assert_eq!(world.read("build/node_modules/m/a.js"), "untracked\n");
        // What an ignore file of the project names stays out, and so do secrets.
        assert_eq!(world.read("ignored/x"), "changed\n");
        assert_eq!(world.read(".env"), "changed\n");
        assert_eq!(index(&world), before);
    }
}

// rule: capture/default-excludes
#[test]
fn checkpoint_captures_what_a_linked_worktree_tracks() {
    let world = CommandFixture::new();
    let main = world.home().join("main");
    fs::create_dir_all(main.join("build")).unwrap();
    fs::write(main.join("build/config.js"), "1\n").unwrap();
    git(&main, &["init", "-q"]);
    git(&main, &["add", "--force", "."]);
    git(&main, &["commit", "-q", "-m", "first"]);
    fs::remove_dir(world.project()).unwrap();
    git(&main, &["worktree", "add", "-q", world.project().to_str().unwrap()]);
    world.herma(&["checkpoint"]).done();
    world.write("build/config.js", "2\n");
    world.herma(&["rollback", "1"]).done();
    assert_eq!(world.read("build/config.js"), "1\n");
}

// rule: capture/default-excludes
// rule: capture/nested-repository
#[test]
fn checkpoint_leaves_out_excluded_folders_without_a_readable_index_of_the_project() {
    let damage: [&dyn Fn(&CommandFixture); 4] = [
        &|world| fs::write(world.path(".git/index"), "an index\n").unwrap(),
        &|world| fs::remove_file(world.path(".git/index")).unwrap(),
        &|world| {
            git(&world.project(), &["update-index", "--split-index"]);
            let names = fs::read_dir(world.path(".git")).unwrap().map(|entry| entry.unwrap());
            let is_shared = |entry: &fs::DirEntry| {
                entry.file_name().to_string_lossy().starts_with("sharedindex.")
            };
            names.filter(is_shared).for_each(|entry| fs::remove_file(entry.path()).unwrap());
        },
        // The repository of a folder inside the project is not that of the project.
        &|world| {
            fs::create_dir(world.path("nested")).unwrap();
            fs::rename(world.path(".git"), world.path("nested/.git")).unwrap();
        },
    ];
    // Whether the checkpoint tells that it does not know what git tracks.
    for (is_told, damage) in [true, false, true, false].into_iter().zip(damage) {
        let world = CommandFixture::new();
        repository(&world);
        world.write("plain", "1\n");
        damage(&world);
        let taken = world.herma(&["checkpoint"]).done().text();
        assert_eq!(taken.matches("What git tracks is not known").count(), usize::from(is_told));
        world.write("build/webpack.config.js", "changed\n");
        let diff = world.herma(&["rollback", "diff", "1"]).done().text();
        assert!(diff.starts_with("Nothing changed"), "{diff}");
    }
}
