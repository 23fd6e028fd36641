//! The fixture of the database tests: a project with real databases, used by a process of python3.

use crate::command::world::{CommandFixture, CommandOutput};
use herma_tests::cache;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

const PACKAGE: &str = "plyvel-ci==1.5.1";

/// Reports that a test is not run, bypassing the capture of the test runner, which does not show the output of
/// passing tests.
fn not_run(reason: &str) {
    let mut stderr = std::io::stderr().lock();
    writeln!(stderr, "not run: {reason}").unwrap();
}

/// Whether python3 with its module sqlite3 is available; prints a notice if not.
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

/// The folder with the package for LevelDB, installed unless an earlier run has; prints a notice and returns
/// `None` if it cannot be installed.
pub fn level_db() -> Option<&'static Path> {
    static INSTALLED: OnceLock<Option<PathBuf>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let folder = cache().join(PACKAGE.replace("==", "@"));
        if !folder.is_dir() {
            fs::create_dir_all(cache()).unwrap();
            let staged = tempfile::tempdir_in(cache()).unwrap();
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
            pip.arg("--target").arg(staged.path()).arg(PACKAGE).stdin(Stdio::null());
            if !pip.output().is_ok_and(|output| output.status.success()) {
                return None;
            }
            // A concurrent run may have installed it first.
            if fs::rename(staged.path(), &folder).is_ok() {
                let _ = staged.keep();
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
    pub world: CommandFixture,
    user: Option<User>,
}

struct User {
    process: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// A row count, and the result of an integrity check of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// `None` if the rows cannot be read.
    pub rows: Option<u64>,
    /// `ok` if nothing is wrong.
    pub integrity: String,
}

impl Rows {
    /// That many rows, and nothing wrong.
    pub fn ok(rows: u64) -> Self {
        Rows { rows: Some(rows), integrity: "ok".into() }
    }
}

fn python(world: &CommandFixture) -> Command {
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
        let world = CommandFixture::new();
        world.configure(configuration);
        Databases { world, user: None }
    }

    /// Sends a request to the process that uses the databases; the first request starts the process.
    #[track_caller]
    pub fn request(&mut self, request: Value) -> Value {
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
        self.request(json!({"do": "open", "path": path, "mode": mode}));
    }

    /// Commits that many rows of `size` bytes.
    #[track_caller]
    pub fn insert(&mut self, path: &str, rows: u64, size: u64) {
        self.request(json!({"do": "insert", "path": path, "rows": rows, "size": size}));
    }

    /// Runs an action of `databases.py` that takes only a path.
    #[track_caller]
    pub fn run(&mut self, action: &str, path: &str) {
        self.request(json!({"do": action, "path": path}));
    }

    /// Puts keys from `first` on into an open LevelDB.
    #[track_caller]
    pub fn put(&mut self, path: &str, first: u64, rows: u64, size: u64) {
        let request =
            json!({"do": "put", "path": path, "first": first, "rows": rows, "size": size});
        self.request(request);
    }

    /// Kills the process that uses the databases, so that it cleans nothing up.
    pub fn kill(&mut self) {
        let mut user = self.user.take().unwrap();
        user.process.kill().unwrap();
        user.process.wait().unwrap();
    }

    /// The rows in a copy of the database with all its files, so that counting changes nothing.
    pub fn rows(&mut self, path: &str) -> Rows {
        self.count("rows", path)
    }

    /// The keys in a copy of a LevelDB.
    pub fn keys(&mut self, path: &str) -> Rows {
        self.count("keys", path)
    }

    fn count(&mut self, action: &str, path: &str) -> Rows {
        let folder = tempfile::tempdir_in(self.world.home()).unwrap();
        let database = self.world.path(path);
        let (from, copy) = match database.is_dir() {
            true => (database, folder.path().join("copy")),
            false => (database.parent().unwrap().to_owned(), folder.path().join("copy")),
        };
        fs::create_dir(&copy).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            // A shared memory file is only valid for running processes; a copy does not need it.
            let is_shared_memory = entry.file_name().to_string_lossy().ends_with("-shm");
            if entry.file_type().unwrap().is_file() && !is_shared_memory {
                fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
            }
        }
        let path = match action {
            "keys" => copy,
            _ => copy.join(Path::new(path).file_name().unwrap()),
        };
        let answer = self.request(json!({"do": action, "path": path}));
        Rows {
            rows: answer["rows"].as_u64(),
            integrity: answer["integrity"].as_str().unwrap().to_owned(),
        }
    }

    /// Starts a process that writes rows until the `Writer` is dropped; returns after its first writes.
    pub fn writer(&self, kind: &str, path: &str, mode: &str) -> Writer {
        let mut process = python(&self.world).args([kind, path, mode]).spawn().unwrap();
        let mut answer = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        assert_eq!(answer, "it writes\n");
        Writer(process)
    }

    /// Runs `herma rollback` with these words, and returns its JSON answer and exit code.
    #[track_caller]
    pub fn rollback(&self, words: &[&str]) -> (Value, Option<i32>) {
        let words: Vec<OsString> =
            [&["rollback"], words, &["--json"]].concat().iter().map(OsString::from).collect();
        let CommandOutput { output, stderr, exit, .. } = self.world.herma(&words);
        let answer = serde_json::from_slice(&output);
        (answer.unwrap_or_else(|_| panic!("{stderr}")), exit)
    }

    /// The sorted names of the files in the folder of `path` that begin with the name of `path`.
    pub fn files(&self, path: &str) -> Vec<String> {
        let path = self.world.path(path);
        let prefix = path.file_name().unwrap().to_str().unwrap();
        let entries = fs::read_dir(path.parent().unwrap()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
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

/// A process that writes continuously.
pub struct Writer(Child);

impl Writer {
    /// Stops the process at an arbitrary point, until [`Writer::go_on`].
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

/// The paths in a list of an answer, whose entries are paths or remarks with a path.
pub fn paths(answer: &Value, list: &str) -> Vec<String> {
    let entries = answer[list].as_array().unwrap().iter();
    let path = |entry: &Value| entry.get("path").unwrap_or(entry).as_str().unwrap().to_owned();
    entries.map(path).collect()
}

/// The reasons in a list of an answer.
pub fn reasons(answer: &Value, list: &str) -> Vec<String> {
    let entries = answer[list].as_array().unwrap().iter();
    entries.map(|entry| entry["why"].as_str().unwrap().to_owned()).collect()
}
