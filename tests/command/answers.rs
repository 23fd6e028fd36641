//! The answers of commands that succeed.

use crate::command::world::{CommandFixture, assert_text};
use pretty_assertions::assert_eq;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Stdio;

/// The name of a file, which is not UTF-8.
fn not_utf8() -> &'static OsStr {
    OsStr::from_bytes(b"caf\xe9")
}

#[test]
fn a_checkpoint_says_what_was_taken_and_what_was_left_out() {
    let world = CommandFixture::new();
    let empty = world.herma(&["checkpoint"]).done();
    world.write("a.txt", "one\n");
    world.write("large.bin", vec![0; 10 * 1024 * 1024 + 1]);
    symlink("a.txt", world.path("link")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(world.path("socket")).unwrap();
    let taken = world.herma(&["checkpoint"]).done();
    let again = world.herma(&["checkpoint", "--reason", "the same once more"]).done();
    assert_text("checkpoint", &world.transcript(&[empty, taken, again]));
    assert_eq!(world.checkpoints(), 1);
}

#[test]
fn a_list_shows_number_id_time_reason_and_what_changed() {
    let world = CommandFixture::new();
    let empty = world.herma(&["rollback"]).done();
    world.write("config.py", "a = 'old'\n");
    world.checkpoint("before write_file");
    world.write("config.py", "a = 'new'\n");
    world.checkpoint("before terminal: sed -i s/old/new/ config.py");
    world.write("config.py", "a = 'new'\nb = 1\n");
    world.write("more.py", "c = 2\n");
    world.checkpoint("");
    let list = world.herma(&["rollback"]).done();
    assert_text("list", &world.transcript(&[empty, list]));
}

#[test]
fn rollback_lists_at_most_twenty_checkpoints_and_aligns_their_numbers() {
    let world = CommandFixture::new();
    for number in 0..22 {
        world.write("a.txt", format!("{number}\n"));
        world.checkpoint(&format!("change {number}"));
    }
    let list = world.herma(&["rollback"]).done().text();
    let rows: Vec<&str> = list.lines().filter(|line| line.contains(". ")).collect();
    assert_eq!(rows.len(), 20);
    assert!(rows[0].starts_with("   1. ") && rows[0].contains("change 21"), "{}", rows[0]);
    assert!(rows[19].starts_with("  20. ") && rows[19].ends_with("change 2"), "{}", rows[19]);
}

#[test]
fn rollback_lists_times_in_the_local_time_zone() {
    let world = CommandFixture::new();
    world.write("a.txt", "one\n");
    world.checkpoint("now");
    let list = world.herma(&["rollback", "--json"]).done().json();
    let taken = list["checkpoints"][0]["time"].as_i64().unwrap();
    for (zone, hours) in [("UTC", 0), ("Ahead-14", 14), ("Behind11", -11)] {
        let mut command = world.command();
        command.env("TZ", zone);
        let minutes = (taken + hours * 3_600).rem_euclid(86_400) / 60;
        let shown = format!(" {:02}:{:02}  now", minutes / 60, minutes % 60);
        let list = world.run(command, &["rollback"]).done().text();
        assert!(list.contains(&shown), "{zone}: {shown} is not in {list}");
    }
}

#[test]
fn a_restore_says_what_it_did_and_the_undo_it_names_undoes_it() {
    let world = CommandFixture::new();
    world.write("changed.txt", "old\n");
    world.write("deleted.txt", "was here\n");
    world.write("big", "small\n");
    world.checkpoint("the state to go back to");
    world.write("changed.txt", "new\n");
    world.remove("deleted.txt");
    world.write("created.txt", "mine\n");
    world.write("big", vec![b'x'; 10 * 1024 * 1024 + 1]);
    // The large file, which no checkpoint can hold, is not restored.
    let first = world.herma(&["rollback", "1"]);
    assert_eq!(first.exit, Some(4), "{}", first.stderr);
    assert!(
        first.stderr.contains("1 path was not restored")
            && first.stderr.ends_with("[incomplete]\n")
    );
    assert_eq!(world.read("changed.txt"), "old\n");
    assert_eq!(world.read("deleted.txt"), "was here\n");
    assert_eq!(world.read("created.txt"), "mine\n");
    let undo = first.text();
    let (_, undo) = undo.trim_end().rsplit_once("To get them back: herma ").unwrap();
    let undo: Vec<&str> = undo.split(' ').collect();
    let second = world.herma(&undo).done();
    assert_eq!(world.read("changed.txt"), "new\n");
    assert!(!world.has("deleted.txt"));
    assert_eq!(world.herma(&undo).refusal(), "nothing_to_undo");
    let third = world.herma(&["redo"]).done();
    assert_eq!(world.read("deleted.txt"), "was here\n");
    let list = world.herma(&["rollback"]).done();
    assert_text("restore", &world.transcript(&[first, second, third, list]));
}

#[test]
fn an_exact_restore_also_removes_what_was_created_since() {
    let world = CommandFixture::new();
    world.write("a.txt", "old\n");
    let id = world.checkpoint("before");
    world.write("a.txt", "new\n");
    world.write("sub/created.txt", "new\n");
    world.checkpoint("after");
    // The target is the start of an id, and the newest checkpoint already holds the present state.
    let said = world.herma(&["rollback", &id[..7], "--exact"]).done();
    assert_eq!(world.read("a.txt"), "old\n");
    assert!(!world.has("sub"));
    assert_text("restore-exact", &world.transcript(&[said]));
}

#[test]
fn one_file_comes_back_and_no_other_changes_whatever_it_is_called() {
    let world = CommandFixture::new();
    let names = ["src/plain.py", "diff", "--exact", "-1", "*.txt", "with space", "new\nline"];
    let names: Vec<&OsStr> = names.iter().map(OsStr::new).chain([not_utf8()]).collect();
    for name in &names {
        world.write(name, "old\n");
    }
    let id = world.checkpoint("all of them");
    for name in &names {
        world.write(name, "new\n");
    }
    let mut said = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let words = [OsStr::new("rollback"), OsStr::new(&id[..7]), OsStr::new("--"), name];
        said.push(world.herma(&words).done());
        for (position, name) in names.iter().enumerate() {
            assert_eq!(world.read(name), if position <= index { "old\n" } else { "new\n" });
        }
    }
    assert_text("restore-file", &world.transcript(&said[..1]));
    // A keyword as the second word may be a slip, so it is refused; another spelling of the file works.
    world.write("diff", "newer\n");
    let refused = world.herma(&["rollback", &id, "diff"]);
    assert!(refused.exit == Some(2) && refused.stderr.contains("ambiguous"));
    world.herma(&["rollback", &id, "./diff"]).done();
    assert_eq!(world.read("diff"), "old\n");
}

#[test]
fn a_diff_shows_a_summary_and_then_a_patch_that_git_applies() {
    let world = CommandFixture::new();
    let fill = |is_new: bool| {
        world.write("a.txt", if is_new { "one\n-- two\nthree\r\n" } else { "one\ntwo\n" });
        world.write("run.sh", "echo\n");
        let mode = if is_new { 0o755 } else { 0o644 };
        fs::set_permissions(world.path("run.sh"), fs::Permissions::from_mode(mode)).unwrap();
        world.write(if is_new { "créé.txt" } else { "deleted.txt" }, "no end of line");
        world.write(not_utf8(), if is_new { "new\n" } else { "old\n" });
    };
    fill(false);
    world.checkpoint("before");
    let nothing = world.herma(&["rollback", "diff", "1"]).done();
    world.remove("deleted.txt");
    fill(true);
    let said = world.herma(&["rollback", "diff", "1"]).done();
    let patch = world.root.join("patch");
    fs::write(&patch, &said.output).unwrap();
    world.write("image.png", b"\0\xff");
    let binary = world.herma(&["rollback", "diff", "--", "1"]).done();
    assert_text("diff", &world.transcript(&[nothing, said, binary]));
    world.remove("image.png");
    let after = world.everything();
    let content = |name: &str| after.keys().any(|path| path.ends_with(name));
    assert!(content("créé.txt") && !content("deleted.txt"));

    world.herma(&["rollback", "1", "--exact"]).done();
    assert!(world.has("deleted.txt"));
    world.git_applies(&patch);
    let without_times = |everything: std::collections::BTreeMap<_, String>| {
        let in_project = |(path, description): (std::path::PathBuf, String)| {
            let (mode, rest) = description.split_once(' ').unwrap();
            let content = rest.rsplit_once(" }").unwrap().1.to_owned();
            path.starts_with(world.project()).then(|| (path, mode.to_owned(), content))
        };
        everything.into_iter().filter_map(in_project).collect::<Vec<_>>()
    };
    assert_eq!(without_times(world.everything()), without_times(after));
}

#[test]
fn rollback_diff_of_very_many_lines_replaces_the_differing_part_and_git_applies_it() {
    let world = CommandFixture::new();
    // A line diff of these files takes a minute, since each line occurs in both thousands of times.
    let fill = |start: usize, end: &str| {
        let middle = (0..400_000).map(|line| format!("{}\n", (line * 7919 + start) % 89));
        let text = format!("one\ntwo\nthree\nfour\n{}same\n{end}", middle.collect::<String>());
        world.write("a.txt", text);
    };
    fill(0, "no end of line");
    world.checkpoint("before");
    fill(1, "no end of line");
    let said = world.herma(&["rollback", "diff", "1"]).done();
    let text = said.text();
    assert!(text.contains("@@ -2,400005 +2,400005 @@\n two\n three\n four\n-0\n"), "{text:.500}");
    assert!(text.ends_with(" same\n no end of line\n\\ No newline at end of file\n"));
    let patch = world.root.join("patch");
    fs::write(&patch, &said.output).unwrap();
    let after = fs::read(world.path("a.txt")).unwrap();
    world.herma(&["rollback", "1"]).done();
    world.git_applies(&patch);
    assert!(fs::read(world.path("a.txt")).unwrap() == after);
    // Where the part between the common ends is short, a line diff is made.
    world.write("a.txt", [&after[..], b"\nnew"].concat());
    let few = world.herma(&["rollback", "diff", "u1"]).done();
    assert!(few.text().contains("+new") && few.text().len() < 1_000, "{:.2000}", few.text());
}

#[test]
fn the_store_is_shown_in_the_layout_of_the_documents() {
    let world = CommandFixture::new();
    let empty = world.herma(&["checkpoints"]).done();
    world.write("a.txt", "one\n");
    world.checkpoint("first");
    world.write("a.txt", "two\n");
    world.checkpoint("second");
    let gone = world.home().join("old-prototype");
    fs::create_dir(&gone).unwrap();
    fs::write(gone.join("b.txt"), "three\n").unwrap();
    world.herma(&["checkpoint", "~/old-prototype"]).done();
    fs::remove_dir_all(&gone).unwrap();
    // The project was last used more than nine days ago.
    for metadata in fs::read_dir(world.base().join("store/projects")).unwrap() {
        let metadata = metadata.unwrap().path();
        let mut project: serde_json::Value =
            serde_json::from_slice(&fs::read(&metadata).unwrap()).unwrap();
        if project["workdir"] == gone.to_str().unwrap() {
            project["last_touch"] = (project["last_touch"].as_f64().unwrap() - 800_000.0).into();
            fs::write(&metadata, project.to_string()).unwrap();
        }
    }
    world.archive("legacy-20260506-050616", 4_301_000);
    let said = world.herma(&["checkpoints"]).done();
    for alias in ["status", "list"] {
        assert_eq!(world.herma(&["checkpoints", alias]).done().text(), said.text());
    }
    let text = said.text();
    let row = |start: &str| text.lines().find(|line| line.contains(start)).unwrap().to_owned();
    for (title, value) in [("LAST USED", "just now"), ("STATE", "ok"), ("DIRECTORY", "/")] {
        assert_eq!(row("DIRECTORY").find(title), row("/home/project").find(value), "{text}");
    }
    let mut shown = String::new();
    for line in world.transcript(&[empty, said]).lines() {
        // The number of bytes depends on git.
        let is_size = line.starts_with("Total size:") || line.starts_with("  checkpoints ");
        shown += &match line.rsplit_once("  ") {
            Some((title, value)) if is_size && value != "0 B" => format!("{title}  [size]"),
            _ => line.to_owned(),
        };
        shown.push('\n');
    }
    assert_text("status", &shown);
}

#[test]
fn the_json_option_gives_every_answer_as_json() {
    let world = CommandFixture::new();
    let project = world.project().to_str().unwrap().to_owned();
    world.write("a.txt", "old\n");
    let taken = world.herma(&["checkpoint", "--reason", "two\nlines", "--json"]).done().json();
    assert_eq!((&taken["project"], &taken["outcome"]), (&project.into(), &"created".into()));
    let again = world.herma(&["--json", "checkpoint"]).done().json();
    assert_eq!(
        (&again["outcome"], again["skipped"].as_array()),
        (&"unchanged".into(), Some(&vec![]))
    );
    let listed = world.herma(&["rollback", "--json"]).done().json();
    let checkpoint = &listed["checkpoints"][0];
    assert_eq!(checkpoint["id"], taken["id"]);
    assert_eq!(checkpoint["reason"], "two\nlines");
    world.write("a.txt", "new\n");
    let diff = world.herma(&["rollback", "diff", "1", "--json"]).done().json();
    assert_eq!(diff["entries"][0]["path"], "a.txt");
    assert_eq!(diff["stats"], serde_json::json!({"files": 1, "added": 1, "removed": 1}));
    assert!(diff["patch"].as_str().unwrap().ends_with("-old\n+new\n"));
    let restored = world.herma(&["rollback", "1", "--json"]).done().json();
    assert_eq!(restored["restored"], serde_json::json!(["a.txt"]));
    assert_eq!(restored["undoes_turn"], true);
    world.write("a.txt", "new\n");
    let restored = world.herma(&["rollback", "1", "a.txt", "--json"]).done().json();
    assert_eq!((&restored["id"], &restored["undoes_turn"]), (&taken["id"], &false.into()));
    let status = world.herma(&["checkpoints", "--json"]).done().json();
    assert_eq!(status["projects"][0]["checkpoints"], 2);
    assert_eq!(status["projects"][0]["state"], "live");
}

#[test]
fn checkpoint_takes_the_nearest_marked_directory_unless_a_directory_is_given() {
    let world = CommandFixture::new();
    world.write("Makefile", "all:\n");
    world.write("src/deep/a.txt", "old\n");
    let mut inside = world.command();
    inside.current_dir(world.path("src/deep"));
    let taken = world.run(inside, &["checkpoint", "--json"]).done().json();
    assert_eq!(taken["project"], world.project().to_str().unwrap());
    let named = world.herma(&["checkpoint", "src", "--json"]).done().json();
    assert_eq!(named["project"], world.path("src").to_str().unwrap());
    world.write("src/deep/a.txt", "new\n");
    let said = world.herma(&["rollback", "--dir", "src", "1", "deep/a.txt"]).done();
    assert_eq!(world.read("src/deep/a.txt"), "old\n");
    let undo = format!("herma undo --dir {}", world.path("src").to_str().unwrap());
    assert!(said.text().trim_end().ends_with(&undo), "{}", said.text());
    assert_eq!(world.checkpoints(), 1, "the project around it has its own history");
}

#[test]
fn rollback_quotes_the_directory_in_its_undo_command_for_a_shell() {
    let world = CommandFixture::new();
    let shell =
        [("plain-1.0", "plain-1.0"), ("with space", "'with space'"), ("it's", "'it'\\''s'")];
    let odd = [("it's\n", "$'it\\'s\\x0a'"), ("caf\u{e9}$x", "'caf\u{e9}$x'")];
    for (name, quoted) in shell.into_iter().chain(odd) {
        let dir = world.home().join(name);
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("a.txt"), "old\n").unwrap();
        world.herma(&["checkpoint".as_ref(), dir.as_os_str()]).done();
        fs::write(dir.join("a.txt"), "new\n").unwrap();
        let words = [OsStr::new("rollback"), OsStr::new("1"), OsStr::new("--dir"), dir.as_os_str()];
        let text = world.herma(&words).done().text();
        let (start, rest) = quoted.split_at(quoted.find(|c| !"$'".contains(c)).unwrap());
        let home = world.home().to_str().unwrap().to_owned();
        assert!(text.trim_end().ends_with(&format!(" --dir {start}{home}/{rest}")), "{text}");
    }
}

#[test]
fn a_project_that_was_deleted_as_a_whole_comes_back() {
    let world = CommandFixture::new();
    world.write("sub/a.txt", "old\n");
    world.checkpoint("all there");
    fs::remove_dir_all(world.project()).unwrap();
    let elsewhere = || {
        let mut command = world.command();
        command.current_dir(world.home());
        command
    };
    let list = world.run(elsewhere(), &["rollback", "--dir", "project"]).done();
    let back = world.run(elsewhere(), &["rollback", "--dir", "project", "1"]).done();
    assert_eq!(world.read("sub/a.txt"), "old\n");
    assert_text("deleted-project", &world.transcript(&[list, back]));
}

#[test]
fn rollback_diff_succeeds_if_its_reader_stops_early() {
    let world = CommandFixture::new();
    world.write("a.txt", "old\n");
    world.checkpoint("before");
    // More bytes than any pipe buffers.
    world.write("a.txt", "new\n".repeat(1_000_000));
    let mut command = world.command();
    command.args(["rollback", "diff", "1"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), Vec::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn rollback_fails_if_its_answer_cannot_be_written() {
    let world = CommandFixture::new();
    world.write("a.txt", "old\n");
    world.checkpoint("before");
    world.write("a.txt", "new\n");
    for arguments in [&["rollback"][..], &["rollback", "--json"], &["rollback", "1", "--json"]] {
        let mut command = world.command();
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = command.args(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(ended.status.code(), Some(4));
        assert!(String::from_utf8_lossy(&ended.stderr).contains("[unheard]"), "{ended:?}");
    }
    assert_eq!(world.read("a.txt"), "old\n");
}
