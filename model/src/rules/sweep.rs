//! What is removed at startup and by `prune`: projects that are gone or old.

super::rules! {
    SWEEP_INTERVAL {
        id: "sweep/interval",
        statement: "The startup sweep runs at most once per `min_interval_hours`; a marker that is \
            corrupt or from the future counts as missing.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seeds 000, 004",
        needs: ["sweep", "test.clock"],
        hint: "The marker is not written, or a marker that is corrupt or from the future is \
            trusted: treat such a marker as missing.",
    }
    SWEEP_ORPHANS {
        id: "sweep/orphans",
        statement: "The sweep removes projects whose directory is gone; a project that is both \
            gone and old counts as gone. A directory that was renamed need not count as gone.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seeds 000, 004",
        needs: ["prune", "layout"],
        hint: "A part of the project stays, or age is checked first: remove the history, the index \
            and the metadata, and check the directory first.",
    }
    SWEEP_STALE {
        id: "sweep/stale",
        statement: "The sweep removes projects, archives and leftover v1 repositories that were \
            not touched for `retention_days`.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seeds 000, 004",
        needs: ["prune", "test.clock", "layout"],
        hint: "Age is taken from a file or from the first checkpoint: compare the time of last use \
            with `retention_days`.",
    }
    SWEEP_COUNTS {
        id: "sweep/counts",
        statement: "The sweep counts what it scanned, what it removed, what failed, and the bytes \
            it freed.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seed 004",
        needs: ["prune", "layout"],
        hint: "A removal is counted before it is done, or for two reasons: count it once, when it \
            is done.",
    }
    SWEEP_RECLAIMS {
        id: "sweep/reclaims",
        statement: "After a sweep all stored data is needed by a checkpoint.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seeds 000, 004",
        needs: ["prune", "layout"],
        hint: "Removed data stays on disk for a grace period: free it at once. With git, objects \
            wait two weeks, or a reflog holds them.",
    }
    SWEEP_EVIDENCE {
        id: "sweep/evidence",
        statement: "A parent directory that cannot be reached, such as an unmounted volume, is no \
            evidence that a project was deleted: the project is kept.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance",
        needs: ["prune", "layout"],
        hint: "A directory that cannot be reached counts as deleted: check first whether its \
            parent directory exists.",
    }
}
