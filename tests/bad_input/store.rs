//! What may be wrong with the store: what is in its place, missing from it, damaged, or written by
//! git itself.

use super::machine::{Machine, code};
use crate::maintenance::world::{before, forget_checkpoints};
use herma_core::{ProjectState, RestoreOptions};
use herma_harness::subject::{Call, HookedDisk};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_file_in_the_place_of_the_base_or_the_store_is_no_store() {
    for place in ["home/.hermes", "home/.hermes/checkpoints", "home/.hermes/checkpoints/store"] {
        let machine = Machine::new();
        let file = machine.root().join(place);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine\n").unwrap();
        let manager = machine.manager();
        let refused = manager.list(&machine.project()).unwrap_err();
        assert_eq!(refused.code(), "store_unusable", "{place}");
        assert!(!refused.to_string().contains("locks"), "{place}: {refused}");
        let others = ["store_unusable", if place.ends_with("store") { "" } else { "io" }];
        assert!(others.contains(&code(manager.status())), "{place}");
        assert!(others.contains(&code(manager.checkpoint(&machine.project(), "r"))), "{place}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
        assert_eq!(fs::read_to_string(machine.project().join("a.txt")).unwrap(), "one\n");
    }
}

#[test]
fn a_store_that_others_could_read_is_closed_to_them() {
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
    let disk = before(Call::Permit, move |path| path == store, |_| panic!("closed already"));
    machine.write("a.txt", "three\n");
    machine.on(disk).checkpoint(&machine.project(), "r").unwrap();
}

#[test]
fn what_vanishes_while_it_is_counted_costs_nothing() {
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
    let counted = machine.on(disk).status().unwrap();
    assert!(!file.exists() && !folder.exists());
    assert_eq!(counted.total_bytes, machine.manager().status().unwrap().total_bytes);
}

#[test]
fn a_ref_that_holds_no_id_hides_its_own_project_only_where_nothing_else_names_the_newest() {
    let machine = Machine::new();
    machine.take();
    let reference = fs::read_dir(machine.base().join("store/refs/hermes")).unwrap().next();
    let reference = reference.unwrap().unwrap().path();
    let other = machine.root().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("x"), "x\n").unwrap();
    let manager = machine.manager();
    manager.checkpoint(&other, "other").unwrap();
    fs::write(&reference, "no id\n").unwrap();
    assert_eq!(manager.list(&machine.project()).unwrap().len(), 1);
    fs::write(&reference, "no id\n").unwrap();
    let metadata = machine.base().join("store/projects").join(reference.file_name().unwrap());
    forget_checkpoints(&metadata.with_extension("json"));
    assert_eq!(code(manager.list(&machine.project())), "store_unusable");
    let restored = manager.restore(&machine.project(), b"1", RestoreOptions::default());
    assert_eq!(code(restored), "store_unusable");
    assert_eq!(manager.list(&other).unwrap().len(), 1);
    let projects = manager.status().unwrap().projects;
    assert_eq!(projects.len(), 2);
    let damaged = projects.iter().find(|one| reference.ends_with(&one.hash)).unwrap();
    assert_eq!((damaged.checkpoints, damaged.state), (None, ProjectState::Live));
}

/// Runs git on the store, with the project as its work tree.
fn git(machine: &Machine, arguments: &[&str]) {
    let mut git = machine.git();
    git.arg("--work-tree").arg(machine.project());
    let index =
        fs::read_dir(machine.base().join("store/indexes")).unwrap().next().unwrap().unwrap().path();
    let ended = git.env("GIT_INDEX_FILE", index).args(arguments).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn an_index_that_git_wrote_is_not_taken_for_the_bytes_of_files() {
    let machine = Machine::new();
    machine.take();
    fs::remove_file(machine.base().join("store/info/attributes")).unwrap();
    machine.write(".gitattributes", "* text=auto\n");
    machine.write("crlf.txt", "one\r\ntwo\r\n");
    // Git trusts only what is older than its index.
    std::thread::sleep(std::time::Duration::from_millis(30));
    git(&machine, &["add", "--all"]);
    machine.take();
    machine.write("crlf.txt", "changed\n");
    machine.restore_on(HookedDisk::of_an_ordinary_user());
    assert_eq!(fs::read(machine.project().join("crlf.txt")).unwrap(), b"one\r\ntwo\r\n");
}

#[test]
fn a_blob_that_the_store_has_lost_is_made_again() {
    let machine = Machine::new();
    std::thread::sleep(std::time::Duration::from_millis(30));
    machine.take();
    let store = machine.base().join("store");
    for entry in fs::read_dir(store.join("refs/hermes")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    // Git would keep what the index names, so that is put back afterwards.
    let indexes = store.join("indexes");
    fs::rename(&indexes, store.join("aside")).unwrap();
    assert!(machine.git().args(["gc", "--quiet", "--prune=now"]).status().unwrap().success());
    fs::rename(store.join("aside"), &indexes).unwrap();
    machine.take();
    assert!(machine.git_finds_nothing_broken());
}
