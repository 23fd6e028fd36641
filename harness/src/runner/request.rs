//! One request of a run: put to the model and to the subject, and what came of it before the judges.

use super::{Event, RequestRecord, RunError, Runner};
use crate::coverage;
use crate::oracle::{Judge, Kind, Mismatch, answer, cause, disk};
use crate::sandbox::manifest::{self, Manifest};
use herma_model::answer::Answer;
use herma_model::expected::{CheckpointKind, Expected};
use herma_model::rules::{self, RuleRef};
use herma_model::{ByteString, Request};
use std::io;

impl Runner<'_> {
    /// Puts a request to the model and to the subject, and judges what came of it.
    pub(super) fn ask(&mut self, step: usize, request: &Request) -> Result<(), RunError> {
        let touches_nothing =
            matches!(request, Request::NewTurn | Request::Reopen | Request::SetClock { .. });
        if touches_nothing {
            self.world.step(request);
            let answer = self.subject.ask(request);
            let (request, crashed) = (request.clone(), crash(&answer));
            (self.watch)(Event::Requested(Box::new(RequestRecord {
                step,
                request,
                answer,
                after: None,
            })));
            return crashed.map_or(Ok(()), |why| self.crashed(step, &rules::TURN_RESET, &why));
        }
        let before = self.before(step)?;
        let state = coverage::state(&self.world, request);
        let if_declined = self.world.if_declined(request);
        let expected = self.world.step(request);
        // Read only where it is compared: most requests may change the store.
        let outline = must_leave_store(request, &expected)
            .then(|| manifest::outline(&self.sandbox.base()))
            .transpose()?;
        let bound = self.total_bound(request);
        let sizes = match (bound, self.sizes.take()) {
            (Some(_), None) => self.held()?.sizes,
            (_, seen) => seen.unwrap_or_default(),
        };
        let failures = self.checks.failures().len();
        let answer = self.subject.ask(request);
        self.coverage.add(state, request, &answer);
        let after = self.look()?;
        (self.watch)(Event::Requested(Box::new(RequestRecord {
            step,
            request: request.clone(),
            answer: answer.clone(),
            after: Some(after.files.clone()),
        })));
        if let Some(why) = crash(&answer) {
            return self.crashed(step, main_rule(request), &why);
        }
        let alias = self.is_alias(request);
        let told = answer::Answered { expected: &expected, answer: &answer, alias, if_declined };
        // What was restored is looked at before what was said of it: a report is only dishonest
        // where the files are right.
        let files_first =
            matches!((&expected, &answer), (Expected::Restore(_), Answer::Restored(_)));
        if !files_first {
            answer::judge(&mut self.world, &told, &self.capabilities, &mut self.checks);
            if !self.checks.diverged() {
                // That something wrong was said says nothing yet of what was done.
                self.checks.new_part();
            }
        }
        let store = match outline {
            Some(before) => Some((before, manifest::outline(&self.sandbox.base())?)),
            None => None,
        };
        let look = disk::Look {
            request,
            expected: &expected,
            answer: &answer,
            before: &before,
            after: &after,
            store: store.as_ref(),
        };
        disk::judge(&mut self.world, &look, &mut self.checks);
        if files_first {
            answer::judge(&mut self.world, &told, &self.capabilities, &mut self.checks);
        }
        self.seen = Some(after);
        self.judge_store((&expected, &answer), bound, sizes, request.only_looks())?;
        self.look_for_cause(failures, request, (&expected, &answer))
    }

    fn look(&self) -> io::Result<Manifest> {
        let in_repositories = self.capabilities.needs_repository();
        manifest::read(self.sandbox.root(), &self.sandbox.base(), in_repositories)
    }

    /// The disk before a request; if it is not what the model says, the harness is wrong.
    fn before(&mut self, step: usize) -> Result<Manifest, RunError> {
        let before = match self.seen.take() {
            Some(seen) => seen,
            None => self.look()?,
        };
        if before.files != self.world.files {
            let (model, disk) = (&self.world.files, &before.files);
            let differs = |path: &&ByteString| model.get(path) != disk.get(path);
            let mut paths = model.iter().chain(disk.iter()).map(|(path, _)| path);
            let path = paths.find(differs).cloned().unwrap_or_default();
            return Err(RunError::Harness { step, path });
        }
        Ok(before)
    }

    /// Where more than `failures` are known now, what showed may have its cause in the store.
    fn look_for_cause(
        &mut self,
        failures: usize,
        request: &Request,
        told: (&Expected, &Answer),
    ) -> Result<(), RunError> {
        let shown = self.checks.failures().get(failures..).unwrap_or_default();
        if shown.is_empty() || !self.capabilities.has("layout") {
            return Ok(());
        }
        if let Some(cause) = cause::find(shown, &self.world, request, told, &self.sandbox)? {
            self.checks.blame_on(failures, cause);
        }
        Ok(())
    }

    /// Whether the request names its project by another path than the canonical one.
    fn is_alias(&self, request: &Request) -> bool {
        request.dir().is_some_and(|dir| {
            self.world.canonical(dir).is_some_and(|path| self.world.absolute(&path) != *dir)
        })
    }

    fn crashed(&mut self, step: usize, rule: RuleRef, why: &str) -> Result<(), RunError> {
        if let Some(fault) = self.subject.fault() {
            return Err(RunError::Adapter { step, fault: fault.clone() });
        }
        self.checks.check(Judge::Answer, rule, false, || {
            let silent = why.starts_with("silent");
            let (symptom, kind) =
                if silent { ("silent", Kind::Timeout) } else { ("died", Kind::Crash) };
            Mismatch::new(symptom, "an answer", why).kind(kind)
        });
        self.checks.give_up();
        Ok(())
    }
}

/// Why there is no answer, where there is none.
fn crash(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Crashed(why) => Some(why.clone()),
        _ => None,
    }
}

/// The rule that a request is mostly about.
pub fn main_rule(request: &Request) -> RuleRef {
    match request {
        Request::List { .. } => &rules::LIST_COMPLETE,
        Request::Diff { .. } => &rules::DIFF_PREVIEW,
        Request::Restore { .. } => &rules::RESTORE_BYTES,
        Request::RestoreFile { .. } => &rules::RESTORE_FILE_LITERAL,
        Request::ProjectOf { .. } => &rules::SCOPE_ROOT_OF_FILE,
        Request::Sweep => &rules::MAINTENANCE_NEVER_RAISES,
        _ if request.is_maintenance() => &rules::MAINTENANCE_COMMANDS,
        _ => &rules::CAPTURE_CREATED,
    }
}

/// Whether the request may leave no trace in the store.
fn must_leave_store(request: &Request, expected: &Expected) -> bool {
    let restore = matches!(request, Request::Restore { .. } | Request::RestoreFile { .. });
    match expected {
        Expected::Refused(_) => restore || request.only_looks(),
        Expected::Checkpoint(take) => take.kind == CheckpointKind::Disabled,
        _ => request.only_looks(),
    }
}
