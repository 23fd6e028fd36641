//! Bugs of restores: what comes back, what stays, and what is said of it.

use super::after_restore::{afterwards, saying};
use super::{Flaw, PlantedBug};
use herma_model::{Node, Request, bytes, rules};
use std::fs;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "restore-leaves-one-file",
        rule: &rules::RESTORE_BYTES,
        about: "A restore leaves the last file that it should bring back as it was.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            afterwards(host, request, |came| {
                let mut restored = came.said.restored.iter().rev();
                let Some(path) = restored.find(|path| came.changed_bytes(path)) else {
                    return Ok(());
                };
                came.put_back(path)
            })
        }),
    },
    PlantedBug {
        name: "same-size-is-taken-for-same",
        rule: &rules::RESTORE_BYTES,
        about: "A file that is as long as the recorded one is taken for it.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            afterwards(host, request, |came| {
                came.put_back_where(|before, after| match (before, after) {
                    (Some(Node::File { content, .. }), Some(Node::File { content: now, .. })) => {
                        content.len() == now.len() && content != now
                    }
                    _ => false,
                })
            })
        }),
    },
    PlantedBug {
        name: "executable-bit-is-not-restored",
        rule: &rules::RESTORE_EXECUTABLE,
        about: "A restored file may be executed if and only if the one that it replaces could.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            afterwards(host, request, |came| {
                came.each_restored(|came, path| match (came.before(path), came.after(path)) {
                    (Some(Node::File { executable, .. }), Some(Node::File { .. })) => {
                        came.set_executable(path, *executable)
                    }
                    _ => Ok(()),
                })
            })
        }),
    },
    PlantedBug {
        name: "a-missing-program-comes-back-as-a-text",
        rule: &rules::RESTORE_EXECUTABLE,
        about: "A file that is made anew may not be executed, whatever was recorded.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            afterwards(host, request, |came| {
                came.each_restored(|came, path| match (came.before(path), came.after(path)) {
                    (None, Some(Node::File { executable: true, .. })) => {
                        came.set_executable(path, false)
                    }
                    _ => Ok(()),
                })
            })
        }),
    },
    PlantedBug {
        name: "a-link-comes-back-as-a-file",
        rule: &rules::RESTORE_TYPE,
        about: "A link comes back as a file that holds the name of what the link points at.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            afterwards(host, request, |came| {
                came.each_restored(|came, path| match came.after(path) {
                    Some(Node::Link { target }) => {
                        fs::remove_file(came.on_disk(path))?;
                        fs::write(came.on_disk(path), target)
                    }
                    _ => Ok(()),
                })
            })
        }),
    },
    PlantedBug {
        name: "a-file-is-written-through-a-link",
        rule: &rules::RESTORE_TYPE,
        about: "A file is written into what a link in its place points at, inside the project.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            afterwards(host, request, |came| {
                came.each_restored(|came, path| came.follow(path, true))
            })
        }),
    },
    PlantedBug {
        name: "a-directory-in-the-way-is-left",
        rule: &rules::RESTORE_TYPE,
        about: "Where a directory with files in it stands now, no file or link comes back.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            afterwards(host, request, |came| {
                came.put_back_where(|before, _| before == Some(&Node::Directory))
            })
        }),
    },
    PlantedBug {
        name: "files-created-since-are-removed",
        rule: &rules::RESTORE_LEAVES_NEW,
        about: "A restore removes files created since though nobody asked for that.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| host.ask(&exactly(request, true))),
    },
    PlantedBug {
        name: "files-created-since-are-not-named",
        rule: &rules::RESTORE_LEAVES_NEW,
        about: "A restore says nothing of the files created since that it leaves.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| saying(host, request, |said| said.left.clear())),
    },
    PlantedBug {
        name: "exact-removes-nothing",
        rule: &rules::RESTORE_EXACT,
        about: "An exact restore leaves files created since like any other.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| host.ask(&exactly(request, false))),
    },
    PlantedBug {
        name: "exact-keeps-new-folders",
        rule: &rules::RESTORE_EXACT,
        about: "An exact restore leaves files created since in folders.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let is_exact = matches!(request, Request::Restore { exact: true, .. });
            afterwards(host, request, |came| {
                let removed = came.said.removed.iter().filter(|_| is_exact);
                removed.filter(|path| path.contains(&b'/')).try_for_each(|path| {
                    // What stood in the way of something that came back is gone for good.
                    let free = bytes::ancestors(path)
                        .all(|above| matches!(came.after(above), None | Some(Node::Directory)));
                    if free { came.put_back(path) } else { Ok(()) }
                })
            })
        }),
    },
    PlantedBug {
        name: "removals-are-not-said",
        rule: &rules::RESTORE_HONEST,
        about: "A restore says nothing of what it removed.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| saying(host, request, |said| said.removed.clear())),
    },
    PlantedBug {
        name: "one-restored-path-is-not-said",
        rule: &rules::RESTORE_HONEST,
        about: "A restore leaves out the last of the paths that it brought back.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            saying(host, request, |said| {
                said.restored.pop();
            })
        }),
    },
    PlantedBug {
        name: "everything-is-said-to-be-restored",
        rule: &rules::RESTORE_HONEST,
        about: "A restore names every path of the checkpoint, also those that stood as recorded.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            let full = matches!(request, Request::Restore { .. });
            let named = host.named(request).filter(|_| full).map(|id| host.tree(&id));
            saying(host, request, |said| {
                if let Some(tree) = named {
                    said.restored = tree.into_keys().collect();
                }
            })
        }),
    },
];

/// The same request for a full restore, exact or not.
fn exactly(request: &Request, wanted: bool) -> Request {
    let mut request = request.clone();
    if let Request::Restore { exact, .. } = &mut request {
        *exact = wanted;
    }
    request
}
