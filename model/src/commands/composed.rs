//! Commands that are composed by a grammar, so that no list of commands covers them: a command that changes
//! files, by itself, by an option or by a program in its words, behind programs that run others, in the
//! constructs of a shell, and in the text of another shell. Such a line that is only mentioned changes nothing.
//!
//! The effect of a composed command is read back from its text by the same grammar.

/// Commands that change files.
const CHANGING: &[&str] =
    &["rm a.txt", "mv a.txt b.txt", "git clean -fd", "truncate -s 0 a.txt", "sed -i s/a/b/ a.txt"];

/// Commands that change no file, each with an option or a word with which it writes one.
const WRITING: &[(&str, &str)] = &[
    ("sort a.txt", "-o b.txt"),
    ("sort", "--output=b.txt a.txt"),
    ("git log", "--output=b.txt"),
    ("git -C dir diff", "--output b.txt"),
    ("curl http://127.0.0.1/", "-o b.txt"),
    ("curl -s http://127.0.0.1/", "--dump-header b.txt"),
    ("tree", "-o b.txt"),
    ("find .", "-fprint b.txt"),
    ("find . -name a.txt", "-delete"),
    ("cloc .", "--out=b.txt"),
    ("info ls", "-o b.txt"),
    ("yq .a a.yaml", "-i"),
    ("shuf a.txt", "-o b.txt"),
    ("uniq a.txt", "b.txt"),
];

/// As [`WRITING`], with an option that is abbreviated or runs a program. They are not drawn: another number of
/// commands would change what every seed draws.
const UNDRAWN: &[(&str, &str)] = &[
    ("sort a.txt", "--outp b.txt"),
    ("sort", "--ou=b.txt a.txt"),
    ("sed", "--in-p s/a/b/ a.txt"),
    ("sort", "--compress-program=./a.sh a.txt"),
    ("tar -tf a.tar", "--use-compress-program=./a.sh"),
    ("git ls-remote", "--upload-pack=./a.sh ."),
    ("git config", "core.fsmonitor ./a.sh"),
];

/// Commands with a program in their words that changes files.
const CARRYING: &[&str] = &[
    "python3 -c \"open('b.txt', 'w')\"",
    "python -c \"import os; os.remove('a.txt')\"",
    "node -e \"require('fs').unlinkSync('a.txt')\"",
    "php -r \"unlink('a.txt');\"",
    "lua -e \"os.remove('a.txt')\"",
    "perl -e \"unlink 'a.txt'\"",
    "dc -e '!rm a.txt'",
];

/// The text before and after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around {
    before: &'static str,
    after: &'static str,
}

const fn around(before: &'static str, after: &'static str) -> Around {
    Around { before, after }
}

/// Programs that run the command in their words.
pub static RUNNERS: &[Around] = &[
    around("sudo ", ""),
    around("env A=1 ", ""),
    around("nice -n 5 ", ""),
    around("timeout 5 ", ""),
    around("stdbuf -oL ", ""),
    around("xargs -a a.txt ", ""),
    around("find . -exec ", " \\;"),
];

/// Shells, which run the text of a word.
pub static SHELLS: &[Around] = &[around("bash -c '", "'"), around("sh -c \"", "\"")];

/// Constructs of a shell, which run a line.
pub static CONSTRUCTS: &[Around] = &[
    around("( ", " )"),
    around("{ ", "; }"),
    around("if true; then ", "; fi"),
    around("for f in a b; do ", "; done"),
    around("cat a.txt | ", ""),
    around("", " | cat"),
    around("[ -f a.txt ] && ", ""),
    around("echo $( ", " )"),
    around("eval '", "'"),
    around("", " >/dev/null"),
];

/// Words and comments, which only mention a line.
pub static MENTIONS: &[Around] = &[
    around("echo '", "'"),
    around("grep -r '", "' ."),
    around("echo \"", "\""),
    around("ls # ", ""),
    around("git log --grep='", "'"),
];

impl Around {
    /// A command with this text around it; `None` if it would mean something else there.
    pub fn of(&self, command: &str) -> Option<String> {
        let Around { before, after } = self;
        self.may_be_around(command).then(|| format!("{before}{command}{after}"))
    }

    /// The command with this text around it, if `text` is one.
    fn inside<'a>(&self, text: &'a str) -> Option<&'a str> {
        let command = text.strip_prefix(self.before)?.strip_suffix(self.after)?;
        self.may_be_around(command).then_some(command)
    }

    fn may_be_around(&self, command: &str) -> bool {
        let ends_early = match self.before.as_bytes().last() {
            Some(b'\'') => command.contains('\''),
            Some(b'"') => command.contains(['"', '$', '`', '\\']),
            // A second end would belong to the first of two, as with `find -exec`.
            _ => !self.after.is_empty() && command.ends_with(self.after),
        };
        !command.is_empty() && !ends_early
    }
}

/// Every command that changes files and has nothing around it, of those that are drawn.
pub fn simple() -> Vec<String> {
    let others = CHANGING.iter().chain(CARRYING).map(|command| (*command).to_owned());
    others.chain(with_options(WRITING)).collect()
}

/// Those and the others.
pub fn all() -> Vec<String> {
    simple().into_iter().chain(with_options(UNDRAWN)).collect()
}

fn with_options(commands: &'static [(&str, &str)]) -> impl Iterator<Item = String> {
    commands.iter().map(|(command, option)| format!("{command} {option}"))
}

/// Whether a composed command changes files; `None` if it is not composed by this grammar.
pub fn changes_files(command: &str) -> Option<bool> {
    let is_mention = |mention: &Around| mention.inside(command).is_some_and(is_changing);
    match MENTIONS.iter().any(is_mention) {
        true => Some(false),
        false => is_changing(command).then_some(true),
    }
}

/// Whether a command is a program that changes files by a program in its words, with nothing around it.
pub fn carries_program(command: &str) -> bool {
    CARRYING.contains(&command)
}

/// Whether a line runs a command that changes files.
fn is_changing(line: &str) -> bool {
    let runs = |construct: &Around| construct.inside(line).is_some_and(is_changing);
    is_changing_command(line) || CONSTRUCTS.iter().any(runs)
}

fn is_changing_command(command: &str) -> bool {
    let runs = |runner: &Around| runner.inside(command).is_some_and(is_changing_command);
    let reads = |shell: &Around| shell.inside(command).is_some_and(is_changing);
    let writes = |(writing, option): &(&str, &str)| {
        command.strip_prefix(writing).and_then(|rest| rest.strip_prefix(' ')) == Some(*option)
    };
    CHANGING.contains(&command)
        || carries_program(command)
        || WRITING.iter().chain(UNDRAWN).any(writes)
        || RUNNERS.iter().any(runs)
        || SHELLS.iter().any(reads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_files_reads_a_composed_command_by_the_grammar() {
        for command in [
            "timeout 5 env A=1 rm a.txt",
            "sort a.txt -o b.txt",
            "sudo find . -exec bash -c 'cat a.txt | mv a.txt b.txt' \\;",
            "if true; then echo $( git clean -fd ); fi >/dev/null",
            "sh -c \"for f in a b; do dc -e '!rm a.txt'; done\"",
        ] {
            assert_eq!(changes_files(command), Some(true), "{command}");
        }
        for command in ["echo 'timeout 5 rm a.txt | cat'", "ls # ( rm a.txt )"] {
            assert_eq!(changes_files(command), Some(false), "{command}");
        }
        for command in ["sort a.txt", "ls", "sudo ls", "rm", "echo 'ls'", "timeout 5 rm a.txt x"] {
            assert_eq!(changes_files(command), None, "{command}");
        }
    }

    #[test]
    fn of_refuses_a_command_that_would_end_the_text_around_it() {
        let [bash, sh] = SHELLS else { panic!("{SHELLS:?}") };
        assert_eq!(bash.of("echo 'a'"), None);
        assert_eq!(sh.of("echo $( ls )"), None);
        assert_eq!(sh.of("echo 'a'").as_deref(), Some("sh -c \"echo 'a'\""));
        let find = RUNNERS.last().unwrap();
        let inner = find.of("rm a.txt").unwrap();
        assert_eq!(find.of(&inner), None);
    }
}
