//! The conversation of an agent, as far as checkpoints are concerned: its turns, and undoing the last.

/// A message of the person and what the agent did about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What the person said.
    pub message: String,
    /// What was done, in its order.
    pub steps: Vec<String>,
}

/// A conversation, its oldest turn first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conversation {
    turns: Vec<Turn>,
}

impl Conversation {
    /// The person says something: a turn begins.
    pub fn begin(&mut self, message: &str) {
        self.turns.push(Turn { message: message.to_owned(), steps: Vec::new() });
    }

    /// The agent did something in the last turn; before the first, nothing is noted.
    pub fn note(&mut self, step: &str) {
        if let Some(turn) = self.turns.last_mut() {
            turn.steps.push(step.to_owned());
        }
    }

    /// Takes the last turn away, which a full restore does once; none where there is none.
    // rule: restore/undoes-turn
    pub fn undo_last(&mut self) -> Option<Turn> {
        self.turns.pop()
    }

    /// Its turns.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_turn_is_undone_with_all_its_steps_and_no_other() {
        let mut conversation = Conversation::default();
        conversation.note("before the first turn");
        assert_eq!(conversation.undo_last(), None);
        conversation.begin("one");
        conversation.note("a");
        conversation.begin("two");
        conversation.note("b");
        let two = Turn { message: "two".into(), steps: vec!["b".into()] };
        assert_eq!(conversation.undo_last(), Some(two));
        assert_eq!(conversation.turns(), [Turn { message: "one".into(), steps: vec!["a".into()] }]);
    }
}
