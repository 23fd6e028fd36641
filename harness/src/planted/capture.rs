//! Bugs of captures: what a checkpoint holds, and what is said of it.

use super::bent_disk::Bends;
use super::{Flaw, PlantedBug};
use herma_core::disk::{Kind, Stat};
use herma_model::rules;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "executable-bit-is-not-seen",
        rule: &rules::CAPTURE_EXECUTABLE,
        about: "Every file is captured as one that nobody may execute.",
        operations_min: 3,
        flaw: Flaw::Disk(Bends {
            stat: |sandbox, path, stat| match stat.kind {
                Kind::File if !path.starts_with(sandbox.base()) => {
                    Stat { mode: stat.mode & !0o111, ..stat }
                }
                _ => stat,
            },
            ..Bends::NONE
        }),
    },
    PlantedBug {
        name: "a-file-at-the-cap-is-left-out",
        rule: &rules::CAPTURE_SIZE_CAP,
        about: "A file that is as large as the cap allows is left out.",
        operations_min: 2,
        flaw: Flaw::Configured(|settings| {
            settings.max_file_bytes -= u64::from(settings.max_file_bytes > 1);
        }),
    },
];
