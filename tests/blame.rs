//! A failure is held against a name, or the user's configuration, only where the same history holds
//! without.
#![allow(clippy::unwrap_used)]

use herma_harness::generate::Options;
use herma_harness::history::file::from_yaml;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::share::Share;
use herma_harness::shrink::BUDGET_DEFAULT;
use herma_harness::subject::{Call, CoreSubject, HookedDisk, Identity, Subject};
use herma_harness::suite::{Plan, run_suite};
use herma_harness::trial::trial;
use herma_model::answer::{Change, Changed};
use herma_model::{Answer, Code, Request, Settings};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
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

/// A core with four bugs: where the home names hooks, the one for changed refs is run before each
/// checkpoint and stops it; the list is oldest first; a preview has no new files; and the first file that
/// a restore brings back is lost.
struct FourBugs {
    core: CoreSubject,
    hook: PathBuf,
    work: PathBuf,
}

impl Subject for FourBugs {
    fn identity(&self) -> Identity {
        Identity::new("four-bugs", "1.0.0")
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with("checkpoint").with("diff").with("restore.report")
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let takes = matches!(request, Request::Checkpoint { .. } | Request::Restore { .. });
        if takes && self.hook.is_file() && !Command::new(&self.hook).status().unwrap().success() {
            let (code, message) = (Code::Internal, "aborted by hook".into());
            return Answer::Refused { code, message, changed: Changed::None };
        }
        let mut answer = self.core.ask(request);
        match &mut answer {
            Answer::Listed(listed) => {
                listed.reverse();
                let numbered = listed.iter_mut().zip(1..);
                numbered.for_each(|(one, number)| one.number = number);
            }
            Answer::Diffed { entries, .. } => entries.retain(|one| one.change != Change::Added),
            Answer::Restored(said) => {
                let dir = request.dir().map(|dir| OsStr::from_bytes(dir).to_owned());
                let path = said.restored.first().map(|path| OsStr::from_bytes(path).to_owned());
                if let (Some(dir), Some(path)) = (dir, path) {
                    let _ = std::fs::remove_file(self.work.join(dir).join(path));
                }
            }
            _ => {}
        }
        answer
    }
}

#[test]
fn what_a_hook_of_the_user_stops_is_found_beside_it() {
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        let core = CoreSubject::new(sandbox, settings, seconds);
        let hook = sandbox.root().join("hostile/hooks/reference-transaction");
        Box::new(FourBugs { core, hook, work: sandbox.root().join("work") }) as Box<dyn Subject>
    };
    let plan = Plan {
        seeds: vec![1],
        histories: 40,
        options: Options::default(),
        kept: Vec::new(),
        cases: Vec::new(),
        jobs: 2,
        shrink_budget: BUDGET_DEFAULT,
        time_budget: None,
        known: BTreeSet::new(),
        share: Share::default(),
    };
    let capabilities = Capabilities::none().with("checkpoint").with("diff").with("restore.report");
    let found = run_suite(&plan.within(&capabilities), &open, &Scratch::default_place(), &|_| {});
    let found = found.unwrap();
    let named: BTreeSet<&str> = found.failures.keys().map(|one| &one.rule[..]).collect();
    let four = ["diff/preview", "isolation/user-config", "list/newest-first", "restore/bytes"];
    assert_eq!(named, four.into(), "{:#?}", found.failures);
    for (fingerprint, failure) in &found.failures {
        assert_eq!(failure.reproduced, Some(3), "{fingerprint}");
        let in_plain_home = fingerprint.rule != "isolation/user-config";
        assert_eq!(failure.shrunk.history.plain_home, in_plain_home, "{fingerprint}");
        let says = failure.asked.iter().any(|line| line.starts_with("home: without"));
        assert_eq!(says, in_plain_home, "{:#?}", failure.asked);
    }
}
