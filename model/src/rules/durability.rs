//! What still holds when processes die, disks fail and others work on the same store.

super::rules! { RULES;
    CRASH_KILL = "crash/kill", Durability, Planned, "behaviour: Durability and concurrency":
        "After a kill at any step the next operation works and every checkpoint reported taken \
         is listed and restores exactly.";
    CRASH_POWER_LOSS = "crash/power-loss", Durability, Planned,
        "behaviour: Durability and concurrency":
        "After power loss the same holds for what was reported before it.";
    FAULT_CLEAR_REFUSAL = "fault/clear-refusal", Durability, Planned,
        "behaviour: Durability and concurrency":
        "An I/O error at any step gives a clear refusal, loses nothing already stored, and a \
         retry after the fault succeeds.";
    FAULT_NAMES_HALF_RESTORED = "fault/names-half-restored", Durability, Planned,
        "behaviour: Durability and concurrency":
        "The working tree is never left half restored without the answer saying which paths.";
    CONCURRENT_SERIAL = "concurrent/serial", Durability, Planned,
        "behaviour: Durability and concurrency":
        "With any number of processes on one store every answer is explained by some order of \
         the operations.";
    CONCURRENT_KEEPS = "concurrent/keeps", Durability, Planned,
        "behaviour: Durability and concurrency":
        "A checkpoint reported taken disappears only by limits, and reclaiming never removes \
         what another process is writing.";
    LOCK_STALE = "lock/stale", Durability, Planned, "behaviour: Durability and concurrency":
        "A stale lock of a dead process is recovered; a live one gives a bounded wait and then \
         busy.";
}
