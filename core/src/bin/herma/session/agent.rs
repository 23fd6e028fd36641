//! What the agent of a session has beside its files: a board of cards, a goal, memories and the last
//! calls of its tools, each in a file of JSON that a person can read and edit; and what it does outside.

use super::Session;
use super::lines::Agent;
use crate::arguments::Actions;
use crate::commands::{Answer, Ending, Failure};
use crate::text;
use crate::whole::{self, COMPENSATIONS};
use herma_core::agent::{CheckpointManager, Event};
use herma_core::disk::SystemDisk;
use herma_core::state::{PartKind, TAIL_MAX};
use herma_core::{Occasion, Outcome, Taken};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Write};

/// Changes the array of that name in an object; both are made where they are not.
fn change_list<T>(state: &mut Value, name: &str, work: impl FnOnce(&mut Vec<Value>) -> T) -> T {
    if !state.is_object() {
        *state = json!({});
    }
    let mut all = match state[name].take() {
        Value::Array(all) => all,
        _ => Vec::new(),
    };
    let done = work(&mut all);
    state[name] = Value::Array(all);
    done
}

impl<W: Write> Session<W> {
    /// Finds the state of an agent that has one, and undoes a rollback of it that died.
    pub(super) fn find_agent(&mut self) -> io::Result<()> {
        let Ok(herma) = &mut self.herma else { return Ok(()) };
        let (found, unusable) = herma.find_state();
        if let Some(failure) = unusable {
            self.notice(&failure.message)?;
        }
        match found {
            None => Ok(()),
            Some(state) => {
                if let Ok(manager) = self.checkpoints.manager_mut() {
                    manager.set_state(state);
                }
                let turn = self.conversation.turns().last().and_then(|turn| turn.id.clone());
                self.set_turn(turn);
                let Ok(herma) = &mut self.herma else { return Ok(()) };
                match herma.manager.recover() {
                    Ok(said) => said.iter().try_for_each(|one| self.notice(one)),
                    Err(error) => self.notice(&error.to_string()),
                }
            }
        }
    }

    pub(super) fn has_state(&self) -> bool {
        self.herma.as_ref().is_ok_and(|herma| !herma.manager.state().is_empty())
    }

    /// Makes the agent's folder, if it is not there.
    fn with_state(&mut self) -> io::Result<()> {
        if self.has_state() {
            return Ok(());
        }
        fs::create_dir_all(self.environment.agent_folder())?;
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
        let ended = self.begun;
        if ended > 0 {
            self.happens(&Event::TurnEnded(ended))?;
        }
        self.begun += 1;
        let id = Some(format!("turn-{}-{}", std::process::id(), self.begun));
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

    /// Tells the policy what happens, and says what was taken for it.
    pub(super) fn happens(&mut self, event: &Event<'_>) -> io::Result<()> {
        if !self.has_state() {
            return Ok(());
        }
        let directory = self.directory.clone();
        let (decision, taken) = self.checkpoints.happens(&directory, event);
        let Some(trigger) = decision.trigger else { return Ok(()) };
        match taken {
            Some(taken) => self.took(&taken, trigger.word()),
            None => Ok(()),
        }
    }

    fn took(&mut self, taken: &Taken, why: &str) -> io::Result<()> {
        if let Outcome::Created { id } = &taken.outcome {
            let id = id.get(..7).unwrap_or(id);
            writeln!(self.output, "  took checkpoint {id} ({why})")?;
        }
        for notice in &taken.notices {
            self.notice(notice)?;
        }
        Ok(())
    }

    /// Does what is asked about the agent.
    pub(super) fn agent(&mut self, asked: &Agent) -> io::Result<()> {
        if let Agent::Compact = asked {
            let turns = self.conversation.turns().len();
            self.conversation.compact("what was said before");
            return self.told(&format!("{} became one", text::count(turns, "turn", "turns")));
        }
        if let Agent::Explain(command) = asked {
            let decision = self.checkpoints.explain(&Event::Command(command));
            let would = if decision.trigger.is_some() { "would" } else { "would not" };
            return self.told(&format!("{would} take a checkpoint: {}", decision.why));
        }
        let made = self.with_state();
        let done = made.and_then(|()| self.try_agent(asked));
        done.or_else(|error| self.failed(&format!("it was not done: {error}")))
    }

    fn try_agent(&mut self, asked: &Agent) -> io::Result<()> {
        match asked {
            Agent::Card { id, state, title } => self.card(id, state, title),
            Agent::Goal(active) => {
                self.change(PartKind::Goal, |goal| {
                    *goal = json!({"active": active, "progress": 0.0});
                })?;
                self.told(&format!("the goal is: {active}"))
            }
            Agent::Progress(typed) => self.progress(typed),
            Agent::Remember(memory) => self.remember(memory),
            Agent::Outside { kind, id, to } => self.outside(kind, id.as_deref(), to.as_deref()),
            Agent::Register { kind, command } => self.register(kind, command),
            Agent::Label(label) => self.label(label),
            Agent::Unpin(target) => {
                let directory = self.directory.clone();
                self.answered(|herma| herma.pin(&directory, target.as_bytes(), false))
            }
            Agent::Compensate { again } => self.settle(Actions::Compensate { again: *again }),
            Agent::Accept => self.settle(Actions::Accept),
            Agent::Actions => self.settle(Actions::List),
            Agent::Audit => self.settle(Actions::Audit),
            Agent::HandOff(name) => self.hand_off(name),
            Agent::Back => self.back(),
            // Done before a state is made for them.
            Agent::Compact | Agent::Explain(_) => Ok(()),
        }
    }

    fn told(&mut self, what: &str) -> io::Result<()> {
        writeln!(self.output, "  {}", text::line(what.as_bytes()))
    }

    fn card(&mut self, id: &str, state: &str, title: &str) -> io::Result<()> {
        let before = self.change(PartKind::Kanban, |board| {
            change_list(board, "cards", |cards| move_card(cards, id, state, title))
        })?;
        self.told(&format!("card {id} is {state}"))?;
        self.happens(&Event::Card { id, from: &before, to: state })
    }

    fn progress(&mut self, typed: &str) -> io::Result<()> {
        let Some(to) = typed.parse().ok().filter(|to: &f64| (0.0..=1.0).contains(to)) else {
            return self.failed(&format!("{typed} is no number from 0 to 1"));
        };
        let (goal, from) = self.change(PartKind::Goal, |goal| {
            let from = goal["progress"].as_f64().unwrap_or_default();
            let active = goal["active"].as_str().unwrap_or_default().to_owned();
            *goal = json!({"active": active, "progress": to});
            (active, from)
        })?;
        self.told(&format!("{goal}: {} of 100", (to * 100.0).round()))?;
        self.happens(&Event::Progress { goal: &goal, from, to })
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
        self.told(&format!("remembered as {head}"))
    }

    /// Adds a call of a tool to the tail of the history.
    pub(super) fn remember_call(&mut self, what: &str) -> io::Result<()> {
        if !self.has_state() {
            return Ok(());
        }
        let noted = self.change(PartKind::History, |history| {
            change_list(history, "calls", |calls| {
                calls.push(json!(what));
                let excess = calls.len().saturating_sub(TAIL_MAX);
                calls.drain(..excess);
            });
        });
        noted.or_else(|error| self.notice(&format!("the call is not in the history: {error}")))
    }

    fn outside(&mut self, kind: &str, id: Option<&str>, to: Option<&str>) -> io::Result<()> {
        let recorded = match &self.herma {
            Ok(herma) => match herma.manager.state().external() {
                Some(external) => external.record(kind, id, to).map_err(Failure::from),
                None => return self.failed("there is no agent that could do anything outside"),
            },
            Err(failure) => {
                let message = failure.message.clone();
                return self.failed(&message);
            }
        };
        match recorded {
            Ok(number) => {
                let note = herma_core::ActionNote {
                    number,
                    kind: kind.to_owned(),
                    id: id.map(str::to_owned),
                    to: to.map(str::to_owned),
                };
                self.did(&format!("outside: {note}"))
            }
            Err(failure) => self.failed(&failure.message),
        }
    }

    fn register(&mut self, kind: &str, command: &str) -> io::Result<()> {
        let folder = self.environment.agent_folder();
        let add = || -> Result<(), Failure> {
            let mut all = whole::registered(&SystemDisk, &folder)?;
            all.insert(kind.to_owned(), command.to_owned());
            let text = serde_json::to_string_pretty(&all)?;
            let written = fs::write(folder.join(COMPENSATIONS), text + "\n");
            written.map_err(|error| Failure { code: "io", message: error.to_string() })
        };
        let added = whole::state_manager(&self.environment).while_alone(add).map_err(Failure::from);
        if let Err(failure) = added.and_then(|added| added.result) {
            return self.failed(&failure.message);
        }
        self.find_agent()?;
        self.told(&format!("{kind} is undone by: {command}"))
    }

    fn label(&mut self, label: &str) -> io::Result<()> {
        let taken = match &self.herma {
            Ok(herma) => {
                let occasion = Occasion::labelled(label);
                herma.manager.checkpoint_for(&self.directory, &occasion).map_err(Failure::from)
            }
            Err(failure) => return self.failed(&failure.message.clone()),
        };
        match taken {
            Ok(taken) => self.took(&taken, label),
            Err(failure) => self.failed(&failure.message),
        }
    }

    fn settle(&mut self, about: Actions) -> io::Result<()> {
        self.answered(|herma| match herma.manager.state().external() {
            Some(external) => herma.settle(external, about, "a person in a session"),
            None => herma.actions(about),
        })
    }

    fn answered(
        &mut self,
        ask: impl FnOnce(&crate::commands::Herma) -> Result<Answer, Failure>,
    ) -> io::Result<()> {
        let answered = match &self.herma {
            Ok(herma) => ask(herma),
            Err(failure) => return self.failed(&failure.message.clone()),
        };
        match answered {
            Err(failure) => self.failed(&failure.message),
            Ok(Answer { bytes, ending, .. }) => {
                self.output.write_all(&bytes)?;
                match ending {
                    Ending::Incomplete(failure) => self.failed(&failure.message),
                    Ending::Done | Ending::Declined => Ok(()),
                }
            }
        }
    }

    /// A sub-agent goes on: it has turns of its own, in the same files and with the same state.
    // rule: agent/composes
    fn hand_off(&mut self, name: &str) -> io::Result<()> {
        let state = match &self.herma {
            Ok(herma) => herma.manager.state().clone(),
            Err(failure) => return self.failed(&failure.message.clone()),
        };
        let own = CheckpointManager::configured(self.environment.clone()).with_state(state);
        let parent = std::mem::replace(&mut self.checkpoints, own);
        self.waiting.push((name.to_owned(), parent));
        self.told(&format!("{name} goes on"))
    }

    fn back(&mut self) -> io::Result<()> {
        match self.waiting.pop() {
            Some((name, parent)) => {
                self.checkpoints = parent;
                self.told(&format!("{name} is done"))
            }
            None => self.failed("nobody was handed anything"),
        }
    }
}

/// Puts a card into a state, and returns the one before.
fn move_card(cards: &mut Vec<Value>, id: &str, state: &str, title: &str) -> String {
    let own = cards.iter_mut().find(|card| card["id"] == id);
    let Some(card) = own else {
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
