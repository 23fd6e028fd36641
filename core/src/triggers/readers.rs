//! Programs that are known to change no files, and when. A program in neither this list nor that of
//! [`super::table`] counts as changing files, since its effect is not known.

use super::options::is_option;
use super::shell::Word;

/// When a program changes no files.
enum When {
    /// Whatever its arguments are.
    Always,
    /// With one of these commands as its first word that is no option.
    Command(&'static [&'static str]),
    /// With one of these commands among its first two words that are no options.
    Subcommand(&'static [&'static str]),
    /// With one of these options.
    With(&'static [&'static str]),
    /// With no word that begins with a plus, unless that command of a pager only moves in the file or searches it.
    Moves,
    /// With at most so many words that are no options: it writes to the next one.
    Operands(usize),
}
use When::{Always, Command, Moves, Operands, Subcommand, With};

/// Programs that only print or compare their words, whatever these are.
pub const ONLY_PRINT: &[&str] =
    &["echo", "printf", "print", "true", "false", ":", "test", "[", "seq", "yes", "expr"];

/// The programs, several to a line.
const PROGRAMS: &[(&[&str], When)] = &[
    // Of the shell itself.
    (&["cd", "pushd", "popd", "dirs", "pwd", "echo", "printf", "print", "true", "false"], Always),
    (&[":", "test", "[", "export", "set", "unset", "alias", "unalias", "type", "read"], Always),
    (&["wait", "sleep", "exit", "return", "local", "declare", "typeset", "readonly"], Always),
    (&["shift", "ulimit", "umask", "jobs", "fg", "bg", "disown", "hash", "let", "getopts"], Always),
    (&["shopt", "setopt", "break", "continue", "times", "bind", "complete", "compgen"], Always),
    (&["mapfile", "readarray", "rehash", "which", "whereis", "whence", "where"], Always),
    // Of a system.
    (&["kill", "pkill", "killall", "ps", "pgrep", "pidof", "pstree", "top", "htop"], Always),
    (&["date", "cal", "uptime", "who", "w", "whoami", "id", "groups", "users"], Always),
    (&["hostname", "uname", "arch", "nproc", "lscpu", "lsblk", "lsof", "free", "vmstat"], Always),
    (&["iostat", "df", "du", "printenv", "locale", "tty", "stty", "clear", "reset"], Always),
    (&["tput", "man", "info", "apropos", "whatis", "help", "tldr", "getent", "sysctl"], Always),
    (&["systemctl", "journalctl", "dmesg", "loginctl", "timedatectl"], Always),
    (&["ping", "traceroute", "tracepath", "dig", "nslookup", "host", "whois"], Always),
    (&["netstat", "ss", "ip", "ifconfig", "nc", "ncat", "telnet", "ssh", "ssh-add"], Always),
    // Of files that they only read.
    (&["ls", "dir", "vdir", "eza", "exa", "cat", "bat", "tac", "head", "tail"], Always),
    (&["wc", "nl", "cut", "paste", "tr", "fold", "fmt", "expand", "rev"], Always),
    (&["unexpand", "column", "comm", "join", "cmp", "diff", "diff3", "colordiff"], Always),
    (&["cksum", "md5sum", "md5", "sha1sum", "sha224sum", "sha256sum", "sha384sum"], Always),
    (&["sha512sum", "shasum", "b2sum", "sum", "od", "hexdump", "hd", "strings", "file"], Always),
    (&["stat", "realpath", "readlink", "basename", "dirname", "pathchk", "locate"], Always),
    (&["nm", "objdump", "readelf", "size", "ldd", "otool", "lipo", "cloc", "tokei"], Always),
    (&["grep", "egrep", "fgrep", "zgrep", "ugrep", "ag", "ack", "look", "tsort"], Always),
    (&["seq", "yes", "expr", "bc", "factor", "numfmt", "base32", "base64"], Always),
    (&["zcat", "bzcat", "xzcat", "zstdcat", "zdiff", "zcmp"], Always),
    (&["jq", "gron", "envsubst", "getconf", "getfacl", "lsattr", "mediainfo"], Always),
    (&["less", "more", "most", "zless", "zmore", "vi", "vim", "nvim"], Moves),
    (&["uniq", "xxd"], Operands(1)),
    (&["history"], Operands(0)),
    (&["sqlite3"], With(&["-readonly"])),
    // Of a project and what it is made with.
    (
        &["gh", "glab"],
        Subcommand(&["list", "view", "status", "diff", "checks", "search", "auth", "api", "watch"]),
    ),
    (&["npm", "pnpm", "yarn", "bun"], Command(PACKAGES)),
    (&["pip", "pip2", "pip3"], Command(&["list", "show", "freeze", "check", "index", "inspect"])),
    (&["poetry", "pipenv"], Command(&["show", "check", "about", "graph", "search"])),
    (&["uv"], Command(&["version", "help"])),
    (&["conda", "mamba"], Command(&["list", "info", "search", "env"])),
    (&["cargo"], Command(&["search", "info", "version", "help", "locate-project", "fmt", "owner"])),
    (&["rustup"], Command(&["show", "which", "doc", "check"])),
    (&["go"], Command(&["version", "env", "doc", "list", "vet", "help"])),
    (&["gem"], Command(&["list", "search", "info", "environment", "outdated", "which"])),
    (&["bundle"], Command(&["list", "show", "info", "outdated", "check", "config"])),
    (
        &["composer"],
        Command(&["show", "info", "search", "outdated", "validate", "why", "licenses"]),
    ),
    (&["dotnet"], Command(&["list", "--info"])),
    (&["brew"], Command(&["list", "info", "search", "outdated", "deps", "leaves", "config"])),
    (&["apt", "apt-cache", "dnf", "yum"], Command(&["list", "show", "search", "policy", "info"])),
    (&["dpkg", "rpm"], With(&["-l", "-L", "-s", "-S", "-q", "--list", "--query"])),
    (&["crontab"], With(&["-l"])),
    (&["docker", "podman"], Command(CONTAINERS)),
    (&["kubectl", "oc"], Command(CLUSTERS)),
    (&["helm"], Command(&["list", "ls", "status", "history", "search", "show", "get", "version"])),
    (&["terraform", "tofu"], Command(&["version", "validate", "show", "output", "providers"])),
    (&["7z", "7za", "7zr"], Command(&["l", "t", "i", "h", "b"])),
];
const PACKAGES: &[&str] = &[
    "ls", "list", "ll", "view", "info", "show", "outdated", "whoami", "search", "ping", "root",
    "prefix", "bin", "help", "why", "explain", "fund", "docs", "repo", "owner",
];
const CONTAINERS: &[&str] = &[
    "ps", "images", "logs", "inspect", "version", "info", "stats", "top", "port", "history",
    "search", "events", "diff", "pull", "push", "tag", "stop", "kill", "rm", "rmi", "network",
    "volume",
];
const CLUSTERS: &[&str] = &[
    "get",
    "describe",
    "logs",
    "explain",
    "top",
    "apply",
    "delete",
    "create",
    "scale",
    "rollout",
    "expose",
    "label",
    "annotate",
    "patch",
    "auth",
    "version",
    "cluster-info",
    "api-resources",
    "api-versions",
    "diff",
    "wait",
];

/// Whether a program is known to change no files with these arguments; `None` if it is not listed.
pub fn changes_nothing(name: &str, arguments: &[Word]) -> Option<bool> {
    let operands =
        || arguments.iter().filter(|word| !word.text.starts_with('-') || word.text == "-");
    let (_, when) = PROGRAMS.iter().find(|(names, _)| names.contains(&name))?;
    Some(match when {
        Always => true,
        Command(commands) => operands().next().is_some_and(|word| commands.contains(&&*word.text)),
        Subcommand(commands) => operands().take(2).any(|word| commands.contains(&&*word.text)),
        With(options) => arguments.iter().any(|word| is_option(word, options, "")),
        Moves => arguments.iter().all(only_moves),
        Operands(most) => operands().count() <= *most,
    })
}

/// Whether a word of a pager is no command of it, as in `less +'!rm x'`, or one that only moves or searches.
fn only_moves(word: &Word) -> bool {
    // A control character may end a search.
    if word.text.contains(char::is_control) {
        return false;
    }
    let Some(command) = word.text.strip_prefix('+') else { return true };
    let command = command.trim_start_matches('+');
    let moves = |key: char| key.is_ascii_digit() || "gGFpP%".contains(key);
    word.is_known && (command.starts_with(['/', '?', '&']) || command.chars().all(moves))
}

/// Whether a program for `awk` changes nothing: it prints to no file, and runs nothing.
pub fn awk_changes_nothing(program: &str) -> bool {
    let without_or = program.replace("||", "");
    let writes = program.contains("print") && program.contains('>');
    !(writes || without_or.contains('|') || program.contains("system") || program.contains('@'))
}

/// Whether a script for `sed` changes nothing: it writes no file, and runs nothing.
pub fn sed_changes_nothing(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|character: char| {
            character.is_whitespace() || "0123456789,$!~+;{}".contains(character)
        });
        let mut characters = rest.chars();
        let Some(command) = characters.next() else { return true };
        rest = characters.as_str();
        rest = match command {
            '/' => match after_part(rest, '/') {
                Some(rest) => rest.trim_start_matches(['I', 'M']),
                None => return false,
            },
            's' | 'y' => match substituted(rest) {
                Some(rest) => rest,
                None => return false,
            },
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'l' | 'n' | 'N' | 'p' | 'P' | 'q' | 'Q'
            | 'x' | 'z' | 'F' => rest,
            // Their words are text or a label, up to the end of the line.
            'a' | 'i' | 'c' | 'b' | 't' | 'T' | ':' | '#' | 'r' | 'R' => {
                rest.split_once('\n').map_or("", |(_, next)| next)
            }
            _ => return false,
        };
    }
}

/// What follows `s/a/b/flags` after its first letter; `None` if it writes or runs what it found, or cannot be read.
fn substituted(rest: &str) -> Option<&str> {
    let delimiter = rest.chars().next()?;
    let after_pattern = after_part(&rest[delimiter.len_utf8()..], delimiter)?;
    let flags = after_part(after_pattern, delimiter)?;
    let end = flags.find([';', '}', '\n']).unwrap_or(flags.len());
    let (flags, rest) = flags.split_at(end);
    (!flags.contains(['w', 'e'])).then_some(rest)
}

/// What follows the next delimiter that no backslash precedes.
fn after_part(text: &str, delimiter: char) -> Option<&str> {
    let mut characters = text.char_indices();
    while let Some((index, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if character == delimiter {
            return Some(&text[index + character.len_utf8()..]);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sed_changes_nothing_only_with_a_script_that_writes_no_file_and_runs_nothing() {
        for script in
            ["s/a/b/", "5p", "1,3d", "/x/Id", "s|w|e|g;p", "$!N;s/\\n/ /", "/a/,/b/{p;q}", "a w"]
        {
            assert!(sed_changes_nothing(script), "{script}");
        }
        for script in
            ["w f", "s/a/b/w f", "1e", "s/a/b/ge", "/x/w f", "p;w f", "s/a", "{p;W f}", "v"]
        {
            assert!(!sed_changes_nothing(script), "{script}");
        }
    }

    #[test]
    fn awk_changes_nothing_only_with_a_program_that_writes_no_file_and_runs_nothing() {
        for program in ["{print $1}", "$3 > 5", "$1 == 2 || $2 {n++} END {print n}"] {
            assert!(awk_changes_nothing(program), "{program}");
        }
        for program in
            ["{print > \"f\"}", "BEGIN{system(\"rm a\")}", "{print | \"sh\"}", "\"date\" | getline"]
        {
            assert!(!awk_changes_nothing(program), "{program}");
        }
    }
}
