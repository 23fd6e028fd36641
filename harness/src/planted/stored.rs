//! How planted bugs read and change the store: with plain git, as another tool would.

use super::intercepted::Intercepted;
use crate::sandbox::git_alone;
use crate::subject::Subject;
use herma_model::answer::{CheckpointOutcome, Listed};
use herma_model::world::hash_of;
use herma_model::{Answer, ByteString, Node, Request};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::process::Stdio;

/// The empty tree, which is built into git.
pub const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// The fewest digits of a shortened id.
const SHORT_ID_MIN: usize = 4;

/// Whether a fifo is in a folder or below it.
pub(super) fn holds_fifo(folder: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(folder)? {
        let (entry, kind) = entry.and_then(|entry| Ok((entry.path(), entry.file_type()?)))?;
        if kind.is_fifo() || kind.is_dir() && holds_fifo(&entry)? {
            return Ok(true);
        }
    }
    Ok(false)
}

impl Intercepted {
    /// Runs plain git on the store and returns what it printed.
    ///
    /// # Errors
    /// Git is missing or fails.
    pub fn git(&self, arguments: &[&str]) -> io::Result<String> {
        self.git_with_input(arguments, b"")
    }

    /// Like [`Intercepted::git`], with standard input. New files are only accessible to their owner, like the
    /// rest of the store.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn git_with_input(&self, arguments: &[&str], input: &[u8]) -> io::Result<String> {
        let printed = self.git_bytes(arguments, input)?;
        Ok(String::from_utf8_lossy(&printed).trim_end_matches('\n').to_owned())
    }

    /// Like [`Intercepted::git_with_input`], but returns the bytes that git printed.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn git_bytes(&self, arguments: &[&str], input: &[u8]) -> io::Result<Vec<u8>> {
        // Git would block on a fifo forever.
        if holds_fifo(&self.sandbox.store())? {
            return Err(io::Error::other("the store holds a fifo"));
        }
        let private = ["-c", "core.sharedRepository=0600"];
        let mut git = git_alone();
        git.arg("-C").arg(self.sandbox.store()).args(private).args(arguments);
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut git = git.spawn()?;
        if let Some(mut stdin) = git.stdin.take() {
            stdin.write_all(input)?;
        }
        let output = git.wait_with_output()?;
        if !output.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)));
        }
        Ok(output.stdout)
    }

    /// Stores an object of that kind and returns its id.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn write(&self, kind: &str, content: &[u8]) -> io::Result<String> {
        self.git_with_input(&["hash-object", "-t", kind, "-w", "--stdin"], content)
    }

    /// The id of the tree of a commit; `commit` is any revision.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn tree_of(&self, commit: &str) -> io::Result<String> {
        self.git(&["rev-parse", &format!("{commit}^{{tree}}")])
    }

    /// The ref of the history whose newest checkpoint is `id`.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn ref_of(&self, id: &str) -> io::Result<String> {
        self.git(&["for-each-ref", "--format=%(refname)", &format!("--points-at={id}")])
    }

    /// The id of the parent of a checkpoint.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn parent_of(&self, id: &str) -> io::Result<String> {
        self.git(&["rev-parse", "--verify", "--quiet", &format!("{id}^")])
    }

    /// The kind of the object with that id.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn kind_of(&self, id: &str) -> io::Result<String> {
        self.git(&["cat-file", "-t", id])
    }

    /// The text of a commit.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn commit_text(&self, id: &str) -> io::Result<String> {
        let text = self.git_bytes(&["cat-file", "commit", id], b"")?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Replaces the newest checkpoint by a commit with changed text; returns the id of that commit.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn rewrite_newest(
        &self,
        newest: &str,
        change: impl FnOnce(&str) -> String,
    ) -> io::Result<String> {
        let id = self.write("commit", change(&self.commit_text(newest)?).as_bytes())?;
        self.git(&["update-ref", &self.ref_of(newest)?, &id])?;
        self.move_envelope(newest, &id)?;
        Ok(id)
    }

    /// Gives the agent state of a checkpoint to the commit that replaces it: without it, the bug would break
    /// other rules, too.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn move_envelope(&self, from: &str, to: &str) -> io::Result<()> {
        let format = "--format=%(refname) %(objectname)";
        let envelopes = self.git(&["for-each-ref", format, "refs/envelopes"])?;
        for (name, envelope) in envelopes.lines().filter_map(|line| line.split_once(' ')) {
            if let Some(folder) = name.strip_suffix(from) {
                self.git(&["update-ref", &format!("{folder}{to}"), envelope])?;
            }
        }
        Ok(())
    }

    /// Adds a file in the project's directory to the newest checkpoint; returns the id of the new commit.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn with_file(&self, newest: &str, name: &str, content: &[u8]) -> io::Result<String> {
        let mut entries = self.git_bytes(&["ls-tree", "-z", newest], b"")?;
        let blob = self.write("blob", content)?;
        entries.extend(format!("100644 blob {blob}\t{name}\0").bytes());
        let old_tree = self.tree_of(newest)?;
        let new_tree = self.git_with_input(&["mktree", "-z"], &entries)?;
        self.rewrite_newest(newest, |text| text.replacen(&old_tree, &new_tree, 1))
    }

    /// Adds a file to the newest checkpoint at a path in folders that the checkpoint does not have; returns the id
    /// of the new commit.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn with_file_below(&self, newest: &str, path: &Path) -> io::Result<String> {
        let mut mode = "100644 blob";
        let mut id = self.write("blob", b"captured\n")?;
        let mut name = String::new();
        for component in path.iter().rev() {
            if !name.is_empty() {
                let line = format!("{mode} {id}\t{name}\0");
                id = self.git_with_input(&["mktree", "-z"], line.as_bytes())?;
                mode = "040000 tree";
            }
            name = component.to_string_lossy().into_owned();
        }
        let mut entries = self.git_bytes(&["ls-tree", "-z", newest], b"")?;
        entries.extend(format!("{mode} {id}\t{name}\0").bytes());
        let old_tree = self.tree_of(newest)?;
        let new_tree = self.git_with_input(&["mktree", "-z"], &entries)?;
        self.rewrite_newest(newest, |text| text.replacen(&old_tree, &new_tree, 1))
    }

    /// The ref of the history of a request's project.
    pub fn history_ref(&self, request: &Request) -> Option<String> {
        let project = self.project(request).or_else(|| Some(self.path(request.dir()?)))?;
        Some(format!("refs/hermes/{}", hash_of(project.as_os_str().as_bytes())))
    }

    /// The checkpoints of a request's project, as the correct core lists them.
    pub fn listed(&self, request: &Request) -> Vec<Listed> {
        let Some(dir) = request.dir().cloned() else { return Vec::new() };
        match self.another_process().ask(&Request::List { dir }) {
            Answer::Listed(listed) => listed,
            _ => Vec::new(),
        }
    }

    /// The id of the checkpoint that is a request's target, by number or id.
    pub fn target_id(&self, request: &Request) -> Option<String> {
        let text = String::from_utf8_lossy(request.target()?).to_lowercase();
        let number = text.parse().ok().filter(|number| *number > 0);
        let is_target = |entry: &Listed| {
            Some(entry.number) == number
                || text.len() >= SHORT_ID_MIN && entry.id.starts_with(&text)
        };
        self.listed(request).into_iter().find(is_target).map(|entry| entry.id)
    }

    /// The files and links of a stored checkpoint.
    pub fn tree(&self, id: &str) -> BTreeMap<ByteString, Node> {
        let listed = self.git_bytes(&["ls-tree", "-r", "-z", "--full-tree", id], b"");
        let node = |record: &[u8]| {
            let (head, path) = record.split_at(record.iter().position(|byte| *byte == b'\t')?);
            let head = String::from_utf8_lossy(head);
            let mode = head.get(..6)?;
            let blob = head.rsplit(' ').next()?;
            let content = self.git_bytes(&["cat-file", "blob", blob], b"").ok()?.into();
            let executable = mode == "100755";
            let node = match mode {
                "120000" => Node::Link { target: content },
                _ => Node::File { content, executable, readable: true },
            };
            Some((ByteString::from(path.get(1..)?), node))
        };
        listed.unwrap_or_default().split(|byte| *byte == 0).filter_map(node).collect()
    }

    /// Stores a commit of a tree as a checkpoint made now, and makes it the newest of a history.
    ///
    /// # Errors
    /// As [`Intercepted::git`].
    pub fn commit(&self, history: &str, tree: &str, parent: Option<&str>) -> io::Result<String> {
        let identity = format!("Hermes <hermes@localhost> {} +0000", self.seconds);
        let parent = match parent {
            Some(parent) => format!("parent {}\n", self.git(&["rev-parse", parent])?),
            None => String::new(),
        };
        let text = format!(
            "tree {tree}\n{parent}author {identity}\ncommitter {identity}\n\nbefore rollback\n"
        );
        let id = self.write("commit", text.as_bytes())?;
        self.git(&["update-ref", history, &id])?;
        Ok(id)
    }
}

/// Asks the core, and after a checkpoint changes the store. The answer has the id that `change` returns, or
/// the id of the core if `change` fails.
pub fn after_checkpoint(
    subject: &mut Intercepted,
    request: &Request,
    change: impl FnOnce(&Intercepted, &str) -> io::Result<String>,
) -> Answer {
    match subject.ask(request) {
        Answer::Taken { outcome: CheckpointOutcome::Created { id }, skipped } => {
            let id = change(subject, &id).unwrap_or(id);
            Answer::Taken { outcome: CheckpointOutcome::Created { id }, skipped }
        }
        answer => answer,
    }
}

/// Asks the core, and if `when` accepts its answer, puts back the objects that it removed.
pub fn keeping_objects(
    subject: &mut Intercepted,
    request: &Request,
    when: fn(&Answer) -> bool,
) -> Answer {
    let objects = subject.sandbox.store().join("objects");
    let kept = subject.scratch_folder().map(|folder| folder.join("objects")).and_then(|kept| {
        if kept.exists() {
            fs::remove_dir_all(&kept)?;
        }
        crate::sandbox::edits::copy(&objects, &kept).map(|_| kept)
    });
    let answer = subject.ask(request);
    let put_back = |folder: io::Result<fs::DirEntry>| -> io::Result<()> {
        let folder = folder?;
        for object in fs::read_dir(folder.path())? {
            let object = object?;
            let path = objects.join(folder.file_name()).join(object.file_name());
            if !path.exists() {
                fs::rename(object.path(), path)?;
            }
        }
        Ok(())
    };
    let kept = kept.ok().filter(|_| when(&answer));
    if let Some(mut folders) = kept.and_then(|kept| fs::read_dir(kept).ok()) {
        let _ = folders.try_for_each(put_back);
    }
    answer
}
