//! What still holds when several processes use one store.

super::rules! {
    CONCURRENT_SERIAL {
        id: "concurrent/serial",
        statement: "With any number of processes on one store, the answers are those of the same \
            operations in some order, one after the other.",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "Two processes decided by what neither had any more: read and write what they share under one lock.",
    }
    CONCURRENT_KEEPS {
        id: "concurrent/keeps",
        statement: "A checkpoint that was reported disappears only by limits, and freeing space \
            never removes what another process is writing.",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "A ref was moved over another process's, or objects were removed that nothing named yet: take a lock \
            that both take, and keep what is young.",
    }
}
