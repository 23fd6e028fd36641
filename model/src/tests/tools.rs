//! Protection before a tool of an agent runs, and requests without a backend.

use super::*;
use crate::answer::{Protected, Taken};
use crate::bytes::join;

fn protected(project: &str, outcome: CheckpointOutcome) -> Protected {
    let project = ByteString::from(join(b"/world/work", project.as_bytes()));
    Protected { project, taken: Some(Taken { outcome, skipped: Vec::new() }) }
}

fn created_in(project: &str) -> Protected {
    protected(project, CheckpointOutcome::Created { id: checkpoint_id(1) })
}

/// The rules broken by protecting these projects before a tool runs.
fn broken_by_protecting(scene: &Scene, request: &str, projects: Vec<Protected>) -> String {
    scene.broken_by(request, Answer::Protected(projects))
}

#[test]
fn before_tool_protects_the_project_of_every_named_file() {
    let scene = Scene::with("Makefile=x src/a=1 /work/beta/b=1 /work/beta/sub/c=1");
    for (request, projects) in [
        ("writes alpha a", vec!["alpha"]),
        ("writes alpha /world/work/beta/b", vec!["beta"]),
        ("patches alpha src/a new", vec!["alpha"]),
        ("patches alpha src/a ../beta/b", vec!["alpha", "beta"]),
        ("runs alpha rm a.txt", vec!["alpha"]),
        ("runs /world/work/alpha/src rm a.txt", vec!["alpha"]),
    ] {
        let complete = || projects.iter().map(|project| created_in(project)).collect::<Vec<_>>();
        assert_eq!(broken_by_protecting(&scene, request, complete()), "", "{request}");
        for index in 0..projects.len() {
            let mut incomplete = complete();
            incomplete.remove(index);
            assert_eq!(
                broken_by_protecting(&scene, request, incomplete),
                "turn/triggers",
                "{request}"
            );
        }
    }
    // The classification of commands is tested separately.
    for command in ["sudo /bin/rm a.txt", "ls # rm x", "frobnicate"] {
        for projects in [vec![], vec![created_in("alpha")]] {
            assert_eq!(
                broken_by_protecting(&scene, &format!("runs alpha {command}"), projects),
                ""
            );
        }
    }
    assert_eq!(scene.broken_by("writes alpha a", Answer::Done), "turn/triggers");
}

#[test]
fn before_tool_without_a_marker_protects_the_folder_of_the_file_or_of_the_tool() {
    let scene = Scene::with("Makefile=x src/a=1 /work/beta/b=1 /work/beta/sub/c=1");
    for project in ["beta", "beta/sub"] {
        assert_eq!(
            broken_by_protecting(&scene, "writes beta sub/c", vec![created_in(project)]),
            ""
        );
    }
    assert_eq!(broken_by_protecting(&scene, "writes beta sub/c", vec![]), "turn/triggers");
    assert_eq!(
        broken_by_protecting(&scene, "writes beta new/c", vec![]),
        "",
        "nothing can be lost there"
    );
    let mixed = "turn/shared-history";
    assert_eq!(
        broken_by_protecting(
            &scene,
            "runs /world/work/alpha/src rm a.txt",
            vec![created_in("alpha/src")]
        ),
        mixed
    );
    assert_eq!(
        broken_by_protecting(&scene, "writes alpha src/a", vec![created_in("alpha/src")]),
        mixed
    );
    let failed = Protected { taken: None, ..created_in("alpha/src") };
    assert_eq!(broken_by_protecting(&scene, "writes alpha src/a", vec![failed]), "turn/triggers");
}

#[test]
fn before_tool_takes_an_automatic_checkpoint_of_each_project() {
    let mut scene = Scene::with("Makefile=x /work/beta/b=1");
    let deduped = || protected("alpha", CheckpointOutcome::Deduped);
    assert_eq!(broken_by_protecting(&scene, "writes alpha a", vec![deduped()]), "capture/created");
    let failed = || Protected { taken: None, ..created_in("alpha") };
    assert_eq!(broken_by_protecting(&scene, "writes alpha a", vec![failed()]), "capture/created");
    scene.learn_answer("writes alpha a", Answer::Protected(vec![created_in("alpha")]));
    assert_eq!(scene.world.listed(b"work/alpha").len(), 1);
    let again = protected("alpha", CheckpointOutcome::Created { id: checkpoint_id(2) });
    assert_eq!(broken_by_protecting(&scene, "writes alpha a", vec![again]), "turn/once");
    for projects in [vec![deduped()], vec![]] {
        assert_eq!(broken_by_protecting(&scene, "runs alpha rm a.txt", projects), "");
    }
    scene.perform("turn");
    scene.learn_answer("writes alpha a", Answer::Protected(vec![failed()]));
    assert_eq!(
        scene.broken_by("ensure alpha", deduped_answer()),
        "turn/failure-keeps-slot capture/created"
    );
    scene.world.settings.enabled = false;
    assert_eq!(broken_by_protecting(&scene, "writes alpha a", vec![]), "");
    let again = protected("alpha", CheckpointOutcome::Created { id: checkpoint_id(2) });
    assert_eq!(broken_by_protecting(&scene, "writes alpha a", vec![again]), "turn/disabled");
}

fn deduped_answer() -> Answer {
    Answer::Taken { outcome: CheckpointOutcome::Deduped, skipped: Vec::new() }
}

#[test]
fn before_tool_protects_no_directory_that_cannot_be_a_project() {
    let scene = Scene::with("/home/.hermes/checkpoints/");
    let home = || Protected { project: "/world/home".into(), ..created_in("alpha") };
    assert_eq!(broken_by_protecting(&scene, "writes /world/home a", vec![]), "");
    assert_eq!(
        broken_by_protecting(&scene, "runs /world/home/.hermes/checkpoints rm a.txt", vec![]),
        ""
    );
    let base = Protected { project: "/world/home/.hermes/checkpoints".into(), ..home() };
    let found =
        broken_by_protecting(&scene, "runs /world/home/.hermes/checkpoints rm a.txt", vec![base]);
    assert_eq!(found, "scope/base-not-captured");
}

#[test]
fn without_backend_takes_no_checkpoint_and_does_not_fail() {
    let scene = Scene::with("a=1");
    let taken = |outcome| Answer::Taken { outcome, skipped: Vec::new() };
    for answer in [
        taken(CheckpointOutcome::Disabled),
        taken(CheckpointOutcome::Unchanged),
        refused(Code::StoreUnusable),
    ] {
        assert_eq!(scene.broken_by("without alpha", answer), "");
    }
    let created = taken(CheckpointOutcome::Created { id: checkpoint_id(1) });
    for answer in [created, refused(Code::Internal), Answer::Done] {
        assert_eq!(scene.broken_by("without alpha", answer), "turn/no-backend");
    }
    let mut observation = scene.correct_observation("without alpha");
    observation.base_changes = Some(vec!["store/HEAD".into()]);
    assert_eq!(scene.broken_rules(&observation), "turn/no-backend");
}
