//! The session of a story: opened, ended, resumed in a new process, forked, and its conversation compacted.

use super::agent::{DoorCode, DoorError};
use super::ledger::ListMoment;
use super::rules;
use super::telling::{Stop, Teller};
use serde_json::{Value, json};

impl Teller<'_> {
    pub(super) fn open(&mut self) -> Result<(), Stop> {
        let mut request = json!({ "project": self.project });
        if !self.session.is_null() {
            request["session"] = self.session.clone();
        }
        self.session = self.process.ask("open", request)?["session"].take();
        Ok(())
    }

    /// An answer may name the session that continues.
    pub(super) fn follow(&mut self, answer: &mut Value) {
        if answer["session"].is_string() {
            self.session = answer["session"].take();
        }
    }

    fn log_killed(&mut self, killed: &[String]) {
        self.told.left_running += killed.len();
        killed
            .iter()
            .for_each(|command| self.log(format!("   still ran after the end: {command}")));
    }

    pub(super) fn resume(&mut self, number: usize) -> Result<(), Stop> {
        self.log(format!("{number}. the agent ends, and continues the session in a new process"));
        let killed = self.process.close()?;
        self.log_killed(&killed);
        self.open()?;
        self.ledger.is_resumed = true;
        Ok(())
    }

    pub(super) fn second_process(&mut self, number: usize) -> Result<(), Stop> {
        self.log(format!("{number}. a second process of the agent starts, has a turn, and ends"));
        let before = self.files();
        let name = format!("{}second{number}e", self.prefix);
        self.process.model().add_turn(&name, Vec::new());
        match self.process.visit(&self.project, &format!("do #{name}")) {
            Ok(killed) => self.log_killed(&killed),
            Err(error) if error.code == DoorCode::Refused => {
                self.log(format!("   refused: {error}"));
            }
            Err(error) => return Err(error.into()),
        }
        self.judge_unchanged(rules::SECOND, &before);
        self.list(ListMoment::SecondProcess)?;
        Ok(())
    }

    pub(super) fn compact(&mut self, number: usize) -> Result<(), Stop> {
        self.log(format!("{number}. the user has the conversation compacted"));
        if self.without_writes("compact", rules::COMPACT)? {
            self.list(ListMoment::Compaction)?;
            self.ledger.compact();
        }
        Ok(())
    }

    pub(super) fn fork(&mut self, number: usize) -> Result<(), Stop> {
        self.log(format!("{number}. the user forks the session, and continues in the fork"));
        if self.without_writes("fork", rules::FORK)? {
            self.ledger.is_forked = true;
            self.list(ListMoment::Fork)?;
        }
        Ok(())
    }

    /// Does what changes the session alone; `false` if the agent refuses, such as a conversation that is too short.
    fn without_writes(&mut self, op: &str, rule: &'static str) -> Result<bool, DoorError> {
        let before = self.files();
        let answer = self.process.ask(op, json!({}));
        self.judge_unchanged(rule, &before);
        match answer {
            Ok(mut answer) => self.follow(&mut answer),
            Err(error) if error.code == DoorCode::Refused => {
                self.log(format!("   refused: {error}"));
                return Ok(false);
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }
}
