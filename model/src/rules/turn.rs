//! When a checkpoint is taken by itself.

super::rules! { RULES;
    TURN_ONCE = "turn/once", Documented, Modelled, "behaviour: Turns and triggers; seeds 000, 002":
        "At most one automatic checkpoint is taken per project per turn.";
    TURN_RESET = "turn/reset", Documented, Modelled, "behaviour: Turns and triggers; seed 002":
        "A new turn gives every project its slot back.";
    TURN_PER_PROJECT = "turn/per-project", Documented, Modelled,
        "behaviour: Turns and triggers; seed 000":
        "Projects do not share the slot of a turn.";
    TURN_FAILURE_KEEPS_SLOT = "turn/failure-keeps-slot", Integrity, Modelled,
        "behaviour: Turns and triggers":
        "An attempt that failed does not use up the slot.";
    TURN_NOTHING_USES_SLOT = "turn/nothing-uses-slot", Integrity, Modelled,
        "behaviour: Turns and triggers":
        "An attempt that found nothing to save uses up the slot.";
    TURN_DISABLED = "turn/disabled", Documented, Modelled,
        "behaviour: Turns and triggers; seed 000":
        "With enabled off an automatic checkpoint is a true no-op: nothing is created and no \
         file changes.";
    TURN_MANUAL = "turn/manual", Integrity, Modelled, "behaviour: Base and configuration":
        "A person who asks for a checkpoint gets one, whatever enabled says and whether or not \
         the turn has its own.";
    TURN_NO_BACKEND = "turn/no-backend", Documented, Planned,
        "behaviour: Turns and triggers; seed 000":
        "Without a usable git backend checkpoints are disabled transparently.";
    TURN_TRIGGERS = "turn/triggers", Documented, Planned, "behaviour: Turns and triggers; seed 000":
        "A checkpoint is taken before file tools (every path a patch names) and before \
         destructive terminal commands.";
    TURN_SHELL_WORDS = "turn/shell-words", Integrity, Planned, "behaviour: Turns and triggers":
        "The classifier of terminal commands reads shell words, not substrings.";
    TURN_SHARED_HISTORY = "turn/shared-history", Integrity, Planned,
        "behaviour: Turns and triggers":
        "File tools and terminal commands inside one project share one history.";
}
