//! The turns of a story: what the model calls, what the agent makes of it, and what it sends to its model.

use super::agent::DoorError;
use super::disk::changes;
use super::ledger::ListMoment;
use super::rules;
use super::story::{FileTexts, StoryCall};
use super::telling::{Stop, Teller, shortened};
use crate::scripted_model::{Exchange, ModelStep, ToolCall};
use serde_json::json;
use std::collections::BTreeSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a tool may take to write after its turn.
const LATE: Duration = Duration::from_secs(3);

/// A turn for the model.
#[derive(Default)]
struct Scripted {
    messages: Vec<ModelStep>,
    /// The files before each call, and after the last one.
    states: Vec<FileTexts>,
    /// The calls that are possible on these files.
    steps: Vec<Vec<StoryCall>>,
}

impl Teller<'_> {
    /// A turn, in which the user approves or refuses what the agent asks for.
    pub(super) fn say(
        &mut self,
        number: usize,
        steps: &[Vec<StoryCall>],
        approves: bool,
    ) -> Result<(), Stop> {
        let name = format!("{}t{}e", self.prefix, self.ledger.turns.len() + 1);
        let mut turn = self.script(steps)?;
        let refuses = if approves { "" } else { ", and refuses each tool call" };
        self.log(format!("{number}. the user says: do #{name}{refuses}"));
        self.log_messages(&turn.messages);
        self.process.model().add_turn(&name, std::mem::take(&mut turn.messages));
        if !approves {
            turn.states.truncate(1);
            turn.steps.clear();
        }
        self.process.model().take_exchanges();
        let before = self.files();
        let request = json!({ "text": format!("do #{name}"), "approve": approves });
        let mut said = self.process.ask("say", request)?;
        self.follow(&mut said);
        let expected = turn.states.last().cloned().unwrap_or_default();
        let after = self.await_files(&expected);
        self.log(format!("   the agent says: {}", shortened(&said["said"])));
        self.log_changes(&before, &after);
        let exchanges = self.process.model().take_exchanges();
        let is_first = |exchange: &&Exchange| exchange.selected == Some((name.clone(), 0));
        let Some(request) = exchanges.iter().find(is_first) else {
            return Err(Stop::Unjudged(format!("the agent did not ask its model about #{name}")));
        };
        let Scripted { steps, states, .. } = turn;
        self.ledger.add_turn(name, steps.clone(), states);
        if approves {
            self.judge_turn(&steps, &expected, &after)?;
        } else {
            // A user can refuse only what is asked.
            if said["asked"].as_u64().unwrap_or_default() == 0 {
                return Err(Stop::Unjudged(
                    "the agent did not ask before its tool call".to_owned(),
                ));
            }
            let text = || changes(&expected, &after).join("; ");
            self.judge(rules::REFUSED_CALL, after == expected, text);
            self.ledger.leave_open();
        }
        self.judge_request(&request.user_texts());
        self.preview = None;
        self.before_restore = None;
        self.list(ListMoment::Turn)?;
        Ok(())
    }

    /// The model's messages for a turn. A call that is not possible on these files is left out.
    fn script(&mut self, steps: &[Vec<StoryCall>]) -> Result<Scripted, DoorError> {
        let mut files = self.files();
        let mut turn = Scripted { states: vec![files.clone()], ..Scripted::default() };
        for step in steps {
            let mut message = ModelStep::default();
            let mut done = Vec::new();
            let at_step = files.clone();
            for call in step {
                let mut after = files.clone();
                if !call.apply(&mut after) {
                    continue;
                }
                let turns = self.ledger.turns.len();
                let sub_turn = format!("{}sub{turns}n{}", self.prefix, turn.states.len());
                let mut spelled = self.spell(&sub_turn, call, &at_step)?;
                message.tools.extend(spelled.pop());
                turn.messages.extend(spelled.into_iter().map(message_of));
                files = after;
                turn.states.push(files.clone());
                done.push(call.clone());
            }
            if !done.is_empty() {
                turn.messages.push(message);
                turn.steps.push(done);
            }
        }
        Ok(turn)
    }

    /// The tool calls that make a call on these files; `sub_turn` is a name for the turn of a sub-agent.
    fn spell(
        &mut self,
        sub_turn: &str,
        call: &StoryCall,
        files: &FileTexts,
    ) -> Result<Vec<ToolCall>, DoorError> {
        let shell = |command: String| json!({ "kind": "shell", "command": command });
        let request = match call {
            StoryCall::Write { path, content } => {
                let exists = files.contains_key(path);
                json!({ "kind": "write", "path": path, "content": content, "exists": exists })
            }
            StoryCall::Edit { path, new } => {
                json!({ "kind": "edit", "path": path, "old": files.get(path), "new": new })
            }
            StoryCall::Delete { path } => json!({ "kind": "delete", "path": path }),
            StoryCall::ShellWrite { path, content } => {
                shell(format!("echo '{}' > {path}", content.trim_end()))
            }
            StoryCall::ShellMove { from, to } => shell(format!("mv {from} {to}")),
            StoryCall::Delegate(call) => {
                let messages = self.spell(sub_turn, call, files)?.into_iter().map(message_of);
                let messages: Vec<_> = messages.collect();
                self.process.model().add_turn(sub_turn, messages);
                json!({ "kind": "delegate", "text": format!("do #{sub_turn}") })
            }
        };
        self.process.spell(request)
    }

    fn log_messages(&mut self, messages: &[ModelStep]) {
        for message in messages {
            let tools =
                message.tools.iter().map(|tool| format!("{} {}", tool.name, tool.arguments));
            self.log(format!("   the model calls: {}", tools.collect::<Vec<_>>().join(" and ")));
        }
    }

    /// Compares the files after a turn with what its tools write.
    fn judge_turn(
        &mut self,
        steps: &[Vec<StoryCall>],
        expected: &FileTexts,
        after: &FileTexts,
    ) -> Result<(), Stop> {
        let of_turn: BTreeSet<&str> = steps.iter().flatten().flat_map(StoryCall::paths).collect();
        let wrong = changes(expected, after);
        let paths = expected.keys().chain(after.keys());
        let mut wrong_paths = paths.filter(|path| expected.get(*path) != after.get(*path));
        if wrong_paths.any(|path| of_turn.contains(path.as_str())) {
            let why = format!("the agent did not do as it was told: {}", wrong.join("; "));
            return Err(Stop::Unjudged(why));
        }
        let is_after_restore = self.before_restore.is_some();
        if steps.is_empty() || is_after_restore || !wrong.is_empty() {
            self.judge(self.rule_of_writes(), wrong.is_empty(), || wrong.join("; "));
        }
        Ok(())
    }

    /// Compares the turns that the request contains.
    fn judge_request(&mut self, user_texts: &[String]) {
        let turns = self.ledger.turns.iter().enumerate();
        let has = |name: &str| user_texts.iter().any(|text| text.contains(name));
        let sent =
            turns.filter(|(_, turn)| has(&turn.name)).map(|(index, _)| (index + 1).to_string());
        let sent: Vec<String> = sent.collect();
        self.log(format!("   the request contains the turns {}", sent.join(", ")));
        let breaches = self.ledger.judge_request(user_texts);
        self.breach(breaches);
    }

    /// The files, once they are as expected or a tool cannot still be running.
    fn await_files(&self, expected: &FileTexts) -> FileTexts {
        let started = Instant::now();
        loop {
            let files = self.files();
            if files == *expected || started.elapsed() > LATE {
                return files;
            }
            sleep(Duration::from_millis(20));
        }
    }
}

/// A message of the model with one tool call.
fn message_of(tool: ToolCall) -> ModelStep {
    ModelStep { text: String::new(), tools: vec![tool] }
}
