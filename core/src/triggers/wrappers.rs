//! Programs that run what their arguments name: `sudo`, `xargs`, `find -exec`, a shell with `-c`.

use super::shell::{Simple, Word};
use super::table::name;

/// What a command runs.
#[derive(Debug)]
pub enum Runs<'a> {
    /// These words as a command.
    Command(&'a [Word]),
    /// The text of this word as a line of shell.
    Script(&'a Word),
    /// Something that this word stands for and that is only known when it runs.
    Unknown(&'a Word),
}

/// Programs before a command, with their short options that take the next word, the long ones that do, and
/// how many words stand between the options and the command.
const BEFORE: &[(&str, &str, &[&str], usize)] = &[
    ("sudo", "ugpCrtTUDhR", &["--user", "--group", "--chdir", "--prompt", "--host"], 0),
    ("doas", "uC", &[], 0),
    ("env", "uC", &["--unset", "--chdir"], 0),
    ("nice", "n", &["--adjustment"], 0),
    ("ionice", "cnpPu", &["--class", "--classdata"], 0),
    ("nohup", "", &[], 0),
    ("time", "fo", &["--format", "--output"], 0),
    ("timeout", "ks", &["--kill-after", "--signal"], 1),
    ("stdbuf", "ioe", &["--input", "--output", "--error"], 0),
    ("setsid", "", &[], 0),
    ("exec", "a", &[], 0),
    ("command", "", &[], 0),
    ("builtin", "", &[], 0),
    (
        "xargs",
        "adEIiLlnPs",
        &["--arg-file", "--delimiter", "--max-args", "--max-procs", "--replace"],
        0,
    ),
    ("parallel", "jINLnPS", &["--jobs", "--colsep"], 0),
    ("watch", "n", &["--interval"], 0),
    ("flock", "wE", &["--timeout"], 1),
    ("chroot", "", &[], 1),
    ("busybox", "", &[], 0),
    ("toybox", "", &[], 0),
    ("strace", "abeIoOpPsSuUX", &[], 0),
    ("unbuffer", "", &[], 0),
    ("chronic", "", &[], 0),
    ("coproc", "", &[], 0),
    ("caffeinate", "tw", &[], 0),
    ("noglob", "", &[], 0),
    ("nocorrect", "", &[], 0),
];

/// Shells, which run the text behind `-c`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "su"];

/// What a command runs, besides its own program.
pub fn runs(command: &Simple) -> Vec<Runs<'_>> {
    let Some((program, arguments)) = command.words.split_first() else { return Vec::new() };
    let name = name(program);
    if SHELLS.contains(&name) {
        return shell(program, arguments).into_iter().collect();
    }
    match name {
        "find" | "gfind" | "fd" => executed(arguments),
        "eval" => arguments.iter().map(script).collect(),
        "trap" => arguments.first().map(script).into_iter().collect(),
        "source" | "." => Vec::new(),
        _ => {
            let before = BEFORE.iter().find(|(known, ..)| *known == name);
            before.and_then(|row| behind(row, arguments)).into_iter().collect()
        }
    }
}

fn script(word: &Word) -> Runs<'_> {
    if word.is_known { Runs::Script(word) } else { Runs::Unknown(word) }
}

/// What a shell runs: the text behind `-c`, or what it reads where it is given no file.
fn shell<'a>(program: &'a Word, arguments: &'a [Word]) -> Option<Runs<'a>> {
    let is_command = |word: &Word| {
        let cluster = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        cluster.is_some_and(|letters| letters.contains('c')) || word.text == "--command"
    };
    if let Some(place) = arguments.iter().position(is_command) {
        return Some(arguments[place + 1..].first().map_or(Runs::Unknown(program), script));
    }
    let asks = |word: &Word| ["--version", "--help", "-n"].contains(&&*word.text);
    let is_file = |word: &Word| !word.text.starts_with('-');
    (!arguments.iter().any(|word| asks(word) || is_file(word))).then_some(Runs::Unknown(program))
}

/// What `find` runs for each file that it finds.
fn executed(arguments: &[Word]) -> Vec<Runs<'_>> {
    const EXECUTES: &[&str] =
        &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];
    let places = arguments.iter().enumerate().filter(|(_, word)| EXECUTES.contains(&&*word.text));
    let ends = |word: &Word| [";", "+"].contains(&&*word.text);
    let command = |(place, _): (usize, &Word)| {
        let rest = &arguments[place + 1..];
        Runs::Command(&rest[..rest.iter().position(ends).unwrap_or(rest.len())])
    };
    places.map(command).collect()
}

/// The command behind a program of [`BEFORE`].
fn behind<'a>(
    (name, valued, long, between): &(&str, &str, &[&str], usize),
    arguments: &'a [Word],
) -> Option<Runs<'a>> {
    let mut place = 0;
    while let Some(word) = arguments.get(place) {
        let text = &*word.text;
        if *name == "env" && (text == "-S" || text == "--split-string") {
            return arguments.get(place + 1).map(script);
        }
        // It says where a command is, and runs none.
        if *name == "command" && ["-v", "-V"].contains(&text) {
            return None;
        }
        let assigns = *name == "env" && text.contains('=') && !text.starts_with('-');
        if text == "--" {
            place += 1;
            break;
        } else if text.starts_with('-') && text.len() > 1 {
            let last = text.chars().last().unwrap_or_default();
            let takes_next =
                long.contains(&text) || !text.starts_with("--") && valued.contains(last);
            place += if takes_next { 2 } else { 1 };
        } else if assigns {
            place += 1;
        } else {
            break;
        }
    }
    let words = arguments.get(place + between..).filter(|words| !words.is_empty())?;
    match words {
        // `watch` and `parallel` hand one word to a shell.
        [word] if word.text.contains(' ') => Some(script(word)),
        words => Some(Runs::Command(words)),
    }
}
