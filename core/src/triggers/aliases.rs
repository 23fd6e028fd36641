//! Names that a line gives to programs itself: `alias ls=rm`, or in zsh `hash ls=/bin/rm`. Not every shell expands
//! them, so a command counts both as it is written and as what its name stands for.

use super::shell::{self, Simple, Word};
use std::collections::HashMap;

/// The names, each with the words that it stands for; `None` if it may be any program.
#[derive(Default)]
pub struct Aliases(HashMap<String, Option<Vec<Word>>>);

impl Aliases {
    /// Adds the names that a command gives. One that is given twice may be any program.
    pub fn add(&mut self, command: &Simple) {
        let is_giver = |program: &Word| ["alias", "hash"].contains(&&*program.text);
        if !command.words.first().is_some_and(is_giver) {
            return;
        }
        for word in &command.words {
            if let Some((name, value)) = word.text.split_once('=') {
                let words = one_command(value).filter(|words| words[0].text == name);
                let words = words.filter(|_| word.is_known && !self.0.contains_key(name));
                self.0.insert(name.to_owned(), words);
            }
        }
    }

    /// Whether the name of a command stands for one that is not harmless.
    pub fn change(&self, command: &Simple, is_harmless: impl Fn(&Simple) -> bool) -> bool {
        let Some((program, arguments)) = command.words.split_first() else { return false };
        let expanded = |words: &Vec<Word>| Simple { words: [words, arguments].concat() };
        let alias = self.0.get(&program.text);
        alias.is_some_and(|words| !words.as_ref().map(expanded).is_some_and(|it| is_harmless(&it)))
    }
}

/// The words of a line that is one simple command, and does nothing besides.
fn one_command(line: &str) -> Option<Vec<Word>> {
    let line = shell::read(line).filter(|line| line.reasons.is_empty())?;
    match <[Simple; 1]>::try_from(line.commands) {
        Ok([command]) if !command.words.is_empty() => Some(command.words),
        _ => None,
    }
}
