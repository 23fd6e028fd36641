//! How the store stays small, and what becomes of the layout before it.

super::rules! { RULES;
    LIMIT_NEWEST_REMAIN = "limit/newest-remain", Documented, Modelled,
        "behaviour: Limits and maintenance; seeds 000, 004":
        "After each take the newest max_snapshots checkpoints remain and the space of the \
         dropped ones is reclaimed for real: at most as many dropped ones wait for that as remain.";
    LIMIT_TOTAL_SIZE = "limit/total-size", Documented, Modelled,
        "behaviour: Limits and maintenance; seeds 000, 004":
        "When the store exceeds max_total_size_mb the oldest checkpoint per project is dropped \
         round-robin until it does not.";
    LIMIT_NEWEST_STAYS = "limit/newest-stays", Documented, Modelled,
        "behaviour: Limits and maintenance":
        "The size cap never drops the newest checkpoint of a project.";
    LIMIT_NO_MORE_THAN_NEEDED = "limit/no-more-than-needed", Integrity, Modelled,
        "behaviour: Limits and maintenance":
        "Size means reachable data: no more is dropped than needed, and one big commit never \
         flattens other projects.";
    SWEEP_INTERVAL = "sweep/interval", Documented, Modelled,
        "behaviour: Limits and maintenance; seeds 000, 004":
        "The startup sweep runs at most once per min_interval_hours; a marker that is corrupt \
         or from the future counts as none.";
    SWEEP_ORPHANS = "sweep/orphans", Documented, Modelled,
        "behaviour: Limits and maintenance; seeds 000, 004":
        "The sweep removes projects whose directory is gone, and judges orphan before stale.";
    SWEEP_STALE = "sweep/stale", Documented, Modelled,
        "behaviour: Limits and maintenance; seeds 000, 004":
        "The sweep removes projects, archives and leftover v1 repositories not touched for \
         retention_days.";
    SWEEP_COUNTS = "sweep/counts", Documented, Modelled,
        "behaviour: Limits and maintenance; seed 004":
        "The sweep counts what it scanned, removed and failed on, and the bytes it freed.";
    SWEEP_RECLAIMS = "sweep/reclaims", Documented, Modelled,
        "behaviour: Limits and maintenance; seeds 000, 004":
        "A sweep leaves no stored object that no checkpoint needs.";
    SWEEP_EVIDENCE = "sweep/evidence", Integrity, Modelled, "behaviour: Limits and maintenance":
        "An unreachable parent directory is no evidence of deletion: the project is kept.";
    MAINTENANCE_COMMANDS = "maintenance/commands", Documented, Modelled,
        "behaviour: Limits and maintenance; seed 000":
        "status, list, prune, clear and clear-legacy work without an agent; clear asks first; \
         exit codes are 0, 1 and 2.";
    MAINTENANCE_DEFAULTS = "maintenance/defaults", Integrity, Planned,
        "behaviour: Limits and maintenance":
        "The maintenance commands take their defaults from the configuration file.";
    MAINTENANCE_HEALS = "maintenance/heals", Integrity, Modelled,
        "behaviour: Limits and maintenance":
        "Corrupt or missing metadata, markers and indexes stop no other project and heal on the \
         next take.";
    MAINTENANCE_NEVER_RAISES = "maintenance/never-raises", Documented, Modelled,
        "behaviour: Limits and maintenance; seed 000":
        "Maintenance never raises into the caller; failures are logged and counted.";
    MIGRATION_ARCHIVES = "migration/archives", Documented, Modelled,
        "behaviour: Migration from v1; seeds 000, 004":
        "Repositories of the v1 move, intact and readable by git, to one legacy \
         archive; doing it again changes nothing.";
    MIGRATION_LOSES_NOTHING = "migration/loses-nothing", Integrity, Modelled,
        "behaviour: Migration from v1":
        "A name collision, a crash half-way or stray files lose nothing and are not swept up.";
    CONFIG_KEYS = "config/keys", Documented, Planned, "behaviour: Base and configuration; seed 000":
        "The checkpoints section of the configuration file has the documented keys and defaults.";
}
