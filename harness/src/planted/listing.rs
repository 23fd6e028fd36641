//! Bugs of lists and previews.
//!
//! Here they are called by name; what goes wrong stands beside, in [`listed`] and [`diffed`].

mod diffed;
mod listed;

use super::{Flaw, PlantedBug};
use herma_model::rules;

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "list-in-wrong-order",
        rule: &rules::LIST_NEWEST_FIRST,
        about: "The list begins with the oldest checkpoint.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            listed::changed(host, request, |list, _| list.reverse())
        }),
    },
    PlantedBug {
        name: "numbers-begin-at-nothing",
        rule: &rules::LIST_NEWEST_FIRST,
        about: "The newest checkpoint has the number 0.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            listed::changed(host, request, |list, _| {
                list.iter_mut().for_each(|one| one.number -= 1);
            })
        }),
    },
    PlantedBug {
        name: "checkpoints-of-one-second-are-one",
        rule: &rules::LIST_COMPLETE,
        about: "Of checkpoints taken in the same second only the newest is listed.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            listed::changed(host, request, |list, _| list.dedup_by_key(|one| one.time))
        }),
    },
    PlantedBug {
        name: "the-oldest-is-not-listed",
        rule: &rules::LIST_COMPLETE,
        about: "A checkpoint with none before it to compare it with is not listed.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            listed::changed(host, request, |list, _| {
                list.pop();
            })
        }),
    },
    PlantedBug {
        name: "the-list-goes-on-beyond-the-limit",
        rule: &rules::LIST_AT_MOST,
        about: "Checkpoints that limits dropped are still listed.",
        operations_min: 6,
        flaw: Flaw::Intercepted(listed::with_what_was_dropped),
    },
    PlantedBug {
        name: "a-project-without-checkpoints-lists-anothers",
        rule: &rules::LIST_OWN_PROJECT,
        about: "Of a project without checkpoints those are listed that were taken last.",
        operations_min: 3,
        flaw: Flaw::Intercepted(listed::of_another_where_there_are_none),
    },
    PlantedBug {
        name: "the-list-is-of-all-projects",
        rule: &rules::LIST_OWN_PROJECT,
        about: "Every checkpoint in the store is listed, whatever it is of.",
        operations_min: 3,
        flaw: Flaw::Intercepted(listed::of_all_projects),
    },
    PlantedBug {
        name: "the-list-tells-the-time-of-now",
        rule: &rules::LIST_TIME,
        about: "Every checkpoint is listed with the time of the list.",
        operations_min: 4,
        flaw: Flaw::Intercepted(|host, request| {
            listed::changed(host, request, |list, now| {
                list.iter_mut().for_each(|one| one.time = now);
            })
        }),
    },
    PlantedBug {
        name: "the-list-tells-local-time",
        rule: &rules::LIST_TIME,
        about: "The times of the list are those of a place two hours ahead.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            listed::changed(host, request, |list, _| {
                list.iter_mut().for_each(|one| one.time += 2 * 60 * 60);
            })
        }),
    },
    PlantedBug {
        name: "stats-are-of-what-came-after",
        rule: &rules::LIST_STATS,
        about: "A checkpoint is listed with what changed after it, not before.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            listed::changed(host, request, |list, _| {
                let stats: Vec<_> = list.iter().map(|one| one.stats).collect();
                let after = [None].into_iter().chain(stats);
                list.iter_mut().zip(after).for_each(|(one, stats)| one.stats = stats);
            })
        }),
    },
    PlantedBug {
        name: "stats-tell-added-for-removed",
        rule: &rules::LIST_STATS,
        about: "The list counts added lines as removed ones, and the other way round.",
        operations_min: 5,
        flaw: Flaw::Intercepted(|host, request| {
            listed::changed(host, request, |list, _| {
                for stats in list.iter_mut().filter_map(|one| one.stats.as_mut()) {
                    std::mem::swap(&mut stats.added, &mut stats.removed);
                }
            })
        }),
    },
    PlantedBug {
        name: "the-oldest-has-stats",
        rule: &rules::LIST_OLDEST_NO_STATS,
        about: "The oldest checkpoint is listed with stats against an empty directory.",
        operations_min: 3,
        flaw: Flaw::Intercepted(listed::with_stats_for_the_oldest),
    },
    PlantedBug {
        name: "a-diff-reads-backwards",
        rule: &rules::DIFF_PREVIEW,
        about: "A diff tells what was added as deleted, and the other way round.",
        operations_min: 4,
        flaw: Flaw::Intercepted(diffed::backwards),
    },
    PlantedBug {
        name: "a-diff-misses-new-files",
        rule: &rules::DIFF_PREVIEW,
        about: "Files created since the checkpoint are not in a diff.",
        operations_min: 4,
        flaw: Flaw::Intercepted(diffed::without_new_files),
    },
    PlantedBug {
        name: "a-diff-shows-ignored-files",
        rule: &rules::DIFF_PREVIEW,
        about: "A diff names files of the directory that no checkpoint holds.",
        operations_min: 4,
        flaw: Flaw::Intercepted(diffed::with_ignored_files),
    },
    PlantedBug {
        name: "a-diff-counts-binary-files",
        rule: &rules::DIFF_STATS,
        about: "The lines of binary files count.",
        operations_min: 4,
        flaw: Flaw::Intercepted(diffed::counting_binary_files),
    },
    PlantedBug {
        name: "a-diff-counts-added-for-removed",
        rule: &rules::DIFF_STATS,
        about: "A diff counts added lines as removed ones, and the other way round.",
        operations_min: 4,
        flaw: Flaw::Intercepted(diffed::counting_backwards),
    },
    PlantedBug {
        name: "a-diff-stores-what-it-compares",
        rule: &rules::DIFF_LEAVES_STORE,
        about: "To compare the working tree a diff adds it to the store.",
        operations_min: 4,
        flaw: Flaw::Intercepted(diffed::storing_the_working_tree),
    },
    PlantedBug {
        name: "a-list-packs-the-store",
        rule: &rules::DIFF_LEAVES_STORE,
        about: "A list has git pack the store.",
        operations_min: 3,
        flaw: Flaw::Intercepted(listed::packing_the_store),
    },
];
