//! Tests of reading, moving and removing refs.

use super::*;
use crate::disk::SystemDisk;
use std::fs;

const TIP: &str = "1111111111111111111111111111111111111111";

#[test]
fn everything_reads_the_file_of_a_ref_and_not_its_packed_line() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path();
    let old = TIP;
    let new = "2222222222222222222222222222222222222222";
    let packed = format!("{old} refs/hermes/a\n{old} refs/hermes/b\n");
    fs::write(store.join("packed-refs"), packed).unwrap();
    fs::create_dir_all(store.join("refs/hermes")).unwrap();
    fs::write(store.join("refs/hermes/a"), format!("{new}\n")).unwrap();
    let found = everything(&SystemDisk, store).unwrap();
    assert_eq!(found.iter().map(Oid::to_string).collect::<Vec<_>>(), [new, old]);
}

#[test]
fn remove_removes_the_file_of_a_ref_and_its_packed_line() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path();
    let header = "# pack-refs with: peeled fully-peeled sorted \n";
    let removed = "0123456789abcdef";
    let kept = "fedcba9876543210";
    let line = |hash: &str| format!("{TIP} refs/hermes/{hash}\n");
    let packed = format!("{header}{}^{TIP}\n{}^{TIP}\n", line(removed), line(kept));
    fs::write(store.join("packed-refs"), packed).unwrap();
    fs::create_dir_all(store.join("refs/hermes")).unwrap();
    fs::write(store.join("refs/hermes").join(removed), format!("{TIP}\n")).unwrap();
    for _ in 0..2 {
        remove(&SystemDisk, store, &of_project(removed)).unwrap();
        assert_eq!(all(&SystemDisk, store).unwrap(), [kept]);
        let rest = fs::read_to_string(store.join("packed-refs")).unwrap();
        assert_eq!(rest, format!("{header}{}^{TIP}\n", line(kept)));
        assert_eq!(fs::read_dir(store).unwrap().count(), 2, "a lock stayed");
        assert_eq!(fs::read_dir(store.join("refs/hermes")).unwrap().count(), 0);
    }
    remove(&SystemDisk, store, &of_project(kept)).unwrap();
    assert!(all(&SystemDisk, store).unwrap().is_empty());
    assert!(store.join("refs/hermes").is_dir(), "git takes a folder without refs for no store");
}

// rule: lock/stale
#[test]
fn advance_takes_over_the_lock_of_a_process_that_died() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path();
    let hash = "0123456789abcdef";
    let name = &of_project(hash);
    fs::create_dir_all(store.join("refs/hermes")).unwrap();
    fs::write(store.join("refs/hermes").join(hash).with_extension("lock"), "").unwrap();
    let tip = Oid::parse(TIP).unwrap();
    advance(&SystemDisk, store, name, None, tip).unwrap();
    assert_eq!(read(&SystemDisk, store, name).unwrap(), Some(tip));
}

#[test]
fn advance_refuses_a_ref_that_another_process_moved() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path();
    let name = &of_project("0123456789abcdef");
    let tip = Oid::parse(TIP).unwrap();
    fs::create_dir_all(store.join("refs/hermes")).unwrap();
    advance(&SystemDisk, store, name, None, tip).unwrap();
    let new = Oid::ZERO;
    assert!(matches!(advance(&SystemDisk, store, name, None, new), Err(Error::Busy(_))));
    assert_eq!(read(&SystemDisk, store, name).unwrap(), Some(tip));
    assert_eq!(fs::read_dir(store.join("refs/hermes")).unwrap().count(), 1, "a lock stayed");
    advance(&SystemDisk, store, name, Some(tip), new).unwrap();
    assert_eq!(read(&SystemDisk, store, name).unwrap(), Some(new));
}

#[test]
fn remove_waits_while_another_tool_holds_the_lock_on_packed_refs() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path();
    let hash = "0123456789abcdef";
    let packed = format!("{TIP} refs/hermes/{hash}\n");
    fs::write(store.join("packed-refs"), &packed).unwrap();
    fs::write(store.join("packed-refs.lock"), "").unwrap();
    let unlock = || {
        sleep(Duration::from_millis(50));
        assert_eq!(fs::read_to_string(store.join("packed-refs")).unwrap(), packed);
        fs::remove_file(store.join("packed-refs.lock")).unwrap();
    };
    std::thread::scope(|scope| {
        scope.spawn(unlock);
        remove(&SystemDisk, store, &of_project(hash)).unwrap();
    });
    assert!(all(&SystemDisk, store).unwrap().is_empty());
}
