//! Files of a store: any bytes in one file of a store that is otherwise intact.
//!
//! In all cases nothing panics, loops or changes anything outside the project; a refusal changes no file of
//! the project; a checkpoint whose restore reports success is restored byte for byte. If the file is
//! bookkeeping, the restore succeeds. And if the file holds objects and the core calls every checkpoint intact, git
//! reads the store.

use super::memory_disk::{Key, Tree};
use super::stored_tree::{commit_of, plant_commit, write_object};
use super::{BASE, Fixture, PROJECT, StartingState, export, hash_of_project, hexadecimal, project};
use crate::generate::PRUNE;
use crate::git_objects::blob_id;
use crate::sandbox::git_alone;
use herma_model::answer::{Answer, Code};
use herma_model::{ByteString, Request};
use sha1::{Digest, Sha1};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

mod packed;

/// How the bytes of an input become a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// The file with this path below the base.
    File(&'static str),
    /// The same, followed by the SHA-1 of the input: without it, no input would be read any further.
    Sealed(&'static str),
    /// The file with this name of a repository of v1, which the next checkpoint archives.
    V1(&'static str),
    /// The compressed file of the first commit.
    LooseCommit,
    /// The compressed file of a blob of both checkpoints.
    LooseBlob,
    /// The text of the newest commit.
    Commit,
    /// The root tree of the newest commit.
    Tree,
    /// The text of the newest envelope.
    Envelope,
    /// The pack with all objects, whose loose files are removed.
    Pack,
    /// The index of that pack, sealed.
    PackIndex,
}

/// One file of a store.
#[derive(Debug)]
pub struct StoredFile {
    /// The name of its fuzz target.
    pub name: &'static str,
    placement: Placement,
    /// Whether the checkpoints do not depend on it.
    is_bookkeeping: bool,
}

const fn file(name: &'static str, placement: Placement, is_bookkeeping: bool) -> StoredFile {
    StoredFile { name, placement, is_bookkeeping }
}

/// Every file that the core reads; `{hash}` stands for the name of the project.
pub const FILES: &[StoredFile] = &[
    file("index", Placement::Sealed("store/indexes/{hash}"), true),
    file("figures", Placement::File("store/figures/{hash}"), true),
    file("metadata", Placement::File("store/projects/{hash}.json"), true),
    file("prune_marker", Placement::File(".last_prune"), true),
    file("usage", Placement::File("store/usage"), true),
    file("store_config", Placement::File("store/config"), true),
    file("head", Placement::File("store/HEAD"), true),
    file("project_ref", Placement::File("store/refs/hermes/{hash}"), false),
    file("packed_refs", Placement::File("store/packed-refs"), true),
    file("shallow", Placement::File("store/shallow"), true),
    file("exclude", Placement::File("store/info/exclude"), true),
    file("restore_mark", Placement::File("store/restoring/{hash}"), true),
    file("restore_journal", Placement::File("store/undo/{hash}.json"), false),
    file("attribution_log", Placement::File("store/hands/{hash}.json"), true),
    file("agent_state", Placement::File("agent/goal.json"), false),
    file("v1_head", Placement::V1("HEAD"), true),
    file("v1_directory", Placement::V1("HERMES_WORKDIR"), true),
    file("loose_commit", Placement::LooseCommit, false),
    file("loose_blob", Placement::LooseBlob, false),
    file("commit", Placement::Commit, false),
    file("tree", Placement::Tree, false),
    file("envelope", Placement::Envelope, false),
    file("pack", Placement::Pack, false),
    file("pack_index", Placement::PackIndex, false),
];

/// The name of a repository of v1.
const V1: &str = "0123456789abcdef";
/// Its files.
const V1_FILES: [(&str, &str); 4] = [
    ("HEAD", "ref: refs/heads/master\n"),
    ("HERMES_WORKDIR", PROJECT),
    ("config", "[core]\n\tbare = true\n"),
    ("refs/heads/master", "0123456789abcdef0123456789abcdef01234567\n"),
];

/// What the requests on a store with such a file did.
#[derive(Debug, Default)]
pub struct Judged {
    /// Whether the oldest checkpoint was restored.
    pub restored: bool,
    /// Whether every checkpoint was found intact.
    pub intact: bool,
}

impl StoredFile {
    /// Judges the core on the starting state with these bytes in the file.
    ///
    /// # Errors
    /// The violated expectation, as a text.
    pub fn judge(&self, bytes: &[u8], state: &StartingState) -> Result<Judged, String> {
        let mut fixture = Fixture::new(state);
        self.place(bytes, &fixture).map_err(|error| format!("not placed: {error}"))?;
        let mut judged = Judged { intact: is_intact(&fixture), ..Judged::default() };
        let dir = project();
        fixture.ask(&Request::List { dir: dir.clone() })?;
        fixture.ask(&Request::Status)?;
        fixture.ask(&Request::Diff { dir: dir.clone(), target: "1".into() })?;
        let target = ByteString::from(fixture.ids[0].as_str());
        let restore = Request::Restore { dir: dir.clone(), target, exact: true, force: false };
        judged.restored = self.judge_restore(&restore, &mut fixture)?;
        fixture.place("a.txt", b"three\n");
        let taken = fixture.ask(&Request::Checkpoint { dir: dir.clone(), reason: "r".into() })?;
        if let (true, Answer::Refused { code, message, .. }) = (self.is_bookkeeping, &taken.answer)
        {
            return Err(format!("no checkpoint ({code:?}): {message}"));
        }
        if let Placement::V1(name) = self.placement
            && !keeps_v1(&taken.after, name, bytes)
        {
            return Err("a file of the repository of v1 is lost".into());
        }
        fixture.ask(&PRUNE.with_target(|_| ByteString::default()))?;
        fixture.ask(&Request::RestoreFile { dir, target: "1".into(), path: "a.txt".into() })?;
        Ok(judged)
    }

    /// Restores the oldest checkpoint, and judges the result; returns whether it was restored.
    fn judge_restore(&self, restore: &Request, fixture: &mut Fixture) -> Result<bool, String> {
        let asked = fixture.ask(restore)?;
        let report = match asked.answer {
            Answer::Restored(report) => report,
            Answer::Refused { code, message, .. } if self.is_bookkeeping && code != Code::Io => {
                return Err(format!("{} stops a restore ({code:?}): {message}", self.name));
            }
            _ => return Ok(false),
        };
        let reported = report.failed.iter().chain(&report.kept).map(|remark| &remark.path);
        let reported: Vec<&ByteString> = reported.collect();
        for path in ["a.txt", "src/main.rs"] {
            let node = asked.after.get(&Key::of(&Path::new(PROJECT).join(path)));
            let is_restored = node.is_some_and(|node| &node.content[..] == b"one\n");
            let is_reported = reported.iter().any(|reported| ***reported == *path.as_bytes());
            let may_differ = is_reported && !self.is_bookkeeping;
            if !is_restored && !may_differ {
                return Err(format!("{path} is not as recorded, and not reported: {report:?}"));
            }
        }
        Ok(reported.is_empty())
    }

    /// Whether git reads the objects of a store that the core calls intact; too slow for fuzzing. Other files
    /// are not judged: the core ignores what is damaged there, and git may not.
    ///
    /// # Errors
    /// The violated expectation, as a text.
    pub fn judge_by_git(&self, bytes: &[u8], state: &StartingState) -> Result<(), String> {
        let fixture = Fixture::new(state);
        self.place(bytes, &fixture).map_err(|error| format!("not placed: {error}"))?;
        let is_object =
            !matches!(self.placement, Placement::File(_) | Placement::V1(_) | Placement::Sealed(_));
        if !(is_object && is_intact(&fixture)) {
            return Ok(());
        }
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        export(&fixture.disk, directory.path()).map_err(|error| error.to_string())?;
        let store = directory.path().join("store");
        read_by_git(&store, &fixture.ids).map_err(|why| format!("called intact, but git: {why}"))
    }

    /// The contents that the file has on the starting state, or that a history would give it.
    pub fn seeds(&self, state: &StartingState) -> Vec<Vec<u8>> {
        let fixture = Fixture::new(state);
        let tree = fixture.disk.tree();
        let content = |path: &Path| tree.get(&Key::of(path)).map(|node| node.content.to_vec());
        let unsealed = |mut bytes: Vec<u8>| {
            bytes.truncate(bytes.len().saturating_sub(20));
            bytes
        };
        let from_store = match self.placement {
            Placement::File(path) => content(&below_base(path)),
            Placement::V1(_) => None,
            Placement::Sealed(path) => content(&below_base(path)).map(unsealed),
            Placement::LooseCommit => content(&loose_path(&fixture.ids[0])),
            Placement::LooseBlob => content(&loose_path(&blob_id(b"one\n").to_string())),
            Placement::Commit => {
                packed::object(&tree, &fixture.ids[1]).map(|object| object.content)
            }
            Placement::Tree => packed::root_tree(&tree, &fixture.ids[1]),
            Placement::Envelope => packed::envelope(&tree),
            Placement::Pack => Some(packed::pack(&tree).0),
            Placement::PackIndex => Some(unsealed(packed::pack(&tree).1)),
        };
        from_store.into_iter().chain(self.written_seeds(&fixture.ids)).collect()
    }

    /// Contents that the starting state has not.
    fn written_seeds(&self, ids: &[String]) -> Vec<Vec<u8>> {
        let hash = hash_of_project();
        let [old, new] = [&ids[0], &ids[1]];
        let journal = format!(
            "{{\"directory\":{:?},\"target\":\"{old}\",\"before\":\"{new}\",\"creates\":[],\"parts\":{{}}}}",
            PROJECT.as_bytes()
        );
        let text = match self.name {
            "packed_refs" => format!(
                "# pack-refs with: peeled fully-peeled sorted \n{new} refs/hermes/{hash}\n^{old}\n"
            ),
            "figures" => format!("{}\n", hexadecimal(&Sha1::digest(""))),
            "shallow" => format!("{old}\n"),
            "restore_mark" => format!("{{\"target\":\"{old}\",\"before\":\"{new}\"}}"),
            "restore_journal" => journal,
            "attribution_log" => format!("[{{\"checkpoint\":\"{old}\"}}]"),
            "v1_head" => "ref: refs/heads/master\n".into(),
            "v1_directory" => format!("{PROJECT}\n"),
            _ => return Vec::new(),
        };
        vec![text.into_bytes()]
    }

    fn place(&self, bytes: &[u8], fixture: &Fixture) -> io::Result<()> {
        match self.placement {
            Placement::File(path) => fixture.disk.place(&below_base(path), bytes),
            Placement::V1(name) => {
                place_v1_repository(fixture);
                fixture.disk.place(&below_base(V1).join(name), bytes);
            }
            Placement::Sealed(path) => fixture.disk.place(&below_base(path), &sealed(bytes)),
            Placement::LooseCommit => fixture.disk.place(&loose_path(&fixture.ids[0]), bytes),
            Placement::LooseBlob => {
                fixture.disk.place(&loose_path(&blob_id(b"one\n").to_string()), bytes)
            }
            Placement::Commit => drop(plant_commit(fixture, bytes)?),
            Placement::Tree => {
                let tree = hexadecimal(&write_object(fixture, "tree", bytes)?);
                plant_commit(fixture, commit_of(&tree, &fixture.ids[1]).as_bytes())?;
            }
            Placement::Envelope => {
                let blob = write_object(fixture, "blob", bytes)?;
                let tree = [b"100644 envelope.json\0", &blob[..]].concat();
                let tree = hexadecimal(&write_object(fixture, "tree", &tree)?);
                let name = format!("store/refs/envelopes/{{hash}}/{}", fixture.ids[1]);
                fixture.disk.place(&below_base(&name), format!("{tree}\n").as_bytes());
            }
            Placement::Pack | Placement::PackIndex => self.place_pack(bytes, fixture),
        }
        Ok(())
    }

    fn place_pack(&self, bytes: &[u8], fixture: &Fixture) {
        let made = packed::pack(&fixture.disk.tree());
        let objects = below_base("store/objects");
        fixture.disk.take_away(&objects);
        let is_pack = self.placement == Placement::Pack;
        let [pack, index] =
            if is_pack { [bytes.to_vec(), made.1] } else { [made.0, sealed(bytes)] };
        let name = format!("pack-{}", "0".repeat(40));
        fixture.disk.place(&objects.join(format!("pack/{name}.pack")), &pack);
        fixture.disk.place(&objects.join(format!("pack/{name}.idx")), &index);
    }
}

/// Whether all stored data is whole. Git may still refuse the settings of the store, which only the next
/// checkpoint writes again.
fn is_intact(fixture: &Fixture) -> bool {
    let verified = fixture.subject.manager().verify(&mut |_, _| {});
    verified.is_ok_and(|verified| verified.has_all_data() && verified.checkpoints > 0)
}

/// Lets git read these commits, those of all refs, and everything that they need.
fn read_by_git(store: &Path, ids: &[String]) -> Result<(), String> {
    let write = |name: &str, text: &str| {
        fs::write(store.join(name), text).map_err(|error| format!("not run: {error}"))
    };
    // The store may have lost its settings, without which git does not know it.
    write("HEAD", "ref: refs/heads/main\n")?;
    write("config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")?;
    let git = |command: &mut Command| {
        let output = command.output().map_err(|error| format!("not run: {error}"))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    };
    let in_store = || {
        let mut git = git_alone();
        git.arg("--git-dir").arg(store);
        git
    };
    let listing = ["rev-list", "--objects", "--no-object-names", "--all"];
    let listed = git(in_store().args(listing).args(ids))?;
    write("listed", &String::from_utf8_lossy(&listed))?;
    let listed = File::open(store.join("listed")).map_err(|error| format!("not run: {error}"))?;
    git(in_store().args(["cat-file", "--batch", "--buffer"]).stdin(listed)).map(|_| ())
}

/// A repository of v1, and no HEAD of the store: without one, the next checkpoint looks for such repositories.
fn place_v1_repository(fixture: &Fixture) {
    let repository = below_base(V1);
    for (name, text) in V1_FILES {
        fixture.disk.place(&repository.join(name), text.as_bytes());
    }
    fixture.disk.take_away(&below_base("store/HEAD"));
}

/// Whether every file of the repository of v1 is still there, or archived, with these bytes in one of them.
fn keeps_v1(after: &Tree, file: &str, bytes: &[u8]) -> bool {
    let expected = V1_FILES.iter().map(|(name, text)| match *name == file {
        true => (*name, bytes),
        false => (*name, text.as_bytes()),
    });
    expected.into_iter().all(|(name, bytes)| {
        let below = Path::new(V1).join(name);
        after.iter().any(|(key, node)| key.path().ends_with(&below) && node.content[..] == *bytes)
    })
}

fn sealed(bytes: &[u8]) -> Vec<u8> {
    [bytes, &Sha1::digest(bytes)].concat()
}

fn below_base(path: &str) -> PathBuf {
    Path::new(BASE).join(path.replace("{hash}", &hash_of_project()))
}

fn loose_path(id: &str) -> PathBuf {
    below_base(&format!("store/objects/{}/{}", &id[..2], &id[2..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_and_git_read_the_seeds_of_every_file() {
        let state = StartingState::new();
        for file in FILES {
            let seeds = file.seeds(&state);
            assert!(!seeds.is_empty(), "{} has no seed", file.name);
            for seed in seeds {
                let judged = file.judge(&seed, &state);
                let judged = judged.unwrap_or_else(|error| panic!("{}: {error}", file.name));
                assert!(judged.restored && judged.intact, "{}: {judged:?}", file.name);
                file.judge_by_git(&seed, &state)
                    .unwrap_or_else(|error| panic!("{}: {error}", file.name));
            }
        }
    }

    #[test]
    fn no_file_at_all_is_judged_like_any_other() {
        let state = StartingState::new();
        for file in FILES {
            let judged = file.judge(b"", &state);
            let judged = judged.unwrap_or_else(|error| panic!("{}: {error}", file.name));
            assert!(judged.restored || !file.is_bookkeeping, "{}: {judged:?}", file.name);
        }
    }
}
