//! How the store is kept apart from the user's settings, home directory and repositories.

super::rules! {
    ISOLATION_USER_CONFIG {
        id: "isolation/user-config",
        statement: "The user's git configuration, environment variables, hooks and templates never \
            affect the store.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Isolation; seed 004",
        needs: [],
        hint: "A setting of the user applied to the store. With git, clear every `GIT_*` variable, \
            and set `XDG_CONFIG_HOME` and the configuration files yourself.",
    }
    ISOLATION_NO_SIGNING {
        id: "isolation/no-signing",
        statement: "Nothing is ever signed and no user is ever prompted: a broken signing program \
            changes nothing and is never started.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Isolation; seed 004",
        needs: [],
        hint: "A program of the user was started. With git, use `commit-tree`, with \
            `GIT_CONFIG_GLOBAL` and `GIT_CONFIG_SYSTEM` at `/dev/null`.",
    }
    ISOLATION_HOME {
        id: "isolation/home",
        statement: "Nothing in the home directory changes except the checkpoint base.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Isolation; seed 004",
        needs: [],
        hint: "A setting or cache was written to the home directory: write only below the \
            checkpoint base. With git, `git config --global` writes there.",
    }
    ISOLATION_USER_REPOSITORY {
        id: "isolation/user-repository",
        statement: "Nothing in the project's own `.git` changes: not HEAD, refs, index, \
            configuration, stash or hooks.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Isolation, Capture; seed 000",
        needs: [],
        hint: "Something ran in the project's own repository: keep the store apart from it. With git, \
            even `git status` rewrites the index there: set `GIT_DIR` to the store.",
    }
    ISOLATION_SELF_CONTAINED {
        id: "isolation/self-contained",
        statement: "The store depends on no other repository: it has no alternates and shares no \
            objects.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Isolation",
        needs: ["layout"],
        hint: "Files are borrowed from another repository, as `clone --shared` and `--reference` \
            do: start an empty store and write every file into it.",
    }
    ISOLATION_PRIVATE {
        id: "isolation/private",
        statement: "The store is private to its owner: directories have mode 0700 and files 0600, \
            or stricter.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Isolation",
        needs: ["layout"],
        hint: "Files are created with the umask of the caller: set umask 077 for every write, and \
            tighten an existing store. With git, each command needs this umask.",
    }
}
