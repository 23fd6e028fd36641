//! What a shell completes while a command is typed: verbs and options, checkpoints by number and label, the files of the
//! checkpoint that was typed before, and pages. The script of `herma completions` asks the command each time, so that
//! the answer is never outdated.

use crate::arguments;
use crate::commands::{Answer, Failure, Herma};
use crate::hooked_agents::AGENTS;
use crate::manual;
use crate::text::{Style, ago, line, short_id};
use clap::{Arg, Command};
use clap_complete::CompleteEnv;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::Shells;
use herma_core::{Clock, Environment, Listed, SystemClock};
use serde::Serialize;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The variable by which the script asks.
pub const VARIABLE: &str = "HERMA_COMPLETE";

/// What asks the command in the script for bash.
const BASH_ASKS: &str = "    COMPREPLY=( $(";
/// What makes a value of `--dir=DIR`, which are three words for bash, the word after the option.
const BASH_JOINS: &str = "    local at=$COMP_CWORD
    while ((--at > 0)); do
        if [[ \"${words[at]}\" == = && \"${words[at-1]}\" == --* ]]; then
            unset \"words[at]\"
            ((_CLAP_COMPLETE_INDEX--))
        fi
    done
";
/// The end of the function in the script for bash.
const BASH_END: &str = "        compopt -o nospace\n    fi\n";
/// What bash quotes then, as it does file names: a completed word with other characters than these.
const BASH_QUOTES: &str = "    local word
    for word in \"${COMPREPLY[@]-}\"; do
        if [[ \"$word\" == *[!a-zA-Z0-9_./:=@%+,-]* ]]; then
            compopt -o filenames 2> /dev/null
        fi
    done
";

/// The verbs after `herma rollback`.
pub const VERBS: [&str; 5] = ["diff", "list", "redo", "show", "undo"];

/// The answer of `herma completions` in JSON.
#[derive(Serialize)]
struct Completions<'a> {
    shell: &'a str,
    script: &'a str,
}

/// The script for a shell, in JSON or as it is.
///
/// # Errors
/// The script cannot be written.
pub fn script(shell: clap_complete::Shell, json: bool) -> Result<Answer, Failure> {
    let shell = shell.to_string();
    let mut script = Vec::new();
    if let Some(completer) = Shells::builtins().completer(&shell) {
        completer
            .write_registration(VARIABLE, "herma", "herma", "herma", &mut script)
            .map_err(|error| Failure::answer_not_written(&error))?;
    }
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if shell == "bash" {
        script = script.replace(BASH_ASKS, &[BASH_JOINS, BASH_ASKS].concat());
        script = script.replace(BASH_END, &[BASH_END, BASH_QUOTES].concat());
    }
    let data = Completions { shell: &shell, script: &script };
    Answer::of(json, &data, || script.clone())
}

/// Answers a shell that asks, and returns whether one did. Bash passes words with their quotes.
pub fn answered(words: &[OsString], shell: &OsStr, environment: Option<Environment>) -> bool {
    let words: Vec<OsString> = match shell == "bash" {
        true => words.iter().map(|word| unquoted(word)).collect(),
        false => words.to_vec(),
    };
    let typed = words.iter().skip_while(|word| *word != "--").skip(1).cloned().collect();
    let here = environment.as_ref().map(|environment| environment.current_directory.clone());
    let factory = || match &environment {
        Some(environment) => {
            command(&Typed { words: Vec::clone(&typed), environment: environment.clone() })
        }
        None => arguments::command(),
    };
    let asked = CompleteEnv::with_factory(factory).var(VARIABLE);
    asked.try_complete(words, here.as_deref()).unwrap_or(false)
}

/// A word as it is meant, of which a quotation may still be open.
fn unquoted(word: &OsStr) -> OsString {
    let mut plain = Vec::new();
    let mut open_quote = None;
    let mut bytes = word.as_bytes().iter().copied();
    while let Some(byte) = bytes.next() {
        match (byte, open_quote) {
            (b'\\', None | Some(b'"')) => plain.extend(bytes.next()),
            (b'\'' | b'"', None) => open_quote = Some(byte),
            (_, Some(quote)) if byte == quote => open_quote = None,
            _ => plain.push(byte),
        }
    }
    OsString::from_vec(plain)
}

/// The arguments, each with what completes it.
fn command(typed: &Typed) -> Command {
    arguments::command().mut_subcommands(|subcommand| {
        let name = subcommand.get_name().to_owned();
        subcommand.mut_args(|argument| completed(typed, &name, argument))
    })
}

fn completed(typed: &Typed, subcommand: &str, argument: Arg) -> Arg {
    let typed = typed.clone();
    let candidates = match (subcommand, argument.get_id().as_str()) {
        ("cat" | "pin" | "unpin", "target") | ("show", "_target") => Typed::checkpoint_words,
        ("cat", "file") => Typed::files_of_checkpoint,
        ("log", "file") => Typed::files_of_newest,
        // After `--` the engine still asks for checkpoints.
        ("diff", "targets" | "paths") => Typed::diff_words,
        ("restore", "_words") => Typed::restore_words,
        ("rollback", "_words") => Typed::rollback_words,
        ("man", "page") => Typed::pages,
        ("hook", "agent") => Typed::agents,
        _ => return argument,
    };
    argument.add(ArgValueCompleter::new(move |current: &OsStr| candidates(&typed, current)))
}

/// The words that were typed so far, and where.
#[derive(Clone)]
struct Typed {
    words: Vec<OsString>,
    environment: Environment,
}

impl Typed {
    fn herma(&self) -> Option<Herma> {
        Herma::new(self.environment.clone(), false, Style::default()).ok()
    }

    /// The words after the subcommand that are no options.
    fn operands(&self) -> Vec<&OsString> {
        let is_operand =
            |pair: &&[OsString]| pair[0] != "--dir" && !pair[1].as_bytes().starts_with(b"-");
        self.words.windows(2).filter(is_operand).skip(1).map(|pair| &pair[1]).collect()
    }

    /// The project that was named, or else that of the current directory.
    fn project(&self, herma: &Herma) -> PathBuf {
        let separate = self.words.windows(2).find(|pair| pair[0] == "--dir");
        let separate = separate.map(|pair| pair[1].as_bytes());
        let mut words = self.words.iter().map(|word| word.as_bytes());
        let joined = words.find_map(|word| word.strip_prefix(b"--dir="));
        herma.project(joined.or(separate).map(|dir| Path::new(OsStr::from_bytes(dir))))
    }

    /// The agents that have hooks.
    fn agents(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let names = AGENTS.iter().map(|agent| CompletionCandidate::new(agent.name));
        beginning_with(current, names.collect())
    }

    /// What may follow `herma man`.
    fn pages(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        beginning_with(current, manual::names().into_iter().map(CompletionCandidate::new).collect())
    }

    /// The files of the newest checkpoint.
    fn files_of_newest(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        self.files(OsStr::new("1"), current)
    }

    /// Checkpoints alone.
    fn checkpoint_words(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        beginning_with(current, self.checkpoints(current))
    }

    /// What may follow `herma diff`: checkpoints, and after `--` files of the first of them.
    fn diff_words(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let Some(end) = self.words.iter().position(|word| word == "--") else {
            return self.checkpoint_words(current);
        };
        let words = self.words[..end].to_vec();
        let typed = Typed { words, environment: self.environment.clone() };
        let target = typed.operands().first().copied();
        self.files(target.map_or(OsStr::new("1"), OsString::as_os_str), current)
    }

    /// Every checkpoint by its number, and by its label if it has one; once another word than a number was begun, also
    /// by its id.
    fn checkpoints(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let Some(herma) = self.herma() else { return Vec::new() };
        let listed = herma.manager.list(&self.project(&herma)).unwrap_or_default();
        let is_number = listed.iter().any(|listed| *listed.name.to_string() == *current);
        let has_ids = !current.is_empty() && !is_number;
        let digits = current.len();
        let now = SystemClock.seconds();
        let names = |(order, Listed { id, name, label, time, reason, .. }): (usize, Listed)| {
            let help = format!("{}, {}", ago(time, now), line(reason));
            let short = short_id(&id);
            let id =
                has_ids.then(|| if digits > short.len() { id.clone() } else { short.to_owned() });
            let names = [Some(name.to_string()), label, id].into_iter().flatten();
            let candidate =
                |name: String| CompletionCandidate::new(name).help(Some(help.clone().into()));
            names.map(candidate).map(|named| named.display_order(Some(order))).collect::<Vec<_>>()
        };
        listed.into_iter().enumerate().flat_map(names).collect()
    }

    /// The files of a checkpoint that begin with `current`, up to the next folder; named from the current directory,
    /// or else from the project.
    fn files(&self, target: &OsStr, current: &OsStr) -> Vec<CompletionCandidate> {
        let Some(herma) = self.herma() else { return Vec::new() };
        let project = self.project(&herma);
        let here = self.environment.current_directory.strip_prefix(&project);
        let folder = here.unwrap_or(Path::new(""));
        let paths = herma.manager.stored_paths(&project, target.as_bytes()).unwrap_or_default();
        let named = paths.iter().filter_map(|path| {
            let named = Path::new(OsStr::from_bytes(path)).strip_prefix(folder).ok()?;
            let rest = named.as_os_str().as_bytes().strip_prefix(current.as_bytes())?;
            let end =
                rest.iter().position(|byte| *byte == b'/').map_or(rest.len(), |slash| slash + 1);
            Some([current.as_bytes(), &rest[..end]].concat())
        });
        let named: BTreeSet<Vec<u8>> = named.collect();
        named.iter().map(|name| CompletionCandidate::new(OsStr::from_bytes(name))).collect()
    }

    /// What may follow `herma rollback`.
    fn rollback_words(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let found = match self.operands()[..] {
            [] | [_] => {
                let verbs = VERBS.iter().map(CompletionCandidate::new);
                self.checkpoints(current).into_iter().chain(verbs).collect()
            }
            [verb, _] if VERBS.iter().any(|known| verb == known) => self.checkpoints(current),
            _ => return self.files_of_checkpoint(current),
        };
        beginning_with(current, found)
    }

    /// What may follow `herma restore`: a checkpoint, and then its files.
    fn restore_words(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        match self.operands()[..] {
            [] | [_] => self.checkpoint_words(current),
            _ => self.files_of_checkpoint(current),
        }
    }

    /// The files of the checkpoint that is the first operand, as they are named from the current directory.
    fn files_of_checkpoint(&self, current: &OsStr) -> Vec<CompletionCandidate> {
        let target = self.operands().first().copied();
        target.map(|target| self.files(target, current)).unwrap_or_default()
    }
}

/// The candidates that begin with the word that was begun.
fn beginning_with(
    current: &OsStr,
    mut found: Vec<CompletionCandidate>,
) -> Vec<CompletionCandidate> {
    found.retain(|candidate| candidate.get_value().as_bytes().starts_with(current.as_bytes()));
    found
}
