//! A home directory, a project and a store of their own for each test, and the built command to run in
//! them.
//!
//! Parts of a text that differ between runs are replaced before the text is compared: ids by their order
//! of appearance, times, and the folder that contains everything. Tests replace sizes themselves.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use herma_core::text::shell_word;
use tempfile::TempDir;

/// A user who owns no file, so that root can test what is forbidden to other users.
const NOBODY: u32 = 65_534;

/// The path of the built command.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| herma_tests::built_binary("herma"))
}

/// The output of a command.
pub struct CommandOutput {
    /// The command line.
    command_line: String,
    /// Standard output.
    pub output: Vec<u8>,
    /// Standard error.
    pub stderr: String,
    /// The exit code, unless a signal ended the command.
    pub exit: Option<i32>,
}

impl CommandOutput {
    /// The output of a process that ended.
    pub fn new(command_line: String, ended: Output) -> CommandOutput {
        let stderr = String::from_utf8_lossy(&ended.stderr).into_owned();
        CommandOutput { command_line, output: ended.stdout, stderr, exit: ended.status.code() }
    }

    /// The answer as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    /// The answer as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.output).unwrap()
    }

    /// The same; panics unless the command succeeded and wrote nothing to standard error.
    #[track_caller]
    pub fn done(self) -> CommandOutput {
        assert_eq!((self.exit, self.stderr.as_str()), (Some(0), ""), "{}", self.command_line);
        self
    }

    /// The code in brackets at the end of the complaint; panics unless the command failed and answered
    /// nothing.
    #[track_caller]
    pub fn refusal(&self) -> &str {
        let is_failure = matches!(self.exit, Some(2..=6));
        assert_eq!((is_failure, self.text().as_str()), (true, ""), "{}", self.command_line);
        let (_, code) = self.stderr.trim_end().rsplit_once('[').expect(&self.stderr);
        code.strip_suffix(']').expect(&self.stderr)
    }
}

/// The files of one test.
pub struct CommandFixture {
    _folder: TempDir,
    /// The canonical path of the folder that contains everything.
    pub root: PathBuf,
    ids: RefCell<Vec<String>>,
}

impl CommandFixture {
    /// A home with an empty project, and no store.
    pub fn new() -> CommandFixture {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("home/project")).unwrap();
        CommandFixture { _folder: folder, root, ids: RefCell::default() }
    }

    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    pub fn project(&self) -> PathBuf {
        self.root.join("home/project")
    }

    pub fn base(&self) -> PathBuf {
        self.root.join("hermes/checkpoints")
    }

    /// Applies a patch to the project with plain git.
    #[track_caller]
    pub fn git_applies(&self, patch: &Path) {
        let mut git = Command::new("git");
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CEILING_DIRECTORIES", self.home());
        let applied = git.args(["apply".as_ref(), patch.as_os_str()]).current_dir(self.project());
        let applied = applied.output().unwrap();
        assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    }

    /// A v1 archive of `bytes` bytes that contains a minimal v1 repository.
    pub fn archive(&self, name: &str, bytes: usize) {
        let repository = self.base().join(name).join("0123456789abcdef");
        fs::create_dir_all(repository.join("objects")).unwrap();
        fs::write(repository.join("HEAD"), vec![b'x'; bytes]).unwrap();
        fs::write(repository.join("HERMES_WORKDIR"), "").unwrap();
    }

    /// The path of a file of the project, whose name may be any bytes.
    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.project().join(name.as_ref())
    }

    pub fn write(&self, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub fn read(&self, name: impl AsRef<OsStr>) -> String {
        String::from_utf8_lossy(&fs::read(self.path(name)).unwrap()).into_owned()
    }

    pub fn has(&self, name: impl AsRef<OsStr>) -> bool {
        self.path(name).symlink_metadata().is_ok()
    }

    pub fn remove(&self, name: impl AsRef<OsStr>) {
        fs::remove_file(self.path(name)).unwrap();
    }

    /// Writes the configuration file.
    pub fn configure(&self, content: &str) {
        let file = self.base().with_file_name("config.yaml");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
    }

    /// The command, prepared to run in the project without the surrounding environment.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary());
        self.prepare(&mut command);
        command
    }

    /// The command in a shell that limits the size of files to about 30 kilobytes.
    pub fn confined_command(&self) -> Command {
        let mut command = Command::new("/bin/sh");
        self.prepare(&mut command);
        // The profile that a coverage build writes at its end would be too large, too.
        command.envs(herma_tests::coverage().map(|(name, _)| (name, "/dev/null")));
        command.args(["-c", "trap '' XFSZ; ulimit -f 60; exec \"$0\" \"$@\""]).arg(binary());
        command
    }

    /// A program that runs as an ordinary user, who may not have access to the folder in which the command was
    /// built.
    pub fn ordinary(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        self.prepare(&mut command);
        command.envs(herma_tests::coverage().map(|(name, _)| (name, "/dev/null")));
        if fs::metadata(&self.root).unwrap().uid() == 0 {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }

    /// A copy of the command for every user.
    pub fn copy_for_everybody(&self) -> PathBuf {
        fs::set_permissions(&self.root, Permissions::from_mode(0o755)).unwrap();
        let copy = self.root.join("herma");
        fs::copy(binary(), &copy).unwrap();
        copy
    }

    /// Prepares a command to run in the project without the surrounding environment.
    pub fn prepare(&self, command: &mut Command) {
        command
            .env_clear()
            .envs(herma_tests::coverage())
            .env("HOME", self.home())
            .env("HERMES_HOME", self.root.join("hermes"))
            .env("TZ", "UTC")
            .current_dir(self.project());
    }

    /// Gives the home and all below it to the user of [`CommandFixture::ordinary`].
    pub fn give_home(&self) {
        self.give(&self.home());
    }

    /// Gives a folder and all below it to that user.
    pub fn give(&self, folder: &Path) {
        if fs::metadata(&self.root).unwrap().uid() != 0 {
            return;
        }
        let mut pending = vec![folder.to_owned()];
        while let Some(path) = pending.pop() {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            if path.is_dir() {
                pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
    }

    /// Whether this machine can run a command on a terminal; if not, says so.
    pub fn has_terminal() -> bool {
        let tried = Command::new("script").arg("--version").stdout(Stdio::null()).status();
        let has_terminal = tried.is_ok_and(|status| status.success());
        if !has_terminal {
            println!("not run: no program script on this machine");
        }
        has_terminal
    }

    /// The command with these words on a terminal with so many columns and no screen.
    pub fn on_terminal(&self, columns: usize, words: &[&str]) -> Command {
        let typed = words.iter().map(shell_word).collect::<Vec<_>>().join(" ");
        let line = format!("stty cols {columns}; exec {} {typed}", binary().display());
        let mut script = Command::new("script");
        self.prepare(&mut script);
        script.env("PATH", "/usr/bin:/bin").args(["-qec", &line, "/dev/null"]).stdin(Stdio::null());
        script
    }

    /// The paths that a checkpoint holds.
    pub fn held(&self, id: &str) -> Vec<String> {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.base().join("store")).args(["ls-tree", "-r", "--name-only", id]);
        let listed = String::from_utf8(git.output().unwrap().stdout).unwrap();
        listed.lines().map(str::to_owned).collect()
    }

    /// Runs the command with these words.
    pub fn herma<W: AsRef<OsStr>>(&self, words: &[W]) -> CommandOutput {
        self.run(self.command(), words)
    }

    /// As [`CommandFixture::herma`], in this directory: that of the project may not exist.
    pub fn herma_in<W: AsRef<OsStr>>(&self, directory: &Path, words: &[W]) -> CommandOutput {
        let mut command = self.command();
        command.current_dir(directory);
        self.run(command, words)
    }

    /// Waits until the clock of files has advanced: a checkpoint cannot tell later whether a file that
    /// changed within the tick in which it began is unchanged.
    fn settle() {
        let probe = || tempfile::tempfile().unwrap().metadata().unwrap().modified().unwrap();
        let written = probe();
        while probe() <= written {}
    }

    /// Runs a prepared command with these words, once the files written before are settled.
    pub fn run<W: AsRef<OsStr>>(&self, mut command: Command, words: &[W]) -> CommandOutput {
        Self::settle();
        let ended = command.args(words).output().unwrap();
        let shown = words.iter().map(|word| match word.as_ref().to_str() {
            Some(plain) if !plain.is_empty() && !plain.contains([' ', '\n', '\x1b']) => {
                plain.to_owned()
            }
            _ => format!("\"{}\"", word.as_ref().as_bytes().escape_ascii()),
        });
        let words = std::iter::once("herma".to_owned()).chain(shown).collect::<Vec<_>>();
        CommandOutput::new(words.join(" "), ended)
    }

    /// Takes a checkpoint of the project, which must have changed, and returns its full id.
    pub fn checkpoint(&self, reason: &str) -> String {
        let said = self.herma(&["checkpoint", "--reason", reason, "--json"]).done();
        said.json()["id"].as_str().expect("nothing changed since the last checkpoint").to_owned()
    }

    /// How many checkpoints the project has.
    pub fn checkpoints(&self) -> usize {
        self.herma(&["rollback", "--json"]).done().json()["checkpoints"].as_array().unwrap().len()
    }

    /// The commands and their output as on a terminal, without the parts that differ between runs.
    pub fn transcript(&self, outputs: &[CommandOutput]) -> String {
        let mut text = String::new();
        for CommandOutput { command_line, output, stderr, exit } in outputs {
            text += &format!("$ {command_line}\n{}", String::from_utf8_lossy(output));
            text += stderr;
            if *exit != Some(0) {
                text += &format!("[exit {}]\n", exit.unwrap_or(-1));
            }
            text.push('\n');
        }
        self.redacted(&text)
    }

    /// The text without the parts that differ between runs.
    pub fn redacted(&self, text: &str) -> String {
        let text = text.replace(self.root.to_str().unwrap(), "[folder]");
        let lines = text.lines().map(|line| {
            // The ids of blobs follow from their content.
            if line.starts_with("index ") { line.to_owned() } else { self.redacted_line(line) }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn redacted_line(&self, line: &str) -> String {
        let mut redacted = String::new();
        let mut rest = line;
        while !rest.is_empty() {
            let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | ':' | '.');
            let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len()).max(1);
            let end = (end..).find(|end| rest.is_char_boundary(*end)).unwrap();
            let (word, after) = rest.split_at(end);
            let bytes = word.as_bytes();
            let is_id = matches!(word.len(), 7 | 40) && bytes.iter().all(u8::is_ascii_hexdigit);
            redacted += &if is_id {
                self.placeholder(word)
            } else {
                match word.replace(|c: char| c.is_ascii_digit(), "0").as_str() {
                    "0000-00-00" => "YYYY-MM-DD".to_owned(),
                    "00:00" => "hh:mm".to_owned(),
                    _ => word.to_owned(),
                }
            };
            rest = after;
        }
        redacted
    }

    /// A placeholder for an id, as wide as a short id, and the same for the same id.
    fn placeholder(&self, id: &str) -> String {
        let mut ids = self.ids.borrow_mut();
        let short = &id[..7];
        let index = ids.iter().position(|known_id| known_id == short).unwrap_or_else(|| {
            ids.push(short.to_owned());
            ids.len() - 1
        });
        format!("id-{:04}", index + 1)
    }

    /// Everything in the folder: names, permissions, modification times and content.
    pub fn everything(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut pending = vec![self.root.clone()];
        while let Some(path) = pending.pop() {
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_dir() {
                pending.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                OsString::new()
            } else if metadata.is_symlink() {
                fs::read_link(&path).unwrap().into_os_string()
            } else if metadata.is_file() {
                OsStr::from_bytes(&fs::read(&path).unwrap()).to_owned()
            } else {
                "special".into()
            };
            let mode = metadata.permissions().mode();
            let time = metadata.modified().unwrap();
            found.insert(path, format!("{mode:o} {time:?} {content:?}"));
        }
        found
    }
}

/// What a command printed on a terminal.
pub fn terminal_text(mut command: Command) -> String {
    String::from_utf8(command.output().unwrap().stdout).unwrap().replace("\r\n", "\n")
}

/// Compares a text with its snapshot.
#[track_caller]
pub fn assert_text(name: &str, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(format!("command-{name}"), text));
}
