//! What a subject was asked to keep before anything is damaged: the checkpoints of each project, with
//! what each must hold.

use crate::git_objects;
use herma_model::{ByteString, Tree};
use std::collections::BTreeSet;

/// One checkpoint.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// Its id.
    pub id: String,
    /// What it must hold.
    pub tree: Tree,
}

/// One project.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its name below `work`.
    pub name: &'static str,
    /// Its absolute path.
    pub dir: ByteString,
    /// What stands for it in the store.
    pub hash: String,
    /// What it holds before its first checkpoint.
    pub start: Tree,
    /// Its checkpoints, oldest first.
    pub checkpoints: Vec<Checkpoint>,
}

/// Which checkpoint: the place of its project, and its own among those of the project, from the
/// oldest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Which {
    /// The project.
    pub project: usize,
    /// The checkpoint.
    pub at: usize,
}

/// All projects.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// In the order of their names.
    pub projects: Vec<Project>,
    /// How many checkpoints of each are kept, where that is bounded.
    pub most: Option<usize>,
}

impl Past {
    /// Every checkpoint.
    pub fn checkpoints(&self) -> impl Iterator<Item = (Which, &Checkpoint)> {
        self.projects.iter().enumerate().flat_map(|(project, one)| {
            let which = move |(at, checkpoint)| (Which { project, at }, checkpoint);
            one.checkpoints.iter().enumerate().map(which)
        })
    }

    /// Those of one project.
    pub fn of(&self, project: usize) -> impl Iterator<Item = (Which, &Checkpoint)> {
        self.checkpoints().filter(move |(which, _)| which.project == project)
    }

    /// The project that this stands for.
    pub fn project_of(&self, hash: &str) -> Option<usize> {
        self.projects.iter().position(|project| project.hash == hash)
    }

    /// What the project held at its newest checkpoint, or before there was one, and holds still.
    pub fn now(&self, project: usize) -> &Tree {
        let Project { start, checkpoints, .. } = &self.projects[project];
        checkpoints.last().map_or(start, |newest| &newest.tree)
    }

    /// How a person calls a checkpoint: by its number from the oldest, whatever came after it.
    pub fn name(&self, which: Which) -> String {
        let project = &self.projects[which.project];
        format!("checkpoint {} of {}", which.at + 1, project.name)
    }
}

/// The ids of all objects that a checkpoint needs.
pub fn needs(checkpoint: &Checkpoint) -> BTreeSet<String> {
    let ids = git_objects::ids(&checkpoint.tree).into_iter().map(|id| id.to_string());
    ids.chain([checkpoint.id.clone()]).collect()
}
