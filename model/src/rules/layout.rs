//! How the store is laid out on disk, as far as other tools rely on it.

super::rules! {
    LAYOUT_STORE {
        id: "layout/store",
        statement: "The store is one bare git repository that plain git reads; each project's \
            history is `refs/hermes/<hash>`.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: On-disk layout; seed 004",
        needs: ["layout"],
        hint: "The returned id is not on the project's ref, or the ref moves too late: move \
            `refs/hermes/<hash>` before the answer is given.",
    }
    LAYOUT_FSCK {
        id: "layout/fsck",
        statement: "Plain git finds nothing broken in the store.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: On-disk layout",
        needs: ["layout"],
        hint: "A needed object was removed, or written wrongly: a tree in another order than git's \
            (`dir` sorts as `dir/`), an unusual mode, or a gc that ignored refs.",
    }
    LAYOUT_METADATA {
        id: "layout/metadata",
        statement: "`projects/<hash>.json` records the project's directory, when the project was \
            created and when it was last touched.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: On-disk layout; seed 000",
        needs: ["layout"],
        hint: "The path is stored as it was typed, or a date as text: store the canonical path, \
            and both times as numbers.",
    }
}
