//! By what the store knows a project: what is kept under another name than its own is missed
//! everywhere else, and that is the cause of whatever shows it.

use super::plain_git::{Git, HISTORIES};
use super::{Divergence, Judge, Mismatch};
use crate::history::concrete::hash;
use crate::sandbox::Sandbox;
use herma_model::World;
use herma_model::rules::{self, RuleRef};
use std::io;
use std::path::Path;

/// The first project that the store knows by another name than its own, if any.
///
/// # Errors
/// Git is not there.
pub fn find(world: &World, sandbox: &Sandbox) -> io::Result<Option<Divergence>> {
    if !sandbox.has_store() {
        return Ok(None);
    }
    let git = Git::on(sandbox.store());
    let listed = git.text(&["for-each-ref", "--format=%(refname) %(objectname)"])?;
    let refs: Vec<String> = listed.lines().map(str::to_owned).collect();
    Ok(wrong(world, &sandbox.store(), &refs))
}

/// The same, where git has listed the refs of the store already: each line is a name and an id.
pub fn wrong(world: &World, store: &Path, refs: &[String]) -> Option<Divergence> {
    let refs: Vec<(&str, &str)> = refs.iter().filter_map(|line| line.split_once(' ')).collect();
    aliased(world, store, &refs).or_else(|| moved(world, &refs))
}

fn divergence(rule: RuleRef, told: Mismatch) -> Divergence {
    Divergence { rule, judge: Judge::Git, step: 0, mismatch: told }
}

/// A project that was taken for another because of how its path was written.
fn aliased(world: &World, store: &Path, refs: &[(&str, &str)]) -> Option<Divergence> {
    refs.iter().find_map(|(name, _)| {
        let other = name.strip_prefix(HISTORIES)?;
        // What was a project of its own may have become a link to another one since.
        if world.histories().any(|(project, _)| hash(world, project) == other) {
            return None;
        }
        let text = std::fs::read(store.join("projects").join(format!("{other}.json"))).ok()?;
        let known: serde_json::Value = serde_json::from_slice(&text).ok()?;
        let path = known["workdir"].as_str()?;
        let project = world.canonical(path.as_bytes())?;
        let own = world.absolute(&project);
        let is_alias = *own != *path.as_bytes() && hash(world, &project) != other;
        is_alias.then(|| {
            let found = format!("a history of {path}");
            let told = Mismatch::new("taken for another project", format!("one of {own}"), found);
            divergence(&rules::SCOPE_IDENTITY, told)
        })
    })
}

/// A project whose newest checkpoint is where another ref points, and not its own.
fn moved(world: &World, refs: &[(&str, &str)]) -> Option<Divergence> {
    world.histories().find_map(|(project, history)| {
        let own = format!("{HISTORIES}{}", hash(world, project));
        let newest = history.last()?.id.as_deref()?;
        if refs.iter().any(|(name, _)| *name == own) {
            return None;
        }
        let (name, _) = refs.iter().find(|(_, tip)| *tip == newest)?;
        let hashed = name.starts_with(HISTORIES);
        let rule = if hashed { &rules::SCOPE_HASH } else { &rules::LAYOUT_STORE };
        let told = Mismatch::new("under another name", format!("{own} for {project}"), *name);
        Some(divergence(rule, told))
    })
}
