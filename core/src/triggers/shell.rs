//! Finds the simple commands of a line of shell, at any depth, and its redirections that write to
//! files. The grammar is tree-sitter's Bash grammar, which also reads most syntax that only other
//! shells have. This module does not know what programs do.

use super::{Reason, Why, hidden};
use std::ops::Range;
use tree_sitter::{Node, Parser};

/// A word of a command, as the program gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its text without quotes, up to the first part that only the shell knows.
    pub text: String,
    /// Whether the text is complete.
    pub is_known: bool,
    /// Its range in the line.
    pub range: Range<usize>,
}

/// A program with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simple {
    /// The words; the first names the program.
    pub words: Vec<Word>,
}

/// What a line does, as far as its grammar tells.
#[derive(Debug, Default)]
pub struct Line {
    /// The simple commands, in order, including nested ones.
    pub commands: Vec<Simple>,
    /// The parts because of which the line counts as changing files, whatever its commands do.
    pub reasons: Vec<Reason>,
}

/// How many commands may be nested: parsing takes time quadratic in their number.
const NESTED_MAX: usize = 256;

/// Characters that mean something to a shell, so that a backslash before them has an effect.
const SPECIAL: &str = "\\\"'`$|&;<>()*?[]{}!#~=%";

/// The text with a blank for each backslash that begins a line and only quotes an ordinary character, as in
/// `\rm`, or the end of the line: the grammar takes such a line for more words of the command before it.
/// Offsets stay the same. `None` if a line begins with a backslash before another character.
fn without_backslashes_at_line_starts(text: &str) -> Option<String> {
    let blank_first = |line: &str| {
        let rest = line.trim_start_matches([' ', '\t']);
        let Some(quoted) = rest.strip_prefix('\\') else { return Some(line.to_owned()) };
        let blanks = &line[..line.len() - rest.len()];
        let is_ordinary =
            |character: char| !character.is_whitespace() && !SPECIAL.contains(character);
        match quoted {
            "" | "\n" => Some(" ".repeat(line.len())),
            _ => quoted.starts_with(is_ordinary).then(|| format!("{blanks} {quoted}")),
        }
    };
    text.split_inclusive('\n').map(blank_first).collect()
}

/// Parses a line; `None` if the grammar does not load, if parsing would take too long, or if the grammar would
/// read it wrongly.
pub fn read(text: &str) -> Option<Line> {
    if text.matches("$(").count() > NESTED_MAX {
        return None;
    }
    let text = &without_backslashes_at_line_starts(text)?;
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(text, None)?;
    let mut line = Line::default();
    let mut words_after_redirects: Vec<Word> = Vec::new();
    // A tree may be as deep as its text is long, so it is not walked by recursion.
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        if node.kind() == "command" && !node.is_missing() {
            line.commands.push(Simple { words: words(node, text) });
        }
        let why = match node.kind() {
            _ if node.is_error() || node.is_missing() => Some(Why::Unreadable),
            "file_redirect" => writes(node, text).then_some(Why::Redirect),
            _ => hidden::why(node, text),
        };
        line.reasons.extend(why.map(|why| Reason { why, range: node.byte_range() }));
        if node.kind().ends_with("_redirect") {
            words_after_redirects.extend(words_after(node, text));
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        pending.extend(children.into_iter().rev());
    }
    words_after_redirects.into_iter().for_each(|word| line.add(word));
    Some(line)
}

impl Line {
    /// Adds a word to the command that it follows.
    fn add(&mut self, word: Word) {
        let start = |command: &Simple| command.words.first().map(|first| first.range.start);
        let before = |command: &&mut Simple| start(command).is_some_and(|at| at < word.range.start);
        if let Some(command) =
            self.commands.iter_mut().filter(before).max_by_key(|command| start(command))
        {
            command.words.push(word);
        }
    }
}

/// The words after a redirection, as in `sudo 2>log rm x`: the grammar takes them for parts of it.
fn words_after(redirect: Node<'_>, text: &str) -> Vec<Word> {
    let field = if redirect.kind() == "file_redirect" { "destination" } else { "argument" };
    let destinations = usize::from(redirect.kind() == "file_redirect");
    let mut cursor = redirect.walk();
    let words = redirect.children_by_field_name(field, &mut cursor).skip(destinations);
    words.map(|node| word(node, text)).collect()
}

/// The program and its arguments, without assignments and redirections.
fn words(command: Node<'_>, text: &str) -> Vec<Word> {
    let mut cursor = command.walk();
    let is_word = |node: &Node<'_>| {
        !matches!(node.kind(), "variable_assignment") && !node.kind().ends_with("_redirect")
    };
    let words = command.named_children(&mut cursor).filter(is_word);
    words.map(|node| word(node, text)).collect()
}

fn word(node: Node<'_>, text: &str) -> Word {
    let mut word_text = String::new();
    let is_known = append(node, text, &mut word_text);
    Word { text: word_text, is_known, range: node.byte_range() }
}

/// Appends the known text of a word; returns whether it is complete.
fn append(node: Node<'_>, text: &str, word_text: &mut String) -> bool {
    let source = &text[node.byte_range()];
    match node.kind() {
        "word" | "number" | "special_character" => word_text.push_str(&unescaped(source)),
        "raw_string" => word_text.push_str(source.trim_matches('\'')),
        "ansi_c_string" => {
            word_text.push_str(&ansi(source.trim_start_matches('$').trim_matches('\'')))
        }
        "string_content" => word_text.push_str(&unescaped(source)),
        "command_name" | "concatenation" | "string" | "translated_string" => {
            let mut cursor = node.walk();
            let parts: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
            return parts.into_iter().all(|part| append(part, text, word_text));
        }
        _ => return false,
    }
    true
}

/// Decodes `$'…'`, where backslashes encode characters, so that a name may be written in numbers. The
/// escapes that end a text or only affect its display are not decoded.
fn ansi(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text.chars().peekable();
    while let Some(character) = rest.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        let (radix, most) = match rest.peek() {
            Some('x') => (16, 2),
            Some('u') => (16, 4),
            Some('U') => (16, 8),
            Some('0'..='7') => (8, 3),
            _ => (0, 0),
        };
        if radix == 0 {
            plain.extend(rest.next().map(|letter| if letter == 'n' { '\n' } else { letter }));
            continue;
        }
        if radix == 16 {
            rest.next();
        }
        let mut number = 0;
        for _ in 0..most {
            let Some(digit) = rest.peek().and_then(|digit| digit.to_digit(radix)) else { break };
            number = number * radix + digit;
            rest.next();
        }
        plain.extend(char::from_u32(number).filter(|character| *character != '\0'));
    }
    plain
}

/// The text without its backslashes. Which of them remain in double quotes does not matter for names of
/// programs or options.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('\n') | None => {}
                Some(escaped) => plain.push(escaped),
            },
            character => plain.push(character),
        }
    }
    plain
}

/// Targets of output that are not files of a project.
const NO_FILES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"];

fn writes(redirect: Node<'_>, text: &str) -> bool {
    let mut cursor = redirect.walk();
    let operator = redirect.children(&mut cursor).find(|node| !node.is_named());
    let operator = operator.map_or("", |node| node.kind());
    let target = redirect.child_by_field_name("destination");
    let Some(target) = target.map(|node| (node.kind(), word(node, text))) else {
        // `2>&-` closes a descriptor.
        return false;
    };
    let (kind, Word { text: target, is_known, .. }) = target;
    let is_descriptor = kind == "number" && matches!(operator, ">&" | "<&");
    let is_program = kind == "process_substitution";
    let is_no_file = is_known && (NO_FILES.contains(&&*target) || target.starts_with("/dev/fd/"));
    let only_reads = ["<", "<&", "<&-", ">&-"].contains(&operator);
    !(only_reads || is_descriptor || is_program || is_no_file)
}
