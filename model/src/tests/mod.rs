//! Tests of the model as its callers use it: what it allows, how it judges an observation, and what
//! the world learns from it. One file for each topic.

mod agent;
mod attribution;
mod base;
mod blame;
mod checkpoint;
mod configured;
mod correct;
mod cost;
mod damage;
mod edited;
mod excused;
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
mod steps;
mod store;
mod sweep;
mod together;
mod tools;
mod units;
mod untouched;
mod violations;
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
use crate::observation::{Base, Contents, Histories, Observation, RepositoryLocation};
use crate::refusal::Refusal;
use crate::request::Request;
use crate::store_edit::{Damage, Likeness, StoreEdit};
use crate::tool::{PatchForm, Tool};
use crate::verdict::Checks;
use crate::world::{Layout, Settings, World};
use std::collections::BTreeSet;
use words::{parse_edits, parse_request};

/// The time at which every scene begins.
const START: i64 = 1_000_000;
const DAY: i64 = 86_400;

/// The capabilities of an implementation that the model distinguishes.
const CAPABILITIES: [&str; 20] = [
    "capture.default_excludes",
    "capture.gitignore",
    "capture.no_repositories",
    "checkpoint.left_out",
    "classify.cautious",
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
    /// How many checkpoint ids were assigned.
    ids: usize,
}

impl Scene {
    /// A scene with these files; see [`parse_edits`].
    fn with(files: &str) -> Scene {
        Scene::without("", files)
    }

    /// A scene of an implementation without these capabilities, which are separated by spaces.
    fn without(capabilities: &str, files: &str) -> Scene {
        let missing: Vec<&str> = capabilities.split(' ').collect();
        let is_present = |capability: &&str| !missing.contains(capability);
        Scene::with_capabilities(CAPABILITIES.into_iter().filter(is_present).collect(), files)
    }

    /// A scene of an implementation with exactly these capabilities.
    fn with_capabilities(capabilities: BTreeSet<&'static str>, files: &str) -> Scene {
        let layout = Layout {
            root: "/world".into(),
            home: "home".into(),
            current: "work".into(),
            base: "home/.hermes/checkpoints".into(),
        };
        let world = World::new(Files::default(), layout, Settings::default(), capabilities, START);
        let mut scene = Scene { world, ids: 0 };
        scene.edit("/home/ /work/alpha/ /work/beta/");
        scene.edit(files);
        scene
    }

    /// A scene where `alpha` has a checkpoint of the files `taken` and holds the files `now`.
    fn changed(taken: &str, now: &str) -> Scene {
        let mut scene = Scene::with(taken);
        scene.perform("take alpha");
        scene.replace_files(now);
        scene
    }

    fn edit(&mut self, files: &str) {
        for edit in files.split_whitespace().flat_map(parse_edits) {
            self.world.edit(&edit);
        }
    }

    /// Replaces everything in `alpha` with these files.
    fn replace_files(&mut self, files: &str) {
        self.edit("-/work/alpha /work/alpha/");
        self.edit(files);
    }

    /// Advances the clock.
    fn wait(&mut self, seconds: i64) {
        self.perform(&format!("clock {}", self.world.seconds() + seconds));
    }

    fn allows(&self, request: &str) -> Allowed {
        self.world.allows(&parse_request(request))
    }

    /// Performs the request correctly, learns the observation and returns what was allowed. A new
    /// checkpoint gets the next [`checkpoint_id`].
    fn perform(&mut self, request: &str) -> Allowed {
        let observation = self.correct_observation(request);
        assert_eq!(self.broken_rules(&observation), "", "{request}: {:?}", observation.answer);
        let allowed = self.world.allows(&observation.request);
        self.learn(&observation);
        allowed
    }

    fn learn(&mut self, observation: &Observation) {
        self.world.learn(observation);
        self.ids += usize::from(match &observation.answer {
            Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. } => true,
            Answer::Restored(restored) => restored.safety.is_some(),
            _ => false,
        });
    }

    /// Learns that the request had this answer.
    fn learn_answer(&mut self, request: &str, answer: Answer) {
        let observation = self.observation(request, answer);
        self.learn(&observation);
    }

    /// The rules broken by this answer where nothing else happened.
    fn broken_by(&self, request: &str, answer: Answer) -> String {
        self.broken_rules(&self.observation(request, answer))
    }

    /// The rules broken by an observation, causes first.
    fn broken_rules(&self, observation: &Observation) -> String {
        broken_rules(self.checks(observation))
    }

    fn checks(&self, observation: &Observation) -> Checks {
        self.world.compare(&self.world.allows(&observation.request), observation)
    }

    /// The observation of this answer where nothing else happened.
    fn observation(&self, request: &str, answer: Answer) -> Observation {
        Observation::new(parse_request(request), answer, self.world.files.clone())
    }

    /// The observation of a correct subject.
    fn correct_observation(&self, request: &str) -> Observation {
        let mut files = self.world.files.clone();
        let mut answer = self.correct_answer(&self.allows(request), &mut files);
        let outside = self.world.must_be_named(&parse_request(request));
        if let Answer::Restored(report) = &mut answer {
            report.external = (!outside.is_empty()).then(|| outside.into_iter().collect());
        }
        Observation { files, ..self.observation(request, answer) }
    }

    /// The contents of a store that has lost nothing.
    fn contents(&self) -> Contents {
        let histories = self.world.histories();
        let visible = histories.map(|(project, _)| {
            let listed = self.world.listed(project).iter().rev();
            (self.world.hash(project), listed.map(|checkpoint| checkpoint.id.clone()).collect())
        });
        Contents { visible: visible.collect(), ..Contents::default() }
    }

    /// The state of a base that has lost nothing.
    fn base(&self) -> Base {
        let places = self.world.repositories().iter().map(|(name, repository)| {
            let place = RepositoryLocation { archive: repository.archive.clone(), is_intact: true };
            (name.clone(), vec![place])
        });
        Base {
            in_use: true,
            store_exists: true,
            repositories: places.collect(),
            archives: self.world.archives().keys().cloned().collect(),
            damaged_archives: BTreeSet::new(),
            marker: true,
            strays: self.world.strays().clone(),
            lookalikes: self.world.lookalikes().clone(),
        }
    }

    /// Adds a v1 repository to the base, before or after the store was created.
    fn add_repository(&mut self, name: &str, project: &str, store_exists: bool) {
        let name = name.to_owned();
        let project = project.into();
        let edit = StoreEdit::Repository { name, project, changed: START };
        self.world.edit_store(&edit, store_exists);
    }

    fn add_archive(&mut self, name: &str) {
        self.world.edit_store(&StoreEdit::Archive { name: name.to_owned(), made: START }, true);
    }

    /// Damages the metadata of the project.
    fn damage_metadata(&mut self, project: &str) {
        let edit = StoreEdit::Metadata { project: project.into(), damage: Damage::Garbled };
        self.world.edit_store(&edit, true);
    }
}

/// Makes a correct value wrong.
type Corruption<'a, T> = &'a dyn Fn(&mut T);

/// The id of the checkpoint with this number in a scene.
fn checkpoint_id(number: usize) -> String {
    format!("{number}f").repeat(20)
}

fn remark(path: ByteString) -> Remark {
    Remark { path, why: String::new() }
}

fn stats_within(bounds: LineBounds) -> Stats {
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
    taken(CheckpointOutcome::Created { id: checkpoint_id(number) })
}

fn swept(outcome: SweepOutcome, counts: Counts) -> Answer {
    Answer::Swept { outcome, counts }
}

/// The ids of the broken rules, causes first.
fn broken_rules(checks: Checks) -> String {
    let failures = failures(checks.violations).into_iter();
    let violations =
        failures.flat_map(|failure| std::iter::once(failure.cause).chain(failure.symptoms));
    let ids: Vec<&str> = violations.map(|violation| violation.rule.id).collect();
    ids.join(" ")
}

/// The symptoms of the violations, in the order of the comparisons.
fn symptoms(checks: &Checks) -> Vec<&str> {
    checks.violations.iter().map(|violation| &*violation.mismatch.symptom).collect()
}

/// How many comparisons were made for a rule.
fn count(checks: &Checks, rule: &str) -> u64 {
    checks.counts.get(rule).copied().unwrap_or_default()
}

fn refusals(allowed: &Allowed) -> Vec<(&'static [Code], &'static str)> {
    let codes_and_rule = |refusal: &Refusal| (refusal.codes, refusal.rule.id);
    match allowed {
        Allowed::Refused(reasons) => reasons.iter().map(codes_and_rule).collect(),
        unexpected => panic!("not refused but {unexpected:?}"),
    }
}

/// Paths as text, in their order.
fn texts<'a>(paths: impl IntoIterator<Item = &'a ByteString>) -> Vec<String> {
    paths.into_iter().map(ByteString::to_string).collect()
}
