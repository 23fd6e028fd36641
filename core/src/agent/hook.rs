//! What the hooks of agents say: an agent runs a command before a tool, and writes one JSON object to its input.
//! Each agent names its fields in its own way, and the meanings are the same. What cannot be read counts as a tool
//! that may change anything: an unneeded checkpoint costs little, and a missing one costs files.
//!
//! Nothing is run and no file is read here.
// Source: the agents' own documentation of their hooks.

use crate::triggers::{patch, reasons};
use serde_json::{Deserializer, Value};
use std::ffi::OsStr;
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A call of a hook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookCall {
    /// The session of the agent, if it names one.
    pub session: Option<String>,
    /// The turn, if the agent names it.
    pub turn: Option<String>,
    /// The directory where the agent works, if it names one.
    pub directory: Option<PathBuf>,
    /// What the hook was called for.
    pub moment: Moment,
}

/// What a hook was called for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The user said something: a turn begins.
    Prompt,
    /// A tool is about to run.
    Tool(ToolCall),
    /// Something else, for which no checkpoint is needed.
    Other,
}

/// A tool that is about to run, in the words of its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// Its name; empty if the agent names none.
    pub name: String,
    /// The files that it names, and those of its patches.
    pub files: Vec<PathBuf>,
    /// The directory in which it runs, if it names one.
    pub place: Option<PathBuf>,
    /// The lines of shell that it runs.
    pub commands: Vec<String>,
}

/// A command may be as long as the files that it writes.
const REASON_LENGTH_MAX: usize = 200;

/// Tools that change no file, without regard to case, `_` and `-`; several to a line. Any other name counts as changing
/// files.
const READERS: &[&[&str]] = &[
    // Of files and of what a program printed.
    &["bashoutput", "getdiagnostics", "list", "listcodedefinitionnames", "listdir"],
    &["listdirectory", "listfiles", "ls", "lsp", "read", "readbash", "readfile", "readfiles"],
    &["readlints", "readmanyfiles", "view", "viewimage", "visionanalyze"],
    // Searches.
    &["codebasesearch", "codesearch", "filesearch", "glob", "grep", "grepsearch", "search"],
    &["searchcodebase", "searchfilecontent", "searchfiles", "sessionsearch", "toolsearch"],
    // Of the web and of servers.
    &["fetch", "fetchrules", "googlewebsearch", "listmcpresources", "webextract", "webfetch"],
    &["websearch"],
    // Questions to the user.
    &["askfollowupquestion", "asktool", "askuser", "askuserquestion", "attemptcompletion"],
    &["clarify", "question", "reportintent"],
    // Plans, tasks and skills.
    &["activateskill", "enterplanmode", "exitplanmode", "skill", "skillslist", "skillview"],
    &["taskcreate", "taskget", "tasklist", "taskupdate", "todo", "todoread", "todowrite"],
    &["updateplan", "writetodos"],
];

/// The fields of each meaning, in the order in which they are looked for; `.` leads into an object.
const NAME: &[&str] = &["tool_name", "toolName", "tool_call.name", "preToolUse.toolName", "tool"];
const ARGUMENTS: &[&str] =
    &["tool_input", "toolArgs", "tool_call.input", "preToolUse.parameters", "args"];
const SESSION: &[&str] = &[
    "session_id",
    "sessionId",
    "sessionID",
    "conversation_id",
    "sessionContext.rootSessionId",
    "taskId",
];
const TURN: &[&str] = &["prompt_id", "turn_id", "extra.turn_id", "generation_id"];
const DIRECTORY: &[&str] = &["cwd", "workspace_roots.0", "workspaceRoots.0"];
const PROMPT: &[&str] = &["submitted_prompt", "prompt", "userPromptSubmit.prompt"];
const EVENT: &[&str] = &["hook_event_name", "hookName"];
const FILE: &[&str] =
    &["file_path", "filePath", "path", "notebook_path", "absolute_path", "target_file"];
/// Those and these name further files at any depth: a file is moved, or several are edited.
const FURTHER_FILES: &[&str] = &[
    "file",
    "filename",
    "uri",
    "source",
    "destination",
    "old_path",
    "new_path",
    "oldPath",
    "newPath",
    "paths",
    "files",
];
/// Longer texts name no file.
const PATH_BYTES_MAX: usize = 4096;
const PLACE: &[&str] = &["workdir", "working_directory", "dir_path", "directory", "cwd"];
const COMMAND: &[&str] = &["command", "cmd", "commands"];
const PATCH: &[&str] = &["patch", "patchText", "input"];

impl HookCall {
    /// Reads the input of a hook: one JSON value, and nothing after it, since an agent may keep the input open.
    pub fn read(input: impl Read) -> Self {
        let mut values = Deserializer::from_reader(BufReader::new(input)).into_iter();
        let call = values.next().and_then(Result::ok).unwrap_or(Value::Null);
        let text = |names| found(&call, names).and_then(text_of);
        HookCall {
            session: text(SESSION),
            turn: text(TURN),
            directory: text(DIRECTORY).map(PathBuf::from),
            moment: moment(&call),
        }
    }
}

fn moment(call: &Value) -> Moment {
    let event = found(call, EVENT).and_then(text_of).unwrap_or_default().to_lowercase();
    let is_tool =
        found(call, NAME).is_some() || found(call, COMMAND).is_some() || !call.is_object();
    if event.starts_with("post") || event.starts_with("after") {
        return Moment::Other;
    }
    if is_tool {
        return Moment::Tool(tool(call));
    }
    // One agent also says so after each round of tools, with nothing said.
    match found(call, PROMPT).and_then(text_of) {
        Some(_) => Moment::Prompt,
        None => Moment::Other,
    }
}

fn tool(call: &Value) -> ToolCall {
    let name = found(call, NAME).and_then(text_of).unwrap_or_default();
    let arguments = match found(call, ARGUMENTS) {
        // One agent writes its arguments as JSON in a string.
        Some(Value::String(text)) => serde_json::from_str(text).unwrap_or(Value::Null),
        Some(arguments) => arguments.clone(),
        None => call.clone(),
    };
    let mut read = ToolCall { name, ..ToolCall::default() };
    read.files.extend(found(&arguments, FILE).and_then(text_of).map(PathBuf::from));
    let patches = PATCH.iter().chain(COMMAND).filter_map(|name| arguments.get(name));
    for body in patches.filter_map(text_of) {
        let paths = patch::paths(body.as_bytes());
        read.files.extend(paths.iter().map(|path| PathBuf::from(OsStr::from_bytes(path))));
    }
    add_files(&arguments, &mut read.files);
    read.place = found(&arguments, PLACE).and_then(text_of).map(PathBuf::from);
    read.commands = found(&arguments, COMMAND).map(commands).unwrap_or_default();
    read
}

impl ToolCall {
    /// Whether it may change files, as far as its words tell.
    // rule: turn/triggers
    // rule: turn/safe-side
    pub fn may_change_files(&self) -> bool {
        if !self.commands.is_empty() {
            return self.commands.iter().any(|command| !reasons(command).is_empty());
        }
        let plain = |letter: &char| !matches!(letter, '_' | '-');
        let name: String = self.name.to_lowercase().chars().filter(plain).collect();
        !READERS.iter().any(|names| names.contains(&name.as_str()))
    }

    /// The reason that the list shows: the tool, and what it changes first.
    pub fn reason(&self) -> String {
        let name = if self.name.is_empty() { "a tool" } else { &self.name };
        let file = || self.files.first().map(|file| file.to_string_lossy().into_owned());
        let reason = match self.commands.first().cloned().or_else(file) {
            Some(what) => format!("before {name}: {what}"),
            None => format!("before {name}"),
        };
        shortened(&reason)
    }
}

/// The first line of a text, of which the list shows only so much.
pub fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let kept: String = line.chars().take(REASON_LENGTH_MAX).collect();
    if kept.len() == text.trim_end().len() { kept } else { kept + "…" }
}

/// A line, several of them, or one program and its words.
fn commands(value: &Value) -> Vec<String> {
    let Value::Array(words) = value else { return text_of(value).into_iter().collect() };
    let words: Vec<String> = words.iter().filter_map(text_of).collect();
    match words.as_slice() {
        [shell, option, line] if option.starts_with('-') && shell.ends_with("sh") => {
            vec![line.clone()]
        }
        _ => words,
    }
}

/// The first of these fields that is there.
fn found<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    let field = |value: &'a Value, name: &str| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => value.get(name),
    };
    names
        .iter()
        .find_map(|path| path.split('.').try_fold(value, field))
        .filter(|value| !value.is_null())
}

/// Adds the files that fields name which are not there yet.
fn add_files(value: &Value, files: &mut Vec<PathBuf>) {
    let items = match value {
        Value::Array(items) => return items.iter().for_each(|item| add_files(item, files)),
        Value::Object(items) => items,
        _ => return,
    };
    for (name, value) in items {
        let named = match value {
            _ if !FILE.iter().chain(FURTHER_FILES).any(|field| field == name) => &[],
            Value::Array(values) => &values[..],
            value => std::slice::from_ref(value),
        };
        for path in named.iter().filter_map(path_of) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        add_files(value, files);
    }
}

/// The path that a field says, which may be a URI.
fn path_of(value: &Value) -> Option<PathBuf> {
    let text = value.as_str()?;
    // What has several lines is content.
    let is_path = !text.is_empty() && text.len() < PATH_BYTES_MAX && !text.contains('\n');
    is_path.then(|| PathBuf::from(text.strip_prefix("file://").unwrap_or(text)))
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => (!text.is_empty()).then(|| text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_names_its_files_under_any_of_the_usual_keys() {
        for (arguments, expected) in [
            (r#"{"source": "/q/b", "destination": "/p/z"}"#, &["/p/z", "/q/b"][..]),
            (r#"{"old_path": "/p/a", "new_path": "/q/a"}"#, &["/q/a", "/p/a"]),
            (r#"{"paths": ["/p/a", "/q/a"]}"#, &["/p/a", "/q/a"]),
            (r#"{"edits": [{"path": "/p/a"}, {"path": "/q/a"}]}"#, &["/p/a", "/q/a"]),
            (r#"{"uri": "file:///p/a", "file": "a line\nand another"}"#, &["/p/a"]),
            (
                r#"{"file_path": "/p/b", "file": "/p/a", "path": ["/p/b"], "content": "x"}"#,
                &["/p/b", "/p/a"],
            ),
        ] {
            let tool = tool_of(&format!(r#"{{"tool_name": "x", "tool_input": {arguments}}}"#));
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(tool.files, expected, "{arguments}");
        }
    }

    fn read(text: &str) -> HookCall {
        HookCall::read(text.as_bytes())
    }

    fn tool_of(text: &str) -> ToolCall {
        match read(text).moment {
            Moment::Tool(tool) => tool,
            moment => panic!("{moment:?}"),
        }
    }

    #[test]
    fn read_understands_the_fields_of_every_agent() {
        let file = "/p/a.txt";
        for (text, session, turn) in [
            (
                r#"{"session_id":"s","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Write",
                "tool_input":{"file_path":"/p/a.txt"},"prompt_id":"t"}"#,
                "s",
                Some("t"),
            ),
            (
                r#"{"session_id":"s","cwd":"/p","hook_event_name":"BeforeTool","tool_name":"write_file",
                "tool_input":{"file_path":"/p/a.txt"}}"#,
                "s",
                None,
            ),
            (
                r#"{"hook_event_name":"pre_tool_call","session_id":"s","cwd":"/p","tool_name":"patch",
                "tool_input":{"path":"/p/a.txt"},"extra":{"turn_id":"t"}}"#,
                "s",
                Some("t"),
            ),
            (
                r#"{"hookName":"tool_call","taskId":"x","sessionContext":{"rootSessionId":"s"},"workspaceRoots":["/p"],
                "tool_call":{"name":"editor","input":{"path":"/p/a.txt"}}}"#,
                "s",
                None,
            ),
            (
                r#"{"conversation_id":"s","generation_id":"t","hook_event_name":"preToolUse","workspace_roots":["/p"],
                "tool_name":"Write","tool_input":{"file_path":"/p/a.txt"}}"#,
                "s",
                Some("t"),
            ),
            (
                r#"{"sessionId":"s","timestamp":1,"cwd":"/p","toolName":"edit",
                "toolArgs":"{\"path\":\"/p/a.txt\"}"}"#,
                "s",
                None,
            ),
            (
                r#"{"sessionID":"s","cwd":"/p","tool":"edit","args":{"filePath":"/p/a.txt"}}"#,
                "s",
                None,
            ),
        ] {
            let call = read(text);
            assert_eq!(call.session.as_deref(), Some(session), "{text}");
            assert_eq!(call.turn.as_deref(), turn, "{text}");
            assert_eq!(call.directory, Some("/p".into()), "{text}");
            let tool = tool_of(text);
            assert_eq!(tool.files, [PathBuf::from(file)], "{text}");
            assert!(tool.may_change_files(), "{text}");
            assert_eq!(tool.reason(), format!("before {}: {file}", tool.name));
        }
    }

    #[test]
    fn read_finds_the_commands_of_a_shell_and_the_files_of_a_patch() {
        for (input, commands, changes) in [
            (r#"{"command":"rm a"}"#, vec!["rm a"], true),
            (r#"{"command":"ls a"}"#, vec!["ls a"], false),
            (r#"{"cmd":["bash","-lc","rm a"]}"#, vec!["rm a"], true),
            (r#"{"commands":["ls","rm a"]}"#, vec!["ls", "rm a"], true),
            (r#"{"commands":["ls","cat a"]}"#, vec!["ls", "cat a"], false),
        ] {
            let tool = tool_of(&format!(r#"{{"tool_name":"Bash","tool_input":{input}}}"#));
            assert_eq!(tool.commands, commands);
            assert_eq!(tool.may_change_files(), changes, "{input}");
        }
        assert_eq!(tool_of(r#"{"command":"rm a","cwd":"/p"}"#).reason(), "before a tool: rm a");
        let patch = r#"{"tool_name":"apply_patch","tool_input":{"input":
            "*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+b\n*** End Patch\n"}}"#;
        assert_eq!(tool_of(patch).files, [PathBuf::from("a.txt")]);
        let elsewhere =
            tool_of(r#"{"tool_name":"shell","tool_input":{"command":"rm b","workdir":"/q"}}"#);
        assert_eq!(elsewhere.place, Some("/q".into()));
        let long = tool_of(&format!(
            r#"{{"tool_name":"Bash","command":"cat <<E\n{}\nE"}}"#,
            "x".repeat(1000)
        ));
        assert_eq!(long.reason(), "before Bash: cat <<E…");
        assert_eq!(shortened(&"é".repeat(300)).chars().count(), 201);
    }

    #[test]
    fn read_takes_a_prompt_with_words_as_the_beginning_of_a_turn() {
        let said = r#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"do it"}"#;
        assert_eq!(read(said).moment, Moment::Prompt);
        let silent = r#"{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":""}"#;
        assert_eq!(read(silent).moment, Moment::Other);
        let after = r#"{"hook_event_name":"PostToolUse","tool_name":"Write"}"#;
        assert_eq!(read(after).moment, Moment::Other);
    }

    #[test]
    fn read_takes_what_it_does_not_understand_for_a_tool_that_changes_files() {
        for input in ["", "\0", "[]", "{", "nonsense"] {
            assert!(tool_of(input).may_change_files(), "{input:?}");
        }
        let unknown = tool_of(r#"{"tool_name":"mcp__db__run","tool_input":{"anything":{}}}"#);
        assert!(unknown.may_change_files() && unknown.files.is_empty());
        for name in ["Read", "read_file", "list-dir", "WebFetch"] {
            let tool = tool_of(&format!(r#"{{"tool_name":"{name}","tool_input":{{"path":"a"}}}}"#));
            assert!(!tool.may_change_files(), "{name}");
        }
    }
}
