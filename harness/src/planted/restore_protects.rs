//! Bugs of restores about what is not theirs: content that no checkpoint holds, and whatever is
//! outside the project.

use super::after_restore::{Came, afterwards, saying};
use super::intercepted::{Intercepted, restores};
use super::{Flaw, PlantedBug};
use crate::sandbox::manifest::on_disk;
use crate::subject::Subject;
use herma_model::answer::Change;
use herma_model::{Answer, ByteString, Node, Request, bytes, rules};
use std::collections::BTreeSet;
use std::fs;
use std::io;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "an-uncaptured-file-is-overwritten",
        rule: &rules::RESTORE_PROTECTS,
        about: "A file that no checkpoint holds is overwritten, as one that outgrew the cap.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            overwriting_kept(host, request, |node| matches!(node, Node::File { .. }))
        }),
    },
    PlantedBug {
        name: "a-directory-with-ignored-files-is-replaced",
        rule: &rules::RESTORE_PROTECTS,
        about: "A directory with ignored files in it gives way to the file that it once was.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            overwriting_kept(host, request, |node| *node == Node::Directory)
        }),
    },
    PlantedBug {
        name: "what-is-kept-is-not-said",
        rule: &rules::RESTORE_PROTECTS,
        about: "A restore says nothing of the paths that it could not bring back.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| saying(host, request, |said| said.kept.clear())),
    },
    PlantedBug {
        name: "exact-removes-ignored-files",
        rule: &rules::RESTORE_PROTECTS,
        about: "An exact restore removes everything that the checkpoint does not hold.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let exact = matches!(request, Request::Restore { exact: true, .. });
            let named = host.named(request).filter(|_| exact).map(|id| host.tree(&id));
            afterwards(host, request, |came| {
                let Some(tree) = named else { return Ok(()) };
                let held: BTreeSet<_> = tree.into_keys().collect();
                came.files()
                    .into_iter()
                    .filter(|path| !held.contains(path))
                    .try_for_each(|path| fs::remove_file(came.on_disk(&path)))
            })
        }),
    },
    PlantedBug {
        name: "exact-cleans-by-the-restored-ignore-file",
        rule: &rules::RESTORE_PROTECTS,
        about: "An exact restore removes what was ignored until it brought the ignore file back.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            let exact = matches!(request, Request::Restore { exact: true, .. });
            let named = host.named(request).filter(|_| exact);
            afterwards(host, request, |came| {
                let (Some(id), Some(dir)) = (named, request.dir().cloned()) else { return Ok(()) };
                let look = Request::Diff { dir, target: id.as_str().into() };
                let now = came.host.another(&came.host.settings).ask(&look);
                let Answer::Diffed { entries, .. } = now else { return Ok(()) };
                let added = entries.iter().filter(|one| one.change == Change::Added);
                let kept = |path: &ByteString| came.said.kept.iter().any(|one| one.path == *path);
                let left = |path: &ByteString| came.said.left.contains(path);
                let unseen = added.filter(|one| !kept(&one.path) && !left(&one.path));
                unseen.map(|one| came.on_disk(&one.path)).try_for_each(fs::remove_file)
            })
        }),
    },
    PlantedBug {
        name: "a-linked-directory-is-followed",
        rule: &rules::RESTORE_CONTAINED,
        about: "A file is written through a directory that is a link out of the project by now.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            afterwards(host, request, |came| {
                came.each_restored(|came, path| {
                    let was_link =
                        |path: &&[u8]| matches!(came.before(path), Some(Node::Link { .. }));
                    match bytes::ancestors(path).find(was_link) {
                        Some(link) => write_through(came, link, path),
                        None => Ok(()),
                    }
                })
            })
        }),
    },
    PlantedBug {
        name: "a-link-out-of-the-project-is-followed",
        rule: &rules::RESTORE_CONTAINED,
        about: "A file is written into what a link in its place points at, outside the project.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            afterwards(host, request, |came| {
                came.each_restored(|came, path| came.follow(path, false))
            })
        }),
    },
];

/// Restores, and then does away with what was rightly kept where the checkpoint has a file.
fn overwriting_kept(
    host: &mut Intercepted,
    request: &Request,
    is_overwritten: fn(&Node) -> bool,
) -> Answer {
    let named = host.named(request).filter(|_| restores(request)).map(|id| host.tree(&id));
    afterwards(host, request, |came| {
        let tree = named.unwrap_or_default();
        for remark in std::mem::take(&mut came.said.kept) {
            let path = &remark.path;
            let kept = came.after(path).filter(|node| is_overwritten(node));
            let Some((_, Node::File { content, .. })) = kept.and(tree.get_key_value(path)) else {
                came.said.kept.push(remark);
                continue;
            };
            let full = came.on_disk(path);
            if kept == Some(&Node::Directory) {
                fs::remove_dir_all(&full)?;
            }
            fs::write(full, content)?;
            came.said.restored.push(path.clone());
        }
        Ok(())
    })
}

/// Puts a link back that stood where the directories of `path` now are, and the file at `path` into
/// the directory outside the project that the link points at.
fn write_through(came: &Came<'_>, link: &[u8], path: &[u8]) -> io::Result<()> {
    let Some(Node::File { content, .. }) = came.after(path) else { return Ok(()) };
    let Some(end) = came.end_of(link).filter(|end| end.is_dir() && !came.is_in_project(end)) else {
        return Ok(());
    };
    came.put_back(link)?;
    let relative = bytes::below(link, path).unwrap_or_default();
    let place = on_disk(&end, relative);
    fs::create_dir_all(place.parent().unwrap_or(&end))?;
    fs::write(place, content)
}
