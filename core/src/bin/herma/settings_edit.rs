//! Puts a hook into the text of an agent's settings, and takes it out again; comments, order and everything else
//! stay. Text in, text out: [`crate::init`] reads and writes the files.

use herma_core::text::line;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;
use std::path::PathBuf;

/// Ends the lines of YAML that are ours.
const OURS: &str = "  # herma init";

/// Whether a command is the hook of that agent that `herma init` made, whatever the path of the program was.
pub fn is_ours(command: &str, agent: &str) -> bool {
    let program = command.strip_suffix(&format!(" hook {agent}")).unwrap_or_default();
    let name = program.trim_end_matches(['\'', '"']).rsplit('/').next().unwrap_or_default();
    name.starts_with("herma")
}

/// The programs of the hooks of that agent in the text of its settings, whatever the format.
pub fn programs(settings: &str, agent: &str) -> Vec<PathBuf> {
    let program = |(end, _): (usize, &str)| {
        let before = &settings[..end];
        let program = match before.strip_suffix('\'') {
            Some(quoted) => quoted.rsplit('\'').next()?,
            None => before
                .rsplit(|character: char| character.is_whitespace() || character == '"')
                .next()?,
        };
        let program = PathBuf::from(program);
        let name = program.file_name()?.to_string_lossy().into_owned();
        name.starts_with("herma").then_some(program)
    };
    settings.match_indices(&format!(" hook {agent}")).filter_map(program).collect()
}

/// The hook of an agent in JSON.
pub struct JsonHook<'a> {
    /// The name of the agent in commands.
    pub agent: &'a str,
    /// What the hook runs.
    pub command: &'a str,
    /// What is appended to the array of an event.
    pub value: CstInputValue,
}

/// Whether a hook of the array, or of a group in it, has that command.
fn has_command(hooks: &CstArray, command: &str) -> bool {
    hooks.elements().iter().any(|element| {
        let group = element.as_object().and_then(|group| group.array_value("hooks"));
        group.is_some_and(|group| has_command(&group, command))
            || command_of(element).is_some_and(|found| found == command)
    })
}

/// The command of a hook in JSON.
fn command_of(hook: &CstNode) -> Option<String> {
    hook.as_object()?.get("command")?.value()?.as_string_lit()?.decoded_value().ok()
}

/// Adds a hook to each event of a JSON document, unless the event has it already.
///
/// # Errors
/// The text is not JSON, or `hooks` is not what it should be.
pub fn with_json_hooks(
    text: &str,
    is_versioned: bool,
    events: &[&str],
    hook: &JsonHook<'_>,
) -> Result<String, String> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or("it is not a JSON object")?;
    if is_versioned && object.get("version").is_none() {
        object.append("version", 1u32.into());
    }
    let wrong = |name: &str| format!("its \"{name}\" has another form than expected");
    let all = object.object_value_or_create("hooks").ok_or_else(|| wrong("hooks"))?;
    for event in events {
        let of_event = all.array_value_or_create(event).ok_or_else(|| wrong(event))?;
        if !has_command(&of_event, hook.command) {
            // The program may have been elsewhere.
            remove_ours(&of_event, hook.agent);
            of_event.append(hook.value.clone());
        }
    }
    Ok(root.to_string())
}

/// A JSON document without our hooks, and without what is empty then.
///
/// # Errors
/// The text is not JSON.
pub fn without_json_hooks(text: &str, agent: &str, events: &[&str]) -> Result<String, String> {
    let root = parse(text)?;
    let Some(object) = root.object_value() else { return Ok(text.to_owned()) };
    let Some(all) = object.object_value("hooks") else { return Ok(text.to_owned()) };
    for event in events {
        if let Some(of_event) = all.array_value(event)
            && remove_ours(&of_event, agent)
        {
            remove_if_empty(&all, event, of_event.elements().is_empty());
            remove_if_empty(&object, "hooks", all.properties().is_empty());
        }
    }
    Ok(root.to_string())
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| format!("it is not valid JSON: {}", line(error.to_string())))
}

/// Removes our hooks, and the groups that are empty then; returns whether there was one.
fn remove_ours(hooks: &CstArray, agent: &str) -> bool {
    let mut is_any = false;
    for element in hooks.elements() {
        let group = element.as_object().and_then(|group| group.array_value("hooks"));
        let is_gone = match &group {
            Some(inner) => {
                let was_ours = remove_ours(inner, agent);
                is_any |= was_ours;
                was_ours && inner.elements().is_empty()
            }
            None => command_of(&element).is_some_and(|command| is_ours(&command, agent)),
        };
        if is_gone {
            is_any = true;
            element.remove();
        }
    }
    is_any
}

fn remove_if_empty(object: &CstObject, name: &str, is_empty: bool) {
    if let Some(property) = object.get(name).filter(|_| is_empty) {
        property.remove();
    }
}

/// A YAML document with our hook as the first of an event.
///
/// # Errors
/// The text is not YAML, or `hooks` is written in a way that no line can be put into.
pub fn with_yaml_hook(
    text: &str,
    agent: &str,
    event: &str,
    command: &str,
) -> Result<String, String> {
    let text = &without_yaml_hook(text, agent, event)?;
    let before = yaml(text)?;
    let hook = format!("- command: {}", Value::from(command));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let top = lines.iter().position(|line| names(line, "hooks"));
    let inner = top.and_then(|top| {
        let in_block = |line: &&String| line.is_empty() || line.starts_with([' ', '#']);
        let block = lines[top + 1..].iter().take_while(in_block).count();
        (top + 1..top + 1 + block).find(|at| names(lines[*at].trim_start(), event))
    });
    let (at, fresh) = match (top, inner) {
        (_, Some(inner)) => {
            let next = lines.get(inner + 1).filter(|line| line.trim_start().starts_with("- "));
            (inner + 1, vec![format!("{}{hook}{OURS}", indent(next.unwrap_or(&lines[inner])))])
        }
        (Some(top), None) => {
            let next = lines.get(top + 1).filter(|line| line.starts_with(' '));
            let indent = next.map_or("  ", |line| indent(line)).to_owned();
            (
                top + 1,
                vec![format!("{indent}{event}:{OURS}"), format!("{indent}{indent}{hook}{OURS}")],
            )
        }
        (None, None) => {
            let fresh =
                [format!("hooks:{OURS}"), format!("  {event}:{OURS}"), format!("    {hook}{OURS}")];
            (lines.len(), fresh.to_vec())
        }
    };
    lines.splice(at..at, fresh);
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let after = lines.join(end) + end;
    let mut expected = before;
    if expected.is_null() {
        expected = Value::Object(serde_json::Map::new());
    }
    let expected_hooks = &mut expected["hooks"][event];
    let mut all = vec![serde_json::json!({ "command": command })];
    all.extend(expected_hooks.as_array().cloned().unwrap_or_default());
    *expected_hooks = all.into();
    match yaml(&after).is_ok_and(|after| after == expected) {
        true => Ok(after),
        false => Err(format!(
            "its \"hooks\" are written in a way that cannot be added to: add the line `{hook}` yourself"
        )),
    }
}

/// A YAML document without the lines that are ours.
///
/// # Errors
/// What is left would mean something else: something was written below our lines.
pub fn without_yaml_hook(text: &str, agent: &str, event: &str) -> Result<String, String> {
    let is_kept = |line: &&str| !line.trim_end().ends_with(OURS);
    let after: String = text.split_inclusive('\n').filter(is_kept).collect();
    let is_other =
        |hook: &Value| !hook["command"].as_str().is_some_and(|command| is_ours(command, agent));
    let mut expected = yaml(text)?;
    if let Some(hooks) = expected["hooks"][event].as_array() {
        let others: Vec<Value> = hooks.iter().filter(|hook| is_other(hook)).cloned().collect();
        expected["hooks"][event] = others.into();
    }
    let is_same = yaml(&after).is_ok_and(|after| meaning(after, event) == meaning(expected, event));
    match is_same {
        true => Ok(after),
        false => Err(format!(
            "something was written below the lines that end in{OURS}: take these out yourself"
        )),
    }
}

/// A document in which hooks that are empty are left out.
fn meaning(mut document: Value, event: &str) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        other => other.is_null(),
    };
    if let Some(hooks) = document.get_mut("hooks").and_then(Value::as_object_mut) {
        hooks.retain(|name, value| name != event || !is_empty(value));
    }
    if let Some(fields) = document.as_object_mut() {
        fields.retain(|name, value| name != "hooks" || !is_empty(value));
    }
    if is_empty(&document) { Value::Null } else { document }
}

fn yaml(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|_| "it is not valid YAML".to_owned())
}

/// Whether a line begins the value of a key, which is written below it.
fn names(line: &str, key: &str) -> bool {
    let rest = line.strip_prefix(key).and_then(|rest| rest.strip_prefix(':'));
    rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}
