//! Terminal commands of which it is known whether they change files: those of the documents and a few
//! like them, alone or among commands that change nothing. Of any other nothing is held.

/// Each with whether it changes files (behaviour: Turns and triggers).
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

/// So many of them, the first, are those that the first document names, as plain as can be.
const NAMED: usize = 13;

/// What may stand before a command without another meaning.
pub static BEFORE: &[&str] = &["cd dir && ", "ls; ", "true && "];
/// What may stand after it.
pub static AFTER: &[&str] = &["; ls", " && pwd"];

/// Whether a command is one that the first document names, by itself.
pub fn is_named(command: &str) -> bool {
    COMMANDS.iter().take(NAMED).any(|(named, _)| *named == command)
}

/// Whether a command changes files, where that is known.
pub fn changes_files(command: &str) -> Option<bool> {
    let listed = COMMANDS.iter().find(|(listed, _)| *listed == command);
    let before = || BEFORE.iter().find_map(|before| command.strip_prefix(before));
    let after = || AFTER.iter().find_map(|after| command.strip_suffix(after));
    match listed {
        Some((_, changes)) => Some(*changes),
        None => changes_files(before().or_else(after)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_document_names_is_known_by_itself_alone() {
        assert!(is_named("rm a.txt") && is_named("git checkout ."));
        assert!(!is_named("sudo /bin/rm a.txt") && !is_named("ls; rm a.txt"));
    }

    #[test]
    fn what_stands_around_a_command_changes_nothing_of_it() {
        assert_eq!(changes_files("rm a.txt"), Some(true));
        assert_eq!(changes_files("cd dir && ls; rm a.txt; ls"), Some(true));
        assert_eq!(changes_files("true && echo 'a -> b' && pwd"), Some(false));
        assert_eq!(changes_files("frobnicate"), None);
        assert_eq!(changes_files("rm a.txt && frobnicate"), None);
    }
}
