//! What a rollback brings back, what it leaves alone and what it refuses.

super::rules! { RULES;
    RESTORE_TARGET = "restore/target", Documented, Modelled, "behaviour: Restore; seed 000":
        "A target is a number of the list, a full id or an unambiguous short id of 4 to 64 hex \
         digits.";
    RESTORE_OWN_CHECKPOINT = "restore/own-checkpoint", Integrity, Modelled, "behaviour: Restore":
        "A target is a checkpoint of this project: another project's commit, a tree or a blob \
         is not found.";
    RESTORE_BAD_TARGET = "restore/bad-target", Documented, Modelled, "behaviour: Restore; seed 004":
        "An empty, dash-leading or non-hex id, a trailing newline, a NUL and a number out of \
         range are refused.";
    RESTORE_BAD_PATH = "restore/bad-path", Documented, Modelled, "behaviour: Restore; seed 004":
        "A file path that is empty, absolute or leaves the project by dots or by a symlink is \
         refused.";
    RESTORE_REFUSAL_CHANGES_NOTHING = "restore/refusal-changes-nothing", Integrity, Modelled,
        "behaviour: Restore":
        "A refusal changes nothing anywhere: no file, no extra checkpoint, no renumbering.";
    RESTORE_SAFETY_CHECKPOINT = "restore/safety-checkpoint", Documented, Modelled,
        "behaviour: Restore; seeds 000, 002":
        "Before it writes, a restore takes a pre-rollback checkpoint of the state it is about \
         to change.";
    RESTORE_SAFETY_OUTSIDE_TURN = "restore/safety-outside-turn", Integrity, Modelled,
        "behaviour: Restore":
        "The pre-rollback checkpoint is outside the turn's slot.";
    RESTORE_SAFETY_SKIPPED = "restore/safety-skipped", Integrity, Modelled, "behaviour: Restore":
        "The pre-rollback checkpoint is skipped when nothing changed since the newest one, or \
         nothing is there.";
    RESTORE_SAFETY_KEEPS_TARGET = "restore/safety-keeps-target", Integrity, Modelled,
        "behaviour: Restore":
        "The pre-rollback checkpoint never evicts the target before that is restored.";
    RESTORE_SAFETY_REQUIRED = "restore/safety-required", Integrity, Modelled, "behaviour: Restore":
        "If the pre-rollback checkpoint cannot be taken, the restore is refused unless forced, \
         and the answer says so.";
    RESTORE_BYTES = "restore/bytes", Integrity, Modelled, "behaviour: Restore; seed 000":
        "After a restore every captured file of the checkpoint has its recorded bytes.";
    RESTORE_EXECUTABLE = "restore/executable", Integrity, Modelled, "behaviour: Restore":
        "After a restore every captured file of the checkpoint has its recorded executable bit.";
    RESTORE_TYPE = "restore/type", Integrity, Modelled, "behaviour: Restore":
        "After a restore every captured path of the checkpoint has its recorded type: files are \
         files and links are links.";
    RESTORE_LEAVES_NEW = "restore/leaves-new", Integrity, Modelled, "behaviour: Restore":
        "Files created since the checkpoint are left and named in the answer.";
    RESTORE_EXACT = "restore/exact", Integrity, Modelled, "behaviour: Restore":
        "An exact restore also removes files created since, those that the pre-rollback \
         checkpoint holds.";
    RESTORE_PROTECTS = "restore/protects", Integrity, Modelled, "behaviour: Restore":
        "Ignored and uncaptured content is never deleted or overwritten; a path where that \
         would happen is reported as kept.";
    RESTORE_CONTAINED = "restore/contained", Integrity, Modelled, "behaviour: Restore":
        "A restore never writes outside the project, whatever symlinks stand in the way.";
    RESTORE_HONEST = "restore/honest", Integrity, Modelled, "behaviour: Restore":
        "The answer of a restore names exactly the paths that it wrote, removed and kept.";
    RESTORE_UNDO = "restore/undo", Documented, Modelled, "behaviour: Restore; seeds 000, 002":
        "Restoring the pre-rollback checkpoint gives back exactly the captured state from before.";
    RESTORE_FILE_LITERAL = "restore/file-literal", Integrity, Modelled, "behaviour: Restore":
        "A single file's path is literal: pathspec characters name files of that name and \
         nothing else.";
    RESTORE_FILE_ONLY = "restore/file-only", Documented, Modelled, "behaviour: Restore; seed 000":
        "Restoring a single file changes only that path.";
    RESTORE_UNDOES_TURN = "restore/undoes-turn", Documented, Modelled,
        "behaviour: Restore; seed 000":
        "A full restore undoes the last conversation turn exactly once; a single-file restore \
         and a failed one do not.";
    RESTORE_DELETED_PROJECT = "restore/deleted-project", Integrity, Modelled, "behaviour: Restore":
        "A project directory that was deleted as a whole can still be listed and restored.";
}
