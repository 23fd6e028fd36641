#!/usr/bin/env python3
"""Drives the unedit command of stillworks in-process. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that holds the installed package.
It keeps its store in `.unedit` of the project. Every save is a checkpoint, and every restore takes
one before it; what was created since is moved aside, into the store. Its ids begin with the date and
the time, and may be shortened. It has no numbers.

Not claimed: a single file (only the whole project comes back); the refusal of its own store as a
project (it refuses the root and the home directory); leaving files created since (it moves them
aside); lines of a diff (it counts files).
"""

import base64
import contextlib
import datetime
import io
import json
import os
import sys
import time

VERSION = sys.argv[1]
sys.path[:0] = sys.argv[2:]
sys.dont_write_bytecode = True

from unedit import cli, store  # noqa: E402  (found on the path set above)

CAPABILITIES = [
    "capture.gitignore",
    "capture.no_repositories",
    "checkpoint",
    "diff",
    "files.special",
    "files.unreadable",
    "list.reason",
    "project.any_directory",
    "project.spellings",
    "restore.exact",
    "restore.safety",
    "take.skipped",
    "target.short",
    "test.clock",
]

# What its refusals say, and what that means.
ERRORS = [
    ("no such directory: ", "missing_directory"),
    ("not a directory: ", "not_a_directory"),
    ("refusing to snapshot your home directory", "scope_home"),
    ("refusing to snapshot ", "scope_root"),
    ("no snapshots found", "unknown_checkpoint"),
    ("no snapshot matching ", "unknown_checkpoint"),
    ("ambiguous id ", "ambiguous_checkpoint"),
    ("empty snapshot id", "bad_target"),
    ("tree has more than ", "too_many_files"),
    ("snapshot names ", "corrupt_checkpoint"),
    ("could not save snapshot: ", "io"),
    ("restore failed: ", "io"),
]

START = None


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Clock(datetime.datetime):
    """The store's `datetime.datetime`, at the time that the suite says."""

    seconds = None
    asked = 0

    @classmethod
    def now(cls, tz=None):
        if cls.seconds is None:
            return datetime.datetime.now(tz)
        # Its ids are in the order of these parts, also where the next process makes them.
        ticks = time.time_ns() // 1_000_000
        cls.asked = max(cls.asked + 1, ticks % 1_000_000) % 1_000_000
        said = datetime.datetime.fromtimestamp(cls.seconds, tz)
        return said.replace(microsecond=cls.asked)


class Module:
    """The store's `datetime`."""

    datetime = Clock

    def __getattr__(self, name):
        return getattr(datetime, name)


store.datetime = Module()


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


def unedit(request, command, *arguments):
    """What the command prints as JSON, and what it ends with."""
    os.chdir(START)
    # A tilde is the shell's: the command never sees it.
    directory = os.path.expanduser(text(request["dir"]))
    printed, complained = io.StringIO(), io.StringIO()
    line = ["--project=" + directory, command, "--json", *arguments]
    code = 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complained):
        try:
            cli._run(line)
        except SystemExit as end:
            code = end.code or 0
    try:
        said = json.loads(printed.getvalue())
    except ValueError as error:
        raise Refused("internal", printed.getvalue() + complained.getvalue()) from error
    if isinstance(said, dict) and "error" in said:
        for message, meant in ERRORS:
            if said["error"].startswith(message):
                raise Refused(meant, said["error"])
        raise Refused("io", said["error"])
    return said, code


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "stillworks", "version": VERSION},
        "reusable": True,
        "capabilities": {name: True for name in CAPABILITIES},
        "store_folder": store.STORE_DIR_NAME,
        # What it leaves out by name, files too, and its own ignore file.
        "avoids": sorted(store.DEFAULT_EXCLUDES - {".git"}) + [".uneditignore"],
    }


def open_(request):
    global START
    os.environ["HOME"] = text(request["home"])
    START = text(request["current_directory"])
    Clock.seconds = None
    Clock.asked = 0
    return {}


def clock(request):
    Clock.seconds = request["seconds"]
    return {}


def checkpoint(request):
    said, _ = unedit(request, "save", "--message=" + request["reason"])
    skipped = [{"path": path(one["path"]), "why": one["reason"]} for one in said["skipped"]]
    return {"outcome": "created", "id": said["id"], "skipped": skipped}


def list_(request):
    said, _ = unedit(request, "list")
    return {
        "checkpoints": [
            {
                "number": number,
                "id": one["id"],
                "time": int(datetime.datetime.fromisoformat(one["timestamp"]).timestamp()),
                "reason": one["message"],
            }
            for number, one in enumerate((one for one in said if "damaged" not in one), 1)
        ]
    }


def diff(request):
    said, _ = unedit(request, "diff", "--", text(request["target"]))
    named = [("added", "added"), ("modified", "modified"), ("removed", "deleted")]
    entries = [
        {"path": path(one["path"]), "change": change} for name, change in named for one in said[name]
    ]
    return {"entries": entries, "stats": {"files": len(entries), "added": 0, "removed": 0}}


def restore(request):
    said, code = unedit(request, "back", "--yes", "--", text(request["target"]))
    if code:
        raise Refused("io", json.dumps(said))
    return {"safety": said["safety_snapshot"]}


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
