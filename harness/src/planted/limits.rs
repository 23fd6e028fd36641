//! Bugs of limits: what is dropped when there is too much.

use super::intercepted::{Intercepted, created, taken, takes};
use super::sweep::workdirs;
use super::{Flaw, PlantedBug};
use herma_model::{Answer, Request, Settings, rules};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "the-limit-bounds-only-the-list",
        rule: &rules::LIMIT_NEWEST_REMAIN,
        about: "Only the list is cut at the limit; nothing is ever dropped.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            takes_with(host, request, |settings| settings.max_snapshots = usize::MAX)
        }),
    },
    PlantedBug {
        name: "one-checkpoint-too-many-stays",
        rule: &rules::LIMIT_NEWEST_REMAIN,
        about: "One checkpoint more than the limit is kept.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            takes_with(host, request, |settings| settings.max_snapshots += 1)
        }),
    },
    PlantedBug {
        name: "one-checkpoint-too-few-stays",
        rule: &rules::LIMIT_NEWEST_REMAIN,
        about: "One checkpoint less than the limit is kept.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            takes_with(host, request, |settings| {
                settings.max_snapshots = (settings.max_snapshots - 1).max(1);
            })
        }),
    },
    PlantedBug {
        name: "dropped-checkpoints-stay-stored",
        rule: &rules::LIMIT_NEWEST_REMAIN,
        about: "What the limit drops is out of sight and never out of the store.",
        operations_min: 6,
        flaw: Flaw::Intercepted(|host, request| match request {
            Request::Sweep | Request::Prune { .. } | Request::Clear => host.ask(request),
            _ => keeping_objects(host, request, |_| true),
        }),
    },
    PlantedBug {
        name: "dropping-renames-what-stays",
        rule: &rules::LIST_STABLE,
        about: "A history that is cut is written anew, so that everything in it has another id.",
        operations_min: 6,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            match (takes(request), created(&answer)) {
                (true, Some(id)) => written_anew(host, id).unwrap_or(answer),
                _ => answer,
            }
        }),
    },
    PlantedBug {
        name: "the-total-size-is-never-kept",
        rule: &rules::LIMIT_TOTAL_SIZE,
        about: "A take never looks at what the store takes.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            takes_with(host, request, |settings| settings.max_total_bytes = 0)
        }),
    },
    PlantedBug {
        name: "one-project-pays-for-all",
        rule: &rules::LIMIT_TOTAL_SIZE,
        about: "The size cap takes everything it can of one project before it goes to another.",
        operations_min: 18,
        flaw: Flaw::Intercepted(|host, request| {
            capped(host, request, |host, bytes| {
                drop_while(host, bytes, reachable_bytes, |histories| {
                    histories.iter().find(|ids| ids.len() > 1).into_iter().collect()
                })
            })
        }),
    },
    PlantedBug {
        name: "the-cap-drops-the-newest-too",
        rule: &rules::LIMIT_NEWEST_STAYS,
        about: "The size cap goes on until nothing is left that is too much.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            if takes(request) && host.settings.max_total_bytes > 0 {
                let _ = drop_projects(host, host.settings.max_total_bytes);
            }
            answer
        }),
    },
    PlantedBug {
        name: "every-project-loses-one",
        rule: &rules::LIMIT_NO_MORE_THAN_NEEDED,
        about: "The size cap takes one of every project before it looks again.",
        operations_min: 8,
        flaw: Flaw::Intercepted(|host, request| {
            capped(host, request, |host, bytes| {
                drop_while(host, bytes, reachable_bytes, |histories| {
                    histories.iter().filter(|ids| ids.len() > 1).collect()
                })
            })
        }),
    },
    PlantedBug {
        name: "the-cap-counts-what-nothing-needs",
        rule: &rules::LIMIT_NO_MORE_THAN_NEEDED,
        about: "The size cap counts objects that wait to be freed, so that dropping never helps.",
        operations_min: 6,
        flaw: Flaw::Intercepted(|host, request| {
            capped(host, request, |host, bytes| {
                drop_while(host, bytes, stored_bytes, |histories| {
                    let longest = histories.iter().max_by_key(|ids| ids.len());
                    longest.filter(|ids| ids.len() > 1).into_iter().collect()
                })
            })
        }),
    },
    PlantedBug {
        name: "the-cap-is-half-of-what-it-should-be",
        rule: &rules::LIMIT_NO_MORE_THAN_NEEDED,
        about: "The store is kept below half of what it may take.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            takes_with(host, request, |settings| settings.max_total_bytes /= 2)
        }),
    },
];

/// Takes are made by a core that is configured otherwise.
fn takes_with(host: &mut Intercepted, request: &Request, configure: fn(&mut Settings)) -> Answer {
    if takes(request) { host.ask_second(request, configure) } else { host.ask(request) }
}

/// Asks the core, and brings back what it removed of the objects where its answer is such a one.
pub fn keeping_objects(
    host: &mut Intercepted,
    request: &Request,
    when: fn(&Answer) -> bool,
) -> Answer {
    let objects = host.sandbox.store().join("objects");
    // A bug that cannot be played is no bug; the suite then just does not find it.
    let kept = host.aside().map(|aside| aside.join("objects")).and_then(|kept| {
        if kept.exists() {
            fs::remove_dir_all(&kept)?;
        }
        crate::sandbox::edits::copy(&objects, &kept).map(|_| kept)
    });
    let answer = host.ask(request);
    let bring_back = |folder: io::Result<fs::DirEntry>| -> io::Result<()> {
        let folder = folder?;
        for object in fs::read_dir(folder.path())? {
            let object = object?;
            let place = objects.join(folder.file_name()).join(object.file_name());
            if !place.exists() {
                fs::rename(object.path(), place)?;
            }
        }
        Ok(())
    };
    let kept = kept.ok().filter(|_| when(&answer));
    if let Some(mut folders) = kept.and_then(|kept| fs::read_dir(kept).ok()) {
        let _ = folders.try_for_each(bring_back);
    }
    answer
}

/// The history that a take cut as it would be without the parent of its oldest checkpoint; none
/// where it was not cut.
fn written_anew(host: &mut Intercepted, newest: &str) -> io::Result<Answer> {
    let ids = host.git(&["rev-list", "--reverse", newest])?;
    if ids.lines().count() != host.settings.max_snapshots {
        return Err(io::Error::other("what was dropped was not too many"));
    }
    let mut parent: Option<String> = None;
    for id in ids.lines() {
        let commit = host.git(&["cat-file", "commit", id])?;
        let was_cut = commit.lines().any(|line| line.starts_with("parent "));
        if parent.is_none() && !was_cut {
            return Err(io::Error::other("nothing was dropped"));
        }
        let lines = commit.split_inclusive('\n').filter(|line| !line.starts_with("parent "));
        let (tree, rest): (Vec<&str>, Vec<&str>) =
            lines.partition(|line| line.starts_with("tree "));
        let line = parent.map_or_else(String::new, |parent| format!("parent {parent}\n"));
        let text = [&tree.concat()[..], &line, &rest.concat(), "\n"].concat();
        parent = Some(host.write("commit", text.as_bytes())?);
    }
    let id = parent.ok_or_else(|| io::Error::other("no history"))?;
    for name in host.name_of(newest)?.lines() {
        host.git(&["update-ref", name, &id])?;
    }
    Ok(taken(id))
}

/// The visible checkpoints of every project, the newest first; the projects by what they hold.
fn histories(host: &Intercepted) -> io::Result<Vec<Vec<String>>> {
    let refs = host.git(&["for-each-ref", "--format=%(refname)"])?;
    let history = |name| {
        let ids = host.git(&["rev-list", name])?.lines().map(str::to_owned).collect();
        Ok((host.tree_of(name)?, ids))
    };
    // The names depend on where the sandbox is, and what is stored does not.
    let mut all: Vec<(String, Vec<String>)> =
        refs.lines().map(history).collect::<io::Result<_>>()?;
    all.sort();
    Ok(all.into_iter().map(|(_, ids)| ids).collect())
}

/// Bytes that what the checkpoints need takes.
fn reachable_bytes(host: &Intercepted) -> io::Result<u64> {
    let bytes = host.git(&["rev-list", "--objects", "--all", "--disk-usage"])?;
    bytes.parse().map_err(io::Error::other)
}

/// Bytes that everything takes that is stored.
fn stored_bytes(host: &Intercepted) -> io::Result<u64> {
    let lines =
        host.git(&["cat-file", "--batch-all-objects", "--batch-check=%(objectsize:disk)"])?;
    Ok(lines.lines().filter_map(|line| line.parse::<u64>().ok()).sum())
}

/// Takes and prunes as they are without a cap, and then caps otherwise.
fn capped(
    host: &mut Intercepted,
    request: &Request,
    cap: fn(&mut Intercepted, u64) -> io::Result<()>,
) -> Answer {
    let (answer, bytes) = match request {
        Request::Prune { retention_days, max_total_bytes, delete_orphans } => {
            let (retention_days, delete_orphans) = (*retention_days, *delete_orphans);
            let boundless = Request::Prune { retention_days, max_total_bytes: 0, delete_orphans };
            (host.ask(&boundless), *max_total_bytes)
        }
        _ if takes(request) => {
            let answer = host.ask_second(request, |settings| settings.max_total_bytes = 0);
            (answer, host.settings.max_total_bytes)
        }
        _ => return host.ask(request),
    };
    if bytes > 0 && host.sandbox.has_store() {
        let _ = cap(host, bytes);
    }
    answer
}

/// Drops the oldest checkpoint of each history that is chosen while there is too much, and frees
/// the space of all of them together.
fn drop_while(
    host: &mut Intercepted,
    bytes: u64,
    takes: fn(&Intercepted) -> io::Result<u64>,
    choose: fn(&[Vec<String>]) -> Vec<&Vec<String>>,
) -> io::Result<()> {
    let mut dropped = false;
    while takes(host)? > bytes {
        let histories = histories(host)?;
        let ends = choose(&histories).into_iter().filter_map(|ids| ids.iter().rev().nth(1));
        let ends: String = ends.map(|id| format!("{id}\n")).collect();
        if ends.is_empty() {
            break;
        }
        // As git marks where a history ends; nobody else may see any of the store.
        let list = host.sandbox.store().join("shallow");
        let mut list = OpenOptions::new().create(true).append(true).mode(0o600).open(list)?;
        list.write_all(ends.as_bytes())?;
        dropped = true;
    }
    if dropped {
        let reclaim =
            Request::Prune { retention_days: 0, max_total_bytes: 0, delete_orphans: false };
        host.ask(&reclaim);
    }
    Ok(())
}

/// Drops one project after the other while there is too much.
fn drop_projects(host: &Intercepted, bytes: u64) -> io::Result<()> {
    for (hash, _) in workdirs(host)? {
        if reachable_bytes(host)? <= bytes {
            break;
        }
        host.git(&["update-ref", "-d", &format!("refs/hermes/{hash}")])?;
        fs::remove_file(host.sandbox.store().join("projects").join(format!("{hash}.json")))?;
        fs::remove_file(host.sandbox.store().join("indexes").join(hash))?;
    }
    Ok(())
}
