//! Helpers for all tests. They build the commands under test, because `cargo test` does not build the
//! binaries of other packages and an existing binary may be older than its source.
#![allow(clippy::unwrap_used)]

use herma_core::disk::{Disk, LockGuard, Sharing, SystemDisk};
use herma_harness::sandbox::Scratch;
use herma_harness::subject::CoreSubject;
use herma_harness::{History, Run, RunOptions, run};
use herma_model::rules::{self, RuleRef};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The path of a command in the profile of the running test, built if necessary. A name that starts with
/// `examples/` is an example. A variable such as `HERMA_CONFORM_BINARY` overrides the path.
pub fn built_binary(name: &str) -> PathBuf {
    let variable = format!("{}_BINARY", name.to_uppercase().replace('-', "_"));
    if let Some(path) = std::env::var_os(&variable) {
        return PathBuf::from(path);
    }
    // <target>/<profile>/deps/<this test>
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    if let Some(cargo) = std::env::var_os("CARGO") {
        build(&cargo, name, folder);
    }
    let binary = folder.join(name);
    assert!(
        binary.is_file(),
        "{binary:?} is missing: build it with `cargo build --bin {name}` in the same profile, or \
         name another with {variable}"
    );
    binary
}

/// Takes a lock that this process may just have released: a process that another test starts holds it
/// until its `exec`.
pub fn hold(path: &Path, sharing: Sharing) -> Box<dyn LockGuard> {
    let attempt = |_| {
        std::thread::sleep(Duration::from_millis(10));
        SystemDisk.try_lock(path, sharing).unwrap()
    };
    (0..500).find_map(attempt).unwrap()
}

/// Runs a history on the core until it breaks a rule.
pub fn run_on_core(history: &History) -> Run {
    let scratch = Scratch::in_default_directory();
    run(history, &CoreSubject::boxed, &scratch, RunOptions::default()).unwrap()
}

/// How often each rule was checked, without the rules about the size of the store. That size varies by some
/// bytes: a checkpoint records when the files it left out were changed, and SQLite writes random numbers.
pub fn without_sizes(mut checks: BTreeMap<&'static str, u64>) -> BTreeMap<&'static str, u64> {
    let size_rules = [rules::LIMIT_TOTAL_SIZE.id, rules::LIMIT_NO_MORE_THAN_NEEDED.id];
    checks.retain(|rule, _| !size_rules.contains(rule));
    checks
}

/// The folder for installed packages, the same as in `.ci/run`, so that each package is fetched once.
pub fn cache() -> PathBuf {
    let configured = std::env::var_os("HERMA_CACHE").filter(|folder| !folder.is_empty());
    let default =
        || Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("target/herma-cache");
    configured.map_or_else(default, |folder| std::path::absolute(folder).unwrap())
}

/// The one variable that a command with a cleared environment still needs: where a coverage build writes
/// its profile.
pub fn coverage() -> Option<(&'static str, OsString)> {
    let name = "LLVM_PROFILE_FILE";
    std::env::var_os(name).map(|file| (name, file))
}

fn build(cargo: &OsStr, name: &str, folder: &Path) {
    // Cargo names the folder of the profile `dev` differently.
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        profile => profile,
    };
    let (kind, name) = match name.strip_prefix("examples/") {
        Some(example) => ("--example", example),
        None => ("--bin", name),
    };
    let output = Command::new(cargo)
        .args(["build", "--quiet", "--workspace", kind, name, "--profile", profile])
        .arg("--target-dir")
        .arg(folder.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "the command does not build:\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs `herma-conform`, asserts that it succeeds and that each of these rules held, and returns its output.
#[track_caller]
pub fn assert_rules_held(arguments: &[&str], rules: &[RuleRef]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(built_binary("herma-conform"));
    let output =
        command.args(arguments).arg("--rules").arg("--keep").arg(folder.path()).output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stdout}");
    for rule in rules {
        let line = stdout.lines().find(|line| line.starts_with(rule.id)).unwrap();
        assert!(line.contains(" held "), "{line}");
    }
    stdout
}
