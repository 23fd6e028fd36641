//! Files that belong together: a database and its journal are captured and restored as a unit.

super::rules! {
    UNIT_CAPTURED {
        id: "unit/captured",
        statement: "The files of a database are captured together, as they were at one moment, or \
            none of them is captured and the answer names each, with the reason.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "reports F3, A1 and A4 (November 2026): rows lost by a checkpoint",
        needs: ["capture.units"],
        hint: "An exclude such as `*.log`, the file size limit or an ignore file left out one \
            member: decide for the entire database, by content, before any file is stored.",
    }
    UNIT_ROWS {
        id: "unit/rows",
        statement: "A database that is opened after a restore passes its integrity check and has \
            the rows that it had at the checkpoint, or the rows from before the restore if it was \
            kept.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "reports F3, F4 and A2 to A5 (November 2026)",
        needs: ["capture.units"],
        hint: "A `-wal` or `-journal` of another moment lies alongside the database: it is applied \
            when the database is opened.",
    }
    UNIT_UNDO {
        id: "unit/undo",
        statement: "A restore replaces or removes a database only if the pre-restore checkpoint \
            holds every file of it, so that every row can be restored.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "reports A2 and A4 (November 2026): rows lost that no checkpoint holds",
        needs: ["capture.units", "restore.safety"],
        hint: "A member is ignored or too large now, so that the pre-restore checkpoint lacks it: \
            keep the entire database and name it.",
    }
    UNIT_RESTORED {
        id: "unit/restored",
        statement: "A restore restores all files that the checkpoint has of a database and removes \
            its other files, or leaves every file of it as it is and names those that differ, with \
            the reason.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "reports F3, F4 and A2 to A5 (November 2026)",
        needs: ["capture.units"],
        hint: "Each file was decided by itself: a `-wal` created since was left, or a database was \
            kept while its `-wal` was restored. Decide for all members, then swap them.",
    }
}
