//! What a disk shows to a capture that reads it wrong. All of it is about the files of projects:
//! the store itself is read as it is.

use crate::sandbox::Sandbox;
use herma_core::disk::{Disk, Kind, Stat, SystemDisk};
use herma_core::ignore::DEFAULT_EXCLUDES;
use herma_model::ignore::Excludes;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The directories of the sandbox itself and of what projects are in: `work/alpha`.
const LEVELS_OF_A_ROOT: usize = 2;

fn is_of_a_project(sandbox: &Sandbox, path: &Path) -> bool {
    !path.starts_with(sandbox.base())
}

/// What of `names` fits.
fn only(
    sandbox: &Sandbox,
    directory: &Path,
    mut names: Vec<OsString>,
    fits: impl Fn(&OsString) -> bool,
) -> Vec<OsString> {
    if is_of_a_project(sandbox, directory) {
        names.retain(fits);
    }
    names
}

/// What a file holds, changed.
fn changed(
    sandbox: &Sandbox,
    path: &Path,
    content: Vec<u8>,
    change: impl Fn(&[u8]) -> Vec<u8>,
) -> Vec<u8> {
    if is_of_a_project(sandbox, path) { change(&content) } else { content }
}

pub fn ends_at_a_nul(sandbox: &Sandbox, path: &Path, content: Vec<u8>) -> Vec<u8> {
    let text = |content: &[u8]| content.split(|byte| *byte == 0).next().map(<[u8]>::to_vec);
    changed(sandbox, path, content, |content| text(content).unwrap_or_default())
}

pub fn as_text(sandbox: &Sandbox, path: &Path, content: Vec<u8>) -> Vec<u8> {
    let text = |content: &[u8]| String::from_utf8_lossy(content).into_owned().into_bytes();
    changed(sandbox, path, content, text)
}

pub fn never_executable(sandbox: &Sandbox, path: &Path, stat: Stat) -> Stat {
    match stat.kind {
        Kind::File if is_of_a_project(sandbox, path) => Stat { mode: stat.mode & !0o111, ..stat },
        _ => stat,
    }
}

/// The regular file in the sandbox that a link leads to.
pub fn what_a_link_points_at(sandbox: &Sandbox, path: &Path) -> Option<PathBuf> {
    let place = path.canonicalize().ok()?;
    let inside = place.starts_with(sandbox.root()) && is_of_a_project(sandbox, path);
    (inside && path.is_symlink() && place.is_file()).then_some(place)
}

pub fn only_what_exists(sandbox: &Sandbox, path: &Path, names: Vec<OsString>) -> Vec<OsString> {
    only(sandbox, path, names, |name| path.join(name).exists())
}

pub fn only_text_names(sandbox: &Sandbox, path: &Path, names: Vec<OsString>) -> Vec<OsString> {
    only(sandbox, path, names, |name| name.to_str().is_some())
}

/// What `core.quotePath` leaves as it is.
pub fn only_unquoted_names(sandbox: &Sandbox, path: &Path, names: Vec<OsString>) -> Vec<OsString> {
    let plain = |byte: &u8| (b' '..=b'~').contains(byte) && !b"\"\\".contains(byte);
    only(sandbox, path, names, |name| name.as_bytes().iter().all(plain))
}

pub fn only_names_that_are_arguments(
    sandbox: &Sandbox,
    path: &Path,
    names: Vec<OsString>,
) -> Vec<OsString> {
    only(sandbox, path, names, |name| {
        !name.as_bytes().starts_with(b"-") && !name.as_bytes().starts_with(b":")
    })
}

pub fn with_unix_line_ends(sandbox: &Sandbox, path: &Path, content: Vec<u8>) -> Vec<u8> {
    changed(sandbox, path, content, unix_line_ends)
}

/// As git does with what it takes for text.
fn unix_line_ends(content: &[u8]) -> Vec<u8> {
    if content.contains(&0) {
        return content.to_vec();
    }
    let mut converted = Vec::with_capacity(content.len());
    for (at, byte) in content.iter().enumerate() {
        if *byte != b'\r' || content.get(at + 1) != Some(&b'\n') {
            converted.push(*byte);
        }
    }
    converted
}

pub fn without_keywords(sandbox: &Sandbox, path: &Path, content: Vec<u8>) -> Vec<u8> {
    changed(sandbox, path, content, |content| {
        let text = std::str::from_utf8(content).ok();
        let parts = text.and_then(|text| {
            let (before, rest) = text.split_once("$Id: ")?;
            Some((before, rest.split_once('$')?.1))
        });
        parts
            .map_or(content.to_vec(), |(before, after)| format!("{before}$Id${after}").into_bytes())
    })
}

/// As an attributes file above the path says that is about every file.
pub fn as_the_attributes_say(sandbox: &Sandbox, path: &Path, content: Vec<u8>) -> Vec<u8> {
    let above = path.ancestors().skip(1).take_while(|place| place.starts_with(sandbox.root()));
    let texts = above.filter_map(|place| std::fs::read(place.join(".gitattributes")).ok());
    if texts.into_iter().any(|text| text.starts_with(b"* text")) {
        return with_unix_line_ends(sandbox, path, content);
    }
    content
}

pub fn default_excludes_last(_: &Sandbox, _: &Path, text: Option<Vec<u8>>) -> Option<Vec<u8>> {
    text.map(|text| [text, b"\n".to_vec(), DEFAULT_EXCLUDES.join("\n").into_bytes()].concat())
}

pub fn only_at_the_root(sandbox: &Sandbox, path: &Path, text: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let inside = path.parent().and_then(|place| place.strip_prefix(sandbox.root()).ok());
    let below = inside.is_some_and(|place| place.components().count() > LEVELS_OF_A_ROOT);
    text.filter(|_| !below)
}

pub fn lines_reversed(_: &Sandbox, _: &Path, text: Option<Vec<u8>>) -> Option<Vec<u8>> {
    text.map(|text| {
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        lines.reverse();
        lines.join(&b'\n')
    })
}

pub fn special_fails(sandbox: &Sandbox, path: &Path) -> Option<ErrorKind> {
    let stat = SystemDisk.stat(path).ok()?;
    (stat.kind == Kind::Special && is_of_a_project(sandbox, path)).then_some(ErrorKind::Other)
}

pub fn unreadable_fails(sandbox: &Sandbox, path: &Path) -> Option<ErrorKind> {
    let stat = SystemDisk.stat(path).ok()?;
    let unreadable = stat.kind == Kind::File && stat.mode & 0o400 == 0;
    (unreadable && is_of_a_project(sandbox, path)).then_some(ErrorKind::Other)
}

pub fn without_matched_siblings(
    sandbox: &Sandbox,
    path: &Path,
    names: Vec<OsString>,
) -> Vec<OsString> {
    let is_pattern = |name: &&str| name.contains(['*', '[']);
    let patterns: Vec<String> = names
        .iter()
        .filter_map(|name| name.to_str())
        .filter(is_pattern)
        .map(str::to_owned)
        .collect();
    only(sandbox, path, names, |name| {
        !patterns.iter().any(|pattern| {
            let matches = Excludes::new(&[pattern], &[]);
            name != pattern.as_str() && matches.excludes(&[], name.as_bytes(), false)
        })
    })
}

/// A repository is nested where a directory above it holds one too.
pub fn nothing_of_nested_repositories(
    sandbox: &Sandbox,
    path: &Path,
    names: Vec<OsString>,
) -> Vec<OsString> {
    let is_repository = |place: &Path| place.join(".git").symlink_metadata().is_ok();
    let mut above = path.ancestors().skip(1).take_while(|place| place.starts_with(sandbox.root()));
    let nested = is_repository(path) && above.any(is_repository);
    only(sandbox, path, names, |_| !nested)
}
