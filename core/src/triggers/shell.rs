//! The simple commands of a line of shell, wherever they stand in it, and the files it writes by
//! redirection. The grammar is that of tree-sitter's Bash, which also reads most of what only other shells
//! have. What a program does is not known here.

use std::ops::Range;
use tree_sitter::{Node, Parser};

/// A word of a command, as the program gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its text without quotes, up to the first part that only the shell knows.
    pub text: String,
    /// Whether that is all of it.
    pub is_known: bool,
    /// Where it stands in the line.
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
    /// The simple commands, in their order, also those within others.
    pub commands: Vec<Simple>,
    /// Redirections that write to a file.
    pub writes: Vec<Range<usize>>,
    /// What could not be read.
    pub unreadable: Vec<Range<usize>>,
}

/// How many commands may stand within others: reading takes their number squared.
const NESTED_MAX: usize = 256;

/// Reads a line; nothing if the grammar does not load, or where it would take too long.
pub fn read(text: &str) -> Option<Line> {
    if text.matches("$(").count() > NESTED_MAX {
        return None;
    }
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
    let tree = parser.parse(text, None)?;
    let mut line = Line::default();
    let mut later: Vec<Word> = Vec::new();
    // A tree may be as deep as its text is long, so it is not walked by recursion.
    let mut pending = vec![tree.root_node()];
    while let Some(node) = pending.pop() {
        match node.kind() {
            _ if node.is_error() || node.is_missing() => line.unreadable.push(node.byte_range()),
            "command" => line.commands.push(Simple { words: words(node, text) }),
            "file_redirect" if writes(node, text) => line.writes.push(node.byte_range()),
            _ => {}
        }
        if node.kind().ends_with("_redirect") {
            later.extend(behind(node, text));
        }
        let mut cursor = node.walk();
        let within: Vec<Node<'_>> = node.children(&mut cursor).collect();
        pending.extend(within.into_iter().rev());
    }
    later.into_iter().for_each(|word| line.add(word));
    Some(line)
}

impl Line {
    /// Adds a word to the command that it stands behind.
    fn add(&mut self, word: Word) {
        let start = |command: &Simple| command.words.first().map(|first| first.range.start);
        let before = |command: &&mut Simple| start(command).is_some_and(|at| at < word.range.start);
        if let Some(command) = self.commands.iter_mut().filter(before).max_by_key(|one| start(one))
        {
            command.words.push(word);
        }
    }
}

/// The words behind a redirection, as in `sudo 2>log rm x`: the grammar takes them for parts of it.
fn behind(redirect: Node<'_>, text: &str) -> Vec<Word> {
    let field = if redirect.kind() == "file_redirect" { "destination" } else { "argument" };
    let own = usize::from(redirect.kind() == "file_redirect");
    let mut cursor = redirect.walk();
    let words = redirect.children_by_field_name(field, &mut cursor).skip(own);
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
    let mut known = String::new();
    let is_known = append(node, text, &mut known);
    Word { text: known, is_known, range: node.byte_range() }
}

/// Appends what is known of a word; whether that is all of it.
fn append(node: Node<'_>, text: &str, known: &mut String) -> bool {
    let own = &text[node.byte_range()];
    match node.kind() {
        "word" | "number" | "special_character" => known.push_str(&unescaped(own)),
        "raw_string" => known.push_str(own.trim_matches('\'')),
        "ansi_c_string" => known.push_str(&ansi(own.trim_start_matches('$').trim_matches('\''))),
        "string_content" => known.push_str(&unescaped(own)),
        "command_name" | "concatenation" | "string" | "translated_string" => {
            let mut cursor = node.walk();
            let parts: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
            return parts.into_iter().all(|part| append(part, text, known));
        }
        _ => return false,
    }
    true
}

/// The text of `$'…'`, whose backslashes make characters, so that a name may be written in numbers. Those
/// that end a text or only show are left out.
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

/// The text without its backslashes. Which of them stay in double quotes matters for no name of a program
/// or an option.
fn unescaped(text: &str) -> String {
    let mut plain = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('\n') | None => {}
                Some(other) => plain.push(other),
            },
            other => plain.push(other),
        }
    }
    plain
}

/// Where output may go without a file of a project being changed.
const NO_FILES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/zero"];

fn writes(redirect: Node<'_>, text: &str) -> bool {
    let mut cursor = redirect.walk();
    let operator = redirect.children(&mut cursor).find(|node| !node.is_named());
    let operator = operator.map_or("", |node| node.kind());
    let target = redirect.child_by_field_name("destination");
    let Some(target) = target.map(|node| (node.kind(), word(node, text))) else {
        // `2>&-` closes.
        return false;
    };
    let (kind, Word { text: target, is_known, .. }) = target;
    let is_descriptor = kind == "number" && matches!(operator, ">&" | "<&");
    let is_program = kind == "process_substitution";
    let is_no_file = is_known && (NO_FILES.contains(&&*target) || target.starts_with("/dev/fd/"));
    let only_reads = ["<", "<&", "<&-", ">&-"].contains(&operator);
    !(only_reads || is_descriptor || is_program || is_no_file)
}
