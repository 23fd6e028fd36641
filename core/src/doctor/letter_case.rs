//! Checks whether names that differ only in letter case are one file in a directory.
//!
//! To find out without making a file, an existing name is looked up in the other case.

use super::base::nearest;
use super::{Check, Finding};
use crate::disk::{Disk, Stat};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Checks the base and the project. For the store it makes no difference, since no two of its names
/// differ only in letter case.
pub fn check(disk: &dyn Disk, base: &Path, project: Option<&Path>) -> Finding {
    let mut parts = Vec::new();
    for (subject, directory) in [("store", Some(base)), ("project", project)] {
        let Some(directory) = directory else { continue };
        // A new directory is like the directory in which it is made.
        let existing = nearest(disk, directory).map(|(existing, _)| existing);
        match existing.ok().and_then(|existing| folds(disk, &existing)) {
            Some(true) if subject == "project" => {
                let found =
                    format!("{directory:?} ignores letter case: \"a\" and \"A\" are one file");
                let advice = "always type the directory's name in the same letter case, since the \
                              store takes another spelling for another project; of two files of a \
                              checkpoint that differ only in letter case, only one is restored";
                return Check::LetterCase.notice(found, advice);
            }
            Some(true) => parts.push("ignored in the store, which is harmless".to_owned()),
            Some(false) => parts.push(format!("matters in the {subject}")),
            None => parts.push(format!("not known for the {subject}")),
        }
    }
    Check::LetterCase.ok(parts.join(", "))
}

/// Whether a directory ignores letter case; `None` if that cannot be determined, for example because no
/// name in it has letters.
fn folds(disk: &dyn Disk, directory: &Path) -> Option<bool> {
    let names = disk.list(directory).ok()?;
    folds_names(&names, |name| disk.stat(&directory.join(name)))
}

fn folds_names(names: &[OsString], stat: impl Fn(&OsStr) -> io::Result<Stat>) -> Option<bool> {
    names.iter().find_map(|name| {
        let swapped = swap_case(name)?;
        if names.contains(&swapped) {
            return Some(false);
        }
        match (stat(name), stat(&swapped)) {
            (Ok(stat), Ok(swapped_stat)) => Some(stat.identity() == swapped_stat.identity()),
            (Ok(_), Err(error)) if error.kind() == ErrorKind::NotFound => Some(false),
            _ => None,
        }
    })
}

/// The name with its ASCII letters in the other case; `None` if it has none. Every file system folds
/// these letters alike.
fn swap_case(name: &OsStr) -> Option<OsString> {
    let swap = |byte: &u8| match byte {
        b'a'..=b'z' => byte.to_ascii_uppercase(),
        _ => byte.to_ascii_lowercase(),
    };
    let swapped: Vec<u8> = name.as_bytes().iter().map(swap).collect();
    (swapped != name.as_bytes()).then(|| OsString::from_vec(swapped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;

    /// Calls `folds_names` with a directory of these names that ignores letter case if `folds` is set.
    fn folds_in_directory(names: &[&str], folds: bool) -> Option<bool> {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<OsString> = names.iter().map(OsString::from).collect();
        folds_names(&names, |looked_up| {
            let is_same = |name: &&OsString| folds && name.eq_ignore_ascii_case(looked_up);
            let name = names.iter().find(is_same).map_or(looked_up, |name| name.as_os_str());
            SystemDisk.stat(&folder.path().join(name))
        })
    }

    #[test]
    fn folds_names_looks_a_name_up_in_the_other_case() {
        assert_eq!(folds_in_directory(&["123", "readme.TXT"], true), Some(true));
        assert_eq!(folds_in_directory(&["123", "readme.TXT"], false), Some(false));
    }

    #[test]
    fn folds_names_returns_none_where_no_name_has_letters() {
        assert_eq!(folds_in_directory(&["123", "4.5", "é"], true), None);
        assert_eq!(folds_in_directory(&[], true), None);
    }

    #[test]
    fn folds_names_needs_no_stat_where_two_names_differ_only_in_case() {
        let names = ["A".into(), "a".into()];
        assert_eq!(folds_names(&names, |_| panic!("it looked")), Some(false));
    }
}
