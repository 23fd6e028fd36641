//! What `--help` prints in addition to the arguments, for each command: examples, the environment and exit codes.

pub const AFTER_HELP: &str = "\
Examples:
  herma checkpoint                take a checkpoint of the project you are in
  herma rollback                  list its checkpoints
  herma diff                      show what changed since the newest checkpoint
  herma rollback 1                restore the newest checkpoint
  herma undo                      undo that; `herma redo` does it again
  herma init --agent claude       have an agent take checkpoints before it changes files
  herma run -- make fix           take one, run a command, and tell what it changed
  herma diff 3 1 -- src           show what changed between two checkpoints
  herma cat 1 src/main.rs         print a file as it was
  herma log src/main.rs           list the checkpoints that changed it
  herma session                   try all of this in a simulated session of an agent
  herma actions                   list what an agent did outside the project
  herma checkpoints               show the contents and size of the store
  herma checkpoints prune         remove what is unused or over the limits
  herma classify -- 'rm a > b'    tell whether a command changes files
  herma doctor                    check whether checkpoints work here

Environment:
  HERMES_HOME                     the directory of the files below [default: ~/.hermes]
  NO_COLOR                        no colours, if it is set to anything
  PAGER                           shows lists and differences on a terminal [default: less -FRX]

Files:
  $HERMES_HOME/config.yaml        the configuration [default: ~/.hermes/config.yaml]
  $HERMES_HOME/checkpoints        the store, which git can read [default: ~/.hermes/checkpoints]
  $HERMES_HOME/agent              the state of an agent

Configuration, in the section \"checkpoints:\" of config.yaml:
  enabled: false                  whether agents take checkpoints by themselves (hooks always do)
  max_snapshots: 20               how many checkpoints of a project are kept, at least 1
  max_file_size_mb: 10            larger files are left out of checkpoints; 0 means no limit
  max_total_size_mb: 500          the size limit of the whole store; 0 means no limit
  auto_prune: true                whether to prune the store automatically
  min_interval_hours: 24          the least time between two automatic prunes
  retention_days: 7               a prune removes projects unused for longer; 0 keeps them
  delete_orphans: true            a prune removes projects whose directory no longer exists
  include: []                     patterns such as dist/ to capture although excluded by default

Only for agents that keep state (a board, a goal, memories), in the same section:
  before_high_risk: true          take a checkpoint before deletions, force-pushes and the like
  mass_edit_files: 20             take one before so many files change at once; 0 means never
  milestone_percent: 25           take one when the goal passes each multiple; 0 means never
  card_done: true                 take one when a card of the board is done
  every_turns: 0                  take one after so many turns of a conversation; 0 means never
  long_call_seconds: 30           take one before a tool call expected to take longer; 0 means never

Never captured, and so never changed by a rollback: files that the project's .gitignore files
exclude; node_modules/, dist/, build/, target/, .venv/, caches and other generated folders; .env
and .env.*; logs, archives, videos and compiled files; sockets and the like. Other secrets, such as
.npmrc or id_rsa, are captured: only you can read the store, but copies outlive the file there.
A .hermaignore is read like a .gitignore, and after it: its lines exclude more from checkpoints, or,
such as !dist/, less. `herma checkpoints excluded` counts and lists what is excluded.

Exit codes:
  0  done, or there was nothing to do
  1  declined: you were asked to confirm, and did not
  2  invalid arguments; any failure of `herma checkpoints status`, `prune`, `clear`, `clear-legacy`
  3  refused: nothing was changed
  4  done only in part; the output lists what was not
  5  what is stored is damaged
  6  another process uses the store: try again
  130  a rollback was interrupted; its output lists what was done
The message of a failure ends with a stable code in brackets";

pub const CHECKPOINT: &str = "\
The project is the nearest directory that contains .git, Cargo.toml, package.json, Makefile or the
like, from the current directory upwards, or else the current directory itself.

Examples:
  herma checkpoint
  herma checkpoint --reason 'before the big refactoring'
  herma checkpoint --label baseline-w19  kept until `herma unpin baseline-w19`
  herma checkpoint --turn t17  in a hook before each edit: one checkpoint for each turn
  herma checkpoint ~/code/experiments --json
  herma checkpoint -- --odd-name  a directory whose name begins with dashes

Exit codes: 0 done, or nothing changed; 3 refused; 6 the store is in use.";

pub const ROLLBACK_USAGE: &str = "\
herma rollback [--dir DIR]
       herma rollback diff N [--dir DIR]
       herma rollback show N [--dir DIR]
       herma rollback N [PATH...] [OPTIONS]
       herma rollback --to WHEN [PATH...] [OPTIONS]
       herma rollback undo|redo [--force] [--dry-run] [--as-previewed TOKEN] [--dir DIR]";

pub const RESTORE_USAGE: &str = "\
herma restore N [PATH...] [OPTIONS]
       herma restore --to WHEN [PATH...] [OPTIONS]";

/// For clap all words are a single argument, so it cannot describe them itself.
pub const ROLLBACK_TEMPLATE: &str = "\
{about}

{usage-heading} {usage}

Arguments:
  N     A checkpoint: its name in the list (1, 2, ..; u1, u2, .. were taken before rollbacks), its
        label, 4 to 64 digits of its id, or @WHEN
  WHEN  An age such as 10m, 2h or 1d: the newest checkpoint that is at least so old; or a time of
        day such as 14:30: the newest up to the end of that minute
  PATH  A file or folder of the checkpoint, as in a shell or relative to the project's directory;
        put -- before a name that begins with a dash

Options:
{options}{after-help}";

pub const ROLLBACK: &str = "\
Examples:
  herma rollback                  list the checkpoints, newest first
  herma rollback diff 1           show what changed since checkpoint 1: a summary, then the patch
  herma rollback show 1           show why it was taken, and the agent's state in it
  herma rollback 1 --dry-run      show exactly what a restore would do, and change nothing
  herma rollback 1                restore all of checkpoint 1, and leave files created since
  herma rollback 4270a8c --exact  the same by id, and remove files created since
  herma rollback 1 src/main.py    restore one file, and change no other
  herma rollback 1 src lib.py     restore a folder and a file
  herma rollback --to 10m         go back to the newest checkpoint that is ten minutes old
  herma rollback 1 -- --odd       restore a file whose name begins with dashes

The list shows for each checkpoint how it differs from the one below it. If the current project has
no checkpoints, the list shows the projects that have some.

A restore first saves the present state as a checkpoint: `herma undo` goes back to it.

Exit codes: 0 done; 3 refused; 4 some paths were not restored; 5 the checkpoint is damaged;
6 the store is in use; 130 interrupted (Ctrl-C or SIGTERM), and the output lists what was done.";

pub const RESTORE: &str = "\
Examples:
  herma restore 1                restore all of checkpoint 1, and leave files created since
  herma restore 1 --dry-run      show exactly what it would do, and change nothing
  herma restore 4270a8c --exact  the same by id, and remove files created since
  herma restore 1 src lib.py     restore a folder and a file, and change no other
  herma restore --to 10m         go back to the newest checkpoint that is ten minutes old
  herma restore 1 -- --odd       restore a file whose name begins with dashes

`herma rollback N` is the same. A restore first saves the present state as a checkpoint:
`herma undo` goes back to it.

Exit codes: 0 done; 3 refused; 4 some paths were not restored; 5 the checkpoint is damaged;
6 the store is in use; 130 interrupted (Ctrl-C or SIGTERM), and the output lists what was done.";

pub const DIFF: &str = "\
Examples:
  herma diff                   what changed since the newest checkpoint
  herma diff 3                 what changed since checkpoint 3
  herma diff 3 1               what changed between two checkpoints
  herma diff 3 -- src          only below src
  herma diff --stat            only which files

Exit codes: 0 done; 3 refused; 5 the checkpoint is damaged.";

pub const CAT: &str = "\
Examples:
  herma cat 1 src/main.rs                        print the file as it was
  herma cat 1 src/main.rs | diff - src/main.rs   compare it

Exit codes: 0 done; 3 refused; 5 the checkpoint is damaged.";

pub const LOG: &str = "\
Examples:
  herma log src/main.rs        the checkpoints with another content than the one before

Exit codes: 0 done; 3 refused; 5 the checkpoint is damaged.";

pub const SHOW: &str = "\
`herma rollback show N` prints the same page.

Examples:
  herma show 1                    what checkpoint 1 holds besides its files

Exit codes: 0 done; 3 refused; 5 the checkpoint is damaged.";

pub const LIST: &str = "\
`herma rollback` prints the same list.

Examples:
  herma list                      the checkpoints, newest first
  herma show 1                    why the newest was taken, and what it carries besides its files

Exit codes: 0 done; 3 refused.";

pub const UNDO: &str = "\
`herma undo` undoes what happened last, and saves the present files first.

After a rollback it gives the files back as they were before it: files that the rollback brought go,
unless they were changed since. Typed again, it undoes the rollback before that, and `herma redo`
goes forward again. A rollback that changed nothing is not undone.

If the newest checkpoint is newer than every rollback, as after the turn of an agent, it restores
that checkpoint and removes the files created since. Typed again, it brings them back, as
`herma redo` does.

Examples:
  herma rollback 1                restore the newest checkpoint
  herma undo                      everything as before it
  herma redo                      once more as restored
  herma undo --dry-run            show what it would do

Exit codes: 0 done; 3 refused, or nothing to undo; 4 some paths were not restored; 130 interrupted.";

pub const INIT: &str = "\
Adds a hook to the settings of your agent, so that it takes a checkpoint before the first tool of a
turn that changes files. Your own hooks, comments and the order stay. Shows the difference and asks
before it writes anything.

Examples:
  herma init                           list the agents, and which have the hook
  herma init --agent claude            show the difference, ask, write
  herma init --agent gemini --force    do not ask
  herma init --agent claude --undo     take the hook out again

Exit codes: 0 done, or nothing to do; 1 declined; 3 the settings cannot be read or written.";

pub const HOOK: &str = "\
Reads what the agent says of the tool from standard input, takes one checkpoint a turn of each
project that the tool may change, prints {} and ends with 0 whatever happens. `herma init` sets it
up, and `herma doctor` tells when it was called last.

Examples:
  echo '{\"cwd\": \"/p\", \"tool_name\": \"Bash\", \"command\": \"rm a\"}' | herma hook claude
  herma hook my-agent < call.json

Exit codes: 0 always; 1 invalid arguments, since agents take 2 for an order to block the tool.";

pub const RUN: &str = "\
Takes a checkpoint of the project, runs the command in the current directory, and tells what
changed. On a terminal it offers to roll that back; `herma undo` brings it again.

Examples:
  herma run -- my-agent 'rename the module'
  herma run -- npx some-codemod src

Exit codes: that of the command, 128 + N if signal N ended it; 3 if no checkpoint can be taken: then
nothing is run; 127 if the command cannot be run.";

pub const CHECKPOINTS: &str = "\
Examples:
  herma checkpoints
  herma checkpoints status --json
  herma checkpoints verify
  herma checkpoints excluded
  herma checkpoints prune --retention-days 3 --max-size-mb 200
  herma checkpoints clear-legacy

Exit codes: 0 done; 1 declined; 2 failed.";

pub const EXCLUDED: &str = "\
Counts, for each pattern, the entries of a project that no checkpoint holds. A pattern is built in,
or a line of a .gitignore or .hermaignore file. An excluded folder is one entry. What a checkpoint
leaves out for another reason, such as its size, `herma checkpoint` lists.

Examples:
  herma checkpoints excluded
  herma checkpoints excluded --paths
  herma checkpoints excluded ~/code/experiments --json

Exit codes: 0 done; 3 refused.";

pub const PRUNE: &str = "\
Removes projects whose directory no longer exists although its parent directory does, and projects,
old-format archives and repositories that are unused for longer than the retention. Then removes
the oldest checkpoints while the store is over its size limit, except the newest of each project,
and frees space. Limits that are not given are as configured.

Examples:
  herma checkpoints prune
  herma checkpoints prune --dry-run                          only show what would be removed
  herma checkpoints prune --retention-days 3 --max-size-mb 200
  herma checkpoints prune --retention-days 0 --keep-orphans  only free space

Exit codes: 0 done, or there was nothing to do; 2 failed completely or in part.";

pub const MOVE: &str = "\
The checkpoints, labels and undo steps of OLD become those of NEW, with the same ids. OLD must not
exist any more, and NEW must not have checkpoints of its own.

Examples:
  herma checkpoints move ~/code/old-name ~/code/new-name

Exit codes: 0 done; 3 refused.";

pub const VERIFY: &str = "\
Changes nothing. Of a damaged checkpoint everything but the listed files can still be restored. The
next checkpoint of a project stores its present files again.

Examples:
  herma checkpoints verify
  herma checkpoints verify --json

Exit codes: 0 everything is intact; 3 the store cannot be read; 5 something is damaged.";

pub const CLEAR: &str = "\
Files of other programs in the directory of the store stay.

Examples:
  herma checkpoints clear           asks first, on standard error
  herma checkpoints clear --force

Exit codes: 0 done, or there was nothing to do; 1 declined, and nothing was changed; 2 failed.";

pub const CLEAR_LEGACY: &str = "\
An old-format archive contains repositories of the old format (v1), one for each directory. Git can
read them until they are removed.

Examples:
  herma checkpoints clear-legacy    asks first, on standard error
  herma checkpoints clear-legacy --force

Exit codes: 0 done, or there was nothing to do; 1 declined, and nothing was changed; 2 failed.";

pub const SESSION: &str = "\
You type what an agent would do, one tool per line, and the tools really change files: write_file,
patch, terminal. A line that begins with say starts a turn. If automatic checkpoints are enabled,
one is taken before the first tool of a turn that changes files. /rollback works as on the command
line, and also undoes the last turn. The line help lists all commands.

Examples:
  herma session                    type lines, until exit
  herma session --script demo.txt  read the lines from a file
  herma session --dir ~/code/toy --time-limit 5

Exit codes: 0 done; 4 a line was invalid or failed.";

pub const CLASSIFY: &str = "\
The command is parsed as a shell does; nothing is run, and no file is read. What cannot be known in
advance, such as the effect of a script or of an unknown program, counts as changing files.

Examples:
  herma classify -- 'make clean && ls > log'   a single argument is a line of shell
  herma classify -- git -C src checkout main   several are a program and its arguments
  herma classify --json -- rm -r build

Exit codes: 0 done, whatever the answer is; 2 invalid arguments.";

pub const ACTIONS: &str = "\
External actions are what an agent did outside the project, such as opening a pull request. A
rollback lists those since the checkpoint, and undoes none of them. To undo them by `compensate`,
register a shell command for each kind of action in $HERMES_HOME/agent/compensations.json; it gets
the variables HERMA_KIND, HERMA_ID and HERMA_TO.

Examples:
  herma actions                     list the actions and their states
  herma actions compensate          undo those that rollbacks left behind, newest first, each once
  herma actions compensate --again  also retry those that failed or were interrupted
  herma actions accept              accept those that rollbacks left behind
  herma actions audit               show who decided what, and when

Exit codes: 0 done; 3 refused; 4 a compensation failed.";

pub const PIN: &str = "\
No limit and no prune removes a pinned checkpoint. A checkpoint with a label is pinned from the
start.

Examples:
  herma pin 3
  herma unpin baseline-w19

Exit codes: 0 done; 3 refused.";

pub const DOCTOR: &str = "\
Checks the home directory, the configuration, the location of the store, the clock, locks, the
project of the current directory and the agent's state. Changes nothing, and creates no store.
`herma checkpoints verify` checks the stored data.

Examples:
  herma doctor
  herma doctor --json

Exit codes: 0 checkpoints work, perhaps with notices; 3 a problem prevents checkpoints.";

pub const COMPLETIONS: &str = "\
Prints a script and installs nothing. Save it where your shell looks for completions, or run it
each time the shell starts.

Examples:
  eval \"$(herma completions bash)\"                       in ~/.bashrc
  herma completions zsh > ~/.zfunc/_herma                with ~/.zfunc in $fpath
  herma completions fish > ~/.config/fish/completions/herma.fish

Exit codes: 0 done; 2 invalid arguments.";

pub const MAN: &str = "\
On a terminal, shows the page as `man` does. Elsewhere it prints the source of the page, and it
installs nothing.

Examples:
  herma man                       the page of herma
  herma man rollback              the page of herma rollback
  herma man checkpoints-prune > ~/.local/share/man/man1/herma-checkpoints-prune.1

Exit codes: 0 done; 2 no such page, or invalid arguments.";
