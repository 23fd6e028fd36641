#!/usr/bin/env python3
"""Drives the functions behind the awrecover command in-process. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that holds the installed packages.
A store is a folder that its user names, and does not know which project a snapshot is of: here each
project has one of its own, by its canonical path, below the folder of the suite. Snapshots are
incremental, and labels are given by the adapter. A restore makes the project anew beside itself and
swaps the two; the old one is discarded, as `restore --discard-replaced` does.

Not claimed: a reason (the label is all that the list shows); a single file; a comparison; a clock
(the function looks at the machine's); a pre-rollback checkpoint (the replaced folder is none).
"""

import base64
import datetime
import hashlib
import json
import os
import sys

VERSION = sys.argv[1]
sys.path[:0] = sys.argv[2:]
sys.dont_write_bytecode = True

from pathlib import Path  # noqa: E402

import awrecover  # noqa: E402  (found on the path set above)
import awshare  # noqa: E402

CAPABILITIES = [
    "checkpoint",
    "files.special",
    "project.any_directory",
    "project.spellings",
    "restore.exact",
]

START = None
STORE = None


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


def project(request):
    """The directory as typed, and the folder that is named as its store."""
    os.chdir(START)
    # A tilde is the shell's: the command never sees it.
    directory = Path(os.path.expanduser(text(request["dir"])))
    name = hashlib.sha256(os.fsencode(os.path.realpath(directory))).hexdigest()[:16]
    return directory, STORE / name


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "awrecover", "version": VERSION},
        "reusable": True,
        "capabilities": {name: True for name in CAPABILITIES},
    }


def open_(request):
    global START, STORE
    os.environ["HOME"] = text(request["home"])
    START = text(request["current_directory"])
    STORE = Path(text(request["store"]))
    return {}


def checkpoint(request):
    directory, store = project(request)
    # Of its own, since another process may choose one at the same time.
    label = f"s{len(awrecover.list_snapshots(store)) + 1:06}-{os.getpid()}"
    try:
        taken = awrecover.snapshot(directory, store, label, incremental=True)
    except awshare.ShareError as error:
        if str(error).startswith("snapshot source is not a directory"):
            there = os.path.lexists(directory)
            raise Refused(
                "not_a_directory" if there else "missing_directory", str(error)
            ) from error
        raise
    return {"outcome": "created", "id": taken.label}


def list_(request):
    _, store = project(request)
    return {
        "checkpoints": [
            {
                "number": number,
                "id": one.label,
                "time": int(datetime.datetime.fromisoformat(one.created).timestamp()),
                "reason": one.label,
            }
            for number, one in enumerate(awrecover.list_snapshots(store), 1)
        ]
    }


def restore(request):
    directory, store = project(request)
    try:
        awrecover.restore(store, text(request["target"]), directory, keep_replaced=False)
    except awrecover.RestoreFailedError as error:
        raise Refused("corrupt_checkpoint", str(error)) from error
    except awrecover.RecoverError as error:
        if str(error).startswith("no snapshot labelled"):
            raise Refused("unknown_checkpoint", str(error)) from error
        raise
    return {}


OPERATIONS = {
    "hello": hello,
    "open": open_,
    "close": lambda _: {},
    "checkpoint": checkpoint,
    "list": list_,
    "restore": restore,
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
