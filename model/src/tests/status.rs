//! What is said of the store as a whole.

use super::sweep::{scene, status};
use super::*;
use crate::answer::ProjectState;
use pretty_assertions::assert_eq;

#[test]
fn the_status_says_how_many_checkpoints_a_project_has_and_what_may_be_known_of_it() {
    use ProjectState::{Live, Orphan, Unknown};
    let mut scene = scene("alpha gone other deep/gone");
    scene.put("-/work/gone -/work/deep /work/other= a=new");
    scene.ask("take alpha");
    scene.archive("legacy-1");
    let said = status(&scene);
    let expected = [
        ("/world/work/alpha", 2, vec![Live]),
        ("/world/work/deep/gone", 1, vec![Orphan, Unknown]),
        ("/world/work/gone", 1, vec![Orphan]),
        ("/world/work/other", 1, vec![Live, Orphan, Unknown]),
    ];
    let expected = expected.map(|(path, count, states)| (path.into(), (count, states)));
    assert!(said.projects.into_iter().eq(expected));
    assert!(said.nameless.is_empty() && said.archives.iter().eq(["legacy-1"]));
    scene.world.settings.max_snapshots = 1;
    assert_eq!(status(&scene).projects[&"/world/work/alpha".into()].0, 1);
}

#[test]
fn a_status_is_wrong_by_each_project_and_each_archive() {
    let one = |workdir: Option<&str>, checkpoints| ProjectStatus {
        workdir: workdir.map(ByteString::from),
        checkpoints,
        state: ProjectState::Unknown,
    };
    let commands = "maintenance/commands";
    let mut scene = scene("alpha damaged healed");
    scene.archive("legacy-1");
    scene.damage("work/damaged");
    scene.damage("work/healed");
    scene.ask("take healed");
    let told = |archives: &[&str], spoil: Spoil<Vec<ProjectStatus>>| {
        let mut seen = scene.right("status");
        let Answer::Status { projects, archives: said } = &mut seen.answer else { panic!("none") };
        spoil(projects);
        *said = archives.iter().map(|one| (*one).to_owned()).collect();
        scene.broken(&seen)
    };
    let spoilt: &[(Spoil<Vec<ProjectStatus>>, &str)] = &[
        (&|_| {}, ""),
        (&|all| all[0].checkpoints = Some(2), commands),
        (&|all| all[0].checkpoints = None, commands),
        (&|all| all[0].state = ProjectState::Orphan, commands),
        (&|all| all[0].workdir = None, commands),
        (&|all| all.push(all[0].clone()), commands),
        (&|all| drop(all.remove(0)), commands),
        (&|all| all.push(one(Some("/x"), Some(1))), commands),
        (&|all| all.push(one(Some("/x"), Some(0))), ""),
        (&|all| all.push(one(Some("/x"), None)), ""),
        (&|all| all.push(one(None, Some(1))), ""),
        // Of what is damaged nothing need be known, and of what is healed everything.
        (&|all| drop(all.remove(1)), ""),
        (&|all| drop(all.remove(2)), "maintenance/heals"),
        (&|all| all[2].checkpoints = None, commands),
    ];
    for (at, (spoil, rules)) in spoilt.iter().enumerate() {
        assert_eq!(told(&["legacy-1"], spoil), *rules, "{at}");
    }
    for archives in [&[][..], &["legacy-1", "legacy-2"], &["legacy-2"]] {
        assert_eq!(told(archives, &|_| {}), commands);
    }
}
