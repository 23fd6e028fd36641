//! `status` while other processes work on the store.

use crate::maintenance::world::{StoreFixture, before_call, take_checkpoint};
use herma_core::Config;
use herma_harness::subject::Call;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

#[test]
fn status_during_the_first_checkpoint_of_a_project_names_its_directory() {
    let fixture = StoreFixture::new();
    fixture.write("new", "one");
    let other_process = Mutex::new(Some(fixture.manager()));
    let reader = Arc::new(Mutex::new(None));
    let spawned = reader.clone();
    // At this call the checkpoint exists, but not yet the file that names the directory.
    let is_metadata = |path: &Path| path.to_string_lossy().contains("fresh/project-");
    let disk = before_call(Call::WriteNew, is_metadata, move |_| {
        let other_process = other_process.lock().unwrap().take().unwrap();
        *spawned.lock().unwrap() = Some(thread::spawn(move || other_process.status().unwrap()));
        thread::sleep(Duration::from_millis(50));
        Ok(())
    });
    take_checkpoint(&fixture.manager_on(disk, Config::default()), &fixture.project("new"), "first");
    let status = reader.lock().unwrap().take().unwrap().join().unwrap();
    assert_eq!(status.projects.len(), 1);
    assert_eq!(status.projects[0].workdir.as_deref(), Some(&*fixture.project("new")));
}

#[test]
fn status_is_consistent_although_two_projects_change_meanwhile() {
    let fixture = StoreFixture::new();
    let names = ["one", "two"];
    names.iter().for_each(|name| drop(fixture.take(name, "first")));
    let last = names.map(|name| fixture.hash(name)).into_iter().max().unwrap();
    let writers =
        Mutex::new(Vec::from(names.map(|name| (fixture.manager(), fixture.project(name)))));
    // At this call the other project has been read.
    let disk = before_call(
        Call::Read,
        move |path| path.ends_with(format!("{last}.json")),
        move |_| {
            for (manager, project) in writers.lock().unwrap().drain(..) {
                fs::write(project.join("file"), "second").unwrap();
                take_checkpoint(&manager, &project, "second");
            }
            Ok(())
        },
    );
    let status = fixture.manager_on(disk, Config::default()).status().unwrap();
    let counts: Vec<_> = status.projects.iter().map(|project| project.checkpoints).collect();
    assert_eq!(counts, [Some(2), Some(2)]);
}
