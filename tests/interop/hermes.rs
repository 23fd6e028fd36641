//! hermes-agent as a process of its own: installed if it must be, and driven by `hermes.py`.

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

/// Installs the package where no run before has; none where that cannot be done here.
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

/// A running hermes-agent whose home is that of a test.
pub struct Hermes {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Hermes {
    /// Starts it with these homes; none where the package cannot be installed, which is said.
    pub fn start(home: &Path, hermes_home: &Path) -> Option<Self> {
        let Some((interpreter, packages)) = installed() else {
            // Past the capture of the test runner, since a passing test is not shown otherwise.
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
            // Whether git could make up an identity depends on the machine, so it must not.
            .env("GIT_CONFIG_COUNT", "1")
            .env("GIT_CONFIG_KEY_0", "user.useConfigOnly")
            .env("GIT_CONFIG_VALUE_0", "true")
            // Its commits carry a zone, which must not move the time.
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

    /// Takes a checkpoint in a turn of its own.
    pub fn take(&mut self, most: usize, dir: &Path, reason: &str) {
        let answer = self.call(&json!(["take", most, dir, reason]));
        assert_eq!(answer, json!(true), "hermes-agent took no checkpoint ({reason})");
    }

    /// Its list, newest first.
    pub fn list(&mut self, most: usize, dir: &Path) -> Vec<Checkpoint> {
        let answer = self.call(&json!(["list", most, dir]));
        let read = |one: &Value| {
            let text = |name: &str| one[name].as_str().unwrap().to_owned();
            assert!(text("id").starts_with(&text("short")), "{one}");
            Checkpoint {
                id: text("id"),
                time: one["time"].as_i64().unwrap(),
                reason: text("reason"),
            }
        };
        answer.as_array().unwrap_or_else(|| panic!("{answer}")).iter().map(read).collect()
    }

    /// What changed since a checkpoint, as a patch.
    pub fn diff(&mut self, most: usize, dir: &Path, id: &str) -> String {
        let answer = self.call(&json!(["diff", most, dir, id]));
        assert_eq!(answer["success"], true, "{answer}");
        answer["diff"].as_str().unwrap().to_owned()
    }

    /// Brings a checkpoint back.
    pub fn restore(&mut self, most: usize, dir: &Path, id: &str) {
        let answer = self.call(&json!(["restore", most, dir, id]));
        assert_eq!(answer["success"], true, "{answer}");
    }

    /// Its maintenance, which removes projects that are gone and collects garbage.
    pub fn prune(&mut self) -> Value {
        self.call(&json!(["prune"]))
    }
}

impl Drop for Hermes {
    fn drop(&mut self) {
        // It may have ended by itself, which the failing test says already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
