//! Whether the store knows a project under another name than its own: then what is missing of its
//! history, or seems to be new in it, was kept under that name.

use super::plain_git::{Git, HISTORIES};
use super::{Divergence, Judge, Told};
use crate::history::concrete::hash;
use crate::sandbox::Sandbox;
use herma_model::World;
use herma_model::rules;
use std::io;
use std::path::Path;

/// The first project that the store has a second name for, if any.
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
    Ok(of(world, &sandbox.store(), &refs))
}

/// The same, where git has listed the refs of the store already: each line is a name and an id.
pub fn of(world: &World, store: &Path, refs: &[String]) -> Option<Divergence> {
    refs.iter().find_map(|line| {
        let (other, _) = line.strip_prefix(HISTORIES)?.split_once(' ')?;
        let text = std::fs::read(store.join("projects").join(format!("{other}.json"))).ok()?;
        let known: serde_json::Value = serde_json::from_slice(&text).ok()?;
        let name = known["workdir"].as_str()?;
        let project = world.canonical(name.as_bytes())?;
        let own = world.absolute(&project);
        let is_alias = *own != *name.as_bytes() && hash(world, &project) != other;
        is_alias.then(|| {
            let found = format!("a history of {name}");
            let told = Told::new("taken for another project", format!("one of {own}"), found);
            Divergence { rule: &rules::SCOPE_IDENTITY, judge: Judge::Git, step: 0, told }
        })
    })
}
