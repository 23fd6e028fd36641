//! Agent state: what a checkpoint holds in addition to the files.

super::rules! {
    AGENT_PARTS {
        id: "agent/parts",
        statement: "A checkpoint can carry the board's cards, the goal, the head of the memory \
            index, the tail of the tool history, the trigger, the label and the external actions.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["state"],
        hint: "A change of agent state alone counts as no change, or a part differs from what was \
            set: record each part as JSON, and compare it like files.",
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
        hint: "An event is not noticed, or leads to a checkpoint each time it is reported: decide \
            by the event, and record which event each checkpoint was taken for.",
    }
    AGENT_ALL_OR_NONE {
        id: "agent/all-or-none",
        statement: "A restore, whether by id, by label or of the most recent checkpoint, restores \
            all parts of the agent state or none.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["state"],
        hint: "A part stays as it was, or changes although nothing was restored: write all parts \
            once the files are written, and undo these writes when one fails.",
    }
    AGENT_EXTERNAL_LISTED {
        id: "agent/external-listed",
        statement: "A restore lists the external actions since the checkpoint and never undoes \
            them silently.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["external"],
        hint: "Some actions are missing, or an action was undone: keep them in the order in which \
            they happened, record their number at each checkpoint, and only list them.",
    }
    AGENT_COMPENSATION {
        id: "agent/compensation",
        statement: "Registered compensations run once each when they are requested; accepted \
            actions are recorded as permanent.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["external.compensate"],
        hint: "A compensation runs twice, or although its action was accepted, or never: record \
            durably that it is about to run, and that an action is accepted.",
    }
    AGENT_PINNED {
        id: "agent/pinned",
        statement: "A labelled checkpoint is not evicted by limits until it is unpinned.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["label"],
        hint: "A limit evicts by age alone: skip pinned checkpoints wherever checkpoints are \
            evicted.",
    }
    AGENT_COMPOSES {
        id: "agent/composes",
        statement: "A checkpoint that a parent agent took before a hand-off restores the state \
            from before everything that the sub-agent did.",
        tier: Agent,
        level: Must,
        since: "0.1",
        source: "behaviour: Agent state; seed 003",
        needs: ["state", "subagent"],
        hint: "The newest recorded state was restored: take the parts of the checkpoint that was \
            named, whichever agent took checkpoints since.",
    }
}
