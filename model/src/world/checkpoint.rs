//! Taking a checkpoint, by itself or by hand, and which project a file belongs to.

use super::{Checkpoint, Slot, World};
use crate::answer::Code;
use crate::bytes::{self, ByteString};
use crate::capture::Captured;
use crate::expected::{CheckpointKind, Expected, ExpectedCheckpoint, Refusal};
use crate::files::Node;
use crate::place::{Place, Standing};
use crate::request::Request;
use crate::rules::{self, RuleRef};
use std::sync::Arc;

/// What marks a directory as the root of a project (behaviour: Scope and identity).
pub const MARKERS: &[&str] = &[
    ".git",
    ".hg",
    "pyproject.toml",
    "package.json",
    "Cargo.toml",
    "go.mod",
    "Makefile",
    "pom.xml",
    "Gemfile",
];

/// The refusal of a project with more files than the limit.
pub(super) const TOO_MANY_FILES: Refusal =
    Refusal { codes: &[Code::TooManyFiles], rule: &rules::SCOPE_TOO_MANY_FILES };

impl World {
    /// Implements [`rules::SCOPE_ROOT_OF_FILE`] and [`rules::SCOPE_ROOT_NEVER_BROAD`].
    pub(super) fn project_of(&self, file: &[u8]) -> Expected {
        let no_project = Expected::Project { path: None, rule: &rules::SCOPE_ROOT_NEVER_BROAD };
        let (path, standing) = match self.locate(file) {
            Place::Inside(path, standing) => (path, standing),
            Place::FileSystemRoot => return no_project,
            Place::Elsewhere(path) => {
                let parent = ByteString::from(bytes::parent(&path));
                let path = Some(parent).filter(|parent| !parent.is_empty());
                return Expected::Project { path, rule: &rules::SCOPE_ROOT_OF_FILE };
            }
        };
        let start = match standing {
            Standing::Directory => &path[..],
            Standing::NoDirectory | Standing::Nothing => bytes::parent(&path),
        };
        let home = &self.layout.home[..];
        if start == home {
            return no_project;
        }
        let mut candidate = start;
        loop {
            if candidate == home {
                break;
            }
            if MARKERS.iter().any(|marker| self.has(candidate, marker.as_bytes())) {
                let path = Some(self.absolute(candidate));
                return Expected::Project { path, rule: &rules::SCOPE_ROOT_OF_FILE };
            }
            if candidate.is_empty() {
                break;
            }
            candidate = bytes::parent(candidate);
        }
        // Where the walk ended at the home directory, what is answered must not be that.
        let rule: RuleRef = if candidate == home {
            &rules::SCOPE_ROOT_NEVER_BROAD
        } else {
            &rules::SCOPE_ROOT_OF_FILE
        };
        Expected::Project { path: Some(self.absolute(start)), rule }
    }

    /// Whether the directory has an entry of that name that leads somewhere.
    fn has(&self, directory: &[u8], name: &[u8]) -> bool {
        match self.follow(&bytes::join(directory, name)) {
            Place::Inside(_, standing) => standing != Standing::Nothing,
            Place::FileSystemRoot => true,
            Place::Elsewhere(_) => false,
        }
    }

    /// Implements [`rules::TURN_ONCE`], [`rules::TURN_RESET`], [`rules::TURN_PER_PROJECT`],
    /// [`rules::TURN_FAILURE_KEEPS_SLOT`], [`rules::TURN_NOTHING_USES_SLOT`] and
    /// [`rules::TURN_DISABLED`].
    pub(super) fn ensure(&mut self, dir: &[u8], reason: &str) -> Expected {
        let place = self.locate(dir);
        let project = match &place {
            Place::Inside(path, _) => path.clone(),
            Place::FileSystemRoot | Place::Elsewhere(_) => ByteString::default(),
        };
        let refusal = self.out_of_scope(&place);
        if !self.settings.enabled {
            return self.settled(project, CheckpointKind::Disabled, &rules::TURN_DISABLED, None);
        }
        let rule: RuleRef = match self.slots.get(&project) {
            Some(Slot::Taken) => &rules::TURN_ONCE,
            Some(Slot::NothingToSave) => &rules::TURN_NOTHING_USES_SLOT,
            _ => {
                let if_declined = self.blame_for_dedup(&project);
                let slot_key = project.clone();
                let expected = self.take(project, refusal, reason, if_declined);
                let slot = match &expected {
                    Expected::Checkpoint(take) if take.kind == CheckpointKind::Created => {
                        Slot::Taken
                    }
                    Expected::Checkpoint(_) => Slot::NothingToSave,
                    _ => Slot::AttemptFailed,
                };
                self.slots.insert(slot_key, slot);
                return expected;
            }
        };
        self.settled(project, CheckpointKind::Deduped, rule, refusal)
    }

    /// The rule broken by a subject that declines what this asks for, because of the turn or
    /// because nothing is taken by itself; none where it asks for no checkpoint, or declining it
    /// is as good as saying why none can be taken.
    pub fn if_declined(&self, request: &Request) -> Option<RuleRef> {
        let project = self.canonical(request.dir()?).unwrap_or_default();
        match request {
            Request::EnsureCheckpoint { .. } if self.settings.enabled => {
                (!self.uses_slot(&project)).then(|| self.blame_for_dedup(&project))
            }
            Request::Checkpoint { .. } => Some(self.blame_for_declining(&project)),
            _ => None,
        }
    }

    fn uses_slot(&self, project: &ByteString) -> bool {
        matches!(self.slots.get(project), Some(Slot::Taken | Slot::NothingToSave))
    }

    /// The rule broken by a subject that takes a free slot for a used one.
    fn blame_for_dedup(&self, project: &ByteString) -> RuleRef {
        match self.slots.get(project) {
            _ if self.rolled_back.contains(project) => &rules::RESTORE_SAFETY_OUTSIDE_TURN,
            Some(Slot::AttemptFailed) => &rules::TURN_FAILURE_KEEPS_SLOT,
            // What another project used in this turn says more than what this one did before it.
            _ if self.slots.keys().any(|other| self.uses_slot(other)) => &rules::TURN_PER_PROJECT,
            Some(Slot::Renewed) => &rules::TURN_RESET,
            _ => &rules::CAPTURE_CREATED,
        }
    }

    /// The rule broken by a subject that declines what a person asks for: only where an automatic
    /// checkpoint would have been declined does asking by hand matter.
    fn blame_for_declining(&self, project: &ByteString) -> RuleRef {
        if self.uses_slot(project) || !self.settings.enabled {
            &rules::TURN_MANUAL
        } else {
            &rules::CAPTURE_CREATED
        }
    }

    /// An answer that needs no look at the files. Where the place is out of scope as well, saying
    /// that instead is as good.
    fn settled(
        &self,
        project: ByteString,
        kind: CheckpointKind,
        rule: RuleRef,
        refusal: Option<Refusal>,
    ) -> Expected {
        Expected::Checkpoint(Box::new(ExpectedCheckpoint {
            project,
            kind,
            rule,
            if_declined: rule,
            if_too_many: &rules::SCOPE_TOO_MANY_FILES,
            may_refuse: refusal.into_iter().collect(),
            may_be_unchanged: false,
            captured: None,
        }))
    }

    /// Implements [`rules::TURN_MANUAL`]: neither `enabled` nor the turn is asked.
    pub(super) fn checkpoint_manually(&mut self, dir: &[u8], reason: &str) -> Expected {
        let place = self.locate(dir);
        let project = self.canonical(dir).unwrap_or_default();
        let refusal = self.out_of_scope(&place);
        let if_declined = self.blame_for_declining(&project);
        self.take(project, refusal, reason, if_declined)
    }

    fn take(
        &mut self,
        project: ByteString,
        refusal: Option<Refusal>,
        reason: &str,
        if_declined: RuleRef,
    ) -> Expected {
        if let Some(refusal) = refusal {
            return Expected::Refused(vec![refusal]);
        }
        let captured = Arc::new(self.capture(&project));
        if captured.tree.len() > self.settings.max_files {
            return Expected::Refused(vec![TOO_MANY_FILES]);
        }
        let first_of_nothing = captured.tree.is_empty() && self.history(&project).is_empty();
        let may_be_unchanged = first_of_nothing && !self.dialect.recognises_unchanged;
        let (kind, rule) = self.record(&project, &captured, Some(reason.to_owned()), false);
        let files = self.files.below(&project).filter(|(_, node)| **node != Node::Directory);
        let if_too_many: RuleRef = if files.count() > self.settings.max_files {
            &rules::SCOPE_COUNTS_CAPTURED
        } else {
            &rules::SCOPE_TOO_MANY_FILES
        };
        Expected::Checkpoint(Box::new(ExpectedCheckpoint {
            project,
            kind,
            rule,
            if_declined,
            if_too_many,
            may_refuse: Vec::new(),
            may_be_unchanged,
            captured: Some(captured),
        }))
    }

    /// Adds a checkpoint of what was captured, unless there is nothing to add.
    ///
    /// Implements [`rules::CAPTURE_UNCHANGED`] and [`rules::CAPTURE_EMPTY_FIRST`].
    pub(super) fn record(
        &mut self,
        project: &ByteString,
        captured: &Arc<Captured>,
        reason: Option<String>,
        safety: bool,
    ) -> (CheckpointKind, RuleRef) {
        // What would be taken to undo a restore is never taken twice.
        let recognises = self.dialect.recognises_unchanged || safety;
        if !self.history(project).is_empty() {
            self.maintenance.touch(project, self.seconds);
        }
        match self.history(project).last() {
            _ if !recognises => {}
            Some(newest) if newest.captured.tree == captured.tree => {
                return (CheckpointKind::Unchanged, &rules::CAPTURE_UNCHANGED);
            }
            None if captured.tree.is_empty() => {
                return (CheckpointKind::Unchanged, &rules::CAPTURE_EMPTY_FIRST);
            }
            _ => {}
        }
        let checkpoint = Checkpoint {
            id: None,
            captured: Arc::clone(captured),
            reason,
            time: self.seconds,
            safety,
        };
        self.histories.entry(project.clone()).or_default().push(checkpoint);
        self.maintenance.touch(project, self.seconds);
        (CheckpointKind::Created, &rules::CAPTURE_CREATED)
    }
}
