//! What files hold and links point at, and why checkpoints are taken.

use crate::protocol::capabilities::Units;
use herma_model::content::noise;
use herma_model::{ByteString, Settings};
use proptest::prelude::*;
use proptest::sample::select;
use std::ops::Range;

/// No file that is drawn has more bytes, so that histories stay fast.
const SIZE_MAX: u64 = 1_200_000;

/// The bounds in bytes that the sizes of files are drawn around.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Files above it are left out; 0 is no bound.
    pub cap: u64,
    /// The unit of that, and of what the store may take.
    pub units: Units,
    /// Whether the store may take so few units that large files reach the bound.
    pub reached: bool,
}

impl Sizes {
    /// The bounds of these settings.
    pub fn of(settings: &Settings, units: Units) -> Self {
        let total = settings.max_total_bytes;
        let reached = units.total > 1 && (1..=units.total.saturating_mul(2)).contains(&total);
        Sizes { cap: settings.max_file_bytes, units, reached }
    }

    /// How large files are that fill a store of one unit with a few checkpoints.
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

/// The content of the file at `path`, with sizes around these.
pub fn content(path: &ByteString, sizes: Sizes) -> BoxedStrategy<ByteString> {
    let texts = select(TEXTS).prop_map(ByteString::from);
    let meaning = if path.ends_with(b".gitignore") {
        IGNORES
    } else if path.ends_with(b".gitattributes") {
        ATTRIBUTES
    } else {
        &[]
    };
    if !meaning.is_empty() {
        return select(meaning).prop_map(ByteString::from).boxed();
    }
    let cap = sizes.cap;
    if cap == 0 || cap > 1000 {
        return with_large(texts.boxed(), sizes);
    }
    let around = (cap.saturating_sub(1)..=cap + 1)
        .prop_map(|size| ByteString(vec![b'x'; usize::try_from(size).unwrap_or_default()]));
    prop_oneof![3 => texts, 2 => around].boxed()
}

/// The texts, and a few files among them that only matter because the subject takes its sizes in large
/// units. These are all alike where nothing but their size matters, and otherwise noise.
fn with_large(texts: BoxedStrategy<ByteString>, sizes: Sizes) -> BoxedStrategy<ByteString> {
    let unit = sizes.units.file;
    let reached = 1 < unit && unit < SIZE_MAX && (1..=unit.saturating_mul(2)).contains(&sizes.cap);
    let texts = match reached {
        false => texts,
        true => {
            let around = (unit - 1..=unit + 1)
                .prop_map(|size| ByteString(vec![b'x'; usize::try_from(size).unwrap_or_default()]));
            prop_oneof![18 => texts, 1 => around].boxed()
        }
    };
    if !sizes.reached {
        return texts;
    }
    let large = (sizes.large(), 0..1_000u32).prop_map(|(size, seed)| noise(size, seed));
    prop_oneof![4 => texts, 1 => large].boxed()
}

/// What a symbolic link points at, as written: inside, outside, nowhere, itself; as a path from
/// where it stands or from the root of the file system.
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

/// Why a checkpoint is taken.
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
