//! Programs that run what their arguments name: `sudo`, `xargs`, `find -exec`, a shell with `-c`.

use super::shell::{Simple, Word};
use super::table::{is_option, name};

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
    ("npx", "p", &["--package"], 0),
    ("bunx", "", &[], 0),
    ("uvx", "", &["--from", "--with"], 0),
    ("noglob", "", &[], 0),
    ("nocorrect", "", &[], 0),
];

/// Programs that run what is behind one of their commands.
const BEHIND_A_COMMAND: &[(&str, &[&str])] = &[
    ("npm", &["exec", "x"]),
    ("pnpm", &["exec", "dlx"]),
    ("yarn", &["exec", "dlx"]),
    ("bun", &["x"]),
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pipx", &["run"]),
    ("pipenv", &["run"]),
    ("bundle", &["exec"]),
];

/// Interpreters and what builds by a file of rules: nobody knows what their scripts do. Each with the
/// options with which they only look or filter.
const SCRIPTS: &[(&[&str], &[&str])] = &[
    (&["python", "python2", "python3", "pypy", "pypy3"], &["-V", "-m"]),
    (&["node", "deno", "bun", "ts-node", "tsx"], &["-v", "-c", "--check", "x", "test", "check"]),
    (&["php"], &["-v", "-i", "-l", "-m"]),
    (&["lua", "Rscript", "tclsh", "osascript", "pwsh", "groovy", "julia"], &[]),
    // What stands on the command line of these mostly filters.
    (&["perl", "ruby"], &["-e", "-E", "-n", "-p", "-c", "-v"]),
    (
        &["make", "gmake", "ninja", "just", "rake"],
        &["-n", "--dry-run", "--just-print", "-q", "-l", "--list"],
    ),
];
/// Modules of Python that change nothing, or write to standard output.
const LOOKING: &[&str] = &["pytest", "unittest", "doctest", "json.tool", "http.server", "timeit"];

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
        "source" | "." => sourced(arguments).into_iter().collect(),
        _ => {
            let before = BEFORE.iter().find(|(known, ..)| *known == name);
            let inner = BEHIND_A_COMMAND.iter().find(|(known, _)| *known == name);
            let inner = inner.and_then(|(name, commands)| {
                let (command, rest) = arguments.split_first()?;
                let is_one = commands.contains(&&*command.text);
                is_one.then(|| behind(&(name, "", &[], 0), rest)).flatten()
            });
            let inner = before.and_then(|row| behind(row, arguments)).or(inner);
            inner.or_else(|| unknown(program, arguments).map(Runs::Unknown)).into_iter().collect()
        }
    }
}

/// The script that a command runs, of which nobody knows what it does.
fn unknown<'a>(program: &'a Word, arguments: &'a [Word]) -> Option<&'a Word> {
    const OF_THE_SYSTEM: &[&str] = &["/bin/", "/sbin/", "/usr/", "/opt/"];
    let text = &*program.text;
    let asks = |word: &Word| ["--help", "--version", "-h"].contains(&&*word.text);
    if arguments.first().is_some_and(asks) {
        return None;
    }
    let row = SCRIPTS.iter().find(|(names, _)| names.contains(&name(program)));
    let Some((names, harmless)) = row else {
        let is_local = text.contains('/') && !OF_THE_SYSTEM.iter().any(|one| text.starts_with(one));
        return is_local.then_some(program);
    };
    if let Some(module) =
        arguments.iter().position(|word| word.text == "-m" && names[0] == "python")
    {
        let module = arguments.get(module + 1)?;
        return (!LOOKING.contains(&&*module.text)).then_some(module);
    }
    let looks = arguments.iter().any(|word| is_option(word, harmless, ""));
    let is_given = !arguments.is_empty() || names[0] == "make";
    (is_given && !looks).then(|| arguments.first().unwrap_or(program))
}

/// What the shell itself runs from a file: what cannot be known, but for the files that are there to
/// be sourced and only set variables.
fn sourced(arguments: &[Word]) -> Option<Runs<'_>> {
    const ONLY_SET: &[&str] = &[
        "activate",
        "activate.csh",
        "activate.fish",
        ".bash_profile",
        ".bashrc",
        ".profile",
        ".zshrc",
        ".env",
        "env",
        "nvm.sh",
    ];
    let file = arguments.iter().find(|word| !word.text.starts_with('-'))?;
    let name = file.text.rsplit('/').next().unwrap_or_default();
    (!ONLY_SET.contains(&name)).then_some(Runs::Unknown(file))
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
    let file = arguments.iter().find(|word| is_file(word));
    (!arguments.iter().any(asks)).then(|| Runs::Unknown(file.unwrap_or(program)))
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
        [word] | [word, ..]
            if word.text.contains(' ') && (words.len() == 1 || *name == "parallel") =>
        {
            Some(script(word))
        }
        words => Some(Runs::Command(words)),
    }
}
