//! Which project a file belongs to.

use crate::allowed::Allowed;
use crate::bytes::{self, ByteString};
use crate::place::{Place, Standing};
use crate::plain::plain;
use crate::rules::{self, RuleRef};
use crate::verdict::{Checks, Judge, Mismatch};
use crate::world::{MARKERS, World};

impl World {
    /// Which project a file belongs to.
    pub(super) fn allows_project(&self, file: &[u8]) -> Allowed {
        let (path, rule) = self.project_of(file);
        Allowed::Project { path, rule }
    }

    /// The project of a file as an absolute path, and the rule that decides it.
    ///
    /// Implements [`rules::SCOPE_ROOT_OF_FILE`] and [`rules::SCOPE_ROOT_NEVER_BROAD`].
    pub(super) fn project_of(&self, file: &[u8]) -> (Option<ByteString>, RuleRef) {
        let no_project: (_, RuleRef) = (None, &rules::SCOPE_ROOT_NEVER_BROAD);
        let (path, standing) = match self.locate(file) {
            Place::Inside(path, standing) => (path, standing),
            Place::FileSystemRoot => return no_project,
            Place::Elsewhere(path) => {
                let parent = ByteString::from(bytes::parent(&path));
                let path = Some(parent).filter(|parent| !parent.is_empty());
                return (path, &rules::SCOPE_ROOT_OF_FILE);
            }
        };
        let start = match standing {
            Standing::Directory => &path[..],
            Standing::NoDirectory | Standing::Nothing => bytes::parent(&path),
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
        // Where the walk ended at the home directory, what is answered must not be that.
        let rule: RuleRef = if candidate == home {
            &rules::SCOPE_ROOT_NEVER_BROAD
        } else {
            &rules::SCOPE_ROOT_OF_FILE
        };
        (Some(self.absolute(start)), rule)
    }

    /// Whether a directory has what marks the root of a project.
    pub(super) fn is_marked(&self, directory: &[u8]) -> bool {
        MARKERS.iter().any(|marker| self.leads_somewhere(directory, marker.as_bytes()))
    }

    /// Whether the directory has an entry of that name that leads somewhere.
    fn leads_somewhere(&self, directory: &[u8], name: &[u8]) -> bool {
        match self.follow(&bytes::join(directory, name)) {
            Place::Inside(_, standing) => standing != Standing::Nothing,
            Place::FileSystemRoot => true,
            Place::Elsewhere(_) => false,
        }
    }
}

/// Compares the project that was answered with the one that is right.
pub(super) fn compare(
    due: &Option<ByteString>,
    rule: RuleRef,
    found: &Option<ByteString>,
    checks: &mut Checks,
) {
    checks.check(Judge::Answer, rule, due == found, || {
        let symptom = if found.is_some() { "another project" } else { "no project" };
        Mismatch::new(symptom, plain(&due), plain(&found))
    });
}
