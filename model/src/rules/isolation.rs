//! What the store and its user must never see of each other, and what other tools rely on.

super::rules! { RULES;
    ISOLATION_USER_CONFIG = "isolation/user-config", Documented, Modelled,
        "behaviour: Isolation; seed 004":
        "The user's git configuration, environment, hooks and templates never reach the store.";
    ISOLATION_NO_SIGNING = "isolation/no-signing", Documented, Modelled,
        "behaviour: Isolation; seed 004":
        "No signing and no prompt, ever: a broken signing program changes nothing and is never \
         started.";
    ISOLATION_HOME = "isolation/home", Documented, Modelled, "behaviour: Isolation; seed 004":
        "The store never reaches the user's own files: nothing in the home directory changes \
         but the base.";
    ISOLATION_USER_REPOSITORY = "isolation/user-repository", Integrity, Modelled,
        "behaviour: Isolation, Capture; seed 000":
        "Nothing in the project's own .git changes: HEAD, refs, index, config, stash, hooks.";
    ISOLATION_SELF_CONTAINED = "isolation/self-contained", Integrity, Modelled,
        "behaviour: Isolation":
        "The store depends on no other repository: no alternates and no shared objects.";
    ISOLATION_PRIVATE = "isolation/private", Integrity, Modelled, "behaviour: Isolation":
        "The store is private to its owner: directories 0700, files 0600 or stricter.";
    LAYOUT_STORE = "layout/store", Documented, Modelled, "behaviour: On-disk layout; seed 004":
        "The store is one bare git repository that plain git reads; each project's history is \
         refs/hermes/<hash>.";
    LAYOUT_FSCK = "layout/fsck", Integrity, Modelled, "behaviour: On-disk layout":
        "Plain git finds nothing broken in the store.";
    LAYOUT_METADATA = "layout/metadata", Documented, Modelled,
        "behaviour: On-disk layout; seed 000":
        "projects/<hash>.json names each project's directory and when it was created and last \
         touched.";
    LAYOUT_INTEROPERABLE = "layout/interoperable", Integrity, Planned, "behaviour: On-disk layout":
        "A store written by hermes-agent opens here and the reverse, with the same list and \
         content.";
}
