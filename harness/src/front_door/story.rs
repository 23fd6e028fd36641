//! A story: what a user, a scripted model and a person who edits files do to a project, one operation after another.
//!
//! It is data: `stories` makes stories, `telling` carries them out, and a YAML file replays one. The effect of each
//! tool call on files is known here, so that states within a turn can be compared, too.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The text of each file of a project, by its path.
pub type FileTexts = BTreeMap<String, String>;

/// A story.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Story {
    /// The files of the project before the first operation.
    pub files: FileTexts,
    /// What happens, in order.
    pub operations: Vec<StoryOperation>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StoryOperation {
    /// A turn: the messages of the model, each with its tool calls. Without messages, the model only talks.
    Say(Vec<Vec<StoryCall>>),
    /// A turn whose tool calls the user refuses when the agent asks.
    Refuse(Vec<Vec<StoryCall>>),
    /// The user previews the restore of a checkpoint.
    Preview(CheckpointChoice),
    /// The user restores a checkpoint, or one file of it.
    Restore {
        /// Which checkpoint.
        to: CheckpointChoice,
        /// Only this file.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    /// The user tries to restore a checkpoint that does not exist.
    RestoreUnknown,
    /// The user undoes the last restore.
    Undo,
    /// The agent ends, and continues the session in a new process.
    Resume,
    /// A second process of the agent starts in the project, has a turn that only talks, and ends.
    SecondProcess,
    /// The user has the conversation compacted.
    Compact,
    /// The user forks the session, and continues in the fork.
    Fork,
    /// A person changes a file, or removes it if there is no content.
    Edit {
        /// The file.
        path: String,
        /// Its new content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<String>,
    },
}

/// A tool call of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StoryCall {
    /// Writes a file, new or not.
    Write { path: String, content: String },
    /// Replaces the whole text of a file with the tool that replaces text.
    Edit { path: String, new: String },
    /// Deletes a file.
    Delete { path: String },
    /// Writes a file with a shell command.
    ShellWrite { path: String, content: String },
    /// Renames a file with a shell command.
    ShellMove { from: String, to: String },
    /// A sub-agent makes this call.
    Delegate(Box<StoryCall>),
}

/// A checkpoint, as a user finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointChoice {
    /// The first of the checkpoints that the turn with this number made, from 1.
    Turn(usize),
}

/// Why a file is not a story.
#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] std::io::Error),
    /// It is not a story.
    #[error("not a story: {0}")]
    Parse(String),
}

impl StoryCall {
    /// The files that it changes.
    pub fn paths(&self) -> Vec<&str> {
        match self {
            StoryCall::Write { path, .. }
            | StoryCall::Edit { path, .. }
            | StoryCall::Delete { path }
            | StoryCall::ShellWrite { path, .. } => vec![path],
            StoryCall::ShellMove { from, to } => vec![from, to],
            StoryCall::Delegate(call) => call.paths(),
        }
    }

    /// Whether an edit tool of an agent does it.
    pub fn is_edit_tool(&self) -> bool {
        match self {
            StoryCall::Write { .. } | StoryCall::Edit { .. } => true,
            StoryCall::Delegate(call) => call.is_edit_tool(),
            _ => false,
        }
    }

    /// Whether a sub-agent makes it.
    pub fn is_delegated(&self) -> bool {
        matches!(self, StoryCall::Delegate(_))
    }

    /// Changes the files as the tool does; `false` if that is not possible.
    pub fn apply(&self, files: &mut FileTexts) -> bool {
        match self {
            StoryCall::Write { path, content } | StoryCall::ShellWrite { path, content } => {
                files.insert(path.clone(), content.clone()).as_ref() != Some(content)
            }
            StoryCall::Edit { path, new } => {
                let is_there = files.contains_key(path);
                is_there && files.insert(path.clone(), new.clone()).as_ref() != Some(new)
            }
            StoryCall::Delete { path } => files.remove(path).is_some(),
            StoryCall::ShellMove { from, to } => match files.remove(from) {
                Some(content) => files.insert(to.clone(), content).is_none(),
                None => false,
            },
            StoryCall::Delegate(call) => call.apply(files),
        }
    }
}

/// The files before each call of a turn, and after the last one; `None` if a call is not possible.
pub fn states_of_turn(before: &FileTexts, steps: &[Vec<StoryCall>]) -> Option<Vec<FileTexts>> {
    let mut states = vec![before.clone()];
    let mut files = before.clone();
    for call in steps.iter().flatten() {
        if !call.apply(&mut files) {
            return None;
        }
        states.push(files.clone());
    }
    Some(states)
}

impl Story {
    /// Reads a story.
    ///
    /// # Errors
    /// The file cannot be read, or is not a story.
    pub fn read(path: &Path) -> Result<Self, StoryError> {
        let text = std::fs::read_to_string(path)?;
        serde_saphyr::from_str(&text).map_err(|error| StoryError::Parse(error.to_string()))
    }

    /// The story as YAML.
    pub fn to_yaml(&self) -> String {
        serde_saphyr::to_string(self).expect("a story holds only what YAML can say")
    }

    /// How many turns it has.
    pub fn turns(&self) -> usize {
        self.operations.iter().filter(|operation| operation.is_turn()).count()
    }

    /// How many operations and tool calls it has: what shrinking reduces.
    pub fn size(&self) -> usize {
        let steps = self.operations.iter().filter_map(StoryOperation::steps).flatten();
        let calls: usize = steps.map(|step| 1 + step.len()).sum();
        self.files.len() + self.operations.len() + calls
    }

    /// The files that its operations name.
    pub fn named_files(&self) -> BTreeSet<&str> {
        let named = self.operations.iter().flat_map(|operation| match operation {
            StoryOperation::Say(steps) | StoryOperation::Refuse(steps) => {
                steps.iter().flatten().flat_map(StoryCall::paths).collect()
            }
            StoryOperation::Restore { file: Some(path), .. }
            | StoryOperation::Edit { path, .. } => {
                vec![path.as_str()]
            }
            _ => Vec::new(),
        });
        named.collect()
    }

    /// Whether each tool call is possible if no restore changes files, and each choice is of an earlier turn.
    pub fn is_possible(&self) -> bool {
        let mut files = self.files.clone();
        let mut turns = 0;
        self.operations.iter().all(|operation| match operation {
            StoryOperation::Say(steps) => {
                turns += 1;
                steps.iter().flatten().all(|call| {
                    // A restore may have given back what a call deletes.
                    call.apply(&mut files) || self.has_restore()
                })
            }
            StoryOperation::Refuse(_) => {
                turns += 1;
                true
            }
            StoryOperation::Preview(CheckpointChoice::Turn(turn))
            | StoryOperation::Restore { to: CheckpointChoice::Turn(turn), .. } => {
                (1..=turns).contains(turn)
            }
            _ => true,
        })
    }

    fn has_restore(&self) -> bool {
        let is_restore = |operation| matches!(operation, &StoryOperation::Restore { .. });
        self.operations.iter().any(is_restore)
    }
}

impl StoryOperation {
    /// A turn in which the model only talks.
    pub const TALK: StoryOperation = StoryOperation::Say(Vec::new());

    /// A restore of all files.
    pub fn restore(to: CheckpointChoice) -> Self {
        StoryOperation::Restore { to, file: None }
    }

    /// Whether it is a turn.
    pub fn is_turn(&self) -> bool {
        self.steps().is_some()
    }

    /// The messages of a turn.
    pub fn steps(&self) -> Option<&Vec<Vec<StoryCall>>> {
        match self {
            StoryOperation::Say(steps) | StoryOperation::Refuse(steps) => Some(steps),
            _ => None,
        }
    }

    /// The same turn with other messages.
    pub fn with_steps(&self, steps: Vec<Vec<StoryCall>>) -> Self {
        match self {
            StoryOperation::Refuse(_) => StoryOperation::Refuse(steps),
            _ => StoryOperation::Say(steps),
        }
    }
}
