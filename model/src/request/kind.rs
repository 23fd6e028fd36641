//! The properties of each kind of request: what the request is about, what it may do, its answer, and the
//! capability that it needs.

use crate::rules::RuleRef;

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// Neither a project nor the store.
    Neither,
    /// One project.
    Project,
    /// The store as a whole.
    Store,
}

/// What a request may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It only informs the subject.
    Tells,
    /// It only reads.
    Looks,
    /// It may change the store, but no file.
    Stores,
    /// It may change files.
    Writes,
}

/// The answer to a request that is not refused; each variant names a variant of [`crate::Answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// An acknowledgement.
    Done,
    /// A path.
    Project,
    /// Whether a command changes files.
    Classified,
    /// What was done before a tool ran.
    Protected,
    /// The outcome of a request for a checkpoint.
    Taken,
    /// A list.
    Listed,
    /// A list, and how it is printed.
    Printed,
    /// A preview.
    Diffed,
    /// What a restore did.
    Restored,
    /// What a sweep did.
    Swept,
    /// What the store holds.
    Status,
    /// A configuration.
    Configured,
    /// The value of a part of the agent's state.
    State,
    /// Which actions were compensated.
    Compensated,
}

/// The properties of one kind of request.
#[derive(Debug)]
pub struct RequestKind {
    /// Its name in the protocol and in histories.
    pub name: &'static str,
    /// The main rule about it.
    pub rule: RuleRef,
    /// What it is about.
    pub about: About,
    /// What it may do.
    pub effect: Effect,
    /// The answer to it.
    pub answered: Answered,
    /// The capability without which it is not sent, if any.
    pub capability: Option<Capability>,
}

/// A capability that an implementation claims: its name, and its meaning in a sentence.
pub type Capability = (&'static str, &'static str);

/// The meaning of the capability of automatic checkpoints.
pub(super) const TURNS: &str =
    "Automatic checkpoints are taken, at most one for each project and turn.";
/// The meaning of the capability of the two requests about the agent's tools.
pub(super) const ATTRIBUTION: &str = "Writes of the agent's tools are reported to the \
    implementation, before and after each write, and a restore names the paths that anyone else \
    changed since the checkpoint.";
/// The meaning of the capability of undo and redo.
pub(super) const UNDO: &str =
    "Restores can be undone by a request of its own, the newest first, and redone.";
/// The meaning of the capability of the two requests about parts of the agent's state.
pub(super) const STATE: &str = "Checkpoints carry parts of the agent's state in addition \
    to files, with a capability for each part.";
/// The meaning of the capability of pinning and unpinning.
pub(super) const PIN: &str =
    "A checkpoint can be pinned, so that no limit evicts it, and unpinned.";
/// The meaning of the capability of the two requests about sub-agents.
pub(super) const SUBAGENT: &str =
    "It is reported when a sub-agent makes the requests, and when the parent agent does so again.";
/// The meaning of the capability of the two requests that clear something.
pub(super) const CLEAR: &str =
    "The entire store, or only its archives of the v1 layout, can be removed.";
