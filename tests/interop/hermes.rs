//! hermes-agent as a separate process, installed if necessary and driven by `hermes.py`.

use super::Checkpoint;
use herma_harness::bundled;
use herma_tests::cache;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

const PACKAGE: &str = "hermes-agent@0.19.0";

/// The interpreter and the folder of the installed package.
type Installed = (OsString, OsString);

/// Installs the package unless an earlier run has; `None` if it cannot be installed.
fn installed() -> Option<&'static Installed> {
    static INSTALLED: OnceLock<Option<Installed>> = OnceLock::new();
    INSTALLED.get_or_init(install).as_ref()
}

fn install() -> Option<Installed> {
    let bundled = bundled::find(PACKAGE).unwrap();
    let cache = cache();
    if let Err(error) = bundled::install(bundled, &cache) {
        assert!(!matches!(error, bundled::InstallError::Cache(_)), "{error}");
        return None;
    }
    let mut adapter = bundled.command(&cache).unwrap().command;
    Some((adapter.remove(0), adapter.pop().unwrap()))
}

/// A running hermes-agent in the home of a test.
pub struct Hermes {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Hermes {
    /// Starts hermes-agent with these homes; prints a notice and returns `None` if it cannot be installed.
    pub fn start(home: &Path, hermes_home: &Path) -> Option<Self> {
        let Some((interpreter, packages)) = installed() else {
            // Bypasses the capture of the test runner, which does not show the output of passing tests.
            let mut stderr = std::io::stderr().lock();
            writeln!(
                stderr,
                "not run: interop with {PACKAGE} (no python3 with pip, or no network)"
            )
            .unwrap();
            return None;
        };
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("interop/hermes.py");
        let mut process = Command::new(interpreter)
            .arg("-S")
            .arg(driver)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", home)
            .env("HERMES_HOME", hermes_home)
            .env("PYTHONPATH", packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("LC_ALL", "C.UTF-8")
            // Whether git can guess an identity depends on the machine, so guessing is disabled.
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "user.useConfigOnly")
            .env("GIT_CONFIG_VALUE_0", "true")
            // Its commits carry a time zone, which must not shift the time.
            .env("TZ", "IST-5:30")
            .current_dir(home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let requests = process.stdin.take().unwrap();
        let answers = BufReader::new(process.stdout.take().unwrap());
        Some(Hermes { process, requests, answers })
    }

    fn call(&mut self, request: &Value) -> Value {
        writeln!(self.requests, "{request}").unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{request}: {answer}: {error}"))
    }

    /// Takes a checkpoint in its own turn.
    pub fn take(&mut self, max_snapshots: usize, dir: &Path, reason: &str) {
        let answer = self.call(&json!(["take", max_snapshots, dir, reason]));
        assert_eq!(answer, json!(true), "hermes-agent took no checkpoint ({reason})");
    }

    /// Its list, newest first.
    pub fn list(&mut self, max_snapshots: usize, dir: &Path) -> Vec<Checkpoint> {
        let answer = self.call(&json!(["list", max_snapshots, dir]));
        let read = |entry: &Value| {
            let text = |name: &str| entry[name].as_str().unwrap().to_owned();
            assert!(text("id").starts_with(&text("short")), "{entry}");
            Checkpoint {
                id: text("id"),
                time: entry["time"].as_i64().unwrap(),
                reason: text("reason"),
            }
        };
        answer.as_array().unwrap_or_else(|| panic!("{answer}")).iter().map(read).collect()
    }

    /// What changed since a checkpoint, as a patch.
    pub fn diff(&mut self, max_snapshots: usize, dir: &Path, id: &str) -> String {
        let answer = self.call(&json!(["diff", max_snapshots, dir, id]));
        assert_eq!(answer["success"], true, "{answer}");
        answer["diff"].as_str().unwrap().to_owned()
    }

    /// Restores a checkpoint.
    pub fn restore(&mut self, max_snapshots: usize, dir: &Path, id: &str) {
        let answer = self.call(&json!(["restore", max_snapshots, dir, id]));
        assert_eq!(answer["success"], true, "{answer}");
    }

    /// Runs its maintenance, which removes orphaned projects and collects garbage.
    pub fn prune(&mut self) -> Value {
        self.call(&json!(["prune"]))
    }
}

impl Drop for Hermes {
    fn drop(&mut self) {
        // The process may have ended already, which the failing test reports.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
