//! The conversation of an agent, as far as checkpoints are concerned: its turns, and undoing them.

/// A message of the user, and the steps of the agent that followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its id, which it keeps when turns around it are removed or compacted; `None` if it was given none.
    pub id: Option<String>,
    /// The ids of the turns that were compacted into this one, oldest first.
    pub compacted: Vec<String>,
    /// The text of the user's message.
    pub message: String,
    /// The steps of the agent, in order.
    pub steps: Vec<String>,
}

/// A conversation, its oldest turn first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    turns: Vec<Turn>,
}

impl Conversation {
    /// Begins a turn with a message of the user.
    pub fn begin(&mut self, message: &str) {
        self.begin_as(None, message);
    }

    /// As [`Conversation::begin`], for a turn with an id.
    // rule: agent/composes
    pub fn begin_as(&mut self, id: Option<String>, message: &str) {
        let message = message.to_owned();
        self.turns.push(Turn { id, compacted: Vec::new(), message, steps: Vec::new() });
    }

    /// Replaces all turns by one turn with their summary.
    pub fn compact(&mut self, summary: &str) {
        let turns = std::mem::take(&mut self.turns);
        let ids = turns.into_iter().flat_map(|turn| turn.compacted.into_iter().chain(turn.id));
        let compacted = ids.collect();
        let message = summary.to_owned();
        self.turns.push(Turn { id: None, compacted, message, steps: Vec::new() });
    }

    /// Removes and returns, oldest first, all turns after the turn with that id, as a restore of the agent
    /// state does, and that turn too unless it `stays`. If it was compacted into another turn, the turns
    /// after that one are removed; if no turn knows the id, as in an earlier fork, none is.
    // rule: agent/composes: decides
    pub fn undo_to(&mut self, id: &str, stays: bool) -> Vec<Turn> {
        let by_id = self.turns.iter().position(|turn| turn.id.as_deref() == Some(id));
        let by_id = by_id.map(|index| index + usize::from(stays));
        let compacted_into = || {
            self.turns.iter().position(|turn| turn.compacted.iter().any(|turn_id| turn_id == id))
        };
        match by_id.or_else(|| compacted_into().map(|index| index + 1)) {
            Some(first) => self.turns.split_off(first),
            None => Vec::new(),
        }
    }

    /// Records a step of the agent in the last turn; before the first turn nothing is recorded.
    pub fn note(&mut self, step: &str) {
        if let Some(turn) = self.turns.last_mut() {
            turn.steps.push(step.to_owned());
        }
    }

    /// Removes and returns the last turn, as each full restore does once; `None` if no turn is left.
    // rule: restore/undoes-turn
    pub fn undo_last(&mut self) -> Option<Turn> {
        self.turns.pop()
    }

    /// Puts other turns in the place of all after the first `left`, and returns those; `None` where there are
    /// not so many, as after the conversation was compacted.
    pub fn replace_after(&mut self, left: usize, turns: Vec<Turn>) -> Option<Vec<Turn>> {
        let replaced = (left <= self.turns.len()).then(|| self.turns.split_off(left))?;
        self.turns.extend(turns);
        Some(replaced)
    }

    /// Whether the turn with that id was compacted into another.
    pub fn has_compacted(&self, id: &str) -> bool {
        self.turns.iter().any(|turn| turn.compacted.iter().any(|compacted| compacted == id))
    }

    /// The turns, oldest first.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undo_last_removes_the_last_turn_with_all_its_steps_and_no_other() {
        let mut conversation = Conversation::default();
        conversation.note("before the first turn");
        assert_eq!(conversation.undo_last(), None);
        conversation.begin("one");
        conversation.note("a");
        conversation.begin("two");
        conversation.note("b");
        let turn = |message: &str, step: &str| Turn {
            id: None,
            compacted: Vec::new(),
            message: message.into(),
            steps: vec![step.into()],
        };
        assert_eq!(conversation.undo_last(), Some(turn("two", "b")));
        assert_eq!(conversation.turns(), [turn("one", "a")]);
    }

    // rule: agent/composes
    #[test]
    fn undo_to_finds_a_turn_by_id_after_the_conversation_was_compacted_or_forked() {
        let messages = |turns: &[Turn]| -> Vec<String> {
            turns.iter().map(|turn| turn.message.clone()).collect()
        };
        let mut conversation = Conversation::default();
        for id in ["1", "2", "3"] {
            conversation.begin_as(Some(id.into()), id);
        }
        let mut forked = conversation.clone();
        assert_eq!(messages(&conversation.clone().undo_to("2", true)), ["3"]);
        assert_eq!(messages(&conversation.undo_to("2", false)), ["2", "3"]);
        assert_eq!(messages(conversation.turns()), ["1"]);
        assert!(conversation.undo_to("3", false).is_empty(), "it is not of this fork");
        forked.compact("so far");
        forked.begin_as(Some("4".into()), "4");
        assert_eq!(
            messages(&forked.undo_to("2", false)),
            ["4"],
            "what is compacted cannot be parted"
        );
        assert_eq!(messages(forked.turns()), ["so far"]);
        forked.compact("again");
        assert_eq!(forked.turns()[0].compacted, ["1", "2", "3"]);
    }
}
