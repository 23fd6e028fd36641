//! Objects in packs that git made or this crate did, whole and with every byte of them damaged.

use super::*;
use crate::disk::SystemDisk;
use crate::store::pack;
use crate::store::repack::Repack;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Noise, so that a good part of what is stored are compressed bytes.
fn content(seed: u32, bytes: u32) -> Vec<u8> {
    (seed..seed + bytes).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn open(path: &Path) -> Option<Pack> {
    let index = PackIndex::of(fs::read(path.with_extension("idx")).unwrap())?;
    Some(Pack::new(path.to_owned(), index, Mark::of(b"", &[])))
}

fn read(pack: &Pack, id: Oid) -> Found<(Kind, Option<Vec<u8>>)> {
    let found = pack.read(&SystemDisk, id, u64::MAX).unwrap();
    // Whoever asks in another way is told the same, as far as it can be known.
    let checked = pack.check(&SystemDisk, id).unwrap();
    assert_eq!(matches!(checked, Found::Whole(_)), matches!(found, Found::Whole(_)));
    let header = pack.header(&SystemDisk, id).unwrap();
    let stream = pack.stream(&SystemDisk, id).unwrap();
    if let Found::Whole((kind, Some(bytes))) = &found {
        assert_eq!(header, Found::Whole((*kind, bytes.len() as u64)));
        let Found::Whole(mut stream) = stream else { panic!("no stream") };
        let mut all = Vec::new();
        stream.read_to_end(&mut all).unwrap();
        assert_eq!(all, *bytes);
    }
    found
}

/// Every file below `folder` that git packed, one of them made of the others.
fn packed_by_git(folder: &Path) -> (Pack, Vec<(Oid, Vec<u8>)>) {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git.env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(folder);
        let output = git.args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    git(&["init", "-q"]);
    let (mut files, mut bytes) = (Vec::new(), content(0, 9000));
    for number in 0..6 {
        // Each is most of the one before it, with something put in.
        bytes.splice(1000 * number..1000 * number + 100, content(700 * number as u32, 300));
        fs::write(folder.join(format!("{number}.bin")), &bytes).unwrap();
        files.push(bytes.clone());
    }
    git(&["add", "."]);
    git(&["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "one"]);
    git(&["repack", "-adfq", "--depth=50", "--window=50"]);
    let folder = folder.join(".git/objects/pack");
    let names = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let path = names.into_iter().find(|path| path.extension() == Some("pack".as_ref())).unwrap();
    let named = |bytes: Vec<u8>| (id_of(Kind::Blob, &bytes).unwrap(), bytes);
    (open(&path).unwrap(), files.into_iter().map(named).collect())
}

#[test]
fn what_git_packed_is_read_also_where_it_is_made_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let mut longest = 0;
    for (id, bytes) in &files {
        assert_eq!(read(&pack, *id), Found::Whole((Kind::Blob, Some(bytes.clone()))));
        let again = open(&pack.path).unwrap();
        let Found::Whole(chain) = again.chain(&SystemDisk, *id).unwrap() else { panic!() };
        longest = longest.max(chain.changes.len());
        let less = pack.read(&SystemDisk, *id, bytes.len() as u64 - 1).unwrap();
        assert_eq!(less, Found::Whole((Kind::Blob, None)));
    }
    assert!(longest > 2, "git made chains of {longest}");
    assert_eq!(read(&pack, Oid::ZERO_SHA1), Found::Absent);
    let entries = pack.index.entries().unwrap();
    assert!(entries.iter().all(|(id, _)| matches!(read(&pack, *id), Found::Whole(_))));
}

/// The objects of that pack that stay, as a pack of their own that git finds nothing wrong with.
fn repacked(from: &Pack, stays: &HashSet<Oid>) -> Pack {
    let folder = from.path.parent().unwrap().join("other");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let mut repack = Repack::of(&SystemDisk, from, stays).unwrap().unwrap();
    let mut bytes = Vec::new();
    repack.read_to_end(&mut bytes).unwrap();
    let (name, index) = repack.index().unwrap();
    let path = folder.join(format!("pack-{name}.pack"));
    fs::write(&path, bytes).unwrap();
    fs::write(path.with_extension("idx"), index).unwrap();
    let mut git = Command::new("git");
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("HOME", &folder).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(&folder);
    let said = git.args(["verify-pack".as_ref(), path.as_os_str()]).output().unwrap();
    assert!(said.status.success(), "{stays:?}: {said:?}");
    open(&path).unwrap()
}

#[test]
fn what_stays_of_a_pack_is_whole_and_as_small_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let size = |pack: &Pack| fs::metadata(&pack.path).unwrap().len();
    for chosen in 0..1u32 << files.len() {
        let stays: Vec<_> =
            (0..files.len()).filter(|at| chosen >> at & 1 > 0).map(|at| &files[at]).collect();
        let ids: HashSet<Oid> = stays.iter().map(|(id, _)| *id).collect();
        let left = repacked(&pack, &ids);
        assert_eq!(left.index.entries().unwrap().len(), ids.len());
        for (id, bytes) in stays {
            assert_eq!(read(&left, *id), Found::Whole((Kind::Blob, Some(bytes.clone()))));
        }
    }
    // With all of them every change stays one, each now said with the whole name of what it changes.
    let all: HashSet<Oid> = pack.index.entries().unwrap().into_iter().map(|(id, _)| id).collect();
    assert!(size(&repacked(&pack, &all)) <= size(&pack) + 20 * all.len() as u64);
    // And what is written here is read here again, in the other form of a change.
    let again = repacked(&pack, &all);
    let half: HashSet<Oid> = files.iter().take(3).map(|(id, _)| *id).collect();
    assert_eq!(repacked(&again, &half).index.entries().unwrap().len(), 3);
}

#[test]
fn a_pack_that_changed_is_not_copied() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let ids: HashSet<Oid> = files.iter().map(|(id, _)| *id).collect();
    let bytes = fs::read(&pack.path).unwrap();
    fs::remove_file(&pack.path).unwrap();
    fs::write(&pack.path, &bytes[..30]).unwrap();
    assert!(Repack::of(&SystemDisk, &pack, &ids).unwrap().is_none());
}

#[test]
fn every_cut_and_every_flipped_byte_of_pack_and_index_is_damage_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let objects: Vec<_> = (0..3)
        .map(|seed| content(seed, 120))
        .map(|bytes| (id_of(Kind::Blob, &bytes).unwrap(), Kind::Blob, bytes))
        .collect();
    let packed = pack::pack(&objects).unwrap();
    let path = folder.path().join("pack-1.pack");
    let (mut damaged, mut whole) = (0, 0);
    let mut look = |pack: &[u8], index: &[u8]| {
        fs::write(&path, pack).unwrap();
        fs::write(path.with_extension("idx"), index).unwrap();
        let Some(pack) = open(&path) else { return damaged += 1 };
        for (id, kind, bytes) in &objects {
            match read(&pack, *id) {
                Found::Whole(found) => {
                    assert_eq!(found, (*kind, Some(bytes.clone())));
                    whole += 1;
                }
                Found::Absent | Found::Damaged(_) => damaged += 1,
            }
        }
        let _ = pack.index.entries();
    };
    for length in 0..packed.pack.len() {
        look(&packed.pack[..length], &packed.index);
    }
    for bits in [0x01, 0x10, 0x80, 0xff] {
        for (at, is_index) in (0..packed.pack.len())
            .map(|at| (at, false))
            .chain((0..packed.index.len()).map(|at| (at, true)))
        {
            let (mut pack, mut index) = (packed.pack.clone(), packed.index.clone());
            if is_index {
                index[at] ^= bits
            } else {
                pack[at] ^= bits
            }
            look(&pack, &index);
        }
    }
    assert!(damaged > 1000 && whole > 1000, "{damaged} {whole}");
}

#[test]
fn every_flipped_byte_of_what_git_packed_is_damage_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let whole = fs::read(&pack.path).unwrap();
    fs::set_permissions(&pack.path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut flipped = whole.clone();
        flipped[at] ^= 0x14;
        fs::write(&pack.path, &flipped).unwrap();
        for (id, bytes) in &files {
            match pack.read(&SystemDisk, *id, u64::MAX).unwrap() {
                Found::Whole(found) => assert_eq!(found.1.as_ref(), Some(bytes), "byte {at}"),
                Found::Absent | Found::Damaged(_) => {}
            }
        }
    }
}
