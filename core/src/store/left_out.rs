//! What a checkpoint left out of its project, and why, as a header of its commit.
//!
//! Git and every tool that reads a checkpoint through it skip a header that they do not know. Of a
//! checkpoint without the header nothing is known. What ignore rules exclude is not recorded. See
//! docs/decisions/0029-left-out-is-not-absent.md.

use crate::disk::{Kind, Stat};
use crate::path::ancestors;
use crate::remark::Remark;
use crate::store::header::{escaped, unescaped};
use std::fmt;

/// The name of the header.
const NAME: &str = "herma-left-out ";
/// The only version that is known.
const VERSION: &str = "1";
/// Stands for a stamp where there is none.
const NO_STAMP: &[u8] = b"-";

/// A path that a checkpoint left out though no ignore rule names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Relative to the project.
    pub path: Vec<u8>,
    /// Why it was left out.
    pub reason: Reason,
    /// What tells later whether the file is as it was; none where nothing can.
    pub stamp: Option<Stamp>,
}

/// Why a path was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has more bytes than this file size limit.
    TooLarge(u64),
    /// It could not be read, in the words of the system.
    Unreadable(String),
    /// It kept changing while it was read.
    Changing,
    /// It is a socket, a fifo or a device.
    Special,
    /// It belongs to files that are captured together or not at all, in words that name these and
    /// the cause.
    Unit(String),
    /// An interrupted restore moved it here, and no checkpoint holds it.
    Displaced,
}

/// The size of a regular file and the time of its last change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: (i64, i64),
}

impl Stamp {
    /// That of a file; none for anything else.
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
    /// The word of the header, with the detail that follows it.
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
            Reason::TooLarge(limit) => write!(formatter, "larger than {limit} bytes"),
            Reason::Unreadable(why) | Reason::Unit(why) => formatter.write_str(why),
            Reason::Changing => formatter.write_str("it keeps changing while it is read"),
            Reason::Special => formatter.write_str("not a regular file"),
            Reason::Displaced => formatter.write_str(
                "an interrupted rollback moved it here, and no checkpoint holds it: move it back, \
                 or remove it",
            ),
        }
    }
}

impl LeftOut {
    /// A path of which nothing tells later whether it is as it was.
    pub fn new(path: &[u8], reason: Reason) -> Self {
        LeftOut { path: path.to_vec(), reason, stamp: None }
    }

    /// The same with what the file was, if that was so before `started`: within one tick of the clock
    /// a file may change and keep its times.
    pub fn with_stamp(self, stat: &Stat, started: Option<&Stat>) -> Self {
        let is_settled = started.is_some_and(|started| stat.is_settled_before(started));
        LeftOut { stamp: Stamp::of(stat).filter(|_| is_settled), ..self }
    }

    /// For people.
    pub fn remark(&self) -> Remark {
        Remark::new(&self.path, self.reason.to_string())
    }

    /// Whether what has this stat now certainly is what was left out.
    pub fn is_as_it_was(&self, stat: &Stat) -> bool {
        let is_special = self.reason == Reason::Special && stat.kind == Kind::Special;
        is_special || self.stamp.is_some() && self.stamp == Stamp::of(stat)
    }

    /// Whether everything below the path was left out with it: nobody could see what is there.
    fn is_closed(&self) -> bool {
        matches!(self.reason, Reason::Unreadable(_)) && self.stamp.is_none()
    }
}

/// The entry of a sorted record that says that `path` was left out, if any does.
pub fn covering<'a>(record: &'a [LeftOut], path: &[u8]) -> Option<&'a LeftOut> {
    let find = |path: &[u8]| {
        let index = record.binary_search_by(|entry| entry.path.as_slice().cmp(path)).ok()?;
        record.get(index)
    };
    let above = || ancestors(path).filter_map(find).find(|entry| entry.is_closed());
    find(path).or_else(above)
}

/// The header of a commit that says so, with a line for each entry; empty where there is none.
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

/// What the headers of a commit say, sorted by path; nothing is known where any part cannot be read.
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

/// An escaped text as one word. No escaped text holds a tab otherwise, since reasons are words.
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
    fn of_headers_knows_nothing_where_any_part_cannot_be_read() {
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
    fn covering_finds_a_path_and_all_that_is_below_a_folder_that_could_not_be_read() {
        let record = record();
        let of = |path: &[u8]| covering(&record, path).map(|entry| entry.path.as_slice());
        assert_eq!(of(b"fifo"), Some(&b"fifo"[..]));
        assert_eq!(of(b"vault/in/it"), Some(&b"vault"[..]));
        for path in [&b"fifo/in/it"[..], b"secret/in", b"vaults", b"app.db/x", b"vaul"] {
            assert_eq!(of(path), None, "{}", path.escape_ascii());
        }
    }
}
