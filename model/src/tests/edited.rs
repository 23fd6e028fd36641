//! A request beside which somebody edited the project: what may be stored, and what may be left.

use super::*;
use crate::injected::{Injected, Lists};
use crate::observation::Commit;
use crate::tree::Tree;
use pretty_assertions::assert_eq;
use std::sync::Arc;

/// A capture of `alpha` with a file beside the project, and the files once they were edited.
struct Edited {
    scene: Scene,
    files: Files,
}

fn edited(before: &str, edits: &str) -> Edited {
    let mut scene = Scene::able(able(), before);
    scene.put("/work/outside/twin=secret");
    let mut then = scene.clone();
    then.put(edits);
    Edited { files: then.world.files, scene }
}

fn able() -> BTreeSet<&'static str> {
    CAPABILITIES.into_iter().collect()
}

/// What a checkpoint of `alpha` as these files holds.
fn tree(files: &str) -> Tree {
    Scene::able(able(), files).world.capture(b"work/alpha").tree
}

/// A store with one checkpoint of `alpha` as these files.
fn stored(scene: &Scene, number: usize, held: &str) -> Histories {
    let commit = Commit {
        tree: Arc::new(tree(held)),
        canonical: true,
        parent: String::new(),
        author: String::new(),
        seconds: "77".into(),
        signed: false,
    };
    Histories {
        visible: [(scene.world.hash(b"work/alpha"), vec![id(number)])].into(),
        commits: [(id(number), commit)].into(),
        ..Histories::default()
    }
}

impl Edited {
    /// The checkpoint that was taken meanwhile, which holds these and names what it left out.
    fn taken(&self, held: &str, left_out: &[&str]) -> Observation {
        let skipped = left_out.iter().map(|path| remark((*path).into())).collect();
        let outcome = CheckpointOutcome::Created { id: id(1) };
        let seen = self.scene.seen("take alpha", Answer::Taken { outcome, skipped });
        let histories = Some(stored(&self.scene, 1, held));
        Observation { files: self.files.clone(), histories, ..seen }
    }

    fn judged(&self, seen: &Observation) -> String {
        let allowed = self.scene.world.allows(&seen.request);
        broken(self.scene.world.compare_beside(&allowed, seen, &self.files))
    }
}

#[test]
fn a_checkpoint_holds_one_version_of_each_file_or_says_it_left_it_out() {
    let saved = edited("a=one b=1", "a=two");
    for (held, left_out, rules) in [
        ("a=one b=1", &[][..], ""),
        ("a=two b=1", &[], ""),
        ("a=owo b=1", &[], "capture/steady"),
        ("b=1", &[], "capture/steady"),
        ("b=1", &["a"], ""),
        ("a=two", &[], "capture/steady"),
    ] {
        assert_eq!(saved.judged(&saved.taken(held, left_out)), rules, "{held}");
    }
}

#[test]
fn what_no_edit_concerns_is_wrong_for_a_reason_of_its_own() {
    let saved = edited(".gitignore=*.txt a.txt=1 b=1", "b=2");
    let mut seen = saved.taken(".gitignore=*.txt b=2", &[]);
    assert_eq!(saved.judged(&seen), "");
    let stored = seen.histories.as_mut().unwrap().commits.get_mut(&id(1)).unwrap();
    let ignored = Arc::make_mut(&mut stored.tree);
    ignored.extend(tree("a.txt=1"));
    assert_eq!(saved.judged(&seen), "capture/gitignore");
    // Beside it the file that was edited may be torn.
    let stored = seen.histories.as_mut().unwrap().commits.get_mut(&id(1)).unwrap();
    Arc::make_mut(&mut stored.tree).extend(tree("b=12"));
    assert_eq!(saved.judged(&seen), "capture/steady capture/gitignore");
}

#[test]
fn where_a_folder_moved_its_files_are_there_or_not_and_none_is_from_outside() {
    let moved = edited("in/a=1 b=1", "-in in>../outside");
    for (held, rules) in [
        ("in/a=1 b=1", ""),
        ("b=1", ""),
        ("in>../outside b=1", ""),
        ("in/twin=secret b=1", "capture/contained"),
        ("in/a=1", "capture/steady"),
    ] {
        assert_eq!(moved.judged(&moved.taken(held, &[])), rules, "{held}");
    }
}

#[test]
fn nothing_outside_changes_but_by_the_edits() {
    let saved = edited("a=1", "a=2");
    let mut seen = saved.taken("a=1", &[]);
    seen.files.insert(b"work/beta/x", Node::Directory);
    assert_eq!(saved.judged(&seen), "restore/contained");
    let crashed = saved.scene.seen("take alpha", Answer::Crashed("ended".into()));
    assert_eq!(saved.judged(&crashed), "capture/created");
    let mut nowhere = saved.scene.right("list alpha");
    nowhere.request = Request::Sweep;
    assert_eq!(saved.judged(&nowhere), "");
}

#[test]
fn what_is_saved_while_a_restore_runs_is_there_or_in_a_checkpoint() {
    let mut saved = edited("a=1 b=1", "a=saved");
    saved.scene.ask("take alpha");
    saved.scene.put("a=2");
    let restored = |left: &str, held: Option<&str>| {
        let mut then = saved.scene.clone();
        then.put(left);
        let histories = held.map(|held| stored(&saved.scene, 2, held));
        let seen = saved.scene.right("restore alpha 1");
        saved.judged(&Observation { files: then.world.files, histories, ..seen })
    };
    assert_eq!(restored("a=saved", Some("a=2 b=1")), "");
    assert_eq!(restored("a=1", Some("a=saved b=1")), "");
    assert_eq!(restored("a=1", Some("a=2 b=1")), "restore/keeps-saves");
    // Nobody is accused of what nobody could look for.
    assert_eq!(restored("a=1", None), "");
}

#[test]
fn each_kind_of_edit_has_its_rule() {
    for (asked, edits, due) in [
        ("take alpha", "a=2", Injected::Saved),
        ("take alpha", "-d d>a", Injected::Moved),
        ("restore alpha 1", "a=2", Injected::EditedRestore),
        ("sweep", "a=2", Injected::Saved),
    ] {
        let edited = edited("a=1 d/b=1", edits);
        let found = edited.scene.world.beside(&request(asked), &edited.files);
        assert_eq!((found, found.is_edited(), found.ends_process()), (due, true, false), "{asked}");
        assert!(
            ["capture/steady", "capture/contained", "restore/keeps-saves"]
                .contains(&found.rule().id)
        );
    }
}

#[test]
fn where_a_folder_moved_nobody_knows_what_a_checkpoint_holds() {
    for (edits, held, known) in [("a=2", "a=2 d/b=1", true), ("-d d>a", "a=1 d>a", false)] {
        let Edited { mut scene, files } = edited("a=1 d/b=1", edits);
        let beside = Edited { scene: scene.clone(), files: files.clone() };
        let seen = beside.taken(held, &[]);
        let mut then = scene.world.clone();
        then.files = files.clone();
        scene.world.learn_beside(&seen, &then, &Lists::new());
        let newest = scene.world.listed(b"work/alpha")[0].captured.as_ref();
        assert_eq!(newest.map(|one| one.tree.clone()), known.then(|| tree(held)));
        assert_eq!(scene.world.files, files);
    }
}
