//! What happens to repositories in the v1 layout.

super::rules! {
    MIGRATION_ARCHIVES {
        id: "migration/archives",
        statement: "Repositories of the v1 layout move, intact and readable by git, into one \
            legacy archive; migrating again changes nothing.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Migration from v1; seeds 000, 004",
        needs: ["test.store", "layout"],
        hint: "V1 repositories are recognised by name alone: when the store is created, move every \
            folder that is a repository, with `HEAD` and `objects`.",
    }
    MIGRATION_LOSES_NOTHING {
        id: "migration/loses-nothing",
        statement: "Nothing is lost to a name collision or a crash half-way, and stray files that \
            are not a repository stay where they are.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Migration from v1",
        needs: ["test.store", "layout"],
        hint: "A move replaces an existing archive, or everything in the base is moved: choose a \
            free name, and move v1 repositories only.",
    }
}
