#!/usr/bin/env python3
"""Drives the checkpoints of lcode in-process. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that holds the installed packages.
Each folder has a private git repository below the state directory. Each checkpoint is a session of
its own whose only request is about to change files and is then interrupted, which lcode plans for: a
checkpoint without an end is compared with the files as they are. Such a session is resumed for a
restore (`/rewind`) and for what that shows before it asks. What a session has in its file lies in
`sessions.json` beside the repositories. Its ids are the names of sessions.

The bounds are constants of the module, which nobody sets; this adapter does.

Not claimed: lcode's stack of requests in one session, of which each can be undone once; a
single file; a listed checkpoint before a restore (it keeps one as a ref for doing it manually); the
refusal of the root and of its own store (it refuses the home and what is above it).
"""

import base64
import datetime
import json
import os
import sys

VERSION = sys.argv[1]
sys.path[:0] = sys.argv[2:]
sys.dont_write_bytecode = True

import io  # noqa: E402
from pathlib import Path  # noqa: E402

from lcode import checkpoints, config  # noqa: E402  (found on the path set above)
from rich.console import Console  # noqa: E402

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
    "restore.report",
    "settings.max_file_bytes",
    "settings.max_files",
]

# What it says when it does not do it, and what that means.
ERRORS = [
    ("is your home folder or above it", "scope_home"),
    (" has more than ", "too_many_files"),
]
CANNOT_ENTER = {
    FileNotFoundError: "missing_directory",
    NotADirectoryError: "not_a_directory",
    PermissionError: "permission",
}

START = None
# What it leaves out by name, whatever the project says; `*.pyc` is a pattern.
LINES = checkpoints.DEFAULT_EXCLUDES.splitlines()[1:]
EXCLUDED = [line.strip("/") for line in LINES if "*" not in line]


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


def refused(message):
    code = next((code for words, code in ERRORS if words in message), "io")
    return Refused(code, wire(message))


def directory(request):
    """The folder that lcode is started in; a tilde is the shell's."""
    os.chdir(START)
    return Path(os.path.expanduser(text(request["dir"])))


def enter(request):
    folder = directory(request)
    try:
        os.chdir(folder)
    except OSError as error:
        # What a shell says to `cd` before the command is started at all.
        raise Refused(CANNOT_ENTER.get(type(error), "io"), wire(str(error))) from error
    return Path.cwd()


def sessions_file():
    return config.STATE_DIR / "sessions.json"


def sessions():
    """All sessions, oldest first, each as its file has it."""
    try:
        return json.loads(sessions_file().read_text())
    except FileNotFoundError:
        return []


def of_folder(folder):
    worktree = str(checkpoints.work_tree_for(folder))
    return [one for one in sessions() if one["checkpoints"][0]["worktree"] == worktree]


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "lcode-cli", "version": VERSION},
        "reusable": True,
        "git": True,
        "capabilities": {name: True for name in CAPABILITIES},
        "avoids": EXCLUDED,
    }


def open_(request):
    global START
    os.environ["HOME"] = text(request["home"])
    START = text(request["current_directory"])
    config.STATE_DIR = Path(text(request["store"])) / "lcode"
    settings = request["settings"]
    checkpoints.MAX_FILES = settings["max_files"]
    # 0 is no bound to the suite.
    checkpoints.MAX_FILE_BYTES = settings["max_file_bytes"] or sys.maxsize
    return {}


def checkpoint(request):
    folder = enter(request)
    kept = sessions()
    console = Console(file=io.StringIO(), width=10_000)
    session = checkpoints.Checkpoints(console)
    now = datetime.datetime.now()
    name = f"{now:%Y%m%d-%H%M%S}-{len(kept):06}"
    session.begin_turn(name, request["reason"], 0)
    session.before_change(folder)
    if session._current is None:
        raise refused("; ".join(session._disabled.values()))
    session.items.append(session._current)
    kept.append({"id": name, "checkpoints": session.to_json()})
    sessions_file().write_text(json.dumps(kept))
    return {"outcome": "created", "id": name}


def list_(request):
    found = of_folder(directory(request))
    return {
        "checkpoints": [
            {
                "number": number,
                "id": one["id"],
                "time": int(one["checkpoints"][0]["created"]),
                "reason": one["checkpoints"][0]["request"],
            }
            for number, one in enumerate(reversed(found), 1)
        ]
    }


def planned(request):
    """The session that is resumed, and what it would do."""
    typed = text(request["target"])
    found = [one for one in of_folder(directory(request)) if one["id"] == typed]
    if not found:
        raise Refused("unknown_checkpoint", wire(f"no session {typed} in this folder"))
    session = checkpoints.Checkpoints(Console(file=io.StringIO()))
    session.load(found[0]["id"], found[0]["checkpoints"])
    try:
        return session, session.plan(session.items[0])
    except checkpoints.CheckpointError as error:
        raise refused(str(error)) from error


def diff(request):
    _, plan = planned(request)
    words = {"A": "added", "D": "deleted", "M": "modified"}
    entries = [
        {"path": path(one["path"]), "change": words[one["status"]]} for one in plan.target.changes
    ]
    return {"entries": entries, "stats": {"files": len(entries), "added": 0, "removed": 0}}


def restore(request):
    session, plan = planned(request)
    try:
        session.apply(plan)
    except checkpoints.CheckpointError as error:
        raise refused(str(error)) from error
    return {
        "restored": [path(name) for name in plan.restore],
        "removed": [path(name) for name in plan.remove],
    }


OPERATIONS = {
    "hello": hello,
    "open": open_,
    "close": lambda _: {},
    "checkpoint": checkpoint,
    "list": list_,
    "diff": diff,
    "restore": restore,
}

for line in sys.stdin:
    asked = json.loads(line)
    try:
        operation = OPERATIONS.get(asked["op"])
        if operation is None:
            raise Refused("unsupported", asked["op"])
        reply = {"ok": operation(asked)}
    except Refused as refusal:
        reply = {"err": {"code": refusal.code, "message": wire(str(refusal))}}
    except Exception as error:  # the session would have ended with it
        reply = {"err": {"code": "internal", "message": wire(repr(error))}}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
