#!/usr/bin/env python3
"""Drives the rewind command of rewind-ai in-process. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that holds the installed packages.
It keeps its store in the git repository of the project. Its own numbers count from 0, the oldest,
and are all that it takes for a checkpoint: numbers and ids are turned into them. It ends with 0
whatever happens, so that what it did is read from what it prints and from its list. It bounds its
checkpoints when somebody tells it to prune, and never by itself: no bound is claimed.

Not claimed: leaving files created since (it always removes them); a checkpoint before one file (it
takes one before all are restored); working files of nested repositories (it keeps a link to their
commit); a comparison with the files as they are now (it compares checkpoints).
"""

import base64
import contextlib
import io
import json
import os
import sys
import time

VERSION = sys.argv[1]
sys.path[:0] = sys.argv[2:]
sys.dont_write_bytecode = True

import click  # noqa: E402  (found on the path set above)
from rewind import checkpoint as engine  # noqa: E402
from rewind import cli  # noqa: E402

CAPABILITIES = [
    "capture.gitignore",
    "checkpoint",
    "files.special",
    "list.reason",
    "list.stats",
    "project.spellings",
    "restore.directory",
    "restore.exact",
    "restore.file",
    "restore.safety",
    "target.number",
    "test.clock",
]

# What it prints when it does not do it, and what that means.
ERRORS = [
    ("No checkpoint #", "unknown_checkpoint"),
    ("File path must be relative to the repository.", "bad_path"),
    ("File path must stay within the repository.", "bad_path"),
]
# How it says that it did.
DONE = ("Restored ", "Deleted ")
CANNOT_ENTER = {
    FileNotFoundError: "missing_directory",
    NotADirectoryError: "not_a_directory",
    PermissionError: "permission",
}

START = None


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Clock:
    """The engine's `time`, at the time that the suite says."""

    now = None

    def time(self):
        # The parts of a second are the machine's, so that no two checkpoints have the same time.
        return time.time() if self.now is None else self.now + time.time() % 1

    def __getattr__(self, name):
        return getattr(time, name)


engine.time = Clock()


def text(value):
    """A path or target as Python has it: bytes that are no UTF-8 become surrogates."""
    if isinstance(value, dict):
        return os.fsdecode(base64.b64decode(value["b64"]))
    return value


def wire(said):
    """A text as the protocol has it: no surrogates."""
    return said.encode("utf-8", "backslashreplace").decode("utf-8")


def enter(request):
    """It works on the directory that it is started in."""
    os.chdir(START)
    try:
        os.chdir(text(request["dir"]))
    except OSError as error:
        # What a shell says to `cd` before the command is started at all.
        raise Refused(CANNOT_ENTER.get(type(error), "io"), wire(str(error))) from error


def rewind(*arguments):
    """What the command prints."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            cli.main(args=arguments, prog_name="rewind", standalone_mode=False)
    except click.UsageError as error:
        raise Refused("bad_target", error.format_message()) from error
    except SystemExit as error:
        raise Refused("internal", printed.getvalue()) from error
    return printed.getvalue()


def store():
    """What its commands open, silently."""
    with contextlib.redirect_stdout(io.StringIO()):
        return cli._get_store()


def listed():
    """What `rewind list` shows, oldest first."""
    return store().checkpoints


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "rewind-ai", "version": VERSION},
        "reusable": True,
        "capabilities": {name: True for name in CAPABILITIES},
        "needs": ["repository"],
    }


def open_(request):
    global START
    os.environ["HOME"] = text(request["home"])
    START = text(request["current_directory"])
    engine.time.now = None
    return {}


def clock(request):
    engine.time.now = request["seconds"]
    return {}


def checkpoint(request):
    enter(request)
    before = [one.sha for one in listed()]
    printed = rewind("snap", "--label=" + request["reason"])
    after = [one.sha for one in listed()]
    if len(after) == len(before):
        raise Refused("internal", printed)
    return {"outcome": "created", "id": after[-1]}


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


def stats(opened, one):
    """How many files its list shows, and the lines that `rewind diff` shows, if it does."""
    files = len(one.files_changed) + len(one.files_added) + len(one.files_deleted)
    try:
        patch = opened.diff(one.index)
    except UnicodeDecodeError:
        return None
    # Its list has a dash where nothing changed, and for the oldest that is to have no figures.
    if not files and one.index == 0:
        return None
    return {"files": files, "added": lines(patch, "+"), "removed": lines(patch, "-")}


def list_(request):
    enter(request)
    opened = store()
    return {
        "checkpoints": [
            {
                "number": number,
                "id": one.sha,
                "time": int(one.timestamp),
                "reason": one.label,
                "stats": stats(opened, one),
            }
            for number, one in enumerate(reversed(opened.checkpoints), 1)
        ]
    }


def index(request, shas):
    """Its own number of a checkpoint; what is neither id nor number is given to it as typed."""
    typed = text(request["target"])
    if typed in shas:
        return str(shas.index(typed))
    if typed.isascii() and typed.isdigit() and len(typed) < 4:
        return str(len(shas) - int(typed))
    return typed


def told(printed):
    """What it printed, if that is that it did as it was told."""
    if any(line.startswith(DONE) for line in printed.splitlines()):
        return
    for message, code in ERRORS:
        if message in printed:
            raise Refused(code, printed)
    raise Refused("internal", printed)


def restored(request, command, options, *arguments):
    """What a command did whose first argument is a checkpoint."""
    before = [one.sha for one in listed()]
    printed = rewind(command, *options, "--", index(request, before), *arguments)
    after = [one.sha for one in listed()]
    told(printed)
    return {"safety": after[-1] if len(after) > len(before) else None}


def restore(request):
    enter(request)
    return restored(request, "jump", ["--yes"])


def restore_file(request):
    enter(request)
    path = text(request["path"])
    if "\0" in path:
        raise Refused("bad_path", "no command line holds a NUL")
    return restored(request, "checkout", [], path)


OPERATIONS = {
    "hello": hello,
    "open": open_,
    "close": lambda _: {},
    "checkpoint": checkpoint,
    "list": list_,
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
        reply = {"err": {"code": refused.code, "message": wire(str(refused))}}
    except Exception as error:  # the command would have ended with it
        reply = {"err": {"code": "internal", "message": wire(repr(error))}}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
