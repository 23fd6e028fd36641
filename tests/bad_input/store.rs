//! Broken stores: other files at the path of the store, missing or damaged files, and files written by git
//! itself.

use super::machine::{Machine, error_code};
use crate::maintenance::world::{before_call, forget_checkpoints};
use herma_core::{ProjectState, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_file_at_the_path_of_the_base_or_the_store_is_refused_as_store_unusable() {
    for path in ["home/.hermes", "home/.hermes/checkpoints", "home/.hermes/checkpoints/store"] {
        let machine = Machine::new();
        let file = machine.root().join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine\n").unwrap();
        let manager = machine.manager();
        let refused = manager.list(&machine.project()).unwrap_err();
        assert_eq!(refused.code(), "store_unusable", "{path}");
        assert!(!refused.to_string().contains("locks"), "{path}: {refused}");
        let codes = ["store_unusable", if path.ends_with("store") { "" } else { "io" }];
        assert!(codes.contains(&error_code(manager.status())), "{path}");
        assert!(codes.contains(&error_code(manager.checkpoint(&machine.project(), "r"))), "{path}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
        assert_eq!(fs::read_to_string(machine.project().join("a.txt")).unwrap(), "one\n");
    }
}

#[test]
fn checkpoint_closes_a_store_that_other_users_could_read() {
    let machine = Machine::new();
    machine.take();
    let store = machine.base().join("store");
    let inspected = store.clone();
    let mode = || fs::metadata(&inspected).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(), 0o700);
    fs::set_permissions(&store, fs::Permissions::from_mode(0o755)).unwrap();
    machine.write("a.txt", "two\n");
    machine.take();
    assert_eq!(mode(), 0o700);
    let disk = before_call(Call::Permit, move |path| path == store, |_| panic!("closed already"));
    machine.write("a.txt", "three\n");
    machine.manager_on(disk).checkpoint(&machine.project(), "r").unwrap();
}

#[test]
fn status_ignores_files_that_vanish_while_it_counts_them() {
    let machine = Machine::new();
    machine.take();
    let [file, folder] = ["stray", "strays"].map(|name| machine.base().join("store").join(name));
    fs::write(&file, "some bytes").unwrap();
    fs::create_dir(&folder).unwrap();
    let vanishing = [file.clone(), folder.clone()];
    let disk = HookedDisk::new(move |call, path| {
        if call == Call::Stat && path == vanishing[0] && path.exists() {
            fs::remove_file(path)?;
        }
        if call == Call::List && path == vanishing[1] && path.exists() {
            fs::remove_dir(path)?;
        }
        Ok(())
    });
    let counted = machine.manager_on(disk).status().unwrap();
    assert!(!file.exists() && !folder.exists());
    assert_eq!(counted.total_bytes, machine.manager().status().unwrap().total_bytes);
}

#[test]
fn a_ref_without_an_id_hides_its_project_only_if_no_metadata_names_the_newest() {
    let machine = Machine::new();
    machine.take();
    let reference = fs::read_dir(machine.base().join("store/refs/hermes")).unwrap().next();
    let reference = reference.unwrap().unwrap().path();
    let other_project = machine.root().join("other");
    fs::create_dir(&other_project).unwrap();
    fs::write(other_project.join("x"), "x\n").unwrap();
    let manager = machine.manager();
    manager.checkpoint(&other_project, "other").unwrap();
    fs::write(&reference, "no id\n").unwrap();
    assert_eq!(manager.list(&machine.project()).unwrap().len(), 1);
    fs::write(&reference, "no id\n").unwrap();
    let metadata = machine.base().join("store/projects").join(reference.file_name().unwrap());
    forget_checkpoints(&metadata.with_extension("json"));
    assert_eq!(error_code(manager.list(&machine.project())), "store_unusable");
    let restored = manager.restore(&machine.project(), b"1", RestoreOptions::default());
    assert_eq!(error_code(restored), "store_unusable");
    assert_eq!(manager.list(&other_project).unwrap().len(), 1);
    let projects = manager.status().unwrap().projects;
    assert_eq!(projects.len(), 2);
    let damaged = projects.iter().find(|project| reference.ends_with(&project.hash)).unwrap();
    assert_eq!((damaged.checkpoints, damaged.state), (None, ProjectState::Live));
}

/// Runs git on the store, with the project as its work tree.
fn git(machine: &Machine, arguments: &[&str]) {
    let mut git = machine.git();
    git.arg("--work-tree").arg(machine.project());
    let index =
        fs::read_dir(machine.base().join("store/indexes")).unwrap().next().unwrap().unwrap().path();
    let output = git.env("GIT_INDEX_FILE", index).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn checkpoint_does_not_trust_an_index_that_git_wrote() {
    let machine = Machine::new();
    machine.take();
    fs::remove_file(machine.base().join("store/info/attributes")).unwrap();
    machine.write(".gitattributes", "* text=auto\n");
    machine.write("crlf.txt", "one\r\ntwo\r\n");
    // Git trusts only files older than its index.
    std::thread::sleep(std::time::Duration::from_millis(30));
    git(&machine, &["add", "--all"]);
    machine.take();
    machine.write("crlf.txt", "changed\n");
    machine.restore_on(HookedDisk::of_an_ordinary_user());
    assert_eq!(fs::read(machine.project().join("crlf.txt")).unwrap(), b"one\r\ntwo\r\n");
}

#[test]
fn checkpoint_stores_a_lost_blob_again() {
    let machine = Machine::new();
    std::thread::sleep(std::time::Duration::from_millis(30));
    machine.take();
    let store = machine.base().join("store");
    for entry in fs::read_dir(store.join("refs/hermes")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    // Git would keep the objects that the index lists, so the index is moved away and put back afterwards.
    let indexes = store.join("indexes");
    fs::rename(&indexes, store.join("aside")).unwrap();
    assert!(machine.git().args(["gc", "--quiet", "--prune=now"]).status().unwrap().success());
    fs::rename(store.join("aside"), &indexes).unwrap();
    machine.take();
    assert!(machine.git_finds_nothing_broken());
}
