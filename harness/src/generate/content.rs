//! Contents of files, targets of links, and reasons of checkpoints.

use crate::protocol::units::Units;
use herma_model::content::noise;
use herma_model::{ByteString, Settings};
use proptest::prelude::*;
use proptest::sample::select;
use std::ops::Range;

/// No generated file has more bytes, so that histories stay fast.
const SIZE_MAX: u64 = 1_200_000;

/// The limits in bytes around which file sizes are generated.
#[derive(Clone, Copy, Debug)]
pub struct SizeLimits {
    /// The file size limit: larger files are left out; 0 is no limit.
    pub cap: u64,
    /// The units of the file size limit and of the store size limit.
    pub units: Units,
    /// Whether the store size limit is so few units that large files reach it.
    pub reached: bool,
}

impl SizeLimits {
    /// The limits of these settings.
    pub fn of(settings: &Settings, units: Units) -> Self {
        let total = settings.max_total_bytes;
        let reached = units.total > 1 && (1..=units.total.saturating_mul(2)).contains(&total);
        SizeLimits { cap: settings.max_file_bytes, units, reached }
    }

    /// The sizes of files that fill a store of one unit with a few checkpoints.
    pub fn large(self) -> Range<usize> {
        let part = |divisor| usize::try_from(self.units.total.min(SIZE_MAX) / divisor);
        part(5).unwrap_or_default()..part(2).unwrap_or_default()
    }
}

const TEXTS: &[&[u8]] = &[
    b"",
    b"one\n",
    b"two\n",
    b"one\ntwo\nthree\n",
    b"one\n2\nthree\nfour\n",
    b"no newline",
    b"crlf\r\nends\r\n",
    b"mixed\r\nends\n",
    b"$Id$ $Id: x $\n",
    b"\0binary\xff\xfe",
    b"\xff\xfe\n",
];

const IGNORES: &[&str] = &[
    "*.txt\n",
    "!dist/\n!build/out\n",
    "!.env\n!.env.*\n!x.log\n",
    "/a.txt\nb/\n",
    "src/\n",
    "*\n!.gitignore\n",
    "b\r\n",
    "[ab].txt\n",
    "**/inner\n",
    "nested\n",
    ".gitignore\n",
    "!b\n",
    "b\n",
    "# nothing\n\n",
];

const ATTRIBUTES: &[&str] =
    &["* text=auto eol=crlf ident\n", "* filter=hostile working-tree-encoding=UTF-16\n"];

/// The content of the file at `path`, with sizes around these limits.
pub fn content(path: &ByteString, limits: SizeLimits) -> BoxedStrategy<ByteString> {
    let texts = select(TEXTS).prop_map(ByteString::from);
    let meaningful = if path.ends_with(b".gitignore") {
        IGNORES
    } else if path.ends_with(b".gitattributes") {
        ATTRIBUTES
    } else {
        &[]
    };
    if !meaningful.is_empty() {
        return select(meaningful).prop_map(ByteString::from).boxed();
    }
    let cap = limits.cap;
    if cap == 0 || cap > 1000 {
        return with_large(texts.boxed(), limits);
    }
    let around = (cap.saturating_sub(1)..=cap + 1)
        .prop_map(|size| ByteString::from(vec![b'x'; usize::try_from(size).unwrap_or_default()]));
    prop_oneof![3 => texts, 2 => around].boxed()
}

/// The texts, mixed with a few large files for subjects that take size limits in large units. Their content
/// is uniform where only their size matters, and otherwise noise.
fn with_large(texts: BoxedStrategy<ByteString>, limits: SizeLimits) -> BoxedStrategy<ByteString> {
    let unit = limits.units.file;
    let reached = 1 < unit && unit < SIZE_MAX && (1..=unit.saturating_mul(2)).contains(&limits.cap);
    let texts = match reached {
        false => texts,
        true => {
            let around = (unit - 1..=unit + 1).prop_map(|size| {
                ByteString::from(vec![b'x'; usize::try_from(size).unwrap_or_default()])
            });
            prop_oneof![18 => texts, 1 => around].boxed()
        }
    };
    if !limits.reached {
        return texts;
    }
    let large = (limits.large(), 0..1_000u32).prop_map(|(size, seed)| noise(size, seed));
    prop_oneof![4 => texts, 1 => large].boxed()
}

/// The target of a symbolic link: inside, outside, nowhere or itself; relative to the link or absolute.
pub fn link_target() -> BoxedStrategy<ByteString> {
    const TARGETS: &[&[u8]] = &[
        b"a.txt",
        b"src",
        b"../beta",
        b"../../outside",
        b"../../outside/secret.txt",
        b"missing",
        b".",
        b"link",
        b"/nonexistent/herma",
        b"../../home",
        b"b\xff",
        b"../..",
        b"$SANDBOX",
        b"$SANDBOX/work/alpha/src",
        b"$SANDBOX/work/beta",
        b"$SANDBOX/work/missing",
        b"$SANDBOX/outside/secret.txt",
    ];
    select(TARGETS).prop_map(ByteString::from).boxed()
}

/// The reason of a checkpoint.
pub fn reason() -> BoxedStrategy<String> {
    const REASONS: &[&str] = &[
        "before write_file",
        "before patch",
        "",
        "two\nlines",
        "  spaces  ",
        "\u{1b}[31mred",
        "-m --amend",
        "trailing\n",
        "\n\nleading",
        "umlaut ü 📸",
        "#hash",
        "tree 0\nparent 1",
    ];
    prop_oneof![3 => Just("before write_file".to_owned()), 1 => select(REASONS).prop_map(str::to_owned)]
        .boxed()
}
