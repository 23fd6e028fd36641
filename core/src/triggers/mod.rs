//! Decides whether a command line changes files, so that a checkpoint should be taken before it runs.
//!
//! The line is read as a shell reads it: `shell` finds the simple commands in it, `wrappers` the commands
//! that those run in turn, `hidden` what may run besides, `aliases` the names that the line gives to programs, and
//! `table` knows what each program does. Nothing is run and no file is read.
//! Where a part is unknown, such as a script, a program that no table names or one named by a variable, the
//! command counts as changing files: an unneeded checkpoint costs little, since there is at most one per turn,
//! and a missing one costs files.

mod aliases;
mod git;
mod hidden;
mod options;
pub mod patch;
mod readers;
mod risk;
mod shell;
mod table;
mod wrappers;

pub use risk::risk;

use aliases::Aliases;
use serde::Serialize;
use shell::Simple;
use std::fmt;
use std::ops::Range;
use table::FileEffect;
use wrappers::Runs;

/// How deep commands may be nested in the words of others, as in `sh -c "sh -c '…'"`.
const DEPTH_MAX: usize = 8;

/// Why a command line counts as changing files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The program changes files.
    Program,
    /// The program changes files with these options.
    Options,
    /// Git changes files of the working tree with this command, or a hook of the repository may.
    Git,
    /// Output is redirected to a file.
    Redirect,
    /// Which program runs is only known when it runs.
    UnknownProgram,
    /// What the program does to files is not known.
    UnknownEffect,
    /// The script of a shell or an interpreter is only known when it runs.
    UnknownScript,
    /// It cannot be read as a command of a shell.
    Unreadable,
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Why::Program => "this program changes files",
            Why::Options => "this option or subcommand changes files",
            Why::Git => "this git command can change files",
            Why::Redirect => "output goes to a file",
            Why::UnknownProgram => "which program runs is not known in advance",
            Why::UnknownEffect => "this is not known to leave files alone",
            Why::UnknownScript => "what this runs is not known in advance",
            Why::Unreadable => "this is not a valid shell command",
        })
    }
}

/// A part of a command line because of which the line counts as changing files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// Why.
    pub why: Why,
    /// The bytes of that part in the command line.
    pub range: Range<usize>,
}

/// Every part of a command line because of which it counts as changing files, in order; empty if the
/// line is harmless, as far as its words tell.
///
/// Source: rules `turn/triggers`, `turn/shell-words` and `turn/safe-side`.
///
/// ```
/// use herma_core::triggers::{Why, reasons};
///
/// let found = reasons("ls | xargs /bin/rm");
/// assert_eq!(found[0].why, Why::Program);
/// assert_eq!(&"ls | xargs /bin/rm"[found[0].range.clone()], "/bin/rm");
/// assert!(reasons("echo 'rm a -> b' 2>&1").is_empty());
/// ```
// rule: turn/shell-words
pub fn reasons(command: &str) -> Vec<Reason> {
    let mut search = Search::default();
    search.search_line(command, 0);
    let mut found = search.found;
    found.sort_by_key(|reason| (reason.range.start, reason.why));
    found.dedup();
    found
}

/// Calls `visit` with every simple command of a line of shell, also those that others run in turn.
fn each_command(text: &str, visit: &mut dyn FnMut(&Simple)) {
    let mut pending = vec![(text.to_owned(), 0)];
    while let Some((text, depth)) = pending.pop() {
        let mut commands: Vec<Simple> =
            shell::read(&text).map_or_else(Vec::new, |line| line.commands);
        while let Some(command) = commands.pop() {
            visit(&command);
            for inner in wrappers::runs(&command).into_iter().filter(|_| depth < DEPTH_MAX) {
                match inner {
                    Runs::Unknown(_) => {}
                    Runs::Command(words) => commands.push(Simple { words: words.to_vec() }),
                    Runs::Script(word) => pending.push((word.text.clone(), depth + 1)),
                }
            }
        }
    }
}

/// Whether a command is known to change no files.
fn is_harmless(command: &Simple) -> bool {
    let mut search = Search::default();
    search.search_command(command, 0);
    search.found.is_empty()
}

#[derive(Default)]
struct Search {
    /// The word of the outermost line whose script is searched: offsets in the script are not offsets in the
    /// line.
    outer_word: Option<Range<usize>>,
    /// The names that the line gave to programs so far.
    aliases: Aliases,
    found: Vec<Reason>,
}

impl Search {
    fn add(&mut self, why: Why, range: &Range<usize>) {
        let range = self.outer_word.as_ref().unwrap_or(range).clone();
        self.found.push(Reason { why, range });
    }

    fn search_line(&mut self, text: &str, depth: usize) {
        let Some(line) = shell::read(text) else {
            return self.add(Why::Unreadable, &(0..text.len()));
        };
        line.reasons.iter().for_each(|Reason { why, range }| self.add(*why, range));
        line.commands.iter().for_each(|command| self.search_command(command, depth));
    }

    fn search_command(&mut self, command: &Simple, depth: usize) {
        let Some(program) = command.words.first() else { return };
        if !program.is_known {
            return self.add(Why::UnknownProgram, &program.range);
        }
        if self.aliases.change(command, is_harmless) {
            self.add(Why::UnknownProgram, &program.range);
        }
        self.aliases.add(command);
        let inner_commands = wrappers::runs(command);
        match table::effect(command) {
            FileEffect::Changes(why, word) => self.add(why, &word.range),
            // rule: turn/safe-side: decides
            FileEffect::Unknown if inner_commands.is_empty() && !wrappers::is_runner(program) => {
                self.add(Why::UnknownEffect, &program.range);
            }
            FileEffect::Unknown | FileEffect::Nothing => {}
        }
        for inner in inner_commands {
            match inner {
                Runs::Unknown(word) => self.add(Why::UnknownScript, &word.range),
                _ if depth == DEPTH_MAX => self.add(Why::UnknownScript, &program.range),
                Runs::Command(words) => {
                    self.search_command(&Simple { words: words.to_vec() }, depth + 1)
                }
                Runs::Script(word) => {
                    let is_outermost = self.outer_word.is_none();
                    self.outer_word.get_or_insert(word.range.clone());
                    self.search_line(&word.text, depth + 1);
                    if is_outermost {
                        self.outer_word = None;
                    }
                }
            }
        }
    }
}
