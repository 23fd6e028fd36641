//! The conversation of an agent, as far as checkpoints are concerned: its turns, and undoing the last.

/// A message of the person and what the agent did about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its id, which it keeps whatever becomes of the turns around it; none where nobody gave it one.
    pub id: Option<String>,
    /// The ids of the turns that were compacted into this one, oldest first.
    pub compacted: Vec<String>,
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
        self.begin_as(None, message);
    }

    /// The same for a turn that is to be known by an id.
    // rule: agent/composes
    pub fn begin_as(&mut self, id: Option<String>, message: &str) {
        let (message, steps, compacted) = (message.to_owned(), Vec::new(), Vec::new());
        self.turns.push(Turn { id, compacted, message, steps });
    }

    /// All turns become one, which says what they were about.
    pub fn compact(&mut self, summary: &str) {
        let turns = std::mem::take(&mut self.turns);
        let ids = turns.into_iter().flat_map(|turn| turn.compacted.into_iter().chain(turn.id));
        let (id, compacted) = (None, ids.collect());
        self.turns.push(Turn { id, compacted, message: summary.to_owned(), steps: Vec::new() });
    }

    /// Takes all turns away after the one of that id, which a rollback of a whole agent does, and that
    /// one too unless it `stays`: oldest first. Where it was compacted into another, those after that go;
    /// nothing does where nobody knows it, such as in a conversation that forked before it.
    // rule: agent/composes
    pub fn undo_to(&mut self, id: &str, stays: bool) -> Vec<Turn> {
        let own = self.turns.iter().position(|turn| turn.id.as_deref() == Some(id));
        let own = own.map(|at| at + usize::from(stays));
        let within =
            || self.turns.iter().position(|turn| turn.compacted.iter().any(|one| one == id));
        match own.or_else(|| within().map(|at| at + 1)) {
            Some(first) => self.turns.split_off(first),
            None => Vec::new(),
        }
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
    fn a_turn_is_known_by_its_id_also_after_the_conversation_was_compacted_or_forked() {
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
