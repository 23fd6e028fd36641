//! What one damaged file of the store costs: what needs it, and nothing more.

use super::machine::{Machine, code};
use herma_core::disk::SystemDisk;
use herma_core::{Config, Listed, RestoreOptions};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

type Damage = (&'static str, fn(&Path));

/// Ways to damage a file, each of which leaves none of its content.
const DAMAGES: &[Damage] = &[
    ("removed", |_| ()),
    ("emptied", |path| fs::write(path, "").unwrap()),
    ("other bytes", |path| fs::write(path, "x\x01nothing that anybody wrote").unwrap()),
    ("digits", |path| fs::write(path, "0123456789\n").unwrap()),
    ("another id", |path| fs::write(path, format!("{}\n", "5".repeat(40))).unwrap()),
    ("a link", |path| symlink("nowhere", path).unwrap()),
    ("a fifo", |path| {
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }),
    ("a folder", |path| fs::create_dir(path).unwrap()),
];

fn damage(path: &Path, how: fn(&Path)) {
    fs::remove_file(path).unwrap();
    how(path);
}

impl Machine {
    fn git_says(&self, arguments: &[&str]) -> String {
        let output = self.git().args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The file of the object of that name.
    fn object(&self, name: &str) -> PathBuf {
        let id = self.git_says(&["rev-parse", name]);
        self.base().join("store/objects").join(&id[..2]).join(&id[2..])
    }

    fn packs(&self, ending: &str) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.base().join("store/objects/pack"));
        let paths = folder.into_iter().flatten().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension() == Some(ending.as_ref())).collect()
    }

    fn next(&self, content: &str) -> String {
        self.write("src/b.txt", content);
        self.take()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.project().join(path)).unwrap()
    }

    fn list(&self) -> Vec<Listed> {
        self.manager().list(&self.project()).unwrap()
    }

    #[track_caller]
    fn restores(&self, id: &str, content: &str) {
        let options = RestoreOptions { exact: true, force: false };
        let restored = self.manager().restore(&self.project(), id.as_bytes(), options).unwrap();
        assert!(restored.failed.is_empty(), "{restored:?}");
        assert_eq!(self.read("src/b.txt"), content);
        assert_eq!(self.read("a.txt"), "one\n");
    }
}

#[test]
fn an_index_of_a_pack_costs_what_is_in_that_pack_and_packs_go_on_being_made() {
    for (what, how) in DAMAGES {
        for ending in ["idx", "pack"] {
            let machine = Machine::new();
            // So many files are stored as a pack.
            let ids = ["one", "two"].map(|content| {
                fs::remove_dir_all(machine.project()).unwrap();
                fs::create_dir(machine.project()).unwrap();
                (0..70).for_each(|number| {
                    machine.write(&format!("{number}"), &format!("{content} {number}"))
                });
                let before = machine.packs(ending);
                let id = machine.take();
                let new = machine.packs(ending).into_iter().find(|path| !before.contains(path));
                (id, new.unwrap())
            });
            damage(&ids[0].1, *how);
            let restore = |id: &str| {
                let all = RestoreOptions { exact: true, force: false };
                machine.manager().restore(&machine.project(), id.as_bytes(), all)
            };
            assert!(restore(&ids[0].0).is_err(), "{what} {ending}");
            machine.write("7", "changed");
            assert_eq!(restore(&ids[1].0).unwrap().failed.len(), 0, "{what} {ending}");
            assert_eq!(machine.read("7"), "two 7", "{what} {ending}");
            // The same files make the same pack, in whose place something stands.
            (0..70)
                .for_each(|number| machine.write(&format!("{number}"), &format!("one {number}")));
            let again = machine.take();
            machine.write("7", "changed");
            assert_eq!(restore(&again).unwrap().failed.len(), 0, "{what} {ending}");
            assert_eq!(machine.read("7"), "one 7", "{what} {ending}");
        }
    }
}

#[test]
fn what_is_not_whole_any_more_is_stored_again_also_where_nothing_changed() {
    for (what, how) in DAMAGES {
        for object in ["HEAD:a.txt", "HEAD:src", "HEAD:"] {
            let machine = Machine::new();
            let id = machine.take();
            let object = machine.object(&object.replace("HEAD", &id));
            // What was there before the index was written is only looked at again if touched.
            std::thread::sleep(std::time::Duration::from_millis(20));
            machine.manager().checkpoint(&machine.project(), "nothing new").unwrap();
            damage(&object, *how);
            machine.manager().checkpoint(&machine.project(), "nothing new").unwrap();
            machine.write("a.txt", "spoilt\n");
            fs::remove_dir_all(machine.project().join("src")).unwrap();
            let options = RestoreOptions { exact: true, force: false };
            let restored = machine.manager().restore(&machine.project(), id.as_bytes(), options);
            let restored = restored.unwrap_or_else(|error| panic!("{what}: {error}"));
            assert!(restored.failed.is_empty(), "{what} {object:?}: {restored:?}");
            assert_eq!(
                (machine.read("a.txt"), machine.read("src/b.txt")),
                ("one\n".into(), "two\n".into())
            );
        }
    }
}

#[test]
fn a_damaged_commit_costs_its_own_checkpoint() {
    for (what, how) in DAMAGES {
        for lost in 0..3 {
            let machine = Machine::new();
            let contents = ["1\n", "2\n", "3\n"];
            let ids = contents.map(|content| machine.next(content));
            damage(&machine.object(&ids[lost]), *how);
            let verified = machine.manager().verify(&mut |_, _| ()).unwrap();
            let damaged: Vec<&String> = verified.damaged.iter().map(|one| &one.id).collect();
            assert_eq!(damaged, [&ids[lost]], "{what}");
            let listed = machine.list();
            let newest_first: Vec<&String> = listed.iter().map(|one| &one.id).collect();
            assert_eq!(newest_first, [&ids[2], &ids[1], &ids[0]], "{what}");
            for (one, number) in listed.iter().zip([2, 1, 0]) {
                assert_eq!(one.damage.is_some(), number == lost, "{what}: {one:?}");
                assert!(one.time > 0, "{what}");
            }
            let refused = machine.manager().restore(
                &machine.project(),
                ids[lost].as_bytes(),
                RestoreOptions::default(),
            );
            assert_eq!(code(refused), "corrupt_checkpoint", "{what}");
            assert_eq!(machine.read("src/b.txt"), contents[2], "{what}");
            for other in (0..3).filter(|other| *other != lost) {
                machine.restores(&ids[other], contents[other]);
            }
            let newer = machine.next("4\n");
            machine.restores(&newer, "4\n");
        }
    }
}

#[test]
fn what_a_damaged_newest_commit_hides_is_there_where_nothing_changed_since() {
    for (what, how) in DAMAGES {
        let machine = Machine::new();
        let ids = ["1\n", "2\n"].map(|content| machine.next(content));
        damage(&machine.object(&ids[1]), *how);
        // The newest that can be read is this already.
        machine.write("src/b.txt", "1\n");
        machine.manager().checkpoint(&machine.project(), "nothing new").unwrap();
        assert!(machine.list().iter().any(|one| one.id == ids[0]), "{what}");
        machine.restores(&ids[0], "1\n");
        let newer = machine.next("3\n");
        assert_eq!(machine.list().len(), 2, "{what}");
        machine.restores(&ids[0], "1\n");
        machine.restores(&newer, "3\n");
    }
}

#[test]
fn a_ref_and_the_newest_commit_that_are_both_damaged_cost_that_one() {
    for (what, how) in DAMAGES {
        let machine = Machine::new();
        let ids = ["1\n", "2\n"].map(|content| machine.next(content));
        damage(&machine.object(&ids[1]), *how);
        damage(&machine.base().join("store/refs/hermes").join(machine.hash()), *how);
        assert!(machine.list().iter().any(|one| one.id == ids[0]), "{what}");
        machine.restores(&ids[0], "1\n");
        let newer = machine.next("3\n");
        assert!(machine.list().iter().any(|one| one.id == newer), "{what}");
        machine.restores(&ids[0], "1\n");
    }
}

#[test]
fn where_the_ref_and_the_only_commit_are_damaged_the_next_checkpoint_is_taken() {
    for (what, how) in DAMAGES {
        let machine = Machine::new();
        let only = machine.next("1\n");
        damage(&machine.object(&only), *how);
        damage(&machine.base().join("store/refs/hermes").join(machine.hash()), *how);
        let newer = machine.next("2\n");
        assert!(machine.list().iter().any(|one| one.id == newer), "{what}");
        machine.restores(&newer, "2\n");
    }
}

#[test]
fn a_damaged_folder_costs_the_checkpoints_that_hold_it() {
    for (what, how) in DAMAGES {
        let machine = Machine::new();
        let contents = ["1\n", "2\n", "3\n"];
        let ids = contents.map(|content| machine.next(content));
        damage(&machine.object(&format!("{}:src", ids[1])), *how);
        let damaged: Vec<bool> = machine.list().iter().map(|one| one.damage.is_some()).collect();
        assert_eq!(damaged, [false, true, false], "{what}");
        let project = machine.project();
        assert_eq!(code(machine.manager().diff(&project, ids[1].as_bytes())), "corrupt_checkpoint");
        machine.manager().diff(&project, ids[0].as_bytes()).unwrap();
        machine.restores(&ids[0], contents[0]);
        machine.restores(&ids[2], contents[2]);
    }
}

#[test]
fn a_damaged_ref_or_head_costs_nothing() {
    for (what, how) in DAMAGES {
        // A HEAD that names a commit is another tool's business.
        let heads = ["refs/hermes", "HEAD"];
        for file in heads.into_iter().take(if *what == "another id" { 1 } else { 2 }) {
            let machine = Machine::new();
            let ids = ["1\n", "2\n"].map(|content| machine.next(content));
            let mut path = machine.base().join("store").join(file);
            if path.is_dir() {
                path = fs::read_dir(path).unwrap().next().unwrap().unwrap().path();
            }
            damage(&path, *how);
            assert_eq!(machine.list().len(), 2, "{what} {file}");
            machine.restores(&ids[0], "1\n");
            let newer = machine.next("3\n");
            machine.restores(&newer, "3\n");
            assert!(machine.git_finds_nothing_broken(), "{what} {file}");
        }
    }
}

#[test]
fn what_came_before_a_damaged_commit_is_not_reclaimed() {
    let machine = Machine::new();
    let ids = ["1\n", "2\n", "3\n"].map(|content| machine.next(content));
    damage(&machine.object(&ids[1]), DAMAGES[1].1);
    let newer = machine.next("4\n");
    let options = herma_core::PruneOptions::from(machine.manager().config());
    let pruned = machine.manager().prune(&options, &mut |_| ()).unwrap();
    assert_eq!(pruned.errors, 0);
    for (id, content) in [(&ids[0], "1\n"), (&ids[2], "3\n"), (&newer, "4\n")] {
        machine.restores(id, content);
    }
}

#[test]
fn a_look_at_everything_names_each_checkpoint_and_path_that_is_lost() {
    let machine = Machine::new();
    let ids = ["1\n", "2\n", "3\n"].map(|content| machine.next(content));
    let verify = || machine.manager().verify(&mut |_, _| ()).unwrap();
    assert_eq!((verify().projects, verify().checkpoints), (1, 3));
    assert!(verify().damaged.is_empty());
    damage(&machine.object(&format!("{}:src/b.txt", ids[1])), DAMAGES[2].1);
    damage(&machine.object(&format!("{}:a.txt", ids[0])), DAMAGES[0].1);
    let lost: Vec<(String, Vec<Vec<u8>>)> = verify()
        .damaged
        .into_iter()
        .map(|one| (one.id, one.lost.into_iter().map(|lost| lost.path).collect()))
        .collect();
    let all = |paths: &[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    let [first, second, third] = ids;
    let due = [
        (third, all(&["a.txt"])),
        (second, all(&["a.txt", "src/b.txt"])),
        (first, all(&["a.txt"])),
    ];
    assert_eq!(lost, due);
}

/// Those of the damages that leave no file.
fn no_files() -> impl Iterator<Item = &'static Damage> {
    DAMAGES.iter().filter(|(what, _)| ["a link", "a fifo", "a folder"].contains(what))
}

#[test]
fn what_is_no_file_is_no_list_of_refs_or_boundaries() {
    for (file, kept) in [("packed-refs", 3), ("shallow", 2)] {
        for (what, how) in no_files() {
            let machine = Machine::new();
            let config = Config { max_snapshots: kept, ..Config::default() };
            let few = machine.with(SystemDisk, config);
            let ids = ["1\n", "2\n", "3\n"].map(|content| {
                machine.write("src/b.txt", content);
                assert!(few.checkpoint(&machine.project(), content).is_ok());
                few.list(&machine.project()).unwrap()[0].id.clone()
            });
            let path = machine.base().join("store").join(file);
            let _ = fs::remove_file(&path);
            how(&path);
            let list = || few.list(&machine.project()).unwrap();
            assert_eq!(list().len(), kept, "{what} {file}");
            machine.restores(&ids[1], "2\n");
            machine.write("src/b.txt", "4\n");
            assert!(few.checkpoint(&machine.project(), "4").is_ok(), "{what} {file}");
            assert_eq!(list().len(), kept, "{what} {file}");
        }
    }
}

#[test]
fn a_ref_that_is_lost_is_not_where_git_packed_it_once() {
    let machine = Machine::new();
    machine.next("1\n");
    machine.git_says(&["pack-refs", "--all"]);
    let newest = machine.next("2\n");
    let refs = fs::read_dir(machine.base().join("store/refs/hermes")).unwrap();
    refs.for_each(|one| fs::remove_file(one.unwrap().path()).unwrap());
    assert_eq!(machine.list()[0].id, newest);
    let third = machine.next("3\n");
    assert_eq!(machine.list().len(), 3);
    machine.restores(&newest, "2\n");
    machine.restores(&third, "3\n");
    // Another tool that goes on from what is packed is believed.
    machine.git_says(&["pack-refs", "--all"]);
    assert_eq!(machine.list()[0].id, machine.git_says(&["rev-list", "-1", "--all"]));
}

#[test]
fn no_index_of_a_pack_is_waited_for() {
    for (what, how) in no_files() {
        let machine = Machine::new();
        machine.next("1\n");
        machine.git_says(&["gc", "--quiet"]);
        let packs = fs::read_dir(machine.base().join("store/objects/pack")).unwrap();
        let mut packs = packs.map(|entry| entry.unwrap().path());
        damage(&packs.find(|path| path.extension().is_some_and(|end| end == "idx")).unwrap(), *how);
        assert!(machine.list()[0].damage.is_some(), "{what}");
        // Also what would be stored as a pack of its own.
        (0..100).for_each(|number| machine.write(&format!("{number}.txt"), &number.to_string()));
        let id = machine.next("2\n");
        machine.restores(&id, "2\n");
        // The next one stands on the newest that is whole, and there is none.
        let verified = machine.manager().verify(&mut |_, _| ()).unwrap();
        assert_eq!((verified.checkpoints, verified.damaged.len()), (1, 0), "{what}");
    }
}
