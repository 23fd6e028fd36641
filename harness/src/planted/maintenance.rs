//! Bugs of keeping the store: each does something to the base before or after the core is asked, as
//! an implementation would that gets one step of it wrong.

use super::host::{Host, takes};
use super::{Flaw, PlantedBug};
use herma_model::{Answer, Request, rules};
use std::fs;
use std::io;
use std::path::Path;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "sweep-forgets-the-last",
        rule: &rules::SWEEP_INTERVAL,
        about: "A sweep is made whenever a process starts, however long ago the last one was.",
        operations_min: 2,
        flaw: Flaw::Asked(|host, request| around(host, request, forget_the_last_sweep, as_it_was)),
    },
    PlantedBug {
        name: "unmounted-is-deleted",
        rule: &rules::SWEEP_EVIDENCE,
        about: "A project on a disk that is not mounted is taken for deleted.",
        operations_min: 4,
        flaw: Flaw::Asked(|host, request| {
            around(host, request, make_what_is_missing, remove_what_was_made)
        }),
    },
    PlantedBug {
        name: "first-layout-is-lost",
        rule: &rules::MIGRATION_LOSES_NOTHING,
        about: "What the first layout left is removed where it should be archived.",
        operations_min: 2,
        flaw: Flaw::Asked(|host, request| {
            around(host, request, remove_the_first_layout, as_it_was)
        }),
    },
    PlantedBug {
        name: "orphan-frees-nothing",
        rule: &rules::SWEEP_RECLAIMS,
        about: "A sweep drops what projects had and leaves the objects.",
        operations_min: 4,
        flaw: Flaw::Asked(|host, request| around(host, request, keep_objects, bring_objects_back)),
    },
    PlantedBug {
        name: "status-counts-one-more",
        rule: &rules::MAINTENANCE_COMMANDS,
        about: "The status counts one checkpoint more than there is.",
        operations_min: 3,
        flaw: Flaw::Asked(|host, request| around(host, request, |_, _| Ok(()), count_one_more)),
    },
];

type Before = fn(&Request, &Path) -> io::Result<()>;
type After = fn(&Request, &Path, Answer) -> io::Result<Answer>;

/// Asks the core between two deeds at the base of its store.
fn around(host: &mut Host, request: &Request, before: Before, after: After) -> Answer {
    let base = host.sandbox.base();
    // A bug that cannot be played is no bug; the suite then just does not find it.
    let _ = before(request, &base);
    let answer = host.ask(request);
    after(request, &base, answer.clone()).unwrap_or(answer)
}

fn as_it_was(_: &Request, _: &Path, answer: Answer) -> io::Result<Answer> {
    Ok(answer)
}

fn forget_the_last_sweep(request: &Request, base: &Path) -> io::Result<()> {
    if *request == Request::Sweep { fs::remove_file(base.join(".last_prune")) } else { Ok(()) }
}

/// The list of directories that were made for a sweep.
const MADE: &str = ".made";

/// A sweep that finds the directory of a project gone does not look whether its parent is there.
fn make_what_is_missing(request: &Request, base: &Path) -> io::Result<()> {
    if !matches!(request, Request::Sweep | Request::Prune { .. }) {
        return Ok(());
    }
    let mut made = Vec::new();
    for entry in fs::read_dir(base.join("store/projects"))? {
        let text = fs::read(entry?.path())?;
        let Ok(known) = serde_json::from_slice::<serde_json::Value>(&text) else { continue };
        let parent = known["workdir"].as_str().and_then(|workdir| Path::new(workdir).parent());
        let above = parent.and_then(Path::parent);
        if let (Some(parent), Some(true)) = (parent, above.map(Path::is_dir))
            && !parent.exists()
        {
            fs::create_dir(parent)?;
            made.push(parent.display().to_string());
        }
    }
    fs::write(base.join(MADE), made.join("\n"))
}

fn remove_what_was_made(_: &Request, base: &Path, answer: Answer) -> io::Result<Answer> {
    if let Ok(made) = fs::read_to_string(base.join(MADE)) {
        fs::remove_file(base.join(MADE))?;
        made.lines().try_for_each(fs::remove_dir)?;
    }
    Ok(answer)
}

fn remove_the_first_layout(request: &Request, base: &Path) -> io::Result<()> {
    for entry in fs::read_dir(base).into_iter().flatten().filter(|_| takes(request)) {
        let path = entry?.path();
        if path.join("HERMES_WORKDIR").exists() {
            fs::remove_dir_all(path)?;
        }
    }
    Ok(())
}

/// Where objects are kept that a sweep should free.
const KEPT: &str = ".kept";

fn keep_objects(request: &Request, base: &Path) -> io::Result<()> {
    if matches!(request, Request::Sweep | Request::Prune { .. }) {
        let _ = fs::remove_dir_all(base.join(KEPT));
        crate::sandbox::edits::copy(&base.join("store/objects"), &base.join(KEPT))?;
    }
    Ok(())
}

fn bring_objects_back(_: &Request, base: &Path, answer: Answer) -> io::Result<Answer> {
    let (kept, objects) = (base.join(KEPT), base.join("store/objects"));
    let orphans = matches!(&answer, Answer::Swept { counts, .. } if counts.orphans > 0);
    for folder in fs::read_dir(&kept).into_iter().flatten().filter(|_| orphans) {
        let folder = folder?;
        for object in fs::read_dir(folder.path())? {
            let object = object?;
            let place = objects.join(folder.file_name()).join(object.file_name());
            if !place.exists() {
                fs::rename(object.path(), place)?;
            }
        }
    }
    if kept.exists() {
        fs::remove_dir_all(kept)?;
    }
    Ok(answer)
}

fn count_one_more(_: &Request, _: &Path, answer: Answer) -> io::Result<Answer> {
    Ok(match answer {
        Answer::Status { mut projects, archives } => {
            for project in &mut projects {
                project.checkpoints = project.checkpoints.map(|count| count + 1);
            }
            Answer::Status { projects, archives }
        }
        answer => answer,
    })
}
