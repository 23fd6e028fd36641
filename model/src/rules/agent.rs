//! Agent state: what a checkpoint holds in addition to the files.

super::rules! {
    AGENT_PARTS {
        id: "agent/parts",
        statement: "A checkpoint can carry cards, goal, memory head, tool history tail, trigger, \
            label and external actions.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["state"],
        hint: "A change of a part alone is taken for no change, or a part is not what was set: record each part as JSON, and compare it like files.",
    }
    AGENT_TRIGGERS {
        id: "agent/triggers",
        statement: "Checkpoints are taken before high-risk actions and long tool calls, at \
            milestones, when a card is done, and at turn boundaries.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["event"],
        hint: "An event is not noticed, or is noticed each time it is told: decide by what happened, and note what a checkpoint was taken for.",
    }
    AGENT_ALL_OR_NONE {
        id: "agent/all-or-none",
        statement: "A rollback, whether by id, by label or to the most recent, restores all parts \
            or none.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["state"],
        hint: "A part stays as it was, or changes although nothing was restored: write all parts once the files are there, and put back what was written when one fails.",
    }
    AGENT_EXTERNAL_LISTED {
        id: "agent/external-listed",
        statement: "A rollback lists the external actions since the checkpoint and never undoes \
            them silently.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["external"],
        hint: "Some actions are missing, or one was undone: keep them in the order in which they happened, note at each checkpoint how many there were, and only list.",
    }
    AGENT_COMPENSATION {
        id: "agent/compensation",
        statement: "Registered compensations run once each when they are asked for; accepted \
            actions are recorded as staying.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["external.compensate"],
        hint: "One runs twice, though accepted, or not at all: note that it runs before it does, and that it is accepted, for good.",
    }
    AGENT_PINNED {
        id: "agent/pinned",
        statement: "A labelled checkpoint is not dropped by limits until it is unpinned.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["label"],
        hint: "A limit drops by age alone: leave out what is pinned wherever checkpoints are dropped.",
    }
    AGENT_COMPOSES {
        id: "agent/composes",
        statement: "A parent's checkpoint taken before a hand-off restores the state from before \
            whatever the sub-agent did.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["state", "subagent"],
        hint: "What was restored is the newest state that somebody recorded: take the parts of the checkpoint that was named, whoever took others since.",
    }
}
