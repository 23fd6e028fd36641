//! What a status says beside other processes.

use crate::maintenance::world::{World, before, created};
use herma_core::Config;
use herma_harness::subject::Call;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[test]
fn a_status_beside_the_first_checkpoint_of_a_project_names_its_directory() {
    let world = World::new();
    world.write("new", "one");
    let (other, looking) = (Mutex::new(Some(world.manager())), Arc::new(Mutex::new(None)));
    let status = looking.clone();
    // The checkpoint is there by then, and the file that names the directory is not.
    let is_metadata = |path: &Path| path.to_string_lossy().contains("fresh/project-");
    let disk = before(Call::WriteNew, is_metadata, move |_| {
        let other = other.lock().unwrap().take().unwrap();
        *status.lock().unwrap() = Some(thread::spawn(move || other.status().unwrap()));
        thread::sleep(Duration::from_millis(50));
        Ok(())
    });
    created(&world.on(disk, Config::default()), &world.project("new"), "first");
    let status = looking.lock().unwrap().take().unwrap().join().unwrap();
    assert_eq!(status.projects.len(), 1);
    assert_eq!(status.projects[0].workdir.as_deref(), world.project("new").to_str());
}

#[test]
fn a_status_is_of_one_moment_although_two_projects_change_meanwhile() {
    let world = World::new();
    let names = ["one", "two"];
    names.iter().for_each(|name| drop(world.take(name, "first")));
    let last = names.map(|name| world.hash(name)).into_iter().max().unwrap();
    let others = Mutex::new(Vec::from(names.map(|name| (world.manager(), world.project(name)))));
    // By then the other project was looked at.
    let disk = before(
        Call::Read,
        move |path| path.ends_with(format!("{last}.json")),
        move |_| {
            for (other, project) in others.lock().unwrap().drain(..) {
                fs::write(project.join("file"), "second").unwrap();
                created(&other, &project, "second");
            }
            Ok(())
        },
    );
    let status = world.on(disk, Config::default()).status().unwrap();
    let counts: Vec<_> = status.projects.iter().map(|one| one.checkpoints).collect();
    assert_eq!(counts, [Some(2), Some(2)]);
}
