//! Finds the commands that tests run: `cargo test` builds the tests of a package, not the binaries
//! of another, and one that stands there may be older than its source. And what two runs have in common.
#![allow(clippy::unwrap_used)]

use herma_model::rules::{self, RuleRef};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command of that name in the profile of the running test, built if it must be; an example
/// where the name opens with `examples/`. A variable
/// such as `HERMA_CONFORM_BINARY` names another one.
pub fn built_binary(name: &str) -> PathBuf {
    let variable = format!("{}_BINARY", name.to_uppercase().replace('-', "_"));
    if let Some(given) = std::env::var_os(&variable) {
        return PathBuf::from(given);
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

/// How often each rule was checked, but for those about the size of the store: a checkpoint records when
/// what it left out was changed, and SQLite writes random numbers, so that it varies by some bytes.
pub fn without_sizes(mut checks: BTreeMap<&'static str, u64>) -> BTreeMap<&'static str, u64> {
    let of_size = [rules::LIMIT_TOTAL_SIZE.id, rules::LIMIT_NO_MORE_THAN_NEEDED.id];
    checks.retain(|rule, _| !of_size.contains(rule));
    checks
}

/// The same folder as `.ci/run` installs packages into, so that each is fetched once.
pub fn cache() -> PathBuf {
    let named = std::env::var_os("HERMA_CACHE").filter(|folder| !folder.is_empty());
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("target/herma-cache");
    named.map_or_else(own, |folder| std::path::absolute(folder).unwrap())
}

/// What a command that is started without the environment of the tests needs of it all the same:
/// where it notes which of its lines ran, in a build that notes it.
pub fn coverage() -> Option<(&'static str, OsString)> {
    let name = "LLVM_PROFILE_FILE";
    std::env::var_os(name).map(|file| (name, file))
}

fn build(cargo: &OsStr, name: &str, folder: &Path) {
    // Cargo calls the folder of the profile `dev` by another name than the profile.
    let profile = match folder.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        profile => profile,
    };
    let (kind, name) = match name.strip_prefix("examples/") {
        Some(example) => ("--example", example),
        None => ("--bin", name),
    };
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--workspace", kind, name, "--profile", profile])
        .arg("--target-dir")
        .arg(folder.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(
        built.status.success(),
        "the command does not build:\n{}",
        String::from_utf8_lossy(&built.stderr)
    );
}

/// What a run of `herma-conform` with these arguments says that ends well and holds all of these rules.
#[track_caller]
pub fn holds(arguments: &[&str], rules: &[RuleRef]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(built_binary("herma-conform"));
    let output = command.args(arguments).arg("--keep").arg(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    for rule in rules {
        let line = said.lines().find(|line| line.starts_with(rule.id)).unwrap();
        assert!(line.contains(" held "), "{line}");
    }
    said
}
