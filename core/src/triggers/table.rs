//! What programs do to files. A program that is not here is taken for one that changes none.

use super::Why;
use super::shell::{Simple, Word};

/// When a program changes files.
enum When {
    /// Whatever its arguments are.
    Always,
    /// With one of these options. A short one counts within a cluster, too; a long one also with a value
    /// behind `=`. The second list has the short options with a value of their own, which ends a cluster.
    With(&'static [&'static str], &'static str),
    /// Without any of these options.
    Without(&'static [&'static str], &'static str),
    /// With this command among its arguments.
    Command(&'static [&'static str]),
    /// With any argument that is no option.
    Operand,
}
use When::{Always, Command, Operand, With, Without};

/// The programs, several to a line.
const PROGRAMS: &[(&[&str], When)] = &[
    (&["rm", "rmdir", "unlink", "cp", "install", "mv", "truncate", "dd", "shred"], Always),
    (&["srm", "wipe", "rsync", "scp", "patch", "ed", "ex", "split", "csplit"], Always),
    (&["rename", "prename"], Without(&["-n", "--no-act", "--nono"], "")),
    (&["unzip", "cpio", "fallocate", "trash", "trash-put", "mkfs", "sponge", "dos2unix"], Always),
    (&["unix2dos", "vi", "vim", "nvim", "nano", "emacs", "script", "replace"], Always),
    (&["tee"], Operand),
    (&["sed", "gsed"], With(&["-i", "--in-place"], "efl")),
    (&["perl", "ruby"], With(&["-i"], "eEIMmrCFx")),
    (&["awk", "gawk"], With(&["inplace"], "")),
    (&["sort"], With(&["-o", "--output"], "kStT")),
    (&["ln"], With(&["-f", "--force"], "St")),
    (&["find", "gfind"], With(&["-delete", "-fprint", "-fprint0", "-fprintf", "-fls"], "")),
    (&["curl"], With(&["-o", "-O", "-J", "--output", "--remote-name"], "HdXuAbceFmrtTwxyYz")),
    (&["wget"], Without(&["--spider", "-qO-", "-O-"], "")),
    (
        &["tar", "gtar", "bsdtar"],
        Without(&["-t", "--list", "t", "tf", "tvf", "tzf", "tvzf"], "fCbX"),
    ),
    (
        &[
            "gzip",
            "gunzip",
            "bzip2",
            "bunzip2",
            "xz",
            "unxz",
            "zstd",
            "unzstd",
            "compress",
            "uncompress",
        ],
        Without(&["-c", "-t", "-l", "--stdout", "--test", "--list"], "S"),
    ),
    (&["zip"], Always),
    (&["cargo"], Command(&["clean", "fmt", "fix"])),
    (&["make", "gmake", "ninja"], Command(&["clean", "distclean", "mrproper"])),
    (&["gofmt", "goimports", "shfmt"], With(&["-w"], "")),
    (&["prettier"], With(&["-w", "--write"], "")),
    (&["eslint", "stylelint"], With(&["--fix"], "")),
    (&["black", "isort", "autopep8", "rustfmt"], Without(&["--check", "--diff", "-c"], "")),
    (&["ruff"], With(&["--fix", "format"], "")),
];

/// The word that says that a command changes files, and why; nothing if it changes none itself.
pub fn changes_files(command: &Simple) -> Option<(Why, &Word)> {
    let (program, arguments) = command.words.split_first()?;
    let name = name(program);
    let asks = |word: &Word| ["--help", "--version"].contains(&&*word.text);
    if arguments.len() == 1 && arguments.iter().any(asks) {
        return None;
    }
    if name == "git" {
        return git(arguments).map(|word| (Why::Git, word));
    }
    let named = |(names, _): &&(&[&str], When)| {
        names.contains(&name) || name.starts_with("mkfs.") && names.contains(&"mkfs")
    };
    let (_, when) = PROGRAMS.iter().find(named)?;
    let option =
        |any: &[&str], valued: &str| arguments.iter().find(|word| is_option(word, any, valued));
    match when {
        Always => Some((Why::Program, program)),
        With(any, valued) => Some((Why::Options, option(any, valued)?)),
        Without(any, valued) if option(any, valued).is_none() => Some((Why::Program, program)),
        Without(..) => None,
        Command(any) => {
            let word = arguments.iter().find(|word| any.contains(&&*word.text))?;
            Some((Why::Options, word))
        }
        Operand => {
            let is_file = |word: &&Word| !word.text.starts_with('-') && word.text != "/dev/null";
            arguments.iter().any(|word| is_file(&word)).then_some((Why::Program, program))
        }
    }
}

/// The name of a program without its folder.
pub fn name(program: &Word) -> &str {
    program.text.rsplit('/').next().unwrap_or_default()
}

/// Whether a word is one of these options, in a cluster or with a value, too.
fn is_option(word: &Word, any: &[&str], valued: &str) -> bool {
    let text = &*word.text;
    let is_it = |option: &&str| match option.as_bytes() {
        [b'-', b'-', ..] => {
            text == *option || text.split_once('=').is_some_and(|(name, _)| name == *option)
        }
        [b'-', letter] => has_letter(text, char::from(*letter), valued),
        _ => text == *option,
    };
    any.iter().any(is_it)
}

/// Whether a cluster of short options has this one, before one whose value is the rest.
fn has_letter(text: &str, letter: char, valued: &str) -> bool {
    let Some(cluster) = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
        return false;
    };
    let end = cluster.find(|one| valued.contains(one) && one != letter).unwrap_or(cluster.len());
    cluster[..end].contains(letter)
}

/// Options of git itself that take the next word.
const GIT_VALUED: &[&str] =
    &["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"];

/// Git's commands that change files of the working tree, or what only git holds of them, and the words
/// with which they do not.
const GIT: &[(&str, &[&str])] = &[
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
    ("submodule", &["status", "summary", "foreach"]),
    ("filter-branch", &[]),
    ("worktree", &["list"]),
    ("lfs", &["ls-files", "status", "env", "track"]),
];

fn git(arguments: &[Word]) -> Option<&Word> {
    let mut rest = arguments.iter();
    let command = loop {
        let word = rest.next()?;
        if GIT_VALUED.contains(&&*word.text) {
            rest.next();
        } else if !word.text.starts_with('-') {
            break word;
        }
    };
    let (_, harmless) = GIT.iter().find(|(name, _)| *name == command.text)?;
    let rest = rest.as_slice();
    (!rest.iter().any(|word| is_option(word, harmless, ""))).then_some(command)
}
