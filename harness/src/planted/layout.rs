//! Bugs of the layout: what other tools find in the store. Each changes the store for as long as
//! nobody asks the core, which so finds what it left.

use super::intercepted::{Intercepted, created, rewrite, takes, write_private};
use super::{Flaw, PlantedBug};
use herma_model::{Answer, Request, rules};
use std::fs;
use std::io;
use std::path::Path;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "refs-have-another-name",
        rule: &rules::LAYOUT_STORE,
        about: "The history of a project is `refs/checkpoints/<hash>`.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let refs = host.sandbox.store().join("refs");
            let (right, wrong) = (refs.join("hermes"), refs.join("checkpoints"));
            between(host, request, |_| fs::rename(&wrong, &right), |_| fs::rename(&right, &wrong))
        }),
    },
    PlantedBug {
        name: "the-ref-lags-behind",
        rule: &rules::LAYOUT_STORE,
        about: "The ref of a project names the checkpoint before the newest, until the store is kept.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            let lagged = host.sandbox.store().join(LAGS).exists();
            // Who keeps the store brings it up to date, and only who takes lets it lag.
            let keeps = request.is_maintenance() && !request.only_looks();
            let lags = takes(request) || lagged && !keeps;
            let wrong = |host: &Intercepted| if lags { each_ref(host, back) } else { Ok(()) };
            between(host, request, |host| each_ref(host, forward), wrong)
        }),
    },
    PlantedBug {
        name: "half-an-object-is-left",
        rule: &rules::LAYOUT_FSCK,
        about: "An object that was not written whole is left where whole ones are.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            if let Some(id) = created(&answer) {
                let objects = host.sandbox.store().join("objects");
                let (folder, name) = id.split_at(2);
                let whole = fs::read(objects.join(folder).join(name)).unwrap_or_default();
                let half = objects.join(folder).join(name.chars().rev().collect::<String>());
                let _ = write_private(&half, &whole[..whole.len() / 2]);
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-log-names-what-is-not-stored",
        rule: &rules::LAYOUT_FSCK,
        about: "The log of a ref names a commit that is not in the store.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            if let Some(id) = created(&answer) {
                let name = host.name_of(id).unwrap_or_default();
                let log = host.sandbox.store().join("logs").join(name);
                let gone: String = id.chars().rev().collect();
                let line =
                    format!("{gone} {id} Somebody <s@example.org> {} +0000\tr\n", host.seconds);
                let _ = write_private(&log, line.as_bytes());
            }
            answer
        }),
    },
    PlantedBug {
        name: "metadata-without-a-last-touch",
        rule: &rules::LAYOUT_METADATA,
        about: "What is noted of a project does not say when it was last touched.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| renamed(host, request, "last_touch", "lastTouch")),
    },
    PlantedBug {
        name: "metadata-without-a-directory",
        rule: &rules::LAYOUT_METADATA,
        about: "What is noted of a project does not say which directory it is.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| renamed(host, request, "workdir", "path")),
    },
];

/// Asks the core in a store that is put right for as long as it is asked.
fn between(
    host: &mut Intercepted,
    request: &Request,
    right: impl FnOnce(&Intercepted) -> io::Result<()>,
    wrong: impl FnOnce(&Intercepted) -> io::Result<()>,
) -> Answer {
    // Where there is no store yet there is nothing to put right.
    let _ = right(host);
    let answer = host.ask(request);
    let _ = wrong(host);
    answer
}

/// Asks the core with another key in the metadata of every project than plain git finds there.
fn renamed(host: &mut Intercepted, request: &Request, right: &str, wrong: &str) -> Answer {
    let rename = |host: &Intercepted, from: &str, to: &str| {
        for entry in fs::read_dir(host.sandbox.store().join("projects"))? {
            let key = |key: &str| format!("\"{key}\":");
            // Somebody may have damaged it, which then is no matter of this bug.
            let _ = rewrite(&entry?.path(), |text| text.replace(&key(from), &key(to)));
        }
        Ok(())
    };
    between(host, request, |host| rename(host, wrong, right), |host| rename(host, right, wrong))
}

/// Where refs keep the newest checkpoint while they name another.
const LAGS: &str = "newest";

fn each_ref(
    host: &Intercepted,
    change: fn(&Intercepted, &Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let store = host.sandbox.store();
    for entry in fs::read_dir(store.join("refs/hermes"))? {
        let entry = entry?;
        // One that has only one checkpoint stays as it is.
        let _ = change(host, &entry.path(), &store.join(LAGS).join(entry.file_name()));
    }
    Ok(())
}

/// Puts the ref back to the checkpoint before the newest, where there is one.
fn back(host: &Intercepted, named: &Path, newest: &Path) -> io::Result<()> {
    let id = fs::read_to_string(named)?;
    if let Ok(parent) = host.git(&["rev-parse", "--verify", &format!("{}^", id.trim())]) {
        write_private(newest, id.as_bytes())?;
        rewrite(named, |_| format!("{parent}\n"))?;
    }
    Ok(())
}

fn forward(_: &Intercepted, named: &Path, newest: &Path) -> io::Result<()> {
    let id = fs::read_to_string(newest)?;
    fs::remove_file(newest)?;
    // The folder goes with the last of them.
    let _ = newest.parent().map(fs::remove_dir);
    rewrite(named, |_| id)
}
