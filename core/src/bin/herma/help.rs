//! What `--help` prints in addition to the arguments: examples, the environment and exit codes.

pub const AFTER_HELP: &str = "\
Examples:
  herma checkpoint                take a checkpoint of the project you are in
  herma rollback                  list its checkpoints
  herma rollback diff 1           see what changed since the newest
  herma rollback 1                restore it
  herma session                   play an agent's session, to try all of it
  herma actions                   what an agent did outside, and what becomes of it
  herma checkpoints               see what the store holds and costs
  herma checkpoints prune         make it smaller
  herma classify -- 'rm a > b'    does this command change files?
  herma doctor                    can checkpoints work here?

Environment:
  HERMES_HOME                     the store is in $HERMES_HOME/checkpoints [~/.hermes/checkpoints],
                                  an agent's state, if it has one, in $HERMES_HOME/agent
  NO_COLOR                        no colours, if it is set to anything

Configuration, below \"checkpoints:\" in $HERMES_HOME/config.yaml [~/.hermes/config.yaml]:
  enabled: false                  whether checkpoints are also taken automatically
  max_snapshots: 20               checkpoints kept of a project, at least 1
  max_file_size_mb: 10            larger files are left out; 0 means no limit
  max_total_size_mb: 500          of the whole store; 0 means no limit
  auto_prune: true                whether the store is swept automatically
  min_interval_hours: 24          the least time between two sweeps
  retention_days: 7               days until an unused project is removed; 0 keeps it
  delete_orphans: true            whether to remove projects whose directory is gone
  before_high_risk: true          of an agent with state: before deletes, force-pushes and the like
  mass_edit_files: 20             the same before so many files are changed at once; 0 is off
  milestone_percent: 25           when its goal passes each such part; 0 is off
  card_done: true                 when a card of it is done
  every_turns: 0                  after each so many turns of a conversation; 0 is off
  long_call_seconds: 30           before a call that takes longer; 0 is off

Never kept, so that no rollback touches it: what the project's .gitignore files name, and in
every project node_modules/, dist/, build/, target/, .venv/, caches and other folders that are
made; .env and .env.*; logs, archives, videos, compiled files; sockets and the like.

Exit codes:
  0  done, also when there was nothing to do
  1  declined: you were asked and said no
  2  failed, with a stable code in brackets at the end of the message, or invalid arguments
  130  a rollback was interrupted, and said what was done";

pub const CHECKPOINT_EXAMPLES: &str = "\
The project of the current directory is the nearest directory from there upwards that holds
.git, Cargo.toml, package.json, Makefile or the like, else the current directory itself.

Examples:
  herma checkpoint
  herma checkpoint --reason 'before the big refactoring'
  herma checkpoint --label baseline-w19  one that no limit drops until herma unpin baseline-w19
  herma checkpoint ~/code/experiments --json
  herma checkpoint -- --odd-name  a directory whose name begins with dashes

Exit codes: 0 done, also when nothing changed; 2 failed.";

pub const ROLLBACK_USAGE: &str = "\
herma rollback [--dir DIR]
       herma rollback diff N [--dir DIR]
       herma rollback show N [--dir DIR]
       herma rollback N [--exact] [--force] [--dry-run] [--as-previewed TOKEN] [--dir DIR]
       herma rollback N FILE [--dry-run] [--as-previewed TOKEN] [--dir DIR]";

/// For clap all words are a single argument, so it cannot describe them itself.
pub const ROLLBACK_TEMPLATE: &str = "\
{about}

{usage-heading} {usage}

Arguments:
  N     A number of the list, a label, or 4 to 64 digits of an id
  FILE  A file of the checkpoint, relative to the project's directory; after --, also one
        whose name looks like an option

Options:
{options}{after-help}";

pub const ROLLBACK_EXAMPLES: &str = "\
Examples:
  herma rollback                  list the checkpoints, newest first
  herma rollback diff 1           what changed since checkpoint 1: a summary, then the patch
  herma rollback show 1           why it was taken, and what it carries beside files
  herma rollback 1 --dry-run      say exactly what a restore would do, and change nothing
  herma rollback 1                restore all of checkpoint 1, leave files created since
  herma rollback 4270a8c --exact  the same by id, and remove files created since
  herma rollback 1 src/main.py    restore one file and touch no other
  herma rollback 1 -- --odd       a file whose name begins with dashes

Without checkpoints of the current directory the list shows every project that has some.

A restore first takes a checkpoint of the present state, and prints how to undo the restore.

Exit codes: 0 done; 2 failed, or some paths could not be restored or stayed, since no checkpoint
holds what is there; 130 interrupted (Ctrl-C, or a request to end): what was done is said.";

pub const CHECKPOINTS_EXAMPLES: &str = "\
Examples:
  herma checkpoints
  herma checkpoints status --json
  herma checkpoints verify
  herma checkpoints prune --retention-days 3 --max-size-mb 200
  herma checkpoints clear-legacy

Exit codes: 0 done; 1 declined; 2 failed.";

pub const PRUNE_EXAMPLES: &str = "\
Removes projects whose directory is gone, if its parent directory still exists, and projects,
legacy archives and v1 repositories that were not used for longer than the retention. Then frees
unneeded space, and removes the oldest checkpoints while the store is larger than its limit; the
newest of each project stays. Limits that are not given are as configured.

Examples:
  herma checkpoints prune
  herma checkpoints prune --retention-days 3 --max-size-mb 200
  herma checkpoints prune --retention-days 0 --keep-orphans  only free space

Exit codes: 0 done, also when there was nothing to do; 2 failed, or a part could not be done.";

pub const VERIFY_EXAMPLES: &str = "\
Changes nothing. A checkpoint that is damaged in part can still be restored but for the files
that are named; the next checkpoint stores again what the project still has.

Examples:
  herma checkpoints verify
  herma checkpoints verify --json

Exit codes: 0 everything is whole; 2 something is damaged, or the store cannot be read.";

pub const CLEAR_EXAMPLES: &str = "\
Files in the checkpoint base that belong to neither the store nor an archive stay.

Examples:
  herma checkpoints clear           asks first, on standard error
  herma checkpoints clear --force

Exit codes: 0 done, also when there was nothing to do; 1 declined, and nothing was changed;
2 failed.";

pub const CLEAR_LEGACY_EXAMPLES: &str = "\
A legacy archive holds the repositories of v1, one for each directory. Git can read them
until they are removed.

Examples:
  herma checkpoints clear-legacy    asks first, on standard error
  herma checkpoints clear-legacy --force

Exit codes: 0 done, also when there was nothing to do; 1 declined, and nothing was changed;
2 failed.";

pub const SESSION_EXAMPLES: &str = "\
Tools are typed one in a line, and really write files: say, write_file, patch, terminal. Before
each that changes files a checkpoint is taken, as the configuration says, at most one in a turn; a
turn begins with say. /rollback is as on the command line, and undoes the last turn as well. The
line help tells how each is typed.

Examples:
  herma session                    type lines, up to exit
  herma session --script demo.txt  do those of a file
  herma session --dir ~/code/toy --time-limit 5

Exit codes: 0 done; 2 a line was not understood, or did not come to what it asked.";

pub const CLASSIFY_EXAMPLES: &str = "\
The command is read as a shell reads it; nothing is run, and no file is looked at. What cannot be
known, such as a script or a program that a variable names, counts as changing files; a program that
is on no list here counts as harmless.

Examples:
  herma classify -- 'make clean && ls > log'   one word is a line of shell
  herma classify -- git -C src checkout main   several are a program and its arguments
  herma classify --json -- rm -r build

Exit codes: 0 done, whatever the answer is; 2 failed.";

pub const ACTIONS_EXAMPLES: &str = "\
A rollback lists what the agent did outside since the checkpoint, and undoes none of it. What is
registered in compensations.json beside external.json, in $HERMES_HOME/agent, can undo it: for each
kind of action a line of shell, which finds HERMA_KIND, HERMA_ID and HERMA_TO in its environment.

Examples:
  herma actions                     what was done, and how it stands
  herma actions compensate          undo what rollbacks left behind, newest first, each once
  herma actions compensate --again  also what failed or was interrupted before
  herma actions accept              record that the rest stays
  herma actions audit               who decided what, and when

Exit codes: 0 done; 2 failed, also where a compensation did.";

pub const PIN_EXAMPLES: &str = "\
No limit drops a pinned checkpoint until it is unpinned, and neither does a prune. One that has a
label is pinned from the start.

Examples:
  herma pin 3
  herma unpin baseline-w19

Exit codes: 0 done; 2 failed.";
