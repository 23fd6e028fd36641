//! The wider checkpoint: the state of a whole agent beside its files.

super::rules! { RULES;
    AGENT_PARTS = "agent/parts", Agent, Planned, "behaviour: Agent state; seed 003":
        "A checkpoint can carry cards, goal, memory head, tool history tail, trigger, label and \
         external actions.";
    AGENT_TRIGGERS = "agent/triggers", Agent, Planned, "behaviour: Agent state; seed 003":
        "Checkpoints are taken before high-risk capabilities, at milestones, finished cards, \
         turn boundaries and long tool calls.";
    AGENT_ALL_OR_NONE = "agent/all-or-none", Agent, Planned, "behaviour: Agent state; seed 003":
        "A rollback by id, label or to the most recent restores all parts or none.";
    AGENT_EXTERNAL_LISTED = "agent/external-listed", Agent, Planned,
        "behaviour: Agent state; seed 003":
        "A rollback lists the external actions since and never undoes them silently.";
    AGENT_COMPENSATION = "agent/compensation", Agent, Planned, "behaviour: Agent state; seed 003":
        "Registered compensations run once each when asked for; accepted actions are recorded \
         as staying.";
    AGENT_PINNED = "agent/pinned", Agent, Planned, "behaviour: Agent state; seed 003":
        "A labelled checkpoint is not evicted by limits until it is unpinned.";
    AGENT_COMPOSES = "agent/composes", Agent, Planned, "behaviour: Agent state; seed 003":
        "A parent's checkpoint taken before a hand-off restores past whatever the sub-agent did.";
}
