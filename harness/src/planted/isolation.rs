//! Bugs of isolation: something from the user's environment reaches the store, or the reverse.

use super::Flaw::{Disk, Intercepted as Intercept};
use super::PlantedBug;
use super::faulty_disk::DiskFault::Mode;
use super::intercepted::Intercepted;
use super::stored::after_checkpoint;
use crate::sandbox::git_alone;
use herma_model::{Answer, Request, rules};
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "the-users-name-is-on-checkpoints",
        rule: &rules::ISOLATION_USER_CONFIG,
        about: "A checkpoint is committed with the author name of the user's git configuration.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            after_checkpoint(subject, request, |subject, id| {
                let name = git_of_user(subject, &["config", "--global", "user.name"])?;
                subject.rewrite_newest(id, |text| {
                    let author =
                        text.split("author ").nth(1).and_then(|rest| rest.split(" <").next());
                    text.replacen(author.unwrap_or_default(), &name, 1)
                })
            })
        }),
    },
    PlantedBug {
        name: "a-hook-of-the-user-runs",
        rule: &rules::ISOLATION_USER_CONFIG,
        about: "Each checkpoint runs the hook for changed refs that the user's configuration names.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            after_checkpoint(subject, request, |subject, id| {
                let hooks = git_of_user(subject, &["config", "--global", "core.hooksPath"])?;
                let hook = Path::new(&hooks).join("reference-transaction");
                if hook.is_file() {
                    // A file that was just written may still be open in a process that another thread starts.
                    Command::new("sh").arg(hook).arg("committed").status()?;
                }
                Ok(id.to_owned())
            })
        }),
    },
    PlantedBug {
        name: "checkpoints-are-signed",
        rule: &rules::ISOLATION_NO_SIGNING,
        about: "Every checkpoint carries a signature.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            after_checkpoint(subject, request, |subject, id| {
                subject.rewrite_newest(id, |text| {
                    let begin = "-----BEGIN PGP SIGNATURE-----";
                    let end = "-----END PGP SIGNATURE-----";
                    text.replacen("\n\n", &format!("\ngpgsig {begin}\n \n c2ln\n {end}\n\n"), 1)
                })
            })
        }),
    },
    PlantedBug {
        name: "a-log-is-left-in-the-home",
        rule: &rules::ISOLATION_HOME,
        about: "Every checkpoint is logged in a file in the home directory.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            after_checkpoint_in_repository(subject, request, |subject, _, id| {
                let log = subject.sandbox.home().join(".hermes/checkpoints.log");
                append(&log, &format!("took {id}\n"))
            })
        }),
    },
    PlantedBug {
        name: "the-users-index-is-written",
        rule: &rules::ISOLATION_USER_REPOSITORY,
        about: "Captured files are staged in the index of the project's own repository.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            after_checkpoint_in_repository(subject, request, |_, repository, _| {
                append(&repository.join("index"), "a path that only the store has\n")
            })
        }),
    },
    PlantedBug {
        name: "a-restore-writes-the-users-index",
        rule: &rules::ISOLATION_USER_REPOSITORY,
        about: "What a restore brings back is staged in the index of the project's own repository.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let index = subject.project(request).map(|project| project.join(".git/index"));
            let answer = subject.ask(request);
            if let (Answer::Restored(_), Some(index)) =
                (&answer, index.filter(|path| path.is_file()))
            {
                // An index that cannot be written stays as it is.
                let _ = append(&index, "a path that only the store has\n");
            }
            answer
        }),
    },
    PlantedBug {
        name: "the-link-of-a-worktree-is-written",
        rule: &rules::ISOLATION_USER_REPOSITORY,
        about: "A `.git` that is a file is overwritten.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let link = subject.project(request).map(|project| project.join(".git"));
            after_checkpoint(subject, request, |_, id| {
                if let Some(link) = link.filter(|link| link.is_file() && !link.is_symlink()) {
                    fs::write(link, "gitdir: elsewhere\n")?;
                }
                Ok(id.to_owned())
            })
        }),
    },
    PlantedBug {
        name: "the-store-borrows-from-the-user",
        rule: &rules::ISOLATION_SELF_CONTAINED,
        about: "The store uses the objects of the project's own repository as alternates.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            after_checkpoint_in_repository(subject, request, |subject, repository, _| {
                let objects = repository.join("objects");
                let alternates = subject.sandbox.store().join("objects/info/alternates");
                fs::write(alternates, format!("{}\n", objects.display()))
            })
        }),
    },
    PlantedBug {
        name: "the-store-is-open-to-others",
        rule: &rules::ISOLATION_PRIVATE,
        about: "The files and folders of the store are created readable by all users.",
        operations_min: 1,
        flaw: Disk(Mode(|sandbox, path, mode| match path.starts_with(sandbox.base()) {
            // Group and others get the owner's bits for reading and executing.
            true => mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6,
            false => mode,
        })),
    },
];

/// After each checkpoint of a project that is a git repository, calls `act` with the path of its `.git` and
/// the id of the checkpoint.
fn after_checkpoint_in_repository(
    subject: &mut Intercepted,
    request: &Request,
    act: fn(&Intercepted, &Path, &str) -> io::Result<()>,
) -> Answer {
    let repository: Option<PathBuf> = subject.project(request).map(|project| project.join(".git"));
    after_checkpoint(subject, request, |subject, id| {
        if let Some(repository) = repository.filter(|repository| repository.is_dir()) {
            act(subject, &repository, id)?;
        }
        Ok(id.to_owned())
    })
}

/// Runs git on the store as the user would, with the configuration in their home; returns what it prints.
fn git_of_user(subject: &Intercepted, arguments: &[&str]) -> io::Result<String> {
    let mut git = git_alone();
    git.env_remove("GIT_CONFIG_GLOBAL").env("HOME", subject.sandbox.home());
    let output = git.arg("--git-dir").arg(subject.sandbox.store()).args(arguments).output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
}
