//! Real databases in histories: a separate process writes them with SQLite, and SQLite opens the files
//! that a restore left. The model judges whether the rows are right.
//!
//! This needs `python3` with its `sqlite3`; without it, no history has such a database.

use crate::history::{DatabaseEnd, DatabaseWrite};
use herma_model::observation::{DatabaseRows, Rows};
use herma_model::{ByteString, Files, Node, Tree};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

const WRITES: &str = include_str!("writes.py");
const READS: &str = include_str!("reads.py");
const PYTHON: &str = "python3";
/// Options of `python3`: no modules of the user, and no site packages.
const ISOLATED: [&str; 2] = ["-I", "-S"];

/// The suffixes of the files of a database.
pub const SUFFIXES: [&str; 4] = ["", "-wal", "-journal", "-shm"];

/// The program that writes and reads databases: the interpreter behind `python3`, which may itself be a
/// script that takes ten times as long to start.
fn interpreter() -> Option<&'static Path> {
    static INTERPRETER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let mut python = Command::new(PYTHON);
        python.args(ISOLATED).args(["-c", "import sqlite3, sys; print(sys.executable)"]);
        let output = python.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        let path = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        Some(PathBuf::from(path.trim_end()))
    };
    INTERPRETER.get_or_init(find).as_deref()
}

fn python() -> Command {
    let mut python = Command::new(interpreter().unwrap_or(Path::new(PYTHON)));
    python.args(ISOLATED);
    python
}

/// Whether there is a program that writes databases.
pub fn is_available() -> bool {
    interpreter().is_some()
}

/// The path of a file of the database at `path`.
pub fn file_path(path: &ByteString, suffix: &str) -> ByteString {
    ByteString::from([path, suffix.as_bytes()].concat())
}

/// Databases that processes of the runner have open; the processes are killed on drop.
#[derive(Default)]
pub struct Databases {
    open: BTreeMap<ByteString, Child>,
    /// Every database that was ever written.
    pub written: std::collections::BTreeSet<ByteString>,
}

impl Drop for Databases {
    fn drop(&mut self) {
        let paths: Vec<ByteString> = self.open.keys().cloned().collect();
        paths.iter().for_each(|path| self.close(path));
    }
}

impl Databases {
    /// Kills the process that has a database open.
    fn close(&mut self, path: &ByteString) {
        if let Some(mut child) = self.open.remove(path) {
            // The process may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Writes a database below `root`.
    ///
    /// # Errors
    /// The database cannot be written.
    pub fn write(&mut self, root: &Path, database: &DatabaseWrite) -> io::Result<()> {
        self.close(&database.path);
        self.written.insert(database.path.clone());
        let mut python = python();
        python.arg("-c").arg(WRITES).arg(root.join(OsStr::from_bytes(&database.path)));
        python.args([database.journal_mode.word(), &database.rows.to_string()]);
        python.arg(database.end.word()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = python.stderr(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        if database.end == DatabaseEnd::Open && line == "open\n" {
            self.open.insert(database.path.clone(), child);
            return Ok(());
        }
        let mut message = String::new();
        if let Some(mut stderr) = child.stderr.take() {
            stderr.read_to_string(&mut message)?;
        }
        let status = child.wait()?;
        let is_killed = database.end == DatabaseEnd::Killed && status.code().is_none();
        if status.success() || is_killed {
            return Ok(());
        }
        Err(io::Error::other(format!("the database {} was not written: {message}", database.path)))
    }

    /// The rows that SQLite reads in every database around a restore: in the checkpoint, before the
    /// restore, and after it. SQLite reads copies, without the files that it makes anew.
    ///
    /// # Errors
    /// The databases cannot be copied or read.
    pub fn rows(
        &self,
        project: &[u8],
        checkpoint: &Tree,
        before: &Files,
        after: &Files,
    ) -> io::Result<BTreeMap<ByteString, DatabaseRows>> {
        let folder = tempfile::tempdir()?;
        let inside: Vec<_> = self
            .written
            .iter()
            .filter_map(|path| {
                Some((path, ByteString::from(herma_model::bytes::below(project, path)?)))
            })
            .collect();
        let mut copies = Vec::new();
        let mut copy = |bytes: &dyn Fn(&str) -> Option<Vec<u8>>| -> io::Result<()> {
            let path = folder.path().join(copies.len().to_string());
            for suffix in &SUFFIXES[..3] {
                if let Some(bytes) = bytes(suffix) {
                    std::fs::write(format!("{}{suffix}", path.display()), bytes)?;
                }
            }
            copies.push(path);
            Ok(())
        };
        for (path, relative) in &inside {
            let in_files = |files: &Files, suffix: &str| match files.get(&file_path(path, suffix)) {
                Some(Node::File { content, .. }) => Some(content.to_vec()),
                _ => None,
            };
            copy(&|suffix| Some(checkpoint.get(&file_path(relative, suffix))?.bytes().to_vec()))?;
            copy(&|suffix| in_files(before, suffix))?;
            copy(&|suffix| in_files(after, suffix))?;
        }
        if copies.is_empty() {
            return Ok(BTreeMap::new());
        }
        let output = python().arg("-c").arg(READS).args(&copies).output()?;
        let lines = String::from_utf8_lossy(&output.stdout);
        let read: Vec<Rows> =
            lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        if read.len() != copies.len() {
            let message = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(io::Error::other(format!("the databases were not read: {message}")));
        }
        let rows = |states: &[Rows]| DatabaseRows {
            then: states[0].clone(),
            before: states[1].clone(),
            after: states[2].clone(),
        };
        let paths = inside.into_iter().map(|(path, _)| path.clone());
        Ok(paths.zip(read.chunks(3).map(rows)).collect())
    }
}

/// The shell lines that write a database at this path.
pub fn command(path: &str, database: &DatabaseWrite) -> String {
    let mode = database.journal_mode.word();
    let end = database.end.word();
    let call = format!("python3 \"$ROOT\"/.writes.py {path} {mode} {} {end}", database.rows);
    let script = format!("cat > \"$ROOT\"/.writes.py <<'WRITES'\n{WRITES}WRITES\n");
    let call = match database.end {
        DatabaseEnd::Open => format!(
            "exec {{HELD}}> >({call} > \"$ROOT\"/.opened)\n\
             until [ -s \"$ROOT\"/.opened ]; do sleep 0.05; done\nrm -- \"$ROOT\"/.opened"
        ),
        _ => call,
    };
    format!("{script}{call}\nrm -- \"$ROOT\"/.writes.py")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::JournalMode;

    fn files(root: &Path, path: &str) -> Files {
        let mut files = Files::default();
        for suffix in SUFFIXES {
            if let Ok(content) = std::fs::read(root.join(format!("{path}{suffix}"))) {
                let node =
                    Node::File { content: content.into(), executable: false, readable: true };
                files.insert(format!("{path}{suffix}").as_bytes(), node);
            }
        }
        files
    }

    #[test]
    fn write_leaves_the_files_of_a_process_that_closes_keeps_open_or_is_killed() {
        if !is_available() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let mut databases = Databases::default();
        for (journal_mode, end, left) in [
            (JournalMode::Wal, DatabaseEnd::Closed, &["app.db"][..]),
            (JournalMode::Wal, DatabaseEnd::Killed, &["app.db", "app.db-shm", "app.db-wal"]),
            (JournalMode::Wal, DatabaseEnd::Open, &["app.db", "app.db-shm", "app.db-wal"]),
            (JournalMode::Delete, DatabaseEnd::Closed, &["app.db"]),
            (JournalMode::Delete, DatabaseEnd::Killed, &["app.db", "app.db-journal"]),
        ] {
            let path = ByteString::from("app.db");
            let before = files(folder.path(), "app.db");
            let database = DatabaseWrite { path: path.clone(), journal_mode, rows: 5, end };
            databases.write(folder.path(), &database).unwrap();
            let after = files(folder.path(), "app.db");
            let names: Vec<String> = after.iter().map(|(path, _)| path.to_string()).collect();
            assert_eq!(names, left, "{journal_mode:?} {end:?}");
            let rows = databases.rows(b"", &Tree::default(), &before, &after).unwrap();
            let rows = &rows[&path];
            let count = |rows: &Rows| match rows {
                Rows::Absent => Some(0),
                Rows::Read { rows, .. } => Some(*rows),
                Rows::Broken(_) => None,
            };
            assert_eq!(rows.then, Rows::Absent);
            assert_eq!(count(&rows.after), count(&rows.before).map(|rows| rows + 5), "{rows:?}");
        }
    }
}
