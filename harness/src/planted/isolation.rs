//! Bugs of isolation: what of the user reaches the store, and what of the store reaches the user.

use super::faulty_disk::DiskFaults;
use super::intercepted::{Intercepted, created};
use super::{Flaw, PlantedBug};
use crate::sandbox::git_alone;
use herma_model::{Answer, Request, rules};
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "the-users-name-is-on-checkpoints",
        rule: &rules::ISOLATION_USER_CONFIG,
        about: "A checkpoint is committed in the name that the user's git configuration says.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            host.retell(answer, |text| {
                let name = said(git_of(host).args(["config", "--global", "user.name"]))?;
                let name = Some(name).filter(|name| !name.is_empty());
                let name = name.ok_or(io::ErrorKind::NotFound)?;
                let author = text.lines().find(|line| line.starts_with("author "));
                let author = author.unwrap_or_default();
                let rest = author.split_once(" <").map_or("", |(_, rest)| rest);
                Ok(text.replacen(author, &format!("author {name} <{rest}"), 1))
            })
        }),
    },
    PlantedBug {
        name: "the-users-ignore-file-counts",
        rule: &rules::ISOLATION_USER_CONFIG,
        about: "What the user's own ignore file names is not captured.",
        operations_min: 3,
        flaw: Flaw::Disk(DiskFaults {
            list: |sandbox, path, names| {
                let ignored = fs::read_to_string(sandbox.home().join(".config/git/ignore"));
                let ignored = ignored.unwrap_or_default();
                let is_ignored = |name: &OsString| ignored.lines().any(|line| *name == *line);
                let inside = path.starts_with(sandbox.base());
                names.into_iter().filter(|name| inside || !is_ignored(name)).collect()
            },
            ..DiskFaults::NONE
        }),
    },
    PlantedBug {
        name: "checkpoints-ask-to-be-signed",
        rule: &rules::ISOLATION_NO_SIGNING,
        about: "A checkpoint is committed as the user's git configuration says, which may be signed.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            after_each(host, request, |host, _, id| {
                if said(git_of(host).args(["config", "--global", "commit.gpgsign"]))? == "true" {
                    let tree = format!("{id}^{{tree}}");
                    // The program that signs fails, and a commit without a signature is taken then.
                    let _ = said(git_of(host).args(["commit-tree", "-S", "-m", "signed", &tree]));
                }
                Ok(())
            })
        }),
    },
    PlantedBug {
        name: "checkpoints-are-signed",
        rule: &rules::ISOLATION_NO_SIGNING,
        about: "Every checkpoint carries a signature.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            let answer = host.ask(request);
            host.retell(answer, |text| {
                let (headers, message) = text.split_once("\n\n").unwrap_or((text, ""));
                let begins = "-----BEGIN PGP SIGNATURE-----";
                let ends = "-----END PGP SIGNATURE-----";
                Ok(format!("{headers}\ngpgsig {begins}\n \n c2lnbmVk\n {ends}\n\n{message}"))
            })
        }),
    },
    PlantedBug {
        name: "a-log-is-left-in-the-home",
        rule: &rules::ISOLATION_HOME,
        about: "What is done is logged in a file in the home directory.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            after_each(host, request, |host, _, id| {
                let log = host.sandbox.home().join(".hermes/checkpoints.log");
                append(&log, &format!("took {id}\n"))
            })
        }),
    },
    PlantedBug {
        name: "the-store-is-made-a-safe-directory",
        rule: &rules::ISOLATION_HOME,
        about: "The user's git configuration is told that the store is safe.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            after_each(host, request, |host, _, _| {
                let store = host.sandbox.store();
                let line = format!("[safe]\n\tdirectory = {}\n", store.display());
                append(&host.sandbox.home().join(".gitconfig"), &line)
            })
        }),
    },
    PlantedBug {
        name: "the-users-index-is-written",
        rule: &rules::ISOLATION_USER_REPOSITORY,
        about: "What is captured is staged in the index that the user's shell names, the project's own.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            after_each(host, request, |_, repository, _| {
                append(&repository.join("index"), "a path that only the store has\n")
            })
        }),
    },
    PlantedBug {
        name: "checkpoints-are-commits-of-the-user",
        rule: &rules::ISOLATION_USER_REPOSITORY,
        about: "A checkpoint becomes the newest commit of the repository that the user's shell names.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            after_each(host, request, |_, repository, id| {
                fs::create_dir_all(repository.join("refs/heads"))?;
                fs::write(repository.join("refs/heads/main"), format!("{id}\n"))
            })
        }),
    },
    PlantedBug {
        name: "the-store-borrows-from-the-user",
        rule: &rules::ISOLATION_SELF_CONTAINED,
        about: "The store has the objects of the project's own repository for alternates.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            after_each(host, request, |host, repository, _| {
                let objects = repository.join("objects");
                let alternates = host.sandbox.store().join("objects/info/alternates");
                fs::write(alternates, format!("{}\n", objects.display()))
            })
        }),
    },
    PlantedBug {
        name: "objects-are-links",
        rule: &rules::ISOLATION_SELF_CONTAINED,
        about: "Objects are kept in a place for all tools, and the store holds links to them.",
        operations_min: 2,
        flaw: Flaw::Intercepted(|host, request| {
            if request.is_maintenance() && !request.only_looks() {
                // Who keeps the store knows where its objects are.
                let _ = each_link(host, |link, object| {
                    fs::remove_file(link).and_then(|()| fs::copy(object, link)).map(drop)
                });
            }
            let answer = host.ask(request);
            if let Some(id) = created(&answer) {
                let (folder, name) = id.split_at(2);
                let object = host.sandbox.store().join("objects").join(folder).join(name);
                if let Ok(aside) = host.aside().map(|aside| aside.join(id)) {
                    // Packed objects have no file of their own.
                    let _ = fs::copy(&object, &aside)
                        .and_then(|_| fs::remove_file(&object))
                        .and_then(|()| symlink(&aside, &object));
                }
            }
            answer
        }),
    },
    PlantedBug {
        name: "the-store-is-open-to-others",
        rule: &rules::ISOLATION_PRIVATE,
        about: "The store is made with the permissions that files and folders usually have.",
        operations_min: 1,
        flaw: Flaw::Disk(DiskFaults {
            mode: |sandbox, path, mode| match path.starts_with(sandbox.base()) {
                // Whoever may enter or run it may read it.
                true => mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6,
                false => mode,
            },
            ..DiskFaults::NONE
        }),
    },
    PlantedBug {
        name: "objects-are-open-to-others",
        rule: &rules::ISOLATION_PRIVATE,
        about: "Objects have the permissions that git gives them, in a store that is private.",
        operations_min: 2,
        flaw: Flaw::Disk(DiskFaults {
            mode: |sandbox, path, mode| {
                let objects = sandbox.store().join("objects");
                if path.parent() == Some(&objects) && mode & 0o100 == 0 { 0o444 } else { mode }
            },
            ..DiskFaults::NONE
        }),
    },
];

/// Does something after each checkpoint that was taken of a project with a repository of its own,
/// given that and the id of the checkpoint.
fn after_each(
    host: &mut Intercepted,
    request: &Request,
    deed: fn(&Intercepted, &Path, &str) -> io::Result<()>,
) -> Answer {
    let answer = host.ask(request);
    let repository: Option<PathBuf> = host.project(request).map(|project| project.join(".git"));
    if let (Some(id), Some(repository)) = (created(&answer), repository)
        && repository.is_dir()
    {
        // A bug that cannot be played is no bug; the suite then just does not find it.
        let _ = deed(host, &repository, id);
    }
    answer
}

/// Does something with each link among the objects and what it leads to.
fn each_link(host: &mut Intercepted, deed: fn(&Path, &Path) -> io::Result<()>) -> io::Result<()> {
    let objects = host.sandbox.store().join("objects");
    for object in fs::read_dir(host.aside()?)? {
        let object = object?;
        let id = object.file_name().to_string_lossy().into_owned();
        let link = objects.join(&id[..2]).join(&id[2..]);
        if link.is_symlink() {
            deed(&link, &object.path())?;
        }
    }
    Ok(())
}

/// Git on the store as the user runs it: with the configuration of their home.
fn git_of(host: &Intercepted) -> Command {
    let mut git = git_alone();
    git.env_remove("GIT_CONFIG_GLOBAL").env("HOME", host.sandbox.home());
    git.arg("--git-dir").arg(host.sandbox.store());
    git
}

/// What a command prints.
fn said(command: &mut Command) -> io::Result<String> {
    let output = command.output()?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn append(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().append(true).create(true).open(path)?.write_all(text.as_bytes())
}
