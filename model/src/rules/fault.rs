//! What still holds when the disk fails.

super::rules! {
    FAULT_CLEAR_REFUSAL {
        id: "fault/clear-refusal",
        statement: "An I/O error at any step gives a clear refusal and loses nothing already \
            stored, and a retry after the fault succeeds.",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "A failed call is mistaken for an absent file, or its error is ignored: a disk error \
            is never an empty list, an unchanged project or a missing file.",
    }
    FAULT_NAMES_HALF_RESTORED {
        id: "fault/names-half-restored",
        statement: "The working tree is never left half restored unless the answer names the \
            paths.",
        tier: Durability,
        level: Must,
        since: "0.1",
        source: "behaviour: Durability and concurrency",
        needs: ["test.injection"],
        hint: "The first error ends the restore: go on with the other paths and name those that \
            failed, or undo what was done.",
    }
}
