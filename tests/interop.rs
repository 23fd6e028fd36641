//! Interoperability: the core and the real package hermes-agent 0.19.0 use one store in turns, and both list
//! and restore the same checkpoints, whichever of them wrote them.
//!
//! Scope: what both must agree on to exchange a store. Whether hermes-agent keeps the rules is judged
//! elsewhere, through its adapter.

mod envelopes;
mod hermes;
mod world;

use herma_core::PruneOptions;
use pretty_assertions::assert_eq;
use std::fs;
use std::path::Path;
use world::{Files, InteropFixture, MANY, files_at, write};

/// The fields of a checkpoint that both report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    id: String,
    time: i64,
    reason: String,
}

/// Reasons that a list could garble: its separator, non-ASCII letters, more than one line.
const REASONS: [&str; 4] =
    ["before write_file", "größer | 100 % | é", "two\nlines", "a subject\n\nand a body"];

fn reasons(list: &[Checkpoint]) -> Vec<&str> {
    list.iter().rev().map(|checkpoint| checkpoint.reason.as_str()).collect()
}

fn ids(list: &[Checkpoint]) -> Vec<&str> {
    list.iter().map(|checkpoint| checkpoint.id.as_str()).collect()
}

/// Takes one checkpoint for every reason and returns the list and the files of each, both newest first.
fn history(
    fixture: &mut InteropFixture,
    dir: &Path,
    take: impl Fn(&mut InteropFixture, &Path, &str),
) -> (Vec<Checkpoint>, Vec<Files>) {
    let mut states = Vec::new();
    for (step, reason) in (0..).zip(REASONS) {
        states.insert(0, files_at(step));
        write(dir, &states[0]);
        take(fixture, dir, reason);
    }
    let list = fixture.list(MANY, dir);
    assert_eq!(reasons(&list), REASONS);
    (list, states)
}

fn by_core(fixture: &mut InteropFixture, dir: &Path, reason: &str) {
    fixture.take_with_core(dir, reason);
}

fn by_hermes(fixture: &mut InteropFixture, dir: &Path, reason: &str) {
    fixture.hermes.take(MANY, dir, reason);
}

#[test]
fn a_store_of_hermes_agent_opens_in_the_core() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    let dir = fixture.project("alpha");
    let (list, states) = history(&mut fixture, &dir, by_hermes);
    for (checkpoint, files) in list.iter().zip(&states) {
        fixture.assert_core_restores(&dir, &checkpoint.id, files);
        fixture.assert_core_restores(&dir, &list[0].id[..10], &states[0]);
    }
    let listed = fixture.list(MANY, &dir);
    assert!(ids(&listed).ends_with(&ids(&list)), "{listed:?}");
    fixture.assert_sound();
}

#[test]
fn a_store_of_the_core_opens_in_hermes_agent() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    let dir = fixture.project("alpha");
    let (list, states) = history(&mut fixture, &dir, by_core);
    for (checkpoint, files) in list.iter().zip(&states) {
        fixture.assert_hermes_restores(&dir, &checkpoint.id, files);
        fixture.assert_hermes_restores(&dir, &list[0].id[..10], &states[0]);
    }
    let listed = fixture.list(MANY, &dir);
    assert!(ids(&listed).ends_with(&ids(&list)), "{listed:?}");
    fixture.assert_sound();
}

#[test]
fn the_core_and_hermes_agent_continue_each_others_history() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    for (name, first) in [("alpha", 0), ("beta", 1)] {
        let dir = fixture.project(name);
        let mut history: Vec<(Checkpoint, Files)> = Vec::new();
        for step in 0..4 {
            let files = files_at(step);
            write(&dir, &files);
            let take = if (step + first) % 2 == 0 { by_core } else { by_hermes };
            take(&mut fixture, &dir, &format!("step {step}"));
            let list = fixture.list(MANY, &dir);
            assert_eq!(
                list[1..],
                history.iter().map(|(checkpoint, _)| checkpoint.clone()).collect::<Vec<_>>()
            );
            assert_eq!(list[0].reason, format!("step {step}"));
            history.insert(0, (list[0].clone(), files));
            fixture.assert_sound();
        }
        for (checkpoint, files) in &history {
            fixture.assert_core_restores(&dir, &checkpoint.id, files);
            fixture.assert_hermes_restores(&dir, &history[0].0.id, &history[0].1);
            fixture.assert_hermes_restores(&dir, &checkpoint.id, files);
        }
        fixture.assert_sound();
    }
}

#[test]
fn an_index_by_the_core_or_hermes_agent_hides_no_change_from_the_other() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    let dir = fixture.project("alpha");
    write(&dir, &files_at(0));
    fixture.take_with_core(&dir, "core");
    let id = fixture.list(MANY, &dir)[0].id.clone();
    assert_eq!(fixture.hermes.diff(MANY, &dir, &id), "");
    // The content changes within the same second and keeps its size, after either tool wrote the index.
    for content in ["1", "2", "3", "4"] {
        fs::write(dir.join("src/empty"), content).unwrap();
        let patch = fixture.hermes.diff(MANY, &dir, &id);
        assert!(patch.contains(&format!("+{content}")), "{patch}");
        let patch = fixture.core(MANY).diff(&dir, id.as_bytes()).unwrap().patch;
        assert!(String::from_utf8(patch).unwrap().contains(&format!("+{content}")));
        let take = if content < "3" { by_core } else { by_hermes };
        take(&mut fixture, &dir, content);
    }
    assert_eq!(reasons(&fixture.list(MANY, &dir)), ["core", "1", "2", "3", "4"]);
}

#[test]
fn git_attributes_of_a_project_change_no_byte_on_a_store_of_the_core() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    let dir = fixture.project("alpha");
    let mut files = files_at(0);
    files.insert(".gitattributes".into(), (b"* text eol=lf ident\n".to_vec(), false));
    files.insert("ident.c".into(), (b"$Id$\r\n".to_vec(), false));
    write(&dir, &files);
    fixture.take_with_core(&dir, "core");
    let mut changed = files.clone();
    changed.insert("ident.c".into(), (b"$Id: old $\r\n\n".to_vec(), false));
    write(&dir, &changed);
    fixture.hermes.take(MANY, &dir, "hermes");
    let list = fixture.list(MANY, &dir);
    fixture.assert_hermes_restores(&dir, &list[1].id, &files);
    fixture.assert_hermes_restores(&dir, &list[0].id, &changed);
    fixture.assert_core_restores(&dir, &list[1].id, &files);
    fixture.assert_core_restores(&dir, &list[0].id, &changed);
}

#[test]
fn hermes_agent_prune_and_git_gc_remove_no_listed_checkpoint() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    let dir = fixture.project("alpha");
    let gone = fixture.project("gone");
    let (list, states) = history(&mut fixture, &dir, by_core);
    history(&mut fixture, &gone, by_core);
    fs::remove_dir_all(&gone).unwrap();
    let pruned = fixture.hermes.prune();
    assert_eq!((&pruned["deleted_orphan"], &pruned["errors"]), (&1.into(), &0.into()), "{pruned}");
    assert!(fixture.core(MANY).list(&gone).unwrap().is_empty());
    assert_eq!(fixture.core(MANY).status().unwrap().projects.len(), 1);
    assert_eq!(fixture.list(MANY, &dir), list);
    fixture.git(&["gc", "--prune=now", "--quiet"]);
    assert!(fixture.store().join("packed-refs").exists());
    for folder in ["refs/hermes", "refs/heads"] {
        // Git may keep a folder without refs or remove it.
        let _ = fs::remove_dir(fixture.store().join(folder));
        assert!(!fixture.store().join(folder).exists());
    }
    assert_eq!(fixture.list(MANY, &dir), list);
    for (checkpoint, files) in list.iter().zip(&states) {
        fixture.assert_core_restores(&dir, &checkpoint.id, files);
    }
    fixture.assert_sound();
    write(&dir, &files_at(9));
    fixture.take_with_core(&dir, "after");
    let listed = fixture.list(MANY, &dir);
    assert_eq!(listed[0].reason, "after");
    assert!(ids(&listed).ends_with(&ids(&list)), "{listed:?}");
}

#[test]
fn hermes_agent_works_with_a_truncated_history() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    let dir = fixture.project("alpha");
    let other_project = fixture.project("beta");
    let (list, states) = history(&mut fixture, &dir, by_core);
    // Taken with the other tool, since equal histories within one second are the same commits, and truncation
    // at a commit applies to every project that has the commit.
    let (other_list, other_states) = history(&mut fixture, &other_project, by_hermes);
    // Git treats the commits that this file lists as commits without parents.
    let mut boundaries = [list[2].id.as_str(), other_list[0].id.as_str()];
    boundaries.sort_unstable();
    fs::write(fixture.store().join("shallow"), boundaries.join("\n") + "\n").unwrap();
    fixture.assert_sound();
    assert_eq!(fixture.list(3, &dir), list[..3]);
    assert_eq!(fixture.hermes.list(MANY, &dir).len(), 3);
    assert_eq!(fixture.hermes.list(MANY, &other_project).len(), 1);
    for (checkpoint, files) in list[..3].iter().zip(&states) {
        fixture.assert_hermes_restores(&dir, &checkpoint.id, files);
    }
    write(&dir, &files_at(9));
    fixture.hermes.take(MANY, &dir, "on a cut history");
    let kept = fixture.hermes.list(MANY, &dir);
    assert!(ids(&kept).ends_with(&ids(&list[..3])), "{kept:?}");
    assert_eq!(fixture.list(kept.len(), &dir)[0].reason, "on a cut history");
    fixture.assert_sound();
    // hermes-agent evicts permanently: it rewrites the commits that it keeps, with new ids and times and with
    // only the subject of each reason, and collects garbage, also behind the truncation of the other project.
    write(&dir, &files_at(10));
    fixture.hermes.take(2, &dir, "beyond the limit");
    let listed = fixture.list(2, &dir);
    assert_eq!(reasons(&listed), ["on a cut history", "beyond the limit"]);
    assert_eq!(fixture.hermes.list(MANY, &dir).len(), 2);
    assert_eq!(fixture.list(1, &other_project), other_list[..1]);
    fixture.assert_sound();
    fixture.assert_core_restores(&dir, &listed[1].id, &files_at(9));
    fixture.assert_core_restores(&dir, &listed[0].id, &files_at(10));
    write(&other_project, &files_at(10));
    fixture.hermes.take(MANY, &other_project, "after the other's");
    fixture.assert_hermes_restores(&other_project, &other_list[0].id, &other_states[0]);
    fixture.assert_sound();
}

#[test]
fn a_history_that_the_core_truncated_opens_in_hermes_agent() {
    let Some(mut fixture) = InteropFixture::new() else { return };
    let dir = fixture.project("alpha");
    let twin = fixture.project("beta");
    let (_, mut states) = history(&mut fixture, &dir, by_core);
    let (complete, _) = history(&mut fixture, &twin, by_core);
    states.insert(0, files_at(8));
    write(&dir, &states[0]);
    fixture.core(3).checkpoint(&dir, "one too many").unwrap();
    // Evicted checkpoints are deleted permanently.
    let options = PruneOptions { retention_seconds: 0, max_total_bytes: 0, delete_orphans: false };
    let pruned = fixture.core(3).prune(&options, &mut |_| {}).unwrap();
    assert!(pruned.bytes_freed > 0 && pruned.errors == 0, "{pruned:?}");
    fixture.assert_sound();
    let truncated = fixture.list(MANY, &dir);
    assert_eq!(truncated.len(), 3, "{truncated:?}");
    assert_eq!(fixture.list(MANY, &twin), complete);
    for (checkpoint, files) in truncated.iter().zip(&states) {
        fixture.assert_hermes_restores(&dir, &checkpoint.id, files);
    }
    fixture.git(&["gc", "--prune=now", "--quiet"]);
    assert!(ids(&fixture.list(MANY, &dir)).ends_with(&ids(&truncated)));
    fixture.assert_core_restores(&dir, &truncated[2].id, &states[2]);
    assert_eq!(fixture.list(MANY, &twin), complete);
    fixture.assert_sound();
}
