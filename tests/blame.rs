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

/// A core whose refusals of a single path are all an error without a reason.
struct Unreasoned(CoreSubject);

impl Subject for Unreasoned {
    fn identity(&self) -> Identity {
        Identity::new("unreasoned", "1.0.0")
    }

    fn ask(&mut self, request: &Request) -> Answer {
        match self.0.ask(request) {
            Answer::Refused { message, changed, .. }
                if matches!(request, Request::RestoreFile { .. }) =>
            {
                Answer::Refused { code: Code::Internal, message, changed }
            }
            answer => answer,
        }
    }
}

// rule: capture/special
#[test]
fn a_special_file_is_blamed_for_no_refusal_that_comes_without_it() {
    let history = "operations:\n\
        - make_special: {path: work/alpha/a}\n\
        - write: {path: work/alpha/b, content: x}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - restore_file: {dir: work/alpha, target: {number: 1}, path: b/c}\n";
    let history = from_yaml(history, Path::new("history")).unwrap();
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        Box::new(Unreasoned(CoreSubject::new(sandbox, settings, seconds))) as Box<dyn Subject>
    };
    let found = trial(&history, &open, &Scratch::default_place()).unwrap();
    assert_eq!(found.run.divergences[0].rule.id, "restore/file-only");
}

/// What the core claims but for a store that plain git can read, and a bound on its size.
fn readable_by_nobody() -> Capabilities {
    Capabilities::of_the_core().without("layout").without("settings.max_total_bytes")
}

/// A core with four bugs: where the home names hooks, the one for changed refs is run before each
/// manual checkpoint and stops it; reasons are listed otherwise; a preview has no new files; and a
/// restore names nothing that it brought back.
struct FourBugs {
    core: CoreSubject,
    hook: PathBuf,
}

impl Subject for FourBugs {
    fn identity(&self) -> Identity {
        Identity::new("four-bugs", "1.0.0")
    }

    fn capabilities(&self) -> Capabilities {
        readable_by_nobody()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let takes = matches!(request, Request::Checkpoint { .. });
        if takes && self.hook.is_file() && !Command::new(&self.hook).status().unwrap().success() {
            let (code, message) = (Code::Internal, "aborted by hook".into());
            return Answer::Refused { code, message, changed: Changed::None };
        }
        let mut answer = self.core.ask(request);
        match &mut answer {
            Answer::Listed(listed) => listed.iter_mut().for_each(|one| one.reason.push('!')),
            Answer::Diffed { entries, .. } => entries.retain(|one| one.change != Change::Added),
            Answer::Restored(said) => said.restored.clear(),
            _ => {}
        }
        answer
    }
}

#[test]
fn what_a_hook_of_the_user_stops_is_found_beside_it() {
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        let settings = readable_by_nobody().restrict_settings(settings);
        let core = CoreSubject::new(sandbox, &settings, seconds);
        let hook = sandbox.root().join("hostile/hooks/reference-transaction");
        Box::new(FourBugs { core, hook }) as Box<dyn Subject>
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
    let found = run_suite(&plan, &open, &Scratch::default_place(), &|_| {}).unwrap();
    let named: BTreeSet<&str> = found.failures.keys().map(|one| &one.rule[..]).collect();
    let four = ["capture/reason", "diff/preview", "isolation/user-config", "restore/honest"];
    assert_eq!(named, four.into(), "{:#?}", found.failures);
    for (fingerprint, failure) in &found.failures {
        assert_eq!(failure.reproduced, Some(3), "{fingerprint}");
        let plain = failure.shrunk.history.plain_home;
        let says = failure.asked.iter().any(|line| line.starts_with("home: without"));
        assert_eq!(says, plain, "{:#?}", failure.asked);
        assert!(!plain || fingerprint.rule != "isolation/user-config");
    }
}
