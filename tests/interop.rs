//! One store, used in turns by the core and by the real package hermes-agent 0.19.0: both list the
//! same and restore the same, whoever wrote it.
//!
//! Whether hermes-agent keeps the rules is judged elsewhere, by its adapter; here only what both
//! must agree about for a store to be exchanged.

mod envelopes;
mod hermes;
mod world;

use herma_core::PruneOptions;
use pretty_assertions::assert_eq;
use std::fs;
use std::path::Path;
use world::{Files, MANY, World, files_at, write};

/// What both say of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    id: String,
    time: i64,
    reason: String,
}

/// Reasons that a list could get wrong: its separator, other scripts, more than one line.
const REASONS: [&str; 4] =
    ["before write_file", "größer | 100 % | é", "two\nlines", "a subject\n\nand a body"];

fn reasons(list: &[Checkpoint]) -> Vec<&str> {
    list.iter().rev().map(|one| one.reason.as_str()).collect()
}

fn ids(list: &[Checkpoint]) -> Vec<&str> {
    list.iter().map(|one| one.id.as_str()).collect()
}

/// Takes one checkpoint for every reason and answers the list and the files of each, both newest
/// first.
fn history(
    world: &mut World,
    dir: &Path,
    take: impl Fn(&mut World, &Path, &str),
) -> (Vec<Checkpoint>, Vec<Files>) {
    let mut states = Vec::new();
    for (step, reason) in (0..).zip(REASONS) {
        states.insert(0, files_at(step));
        write(dir, &states[0]);
        take(world, dir, reason);
    }
    let list = world.list(MANY, dir);
    assert_eq!(reasons(&list), REASONS);
    (list, states)
}

fn by_core(world: &mut World, dir: &Path, reason: &str) {
    world.core_takes(dir, reason);
}

fn by_hermes(world: &mut World, dir: &Path, reason: &str) {
    world.hermes.take(MANY, dir, reason);
}

#[test]
fn a_store_of_hermes_agent_opens_in_the_core() {
    let Some(mut world) = World::new() else { return };
    let dir = world.project("alpha");
    let (list, states) = history(&mut world, &dir, by_hermes);
    for (one, files) in list.iter().zip(&states) {
        world.core_restores(&dir, &one.id, files);
        world.core_restores(&dir, &list[0].id[..10], &states[0]);
    }
    let (listed, known) = (world.list(MANY, &dir), ids(&list));
    assert!(ids(&listed).ends_with(&known), "{listed:?}");
    world.is_sound();
}

#[test]
fn a_store_of_the_core_opens_in_hermes_agent() {
    let Some(mut world) = World::new() else { return };
    let dir = world.project("alpha");
    let (list, states) = history(&mut world, &dir, by_core);
    for (one, files) in list.iter().zip(&states) {
        world.hermes_restores(&dir, &one.id, files);
        world.hermes_restores(&dir, &list[0].id[..10], &states[0]);
    }
    let (listed, known) = (world.list(MANY, &dir), ids(&list));
    assert!(ids(&listed).ends_with(&known), "{listed:?}");
    world.is_sound();
}

#[test]
fn both_go_on_where_the_other_ended() {
    let Some(mut world) = World::new() else { return };
    for (name, first) in [("alpha", 0), ("beta", 1)] {
        let dir = world.project(name);
        let mut known: Vec<(Checkpoint, Files)> = Vec::new();
        for step in 0..4 {
            let files = files_at(step);
            write(&dir, &files);
            let take = if (step + first) % 2 == 0 { by_core } else { by_hermes };
            take(&mut world, &dir, &format!("step {step}"));
            let list = world.list(MANY, &dir);
            assert_eq!(list[1..], known.iter().map(|(one, _)| one.clone()).collect::<Vec<_>>());
            assert_eq!(list[0].reason, format!("step {step}"));
            known.insert(0, (list[0].clone(), files));
            world.is_sound();
        }
        for (one, files) in &known {
            world.core_restores(&dir, &one.id, files);
            world.hermes_restores(&dir, &known[0].0.id, &known[0].1);
            world.hermes_restores(&dir, &one.id, files);
        }
        world.is_sound();
    }
}

#[test]
fn an_index_of_one_hides_no_change_from_the_other() {
    let Some(mut world) = World::new() else { return };
    let dir = world.project("alpha");
    write(&dir, &files_at(0));
    world.core_takes(&dir, "core");
    let id = world.list(MANY, &dir)[0].id.clone();
    assert_eq!(world.hermes.diff(MANY, &dir, &id), "");
    // The same size within the same second, after either has written the index.
    for content in ["1", "2", "3", "4"] {
        fs::write(dir.join("src/empty"), content).unwrap();
        let patch = world.hermes.diff(MANY, &dir, &id);
        assert!(patch.contains(&format!("+{content}")), "{patch}");
        let patch = world.core(MANY).diff(&dir, id.as_bytes()).unwrap().patch;
        assert!(String::from_utf8(patch).unwrap().contains(&format!("+{content}")));
        let take = if content < "3" { by_core } else { by_hermes };
        take(&mut world, &dir, content);
    }
    assert_eq!(reasons(&world.list(MANY, &dir)), ["core", "1", "2", "3", "4"]);
}

#[test]
fn git_attributes_of_a_project_change_no_byte_on_a_store_of_the_core() {
    let Some(mut world) = World::new() else { return };
    let dir = world.project("alpha");
    let mut files = files_at(0);
    files.insert(".gitattributes".into(), (b"* text eol=lf ident\n".to_vec(), false));
    files.insert("ident.c".into(), (b"$Id$\r\n".to_vec(), false));
    write(&dir, &files);
    world.core_takes(&dir, "core");
    let mut other = files.clone();
    other.insert("ident.c".into(), (b"$Id: old $\r\n\n".to_vec(), false));
    write(&dir, &other);
    world.hermes.take(MANY, &dir, "hermes");
    let list = world.list(MANY, &dir);
    world.hermes_restores(&dir, &list[1].id, &files);
    world.hermes_restores(&dir, &list[0].id, &other);
    world.core_restores(&dir, &list[1].id, &files);
    world.core_restores(&dir, &list[0].id, &other);
}

#[test]
fn collecting_garbage_takes_nothing_that_is_listed() {
    let Some(mut world) = World::new() else { return };
    let (dir, gone) = (world.project("alpha"), world.project("gone"));
    let (list, states) = history(&mut world, &dir, by_core);
    history(&mut world, &gone, by_core);
    fs::remove_dir_all(&gone).unwrap();
    let pruned = world.hermes.prune();
    assert_eq!((&pruned["deleted_orphan"], &pruned["errors"]), (&1.into(), &0.into()), "{pruned}");
    assert!(world.core(MANY).list(&gone).unwrap().is_empty());
    assert_eq!(world.core(MANY).status().unwrap().projects.len(), 1);
    assert_eq!(world.list(MANY, &dir), list);
    world.git(&["gc", "--prune=now", "--quiet"]);
    assert!(world.store().join("packed-refs").exists());
    for folder in ["refs/hermes", "refs/heads"] {
        // Git may leave a folder without refs or take it away.
        let _ = fs::remove_dir(world.store().join(folder));
        assert!(!world.store().join(folder).exists());
    }
    assert_eq!(world.list(MANY, &dir), list);
    for (one, files) in list.iter().zip(&states) {
        world.core_restores(&dir, &one.id, files);
    }
    world.is_sound();
    write(&dir, &files_at(9));
    world.core_takes(&dir, "after");
    let listed = world.list(MANY, &dir);
    assert_eq!(listed[0].reason, "after");
    assert!(ids(&listed).ends_with(&ids(&list)), "{listed:?}");
}

#[test]
fn hermes_agent_lives_with_a_history_that_was_cut() {
    let Some(mut world) = World::new() else { return };
    let (dir, other) = (world.project("alpha"), world.project("beta"));
    let (list, states) = history(&mut world, &dir, by_core);
    // By the other tool, since equal histories within one second are the same commits, and a cut
    // is one for every project that has the commit.
    let (other_list, other_states) = history(&mut world, &other, by_hermes);
    // Git's own way to say that a commit counts as the first: its id in this file.
    let mut cuts = [list[2].id.as_str(), other_list[0].id.as_str()];
    cuts.sort_unstable();
    fs::write(world.store().join("shallow"), cuts.join("\n") + "\n").unwrap();
    world.is_sound();
    assert_eq!(world.list(3, &dir), list[..3]);
    assert_eq!(world.hermes.list(MANY, &dir).len(), 3);
    assert_eq!(world.hermes.list(MANY, &other).len(), 1);
    for (one, files) in list[..3].iter().zip(&states) {
        world.hermes_restores(&dir, &one.id, files);
    }
    write(&dir, &files_at(9));
    world.hermes.take(MANY, &dir, "on a cut history");
    let kept = world.hermes.list(MANY, &dir);
    assert!(ids(&kept).ends_with(&ids(&list[..3])), "{kept:?}");
    assert_eq!(world.list(kept.len(), &dir)[0].reason, "on a cut history");
    world.is_sound();
    // What it drops it drops for real: it writes the commits it keeps anew, with new ids and
    // times, and of a reason only the subject, and collects garbage, beyond the cut of the other
    // project too.
    write(&dir, &files_at(10));
    world.hermes.take(2, &dir, "beyond the limit");
    let listed = world.list(2, &dir);
    assert_eq!(reasons(&listed), ["on a cut history", "beyond the limit"]);
    assert_eq!(world.hermes.list(MANY, &dir).len(), 2);
    assert_eq!(world.list(1, &other), other_list[..1]);
    world.is_sound();
    world.core_restores(&dir, &listed[1].id, &files_at(9));
    world.core_restores(&dir, &listed[0].id, &files_at(10));
    write(&other, &files_at(10));
    world.hermes.take(MANY, &other, "after the other's");
    world.hermes_restores(&other, &other_list[0].id, &other_states[0]);
    world.is_sound();
}

#[test]
fn a_history_that_the_core_has_cut_opens_in_hermes_agent() {
    let Some(mut world) = World::new() else { return };
    let (dir, twin) = (world.project("alpha"), world.project("beta"));
    let (_, mut states) = history(&mut world, &dir, by_core);
    let (whole, _) = history(&mut world, &twin, by_core);
    states.insert(0, files_at(8));
    write(&dir, &states[0]);
    world.core(3).checkpoint(&dir, "one too many").unwrap();
    // What was dropped is gone for good.
    let all = PruneOptions { retention_seconds: 0, max_total_bytes: 0, delete_orphans: false };
    let pruned = world.core(3).prune(&all, &mut |_| {}).unwrap();
    assert!(pruned.bytes_freed > 0 && pruned.errors == 0, "{pruned:?}");
    world.is_sound();
    let cut = world.list(MANY, &dir);
    assert_eq!(cut.len(), 3, "{cut:?}");
    assert_eq!(world.list(MANY, &twin), whole);
    for (one, files) in cut.iter().zip(&states) {
        world.hermes_restores(&dir, &one.id, files);
    }
    world.git(&["gc", "--prune=now", "--quiet"]);
    assert!(ids(&world.list(MANY, &dir)).ends_with(&ids(&cut)));
    world.core_restores(&dir, &cut[2].id, &states[2]);
    assert_eq!(world.list(MANY, &twin), whole);
    world.is_sound();
}
