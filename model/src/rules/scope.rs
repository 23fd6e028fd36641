//! Which directory is a project, and which is never one.

super::rules! { RULES;
    SCOPE_IDENTITY = "scope/identity", Documented, Modelled,
        "behaviour: Scope and identity; seed 004":
        "A project is its canonical absolute directory: a tilde, a relative path, a trailing \
         slash and a symlink to it all name the same one.";
    SCOPE_HASH = "scope/hash", Documented, Modelled, "behaviour: Scope and identity; seed 004":
        "A project's hash is the first 16 hex digits of the SHA-256 of its canonical path.";
    SCOPE_ROOT_OF_FILE = "scope/root-of-file", Documented, Modelled,
        "behaviour: Scope and identity; seed 002":
        "A file's project is the nearest ancestor that holds a project marker, else its parent \
         directory.";
    SCOPE_ROOT_NEVER_BROAD = "scope/root-never-broad", Integrity, Modelled,
        "behaviour: Scope and identity":
        "The walk up to a marker never answers the file system's root or the home directory.";
    SCOPE_NEVER_ROOT = "scope/never-root", Documented, Modelled,
        "behaviour: Scope and identity; seed 000":
        "The file system's root is never checkpointed.";
    SCOPE_NEVER_HOME = "scope/never-home", Documented, Modelled,
        "behaviour: Scope and identity; seed 000":
        "The home directory is never checkpointed, whatever path leads to it.";
    SCOPE_TOO_MANY_FILES = "scope/too-many-files", Documented, Modelled,
        "behaviour: Scope and identity; seed 000":
        "A directory with more files than the limit is not checkpointed.";
    SCOPE_COUNTS_CAPTURED = "scope/counts-captured", Integrity, Modelled,
        "behaviour: Scope and identity":
        "Only files that would be captured count towards the limit: an ignored folder does not \
         switch protection off.";
    SCOPE_BASE_NOT_CAPTURED = "scope/base-not-captured", Integrity, Modelled,
        "behaviour: Scope and identity":
        "A directory that contains the checkpoint base is never captured into itself.";
    SCOPE_NO_DIRECTORY = "scope/no-directory", Integrity, Modelled, "behaviour: Scope and identity":
        "A directory that does not exist, or is a file, gives no checkpoint, no phantom project \
         and an answer that says why.";
}
