//! The sandbox of one damage: projects with a past, the store as it was before the damage, and the
//! way back to that before each question.

use super::harm::Damage;
use super::past::{Checkpoint, Past, Project};
use super::plan::{PROJECTS, Packing, Plan, file};
use super::{DamageError, Opened};
use crate::git_objects::tree_id;
use crate::history::History;
use crate::protocol::capabilities::Capabilities;
use crate::runner::FIRST_SECOND;
use crate::sandbox::{Sandbox, Scratch, edits, git_alone, manifest};
use crate::subject::Subject;
use herma_model::answer::CheckpointOutcome;
use herma_model::bytes::{ancestors, below};
use herma_model::edit::Change;
use herma_model::world::hash_of;
use herma_model::{Answer, ByteString, Entry, Files, Node, Request, Settings, Tree};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// So long after a change a subject may trust the times of files: longer than the tick of any file
/// system. Nothing that is judged depends on it.
const SETTLE: Duration = Duration::from_millis(20);
/// When the files of the projects were changed, as they say.
const CHANGED: Duration = Duration::from_secs(1_000_000_000);
/// Seconds between two requests.
const STEP: i64 = 60;

/// A sandbox with a past.
pub struct Ground<'a> {
    sandbox: Sandbox,
    opened: &'a Opened<'a>,
    settings: Settings,
    /// The store as it was before the damage.
    aside: TempDir,
    seconds: i64,
}

impl<'a> Ground<'a> {
    /// Has the subject keep what the plan says. Its store is whole and known when this returns.
    ///
    /// # Errors
    /// The sandbox or git fails, or the subject does not keep what it is asked to.
    pub fn new(
        plan: &Plan,
        opened: &'a Opened<'a>,
        scratch: &Scratch,
    ) -> Result<(Self, Past), DamageError> {
        let history = History { plain_home: true, ..History::default() };
        let sandbox = Sandbox::new(scratch, &history)?;
        let limited = plan.few && opened.capabilities.has("settings.max_snapshots");
        let most = limited.then_some(super::plan::FEW);
        let settings = Settings {
            max_snapshots: most.unwrap_or(Settings::default().max_snapshots),
            ..Settings::default()
        };
        let settings = opened.capabilities.restrict_settings(&settings);
        let aside = scratch.temporary()?;
        let mut ground = Ground { sandbox, opened, settings, aside, seconds: FIRST_SECOND };
        let mut past = Past { projects: Vec::new(), most };
        for (name, start) in PROJECTS.into_iter().zip(&plan.starts) {
            let dir = ground.sandbox.root().join("work").join(name);
            fs::create_dir_all(&dir)?;
            let dir = ByteString::from(dir.as_os_str().as_bytes());
            let hash = hash_of(&dir);
            let (start, checkpoints) = (start.clone(), Vec::new());
            past.projects.push(Project { name, dir, hash, start, checkpoints });
        }
        ground.live(plan, &mut past)?;
        ground.keep()?;
        Ok((ground, past))
    }

    /// Takes every checkpoint of the plan.
    fn live(&mut self, plan: &Plan, past: &mut Past) -> Result<(), DamageError> {
        let mut subject = self.open();
        for round in 0..plan.rounds() {
            let trees = |project: usize| plan.trees[project].get(round);
            for (project, tree) in
                (0..past.projects.len()).filter_map(|one| Some((one, trees(one)?)))
            {
                self.put(past, project, tree)?;
                past.projects[project]
                    .checkpoints
                    .push(Checkpoint { id: String::new(), tree: tree.clone() });
            }
            std::thread::sleep(SETTLE);
            for project in (0..past.projects.len()).filter(|project| trees(*project).is_some()) {
                self.turn(subject.as_mut());
                let answer = subject.ask(&self.take(past, project));
                if !matches!(
                    answer,
                    Answer::Taken { outcome: CheckpointOutcome::Created { .. }, .. }
                ) {
                    return Err(fault(subject.as_ref(), "a checkpoint was asked for", &answer));
                }
            }
            match plan.packing {
                Packing::Repack(after) if after == round + 1 => {
                    self.git(&["repack", "-a", "-d", "-q"])?
                }
                Packing::Collect(after) if after == round + 1 => self.git(&["gc", "--quiet"])?,
                _ => String::new(),
            };
        }
        self.learn_ids(subject.as_mut(), past)
    }

    /// Learns the ids of all checkpoints that are kept, and whether each holds what it must.
    fn learn_ids(&mut self, subject: &mut dyn Subject, past: &mut Past) -> Result<(), DamageError> {
        let most = past.most.unwrap_or(usize::MAX);
        for project in &mut past.projects {
            // Who has taken none may refuse to list any.
            if project.checkpoints.is_empty() {
                continue;
            }
            let surplus = project.checkpoints.len().saturating_sub(most);
            project.checkpoints.drain(..surplus);
            let answer = subject.ask(&Request::List { dir: project.dir.clone() });
            let ids: Vec<String> = match &answer {
                Answer::Listed(listed) => listed.iter().rev().map(|one| one.id.clone()).collect(),
                _ => Vec::new(),
            };
            if ids.len() != project.checkpoints.len() {
                return Err(fault(subject, "all that was taken should be listed", &answer));
            }
            for (checkpoint, id) in project.checkpoints.iter_mut().zip(ids) {
                checkpoint.id = id;
            }
            let is_git = self.opened.capabilities.has("layout");
            for Checkpoint { id, tree: due } in project.checkpoints.iter().filter(|_| is_git) {
                let tree = self.git(&["rev-parse", "--verify", &format!("{id}^{{tree}}")])?;
                if tree.trim() != tree_id(due).to_string() {
                    let why = format!("checkpoint {id} does not hold what was taken");
                    return Err(DamageError::NoPast(why));
                }
            }
        }
        Ok(())
    }

    /// The store.
    pub fn store(&self) -> PathBuf {
        self.sandbox.store()
    }

    /// What the subject can be asked.
    pub fn capabilities(&self) -> &Capabilities {
        &self.opened.capabilities
    }

    /// Opens the subject on what is there.
    pub fn open(&self) -> Box<dyn Subject> {
        (self.opened.open)(&self.sandbox, &self.settings, self.seconds)
    }

    /// Takes the store as it is now for what it was before.
    ///
    /// # Errors
    /// It cannot be copied.
    pub fn keep(&self) -> io::Result<()> {
        replace(&self.sandbox.base(), &self.aside.path().join("base"))
    }

    /// A new turn, some time later.
    pub fn turn(&mut self, subject: &mut dyn Subject) {
        self.seconds += STEP;
        if self.capabilities().has("test.clock") {
            subject.ask(&Request::SetClock { seconds: self.seconds });
        }
        if self.capabilities().has("ensure_checkpoint") {
            subject.ask(&Request::NewTurn);
        }
    }

    /// The request for a checkpoint of a project.
    pub fn take(&self, past: &Past, project: usize) -> Request {
        let (dir, reason) = (past.projects[project].dir.clone(), "damage".to_owned());
        match self.capabilities().has("checkpoint") {
            true => Request::Checkpoint { dir, reason },
            false => Request::EnsureCheckpoint { dir, reason },
        }
    }

    /// Brings the store back to what it was, and damages it again.
    ///
    /// # Errors
    /// It cannot be done.
    pub fn reset(&self, damage: Option<&Damage>) -> io::Result<()> {
        replace(&self.aside.path().join("base"), &self.sandbox.base())?;
        let elsewhere = self.sandbox.root().join("outside/secret.txt");
        damage.map_or(Ok(()), |damage| damage.apply(&self.store(), &elsewhere))
    }

    /// Makes a project hold exactly this, beside its repository.
    ///
    /// # Errors
    /// It cannot be done.
    pub fn put(&self, past: &Past, project: usize, tree: &Tree) -> io::Result<()> {
        let root = self.root(past, project);
        for entry in fs::read_dir(&root)? {
            let entry = entry?;
            match entry.file_name().as_bytes() {
                b".git" => {}
                _ if entry.file_type()?.is_dir() => fs::remove_dir_all(entry.path())?,
                _ => fs::remove_file(entry.path())?,
            }
        }
        for (path, entry) in tree {
            for folder in ancestors(path) {
                fs::create_dir_all(manifest::on_disk(&root, folder))?;
            }
            edits::apply(&root, &Change::Make(path.clone(), entry.node()))?;
            if matches!(entry, Entry::File { .. }) {
                File::open(manifest::on_disk(&root, path))?
                    .set_modified(SystemTime::UNIX_EPOCH + CHANGED)?;
            }
        }
        Ok(())
    }

    /// All files of the sandbox beside the store.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn look(&self) -> io::Result<Files> {
        Ok(manifest::read(self.sandbox.root(), &self.sandbox.base(), None)?.files)
    }

    /// Where a project is.
    pub fn root(&self, past: &Past, project: usize) -> PathBuf {
        self.sandbox.root().join("work").join(past.projects[project].name)
    }

    /// Plain git on the store; new files are for their owner only, like the rest of it.
    fn git(&self, arguments: &[&str]) -> Result<String, DamageError> {
        let mut git = git_alone();
        git.args(["-c", "core.sharedRepository=0600", "--git-dir"]).arg(self.store());
        let output = git.args(arguments).output()?;
        if !output.status.success() {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(DamageError::NoPast(format!("git {arguments:?}: {why}")));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

fn fault(subject: &dyn Subject, due: &str, answer: &Answer) -> DamageError {
    match subject.fault() {
        Some(fault) => DamageError::Adapter(fault.clone()),
        None => DamageError::NoPast(format!(
            "{due}, and the answer was: {}",
            super::judge::said(answer)
        )),
    }
}

/// What a project holds, of all files of the sandbox.
pub fn tree_in(files: &Files, name: &str) -> Tree {
    let folder = format!("work/{name}");
    let entry = |(path, node): (&ByteString, &Node)| {
        let path = below(folder.as_bytes(), path).filter(|path| !path.starts_with(b".git"))?;
        let entry = match node.clone() {
            Node::File { content, executable, .. } => Entry::File { content, executable },
            Node::Link { target } => Entry::Link { target },
            _ => return None,
        };
        Some((ByteString::from(path), entry))
    };
    files.iter().filter_map(entry).collect()
}

/// The first path outside of a project that is not the same in both.
pub fn changed_elsewhere(before: &Files, after: &Files, name: &str) -> Option<ByteString> {
    let folder = format!("work/{name}");
    let outside = |path: &&ByteString| match below(folder.as_bytes(), path) {
        None => **path != folder.as_str().into(),
        Some(inside) => inside.starts_with(b".git"),
    };
    let mut paths = before.iter().chain(after.iter()).map(|(path, _)| path).filter(outside);
    paths.find(|path| before.get(path) != after.get(path)).cloned()
}

/// A tree of which nothing is left as it is: contents are others, some files are gone, links lead
/// elsewhere, and there is one more.
pub fn wrecked(tree: &Tree) -> Tree {
    let wreck = |(at, (path, entry)): (usize, (&ByteString, &Entry))| {
        let wreck = match entry {
            _ if at % 4 == 3 => return None,
            Entry::Link { .. } => Entry::Link { target: b"nothing"[..].into() },
            Entry::File { .. } => file(format!("a wreck of {path:?}\n")),
        };
        Some((path.clone(), wreck))
    };
    let mut wrecked: Tree = tree.iter().enumerate().filter_map(wreck).collect();
    wrecked.insert("wreck/new.txt".into(), file("created since\n"));
    wrecked
}

/// Puts a copy of a folder in the place of another one; nothing where there is none.
fn replace(from: &Path, to: &Path) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    if from.exists() { copy_whole(from, to) } else { Ok(()) }
}

/// Copies a folder with permissions and times, links as links: an index is newer or older than what
/// it is about.
fn copy_whole(from: &Path, to: &Path) -> io::Result<()> {
    edits::copy_with(from, to, &|source, target| {
        let metadata = fs::symlink_metadata(source)?;
        if metadata.is_dir() {
            return fs::set_permissions(target, metadata.permissions());
        }
        fs::copy(source, target)?;
        File::open(target)?.set_modified(metadata.modified()?)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::fs::symlink;

    #[test]
    fn nothing_of_a_wreck_is_as_it_was() {
        let tree = Plan::draw(1, 0, 3).trees[0][0].clone();
        let wreck = wrecked(&tree);
        assert!(tree.iter().all(|(path, entry)| wreck.get(path) != Some(entry)));
        assert!(wreck.keys().any(|path| !tree.contains_key(path)));
    }

    #[test]
    fn a_copy_has_the_same_bytes_permissions_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("a")).unwrap();
        fs::write(from.join("a/file"), "bytes").unwrap();
        File::open(from.join("a/file"))
            .unwrap()
            .set_modified(SystemTime::UNIX_EPOCH + CHANGED)
            .unwrap();
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o400);
        fs::set_permissions(from.join("a/file"), permissions).unwrap();
        symlink("file", from.join("a/link")).unwrap();
        copy_whole(&from, &to).unwrap();
        let seen = |root: &Path| {
            let stat = fs::metadata(root.join("a/file")).unwrap();
            (fs::read(root.join("a/link")).unwrap(), stat.mode(), stat.mtime())
        };
        assert_eq!(seen(&from), seen(&to));
        assert!(to.join("a/link").is_symlink());
    }

    #[test]
    fn what_changes_elsewhere_is_seen_and_what_changes_in_the_project_is_not() {
        let node = |text: &str| file(text).node();
        let mut before = Files::default();
        for folder in ["work", "work/alpha", "work/alpha/.git", "work/beta", "outside"] {
            before.insert(folder.as_bytes(), Node::Directory);
        }
        for path in ["work/alpha/a", "work/alpha/.git/HEAD", "work/beta/a", "outside/secret.txt"] {
            before.insert(path.as_bytes(), node("before"));
        }
        for (path, seen) in [
            ("work/alpha/a", false),
            ("work/alpha/new", false),
            ("work/alpha/.git/HEAD", true),
            ("work/beta/a", true),
            ("outside/secret.txt", true),
        ] {
            let mut after = before.clone();
            after.insert(path.as_bytes(), node("after"));
            assert_eq!(changed_elsewhere(&before, &after, "alpha").is_some(), seen, "{path}");
        }
    }
}
