//! Reads objects from packs that git or this crate wrote, intact and with every byte damaged.

use super::*;
use crate::disk::SystemDisk;
use crate::store::objects::Objects;
use crate::store::pack;
use crate::store::repack::Repack;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Noise, so that a large part of a pack is compressed bytes.
fn content(seed: u32, bytes: u32) -> Vec<u8> {
    (seed..seed + bytes).map(|number| (number.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn open(path: &Path) -> Option<Pack> {
    let index = PackIndex::of(fs::read(path.with_extension("idx")).unwrap())?;
    Some(Pack::new(path.to_owned(), index, Mark::of(b"", &[])))
}

fn read(pack: &Pack, id: Oid) -> Found<(Kind, Option<Vec<u8>>)> {
    let found = pack.read(&SystemDisk, id, u64::MAX).unwrap();
    // The other ways of reading agree with `read`, as far as they can; `check` is stricter.
    let checked = pack.check(&SystemDisk, id).unwrap();
    assert!(!matches!(checked, Found::Intact(_)) || matches!(found, Found::Intact(_)));
    let header = pack.header(&SystemDisk, id).unwrap();
    let stream = pack.stream(&SystemDisk, id).unwrap();
    if let Found::Intact((kind, Some(bytes))) = &found {
        assert_eq!(header, Found::Intact((*kind, bytes.len() as u64)));
        let Found::Intact(mut stream) = stream else { panic!("no stream") };
        let mut streamed = Vec::new();
        stream.read_to_end(&mut streamed).unwrap();
        assert_eq!(streamed, *bytes);
    }
    found
}

/// Similar files that git packed in a repository in `folder`, so that most are stored as deltas.
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
    let mut files = Vec::new();
    let mut bytes = content(0, 9000);
    for number in 0..6 {
        // Each file is most of the previous file, with an insertion.
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
    let named = |bytes: Vec<u8>| (id_of(Kind::Blob, &bytes), bytes);
    (open(&path).unwrap(), files.into_iter().map(named).collect())
}

#[test]
fn read_resolves_the_delta_chains_of_a_pack_that_git_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let mut longest = 0;
    for (id, bytes) in &files {
        assert_eq!(read(&pack, *id), Found::Intact((Kind::Blob, Some(bytes.clone()))));
        let uncached = open(&pack.path).unwrap();
        let Found::Intact(chain) = uncached.chain(&SystemDisk, *id).unwrap() else { panic!() };
        longest = longest.max(chain.deltas.len());
        let too_large = pack.read(&SystemDisk, *id, bytes.len() as u64 - 1).unwrap();
        assert_eq!(too_large, Found::Intact((Kind::Blob, None)));
    }
    assert!(longest > 2, "git made chains of {longest}");
    assert_eq!(read(&pack, Oid::ZERO), Found::Absent);
    let entries = pack.index.entries().unwrap();
    assert!(entries.iter().all(|(id, _)| matches!(read(&pack, *id), Found::Intact(_))));
}

#[test]
fn read_check_header_and_stream_use_a_base_outside_a_damaged_pack() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let chain = |id| match pack.chain(&SystemDisk, id).unwrap() {
        Found::Intact(chain) => chain,
        _ => panic!("no chain"),
    };
    let deltas: Vec<_> = files.iter().filter(|(id, _)| !chain(*id).deltas.is_empty()).collect();
    let base_offset = chain(deltas[0].0).base_offset;
    let (base, base_bytes) =
        files.iter().find(|(id, _)| pack.index.offset(*id) == Some(base_offset)).unwrap();
    let mut bytes = fs::read(&pack.path).unwrap();
    for byte in &mut bytes[base_offset as usize + 10..][..50] {
        *byte = !*byte;
    }
    fs::set_permissions(&pack.path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(&pack.path, bytes).unwrap();
    let open = || Objects::new(&SystemDisk, folder.path().join(".git/objects"));
    for (id, _) in &deltas {
        assert!(open().read(Kind::Blob, *id).is_err());
    }
    let mut objects = open();
    assert_eq!(objects.add(Kind::Blob, base_bytes).unwrap(), *base);
    objects.flush().unwrap();
    let objects = open();
    for (id, bytes) in &files {
        objects.check(Kind::Blob, *id).unwrap();
        assert_eq!(objects.read(Kind::Blob, *id).unwrap(), *bytes);
        assert_eq!(objects.read_up_to(Kind::Blob, *id, 10).unwrap(), None);
        assert_eq!(objects.header(*id).unwrap(), (Kind::Blob, bytes.len() as u64));
        let mut streamed = Vec::new();
        objects.stream(*id).unwrap().read_to_end(&mut streamed).unwrap();
        assert_eq!(streamed, *bytes);
    }
}

// A fuzz target found it: the counts at the beginning of an index are not needed to find an object here.
#[test]
fn check_calls_intact_only_what_git_reads() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let index_path = pack.path.with_extension("idx");
    let index = fs::read(&index_path).unwrap();
    let is_read_by_git = |id: Oid| {
        let mut git = Command::new("git");
        git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git.env("HOME", folder.path()).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(folder.path());
        git.args(["cat-file", "-e", &id.to_string()]).output().unwrap().status.success()
    };
    let mut refused = 0;
    for position in (8..1032).step_by(41).chain([index.len() - 30]) {
        let mut flipped = index.clone();
        flipped[position] ^= 0x04;
        fs::remove_file(&index_path).unwrap();
        fs::write(&index_path, &flipped).unwrap();
        let Some(pack) = open(&pack.path) else { continue };
        let id = files[position % files.len()].0;
        match pack.check(&SystemDisk, id).unwrap() {
            Found::Intact(_) => assert!(is_read_by_git(id), "byte {position}"),
            _ => {
                refused += 1;
                assert!(matches!(read(&pack, id), Found::Intact(_)), "byte {position}");
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

/// Writes a pack with the objects `kept` of `source`, and verifies it with `git verify-pack`.
fn repacked(source: &Pack, kept: &HashSet<Oid>) -> Pack {
    let folder = source.path.parent().unwrap().join("other");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).unwrap();
    let mut repack = Repack::of(&SystemDisk, source, kept).unwrap().unwrap();
    let mut bytes = Vec::new();
    repack.read_to_end(&mut bytes).unwrap();
    let (name, index) = repack.index().unwrap();
    let path = folder.join(format!("pack-{name}.pack"));
    fs::write(&path, bytes).unwrap();
    fs::write(path.with_extension("idx"), index).unwrap();
    let mut git = Command::new("git");
    git.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    git.env("HOME", &folder).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(&folder);
    let output = git.args(["verify-pack".as_ref(), path.as_os_str()]).output().unwrap();
    assert!(output.status.success(), "{kept:?}: {output:?}");
    open(&path).unwrap()
}

#[test]
fn repack_keeps_the_chosen_objects_intact_and_as_small_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let size = |pack: &Pack| fs::metadata(&pack.path).unwrap().len();
    for chosen in 0..1u32 << files.len() {
        let kept: Vec<_> = (0..files.len())
            .filter(|index| chosen >> index & 1 > 0)
            .map(|index| &files[index])
            .collect();
        let ids: HashSet<Oid> = kept.iter().map(|(id, _)| *id).collect();
        let rest = repacked(&pack, &ids);
        assert_eq!(rest.index.entries().unwrap().len(), ids.len());
        for (id, bytes) in kept {
            assert_eq!(read(&rest, *id), Found::Intact((Kind::Blob, Some(bytes.clone()))));
        }
    }
    // With all objects every delta stays a delta, each now with the 20-byte id of its base.
    let every_id = pack.index.entries().unwrap().into_iter().map(|(id, _)| id);
    let every_id: HashSet<Oid> = every_id.collect();
    assert!(size(&repacked(&pack, &every_id)) <= size(&pack) + 20 * every_id.len() as u64);
    // A pack with such deltas can be repacked again.
    let again = repacked(&pack, &every_id);
    let half: HashSet<Oid> = files.iter().take(3).map(|(id, _)| *id).collect();
    assert_eq!(repacked(&again, &half).index.entries().unwrap().len(), 3);
}

#[test]
fn repack_refuses_a_pack_that_was_truncated_after_its_index_was_read() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let ids: HashSet<Oid> = files.iter().map(|(id, _)| *id).collect();
    let bytes = fs::read(&pack.path).unwrap();
    fs::remove_file(&pack.path).unwrap();
    fs::write(&pack.path, &bytes[..30]).unwrap();
    assert!(Repack::of(&SystemDisk, &pack, &ids).unwrap().is_none());
}

#[test]
fn read_reports_damage_or_the_right_bytes_for_every_truncated_or_flipped_pack_and_index() {
    let folder = tempfile::tempdir().unwrap();
    let objects: Vec<_> = (0..3)
        .map(|seed| content(seed, 120))
        .map(|bytes| (id_of(Kind::Blob, &bytes), Kind::Blob, bytes))
        .collect();
    let packed = pack::pack(&objects).unwrap();
    let path = folder.path().join("pack-1.pack");
    let mut damaged = 0;
    let mut intact = 0;
    let mut check = |pack: &[u8], index: &[u8]| {
        fs::write(&path, pack).unwrap();
        fs::write(path.with_extension("idx"), index).unwrap();
        let Some(pack) = open(&path) else { return damaged += 1 };
        for (id, kind, bytes) in &objects {
            match read(&pack, *id) {
                Found::Intact(found) => {
                    assert_eq!(found, (*kind, Some(bytes.clone())));
                    intact += 1;
                }
                Found::Absent | Found::Damaged(_) => damaged += 1,
            }
        }
        let _ = pack.index.entries();
    };
    for length in 0..packed.pack.len() {
        check(&packed.pack[..length], &packed.index);
    }
    for bits in [0x01, 0x10, 0x80, 0xff] {
        for (position, is_index) in (0..packed.pack.len())
            .map(|position| (position, false))
            .chain((0..packed.index.len()).map(|position| (position, true)))
        {
            let mut pack = packed.pack.clone();
            let mut index = packed.index.clone();
            if is_index {
                index[position] ^= bits
            } else {
                pack[position] ^= bits
            }
            check(&pack, &index);
        }
    }
    assert!(damaged > 1000 && intact > 1000, "{damaged} {intact}");
}

#[test]
fn read_reports_damage_or_the_right_bytes_for_flipped_bytes_in_a_pack_that_git_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let (pack, files) = packed_by_git(folder.path());
    let intact = fs::read(&pack.path).unwrap();
    fs::set_permissions(&pack.path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    for position in (0..intact.len()).step_by(7) {
        let mut flipped = intact.clone();
        flipped[position] ^= 0x14;
        fs::write(&pack.path, &flipped).unwrap();
        for (id, bytes) in &files {
            match pack.read(&SystemDisk, *id, u64::MAX).unwrap() {
                Found::Intact(found) => {
                    assert_eq!(found.1.as_ref(), Some(bytes), "byte {position}")
                }
                Found::Absent | Found::Damaged(_) => {}
            }
        }
    }
}
