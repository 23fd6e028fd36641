//! A checkpoint as a git commit: one parent, the time, and the reason as its message.

use crate::error::{Error, Result};
use crate::object::Kind;
use crate::objects::Objects;
use git2::Oid;

/// One checkpoint as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Its id.
    pub id: Oid,
    /// The outermost tree of its content.
    pub tree: Oid,
    /// The checkpoint before it.
    pub parent: Option<Oid>,
    /// When it was taken, in seconds since the epoch.
    pub seconds: i64,
    /// Why it was taken, whole.
    pub reason: String,
}

/// Who git says made a checkpoint; never the user, whose identity is none of the store's business.
const AUTHOR: &str = "Herma <herma@localhost>";

/// Stores a checkpoint.
pub fn write(
    objects: &mut Objects<'_>,
    tree: Oid,
    parent: Option<Oid>,
    seconds: i64,
    reason: &str,
) -> Result<Oid> {
    let parent = parent.map(|parent| format!("parent {parent}\n")).unwrap_or_default();
    // Git knows no time before the epoch; a clock that is that wrong reads as the epoch.
    let seconds = seconds.max(0);
    let text = format!(
        "tree {tree}\n{parent}author {AUTHOR} {seconds} +0000\ncommitter {AUTHOR} {seconds} \
         +0000\n\n{reason}\n"
    );
    objects.add(Kind::Commit, text.as_bytes())
}

/// Reads the checkpoint `id`.
pub fn read(objects: &Objects<'_>, id: Oid) -> Result<Checkpoint> {
    let bytes = objects.read(Kind::Commit, id)?;
    parse(id, &bytes).ok_or_else(|| Error::CorruptCheckpoint {
        id: id.to_string(),
        why: "its commit cannot be read".into(),
    })
}

fn parse(id: Oid, bytes: &[u8]) -> Option<Checkpoint> {
    let end = bytes.windows(2).position(|pair| pair == b"\n\n")?;
    let headers = String::from_utf8_lossy(&bytes[..end]);
    let header = |name: &str| headers.lines().find_map(|line| line.strip_prefix(name));
    let object = |text: &str| Oid::from_str(text).ok();
    // "Name <address> seconds zone"
    let seconds = header("committer ")?.rsplit(' ').nth(1)?.parse().ok()?;
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
        seconds,
        reason: String::from_utf8_lossy(reason).into_owned(),
    })
}

/// The newest `limit` checkpoints from `tip` back, newest first.
pub fn history(objects: &Objects<'_>, tip: Option<Oid>, limit: usize) -> Result<Vec<Checkpoint>> {
    let mut found = Vec::new();
    let mut next = tip;
    while let Some(id) = next.filter(|_| found.len() < limit) {
        let checkpoint = read(objects, id)?;
        next = checkpoint.parent;
        found.push(checkpoint);
    }
    Ok(found)
}
