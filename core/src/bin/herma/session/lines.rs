//! The lines of a session, parsed into commands.

use crate::store_arguments::ActionsCommand;
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
    /// Compacts the conversation.
    Compact,
    /// Explains whether a shell command would trigger a checkpoint.
    Explain(String),
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
    /// Shows or settles the external actions.
    Actions(ActionsCommand),
    /// Hands over to a sub-agent.
    HandOff(String),
    /// Returns to the parent of the sub-agent.
    Back,
}

/// A line and its command.
pub struct ParsedLine {
    /// The line.
    pub text: Vec<u8>,
    /// The command, or why the line is not a command.
    pub command: Result<SessionCommand, SyntaxError>,
}

/// The lines of a session.
pub struct Lines<R>(io::Split<R>);

impl<R: BufRead> Lines<R> {
    /// The lines of a reader.
    pub fn new(reader: R) -> Self {
        Lines(reader.split(b'\n'))
    }

    /// Parses the next line, with those that belong to it; `None` at the end.
    ///
    /// # Errors
    /// The input cannot be read.
    pub fn next(&mut self) -> io::Result<Option<ParsedLine>> {
        let Some(text) = self.0.next().transpose()? else { return Ok(None) };
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

    /// The lines before the next line that equals `end`.
    fn until(&mut self, end: &[u8]) -> io::Result<Result<Vec<u8>, SyntaxError>> {
        let mut content = Vec::new();
        while let Some(line) = self.0.next().transpose()? {
            if line == end {
                return Ok(Ok(content));
            }
            content.extend_from_slice(&line);
            content.push(b'\n');
        }
        let end = String::from_utf8_lossy(end);
        Ok(Err(SyntaxError::new(format!("the line {end} that ends this is missing"), 0..0)))
    }
}

/// The first line of a command, which may need the lines after it.
enum FirstLine {
    Complete(SessionCommand),
    WriteFile { path: Vec<u8>, end: Vec<u8> },
    Patch { end: Vec<u8> },
}

/// The error for something that is missing at the end of a line.
fn incomplete(text: &[u8], message: &str) -> SyntaxError {
    SyntaxError::new(message, text.len()..text.len())
}

/// The name of a command with one argument, and the command for it.
type WithText = (&'static [u8], fn(String) -> SessionCommand);

/// The commands with one argument, the rest of the line.
const WITH_TEXT: &[WithText] = &[
    (b"say", SessionCommand::Say),
    (b"terminal", |command| SessionCommand::Terminal { command, seconds: None }),
    (b"explain", SessionCommand::Explain),
    (b"goal", |text| SessionCommand::Agent(AgentCommand::Goal(unquoted(text)))),
    (b"progress", |text| SessionCommand::Agent(AgentCommand::Progress(text))),
    (b"remember", |text| SessionCommand::Agent(AgentCommand::Remember(unquoted(text)))),
    (b"hand_off", |text| SessionCommand::Agent(AgentCommand::HandOff(text))),
];

/// The command with that name, if it takes no arguments.
fn without_arguments(name: &[u8]) -> Option<SessionCommand> {
    let command = match name {
        b"compact" => return Some(SessionCommand::Compact),
        b"back" => AgentCommand::Back,
        b"actions" => AgentCommand::Actions(ActionsCommand::List),
        b"audit" => AgentCommand::Actions(ActionsCommand::Audit),
        b"/accept-external" => AgentCommand::Actions(ActionsCommand::Accept),
        _ => return None,
    };
    Some(SessionCommand::Agent(command))
}

fn parse(text: &[u8]) -> Result<FirstLine, SyntaxError> {
    let trimmed = text.trim_ascii_start();
    let first = trimmed.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let end = text.len() - trimmed.len() + first.len();
    let rest = text[end..].trim_ascii();
    let at = text.len() - text[end..].trim_ascii_start().len()..text.len();
    let argument = || match std::str::from_utf8(rest) {
        Ok("") => Err(incomplete(text, "an argument is missing")),
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(SyntaxError::new("this is not UTF-8", at.clone())),
    };
    let two_arguments = || match argument()?.split_once(char::is_whitespace) {
        Some((first, rest)) => Ok((first.to_owned(), rest.trim_start().to_owned())),
        None => Err(incomplete(text, "two arguments are needed")),
    };
    let rollback = |end: usize| {
        let (before, rest) = text.split_at(end);
        let before = String::from_utf8_lossy(before).into_owned();
        SessionCommand::Rollback { before, rest: rest.to_vec() }
    };
    let command = match first {
        b"" => SessionCommand::Nothing,
        comment if comment.starts_with(b"#") => SessionCommand::Nothing,
        b"scratch" => SessionCommand::Scratch,
        b"log" => SessionCommand::Log,
        b"help" | b"/help" => SessionCommand::Help,
        b"exit" | b"/exit" | b"quit" | b"/quit" => SessionCommand::Exit,
        b"/rollback" => rollback(end),
        // The form in which answers suggest commands.
        b"herma" if rest.starts_with(b"rollback") => rollback(at.start + b"rollback".len()),
        b"write_file" | b"patch" => return parse_file_tool(text, first == b"patch"),
        b"card" | b"outside" | b"/checkpoint" | b"/unpin" => parse_words(text)?,
        b"slow" => {
            let (seconds, command) = two_arguments()?;
            let message = "slow needs a number of seconds, then a command";
            let seconds = seconds.parse().map_err(|_| incomplete(text, message))?;
            SessionCommand::Terminal { command, seconds: Some(seconds) }
        }
        b"register" => {
            let (kind, command) = two_arguments()?;
            let command = unquoted(command);
            SessionCommand::Agent(AgentCommand::Register { kind, command })
        }
        b"/rollback-actions" if matches!(rest, b"" | b"--again") => {
            let command = ActionsCommand::Compensate { again: !rest.is_empty() };
            SessionCommand::Agent(AgentCommand::Actions(command))
        }
        b"/rollback-actions" => {
            return Err(SyntaxError::new("the only argument may be --again", at));
        }
        name => match (WITH_TEXT.iter().find(|row| row.0 == name), without_arguments(name)) {
            (Some((_, command)), _) => command(argument()?),
            (_, Some(command)) if rest.is_empty() => command,
            (_, Some(_)) => return Err(SyntaxError::new("this command takes no arguments", at)),
            (None, None) => {
                let unknown = String::from_utf8_lossy(name);
                let message = format!("unknown command {unknown}: try help");
                return Err(SyntaxError::new(message, end - name.len()..end));
            }
        },
    };
    Ok(FirstLine::Complete(command))
}

/// The text, without its quotes if all of it is quoted.
fn unquoted(text: String) -> String {
    match Line::split(text.as_bytes()).map(|line| line.words) {
        Ok(words) if words.len() == 1 => String::from_utf8_lossy(&words[0].bytes).into_owned(),
        _ => text,
    }
}

/// What `outside` needs.
const OUTSIDE_USAGE: &str = "outside needs a kind and an id, or a kind and: to RECIPIENT";

/// Parses a line about the agent whose words may be quoted.
fn parse_words(text: &[u8]) -> Result<SessionCommand, SyntaxError> {
    let line = Line::split(text)?;
    let words: Vec<String> =
        line.words.iter().map(|word| String::from_utf8_lossy(&word.bytes).into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let owned = |text: &str| text.to_owned();
    let outside = |kind: &str, id: Option<&str>, to: Option<&str>| AgentCommand::Outside {
        kind: owned(kind),
        id: id.map(owned),
        to: to.map(owned),
    };
    let command = match words[..] {
        ["card", id, state, ref title @ ..] => {
            Ok(AgentCommand::Card { id: owned(id), state: owned(state), title: title.join(" ") })
        }
        ["card", ..] => Err("card needs an id and a state: card c1 doing"),
        ["outside", "", ..] | ["outside", _, "to" | ""] => Err(OUTSIDE_USAGE),
        ["outside", kind, "to", to] => Ok(outside(kind, None, Some(to))),
        ["outside", kind, id] => Ok(outside(kind, Some(id), None)),
        ["outside", ..] => Err(OUTSIDE_USAGE),
        ["/checkpoint", label] => Ok(AgentCommand::Label(owned(label))),
        ["/unpin", target] => Ok(AgentCommand::Unpin(owned(target))),
        _ => Err("one argument is needed: quote it if it contains spaces"),
    };
    command.map(SessionCommand::Agent).map_err(|message| incomplete(text, message))
}

fn parse_file_tool(text: &[u8], is_patch: bool) -> Result<FirstLine, SyntaxError> {
    let line = Line::split(text)?;
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
        (true, _) => {
            Err(incomplete(text, "patch needs <<END, and after it the lines of the patch"))
        }
        (false, [_, _, _, surplus, ..]) => Err(SyntaxError::new(
            "write_file takes one path and one text: quote those that contain spaces",
            surplus.range.clone(),
        )),
        (false, _) => Err(incomplete(text, "write_file needs a path, and a text or <<END")),
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
            AgentCommand::Actions(ActionsCommand::Compensate { again: false }),
            AgentCommand::Actions(ActionsCommand::Compensate { again: true }),
            AgentCommand::Actions(ActionsCommand::Accept),
            AgentCommand::Actions(ActionsCommand::List),
            AgentCommand::Actions(ActionsCommand::Audit),
            AgentCommand::HandOff("claude".into()),
            AgentCommand::Back,
        ]
        .map(|command| Ok(SessionCommand::Agent(command)))
        .into();
        expected.push(Ok(SessionCommand::Compact));
        expected.push(Ok(SessionCommand::Explain("rm a".into())));
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
