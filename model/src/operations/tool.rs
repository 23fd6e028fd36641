//! What is done before a tool of an agent runs: which projects it may change files in, whether each
//! has its checkpoint, and which history that is in.

use super::checkpoint;
use crate::allowed::{Allowed, AllowedProtection, CheckpointKind};
use crate::answer::{Answer, Changed, CheckpointOutcome, Code, Protected};
use crate::bytes::{self, ByteString};
use crate::commands;
use crate::plain::plain;
use crate::request::Request;
use crate::rules;
use crate::tool::Tool;
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::World;
use std::collections::BTreeSet;

impl World {
    /// Implements [`rules::TURN_TRIGGERS`] and [`rules::TURN_SHARED_HISTORY`].
    pub(super) fn allows_tool(&self, dir: &[u8], tool: &Tool) -> Allowed {
        let place = |path: &ByteString| match path.first() {
            Some(b'/') => path.clone(),
            _ => ByteString(bytes::join(dir, path)),
        };
        // Whether a command that no document names is noticed is asked in another way, too, which
        // depends on nothing else.
        let (files, must): (Vec<ByteString>, bool) = match tool {
            Tool::WriteFile { path } => (vec![place(path)], true),
            Tool::Patch { files, .. } => (files.iter().map(place).collect(), true),
            Tool::Terminal { command } => match commands::changes_files(command) {
                None => return Allowed::Unknown,
                Some(false) => (Vec::new(), false),
                Some(true) => (vec![dir.into()], commands::is_named(command)),
            },
        };
        let projects = files.iter().filter_map(|file| self.projects_of(dir, file));
        let projects: BTreeSet<Vec<ByteString>> = projects.collect();
        let projects = projects.into_iter().map(|projects| {
            let is_due = must && projects.iter().all(|project| self.needs_checkpoint(project));
            (projects, is_due)
        });
        let disabled = !self.settings.enabled;
        Allowed::Protected(AllowedProtection { projects: projects.collect(), disabled })
    }

    /// The projects that a file may be taken to belong to which a tool changes that runs in `dir`:
    /// its own, or where no marker tells, that of the tool around it.
    fn projects_of(&self, dir: &[u8], file: &[u8]) -> Option<Vec<ByteString>> {
        let own = self.project_of(file).0?;
        let mut all = vec![own.clone()];
        if !self.is_marked(&self.canonical(&own)?) {
            let around = self.project_of(dir).0;
            all.extend(around.filter(|around| bytes::below(around, &own).is_some()));
        }
        Some(all)
    }

    /// Whether a checkpoint of a project is due that nothing keeps from being taken.
    fn needs_checkpoint(&self, project: &[u8]) -> bool {
        let due = self.allows_automatic(project);
        let needed = |kind| kind == CheckpointKind::Created;
        matches!(due, Allowed::Checkpoint(due) if needed(due.kind) && !due.may_be_unchanged && due.also.is_empty())
    }
}

/// Compares what was done for each project with what is due there.
pub(super) fn compare(
    world: &World,
    due: &AllowedProtection,
    found: &[Protected],
    checks: &mut Checks,
) {
    // However a project is called, it is that one.
    let canonical = |typed: &ByteString| world.canonical(typed).map(|path| world.absolute(&path));
    let named = |one: &Protected| Protected {
        project: canonical(&one.project).unwrap_or_else(|| one.project.clone()),
        taken: one.taken.clone(),
    };
    let found: &[Protected] = &found.iter().map(named).collect::<Vec<_>>();
    let wrong = |symptom: &str, expected: &[ByteString]| {
        Mismatch::new(symptom, plain(expected), plain(found))
    };
    let is_known =
        |one: &&Protected| due.projects.iter().any(|(all, _)| all.contains(&one.project));
    for (projects, is_due) in &due.projects {
        let is_there = found.iter().any(|one| projects.contains(&one.project));
        // Instead of the project, a folder of it or one around it has a history.
        let overlaps = |one: &Protected| {
            let (one, below) = (&one.project, bytes::below);
            projects.iter().any(|all| below(all, one).or(below(one, all)).is_some())
        };
        let elsewhere = !is_there
            && found.iter().any(|one| one.taken.is_some() && !is_known(&one) && overlaps(one));
        checks.check(Judge::Answer, &rules::TURN_SHARED_HISTORY, !elsewhere, || {
            wrong("a history of its own", projects)
        });
        if *is_due && !elsewhere {
            checks.check(Judge::Answer, &rules::TURN_TRIGGERS, is_there, || {
                wrong("not noticed", projects)
            });
        }
    }
    for one in found.iter().filter(|one| due.disabled || is_known(one)) {
        compare_taken(world, one, checks);
    }
}

/// What is done of one project is an automatic checkpoint of it: as if that had been asked for.
pub(super) fn automatic(one: &Protected) -> (Request, Answer) {
    let answer = match &one.taken {
        Some(taken) => {
            Answer::Taken { outcome: taken.outcome.clone(), skipped: taken.skipped.clone() }
        }
        None => {
            let (code, message, changed) = (Code::Internal, String::new(), Changed::Unknown);
            Answer::Refused { code, message, changed }
        }
    };
    let request = Request::EnsureCheckpoint { dir: one.project.clone(), reason: String::new() };
    (request, answer)
}

fn compare_taken(world: &World, one: &Protected, checks: &mut Checks) {
    let (request, answer) = automatic(one);
    match world.allows(&request) {
        Allowed::Checkpoint(due) if one.taken.is_some() || due.may_refuse.is_empty() => {
            checkpoint::compare(world, &request, &due, &answer, checks);
        }
        Allowed::Refused(refusals) => {
            let outcome = one.taken.as_ref().map(|taken| &taken.outcome);
            let created = matches!(outcome, Some(CheckpointOutcome::Created { .. }));
            for refusal in refusals {
                checks.check(Judge::Answer, refusal.rule, !created, || {
                    Mismatch::new("created", "no checkpoint", plain(one))
                });
            }
        }
        _ => {}
    }
}
