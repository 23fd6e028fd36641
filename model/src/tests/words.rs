//! The notation of the tests' scenes: short texts that are parsed into edits of files and requests.

use super::*;

/// Parses the edits of one word: `a=x` writes a file, `a*=x` an executable and `a?=x` an unreadable
/// file, with `;` for a line break; `a~x` rewrites a file and keeps its time; `a>x` creates a link,
/// `a!` a socket, `a|` a fifo, `a/` a directory, `a?/` an unreadable directory; `-a` removes an entry.
/// Paths are relative to `alpha`, or to the world if they start with a slash.
pub(super) fn parse_edits(word: &str) -> Vec<Edit> {
    let in_world = |name: &str| match name.strip_prefix('/') {
        Some(path) => ByteString::from(path),
        None => ByteString::from(&*format!("work/alpha/{name}")),
    };
    if let Some(name) = word.strip_prefix('-') {
        return vec![Edit::Remove { path: in_world(name) }];
    }
    if let Some((name, content)) = word.split_once('=') {
        let path = in_world(name.trim_end_matches(['*', '?']));
        let content = ByteString::from(&*content.replace(';', "\n"));
        let write = Edit::Write { path: path.clone(), content, executable: name.contains('*') };
        return vec![write, Edit::SetReadable { path, readable: !name.contains('?') }];
    }
    if let Some((name, content)) = word.split_once('~') {
        return vec![Edit::Rewrite { path: in_world(name), content: content.into() }];
    }
    if let Some((name, target)) = word.split_once('>') {
        return vec![Edit::Link { path: in_world(name), target: target.into() }];
    }
    for (mark, kind) in [('!', SpecialKind::Socket), ('|', SpecialKind::Fifo)] {
        if let Some(name) = word.strip_suffix(mark) {
            return vec![Edit::MakeSpecial { path: in_world(name), kind }];
        }
    }
    let path = in_world(word.trim_end_matches(['/', '?']));
    let readable = !word.ends_with("?/");
    vec![Edit::MakeDirectory { path: path.clone() }, Edit::SetFolderReadable { path, readable }]
}

/// Parses a request; a bare name is that of a project in `work`.
pub(super) fn parse_request(text: &str) -> Request {
    let words: Vec<&str> = text.split(' ').collect();
    let has_flag = |flag: &str| words.contains(&flag);
    let number = |index: usize| words[index].parse::<u64>().unwrap();
    let typed = words.get(1).copied().unwrap_or_default();
    let is_name = words[0] != "project" && typed.bytes().all(|byte| byte.is_ascii_alphabetic());
    let dir = if is_name { (&*format!("/world/work/{typed}")).into() } else { typed.into() };
    let target = words.get(2).copied().unwrap_or_default().into();
    match words[0] {
        "turn" => Request::NewTurn,
        "reopen" => Request::Reopen,
        "clock" => Request::SetClock { seconds: words[1].parse().unwrap() },
        "project" => Request::ProjectOf { file: dir },
        "classify" => Request::Classify { command: words[1..].join(" ") },
        "ensure" => Request::EnsureCheckpoint { dir, reason: text.to_owned() },
        "take" => Request::Checkpoint { dir, reason: text.to_owned() },
        "list" => Request::List { dir },
        "print" => Request::PrintList { dir },
        "without" => Request::WithoutBackend { dir, reason: text.to_owned() },
        "writes" => Request::BeforeTool { dir, tool: Tool::WriteFile { path: target } },
        "patches" => {
            let files = words[2..].iter().map(|file| (*file).into()).collect();
            Request::BeforeTool { dir, tool: Tool::Patch { form: PatchForm::Git, files } }
        }
        "runs" => {
            Request::BeforeTool { dir, tool: Tool::Terminal { command: words[2..].join(" ") } }
        }
        "configured" => Request::Configured,
        "prunes" => Request::PruneAsConfigured,
        "diff" => Request::Diff { dir, target },
        "restore" => {
            Request::Restore { dir, target, exact: has_flag("exact"), force: has_flag("force") }
        }
        "file" => Request::RestoreFile { dir, target, path: words[3].into() },
        "begins" => Request::ToolWrites { dir, path: words[2].into() },
        "ends" => Request::ToolWrote { dir, path: words[2].into() },
        "undo" => Request::Undo { dir },
        "redo" => Request::Redo { dir },
        "latest" => Request::RestoreLatest { dir, exact: false },
        "sweep" => Request::Sweep,
        "prune" => Request::Prune {
            retention_days: number(1),
            max_total_bytes: number(2),
            delete_orphans: has_flag("orphans"),
        },
        "status" => Request::Status,
        "legacy" => Request::ClearLegacy,
        "clear" => Request::Clear,
        _ => parse_agent_request(&words, dir, target),
    }
}

/// Parses a request about labels and pins, or about the agent apart from its files.
fn parse_agent_request(words: &[&str], dir: ByteString, target: ByteString) -> Request {
    match words[0] {
        "label" => Request::Label { dir, label: words[2].to_owned() },
        "pin" => Request::Pin { dir, target },
        "unpin" => Request::Unpin { dir, target },
        "set" => Request::SetState { part: Part::Goal, value: words[1].into() },
        "get" => Request::GetState { part: Part::Goal },
        "did" => {
            let log = "/world/outside/log".into();
            let compensation = |word: &&str| Compensation { log, fails: *word == "fails" };
            let kind = "pr".to_owned();
            let id = Some(words[1].to_owned());
            let compensation = words.get(2).map(compensation);
            Request::External { action: Action { kind, id, to: None }, compensation }
        }
        "compensate" => Request::Compensate,
        "accept" => Request::Accept,
        "risk" => {
            Request::Event { dir, event: AgentEvent::HighRisk { command: HIGH_RISK[0].into() } }
        }
        "looks" => Request::Event { dir, event: AgentEvent::HighRisk { command: "ls".into() } },
        "progress" => {
            let percent = |index: usize| words[index].parse().unwrap();
            Request::Event {
                dir,
                event: AgentEvent::Milestone { from: percent(2), to: percent(3) },
            }
        }
        "spawn" => Request::Spawn,
        "join" => Request::Join,
        unknown => panic!("{unknown}"),
    }
}
