//! Whether names that differ in letter case only are one file in a directory.
//!
//! To find out without making a file, a name that is there is looked for in the other case.

use super::base::nearest;
use super::{Check, Finding};
use crate::disk::{Disk, Stat};
use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Looks at the base and the project. To the store it makes no difference, since no two of its names
/// differ in letter case only.
pub fn look(disk: &dyn Disk, base: &Path, project: Option<&Path>) -> Finding {
    let mut parts = Vec::new();
    for (what, directory) in [("store", Some(base)), ("project", project)] {
        let Some(directory) = directory else { continue };
        // A directory that is made is as the one that it is made in.
        let there = nearest(disk, directory).map(|(there, _)| there);
        match there.ok().and_then(|there| folds(disk, &there)) {
            Some(true) if what == "project" => {
                let found =
                    format!("names that differ in letter case only are one file in {directory:?}");
                let advice = "name the directory in the same letter case each time, since another \
                              is another project to the store; of two such files in a checkpoint \
                              taken elsewhere a restore brings back one";
                return Finding::notice(Check::LetterCase, found, advice);
            }
            Some(true) => parts.push("one file in the store, which does not mind"),
            Some(false) if what == "project" => parts.push("two files in the project"),
            Some(false) => parts.push("two files in the store"),
            None if what == "project" => parts.push("not to be told for the project"),
            None => parts.push("not to be told for the store"),
        }
    }
    let found = format!("names that differ in letter case only: {}", parts.join(", "));
    Finding::ok(Check::LetterCase, found)
}

/// Whether a directory takes no notice of letter case; none where that cannot be told, since no name
/// in it has letters.
fn folds(disk: &dyn Disk, directory: &Path) -> Option<bool> {
    let names = disk.list(directory).ok()?;
    told(&names, |name| disk.stat(&directory.join(name)))
}

fn told(names: &[OsString], stat: impl Fn(&OsStr) -> io::Result<Stat>) -> Option<bool> {
    names.iter().find_map(|name| {
        let other = in_other_case(name)?;
        if names.contains(&other) {
            return Some(false);
        }
        match (stat(name), stat(&other)) {
            (Ok(one), Ok(other)) => Some(one.identity() == other.identity()),
            (Ok(_), Err(error)) if error.kind() == ErrorKind::NotFound => Some(false),
            _ => None,
        }
    })
}

/// The name with its letters in the other case; none where it has no letters that every file system
/// folds alike.
fn in_other_case(name: &OsStr) -> Option<OsString> {
    let turned = |byte: &u8| match byte {
        b'a'..=b'z' => byte.to_ascii_uppercase(),
        _ => byte.to_ascii_lowercase(),
    };
    let other: Vec<u8> = name.as_bytes().iter().map(turned).collect();
    (other != name.as_bytes()).then(|| OsString::from_vec(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs;

    /// What a directory of these names would answer.
    fn asked(names: &[&str], folds: bool) -> Option<bool> {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names: Vec<OsString> = names.iter().map(OsString::from).collect();
        told(&names, |wanted| {
            let alike = |name: &&OsString| folds && name.eq_ignore_ascii_case(wanted);
            let name = names.iter().find(alike).map_or(wanted, |name| name.as_os_str());
            SystemDisk.stat(&folder.path().join(name))
        })
    }

    #[test]
    fn a_name_in_the_other_case_leads_to_the_same_file_or_to_none() {
        assert_eq!(asked(&["123", "readme.TXT"], true), Some(true));
        assert_eq!(asked(&["123", "readme.TXT"], false), Some(false));
    }

    #[test]
    fn it_cannot_be_told_where_no_name_has_letters() {
        assert_eq!(asked(&["123", "4.5", "é"], true), None);
        assert_eq!(asked(&[], true), None);
    }

    #[test]
    fn two_names_that_differ_in_case_only_tell_without_a_look() {
        let names = ["A".into(), "a".into()];
        assert_eq!(told(&names, |_| panic!("it looked")), Some(false));
    }
}
