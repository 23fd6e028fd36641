//! Makes stories: all of up to three turns over a few kinds of turn, and longer ones from a seed.
//!
//! The same seed and capabilities give the same stories.

use super::agent::DoorCapabilities;
use super::story::{CheckpointChoice, FileTexts, Story, StoryCall, StoryOperation, states_of_turn};
use proptest::prelude::RngExt;
use proptest::test_runner::{RngAlgorithm, TestRng};

/// The turns of an enumerated story, at most.
const ENUMERATED_TURNS_MAX: usize = 3;
/// The turns of a generated story, at most, without the last one.
const GENERATED_TURNS_MAX: usize = 5;
/// The file that only a person changes.
const OF_PERSON: &str = "person.txt";

/// A kind of turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Write,
    Create,
    Edit,
    Delete,
    Shell,
    Move,
    Talk,
    TwoSteps,
    Parallel,
    Delegate,
}

/// The kinds of turn that any agent has.
const SHAPES: [Shape; 8] = [
    Shape::Write,
    Shape::Create,
    Shape::Edit,
    Shape::Delete,
    Shape::Shell,
    Shape::Move,
    Shape::TwoSteps,
    Shape::Talk,
];

/// The kinds of turn that an agent has.
fn shapes(capabilities: &DoorCapabilities) -> Vec<Shape> {
    let more = [(Shape::Parallel, "parallel-calls"), (Shape::Delegate, "sub-agent")];
    let more = more.into_iter().filter(|(_, name)| capabilities.has(name));
    SHAPES.into_iter().chain(more.map(|(shape, _)| shape)).collect()
}

/// What may happen after the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Restore,
    RestoreFile,
    RestoreUnknown,
    Preview,
    Undo,
    Resume,
    Compact,
    Fork,
    SecondProcess,
    /// A turn whose tool calls the user refuses.
    Refuse,
    /// A person edits a file.
    Edit,
    /// A turn that writes; later acts are about its checkpoint.
    Write,
}

/// What happens after the turns; a turn follows that only talks.
const TAILS: [&[Act]; 16] = [
    &[Act::Restore],
    &[Act::Preview, Act::Restore],
    &[Act::Restore, Act::Resume],
    &[Act::Resume, Act::Restore],
    &[Act::Edit, Act::Restore],
    &[Act::Restore, Act::Undo],
    &[Act::RestoreFile],
    &[Act::RestoreUnknown, Act::Restore],
    &[Act::Restore, Act::Write, Act::Restore],
    &[Act::Resume],
    &[Act::Compact, Act::Restore],
    &[Act::Restore, Act::Fork],
    &[Act::Fork, Act::Restore],
    &[Act::Refuse],
    &[Act::Refuse, Act::Restore],
    &[Act::SecondProcess, Act::Restore],
];

impl Act {
    /// The capability that it needs.
    fn needs(self) -> Option<&'static str> {
        match self {
            Act::Restore | Act::RestoreUnknown => Some("restore"),
            Act::RestoreFile => Some("restore-file"),
            Act::Preview => Some("preview"),
            Act::Undo => Some("undo"),
            Act::Resume => Some("resume"),
            Act::Compact => Some("compact"),
            Act::Fork => Some("fork"),
            Act::Refuse => Some("approval"),
            Act::SecondProcess | Act::Edit | Act::Write => None,
        }
    }
}

fn random(seed: u64, number: u64) -> TestRng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    TestRng::from_seed(RngAlgorithm::ChaCha, &bytes)
}

/// The stories of a run: of the enumerated stories, those of one, two and three turns in equal parts, selected by the
/// seed, and then generated ones.
pub fn stories(capabilities: &DoorCapabilities, seed: u64, count: usize) -> Vec<Story> {
    let mut stories = Vec::new();
    let random = &mut random(seed, u64::MAX);
    for turns in 1..=ENUMERATED_TURNS_MAX {
        let mut enumerated = enumerated(capabilities, seed, turns);
        let part = (count - stories.len()) / (ENUMERATED_TURNS_MAX + 1 - turns);
        while enumerated.len() > part {
            enumerated.swap_remove(random.random_range(0..enumerated.len()));
        }
        stories.extend(enumerated);
    }
    let missing = count - stories.len();
    stories.extend((0..missing).map(|number| generated(capabilities, seed, number as u64)));
    stories
}

fn tails(capabilities: &DoorCapabilities) -> Vec<&'static [Act]> {
    let can = |act: &Act| act.needs().is_none_or(|name| capabilities.has(name));
    TAILS.into_iter().filter(|acts| acts.iter().all(can)).collect()
}

/// Every story with this many turns before its tail; with one turn, each with every tail.
fn enumerated(capabilities: &DoorCapabilities, seed: u64, turns: usize) -> Vec<Story> {
    let tails = tails(capabilities);
    let mut sequences: Vec<Vec<Shape>> = vec![Vec::new()];
    for _ in 0..turns {
        let longer = |sequence: &Vec<Shape>| {
            let sequence = sequence.clone();
            let longer = move |shape| [&sequence[..], &[shape]].concat();
            shapes(capabilities).into_iter().map(longer)
        };
        sequences = sequences.iter().flat_map(longer).collect();
    }
    let mut stories = Vec::new();
    for (number, sequence) in sequences.iter().enumerate() {
        let random = &mut random(seed, (number * ENUMERATED_TURNS_MAX + turns) as u64);
        // Each tail as often as any other.
        let next = tails.iter().cycle().skip(number % tails.len().max(1));
        let count = if turns == 1 { tails.len() } else { 1 };
        let selected = next.take(count).copied();
        let with_tail = |tail| Author::new(capabilities, random).story(sequence, tail);
        stories.extend(selected.filter_map(with_tail));
    }
    stories
}

/// A story of a seed: turns of any kind, and tails between them.
fn generated(capabilities: &DoorCapabilities, seed: u64, number: u64) -> Story {
    let tails = tails(capabilities);
    let random = &mut random(!seed, number);
    let mut author = Author::new(capabilities, random);
    for _ in 0..author.random.random_range(2..=GENERATED_TURNS_MAX) {
        let shape = author.shape();
        author.turn(shape);
        if !tails.is_empty() && author.random.random_bool(0.25) {
            let tail = tails[author.random.random_range(0..tails.len())];
            author.tail(tail);
        }
    }
    if let Some(tail) = tails.first() {
        author.tail(tail);
    }
    author.story
}

/// Writes a story, and knows the files that it leads to.
struct Author<'a> {
    capabilities: &'a DoorCapabilities,
    random: &'a mut TestRng,
    story: Story,
    files: FileTexts,
    turns: usize,
    /// The turns that change files and that no restore has undone, with the files before each.
    changing: Vec<(usize, FileTexts)>,
}

impl<'a> Author<'a> {
    fn new(capabilities: &'a DoorCapabilities, random: &'a mut TestRng) -> Self {
        let names = ["a.txt", "b.txt", "dir/c.txt", "dir/d.txt", "e.txt", OF_PERSON];
        let files: FileTexts =
            names.iter().map(|name| ((*name).to_owned(), format!("first {name}\n"))).collect();
        let story = Story { files: files.clone(), operations: Vec::new() };
        Author { capabilities, random, story, files, turns: 0, changing: Vec::new() }
    }

    /// `None` if no turn changes files that a restore could give back.
    fn story(mut self, sequence: &[Shape], tail: &[Act]) -> Option<Story> {
        sequence.iter().for_each(|shape| self.turn(*shape));
        self.tail(tail).then_some(self.story)
    }

    fn shape(&mut self) -> Shape {
        let shapes = shapes(self.capabilities);
        shapes[self.random.random_range(0..shapes.len())]
    }

    /// A file that exists and is not a person's.
    fn existing(&mut self) -> String {
        let paths: Vec<&String> = self.files.keys().filter(|path| *path != OF_PERSON).collect();
        paths[self.random.random_range(0..paths.len())].clone()
    }

    fn content(&self, call: usize) -> String {
        format!("turn {} call {call}\n", self.turns)
    }

    fn turn(&mut self, shape: Shape) {
        let steps = self.steps(shape);
        // The last file is not deleted: there would be none for the next turn.
        if self.files.len() < 4 && matches!(shape, Shape::Delete) {
            return self.say(Vec::new());
        }
        self.say(steps);
    }

    /// The messages of the next turn.
    fn steps(&mut self, shape: Shape) -> Vec<Vec<StoryCall>> {
        self.turns += 1;
        let write = |path, content| StoryCall::Write { path, content };
        let edit = |path, new| StoryCall::Edit { path, new };
        let path = self.existing();
        let new = format!("new{}.txt", self.turns);
        let content = self.content(1);
        let second = self.content(2);
        match shape {
            Shape::Write => vec![vec![write(path, content)]],
            Shape::Create => vec![vec![write(new, content)]],
            Shape::Edit => vec![vec![edit(path, content)]],
            Shape::Delete => vec![vec![StoryCall::Delete { path }]],
            Shape::Shell => vec![vec![StoryCall::ShellWrite { path, content }]],
            Shape::Move => vec![vec![StoryCall::ShellMove { from: path, to: new }]],
            Shape::TwoSteps => vec![vec![write(new, content)], vec![edit(path, second)]],
            Shape::Parallel => vec![vec![write(path, content), write(new, second)]],
            Shape::Delegate => vec![vec![StoryCall::Delegate(Box::new(write(path, content)))]],
            Shape::Talk => Vec::new(),
        }
    }

    fn say(&mut self, steps: Vec<Vec<StoryCall>>) {
        let before = self.files.clone();
        if let Some(after) = states_of_turn(&before, &steps).and_then(|mut states| states.pop()) {
            self.files = after;
        }
        let covered = |call: &StoryCall| self.capabilities.covers(call);
        if steps.iter().flatten().any(covered) {
            self.changing.push((self.turns, before));
        }
        self.story.operations.push(StoryOperation::Say(steps));
    }

    /// `false` if there is nothing to restore.
    fn tail(&mut self, acts: &[Act]) -> bool {
        let is_restore = |act: &Act| matches!(act, Act::Restore | Act::RestoreFile);
        if self.changing.is_empty() && acts.iter().any(is_restore) {
            return false;
        }
        // Which of the turns that can be undone.
        let mut at = self.random.random_range(0..self.changing.len().max(1));
        for (index, act) in acts.iter().enumerate() {
            let turn = self.changing.get(at).map_or(1, |(turn, _)| *turn);
            let to = CheckpointChoice::Turn(turn);
            let operation = match act {
                Act::RestoreFile => {
                    let Some(file) = self.restore_file(at) else { return false };
                    StoryOperation::Restore { to, file: Some(file) }
                }
                Act::Restore => {
                    if acts.get(index + 1) != Some(&Act::Undo) {
                        self.files = self.changing[at].1.clone();
                        self.changing.truncate(at);
                    }
                    StoryOperation::restore(to)
                }
                Act::Write => {
                    self.turn(Shape::Write);
                    at = self.changing.len() - 1;
                    continue;
                }
                Act::RestoreUnknown => StoryOperation::RestoreUnknown,
                Act::Preview => StoryOperation::Preview(to),
                Act::Undo => StoryOperation::Undo,
                Act::Refuse => StoryOperation::Refuse(self.refused()),
                Act::SecondProcess => StoryOperation::SecondProcess,
                Act::Resume => StoryOperation::Resume,
                Act::Compact => StoryOperation::Compact,
                Act::Fork => StoryOperation::Fork,
                Act::Edit => self.edit(),
            };
            self.story.operations.push(operation);
        }
        self.talk();
        true
    }

    /// The file that a restore gives back; `None` if it would be created.
    fn restore_file(&mut self, at: usize) -> Option<String> {
        let path = self.changed_by(self.changing[at].0)?;
        let text = self.changing[at].1.get(&path)?.clone();
        self.files.insert(path.clone(), text);
        Some(path)
    }

    /// The messages of a turn whose calls change nothing.
    fn refused(&mut self) -> Vec<Vec<StoryCall>> {
        let shapes = [Shape::Write, Shape::Create, Shape::Edit, Shape::Delete];
        let shape = shapes[self.random.random_range(0..shapes.len())];
        self.steps(shape)
    }

    fn talk(&mut self) {
        self.turns += 1;
        self.story.operations.push(StoryOperation::TALK);
    }

    /// A file that a turn changed, existed before it, and is covered.
    fn changed_by(&self, turn: usize) -> Option<String> {
        let is_turn = |operation: &&StoryOperation| operation.is_turn();
        let operation = self.story.operations.iter().filter(is_turn).nth(turn - 1)?;
        let StoryOperation::Say(steps) = operation else { return None };
        let covered = steps.iter().flatten().filter(|call| self.capabilities.covers(call));
        let mut paths = covered.flat_map(StoryCall::paths);
        let before = &self.changing.iter().find(|(number, _)| *number == turn)?.1;
        paths.find(|path| before.contains_key(*path)).map(str::to_owned)
    }

    fn edit(&mut self) -> StoryOperation {
        let is_new = self.random.random_bool(0.5);
        let path = if is_new { "person-new.txt" } else { OF_PERSON }.to_owned();
        StoryOperation::Edit { path, content: Some(format!("by a person, turn {}\n", self.turns)) }
    }
}
