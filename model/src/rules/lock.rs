//! What happens to a lock while its owner is alive, and after its owner died.

super::rules! {
    LOCK_STALE {
        id: "lock/stale",
        statement: "A stale lock of a dead process is recovered; the lock of a live process is \
            awaited for a bounded time, and then the answer is \"busy\".",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "A lock file outlives its process and is waited for: use a lock that the system \
            releases with the process, or check whether its owner is alive.",
    }
}
