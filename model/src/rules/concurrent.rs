//! What still holds when several processes use one store.

super::rules! {
    CONCURRENT_SERIAL {
        id: "concurrent/serial",
        statement: "With any number of processes on one store, the answers are those of the same \
            operations run one after the other, in some order.",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "Two processes decided by shared state that was out of date: read and write shared \
            state under one lock.",
    }
    CONCURRENT_KEEPS {
        id: "concurrent/keeps",
        statement: "A checkpoint that was reported disappears only by limits, and freeing space \
            never removes data that another process is writing.",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "A ref update overwrote that of another process, or objects were removed before a \
            ref named them: take one lock in both processes, and keep recent objects.",
    }
}
