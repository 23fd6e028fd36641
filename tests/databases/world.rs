//! A project with real databases in it, used by a process of python3.

use crate::command::world::{Said, World};
use herma_tests::cache;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

const PACKAGE: &str = "plyvel-ci==1.5.1";

/// Says past the capture of the test runner that a test is not run, since a passing test is not shown.
fn not_run(why: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "not run: {why}").unwrap();
}

/// Whether python3 with its module sqlite3 is there; otherwise this is said.
pub fn has_sqlite() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let has = Command::new("python3").args(["-c", "import sqlite3"]).output();
        let has = has.is_ok_and(|output| output.status.success());
        if !has {
            not_run("databases of SQLite (no python3 with its module sqlite3)");
        }
        has
    })
}

/// The folder with the package for LevelDB, installed where no run before has; none where that cannot be
/// done here, which is said.
pub fn level_db() -> Option<&'static Path> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let folder = cache().join(PACKAGE.replace("==", "@"));
        if !folder.is_dir() {
            fs::create_dir_all(cache()).unwrap();
            let part = tempfile::tempdir_in(cache()).unwrap();
            let mut pip = Command::new("python3");
            pip.args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--no-deps",
                "--no-compile",
                "--no-input",
            ]);
            pip.args(["--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check"]);
            pip.arg("--target").arg(part.path()).arg(PACKAGE).stdin(Stdio::null());
            if !pip.output().is_ok_and(|output| output.status.success()) {
                return None;
            }
            // Another run may have been faster.
            if fs::rename(part.path(), &folder).is_ok() {
                let _ = part.keep();
            }
        }
        let mut python = Command::new("python3");
        let imported = python.args(["-c", "import plyvel"]).env("PYTHONPATH", &folder).output();
        imported.is_ok_and(|output| output.status.success()).then_some(folder)
    });
    if installed.is_none() {
        not_run("databases of LevelDB (no python3 with pip, or no network)");
    }
    installed.as_deref()
}

/// A project, and a process that uses databases in it.
pub struct Databases {
    /// The project.
    pub world: World,
    user: Option<User>,
}

struct User {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// A row count, and what a check of the database says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// None where they cannot be read.
    pub rows: Option<u64>,
    /// `ok` where nothing is wrong.
    pub integrity: String,
}

impl Rows {
    /// So many of them, and nothing wrong.
    pub fn ok(rows: u64) -> Self {
        Rows { rows: Some(rows), integrity: "ok".into() }
    }
}

fn python(world: &World) -> Command {
    let mut python = Command::new("python3");
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("databases/databases.py");
    python.arg(driver).env_clear().current_dir(world.project());
    python.env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", world.home());
    python.env("PYTHONDONTWRITEBYTECODE", "1");
    let packages = cache().join(PACKAGE.replace("==", "@"));
    python.env("PYTHONPATH", packages).stdin(Stdio::piped()).stdout(Stdio::piped());
    python
}

impl Databases {
    /// An empty project with this configuration.
    pub fn new(configuration: &str) -> Self {
        let world = World::new();
        world.configure(configuration);
        Databases { world, user: None }
    }

    /// Asks the process that uses the databases, which begins with the first request.
    #[track_caller]
    pub fn asks(&mut self, request: Value) -> Value {
        let world = &self.world;
        let user = self.user.get_or_insert_with(|| {
            let mut process = python(world).spawn().unwrap();
            let requests = process.stdin.take().unwrap();
            let answers = BufReader::new(process.stdout.take().unwrap());
            User { process, requests, answers }
        });
        writeln!(user.requests, "{request}").unwrap();
        let mut answer = String::new();
        user.answers.read_line(&mut answer).unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert!(answer.get("error").is_none(), "{request}: {answer}");
        answer
    }

    /// Opens a database of SQLite in that journal mode and leaves it open.
    #[track_caller]
    pub fn open(&mut self, path: &str, mode: &str) {
        self.asks(json!({"do": "open", "path": path, "mode": mode}));
    }

    /// Commits so many rows of so many bytes.
    #[track_caller]
    pub fn insert(&mut self, path: &str, rows: u64, size: u64) {
        self.asks(json!({"do": "insert", "path": path, "rows": rows, "size": size}));
    }

    /// Does something that takes only a path.
    #[track_caller]
    pub fn does(&mut self, what: &str, path: &str) {
        self.asks(json!({"do": what, "path": path}));
    }

    /// Puts keys from `first` on into an open LevelDB.
    #[track_caller]
    pub fn put(&mut self, path: &str, first: u64, rows: u64, size: u64) {
        let request =
            json!({"do": "put", "path": path, "first": first, "rows": rows, "size": size});
        self.asks(request);
    }

    /// Kills the process that uses the databases, so that nothing is tidied.
    pub fn kill(&mut self) {
        let mut user = self.user.take().unwrap();
        user.process.kill().unwrap();
        user.process.wait().unwrap();
    }

    /// Whoever opens a copy of the database with all its files sees this, so that looking changes nothing.
    pub fn rows(&mut self, path: &str) -> Rows {
        self.counted("rows", path)
    }

    /// The same of a LevelDB.
    pub fn keys(&mut self, path: &str) -> Rows {
        self.counted("keys", path)
    }

    fn counted(&mut self, what: &str, path: &str) -> Rows {
        let folder = tempfile::tempdir_in(self.world.home()).unwrap();
        let whole = self.world.path(path);
        let (from, copy) = match whole.is_dir() {
            true => (whole, folder.path().join("copy")),
            false => (whole.parent().unwrap().to_owned(), folder.path().join("copy")),
        };
        fs::create_dir(&copy).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            // What one process alone can use the other does not need.
            let is_own = entry.file_name().to_string_lossy().ends_with("-shm");
            if entry.file_type().unwrap().is_file() && !is_own {
                fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
            }
        }
        let path = match what {
            "keys" => copy,
            _ => copy.join(Path::new(path).file_name().unwrap()),
        };
        let answer = self.asks(json!({"do": what, "path": path}));
        Rows {
            rows: answer["rows"].as_u64(),
            integrity: answer["integrity"].as_str().unwrap().to_owned(),
        }
    }

    /// Writes rows without end, until it is dropped; some are written by now.
    pub fn writer(&self, kind: &str, path: &str, mode: &str) -> Writer {
        let mut process = python(&self.world).args([kind, path, mode]).spawn().unwrap();
        let mut answer = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        assert_eq!(answer, "it writes\n");
        Writer(process)
    }

    /// Restores a checkpoint and returns the answer.
    #[track_caller]
    pub fn rollback(&self, words: &[&str]) -> (Value, Option<i32>) {
        let words: Vec<OsString> =
            [&["rollback"], words, &["--json"]].concat().iter().map(OsString::from).collect();
        let Said { output, complaint, exit, .. } = self.world.herma(&words);
        let answer = serde_json::from_slice(&output);
        (answer.unwrap_or_else(|_| panic!("{complaint}")), exit)
    }

    /// The files in the folder of that name whose names begin with its stem, sorted.
    pub fn files(&self, path: &str) -> Vec<String> {
        let path = self.world.path(path);
        let stem = path.file_name().unwrap().to_str().unwrap();
        let entries = fs::read_dir(path.parent().unwrap()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(stem)).collect();
        names.sort_unstable();
        names
    }
}

impl Drop for Databases {
    fn drop(&mut self) {
        if self.user.is_some() {
            self.kill();
        }
    }
}

/// A process that writes without end.
pub struct Writer(Child);

impl Writer {
    /// Stops it wherever it is, until it is to go on.
    pub fn stop(&self) {
        self.signal("-STOP");
    }

    pub fn go_on(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill").args([name, &self.0.id().to_string()]).status();
        assert!(kill.unwrap().success());
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// The paths of a list of an answer: plain, or of remarks.
pub fn paths(answer: &Value, list: &str) -> Vec<String> {
    let all = answer[list].as_array().unwrap().iter();
    let path = |one: &Value| one.get("path").unwrap_or(one).as_str().unwrap().to_owned();
    all.map(path).collect()
}

/// The reasons of a list of an answer.
pub fn reasons(answer: &Value, list: &str) -> Vec<String> {
    let all = answer[list].as_array().unwrap().iter();
    all.map(|one| one["why"].as_str().unwrap().to_owned()).collect()
}
