//! The state of a session's agent in addition to its files: a board of cards, a goal, memories and its
//! last tool calls, each in a JSON file that users can read and edit; and its external actions.

use super::Session;
use super::lines::AgentCommand;
use crate::agent_folder;
use crate::commands::{Answer, Ending, Failure, Herma};
use crate::text;
use crate::whole::{self, COMPENSATIONS};
use herma_core::agent::{CheckpointManager, Event};
use herma_core::disk::SystemDisk;
use herma_core::state::{PartKind, TAIL_MAX};
use herma_core::{Occasion, Outcome, Taken};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};

/// Changes the array `name` of an object; creates the object and the array if they are missing.
fn change_list<T>(state: &mut Value, name: &str, work: impl FnOnce(&mut Vec<Value>) -> T) -> T {
    if !state.is_object() {
        *state = json!({});
    }
    let mut items = match state[name].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    };
    let result = work(&mut items);
    state[name] = Value::Array(items);
    result
}

impl<W: Write> Session<W> {
    /// Loads the state of the agent if it has one, and undoes its rollback that died.
    pub(super) fn find_agent(&mut self) -> io::Result<()> {
        let Ok(herma) = &mut self.herma else { return Ok(()) };
        let (state, failure) = herma.find_state();
        let mut notices: Vec<String> = failure.map(|failure| failure.message).into_iter().collect();
        if let Some(state) = state {
            let recovered = herma.manager.recover();
            notices.extend(recovered.unwrap_or_else(|error| vec![error.to_string()]));
            if let Ok(manager) = self.checkpoints.manager_mut() {
                manager.set_state(state);
            }
            let turn = self.conversation.turns().last().and_then(|turn| turn.id.clone());
            self.set_turn(turn);
        }
        notices.iter().try_for_each(|notice| self.notice(notice))
    }

    pub(super) fn has_state(&self) -> bool {
        self.herma.as_ref().is_ok_and(|herma| !herma.manager.state().is_empty())
    }

    /// Makes the state of the agent's folder, which may be missing, the state of this project too, and loads
    /// it.
    fn ensure_state(&mut self) -> io::Result<()> {
        if self.has_state() {
            return Ok(());
        }
        let Ok(herma) = &self.herma else { return Ok(()) };
        agent_folder::register(&self.environment, &herma.project(None))?;
        self.find_agent()
    }

    /// Changes a part of the state, which other sessions share.
    fn change<T>(&mut self, kind: PartKind, work: impl FnOnce(&mut Value) -> T) -> io::Result<T> {
        let manager = whole::state_manager(&self.environment);
        let changed = manager.change_part(kind.name(), work).map_err(io::Error::other)?;
        changed.notices.iter().try_for_each(|notice| self.notice(notice))?;
        Ok(changed.result)
    }

    /// A turn begins.
    pub(super) fn say(&mut self, message: &str) -> io::Result<()> {
        let ended = self.turns_begun;
        if ended > 0 {
            self.report_event(&Event::TurnEnded(ended))?;
        }
        self.turns_begun += 1;
        let id = Some(format!("turn-{}-{}", std::process::id(), self.turns_begun));
        self.conversation.begin_as(id.clone(), message);
        self.checkpoints.new_turn();
        self.set_turn(id);
        Ok(())
    }

    fn set_turn(&mut self, id: Option<String>) {
        if let Ok(herma) = &mut self.herma {
            herma.manager.state_mut().set_turn(id.clone());
        }
        if let Ok(manager) = self.checkpoints.manager_mut() {
            manager.state_mut().set_turn(id);
        }
    }

    /// Reports an event to the policy, and prints the checkpoint that was taken for it.
    pub(super) fn report_event(&mut self, event: &Event<'_>) -> io::Result<()> {
        if !self.has_state() {
            return Ok(());
        }
        let directory = self.directory.clone();
        let (decision, taken) = self.checkpoints.happens(&directory, event);
        match (decision.trigger, taken) {
            (Some(trigger), Some(taken)) => self.print_taken(&taken, trigger.word()),
            _ => Ok(()),
        }
    }

    fn print_taken(&mut self, taken: &Taken, cause: &str) -> io::Result<()> {
        if let Outcome::Created { id } = &taken.outcome {
            writeln!(self.output, "  took checkpoint {} ({cause})", text::short_id(id))?;
        }
        taken.notices.iter().try_for_each(|notice| self.notice(notice))
    }

    /// Executes a command about the agent.
    pub(super) fn agent(&mut self, command: &AgentCommand) -> io::Result<()> {
        let ensured = self.ensure_state();
        let done = ensured.and_then(|()| self.try_agent(command));
        done.or_else(|error| self.failed(&format!("the line was not executed: {error}")))
    }

    fn try_agent(&mut self, command: &AgentCommand) -> io::Result<()> {
        match command {
            AgentCommand::Card { id, state, title } => self.card(id, state, title),
            AgentCommand::Goal(active) => {
                self.change(PartKind::Goal, |goal| {
                    *goal = json!({"active": active, "progress": 0.0});
                })?;
                self.print(&format!("the goal is: {active}"))
            }
            AgentCommand::Progress(typed) => self.progress(typed),
            AgentCommand::Remember(memory) => self.remember(memory),
            AgentCommand::Outside { kind, id, to } => {
                self.outside(kind, id.as_deref(), to.as_deref())
            }
            AgentCommand::Register { kind, command } => self.register(kind, command),
            AgentCommand::Label(label) => self.label(label),
            AgentCommand::Unpin(target) => {
                let directory = self.directory.clone();
                self.print_answer(|herma| herma.pin(&directory, target.as_bytes(), false))
            }
            AgentCommand::Actions(command) => {
                self.print_answer(|herma| herma.actions(*command, "a person in a session"))
            }
            AgentCommand::HandOff(name) => self.hand_off(name),
            AgentCommand::Back => self.back(),
        }
    }

    pub(super) fn print(&mut self, message: &str) -> io::Result<()> {
        writeln!(self.output, "  {}", text::line(message))
    }

    fn card(&mut self, id: &str, state: &str, title: &str) -> io::Result<()> {
        let before = self.change(PartKind::Kanban, |board| {
            change_list(board, "cards", |cards| move_card(cards, id, state, title))
        })?;
        self.print(&format!("card {id} is {state}"))?;
        self.report_event(&Event::Card { id, from: &before, to: state })
    }

    fn progress(&mut self, typed: &str) -> io::Result<()> {
        let Some(to) = typed.parse().ok().filter(|to: &f64| (0.0..=1.0).contains(to)) else {
            return self.failed(&format!("{typed} is not a number from 0 to 1"));
        };
        let (goal, from) = self.change(PartKind::Goal, |goal| {
            let from = goal["progress"].as_f64().unwrap_or_default();
            let active = goal["active"].as_str().unwrap_or_default().to_owned();
            *goal = json!({"active": active, "progress": to});
            (active, from)
        })?;
        self.print(&format!("{goal}: {}%", (to * 100.0).round()))?;
        self.report_event(&Event::Progress { goal: &goal, from, to })
    }

    fn remember(&mut self, memory: &str) -> io::Result<()> {
        let head = self.change(PartKind::Memory, |memories| {
            let head = change_list(memories, "entries", |entries| {
                let head = format!("mem_{}", entries.len() + 1);
                entries.push(json!({"id": head, "text": memory}));
                head
            });
            memories["head"] = json!(head);
            head
        })?;
        self.print(&format!("remembered as {head}"))
    }

    /// Adds a tool call to the tail of the history.
    pub(super) fn remember_call(&mut self, call: &str) -> io::Result<()> {
        if !self.has_state() {
            return Ok(());
        }
        let recorded = self.change(PartKind::History, |history| {
            change_list(history, "calls", |calls| {
                calls.push(json!(call));
                let excess = calls.len().saturating_sub(TAIL_MAX);
                calls.drain(..excess);
            });
        });
        recorded.or_else(|error| {
            self.notice(&format!("this call was not added to the history: {error}"))
        })
    }

    fn outside(&mut self, kind: &str, id: Option<&str>, to: Option<&str>) -> io::Result<()> {
        let recorded = self.ask(|herma| match herma.manager.state().external() {
            Some(external) => Ok(external.record(kind, id, to)?),
            None => {
                let why = "there is no agent state in which to record external actions";
                Err(Failure::new("no_agent", why))
            }
        })?;
        let Some(number) = recorded else { return Ok(()) };
        let note = herma_core::ActionNote {
            number,
            kind: kind.to_owned(),
            id: id.map(str::to_owned),
            to: to.map(str::to_owned),
        };
        self.did(&format!("outside: {note}"))
    }

    fn register(&mut self, kind: &str, command: &str) -> io::Result<()> {
        let folder = self.environment.agent_folder();
        let add = || -> Result<(), Failure> {
            let mut compensations = whole::registered(&SystemDisk, &folder)?;
            compensations.insert(kind.to_owned(), command.to_owned());
            let text = serde_json::to_string_pretty(&compensations)?;
            let written = fs::write(folder.join(COMPENSATIONS), text + "\n");
            written.map_err(|error| Failure::new("io", error.to_string()))
        };
        let added = whole::state_manager(&self.environment)
            .with_exclusive_state(add)
            .map_err(Failure::from);
        if let Err(failure) = added.and_then(|added| added.result) {
            return self.failed(&failure.message);
        }
        self.find_agent()?;
        self.print(&format!("{kind} is compensated by: {command}"))
    }

    fn label(&mut self, label: &str) -> io::Result<()> {
        let directory = self.directory.clone();
        let occasion = Occasion::labelled(label);
        let taken = self.ask(|herma| Ok(herma.manager.checkpoint_for(&directory, &occasion)?))?;
        let Some(taken) = taken else { return Ok(()) };
        if let Outcome::Created { id } = &taken.outcome {
            self.took(id, true);
        }
        self.print_taken(&taken, label)
    }

    fn print_answer(
        &mut self,
        request: impl FnOnce(&Herma) -> Result<Answer, Failure>,
    ) -> io::Result<()> {
        let Some(Answer { bytes, ending, .. }) = self.ask(request)? else { return Ok(()) };
        self.output.write_all(&bytes)?;
        match ending {
            Ending::Incomplete(failure) => self.failed(&failure.message),
            Ending::Done | Ending::Declined => Ok(()),
        }
    }

    /// Hands over to a sub-agent: it has turns of its own, in the same files and with the same state.
    // rule: agent/composes
    fn hand_off(&mut self, name: &str) -> io::Result<()> {
        let state = self.ask(|herma| Ok(herma.manager.state().clone()))?;
        let Some(state) = state else { return Ok(()) };
        let checkpoints = CheckpointManager::configured(self.environment.clone()).with_state(state);
        let parent = std::mem::replace(&mut self.checkpoints, checkpoints);
        self.waiting.push((name.to_owned(), parent));
        self.print(&format!("{name} takes over"))
    }

    fn back(&mut self) -> io::Result<()> {
        match self.waiting.pop() {
            Some((name, parent)) => {
                self.checkpoints = parent;
                self.print(&format!("{name} is done"))
            }
            None => self.failed("no sub-agent is running"),
        }
    }
}

/// Moves a card to a state, and returns its state before; a card with a new id is added.
fn move_card(cards: &mut Vec<Value>, id: &str, state: &str, title: &str) -> String {
    let existing = cards.iter_mut().find(|card| card["id"] == id);
    let Some(card) = existing else {
        cards.push(json!({"id": id, "title": title, "state": state}));
        return String::new();
    };
    let before = card["state"].as_str().unwrap_or_default().to_owned();
    card["state"] = json!(state);
    if !title.is_empty() {
        card["title"] = json!(title);
    }
    before
}
