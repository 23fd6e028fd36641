//! `herma hook AGENT`: what an agent runs before each of its tools. It takes the checkpoint of the turn, and nothing
//! that happens here stands in the agent's way: it prints an empty answer, and its exit code never blocks a tool.
//! Failures are for `herma doctor`, and for whoever reads the standard error of hooks.

use crate::commands::{Failure, Herma};
use crate::pages::directory;
use crate::text::{self, Style};
use herma_core::agent::{EarlierFailure, HookCall, HookLog, LastCall, Moment, Removal, ToolCall};
use herma_core::disk::SystemDisk;
use herma_core::{
    Clock, Config, Environment, Occasion, PruneStep, Pruned, SessionTurn, Swept, SystemClock,
    Trigger, project_of_tool,
};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// More than any agent says of a tool; what is cut off counts as a tool that may change anything.
const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The name of an agent, which is also that of a file.
///
/// # Errors
/// It is not such a name.
pub fn agent_name(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '-');
    match text.len() {
        1..=32 if text.chars().all(is_plain) => Ok(text.to_owned()),
        _ => Err("use 1 to 32 of a-z, 0-9 and -".to_owned()),
    }
}

/// Does what the call of a hook needs; returns why a tool has no checkpoint.
pub fn answer(environment: &Environment, agent: &str, input: impl Read) -> Option<String> {
    let call = HookCall::read(input.take(INPUT_BYTES_MAX));
    let hook = Hook { environment, agent, log: HookLog::new(&SystemDisk, environment) };
    match &call.moment {
        Moment::Prompt => hook.begin_turn(&call).err().map(|failure| failure.message),
        Moment::Tool(tool) if tool.may_change_files() => hook.protect(&call, tool),
        Moment::Tool(_) | Moment::Other => None,
    }
}

/// Where the hook of an agent took no checkpoint of the project since that time, which an undo of its turn tells.
pub fn failures(environment: &Environment, project: &Path, since: i64) -> Vec<String> {
    let log = HookLog::new(&SystemDisk, environment);
    let project = directory(project);
    let told = |(agent, failed): (String, EarlierFailure)| {
        let ago = text::ago(failed.time, SystemClock.seconds());
        let is_told = failed.time >= since && failed.project.as_ref() == Some(&project);
        is_told.then(|| format!("the hook of {agent} took no checkpoint {ago}: {}", failed.failure))
    };
    log.failures().filter_map(told).collect()
}

/// What hooks did not do or removed within the last day, as the list of a project tells it.
pub fn notices(environment: &Environment, project: &Path) -> Vec<String> {
    const SECONDS: i64 = 24 * 60 * 60;
    let log = HookLog::new(&SystemDisk, environment);
    let since = SystemClock.seconds() - SECONDS;
    let failures = failures(environment, project, since);
    let project = directory(project);
    let is_shown = |Removal { time, project: removed, .. }: &Removal| {
        *time > since && removed.as_ref().is_none_or(|removed| *removed == project)
    };
    let of_agent = |(agent, _): (String, Option<LastCall>)| {
        let mut removals = log.removals(&agent);
        removals.retain(is_shown);
        Removal::described(&agent, &removals)
    };
    failures.into_iter().chain(log.agents().into_iter().flat_map(of_agent)).collect()
}

/// What a tool may change.
#[derive(Default)]
struct Reached {
    projects: BTreeSet<PathBuf>,
    /// The first file that the tool names and that is in no project, such as one of the home directory.
    outside: Option<PathBuf>,
}

/// The hook of an agent.
struct Hook<'a> {
    environment: &'a Environment,
    agent: &'a str,
    log: HookLog<'a>,
}

impl Hook<'_> {
    /// A configuration that cannot be read limits nothing.
    fn herma(&self) -> Herma {
        let environment = || self.environment.clone();
        Herma::new(environment(), false, Style::default()).unwrap_or_else(|_| {
            let config = Config::without_limits();
            Herma::with_config(environment(), false, Style::default(), config)
        })
    }

    /// No tool waits for a prompt, so the store is swept here.
    fn begin_turn(&self, call: &HookCall) -> Result<(), Failure> {
        let moment = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let session = call.session.as_deref().unwrap_or_default();
        let turn = format!("{moment}-{}", std::process::id());
        self.log.begin_turn(self.agent, session, &turn, SystemClock.seconds())?;
        let time = SystemClock.seconds();
        let mut removals = Vec::new();
        let swept = self.herma().manager.sweep_and_report(&mut |step| {
            if let PruneStep::Removed(project) = step {
                let project = Some(directory(project));
                removals.push(Removal { time, project, ..Removal::default() });
            }
        });
        if let Swept::Done(Pruned { dropped: evicted @ 1.., .. }) = swept {
            removals.push(Removal { time, evicted, ..Removal::default() });
        }
        Ok(self.log.record_removals(self.agent, removals)?)
    }

    fn protect(&self, call: &HookCall, tool: &ToolCall) -> Option<String> {
        let reason = tool.reason();
        let session = call.session.clone().unwrap_or_default();
        // An agent that resumes a session may count its turns from the beginning again, so both count.
        let named = [call.turn.clone(), self.log.turn(self.agent, &session)];
        let named: Vec<String> = named.into_iter().flatten().collect();
        let session = format!("{} {session}", self.agent);
        let turn = (!named.is_empty()).then(|| SessionTurn::new(&session, &named.join(" ")));
        let Reached { projects, outside } = self.reached(call, tool);
        let take = |project: &PathBuf| self.take(project, turn.as_ref(), &reason).err();
        // The agent may work in the home directory, on files of a project.
        let is_told =
            |failure: &Failure| projects.len() == 1 || !failure.code.starts_with("scope_");
        let taken = projects.iter().filter_map(take).filter(is_told).map(|failure| failure.message);
        let mut failures: Vec<String> = taken.collect();
        if projects.is_empty() {
            failures.push(
                "it is in no project: in the home directory or above it, or in a missing one"
                    .to_owned(),
            );
        }
        let failure = (!failures.is_empty()).then(|| failures.join("; "));
        let time = SystemClock.seconds();
        let outside = outside.map(|file| directory(&file));
        let project = projects.first().map(|project| directory(project));
        let failed = failure.clone();
        let call = LastCall { time, reason, failure: failed, project, outside, earlier: None };
        let unrecorded = self.log.record(self.agent, call).err();
        failure.or_else(|| unrecorded.map(|error| error.to_string()))
    }

    fn take(
        &self,
        project: &Path,
        turn: Option<&SessionTurn>,
        reason: &str,
    ) -> Result<(), Failure> {
        let herma = self.herma().in_project(project);
        // If a rollback that died cannot be undone now, the next one tries again.
        let _ = herma.manager.recover();
        let occasion = Occasion::new(Trigger::PreTool, reason);
        // Without a turn every tool takes one, which costs little where nothing changed.
        match turn {
            Some(turn) => herma.manager.checkpoint_of_turn(project, turn, &occasion)?,
            None => herma.manager.checkpoint_for(project, &occasion)?,
        };
        let evicted = herma.manager.collect_deferred().evicted;
        if evicted > 0 {
            let removal = Removal { time: SystemClock.seconds(), evicted, ..Removal::default() };
            self.log.record_removals(self.agent, vec![removal])?;
        }
        Ok(())
    }

    /// What the files that the tool names, and the directories where it and the agent work, lead to: what a tool calls
    /// a path may be none, and a link may lead elsewhere.
    fn reached(&self, call: &HookCall, tool: &ToolCall) -> Reached {
        let directory = self.directory(call);
        let mut reached = Reached::default();
        for file in &tool.files {
            match self.project(&directory, file) {
                Some(project) => drop(reached.projects.insert(project)),
                None => drop(reached.outside.get_or_insert_with(|| file.clone())),
            }
        }
        let places = tool.place.iter().chain([&directory]);
        reached.projects.extend(places.filter_map(|path| self.project(&directory, path)));
        reached.projects.retain(|project| project.is_dir());
        reached
    }

    /// The directory where the agent works. A path that is not UTF-8 cannot be named in JSON.
    fn directory(&self, call: &HookCall) -> PathBuf {
        let current = &self.environment.current_directory;
        let named = call.directory.as_ref().map(|directory| current.join(directory));
        named.filter(|directory| directory.is_dir()).unwrap_or_else(|| current.clone())
    }

    /// The project of a path that a tool in that directory names.
    fn project(&self, directory: &Path, path: &Path) -> Option<PathBuf> {
        let path = match path.starts_with("~") {
            true => path.to_owned(),
            false => directory.join(path),
        };
        project_of_tool(&SystemDisk, self.environment, directory, &path)
    }
}
