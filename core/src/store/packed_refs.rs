//! The file `packed-refs`, into which `git gc` moves refs, as text: which of its lines git accepts, and
//! how the file is written without some of them. The locks, and the meaning of a ref, are in
//! [`crate::store::refs`].

use crate::disk::atomic_write::{replace_file, write_new_named};
use crate::disk::{Disk, folder};
use crate::error::Result;
use crate::store::oid::Oid;
use std::path::Path;

/// The name of the file in the store.
pub const NAME: &str = "packed-refs";
/// The start of the name of the file that replaces it.
pub const NEW: &str = "packed-refs.new";
/// The start of its first line, which need not exist.
const HEADER: &[u8] = b"# pack-refs with:";
/// Size limit of the file in bytes; no file is larger.
const BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The content of the file; empty if it is not a regular file.
// rule: maintenance/damage
pub fn text(disk: &dyn Disk, store: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&content(disk, store)?).into_owned())
}

fn content(disk: &dyn Disk, store: &Path) -> Result<Vec<u8>> {
    Ok(folder::read_if_file(disk, &store.join(NAME), BYTES_MAX)?.unwrap_or_default())
}

/// Whether git accepts the file. If git does not, it reads no ref of the store at all.
pub fn is_accepted(disk: &dyn Disk, store: &Path) -> Result<bool> {
    let content = content(disk, store)?;
    Ok(accepted(&content).len() == content.len()
        && folder::is_file_or_nothing(disk, &store.join(NAME))?)
}

/// Replaces the content of the file by the result of `change`, if that differs from it. The caller holds
/// git's lock on the file.
pub fn rewrite(disk: &dyn Disk, store: &Path, change: impl FnOnce(&[u8]) -> Vec<u8>) -> Result<()> {
    let path = store.join(NAME);
    let old = content(disk, store)?;
    let new = change(&old);
    if new.len() == old.len() && folder::is_file_or_nothing(disk, &path)? {
        return Ok(());
    }
    let fresh = write_new_named(disk, store, NEW, &new, 0o600)?;
    // A file cannot replace a folder; a folder that is not empty stays.
    let _ = disk.remove_directory(&path);
    replace_file(disk, &fresh, &path)
}

/// The lines that git accepts. A crash may leave the file full of zeros, or without its end.
pub fn accepted(content: &[u8]) -> Vec<u8> {
    let mut rest = Vec::with_capacity(content.len());
    // Whether the line before was that of a ref, which a peeled line may follow.
    let mut follows_ref = false;
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let is_header = rest.is_empty() && line.starts_with(HEADER) && line.ends_with(b"\n");
        let is_ref = is_line_of_ref(line);
        if is_header || is_ref || follows_ref && is_peeled(line) {
            rest.extend_from_slice(line);
        }
        follows_ref = is_ref;
    }
    rest
}

/// Whether git accepts a line with the id and the name of a ref.
fn is_line_of_ref(line: &[u8]) -> bool {
    let Some((id, name)) = line.split_at_checked(40) else { return false };
    let name = name.strip_prefix(b" refs/").and_then(|name| name.strip_suffix(b"\n"));
    is_id(id)
        && name.is_some_and(|name| {
            !name.is_empty() && !name.iter().any(|byte| matches!(byte, 0..=b' ' | 0x7f))
        })
}

/// Whether a line has the id that the tag in the line before it stands for.
fn is_peeled(line: &[u8]) -> bool {
    line.strip_prefix(b"^").and_then(|id| id.strip_suffix(b"\n")).is_some_and(is_id)
}

fn is_id(digits: &[u8]) -> bool {
    std::str::from_utf8(digits).ok().and_then(Oid::parse).is_some()
}

/// The lines except those of the selected refs and the `^` lines that may follow them.
pub fn without(content: &[u8], is_selected: impl Fn(&str) -> bool) -> Vec<u8> {
    let mut rest = Vec::with_capacity(content.len());
    let mut dropped = false;
    for line in content.split_inclusive(|byte| *byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let name = text.trim_end_matches('\n').split_once(' ').map(|(_, name)| name);
        dropped = name.is_some_and(&is_selected) || dropped && text.starts_with('^');
        if !dropped {
            rest.extend_from_slice(line);
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::process::Command;

    const ID: &str = "1111111111111111111111111111111111111111";

    /// Whether git reads the refs of a repository whose `packed-refs` has this content.
    fn does_git_accept(content: &[u8]) -> bool {
        let folder = tempfile::tempdir().unwrap();
        for name in ["objects", "refs"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(folder.path().join(NAME), content).unwrap();
        let mut git = Command::new("git");
        let git = git.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
        let git = git.arg("--git-dir").arg(folder.path());
        git.args(["for-each-ref", "--format=%(refname)"]).output().unwrap().status.success()
    }

    #[test]
    fn accepted_keeps_the_lines_that_git_accepts() {
        let header = "# pack-refs with: peeled fully-peeled sorted \n";
        let line = |name: &str| format!("{ID} refs/hermes/{name}\n");
        let peeled = format!("^{ID}\n");
        let [a, b] = ["a", "b"].map(line);
        for (content, kept) in [
            (String::new(), String::new()),
            (format!("{header}{a}{peeled}{b}"), format!("{header}{a}{peeled}{b}")),
            (format!("{a}{b}"), format!("{a}{b}")),
            ("\0".repeat(100), String::new()),
            (format!("{header}{a}{}", &b[..50]), format!("{header}{a}")),
            (format!("{header}{a}{}", &b[..20]), format!("{header}{a}")),
            (format!("{header}{a}{}\n{b}", "\0".repeat(60)), format!("{header}{a}{b}")),
            (format!("# packed\n{a}"), a.clone()),
            (format!("{peeled}{a}"), a.clone()),
            (format!("{a}# comment\n"), a.clone()),
            (format!("{a}\n{b}"), format!("{a}{b}")),
        ] {
            let found = accepted(content.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), kept);
            assert!(does_git_accept(&found), "{kept}");
            let is_accepted = found.len() == content.len();
            assert_eq!(does_git_accept(content.as_bytes()), is_accepted, "{content:?}");
        }
    }
}
