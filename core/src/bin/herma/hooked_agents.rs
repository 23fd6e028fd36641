//! The agents that `herma init` sets up: where each has its settings, and what a hook looks like there.

use jsonc_parser::cst::CstInputValue;
use jsonc_parser::json;
use serde_json::Value;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An agent with hooks.
pub struct HookedAgent {
    /// Its name in commands.
    pub name: &'static str,
    /// The name that people know it by.
    pub title: &'static str,
    /// Its folder in the home directory.
    folder: &'static str,
    /// The environment variable that names another folder; empty if the agent has no such variable.
    variable: &'static str,
    /// Its settings in that folder.
    file: &'static str,
    /// What these settings are.
    pub settings: Settings,
    /// What else the user has to do or know; empty if nothing.
    pub note: &'static str,
}

/// What the settings of an agent are, as far as its hooks are concerned.
pub enum Settings {
    /// JSON, perhaps with comments: an array for each event below `hooks`.
    Json {
        /// The events, and what is appended to the array of each.
        events: [&'static str; 2],
        /// The hook for a command.
        hook: fn(&str) -> CstInputValue,
        /// Whether the file must say `"version": 1`.
        is_versioned: bool,
    },
    /// YAML: a list for the event below `hooks`.
    Yaml(&'static str),
    /// Files that hold the hook and nothing else; with the text for a command.
    Files(&'static [&'static str], fn(&str) -> String),
}

/// All of them.
pub const AGENTS: &[HookedAgent] = &[
    HookedAgent {
        variable: "CLAUDE_CONFIG_DIR",
        ..agent("claude", "Claude Code", ".claude", "settings.json")
    },
    HookedAgent {
        settings: groups(["BeforeTool", "BeforeAgent"]),
        ..agent("gemini", "Gemini CLI", ".gemini", "settings.json")
    },
    agent("qwen", "Qwen Code", ".qwen", "settings.json"),
    HookedAgent {
        variable: "CODEX_HOME",
        note: "Codex skips hooks that you have not trusted: type /hooks in it once",
        ..agent("codex", "Codex", ".codex", "hooks.json")
    },
    HookedAgent {
        settings: Settings::Json {
            events: ["preToolUse", "beforeSubmitPrompt"],
            hook: |command| json!({ "command": command }),
            is_versioned: true,
        },
        ..agent("cursor", "Cursor", ".cursor", "hooks.json")
    },
    HookedAgent {
        variable: "COPILOT_HOME",
        settings: Settings::Files(&["herma.json"], copilot),
        ..agent("copilot", "Copilot CLI", ".copilot", "hooks")
    },
    HookedAgent {
        variable: "HERMES_HOME",
        settings: Settings::Yaml("pre_tool_call"),
        note: "hermes-agent asks once whether it may run the hook; `--accept-hooks` agrees",
        ..agent("hermes", "hermes-agent", ".hermes", "config.yaml")
    },
    HookedAgent {
        settings: Settings::Files(&["PreToolUse", "UserPromptSubmit"], script),
        ..agent("cline", "Cline", ".cline", "hooks")
    },
    HookedAgent {
        variable: "XDG_CONFIG_HOME",
        settings: Settings::Files(&["herma.js"], plugin),
        ..agent("opencode", "opencode", ".config", "opencode/plugin")
    },
    HookedAgent {
        variable: "XDG_CONFIG_HOME",
        settings: Settings::Files(&["herma.js"], plugin),
        ..agent("kilo", "Kilo", ".config", "kilo/plugin")
    },
];

/// An agent with settings as Claude Code has them.
const fn agent(
    name: &'static str,
    title: &'static str,
    folder: &'static str,
    file: &'static str,
) -> HookedAgent {
    let settings = groups(["PreToolUse", "UserPromptSubmit"]);
    HookedAgent { name, title, folder, variable: "", file, settings, note: "" }
}

impl HookedAgent {
    /// The file or folder with its settings.
    pub fn path(&self, home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
        let folder = variable(self.variable).filter(|folder| !folder.is_empty());
        let folder = PathBuf::from(folder.unwrap_or_else(|| self.folder.into()));
        // A tilde that no shell expanded.
        home.join(folder.strip_prefix("~").unwrap_or(&folder)).join(self.file)
    }
}

/// Settings with groups of hooks, as most agents have them.
const fn groups(events: [&'static str; 2]) -> Settings {
    Settings::Json { events, hook: group, is_versioned: false }
}

/// A group for all tools.
fn group(command: &str) -> CstInputValue {
    json!({ "hooks": [{ "command": command, "type": "command" }] })
}

fn copilot(command: &str) -> String {
    let hook = serde_json::json!([{ "type": "command", "bash": command }]);
    let hooks = serde_json::json!({ "preToolUse": hook, "userPromptSubmitted": hook });
    format!("{:#}\n", serde_json::json!({ "version": 1, "hooks": hooks }))
}

fn script(command: &str) -> String {
    format!("#!/bin/sh\n# Made by `herma init`.\nexec {command}\n")
}

/// A plugin that calls the command before each tool, and when the user says something.
fn plugin(command: &str) -> String {
    format!(
        r#"// Made by `herma init`.
import {{ execFileSync }} from "node:child_process";

const call = (input) => {{
  try {{
    execFileSync("/bin/sh", ["-c", {}], {{
      input: JSON.stringify(input),
      stdio: ["pipe", "ignore", "ignore"],
    }});
  }} catch {{
    // A tool is never blocked.
  }}
}};

export const Herma = async ({{ directory }}) => ({{
  "chat.message": async ({{ sessionID }}) => call({{ sessionID, cwd: directory, prompt: "said" }}),
  "tool.execute.before": async ({{ tool, sessionID }}, {{ args }}) =>
    call({{ sessionID, cwd: directory, tool, args }}),
}});
"#,
        Value::from(command)
    )
}
