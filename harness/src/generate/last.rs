//! Fragments about tools of an agent, the printed list, the configuration file, undo and redo, and requests
//! without a usable store. They are generated last, so that no other part of a history changes.

use super::content::{self, SizeLimits};
use super::idiom::{checkpoint, project_file, restore, write};
use super::{names, repositories};
use crate::history::{Event, Operation, Target};
use herma_model::commands::composed::{self, Around, CONSTRUCTS, MENTIONS, RUNNERS, SHELLS};
use herma_model::commands::{AFTER, BEFORE, COMMANDS, UNLISTED};
use herma_model::tool::{PatchForm, Tool};
use herma_model::{ByteString, Edit, Request};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// The path of the configuration file.
const CONFIGURATION: &str = "home/.hermes/config.yaml";

/// Fragments that are appended as far as the history has room for them.
pub fn fragments(maintenance: bool) -> BoxedStrategy<Vec<Vec<Operation>>> {
    let generated = (
        option::weighted(0.4, tools()),
        option::weighted(0.3, printed()),
        option::weighted(0.15, without_backend()),
        option::weighted(0.15, configured()),
        option::weighted(0.25, pruned_as_configured()),
    );
    generated
        .prop_map(move |(tools, printed, without, configured, pruned)| {
            let pruned = pruned.filter(|_| maintenance);
            [tools, printed, without, configured, pruned].into_iter().flatten().collect()
        })
        .boxed()
}

/// One or two tools in one turn, in a changed project.
fn tools() -> BoxedStrategy<Vec<Operation>> {
    let changed = select(vec!["work/alpha/src/a.txt", "work/beta/a.txt", "work/beta/src/a.txt"]);
    let choices = (changed, 0..1_000u32, any::<bool>(), vec(tool(), 1..=2), names::project());
    choices
        .prop_map(|(changed, number, new_turn, tools, listed)| {
            let content = ByteString::from(&*format!("{number}\n"));
            let mut operations = vec![write(&changed.into(), &content, false)];
            operations.extend(new_turn.then(|| Request::NewTurn.into()));
            operations.extend(tools);
            operations.push(Request::List { dir: listed }.into());
            operations
        })
        .boxed()
}

/// A command that no list of programs names, alone or between commands that change nothing.
pub fn unlisted() -> BoxedStrategy<Vec<Operation>> {
    let around =
        |commands: &'static [&'static str]| prop_oneof![2 => Just(""), 1 => select(commands)];
    (around(BEFORE), select(UNLISTED), around(AFTER))
        .prop_map(|(before, command, after)| {
            vec![Request::Classify { command: format!("{before}{command}{after}") }.into()]
        })
        .boxed()
}

/// A command that the grammar of [`composed`] composes.
pub fn composed() -> BoxedStrategy<Vec<Operation>> {
    let some = |around: &'static [Around], most: usize| vec(select(around), 0..=most);
    let joined = |(first, second): (Vec<Around>, Vec<Around>)| [first, second].concat();
    let inner = (some(RUNNERS, 2), some(CONSTRUCTS, 2)).prop_map(joined);
    // Only a shell makes one command of a line, which another program can run.
    let shell = (vec(select(SHELLS), 1), some(RUNNERS, 1)).prop_map(joined);
    let shell = option::weighted(0.3, shell).prop_map(Option::unwrap_or_default);
    let outer = (some(CONSTRUCTS, 1), some(MENTIONS, 1)).prop_map(joined);
    let outer = option::weighted(0.4, outer).prop_map(Option::unwrap_or_default);
    let around =
        (inner, shell, outer).prop_map(|(inner, shell, outer)| [inner, shell, outer].concat());
    let around = option::weighted(0.7, around).prop_map(Option::unwrap_or_default);
    (select(composed::simple()), around)
        .prop_map(|(simple, around)| {
            let around = around.into_iter();
            let command = around.fold(simple, |inside: String, around: Around| {
                around.of(&inside).unwrap_or(inside)
            });
            vec![Request::Classify { command }.into()]
        })
        .boxed()
}

/// A file that only the user's own list of git excludes, or whose name is not ASCII, is captured, removed and
/// restored.
pub fn rare(limits: SizeLimits) -> BoxedStrategy<Vec<Operation>> {
    const NAMES: &[&str] =
        &["\u{fc}mlaut", "\u{65e5}\u{672c}/\u{8a9e}.txt", "na\u{ef}ve \u{1f980}.rs"];
    let named = (project_file(limits), select(NAMES)).prop_map(|(file, name)| {
        let path = names::join(&file.project, &name.into());
        vec![
            write(&path, &file.content, false),
            checkpoint(&file.project),
            Edit::Remove { path }.into(),
            restore(&file.project, 1, true),
        ]
    });
    let excluded = project_file(limits).prop_map(repositories::a_path_is_excluded_by_git_only);
    prop_oneof![named, excluded].boxed()
}

/// A checkpoint of a project, and restores of which some are undone and redone, with edits between.
pub fn steps() -> BoxedStrategy<Vec<Operation>> {
    let choices = (names::project(), 0..1_000u32, any::<bool>(), vec((0..12u32, 0..4u32), 2..=6));
    choices
        .prop_map(|(dir, number, exact, steps)| {
            let a = names::join(&dir, &"a.txt".into());
            let b = names::join(&dir, &"b.txt".into());
            let write = |path: &ByteString, number: u32| {
                write(path, &ByteString::from(&*format!("{number}\n")), false)
            };
            let target = || Target::Number(1);
            let restore =
                || Request::Restore { dir: dir.clone(), target: target(), exact, force: false };
            let step = |(step, number)| match step {
                0..=4 => Request::Undo { dir: dir.clone() }.into(),
                5..=7 => Request::Redo { dir: dir.clone() }.into(),
                8 => restore().into(),
                9 => {
                    let path = "a.txt".into();
                    Request::RestoreFile { dir: dir.clone(), target: target(), path }.into()
                }
                10 => write(&a, number),
                _ => write(&b, number),
            };
            let mut operations = vec![write(&a, number), checkpoint(&dir), write(&b, number)];
            operations.push(Edit::Remove { path: a.clone() }.into());
            operations.push(restore().into());
            operations.extend(steps.into_iter().map(step));
            operations.push(Request::List { dir: dir.clone() }.into());
            operations
        })
        .boxed()
}

/// A tool in a project, in a folder of a project, or above both projects.
fn tool() -> BoxedStrategy<Operation> {
    let inside: &[&str] = &["a.txt", "src/a.txt", "src/main.rs", "new/a.txt"];
    let above: &[&str] = &["alpha/a.txt", "alpha/src/a.txt", "beta/a.txt", "beta/src/a.txt"];
    let directories = vec![
        ("work/alpha", inside),
        ("work/alpha/src", inside),
        ("work/beta", inside),
        ("work/beta/src", inside),
        ("work", above),
        ("work", above),
    ];
    select(directories)
        .prop_flat_map(|(dir, files)| {
            let form = select(vec![PatchForm::Envelope, PatchForm::Git, PatchForm::Unified]);
            let tool = prop_oneof![
                2 => select(files).prop_map(|path| Tool::WriteFile { path: path.into() }),
                3 => (form, subsequence(files, 1..=3).prop_shuffle()).prop_map(|(form, files)| {
                    let files = files.into_iter().map(ByteString::from).collect();
                    Tool::Patch { form, files }
                }),
                3 => select(COMMANDS).prop_map(|(command, _)| {
                    Tool::Terminal { command: (*command).to_owned() }
                }),
            ];
            tool.prop_map(move |tool| Request::BeforeTool { dir: dir.into(), tool }.into())
        })
        .boxed()
}

/// The printed list, mostly after one more checkpoint with any reason.
fn printed() -> BoxedStrategy<Vec<Operation>> {
    (names::project(), option::of((0..1_000u32, content::reason())))
        .prop_map(|(dir, more)| {
            let mut operations = Vec::new();
            if let Some((number, reason)) = more {
                let content = ByteString::from(&*format!("{number}\n"));
                operations.push(write(&names::join(&dir, &"a.txt".into()), &content, false));
                operations.push(Request::Checkpoint { dir: dir.clone(), reason }.into());
            }
            operations.push(Request::PrintList { dir }.into());
            operations
        })
        .boxed()
}

fn without_backend() -> BoxedStrategy<Vec<Operation>> {
    (names::dir(), content::reason())
        .prop_map(|(dir, reason)| vec![Request::WithoutBackend { dir, reason }.into()])
        .boxed()
}

/// A configuration file that sets some keys, sometimes besides sections that do not concern checkpoints.
fn configuration(keys: Vec<&'static str>) -> BoxedStrategy<Operation> {
    let choices = (subsequence(keys.clone(), 1..=keys.len()), vec(0..40u32, 8), any::<bool>());
    choices
        .prop_map(|(keys, numbers, has_other_section)| {
            let mut text =
                if has_other_section { "model:\n  name: \"any\"\n" } else { "" }.to_owned();
            text.push_str("checkpoints:\n");
            for (key, number) in keys.into_iter().zip(numbers) {
                let value = match key {
                    "enabled" | "auto_prune" | "delete_orphans" => (number % 2 == 0).to_string(),
                    _ => (number + 1).to_string(),
                };
                text.push_str(&format!("  {key}: {value}\n"));
            }
            write(&CONFIGURATION.into(), &ByteString::from(&*text), false)
        })
        .boxed()
}

/// Reads the configuration from a file, or the defaults without a file.
fn configured() -> BoxedStrategy<Vec<Operation>> {
    let keys = vec![
        "enabled",
        "max_snapshots",
        "max_total_size_mb",
        "max_file_size_mb",
        "auto_prune",
        "retention_days",
        "delete_orphans",
        "min_interval_hours",
    ];
    option::weighted(0.8, configuration(keys))
        .prop_map(|file| file.into_iter().chain([Request::Configured.into()]).collect())
        .boxed()
}

/// A project that was not used for days, and a prune with the retention of the configuration file.
fn pruned_as_configured() -> BoxedStrategy<Vec<Operation>> {
    const DAY: i64 = 24 * 60 * 60;
    let file = option::weighted(0.8, configuration(vec!["retention_days", "delete_orphans"]));
    (file, names::project(), 0..1_000u32, 1..20i64)
        .prop_map(|(file, dir, number, days)| {
            let content = ByteString::from(&*format!("{number}\n"));
            let mut operations: Vec<Operation> = file.into_iter().collect();
            operations.extend([
                write(&names::join(&dir, &"a.txt".into()), &content, false),
                checkpoint(&dir),
                Event::Advance { seconds: days * DAY + 1 }.into(),
                Request::PruneAsConfigured.into(),
                Request::List { dir }.into(),
            ]);
            operations
        })
        .boxed()
}
