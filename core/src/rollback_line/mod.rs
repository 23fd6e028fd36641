//! Parses the arguments of a rollback: one grammar for the command, for the line `/rollback …` in a
//! session, and for the fuzz target.
//!
//! This module only parses: whether the checkpoint or file exists is decided by [`crate::Manager`].
//! `words` splits a line into words.

mod words;

pub use words::{Line, Word, quoted};

use crate::manager::RestoreOptions;
use crate::report::ListName;
use crate::store::rollbacks::Direction;
use crate::token::Token;
use std::ops::Range;

/// The forms of the command, one per line.
pub const USAGE: &str = "\
rollback [--dir DIR]
rollback diff N [--dir DIR]
rollback show N [--dir DIR]
rollback N [PATH...] [--exact] [--force] [--dry-run] [--as-previewed TOKEN] [--dir DIR]
rollback --to WHEN [PATH...] [--exact] [--force] [--dry-run] [--dir DIR]
rollback undo [--force] [--dry-run] [--as-previewed TOKEN] [--dir DIR]
rollback redo [--force] [--dry-run] [--as-previewed TOKEN] [--dir DIR]";

/// The requested task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// The list of the checkpoints.
    List,
    /// What changed since a checkpoint.
    Diff {
        /// Its number or id.
        target: Vec<u8>,
    },
    /// What a checkpoint carries besides its files.
    Show {
        /// Its number, label or id.
        target: Vec<u8>,
    },
    /// Restores a checkpoint, or reports what that would do.
    Restore {
        /// Its number, label or id, or `@` and an age or a time.
        target: Vec<u8>,
        /// The files and folders to restore; none for all of them.
        paths: Vec<Vec<u8>>,
        /// How far the restore goes.
        options: RestoreOptions,
        /// Whether only to report what the restore would do.
        dry_run: bool,
        /// The token of a preview: only what that showed may happen.
        token: Option<Token>,
    },
}

/// A parsed command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsedRollback {
    /// The requested task.
    pub task: Task,
    /// The project's directory, if one is named.
    pub dir: Option<Vec<u8>>,
    /// Whether the answer is to be JSON, for a program.
    pub json: bool,
    /// Whether only the usage is requested.
    pub help: bool,
}

/// Why a command is invalid or ambiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// What is wrong, and what can be typed instead.
    pub message: String,
    /// The bytes of the line that the message is about; empty, at its end, where something is missing.
    pub at: Range<usize>,
}

impl SyntaxError {
    /// The error with that message about these bytes.
    pub fn new(message: impl Into<String>, at: Range<usize>) -> Self {
        SyntaxError { message: message.into(), at }
    }
}

/// Parses the words after `rollback`.
///
/// # Errors
/// What is wrong, and with which word.
///
/// ```
/// use herma_core::rollback_line::{Line, Task, read};
///
/// let line = Line::split("1 'my file.txt' --dry-run".as_bytes()).unwrap();
/// let Task::Restore { paths, dry_run, .. } = read(&line).unwrap().task else { panic!() };
/// assert_eq!((paths, dry_run), (vec![b"my file.txt".to_vec()], true));
///
/// let line = Line::split(b"1 --exactly").unwrap();
/// let misread = read(&line).unwrap_err();
/// assert_eq!(&line.text[misread.at], b"--exactly");
/// ```
pub fn read(line: &Line) -> Result<ParsedRollback, SyntaxError> {
    let Sorted { words, literal, options } = Sorted::of(line)?;
    if options.help {
        // Whatever else was typed: a user who requests help may not know the grammar.
        return Ok(options.with(Task::List));
    }
    if let (Some(_), Some(verb)) = (&options.to, words.first().filter(|word| word.is_verb())) {
        let name = shown_name(&verb.bytes);
        return Err(verb.misread(&format!(
            "{name} takes no --to, which is only for a restore (a file of that name comes after --: -- {name})"
        )));
    }
    let is_list = matches!(words[..], [word] if word.bytes == b"list") && literal.is_empty();
    let is_show = words.first().is_some_and(|word| word.bytes == b"show");
    let is_diff = words.first().is_some_and(|word| word.bytes == b"diff");
    let named: Vec<&Word> = words.iter().chain(&literal).copied().collect();
    let task = match (&options.to, is_diff, named.as_slice()) {
        (.., [_, target]) if is_show => Task::Show { target: target.bytes.clone() },
        (Some(_), _, [word, ..]) if ListName::parse(&word.bytes).is_some() => {
            let file = quoted(&word.bytes);
            return Err(word.misread(&format!(
                "--to stands instead of a checkpoint: leave one of them out (a file of that name is ./{file})"
            )));
        }
        (Some(when), _, paths) => options.restore([b"@", &when[..]].concat(), paths),
        _ if is_list => Task::List,
        (None, _, []) => Task::List,
        (None, true, [_]) => {
            return Err(line.lacks("diff needs a checkpoint, by its number, label or id: diff 1"));
        }
        (None, true, [_, target]) => Task::Diff { target: target.bytes.clone() },
        (None, true, [_, _, extra, ..]) => return Err(extra.misread("diff takes one checkpoint")),
        (None, false, [show]) if show.bytes == b"show" && literal.is_empty() => {
            return Err(line.lacks("show needs a checkpoint, by its number, label or id: show 1"));
        }
        (None, false, [show, _, extra, ..]) if show.bytes == b"show" => {
            return Err(extra.misread("show takes one checkpoint"));
        }
        (None, false, [list, extra, ..]) if list.bytes == b"list" => {
            return Err(
                extra.misread("list takes no path: herma log shows the checkpoints of a file")
            );
        }
        // After `--` it is a file name like any other.
        (None, false, [target, file]) if file.bytes == b"diff" && literal.is_empty() => {
            let number = quoted(&target.bytes);
            return Err(file.misread(&format!(
                "this is ambiguous: \"diff {number}\" shows what changed since checkpoint {number}, \
                 and \"{number} ./diff\" restores the file named diff"
            )));
        }
        (None, false, [target, path, ..]) if Direction::parse(&target.bytes).is_some() => {
            if ListName::parse(&path.bytes).is_some() {
                let verb = quoted(&target.bytes);
                let number = quoted(&path.bytes);
                return Err(path.misread(&format!(
                    "{verb} takes no number: herma rollback {number} restores that checkpoint"
                )));
            }
            return Err(path.misread("this takes no path: it is about all of a rollback"));
        }
        (None, false, [target, paths @ ..]) => options.restore(target.bytes.clone(), paths),
    };
    options.fit(&task)?;
    Ok(options.with(task))
}

/// The typed options, each with its range in the line.
#[derive(Default)]
struct Options {
    exact: Option<Range<usize>>,
    force: Option<Range<usize>>,
    dry_run: Option<Range<usize>>,
    token: Option<(Range<usize>, Token)>,
    to: Option<Vec<u8>>,
    dir: Option<Vec<u8>>,
    json: bool,
    help: bool,
}

const NAMES: [&str; 8] =
    ["--exact", "--force", "--dry-run", "--as-previewed", "--to", "--dir", "--json", "--help"];

impl Options {
    /// The command with this task.
    fn with(self, task: Task) -> ParsedRollback {
        ParsedRollback { task, dir: self.dir, json: self.json, help: self.help }
    }

    /// The restore with these options.
    fn restore(&self, target: Vec<u8>, paths: &[&Word]) -> Task {
        Task::Restore {
            target,
            paths: paths.iter().map(|path| path.bytes.clone()).collect(),
            options: RestoreOptions { exact: self.exact.is_some(), force: self.force.is_some() },
            dry_run: self.dry_run.is_some(),
            token: self.token.as_ref().map(|(_, token)| *token),
        }
    }

    /// Checks that the options are valid for the task.
    fn fit(&self, task: &Task) -> Result<(), SyntaxError> {
        let token = self.token.as_ref().map(|(at, _)| at);
        let misfits: &[(Option<&Range<usize>>, &str)] = match task {
            Task::Restore { target, .. } => &[
                (
                    self.exact.as_ref().filter(|_| Direction::parse(target).is_some()),
                    "--exact is not for this: what the rollback brought goes, and nothing else",
                ),
                (
                    token.filter(|_| self.dry_run.is_some()),
                    "--dry-run and --as-previewed cannot be combined: leave one of them out",
                ),
            ],
            Task::List | Task::Diff { .. } | Task::Show { .. } => &[
                (
                    self.exact.as_ref().or(self.force.as_ref()),
                    "--exact and --force are only for a restore: rollback N --exact",
                ),
                (self.dry_run.as_ref(), "--dry-run is only for a restore: rollback N --dry-run"),
                (token, "--as-previewed is only for a restore: rollback N --as-previewed TOKEN"),
            ],
        };
        let misfit = misfits.iter().find_map(|(at, message)| Some(((*at)?, *message)));
        misfit.map_or(Ok(()), |(at, message)| Err(SyntaxError::new(message, at.clone())))
    }

    /// Parses a word that begins with a dash, and takes its value from the words that follow.
    fn take<'a>(
        &mut self,
        line: &Line,
        word: &Word,
        rest: &mut impl Iterator<Item = &'a Word>,
    ) -> Result<(), SyntaxError> {
        let equals = word.bytes.iter().position(|byte| *byte == b'=');
        let (name, value) = match equals {
            Some(at) => (&word.bytes[..at], word.bytes.get(at + 1..)),
            None => (&word.bytes[..], None),
        };
        let mut needed = |expected: &str| match value {
            Some(value) => Ok((word.range.clone(), value.to_vec())),
            None => match rest.next() {
                Some(next) => Ok((next.range.clone(), next.bytes.clone())),
                None => Err(line.lacks(&format!("{} needs {expected}", quoted(&word.bytes)))),
            },
        };
        let at = word.range.clone();
        match (name, value) {
            (b"--dir", _) if self.dir.is_some() => return Err(word.misread("--dir is given twice")),
            (b"--dir", _) => self.dir = Some(needed("a directory")?.1),
            (b"--as-previewed", _) if self.token.is_some() => {
                return Err(word.misread("--as-previewed is given twice"));
            }
            (b"--as-previewed", _) => {
                let (at, typed) = needed("the token that a preview showed")?;
                let token = std::str::from_utf8(&typed).ok().and_then(|text| text.parse().ok());
                let message =
                    "this is not the token of a preview, which has 16 digits: --dry-run prints one";
                self.token = match token {
                    Some(token) => Some((at, token)),
                    None => return Err(SyntaxError::new(message, at)),
                };
            }
            (b"--to", _) if self.to.is_some() => return Err(word.misread("--to is given twice")),
            (b"--to", _) => {
                self.to = Some(needed("an age or a time instead of a checkpoint: --to 10m")?.1)
            }
            (b"--exact", None) => self.exact = Some(at),
            (b"--force", None) => self.force = Some(at),
            (b"--dry-run", None) => self.dry_run = Some(at),
            (b"--json", None) => self.json = true,
            (b"--help" | b"-h", None) => self.help = true,
            (b"--exact" | b"--force" | b"--dry-run" | b"--json" | b"--help", Some(_)) => {
                return Err(word.misread(&format!("{} takes no value", shown_name(name))));
            }
            _ => return Err(unknown(line, word, name)),
        }
        Ok(())
    }
}

fn unknown(line: &Line, word: &Word, name: &[u8]) -> SyntaxError {
    let typed = shown_name(name);
    let hint = nearest(&NAMES, &typed);
    let hint = hint.map(|nearest| format!(": did you mean {nearest}?")).unwrap_or_default();
    let takes_no_file = line.words.first().is_some_and(|first| first.bytes == b"list");
    let after = match takes_no_file {
        true => "",
        false => " (put -- before a file name that begins with a dash)",
    };
    word.misread(&format!("there is no option {typed}{hint}{after}"))
}

/// The name that a misspelt or shortened word stands for, if one is near enough.
pub fn nearest<'a>(names: &[&'a str], typed: &str) -> Option<&'a str> {
    let likeness = |name: &str| match name.starts_with(typed) && typed.len() > 2 {
        true => 1.0,
        false => strsim::jaro(name, typed),
    };
    let likest = names.iter().max_by(|left, right| likeness(left).total_cmp(&likeness(right)));
    likest.copied().filter(|name| likeness(name) > 0.8)
}

/// The words of a line, sorted into operands and options.
struct Sorted<'a> {
    words: Vec<&'a Word>,
    /// The words after `--`, which are names whatever they look like.
    literal: Vec<&'a Word>,
    options: Options,
}

impl<'a> Sorted<'a> {
    fn of(line: &'a Line) -> Result<Self, SyntaxError> {
        let mut sorted =
            Sorted { words: Vec::new(), literal: Vec::new(), options: Options::default() };
        let mut rest = line.words.iter();
        while let Some(word) = rest.next() {
            if word.bytes == b"--" {
                sorted.literal.extend(rest.by_ref());
            } else if word.bytes.starts_with(b"-") && word.bytes != b"-" {
                sorted.options.take(line, word, &mut rest)?;
            } else {
                sorted.words.push(word);
            }
        }
        Ok(sorted)
    }
}

impl Line {
    /// The error for something that is missing at the end of the line.
    fn lacks(&self, message: &str) -> SyntaxError {
        SyntaxError::new(message, self.text.len()..self.text.len())
    }
}

impl Word {
    /// Whether it stands for a task rather than a checkpoint.
    fn is_verb(&self) -> bool {
        matches!(&self.bytes[..], b"diff" | b"list" | b"redo" | b"show" | b"undo")
    }

    fn misread(&self, message: &str) -> SyntaxError {
        SyntaxError::new(message, self.range.clone())
    }
}

fn shown_name(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests;
