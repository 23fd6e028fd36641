//! The rules that a real agent is judged by. They are not in the rule book: that is about a store, and these are about
//! an agent that has one.

/// A rule for an agent.
#[derive(Debug)]
pub struct DoorRule {
    /// Its id.
    pub id: &'static str,
    /// What holds.
    pub statement: &'static str,
    /// Where it is from: what users are told, or a failure that was seen.
    pub source: &'static str,
}

macro_rules! rules {
    ($($name:ident $id:literal $statement:literal $source:literal)*) => {
        $(#[doc = $statement] pub const $name: &str = concat!("agent-door/", $id);)*
        /// Every rule.
        pub const DOOR_RULES: &[DoorRule] =
            &[$(DoorRule { id: $name, statement: $statement, source: $source }),*];
    };
}

rules! {
    BEFORE_CHANGE "state-before-change-held"
        "A listed checkpoint holds the files as they were before the first change of each turn."
        "the purpose of checkpoints; gemini-cli: a snapshot held the file after the write"
    ONCE_A_TURN "one-checkpoint-a-turn"
        "If an agent takes a checkpoint a turn, a turn adds no more than one to its list."
        "the agents' documentation"
    STAYS_LISTED "checkpoint-stays-listed"
        "A checkpoint remains in the list until a restore, also after a resume."
        "the list is what a user chooses from; gemini-cli: a new process deleted it"
    RESTORABLE "listed-is-restorable"
        "A checkpoint of the list can be restored."
        "the list is what a user chooses from"
    BYTES "restore-gives-recorded-files"
        "A restore gives each file its recorded bytes."
        "the purpose of a restore"
    CREATED "restore-removes-created-files"
        "A restore removes the files that the agent has created since the checkpoint."
        "files and conversation are those of one moment; agents that keep such files document it"
    UNASKED "nothing-written-unasked"
        "After a restore, and in turns without tool calls, nothing writes into the project."
        "gemini-cli: a restore wrote the undone change again"
    REDO "redo-asks-first"
        "An agent that proposes the undone call again asks before it runs it."
        "gemini-cli: the documentation says that it proposes; it wrote"
    CONVERSATION "conversation-matches-files"
        "The request after a restore contains the turns before the checkpoint, and none of the undone turns."
        "hermes-agent: a restore past three turns dropped one turn"
    RESUMED "conversation-matches-files-after-resume"
        "A turn that a restore has undone remains undone when the session continues in a new process."
        "hermes-agent: the rolled-back turn was sent again after a resume"
    KEPT "conversation-kept"
        "The next request contains every turn that no restore has undone, also after a resume."
        "what it means to continue a session"
    COMPACT "compact-costs-nothing"
        "Compacting the conversation changes no file, and takes no checkpoint from the list."
        "a user compacts to save tokens, not to lose the way back"
    FORK "fork-has-the-turns"
        "A fork changes no file, and its first request contains the turns of its session, and none that is undone."
        "what it means to continue a session in a copy"
    FILE_TURNS "file-restore-keeps-turns"
        "Restoring one file undoes no turn of the conversation."
        "hermes-agent: restoring one file dropped a turn"
    ONE_FILE "one-file-only"
        "Restoring one file changes no other file."
        "the name of the operation"
    PREVIEW "preview-names-changes"
        "A preview names exactly the files that the restore then changes."
        "qwen-code: the preview named two files, the restore changed one"
    SECOND "second-process-costs-nothing"
        "A second process of the agent in a project changes no file, and takes no checkpoint from the first one's list."
        "gemini-cli: a second process deleted the checkpoints of the first"
    SUB_AGENT "sub-agent-changes-held"
        "What a sub-agent changes is held and restored like what the agent itself changes."
        "hermes-agent: its sub-agents took no checkpoints"
    REFUSED_CALL "refused-call-changes-nothing"
        "A tool call that the user refuses changes no file."
        "what it means to ask"
    PERSON "edits-of-a-person-kept"
        "A file that only a person has changed is kept by a restore, or can be brought back."
        "cline: an edit by a person was lost"
    UNDO "undo-gives-back"
        "Undoing a restore gives back the files before it."
        "opencode: undoing a restore did not delete a file again"
    LOOKING "looking-changes-nothing"
        "Listing and previewing change no file."
        "what it means to look"
    REFUSED "refused-changes-nothing"
        "A restore that is refused, or of an unknown checkpoint, changes no file."
        "what it means to refuse"
    ANSWERS "agent-answers"
        "The agent completes each operation: it does not crash, hang or answer unreadably."
        "no verdict is possible otherwise, and it is not a pass"
}
