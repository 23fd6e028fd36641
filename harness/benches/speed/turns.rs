//! The size of each tool's store in the course of the turns of an agent: the last commits of a repository are
//! checked out one after the other, with a checkpoint after each.

use crate::CommandArguments;
use crate::plan::{Shape, Step};
use crate::tool::{Program, Running};
use herma_harness::sandbox::git_alone;
use std::error::Error;
use std::path::Path;

/// How many turns.
const TURNS: usize = 100;
/// After which turns the store is measured.
const STOPS: [usize; 4] = [1, 10, 50, 100];

/// The sizes of stores.
pub struct Turns {
    /// The size of the project after the last turn, in bytes.
    pub project: u64,
    /// A row for each stop, the last one after a prune; a column for each tool.
    pub rows: Vec<(String, Vec<u64>)>,
}

/// Measures every tool that keeps a store.
pub fn measure(
    arguments: &CommandArguments,
    repository: &Path,
    tools: &[Program],
) -> Result<Turns, Box<dyn Error>> {
    let repository = std::path::absolute(repository)?.join(".git");
    let mut log = git_alone();
    log.arg("--git-dir").arg(&repository).args(["log", "--first-parent", "--format=%H", "-n"]);
    let commits = String::from_utf8(log.arg(TURNS.to_string()).output()?.stdout)?;
    let commits: Vec<&str> = commits.lines().rev().collect();
    if commits.len() < TURNS {
        return Err(
            format!("{repository:?} has {} commits, {TURNS} are needed", commits.len()).into()
        );
    }
    let mut titles: Vec<String> = STOPS.iter().map(|turn| format!("after {turn} turns")).collect();
    titles.push("after a prune".to_owned());
    let mut turns =
        Turns { project: 0, rows: titles.into_iter().map(|title| (title, Vec::new())).collect() };
    for tool in tools.iter().filter(|tool| **tool != Program::Walk) {
        eprintln!("{TURNS} turns, {}", tool.name());
        let mut running = arguments.start(*tool, Shape::Source(0))?;
        let mut rows = turns.rows.iter_mut();
        let mut note = |size: u64| rows.next().map(|(_, sizes)| sizes.push(size));
        for (turn, commit) in (1..).zip(&commits) {
            check_out(&repository, commit, &running)?;
            running.run(if turn == 1 { Step::First } else { Step::One })?;
            if STOPS.contains(&turn) {
                note(running.stored()?);
            }
        }
        running.run(Step::Prune)?;
        note(running.stored()?);
        turns.project = running.project.bytes()?;
    }
    Ok(turns)
}

/// Makes the project what the commit holds; files that are the same stay untouched.
fn check_out(repository: &Path, commit: &str, running: &Running) -> Result<(), Box<dyn Error>> {
    let project = &running.project;
    let mut git = git_alone();
    git.arg("--git-dir").arg(repository).arg("--work-tree").arg(project.directory());
    git.env("GIT_INDEX_FILE", project.sandbox.root().join("turns.index"));
    let output = git.args(["read-tree", "-u", "--reset", commit]).output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(())
}
