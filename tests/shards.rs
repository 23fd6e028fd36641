//! A gate in parts as an engine runs them: the script for Slurm, a task that is killed, and `merge`.

use crate::docs::{path_with_commands, root};
use herma_harness::results::Results;
use herma_tests::built_binary;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const PLAN: &str = "schema = 2\nsubject = \"herma-core\"\nseeds = [3]\nhistories = 12\n\
    operations = 30\ncases_of = \"list/\"\njudged = 20\nmost = 0\n";

/// One of two tasks, as Slurm starts it; its results are in `folder`.
fn task(folder: &Path, part: &str) -> Command {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("expected.toml"), PLAN).unwrap();
    let mut task = Command::new("bash");
    task.arg(root().join("harness/shards/slurm.sh"))
        .args(["--expect", "expected.toml", "core"])
        .current_dir(folder)
        .env("PATH", path_with_commands(&[&built_binary("herma-conform")]))
        .env("HERMA_SHARDS", ".")
        .env("SLURM_ARRAY_TASK_ID", part)
        .env("SLURM_ARRAY_TASK_COUNT", "2")
        .process_group(0);
    task
}

fn run_task(folder: &Path, part: &str) {
    let output = task(folder, part).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

fn merge(folder: &Path, parts: [&str; 2]) -> i32 {
    let mut merge = Command::new(built_binary("herma-conform"));
    merge.arg("merge").args(parts).args(["--into", "all.jsonl"]).current_dir(folder);
    merge.output().unwrap().status.code().unwrap()
}

/// The verdict on each rule, and how often it was checked.
fn verdicts(folder: &Path) -> Vec<(String, String, u64)> {
    let results = Results::read(&fs::read_to_string(folder.join("all.jsonl")).unwrap()).unwrap();
    let rules = results.rules.into_iter();
    rules.map(|rule| (rule.id, format!("{:?}", rule.verdict), rule.checks)).collect()
}

/// The command starts itself again in an environment of its own; that process must not outlive the first.
#[test]
#[cfg(target_os = "linux")]
fn run_ends_when_the_process_that_was_started_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(built_binary("herma-conform"));
    command.args(["run", "--histories", "1000000", "--keep", "."]).current_dir(&folder);
    let mut outer = command.spawn().unwrap();
    let results = folder.path().join("results.jsonl");
    while !results.exists() {
        assert_eq!(outer.try_wait().unwrap(), None, "the run ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    let children = format!("/proc/{0}/task/{0}/children", outer.id());
    let inner = fs::read_to_string(children).unwrap().trim().to_owned();
    let is_running = || {
        fs::read_to_string(format!("/proc/{inner}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(is_running());
    outer.kill().unwrap();
    outer.wait().unwrap();
    for _ in 0..500 {
        if !is_running() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{inner} is still running");
}

#[test]
fn slurm_sh_runs_a_killed_part_again_and_merge_of_the_parts_is_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let [undisturbed, killed] = ["undisturbed", "killed"].map(|name| folder.path().join(name));
    for part in ["1", "2"] {
        run_task(&undisturbed, part);
    }
    assert_eq!(merge(&undisturbed, ["1.jsonl", "2.jsonl"]), 0);

    run_task(&killed, "2");
    let mut first = task(&killed, "1").spawn().unwrap();
    let has_begun =
        || fs::read_to_string(killed.join("1.running")).is_ok_and(|text| !text.is_empty());
    while !has_begun() {
        assert_eq!(first.try_wait().unwrap(), None, "the task ended before it began");
        std::thread::sleep(Duration::from_millis(5));
    }
    let group = format!("-{}", first.id());
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
    assert!(!first.wait().unwrap().success());
    assert!(!killed.join("1.jsonl").exists());
    assert_eq!(merge(&killed, ["1.running", "2.jsonl"]), 4, "a part without an end is no part");
    run_task(&killed, "1");
    assert_eq!(merge(&killed, ["1.jsonl", "2.jsonl"]), 0);
    assert_eq!(verdicts(&killed), verdicts(&undisturbed));
}
