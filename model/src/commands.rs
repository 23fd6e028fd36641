//! Terminal commands whose effect on files is known: the commands that the documents behind the rules name,
//! and a few similar ones. A command may stand alone or be combined with commands that change nothing. No
//! other command is judged, except those that [`composed`] composes.

pub mod composed;

/// Each command, and whether it changes files (behaviour: Turns and triggers).
pub static COMMANDS: &[(&str, bool)] = &[
    ("rm a.txt", true),
    ("rmdir dir", true),
    ("cp a.txt b.txt", true),
    ("install a.txt b.txt", true),
    ("mv a.txt b.txt", true),
    ("sed -i s/a/b/ a.txt", true),
    ("truncate -s 0 a.txt", true),
    ("dd if=a.txt of=b.txt", true),
    ("shred a.txt", true),
    ("echo x > a.txt", true),
    ("git reset --hard", true),
    ("git clean -fd", true),
    ("git checkout .", true),
    ("sudo /bin/rm a.txt", true),
    ("ls|xargs rm", true),
    ("(rm a.txt)", true),
    ("bash -c 'rm a.txt'", true),
    ("sed -e s/a/b/ -i a.txt", true),
    ("echo x >> a.txt", true),
    ("ls | tee a.txt", true),
    ("find . -delete", true),
    ("git -C dir reset --hard", true),
    ("git restore a.txt", true),
    ("git switch main", true),
    ("git stash", true),
    ("\\rm a.txt", true),
    ("ls\n\\rm a.txt", true),
    ("ls 2>&1", false),
    ("ls >/dev/null", false),
    ("echo 'a -> b'", false),
    ("ls", false),
    ("cat a.txt", false),
    ("grep -r 'rm a.txt' .", false),
    ("sed s/a/b/ a.txt", false),
    ("find . -name rm", false),
    ("git status", false),
    ("git log --oneline", false),
    ("echo rm a.txt", false),
    ("ls # rm x", false),
];

/// Commands that may change files, of which a list of programs that do so cannot tell: they carry a program in
/// their words, read one from their input, or run what nobody has listed (F12).
pub static UNLISTED: &[&str] = &[
    "perl -e 'unlink \"a.txt\"'",
    "ruby -e 'File.delete(\"a.txt\")'",
    "awk '{print > \"b.txt\"}' a.txt",
    "awk 'BEGIN {system(\"rm a.txt\")}'",
    "sed -n 'w b.txt' a.txt",
    "git diff --output=b.txt",
    "rg --pre rm a.txt",
    "uniq a.txt b.txt",
    "xxd -r a.txt b.txt",
    "sqlite3 a.db 'drop table x'",
    "pip install x",
    "yarn",
    "npm test",
    "uv run x",
    "terraform apply",
    "docker run x",
    "frobnicate a.txt",
    "python3 - <<'EOF'\nimport os\nos.remove('a.txt')\nEOF",
    "python3 <<< 'open(\"a.txt\", \"w\")'",
    "node < a.js",
    "cat a.py | python3",
];

/// How many of the commands, from the first, are those that the first document names literally.
const NAMED_COUNT: usize = 13;

/// Prefixes of a command that do not change its effect.
pub static BEFORE: &[&str] = &["cd dir && ", "ls; ", "true && "];
/// Suffixes of a command that do not change its effect.
pub static AFTER: &[&str] = &["; ls", " && pwd"];

/// Whether the first document names a command, which stands alone.
pub fn is_named(command: &str) -> bool {
    COMMANDS.iter().take(NAMED_COUNT).any(|(named, _)| *named == command)
}

/// Whether a command changes files, where that is known.
pub fn changes_files(command: &str) -> Option<bool> {
    let changes = |bare: &str| {
        COMMANDS.iter().find(|(listed, _)| *listed == bare).map(|(_, changes)| *changes)
    };
    find(command, &changes)
}

/// Whether a command may change files that no list of programs names.
pub fn is_unlisted(command: &str) -> bool {
    find(command, &|bare| UNLISTED.contains(&bare).then_some(())).is_some()
}

/// Whether such a command takes its program from a text or a file that is redirected to it.
pub fn reads_its_program(command: &str) -> bool {
    is_unlisted(command) && command.contains(" <")
}

/// What is known of a command, or of what is left of it without the commands around it that change nothing.
fn find<T>(command: &str, known: &dyn Fn(&str) -> Option<T>) -> Option<T> {
    let without_prefix = || BEFORE.iter().find_map(|prefix| command.strip_prefix(prefix));
    let without_suffix = || AFTER.iter().find_map(|suffix| command.strip_suffix(suffix));
    known(command).or_else(|| find(without_prefix().or_else(without_suffix)?, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_named_accepts_only_the_bare_commands_of_the_first_document() {
        assert!(is_named("rm a.txt") && is_named("git checkout ."));
        assert!(!is_named("sudo /bin/rm a.txt") && !is_named("ls; rm a.txt"));
    }

    #[test]
    fn changes_files_ignores_known_prefixes_and_suffixes_of_a_command() {
        assert_eq!(changes_files("rm a.txt"), Some(true));
        assert_eq!(changes_files("cd dir && ls; rm a.txt; ls"), Some(true));
        assert_eq!(changes_files("true && echo 'a -> b' && pwd"), Some(false));
        assert_eq!(changes_files("frobnicate"), None);
        assert_eq!(changes_files("rm a.txt && frobnicate"), None);
        assert!(is_unlisted("cd dir && npm test; ls") && !is_unlisted("npm ls"));
        assert!(reads_its_program("ls; node < a.js") && !reads_its_program("npm test"));
    }
}
