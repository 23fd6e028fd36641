//! The checkpoints that are taken before a tool of an agent runs: in which projects the tool may change
//! files, whether each of these projects has its checkpoint, and in which history.

use super::checkpoint;
use crate::allowed::{Allowed, AllowedProtection, CheckpointKind};
use crate::answer::{Answer, Changed, CheckpointOutcome, Code, Protected};
use crate::bytes::{self, ByteString};
use crate::commands;
use crate::excuse::Excuse;
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
        let full_path = |path: &ByteString| match path.first() {
            Some(b'/') => path.clone(),
            _ => ByteString::from(bytes::join(dir, path)),
        };
        // Whether a command that no document names is detected is tested by a request of its own, too.
        let (files, is_required): (Vec<ByteString>, bool) = match tool {
            Tool::WriteFile { path } => (vec![full_path(path)], true),
            Tool::Patch { files, .. } => (files.iter().map(full_path).collect(), true),
            Tool::Terminal { command } => match commands::changes_files(command) {
                None => return Allowed::Unknown(Excuse::NoRule),
                Some(false) => (Vec::new(), false),
                Some(true) => (vec![dir.into()], commands::is_named(command)),
            },
        };
        let projects = files.iter().filter_map(|file| self.projects_of(dir, file));
        let projects: BTreeSet<Vec<ByteString>> = projects.collect();
        let projects = projects.into_iter().map(|projects| {
            let must_be_protected =
                is_required && projects.iter().all(|project| self.needs_checkpoint(project));
            (projects, must_be_protected)
        });
        let disabled = !self.settings.enabled;
        Allowed::Protected(AllowedProtection { projects: projects.collect(), disabled })
    }

    /// The projects that a file may belong to which a tool changes that runs in `dir`: the file's own or,
    /// where it has no marker, the project of the tool that contains it.
    fn projects_of(&self, dir: &[u8], file: &[u8]) -> Option<Vec<ByteString>> {
        let file_project = self.project_of(file).0?;
        let mut projects = vec![file_project.clone()];
        if !self.is_marked(&self.canonical(&file_project)?) {
            let tool_project = self.project_of(dir).0;
            let contains_file =
                |project: &ByteString| bytes::below(project, &file_project).is_some();
            projects.extend(tool_project.filter(contains_file));
        }
        Some(projects)
    }

    /// Whether a checkpoint of a project is certainly expected.
    fn needs_checkpoint(&self, project: &[u8]) -> bool {
        let allowed = self.allows_automatic(project);
        matches!(allowed, Allowed::Checkpoint(expected)
            if expected.kind == CheckpointKind::Created
                && expected.may_be_unchanged.is_none()
                && expected.alternatives.is_empty())
    }
}

/// Compares the checkpoint of each project with the expected one.
pub(super) fn compare(
    world: &World,
    protection: &AllowedProtection,
    found: &[Protected],
    checks: &mut Checks,
) {
    // A project may be named by any of its paths.
    let canonical = |typed: &ByteString| world.canonical(typed).map(|path| world.absolute(&path));
    let with_canonical_path = |protected: &Protected| Protected {
        project: canonical(&protected.project).unwrap_or_else(|| protected.project.clone()),
        taken: protected.taken.clone(),
    };
    let found: &[Protected] = &found.iter().map(with_canonical_path).collect::<Vec<_>>();
    let wrong = |symptom: &str, expected: &[ByteString]| {
        Mismatch::new(symptom, plain(expected), plain(found))
    };
    let is_allowed = |protected: &&Protected| {
        protection.projects.iter().any(|(projects, _)| projects.contains(&protected.project))
    };
    for (projects, must_be_protected) in &protection.projects {
        let is_found = found.iter().any(|protected| projects.contains(&protected.project));
        // Instead of the project, a folder in it or above it has a history.
        let overlaps = |protected: &Protected| {
            let below = bytes::below;
            let found = &protected.project;
            projects.iter().any(|project| below(project, found).or(below(found, project)).is_some())
        };
        let elsewhere = !is_found
            && found.iter().any(|protected| {
                protected.taken.is_some() && !is_allowed(&protected) && overlaps(protected)
            });
        checks.check(Judge::Answer, &rules::TURN_SHARED_HISTORY, !elsewhere, || {
            wrong("a history of its own", projects)
        });
        if *must_be_protected && !elsewhere {
            checks.check(Judge::Answer, &rules::TURN_TRIGGERS, is_found, || {
                wrong("not noticed", projects)
            });
        }
    }
    for protected in found.iter().filter(|found| protection.disabled || is_allowed(found)) {
        compare_taken(world, protected, checks);
    }
}

/// The request and the answer of the automatic checkpoint that was taken of a project before a tool ran.
pub(super) fn automatic(protected: &Protected) -> (Request, Answer) {
    let answer = match &protected.taken {
        Some(taken) => {
            Answer::Taken { outcome: taken.outcome.clone(), skipped: taken.skipped.clone() }
        }
        None => {
            let code = Code::Internal;
            Answer::Refused { code, message: String::new(), changed: Changed::Unknown }
        }
    };
    let dir = protected.project.clone();
    let request = Request::EnsureCheckpoint { dir, reason: String::new() };
    (request, answer)
}

fn compare_taken(world: &World, protected: &Protected, checks: &mut Checks) {
    let (request, answer) = automatic(protected);
    match world.allows(&request) {
        Allowed::Checkpoint(expected)
            if protected.taken.is_some() || expected.may_refuse.is_empty() =>
        {
            checks.join(checkpoint::compare(world, &request, &expected, &answer));
        }
        Allowed::Refused(refusals) => {
            let outcome = protected.taken.as_ref().map(|taken| &taken.outcome);
            let created = matches!(outcome, Some(CheckpointOutcome::Created { .. }));
            for refusal in refusals {
                checks.check(Judge::Answer, refusal.rule, !created, || {
                    Mismatch::new("created", "no checkpoint", plain(protected))
                });
            }
        }
        _ => {}
    }
}
