//! Questions about capabilities: a failure that a capability would explain comes with the question whether the
//! implementation has that capability.
#![allow(clippy::unwrap_used)]

use herma_harness::history::History;
use herma_harness::history::file::from_yaml;
use herma_harness::protocol::capabilities::Capabilities;
use herma_harness::sandbox::{Sandbox, Scratch};
use herma_harness::subject::{CoreSubject, Identity, Subject};
use herma_harness::suite::{Plan, run_suite};
use herma_model::{Answer, Request, Settings};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The capabilities of the core that are about the content of a checkpoint.
fn core_capabilities() -> Capabilities {
    let claims = [
        "capture.default_excludes",
        "capture.gitignore",
        "capture.no_repositories",
        "checkpoint",
        "restore.exact",
        "restore.leaves_new",
        "settings.max_file_bytes",
        "take.declines_empty",
        "target.number",
    ];
    claims.into_iter().fold(Capabilities::none(), Capabilities::with)
}

/// What a core does in a restore.
#[derive(Clone, Copy, PartialEq)]
enum Habit {
    Nothing,
    LeavesNew,
    /// It loses the file `a` if the file has at least so many bytes.
    LosesFrom(u64),
    /// It lists nothing after a restore.
    Consumes,
}

/// A core with such a habit.
struct Unclaimed {
    core: CoreSubject,
    capabilities: Capabilities,
    habit: Habit,
    file: PathBuf,
    restored: bool,
}

impl Subject for Unclaimed {
    fn identity(&self) -> Identity {
        Identity::new("unclaimed", "1.0.0")
    }

    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn ask(&mut self, request: &Request) -> Answer {
        let mut request = request.clone();
        if self.habit == Habit::Consumes && self.restored && matches!(request, Request::List { .. })
        {
            return Answer::Listed(Vec::new());
        }
        let Request::Restore { exact, .. } = &mut request else { return self.core.ask(&request) };
        *exact &= self.habit != Habit::LeavesNew;
        self.restored = true;
        let answer = self.core.ask(&request);
        if let Habit::LosesFrom(bytes) = self.habit
            && self.file.metadata().is_ok_and(|metadata| metadata.len() >= bytes)
        {
            std::fs::remove_file(&self.file).unwrap();
        }
        answer
    }
}

/// The questions that a run of one history on such a core asks.
fn questions(history: &str, capabilities: &Capabilities, habit: Habit) -> BTreeSet<String> {
    let open = |sandbox: &Sandbox, settings: &Settings, seconds| {
        let core = CoreSubject::new(sandbox, settings, seconds);
        let file = sandbox.root().join("work/alpha/a");
        let capabilities = capabilities.clone();
        Box::new(Unclaimed { core, capabilities, habit, file, restored: false }) as Box<dyn Subject>
    };
    let text = format!("operations:\n{history}");
    let history: History = from_yaml(&text, Path::new("history")).unwrap();
    let plan =
        Plan { kept: vec![("kept".into(), history)], jobs: 1, ..crate::adapters::plan(1, 0) };
    let found = run_suite(&plan, &open, &Scratch::in_default_directory(), &|_| {}).unwrap();
    found.failures.into_values().filter_map(|failure| failure.question).collect()
}

/// A history in which a restore brings a file back, after these edits before its checkpoint.
fn restored(file: &str, content: &str, before: &str) -> String {
    format!(
        "- write: {{path: work/alpha/c, content: x}}\n\
         {before}- write: {{path: work/alpha/{file}, content: \"{content}\"}}\n\
         - checkpoint: {{dir: work/alpha, reason: r}}\n\
         - remove: {{path: work/alpha/{file}}}\n\
         - restore: {{dir: work/alpha, target: {{number: 1}}}}\n"
    )
}

#[test]
fn question_names_a_capability_that_is_not_claimed_and_explains_the_failure() {
    let ignore = "- write: {path: work/alpha/.gitignore, content: a}\n";
    let left = "- write: {path: work/alpha/b, content: x}\n\
        - checkpoint: {dir: work/alpha, reason: r}\n\
        - write: {path: work/alpha/a, content: x}\n\
        - restore: {dir: work/alpha, target: {number: 1}, exact: true}\n";
    for (claim, history) in [
        ("capture.gitignore", restored("a", "x", ignore)),
        ("capture.no_repositories", restored("b/.git", "gitdir: c", "")),
        ("capture.default_excludes", restored("a.log", "x", "")),
        ("settings.max_file_bytes", restored("a", &"x".repeat(300_000), "")),
        ("restore.leaves_new", left.to_owned()),
    ] {
        let habit = match claim {
            "restore.leaves_new" => Habit::LeavesNew,
            "settings.max_file_bytes" => Habit::LosesFrom(200_000),
            _ => Habit::Nothing,
        };
        let asked = questions(&history, &core_capabilities().without(claim), habit);
        let ending = format!("If so, claim `{claim}`.");
        assert!(!asked.is_empty(), "{claim}");
        assert!(asked.iter().all(|question| question.ends_with(&ending)), "{claim}: {asked:?}");
        let asked = questions(&history, &core_capabilities(), habit);
        assert!(asked.is_empty(), "{claim}: {asked:?}");
    }
}

#[test]
fn question_is_none_if_the_shortest_history_needs_nothing_that_a_capability_is_about() {
    let capabilities = core_capabilities().without("capture.gitignore");
    let before = "- write: {path: work/alpha/.gitignore, content: b}\n\
        - write: {path: work/alpha/x.log, content: x}\n";
    let asked = questions(&restored("a", "x", before), &capabilities, Habit::LosesFrom(0));
    assert_eq!(asked, BTreeSet::new());
}

#[test]
fn question_about_a_list_without_the_restored_checkpoint_asks_whether_each_can_be_restored_once() {
    let history = restored("a", "x", "") + "- list: {dir: work/alpha}\n";
    let asked = questions(&history, &core_capabilities(), Habit::Consumes);
    let expected = "checkpoints are gone after a restore: can each be restored once? \
        If so, claim `restore.consumes`.";
    assert_eq!(asked, BTreeSet::from([expected.to_owned()]));
    let claimed = core_capabilities().with("restore.consumes");
    assert_eq!(questions(&history, &claimed, Habit::Consumes), BTreeSet::new());
}
