//! The conditions of generated projects and homes, each with what decides whether a history has it.

use herma_harness::history::{Event, History, Operation, Target};
use herma_model::bytes::join;
use herma_model::files::SpecialKind;
use herma_model::{ByteString, Edit, Request};

/// How often a condition occurs.
pub enum Occurrence {
    /// In the histories that this function selects.
    In(fn(&History) -> bool),
    /// In every sandbox, or in every one with a hostile home.
    Always(&'static str),
    /// In no generated history, for this reason.
    Never(&'static str),
}

use Occurrence::{Always, In, Never};

pub fn edits(history: &History) -> impl Iterator<Item = &Edit> {
    let own = history.operations.iter().filter_map(|operation| match operation {
        Operation::Edit(edit) => Some(edit),
        _ => None,
    });
    own.chain(history.injections().flat_map(|(_, injection)| injection.edits()))
}

pub fn any_edit(history: &History, is_match: impl Fn(&Edit) -> bool) -> bool {
    edits(history).any(is_match)
}

pub fn any_path(history: &History, is_match: impl Fn(&[u8]) -> bool) -> bool {
    edits(history).any(|edit| edit.paths().into_iter().any(|path| is_match(path)))
}

pub fn any_request(history: &History, is_match: impl Fn(&Request<Target>) -> bool) -> bool {
    history.operations.iter().any(|operation| match operation {
        Operation::Ask(request) => is_match(request),
        _ => false,
    })
}

pub fn any_event(history: &History, is_match: impl Fn(&Event) -> bool) -> bool {
    history.operations.iter().any(|operation| match operation {
        Operation::Event(event) => is_match(event),
        _ => false,
    })
}

fn any_content(history: &History, is_match: impl Fn(&[u8]) -> bool) -> bool {
    any_edit(history, |edit| matches!(edit, Edit::Write { content, .. } if is_match(content)))
}

/// Whether a target has a part that a normal path has not: an empty part, `.`, or `..` after a name.
fn is_not_normal(target: &[u8]) -> bool {
    let parts: Vec<&[u8]> = target.split(|byte| *byte == b'/').collect();
    let is_needless = |part: &&[u8]| part.is_empty() || **part == *b".";
    let goes_back = |parts: &[&[u8]]| parts[0] != b".." && parts[1] == b"..";
    parts.len() > 1
        && (parts[1..].iter().any(is_needless)
            || parts[0] == b"."
            || parts.windows(2).any(goes_back))
}

pub fn is_long(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|name| name.len() >= 255)
}

pub fn leads_out(target: &ByteString) -> bool {
    target.starts_with(b"/") || target.starts_with(b"$SANDBOX/") || target.starts_with(b"../..")
}

pub fn is_in_project(path: &[u8]) -> bool {
    path.starts_with(b"work/alpha/") || path.starts_with(b"work/beta/")
}

pub const PROJECT: &[(&str, Occurrence)] = &[
    (
        "an executable file",
        In(|history| {
            any_edit(history, |edit| matches!(edit, Edit::Write { executable: true, .. }))
        }),
    ),
    (
        "an unreadable file",
        In(|history| {
            any_edit(history, |edit| matches!(edit, Edit::SetReadable { readable: false, .. }))
        }),
    ),
    (
        "an unreadable folder",
        In(|history| {
            any_edit(history, |edit| {
                matches!(edit, Edit::SetFolderReadable { readable: false, .. })
            })
        }),
    ),
    (
        "other permission bits",
        In(|history| any_edit(history, |edit| matches!(edit, Edit::SetPermissions { .. }))),
    ),
    (
        "other permission bits of a file that is restored alone",
        In(|history| {
            any_request(history, |request| {
                matches!(request, Request::RestoreFile { dir, path, .. }
                if any_edit(history, |edit| {
                    let restored = join(dir, path);
                    matches!(edit, Edit::SetPermissions { path, .. } if **path == *restored)
                }))
            })
        }),
    ),
    (
        "other permission bits of a folder",
        In(|history| any_edit(history, |edit| matches!(edit, Edit::SetFolderPermissions { .. }))),
    ),
    (
        "a socket",
        In(|history| {
            any_edit(history, |edit| {
                matches!(edit, Edit::MakeSpecial { kind: SpecialKind::Socket, .. })
            })
        }),
    ),
    (
        "a fifo",
        In(|history| {
            any_edit(history, |edit| {
                matches!(edit, Edit::MakeSpecial { kind: SpecialKind::Fifo, .. })
            })
        }),
    ),
    ("a device", Never("only the superuser can make one")),
    ("a hard link", In(|history| any_edit(history, |edit| matches!(edit, Edit::HardLink { .. })))),
    (
        "a hard link out of the project",
        In(|history| {
            any_edit(
                history,
                |edit| matches!(edit, Edit::HardLink { path, to } if is_in_project(path) && !is_in_project(to)),
            )
        }),
    ),
    (
        "a file of more than a mebibyte",
        In(|history| {
            any_edit(
                history,
                |edit| matches!(edit, Edit::Write { content, .. } if content.len() > 1 << 20),
            )
        }),
    ),
    (
        "a file that begins with a byte order mark",
        In(|history| any_content(history, |content| content.starts_with("\u{feff}".as_bytes()))),
    ),
    (
        "a file of exactly 4,096 or 65,536 bytes",
        In(|history| any_content(history, |content| [4_096, 65_536].contains(&content.len()))),
    ),
    (
        "a file that ends with zeros",
        In(|history| any_content(history, |content| content.ends_with(b"\0"))),
    ),
    (
        "more than 64 files in a folder",
        In(|history| any_edit(history, |edit| matches!(edit, Edit::Fill { files: 65.., .. }))),
    ),
    (
        "a file that its owner may not write",
        In(|history| {
            any_edit(
                history,
                |edit| matches!(edit, Edit::SetPermissions { bits, .. } if bits & 0o200 == 0),
            )
        }),
    ),
    (
        "a folder that its owner may not write",
        Never("the harness itself edits and removes what is in it"),
    ),
    (
        "a file more than 8 folders deep",
        In(|history| {
            any_path(history, |path| {
                is_in_project(path) && path.iter().filter(|byte| **byte == b'/').count() > 10
            })
        }),
    ),
    (
        "a path of more than 600 bytes",
        In(|history| any_path(history, |path| is_in_project(path) && path.len() > 600)),
    ),
    ("a link", In(|history| any_edit(history, |edit| matches!(edit, Edit::Link { .. })))),
    (
        "a link out of the project",
        In(|history| {
            any_edit(
                history,
                |edit| matches!(edit, Edit::Link { path, target } if is_in_project(path) && leads_out(target)),
            )
        }),
    ),
    (
        "a link whose target is not normal",
        In(|history| {
            any_edit(
                history,
                |edit| matches!(edit, Edit::Link { target, .. } if is_not_normal(target)),
            )
        }),
    ),
    (
        "a file that changes and keeps its size and time",
        In(|history| any_edit(history, |edit| matches!(edit, Edit::Rewrite { .. }))),
    ),
    (
        "a moved file or folder",
        In(|history| any_edit(history, |edit| matches!(edit, Edit::Rename { .. }))),
    ),
    (
        "an empty folder",
        In(|history| any_edit(history, |edit| matches!(edit, Edit::MakeDirectory { .. }))),
    ),
    (
        "a removed project",
        In(|history| {
            any_edit(
                history,
                |edit| matches!(edit, Edit::Remove { path } if [&b"work/alpha"[..], b"work/beta"].contains(&&path[..])),
            )
        }),
    ),
    (
        "a project that becomes a file",
        In(|history| {
            any_edit(
                history,
                |edit| matches!(edit, Edit::Write { path, .. } if [&b"work/alpha"[..], b"work/beta"].contains(&&path[..])),
            )
        }),
    ),
    (
        "a moved project",
        In(|history| {
            any_edit(
                history,
                |edit| matches!(edit, Edit::Rename { from, .. } if [&b"work/alpha"[..], b"work/beta"].contains(&&from[..])),
            )
        }),
    ),
    (
        "projects whose names begin alike",
        In(|history| {
            let is_similar = |dir: &[u8]| {
                dir.strip_prefix(b"work/alpha")
                    .is_some_and(|rest| !rest.is_empty() && rest[0] != b'/')
            };
            any_request(history, |request| request.dir().is_some_and(|dir| is_similar(dir)))
        }),
    ),
    (
        "a repository in the project",
        In(|history| {
            any_path(history, |path| {
                is_in_project(path) && path.windows(5).any(|part| part == b"/.git")
            })
        }),
    ),
    (
        "a nested repository",
        In(|history| {
            any_path(history, |path| path.windows(12).any(|part| part == b"/nested/.git"))
        }),
    ),
    ("a submodule", In(|history| any_path(history, |path| path.ends_with(b"/.gitmodules")))),
    (
        "a linked worktree",
        In(|history| any_path(history, |path| path.windows(11).any(|part| part == b"/worktrees/"))),
    ),
    (
        "a sparse checkout",
        In(|history| any_path(history, |path| path.ends_with(b"/sparse-checkout"))),
    ),
    ("a `.gitignore`", In(|history| any_path(history, |path| path.ends_with(b".gitignore")))),
    (
        "a `.gitignore` below the root",
        In(|history| any_path(history, |path| path.ends_with(b"/src/.gitignore"))),
    ),
    (
        "an ignore file of the implementation",
        In(|history| any_path(history, |path| path.ends_with(b".hermaignore"))),
    ),
    (
        "a `.gitattributes`",
        In(|history| any_path(history, |path| path.ends_with(b".gitattributes"))),
    ),
    (
        "a `.git/info/exclude` of the project",
        In(|history| {
            any_path(history, |path| is_in_project(path) && path.ends_with(b"/.git/info/exclude"))
        }),
    ),
    (
        "a name that is not ASCII",
        In(|history| any_path(history, |path| path.iter().any(|byte| *byte >= 0x80))),
    ),
    (
        "a name that is not UTF-8",
        In(|history| any_path(history, |path| std::str::from_utf8(path).is_err())),
    ),
    ("a name of 255 bytes", In(|history| any_path(history, is_long))),
    ("a name with a line end", In(|history| any_path(history, |path| path.contains(&b'\n')))),
    (
        "names that differ in case only",
        In(|history| {
            any_path(history, |path| path.ends_with(b"/A.TXT"))
                && any_path(history, |path| path.ends_with(b"/a.txt"))
        }),
    ),
    (
        "a database with a journal",
        In(|history| {
            any_path(history, |path| path.ends_with(b"-wal") || path.ends_with(b"-journal"))
                || any_event(history, |event| matches!(event, Event::Database(_)))
        }),
    ),
    (
        "a mount in the project",
        Never(
            "only the superuser can mount; `tests/command/mounts.rs` tries it where a user namespace permits it",
        ),
    ),
    ("a file of another user", Never("only the superuser can give a file away")),
];

pub const HOME: &[(&str, Occurrence)] = &[
    ("a git configuration that must not be followed", In(|history| !history.plain_home)),
    ("a home without a git configuration", In(|history| history.plain_home)),
    (
        "a marker of a project in the home",
        In(|history| {
            any_path(history, |path| {
                path.starts_with(b"home/")
                    && (path.ends_with(b"/package.json")
                        || path.ends_with(b".git")
                        || path.ends_with(b"/Makefile"))
            })
        }),
    ),
    (
        "the home named as a project",
        In(|history| {
            any_request(history, |request| {
                request.dir().is_some_and(|dir| {
                    [&b"~"[..], b"~/", b"home", b"work/homeward"].contains(&&dir[..])
                })
            })
        }),
    ),
    ("a link to the home", Always("`work/homeward`, in each sandbox")),
    (
        "a home that does not exist",
        Never("the store is below the home; `tests/command` tries the commands without one"),
    ),
    (
        "a home that cannot be written",
        Never(
            "the harness itself writes below the home; requests without a usable store have a rule of their own",
        ),
    ),
    (
        "a store that cannot be used",
        In(|history| {
            any_request(history, |request| matches!(request, Request::WithoutBackend { .. }))
        }),
    ),
];
