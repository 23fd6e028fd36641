"""Calls hermes-agent's checkpoint manager: one JSON array per line in, one JSON value per line out.

Its base is where the package itself looks for it: below HERMES_HOME. A line is the name of a
function below and its arguments; the answer is what it returned, or {"raised": …}.
"""

import json
import logging
import sys
from datetime import datetime

from tools import checkpoint_manager

# What the manager swallows it logs; a failing test shows it.
logging.basicConfig(stream=sys.stderr, level=logging.ERROR)

MANAGERS = {}


def manager(most):
    """One manager for each limit, as a user has who changes the setting."""
    if most not in MANAGERS:
        MANAGERS[most] = checkpoint_manager.CheckpointManager(enabled=True, max_snapshots=most)
    return MANAGERS[most]


def take(most, directory, reason):
    manager(most).new_turn()
    return manager(most).ensure_checkpoint(directory, reason)


def list_(most, directory):
    return [
        {
            "id": one["hash"],
            "short": one["short_hash"],
            # Older Pythons do not read the letter that git may write for UTC.
            "time": int(datetime.fromisoformat(one["timestamp"].replace("Z", "+00:00")).timestamp()),
            "reason": one["reason"],
        }
        for one in manager(most).list_checkpoints(directory)
    ]


def diff(most, directory, target):
    return manager(most).diff(directory, target)


def restore(most, directory, target):
    return manager(most).restore(directory, target)


def prune():
    return checkpoint_manager.prune_checkpoints(retention_days=0, delete_orphans=True)


FUNCTIONS = {"take": take, "list": list_, "diff": diff, "restore": restore, "prune": prune}

for line in sys.stdin:
    name, *arguments = json.loads(line)
    try:
        answer = FUNCTIONS[name](*arguments)
    except Exception as error:
        answer = {"raised": repr(error)}
    print(json.dumps(answer), flush=True)
