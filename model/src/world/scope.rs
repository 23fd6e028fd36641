//! Resolves the path that a person types to a project, and refuses the paths that are never projects.

use super::World;
use crate::answer::Code;
use crate::bytes::{self, ByteString};
use crate::place::{self, Location, PathKind};
use crate::refusal::Refusal;
use crate::rules::{self, RuleRef};

impl World {
    /// The canonical form of a typed path, relative to the world's root, if it is inside the world.
    pub fn canonical(&self, typed: &[u8]) -> Option<ByteString> {
        match self.locate(typed) {
            Location::Inside(path, _) => Some(path),
            Location::FileSystemRoot | Location::Elsewhere(_) => None,
        }
    }

    /// Implements [`rules::SCOPE_IDENTITY`] (decides).
    pub(crate) fn locate(&self, typed: &[u8]) -> Location {
        if typed == b"~" || typed.starts_with(b"~/") {
            return self.follow(&[&self.layout.home[..], &typed[1..]].concat());
        }
        if !typed.starts_with(b"/") {
            return self.follow(&bytes::join(&self.layout.current, typed));
        }
        if typed.iter().all(|byte| *byte == b'/') {
            return Location::FileSystemRoot;
        }
        let inside = typed
            .strip_prefix(&self.layout.root[..])
            .filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
        match inside {
            Some(path) => self.follow(path),
            None => Location::Elsewhere(ByteString::from(typed)),
        }
    }

    /// Resolves a path that is relative to the world's root.
    pub(crate) fn follow(&self, path: &[u8]) -> Location {
        place::resolve(&self.files, &self.layout.root, path)
    }

    /// The refusal of every checkpoint of this location, whatever it contains.
    ///
    /// Implements [`rules::SCOPE_NEVER_ROOT`], [`rules::SCOPE_NEVER_HOME`],
    /// [`rules::SCOPE_NO_DIRECTORY`] and the half of [`rules::SCOPE_BASE_NOT_CAPTURED`] that is
    /// about the base itself.
    pub(crate) fn out_of_scope(&self, location: &Location) -> Option<Refusal> {
        let (codes, rule): (&'static [Code], RuleRef) = match location {
            Location::FileSystemRoot => (&[Code::ScopeRoot], &rules::SCOPE_NEVER_ROOT),
            Location::Inside(path, _) if *path == self.layout.home => {
                (&[Code::ScopeHome], &rules::SCOPE_NEVER_HOME)
            }
            Location::Inside(path, _) if self.in_base(path) => (
                &[Code::ScopeBase, Code::MissingDirectory, Code::NotADirectory],
                &rules::SCOPE_BASE_NOT_CAPTURED,
            ),
            Location::Elsewhere(_) => {
                (&[Code::MissingDirectory, Code::NotADirectory], &rules::SCOPE_NO_DIRECTORY)
            }
            Location::Inside(_, PathKind::Missing) => {
                (&[Code::MissingDirectory], &rules::SCOPE_NO_DIRECTORY)
            }
            Location::Inside(_, PathKind::NotADirectory) => {
                (&[Code::NotADirectory], &rules::SCOPE_NO_DIRECTORY)
            }
            Location::Inside(_, PathKind::Directory) => return None,
        };
        Some(Refusal { codes, rule })
    }

    /// Whether the rules allow that this path, relative to the world's root, is a project: it is not the
    /// home directory, and it is not the base, above it or below it.
    pub fn may_be_project(&self, path: &[u8]) -> bool {
        let holds_base = bytes::below(path, &self.layout.base).is_some();
        *path != *self.layout.home && !self.in_base(path) && !holds_base
    }

    fn in_base(&self, path: &[u8]) -> bool {
        *path == *self.layout.base || bytes::below(&self.layout.base, path).is_some()
    }

    /// The base, relative to the world's root.
    pub(crate) fn base(&self) -> &ByteString {
        &self.layout.base
    }

    /// The home directory, relative to the world's root.
    pub fn home(&self) -> &ByteString {
        &self.layout.home
    }
}
