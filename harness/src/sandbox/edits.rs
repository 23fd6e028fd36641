//! The runner's own changes to a disk: the changes of an edit, and copying a workspace.

use super::manifest::on_disk;
use herma_model::Node;
use herma_model::edit::Change;
use herma_model::files::SpecialKind;
use std::ffi::OsStr;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

/// Makes one change below `root`.
pub fn apply(root: &Path, change: &Change) -> io::Result<()> {
    match change {
        Change::Remove(path) => {
            let path = on_disk(root, path);
            if fs::symlink_metadata(&path)?.is_dir() {
                fs::remove_dir_all(path)
            } else {
                fs::remove_file(path)
            }
        }
        Change::Rename(from, to) => fs::rename(on_disk(root, from), on_disk(root, to)),
        Change::Rewrite(path, content) => rewrite(&on_disk(root, path), content),
        Change::SetReadable(path, readable) => {
            let path = on_disk(root, path);
            let mode = fs::symlink_metadata(&path)?.mode() & 0o7777;
            let mode = if *readable { mode | 0o400 } else { mode & !0o444 };
            set_mode(&path, mode)
        }
        Change::SetPermissions(path, bits) => set_mode(&on_disk(root, path), *bits),
        Change::HardLink(path, to) => fs::hard_link(on_disk(root, to), on_disk(root, path)),
        Change::Make(path, node) => make(root, &on_disk(root, path), node),
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    break_hard_links(path)?;
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Writes new bytes with the old modification time. The change time of the inode cannot be kept.
fn rewrite(path: &Path, content: &[u8]) -> io::Result<()> {
    let before = fs::symlink_metadata(path)?;
    break_hard_links(path)?;
    // The owner may lack write permission.
    fs::set_permissions(path, Permissions::from_mode(before.mode() | 0o200))?;
    let mut file = OpenOptions::new().write(true).truncate(true).open(path)?;
    file.write_all(content)?;
    file.set_modified(before.modified()?)?;
    file.set_permissions(before.permissions())
}

/// Makes a path with hard links a file of its own, since an edit is about a single name of a file.
fn break_hard_links(path: &Path) -> io::Result<()> {
    let before = fs::symlink_metadata(path)?;
    // A folder has a link for each folder in it, but no other names.
    if before.nlink() > 1 && !before.is_dir() {
        let copy = path.with_file_name(".herma-edit");
        // The owner may lack read permission.
        fs::set_permissions(path, Permissions::from_mode(before.mode() | 0o400))?;
        fs::copy(path, &copy)?;
        fs::set_permissions(path, Permissions::from_mode(before.mode()))?;
        fs::rename(copy, path)?;
    }
    Ok(())
}

fn make(root: &Path, path: &Path, node: &Node) -> io::Result<()> {
    match node {
        Node::Directory => {
            fs::create_dir(path)?;
            // Independent of the process's umask.
            fs::set_permissions(path, Permissions::from_mode(0o755))
        }
        Node::Link { target } => symlink(OsStr::from_bytes(target), path),
        Node::Special(SpecialKind::Socket) => make_socket(root, path),
        Node::Special(SpecialKind::Fifo) => make_fifo(path, "644"),
        Node::File { content, executable, .. } => {
            let mode = if *executable { 0o755 } else { 0o644 };
            let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
            // Independent of the process's umask.
            file.set_permissions(Permissions::from_mode(mode))?;
            file.write_all(content)
        }
    }
}

/// The path of a socket must be short, so it is bound in the root and then moved; dropping the listener
/// keeps the file.
fn make_socket(root: &Path, path: &Path) -> io::Result<()> {
    let short = root.join(".s");
    UnixListener::bind(&short)?;
    fs::rename(short, path)
}

/// The standard library cannot make a fifo.
pub(super) fn make_fifo(path: &Path, mode: &str) -> io::Result<()> {
    let made = Command::new("mkfifo").args(["-m", mode, "--"]).arg(path).status()?;
    if made.success() { Ok(()) } else { Err(io::Error::other("mkfifo failed")) }
}

/// Copies a directory, with links as links, without files that cannot be read.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    copy_with(from, to, &|source, target| {
        if fs::symlink_metadata(source)?.is_file() && fs::copy(source, target).is_ok() {
            // A history may edit files that are read-only in the original.
            let mode = fs::symlink_metadata(target)?.mode() & 0o7777;
            fs::set_permissions(target, Permissions::from_mode(mode | 0o600))?;
        }
        Ok(())
    })
}

/// Copies a directory, with links as links. `finish` is called with each other path and the path of its
/// copy: it makes the copy of a file; the copy of a directory exists by then, with its entries.
pub fn copy_with(
    from: &Path,
    to: &Path,
    finish: &dyn Fn(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let source = entry.path();
        let target = to.join(entry.file_name());
        let kind = entry.file_type()?;
        if kind.is_dir() {
            copy_with(&source, &target, finish)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&source)?, &target)?;
        } else {
            finish(&source, &target)?;
        }
    }
    finish(from, to)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apply_sets_the_permissions_of_a_folder_and_makes_one_with_default_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let apply = |change: Change| apply(folder.path(), &change).unwrap();
        let mode = || fs::metadata(folder.path().join("d")).unwrap().mode() & 0o777;
        apply(Change::Make("d".into(), Node::Directory));
        assert_eq!(mode(), 0o755);
        apply(Change::Make("d/e".into(), Node::Directory));
        apply(Change::SetPermissions("d".into(), 0o711));
        assert_eq!(mode(), 0o711);
    }

    #[test]
    fn apply_rewrite_keeps_time_and_permissions_and_the_bytes_of_hard_links() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "old").unwrap();
        fs::set_permissions(path("a"), Permissions::from_mode(0o540)).unwrap();
        fs::hard_link(path("a"), path("other")).unwrap();
        let before = fs::metadata(path("a")).unwrap();
        let rewritten = |content: &str| {
            let change = Change::Rewrite("a".into(), content.as_bytes().into());
            apply(folder.path(), &change).unwrap();
            assert_eq!(fs::read(path("a")).unwrap(), content.as_bytes());
            let after = fs::metadata(path("a")).unwrap();
            assert_eq!(after.modified().unwrap(), before.modified().unwrap());
            assert_eq!(after.mode(), before.mode());
            after.ino()
        };
        let inode = rewritten("new");
        assert_eq!(fs::read(path("other")).unwrap(), b"old");
        assert_eq!(rewritten("in its place"), inode);
    }
}
