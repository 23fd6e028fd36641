//! What still holds when several processes use one store.

super::rules! {
    CONCURRENT_SERIAL {
        id: "concurrent/serial",
        statement: "With any number of processes on one store, the answers are those of the same \
            operations in some order, one after the other.",
        tier: Durability,
        level: Must,
        since: "0.1",
        state: Concurrent,
        source: "behaviour: Durability and concurrency",
        needs: [],
    }
    CONCURRENT_KEEPS {
        id: "concurrent/keeps",
        statement: "A checkpoint that was reported disappears only by limits, and freeing space \
            never removes what another process is writing.",
        tier: Durability,
        level: Must,
        since: "0.1",
        state: Concurrent,
        source: "behaviour: Durability and concurrency",
        needs: [],
    }
}
