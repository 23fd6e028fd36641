//! How the store stays small: which checkpoints are evicted after a new one, and which are never evicted.

super::rules! {
    LIMIT_NEWEST_REMAIN {
        id: "limit/newest-remain",
        statement: "After each checkpoint the newest `max_snapshots` remain, and the space of \
            evicted checkpoints is really freed: evicted checkpoints that are not yet freed never \
            outnumber those that remain.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seeds 000, 004",
        needs: ["settings.max_snapshots", "layout"],
        hint: "Only the list is shortened: end the history at the oldest remaining checkpoint, \
            then free all data that no checkpoint needs.",
    }
    LIMIT_TOTAL_SIZE {
        id: "limit/total-size",
        statement: "While the store is larger than `max_total_size_mb`, the oldest checkpoint of \
            each project in turn is evicted.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seeds 000, 004",
        needs: ["settings.max_total_bytes", "layout"],
        hint: "Eviction stops too early, or affects one project only: cycle through all projects \
            until the needed data fits.",
    }
    LIMIT_NEWEST_STAYS {
        id: "limit/newest-stays",
        statement: "The store size limit never evicts the newest checkpoint of a project.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance",
        needs: ["settings.max_total_bytes", "layout"],
        hint: "The oldest checkpoint of the store is always evicted: leave each project its last \
            checkpoint.",
    }
    LIMIT_NO_MORE_THAN_NEEDED {
        id: "limit/no-more-than-needed",
        statement: "Only data that a checkpoint needs counts towards the store size, so no more \
            checkpoints are evicted than needed, and one large checkpoint does not cost other \
            projects theirs.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance",
        needs: ["settings.max_total_bytes", "layout"],
        hint: "The size of the folder counts, with data waiting to be freed: count what \
            checkpoints need, again after each eviction. With git, that is what refs reach.",
    }
}
