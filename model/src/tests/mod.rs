//! The model as its caller uses it: what it allows, how it judges what was seen, and what the world
//! learns of that. One file for each subject.

mod agent;
mod amiss;
mod base;
mod blame;
mod checkpoint;
mod configured;
mod cost;
mod damage;
mod edited;
mod hands;
mod injected;
mod learn;
mod left_out;
mod listing;
mod outside;
mod overlapped;
mod printed;
mod restore;
mod restored;
mod restored_files;
mod rolled_back;
mod said;
mod scope;
mod size;
mod status;
mod store;
mod sweep;
mod together;
mod tools;
mod units;
mod untouched;
mod words;

use crate::agent::{Action, AgentEvent, Compensation, HIGH_RISK, Part};
use crate::allowed::{Allowed, AllowedStats, CheckpointKind};
use crate::answer::{
    Answer, Changed, CheckpointOutcome, Code, Counts, DiffEntry, Listed, ProjectStatus, Remark,
    Restored, Stats, SweepOutcome,
};
use crate::blame::failures;
use crate::bytes::{self, ByteString};
use crate::edit::Edit;
use crate::files::{Files, Node, SpecialKind};
use crate::lines::LineBounds;
use crate::observation::{Base, Contents, Histories, Observation, Place};
use crate::refusal::Refusal;
use crate::request::Request;
use crate::store_edit::{Damage, Likeness, StoreEdit};
use crate::tool::{PatchForm, Tool};
use crate::verdict::Checks;
use crate::world::{Layout, Settings, World};
use std::collections::BTreeSet;
use words::{edits, request};

/// When every scene begins.
const START: i64 = 1_000_000;
const DAY: i64 = 86_400;

/// Everything that the model asks whether an implementation can do it.
const CAPABILITIES: [&str; 19] = [
    "capture.default_excludes",
    "capture.gitignore",
    "capture.no_repositories",
    "checkpoint.left_out",
    "diff.stats",
    "list.reason",
    "list.stats",
    "refusal.reasons",
    "restore.file_safety",
    "restore.report",
    "restore.safety",
    "restore.undoes_turn",
    "settings.max_snapshots",
    "take.declines_empty",
    "take.skipped",
    "take.unchanged",
    "target.number",
    "target.short",
    "test.clock",
];

/// A world and a correct subject in it. Its root is `/world`, relative paths start at `work`, where
/// the projects `alpha` and `beta` are, and the base is below the home directory.
#[derive(Clone)]
struct Scene {
    world: World,
    /// How many ids were given out.
    ids: usize,
}

impl Scene {
    /// A scene with these files; see [`edits`].
    fn with(files: &str) -> Scene {
        Scene::without("", files)
    }

    /// The same of an implementation that cannot do this; names are parted by spaces.
    fn without(capabilities: &str, files: &str) -> Scene {
        let lacks: Vec<&str> = capabilities.split(' ').collect();
        Scene::able(CAPABILITIES.into_iter().filter(|one| !lacks.contains(one)).collect(), files)
    }

    /// The same of an implementation that can do this and nothing else.
    fn able(has: BTreeSet<&'static str>, files: &str) -> Scene {
        let layout = Layout {
            root: "/world".into(),
            home: "home".into(),
            current: "work".into(),
            base: "home/.hermes/checkpoints".into(),
        };
        let world = World::new(Files::default(), layout, Settings::default(), has, START);
        let mut scene = Scene { world, ids: 0 };
        scene.put("/home/ /work/alpha/ /work/beta/");
        scene.put(files);
        scene
    }

    /// The same with a checkpoint of `alpha` as these files, which holds other ones by now.
    fn changed(taken: &str, now: &str) -> Scene {
        let mut scene = Scene::with(taken);
        scene.ask("take alpha");
        scene.set(now);
        scene
    }

    fn put(&mut self, files: &str) {
        for edit in files.split_whitespace().flat_map(edits) {
            self.world.edit(&edit);
        }
    }

    /// Leaves nothing but these files in `alpha`.
    fn set(&mut self, files: &str) {
        self.put("-/work/alpha /work/alpha/");
        self.put(files);
    }

    /// Lets time pass.
    fn wait(&mut self, seconds: i64) {
        self.ask(&format!("clock {}", self.world.seconds() + seconds));
    }

    fn allows(&self, asked: &str) -> Allowed {
        self.world.allows(&request(asked))
    }

    /// Has the request done right, and learns it; answers what was allowed. A new checkpoint gets
    /// the next [`id`].
    fn ask(&mut self, asked: &str) -> Allowed {
        let seen = self.right(asked);
        assert_eq!(self.broken(&seen), "", "{asked}: {:?}", seen.answer);
        let allowed = self.world.allows(&seen.request);
        self.learn(&seen);
        allowed
    }

    fn learn(&mut self, seen: &Observation) {
        self.world.learn(seen);
        self.ids += usize::from(match &seen.answer {
            Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => true,
            Answer::Restored(restored) => restored.safety.is_some(),
            _ => false,
        });
    }

    /// The same, and what is learned is that this was answered.
    fn told(&mut self, asked: &str, answer: Answer) {
        let seen = self.seen(asked, answer);
        self.learn(&seen);
    }

    /// The rules that are broken by this answer where nothing else happened.
    fn answered(&self, asked: &str, answer: Answer) -> String {
        self.broken(&self.seen(asked, answer))
    }

    /// The rules that are broken by what was seen, causes first.
    fn broken(&self, seen: &Observation) -> String {
        broken(self.checks(seen))
    }

    fn checks(&self, seen: &Observation) -> Checks {
        self.world.compare(&self.world.allows(&seen.request), seen)
    }

    /// What is seen where this is answered, and nothing else happened.
    fn seen(&self, asked: &str, answer: Answer) -> Observation {
        Observation::new(request(asked), answer, self.world.files.clone())
    }

    /// What is seen of a correct subject.
    fn right(&self, asked: &str) -> Observation {
        let mut files = self.world.files.clone();
        let mut answer = self.right_answer(&self.allows(asked), &mut files);
        let outside = self.world.must_be_named(&request(asked));
        if let Answer::Restored(said) = &mut answer {
            said.external = (!outside.is_empty()).then(|| outside.into_iter().collect());
        }
        Observation { files, ..self.seen(asked, answer) }
    }

    /// What a store holds that has lost nothing.
    fn contents(&self) -> Contents {
        let histories = self.world.histories();
        let visible = histories.map(|(project, _)| {
            let listed = self.world.listed(project).iter().rev();
            (self.world.hash(project), listed.map(|one| one.id.clone()).collect())
        });
        Contents { visible: visible.collect(), ..Contents::default() }
    }

    /// What stands in a base that has lost nothing.
    fn base(&self) -> Base {
        let places = self.world.repositories().iter().map(|(name, one)| {
            let place = Place { archive: one.archive.clone(), whole: true };
            (name.clone(), vec![place])
        });
        Base {
            in_use: true,
            store_stands: true,
            repositories: places.collect(),
            archives: self.world.archives().keys().cloned().collect(),
            spoiled_archives: BTreeSet::new(),
            marker: true,
            strays: self.world.strays().clone(),
            lookalikes: self.world.lookalikes().clone(),
        }
    }

    /// A v1 repository stands in the base, put there before or after the store was made.
    fn repository(&mut self, name: &str, project: &str, there_is_a_store: bool) {
        let (name, project) = (name.to_owned(), project.into());
        let edit = StoreEdit::Repository { name, project, changed: START };
        self.world.edit_store(&edit, there_is_a_store);
    }

    fn archive(&mut self, name: &str) {
        self.world.edit_store(&StoreEdit::Archive { name: name.to_owned(), made: START }, true);
    }

    /// What is noted of the project is damaged.
    fn damage(&mut self, project: &str) {
        let edit = StoreEdit::Metadata { project: project.into(), damage: Damage::Garbled };
        self.world.edit_store(&edit, true);
    }

    fn right_answer(&self, allowed: &Allowed, files: &mut Files) -> Answer {
        match allowed {
            Allowed::State(due) => Answer::State(due.clone().unwrap_or_default()),
            Allowed::Compensated => Answer::Compensated(Default::default()),
            Allowed::Done | Allowed::Cleared(_) | Allowed::Unknown => Answer::Done,
            Allowed::Project { path, .. } => Answer::Project(path.clone()),
            Allowed::Classified(changes_files) => {
                Answer::Classified { changes_files: *changes_files }
            }
            Allowed::Protected(_) => Answer::Protected(Vec::new()),
            Allowed::WithoutBackend => refused(Code::StoreUnusable),
            Allowed::Printed => Answer::Printed { checkpoints: Vec::new(), printed: String::new() },
            Allowed::Configured(due) => Answer::Configured(due.clone()),
            Allowed::Checkpoint(due) => {
                let left_out = due.captured.iter().flat_map(|one| one.unreadable());
                let outcome = match due.kind {
                    CheckpointKind::Created => CheckpointOutcome::Created { id: id(self.ids + 1) },
                    CheckpointKind::Deduped => CheckpointOutcome::Deduped,
                    CheckpointKind::Unchanged => CheckpointOutcome::Unchanged,
                    CheckpointKind::Disabled => CheckpointOutcome::Disabled,
                    CheckpointKind::NotDue => CheckpointOutcome::NotDue,
                };
                Answer::Taken { outcome, skipped: left_out.cloned().map(remark).collect() }
            }
            Allowed::List(list) => {
                let listed = list.entries.iter().enumerate().map(|(index, one)| Listed {
                    number: index + 1,
                    id: one.id.clone(),
                    time: one.time,
                    reason: one.reason.clone().unwrap_or_default(),
                    stats: match one.stats {
                        AllowedStats::Within(bounds) => Some(figures(bounds)),
                        AllowedStats::None | AllowedStats::Unknown => None,
                    },
                });
                Answer::Listed(listed.collect())
            }
            Allowed::Diff(diff) => {
                let entries = diff.entries.iter();
                let entries =
                    entries.map(|(path, how)| DiffEntry { path: path.clone(), change: *how });
                Answer::Diffed { entries: entries.collect(), stats: figures(diff.stats) }
            }
            Allowed::Restore(due) => {
                let mut said = Restored {
                    safety: due.safety.0.then(|| id(self.ids + 1)),
                    forced_past: due.is_forced(),
                    undoes_turn: due.only.is_none(),
                    ..Restored::default()
                };
                let full = |path: &ByteString| ByteString(bytes::join(&due.project, path));
                for (path, entry) in &due.target.tree {
                    let asked = due.only.as_ref().is_none_or(|only| only == path);
                    if asked && files.get(&full(path)) != Some(&entry.node()) {
                        let place = full(path);
                        let obstacle = files.obstacle(&place).map(|(path, _)| path.to_vec());
                        files.remove(&obstacle.unwrap_or_else(|| place.to_vec()));
                        files.make_parents(&place);
                        files.insert(&place, entry.node());
                        said.restored.push(path.clone());
                    }
                }
                let unrecorded = &due.target.unrecorded;
                let differs =
                    |(path, then): &(&ByteString, &Node)| files.get(&full(path)) != Some(*then);
                let kept = unrecorded.iter().filter(differs).map(|(path, _)| path.clone());
                said.kept = kept.map(remark).collect();
                let created = due.before.tree.keys().filter(|path| {
                    !due.target.tree.contains_key(*path) && !unrecorded.contains_key(*path)
                });
                for path in created {
                    if due.exact && !due.is_forced() {
                        files.remove(&full(path));
                        said.removed.push(path.clone());
                    } else {
                        said.left.push(path.clone());
                    }
                }
                Answer::Restored(said)
            }
            Allowed::Sweep(due) => match due.may_decline {
                true => swept(SweepOutcome::NotDue, Counts::default()),
                false => swept(SweepOutcome::Done, Counts::default()),
            },
            Allowed::Status(due) => {
                let projects = due.projects.iter().map(|(workdir, (count, states))| {
                    let (workdir, checkpoints) = (Some(workdir.clone()), Some(*count));
                    ProjectStatus { workdir, checkpoints, state: states[0] }
                });
                let archives = due.archives.iter().cloned().collect();
                Answer::Status { projects: projects.collect(), archives }
            }
            Allowed::Refused(refusals) => refused(refusals[0].codes[0]),
        }
    }
}

/// How something is made wrong that was right.
type Spoil<'a, T> = &'a dyn Fn(&mut T);

/// The id of the checkpoint of that number in a scene.
fn id(number: usize) -> String {
    format!("{number}f").repeat(20)
}

fn remark(path: ByteString) -> Remark {
    Remark { path, why: String::new() }
}

fn figures(bounds: LineBounds) -> Stats {
    let added = bounds.added_min.max(usize::try_from(bounds.balance).unwrap_or(0));
    let removed = usize::try_from(added as i64 - bounds.balance).unwrap();
    Stats { files: bounds.files, added, removed }
}

fn refused(code: Code) -> Answer {
    Answer::Refused { code, message: String::new(), changed: Changed::None }
}

fn taken(outcome: CheckpointOutcome) -> Answer {
    Answer::Taken { outcome, skipped: Vec::new() }
}

fn created(number: usize) -> Answer {
    taken(CheckpointOutcome::Created { id: id(number) })
}

fn swept(outcome: SweepOutcome, counts: Counts) -> Answer {
    Answer::Swept { outcome, counts }
}

/// The ids of the rules that are broken, causes first.
fn broken(checks: Checks) -> String {
    let failures = failures(checks.violations).into_iter();
    let all = failures.flat_map(|one| std::iter::once(one.cause).chain(one.symptoms));
    let ids: Vec<&str> = all.map(|one| one.rule.id).collect();
    ids.join(" ")
}

/// The symptoms that are told, in the order of the comparisons.
fn symptoms(checks: &Checks) -> Vec<&str> {
    checks.violations.iter().map(|one| &*one.mismatch.symptom).collect()
}

/// How many comparisons were made for a rule.
fn count(checks: &Checks, rule: &str) -> u64 {
    checks.counts.get(rule).copied().unwrap_or_default()
}

fn refusals(allowed: &Allowed) -> Vec<(&'static [Code], &'static str)> {
    let said = |one: &Refusal| (one.codes, one.rule.id);
    match allowed {
        Allowed::Refused(all) => all.iter().map(said).collect(),
        other => panic!("not refused but {other:?}"),
    }
}

/// Paths as text, in their order.
fn texts<'a>(paths: impl IntoIterator<Item = &'a ByteString>) -> Vec<String> {
    paths.into_iter().map(ByteString::to_string).collect()
}
