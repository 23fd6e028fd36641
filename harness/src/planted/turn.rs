//! Bugs of turns: which project has had its automatic checkpoint, and which gets one.

use super::Flaw::{Configured, Intercepted as Intercept};
use super::PlantedBug;
use super::intercepted::{Intercepted, checkpoint_answer, created_id, refused};
use herma_model::answer::{CheckpointOutcome, Protected, Taken};
use herma_model::tool::Tool;
use herma_model::{Answer, Code, Request, commands, rules};

/// The bugs.
pub static BUGS: &[PlantedBug] = &[
    PlantedBug {
        name: "no-dedup-in-a-turn",
        rule: &rules::TURN_ONCE,
        about: "A project that had its automatic checkpoint in this turn gets another one.",
        operations_min: 3,
        flaw: Intercept(|subject, request| {
            let had_checkpoint =
                subject.had_automatic_answer(request, |answer| created_id(answer).is_some());
            manual_if_deduped(subject, request, had_checkpoint)
        }),
    },
    PlantedBug {
        name: "only-the-first-word-of-a-command-counts",
        rule: &rules::TURN_SHELL_WORDS,
        about: "Commands behind sudo, a pipe, a quote or a bracket are not examined.",
        operations_min: 1,
        flaw: Intercept(|subject, request| match (subject.ask(request), request) {
            (Answer::Classified { .. }, Request::Classify { command }) => {
                let first = command.split(' ').next().unwrap_or_default();
                let classify = Request::Classify { command: format!("{first} a") };
                subject.ask(&classify)
            }
            (answer, _) => answer,
        }),
    },
    PlantedBug {
        name: "an-escaped-name-on-its-own-line-is-not-read",
        rule: &rules::TURN_SHELL_WORDS,
        about: "A line that begins with a backslash counts as words of the command before it.",
        operations_min: 1,
        flaw: Intercept(|subject, request| match request {
            Request::Classify { command } => {
                let command = command.replace("\n\\", " \\");
                subject.ask(&Request::Classify { command })
            }
            request => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "a-program-that-is-not-listed-counts-as-harmless",
        rule: &rules::TURN_SAFE_SIDE,
        about: "Only listed programs count as changing files.",
        operations_min: 1,
        flaw: Intercept(|subject, request| harmless_if(subject, request, commands::is_unlisted)),
    },
    PlantedBug {
        name: "a-program-on-the-input-counts-as-harmless",
        rule: &rules::TURN_SAFE_SIDE,
        about: "An interpreter counts as harmless if its script is redirected to it, as in `python3 - <<EOF`.",
        operations_min: 1,
        flaw: Intercept(|subject, request| {
            harmless_if(subject, request, commands::reads_its_program)
        }),
    },
    PlantedBug {
        name: "what-a-time-limit-runs-is-not-examined",
        rule: &rules::TURN_SHELL_WORDS,
        about: "Programs that only change how a command runs count as harmless, with the command.",
        operations_min: 1,
        flaw: Intercept(|subject, request| {
            harmless_with(subject, request, &["timeout ", "nice ", "stdbuf ", "env "])
        }),
    },
    PlantedBug {
        name: "a-program-in-a-word-is-not-read",
        rule: &rules::TURN_SAFE_SIDE,
        about: "An interpreter whose program is in its words counts as harmless.",
        operations_min: 1,
        flaw: Intercept(|subject, request| {
            harmless_with(subject, request, &["python3 -c", "python -c", "node -e", "php -r"])
        }),
    },
    PlantedBug {
        name: "an-option-that-writes-is-not-read",
        rule: &rules::TURN_SHELL_WORDS,
        about: "A program that usually only reads counts as harmless with any option.",
        operations_min: 1,
        flaw: Intercept(|subject, request| {
            harmless_with(subject, request, &["sort ", "tree ", "curl ", "shuf "])
        }),
    },
    PlantedBug {
        name: "only-commands-are-looked-at",
        rule: &rules::TURN_TRIGGERS,
        about: "A file is written without a checkpoint before it.",
        operations_min: 2,
        flaw: Intercept(|subject, request| match request {
            Request::BeforeTool { tool: Tool::WriteFile { .. }, .. } => {
                Answer::Protected(Vec::new())
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "a-command-has-the-history-of-its-folder",
        rule: &rules::TURN_SHARED_HISTORY,
        about: "Before a command, a checkpoint is taken of its folder, not of the project that contains the folder.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let Request::BeforeTool { dir, tool: Tool::Terminal { command } } = request else {
                return subject.ask(request);
            };
            let classify = Request::Classify { command: command.clone() };
            let reason = "before terminal".to_owned();
            if subject.ask(&classify) != (Answer::Classified { changes_files: true }) {
                return subject.ask(request);
            }
            match subject.ask(&Request::EnsureCheckpoint { dir: dir.clone(), reason }) {
                Answer::Taken { outcome, skipped } => {
                    let taken = Some(Taken { outcome, skipped });
                    Answer::Protected(vec![Protected { project: dir.clone(), taken }])
                }
                // If the folder does not exist, the bug does not show.
                _ => subject.ask(request),
            }
        }),
    },
    PlantedBug {
        name: "without-a-backend-the-tool-fails",
        rule: &rules::TURN_NO_BACKEND,
        about: "If the store cannot be used, the error is passed to the tool that is about to run.",
        operations_min: 1,
        flaw: Intercept(|subject, request| match request {
            Request::WithoutBackend { .. } => refused(Code::Internal, "no such program: git"),
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "a-new-turn-is-not-noticed",
        rule: &rules::TURN_RESET,
        about: "New turns are ignored.",
        operations_min: 3,
        flaw: Intercept(|subject, request| match request {
            Request::NewTurn => Answer::Done,
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "projects-share-the-slot",
        rule: &rules::TURN_PER_PROJECT,
        about: "Only one project gets an automatic checkpoint in a turn.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let used = subject
                .turn()
                .iter()
                .any(|(earlier, answer)| is_automatic(earlier) && used_the_turn(answer));
            deduped_if(subject, request, used && is_automatic(request))
        }),
    },
    PlantedBug {
        name: "a-failed-attempt-uses-the-slot",
        rule: &rules::TURN_FAILURE_KEEPS_SLOT,
        about: "A project counts as checkpointed in the turn even if its checkpoint failed.",
        operations_min: 4,
        flaw: Intercept(|subject, request| {
            let failed = subject
                .had_automatic_answer(request, |answer| matches!(answer, Answer::Refused { .. }));
            deduped_if(subject, request, failed && is_automatic(request))
        }),
    },
    PlantedBug {
        name: "nothing-to-save-keeps-the-slot",
        rule: &rules::TURN_NOTHING_USES_SLOT,
        about: "After an automatic attempt that found nothing to save, another one is made in the same turn.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let nothing = checkpoint_answer(CheckpointOutcome::Unchanged);
            let found_nothing = subject.had_automatic_answer(request, |answer| *answer == nothing);
            manual_if_deduped(subject, request, found_nothing)
        }),
    },
    PlantedBug {
        name: "disabled-is-not-asked",
        rule: &rules::TURN_DISABLED,
        about: "Automatic checkpoints are taken even if they are off.",
        operations_min: 2,
        flaw: Configured(|settings| settings.enabled = true),
    },
    PlantedBug {
        name: "manual-only-if-enabled",
        rule: &rules::TURN_MANUAL,
        about: "If automatic checkpoints are off, manual checkpoints are not taken either.",
        operations_min: 2,
        flaw: Intercept(|subject, request| match request {
            Request::Checkpoint { .. } if !subject.settings.enabled => {
                checkpoint_answer(CheckpointOutcome::Disabled)
            }
            _ => subject.ask(request),
        }),
    },
    PlantedBug {
        name: "manual-only-once-in-a-turn",
        rule: &rules::TURN_MANUAL,
        about: "A manual checkpoint is skipped if the turn already has its automatic checkpoint.",
        operations_min: 2,
        flaw: Intercept(|subject, request| {
            let is_manual = matches!(request, Request::Checkpoint { .. });
            let used = is_manual && subject.had_automatic_answer(request, used_the_turn);
            deduped_if(subject, request, used)
        }),
    },
];

/// Answers that a command that begins with one of these programs changes no files.
fn harmless_with(subject: &mut Intercepted, request: &Request, programs: &[&str]) -> Answer {
    harmless_if(subject, request, |command| programs.iter().any(|name| command.starts_with(name)))
}

/// Classifies the commands for which that holds as harmless.
fn harmless_if(
    subject: &mut Intercepted,
    request: &Request,
    holds: impl Fn(&str) -> bool,
) -> Answer {
    match request {
        Request::Classify { command } if holds(command) => {
            Answer::Classified { changes_files: false }
        }
        request => subject.ask(request),
    }
}

fn is_automatic(request: &Request) -> bool {
    matches!(request, Request::EnsureCheckpoint { .. })
}

/// Whether a checkpoint was taken, or nothing had changed.
fn used_the_turn(answer: &Answer) -> bool {
    created_id(answer).is_some() || *answer == checkpoint_answer(CheckpointOutcome::Unchanged)
}

/// If `used`, answers that the project has had its checkpoint in this turn.
fn deduped_if(subject: &mut Intercepted, request: &Request, used: bool) -> Answer {
    if used { checkpoint_answer(CheckpointOutcome::Deduped) } else { subject.ask(request) }
}

/// If `again`, takes a checkpoint although the core reports that the turn already has one.
fn manual_if_deduped(subject: &mut Intercepted, request: &Request, again: bool) -> Answer {
    let answer = subject.ask(request);
    match request {
        Request::EnsureCheckpoint { dir, reason }
            if again && answer == checkpoint_answer(CheckpointOutcome::Deduped) =>
        {
            let dir = dir.clone();
            let reason = reason.clone();
            subject.ask(&Request::Checkpoint { dir, reason })
        }
        _ => answer,
    }
}
