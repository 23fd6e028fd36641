//! What becomes of a lock, whether its owner lives or not.

super::rules! {
    LOCK_STALE {
        id: "lock/stale",
        statement: "A stale lock of a dead process is recovered; a live one is waited for a \
            bounded time, and then the answer is \"busy\".",
        tier: Durability,
        level: Must,
        since: "0.1",
        state: Faults,
        source: "behaviour: Durability and concurrency",
        needs: [],
    }
}
