//! What files hold and links point at, and why checkpoints are taken.

use herma_model::ByteString;
use proptest::prelude::*;
use proptest::sample::select;

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

/// The content of the file at `path`, with sizes around a cap of `cap` bytes.
pub fn content(path: &ByteString, cap: u64) -> BoxedStrategy<ByteString> {
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
    if cap == 0 || cap > 1000 {
        return texts.boxed();
    }
    let around = (cap.saturating_sub(1)..=cap + 1)
        .prop_map(|size| ByteString(vec![b'x'; usize::try_from(size).unwrap_or_default()]));
    prop_oneof![3 => texts, 2 => around].boxed()
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
