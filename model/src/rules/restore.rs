//! What a restore restores, what it leaves unchanged and what it refuses.

super::rules! {
    RESTORE_TARGET {
        id: "restore/target",
        statement: "A restore accepts a number of the list, a full id, or a short id of 4 to 64 \
            hex digits that only one checkpoint begins with.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 000",
        needs: [],
        hint: "Numbers count from 0 or from the oldest, or a short id of digits only is never \
            tried: take it for a number if that is listed, else for an id.",
    }
    RESTORE_HAPPENS {
        id: "restore/happens",
        statement: "A restore that nothing here refuses happens, and brings back every path that \
            it may.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "Something in the way of one path stops all of them, or that one: make room where \
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
        statement: "What names no checkpoint is refused: an empty text, a dash before or a newline \
            or NUL behind what would be an id, and a number out of range.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 004",
        needs: [],
        hint: "The text is only half checked: a regular expression's `$` lets a final newline \
            pass, and number parsers read `+1` and `-1`. Match all of it, digits only.",
    }
    RESTORE_BAD_PATH {
        id: "restore/bad-path",
        statement: "A file path that is empty, names the project itself, is absolute, or leads out of it \
            by `..` or a symlink is refused.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 004",
        needs: ["restore.file"],
        hint: "An empty path means everything, or only the text is checked for `..`: look for \
            symlinks among the folders above it too.",
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
        hint: "The pre-rollback checkpoint is taken before the checks: check the target and the \
            path first, then write.",
    }
    RESTORE_SAFETY_CHECKPOINT {
        id: "restore/safety-checkpoint",
        statement: "Before it writes, a restore takes a pre-rollback checkpoint of the state it is \
            about to change.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seeds 000, 002",
        needs: ["restore.safety"],
        hint: "The pre-rollback checkpoint was skipped because of `enabled` or the turn, or is \
            taken after the write: take it first, directly.",
    }
    RESTORE_SAFETY_OUTSIDE_TURN {
        id: "restore/safety-outside-turn",
        statement: "The pre-rollback checkpoint does not use up the automatic checkpoint of the \
            turn.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["ensure_checkpoint", "restore.safety"],
        hint: "Taking any checkpoint marks the turn as done: mark it only where the automatic one \
            is asked for.",
    }
    RESTORE_SAFETY_SKIPPED {
        id: "restore/safety-skipped",
        statement: "No pre-rollback checkpoint is taken when nothing changed since the newest \
            checkpoint, or when the directory is gone.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety"],
        hint: "It is taken always, or compared with the target: compare with the newest \
            checkpoint, and skip a directory that is gone.",
    }
    RESTORE_SAFETY_KEEPS_TARGET {
        id: "restore/safety-keeps-target",
        statement: "The pre-rollback checkpoint never pushes the target out before that is \
            restored.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety", "settings.max_snapshots"],
        hint: "Taking the pre-rollback checkpoint drops the oldest, which was the target: find the \
            target first, and drop after the restore.",
    }
    RESTORE_KEEPS_HISTORY {
        id: "restore/keeps-history",
        statement: "A restore pushes out no checkpoint but older ones that were taken before a \
            restore, and none of these that it restores: however often somebody rolls back, what \
            was taken of their work is still listed, under the same ids.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety", "settings.max_snapshots"],
        hint: "The limit is kept after the pre-rollback checkpoint as after any other: let only \
            those make room for each other, and keep the rest until something else is taken.",
    }
    RESTORE_KEEPS_UNDO {
        id: "restore/keeps-undo",
        statement: "The last three pre-restore checkpoints that the list has no room for can still \
            be restored by their ids: what only they hold is not dropped by the rollbacks after them.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; Limits and maintenance",
        needs: ["restore.safety", "settings.max_snapshots", "restore.keeps_undo"],
        hint: "Where the list is full, the pre-restore checkpoint of a rollback is dropped by the next \
            rollback: keep a ref to the last few, whatever the list holds.",
    }
    RESTORE_SAFETY_REQUIRED {
        id: "restore/safety-required",
        statement: "If the pre-rollback checkpoint cannot be taken, the restore is refused unless \
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
            and no file has come that the checkpoint does not have.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 000",
        needs: [],
        hint: "A file was never captured (a diff tells), was converted, or was skipped as up to date: \
            write the stored bytes, and read them back. With git, `git checkout` does both.",
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
            files are files, and links are links that point where they pointed.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "A link was never captured (a diff tells), where it points was read as text, or what is \
            there was written through: keep its bytes, remove what is there, then make it.",
    }
    RESTORE_UNTOUCHED {
        id: "restore/untouched",
        statement: "A path that already is as recorded is not written: its inode, times and \
            permissions stay, since builds and editors watch them.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "Every file of the checkpoint is written: compare each with what is there first, and \
            skip it. With git, `read-tree -u` over a stale index rewrites all.",
    }
    RESTORE_PERMISSIONS {
        id: "restore/permissions",
        statement: "A restore never widens permissions: a file that is replaced keeps its own but \
            for the executable bit, and one that comes back is open to nobody to whom it was not \
            when it was captured.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: [],
        hint: "Files are made with the default permissions: record those of each file, since a git \
            tree keeps the executable bit alone, and `chmod` before the rename.",
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
        hint: "The file was opened and truncated where it stands, which changes it under all its \
            names: write a new file beside it and rename that into place.",
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
            those that the pre-rollback checkpoint holds.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.exact"],
        hint: "Only files known from before are removed: remove what the pre-rollback checkpoint \
            has and the target has not. With git, only what is in the index counts as tracked.",
    }
    RESTORE_LEFT_OUT {
        id: "restore/left-out",
        statement: "What a checkpoint left out, as too large or unreadable or no regular file, is not \
            absent: a restore never removes it nor calls it created since, and names it as kept where \
            it is not what it was.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["checkpoint.left_out", "restore.report"],
        hint: "What is not in the checkpoint is taken for new: record with each checkpoint what was \
            left out and why, and look there before anything is removed or listed as left.",
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
        hint: "Ignored and oversize files are overwritten, as `git checkout` does: replace only \
            what the pre-rollback checkpoint holds, and report the rest.",
    }
    RESTORE_CONTAINED {
        id: "restore/contained",
        statement: "A restore never writes outside the project, whatever symlinks stand in the \
            way.",
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
        hint: "The answer repeats the plan, or names files that were right already: compare with \
            the disk, and name what changed.",
    }
    RESTORE_UNDO {
        id: "restore/undo",
        statement: "Restoring the pre-rollback checkpoint brings back exactly the captured state \
            from before.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seeds 000, 002",
        needs: ["restore.safety"],
        hint: "The pre-rollback checkpoint holds the target's state: read it from the disk before \
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
        hint: "The path is read as a pattern: look it up as it stands. With git, `git checkout ID \
            -- NAME` takes a pathspec, so use `--literal-pathspecs`.",
    }
    RESTORE_FILE_ONLY {
        id: "restore/file-only",
        statement: "Restoring a single file changes only that path.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore; seed 000",
        needs: ["restore.file"],
        hint: "The name matched other files as a pattern or a folder, or what stood in its way was \
            removed: look up the one path, else refuse.",
    }
    RESTORE_UNDOES_TURN {
        id: "restore/undoes-turn",
        statement: "A full restore undoes the last conversation turn exactly once; a restore of a \
            single file and a failed one do not.",
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
        hint: "Resolving a missing directory, or running git inside it, fails: resolve its parent, \
            then make the directory again.",
    }
    RESTORE_OTHER_HANDS {
        id: "restore/other-hands",
        statement: "A restore that is told what the agent writes names those of its paths that \
            another hand changed since the checkpoint, and no others.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "docs/decisions/0024-attribution-of-edits.md",
        needs: ["restore.others"],
        hint: "Only what the agent wrote last is looked at: compare what stood there before each of \
            its writes with what the one before it had left, and what stands there now with the last.",
    }
    RESTORE_KEEPS_SAVES {
        id: "restore/keeps-saves",
        statement: "What somebody saves while a restore runs is not lost: it is kept, or in a \
            checkpoint.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Restore",
        needs: ["restore.safety", "test.injection", "layout"],
        hint: "What stands there is replaced by a plain rename: exchange the two, look at what came out, and put it back \
            where it is not what the checkpoint before the restore holds.",
    }
}
