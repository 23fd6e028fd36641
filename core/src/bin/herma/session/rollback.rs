//! `/rollback` in a session: the conversation goes back with the files, to the turn in which the restored
//! checkpoint was taken, and forward again when the rollback is undone.

use super::Session;
use crate::commands::{Answer, Ending, Rollback};
use crate::request::StoreRequest;
use crate::text;
use herma_core::agent::Turn;
use herma_core::rollback_line::{self, Line};
use herma_core::{Direction, Restored, Trigger};
use std::collections::HashMap;
use std::io::{self, Write};

/// The turns that a rollback took out of the conversation.
struct Undone {
    /// How many turns it left.
    left: usize,
    turns: Vec<Turn>,
}

/// What this session's rollbacks did to its conversation, the newest last.
#[derive(Default)]
pub(super) struct Steps {
    /// The turn in which each checkpoint was taken, by its full id, and whether the turn stays when the
    /// checkpoint is restored.
    turns: HashMap<String, (String, bool)>,
    undo: Vec<Undone>,
    redo: Vec<Undone>,
}

impl<W: Write> Session<W> {
    /// A checkpoint was taken in this turn, which `stays` in the conversation when that is restored.
    pub(super) fn took(&mut self, id: &str, stays: bool) {
        let turn = self.conversation.turns().last().and_then(|turn| turn.id.clone());
        if let Some(turn) = turn {
            self.steps.turns.entry(id.to_owned()).or_insert((turn, stays));
        }
    }

    pub(super) fn roll_back(&mut self, before: &str, rest: &[u8]) -> io::Result<()> {
        // Without a target, an agent with state goes back to the most recent checkpoint.
        let is_bare = rest.iter().all(u8::is_ascii_whitespace) && self.has_state();
        let rest = if is_bare { b" 1" } else { rest };
        let parsed = Line::split(rest).and_then(|line| rollback_line::read(&line));
        let parsed = match parsed {
            Err(misread) => return self.misread(before, rest, &misread),
            Ok(parsed) if parsed.help => return writeln!(self.output, "{}", rollback_line::USAGE),
            Ok(parsed) => parsed,
        };
        let request = StoreRequest::from_line(parsed, false);
        let asked = self.ask(|herma| Ok((herma.run(&request), herma.afterwards(&request))))?;
        let Some((answer, messages)) = asked else { return Ok(()) };
        messages.iter().try_for_each(|message| writeln!(self.output, "{message}"))?;
        if !self.has_state() && self.environment.agent_folder().is_dir() {
            // The rollback restored the agent's folder with the files.
            self.find_agent()?;
        }
        match answer {
            Err(failure) => self.failed(&failure.message),
            Ok(Answer { bytes, ending, rollback }) => {
                self.output.write_all(&bytes)?;
                let failure = match ending {
                    Ending::Incomplete(failure) => Some(failure.message),
                    _ => None,
                };
                failure.iter().try_for_each(|message| self.failed(message))?;
                let Some(Rollback { restored, direction }) = rollback else { return Ok(()) };
                let changed = !restored.restored.is_empty() || !restored.removed.is_empty();
                match direction {
                    None => self.went_back(&restored, changed),
                    // A step that is not complete is not recorded: it can be repeated.
                    Some(_) if failure.is_some() => Ok(()),
                    Some(direction) => self.stepped(direction, changed),
                }
            }
        }
    }

    /// A checkpoint was restored: the conversation goes back to where it was taken.
    fn went_back(&mut self, restored: &Restored, changed: bool) -> io::Result<()> {
        let mut undone = Vec::new();
        if restored.undoes_turn {
            self.checkpoints.rolled_back();
            let turn = restored.agent.as_ref().and_then(|agent| {
                let stays = !agent.trigger.is_some_and(Trigger::is_before_work);
                Some((agent.turn.clone()?, stays))
            });
            let turn = turn.or_else(|| self.steps.turns.get(&restored.id).cloned());
            let (article, turns) = match turn {
                Some((id, _)) if self.conversation.has_compacted(&id) => {
                    self.print("the conversation was compacted since, and stays as it is")?;
                    ("A", self.conversation.undo_to(&id, true))
                }
                Some((id, stays)) => ("A", self.conversation.undo_to(&id, stays)),
                None => ("The last", self.conversation.undo_last().into_iter().collect()),
            };
            undone = turns;
            for turn in &undone {
                let message = text::line(&turn.message);
                writeln!(self.output, "{article} turn of the conversation was undone: {message}")?;
            }
        }
        if changed {
            let left = self.conversation.turns().len();
            self.steps.redo.clear();
            self.steps.undo.push(Undone { left, turns: undone });
        }
        Ok(())
    }

    /// A rollback was undone or redone: the conversation is as before it.
    fn stepped(&mut self, direction: Direction, changed: bool) -> io::Result<()> {
        self.checkpoints.rolled_back();
        let (from, to) = match direction {
            Direction::Undo => (&mut self.steps.undo, &mut self.steps.redo),
            Direction::Redo => (&mut self.steps.redo, &mut self.steps.undo),
        };
        let Some(Undone { left, turns }) = from.pop() else {
            return self.print("that rollback was not of this session, whose conversation stays");
        };
        let returned = turns.clone();
        let Some(replaced) = self.conversation.replace_after(left, turns) else {
            return self.print("the conversation was compacted since, and stays as it is");
        };
        for (word, turns) in [("undone", &replaced), ("restored", &returned)] {
            for turn in turns {
                let message = text::line(&turn.message);
                writeln!(self.output, "A turn of the conversation was {word}: {message}")?;
            }
        }
        if changed {
            to.push(Undone { left, turns: replaced });
        }
        Ok(())
    }
}
