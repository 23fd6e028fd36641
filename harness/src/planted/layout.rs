//! Bugs of the layout: what other tools find in the store. The layout is made wrong only between requests,
//! so that the core always works on a correct one.

use super::Flaw::Intercepted as Intercept;
use super::PlantedBug;
use super::intercepted::{Intercepted, names, rewrite, write_private};
use super::stored::after_checkpoint;
use herma_model::rules;
use std::fs;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "refs-have-another-name",
        rule: &rules::LAYOUT_STORE,
        about: "The history of a project is `refs/checkpoints/<hash>`.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let refs = subject.sandbox.store().join("refs");
            let right = refs.join("hermes");
            let wrong = refs.join("checkpoints");
            // Without a store there is nothing to rename.
            let _ = fs::rename(&wrong, &right);
            let answer = subject.ask(request);
            let _ = fs::rename(&right, &wrong);
            answer
        }),
    },
    PlantedBug {
        name: "half-an-object-is-left",
        rule: &rules::LAYOUT_FSCK,
        about: "A half-written object remains among the objects.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            after_checkpoint(subject, request, |subject, id| {
                let (folder, name) = id.split_at(2);
                let folder = subject.sandbox.store().join("objects").join(folder);
                let object = fs::read(folder.join(name))?;
                let truncated = folder.join(name.chars().rev().collect::<String>());
                write_private(&truncated, &object[..object.len() / 2])?;
                Ok(id.to_owned())
            })
        }),
    },
    PlantedBug {
        name: "metadata-without-a-last-touch",
        rule: &rules::LAYOUT_METADATA,
        about: "The metadata of a project has no `last_touch`.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            rename_key(subject, "\"lastTouch\":", "\"last_touch\":");
            let answer = subject.ask(request);
            rename_key(subject, "\"last_touch\":", "\"lastTouch\":");
            answer
        }),
    },
];

/// Renames a key in the metadata of every project.
fn rename_key(subject: &Intercepted, from: &str, to: &str) {
    let projects = subject.sandbox.store().join("projects");
    for name in names(&projects).unwrap_or_default() {
        // A file that the history damaged does not concern this bug.
        let _ = rewrite(&projects.join(name), |text| text.replace(from, to));
    }
}
