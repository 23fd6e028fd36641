//! Blame: a failure is attributed to a file name, or to the user's configuration, only if the same history
//! passes without it.
#![allow(clippy::unwrap_used)]

use herma_harness::history::file::from_yaml;
use herma_harness::planted::find;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::results::{Results, SCHEMA, Started, text};
use herma_harness::runner::Until;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::share::Share;
use herma_harness::subject::{Call, CoreSubject, HookedDisk, Identity, NewSubject, Subject};
use herma_harness::suite::{Plan, Reproduced, run_suite};
use herma_harness::trial::trial;
use herma_model::answer::{Change, Changed};
use herma_model::{Answer, Code, Request, Settings};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// A core that does not find the project files whose names match.
fn blind(
    is_lost: fn(&[u8]) -> bool,
) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
    move |sandbox, settings, seconds| {
        let hook = move |call, path: &Path| {
            let name = path.file_name().unwrap_or(OsStr::new("")).as_bytes();
            match call == Call::Stat && is_lost(name) {
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
fn trial_blames_a_file_name_only_if_a_plain_name_is_captured() {
    let history = "operations:\n\
        - write: {path: work/alpha/a, content: x}\n\
        - write: {path: work/alpha/b c.txt, content: x}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n";
    let history = from_yaml(history, Path::new("history")).unwrap();
    let blamed = |is_lost| {
        let outcome =
            trial(&history, &blind(is_lost), &Scratch::in_default_directory(), Until::Disagreement)
                .unwrap();
        outcome.run.divergences[0].rule.id
    };
    assert_eq!(blamed(|name| name.contains(&b' ')), "capture/any-name");
    assert_eq!(blamed(|name| name.ends_with(b".txt")), "capture/independent");
}

/// A core whose list has wrong reasons and, in a home without a git configuration, also wrong times.
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
            for entry in listed {
                entry.reason.push('!');
                entry.time += i64::from(self.plain);
            }
        }
        answer
    }
}

#[test]
fn a_second_failure_in_a_plain_home_is_not_blamed_on_the_configuration() {
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
    let found =
        trial(&history, &open, &Scratch::in_default_directory(), Until::Disagreement).unwrap();
    let shown: Vec<&str> =
        found.run.divergences.iter().map(|divergence| divergence.rule.id).collect();
    assert_eq!(shown, ["capture/reason"]);
    let plain: Vec<&str> = found.plain.iter().map(|divergence| divergence.rule.id).collect();
    assert_eq!(plain, ["list/time"]);
}

/// A core that refuses every restore of a single path with an internal error.
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
fn a_special_file_is_not_blamed_for_a_refusal_that_occurs_without_it() {
    let history = "operations:\n\
        - make_special: {path: work/alpha/a}\n\
        - write: {path: work/alpha/b, content: x}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - restore_file: {dir: work/alpha, target: {number: 1}, path: b/c}\n";
    let history = from_yaml(history, Path::new("history")).unwrap();
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        Box::new(Unreasoned(CoreSubject::new(sandbox, settings, seconds))) as Box<dyn Subject>
    };
    let found =
        trial(&history, &open, &Scratch::in_default_directory(), Until::Disagreement).unwrap();
    assert_eq!(found.run.divergences[0].rule.id, "restore/file-only");
}

/// The capabilities of the core without the git layout of the store and without a store size limit.
fn opaque_store_capabilities() -> Capabilities {
    Capabilities::of_the_core().without("layout").without("settings.max_total_bytes")
}

/// A core with four bugs: if the home configures hooks, the hook for changed refs runs before each manual
/// checkpoint and can abort it; listed reasons are wrong; a preview omits new files; and a restore does not
/// report the paths that it restored.
struct FourBugs {
    core: CoreSubject,
    hook: PathBuf,
}

impl Subject for FourBugs {
    fn identity(&self) -> Identity {
        Identity::new("four-bugs", "1.0.0")
    }

    fn capabilities(&self) -> Capabilities {
        opaque_store_capabilities()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let is_checkpoint = matches!(request, Request::Checkpoint { .. });
        if is_checkpoint
            && self.hook.is_file()
            // By `sh`: a file that was just written may still be open in a process that another test starts.
            && !Command::new("sh").arg(&self.hook).status().unwrap().success()
        {
            let code = Code::Internal;
            let message = "aborted by hook".into();
            return Answer::Refused { code, message, changed: Changed::None };
        }
        let mut answer = self.core.ask(request);
        match &mut answer {
            Answer::Listed(listed) => listed.iter_mut().for_each(|entry| entry.reason.push('!')),
            Answer::Diffed { entries, .. } => entries.retain(|entry| entry.change != Change::Added),
            Answer::Restored(restored) => restored.restored.clear(),
            _ => {}
        }
        answer
    }
}

fn short_plan() -> Plan {
    crate::adapters::plan(1, 20)
}

#[test]
fn run_suite_finds_the_failures_that_an_aborting_user_hook_would_hide() {
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        let settings = opaque_store_capabilities().restrict_settings(settings);
        let core = CoreSubject::new(sandbox, &settings, seconds);
        let hook = sandbox.root().join("hostile/hooks/reference-transaction");
        Box::new(FourBugs { core, hook }) as Box<dyn Subject>
    };
    let found = run_suite(&short_plan(), &open, &Scratch::in_default_directory(), &|_| {}).unwrap();
    let broken: BTreeSet<&str> =
        found.failures.keys().map(|fingerprint| &fingerprint.rule[..]).collect();
    let expected = ["capture/reason", "diff/preview", "isolation/user-config", "restore/honest"];
    assert_eq!(broken, expected.into(), "{:#?}", found.failures);
    for (fingerprint, failure) in &found.failures {
        assert_eq!(failure.reproduced, Some(Reproduced { times: 3, of: 3 }), "{fingerprint}");
        let plain_home = failure.shrunk.history.plain_home;
        let reports_plain_home = failure.asked.iter().any(|line| line.starts_with("home: without"));
        assert_eq!(reports_plain_home, plain_home, "{:#?}", failure.asked);
        assert!(!plain_home || fingerprint.rule != "isolation/user-config");
    }
}

/// A core with a planted bug, and with few capabilities; with a second bug, its previews show no change at all.
struct FewClaims {
    core: Box<dyn Subject>,
    has_second_bug: bool,
}

impl FewClaims {
    fn opener(
        bug: &str,
        has_second_bug: bool,
    ) -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
        let open = find(bug).unwrap().opener();
        move |sandbox, settings, seconds| {
            let settings = opaque_store_capabilities().restrict_settings(settings);
            let core = open(sandbox, &settings, seconds);
            Box::new(FewClaims { core, has_second_bug })
        }
    }
}

impl Subject for FewClaims {
    fn identity(&self) -> Identity {
        Identity::new("few-claims", "1.0.0")
    }

    fn capabilities(&self) -> Capabilities {
        let few = [
            "capture.default_excludes",
            "capture.gitignore",
            "capture.no_repositories",
            "checkpoint",
            "diff",
            "restore.exact",
            "restore.file",
            "restore.report",
            "settings.max_file_bytes",
            "take.declines_empty",
            "target.number",
        ];
        few.into_iter().fold(Capabilities::none(), Capabilities::with)
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let mut answer = self.core.ask(request);
        match &mut answer {
            Answer::Diffed { entries, .. } if self.has_second_bug => entries.clear(),
            _ => {}
        }
        answer
    }
}

/// A new link that is restored, removed, and previewed.
const LINKS: [&str; 3] = [
    "- write: {path: work/alpha/b, content: x}\n\
     - link: {path: work/alpha/a, target: x}\n\
     - checkpoint: {dir: work/alpha, reason: r}\n\
     - remove: {path: work/alpha/a}\n\
     - restore: {dir: work/alpha, target: {number: 1}}\n",
    "- write: {path: work/alpha/b, content: x}\n\
     - checkpoint: {dir: work/alpha, reason: r}\n\
     - link: {path: work/alpha/a, target: x}\n\
     - restore: {dir: work/alpha, target: {number: 1}, exact: true}\n",
    "- write: {path: work/alpha/b, content: x}\n\
     - checkpoint: {dir: work/alpha, reason: r}\n\
     - link: {path: work/alpha/a, target: x}\n\
     - diff: {dir: work/alpha, target: {number: 1}}\n",
];

/// The results of these histories.
fn results_of_links(open: &NewSubject<'_>, uses_git: bool) -> Results {
    let history = |text: &&str| {
        let text = format!("operations:\n{text}");
        (String::new(), from_yaml(&text, Path::new("history")).unwrap())
    };
    let plan = Plan { histories: 0, kept: LINKS.iter().map(history).collect(), ..short_plan() };
    let findings = run_suite(&plan, open, &Scratch::in_default_directory(), &|_| {}).unwrap();
    let started = Started {
        schema: SCHEMA,
        suite: String::new(),
        subject: findings.subject.clone(),
        capabilities: Vec::new(),
        uses_git,
        seeds: vec![1],
        histories: 20,
        operations: 60,
        inject: false,
        cases_of: None,
        preset: String::new(),
        kept: 0,
        canary: findings.failures.keys().next().unwrap().clone(),
        share: Share::default(),
        replay: String::new(),
    };
    Results::of(started, &findings, |_| String::new())
}

/// The rules of each entry of the failures in these histories.
fn rules_of_entries(open: &NewSubject<'_>) -> Vec<Vec<String>> {
    let results = results_of_links(open, false);
    let entries = results.entries();
    let rules = entries
        .iter()
        .map(|entry| entry.fingerprints().map(|fingerprint| fingerprint.rule.clone()).collect());
    rules.collect()
}

#[test]
fn entries_has_one_entry_for_links_that_a_store_does_not_see() {
    let rules = rules_of_entries(&FewClaims::opener("links-are-left-out", false));
    assert_eq!(rules, [["restore/type", "restore/exact", "diff/preview"]]);
}

#[test]
fn entries_has_two_entries_for_two_bugs_even_if_a_link_shows_both() {
    let rules = rules_of_entries(&FewClaims::opener("links-are-left-out", true));
    assert_eq!(rules, [vec!["restore/type", "restore/exact"], vec!["diff/preview"]]);
}

#[test]
fn hints_of_results_mention_git_only_if_the_store_uses_git() {
    for uses_git in [false, true] {
        let results = results_of_links(&FewClaims::opener("links-are-left-out", true), uses_git);
        let exact =
            results.failures.iter().find(|failure| failure.fingerprint.rule == "restore/exact");
        let hint = exact.and_then(|failure| failure.hint.as_deref()).unwrap();
        assert!(hint.starts_with("Only files known from before are removed"), "{hint}");
        let page = herma_harness::html::page(std::slice::from_ref(&results)).unwrap();
        for printed in [hint, &text::report(&results, text::Style::default()), &page] {
            assert_eq!(printed.contains("With git"), uses_git, "{printed}");
        }
    }
}

// rule: capture/nested-repository
#[test]
fn trial_blames_a_nested_repository_only_if_its_files_are_restored_without_its_git() {
    const REPOSITORY: &str = "operations:\n\
        - write: {path: work/alpha/nested/.git/HEAD, content: x}\n";
    let restored_alone = "- write: {path: work/alpha/nested/code, content: '1'}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - write: {path: work/alpha/nested/code, content: '2'}\n\
        - restore_file: {dir: work/alpha, target: {number: 1}, path: nested/code}\n";
    // The older checkpoint would have been restored to the files as they are.
    let like_another_checkpoint = "- write: {path: work/alpha/a, content: '1'}\n\
        - write: {path: work/alpha/nested/code, content: '1'}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - write: {path: work/alpha/a, content: '2'}\n\
        - write: {path: work/alpha/nested/code, content: '2'}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - restore: {dir: work/alpha, target: {number: 2}}\n";
    let link = "- link: {path: work/alpha/nested/l, target: x}\n\
        - write: {path: work/alpha/a, content: '1'}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - remove: {path: work/alpha/nested/l}\n\
        - restore: {dir: work/alpha, target: {number: 1}}\n";
    let lost = "a-nested-repository-is-lost";
    for (bug, operations, expected) in [
        (lost, restored_alone, "capture/nested-repository"),
        (lost, like_another_checkpoint, "capture/nested-repository"),
        ("links-are-left-out", link, "restore/type"),
    ] {
        let text = format!("{REPOSITORY}{operations}");
        let history = from_yaml(&text, Path::new("history")).unwrap();
        let open = FewClaims::opener(bug, false);
        let scratch = Scratch::in_default_directory();
        let found = trial(&history, &open, &scratch, Until::Disagreement).unwrap();
        let rules: Vec<&str> =
            found.run.divergences.iter().map(|divergence| divergence.rule.id).collect();
        assert_eq!(rules, [expected], "{:#?}", found.run.divergences);
    }
}

/// A store with opaque checkpoints that leaves out whatever was once too large, for ever.
fn leaving_out_for_ever() -> impl Fn(&Sandbox, &Settings, i64) -> Box<dyn Subject> + Sync {
    |sandbox, settings, seconds| {
        let settings = opaque_store_capabilities().restrict_settings(settings);
        let limit = settings.max_file_bytes;
        let left_out = Mutex::new(BTreeSet::new());
        let hook = move |call, path: &Path| {
            let mut left_out = left_out.lock().unwrap();
            let is_file = |found: &Metadata| found.is_file() && found.len() > limit;
            if path.symlink_metadata().is_ok_and(|found| is_file(&found)) {
                left_out.insert(path.to_owned());
            }
            match call == Call::Stat && left_out.contains(path) {
                true => Err(io::ErrorKind::NotFound.into()),
                false => Ok(()),
            }
        };
        let environment = CoreSubject::environment_in(sandbox);
        let disk = Arc::new(HookedDisk::new(hook));
        let core = CoreSubject::in_environment(disk, environment, &settings, seconds);
        Box::new(FewClaims { core: Box::new(core), has_second_bug: false })
    }
}

// rule: capture/size-cap
#[test]
fn trial_blames_the_size_limit_only_if_the_file_is_restored_where_it_never_exceeded_it() {
    const ONCE_TOO_LARGE: &str = "settings: {max_file_bytes: 28}\n\
        operations:\n\
        - write: {path: work/alpha/a, content: a file that is larger than the limit}\n\
        - write: {path: work/alpha/b, content: '1'}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - write: {path: work/alpha/a, content: '1'}\n\
        - write: {path: work/alpha/b, content: '2'}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n";
    let restored = "- remove: {path: work/alpha/a}\n\
        - restore: {dir: work/alpha, target: {number: 1}}\n";
    let previewed = "- remove: {path: work/alpha/a}\n\
        - diff: {dir: work/alpha, target: {number: 1}}\n";
    let link = "- link: {path: work/alpha/l, target: x}\n\
        - write: {path: work/alpha/b, content: '3'}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - remove: {path: work/alpha/l}\n\
        - restore: {dir: work/alpha, target: {number: 1}}\n";
    let blamed = |operations: &str, open: &NewSubject<'_>| {
        let text = format!("{ONCE_TOO_LARGE}{operations}");
        let history = from_yaml(&text, Path::new("history")).unwrap();
        let scratch = Scratch::in_default_directory();
        let found = trial(&history, open, &scratch, Until::Disagreement).unwrap();
        let rules = found.run.divergences.iter().map(|divergence| divergence.rule.id);
        rules.collect::<Vec<_>>()
    };
    assert_eq!(blamed(restored, &leaving_out_for_ever()), ["capture/size-cap"]);
    assert_eq!(blamed(previewed, &leaving_out_for_ever()), ["capture/size-cap"]);
    let links_are_left_out = FewClaims::opener("links-are-left-out", false);
    assert_eq!(blamed(link, &links_are_left_out), ["restore/type"]);
}
