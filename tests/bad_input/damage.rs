//! Damage to the store that no history generates: to two files, or to packs of many files.
//! `herma-conform damage` covers a single damaged file.

use super::machine::Machine;
use herma_core::{Listed, RestoreOptions};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

type Damage = (&'static str, fn(&Path));

/// Ways to damage a file, each of which destroys all of its content.
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

fn damage(path: &Path, replace: fn(&Path)) {
    fs::remove_file(path).unwrap();
    replace(path);
}

impl Machine {
    fn git_output(&self, arguments: &[&str]) -> String {
        let output = self.git().args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// The path of the loose object of that name.
    fn object(&self, name: &str) -> PathBuf {
        let id = self.git_output(&["rev-parse", name]);
        self.base().join("store/objects").join(&id[..2]).join(&id[2..])
    }

    fn packs(&self, extension: &str) -> Vec<PathBuf> {
        let folder = fs::read_dir(self.base().join("store/objects/pack"));
        let paths = folder.into_iter().flatten().map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension() == Some(extension.as_ref())).collect()
    }

    fn take_next(&self, content: &str) -> String {
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
    fn assert_restores(&self, id: &str, content: &str) {
        let options = RestoreOptions { exact: true, force: false };
        let restored = self.manager().restore(&self.project(), id.as_bytes(), options).unwrap();
        assert!(restored.failed.is_empty(), "{restored:?}");
        assert_eq!(self.read("src/b.txt"), content);
        assert_eq!(self.read("a.txt"), "one\n");
    }
}

// rule: maintenance/damage
#[test]
fn a_damaged_pack_or_index_loses_only_its_own_checkpoints_and_can_be_replaced() {
    for (damage_name, replace) in DAMAGES {
        for extension in ["idx", "pack"] {
            let machine = Machine::new();
            // This many files are stored as a pack.
            let ids = ["one", "two"].map(|content| {
                fs::remove_dir_all(machine.project()).unwrap();
                fs::create_dir(machine.project()).unwrap();
                (0..70).for_each(|number| {
                    machine.write(&format!("{number}"), &format!("{content} {number}"))
                });
                let before = machine.packs(extension);
                let id = machine.take();
                let new = machine.packs(extension).into_iter().find(|path| !before.contains(path));
                (id, new.unwrap())
            });
            damage(&ids[0].1, *replace);
            let restore = |id: &str| {
                let options = RestoreOptions { exact: true, force: false };
                machine.manager().restore(&machine.project(), id.as_bytes(), options)
            };
            assert!(restore(&ids[0].0).is_err(), "{damage_name} {extension}");
            machine.write("7", "changed");
            assert_eq!(restore(&ids[1].0).unwrap().failed.len(), 0, "{damage_name} {extension}");
            assert_eq!(machine.read("7"), "two 7", "{damage_name} {extension}");
            // The same files make the same pack, whose path is occupied by the damaged file.
            (0..70)
                .for_each(|number| machine.write(&format!("{number}"), &format!("one {number}")));
            let again = machine.take();
            machine.write("7", "changed");
            assert_eq!(restore(&again).unwrap().failed.len(), 0, "{damage_name} {extension}");
            assert_eq!(machine.read("7"), "one 7", "{damage_name} {extension}");
        }
    }
}

#[test]
fn an_unchanged_checkpoint_reveals_the_history_behind_a_damaged_newest_commit() {
    for (damage_name, replace) in DAMAGES {
        let machine = Machine::new();
        let ids = ["1\n", "2\n"].map(|content| machine.take_next(content));
        damage(&machine.object(&ids[1]), *replace);
        // The newest readable checkpoint already has this content.
        machine.write("src/b.txt", "1\n");
        machine.manager().checkpoint(&machine.project(), "nothing new").unwrap();
        assert!(machine.list().iter().any(|entry| entry.id == ids[0]), "{damage_name}");
        machine.assert_restores(&ids[0], "1\n");
        let newer = machine.take_next("3\n");
        assert_eq!(machine.list().len(), 2, "{damage_name}");
        machine.assert_restores(&ids[0], "1\n");
        machine.assert_restores(&newer, "3\n");
    }
}

#[test]
fn damage_to_both_the_ref_and_the_newest_commit_loses_only_that_checkpoint() {
    for (damage_name, replace) in DAMAGES {
        let machine = Machine::new();
        let ids = ["1\n", "2\n"].map(|content| machine.take_next(content));
        damage(&machine.object(&ids[1]), *replace);
        damage(&machine.base().join("store/refs/hermes").join(machine.hash()), *replace);
        assert!(machine.list().iter().any(|entry| entry.id == ids[0]), "{damage_name}");
        machine.assert_restores(&ids[0], "1\n");
        let newer = machine.take_next("3\n");
        assert!(machine.list().iter().any(|entry| entry.id == newer), "{damage_name}");
        machine.assert_restores(&ids[0], "1\n");
    }
}

#[test]
fn checkpoint_succeeds_after_damage_to_both_the_ref_and_the_only_commit() {
    for (damage_name, replace) in DAMAGES {
        let machine = Machine::new();
        let only = machine.take_next("1\n");
        damage(&machine.object(&only), *replace);
        damage(&machine.base().join("store/refs/hermes").join(machine.hash()), *replace);
        let newer = machine.take_next("2\n");
        assert!(machine.list().iter().any(|entry| entry.id == newer), "{damage_name}");
        machine.assert_restores(&newer, "2\n");
    }
}

// rule: maintenance/damage
#[test]
fn verify_names_each_checkpoint_and_path_that_is_lost() {
    let machine = Machine::new();
    let ids = ["1\n", "2\n", "3\n"].map(|content| machine.take_next(content));
    let verify = || machine.manager().verify(&mut |_, _| ()).unwrap();
    assert_eq!((verify().projects, verify().checkpoints), (1, 3));
    assert!(verify().damaged.is_empty());
    damage(&machine.object(&format!("{}:src/b.txt", ids[1])), DAMAGES[2].1);
    damage(&machine.object(&format!("{}:a.txt", ids[0])), DAMAGES[0].1);
    let lost: Vec<(String, Vec<Vec<u8>>)> = verify()
        .damaged
        .into_iter()
        .map(|damaged| (damaged.id, damaged.lost.into_iter().map(|lost| lost.path).collect()))
        .collect();
    let bytes = |paths: &[&str]| paths.iter().map(|path| path.as_bytes().to_vec()).collect();
    let [first, second, third] = ids;
    let expected = [
        (third, bytes(&["a.txt"])),
        (second, bytes(&["a.txt", "src/b.txt"])),
        (first, bytes(&["a.txt"])),
    ];
    assert_eq!(lost, expected);
}

#[test]
fn list_does_not_fall_back_from_a_lost_ref_to_an_older_packed_ref() {
    let machine = Machine::new();
    machine.take_next("1\n");
    machine.git_output(&["pack-refs", "--all"]);
    let newest = machine.take_next("2\n");
    let refs = fs::read_dir(machine.base().join("store/refs/hermes")).unwrap();
    refs.for_each(|entry| fs::remove_file(entry.unwrap().path()).unwrap());
    assert_eq!(machine.list()[0].id, newest);
    let third = machine.take_next("3\n");
    assert_eq!(machine.list().len(), 3);
    machine.assert_restores(&newest, "2\n");
    machine.assert_restores(&third, "3\n");
    // A packed ref that another tool updated is used.
    machine.git_output(&["pack-refs", "--all"]);
    assert_eq!(machine.list()[0].id, machine.git_output(&["rev-list", "-1", "--all"]));
}

/// The bytes of the object are whole, but git refuses its file.
// rule: maintenance/damage
#[test]
fn verify_reports_every_object_with_bytes_behind_its_end_as_git_does() {
    for name in ["HEAD", "HEAD^{tree}", "HEAD:src", "HEAD:a.txt"] {
        let machine = Machine::new();
        machine.take();
        let name = name.replace("HEAD", &format!("refs/hermes/{}", machine.hash()));
        let object = machine.object(&name);
        let bytes = [&fs::read(&object).unwrap()[..], b"more"].concat();
        fs::remove_file(&object).unwrap();
        fs::write(&object, bytes).unwrap();
        assert!(!machine.git_finds_nothing_broken(), "{name}");
        let verified = machine.manager().verify(&mut |_, _| ()).unwrap();
        assert_eq!(verified.damaged.len(), 1, "{name}: {verified:?}");
    }
}

#[test]
fn the_next_checkpoint_stores_an_object_again_that_has_bytes_behind_its_end() {
    for name in ["src", "src/b.txt"] {
        let machine = Machine::new();
        machine.take();
        let object = machine.object(&format!("refs/hermes/{}:{name}", machine.hash()));
        let bytes = [&fs::read(&object).unwrap()[..], b"more"].concat();
        fs::remove_file(&object).unwrap();
        fs::write(&object, bytes).unwrap();
        machine.write("a.txt", "two\n");
        machine.take();
        assert!(machine.git_finds_nothing_broken(), "{name}");
    }
}

/// The objects of the pack are whole, but git refuses a pack that does not end with the checksum in its index.
// rule: maintenance/damage
#[test]
fn verify_reports_a_pack_with_another_end_as_git_does() {
    type Change = fn(&mut Vec<u8>);
    let ends: [(&str, Change); 4] = [
        ("the same end", |_| ()),
        ("bytes behind its checksum", |pack| pack.extend(b"more")),
        ("another checksum", |pack| *pack.last_mut().unwrap() ^= 1),
        ("a part of its checksum", |pack| pack.truncate(pack.len() - 10)),
    ];
    for (end, change) in ends {
        let machine = Machine::new();
        // So many files are stored as a pack.
        (0..70).for_each(|number| machine.write(&format!("{number}"), &format!("{number}\n")));
        let id = machine.take();
        let [path] = &machine.packs("pack")[..] else { panic!("one pack") };
        let mut pack = fs::read(path).unwrap();
        change(&mut pack);
        fs::remove_file(path).unwrap();
        fs::write(path, pack).unwrap();
        let verified = machine.manager().verify(&mut |_, _| ()).unwrap();
        assert_eq!(verified.damaged.is_empty(), machine.git_finds_nothing_broken(), "{end}");
        assert_eq!(verified.damaged.is_empty(), end == "the same end", "{end}: {verified:?}");
        machine.write("7", "changed");
        machine.assert_restores(&id, "two\n");
    }
}

/// What a crash leaves of a file on some file systems.
// rule: maintenance/heals
#[test]
fn a_take_writes_a_file_of_the_layout_again_that_is_full_of_zeros() {
    for name in ["config", "HEAD", "info/exclude", "info/attributes"] {
        let machine = Machine::new();
        machine.take();
        let file = machine.base().join("store").join(name);
        let intact = fs::read(&file).unwrap();
        fs::write(&file, vec![0; intact.len()]).unwrap();
        machine.take_next("changed\n");
        assert_eq!(fs::read(&file).unwrap(), intact, "{name}");
        assert!(machine.git_finds_nothing_broken(), "{name}");
    }
}
