//! What the projects hold from checkpoint to checkpoint before anything is damaged, as drawn.
//!
//! Nothing here is hard to capture: no ignored name, nothing unreadable, no path that changes its
//! type. What matters is which checkpoints share an object and which do not.

use super::dice::Dice;
use crate::sandbox::manifest::digest;
use herma_model::files::Content;
use herma_model::{ByteString, Entry, Tree};

/// The names of the projects below `work`.
pub const PROJECTS: [&str; 3] = ["alpha", "beta", "gamma"];
/// More new files than the core stores one by one.
const MANY: usize = 80;
/// Fewer checkpoints than the plan takes of any project.
pub const FEW: usize = 2;

/// What plain git does to the store between two checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Nothing.
    Never,
    /// `git repack -ad` after this many rounds of checkpoints.
    Repack(usize),
    /// `git gc` after this many.
    Collect(usize),
}

/// All that is drawn of one past.
pub struct Plan {
    /// What each project holds before its first checkpoint.
    pub starts: Vec<Tree>,
    /// What each project holds at each of its checkpoints, oldest first.
    pub trees: Vec<Vec<Tree>>,
    /// When the store is packed.
    pub packing: Packing,
    /// Whether only [`FEW`] checkpoints of each project are kept.
    pub few: bool,
}

impl Plan {
    /// The plan of that number, for so many of the projects.
    pub fn draw(seed: u64, number: u64, projects: usize) -> Self {
        let mut dice = Dice::new(seed, number, "past");
        let big = dice.once_in(3).then_some(projects.saturating_sub(1));
        let trees: Vec<Vec<Tree>> = (0..projects.min(PROJECTS.len()))
            .map(|project| trees(&mut dice, PROJECTS[project], big == Some(project)))
            .collect();
        let starts = trees.iter().map(|trees| trees[0].clone()).collect();
        let after = 1 + dice.below(4);
        let packing = match dice.below(5) {
            0 | 1 => Packing::Never,
            2 | 3 => Packing::Repack(after),
            _ => Packing::Collect(after),
        };
        Plan { starts, trees, packing, few: dice.once_in(5) }
    }

    /// How many rounds of checkpoints there are.
    pub fn rounds(&self) -> usize {
        self.trees.iter().map(Vec::len).max().unwrap_or_default()
    }
}

/// A regular file.
pub fn file(content: impl AsRef<[u8]>) -> Entry {
    Entry::File { content: Content::from(content.as_ref()), executable: false }
}

/// Bytes that do not get smaller.
pub fn noise(name: &str, length: usize) -> Vec<u8> {
    let block = |at| digest(format!("{name} {at}").as_bytes()).to_be_bytes();
    (0..length.div_ceil(8)).flat_map(block).collect()
}

fn trees(dice: &mut Dice, name: &str, big: bool) -> Vec<Tree> {
    let mut trees = vec![first(name, big)];
    for step in 1..3 + dice.below(3) {
        let mut tree = trees[step - 1].clone();
        change(dice, name, step, &mut tree);
        trees.push(tree);
    }
    trees
}

/// The first two projects share a folder and a file.
fn first(name: &str, big: bool) -> Tree {
    let mut tree = Tree::new();
    let mut put = |path: &str, entry| tree.insert(ByteString::from(path), entry);
    put("a.txt", file(format!("{name}, the first\n")));
    put("empty", file(""));
    put("noise.bin", file(noise(name, 3_000)));
    put("src/main.rs", file(format!("fn main() {{ println!(\"{name}\") }}\n").repeat(9)));
    put("src/deep/one.txt", file(format!("one of {name}\n")));
    put("src/deep/two.txt", file(format!("two of {name}\n")));
    let script = Content::from(format!("#!/bin/sh\necho {name}\n").as_bytes());
    put("run.sh", Entry::File { content: script, executable: true });
    put("link", Entry::Link { target: Content::from(&b"a.txt"[..]) });
    if name != PROJECTS[2] {
        put("shared/one.txt", file("one for two\n"));
        put("shared/two.txt", file("two for two\n".repeat(30)));
    }
    for number in (0..MANY).filter(|_| big) {
        put(&format!("many/{}/{number}.txt", number % 7), file(format!("{name} {number}\n")));
    }
    tree
}

/// The file that is another one in each tree but the first.
pub const STEP: &str = "step.txt";

/// Changes one to three paths, and one that makes each tree of a project different.
fn change(dice: &mut Dice, name: &str, step: usize, tree: &mut Tree) {
    tree.insert(STEP.into(), file(format!("{name} at {step}\n")));
    for turn in 0..=dice.below(3) {
        let changed = file(format!("{name} at {step}, {turn}\n").repeat(1 + dice.below(40)));
        match dice.below(5) {
            0 => tree.insert(format!("new/{step}/{turn}.txt").as_str().into(), changed),
            1 => tree.insert(format!("new/{step}.txt").as_str().into(), file("the same in all\n")),
            2 => tree.insert("src/deep/one.txt".into(), changed),
            3 => tree.insert("a.txt".into(), changed),
            _ => tree.remove(&ByteString::from("src/deep/two.txt")),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git_objects::ids;

    #[test]
    fn a_plan_is_the_same_each_time_and_no_tree_of_a_project_is_the_one_before() {
        for number in 0..40 {
            let (plan, again) = (Plan::draw(1, number, 3), Plan::draw(1, number, 3));
            assert_eq!(plan.trees, again.trees);
            assert!(plan.trees.iter().all(|trees| (3..=5).contains(&trees.len())));
            for trees in &plan.trees {
                assert!(trees.windows(2).all(|pair| pair[0] != pair[1]));
            }
        }
    }

    #[test]
    fn some_plans_are_packed_some_are_big_and_some_keep_few() {
        let plans: Vec<Plan> = (0..60).map(|number| Plan::draw(1, number, 3)).collect();
        for packing in [
            |one| matches!(one, Packing::Never),
            |one| matches!(one, Packing::Repack(_)),
            |one| matches!(one, Packing::Collect(_)),
        ] {
            assert!(plans.iter().any(|plan| packing(plan.packing)));
        }
        assert!(plans.iter().any(|plan| plan.few) && plans.iter().any(|plan| !plan.few));
        assert!(plans.iter().any(|plan| ids(&plan.trees[2][0]).len() > MANY));
    }

    #[test]
    fn two_projects_share_objects_and_the_third_has_its_own() {
        let plan = Plan::draw(1, 0, 3);
        let all = |project: usize| ids(&plan.trees[project][0]);
        assert!(all(0).intersection(&all(1)).count() >= 3);
        // The link and the empty file are the same everywhere.
        assert_eq!(all(0).intersection(&all(2)).count(), 2);
    }
}
