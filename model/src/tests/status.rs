//! The reported status of the store.

use super::sweep::{scene, status};
use super::*;
use crate::answer::ProjectState;
use pretty_assertions::assert_eq;

#[test]
fn status_reports_the_checkpoints_and_the_possible_state_of_each_project() {
    use ProjectState::{Live, Orphan, Unknown};
    let mut scene = scene("alpha gone other deep/gone");
    scene.edit("-/work/gone -/work/deep /work/other= a=new");
    scene.perform("take alpha");
    scene.add_archive("legacy-1");
    let allowed = status(&scene);
    let expected = [
        ("/world/work/alpha", 2, vec![Live]),
        ("/world/work/deep/gone", 1, vec![Orphan, Unknown]),
        ("/world/work/gone", 1, vec![Orphan]),
        ("/world/work/other", 1, vec![Live, Orphan, Unknown]),
    ];
    let expected = expected.map(|(path, count, states)| (path.into(), (count, states)));
    assert!(allowed.projects.into_iter().eq(expected));
    assert!(allowed.nameless.is_empty() && allowed.archives.iter().eq(["legacy-1"]));
    scene.world.settings.max_snapshots = 1;
    assert_eq!(status(&scene).projects[&b"/world/work/alpha"[..]].0, 1);
}

#[test]
fn status_breaks_maintenance_commands_for_each_wrong_project_or_archive() {
    let project = |workdir: Option<&str>, checkpoints| ProjectStatus {
        workdir: workdir.map(ByteString::from),
        checkpoints,
        state: ProjectState::Unknown,
    };
    let commands = "maintenance/commands";
    let mut scene = scene("alpha damaged healed");
    scene.add_archive("legacy-1");
    scene.damage_metadata("work/damaged");
    scene.damage_metadata("work/healed");
    scene.perform("take healed");
    let broken_with = |archives: &[&str], corrupt: Corruption<Vec<ProjectStatus>>| {
        let mut observation = scene.correct_observation("status");
        let Answer::Status { projects, archives: reported } = &mut observation.answer else {
            panic!("none")
        };
        corrupt(projects);
        *reported = archives.iter().map(|name| (*name).to_owned()).collect();
        scene.broken_rules(&observation)
    };
    let corruptions: &[(Corruption<Vec<ProjectStatus>>, &str)] = &[
        (&|_| {}, ""),
        (&|projects| projects[0].checkpoints = Some(2), commands),
        (&|projects| projects[0].checkpoints = None, commands),
        (&|projects| projects[0].state = ProjectState::Orphan, commands),
        (&|projects| projects[0].workdir = None, commands),
        (&|projects| projects.push(projects[0].clone()), commands),
        (&|projects| drop(projects.remove(0)), commands),
        (&|projects| projects.push(project(Some("/x"), Some(1))), commands),
        (&|projects| projects.push(project(Some("/x"), Some(0))), ""),
        (&|projects| projects.push(project(Some("/x"), None)), ""),
        (&|projects| projects.push(project(None, Some(1))), ""),
        // A damaged project may be missing, but everything of a healed project must be reported.
        (&|projects| drop(projects.remove(1)), ""),
        (&|projects| drop(projects.remove(2)), "maintenance/heals"),
        (&|projects| projects[2].checkpoints = None, commands),
    ];
    for (index, (corrupt, rules)) in corruptions.iter().enumerate() {
        assert_eq!(broken_with(&["legacy-1"], corrupt), *rules, "{index}");
    }
    for archives in [&[][..], &["legacy-1", "legacy-2"], &["legacy-2"]] {
        assert_eq!(broken_with(archives, &|_| {}), commands);
    }
}
