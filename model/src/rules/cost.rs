//! What an operation may cost: memory, and bytes read.

super::rules! {
    COST_MEMORY {
        id: "cost/memory",
        statement: "The memory that an operation uses does not grow with the size of one file.",
        tier: Durability,
        level: Should,
        since: "0.1",
        source: "measured: a checkpoint of a file of 3 GB took 6.3 GB of memory, and a restore beside \
            one of 30 GB was ended half-way",
        needs: ["test.measurement"],
        hint: "A file is read, compared or sent as a whole: read, hash, compress and write it in \
            steps. Git compares two versions in memory below `core.bigFileThreshold`.",
    }
    COST_UNCHANGED {
        id: "cost/unchanged",
        statement: "A checkpoint of a project in which nothing changed does not read the contents \
            of its files.",
        tier: Durability,
        level: Should,
        since: "0.1",
        source: "design: Speed and size to reach",
        needs: ["take.unchanged", "test.measurement"],
        hint: "Sizes and times of the files are not remembered, or are discarded before they are \
            compared. With git, `read-tree` clears them from the index.",
    }
}
