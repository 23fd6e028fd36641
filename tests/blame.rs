//! A failure is held against a name, or the user's configuration, only where the same history holds
//! without.
#![allow(clippy::unwrap_used)]

use herma_harness::history::file::from_yaml;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{Call, CoreSubject, HookedDisk, Identity, Subject};
use herma_harness::trial::trial;
use herma_model::{Answer, Request, Settings};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// A core that does not find some files of projects, by what is said of their names.
fn blind(loses: fn(&[u8]) -> bool) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
    move |sandbox, settings, seconds| {
        let hook = move |call, path: &Path| {
            let name = path.file_name().unwrap_or(OsStr::new("")).as_bytes();
            match call == Call::Stat && loses(name) {
                true => Err(io::ErrorKind::NotFound.into()),
                false => Ok(()),
            }
        };
        let disk = Arc::new(HookedDisk::new(hook));
        let environment = CoreSubject::environment_in(sandbox);
        Box::new(CoreSubject::in_environment(disk, environment, settings, seconds))
    }
}

#[test]
fn a_name_is_blamed_only_where_a_plain_one_is_captured() {
    let history = "operations:\n\
        - write: {path: work/alpha/a, content: x}\n\
        - write: {path: work/alpha/b c.txt, content: x}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n";
    let history = from_yaml(history, Path::new("history")).unwrap();
    let blamed = |loses| {
        let found = trial(&history, &blind(loses), &Scratch::default_place()).unwrap();
        found.run.divergences[0].rule.id
    };
    assert_eq!(blamed(|name| name.contains(&b' ')), "capture/any-name");
    assert_eq!(blamed(|name| name.ends_with(b".txt")), "capture/independent");
}

/// A core whose list has other reasons and, in a home without a git configuration, other times too.
struct Lists {
    core: CoreSubject,
    plain: bool,
}

impl Subject for Lists {
    fn identity(&self) -> Identity {
        Identity::new("lists", "1.0.0")
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let mut answer = self.core.ask(request);
        if let Answer::Listed(listed) = &mut answer {
            for one in listed {
                one.reason.push('!');
                one.time += i64::from(self.plain);
            }
        }
        answer
    }
}

#[test]
fn what_a_plain_home_shows_beside_another_failure_is_not_due_to_the_configuration() {
    let history = "operations:\n\
        - write: {path: work/alpha/a, content: x}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - list: {dir: work/alpha}\n";
    let history = from_yaml(history, Path::new("history")).unwrap();
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        let plain = !sandbox.home().join(".gitconfig").exists();
        let core = CoreSubject::new(sandbox, settings, seconds);
        Box::new(Lists { core, plain }) as Box<dyn Subject>
    };
    let found = trial(&history, &open, &Scratch::default_place()).unwrap();
    let shown: Vec<&str> = found.run.divergences.iter().map(|one| one.rule.id).collect();
    assert_eq!(shown, ["capture/reason"]);
    let plain: Vec<&str> = found.plain.iter().map(|one| one.rule.id).collect();
    assert_eq!(plain, ["list/time"]);
}
