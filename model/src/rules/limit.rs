//! How the store stays small: what is evicted after a checkpoint, and what never is.

super::rules! {
    LIMIT_NEWEST_REMAIN {
        id: "limit/newest-remain",
        statement: "After each checkpoint the newest `max_snapshots` remain, and the space of the \
            dropped ones is really freed: at most as many dropped ones wait for that as remain.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seeds 000, 004",
        needs: ["settings.max_snapshots", "layout"],
        hint: "Only the list is cut: end the history at the oldest checkpoint that stays, then \
            free what nothing needs any more.",
    }
    LIMIT_TOTAL_SIZE {
        id: "limit/total-size",
        statement: "When the store is larger than `max_total_size_mb`, the oldest checkpoint of \
            each project in turn is dropped until it is not.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seeds 000, 004",
        needs: ["settings.max_total_bytes", "layout"],
        hint: "It stops too early, or takes from one project only: go round all projects until \
            what is needed fits.",
    }
    LIMIT_NEWEST_STAYS {
        id: "limit/newest-stays",
        statement: "The size cap never drops the newest checkpoint of a project.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance",
        needs: ["settings.max_total_bytes", "layout"],
        hint: "Whatever is oldest is dropped: leave each project its last checkpoint.",
    }
    LIMIT_NO_MORE_THAN_NEEDED {
        id: "limit/no-more-than-needed",
        statement: "Only data that a checkpoint needs counts as size, so no more is dropped than \
            needed, and one large checkpoint does not cost other projects theirs.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance",
        needs: ["settings.max_total_bytes", "layout"],
        hint: "The size of the folder is taken, with what is waiting to be freed: count what \
            checkpoints need, and again after each drop. With git, that is what refs reach.",
    }
}
