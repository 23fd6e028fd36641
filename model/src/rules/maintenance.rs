//! The commands that maintain the store, and what they must survive.

super::rules! {
    MAINTENANCE_COMMANDS {
        id: "maintenance/commands",
        statement: "`status`, `list`, `prune`, `clear` and `clear-legacy` work without an agent; \
            `clear` asks for confirmation; the exit code is 0 (done), 1 (declined) or 2 (failed).",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seed 000",
        needs: ["status", "clear"],
        hint: "The status counts checkpoints that limits have evicted, or clearing leaves data \
            behind: count the histories, not the folders.",
    }
    MAINTENANCE_DEFAULTS {
        id: "maintenance/defaults",
        statement: "The maintenance commands take their defaults from the configuration file.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance",
        needs: ["prune.as_configured", "layout"],
        hint: "The command has defaults of its own: read those of the configuration file where an \
            option is not given.",
    }
    MAINTENANCE_HEALS {
        id: "maintenance/heals",
        statement: "Corrupt or missing metadata, markers and indexes do not stop any other \
            project, and are repaired by the next checkpoint. So is a damaged file for which git \
            refuses the store.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance",
        needs: ["test.store", "layout"],
        hint: "One corrupt file ends the loop over all projects, or is never written again: skip \
            it, and replace it with the next checkpoint.",
    }
    MAINTENANCE_ONLY_OURS {
        id: "maintenance/only-ours",
        statement: "Maintenance touches only what belongs to the store: a v1 repository has its \
            `HERMES_WORKDIR`, an archive the name `legacy-<timestamp>` and such repositories in \
            it; anything else in the base, whatever it looks like, is left as it is.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance",
        needs: ["test.store", "layout"],
        hint: "A folder is taken for the store's because of part of its name, or two names in it: \
            remove or move only a folder that has all marks.",
    }
    MAINTENANCE_DAMAGE {
        id: "maintenance/damage",
        statement: "A damaged or missing object affects what needs it and nothing more: every \
            other checkpoint and project is listed, compared, restored and checkpointed as before.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance",
        needs: ["test.damage", "layout"],
        hint: "One unreadable object ends the walk over all objects: leave out what needs it, \
            report that, and go on with the rest.",
    }
    MAINTENANCE_NEVER_RAISES {
        id: "maintenance/never-raises",
        statement: "Maintenance never raises an error into its caller; failures are logged and \
            counted.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Limits and maintenance; seed 000",
        needs: ["sweep"],
        hint: "One failed step stops the rest: count the failure, log it and go on.",
    }
}
