//! What happens to a lock, whether its owner is alive or not.

super::rules! {
    LOCK_STALE {
        id: "lock/stale",
        statement: "A stale lock of a dead process is recovered; a live one is waited for a \
            bounded time, and then the answer is \"busy\".",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "A lock file outlives its process and is waited for: use a lock that the system drops with the \
            process, or see whether its owner lives.",
    }
}
