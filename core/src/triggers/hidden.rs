//! Parts of a line that may run a program which is not one of its commands: a command in text that the shell
//! expands, and a variable that names a program for another one, as `GIT_PAGER` does.

use super::Why;
use tree_sitter::Node;

/// Variables that no program takes for the name of a program, a script or an option. Any other variable of the
/// environment may be one.
const HARMLESS_VARIABLES: &[&str] = &[
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLORTERM",
    "COLUMNS",
    "DEBIAN_FRONTEND",
    "FORCE_COLOR",
    "GIT_OPTIONAL_LOCKS",
    "GIT_TERMINAL_PROMPT",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];
/// Variables that are in the environment of most users, or that the shell itself runs: an assignment suffices.
const EXPORTED_VARIABLES: &[&str] = &[
    "BASH_ALIASES",
    "BASH_CMDS",
    "BASH_ENV",
    "EDITOR",
    "ENV",
    "GIT_PAGER",
    "LD_PRELOAD",
    "LESSOPEN",
    "MANPAGER",
    "PAGER",
    "PATH",
    "PROMPT_COMMAND",
    "VISUAL",
];
/// Pagers and editors that change no file.
const HARMLESS_PROGRAMS: &[&str] = &["", "cat", "true", ":"];

/// Why a part of a line may run something, or change what a command does.
pub fn why(node: Node<'_>, text: &str) -> Option<Why> {
    let source = &text[node.byte_range()];
    let (runs, why) = match node.kind() {
        "heredoc_body" => (has_backtick(source) && !is_quoted(node, text), Why::UnknownScript),
        // The value is expanded as a prompt is.
        "expansion" => (source.ends_with("@P}"), Why::UnknownScript),
        "word" | "regex" => (has_backtick(source) || has_subscript(source), Why::UnknownScript),
        "string_content" | "raw_string" | "ansi_c_string" => {
            (has_subscript(source), Why::UnknownScript)
        }
        "variable_assignment" | "variable_name" => {
            (is_exported(node, text) && !is_harmless(source), Why::UnknownEffect)
        }
        _ => return None,
    };
    runs.then_some(why)
}

/// Whether an assignment to a variable of the environment is known to run nothing.
pub fn is_harmless(assignment: &str) -> bool {
    let (name, value) = match assignment.split_once('=') {
        Some((name, value)) => (name, Some(value.trim_matches(['"', '\'']))),
        None => (assignment, None),
    };
    let is_for_user = name.ends_with("PAGER") || name.ends_with("EDITOR");
    HARMLESS_VARIABLES.contains(&name)
        || name.starts_with("LC_")
        || is_for_user && value.is_some_and(|value| HARMLESS_PROGRAMS.contains(&value))
}

/// Whether the programs that follow get the variable.
fn is_exported(node: Node<'_>, text: &str) -> bool {
    let Some(parent) = node.parent() else { return false };
    let mut words = text[parent.byte_range()].split_whitespace();
    let source = &text[node.byte_range()];
    let is_set =
        |name: &&str| source.strip_prefix(*name).is_some_and(|rest| rest.starts_with(['=', '[']));
    if EXPORTED_VARIABLES.iter().any(is_set) {
        return true;
    }
    match parent.kind() {
        "command" => true,
        "declaration_command" => {
            words.next() == Some("export")
                || words.any(|word| word.starts_with('-') && word.contains('x'))
        }
        _ => false,
    }
}

/// Whether a here-document is taken as it is, since a part of its end word is quoted.
fn is_quoted(body: Node<'_>, text: &str) -> bool {
    let Some(redirect) = body.parent() else { return false };
    let mut cursor = redirect.walk();
    let start = redirect.children(&mut cursor).find(|node| node.kind() == "heredoc_start");
    start.is_some_and(|start| text[start.byte_range()].contains(['\'', '"', '\\']))
}

/// Whether a text has a backtick that no backslash precedes: the grammar does not read the command behind it
/// everywhere.
fn has_backtick(text: &str) -> bool {
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => {
                characters.next();
            }
            '`' => return true,
            _ => {}
        }
    }
    false
}

/// Whether a text has a subscript with a command in it. A shell runs that even in a quoted text, where it takes
/// the text for a variable, as in `test -v 'a[$(rm x)]'`.
fn has_subscript(text: &str) -> bool {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut brackets = text.match_indices('[').map(|(at, _)| text.split_at(at));
    let subscript = brackets.find(|(name, _)| name.ends_with(is_name)).map(|(_, rest)| rest);
    subscript.is_some_and(|subscript| subscript.contains("$(") || subscript.contains('`'))
}
