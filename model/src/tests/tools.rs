//! What is done before a tool of an agent runs, and where nothing can be stored.

use super::*;
use crate::answer::{Protected, Taken};
use crate::bytes::join;

fn of(project: &str, outcome: CheckpointOutcome) -> Protected {
    let project = ByteString(join(b"/world/work", project.as_bytes()));
    Protected { project, taken: Some(Taken { outcome, skipped: Vec::new() }) }
}

fn made(project: &str) -> Protected {
    of(project, CheckpointOutcome::Created { id: id(1) })
}

/// The rules that are broken where these are protected before that tool runs.
fn done(scene: &Scene, asked: &str, all: Vec<Protected>) -> String {
    scene.answered(asked, Answer::Protected(all))
}

#[test]
fn every_file_that_a_tool_names_has_its_project_protected() {
    let scene = Scene::with("Makefile=x src/a=1 /work/beta/b=1 /work/beta/sub/c=1");
    for (asked, projects) in [
        ("writes alpha a", vec!["alpha"]),
        ("writes alpha /world/work/beta/b", vec!["beta"]),
        ("patches alpha src/a new", vec!["alpha"]),
        ("patches alpha src/a ../beta/b", vec!["alpha", "beta"]),
        ("runs alpha rm a.txt", vec!["alpha"]),
        ("runs /world/work/alpha/src rm a.txt", vec!["alpha"]),
    ] {
        let all = || projects.iter().map(|one| made(one)).collect::<Vec<_>>();
        assert_eq!(done(&scene, asked, all()), "", "{asked}");
        for gone in 0..projects.len() {
            let mut fewer = all();
            fewer.remove(gone);
            assert_eq!(done(&scene, asked, fewer), "turn/triggers", "{asked}");
        }
    }
    // How a command is read is asked by itself.
    for command in ["sudo /bin/rm a.txt", "ls # rm x", "frobnicate"] {
        for all in [vec![], vec![made("alpha")]] {
            assert_eq!(done(&scene, &format!("runs alpha {command}"), all), "");
        }
    }
    assert_eq!(scene.answered("writes alpha a", Answer::Done), "turn/triggers");
}

#[test]
fn where_no_marker_tells_a_file_is_in_its_folder_or_in_that_of_the_tool() {
    let scene = Scene::with("Makefile=x src/a=1 /work/beta/b=1 /work/beta/sub/c=1");
    for project in ["beta", "beta/sub"] {
        assert_eq!(done(&scene, "writes beta sub/c", vec![made(project)]), "");
    }
    assert_eq!(done(&scene, "writes beta sub/c", vec![]), "turn/triggers");
    assert_eq!(done(&scene, "writes beta new/c", vec![]), "", "nothing can be lost there");
    let mixed = "turn/shared-history";
    assert_eq!(done(&scene, "runs /world/work/alpha/src rm a.txt", vec![made("alpha/src")]), mixed);
    assert_eq!(done(&scene, "writes alpha src/a", vec![made("alpha/src")]), mixed);
    let failed = Protected { taken: None, ..made("alpha/src") };
    assert_eq!(done(&scene, "writes alpha src/a", vec![failed]), "turn/triggers");
}

#[test]
fn what_is_done_of_a_project_is_an_automatic_checkpoint() {
    let mut scene = Scene::with("Makefile=x /work/beta/b=1");
    let deduped = || of("alpha", CheckpointOutcome::Deduped);
    assert_eq!(done(&scene, "writes alpha a", vec![deduped()]), "capture/created");
    let failed = || Protected { taken: None, ..made("alpha") };
    assert_eq!(done(&scene, "writes alpha a", vec![failed()]), "capture/created");
    scene.told("writes alpha a", Answer::Protected(vec![made("alpha")]));
    assert_eq!(scene.world.listed(b"work/alpha").len(), 1);
    let again = of("alpha", CheckpointOutcome::Created { id: id(2) });
    assert_eq!(done(&scene, "writes alpha a", vec![again]), "turn/once");
    for all in [vec![deduped()], vec![]] {
        assert_eq!(done(&scene, "runs alpha rm a.txt", all), "");
    }
    scene.ask("turn");
    scene.told("writes alpha a", Answer::Protected(vec![failed()]));
    assert_eq!(
        scene.answered("ensure alpha", deduped_answer()),
        "turn/failure-keeps-slot capture/created"
    );
    scene.world.settings.enabled = false;
    assert_eq!(done(&scene, "writes alpha a", vec![]), "");
    let again = of("alpha", CheckpointOutcome::Created { id: id(2) });
    assert_eq!(done(&scene, "writes alpha a", vec![again]), "turn/disabled");
}

fn deduped_answer() -> Answer {
    Answer::Taken { outcome: CheckpointOutcome::Deduped, skipped: Vec::new() }
}

#[test]
fn a_place_that_is_no_project_needs_no_checkpoint_and_gets_none() {
    let scene = Scene::with("/home/.hermes/checkpoints/");
    let home = || Protected { project: "/world/home".into(), ..made("alpha") };
    assert_eq!(done(&scene, "writes /world/home a", vec![]), "");
    assert_eq!(done(&scene, "runs /world/home/.hermes/checkpoints rm a.txt", vec![]), "");
    let base = Protected { project: "/world/home/.hermes/checkpoints".into(), ..home() };
    let found = done(&scene, "runs /world/home/.hermes/checkpoints rm a.txt", vec![base]);
    assert_eq!(found, "scope/base-not-captured");
}

#[test]
fn without_a_backend_there_is_no_checkpoint_and_no_trouble() {
    let scene = Scene::with("a=1");
    let taken = |outcome| Answer::Taken { outcome, skipped: Vec::new() };
    for answer in [
        taken(CheckpointOutcome::Disabled),
        taken(CheckpointOutcome::Unchanged),
        refused(Code::StoreUnusable),
    ] {
        assert_eq!(scene.answered("without alpha", answer), "");
    }
    let created = taken(CheckpointOutcome::Created { id: id(1) });
    for answer in [created, refused(Code::Internal), Answer::Done] {
        assert_eq!(scene.answered("without alpha", answer), "turn/no-backend");
    }
    let mut seen = scene.right("without alpha");
    seen.base_changes = Some(vec!["store/HEAD".into()]);
    assert_eq!(scene.broken(&seen), "turn/no-backend");
}
