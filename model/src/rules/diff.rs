//! What a preview of a restore shows, and what it must not change.

super::rules! {
    DIFF_PREVIEW {
        id: "diff/preview",
        statement: "A diff names exactly the captured files that differ between the checkpoint and \
            the working tree, and says how each differs.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff; seed 000",
        needs: ["diff"],
        hint: "New files are missed, or a moved file is shown as one change: compare two captures. \
            With git, capture a tree, then `diff-tree --no-renames -z`.",
    }
    DIFF_STATS {
        id: "diff/stats",
        statement: "A diff begins with the number of lines added and removed, as a correct line \
            diff counts them.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff; seed 000",
        needs: ["diff", "diff.stats"],
        hint: "Output that is not UTF-8 became an empty diff, or a helper program of the user ran: \
            read bytes. With git, use `--no-textconv --no-ext-diff`.",
    }
    DIFF_LEAVES_STORE {
        id: "diff/leaves-store",
        statement: "Diffing leaves the store as it was, and listing the stored data.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff",
        needs: [],
        hint: "Reading the working tree stored its files. With git, compare through a temporary \
            index and `GIT_OBJECT_DIRECTORY`.",
    }
}
