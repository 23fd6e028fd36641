//! What still holds after a kill or a power loss.

super::rules! {
    CRASH_KILL {
        id: "crash/kill",
        statement: "After a kill at any step the next operation works, and every checkpoint that \
            was reported is listed and restores exactly.",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "A lock or a half-written file is left, or a ref moves before its target is stored: \
            write a temporary file, rename it, and take over the leftovers of dead processes.",
    }
    CRASH_POWER_LOSS {
        id: "crash/power-loss",
        statement: "After a power loss, every checkpoint that was reported before it is listed and \
            restores exactly, and the next operation works.",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "Something was reported before it was synced: sync the objects, then the ref, then \
            its folder, and only then answer. With git, set `core.fsync=all`.",
    }
}
