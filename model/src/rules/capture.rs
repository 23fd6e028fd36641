//! What a checkpoint holds, and what taking one leaves alone.

super::rules! { RULES;
    CAPTURE_CREATED = "capture/created", Documented, Modelled, "behaviour: Capture; seed 000":
        "A project that changed since its last checkpoint gets a new one when it is asked for.";
    CAPTURE_BYTES = "capture/bytes", Integrity, Modelled, "behaviour: Capture":
        "Every regular file is captured byte for byte.";
    CAPTURE_EXECUTABLE = "capture/executable", Integrity, Modelled, "behaviour: Capture":
        "A file's executable bit is captured.";
    CAPTURE_SYMLINK = "capture/symlink", Integrity, Modelled, "behaviour: Capture":
        "A symlink is captured as a link, whatever it points at.";
    CAPTURE_ANY_NAME = "capture/any-name", Integrity, Modelled, "behaviour: Capture":
        "A file of any name the file system allows is captured: newlines, pathspec characters, \
         bytes that are not UTF-8.";
    CAPTURE_NO_CONVERSION = "capture/no-conversion", Integrity, Modelled, "behaviour: Capture":
        "Attributes, filters, line-end conversion and ident never change a byte.";
    CAPTURE_DEFAULT_EXCLUDES = "capture/default-excludes", Documented, Modelled,
        "behaviour: Capture; seed 004":
        "What the default excludes name is not captured, unless the project's own ignore files \
         re-include it.";
    CAPTURE_GITIGNORE = "capture/gitignore", Documented, Modelled, "behaviour: Capture":
        "What the project's own ignore files exclude is not captured, and nothing else is left \
         out by them.";
    CAPTURE_SECRETS = "capture/secrets", Integrity, Modelled, "behaviour: Capture":
        "A project's ignore file cannot re-include the secrets that the default excludes name.";
    CAPTURE_SPECIAL = "capture/special", Documented, Modelled, "behaviour: Capture":
        "Sockets, fifos and devices are not captured and stop nothing.";
    CAPTURE_SIZE_CAP = "capture/size-cap", Documented, Modelled,
        "behaviour: Capture; seeds 000, 004":
        "A file larger than the cap is not captured; one of equal size is; a cap of 0 is none.";
    CAPTURE_INDEPENDENT = "capture/independent", Integrity, Modelled, "behaviour: Capture":
        "Whether a file is captured depends on that file alone, never on a sibling's name or on \
         ambient settings.";
    CAPTURE_NESTED_REPOSITORY = "capture/nested-repository", Integrity, Modelled,
        "behaviour: Capture":
        "A nested repository's working files are captured like any others; only its .git is not.";
    CAPTURE_UNREADABLE = "capture/unreadable", Integrity, Modelled, "behaviour: Capture":
        "An unreadable file is left out and reported, and the rest of the checkpoint is taken.";
    CAPTURE_HONEST = "capture/honest", Integrity, Modelled, "behaviour: Capture":
        "A checkpoint is reported taken only for what was really read; its id never stands for \
         an earlier or an empty tree.";
    CAPTURE_UNCHANGED = "capture/unchanged", Documented, Modelled, "behaviour: Capture; seed 000":
        "When nothing changed since the last checkpoint, none is taken.";
    CAPTURE_EMPTY_FIRST = "capture/empty-first", Documented, Modelled, "behaviour: Capture":
        "A first checkpoint of a directory with nothing to capture is skipped.";
    CAPTURE_READ_ONLY = "capture/read-only", Integrity, Modelled, "behaviour: Capture":
        "Taking, listing and diffing never change the working tree or its timestamps.";
    CAPTURE_REASON = "capture/reason", Integrity, Modelled, "behaviour: Capture":
        "The reason is stored whole.";
    CAPTURE_REASON_ONE_LINE = "capture/reason-one-line", Integrity, Planned, "behaviour: Capture":
        "A reason is shown on one line with its control characters escaped.";
}
