//! Programs that run commands from their arguments: `sudo`, `xargs`, `find -exec`, a shell with `-c`.

use super::hidden;
use super::options::{is_option, may_be_option};
use super::readers::{awk_changes_nothing, sed_changes_nothing};
use super::shell::{Simple, Word};
use super::table::name;

/// What a command runs.
#[derive(Debug)]
pub enum Runs<'a> {
    /// These words as a command.
    Command(&'a [Word]),
    /// The text of this word as a line of shell.
    Script(&'a Word),
    /// Something that the word stands for and that is only known when it runs.
    Unknown(&'a Word),
}

/// A program before a command.
struct Wrapper {
    name: &'static str,
    /// The short options that take the next word.
    valued: &'static str,
    /// The long options that take the next word.
    valued_long: &'static [&'static str],
    /// The number of words between the options and the command.
    between: usize,
}

const fn wrapper(
    name: &'static str,
    valued: &'static str,
    valued_long: &'static [&'static str],
    between: usize,
) -> Wrapper {
    Wrapper { name, valued, valued_long, between }
}

/// Programs that run the command after their options.
const WRAPPERS: &[Wrapper] = &[
    wrapper("sudo", "ugpCrtTUDhR", &["--user", "--group", "--chdir", "--prompt", "--host"], 0),
    wrapper("doas", "uC", &[], 0),
    wrapper("env", "uC", &["--unset", "--chdir"], 0),
    wrapper("nice", "n", &["--adjustment"], 0),
    wrapper("ionice", "cnpPu", &["--class", "--classdata"], 0),
    wrapper("nohup", "", &[], 0),
    wrapper("time", "fo", &["--format", "--output"], 0),
    wrapper("timeout", "ks", &["--kill-after", "--signal"], 1),
    wrapper("stdbuf", "ioe", &["--input", "--output", "--error"], 0),
    wrapper("setsid", "", &[], 0),
    wrapper("exec", "a", &[], 0),
    wrapper("command", "", &[], 0),
    wrapper("builtin", "", &[], 0),
    wrapper("xargs", "adEILnPs", &["--arg-file", "--delimiter", "--max-args", "--max-procs"], 0),
    wrapper("parallel", "jINLnPS", &["--jobs", "--colsep"], 0),
    wrapper("watch", "n", &["--interval"], 0),
    wrapper("flock", "wE", &["--timeout"], 1),
    wrapper("chroot", "", &[], 1),
    wrapper("busybox", "", &[], 0),
    wrapper("toybox", "", &[], 0),
    wrapper("strace", "abeIoOpPsSuUX", &[], 0),
    wrapper("unbuffer", "", &[], 0),
    wrapper("chronic", "", &[], 0),
    wrapper("coproc", "", &[], 0),
    wrapper("caffeinate", "tw", &[], 0),
    wrapper("npx", "p", &["--package"], 0),
    wrapper("bunx", "", &[], 0),
    wrapper("uvx", "", &["--from", "--with"], 0),
    wrapper("noglob", "", &[], 0),
    wrapper("nocorrect", "", &[], 0),
];

/// Programs that run the words after one of their commands.
const RUNNERS: &[(&str, &[&str])] = &[
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

/// Interpreters and build tools, whose scripts may do anything. Each with the options with which they
/// only read or filter.
const SCRIPTS: &[(&[&str], &[&str])] = &[
    (&["python", "python2", "python3", "pypy", "pypy3"], &["-V", "-m"]),
    (&["node", "deno", "ts-node", "tsx"], &["-v", "-c", "--check", "check", "lint", "info"]),
    (&["php"], &["-v", "-i", "-l", "-m"]),
    (&["lua", "Rscript", "tclsh", "osascript", "pwsh", "groovy", "julia"], &[]),
    (&["perl"], &["-v"]),
    (&["ruby"], &["-c", "-v"]),
    // The first run parts of their files in order to read them.
    (&["make", "gmake", "rake"], &[]),
    (&["ninja", "just"], &["-n", "--dry-run", "-l", "--list"]),
];
/// Modules of Python that change nothing, or write to standard output.
const HARMLESS_MODULES: &[&str] = &["json.tool", "http.server"];

/// Shells, which run the text after `-c`.
const SHELLS: &[&str] = &["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "su"];

/// Whether a program is known only to run others, so that without any it changes nothing.
pub fn is_runner(program: &Word) -> bool {
    let name = name(program);
    ["fd", "eval", "trap", "source", "."].contains(&name)
        || SHELLS.contains(&name)
        || WRAPPERS.iter().any(|wrapper| wrapper.name == name)
        || SCRIPTS.iter().any(|(names, _)| names.contains(&name))
}

/// What a command runs, besides its own program.
pub fn runs(command: &Simple) -> Vec<Runs<'_>> {
    let Some((program, arguments)) = command.words.split_first() else { return Vec::new() };
    let name = name(program);
    if SHELLS.contains(&name) {
        return shell(program, arguments).into_iter().collect();
    }
    match name {
        "find" | "gfind" => executed(arguments),
        "fd" => executed(arguments).into_iter().chain(attached(arguments)).collect(),
        "eval" => arguments.iter().map(script).collect(),
        // Without a command it only resets or lists.
        "trap" => {
            let command =
                arguments.first().filter(|word| !["-", "-l", "-p"].contains(&&*word.text));
            command.map(script).into_iter().collect()
        }
        "source" | "." => sourced(arguments).into_iter().collect(),
        "awk" | "gawk" | "mawk" | "nawk" => awk(arguments).map(Runs::Unknown).into_iter().collect(),
        "sed" | "gsed" => sed(arguments).map(Runs::Unknown).into_iter().collect(),
        _ => {
            let wrapper = WRAPPERS.iter().find(|wrapper| wrapper.name == name);
            let runner = RUNNERS.iter().find(|(runner, _)| *runner == name);
            let inner = runner.and_then(|(name, commands)| {
                let (command, rest) = arguments.split_first()?;
                let wrapper = Wrapper { name, valued: "", valued_long: &[], between: 0 };
                let is_run = commands.contains(&&*command.text);
                is_run.then(|| wrapped(&wrapper, rest)).flatten()
            });
            let inner = wrapper.and_then(|wrapper| wrapped(wrapper, arguments)).or(inner);
            let command_length = match &inner {
                Some(Runs::Command(words)) => words.len(),
                _ => 0,
            };
            let before = &arguments[..arguments.len() - command_length];
            let assigned = before.iter().filter(|word| name == "env" && assigns_unknown(word));
            let inner = inner.or_else(|| unknown(program, arguments).map(Runs::Unknown));
            assigned.map(Runs::Unknown).chain(inner).collect()
        }
    }
}

/// Whether a word assigns a variable that may make a program run another one.
fn assigns_unknown(word: &Word) -> bool {
    let text = &*word.text;
    text.contains('=') && !text.starts_with('-') && !hidden::is_harmless(text)
}

/// The script that a command runs and whose effect is unknown.
fn unknown<'a>(program: &'a Word, arguments: &'a [Word]) -> Option<&'a Word> {
    const OF_THE_SYSTEM: &[&str] = &["/bin/", "/sbin/", "/usr/", "/opt/"];
    let text = &*program.text;
    let asks_for_help = |word: &Word| ["--help", "--version", "-h"].contains(&&*word.text);
    if arguments.first().is_some_and(asks_for_help) {
        return None;
    }
    let row = SCRIPTS.iter().find(|(names, _)| names.contains(&name(program)));
    let Some((names, harmless)) = row else {
        let is_local =
            text.contains('/') && !OF_THE_SYSTEM.iter().any(|folder| text.starts_with(folder));
        return is_local.then_some(program);
    };
    if let Some(module) =
        arguments.iter().position(|word| word.text == "-m" && names[0] == "python")
    {
        let (module, rest) = arguments.get(module + 1..)?.split_first()?;
        let operands = rest.iter().filter(|word| !word.text.starts_with('-'));
        // A second file is the one that it writes.
        let is_harmless = HARMLESS_MODULES.contains(&&*module.text) && operands.count() <= 1;
        return (!is_harmless).then_some(module);
    }
    let looks = arguments.iter().any(|word| is_option(word, harmless, ""));
    // Without a file, an interpreter reads its script from its input, as in `python3 - <<EOF`.
    (!looks).then(|| arguments.first().unwrap_or(program))
}

/// The options of `awk` with a file of programs.
const AWK_FILES: &[&str] = &["-f", "--file", "-i", "--include", "-l", "--load"];

/// The program that `awk` is given, unless it changes nothing.
fn awk(arguments: &[Word]) -> Option<&Word> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match &*word.text {
            "-F" | "-v" | "--field-separator" | "--assign" => {
                words.next();
            }
            _ if may_be_option(word, AWK_FILES, "Fv") => return Some(word),
            text if text.starts_with('-') => {}
            text => return (!awk_changes_nothing(text) || !word.is_known).then_some(word),
        }
    }
    None
}

/// The first script that `sed` is given and that may change something.
fn sed(arguments: &[Word]) -> Option<&Word> {
    let is_harmless = |word: &Word, script: &str| word.is_known && sed_changes_nothing(script);
    let mut operand = None;
    let mut has_script = false;
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let text = &*word.text;
        let long = text.strip_prefix("--expression");
        let cluster = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        let short = cluster.and_then(|letters| letters.split_once('e')).map(|(_, rest)| rest);
        let is_abbreviated = long.is_none() && may_be_option(word, &["--expression"], "");
        // Whether the word after `-l` is a script depends on the system.
        if is_abbreviated || may_be_option(word, &["-f", "-l", "--file", "--line-length"], "e") {
            return Some(word);
        }
        if let Some(script) = long.map(|rest| rest.trim_start_matches('=')).or(short) {
            has_script = true;
            let given = if script.is_empty() { words.next()? } else { word };
            let script = if script.is_empty() { &given.text } else { script };
            if !is_harmless(given, script) {
                return Some(given);
            }
        } else if !text.starts_with('-') || text == "-" {
            operand = operand.or(Some(word));
        }
    }
    operand.filter(|word| !has_script && !is_harmless(word, &word.text))
}

/// What the shell itself runs from a file: unknown, except for the files that are made to be sourced
/// and only set variables.
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

/// What a shell runs: the text after `-c`, or what it reads from a file or, without one, from its input.
fn shell<'a>(program: &'a Word, arguments: &'a [Word]) -> Option<Runs<'a>> {
    let is_command = |word: &Word| {
        let cluster = word.text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        cluster.is_some_and(|letters| letters.contains('c')) || word.text == "--command"
    };
    if let Some(index) = arguments.iter().position(is_command) {
        return Some(arguments[index + 1..].first().map_or(Runs::Unknown(program), script));
    }
    let runs_nothing = |word: &Word| ["--version", "--help", "-n"].contains(&&*word.text);
    let is_file = |word: &Word| !word.text.starts_with('-');
    let file = arguments.iter().find(|word| is_file(word));
    (!arguments.iter().any(runs_nothing)).then(|| Runs::Unknown(file.unwrap_or(program)))
}

/// The options of `find` and `fd` before a command.
const EXECUTES: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];

/// What `find` runs for each file that it finds.
fn executed(arguments: &[Word]) -> Vec<Runs<'_>> {
    let indexes = arguments.iter().enumerate().filter(|(_, word)| EXECUTES.contains(&&*word.text));
    let ends = |word: &Word| [";", "+"].contains(&&*word.text);
    let command = |(index, _): (usize, &Word)| {
        let rest = &arguments[index + 1..];
        Runs::Command(&rest[..rest.iter().position(ends).unwrap_or(rest.len())])
    };
    indexes.map(command).collect()
}

/// The options of `fd` that contain the command, as in `--exec=rm`.
fn attached(arguments: &[Word]) -> impl Iterator<Item = Runs<'_>> {
    let is_attached = |word: &&Word| {
        may_be_option(word, &["-x", "-X", "--exec", "--exec-batch"], "cdeEjoStT")
            && !EXECUTES.contains(&&*word.text)
    };
    arguments.iter().filter(is_attached).map(Runs::Unknown)
}

/// The command after a wrapper and its options.
fn wrapped<'a>(wrapper: &Wrapper, arguments: &'a [Word]) -> Option<Runs<'a>> {
    let Wrapper { name, valued, valued_long, between } = wrapper;
    let mut index = 0;
    while let Some(word) = arguments.get(index) {
        let text = &*word.text;
        if *name == "env" && (text == "-S" || text == "--split-string") {
            return arguments.get(index + 1).map(script);
        }
        if *name == "env" && may_be_option(word, &["-S", "--split-string"], valued) {
            return Some(Runs::Unknown(word));
        }
        // It prints where a command is, and runs none.
        if *name == "command" && ["-v", "-V"].contains(&text) {
            return None;
        }
        let assigns = *name == "env" && text.contains('=') && !text.starts_with('-');
        if text == "--" {
            index += 1;
            break;
        } else if text.starts_with('-') && text.len() > 1 {
            // The rest of a cluster is the value of the first option that takes one.
            let ends_in_option =
                text.find(|letter| valued.contains(letter)) == Some(text.len() - 1);
            let takes_next =
                valued_long.contains(&text) || !text.starts_with("--") && ends_in_option;
            index += if takes_next { 2 } else { 1 };
        } else if assigns {
            index += 1;
        } else {
            break;
        }
    }
    let words = arguments.get(index + between..).filter(|words| !words.is_empty())?;
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
