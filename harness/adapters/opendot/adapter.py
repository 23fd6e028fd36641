#!/usr/bin/env python3
"""Drives the reversibility engine of opendot in-process. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that holds the installed package.
Contents lie by their hash in `objects` of OPENDOT_HOME, a manifest for each checkpoint in
`snapshots`, and the log of a project's actions in `ledger`. A checkpoint is what the engine does
before an action; the list is `opendot log`, a restore `opendot undo ID`, a preview `opendot diff ID`.
Only what the log has can be restored. Its ids are six digits, and it has no numbers.

Its largest file is a constant of the module; an agent has no way to set it, and this adapter does,
so that the bound of 25 MB is met by small files. The log has a note of the time that its caller gives.

Not claimed: a single file (only the whole project comes back); a checkpoint before a restore (only
`undo` without an id takes one, for `redo`); its own OPENDOT.md; lines of a diff.
"""

import base64
import datetime
import json
import os
import sys

VERSION = sys.argv[1]
sys.path[:0] = sys.argv[2:]
sys.dont_write_bytecode = True

# The package itself imports all of the agent; this part needs the standard library alone.
import types  # noqa: E402

package = types.ModuleType("opendot")
package.__path__ = [os.path.join(folder, "opendot") for folder in sys.argv[2:]]
sys.modules["opendot"] = package

from opendot.reversibility import snapshots  # noqa: E402  (found on the path set above)
from opendot.reversibility.engine import Reversibility  # noqa: E402
from opendot.reversibility.rules import load_rules  # noqa: E402

CAPABILITIES = [
    "capture.no_repositories",
    "checkpoint",
    "diff",
    "files.special",
    "files.unreadable",
    "list.reason",
    "project.any_directory",
    "project.spellings",
    "restore.exact",
    "settings.max_file_bytes",
    "take.skipped",
    "test.clock",
]

START = None
NOW = None


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def text(value):
    """A path or target as Python has it: bytes that are no UTF-8 become surrogates."""
    if isinstance(value, dict):
        return os.fsdecode(base64.b64decode(value["b64"]))
    return value


def wire(said):
    """A text as the protocol has it: no surrogates."""
    return said.encode("utf-8", "backslashreplace").decode("utf-8")


def path(name):
    """A path of the project as the protocol has it."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return {"b64": base64.b64encode(os.fsencode(name)).decode("ascii")}
    return name


def engine(request):
    """What each command makes for the folder that it is started for."""
    os.chdir(START)
    # A tilde is the shell's: the command never sees it.
    directory = os.path.expanduser(text(request["dir"]))
    return Reversibility(workdir=directory, rules=load_rules(directory))


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "opendot", "version": VERSION},
        "reusable": True,
        "capabilities": {name: True for name in CAPABILITIES},
        # What it leaves out by name, files too, and its own rules.
        "avoids": sorted(snapshots._DEFAULT_IGNORE_DIRS - {".git"}) + ["OPENDOT.md"],
        "keeps": snapshots.MAX_SNAPSHOTS_PER_PROJECT,
    }


def open_(request):
    global START, NOW
    os.environ["HOME"] = text(request["home"])
    os.environ["OPENDOT_HOME"] = os.path.join(text(request["store"]), "opendot")
    START = text(request["current_directory"])
    NOW = None
    # 0 is no bound to the suite.
    snapshots._MAX_FILE_BYTES = request["settings"]["max_file_bytes"] or sys.maxsize
    return {}


def clock(request):
    global NOW
    NOW = request["seconds"]
    return {}


def checkpoint(request):
    opened = engine(request)
    now = datetime.datetime.now() if NOW is None else datetime.datetime.fromtimestamp(NOW)
    made = opened.before_action(
        "write", request["reason"], timestamp=now.isoformat(timespec="seconds")
    )
    # The log says how many were too large, and the manifest which.
    skipped = snapshots.load_snapshot(opened.project_id, made).skipped_large
    why = "too large to snapshot"
    return {
        "outcome": "created",
        "id": made,
        "skipped": [{"path": path(name), "why": why} for name in skipped],
    }


def list_(request):
    return {
        "checkpoints": [
            {
                "number": number,
                "id": one.id,
                "time": int(datetime.datetime.fromisoformat(one.timestamp).timestamp()),
                "reason": one.detail,
            }
            for number, one in enumerate(reversed(engine(request).history()), 1)
        ]
    }


def found(opened, request):
    """The snapshot of an action, as `opendot undo ID` finds it."""
    typed = text(request["target"])
    target = next((one for one in opened.history() if one.id == typed), None)
    if target is None:
        raise Refused("unknown_checkpoint", wire(f"no action with id {typed}"))
    return target.snapshot_before


def diff(request):
    opened = engine(request)
    said = opened.diff_to(found(opened, request))
    # It says what a restore would do, and the suite asks what changed since.
    named = [("deleted", said["added"]), ("added", said["removed"])]
    named.append(("modified", [one["path"] for one in said["modified"]]))
    entries = [{"path": path(name), "change": how} for how, names in named for name in names]
    return {"entries": entries, "stats": {"files": len(entries), "added": 0, "removed": 0}}


def restore(request):
    opened = engine(request)
    opened.restore_to(found(opened, request))
    opened.clear_redo()
    return {}


OPERATIONS = {
    "hello": hello,
    "open": open_,
    "close": lambda _: {},
    "checkpoint": checkpoint,
    "list": list_,
    "diff": diff,
    "restore": restore,
    "test.clock": clock,
}

for line in sys.stdin:
    asked = json.loads(line)
    try:
        operation = OPERATIONS.get(asked["op"])
        if operation is None:
            raise Refused("unsupported", asked["op"])
        reply = {"ok": operation(asked)}
    except Refused as refused:
        reply = {"err": {"code": refused.code, "message": wire(str(refused))}}
    except Exception as error:  # the command would have ended with it
        reply = {"err": {"code": "internal", "message": wire(repr(error))}}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
