//! Bugs of finding the checkpoint that is named: what is taken for a name, and what is found.

use super::intercepted::{Intercepted, refused, restores, target, with_target};
use super::{Flaw, PlantedBug};
use herma_model::answer::Restored;
use herma_model::{Answer, Code, Request, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "short-ids-are-no-ids",
        rule: &rules::RESTORE_TARGET,
        about: "Only a full id is one.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            let is_short = |text: &[u8]| {
                (4..40).contains(&text.len()) && text.iter().all(u8::is_ascii_hexdigit)
            };
            if target(request).is_some_and(|text| is_short(text)) {
                return refused(Code::BadTarget, "no id");
            }
            host.ask(request)
        }),
    },
    PlantedBug {
        name: "numbers-count-from-the-oldest",
        rule: &rules::RESTORE_TARGET,
        about: "A restore counts checkpoints from the other end than the list does.",
        operations_min: 6,
        flaw: Flaw::Intercepted(|host, request| {
            let other_end = |text: &str, listed: usize| {
                let number: usize = text.parse().ok().filter(|one| (1..=listed).contains(one))?;
                Some((listed + 1 - number).to_string())
            };
            if restores(request) { taken_for(host, request, other_end) } else { host.ask(request) }
        }),
    },
    PlantedBug {
        name: "another-projects-checkpoint-is-found",
        rule: &rules::RESTORE_OWN_CHECKPOINT,
        about: "Every commit of the store is found, whichever project it is of.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| found_in_store(host, request, "commit")),
    },
    PlantedBug {
        name: "a-tree-is-found",
        rule: &rules::RESTORE_OWN_CHECKPOINT,
        about: "The id of a tree is as good as that of a checkpoint, since git checks out both.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| found_in_store(host, request, "tree")),
    },
    PlantedBug {
        name: "a-blob-is-found",
        rule: &rules::RESTORE_OWN_CHECKPOINT,
        about: "Whether a checkpoint is there is told by whether an object is.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| found_in_store(host, request, "blob")),
    },
    PlantedBug {
        name: "a-target-is-trimmed",
        rule: &rules::RESTORE_BAD_TARGET,
        about: "Blanks and newlines around a target are passed over.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            taken_for(host, request, |text, _| Some(text.trim().to_owned()))
        }),
    },
    PlantedBug {
        name: "negative-numbers-count-from-the-end",
        rule: &rules::RESTORE_BAD_TARGET,
        about: "A negative number is an index from the end of the list.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            taken_for(host, request, |text, listed| {
                let back: usize = text.strip_prefix('-')?.parse().ok()?;
                (1..=listed).contains(&back).then(|| (listed + 1 - back).to_string())
            })
        }),
    },
    PlantedBug {
        name: "an-option-is-a-target",
        rule: &rules::RESTORE_BAD_TARGET,
        about: "A target that opens with a dash is an option to git, which then takes the newest.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            taken_for(host, request, |text, _| {
                let letters = text.trim_start_matches('-');
                let is_option = text.starts_with('-') && letters.starts_with(char::is_alphabetic);
                is_option.then(|| "1".to_owned())
            })
        }),
    },
    PlantedBug {
        name: "a-ref-is-a-target",
        rule: &rules::RESTORE_BAD_TARGET,
        about: "What git has a name for is a target, such as HEAD.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            taken_for(host, request, |text, _| {
                (text == "HEAD" || text == "@" || text.starts_with("@{")).then(|| "1".to_owned())
            })
        }),
    },
    PlantedBug {
        name: "a-number-beyond-the-list-is-the-oldest",
        rule: &rules::RESTORE_BAD_TARGET,
        about: "A number beyond the list stands for its last entry.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            taken_for(host, request, |text, listed| {
                let beyond = text.parse::<usize>().ok()? > listed && text.len() < 4;
                beyond.then(|| listed.to_string())
            })
        }),
    },
    PlantedBug {
        name: "number-zero-is-the-newest",
        rule: &rules::RESTORE_BAD_TARGET,
        about: "Numbers may count from nought.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            taken_for(host, request, |text, _| (text == "0").then(|| "1".to_owned()))
        }),
    },
    PlantedBug {
        name: "an-empty-id-is-the-newest",
        rule: &rules::RESTORE_BAD_TARGET,
        about: "An empty id is the beginning of every id, and the first that fits is taken.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            taken_for(host, request, |text, _| text.is_empty().then(|| "1".to_owned()))
        }),
    },
    PlantedBug {
        name: "a-nul-ends-a-target",
        rule: &rules::RESTORE_BAD_TARGET,
        about: "A target ends where a string of C would.",
        operations_min: 3,
        flaw: Flaw::Intercepted(|host, request| {
            taken_for(host, request, |text, _| Some(text.split('\0').next()?.to_owned()))
        }),
    },
];

/// Asks the core as if another target had been named: what `meant` makes of it and of how many
/// checkpoints there are.
fn taken_for(
    host: &mut Intercepted,
    request: &Request,
    meant: impl Fn(&str, usize) -> Option<String>,
) -> Answer {
    let text = target(request).and_then(|text| std::str::from_utf8(text).ok());
    let meant = text.and_then(|text| meant(text, host.listed(request).len()));
    match meant {
        Some(meant) => host.ask(&with_target(request, &meant[..])),
        None => host.ask(request),
    }
}

/// Where the core rightly finds no checkpoint: restores what is in the store under that id, if it
/// is an object of that kind.
fn found_in_store(host: &mut Intercepted, request: &Request, kind: &str) -> Answer {
    let answer = host.ask(request);
    // A single file need not be there, which would be refused for another reason.
    let unknown = matches!(answer, Answer::Refused { code: Code::UnknownCheckpoint, .. })
        && matches!(request, Request::Restore { .. })
        && host.project(request).is_some();
    let Some(id) = target(request).map(|text| String::from_utf8_lossy(text).into_owned()) else {
        return answer;
    };
    if !(unknown && host.git(&["cat-file", "-t", &id]).is_ok_and(|is| is == kind)) {
        return answer;
    }
    // What no history holds any more may be gone at any time, so that proves nothing.
    let held = ["for-each-ref", "--contains", &id];
    if kind == "commit" && host.git(&held).is_ok_and(|names| names.is_empty()) {
        return answer;
    }
    restored_from_store(host, request, &id, kind).unwrap_or(answer)
}

fn restored_from_store(
    host: &mut Intercepted,
    request: &Request,
    id: &str,
    kind: &str,
) -> Option<Answer> {
    let history = host.history(request)?;
    let before = host.git(&["rev-parse", "--verify", "--quiet", &history]).ok();
    match kind {
        "commit" => host.git(&["update-ref", &history, id]).map(|_| String::new()),
        "tree" => host.commit(&history, id, before.as_deref()?),
        // There is nothing in it to restore, and so nothing fails.
        _ => return Some(Answer::Restored(Restored::default())),
    }
    .ok()?;
    let answer = host.ask(&with_target(request, "1"));
    match before {
        Some(before) => host.git(&["update-ref", &history, &before]),
        None => host.git(&["update-ref", "-d", &history]),
    }
    .ok()?;
    Some(answer)
}
