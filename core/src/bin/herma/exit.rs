//! The exit codes of the command. Agents take 2 for an order to block a tool, so that only invalid arguments have it,
//! and the commands whose codes are those of the model of the kind.

use herma_core::Code;

/// Done, also when there was nothing to do.
pub const DONE: u8 = 0;
/// The user was asked and declined.
pub const DECLINED: u8 = 1;
/// Invalid arguments; of `herma checkpoints status`, `prune`, `clear` and `clear-legacy` any failure.
pub const USAGE: u8 = 2;
/// Refused: nothing was changed.
pub const REFUSED: u8 = 3;
/// Done only in part.
pub const INCOMPLETE: u8 = 4;
/// What is stored is damaged.
pub const DAMAGED: u8 = 5;
/// Another process uses the store: the same command may succeed later.
pub const BUSY: u8 = 6;
/// The command of `herma run` cannot be run.
pub const CANNOT_RUN: u8 = 127;
/// A signal ended a rollback early; the answer reports what was done.
pub const INTERRUPTED: u8 = 130;

/// The exit code for a failure with that code.
pub fn of(code: Code) -> u8 {
    match code {
        "usage" | "unknown_page" => USAGE,
        "compensation_failed" | "incomplete" | "interrupted" | "partly_cleared" | "unheard" => {
            INCOMPLETE
        }
        "bad_state" | "corrupt_checkpoint" | "damaged" => DAMAGED,
        "busy" => BUSY,
        "cannot_run" => CANNOT_RUN,
        _ => REFUSED,
    }
}
