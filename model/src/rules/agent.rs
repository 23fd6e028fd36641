//! The wider checkpoint: the state of a whole agent beside its files.

super::rules! {
    AGENT_PARTS {
        id: "agent/parts",
        statement: "A checkpoint can carry cards, goal, memory head, tool history tail, trigger, \
            label and external actions.",
        tier: Agent,
        level: Must,
        since: "0.1",
        state: Planned,
        source: "behaviour: Agent state; seed 003",
        needs: [],
    }
    AGENT_TRIGGERS {
        id: "agent/triggers",
        statement: "Checkpoints are taken before high-risk actions and long tool calls, at \
            milestones, when a card is done, and at turn boundaries.",
        tier: Agent,
        level: Must,
        since: "0.1",
        state: Planned,
        source: "behaviour: Agent state; seed 003",
        needs: [],
    }
    AGENT_ALL_OR_NONE {
        id: "agent/all-or-none",
        statement: "A rollback, whether by id, by label or to the most recent, restores all parts \
            or none.",
        tier: Agent,
        level: Must,
        since: "0.1",
        state: Planned,
        source: "behaviour: Agent state; seed 003",
        needs: [],
    }
    AGENT_EXTERNAL_LISTED {
        id: "agent/external-listed",
        statement: "A rollback lists the external actions since the checkpoint and never undoes \
            them silently.",
        tier: Agent,
        level: Must,
        since: "0.1",
        state: Planned,
        source: "behaviour: Agent state; seed 003",
        needs: [],
    }
    AGENT_COMPENSATION {
        id: "agent/compensation",
        statement: "Registered compensations run once each when they are asked for; accepted \
            actions are recorded as staying.",
        tier: Agent,
        level: Must,
        since: "0.1",
        state: Planned,
        source: "behaviour: Agent state; seed 003",
        needs: [],
    }
    AGENT_PINNED {
        id: "agent/pinned",
        statement: "A labelled checkpoint is not dropped by limits until it is unpinned.",
        tier: Agent,
        level: Must,
        since: "0.1",
        state: Planned,
        source: "behaviour: Agent state; seed 003",
        needs: [],
    }
    AGENT_COMPOSES {
        id: "agent/composes",
        statement: "A parent's checkpoint taken before a hand-off restores the state from before \
            whatever the sub-agent did.",
        tier: Agent,
        level: Must,
        since: "0.1",
        state: Planned,
        source: "behaviour: Agent state; seed 003",
        needs: [],
    }
}
