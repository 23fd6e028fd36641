//! What a checkpoint left out of its project, and why, as a header of its commit.
//!
//! Git, and every tool that reads a checkpoint through git, skips unknown headers. Without the header,
//! it is unknown what a checkpoint left out. Ignored paths are not recorded. See
//! docs/decisions/0029-left-out-is-not-absent.md.

use crate::disk::{Kind, Stat};
use crate::path::ancestors;
use crate::remark::Remark;
use crate::store::header::{escaped, unescaped};
use crate::text::size;
use std::fmt;

/// The name of the header.
const NAME: &str = "herma-left-out ";
/// The only version of the header.
const VERSION: &str = "1";
/// Written in place of a missing stamp.
const NO_STAMP: &[u8] = b"-";

/// A path that a checkpoint left out although no ignore rule matches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Relative to the project.
    pub path: Vec<u8>,
    /// Why it was left out.
    pub reason: Reason,
    /// Shows later whether the file is unchanged; `None` if nothing can show it.
    pub stamp: Option<Stamp>,
}

/// Why a path was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has more bytes than this file size limit.
    TooLarge(u64),
    /// It could not be read; the text is the system's error message.
    Unreadable(String),
    /// It kept changing while it was read.
    Changing,
    /// It is a socket, a fifo or a device.
    Special,
    /// It belongs to files that are captured together or not at all; the text names the files and the
    /// cause.
    Unit(String),
    /// An interrupted restore moved it there, and no checkpoint holds it.
    Displaced,
}

/// The size of a regular file and the time of its last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// The stamp of a regular file; `None` for anything else.
    pub fn of(stat: &Stat) -> Option<Self> {
        let Stat { size, modified, .. } = *stat;
        (stat.kind == Kind::File).then_some(Stamp { size, modified })
    }

    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let (size, time) = text.split_once('@')?;
        let (seconds, nanoseconds) = time.split_once('.')?;
        let modified = (seconds.parse().ok()?, nanoseconds.parse().ok()?);
        Some(Stamp { size: size.parse().ok()?, modified })
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stamp { size, modified: (seconds, nanoseconds) } = self;
        write!(formatter, "{size}@{seconds}.{nanoseconds}")
    }
}

impl Reason {
    /// The keyword in the header, with the detail after it.
    fn to_text(&self) -> String {
        match self {
            Reason::TooLarge(limit) => format!("too_large:{limit}"),
            Reason::Unreadable(why) => format!("unreadable:{why}"),
            Reason::Changing => "changing".to_owned(),
            Reason::Special => "special".to_owned(),
            Reason::Displaced => "displaced".to_owned(),
            Reason::Unit(why) => format!("unit:{why}"),
        }
    }

    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        Some(match text.split_once(':') {
            Some(("too_large", limit)) => Reason::TooLarge(limit.parse().ok()?),
            Some(("unreadable", why)) => Reason::Unreadable(why.to_owned()),
            Some(("unit", why)) => Reason::Unit(why.to_owned()),
            None if text == "changing" => Reason::Changing,
            None if text == "special" => Reason::Special,
            None if text == "displaced" => Reason::Displaced,
            _ => return None,
        })
    }
}

/// For people.
impl fmt::Display for Reason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::TooLarge(limit) => {
                write!(formatter, "larger than {}, the limit max_file_size_mb", size(*limit))
            },
            Reason::Unreadable(why) | Reason::Unit(why) => formatter.write_str(why),
            Reason::Changing => formatter.write_str("it keeps changing while it is read"),
            Reason::Special => formatter.write_str("not a regular file"),
            Reason::Displaced => formatter.write_str(
                "an interrupted rollback moved it here, and it is in no checkpoint: move it back, or \
                 remove it",
            ),
        }
    }
}

impl LeftOut {
    /// A path without a stamp.
    pub fn new(path: &[u8], reason: Reason) -> Self {
        LeftOut { path: path.to_vec(), reason, stamp: None }
    }

    /// Adds the stamp of the file, if the file was last changed before `started`: within one tick of the
    /// clock a file may change and keep its times.
    pub fn with_stamp(self, stat: &Stat, started: Option<&Stat>) -> Self {
        let is_settled = started.is_some_and(|started| stat.is_settled_before(started));
        LeftOut { stamp: Stamp::of(stat).filter(|_| is_settled), ..self }
    }

    /// For people.
    pub fn remark(&self) -> Remark {
        Remark::new(&self.path, self.reason.to_string())
    }

    /// Whether the file that now has this stat is certainly the file that was left out.
    pub fn is_as_it_was(&self, stat: &Stat) -> bool {
        let is_special = self.reason == Reason::Special && stat.kind == Kind::Special;
        is_special || self.stamp.is_some() && self.stamp == Stamp::of(stat)
    }

    /// Whether everything below the path was left out too: it is a folder that could not be read.
    fn is_closed(&self) -> bool {
        matches!(self.reason, Reason::Unreadable(_)) && self.stamp.is_none()
    }
}

/// The entry of a sorted record that covers `path`: the entry of the path itself, or of an unreadable
/// folder above it.
pub fn covering<'a>(record: &'a [LeftOut], path: &[u8]) -> Option<&'a LeftOut> {
    let find = |path: &[u8]| {
        let index = record.binary_search_by(|entry| entry.path.as_slice().cmp(path)).ok()?;
        record.get(index)
    };
    let above = || ancestors(path).filter_map(find).find(|entry| entry.is_closed());
    find(path).or_else(above)
}

/// The header of a commit with a line for each entry; empty if there are no entries.
pub fn to_header(record: &[LeftOut]) -> Vec<u8> {
    let mut header = Vec::new();
    if !record.is_empty() {
        header.extend_from_slice(format!("{NAME}{VERSION}\n").as_bytes());
    }
    for LeftOut { path, reason, stamp } in record {
        let stamp = stamp.map(|stamp| stamp.to_string().into_bytes());
        let reason = escaped(reason.to_text().as_bytes());
        for field in [&word(&reason), stamp.as_deref().unwrap_or(NO_STAMP), &escaped(path)] {
            header.push(b' ');
            header.extend_from_slice(field);
        }
        header.push(b'\n');
    }
    header
}

/// The record in the headers of a commit, sorted by path; empty if any part cannot be read.
pub fn of_headers(headers: &[u8]) -> Vec<LeftOut> {
    read(headers).unwrap_or_default()
}

fn read(headers: &[u8]) -> Option<Vec<LeftOut>> {
    let mut lines = headers.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let version = lines.find_map(|line| line.strip_prefix(NAME.as_bytes()))?;
    let lines = lines.map_while(|line| line.strip_prefix(b" "));
    let entry = |line: &[u8]| {
        let mut fields = line.splitn(3, |byte| *byte == b' ');
        let reason = Reason::read(&unescaped(&words(fields.next()?))?)?;
        let stamp = match fields.next()? {
            NO_STAMP => None,
            stamp => Some(Stamp::read(stamp)?),
        };
        Some(LeftOut { path: unescaped(fields.next()?)?, reason, stamp })
    };
    let mut record = lines.map(entry).collect::<Option<Vec<_>>>()?;
    record.sort_unstable_by(|left, right| left.path.cmp(&right.path));
    (version == VERSION.as_bytes()).then_some(record)
}

/// Replaces the spaces of an escaped reason by tabs, which no reason contains, to get one field.
fn word(text: &[u8]) -> Vec<u8> {
    text.iter().map(|byte| if *byte == b' ' { b'\t' } else { *byte }).collect()
}

fn words(word: &[u8]) -> Vec<u8> {
    word.iter().map(|byte| if *byte == b'\t' { b' ' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Vec<LeftOut> {
        let stamp = |size, modified| Some(Stamp { size, modified });
        let entry = |path: &[u8], reason, stamp| LeftOut { path: path.to_vec(), reason, stamp };
        vec![
            entry(b"a b\n\\n \xff", Reason::TooLarge(1 << 20), stamp(1_500_000, (-5, 1))),
            entry(b"app.db", Reason::Unit("part of app.db,\nwhich \\ is ignored".into()), None),
            entry(b"fifo", Reason::Special, None),
            entry(b"log", Reason::Changing, None),
            entry(b"secret", Reason::Unreadable("Permission denied".into()), stamp(3, (9, 0))),
            entry(b"vault", Reason::Unreadable("Permission denied".into()), None),
        ]
    }

    #[test]
    fn of_headers_reads_what_to_header_wrote() {
        let header = to_header(&record());
        let text = header.escape_ascii().to_string();
        let first = r"herma-left-out 1\n too_large:1048576 1500000@-5.1 a b\\n\\\\n \xff\n unit:";
        assert!(text.starts_with(first), "{text}");
        let commit =
            [b"tree 1\ncommitter x\n", &header[..], b"herma-rollback 3\n\n special - no\n"]
                .concat();
        assert_eq!(of_headers(&commit), record());
        assert_eq!(to_header(&[]), b"");
    }

    #[test]
    fn of_headers_returns_nothing_where_any_part_cannot_be_read() {
        for headers in [
            &b"tree 1\n\nherma-left-out 1\n special - a\n"[..],
            b"herma-left-out 2\n special - a\n",
            b"herma-left-out 1\n special -\n",
            b"herma-left-out 1\n odd - a\n",
            b"herma-left-out 1\n too_large:many - a\n",
            b"herma-left-out 1\n special 1 a\n",
            b"herma-left-out 1\n special 1@2 a\n",
            b"herma-left-out 1\n special - a\\\n",
            b"herma-left-out 1\n special - a\n  - b\n",
        ] {
            assert_eq!(of_headers(headers), [], "{}", headers.escape_ascii());
        }
    }

    #[test]
    fn covering_finds_a_path_and_everything_below_a_folder_that_could_not_be_read() {
        let record = record();
        let covered_by = |path: &[u8]| covering(&record, path).map(|entry| entry.path.as_slice());
        assert_eq!(covered_by(b"fifo"), Some(&b"fifo"[..]));
        assert_eq!(covered_by(b"vault/in/it"), Some(&b"vault"[..]));
        for path in [&b"fifo/in/it"[..], b"secret/in", b"vaults", b"app.db/x", b"vaul"] {
            assert_eq!(covered_by(path), None, "{}", path.escape_ascii());
        }
    }
}
