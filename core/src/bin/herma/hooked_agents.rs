//! The agents that `herma init` sets up: where each has its settings, and what a hook looks like there.

use serde_json::{Value, json};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// An agent with hooks.
pub struct HookedAgent {
    /// Its name in commands.
    pub name: &'static str,
    /// The name that people know it by.
    pub title: &'static str,
    /// A variable that names its folder, and that folder in the home directory without it.
    folder: (&'static str, &'static str),
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
        hook: fn(&str) -> Value,
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
        name: "claude",
        title: "Claude Code",
        folder: ("CLAUDE_CONFIG_DIR", ".claude"),
        file: "settings.json",
        settings: groups(["PreToolUse", "UserPromptSubmit"]),
        note: "",
    },
    HookedAgent {
        name: "gemini",
        title: "Gemini CLI",
        folder: ("", ".gemini"),
        file: "settings.json",
        settings: groups(["BeforeTool", "BeforeAgent"]),
        note: "",
    },
    HookedAgent {
        name: "qwen",
        title: "Qwen Code",
        folder: ("", ".qwen"),
        file: "settings.json",
        settings: groups(["PreToolUse", "UserPromptSubmit"]),
        note: "",
    },
    HookedAgent {
        name: "codex",
        title: "Codex",
        folder: ("CODEX_HOME", ".codex"),
        file: "hooks.json",
        settings: groups(["PreToolUse", "UserPromptSubmit"]),
        note: "Codex skips hooks that you have not trusted: type /hooks in it once",
    },
    HookedAgent {
        name: "cursor",
        title: "Cursor",
        folder: ("", ".cursor"),
        file: "hooks.json",
        settings: Settings::Json {
            events: ["preToolUse", "beforeSubmitPrompt"],
            hook: |command| json!({ "command": command }),
            is_versioned: true,
        },
        note: "",
    },
    HookedAgent {
        name: "copilot",
        title: "Copilot CLI",
        folder: ("COPILOT_HOME", ".copilot"),
        file: "hooks",
        settings: Settings::Files(&["herma.json"], copilot),
        note: "",
    },
    HookedAgent {
        name: "hermes",
        title: "hermes-agent",
        folder: ("HERMES_HOME", ".hermes"),
        file: "config.yaml",
        settings: Settings::Yaml("pre_tool_call"),
        note: "hermes-agent asks once whether it may run the hook; `--accept-hooks` agrees",
    },
    HookedAgent {
        name: "cline",
        title: "Cline",
        folder: ("", ".cline"),
        file: "hooks",
        settings: Settings::Files(&["PreToolUse", "UserPromptSubmit"], script),
        note: "",
    },
    HookedAgent {
        name: "opencode",
        title: "opencode",
        folder: ("XDG_CONFIG_HOME", ".config"),
        file: "opencode/plugin",
        settings: Settings::Files(&["herma.js"], plugin),
        note: "",
    },
    HookedAgent {
        name: "kilo",
        title: "Kilo",
        folder: ("XDG_CONFIG_HOME", ".config"),
        file: "kilo/plugin",
        settings: Settings::Files(&["herma.js"], plugin),
        note: "",
    },
];

impl HookedAgent {
    /// The file or folder with its settings.
    pub fn path(&self, home: &Path, variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
        let (name, default) = self.folder;
        let named = Some(name).filter(|name| !name.is_empty()).and_then(variable);
        let folder = named.filter(|folder| !folder.is_empty());
        home.join(folder.map_or_else(|| default.into(), PathBuf::from)).join(self.file)
    }
}

/// Settings with groups of hooks, as most agents have them.
const fn groups(events: [&'static str; 2]) -> Settings {
    Settings::Json { events, hook: group, is_versioned: false }
}

/// A group for all tools.
fn group(command: &str) -> Value {
    json!({ "hooks": [{ "type": "command", "command": command }] })
}

fn copilot(command: &str) -> String {
    let hook = json!([{ "type": "command", "bash": command }]);
    let hooks = json!({ "preToolUse": hook, "userPromptSubmitted": hook });
    format!("{:#}\n", json!({ "version": 1, "hooks": hooks }))
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
