//! A checkpoint as a git commit: with at most one parent, its time, and its reason as the message.

use crate::error::{Error, Result};
use crate::store::include;
use crate::store::left_out::{self, LeftOut};
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::oid::Oid;
use crate::store::permissions::Permissions;
use crate::store::pre_restore::PreRestoreRef;

/// A stored checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id.
    pub id: Oid,
    /// The root tree of its content.
    pub tree: Oid,
    /// The checkpoint before it.
    pub parent: Option<Oid>,
    /// Its number among the pre-restore checkpoints of its project; `None` for any other checkpoint.
    pub rollback: Option<u64>,
    /// The place of a pre-restore checkpoint that has a ref of its own.
    pub pre_restore_ref: Option<PreRestoreRef>,
    /// Whether it is pinned, so that no limit evicts it.
    pub is_pinned: bool,
    /// Whether only its pin keeps it: it is older than the listed history.
    pub pinned_only: bool,
    /// When it was taken, in seconds since the epoch.
    pub seconds: i64,
    /// Why it was taken, the full text.
    pub reason: String,
    /// The hash of its project; `None` for a commit of another tool.
    pub project: Option<String>,
    /// Why its commit cannot be read; then only the id is valid, and the time if it is not 0.
    pub damage: Option<String>,
}

impl Checkpoint {
    /// Whether it is a pre-restore checkpoint that does not fit in the list and can be named only by id.
    pub fn is_unlisted(&self) -> bool {
        self.pre_restore_ref.is_some_and(|place| !place.is_listed)
    }

    /// The checkpoint, unless its commit is damaged.
    ///
    /// # Errors
    /// [`Error::CorruptCheckpoint`].
    pub fn intact(&self) -> Result<&Self> {
        match &self.damage {
            None => Ok(self),
            Some(why) => {
                Err(Error::CorruptCheckpoint { id: self.id.to_string(), why: why.clone() })
            }
        }
    }
}

/// The author of every checkpoint, never the user, before and after the hash of the project. The hash
/// keeps two projects from sharing a commit: a boundary in one history would cut the other one too.
const AUTHOR: (&str, &str) = ("Herma <", "@herma.invalid>");

/// The header with the number of a pre-restore checkpoint. Without it two of them would be the same
/// commit if the same restore ran twice in one second.
const ROLLBACK: &str = "herma-rollback ";

/// A checkpoint to store.
pub struct NewCheckpoint<'a> {
    /// The hash that names the project.
    pub hash: &'a str,
    /// The root tree of its content.
    pub tree: Oid,
    /// The permissions of its files and folders.
    pub permissions: &'a Permissions,
    /// What it left out of the project, and why; sorted by path.
    pub left_out: &'a [LeftOut],
    /// The patterns that the user included.
    pub include: &'a [String],
    /// Whether it holds units, each of which is then complete.
    pub has_units: bool,
    /// The checkpoint before it in the history.
    pub parent: Option<Oid>,
    /// Its number, if it is a pre-restore checkpoint.
    pub pre_restore_number: Option<u64>,
    /// When it is taken, in seconds since the epoch.
    pub seconds: i64,
    /// Why it is taken, in one line.
    pub reason: &'a str,
}

/// The header of a checkpoint in which every unit is complete. A checkpoint of another tool, or of an
/// older version, may hold an incomplete unit.
const UNITS: &[u8] = b"herma-units 1\n";

/// Stores a checkpoint.
pub fn write(objects: &mut Objects<'_>, new: &NewCheckpoint<'_>) -> Result<Oid> {
    let NewCheckpoint { hash, tree, parent, seconds, reason, .. } = *new;
    let parent = parent.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
    // Git has no time before the epoch.
    let seconds = seconds.max(0);
    let author = format!("{}{hash}{} {seconds} +0000", AUTHOR.0, AUTHOR.1);
    // rule: capture/reason
    // rule: isolation/no-signing
    let headers = format!("tree {tree}\n{parent}author {author}\ncommitter {author}\n");
    let rollback =
        new.pre_restore_number.map(|number| format!("{ROLLBACK}{number}\n")).unwrap_or_default();
    let message = format!("{rollback}\n{reason}\n");
    let text = [
        headers.as_bytes(),
        &new.permissions.to_header(),
        &left_out::to_header(new.left_out),
        &include::to_header(new.include),
        if new.has_units { UNITS } else { b"" },
        message.as_bytes(),
    ];
    objects.add(Kind::Commit, &text.concat())
}

/// The permissions of the files and folders of the checkpoint `id` when it was taken.
pub fn permissions(objects: &Objects<'_>, id: Oid) -> Result<Permissions> {
    Ok(Permissions::of_headers(&objects.read(Kind::Commit, id)?))
}

/// What the checkpoint `id` left out of its project, sorted by path.
pub fn left_out(objects: &Objects<'_>, id: Oid) -> Result<Vec<LeftOut>> {
    Ok(left_out::of_headers(&objects.read(Kind::Commit, id)?))
}

/// The patterns that the user included when the checkpoint `id` was taken.
pub fn include(objects: &Objects<'_>, id: Oid) -> Result<Vec<String>> {
    Ok(include::of_headers(&objects.read(Kind::Commit, id)?))
}

/// Whether every unit in the checkpoint `id` is known to be complete.
pub fn holds_units(objects: &Objects<'_>, id: Oid) -> Result<bool> {
    let bytes = objects.read(Kind::Commit, id)?;
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    Ok(lines.by_ref().take_while(|line| *line != b"\n").any(|line| line == UNITS))
}

/// Reads the checkpoint `id`.
pub fn read(objects: &Objects<'_>, id: Oid) -> Result<Checkpoint> {
    let bytes = objects.read(Kind::Commit, id)?;
    parse(id, &bytes).ok_or_else(|| unreadable(id))
}

fn parse(id: Oid, bytes: &[u8]) -> Option<Checkpoint> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
    let headers = String::from_utf8_lossy(&bytes[..end]);
    let header = |name: &str| headers.lines().find_map(|line| line.strip_prefix(name));
    let object = |text: &str| Oid::parse(text);
    // "Name <address> seconds zone"
    let committer = header("committer ")?;
    let seconds = committer.rsplit(' ').nth(1)?.parse().ok()?;
    let project = committer.strip_prefix(AUTHOR.0).and_then(|rest| rest.split_once(AUTHOR.1));
    let message = &bytes[end + 2..];
    let reason = message.strip_suffix(b"\n").unwrap_or(message);
    let parent = match header("parent ") {
        Some(text) => Some(object(text)?),
        None => None,
    };
    Some(Checkpoint {
        id,
        tree: object(header("tree ")?)?,
        parent,
        pre_restore_ref: None,
        is_pinned: false,
        pinned_only: false,
        rollback: header(ROLLBACK).and_then(|number| number.parse().ok()),
        seconds,
        reason: String::from_utf8_lossy(reason).into_owned(),
        project: project.map(|(hash, _)| hash.to_owned()),
        damage: None,
    })
}

/// The tree and all parents of a commit, also of a commit that another tool made.
pub fn links(id: Oid, bytes: &[u8]) -> Result<(Oid, Vec<Oid>)> {
    let ids = |name: &str| headers(bytes, name).collect::<Option<Vec<Oid>>>();
    let trees = ids("tree ").filter(|trees| trees.len() == 1);
    trees.and_then(|trees| Some((trees[0], ids("parent ")?))).ok_or_else(|| unreadable(id))
}

/// The object that a tag names.
pub fn tagged(id: Oid, bytes: &[u8]) -> Result<Oid> {
    headers(bytes, "object ").next().flatten().ok_or_else(|| unreadable(id))
}

/// The values of the headers of that name; `None` for a value that is not an id.
fn headers(bytes: &[u8], name: &str) -> impl Iterator<Item = Option<Oid>> {
    let lines = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    lines.filter_map(move |line| {
        let digits = line.strip_prefix(name.as_bytes())?;
        Some(std::str::from_utf8(digits).ok().and_then(Oid::parse))
    })
}

fn unreadable(id: Oid) -> Error {
    Error::CorruptCheckpoint { id: id.to_string(), why: "its commit is unreadable".into() }
}
