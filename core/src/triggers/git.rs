//! Which commands of git change files of the working tree, or may run a program.

use super::Why;
use super::options::{is_option, may_be_option};
use super::shell::Word;
use super::table::FileEffect;

/// Options of git itself that take the next word.
const GIT_VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"];
/// Options of git itself that run no program and take no word.
const GIT_FLAGS: &[&str] = &[
    "-p",
    "-P",
    "-v",
    "-h",
    "--bare",
    "--exec-path",
    "--glob-pathspecs",
    "--help",
    "--html-path",
    "--icase-pathspecs",
    "--info-path",
    "--literal-pathspecs",
    "--man-path",
    "--no-advice",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--noglob-pathspecs",
    "--paginate",
    "--version",
];
/// Such options with a value behind them.
const GIT_FOLDERS: &[&str] = &["--git-dir=", "--namespace=", "--work-tree="];
/// Options of any command of git that run a program or write a file.
const GIT_DANGEROUS: &[&str] = &["--exec", "--output", "--receive-pack", "--upload-pack"];

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
    ("rerere", &["status", "diff", "remaining"]),
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

/// What a command of git does to files.
pub fn effect(arguments: &[Word]) -> FileEffect<'_> {
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
        } else if !is_harmless_flag(word) {
            return FileEffect::Unknown;
        }
    };
    let rest = rest.as_slice();
    let writes = |word: &&Word| {
        let is_other_file = command.text == "config" && may_be_option(word, &["-f", "--file"], "");
        let is_pager = command.text == "grep"
            && (is_option(word, &["-O"], "efABCm") || word.text.starts_with("--op"));
        is_other_file || is_pager || may_be_option(word, GIT_DANGEROUS, "")
    };
    if let Some(word) = rest.iter().find(writes) {
        return FileEffect::Changes(Why::Options, word);
    }
    if command.text == "config" && !only_reads_configuration(rest) {
        return FileEffect::Changes(Why::Git, command);
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

fn is_harmless_flag(word: &Word) -> bool {
    let names_folder = |flag: &&str| word.text.starts_with(*flag);
    GIT_FLAGS.contains(&&*word.text) || GIT_FOLDERS.iter().any(names_folder)
}

/// Whether `git config` is given these words only to read: what it writes may name a program that the next
/// command of git runs, as `core.fsmonitor` does.
// rule: turn/safe-side
fn only_reads_configuration(arguments: &[Word]) -> bool {
    const READS: &[&str] = &[
        "-l",
        "--list",
        "--get",
        "--get-all",
        "--get-regexp",
        "--get-urlmatch",
        "--get-color",
        "--get-colorbool",
    ];
    const PLAIN: &[&str] = &[
        "-z",
        "--bool",
        "--default",
        "--global",
        "--includes",
        "--int",
        "--local",
        "--name-only",
        "--null",
        "--path",
        "--show-origin",
        "--show-scope",
        "--system",
        "--type",
        "--worktree",
    ];
    let mut operands = arguments.iter().filter(|word| !word.text.starts_with('-'));
    let options = || arguments.iter().filter(|word| word.text.starts_with('-'));
    let reads = |word: &Word| READS.contains(&&*word.text);
    let is_plain = |word: &Word| is_option(word, PLAIN, "") || reads(word);
    let first = operands.next().map(|word| &*word.text);
    // With one word that names a setting, it prints that setting.
    let prints = first.is_some_and(|key| key.contains('.')) && operands.next().is_none();
    options().all(is_plain)
        && (options().any(reads) || matches!(first, Some("get" | "list")) || prints)
}
