//! Bugs of captures: what a checkpoint contains, and how it is reported.

use super::Flaw::{Configured, Disk, Intercepted as Intercept};
use super::PlantedBug;
use super::faulty_disk::DiskFault::{Fails, Ignores, List, Read, Stat};
use super::intercepted::{Intercepted, checkpoint_answer, created_answer, created_id};
use super::stored::{after_checkpoint, holds_fifo};
use super::values::with_reason;
use crate::sandbox::Sandbox;
use herma_core::disk::{Kind, Stat as Metadata};
use herma_core::ignore::DEFAULT_EXCLUDES;
use herma_model::answer::CheckpointOutcome;
use herma_model::ignore::{Excludes, OWN_IGNORE_FILE};
use herma_model::{Answer, Request, rules};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "equal-sizes-are-no-change",
        rule: &rules::CAPTURE_CREATED,
        about: "A project whose files have the same sizes as before counts as unchanged.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            // In a full history the core has evicted the oldest checkpoint before the newest is undone.
            let is_full = subject.listed(request).len() >= subject.settings.max_snapshots;
            let answer = subject.ask(request);
            if is_full {
                return answer;
            }
            let is_undone =
                created_id(&answer).is_some_and(|id| undo_if_sizes_are_equal(subject, id));
            if is_undone { checkpoint_answer(CheckpointOutcome::Unchanged) } else { answer }
        }),
    },
    PlantedBug {
        name: "a-file-that-keeps-its-time-is-unchanged",
        rule: &rules::CAPTURE_CREATED,
        about: "A file with the same size, permissions and modification time counts as unchanged.",
        operations_min: 4,
        // Times are an hour back, so that metadata recorded at the moment of a write is trusted, too.
        flaw: Disk(Stat(|stat| {
            let modified = (stat.modified.0 - 3_600, stat.modified.1);
            let changed = (modified.0, i64::from(stat.mode));
            match stat.kind {
                Kind::File => Metadata { modified, changed, ..stat },
                _ => stat,
            }
        })),
    },
    PlantedBug {
        name: "bytes-that-are-no-text-are-replaced",
        rule: &rules::CAPTURE_BYTES,
        about: "Files are read as UTF-8, and invalid bytes are replaced.",
        operations_min: 2,
        flaw: Disk(Read(|_, content| String::from_utf8_lossy(&content).into_owned().into())),
    },
    PlantedBug {
        name: "a-file-is-cut-at-a-mebibyte",
        rule: &rules::CAPTURE_BYTES,
        about: "Only the first mebibyte of a file is captured.",
        operations_min: 2,
        flaw: Disk(Read(|_, mut content| {
            content.truncate(1 << 20);
            content
        })),
    },
    PlantedBug {
        name: "executable-bit-is-not-seen",
        rule: &rules::CAPTURE_EXECUTABLE,
        about: "Every file is captured as not executable.",
        operations_min: 2,
        flaw: Disk(Stat(|stat| match stat.kind {
            Kind::File => Metadata { mode: stat.mode & !0o111, ..stat },
            _ => stat,
        })),
    },
    PlantedBug {
        name: "links-are-left-out",
        rule: &rules::CAPTURE_SYMLINK,
        about: "Regular files are captured, but not links.",
        operations_min: 2,
        flaw: Disk(List(|_, directory, name| !directory.join(name).is_symlink())),
    },
    PlantedBug {
        name: "names-that-git-quotes-are-left-out",
        rule: &rules::CAPTURE_ANY_NAME,
        about: "Names are read from git line by line, so names that git quotes are not found.",
        operations_min: 2,
        flaw: Disk(List(|_, _, name| {
            let is_plain = |byte: &u8| (b' '..=b'~').contains(byte) && !b"\"\\".contains(byte);
            name.as_bytes().iter().all(is_plain)
        })),
    },
    PlantedBug {
        name: "names-that-look-like-options-are-left-out",
        rule: &rules::CAPTURE_ANY_NAME,
        about: "Names are passed to git as arguments, so some are taken for options or patterns.",
        operations_min: 2,
        flaw: Disk(List(|_, _, name| !matches!(name.as_bytes().first(), Some(b'-' | b':')))),
    },
    PlantedBug {
        name: "text-is-converted",
        rule: &rules::CAPTURE_NO_CONVERSION,
        about: "Text is captured as git converts it: with Unix line ends and unexpanded `$Id$`.",
        operations_min: 2,
        flaw: Disk(Read(|_, content| match String::from_utf8(content) {
            Ok(text) if !text.contains('\0') => without_keyword(text.replace("\r\n", "\n")).into(),
            Ok(binary) => binary.into(),
            Err(error) => error.into_bytes(),
        })),
    },
    PlantedBug {
        name: "default-excludes-are-not-applied",
        rule: &rules::CAPTURE_DEFAULT_EXCLUDES,
        about: "Logs are captured like any other file.",
        operations_min: 3,
        flaw: Disk(Ignores(|sandbox, path, text| match is_below_a_root(sandbox, path) {
            false => [b"!*.log\n", &text[..]].concat(),
            true => text,
        })),
    },
    PlantedBug {
        name: "default-excludes-speak-last",
        rule: &rules::CAPTURE_DEFAULT_EXCLUDES,
        about: "Files that a project re-includes despite the default excludes are left out.",
        operations_min: 3,
        flaw: Disk(Ignores(|_, _, text| {
            [&text[..], b"\n", DEFAULT_EXCLUDES.join("\n").as_bytes()].concat()
        })),
    },
    PlantedBug {
        name: "ignore-files-below-the-root-are-not-read",
        rule: &rules::CAPTURE_GITIGNORE,
        about: "Only the ignore file in the project's root is read.",
        operations_min: 3,
        flaw: Disk(Ignores(|sandbox, path, text| match is_below_a_root(sandbox, path) {
            false => text,
            true => Vec::new(),
        })),
    },
    PlantedBug {
        name: "the-first-line-of-an-ignore-file-decides",
        rule: &rules::CAPTURE_GITIGNORE,
        about: "The first line of a `.gitignore` that matches a path decides, not the last.",
        operations_min: 3,
        flaw: Disk(Ignores(|_, path, text| match path.ends_with(OWN_IGNORE_FILE) {
            true => text,
            false => {
                let lines: Vec<&[u8]> = text.rsplit(|byte| *byte == b'\n').collect();
                lines.join(&b'\n')
            }
        })),
    },
    PlantedBug {
        name: "the-own-ignore-file-is-not-read",
        rule: &rules::CAPTURE_OWN_IGNORE_FILE,
        about: "The store's own ignore file is a file like any other.",
        operations_min: 3,
        flaw: Disk(Ignores(|_, path, text| match path.ends_with(OWN_IGNORE_FILE) {
            true => Vec::new(),
            false => text,
        })),
    },
    PlantedBug {
        name: "the-own-ignore-file-is-read-first",
        rule: &rules::CAPTURE_OWN_IGNORE_FILE,
        about: "The `.gitignore` of a directory is read after the store's own ignore file.",
        operations_min: 4,
        flaw: Disk(Ignores(|_, path, text| {
            let gitignore = path.with_file_name(".gitignore");
            // A fifo would block.
            let is_file = gitignore.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
            if !is_file || !path.ends_with(OWN_IGNORE_FILE) {
                return text;
            }
            let lines = fs::read(gitignore).unwrap_or_default();
            [&text[..], b"\n", &lines[..]].concat()
        })),
    },
    PlantedBug {
        name: "an-ignore-file-re-includes-secrets",
        rule: &rules::CAPTURE_SECRETS,
        about: "An ignore file that re-includes secrets is obeyed.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            after_checkpoint(subject, request, |subject, id| {
                let project = subject.project(request).ok_or(io::ErrorKind::NotFound)?;
                let ignores = String::from_utf8_lossy(&fs::read(project.join(".gitignore"))?)
                    .lines()
                    .any(|line| line == "!.env");
                let secret = project.join(".env");
                if !ignores || !secret.symlink_metadata()?.is_file() {
                    return Ok(id.to_owned());
                }
                subject.with_file(id, ".env", &fs::read(secret)?)
            })
        }),
    },
    PlantedBug {
        name: "a-fifo-stops-the-capture",
        rule: &rules::CAPTURE_SPECIAL,
        about: "A fifo, socket or device is an error, and nothing is captured.",
        operations_min: 4,
        flaw: Disk(Fails(|stat| stat.kind == Kind::Special)),
    },
    PlantedBug {
        name: "a-fifo-is-waited-for",
        rule: &rules::CAPTURE_SPECIAL,
        about: "A checkpoint or a restore opens a fifo, and waits for a writer forever.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let captures = matches!(request, Request::Checkpoint { .. }) || request.restores();
            let project = subject.project(request).filter(|_| captures);
            match project.map(|project| holds_fifo(&project)) {
                Some(Ok(true)) => Answer::Crashed("silent: it waits at a fifo".into()),
                _ => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "the-cap-is-one-byte-too-high",
        rule: &rules::CAPTURE_SIZE_CAP,
        about: "A file one byte over the file size limit is captured.",
        operations_min: 2,
        flaw: Configured(|settings| {
            settings.max_file_bytes += u64::from(settings.max_file_bytes > 0);
        }),
    },
    PlantedBug {
        name: "a-cap-of-nothing-leaves-everything-out",
        rule: &rules::CAPTURE_SIZE_CAP,
        about: "A file size limit of 0 excludes every file, although it means no limit.",
        operations_min: 2,
        flaw: Configured(|settings| {
            settings.max_file_bytes += u64::from(settings.max_file_bytes == 0);
        }),
    },
    PlantedBug {
        name: "a-pattern-for-a-name-hides-its-siblings",
        rule: &rules::CAPTURE_INDEPENDENT,
        about: "A file whose name is a pattern excludes the other files that match the pattern.",
        operations_min: 3,
        flaw: Disk(List(|_, directory, name| {
            let siblings = fs::read_dir(directory).into_iter().flatten().flatten();
            let mut names = siblings.filter_map(|entry| entry.file_name().into_string().ok());
            !names.any(|pattern| {
                let is_sibling_pattern = pattern.contains(['*', '[']) && *name != *pattern;
                is_sibling_pattern
                    && Excludes::new(&[&pattern], &[]).excludes(&[], name.as_bytes(), false)
            })
        })),
    },
    PlantedBug {
        name: "a-folder-is-listed-in-part",
        rule: &rules::CAPTURE_INDEPENDENT,
        about: "Only the first 64 files of a folder are captured.",
        operations_min: 2,
        flaw: Disk(List(|_, directory, name| {
            let siblings = fs::read_dir(directory).into_iter().flatten().flatten();
            siblings.filter(|entry| *entry.file_name() < *name).count() < 64
        })),
    },
    PlantedBug {
        name: "deep-folders-are-left-out",
        rule: &rules::CAPTURE_INDEPENDENT,
        about: "Files more than eight folders deep are not captured.",
        operations_min: 3,
        flaw: Disk(List(|sandbox, directory, _| {
            inside(sandbox, directory).components().count() <= COMPONENTS_OF_A_ROOT + 8
        })),
    },
    PlantedBug {
        name: "long-paths-are-left-out",
        rule: &rules::CAPTURE_INDEPENDENT,
        about: "Paths of more than 600 bytes are not captured.",
        operations_min: 3,
        flaw: Disk(List(|sandbox, directory, name| {
            inside(sandbox, directory).join(name).as_os_str().len() <= 600
        })),
    },
    PlantedBug {
        name: "a-nested-repository-is-lost",
        rule: &rules::CAPTURE_NESTED_REPOSITORY,
        about: "The files of a nested repository are not captured.",
        operations_min: 4,
        flaw: Disk(List(|sandbox, directory, _| {
            let is_repository = |folder: &Path| folder.join(".git").symlink_metadata().is_ok();
            let above = directory.ancestors().skip(1);
            let mut inside = above.take_while(|folder| folder.starts_with(sandbox.root()));
            !(is_repository(directory) && inside.any(is_repository))
        })),
    },
    PlantedBug {
        name: "an-unreadable-file-loses-the-checkpoint",
        rule: &rules::CAPTURE_UNREADABLE,
        about: "A file that cannot be read is an error, and nothing is captured.",
        operations_min: 4,
        flaw: Disk(Fails(|stat| stat.kind == Kind::File && stat.mode & 0o400 == 0)),
    },
    PlantedBug {
        name: "an-earlier-id-is-told",
        rule: &rules::CAPTURE_HONEST,
        about: "The answer for a new checkpoint has the id of the previous checkpoint.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            after_checkpoint(subject, request, |subject, id| subject.parent_of(id))
        }),
    },
    PlantedBug {
        name: "an-unchanged-tree-is-taken-again",
        rule: &rules::CAPTURE_UNCHANGED,
        about: "A checkpoint is taken whether or not anything changed.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            although_unchanged(subject, request, |subject, history| {
                subject.commit(history, &subject.tree_of(history)?, Some(history))
            })
        }),
    },
    PlantedBug {
        name: "an-empty-directory-is-taken",
        rule: &rules::CAPTURE_EMPTY_FIRST,
        about: "A directory with nothing to capture gets an empty first checkpoint.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            although_unchanged(subject, request, |subject, history| {
                match subject.tree_of(history) {
                    Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
                    Err(_) => subject.commit(history, &subject.git(&["mktree"])?, None),
                }
            })
        }),
    },
    PlantedBug {
        name: "a-diff-leaves-its-patch",
        rule: &rules::CAPTURE_READ_ONLY,
        about: "A diff leaves its output as a file in the project.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let answer = subject.ask(request);
            if let (Answer::Diffed { .. }, Some(project)) = (&answer, subject.project(request)) {
                let _ = fs::write(project.join("rollback.patch"), "what a diff shows\n");
            }
            answer
        }),
    },
    PlantedBug {
        name: "a-reason-is-stripped",
        rule: &rules::CAPTURE_REASON,
        about: "White space at the ends of a reason is not stored.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            with_reason(subject, request, |reason| reason.trim().to_owned())
        }),
    },
];

/// Roots of projects are two levels down, as in `work/alpha`.
const COMPONENTS_OF_A_ROOT: usize = 2;

/// Whether an ignore file is below the root of a project.
fn is_below_a_root(sandbox: &Sandbox, path: &Path) -> bool {
    inside(sandbox, path).components().count() > COMPONENTS_OF_A_ROOT + 1
}

/// A path relative to the sandbox.
fn inside<'a>(sandbox: &Sandbox, path: &'a Path) -> &'a Path {
    path.strip_prefix(sandbox.root()).unwrap_or(path)
}

/// The text with its first `$Id: …$` as git stores it.
fn without_keyword(text: String) -> String {
    let parts = text.split_once("$Id: ").and_then(|(before, rest)| {
        let (_, after) = rest.split_once('$')?;
        Some(format!("{before}$Id${after}"))
    });
    parts.unwrap_or(text)
}

/// Undoes a new checkpoint if its files have the same sizes as those of its parent.
fn undo_if_sizes_are_equal(subject: &Intercepted, id: &str) -> bool {
    let sizes = |commit: &str| {
        subject.git(&["ls-tree", "-r", "--format=%(objectmode) %(objectsize) %(path)", commit])
    };
    let undo = || -> io::Result<bool> {
        let before = subject.parent_of(id)?;
        let is_equal = sizes(id)? == sizes(&before)?;
        if is_equal {
            subject.git(&["update-ref", &subject.ref_of(id)?, &before])?;
        }
        Ok(is_equal)
    };
    undo().unwrap_or(false)
}

/// Asks the core, and if it reports that nothing changed, takes a checkpoint with `take`.
fn although_unchanged(
    subject: &mut Intercepted,
    request: &Request,
    take: fn(&Intercepted, &str) -> io::Result<String>,
) -> Answer {
    let answer = subject.ask(request);
    match (&answer, subject.history_ref(request)) {
        (Answer::Taken { outcome: CheckpointOutcome::Unchanged, .. }, Some(history)) => {
            take(subject, &history).map_or(answer, created_answer)
        }
        _ => answer,
    }
}
