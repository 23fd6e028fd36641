//! Bugs of captures: what a checkpoint holds, and what is said of it.
//!
//! Here they are called by name; what goes wrong stands beside: [`seen`] where the disk shows
//! something else, [`asked`] where something is done around the core.

mod asked;
mod seen;

use super::faulty_disk::DiskFaults;
use super::{Flaw, PlantedBug};
use herma_model::rules;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "equal-sizes-are-no-change",
        rule: &rules::CAPTURE_CREATED,
        about: "A project whose files are as large as they were is taken for unchanged.",
        operations_min: 4,
        flaw: Flaw::Intercepted(asked::equal_sizes_are_no_change),
    },
    PlantedBug {
        name: "a-file-ends-at-its-first-nul",
        rule: &rules::CAPTURE_BYTES,
        about: "Files are read as text that a NUL ends.",
        operations_min: 2,
        flaw: Flaw::Disk(DiskFaults { read: seen::ends_at_a_nul, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "bytes-that-are-no-text-are-replaced",
        rule: &rules::CAPTURE_BYTES,
        about: "Files are read as UTF-8, and what is none is replaced.",
        operations_min: 2,
        flaw: Flaw::Disk(DiskFaults { read: seen::as_text, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "executable-bit-is-not-seen",
        rule: &rules::CAPTURE_EXECUTABLE,
        about: "Every file is captured as one that nobody may execute.",
        operations_min: 2,
        flaw: Flaw::Disk(DiskFaults { stat: seen::never_executable, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "a-link-is-followed",
        rule: &rules::CAPTURE_SYMLINK,
        about: "A link to a file is captured as a file with what it points at in it.",
        operations_min: 3,
        flaw: Flaw::Disk(DiskFaults { place: seen::what_a_link_points_at, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "a-dangling-link-is-left-out",
        rule: &rules::CAPTURE_SYMLINK,
        about: "A link that points at nothing is taken for nothing.",
        operations_min: 2,
        flaw: Flaw::DiskInCheckpoints(DiskFaults {
            list: seen::only_what_exists,
            ..DiskFaults::NONE
        }),
    },
    PlantedBug {
        name: "names-that-are-no-text-are-left-out",
        rule: &rules::CAPTURE_ANY_NAME,
        about: "Names are read as UTF-8, and nothing is found under one that is none.",
        operations_min: 2,
        flaw: Flaw::DiskInCheckpoints(DiskFaults {
            list: seen::only_text_names,
            ..DiskFaults::NONE
        }),
    },
    PlantedBug {
        name: "names-that-git-quotes-are-left-out",
        rule: &rules::CAPTURE_ANY_NAME,
        about: "Names are read from git line by line, and those it quotes are not found.",
        operations_min: 2,
        flaw: Flaw::Disk(DiskFaults { list: seen::only_unquoted_names, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "names-that-look-like-options-are-left-out",
        rule: &rules::CAPTURE_ANY_NAME,
        about: "Names are handed to git as arguments, which takes some for options or patterns.",
        operations_min: 2,
        flaw: Flaw::Disk(DiskFaults {
            list: seen::only_names_that_are_arguments,
            ..DiskFaults::NONE
        }),
    },
    PlantedBug {
        name: "line-ends-are-normalised",
        rule: &rules::CAPTURE_NO_CONVERSION,
        about: "Text is captured with the line ends of Unix.",
        operations_min: 2,
        flaw: Flaw::Disk(DiskFaults { read: seen::with_unix_line_ends, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "keywords-are-taken-back",
        rule: &rules::CAPTURE_NO_CONVERSION,
        about: "What `$Id: …$` was expanded to is not captured.",
        operations_min: 2,
        flaw: Flaw::Disk(DiskFaults { read: seen::without_keywords, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "attributes-of-the-project-convert",
        rule: &rules::CAPTURE_NO_CONVERSION,
        about: "Line ends are normalised where the project's attributes ask for it.",
        operations_min: 3,
        flaw: Flaw::Disk(DiskFaults { read: seen::as_the_attributes_say, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "default-excludes-are-not-applied",
        rule: &rules::CAPTURE_DEFAULT_EXCLUDES,
        about: "Logs are captured like any other file.",
        operations_min: 3,
        flaw: Flaw::Intercepted(asked::logs_are_captured),
    },
    PlantedBug {
        name: "default-excludes-speak-last",
        rule: &rules::CAPTURE_DEFAULT_EXCLUDES,
        about: "What a project re-includes is left out by the default excludes all the same.",
        operations_min: 3,
        flaw: Flaw::Disk(DiskFaults { ignores: seen::default_excludes_last, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "ignore-files-below-the-root-are-not-read",
        rule: &rules::CAPTURE_GITIGNORE,
        about: "Only the ignore file in the project's root is read.",
        operations_min: 3,
        flaw: Flaw::Disk(DiskFaults { ignores: seen::only_at_the_root, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "the-first-line-of-an-ignore-file-decides",
        rule: &rules::CAPTURE_GITIGNORE,
        about: "The first line of an ignore file that names a path decides, not the last.",
        operations_min: 3,
        flaw: Flaw::Disk(DiskFaults { ignores: seen::lines_reversed, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "an-ignore-file-re-includes-secrets",
        rule: &rules::CAPTURE_SECRETS,
        about: "An ignore file that re-includes secrets is believed.",
        operations_min: 3,
        flaw: Flaw::Intercepted(asked::secrets_are_re_included),
    },
    PlantedBug {
        name: "a-fifo-stops-the-capture",
        rule: &rules::CAPTURE_SPECIAL,
        about: "A fifo, socket or device is an error, and nothing is captured.",
        operations_min: 4,
        flaw: Flaw::Disk(DiskFaults { fails: seen::special_fails, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "a-file-at-the-cap-is-left-out",
        rule: &rules::CAPTURE_SIZE_CAP,
        about: "A file that is as large as the cap allows is left out.",
        operations_min: 2,
        flaw: Flaw::Configured(|settings| {
            settings.max_file_bytes -= u64::from(settings.max_file_bytes > 1);
        }),
    },
    PlantedBug {
        name: "the-cap-is-not-minded",
        rule: &rules::CAPTURE_SIZE_CAP,
        about: "A file larger than the cap is captured.",
        operations_min: 2,
        flaw: Flaw::Configured(|settings| settings.max_file_bytes = 0),
    },
    PlantedBug {
        name: "a-cap-of-nothing-leaves-everything-out",
        rule: &rules::CAPTURE_SIZE_CAP,
        about: "A cap of 0 is taken as it stands, where it is none.",
        operations_min: 2,
        flaw: Flaw::Configured(|settings| {
            settings.max_file_bytes += u64::from(settings.max_file_bytes == 0);
        }),
    },
    PlantedBug {
        name: "a-pattern-for-a-name-hides-its-siblings",
        rule: &rules::CAPTURE_INDEPENDENT,
        about: "A file whose name reads as a pattern keeps out the others that it matches.",
        operations_min: 3,
        flaw: Flaw::DiskInCheckpoints(DiskFaults {
            list: seen::without_matched_siblings,
            ..DiskFaults::NONE
        }),
    },
    PlantedBug {
        name: "a-nested-repository-is-lost",
        rule: &rules::CAPTURE_NESTED_REPOSITORY,
        about: "Of a repository within a project's own nothing is captured but that it is there.",
        operations_min: 3,
        flaw: Flaw::Disk(DiskFaults {
            list: seen::nothing_of_nested_repositories,
            ..DiskFaults::NONE
        }),
    },
    PlantedBug {
        name: "an-unreadable-file-loses-the-checkpoint",
        rule: &rules::CAPTURE_UNREADABLE,
        about: "A file that cannot be read is an error, and nothing is captured.",
        operations_min: 4,
        flaw: Flaw::Disk(DiskFaults { fails: seen::unreadable_fails, ..DiskFaults::NONE }),
    },
    PlantedBug {
        name: "an-unreadable-file-is-left-out-unsaid",
        rule: &rules::CAPTURE_UNREADABLE,
        about: "Nothing is said of what was left out.",
        operations_min: 4,
        flaw: Flaw::Intercepted(asked::says_nothing_of_what_is_left_out),
    },
    PlantedBug {
        name: "a-failed-staging-is-said-to-be-a-checkpoint",
        rule: &rules::CAPTURE_HONEST,
        about: "Where something cannot be staged, the tree of the checkpoint before is stored again.",
        operations_min: 5,
        flaw: Flaw::Intercepted(asked::stores_the_tree_of_before),
    },
    PlantedBug {
        name: "an-earlier-id-is-told",
        rule: &rules::CAPTURE_HONEST,
        about: "The id that is told of a new checkpoint is that of the one before it.",
        operations_min: 4,
        flaw: Flaw::Intercepted(asked::tells_the_id_of_before),
    },
    PlantedBug {
        name: "a-captured-link-is-said-to-be-left-out",
        rule: &rules::CAPTURE_HONEST,
        about: "Links are captured, and said to be left out.",
        operations_min: 2,
        flaw: Flaw::Intercepted(asked::says_that_links_are_left_out),
    },
    PlantedBug {
        name: "an-unchanged-tree-is-taken-again",
        rule: &rules::CAPTURE_UNCHANGED,
        about: "A checkpoint is taken whether or not anything changed.",
        operations_min: 3,
        flaw: Flaw::Intercepted(asked::takes_it_again),
    },
    PlantedBug {
        name: "an-empty-directory-is-taken",
        rule: &rules::CAPTURE_EMPTY_FIRST,
        about: "A directory with nothing to capture has a first checkpoint, of nothing.",
        operations_min: 3,
        flaw: Flaw::Intercepted(asked::takes_nothing),
    },
    PlantedBug {
        name: "a-take-touches-what-it-reads",
        rule: &rules::CAPTURE_READ_ONLY,
        about: "Files have another time of change once they are captured.",
        operations_min: 2,
        flaw: Flaw::Intercepted(asked::touches_every_file),
    },
    PlantedBug {
        name: "a-take-makes-files-readable",
        rule: &rules::CAPTURE_READ_ONLY,
        about: "A file that cannot be read is made readable.",
        operations_min: 3,
        flaw: Flaw::Intercepted(asked::makes_files_readable),
    },
    PlantedBug {
        name: "a-diff-leaves-its-patch",
        rule: &rules::CAPTURE_READ_ONLY,
        about: "A diff leaves a file with what it shows in the project.",
        operations_min: 3,
        flaw: Flaw::Intercepted(asked::leaves_a_patch),
    },
    PlantedBug {
        name: "a-reason-ends-at-its-first-line",
        rule: &rules::CAPTURE_REASON,
        about: "Only the first line of a reason is stored.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            asked::with_reason(host, request, |reason| reason.lines().next().unwrap_or_default())
        }),
    },
    PlantedBug {
        name: "a-reason-is-stripped",
        rule: &rules::CAPTURE_REASON,
        about: "White space at the ends of a reason is not stored.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| asked::with_reason(host, request, str::trim)),
    },
];
