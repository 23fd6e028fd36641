//! The processes of the system and how they belong together, where the system tells it in `/proc`.

use std::fs::{self, DirEntry};
use std::io;

/// A process, even one that has ended and was not waited for.
#[derive(Clone, Copy, Debug)]
pub struct ProcessStat {
    /// Its number.
    pub id: i32,
    /// That of its parent.
    pub parent: i32,
    /// That of its group.
    pub group: i32,
    /// Whether it ended.
    pub has_ended: bool,
}

/// All processes.
///
/// # Errors
/// The system does not tell them.
pub fn all() -> io::Result<impl Iterator<Item = ProcessStat>> {
    Ok(fs::read_dir("/proc")?.flatten().filter_map(|entry| read(&entry)))
}

fn read(entry: &DirEntry) -> Option<ProcessStat> {
    let id = entry.file_name().to_str()?.parse().ok()?;
    let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
    // The name, which may contain anything, is followed by the state, the parent and the group.
    let mut words = stat.rsplit_once(')')?.1.split_whitespace();
    let has_ended = matches!(words.next()?, "Z" | "X");
    let parent = words.next()?.parse().ok()?;
    let group = words.next()?.parse().ok()?;
    Some(ProcessStat { id, parent, group, has_ended })
}
