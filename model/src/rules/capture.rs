//! What a checkpoint holds, and what taking it must not change.

super::rules! {
    CAPTURE_CREATED {
        id: "capture/created",
        statement: "A project that changed since its last checkpoint gets a new checkpoint on \
            request.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture; seed 000",
        needs: [],
        hint: "An error is mistaken for \"nothing changed\". With git: a stale index lock, a stray \
            `GIT_*` variable, or `git add` on an empty nested repository.",
    }
    CAPTURE_BYTES {
        id: "capture/bytes",
        statement: "Every regular file is captured byte for byte.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: [],
        hint: "A file was changed on its way into the store, or considered unchanged because its \
            size and time are: hash the bytes that are read. With git, a filter or `ident` ran.",
    }
    CAPTURE_EXECUTABLE {
        id: "capture/executable",
        statement: "A file's executable bit is captured.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: [],
        hint: "The mode is constant or never read: record the owner's executable bit. With git, \
            `core.fileMode` is off: store 100755 yourself.",
    }
    CAPTURE_SYMLINK {
        id: "capture/symlink",
        statement: "A symlink is captured as a link, whatever it points at.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: [],
        hint: "The link was followed: use `lstat` and `readlink`, also where it points at nothing \
            or at a directory.",
    }
    CAPTURE_ANY_NAME {
        id: "capture/any-name",
        statement: "A file is captured whatever its name is: with newlines, with pattern \
            characters, or with bytes that are not UTF-8.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: [],
        hint: "Names are decoded as UTF-8, split at newlines or read as patterns: treat them as \
            bytes. With git, use `-z` and `--literal-pathspecs`.",
    }
    CAPTURE_NO_CONVERSION {
        id: "capture/no-conversion",
        statement: "Attributes, filters, line-ending conversion and `ident` never change a byte of \
            what is captured.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: [],
        hint: "Files went through a conversion meant for source code. With git, use `hash-object \
            --no-filters`, or unset the attributes in `info/attributes`.",
    }
    CAPTURE_DEFAULT_EXCLUDES {
        id: "capture/default-excludes",
        statement: "Paths that the default excludes name are not captured, unless the project's \
            own ignore files include them again.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture; seed 004",
        needs: ["capture.default_excludes"],
        hint: "A pattern is missing from the list, or the list was written once and is out of \
            date: rewrite it whenever the store is opened. With git, it is `info/exclude`.",
    }
    CAPTURE_GITIGNORE {
        id: "capture/gitignore",
        statement: "Paths that the project's own ignore files exclude are not captured, and the \
            ignore files leave nothing else out.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["capture.gitignore"],
        hint: "An ignore file in a subfolder is not read, or files that became ignored later are \
            still captured. With git, stage into an empty index.",
    }
    CAPTURE_OWN_IGNORE_FILE {
        id: "capture/own-ignore-file",
        statement: "The store's own ignore file counts like the `.gitignore` of the same \
            directory, and is read after it: it may exclude further paths, and include again what \
            that file or the default excludes exclude.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "decision 0046",
        needs: ["capture.own_ignore_file"],
        hint: "The file is not read, is read only in the root, or before the `.gitignore`: the \
            last line that matches decides, and the lines of the own file come last.",
    }
    CAPTURE_SECRETS {
        id: "capture/secrets",
        statement: "A project's ignore file cannot include again the secrets that the default \
            excludes name.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["capture.default_excludes"],
        hint: "A line such as `!.env` in the project's ignore file wins: match the secret patterns \
            once more after all ignore rules. With git, `.gitignore` outranks `info/exclude`.",
    }
    CAPTURE_SPECIAL {
        id: "capture/special",
        statement: "Sockets, fifos and devices are not captured, and they do not stop a \
            checkpoint.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["files.special"],
        hint: "A fifo is opened and blocks, or a socket makes the checkpoint fail: check with \
            `lstat`, and skip what is neither a file nor a link.",
    }
    CAPTURE_SIZE_CAP {
        id: "capture/size-cap",
        statement: "A file larger than the file size limit is not captured; a file of exactly that \
            size is; a limit of 0 means no limit.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture; seeds 000, 004",
        needs: ["settings.max_file_bytes"],
        hint: "The comparison is `>=`, a limit of 0 excludes every file, an earlier version is captured \
            instead, or what was once too large stays out. With git, stage into an empty index.",
    }
    CAPTURE_INDEPENDENT {
        id: "capture/independent",
        statement: "Whether a file is captured depends on that file alone, never on a sibling's \
            name or on settings around the project.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: [],
        hint: "A sibling's name was read as a pattern, or a setting of the user applied. With git: \
            a global ignore file, a pathspec, or a nested repository stored as a gitlink.",
    }
    CAPTURE_NESTED_REPOSITORY {
        id: "capture/nested-repository",
        statement: "The files of a nested repository are captured like any other files; only its \
            `.git` is not.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["capture.no_repositories"],
        hint: "Only the top `.git` is skipped, or all of a nested repository is: skip each `.git`, \
            file or folder, and walk the rest. With git, it became a gitlink.",
    }
    CAPTURE_UNREADABLE {
        id: "capture/unreadable",
        statement: "An unreadable file is left out and reported, and the rest of the checkpoint is \
            taken.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["files.unreadable"],
        hint: "The checkpoint gives up at the first unreadable file: read file by file, go on, and \
            name what was skipped. With git, `git add` gives up.",
    }
    CAPTURE_HONEST {
        id: "capture/honest",
        statement: "A checkpoint is reported only for content that was really read; its id never \
            refers to an earlier or an empty state.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: [],
        hint: "Reading failed unnoticed, so the previous state was stored again: check every \
            result. With git, `write-tree` ran after a `git add` that had failed.",
    }
    CAPTURE_UNCHANGED {
        id: "capture/unchanged",
        statement: "When nothing changed since the last checkpoint, no new checkpoint is taken.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture; seed 000",
        needs: ["take.unchanged"],
        hint: "Times or checkpoint ids are compared instead of content: compare the content read \
            with that of the newest checkpoint. With git, compare the ids of the trees.",
    }
    CAPTURE_EMPTY_FIRST {
        id: "capture/empty-first",
        statement: "No first checkpoint is taken of a directory that has nothing to capture.",
        tier: Documented,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["take.declines_empty"],
        hint: "An empty state was stored: where there is no earlier checkpoint and no file, answer \
            that nothing changed. With git, the empty tree was committed.",
    }
    CAPTURE_READ_ONLY {
        id: "capture/read-only",
        statement: "Taking a checkpoint, listing and diffing never change the working tree or its \
            timestamps.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: [],
        hint: "A lock or temporary file inside the project changed the time of a directory: keep \
            all such files below the checkpoint base.",
    }
    CAPTURE_REASON {
        id: "capture/reason",
        statement: "The reason of a checkpoint is stored in full.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["list.reason"],
        hint: "Only the first line or paragraph is kept, or the text is cleaned up. With git, \
            write it with `commit-tree` and read the raw message, not `%s`.",
    }
    CAPTURE_REASON_ONE_LINE {
        id: "capture/reason-one-line",
        statement: "A reason is shown on one line, with its control characters escaped.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["list.printed", "list.reason"],
        hint: "The reason is printed as it is stored: escape characters that end a line or move \
            the cursor.",
    }
    CAPTURE_STORED {
        id: "capture/stored",
        statement: "Every object of a checkpoint is stored and intact before the checkpoint is \
            reported, even if nothing changed: a damaged or truncated object counts as absent.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["test.damage", "layout"],
        hint: "Objects that were read are assumed to be stored: check that each object exists and \
            is intact, and store it again if not.",
    }
    CAPTURE_STEADY {
        id: "capture/steady",
        statement: "A file that changes while it is read is captured as one of its versions, or \
            left out and reported.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "behaviour: Capture",
        needs: ["test.injection", "layout"],
        hint: "A file was read in pieces, or its size and time were checked before reading only: \
            check again after reading, and read the file again if anything differs.",
    }
    CAPTURE_CONTAINED {
        id: "capture/contained",
        statement: "Nothing outside the project is captured, even if a folder becomes a link while \
            a checkpoint is taken.",
        tier: Integrity,
        level: Must,
        since: "0.1",
        source: "issue: Nothing is lost, item 5",
        needs: ["test.injection", "layout"],
        hint: "A folder was checked and then opened by its path: open each folder relative to its \
            open parent folder, without following links.",
    }
}
