//! What a restore restores, what it leaves unchanged and what it refuses.

super::rules! {
    RESTORE_TARGET {
        id: "restore/target",
        statement: "A restore accepts a number of the list, a full id, or a short id of 4 to 64 \
            hex digits that only one checkpoint's id begins with.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 000",
        needs: [],
        hint: "Numbers count from 0 or from the oldest, or a short id of digits only is never \
            tried: treat it as a number if that number is listed, else as an id.",
    }
    RESTORE_HAPPENS {
        id: "restore/happens",
        statement: "A restore that no rule refuses is carried out, and restores every path that it \
            may.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "An obstacle at one path stops the whole restore, or that path: remove it where \
            nothing is lost, and go on with the rest.",
    }
    RESTORE_OWN_CHECKPOINT {
        id: "restore/own-checkpoint",
        statement: "A restore accepts only a checkpoint of this project: anything else in the \
            store, such as another project's checkpoint, is \"not found\".",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "Any id that the store knows is accepted: look only in this project's list. With \
            git, `cat-file -e` and `rev-parse` find every object, trees and blobs too.",
    }
    RESTORE_BAD_TARGET {
        id: "restore/bad-target",
        statement: "A target that names no checkpoint is refused: an empty text, an otherwise \
            valid id with a dash before it or a newline or NUL after it, and a number out of \
            range.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 004",
        needs: [],
        hint: "The text is only partly checked: a regular expression's `$` lets a final newline \
            pass, and number parsers read `+1` and `-1`. Match all of it, digits only.",
    }
    RESTORE_BAD_PATH {
        id: "restore/bad-path",
        statement: "A file path that is empty, names the project itself, is absolute, or leads out \
            of the project by `..` or a symlink is refused.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 004",
        needs: ["restore.file"],
        hint: "An empty path means everything, or only the text is checked for `..`: check the \
            folders above the file for symlinks too.",
    }
    RESTORE_REFUSAL_CHANGES_NOTHING {
        id: "restore/refusal-changes-nothing",
        statement: "A refused restore changes nothing: no file, no extra checkpoint, no new \
            numbers in the list.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "The pre-restore checkpoint is taken before the checks: check the target and the \
            path first, then write.",
    }
    RESTORE_SAFETY_CHECKPOINT {
        id: "restore/safety-checkpoint",
        statement: "Before it writes, a restore takes a pre-restore checkpoint of the state that \
            it is about to change.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seeds 000, 002",
        needs: ["restore.safety"],
        hint: "The pre-restore checkpoint was skipped because of `enabled` or the turn, or was \
            taken after the write: take it first, regardless of both.",
    }
    RESTORE_SAFETY_OUTSIDE_TURN {
        id: "restore/safety-outside-turn",
        statement: "The pre-restore checkpoint does not use up the automatic checkpoint of the \
            turn.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["ensure_checkpoint", "restore.safety"],
        hint: "Any checkpoint marks the turn as done: mark it only where the automatic checkpoint \
            is requested.",
    }
    RESTORE_SAFETY_SKIPPED {
        id: "restore/safety-skipped",
        statement: "No pre-restore checkpoint is taken when nothing changed since the newest \
            checkpoint, or when the directory is gone.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety"],
        hint: "The pre-restore checkpoint is always taken, or is compared with the target: compare \
            with the newest checkpoint, and skip a directory that is gone.",
    }
    RESTORE_SAFETY_KEEPS_TARGET {
        id: "restore/safety-keeps-target",
        statement: "The pre-restore checkpoint never evicts the target before the target is \
            restored.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety", "settings.max_snapshots"],
        hint: "Taking the pre-restore checkpoint evicts the oldest checkpoint, which was the \
            target: find the target first, and evict after the restore.",
    }
    RESTORE_SAME_NUMBER {
        id: "restore/same-number",
        statement: "A restore moves no number: the same words twice mean the same checkpoint, since a \
            pre-restore checkpoint has no number.",
        tier: Integrity,
        level: Should,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety", "target.number", "target.stable_number"],
        hint: "The pre-restore checkpoint becomes number 1, so that the same command typed twice \
            undoes itself: name those apart, and count the others.",
    }
    RESTORE_UNDO_REDO {
        id: "restore/undo-redo",
        statement: "Undo gives back the files from before the project's newest restore that was not undone, \
            and redo those from before its newest undo: files that the undone restore brought go, unless \
            they were changed since, and other new files stay.",
        tier: Integrity,
        level: Should,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety", "restore.undo"],
        hint: "An undo is a restore like any other, and undoes itself when it is repeated: keep which \
            restores were undone apart from the list of checkpoints.",
    }
    RESTORE_KEEPS_HISTORY {
        id: "restore/keeps-history",
        statement: "A restore evicts only older pre-restore checkpoints, and never one that it \
            restores: however often a user restores, the checkpoints of the user's work are still \
            listed, under the same ids.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety", "settings.max_snapshots"],
        hint: "The limit is applied after a pre-restore checkpoint as after any other: let these \
            evict only each other, and keep the rest until another checkpoint is taken.",
    }
    RESTORE_KEEPS_UNDO {
        id: "restore/keeps-undo",
        statement: "The last three pre-restore checkpoints that the list has no room for can still \
            be restored by their ids: later restores do not remove what only these checkpoints \
            hold.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; Limits and maintenance",
        needs: ["restore.safety", "settings.max_snapshots", "restore.keeps_undo"],
        hint: "Where the list is full, the next restore evicts the pre-restore checkpoint of the \
            last one: keep a ref to the last few, whatever the list holds.",
    }
    RESTORE_SAFETY_REQUIRED {
        id: "restore/safety-required",
        statement: "If the pre-restore checkpoint cannot be taken, the restore is refused unless \
            it is forced, and the answer says so.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety", "settings.max_files"],
        hint: "The failure is only logged: refuse before anything is written, or say in the answer \
            that it was forced.",
    }
    RESTORE_BYTES {
        id: "restore/bytes",
        statement: "After a restore every captured file of the checkpoint has its recorded bytes, \
            and no file has appeared that the checkpoint does not have.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 000",
        needs: [],
        hint: "A file was never captured (a diff shows it), was converted, or was skipped as up to \
            date: write the stored bytes, and read them back. With git, `checkout` converts and \
            skips.",
    }
    RESTORE_EXECUTABLE {
        id: "restore/executable",
        statement: "After a restore every captured file of the checkpoint has its recorded \
            executable bit.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "Files with equal bytes were skipped, or a mode given to `open` was ignored because \
            the file exists: compare modes too, and use `chmod`.",
    }
    RESTORE_TYPE {
        id: "restore/type",
        statement: "After a restore every captured path of the checkpoint has its recorded type: \
            files are files, and links are links with their recorded target.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "A link was never captured (a diff shows it), its target was read as text, or an \
            existing link was followed: keep the target's bytes, remove what is there, then link.",
    }
    RESTORE_UNTOUCHED {
        id: "restore/untouched",
        statement: "A path that already is as recorded is not written: it keeps its inode, times \
            and permissions, since builds and editors watch them.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "Every file of the checkpoint is written: compare each with the existing file first, \
            and skip it if equal. With git, `read-tree -u` over a stale index rewrites all.",
    }
    RESTORE_PERMISSIONS {
        id: "restore/permissions",
        statement: "A restore never widens permissions: a file that is replaced keeps its \
            permissions except for the executable bit and for those that it did not give to others when \
            it was captured, and a file that is created again is open to no user to whom it was not \
            open when it was captured.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "Files are created with the default permissions: record those of each file, and \
            `chmod` before the rename. With git, a tree keeps the executable bit alone.",
    }
    RESTORE_FOLDER_PERMISSIONS {
        id: "restore/folder-permissions",
        statement: "A restore opens no folder to a user who had access to it neither before the \
            restore nor when it was captured: a folder that is created again has no wider \
            permissions than it had at the checkpoint.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.folder_permissions"],
        hint: "Missing folders are created with the default permissions: record those of each \
            folder, and pass them to `mkdir`. With git, a tree has no permissions of folders.",
    }
    RESTORE_HARD_LINKS {
        id: "restore/hard-links",
        statement: "Other names of a file (hard links) keep their bytes when one of its names is \
            restored.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "The file was opened and truncated in place, which changes it under all its names: \
            write a new file alongside and rename it into place.",
    }
    RESTORE_LEAVES_NEW {
        id: "restore/leaves-new",
        statement: "Files created since the checkpoint are left in place and named in the answer.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.leaves_new"],
        hint: "Everything that the checkpoint does not hold was removed, or not named: touch only \
            its paths. With git, `git clean` or `read-tree --reset -u` did it.",
    }
    RESTORE_EXACT {
        id: "restore/exact",
        statement: "An exact restore also removes the files created since the checkpoint, but only \
            those that the pre-restore checkpoint holds.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.exact"],
        hint: "Only files known from before are removed: remove what the pre-restore checkpoint \
            has and the target has not. With git, only files in the index count as tracked.",
    }
    RESTORE_LEFT_OUT {
        id: "restore/left-out",
        statement: "A path that a checkpoint left out, as too large, unreadable or not a regular \
            file, is not absent: a restore never removes it nor reports it as created since, and \
            reports it as kept if it is not what it was.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["checkpoint.left_out", "restore.report"],
        hint: "A path that is not in the checkpoint counts as new: record with each checkpoint \
            what was left out and why, and check that before removing or listing a path.",
    }
    RESTORE_PROTECTS {
        id: "restore/protects",
        statement: "Content that is not captured, such as ignored files, is never deleted or \
            overwritten; where that would happen, the path is reported as kept.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "Ignored and oversize files are overwritten: replace only what the pre-restore \
            checkpoint holds, and report the rest. With git, `git checkout` overwrites them.",
    }
    RESTORE_CONTAINED {
        id: "restore/contained",
        statement: "A restore never writes outside the project, whatever symlinks are in the way.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "A symlink among the folders above a file was followed: check each folder on the way \
            down with `lstat`, or open it with `O_NOFOLLOW`.",
    }
    RESTORE_HONEST {
        id: "restore/honest",
        statement: "The answer of a restore names exactly the paths that it wrote, removed and \
            kept.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.report"],
        hint: "The answer repeats the plan, or names files that were already correct: compare with \
            the disk, and name what changed.",
    }
    RESTORE_UNDO {
        id: "restore/undo",
        statement: "Restoring the pre-restore checkpoint of a restore brings back exactly the \
            captured state from before that restore.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seeds 000, 002",
        needs: ["restore.safety"],
        hint: "The pre-restore checkpoint holds the target's state: read it from the disk before \
            anything is written. With git, the index already held the target.",
    }
    RESTORE_FILE_LITERAL {
        id: "restore/file-literal",
        statement: "The path of a single file is literal: a pattern character names a file with \
            that character in its name and nothing else.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.file"],
        hint: "The path is read as a pattern: look it up literally. With git, `git checkout ID -- \
            NAME` takes a pathspec, so use `--literal-pathspecs`.",
    }
    RESTORE_FILE_ONLY {
        id: "restore/file-only",
        statement: "Restoring a single file changes only that path.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 000",
        needs: ["restore.file"],
        hint: "The name matched other files as a pattern or a folder, or an obstacle was removed: \
            look up that path alone, else refuse.",
    }
    RESTORE_UNDOES_TURN {
        id: "restore/undoes-turn",
        statement: "A full restore undoes the last conversation turn exactly once; a restore of a \
            single file or a failed restore does not.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 000",
        needs: ["restore.undoes_turn"],
        hint: "The conversation is changed for every restore alike: undo one turn, after a full \
            restore that succeeded.",
    }
    RESTORE_DELETED_PROJECT {
        id: "restore/deleted-project",
        statement: "A project directory that was deleted as a whole can still be listed and \
            restored.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "Resolving a missing directory, or running a command in it, fails: resolve its \
            parent, then create the directory again. With git, no command runs there.",
    }
    RESTORE_OTHER_HANDS {
        id: "restore/other-hands",
        statement: "Where the agent's writes are reported, a restore names those of its paths that \
            anyone else than the agent changed since the checkpoint, and no others.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "docs/decisions/0024-attribution-of-edits.md",
        needs: ["restore.others"],
        hint: "Only the agent's last write is considered: before each write, compare the file with \
            the result of the previous write, and at the end with the result of the last.",
    }
    RESTORE_KEEPS_SAVES {
        id: "restore/keeps-saves",
        statement: "What a user or another process saves while a restore runs is not lost: it is \
            kept, or in a checkpoint.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety", "test.injection", "layout"],
        hint: "A plain rename replaces the existing file: exchange the two, check the file that \
            was replaced, and put it back if it is not as in the pre-restore checkpoint.",
    }
}
