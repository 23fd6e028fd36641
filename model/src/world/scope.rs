//! From the path that somebody types to a project, and which place is never one.

use super::World;
use crate::answer::Code;
use crate::bytes::{self, ByteString};
use crate::place::{self, Place, Standing};
use crate::refusal::Refusal;
use crate::rules::{self, RuleRef};

impl World {
    /// The canonical path a typed one means, relative to the world's root, if it is inside.
    pub fn canonical(&self, typed: &[u8]) -> Option<ByteString> {
        match self.locate(typed) {
            Place::Inside(path, _) => Some(path),
            Place::FileSystemRoot | Place::Elsewhere(_) => None,
        }
    }

    /// Implements [`rules::SCOPE_IDENTITY`].
    pub(crate) fn locate(&self, typed: &[u8]) -> Place {
        if typed == b"~" || typed.starts_with(b"~/") {
            return self.follow(&[&self.layout.home[..], &typed[1..]].concat());
        }
        if !typed.starts_with(b"/") {
            return self.follow(&bytes::join(&self.layout.current, typed));
        }
        if typed.iter().all(|byte| *byte == b'/') {
            return Place::FileSystemRoot;
        }
        let inside = typed
            .strip_prefix(&self.layout.root[..])
            .filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
        match inside {
            Some(path) => self.follow(path),
            None => Place::Elsewhere(ByteString::from(typed)),
        }
    }

    /// Where a path leads that is relative to the world's root.
    pub(crate) fn follow(&self, path: &[u8]) -> Place {
        place::resolve(&self.files, &self.layout.root, path)
    }

    /// Why no checkpoint may be taken of this place, whatever it holds.
    ///
    /// Implements [`rules::SCOPE_NEVER_ROOT`], [`rules::SCOPE_NEVER_HOME`],
    /// [`rules::SCOPE_NO_DIRECTORY`] and the half of [`rules::SCOPE_BASE_NOT_CAPTURED`] that is
    /// about the base itself.
    pub(crate) fn out_of_scope(&self, place: &Place) -> Option<Refusal> {
        let (codes, rule): (&'static [Code], RuleRef) = match place {
            Place::FileSystemRoot => (&[Code::ScopeRoot], &rules::SCOPE_NEVER_ROOT),
            Place::Inside(path, _) if *path == self.layout.home => {
                (&[Code::ScopeHome], &rules::SCOPE_NEVER_HOME)
            }
            Place::Inside(path, _) if self.in_base(path) => (
                &[Code::ScopeBase, Code::MissingDirectory, Code::NotADirectory],
                &rules::SCOPE_BASE_NOT_CAPTURED,
            ),
            Place::Elsewhere(_) => {
                (&[Code::MissingDirectory, Code::NotADirectory], &rules::SCOPE_NO_DIRECTORY)
            }
            Place::Inside(_, Standing::Nothing) => {
                (&[Code::MissingDirectory], &rules::SCOPE_NO_DIRECTORY)
            }
            Place::Inside(_, Standing::NoDirectory) => {
                (&[Code::NotADirectory], &rules::SCOPE_NO_DIRECTORY)
            }
            Place::Inside(_, Standing::Directory) => return None,
        };
        Some(Refusal { codes, rule })
    }

    /// Whether the rules leave it open that this place, relative to the world's root, is a project:
    /// it is not the home directory, and it neither is, holds nor lies in the base.
    pub fn may_be_project(&self, path: &[u8]) -> bool {
        let holds_base = bytes::below(path, &self.layout.base).is_some();
        *path != *self.layout.home && !self.in_base(path) && !holds_base
    }

    fn in_base(&self, path: &[u8]) -> bool {
        *path == *self.layout.base || bytes::below(&self.layout.base, path).is_some()
    }

    /// The home directory, relative to the world's root.
    pub(crate) fn home(&self) -> &ByteString {
        &self.layout.home
    }
}
