//! Puts a hook into the text of an agent's settings, and takes it out again; comments, order and everything else
//! stay. Text in, text out: [`crate::init`] reads and writes the files.

use herma_core::text::line;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstObject, CstRootNode};
use serde_json::Value;

/// Ends the lines of YAML that are ours.
const OURS: &str = "  # herma init";

/// Whether a hook is the one of that agent that `herma init` made.
pub fn is_ours(text: &str, agent: &str) -> bool {
    text.contains("herma") && text.contains(&format!(" hook {agent}"))
}

/// A JSON document with a hook for each event, which is appended where there is none yet.
///
/// # Errors
/// The text is not JSON, or `hooks` is not what it should be.
pub fn with_json_hooks(
    text: &str,
    agent: &str,
    is_versioned: bool,
    hooks: &[(&str, Value)],
) -> Result<String, String> {
    let root = parse(text)?;
    let object = root.object_value_or_create().ok_or("it is not a JSON object")?;
    if is_versioned && object.get("version").is_none() {
        object.append("version", CstInputValue::Number("1".to_owned()));
    }
    let wrong = |name: &str| format!("its \"{name}\" has another form than expected");
    let all = object.object_value_or_create("hooks").ok_or_else(|| wrong("hooks"))?;
    for (event, hook) in hooks {
        let of_event = all.array_value_or_create(event).ok_or_else(|| wrong(event))?;
        if !of_event.elements().iter().any(|element| is_ours(&element.to_string(), agent)) {
            of_event.append(input(hook));
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
        if let Some(of_event) = all.array_value(event) {
            remove_ours(&of_event, agent);
            remove_if_empty(&all, event, of_event.elements().is_empty());
        }
    }
    remove_if_empty(&object, "hooks", all.properties().is_empty());
    Ok(root.to_string())
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    CstRootNode::parse(text, &ParseOptions::default())
        .map_err(|error| format!("it is not valid JSON: {}", line(error.to_string().as_bytes())))
}

/// Removes our hooks, and groups in which there is no other.
fn remove_ours(hooks: &CstArray, agent: &str) {
    for element in hooks.elements() {
        let group = element.as_object().and_then(|group| group.array_value("hooks"));
        if let Some(inner) = &group {
            remove_ours(inner, agent);
        }
        let is_ours = is_ours(&element.to_string(), agent);
        if group.map_or(is_ours, |inner| inner.elements().is_empty()) {
            element.remove();
        }
    }
}

fn remove_if_empty(object: &CstObject, name: &str, is_empty: bool) {
    if let Some(property) = object.get(name).filter(|_| is_empty) {
        property.remove();
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| (name.clone(), input(value));
            CstInputValue::Object(fields.iter().map(field).collect())
        }
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
    let before = yaml(text)?;
    if before["hooks"][event]
        .as_array()
        .is_some_and(|hooks| hooks.iter().any(|hook| is_ours(&hook.to_string(), agent)))
    {
        return Ok(text.to_owned());
    }
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
    let after = lines.join("\n") + "\n";
    let mut expected = before;
    if expected.is_null() {
        expected = Value::Object(serde_json::Map::new());
    }
    let expected_hooks = &mut expected["hooks"][event];
    let mut all = vec![serde_json::json!({ "command": command })];
    all.extend(expected_hooks.as_array().cloned().unwrap_or_default());
    *expected_hooks = all.into();
    if yaml(&after).is_ok_and(|after| after == expected) {
        Ok(after)
    } else {
        Err(unwritable(&hook))
    }
}

/// A YAML document without the lines that are ours.
///
/// # Errors
/// The rest would not be YAML: something was written below our lines.
pub fn without_yaml_hook(text: &str) -> Result<String, String> {
    let kept = |line: &&str| !line.ends_with(OURS);
    let after: String = text.split_inclusive('\n').filter(|line| kept(&line.trim_end())).collect();
    yaml(&after)?;
    Ok(after)
}

fn unwritable(hook: &str) -> String {
    format!(
        "its \"hooks\" are written in a way that cannot be added to: add the line `{hook}` yourself"
    )
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
