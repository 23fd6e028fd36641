//! The tools that are compared: what each runs for each operation.
//!
//! A command is a whole process, from its start to its end. Hermes-agent is one process that stays, as in an
//! agent, so only its calls are timed.

use crate::plan::Step;
use crate::project::{SourceTree, first_name};
use herma_harness::bundled;
use herma_harness::runner::FIRST_SECOND;
use herma_harness::sandbox::bytes_below;
use herma_harness::subject::Subject;
use herma_harness::subject::meter::Meter;
use herma_model::{Answer, ByteString, Request, Settings};
use rustix::process::Pid;
use std::cell::Cell;
use std::error::Error;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// The command of the core.
    Herma,
    /// Four processes of git: add, write the tree, commit it, move the ref.
    Git,
    /// The backup program.
    Restic,
    /// The agent whose checkpoints are the model.
    HermesAgent,
    /// Only the stat data of every file, read by one process.
    Walk,
}

impl Program {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Program::Herma => "herma",
            Program::Git => "git",
            Program::Restic => "restic",
            Program::HermesAgent => HERMES_AGENT,
            Program::Walk => "bare walk",
        }
    }
}

const HERMES_AGENT: &str = "hermes-agent@0.19.0";

/// The tools of this machine; prints those that are not there.
pub fn installed(herma: &Path) -> Vec<Program> {
    let runs =
        |program: &Path, argument: &str| Command::new(program).arg(argument).output().is_ok();
    let agent = bundled::find(HERMES_AGENT).is_ok_and(|agent| agent.is_installed(&cache()));
    let all = [
        (Program::Herma, runs(herma, "--version")),
        (Program::Git, runs(Path::new("git"), "--version")),
        (Program::Restic, runs(Path::new("restic"), "version")),
        (Program::HermesAgent, agent),
        (Program::Walk, runs(Path::new("find"), "--version")),
    ];
    for (tool, _) in all.iter().filter(|(_, is_there)| !is_there) {
        eprintln!("not run: {} (not installed)", tool.name());
    }
    all.into_iter().filter(|(_, is_there)| *is_there).map(|(tool, _)| tool).collect()
}

fn cache() -> PathBuf {
    std::env::var_os("HERMA_CACHE").map_or_else(PathBuf::new, PathBuf::from)
}

/// A tool at work on a project of its own.
pub struct Running {
    /// The tool.
    pub tool: Program,
    /// Its project.
    pub project: SourceTree,
    herma: PathBuf,
    agent: Option<Box<dyn Subject>>,
    /// The commits of git, newest last.
    commits: Vec<String>,
    /// The most memory of a call so far, in bytes, if it is watched.
    memory: Option<Cell<u64>>,
}

type Result<T> = std::result::Result<T, Box<dyn Error>>;

impl Running {
    /// Prepares a tool for a new project.
    pub fn start(tool: Program, project: SourceTree, herma: &Path) -> Result<Self> {
        let mut running = Running {
            tool,
            project,
            herma: herma.to_owned(),
            agent: None,
            commits: Vec::new(),
            memory: None,
        };
        match tool {
            Program::Git => drop(running.git(&["init", "--quiet"])?),
            Program::Restic => drop(running.command("restic", &["init", "--quiet"])?),
            Program::HermesAgent => {
                let agent = bundled::find(HERMES_AGENT)?;
                let command = agent.command(&cache())?;
                let sandbox = &running.project.sandbox;
                let agent = command.opener()(sandbox, &Settings::default(), FIRST_SECOND);
                running.agent = Some(agent);
            }
            Program::Herma | Program::Walk => {}
        }
        Ok(running)
    }

    /// How long an operation takes; `None` if the tool has no such operation.
    pub fn run(&mut self, operation: Step) -> Result<Option<Duration>> {
        self.ask_agent(&Request::NewTurn)?;
        let started = Instant::now();
        let ran = match self.tool {
            Program::Herma => self.run_herma(operation),
            Program::Git => self.run_git(operation),
            Program::Restic => self.run_restic(operation),
            Program::HermesAgent => self.run_agent(operation),
            Program::Walk => self.run_walk(operation),
        }?;
        Ok(ran.then(|| started.elapsed()))
    }

    /// From now on the memory of each call is watched, which takes time.
    pub fn watch_memory(&mut self) {
        self.memory = Some(Cell::new(0));
    }

    /// The most memory that a call took since it is watched, in bytes: pages of files do not count.
    pub fn memory(&self) -> u64 {
        self.memory.as_ref().map_or(0, Cell::get)
    }

    /// The size of everything that the tool stored, in bytes.
    pub fn stored(&self) -> Result<u64> {
        Ok(bytes_below(&self.project.sandbox.home())?)
    }

    /// A checkpoint of another directory by the core.
    pub fn checkpoint_of(&self, directory: &Path) -> Result<()> {
        let herma = self.herma.to_string_lossy();
        let directory = directory.to_string_lossy();
        self.command(&herma, &["checkpoint", &directory]).map(drop)
    }

    fn run_herma(&self, operation: Step) -> Result<bool> {
        let file = first_name();
        let arguments: &[&str] = match operation {
            Step::List => &["rollback"],
            Step::Diff => &["rollback", "diff", "1"],
            Step::RestoreOne => &["rollback", "2", &file],
            Step::RestoreHalf => &["rollback", HALF],
            Step::Prune => &["checkpoints", "prune"],
            _ => &["checkpoint"],
        };
        let herma = self.herma.to_string_lossy().into_owned();
        self.command(&herma, arguments).map(|_| true)
    }

    fn run_git(&mut self, operation: Step) -> Result<bool> {
        let file = first_name();
        let before = |back: usize| {
            let commits = &self.commits;
            commits.len().checked_sub(back).and_then(|place| commits.get(place).cloned())
        };
        let last = before(1).unwrap_or_default();
        match operation {
            Step::List => drop(self.git(&["log", "--shortstat", &last])?),
            Step::Diff => drop(self.git(&["diff", &last])?),
            Step::RestoreOne => {
                let target = before(2).unwrap_or_default();
                self.take_with_git()?;
                self.git(&["checkout", "--quiet", &target, "--", &file])?;
            }
            Step::RestoreHalf => {
                let back = HALF.parse().unwrap_or(1);
                let target = before(back).unwrap_or_default();
                self.take_with_git()?;
                self.git(&["read-tree", "--reset", "-u", &target])?;
            }
            Step::Prune => drop(self.git(&["gc", "--quiet", "--prune=now"])?),
            _ => self.take_with_git()?,
        }
        Ok(true)
    }

    fn take_with_git(&mut self) -> Result<()> {
        self.git(&["add", "--all"])?;
        let tree = self.git(&["write-tree"])?;
        let mut commit = vec!["commit-tree", &tree, "-m", "checkpoint"];
        commit.extend(self.commits.last().iter().flat_map(|parent| ["-p", parent.as_str()]));
        let commit = self.git(&commit)?;
        self.git(&["update-ref", "refs/heads/checkpoints", &commit])?;
        self.commits.push(commit);
        Ok(())
    }

    fn run_restic(&self, operation: Step) -> Result<bool> {
        let arguments: &[&str] = match operation {
            Step::List => &["snapshots"],
            // The first needs a snapshot of the present, the others restore all of it.
            Step::Diff | Step::RestoreOne | Step::RestoreHalf => return Ok(false),
            Step::Prune => &["prune", "--quiet"],
            _ => &["backup", "--quiet", "."],
        };
        self.command("restic", arguments).map(|_| true)
    }

    fn run_agent(&mut self, operation: Step) -> Result<bool> {
        let dir = ByteString::from(self.project.directory().as_os_str().as_bytes());
        let target = |text: &str| ByteString::from(text);
        let request = match operation {
            Step::List => Request::List { dir },
            Step::Diff => Request::Diff { dir, target: target("1") },
            Step::RestoreOne => {
                let path = ByteString::from(first_name().as_str());
                Request::RestoreFile { dir, target: target("2"), path }
            }
            Step::RestoreHalf => {
                Request::Restore { dir, target: target(HALF), exact: false, force: false }
            }
            Step::Prune => {
                Request::Prune { retention_days: 7, max_total_bytes: 0, delete_orphans: true }
            }
            _ => Request::EnsureCheckpoint { dir, reason: "bench".into() },
        };
        self.ask_agent(&request).map(|()| true)
    }

    fn ask_agent(&mut self, request: &Request) -> Result<()> {
        let Some(agent) = &mut self.agent else { return Ok(()) };
        let answer = match &self.memory {
            None => agent.ask(request),
            Some(peak) => {
                let (answer, measured) = agent.ask_measured(request);
                peak.set(measured.map_or(0, |measured| measured.memory).max(peak.get()));
                answer
            }
        };
        match answer {
            answer @ (Answer::Refused { .. } | Answer::Crashed(_)) => {
                Err(format!("{HERMES_AGENT}: {request:?}: {answer:?}").into())
            }
            _ => Ok(()),
        }
    }

    fn run_walk(&self, operation: Step) -> Result<bool> {
        let takes = matches!(operation, Step::Unchanged | Step::One);
        if takes {
            self.command("find", &[".", "-size", "+1G"])?;
        }
        Ok(takes)
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        self.command("git", arguments)
    }

    /// Runs a program in the project, with a home and stores of its own.
    fn command(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let home = self.project.sandbox.home();
        let directory = self.project.directory();
        let variables: [(&str, OsString); 8] = [
            ("HOME", home.clone().into()),
            ("HERMES_HOME", home.join(".hermes").into()),
            ("GIT_DIR", home.join("git").into()),
            ("GIT_WORK_TREE", directory.clone().into()),
            ("GIT_AUTHOR_NAME", "bench".into()),
            ("GIT_COMMITTER_NAME", "bench".into()),
            ("RESTIC_REPOSITORY", home.join("restic").into()),
            ("RESTIC_PASSWORD", "bench".into()),
        ];
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("GIT_AUTHOR_EMAIL", "bench@example.org");
        command.env("GIT_COMMITTER_EMAIL", "bench@example.org");
        command.envs(variables).current_dir(directory).args(arguments);
        let output = match &self.memory {
            None => command.output()?,
            Some(peak) => {
                command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
                let child = command.spawn()?;
                let (output, memory) =
                    Meter::of(Pid::from_child(&child)).memory(|| child.wait_with_output());
                peak.set(memory.max(peak.get()));
                output?
            }
        };
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(format!("{program} {}: {why}", arguments.join(" ")).into());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

/// The checkpoint before every second file changed for the last time: after it came the checkpoint of the
/// change, and those before each restore of one file.
const HALF: &str = "5";
