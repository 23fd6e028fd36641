//! The lines of a session, parsed into commands.

use herma_core::rollback_line::{Line, SyntaxError, Word};
use std::io::{self, BufRead};

/// A command of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SessionCommand {
    /// Does nothing: an empty line or a comment.
    Nothing,
    /// Begins a turn with this message.
    Say(String),
    /// Writes a file.
    WriteFile { path: Vec<u8>, content: Vec<u8> },
    /// Applies a patch.
    Patch(Vec<u8>),
    /// Runs a command in a shell.
    Terminal {
        /// The shell command.
        command: String,
        /// How many seconds it is announced to take.
        seconds: Option<u64>,
    },
    /// Concerns the agent's state or its external actions.
    Agent(AgentCommand),
    /// Runs `/rollback`: the words after it, and the text up to them.
    Rollback { before: String, rest: Vec<u8> },
    /// Continues in a temporary project.
    Scratch,
    /// Shows the conversation.
    Log,
    /// Shows the help.
    Help,
    /// Ends the session.
    Exit,
}

/// A command about the agent's state or its external actions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentCommand {
    /// Adds or moves a card.
    Card { id: String, state: String, title: String },
    /// Sets the goal.
    Goal(String),
    /// Sets the progress of the goal, as typed.
    Progress(String),
    /// Adds a memory.
    Remember(String),
    /// Records an external action.
    Outside { kind: String, id: Option<String>, to: Option<String> },
    /// Registers the shell command that undoes a kind of action.
    Register { kind: String, command: String },
    /// Takes a checkpoint with this label.
    Label(String),
    /// Unpins a checkpoint.
    Unpin(String),
    /// Runs compensations, or runs them again.
    Compensate { again: bool },
    /// Accepts the actions that rollbacks left behind.
    Accept,
    /// Shows the external actions.
    Actions,
    /// Shows who decided what.
    Audit,
    /// Hands over to a sub-agent.
    HandOff(String),
    /// Returns to the parent of the sub-agent.
    Back,
    /// Compacts the conversation.
    Compact,
    /// Explains whether a shell command would trigger a checkpoint.
    Explain(String),
}

/// A line and its command.
pub struct ParsedLine {
    /// The line.
    pub text: Vec<u8>,
    /// The command, or why the line is not a command.
    pub command: Result<SessionCommand, SyntaxError>,
}

/// The lines of a session.
pub struct Lines<R> {
    reader: R,
    /// The number of the line that was read last, from 1.
    pub number: usize,
}

impl<R: BufRead> Lines<R> {
    /// The lines of a reader.
    pub fn new(reader: R) -> Self {
        Lines { reader, number: 0 }
    }

    /// Parses the next line, with those that belong to it; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn next(&mut self) -> io::Result<Option<ParsedLine>> {
        let Some(text) = self.line()? else { return Ok(None) };
        let command = match parse(&text) {
            Ok(FirstLine::Complete(command)) => Ok(command),
            Ok(FirstLine::WriteFile { path, end }) => {
                self.until(&end)?.map(|content| SessionCommand::WriteFile { path, content })
            }
            Ok(FirstLine::Patch { end }) => self.until(&end)?.map(SessionCommand::Patch),
            Err(misread) => Err(misread),
        };
        Ok(Some(ParsedLine { text, command }))
    }

    fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if self.reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if line.ends_with(b"\n") {
            line.pop();
        }
        Ok(Some(line))
    }

    /// The lines before the next line that equals `end`.
    fn until(&mut self, end: &[u8]) -> io::Result<Result<Vec<u8>, SyntaxError>> {
        let mut content = Vec::new();
        while let Some(line) = self.line()? {
            if line == end {
                return Ok(Ok(content));
            }
            content.extend_from_slice(&line);
            content.push(b'\n');
        }
        let message =
            format!("the line {} that ends this is missing", String::from_utf8_lossy(end));
        Ok(Err(SyntaxError { message, at: 0..0 }))
    }
}

/// The first line of a command, which may need the lines after it.
enum FirstLine {
    Complete(SessionCommand),
    WriteFile { path: Vec<u8>, end: Vec<u8> },
    Patch { end: Vec<u8> },
}

fn parse(text: &[u8]) -> Result<FirstLine, SyntaxError> {
    let trimmed = text.trim_ascii_start();
    let start = text.len() - trimmed.len();
    let first = trimmed.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let rest = trimmed.get(first.len()..).unwrap_or_default();
    let complete = |command| Ok(FirstLine::Complete(command));
    let agent = |command| Ok(FirstLine::Complete(SessionCommand::Agent(command)));
    let argument = || match std::str::from_utf8(rest.trim_ascii()) {
        Ok("") => Err(SyntaxError {
            message: "an argument is missing".into(),
            at: text.len()..text.len(),
        }),
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(SyntaxError { message: "this is not UTF-8".into(), at: start..text.len() }),
    };
    if let Some(command) = without_arguments(first) {
        let at = text.len() - rest.trim_ascii_start().len()..text.len();
        return match at.is_empty() {
            true => agent(command),
            false => Err(SyntaxError { message: "this command takes no arguments".into(), at }),
        };
    }
    match first {
        b"" => complete(SessionCommand::Nothing),
        comment if comment.starts_with(b"#") => complete(SessionCommand::Nothing),
        b"say" => complete(SessionCommand::Say(argument()?)),
        b"terminal" => complete(SessionCommand::Terminal { command: argument()?, seconds: None }),
        b"slow" => parse_slow(argument()?, text.len()),
        b"write_file" | b"patch" => parse_file_tool(text, first == b"patch"),
        b"/rollback" => {
            let before = String::from_utf8_lossy(&text[..start + first.len()]).into_owned();
            complete(SessionCommand::Rollback { before, rest: rest.to_vec() })
        }
        // The form in which answers suggest commands.
        b"herma" if rest.trim_ascii_start().starts_with(b"rollback") => {
            let word = rest.len() - rest.trim_ascii_start().len() + b"rollback".len();
            let (before, rest) = text.split_at(start + first.len() + word);
            let before = String::from_utf8_lossy(before).into_owned();
            complete(SessionCommand::Rollback { before, rest: rest.to_vec() })
        }
        b"scratch" => complete(SessionCommand::Scratch),
        b"log" => complete(SessionCommand::Log),
        b"help" | b"/help" => complete(SessionCommand::Help),
        b"exit" | b"/exit" | b"quit" | b"/quit" => complete(SessionCommand::Exit),
        b"goal" => agent(AgentCommand::Goal(unquoted(argument()?))),
        b"progress" => agent(AgentCommand::Progress(argument()?)),
        b"remember" => agent(AgentCommand::Remember(unquoted(argument()?))),
        b"register" => {
            let (kind, command) = split_first_word(argument()?, text.len())?;
            agent(AgentCommand::Register { kind, command: unquoted(command) })
        }
        b"explain" => agent(AgentCommand::Explain(argument()?)),
        b"hand_off" => agent(AgentCommand::HandOff(argument()?)),
        b"/rollback-actions" => match rest.trim_ascii() {
            b"" => agent(AgentCommand::Compensate { again: false }),
            b"--again" => agent(AgentCommand::Compensate { again: true }),
            _ => Err(SyntaxError {
                message: "the only argument may be --again".into(),
                at: text.len() - rest.trim_ascii_start().len()..text.len(),
            }),
        },
        b"card" | b"outside" | b"/checkpoint" | b"/unpin" => parse_words(text),
        unknown => Err(SyntaxError {
            message: format!("unknown command {}: try help", String::from_utf8_lossy(unknown)),
            at: start..start + first.len(),
        }),
    }
}

/// The command about the agent with that name, if it takes no arguments.
fn without_arguments(name: &[u8]) -> Option<AgentCommand> {
    match name {
        b"back" => Some(AgentCommand::Back),
        b"compact" => Some(AgentCommand::Compact),
        b"actions" => Some(AgentCommand::Actions),
        b"audit" => Some(AgentCommand::Audit),
        b"/accept-external" => Some(AgentCommand::Accept),
        _ => None,
    }
}

/// Parses the arguments of a line that ends at `end`: seconds, and a shell command.
fn parse_slow(arguments: String, end: usize) -> Result<FirstLine, SyntaxError> {
    let (seconds, command) = split_first_word(arguments, end)?;
    let message = "slow needs a number of seconds, then a command";
    let not_a_number = |_| SyntaxError { message: message.into(), at: end..end };
    let seconds = Some(seconds.parse().map_err(not_a_number)?);
    Ok(FirstLine::Complete(SessionCommand::Terminal { command, seconds }))
}

/// The text, without its quotes if all of it is quoted.
fn unquoted(text: String) -> String {
    match Line::split(text.as_bytes()).map(|line| line.words) {
        Ok(words) if words.len() == 1 => String::from_utf8_lossy(&words[0].bytes).into_owned(),
        _ => text,
    }
}

/// The first word of a text, and the rest.
fn split_first_word(text: String, end: usize) -> Result<(String, String), SyntaxError> {
    match text.split_once(char::is_whitespace) {
        Some((first, rest)) => Ok((first.to_owned(), rest.trim_start().to_owned())),
        None => Err(SyntaxError { message: "two arguments are needed".into(), at: end..end }),
    }
}

/// Parses a line about the agent whose words may be quoted.
fn parse_words(text: &[u8]) -> Result<FirstLine, SyntaxError> {
    let line = Line::split(text)?;
    let words: Vec<String> =
        line.words.iter().map(|word| String::from_utf8_lossy(&word.bytes).into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let owned = |text: &str| text.to_owned();
    let incomplete =
        |message: &str| SyntaxError { message: message.into(), at: text.len()..text.len() };
    let command = match words[..] {
        ["card", id, state, ref title @ ..] => {
            AgentCommand::Card { id: owned(id), state: owned(state), title: title.join(" ") }
        }
        ["card", ..] => return Err(incomplete("card needs an id and a state: card c1 doing")),
        ["outside", "", ..] | ["outside", _, "to" | ""] => {
            return Err(incomplete("outside needs a kind and an id, or a kind and: to RECIPIENT"));
        }
        ["outside", kind, "to", to] => {
            AgentCommand::Outside { kind: owned(kind), id: None, to: Some(owned(to)) }
        }
        ["outside", kind, id] => {
            AgentCommand::Outside { kind: owned(kind), id: Some(owned(id)), to: None }
        }
        ["outside", ..] => {
            return Err(incomplete("outside needs a kind and an id, or a kind and: to RECIPIENT"));
        }
        ["/checkpoint", label] => AgentCommand::Label(owned(label)),
        ["/unpin", target] => AgentCommand::Unpin(owned(target)),
        _ => return Err(incomplete("one argument is needed: quote it if it contains spaces")),
    };
    Ok(FirstLine::Complete(SessionCommand::Agent(command)))
}

fn parse_file_tool(text: &[u8], is_patch: bool) -> Result<FirstLine, SyntaxError> {
    let line = Line::split(text)?;
    let incomplete =
        |message: &str| SyntaxError { message: message.into(), at: text.len()..text.len() };
    let end = |word: &Word| {
        word.bytes.strip_prefix(b"<<").filter(|end| !end.is_empty()).map(<[u8]>::to_vec)
    };
    match (is_patch, line.words.as_slice()) {
        (true, [_, last]) if end(last).is_some() => {
            Ok(FirstLine::Patch { end: end(last).unwrap_or_default() })
        }
        (false, [_, path, last]) => Ok(match end(last) {
            Some(end) => FirstLine::WriteFile { path: path.bytes.clone(), end },
            None => {
                let content = [&last.bytes[..], b"\n"].concat();
                FirstLine::Complete(SessionCommand::WriteFile { path: path.bytes.clone(), content })
            }
        }),
        (true, _) => Err(incomplete("patch needs <<END, and after it the lines of the patch")),
        (false, [_] | [_, _]) => Err(incomplete("write_file needs a path, and a text or <<END")),
        (false, [_, _, _, surplus @ ..]) => Err(SyntaxError {
            message: "write_file takes one path and one text: quote those that contain spaces"
                .into(),
            at: surplus.first().map_or(0..0, |word| word.range.clone()),
        }),
        (false, []) => Err(incomplete("write_file needs a path")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<Result<SessionCommand, String>> {
        let mut lines = Lines::new(text.as_bytes());
        let mut commands = Vec::new();
        while let Some(ParsedLine { command, .. }) = lines.next().unwrap() {
            commands.push(command.map_err(|misread| misread.message));
        }
        commands
    }

    #[test]
    fn next_parses_every_command_of_the_help_about_tools_and_rollbacks() {
        let text = "# a comment\n\nsay fix  it\nwrite_file a 'b c'\nwrite_file a <<END\none\ntwo\nEND\n\
            patch <<X\n--- a\nX\nterminal ls | wc\n /rollback diff 1\nherma rollback 1\nlog\nhelp\nexit";
        let write = |content: &str| SessionCommand::WriteFile {
            path: b"a".to_vec(),
            content: content.into(),
        };
        let before = " /rollback".to_owned();
        let expected = [
            SessionCommand::Nothing,
            SessionCommand::Nothing,
            SessionCommand::Say("fix  it".into()),
            write("b c\n"),
            write("one\ntwo\n"),
            SessionCommand::Patch(b"--- a\n".to_vec()),
            SessionCommand::Terminal { command: "ls | wc".into(), seconds: None },
            SessionCommand::Rollback { before, rest: b" diff 1".to_vec() },
            SessionCommand::Rollback { before: "herma rollback".into(), rest: b" 1".to_vec() },
            SessionCommand::Log,
            SessionCommand::Help,
            SessionCommand::Exit,
        ];
        assert_eq!(commands(text), expected.map(Ok));
    }

    #[test]
    fn next_parses_every_command_about_the_agent() {
        let text = "card c1 doing 'Fix  it' now\ngoal 'Ship it'\nprogress .5\nremember a b\n\
            outside pr 12\noutside mail to '#eng team'\nregister pr gh pr close $HERMA_ID\n\
            /checkpoint 'before it'\n/unpin 3\n/rollback-actions\n/rollback-actions --again\n\
            /accept-external\nactions\naudit\nhand_off claude\nback\ncompact\nexplain rm a\n\
            slow 60 make all";
        let outside = |id: Option<&str>, to: Option<&str>, kind: &str| AgentCommand::Outside {
            kind: kind.into(),
            id: id.map(Into::into),
            to: to.map(Into::into),
        };
        let title = "Fix  it now".to_owned();
        let mut expected: Vec<_> = [
            AgentCommand::Card { id: "c1".into(), state: "doing".into(), title },
            AgentCommand::Goal("Ship it".into()),
            AgentCommand::Progress(".5".into()),
            AgentCommand::Remember("a b".into()),
            outside(Some("12"), None, "pr"),
            outside(None, Some("#eng team"), "mail"),
            AgentCommand::Register { kind: "pr".into(), command: "gh pr close $HERMA_ID".into() },
            AgentCommand::Label("before it".into()),
            AgentCommand::Unpin("3".into()),
            AgentCommand::Compensate { again: false },
            AgentCommand::Compensate { again: true },
            AgentCommand::Accept,
            AgentCommand::Actions,
            AgentCommand::Audit,
            AgentCommand::HandOff("claude".into()),
            AgentCommand::Back,
            AgentCommand::Compact,
            AgentCommand::Explain("rm a".into()),
        ]
        .map(|command| Ok(SessionCommand::Agent(command)))
        .into();
        expected
            .push(Ok(SessionCommand::Terminal { command: "make all".into(), seconds: Some(60) }));
        assert_eq!(commands(text), expected);
    }

    #[test]
    fn next_reports_why_a_line_is_invalid() {
        for (text, why) in [
            ("frobnicate", "unknown command frobnicate"),
            ("say", "argument is missing"),
            ("write_file a", "needs a path, and a text"),
            ("write_file a b c", "quote those that contain spaces"),
            ("patch", "needs <<END"),
            ("patch <<", "needs <<END"),
            ("patch <<END\n--- a\n", "the line END"),
            ("write_file 'a", "not closed"),
            ("card c1", "needs an id and a state"),
            ("outside pr", "needs a kind"),
            ("outside '' x", "needs a kind"),
            ("outside pr to", "needs a kind"),
            ("/accept-external 1", "takes no arguments"),
            ("/rollback-actions --agian", "may be --again"),
            ("/checkpoint two words", "if it contains spaces"),
            ("register pr", "two arguments"),
            ("slow make it", "number of seconds"),
        ] {
            let commands = commands(text);
            assert!(
                matches!(&commands[..], [Err(message)] if message.contains(why)),
                "{text}: {commands:?}"
            );
        }
    }
}
