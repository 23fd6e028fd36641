//! When a checkpoint is taken, automatically or manually.

super::rules! {
    TURN_ONCE {
        id: "turn/once",
        statement: "At most one automatic checkpoint is taken per project and turn.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers; seeds 000, 002",
        needs: ["ensure_checkpoint"],
        hint: "The record that a turn has its checkpoint is kept per process, or per path as typed: \
            keep it per canonical directory.",
    }
    TURN_RESET {
        id: "turn/reset",
        statement: "A new turn allows every project an automatic checkpoint again.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers; seed 002",
        needs: ["ensure_checkpoint"],
        hint: "A new turn resets one project or one session only: reset all of them.",
    }
    TURN_PER_PROJECT {
        id: "turn/per-project",
        statement: "Projects do not share a turn: an automatic checkpoint of one project does not \
            use up that of another.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers; seed 000",
        needs: ["ensure_checkpoint"],
        hint: "One flag covers all projects of the turn: keep a set of canonical project \
            directories instead.",
    }
    TURN_FAILURE_KEEPS_SLOT {
        id: "turn/failure-keeps-slot",
        statement: "A failed attempt does not use up the automatic checkpoint of the turn.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers",
        needs: ["ensure_checkpoint"],
        hint: "The turn is marked as done before the attempt: mark it only once the attempt has \
            ended without an error.",
    }
    TURN_NOTHING_USES_SLOT {
        id: "turn/nothing-uses-slot",
        statement: "An attempt that found nothing to save uses up the automatic checkpoint of the \
            turn.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers",
        needs: ["ensure_checkpoint"],
        hint: "The turn is marked as done only when there is a new checkpoint: mark it as well \
            when nothing had changed.",
    }
    TURN_DISABLED {
        id: "turn/disabled",
        statement: "With `enabled` set to false, an automatic checkpoint does nothing at all: no \
            file is created or changed.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers; seed 000",
        needs: ["ensure_checkpoint", "settings.enabled"],
        hint: "The store is opened or migrated before `enabled` is checked: check it first, and \
            touch no file when it is off.",
    }
    TURN_MANUAL {
        id: "turn/manual",
        statement: "A manual request for a checkpoint is carried out whatever `enabled` says and \
            whether or not the turn already has its automatic checkpoint.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Base and configuration",
        needs: ["ensure_checkpoint", "checkpoint"],
        hint: "The manual request goes through the automatic path: let it skip the checks of \
            `enabled` and of the turn.",
    }
    TURN_NO_BACKEND {
        id: "turn/no-backend",
        statement: "Where no usable git is found, checkpoints switch themselves off and nothing \
            else is affected.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers; seed 000",
        needs: ["test.without_backend"],
        hint: "The error reaches the tool, or a part of a store is left behind: check for what the \
            store needs before anything is written, and take no checkpoint without it.",
    }
    TURN_TRIGGERS {
        id: "turn/triggers",
        statement: "A checkpoint is taken before file tools write, for every path that a patch \
            names, and before destructive terminal commands.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers; seed 000",
        needs: ["before_tool"],
        hint: "Only the first file of a patch counts, or only one kind of tool: find the project of \
            every file that a tool is about to write.",
    }
    TURN_SHELL_WORDS {
        id: "turn/shell-words",
        statement: "Whether a terminal command is destructive is decided by its shell words, not \
            by substrings.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers",
        needs: ["classify"],
        hint: "The text is searched for words: read it as a shell does, with quotes, comments, \
            redirections and the programs that run others.",
    }
    TURN_SAFE_SIDE {
        id: "turn/safe-side",
        statement: "A terminal command counts as changing files unless it is known to change none: \
            so does an unlisted program, and one that takes a program from its words or its input.",
        tier: Integrity,
        level: Should,
        since: "0.1",
        source: "behaviour: Turns and triggers; reported: F12",
        needs: ["classify", "classify.cautious"],
        hint: "Programs that change files are listed, and all others count as harmless: list those \
            that change nothing instead.",
    }
    TURN_SHARED_HISTORY {
        id: "turn/shared-history",
        statement: "File tools and terminal commands that work inside one project share one \
            history.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Turns and triggers",
        needs: ["before_tool", "project_of"],
        hint: "A command uses the history of the folder where it runs, a file that of its project: \
            find the project of both in the same way.",
    }
}
