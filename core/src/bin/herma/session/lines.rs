//! What is typed in a session, line by line: from its words to what is asked.

use herma_core::rollback_line::{Line, Misread, Word};
use std::io::{self, BufRead};

/// How lines are typed.
pub const HELP: &str = "\
say WORDS                  what a person asks of the agent: a turn begins
write_file PATH TEXT       a file tool: writes the text and the end of its line
write_file PATH <<END      the same with the lines up to one that is END
patch <<END                a file tool: applies the patch in the lines up to one that is END
terminal COMMAND           a line of shell, which runs in the directory of the session
slow SECONDS COMMAND       the same, announced to take so long
/rollback …                as on the command line: /rollback, /rollback diff 1, /rollback 1
/checkpoint LABEL          a checkpoint of that name, which no limit drops
/unpin N                   lets one go with the others of its age
log                        the conversation
compact                    the conversation becomes one turn, as when it grows too long

What an agent has beside files; with the first of these it has a state, and /rollback alone
goes back to the most recent checkpoint, files and state:
card ID STATE TITLE        a card on the board is made, or moves
goal TEXT                  what the agent is after
progress NUMBER            how far it is, from 0 to 1
remember TEXT              a memory, which becomes the head of their index
outside KIND ID            something outside the project: outside github.pr.opened 1234
outside KIND to WHOM       a message: outside slack.message.sent to '#eng'
register KIND COMMAND      a line of shell that undoes such a thing; it finds $HERMA_ID
/rollback-actions          undoes what rollbacks left behind, as registered; --again repeats
/accept-external           records that the rest stays
actions                    what was done outside; audit: who decided what
hand_off NAME              a sub-agent goes on; back: it is the parent's turn again
explain COMMAND            whether a checkpoint would be taken before it, and why
help                       this
exit                       the end; nothing that was written is undone

Blanks in a name are quoted: write_file 'my file.txt' \"some text\". Lines that begin with # are passed over.
";

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// Nothing.
    Nothing,
    /// A turn begins.
    Say(String),
    /// A file tool is to write this.
    WriteFile { path: Vec<u8>, content: Vec<u8> },
    /// A file tool is to apply this.
    Patch(Vec<u8>),
    /// A terminal is to run this.
    Terminal {
        /// The line of shell.
        command: String,
        /// How many seconds it is announced to take.
        seconds: Option<u64>,
    },
    /// Something about the agent's state, or what it did outside.
    Agent(Agent),
    /// What follows `/rollback `, and what stands before it.
    Rollback { before: String, rest: Vec<u8> },
    /// The conversation is to be shown.
    Log,
    /// How lines are typed.
    Help,
    /// The end.
    Exit,
}

/// What is asked about the agent beside its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agent {
    /// A card is made, or moves.
    Card { id: String, state: String, title: String },
    /// There is a goal.
    Goal(String),
    /// It is so far, as typed.
    Progress(String),
    /// There is a memory.
    Remember(String),
    /// Something was done outside.
    Outside { kind: String, id: Option<String>, to: Option<String> },
    /// What undoes such things.
    Register { kind: String, command: String },
    /// A checkpoint is to have this name.
    Label(String),
    /// One is no longer to be kept.
    Unpin(String),
    /// Compensations are to run, or to run again.
    Compensate { again: bool },
    /// The rest stays.
    Accept,
    /// What was done outside is to be shown.
    Actions,
    /// Who decided what is to be shown.
    Audit,
    /// A sub-agent goes on.
    HandOff(String),
    /// It is the parent's turn again.
    Back,
    /// The conversation is compacted.
    Compact,
    /// Whether a command would be reason enough.
    Explain(String),
}

/// A line and what it asks.
pub struct Typed {
    /// The line.
    pub text: Vec<u8>,
    /// What it asks.
    pub asked: Result<Asked, Misread>,
}

/// The lines of a session.
pub struct Lines<R> {
    reader: R,
    /// The number of the line that was read last, from 1.
    pub number: usize,
}

impl<R: BufRead> Lines<R> {
    /// Lines from there.
    pub fn new(reader: R) -> Self {
        Lines { reader, number: 0 }
    }

    /// The next line, with those that belong to it; none at the end.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn next(&mut self) -> io::Result<Option<Typed>> {
        let Some(text) = self.line()? else { return Ok(None) };
        let asked = match command(&text) {
            Ok(Command::Whole(asked)) => Ok(asked),
            Ok(Command::WriteFile { path, end }) => {
                self.until(&end)?.map(|content| Asked::WriteFile { path, content })
            }
            Ok(Command::Patch { end }) => self.until(&end)?.map(Asked::Patch),
            Err(misread) => Err(misread),
        };
        Ok(Some(Typed { text, asked }))
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

    /// The lines up to one that is `end`.
    fn until(&mut self, end: &[u8]) -> io::Result<Result<Vec<u8>, Misread>> {
        let mut content = Vec::new();
        while let Some(line) = self.line()? {
            if line == end {
                return Ok(Ok(content));
            }
            content.extend_from_slice(&line);
            content.push(b'\n');
        }
        let message = format!("no line is {}, which would end this", String::from_utf8_lossy(end));
        Ok(Err(Misread { message, at: 0..0 }))
    }
}

/// A line, which may need those after it.
enum Command {
    Whole(Asked),
    WriteFile { path: Vec<u8>, end: Vec<u8> },
    Patch { end: Vec<u8> },
}

fn command(text: &[u8]) -> Result<Command, Misread> {
    let trimmed = text.trim_ascii_start();
    let start = text.len() - trimmed.len();
    let first = trimmed.split(u8::is_ascii_whitespace).next().unwrap_or_default();
    let rest = trimmed.get(first.len()..).unwrap_or_default();
    let whole = |asked| Ok(Command::Whole(asked));
    let agent = |asked| Ok(Command::Whole(Asked::Agent(asked)));
    let said = || match std::str::from_utf8(rest.trim_ascii()) {
        Ok("") => {
            Err(Misread { message: "something has to follow".into(), at: text.len()..text.len() })
        }
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(Misread { message: "this is no UTF-8".into(), at: start..text.len() }),
    };
    match first {
        b"" => whole(Asked::Nothing),
        comment if comment.starts_with(b"#") => whole(Asked::Nothing),
        b"say" => whole(Asked::Say(said()?)),
        b"terminal" => whole(Asked::Terminal { command: said()?, seconds: None }),
        b"slow" => {
            let (seconds, command) = two(said()?, text.len())?;
            let at = text.len()..text.len();
            let not = |_| Misread { message: "slow needs a number of seconds first".into(), at };
            let seconds = seconds.parse().map_err(not)?;
            whole(Asked::Terminal { command, seconds: Some(seconds) })
        }
        b"write_file" | b"patch" => tool(text, first == b"patch"),
        b"/rollback" => {
            let before = String::from_utf8_lossy(&text[..start + first.len()]).into_owned();
            whole(Asked::Rollback { before, rest: rest.to_vec() })
        }
        // As answers show it.
        b"herma" if rest.trim_ascii_start().starts_with(b"rollback") => {
            let word = rest.len() - rest.trim_ascii_start().len() + b"rollback".len();
            let (before, rest) = text.split_at(start + first.len() + word);
            let before = String::from_utf8_lossy(before).into_owned();
            whole(Asked::Rollback { before, rest: rest.to_vec() })
        }
        b"log" => whole(Asked::Log),
        b"help" | b"/help" => whole(Asked::Help),
        b"exit" | b"/exit" | b"quit" | b"/quit" => whole(Asked::Exit),
        b"goal" => agent(Agent::Goal(said()?)),
        b"progress" => agent(Agent::Progress(said()?)),
        b"remember" => agent(Agent::Remember(said()?)),
        b"register" => {
            let (kind, command) = two(said()?, text.len())?;
            agent(Agent::Register { kind, command })
        }
        b"explain" => agent(Agent::Explain(said()?)),
        b"hand_off" => agent(Agent::HandOff(said()?)),
        b"back" => agent(Agent::Back),
        b"compact" => agent(Agent::Compact),
        b"actions" => agent(Agent::Actions),
        b"audit" => agent(Agent::Audit),
        b"/accept-external" => agent(Agent::Accept),
        b"/rollback-actions" => agent(Agent::Compensate { again: rest.trim_ascii() == b"--again" }),
        b"card" | b"outside" | b"/checkpoint" | b"/unpin" => words(text),
        other => Err(Misread {
            message: format!("a session knows no {}: see help", String::from_utf8_lossy(other)),
            at: start..start + first.len(),
        }),
    }
}

/// The first word of a text, and the rest.
fn two(text: String, end: usize) -> Result<(String, String), Misread> {
    match text.split_once(char::is_whitespace) {
        Some((first, rest)) => Ok((first.to_owned(), rest.trim_start().to_owned())),
        None => Err(Misread { message: "something more has to follow".into(), at: end..end }),
    }
}

/// A line about the agent whose words may be quoted.
fn words(text: &[u8]) -> Result<Command, Misread> {
    let line = Line::split(text)?;
    let words: Vec<String> =
        line.words.iter().map(|word| String::from_utf8_lossy(&word.bytes).into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let owned = |text: &str| text.to_owned();
    let lacks = |message: &str| Misread { message: message.into(), at: text.len()..text.len() };
    let asked = match words[..] {
        ["card", id, state, ref title @ ..] => {
            Agent::Card { id: owned(id), state: owned(state), title: title.join(" ") }
        }
        ["card", ..] => return Err(lacks("card needs an id and a state: card c1 doing")),
        ["outside", kind, "to", to] => {
            Agent::Outside { kind: owned(kind), id: None, to: Some(owned(to)) }
        }
        ["outside", kind, id] => {
            Agent::Outside { kind: owned(kind), id: Some(owned(id)), to: None }
        }
        ["outside", ..] => return Err(lacks("outside needs a kind, and an id or: to WHOM")),
        ["/checkpoint", label] => Agent::Label(owned(label)),
        ["/unpin", target] => Agent::Unpin(owned(target)),
        _ => return Err(lacks("one word has to follow: quote what has blanks")),
    };
    Ok(Command::Whole(Asked::Agent(asked)))
}

fn tool(text: &[u8], is_patch: bool) -> Result<Command, Misread> {
    let line = Line::split(text)?;
    let lacks = |message: &str| Misread { message: message.into(), at: text.len()..text.len() };
    let end = |word: &Word| {
        word.bytes.strip_prefix(b"<<").filter(|end| !end.is_empty()).map(<[u8]>::to_vec)
    };
    match (is_patch, line.words.as_slice()) {
        (true, [_, last]) if end(last).is_some() => {
            Ok(Command::Patch { end: end(last).unwrap_or_default() })
        }
        (false, [_, path, last]) => Ok(match end(last) {
            Some(end) => Command::WriteFile { path: path.bytes.clone(), end },
            None => {
                let content = [&last.bytes[..], b"\n"].concat();
                Command::Whole(Asked::WriteFile { path: path.bytes.clone(), content })
            }
        }),
        (true, _) => Err(lacks("patch is followed by <<END and the lines of the patch")),
        (false, [_] | [_, _]) => Err(lacks("write_file needs a path, and a text or <<END")),
        (false, [_, _, _, more @ ..]) => Err(Misread {
            message: "write_file takes one path and one text: quote what has blanks".into(),
            at: more.first().map_or(0..0, |word| word.range.clone()),
        }),
        (false, []) => Err(lacks("write_file needs a path")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Result<Asked, String>> {
        let mut lines = Lines::new(text.as_bytes());
        let mut found = Vec::new();
        while let Some(Typed { asked, .. }) = lines.next().unwrap() {
            found.push(asked.map_err(|misread| misread.message));
        }
        found
    }

    #[test]
    fn every_form_of_the_help_is_read() {
        let text = "# a comment\n\nsay fix  it\nwrite_file a 'b c'\nwrite_file a <<END\none\ntwo\nEND\n\
            patch <<X\n--- a\nX\nterminal ls | wc\n /rollback diff 1\nherma rollback 1\nlog\nhelp\nexit";
        let write =
            |content: &str| Asked::WriteFile { path: b"a".to_vec(), content: content.into() };
        let before = " /rollback".to_owned();
        let expected = [
            Asked::Nothing,
            Asked::Nothing,
            Asked::Say("fix  it".into()),
            write("b c\n"),
            write("one\ntwo\n"),
            Asked::Patch(b"--- a\n".to_vec()),
            Asked::Terminal { command: "ls | wc".into(), seconds: None },
            Asked::Rollback { before, rest: b" diff 1".to_vec() },
            Asked::Rollback { before: "herma rollback".into(), rest: b" 1".to_vec() },
            Asked::Log,
            Asked::Help,
            Asked::Exit,
        ];
        assert_eq!(all(text), expected.map(Ok));
    }

    #[test]
    fn what_is_typed_about_the_agent_is_read() {
        let text = "card c1 doing 'Fix  it' now\ngoal Ship it\nprogress .5\nremember a b\n\
            outside pr 12\noutside mail to '#eng team'\nregister pr gh pr close $HERMA_ID\n\
            /checkpoint 'before it'\n/unpin 3\n/rollback-actions\n/rollback-actions --again\n\
            /accept-external\nactions\naudit\nhand_off claude\nback\ncompact\nexplain rm a\n\
            slow 60 make all";
        let outside = |id: Option<&str>, to: Option<&str>, kind: &str| Agent::Outside {
            kind: kind.into(),
            id: id.map(Into::into),
            to: to.map(Into::into),
        };
        let title = "Fix  it now".to_owned();
        let mut expected: Vec<_> = [
            Agent::Card { id: "c1".into(), state: "doing".into(), title },
            Agent::Goal("Ship it".into()),
            Agent::Progress(".5".into()),
            Agent::Remember("a b".into()),
            outside(Some("12"), None, "pr"),
            outside(None, Some("#eng team"), "mail"),
            Agent::Register { kind: "pr".into(), command: "gh pr close $HERMA_ID".into() },
            Agent::Label("before it".into()),
            Agent::Unpin("3".into()),
            Agent::Compensate { again: false },
            Agent::Compensate { again: true },
            Agent::Accept,
            Agent::Actions,
            Agent::Audit,
            Agent::HandOff("claude".into()),
            Agent::Back,
            Agent::Compact,
            Agent::Explain("rm a".into()),
        ]
        .map(|one| Ok(Asked::Agent(one)))
        .into();
        expected.push(Ok(Asked::Terminal { command: "make all".into(), seconds: Some(60) }));
        assert_eq!(all(text), expected);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (text, why) in [
            ("frobnicate", "knows no frobnicate"),
            ("say", "has to follow"),
            ("write_file a", "needs a path, and a text"),
            ("write_file a b c", "quote what has blanks"),
            ("patch", "followed by <<END"),
            ("patch <<", "followed by <<END"),
            ("patch <<END\n--- a\n", "no line is END"),
            ("write_file 'a", "not closed"),
            ("card c1", "needs an id and a state"),
            ("outside pr", "needs a kind"),
            ("/checkpoint two words", "quote what has blanks"),
            ("register pr", "something more"),
            ("slow make it", "number of seconds"),
        ] {
            let said = all(text);
            assert!(matches!(&said[..], [Err(said)] if said.contains(why)), "{text}: {said:?}");
        }
    }
}
