//! What the list of checkpoints shows.

super::rules! {
    LIST_NEWEST_FIRST {
        id: "list/newest-first",
        statement: "Checkpoints are listed newest first and numbered from 1.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff; seed 000",
        needs: [],
        hint: "The list is sorted by whole seconds, shown oldest first or numbered from 0: follow \
            the order in which they were taken. With git, that is the chain of parents.",
    }
    LIST_COMPLETE {
        id: "list/complete",
        statement: "Every checkpoint of the project that the limits allow is listed.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff; seed 000",
        needs: [],
        hint: "An error became an empty list, or a newer write replaced the history: pass errors \
            on. With git, a failed command or an overwritten ref.",
    }
    LIST_AT_MOST {
        id: "list/at-most",
        statement: "At most `max_snapshots` checkpoints are listed, and these are the newest; the \
            pre-restore checkpoints taken since the last checkpoint of another kind are listed in \
            addition.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff; seed 000",
        needs: ["settings.max_snapshots"],
        hint: "Only the cleanup applies the limit: cut the list itself to the newest \
            `max_snapshots`.",
    }
    LIST_OWN_PROJECT {
        id: "list/own-project",
        statement: "Only this project's checkpoints are listed.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff; seed 000",
        needs: [],
        hint: "The whole store is read instead of this project's part. With git, `git log --all` \
            or `HEAD` sees every ref: read `refs/hermes/<hash>` alone.",
    }
    LIST_TIME {
        id: "list/time",
        statement: "Each checkpoint is listed with the date and time at which it was taken.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff; seed 000",
        needs: ["test.clock"],
        hint: "The time zone was dropped, or the time is that of a later rewrite: record the time \
            in UTC when the checkpoint is taken. With git, set both dates yourself.",
    }
    LIST_STATS {
        id: "list/stats",
        statement: "Each checkpoint but the oldest is listed with its changes against the \
            checkpoint before it: the exact number of files, where a moved file may count as one \
            or two, and the lines added and removed as a correct line diff counts them.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff; seed 000",
        needs: ["list.stats"],
        hint: "A checkpoint is compared with the wrong neighbour, or with nothing: compare it with \
            the checkpoint before it.",
    }
    LIST_OLDEST_NO_STATS {
        id: "list/oldest-no-stats",
        statement: "The oldest checkpoint listed has no change stats.",
        tier: Documented,
        level: Should,
        since: "0.1",
        source: "behaviour: Listing and diff",
        needs: ["list.stats"],
        hint: "The oldest checkpoint was compared with nothing, or with a checkpoint that is no \
            longer listed: leave its stats out.",
    }
    LIST_STABLE {
        id: "list/stable",
        statement: "A checkpoint's id, time and reason never change as long as it is listed.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Listing and diff",
        needs: [],
        hint: "Evicting old checkpoints rewrote the remaining ones: keep those as they are. With \
            git, cut the history with the `shallow` file instead of new commits.",
    }
    LIST_LAYOUT {
        id: "list/layout",
        statement: "The list is printed in the layout that the first seed document shows.",
        tier: Documented,
        level: Should,
        since: "0.1",
        source: "behaviour: Listing and diff; seed 000",
        needs: ["list.printed"],
        hint: "A part of the line is missing or misplaced: number, short id, date, time, reason, \
            and the changes as `(2 files, +3/-1)`.",
    }
}
