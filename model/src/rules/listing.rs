//! What a person sees of a history: the list and the preview.

super::rules! { RULES;
    LIST_NEWEST_FIRST = "list/newest-first", Documented, Modelled,
        "behaviour: Listing and diff; seed 000":
        "Checkpoints are listed newest first and numbered from 1.";
    LIST_COMPLETE = "list/complete", Documented, Modelled, "behaviour: Listing and diff; seed 000":
        "Every checkpoint of the project that limits allow is listed.";
    LIST_AT_MOST = "list/at-most", Documented, Modelled, "behaviour: Listing and diff; seed 000":
        "At most max_snapshots checkpoints are listed, the newest ones.";
    LIST_OWN_PROJECT = "list/own-project", Documented, Modelled,
        "behaviour: Listing and diff; seed 000":
        "Only this project's checkpoints are listed.";
    LIST_TIME = "list/time", Documented, Modelled, "behaviour: Listing and diff; seed 000":
        "Each checkpoint is listed with the date and time at which it was taken.";
    LIST_STATS = "list/stats", Documented, Modelled, "behaviour: Listing and diff; seed 000":
        "Each checkpoint but the oldest is listed with its change stats against the one before \
         it: files exactly, added and removed lines of some correct line diff.";
    LIST_OLDEST_NO_STATS = "list/oldest-no-stats", Documented, Modelled,
        "behaviour: Listing and diff":
        "The oldest checkpoint listed has no stats.";
    LIST_STABLE = "list/stable", Integrity, Modelled, "behaviour: Listing and diff":
        "A checkpoint's id, time and reason never change as long as it is listed.";
    LIST_LAYOUT = "list/layout", Documented, Planned, "behaviour: Listing and diff; seed 000":
        "The list is printed in the layout the first seed shows.";
    DIFF_PREVIEW = "diff/preview", Documented, Modelled, "behaviour: Listing and diff; seed 000":
        "A diff names exactly the captured files that differ between the checkpoint and the \
         working tree, and says how.";
    DIFF_STATS = "diff/stats", Documented, Modelled, "behaviour: Listing and diff; seed 000":
        "A diff opens with the added and removed lines of some correct line diff.";
    DIFF_LEAVES_STORE = "diff/leaves-store", Integrity, Modelled, "behaviour: Listing and diff":
        "Listing and diffing leave the store's size and history as they were.";
}
