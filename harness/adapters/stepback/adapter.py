#!/usr/bin/env python3
"""Drives the Engine of stepback in-process. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that holds the installed package.
It keeps its store in the git repository of the project, and makes an engine for each call, as its
command does. A checkpoint's id is its commit; the engine's own numbers count from 1, the oldest, so
that a number of the list is turned into one of them.

Not claimed: a reason (the commit has it, the list does not); a pre-rollback checkpoint (the state
before a rewind is kept for `redo` alone, until the next checkpoint); leaving files created since (it
always removes them); working files of nested repositories (it keeps a link to their commit).
"""

import base64
import datetime
import json
import os
import re
import sys

VERSION = sys.argv[1]
sys.path[:0] = sys.argv[2:]
sys.dont_write_bytecode = True

from pathlib import Path  # noqa: E402

from stepback.engine import Engine  # noqa: E402  (found on the path set above)
from stepback.errors import BusyError, StepbackError  # noqa: E402
from stepback.repo import GitError  # noqa: E402

CAPABILITIES = [
    "capture.gitignore",
    "checkpoint",
    "diff",
    "files.special",
    "project.spellings",
    "restore.exact",
    "restore.file",
    "take.unchanged",
    "target.number",
]

# What its refusals of a path say, and what that means.
PATH_ERRORS = [
    ("restore paths must be non-empty and NUL-free", "bad_path"),
    ("restore path escapes the work tree", "bad_path"),
    ("restore path must be relative", "bad_path"),
    ("path is absent from both snapshots", "not_in_checkpoint"),
    ("path selection crosses an unselected file/directory transition", "would_overwrite"),
]
CANNOT_ENTER = {
    FileNotFoundError: "missing_directory",
    NotADirectoryError: "not_a_directory",
    PermissionError: "permission",
}
ESCAPED = re.compile(r'\\([0-7]{3}|[abtnvfr"\\])')
ESCAPES = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}

START = None


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


def engine(request):
    """Its command works on the directory that it is started in."""
    os.chdir(START)
    try:
        os.chdir(text(request["dir"]))
    except OSError as error:
        # What a shell says to `cd` before the command is started at all.
        raise Refused(CANNOT_ENTER.get(type(error), "io"), wire(str(error))) from error
    return Engine(Path.cwd())


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "stepback", "version": VERSION},
        "reusable": True,
        "capabilities": {name: True for name in CAPABILITIES},
        "needs": ["repository"],
    }


def open_(request):
    global START
    os.environ["HOME"] = text(request["home"])
    START = text(request["current_directory"])
    return {}


def checkpoint(request):
    taken = engine(request).checkpoint(label=request["reason"])
    if taken is None:
        return {"outcome": "unchanged"}
    return {"outcome": "created", "id": taken.commit}


def list_(request):
    return {
        "checkpoints": [
            {
                "number": number,
                "id": one.commit,
                "time": int(datetime.datetime.fromisoformat(one.time).timestamp()),
                "reason": one.summary,
            }
            for number, one in enumerate(reversed(engine(request).state.checkpoints), 1)
        ]
    }


def target(request, state):
    """The checkpoint that its command would look up by a number of its own."""
    typed = text(request["target"])
    for one in state.checkpoints:
        if one.commit == typed:
            return one
    try:
        # As its command reads an argument: a sign and blanks around are no mistake.
        number = int(typed)
    except ValueError as error:
        raise Refused("bad_target", wire(str(error))) from error
    if typed.isascii() and typed.isdigit() and len(typed) < 4:
        number = len(state.checkpoints) + 1 - number
    found = state.by_id(number)
    if found is None:
        raise Refused("unknown_checkpoint", "no such checkpoint.")
    return found


def unquoted(name):
    """A path as git writes it into a patch, in quotes where it is unusual."""
    if not name.startswith('"'):
        return name
    plain = lambda found: ESCAPES.get(found[1]) or (
        chr(int(found[1], 8)) if found[1].isdigit() else found[1]
    )
    return ESCAPED.sub(plain, name[1:-1])


def changes(block):
    """What a block of a patch says, which leads from the files as they are to the checkpoint."""
    lines = block.split("\n")
    for old, new in zip(lines, lines[1:]):
        if old.startswith("rename from "):
            yield unquoted(old[len("rename from ") :]), "added"
            yield unquoted(new[len("rename to ") :]), "deleted"
            return
    # Both halves of the first line are the same but for one letter.
    name = lines[0][: (len(lines[0]) - 1) // 2]
    name = unquoted(name)[2:]
    if lines[1].startswith("new file"):
        yield name, "deleted"
    elif lines[1].startswith("deleted file"):
        yield name, "added"
    else:
        yield name, "modified"


def diff(request):
    driven = engine(request)
    patch = driven.diff_working(target(request, driven.state))
    found = {}
    for block in ("\n" + patch).split("\ndiff --git ")[1:]:
        for path, change in changes(block):
            # A change of type is a file that goes and another that comes.
            found[path] = "modified" if path in found else change
    entries = [{"path": path, "change": change} for path, change in sorted(found.items())]
    return {"entries": entries, "stats": {"files": 0, "added": 0, "removed": 0}}


def restore(request):
    driven = engine(request)
    found = target(request, driven.state)
    # Its command previews first, and says so where there is nothing to do.
    if not driven.plan_restore(found.tree).is_noop:
        driven.rewind(found)
    return {}


def restore_file(request):
    driven = engine(request)
    found = target(request, driven.state)
    try:
        plan = driven.plan_restore_paths(found.tree, [text(request["path"])])
        if not plan.is_noop:
            driven.restore_paths(found, list(plan.paths))
    except ValueError as error:
        for message, code in PATH_ERRORS:
            if str(error).startswith(message):
                raise Refused(code, wire(str(error))) from error
        raise
    return {}


OPERATIONS = {
    "hello": hello,
    "open": open_,
    "close": lambda _: {},
    "checkpoint": checkpoint,
    "list": list_,
    "diff": diff,
    "restore": restore,
    "restore_file": restore_file,
}

for line in sys.stdin:
    asked = json.loads(line)
    try:
        operation = OPERATIONS.get(asked["op"])
        if operation is None:
            raise Refused("unsupported", asked["op"])
        reply = {"ok": operation(asked)}
    except Refused as refused:
        reply = {"err": {"code": refused.code, "message": str(refused)}}
    except BusyError as error:
        reply = {"err": {"code": "busy", "message": wire(str(error))}}
    except (GitError, StepbackError) as error:  # its command would print this and end with 1
        reply = {"err": {"code": "internal", "message": wire(str(error))}}
    except Exception as error:  # its command would have ended with it
        reply = {"err": {"code": "internal", "message": wire(repr(error))}}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
