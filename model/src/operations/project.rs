//! Decides which project a file belongs to, and judges the answer of a subject to that question.

use crate::allowed::Allowed;
use crate::bytes::{self, ByteString};
use crate::place::{Location, PathKind};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{MARKERS, World};

impl World {
    /// The correct answer about the project of a file.
    pub(super) fn allows_project(&self, file: &[u8]) -> Allowed {
        let (path, rule) = self.project_of(file);
        Allowed::Project { path, rule }
    }

    /// The project of a file as an absolute path, and the rule that decides it.
    ///
    /// Implements [`rules::SCOPE_ROOT_OF_FILE`] and [`rules::SCOPE_ROOT_NEVER_BROAD`].
    pub(super) fn project_of(&self, file: &[u8]) -> (Option<ByteString>, RuleRef) {
        let no_project: (_, RuleRef) = (None, &rules::SCOPE_ROOT_NEVER_BROAD);
        let (path, kind) = match self.locate(file) {
            Location::Inside(path, kind) => (path, kind),
            Location::FileSystemRoot => return no_project,
            Location::Elsewhere(path) => {
                let parent = ByteString::from(bytes::parent(&path));
                let path = Some(parent).filter(|parent| !parent.is_empty());
                return (path, &rules::SCOPE_ROOT_OF_FILE);
            }
        };
        let start = match kind {
            PathKind::Directory => &path[..],
            PathKind::NotADirectory | PathKind::Missing => bytes::parent(&path),
        };
        let home = &self.home()[..];
        if start == home {
            return no_project;
        }
        let mut candidate = start;
        loop {
            if candidate == home {
                break;
            }
            if self.is_marked(candidate) {
                return (Some(self.absolute(candidate)), &rules::SCOPE_ROOT_OF_FILE);
            }
            if candidate.is_empty() {
                break;
            }
            candidate = bytes::parent(candidate);
        }
        // Where the walk ended at the home directory, that must not be the answer.
        let rule: RuleRef = if candidate == home {
            &rules::SCOPE_ROOT_NEVER_BROAD
        } else {
            &rules::SCOPE_ROOT_OF_FILE
        };
        (Some(self.absolute(start)), rule)
    }

    /// Whether a directory has a marker of a project's root.
    pub(super) fn is_marked(&self, directory: &[u8]) -> bool {
        MARKERS.iter().any(|marker| self.has_entry(directory, marker.as_bytes()))
    }

    /// Whether the directory has an entry of that name that is not a dangling link.
    fn has_entry(&self, directory: &[u8], name: &[u8]) -> bool {
        match self.follow(&bytes::join(directory, name)) {
            Location::Inside(_, kind) => kind != PathKind::Missing,
            Location::FileSystemRoot => true,
            Location::Elsewhere(_) => false,
        }
    }
}

/// Compares the answered project with the correct one.
pub(super) fn compare(
    expected: &Option<ByteString>,
    rule: RuleRef,
    found: &Option<ByteString>,
    checks: &mut Checks,
) {
    checks.check(Judge::Answer, rule, expected == found, || {
        let symptom = if found.is_some() { "another project" } else { "no project" };
        Mismatch::new(symptom, plain(&expected), plain(&found))
    });
}
