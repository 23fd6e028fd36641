//! The access rights of a file that a restore writes: never wider than those that it had when it was captured, or than
//! those of the file that it replaces.

use super::placement::Placement;
use crate::disk::{Access, Stat};
use crate::path::{ancestors, on_disk};
use crate::store::snapshot::Mode;

impl Placement<'_> {
    /// The access rights of the file to be written at `path`; `before` is the file that it replaces.
    // rule: restore/permissions: decides
    pub(super) fn access(&self, path: &[u8], mode: Mode, before: Option<Stat>) -> Access {
        let Some(before) = before else {
            let bits = self.permissions.of_file(path, mode) & !self.hidden(path);
            return self.recorded(bits & 0o777);
        };
        // A file that only its owner may read stays that way.
        let bits = match mode {
            // rule: restore/executable
            Mode::Executable => before.mode | (before.mode & 0o444) >> 2 | 0o100,
            _ => before.mode & !0o111,
        };
        let list = self.disk.access_list(&on_disk(self.root, path));
        let withheld = self.withheld(path, mode);
        // Of the bits of a group, those of the project are recorded, if no access list gave them.
        let is_recorded = withheld & 0o070 != 0
            && matches!(list, Ok(None))
            && self.disk.stat(self.root).is_ok_and(|root| root.group == before.group);
        let recorded = if is_recorded { 0o077 } else { 0o007 };
        let bits = bits & 0o777 & !(recorded & withheld);
        let group = Some(before.group);
        match list {
            Ok(list) => Access { bits, group, list },
            Err(_) => Access { bits, group: None, list: None },
        }
    }

    /// Access with recorded permission bits, for the group that they were recorded for.
    pub(super) fn recorded(&self, bits: u32) -> Access {
        Access { bits, group: self.permissions.group(), list: None }
    }

    /// The bits that a file in its place loses with this content, since the content was not open to others when it was
    /// captured; none if that is not known.
    // rule: restore/permissions
    fn withheld(&self, path: &[u8], mode: Mode) -> u32 {
        match self.permissions.is_known() {
            true => !self.permissions.of_file(path, mode) | self.hidden(path),
            false => 0,
        }
    }

    /// The permission bits of a file that gave no access when it was captured, since a folder above it
    /// admitted only its owner, and is open now.
    // rule: restore/permissions
    fn hidden(&self, path: &[u8]) -> u32 {
        let closed = |folder: &[u8]| {
            let recorded = self.permissions.of_folder(folder);
            if recorded & 0o011 == 0o011 {
                return 0;
            }
            let present = self.disk.stat(&on_disk(self.root, folder)).map_or(0, |stat| stat.mode);
            (present & !recorded & 0o011) * 0o7
        };
        std::iter::once(&b""[..])
            .chain(ancestors(path))
            .fold(0, |bits, folder| bits | closed(folder))
    }
}
