//! Bugs of units: files of a database that are captured or restored separately.
//!
//! Bugs of restores change small files that only begin like a database; one bug changes real databases,
//! which are also judged by their rows.

use super::Flaw::{Disk, Intercepted as Intercept};
use super::PlantedBug;
use super::after_restore::{RestoreOutcome, after_each_restored, after_restore};
use super::faulty_disk::DiskFault::{List, Read};
use herma_model::{ByteString, Node, rules};
use std::fs;
use std::os::unix::ffi::OsStrExt;

/// No real database or journal has fewer bytes.
const REAL_BYTES_MIN: usize = 512;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-numbered-log-is-a-log",
        rule: &rules::UNIT_CAPTURED,
        about: "The journal of a LevelDB folder is left out as a log.",
        operations_min: 4,
        flaw: Disk(List(|_, _, name| !is_numbered_log(name.as_bytes()))),
    },
    PlantedBug {
        name: "a-wal-is-not-seen",
        rule: &rules::UNIT_CAPTURED,
        about: "A database is captured without its `-wal`.",
        operations_min: 3,
        flaw: Disk(List(|_, _, name| !name.as_bytes().ends_with(b"-wal"))),
    },
    PlantedBug {
        name: "a-wal-of-another-moment-is-captured",
        rule: &rules::UNIT_CAPTURED,
        about: "A `-wal` is captured at another moment than its database.",
        operations_min: 2,
        flaw: Disk(Read(|path, mut content| {
            // The first eight bytes stay.
            if path.as_os_str().as_bytes().ends_with(b"-wal") && content.len() > 8 {
                content.iter_mut().skip(8).for_each(|byte| *byte ^= 1);
            }
            content
        })),
    },
    PlantedBug {
        name: "a-restored-wal-is-empty",
        rule: &rules::UNIT_ROWS,
        about: "A database is restored without the rows of its `-wal`.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| {
                let is_real = length(outcome.after(path)) >= REAL_BYTES_MIN;
                match path.ends_with(b"-wal") && is_real {
                    true => fs::write(outcome.on_disk(path), b""),
                    false => Ok(()),
                }
            })
        }),
    },
    PlantedBug {
        name: "a-kept-database-is-removed",
        rule: &rules::UNIT_UNDO,
        about: "The files of a kept database, which are in no checkpoint, are removed.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            after_restore(subject, request, |outcome| {
                for path in kept_files(outcome) {
                    if outcome.after(&path).is_some() {
                        fs::remove_file(outcome.on_disk(&path))?;
                    }
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "a-new-wal-stays",
        rule: &rules::UNIT_RESTORED,
        about: "A `-wal` created since the checkpoint is left alongside the restored database.",
        operations_min: 5,
        flaw: Intercept(|subject, request| {
            after_restore(subject, request, |outcome| {
                let is_wal = |path: &ByteString| path.ends_with(b"-wal");
                let (logs, other_files): (Vec<_>, Vec<_>) =
                    outcome.report.removed.drain(..).partition(is_wal);
                outcome.report.removed = other_files;
                for path in logs {
                    match is_small(outcome.before(&path)) {
                        true => outcome.put_back(&path)?,
                        false => outcome.report.removed.push(path),
                    }
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "a-database-comes-back-without-its-journal",
        rule: &rules::UNIT_RESTORED,
        about: "A database is restored without its `-journal`.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            after_each_restored(subject, request, |outcome, path| {
                let is_journal = path.ends_with(b"-journal") && is_small(outcome.after(path));
                if is_journal { fs::remove_file(outcome.on_disk(path)) } else { Ok(()) }
            })
        }),
    },
    PlantedBug {
        name: "a-journal-comes-back-alone",
        rule: &rules::UNIT_RESTORED,
        about: "A journal of the checkpoint is restored alongside a database that is kept.",
        operations_min: 6,
        flaw: Intercept(|subject, request| {
            after_restore(subject, request, |outcome| {
                for path in kept_files(outcome) {
                    if outcome.after(&path).is_none() && path.ends_with(b"-journal") {
                        fs::write(outcome.on_disk(&path), b"a journal of another moment")?;
                    }
                }
                Ok(())
            })
        }),
    },
];

fn is_numbered_log(name: &[u8]) -> bool {
    let number = name.strip_suffix(b".log");
    number.is_some_and(|number| !number.is_empty() && number.iter().all(u8::is_ascii_digit))
}

fn length(node: Option<&Node>) -> usize {
    match node {
        Some(Node::File { content, .. }) => content.len(),
        _ => 0,
    }
}

fn is_small(node: Option<&Node>) -> bool {
    length(node) < REAL_BYTES_MIN
}

/// The files of SQLite databases that a restore reported as kept.
fn kept_files(outcome: &RestoreOutcome<'_>) -> Vec<ByteString> {
    let endings = [&b".db"[..], b"-wal", b"-journal"];
    let is_file = |path: &&ByteString| endings.iter().any(|ending| path.ends_with(ending));
    outcome.report.kept.iter().map(|remark| &remark.path).filter(is_file).cloned().collect()
}
