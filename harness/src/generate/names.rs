//! The names in histories: few enough to collide, awkward enough to break code that quotes, globs or
//! decodes them.

use herma_model::ByteString;
use proptest::prelude::*;
use proptest::sample::select;

/// Plain names, some of which exclude each other.
const PLAIN: &[&str] =
    &["a.txt", "b", "a.txt/inner", "src/main.rs", "src/lib.rs", "deep/er/f", "b/c"];

/// Names that mean something to git or to a capture.
const MEANINGFUL: &[&str] = &[
    ".gitattributes",
    "src/.gitignore",
    "dist/x",
    "build/out",
    "node_modules/m.js",
    "x.log",
    ".env",
    ".env.local",
    "src/.env",
    "Makefile",
    "sub/package.json",
    "nested/.git/HEAD",
    "nested/code.rs",
    ".git/config",
    ".git/index",
    ".GIT",
    "git~1",
    "target",
];

/// Names that some tool may interpret as more than a name.
const AWKWARD: &[&[u8]] = &[
    b"*.txt",
    b"[ab].txt",
    b":/b",
    b":(icase)A.TXT",
    b"-rf",
    b"--patch",
    b"!neg",
    b"#hash",
    b" lead",
    b"trail ",
    b"new\nline",
    b"tab\there",
    b"\xff\xfe",
    b"d\xff/f",
    b"\xc3\xbcmlaut",
    b"quote\"",
    b"back\\slash",
    b"A.TXT",
    b"...",
    b"\x1b[31m",
    b"-/x",
    b"e\xcc\x81",
    b"dir /x",
    b"~",
];

/// The paths of files, relative to a project.
pub fn file() -> BoxedStrategy<ByteString> {
    let long: ByteString = "n".repeat(255).as_str().into();
    prop_oneof![
        10 => select(PLAIN).prop_map(ByteString::from),
        // An ignore file decides about all the others, so it is common.
        2 => Just(ByteString::from(".gitignore")),
        4 => select(MEANINGFUL).prop_map(ByteString::from),
        4 => select(AWKWARD).prop_map(ByteString::from),
        1 => Just(long),
    ]
    .boxed()
}

/// File paths as a user may type them for a single restore, including paths that must be refused.
pub fn typed_file() -> BoxedStrategy<ByteString> {
    const TYPED: &[&[u8]] = &[
        b"",
        b".",
        b"/",
        b"/a.txt",
        b"..",
        b"../beta/b",
        b"../alpha/b",
        b"a/../../outside/secret.txt",
        b"./a.txt",
        b"src/../a.txt",
        b"src//main.rs",
        b"a.txt/",
        b"link/x",
        b"link/../a.txt",
        b"link/../../beta/b",
        b"out/secret.txt",
        b"a\0b",
        b":/b",
        b".git/config",
        b"src",
    ];
    prop_oneof![1 => file(), 2 => select(TYPED).prop_map(ByteString::from)].boxed()
}

/// The projects, mostly the first one.
pub fn project() -> BoxedStrategy<ByteString> {
    prop_oneof![5 => Just("work/alpha"), 1 => Just("work/beta")].prop_map(ByteString::from).boxed()
}

/// Directories as a user may name them: projects under all their names, and directories that are not
/// projects.
pub fn dir() -> BoxedStrategy<ByteString> {
    const ALIASES: &[&str] =
        &["work/alias", "work/alpha/", "./alpha", "./../work/alpha", "work//beta", "./alias/."];
    const OTHERS: &[&str] = &[
        "/",
        "~",
        "~/",
        "work/homeward",
        "home",
        "~/code",
        "~/.hermes",
        "~/.hermes/checkpoints",
        "~/.hermes/checkpoints/store",
        "work/alpha/src",
        "work/alpha/nested",
        "work/missing",
        "work/alpha/a.txt",
        "work/alpha/b",
        "work",
        "~nobody/x",
        "work/alpha/link",
    ];
    prop_oneof![
        30 => project(),
        3 => select(ALIASES).prop_map(ByteString::from),
        3 => select(OTHERS).prop_map(ByteString::from),
    ]
    .boxed()
}

/// Files for requests about the project of a file.
pub fn file_in_or_outside_projects() -> BoxedStrategy<ByteString> {
    const FILES: &[&str] = &[
        "~/x.txt",
        "~/code/main.py",
        "~/code/new/x.py",
        "/x",
        "work/alias/src/main.rs",
        "home",
        "work/alpha/sub/deep/er/x",
        "work/x",
        "./alpha/nested/code.rs",
        "~",
    ];
    let inside = (project(), file()).prop_map(|(project, file)| join(&project, &file));
    prop_oneof![2 => inside, 1 => select(FILES).prop_map(ByteString::from)].boxed()
}

/// `directory/name`.
pub fn join(directory: &ByteString, name: &ByteString) -> ByteString {
    ByteString::from(herma_model::bytes::join(directory, name))
}
