//! Damage of the store that no history makes: twice, or where many files are stored as a pack. One damaged
//! file at a time is the business of `herma-conform damage`.

use super::machine::Machine;
use herma_core::{Listed, RestoreOptions};
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
