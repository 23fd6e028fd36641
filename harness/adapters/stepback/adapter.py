#!/usr/bin/env python3
"""Drives the Engine of stepback in-process. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that holds the installed package.
It keeps its store in the git repository of the project, and makes an engine for each call, as its
command does. A checkpoint's id is its commit; the engine's own numbers count from 1, the oldest, so
that a number of the list is turned into one of them. Its list shows how many files changed, and
`diff` the lines; how many of them there are since a checkpoint is in the preview of a rewind.

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

from stepback import engine as source  # noqa: E402  (found on the path set above)
from stepback.engine import Engine  # noqa: E402
from stepback.errors import BusyError, StepbackError  # noqa: E402
from stepback.repo import GitError  # noqa: E402

CAPABILITIES = [
    "capture.gitignore",
    "checkpoint",
    "diff",
    "diff.stats",
    "files.special",
    "list.stats",
    "project.spellings",
    "restore.directory",
    "restore.exact",
    "restore.file",
    "take.unchanged",
    "target.number",
    "test.clock",
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
# The last line of git's figures; what is none is left out of it.
FIGURES = re.compile(
    r" (\d+) files? changed(?:, (\d+) insertions?\(\+\))?(?:, (\d+) deletions?\(-\))?"
)
ESCAPED = re.compile(r'\\([0-7]{3}|[abtnvfr"\\])')
ESCAPES = {"a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r"}

START = None
# By commit, since what one introduced never changes.
PATCHES = {}


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Clock(datetime.datetime):
    """The engine's `datetime`, at the time that the suite says."""

    seconds = None

    @classmethod
    def now(cls, zone=None):
        if cls.seconds is None:
            return datetime.datetime.now(zone)
        return datetime.datetime.fromtimestamp(cls.seconds, zone)


source.datetime = Clock


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
    Clock.seconds = None
    PATCHES.clear()
    return {}


def clock(request):
    Clock.seconds = request["seconds"]
    return {}


def checkpoint(request):
    taken = engine(request).checkpoint(label=request["reason"])
    if taken is None:
        return {"outcome": "unchanged"}
    return {"outcome": "created", "id": taken.commit}


def lines(patch, sign):
    """How many lines a patch adds or removes; the names of both sides have the sign, too."""
    found = 0
    in_file = False
    for line in patch.split("\n"):
        if line.startswith("diff --git "):
            in_file = False
        elif line.startswith("@@ "):
            in_file = True
        elif in_file and line.startswith(sign):
            found += 1
    return found


def stats(driven, one):
    """The files that its list counts, and the lines that `diff` shows, if it does."""
    try:
        patch = PATCHES.get(one.commit) or driven.diff(one)
    except UnicodeDecodeError:
        return None
    PATCHES[one.commit] = patch
    files = re.match(r"\d+", one.summary)
    # Its list has no figures where nothing changed, which for the oldest is to have none.
    if files is None and one.id == 1:
        return None
    return {
        "files": int(files[0]) if files else 0,
        "added": lines(patch, "+"),
        "removed": lines(patch, "-"),
    }


def list_(request):
    driven = engine(request)
    return {
        "checkpoints": [
            {
                "number": number,
                "id": one.commit,
                "time": int(datetime.datetime.fromisoformat(one.time).timestamp()),
                "reason": one.summary,
                "stats": stats(driven, one),
            }
            for number, one in enumerate(reversed(driven.state.checkpoints), 1)
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
    compared = target(request, driven.state)
    patch = driven.diff_working(compared)
    found = {}
    for block in ("\n" + patch).split("\ndiff --git ")[1:]:
        for path, change in changes(block):
            # A change of type is a file that goes and another that comes.
            found[path] = "modified" if path in found else change
    entries = [{"path": path, "change": change} for path, change in sorted(found.items())]
    # The preview leads to the checkpoint, too: what it removes was added since.
    figures = FIGURES.search(driven.plan_restore(compared.tree).stat.split("\n")[-1])
    files, removed, added = (int(one or 0) for one in figures.groups()) if figures else (0, 0, 0)
    return {"entries": entries, "stats": {"files": files, "added": added, "removed": removed}}


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
        reply = {"err": {"code": refused.code, "message": str(refused)}}
    except BusyError as error:
        reply = {"err": {"code": "busy", "message": wire(str(error))}}
    except (GitError, StepbackError) as error:  # its command would print this and end with 1
        reply = {"err": {"code": "internal", "message": wire(str(error))}}
    except Exception as error:  # its command would have ended with it
        reply = {"err": {"code": "internal", "message": wire(repr(error))}}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
