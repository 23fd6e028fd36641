//! Which programs change files, and because of which word.

use super::Why;
use super::readers;
use super::shell::{Simple, Word};

/// When a program changes files.
enum When {
    /// Whatever its arguments are.
    Always,
    /// With one of these options. A short one also counts within a cluster, a long one also with a value
    /// after `=`. The second list contains the short options with a value, which ends a cluster.
    With(&'static [&'static str], &'static str),
    /// Without any of these options.
    Without(&'static [&'static str], &'static str),
    /// With one of these commands among its arguments, and none of these options.
    Command(&'static [&'static str], &'static [&'static str]),
    /// With any argument that is neither an option nor a device.
    Operand,
    /// Without any of these options, unless its last argument is on another host.
    Copies(&'static [&'static str]),
}
use When::{Always, Command, Copies, Operand, With, Without};

/// The programs, several to a line.
const PROGRAMS: &[(&[&str], When)] = &[
    (&["rm", "rmdir", "unlink", "cp", "install", "mv", "truncate", "dd", "shred"], Always),
    (&["srm", "wipe", "ed", "ex", "split", "csplit", "mkdir", "touch", "chmod", "mkfifo"], Always),
    (&["rsync"], Copies(&["-n", "--dry-run", "--list-only"])),
    (&["scp"], Copies(&[])),
    (&["patch"], Without(&["--dry-run"], "")),
    (&["rename", "prename"], Without(&["-n", "--no-act", "--nono"], "")),
    (&["cpio", "fallocate", "trash", "trash-put", "mkfs", "sponge", "dos2unix"], Always),
    (&["unzip"], Without(&["-l", "-p", "-t", "-v", "-Z"], "dxP")),
    (&["unix2dos", "nano", "emacs", "script", "replace", "convert", "mogrify"], Always),
    (&["vi", "vim", "nvim"], Without(&["-R"], "")),
    (&["vi", "vim", "nvim"], With(&["-c", "-S", "-s", "-u", "-w", "-W", "--cmd"], "T")),
    (&["tee"], Operand),
    (&["sed", "gsed"], With(&["-i", "--in-place"], "efl")),
    (&["perl", "ruby"], With(&["-i"], "eEIMmrCFx")),
    (&["rg"], With(&["--pre"], "")),
    (&["strace", "ltrace", "time"], With(&["-o", "--output"], "eafpsuE")),
    (&["tree", "iconv", "shuf", "xmllint"], With(&["-o", "--output"], "LPIftd")),
    (&["awk", "gawk", "mawk", "nawk"], With(&["inplace"], "")),
    (&["less", "zless"], With(&["-o", "-O", "-k", "--log-file", "--LOG-FILE"], "bhjpPtTxyz")),
    (&["less", "zless"], With(&["--lesskey-file", "--lesskey-src", "--lesskey-content"], "")),
    (&["bat"], With(&["--pager"], "")),
    (&["alias"], With(&["-g", "-s"], "")),
    (&["hash"], With(&["-p"], "")),
    (&["cloc"], With(&["--out", "--report-file", "--write-lang-def"], "")),
    (&["info"], With(&["-o", "--output"], "dfkn")),
    (&["file"], With(&["-C", "--compile"], "fFmeP")),
    (&["ssh"], With(&["-E"], "BbcDeFIiJLlmOopQRSWw")),
    (
        &["nc", "ncat"],
        With(&["-o", "-x", "-e", "-c", "--output", "--exec", "--sh-exec"], "ipwdgGs"),
    ),
    (&["ip"], Command(&["exec"], &[])),
    (&["mapfile", "readarray"], With(&["-C"], "dnOsuc")),
    (&["man"], With(&["-P", "-H", "--pager", "--html"], "CLRmMsSerpTE")),
    (&["compgen"], With(&["-C", "-F"], "AGPSWXo")),
    (&["yq"], With(&["-i", "--inplace", "--in-place"], "")),
    (&["sort"], With(&["-o", "--output"], "kStT")),
    (&["ln", "link"], Always),
    (&["find", "gfind"], With(&["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"], "")),
    (&["wget"], Without(&["--spider", "-qO-", "-O-"], "")),
    (
        &["tar", "gtar", "bsdtar"],
        Without(&["-t", "--list", "-O", "--to-stdout", "t", "tf", "tvf", "tzf", "tvzf"], "fCbX"),
    ),
    (&["gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "zstd", "unzstd"], COMPRESSES),
    (&["compress", "uncompress"], COMPRESSES),
    (&["zip", "strip", "ffmpeg", "magick"], Always),
    (&["7z", "7za", "7zr"], Command(&["a", "d", "e", "rn", "u", "x"], &["-so"])),
    (&["gcc", "g++", "cc", "c++", "clang", "clang++"], Without(&["-E", "-fsyntax-only"], "DIUlLo")),
    (&["rustc"], Without(&["--print"], "CLlo")),
    (&["tsc"], Without(&["--noEmit", "-v", "--showConfig", "--listFilesOnly"], "")),
    (&["esbuild"], With(&["--outfile", "--outdir"], "")),
    (&["pandoc"], With(&["-o", "--output"], "ftsV")),
    (&["openssl"], With(&["-out", "-keyout"], "")),
    (&["gpg", "gpg2"], With(&["-e", "-c", "-s", "-b", "--encrypt", "--symmetric"], "uro")),
    (&["gpg", "gpg2"], With(&["--sign", "--clearsign", "--detach-sign", "-o", "--output"], "ur")),
    (&["cargo"], Command(&["clean", "fmt", "fix", "add", "remove", "init", "new"], &["--check"])),
    (&["cargo"], With(&["--fix"], "")),
    (&["go"], Command(&["fmt", "fix", "get", "generate", "mod"], &[])),
    (&["npm", "pnpm", "yarn", "bun"], Command(&["run", "run-script", "install", "i", "ci"], &[])),
    (&["npm", "pnpm", "yarn", "bun"], Command(&["add", "remove", "uninstall", "update"], &[])),
    (&["npm", "pnpm", "yarn", "bun"], Command(&["init", "version", "dedupe"], &[])),
    (&["gh"], Command(&["clone", "checkout", "download"], &[])),
    (&["gofmt", "goimports", "shfmt"], With(&["-w"], "")),
    (&["clang-format"], With(&["-i"], "")),
    (&["prettier"], With(&["-w", "--write"], "")),
    (&["black", "isort", "autopep8", "rustfmt"], Without(&["--check", "--diff", "-c"], "")),
];
const COMPRESSES: When = Without(&["-c", "-t", "-l", "--stdout", "--test", "--list"], "S");

/// What a command does to files, apart from the commands that it runs.
pub enum FileEffect<'a> {
    /// It changes some, because of this word.
    Changes(Why, &'a Word),
    /// It changes none.
    Nothing,
    /// It is not known.
    Unknown,
}

/// What a command does to files, apart from the commands that it runs.
pub fn effect(command: &Simple) -> FileEffect<'_> {
    let Some((program, arguments)) = command.words.split_first() else {
        return FileEffect::Nothing;
    };
    let name = name(program);
    let asks_for_help = |word: &Word| ["--help", "--version"].contains(&&*word.text);
    if arguments.len() == 1 && arguments.iter().any(asks_for_help) {
        return FileEffect::Nothing;
    }
    if name == "git" {
        return git(arguments);
    }
    if name == "curl" {
        return downloaded(arguments)
            .map_or(FileEffect::Nothing, |word| FileEffect::Changes(Why::Options, word));
    }
    let is_named = |(names, _): &&(&[&str], When)| {
        names.contains(&name) || name.starts_with("mkfs.") && names.contains(&"mkfs")
    };
    let rows = || PROGRAMS.iter().filter(is_named);
    if let Some((why, word)) = rows().find_map(|(_, when)| when.reason(program, arguments)) {
        return FileEffect::Changes(why, word);
    }
    let is_listed = || rows().next().is_some();
    match readers::changes_nothing(name, arguments).unwrap_or_else(is_listed) {
        true => FileEffect::Nothing,
        false => FileEffect::Unknown,
    }
}

impl When {
    /// The word because of which a program changes files, and why.
    fn reason<'a>(&self, program: &'a Word, arguments: &'a [Word]) -> Option<(Why, &'a Word)> {
        let option = |options: &[&str], valued: &str| {
            arguments.iter().find(|word| is_option(word, options, valued))
        };
        let is_program = |holds: bool| holds.then_some((Why::Program, program));
        match self {
            Always => is_program(true),
            With(options, valued) => Some((Why::Options, option(options, valued)?)),
            Without(options, valued) => is_program(option(options, valued).is_none()),
            Command(options, harmless) => {
                let word = arguments.iter().find(|word| options.contains(&&*word.text))?;
                option(harmless, "").is_none().then_some((Why::Options, word))
            }
            Operand => {
                let is_file =
                    |word: &Word| !word.text.starts_with('-') && !word.text.starts_with("/dev/");
                is_program(arguments.iter().any(is_file))
            }
            Copies(harmless) => {
                if let Some(word) = option(&["--remove-source-files"], "") {
                    return Some((Why::Options, word));
                }
                let is_elsewhere = |word: &Word| {
                    let host = word.text.split('/').next().unwrap_or_default();
                    host.contains(':')
                };
                let is_target_elsewhere = arguments.last().is_some_and(is_elsewhere);
                is_program(!is_target_elsewhere && option(harmless, "e").is_none())
            }
        }
    }
}

/// The option of `curl` that writes the response to a file; `None` if it goes to a device or to
/// standard output.
fn downloaded(arguments: &[Word]) -> Option<&Word> {
    const NAMED: &[&str] = &[
        "-O",
        "-J",
        "-c",
        "--remote-name",
        "--remote-header-name",
        "--cookie-jar",
        "--trace",
        "--trace-ascii",
        "--etag-save",
        "--libcurl",
    ];
    let valued = "HdXuAbceFmrtTwxyYz";
    let is_file = |word: &Word| word.text != "-" && !word.text.starts_with("/dev/");
    let mut pairs = arguments.iter().zip(arguments.iter().skip(1).map(Some).chain([None]));
    pairs.find_map(|(word, next)| {
        let is_output = is_option(word, &["-o", "-D", "--output", "--dump-header"], valued);
        let is_to_file = match word.text.split_once('=') {
            Some((_, value)) => value != "-" && !value.starts_with("/dev/"),
            None => next.is_none_or(is_file),
        };
        (is_option(word, NAMED, valued) || is_output && is_to_file).then_some(word)
    })
}

/// The name of a program without its folder.
pub fn name(program: &Word) -> &str {
    program.text.rsplit('/').next().unwrap_or_default()
}

/// Whether a word is one of these options, also in a cluster or with a value.
pub(super) fn is_option(word: &Word, options: &[&str], valued: &str) -> bool {
    let text = &*word.text;
    let is_match = |option: &&str| match option.as_bytes() {
        [b'-', b'-', ..] => {
            text == *option || text.split_once('=').is_some_and(|(name, _)| name == *option)
        }
        [b'-', letter] => has_letter(text, char::from(*letter), valued),
        _ => text == *option,
    };
    options.iter().any(is_match)
}

/// Whether a cluster of short options contains this one, before an option whose value is the rest.
fn has_letter(text: &str, letter: char, valued: &str) -> bool {
    let Some(cluster) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    let end =
        cluster.find(|option| valued.contains(option) && option != letter).unwrap_or(cluster.len());
    cluster[..end].contains(letter)
}

/// Options of git itself that take the next word.
const GIT_VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"];

/// Git's commands that change files of the working tree, or content that only git holds, and the words
/// with which they do not.
const GIT: &[(&str, &[&str])] = &[
    ("clone", &[]),
    ("init", &[]),
    ("archive", &["-l", "--list"]),
    ("format-patch", &["--stdout"]),
    ("reset", &[]),
    ("clean", &["-n", "--dry-run"]),
    ("checkout", &[]),
    ("restore", &[]),
    ("switch", &[]),
    ("stash", &["list", "show"]),
    ("rm", &["--cached", "-n", "--dry-run"]),
    ("mv", &["-n", "--dry-run"]),
    ("merge", &[]),
    ("rebase", &[]),
    ("pull", &[]),
    ("apply", &["--check", "--stat", "--numstat", "--summary"]),
    ("am", &[]),
    ("cherry-pick", &[]),
    ("revert", &[]),
    ("bisect", &["log", "view", "visualize"]),
    ("read-tree", &[]),
    ("checkout-index", &[]),
    ("sparse-checkout", &["list"]),
    ("submodule", &["status", "summary"]),
    ("filter-branch", &[]),
    ("worktree", &["list"]),
    // They run hooks of the repository, which may change any file.
    ("commit", &["--dry-run"]),
    ("push", &["--no-verify"]),
    ("lfs", &["ls-files", "status", "env"]),
];

/// Git's commands that change neither.
const GIT_READS: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "blame",
    "annotate",
    "branch",
    "tag",
    "add",
    "stage",
    "fetch",
    "remote",
    "config",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "ls-remote",
    "cat-file",
    "grep",
    "shortlog",
    "describe",
    "reflog",
    "show-ref",
    "show-branch",
    "for-each-ref",
    "symbolic-ref",
    "merge-base",
    "merge-tree",
    "name-rev",
    "notes",
    "help",
    "version",
    "var",
    "count-objects",
    "fsck",
    "gc",
    "prune",
    "repack",
    "pack-refs",
    "hash-object",
    "update-ref",
    "update-index",
    "write-tree",
    "commit-tree",
    "mktree",
    "range-diff",
    "whatchanged",
    "check-ignore",
    "check-attr",
    "check-mailmap",
    "check-ref-format",
    "cherry",
    "diff-tree",
    "diff-index",
    "diff-files",
    "verify-commit",
    "verify-tag",
    "maintenance",
    "rerere",
    "column",
];

/// Configuration of one command that runs no program.
const GIT_HARMLESS_KEYS: &[&str] = &[
    "user.",
    "color.",
    "advice.",
    "init.",
    "core.quotepath=",
    "commit.gpgsign=",
    "log.",
    "diff.renames=",
];

fn git(arguments: &[Word]) -> FileEffect<'_> {
    let mut rest = arguments.iter();
    let command = loop {
        let Some(word) = rest.next() else { return FileEffect::Nothing };
        if GIT_VALUED.contains(&&*word.text) {
            let value = rest.next().map_or("", |value| &*value.text).to_ascii_lowercase();
            let is_harmless = GIT_HARMLESS_KEYS.iter().any(|key| value.starts_with(key));
            if ["-c", "--config-env"].contains(&&*word.text) && !is_harmless {
                return FileEffect::Unknown;
            }
        } else if !word.text.starts_with('-') {
            break word;
        }
    };
    let rest = rest.as_slice();
    let writes = |word: &&Word| {
        let is_other_file = command.text == "config" && is_option(word, &["-f", "--file"], "");
        let is_pager = command.text == "grep"
            && (is_option(word, &["-O"], "efABCm") || word.text.starts_with("--op"));
        is_other_file || is_pager || is_option(word, &["--output"], "")
    };
    if let Some(word) = rest.iter().find(writes) {
        return FileEffect::Changes(Why::Options, word);
    }
    match GIT.iter().find(|(name, _)| *name == command.text) {
        Some((_, harmless)) if rest.iter().any(|word| is_option(word, harmless, "")) => {
            FileEffect::Nothing
        }
        Some(_) => FileEffect::Changes(Why::Git, command),
        None if GIT_READS.contains(&&*command.text) => FileEffect::Nothing,
        None => FileEffect::Unknown,
    }
}
