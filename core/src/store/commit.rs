//! A checkpoint as a git commit: one parent, the time, and the reason as its message.

use crate::error::{Error, Result};
use crate::store::left_out::{self, LeftOut};
use crate::store::object::Kind;
use crate::store::objects::Objects;
use crate::store::permissions::Permissions;
use crate::store::rollbacks::Place;
use git2::Oid;

/// One checkpoint as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id.
    pub id: Oid,
    /// The outermost tree of its content.
    pub tree: Oid,
    /// The checkpoint that it follows.
    pub parent: Option<Oid>,
    /// Its number among the pre-rollback checkpoints of its project; none if it is no such one.
    pub rollback: Option<u64>,
    /// Where its ref is, if it stands beside the history.
    pub beside: Option<Place>,
    /// Whether no limit drops it.
    pub is_pinned: bool,
    /// Whether only that keeps it: it is older than all of the history that is in sight.
    pub is_aside: bool,
    /// When it was taken, in seconds since the epoch.
    pub seconds: i64,
    /// Why it was taken, whole.
    pub reason: String,
    /// The hash of its project, which only this tool's commits say.
    pub project: Option<String>,
    /// Why its commit cannot be read; then only the id is certain, and the time if it is not 0.
    pub damage: Option<String>,
}

impl Checkpoint {
    /// Whether only its id names it: a pre-restore checkpoint that the list has no room for.
    pub fn is_unlisted(&self) -> bool {
        self.beside.is_some_and(|place| !place.is_listed)
    }

    /// This one, unless its commit is damaged.
    ///
    /// # Errors
    /// [`Error::CorruptCheckpoint`].
    pub fn whole(&self) -> Result<&Self> {
        match &self.damage {
            None => Ok(self),
            Some(why) => {
                Err(Error::CorruptCheckpoint { id: self.id.to_string(), why: why.clone() })
            }
        }
    }
}

/// The author of every checkpoint, never the user. The hash of the project stands in between, so
/// that no two projects share a commit: one history may be cut where another goes on.
const AUTHOR: (&str, &str) = ("Herma <", "@herma.invalid>");

/// The header with the number of a pre-rollback checkpoint. Without it two of them could be one
/// commit, where the same was restored over the same in the same second.
const ROLLBACK: &str = "herma-rollback ";

/// What a checkpoint holds of its project.
pub struct Holds<'a> {
    /// The outermost tree of its content.
    pub tree: Oid,
    /// What its files and folders permit.
    pub permissions: &'a Permissions,
    /// What it does not hold of the project, and why; sorted by path.
    pub left_out: &'a [LeftOut],
    /// Whether any of its files are a unit, which it then holds as a whole.
    pub has_units: bool,
}

/// The header of a checkpoint that holds each unit as a whole. One that was taken by another tool, or by
/// an older version, may hold a part.
const UNITS: &[u8] = b"herma-units 1\n";

/// Stores a checkpoint of the project of that hash: what it holds, and where it stands, which is
/// its parent and its number among the pre-rollback ones.
pub fn write(
    objects: &mut Objects<'_>,
    hash: &str,
    holds: &Holds<'_>,
    (parent, rollback): (Option<Oid>, Option<u64>),
    seconds: i64,
    reason: &str,
) -> Result<Oid> {
    let parent = parent.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
    // Git has no time before the epoch.
    let seconds = seconds.max(0);
    let who = format!("{}{hash}{} {seconds} +0000", AUTHOR.0, AUTHOR.1);
    // rule: capture/reason
    // rule: isolation/no-signing
    let tree = holds.tree;
    let headers = format!("tree {tree}\n{parent}author {who}\ncommitter {who}\n");
    let rollback = rollback.map(|number| format!("{ROLLBACK}{number}\n")).unwrap_or_default();
    let message = format!("{rollback}\n{reason}\n");
    let text = [
        headers.as_bytes(),
        &holds.permissions.to_header(),
        &left_out::to_header(holds.left_out),
        if holds.has_units { UNITS } else { b"" },
        message.as_bytes(),
    ];
    objects.add(Kind::Commit, &text.concat())
}

/// What the files and folders of the checkpoint `id` permitted when it was taken.
pub fn permissions(objects: &Objects<'_>, id: Oid) -> Result<Permissions> {
    Ok(Permissions::of_headers(&objects.read(Kind::Commit, id)?))
}

/// What the checkpoint `id` left out of its project, sorted by path.
pub fn left_out(objects: &Objects<'_>, id: Oid) -> Result<Vec<LeftOut>> {
    Ok(left_out::of_headers(&objects.read(Kind::Commit, id)?))
}

/// Whether the checkpoint `id` is known to hold every unit as a whole.
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
    let object = |text: &str| Oid::from_str(text).ok();
    // "Name <address> seconds zone"
    let committer = header("committer ")?;
    let seconds = committer.rsplit(' ').nth(1)?.parse().ok()?;
    let named = committer.strip_prefix(AUTHOR.0).and_then(|rest| rest.split_once(AUTHOR.1));
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
        beside: None,
        is_pinned: false,
        is_aside: false,
        rollback: header(ROLLBACK).and_then(|number| number.parse().ok()),
        seconds,
        reason: String::from_utf8_lossy(reason).into_owned(),
        project: named.map(|(hash, _)| hash.to_owned()),
        damage: None,
    })
}

/// The tree and all parents of a commit, also of one that other tools made.
pub fn links(id: Oid, bytes: &[u8]) -> Result<(Oid, Vec<Oid>)> {
    let of = |name: &str| headers(bytes, name).collect::<Option<Vec<Oid>>>();
    let trees = of("tree ").filter(|trees| trees.len() == 1);
    trees.and_then(|trees| Some((trees[0], of("parent ")?))).ok_or_else(|| unreadable(id))
}

/// What a tag names.
pub fn tagged(id: Oid, bytes: &[u8]) -> Result<Oid> {
    headers(bytes, "object ").next().flatten().ok_or_else(|| unreadable(id))
}

/// The values of the headers of that name; none for one that is not an id.
fn headers(bytes: &[u8], name: &str) -> impl Iterator<Item = Option<Oid>> {
    let lines = bytes.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    lines.filter_map(move |line| {
        let digits = line.strip_prefix(name.as_bytes())?;
        Some(std::str::from_utf8(digits).ok().and_then(|digits| Oid::from_str(digits).ok()))
    })
}

fn unreadable(id: Oid) -> Error {
    Error::CorruptCheckpoint { id: id.to_string(), why: "its commit cannot be read".into() }
}
