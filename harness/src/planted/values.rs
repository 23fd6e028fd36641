//! Bugs of captures that change values which few files have: marks, whole blocks and zeros of contents,
//! targets of links that are not normal, and long reasons.

use super::Flaw::{Disk, Intercepted as Intercept};
use super::PlantedBug;
use super::faulty_disk::DiskFault::{Link, Read};
use super::intercepted::Intercepted;
use herma_model::{Answer, Request, rules};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "a-byte-order-mark-is-stripped",
        rule: &rules::CAPTURE_BYTES,
        about: "The byte order mark at the start of a text is not captured.",
        operations_min: 2,
        flaw: Disk(Read(|_, content| match content.strip_prefix("\u{feff}".as_bytes()) {
            Some(text) => text.to_owned(),
            None => content,
        })),
    },
    PlantedBug {
        name: "the-last-full-block-is-lost",
        rule: &rules::CAPTURE_BYTES,
        about: "Of a file that ends with a full block of 4,096 bytes, this block is not captured.",
        operations_min: 2,
        flaw: Disk(Read(|_, mut content| {
            if content.len().is_multiple_of(BLOCK) {
                content.truncate(content.len().saturating_sub(BLOCK));
            }
            content
        })),
    },
    PlantedBug {
        name: "zeros-at-the-end-are-cut",
        rule: &rules::CAPTURE_BYTES,
        about: "NUL bytes at the end of a file are not captured.",
        operations_min: 2,
        flaw: Disk(Read(|_, mut content| {
            let end = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            content.truncate(end);
            content
        })),
    },
    PlantedBug {
        name: "the-target-of-a-link-is-normalised",
        rule: &rules::CAPTURE_SYMLINK,
        about: "The target of a link is captured without `.` and needless slashes.",
        operations_min: 2,
        flaw: Disk(Link(|target| {
            let components = Path::new(OsStr::from_bytes(&target)).components();
            components.as_path().as_os_str().to_owned().into_vec()
        })),
    },
    PlantedBug {
        name: "a-long-reason-is-cut",
        rule: &rules::CAPTURE_REASON,
        about: "Only the first 200 characters of a reason are stored.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            with_reason(subject, request, |reason| reason.chars().take(200).collect())
        }),
    },
    PlantedBug {
        name: "a-reason-ends-at-a-blank-line",
        rule: &rules::CAPTURE_REASON,
        about: "Only the first paragraph of a reason is stored.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let first = |reason: &str| match reason.split_once("\n\n") {
                Some((first, _)) if !first.is_empty() => first.to_owned(),
                _ => reason.to_owned(),
            };
            with_reason(subject, request, first)
        }),
    },
];

/// The size of a block.
const BLOCK: usize = 4_096;

/// Asks the core, in a checkpoint with another reason.
pub fn with_reason(
    subject: &mut Intercepted,
    request: &Request,
    change: impl Fn(&str) -> String,
) -> Answer {
    let mut request = request.clone();
    if let Request::Checkpoint { reason, .. } | Request::EnsureCheckpoint { reason, .. } =
        &mut request
    {
        *reason = change(reason);
    }
    subject.ask(&request)
}
