//! A request while a user edits the project: what may be stored, and which files may be left afterwards.

use super::*;
use crate::injected::{Injected, Lists};
use crate::observation::Commit;
use crate::tree::Tree;
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// A scene before the edits, with a file outside the project, and the files after the edits.
struct Edited {
    scene: Scene,
    files: Files,
}

fn edited(before: &str, edits: &str) -> Edited {
    let mut scene = Scene::with_capabilities(capabilities(), before);
    scene.edit("/work/outside/twin=secret");
    let mut after = scene.clone();
    after.edit(edits);
    Edited { files: after.world.files, scene }
}

fn capabilities() -> BTreeSet<&'static str> {
    CAPABILITIES.into_iter().collect()
}

/// The tree of a checkpoint of `alpha` with these files.
fn tree(files: &str) -> Tree {
    Scene::with_capabilities(capabilities(), files).world.capture(b"work/alpha").tree.clone()
}

/// A store with one checkpoint of `alpha` with these files.
fn stored(scene: &Scene, number: usize, files: &str) -> Histories {
    let commit = Commit {
        tree: Arc::new(tree(files)),
        canonical: true,
        parent: String::new(),
        author: String::new(),
        seconds: "77".into(),
        signed: false,
    };
    Histories {
        visible: [(scene.world.hash(b"work/alpha"), vec![checkpoint_id(number)])].into(),
        commits: [(checkpoint_id(number), commit)].into(),
        ..Histories::default()
    }
}

impl Edited {
    /// The checkpoint taken during the edits, with these files and these reported as left out.
    fn taken(&self, files: &str, left_out: &[&str]) -> Observation {
        let skipped = left_out.iter().map(|path| remark((*path).into())).collect();
        let outcome = CheckpointOutcome::Created { id: checkpoint_id(1) };
        let observation = self.scene.observation("take alpha", Answer::Taken { outcome, skipped });
        let histories = Some(stored(&self.scene, 1, files));
        Observation { files: self.files.clone(), histories, ..observation }
    }

    fn judged(&self, observation: &Observation) -> String {
        let allowed = self.scene.world.allows(&observation.request);
        broken_rules(self.scene.world.compare_with_concurrent_edits(
            &allowed,
            observation,
            &self.files,
        ))
    }
}

#[test]
fn checkpoint_during_an_edit_holds_one_version_of_each_file_or_reports_it_as_skipped() {
    let saved = edited("a=one b=1", "a=two");
    for (files, left_out, rules) in [
        ("a=one b=1", &[][..], ""),
        ("a=two b=1", &[], ""),
        ("a=owo b=1", &[], "capture/steady"),
        ("b=1", &[], "capture/steady"),
        ("b=1", &["a"], ""),
        ("a=two", &[], "capture/steady"),
    ] {
        assert_eq!(saved.judged(&saved.taken(files, left_out)), rules, "{files}");
    }
}

#[test]
fn compare_with_concurrent_edits_blames_unedited_files_on_their_own_rule() {
    let saved = edited(".gitignore=*.txt a.txt=1 b=1", "b=2");
    let mut observation = saved.taken(".gitignore=*.txt b=2", &[]);
    assert_eq!(saved.judged(&observation), "");
    let stored =
        observation.histories.as_mut().unwrap().commits.get_mut(&checkpoint_id(1)).unwrap();
    let ignored = Arc::make_mut(&mut stored.tree);
    ignored.extend(tree("a.txt=1"));
    assert_eq!(saved.judged(&observation), "capture/gitignore");
    // In addition, the edited file may be torn.
    let stored =
        observation.histories.as_mut().unwrap().commits.get_mut(&checkpoint_id(1)).unwrap();
    Arc::make_mut(&mut stored.tree).extend(tree("b=12"));
    assert_eq!(saved.judged(&observation), "capture/steady capture/gitignore");
}

#[test]
fn checkpoint_during_a_folder_move_holds_no_file_from_outside() {
    let moved = edited("in/a=1 b=1", "-in in>../outside");
    for (files, rules) in [
        ("in/a=1 b=1", ""),
        ("b=1", ""),
        ("in>../outside b=1", ""),
        ("in/twin=secret b=1", "capture/contained"),
        ("in/a=1", "capture/steady"),
    ] {
        assert_eq!(moved.judged(&moved.taken(files, &[])), rules, "{files}");
    }
}

#[test]
fn compare_with_concurrent_edits_allows_no_change_outside_except_the_edits() {
    let saved = edited("a=1", "a=2");
    let mut observation = saved.taken("a=1", &[]);
    observation.files.insert(b"work/beta/x", Node::Directory);
    assert_eq!(saved.judged(&observation), "restore/contained");
    let crashed = saved.scene.observation("take alpha", Answer::Crashed("ended".into()));
    assert_eq!(saved.judged(&crashed), "capture/created");
    let mut nowhere = saved.scene.correct_observation("list alpha");
    nowhere.request = Request::Sweep;
    assert_eq!(saved.judged(&nowhere), "");
}

#[test]
fn restore_during_an_edit_keeps_the_edit_on_disk_or_in_a_checkpoint() {
    let mut saved = edited("a=1 b=1", "a=saved");
    saved.scene.perform("take alpha");
    saved.scene.edit("a=2");
    let restored = |left: &str, checkpoint: Option<&str>| {
        let mut after = saved.scene.clone();
        after.edit(left);
        let histories = checkpoint.map(|files| stored(&saved.scene, 2, files));
        let observation = saved.scene.correct_observation("restore alpha 1");
        saved.judged(&Observation { files: after.world.files, histories, ..observation })
    };
    assert_eq!(restored("a=saved", Some("a=2 b=1")), "");
    assert_eq!(restored("a=1", Some("a=saved b=1")), "");
    assert_eq!(restored("a=1", Some("a=2 b=1")), "restore/keeps-saves");
    // A loss is not reported if the store could not be examined.
    assert_eq!(restored("a=1", None), "");
}

#[test]
fn injection_of_edits_selects_the_injection_and_its_rule_by_the_kind_of_edit() {
    for (request, edits, expected) in [
        ("take alpha", "a=2", Injected::Saved),
        ("take alpha", "-d d>a", Injected::Moved),
        ("restore alpha 1", "a=2", Injected::EditedRestore),
        ("sweep", "a=2", Injected::Saved),
    ] {
        let edited = edited("a=1 d/b=1", edits);
        let found = edited.scene.world.injection_of_edits(&parse_request(request), &edited.files);
        assert_eq!(
            (found, found.is_edited(), found.ends_process()),
            (expected, true, false),
            "{request}"
        );
        assert!(
            ["capture/steady", "capture/contained", "restore/keeps-saves"]
                .contains(&found.rule().id)
        );
    }
}

#[test]
fn learn_with_concurrent_edits_leaves_a_checkpoint_unknown_after_a_folder_move() {
    for (edits, stored_files, is_known) in
        [("a=2", "a=2 d/b=1", true), ("-d d>a", "a=1 d>a", false)]
    {
        let Edited { mut scene, files } = edited("a=1 d/b=1", edits);
        let edited = Edited { scene: scene.clone(), files: files.clone() };
        let observation = edited.taken(stored_files, &[]);
        let mut edited_world = scene.world.clone();
        edited_world.files = files.clone();
        scene.world.learn_with_concurrent_edits(&observation, &edited_world, &Lists::new());
        let newest = scene.world.listed(b"work/alpha")[0].captured.as_ref();
        assert_eq!(
            newest.map(|captured| captured.tree.clone()),
            is_known.then(|| tree(stored_files))
        );
        assert_eq!(scene.world.files, files);
    }
}
