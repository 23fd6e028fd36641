//! Which directories are projects, and which never are.

super::rules! {
    SCOPE_IDENTITY {
        id: "scope/identity",
        statement: "A project is its canonical absolute directory: `~`, a relative path, a \
            trailing slash and a symlink to it all name the same project.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity; seed 004",
        needs: ["project.spellings"],
        hint: "The directory is used as it was typed: expand `~`, make it absolute and resolve \
            symlinks before anything else.",
    }
    SCOPE_HASH {
        id: "scope/hash",
        statement: "A project's hash is the first 16 hex digits of the SHA-256 of its canonical \
            path.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity; seed 004",
        needs: ["layout"],
        hint: "The typed path is hashed, or a path with a final slash or newline: hash the bytes \
            of the canonical path and nothing else.",
    }
    SCOPE_ROOT_OF_FILE {
        id: "scope/root-of-file",
        statement: "A file belongs to the nearest directory above it that holds a project marker, \
            such as `.git` or `Cargo.toml`, or else to its parent directory.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity; seed 002",
        needs: ["project_of"],
        hint: "A marker is unknown, a `.git` that is a file is missed, or the outermost marker \
            wins: stop at the nearest marker of any kind.",
    }
    SCOPE_ROOT_NEVER_BROAD {
        id: "scope/root-never-broad",
        statement: "The search for a project marker never ends at the root of the file system or \
            at the home directory.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity",
        needs: ["project_of"],
        hint: "Markers are looked for before the directory is compared with `/` and the home \
            directory: compare first.",
    }
    SCOPE_NEVER_ROOT {
        id: "scope/never-root",
        statement: "The root of the file system is never checkpointed.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity; seed 000",
        needs: ["scope.refuses_root"],
        hint: "The typed text is compared with `/`, which `//`, `/.` and `/x/..` get past: compare \
            the canonical path.",
    }
    SCOPE_NEVER_HOME {
        id: "scope/never-home",
        statement: "The home directory is never checkpointed, whatever path leads to it.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity; seed 000",
        needs: ["scope.refuses_home"],
        hint: "The typed path is compared with `$HOME`: resolve symlinks on both sides, since \
            either path can be a symlink.",
    }
    SCOPE_TOO_MANY_FILES {
        id: "scope/too-many-files",
        statement: "A directory with more files than the limit is not checkpointed.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity; seed 000",
        needs: ["settings.max_files"],
        hint: "The count is off by one, or the checkpoint silently does not happen: refuse only \
            above the limit, and say why.",
    }
    SCOPE_COUNTS_CAPTURED {
        id: "scope/counts-captured",
        statement: "Only files that would be captured count towards the file limit, so a large \
            ignored folder does not switch protection off.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity",
        needs: ["settings.max_files"],
        hint: "Every entry on disk is counted: count only what is left after the excludes, the \
            ignore files and the file size limit.",
    }
    SCOPE_BASE_NOT_CAPTURED {
        id: "scope/base-not-captured",
        statement: "The folder that holds the checkpoints is never captured: not as a project, and \
            not as part of a project around it.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity",
        needs: ["scope.refuses_store"],
        hint: "Nothing compares the project with the checkpoint base: leave the resolved base out \
            of the walk, and refuse it as a project.",
    }
    SCOPE_NO_DIRECTORY {
        id: "scope/no-directory",
        statement: "A path that does not exist or is a file gets no checkpoint and leaves no trace \
            of a project, and the answer says why.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Scope and identity",
        needs: [],
        hint: "The project is recorded before its path is checked: check that the path is a \
            directory before anything is written.",
    }
}
