//! What still holds after a kill or a power loss.

super::rules! {
    CRASH_KILL {
        id: "crash/kill",
        statement: "After a kill at any step the next operation works, and every checkpoint that \
            was reported is listed and restores exactly.",
        tier: Durability,
        level: Must,
        since: "0.1",
        state: Faults,
        source: "behaviour: Durability and concurrency",
        needs: [],
    }
    CRASH_POWER_LOSS {
        id: "crash/power-loss",
        statement: "After a power loss, every checkpoint that was reported before it is listed and \
            restores exactly, and the next operation works.",
        tier: Durability,
        level: Must,
        since: "0.1",
        state: Faults,
        source: "behaviour: Durability and concurrency",
        needs: [],
    }
}
