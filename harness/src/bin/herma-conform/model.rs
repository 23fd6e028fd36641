//! `herma-conform model`: a scripted language model for agents.

use crate::ending;
use clap::Args;
use herma_harness::scripted_model::{Script, Server};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// For the help of the command.
pub const EXAMPLES: &str = "\
Answers OpenAI chat completions and responses, Anthropic messages and Gemini generateContent, streamed or not. The newest
user message that contains #NAME selects a turn of the script, and the messages with tool calls since then its step.

A script, as JSON:
  {\"one\": [{\"tools\": [{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.txt\", \"content\": \"1\"}}]},
           {\"text\": \"done\"}]}

Examples:
  herma-conform model script.json --port 8801 --record requests.jsonl
  OPENAI_BASE_URL=http://127.0.0.1:8801/v1 OPENAI_API_KEY=any my-agent 'do #one'";

#[derive(Debug, Args)]
pub struct ModelArguments {
    /// The script: the steps of each turn
    script: PathBuf,
    /// The port of 127.0.0.1 [default: any that is free]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Write every request and its answer to this file, one JSON object a line
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

/// Serves until the process is ended.
pub fn serve(arguments: &ModelArguments) -> ExitCode {
    let script = match read(&arguments.script) {
        Ok(script) => script,
        Err(message) => return ending::fail(&message, ending::USAGE),
    };
    match Server::bind(arguments.port, script, arguments.record.as_deref()) {
        Err(error) => ending::fail(&error.to_string(), ending::USAGE),
        Ok(server) => {
            eprintln!("listening on http://127.0.0.1:{}; Ctrl-C ends it", server.port());
            server.serve();
            ExitCode::SUCCESS
        }
    }
}

fn read(path: &Path) -> Result<Script, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path:?}: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("{path:?} is not a script: {error}"))
}
