//! Bugs of lists and previews.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, created_id};
use crate::sandbox::manifest::on_disk;
use herma_model::answer::{Change, DiffEntry, Listed, Stats};
use herma_model::{Answer, ByteString, Request, rules};
use std::cmp::Reverse;
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "list-in-wrong-order",
        rule: &rules::LIST_NEWEST_FIRST,
        about: "The list begins with the oldest checkpoint.",
        operations_min: 5,
        flaw: Intercept(|subject, request| listed(subject, request, |_, list| list.reverse())),
    },
    PlantedBug {
        name: "the-list-is-sorted-by-time",
        rule: &rules::LIST_NEWEST_FIRST,
        about: "A checkpoint taken after the clock stepped back is listed among the older ones.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            listed(subject, request, |_, list| list.sort_by_key(|entry| Reverse(entry.time)))
        }),
    },
    PlantedBug {
        name: "a-rollback-moves-the-numbers",
        rule: &rules::RESTORE_SAME_NUMBER,
        about: "The pre-restore checkpoint becomes number 1 of the list.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            listed(subject, request, |_, list| {
                for (index, entry) in list.iter_mut().enumerate() {
                    entry.number = index + 1;
                }
            })
        }),
    },
    PlantedBug {
        name: "checkpoints-of-one-second-are-one",
        rule: &rules::LIST_COMPLETE,
        about: "Of checkpoints taken in the same second only the newest is listed.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            listed(subject, request, |_, list| list.dedup_by_key(|entry| entry.time))
        }),
    },
    PlantedBug {
        name: "the-list-goes-on-beyond-the-limit",
        rule: &rules::LIST_AT_MOST,
        about: "A checkpoint that the limit evicted is still listed.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            listed(subject, request, |subject, list| {
                let of_project =
                    subject.log.iter().rev().filter(|(logged, _)| logged.dir() == request.dir());
                let mut taken = of_project.filter_map(|(_, answer)| created_id(answer));
                let evicted = taken.find(|id| list.iter().all(|entry| entry.id != *id));
                if let Some(id) = evicted.filter(|_| list.len() == subject.settings.max_snapshots) {
                    list.push(last_entry(subject, list, id));
                }
            })
        }),
    },
    PlantedBug {
        name: "a-packed-ref-is-not-read",
        rule: &rules::LIST_COMPLETE,
        about: "Only refs in files of their own are read, so a git gc, which packs the refs, hides them all.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let refs = subject.sandbox.store().join("refs/hermes");
            let is_empty = fs::read_dir(refs).is_ok_and(|mut entries| entries.next().is_none());
            listed(subject, request, |_, list| list.retain(|_| !is_empty))
        }),
    },
    PlantedBug {
        name: "the-list-is-of-all-projects",
        rule: &rules::LIST_OWN_PROJECT,
        about: "The list of a project contains the checkpoints of all projects.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            listed(subject, request, |subject, list| {
                for id in subject.git(&["rev-list", "--all"]).unwrap_or_default().lines() {
                    if list.iter().all(|entry| entry.id != id) {
                        list.push(last_entry(subject, list, id));
                    }
                }
            })
        }),
    },
    PlantedBug {
        name: "the-list-is-of-all-paths-that-begin-alike",
        rule: &rules::LIST_OWN_PROJECT,
        about: "The list of a project contains the checkpoints of projects whose path begins with its path.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            listed(subject, request, |subject, list| {
                let Some(project) = subject.project(request) else { return };
                let project = project.as_os_str().as_bytes();
                let begins_alike = |(logged, answer): &(Request, Answer)| {
                    let path = subject.project(logged)?;
                    let rest = path.as_os_str().as_bytes().strip_prefix(project)?;
                    let is_similar = rest.first().is_some_and(|byte| *byte != b'/');
                    created_id(answer).filter(|_| is_similar).map(str::to_owned)
                };
                for id in subject.log.iter().filter_map(begins_alike) {
                    list.push(last_entry(subject, list, &id));
                }
            })
        }),
    },
    PlantedBug {
        name: "the-list-tells-local-time",
        rule: &rules::LIST_TIME,
        about: "The times of the list are two hours ahead.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            listed(subject, request, |_, list| {
                list.iter_mut().for_each(|entry| entry.time += 2 * 60 * 60);
            })
        }),
    },
    PlantedBug {
        name: "stats-are-of-what-came-after",
        rule: &rules::LIST_STATS,
        about: "A checkpoint is listed with the changes after it, not those before it.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            listed(subject, request, |_, list| {
                let mut after = None;
                list.iter_mut().for_each(|entry| std::mem::swap(&mut after, &mut entry.stats));
            })
        }),
    },
    PlantedBug {
        name: "the-oldest-has-stats",
        rule: &rules::LIST_OLDEST_NO_STATS,
        about: "The oldest checkpoint is listed with zero changes.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            listed(subject, request, |_, list| {
                if let Some(oldest) = list.last_mut() {
                    oldest.stats = Some(Stats { files: 0, added: 0, removed: 0 });
                }
            })
        }),
    },
    PlantedBug {
        name: "a-diff-misses-new-files",
        rule: &rules::DIFF_PREVIEW,
        about: "Files created since the checkpoint are not in a diff.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            diffed(subject, request, |_, entries, stats| {
                entries.retain(|entry| entry.change != Change::Added);
                stats.files = entries.len();
            })
        }),
    },
    PlantedBug {
        name: "a-diff-shows-ignored-files",
        rule: &rules::DIFF_PREVIEW,
        about: "A diff lists files that no checkpoint captures.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            diffed(subject, request, |subject, entries, stats| {
                let modules = subject.project(request).map(|project| project.join("node_modules"));
                let files = modules.into_iter().flat_map(fs::read_dir).flatten().flatten();
                for file in files.filter(|file| file.path().is_file()) {
                    let path = format!("node_modules/{}", file.file_name().to_string_lossy());
                    entries.push(DiffEntry {
                        path: ByteString::from(&path[..]),
                        change: Change::Added,
                    });
                    stats.files += 1;
                }
            })
        }),
    },
    PlantedBug {
        name: "a-diff-counts-added-for-removed",
        rule: &rules::DIFF_STATS,
        about: "A diff counts added lines as removed ones, and the other way round.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            diffed(subject, request, |_, _, stats| {
                std::mem::swap(&mut stats.added, &mut stats.removed);
            })
        }),
    },
    PlantedBug {
        name: "a-list-is-printed-without-changes",
        rule: &rules::LIST_LAYOUT,
        about: "The list is printed without the changes of each checkpoint.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            printed(subject, request, |line| match line.rsplit_once("  (") {
                Some((line, changes)) if changes.contains(", +") => line.to_owned(),
                _ => line.to_owned(),
            })
        }),
    },
    PlantedBug {
        name: "a-reason-is-printed-as-it-is",
        rule: &rules::CAPTURE_REASON_ONE_LINE,
        about: "A reason is printed unescaped, with any control characters.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let raw = |line: &str| line.replace("\\n", "\n").replace("\\x1b", "\u{1b}");
            printed(subject, request, raw)
        }),
    },
    PlantedBug {
        name: "a-diff-stores-what-it-compares",
        rule: &rules::DIFF_LEAVES_STORE,
        about: "A diff writes the working tree into the store to compare it.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            diffed(subject, request, |subject, entries, _| {
                let Some(project) = subject.project(request) else { return };
                for entry in entries.iter() {
                    if let Ok(content) = fs::read(on_disk(&project, &entry.path)) {
                        let _ = subject.write("blob", &content);
                    }
                }
            })
        }),
    },
];

/// Asks the core, and changes the list in its answer.
fn listed(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&Intercepted, &mut Vec<Listed>),
) -> Answer {
    let mut answer = subject.ask(request);
    if let Answer::Listed(list) = &mut answer {
        change(subject, list);
    }
    answer
}

/// Asks the core, and changes each line of the text in its answer.
fn printed(
    subject: &mut Intercepted,
    request: &Request,
    change: impl Fn(&str) -> String,
) -> Answer {
    let mut answer = subject.ask(request);
    if let Answer::Printed { printed, .. } = &mut answer {
        *printed = printed.lines().map(change).collect::<Vec<_>>().join("\n");
    }
    answer
}

/// Asks the core, and changes the diff in its answer.
fn diffed(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&Intercepted, &mut Vec<DiffEntry>, &mut Stats),
) -> Answer {
    let mut answer = subject.ask(request);
    if let Answer::Diffed { entries, stats } = &mut answer {
        change(subject, entries, stats);
    }
    answer
}

/// The entry of a checkpoint that is listed last.
fn last_entry(subject: &Intercepted, list: &[Listed], id: &str) -> Listed {
    Listed {
        number: list.len() + 1,
        id: id.to_owned(),
        time: subject.seconds,
        reason: "before patch".into(),
        stats: None,
    }
}
