//! The usual cause of a broken rule, for the person who reads a failure.
//!
//! Guesses, from bugs seen in real stores: where to look first, and what most often mends it. They
//! are never part of a verdict, and the mistake at hand may well be another.

mod maintenance;

use herma_model::rules::{self, RuleRef};

/// One sentence for every other rule that the model decides, in the order of the rule book.
static HINTS: &[(RuleRef, &str)] = &[
    (
        &rules::SCOPE_IDENTITY,
        "The directory is used as typed: expand `~`, make it absolute and resolve symlinks before \
         anything else.",
    ),
    (
        &rules::SCOPE_HASH,
        "The typed path was hashed, or one with a final slash or newline: hash the bytes of the \
         canonical path.",
    ),
    (
        &rules::SCOPE_ROOT_OF_FILE,
        "A marker is unknown, a `.git` that is a file is missed, or the outermost wins: stop at \
         the nearest of any kind.",
    ),
    (
        &rules::SCOPE_ROOT_NEVER_BROAD,
        "Markers are looked for before the walk compares with `/` and the home directory: compare \
         first.",
    ),
    (
        &rules::SCOPE_NEVER_ROOT,
        "The typed text is compared with `/`, which `//`, `/.` and `/x/..` escape: compare the \
         canonical path.",
    ),
    (
        &rules::SCOPE_NEVER_HOME,
        "The typed path is compared with $HOME: canonicalise both sides, for either can be a \
         symlink.",
    ),
    (
        &rules::SCOPE_TOO_MANY_FILES,
        "The count is off by one or the take ends in silence: refuse, with a reason, only more \
         than the limit.",
    ),
    (
        &rules::SCOPE_COUNTS_CAPTURED,
        "Every entry on disk is counted (`rglob`): count what is left after excludes, ignore \
         files and the cap.",
    ),
    (
        &rules::SCOPE_BASE_NOT_CAPTURED,
        "Nothing compares the project with the base: leave the resolved base out of the walk and \
         refuse it as project.",
    ),
    (
        &rules::SCOPE_NO_DIRECTORY,
        "The store or projects/<hash>.json is written before anyone looks: check first that it is \
         a directory.",
    ),
    (
        &rules::TURN_ONCE,
        "The slot is kept per process or per path as typed: key it by the canonical directory.",
    ),
    (
        &rules::TURN_RESET,
        "`new_turn` clears the slot of one project or one manager only: clear the slots of all.",
    ),
    (
        &rules::TURN_PER_PROJECT,
        "One flag stands for the whole turn: keep a set of canonical project directories.",
    ),
    (
        &rules::TURN_FAILURE_KEEPS_SLOT,
        "The slot is marked before the attempt: mark it once that has ended without an error.",
    ),
    (
        &rules::TURN_NOTHING_USES_SLOT,
        "The slot is marked only where there is a new id: mark it after an unchanged or empty \
         tree as well.",
    ),
    (
        &rules::TURN_DISABLED,
        "The store is opened or migrated before `enabled` is asked: ask first, and touch no file \
         when it is off.",
    ),
    (
        &rules::TURN_MANUAL,
        "Asking by hand goes through the automatic path: call the take itself, past `enabled` and \
         the slot.",
    ),
    (
        &rules::CAPTURE_CREATED,
        "An error passes for no change: a stale index lock, odd GIT_* variables, `git add` on an \
         empty nested repository.",
    ),
    (
        &rules::CAPTURE_BYTES,
        "A filter or `ident` ran, or an index took equal size and mtime for no change: hash the \
         bytes read.",
    ),
    (
        &rules::CAPTURE_EXECUTABLE,
        "core.fileMode is off or the mode is hard-coded: store 100755 where the owner's x bit is \
         set.",
    ),
    (
        &rules::CAPTURE_SYMLINK,
        "The link was followed by `stat` or `open`: use lstat and readlink, also where it dangles \
         or names a directory.",
    ),
    (
        &rules::CAPTURE_ANY_NAME,
        "Names are decoded as UTF-8, split at newlines or read as pathspecs: use bytes, `-z`, \
         --literal-pathspecs.",
    ),
    (
        &rules::CAPTURE_NO_CONVERSION,
        "`git add` applied .gitattributes: use `hash-object --no-filters`, or unset attributes in \
         info/attributes.",
    ),
    (
        &rules::CAPTURE_DEFAULT_EXCLUDES,
        "info/exclude was written once and went stale, or the list lacks a pattern: write it anew \
         at every open.",
    ),
    (
        &rules::CAPTURE_GITIGNORE,
        "A kept index still holds files ignored since, or a nested .gitignore is unread: stage \
         into an empty index.",
    ),
    (
        &rules::CAPTURE_SECRETS,
        "`!.env` in a .gitignore outranks info/exclude: match the secret patterns again after \
         git's own decision.",
    ),
    (
        &rules::CAPTURE_SPECIAL,
        "A fifo is opened and blocks, or a socket fails the take: ask lstat, and skip what is no \
         file or link.",
    ),
    (
        &rules::CAPTURE_SIZE_CAP,
        "The test is `>=`, 0 lets nothing pass, or a kept index holds the smaller version: stage \
         into an empty index.",
    ),
    (
        &rules::CAPTURE_INDEPENDENT,
        "Likely losers: a user's global ignores, a name `git rm` took for a pathspec, a nested \
         repository's gitlink.",
    ),
    (
        &rules::CAPTURE_NESTED_REPOSITORY,
        "Only the top .git is skipped, or git adds a gitlink: skip each `.git`, file or folder, \
         and walk the rest.",
    ),
    (
        &rules::CAPTURE_UNREADABLE,
        "`git add` gives up at the first unreadable file: read file by file, go on, and name what \
         was skipped.",
    ),
    (
        &rules::CAPTURE_HONEST,
        "A failed `git add` went unnoticed, so write-tree read the index of before: check every \
         exit status.",
    ),
    (
        &rules::CAPTURE_UNCHANGED,
        "Commits or mtimes are compared: compare the new tree's id with the tree of the newest \
         checkpoint.",
    ),
    (
        &rules::CAPTURE_EMPTY_FIRST,
        "The empty tree was committed: where there is neither a parent nor an entry, answer \
         unchanged.",
    ),
    (
        &rules::CAPTURE_READ_ONLY,
        "A lock or scratch file made inside the project touched a directory's mtime: keep all of \
         that below the base.",
    ),
    (
        &rules::CAPTURE_REASON,
        "`%s` is only the first paragraph and message cleanup strips lines: write with \
         commit-tree, read the raw text.",
    ),
    (
        &rules::LIST_NEWEST_FIRST,
        "The list is sorted by whole seconds, oldest first or numbered from 0: follow the chain \
         of parents from the ref.",
    ),
    (
        &rules::LIST_COMPLETE,
        "A failing git or a missing directory became an empty list, or a ref was overwritten: \
         pass errors on.",
    ),
    (
        &rules::LIST_AT_MOST,
        "Only pruning knows the limit: cut the list itself to the newest max_snapshots.",
    ),
    (
        &rules::LIST_OWN_PROJECT,
        "`git log --all` or HEAD reads every ref of the shared store: read refs/hermes/<hash> \
         alone.",
    ),
    (
        &rules::LIST_TIME,
        "GIT_*_DATE leaked in, a rewrite stamped now, or the zone was dropped: set both dates \
         yourself, in UTC.",
    ),
    (
        &rules::LIST_STATS,
        "The wrong neighbour is compared, or renames fold two files: compare with the one before, \
         --no-renames.",
    ),
    (
        &rules::LIST_OLDEST_NO_STATS,
        "The oldest listed was compared with the empty tree or a commit past the limit: answer no \
         stats for it.",
    ),
    (
        &rules::LIST_STABLE,
        "Pruning rebuilt the chain, so ids and dates changed: keep the commits and cut it with \
         git's `shallow` file.",
    ),
    (
        &rules::DIFF_PREVIEW,
        "`git diff` skips untracked files and folds renames: capture a tree, then diff-tree \
         --no-renames -z.",
    ),
    (
        &rules::DIFF_STATS,
        "Undecodable output became an empty diff, or a textconv ran: read bytes, --no-textconv \
         --no-ext-diff.",
    ),
    (
        &rules::DIFF_LEAVES_STORE,
        "Staging for the diff wrote blobs into the store: stage with a temporary index and \
         GIT_OBJECT_DIRECTORY.",
    ),
    (
        &rules::RESTORE_TARGET,
        "Numbers count from 0 or the oldest, or a short all-digit id is never tried: number if \
         listed, else id.",
    ),
    (
        &rules::RESTORE_OWN_CHECKPOINT,
        "`cat-file -e` and rev-parse accept any object of the shared store: look only in this \
         project's list.",
    ),
    (
        &rules::RESTORE_BAD_TARGET,
        "A regex's `$` lets a final newline pass and `int` reads `+1` or `-1`: match the whole \
         text, digits only.",
    ),
    (
        &rules::RESTORE_BAD_PATH,
        "An empty path means everything, or only the text is checked for `..`: look for links \
         among its parents too.",
    ),
    (
        &rules::RESTORE_REFUSAL_CHANGES_NOTHING,
        "The pre-rollback checkpoint comes before the checks: look at target and path first, then \
         write.",
    ),
    (
        &rules::RESTORE_SAFETY_CHECKPOINT,
        "The pre-rollback take goes through `enabled` or the turn's slot, or is made after the \
         write: call it directly.",
    ),
    (
        &rules::RESTORE_SAFETY_OUTSIDE_TURN,
        "The pre-rollback take marks the turn's slot: keep the slot out of the function that \
         takes.",
    ),
    (
        &rules::RESTORE_SAFETY_SKIPPED,
        "The take is forced or compares with the target: compare with the newest, and skip a \
         directory that is gone.",
    ),
    (
        &rules::RESTORE_SAFETY_KEEPS_TARGET,
        "The pre-rollback take prunes the target away: find the target first, and prune after the \
         restore.",
    ),
    (
        &rules::RESTORE_SAFETY_REQUIRED,
        "A failed pre-rollback take is only logged: refuse before any write, or when forced say \
         so in forced_past.",
    ),
    (
        &rules::RESTORE_BYTES,
        "`git checkout` converted a file or skipped it as up to date in its index: write raw \
         blobs and read them back.",
    ),
    (
        &rules::RESTORE_EXECUTABLE,
        "Equal bytes were skipped, or `open` with a mode met a file that exists: compare modes \
         and chmod.",
    ),
    (
        &rules::RESTORE_TYPE,
        "A write through a link changes what it points at: remove the old entry first, then make \
         the file or link.",
    ),
    (
        &rules::RESTORE_LEAVES_NEW,
        "`git clean` or `read-tree --reset -u` swept them, or the answer omits them: touch only \
         the target's paths.",
    ),
    (
        &rules::RESTORE_EXACT,
        "Git sees as tracked only what its index holds: remove what the pre-rollback tree has and \
         the target lacks.",
    ),
    (
        &rules::RESTORE_PROTECTS,
        "Checkout overwrites ignored and oversize files: replace only what the pre-rollback tree \
         holds, report the rest.",
    ),
    (
        &rules::RESTORE_CONTAINED,
        "A link among the parents was followed: walk down from the project with openat and \
         O_NOFOLLOW.",
    ),
    (
        &rules::RESTORE_HONEST,
        "The answer repeats the plan or names files that were right already: compare with the \
         disk, name the changed.",
    ),
    (
        &rules::RESTORE_UNDO,
        "The index already held the target's tree: take the pre-rollback tree from the disk, \
         before any write.",
    ),
    (
        &rules::RESTORE_FILE_LITERAL,
        "`git checkout ID -- NAME` reads a pathspec: use --literal-pathspecs, or look the path up \
         in the tree.",
    ),
    (
        &rules::RESTORE_FILE_ONLY,
        "The name matched others as a pattern or folder, or what blocked it was removed: look it \
         up, else refuse.",
    ),
    (
        &rules::RESTORE_UNDOES_TURN,
        "The chat turn is undone for every restore alike: undo it once, after a full one that \
         succeeded.",
    ),
    (
        &rules::RESTORE_DELETED_PROJECT,
        "Canonicalising or running git inside a missing directory fails: resolve its parent, then \
         make it again.",
    ),
    (
        &rules::ISOLATION_USER_CONFIG,
        "GIT_AUTHOR_*, GIT_CONFIG_* or ~/.config/git leak in: clear every GIT_* variable and set \
         XDG_CONFIG_HOME.",
    ),
    (
        &rules::ISOLATION_NO_SIGNING,
        "The user's gpg, fsmonitor or filter ran: use commit-tree, with GIT_CONFIG_GLOBAL and \
         _SYSTEM at /dev/null.",
    ),
    (
        &rules::ISOLATION_HOME,
        "`git config --global` (safe.directory, user.name) or a cache wrote to the home \
         directory: stay below the base.",
    ),
    (
        &rules::ISOLATION_USER_REPOSITORY,
        "A git command ran on the project's .git, where even `status` rewrites the index: set \
         GIT_DIR to the store.",
    ),
    (
        &rules::ISOLATION_SELF_CONTAINED,
        "`clone --shared` or `--reference` writes alternates: `init --bare` the store and hash \
         every file into it.",
    ),
    (
        &rules::ISOLATION_PRIVATE,
        "Git obeys the umask: run every command that writes the store under umask 077, and \
         tighten an old store.",
    ),
    (
        &rules::LAYOUT_STORE,
        "The id answered is no commit on refs/hermes/<hash>, or the ref moves late: move it \
         before answering.",
    ),
    (
        &rules::LAYOUT_FSCK,
        "A hand-written tree is out of order (`dir` sorts as `dir/`) or has odd modes, or gc took \
         what refs still need.",
    ),
    (
        &rules::LAYOUT_METADATA,
        "workdir is the path as typed, or a date is text: store the canonical path and both times \
         as numbers.",
    ),
];

/// What most often breaks this rule; nothing for one that is not decided yet.
pub fn hint(rule: RuleRef) -> Option<&'static str> {
    all().find(|(hinted, _)| *hinted == rule).map(|(_, hint)| *hint)
}

fn all() -> impl Iterator<Item = &'static (RuleRef, &'static str)> {
    HINTS.iter().chain(maintenance::HINTS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use herma_model::rules::State;
    use std::collections::BTreeSet;

    #[test]
    fn every_modelled_rule_has_one_hint() {
        for rule in rules::catalogue().filter(|rule| rule.state == State::Modelled) {
            assert!(hint(rule).is_some(), "{}", rule.id);
        }
        let hinted: BTreeSet<_> = all().map(|(rule, _)| rule.id).collect();
        assert_eq!(hinted.len(), all().count(), "a rule has two hints");
    }

    #[test]
    fn a_hint_is_one_short_sentence() {
        for (rule, hint) in all() {
            assert!(hint.ends_with('.') && !hint.contains('\n'), "{}", rule.id);
            assert!(hint.len() <= 112, "{}: {} bytes", rule.id, hint.len());
        }
    }
}
