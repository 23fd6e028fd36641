#!/usr/bin/env python3
"""A complete adapter, for a toy that copies whole trees. Replace the Toy by your implementation.

The runner writes one JSON object on a line to standard input and reads one reply on a line from
standard output. Print nothing else there; diagnostics go to standard error.
"""

import base64
import json
import os
import shutil
import sys


class Refused(Exception):
    """A refusal: its code is from the protocol's list, and it says what was changed on the disk."""

    def __init__(self, code, message, changed="none"):
        super().__init__(message)
        self.code, self.changed = code, changed


def path(value):
    """A path is a string, or {"b64": ...} if it is not UTF-8."""
    if isinstance(value, dict):
        return os.fsdecode(base64.b64decode(value["b64"]))
    return value


class Toy:
    """Keeps a copy of the whole tree for every checkpoint."""

    def __init__(self, store):
        self.store = store
        os.makedirs(store, exist_ok=True)

    def ids(self):
        return sorted(os.listdir(self.store), reverse=True)

    def checkpoint(self, project, reason):
        if not os.path.isdir(project):
            raise Refused("missing_directory", project)
        # Digits alone would be read as a number of the list when typed.
        checkpoint = f"c{len(self.ids()) + 1:07x}"
        folder = os.path.join(self.store, checkpoint)
        shutil.copytree(project, os.path.join(folder, "tree"), symlinks=True)
        with open(os.path.join(folder, "reason"), "w", encoding="utf-8", newline="") as file:
            file.write(reason)
        return checkpoint

    def describe(self, number, checkpoint):
        name = os.path.join(self.store, checkpoint, "reason")
        with open(name, encoding="utf-8", newline="") as file:
            reason = file.read()
        seconds = int(os.stat(name).st_mtime)
        return {"number": number, "id": checkpoint, "time": seconds, "reason": reason}

    def restore(self, project, checkpoint):
        tree = os.path.join(self.store, checkpoint, "tree")
        if not os.path.isdir(tree):
            raise Refused("unknown_checkpoint", checkpoint)
        shutil.copytree(tree, project, symlinks=True, dirs_exist_ok=True)


TOY = None


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "copy-tree", "version": "0.1.0"},
        # Everyone is asked to list and restore; anything else needs a capability.
        "capabilities": {"checkpoint": True},
    }


def open_(request):
    global TOY
    TOY = Toy(path(request["store"]))
    return {}


def checkpoint(request):
    return {"outcome": "created", "id": TOY.checkpoint(path(request["dir"]), request["reason"])}


def list_(_):
    return {"checkpoints": [TOY.describe(*one) for one in enumerate(TOY.ids(), 1)]}


def restore(request):
    TOY.restore(path(request["dir"]), path(request["target"]))
    return {}


OPERATIONS = {
    "hello": hello,
    "open": open_,
    "checkpoint": checkpoint,
    "list": list_,
    "restore": restore,
    "close": lambda _: {},
}

for line in sys.stdin:
    asked = json.loads(line)
    try:
        operation = OPERATIONS.get(asked["op"])
        if operation is None:
            raise Refused("unsupported", asked["op"])
        reply = {"ok": operation(asked)}
    except Refused as refused:
        # A path in a message need not be UTF-8; a line of the protocol is.
        message = str(refused).encode("utf-8", "backslashreplace").decode()
        error = {"code": refused.code, "message": message, "changed": refused.changed}
        reply = {"err": error}
    except Exception as error:  # any other error is an answer, too
        reply = {"err": {"code": "internal", "message": repr(error), "changed": "unknown"}}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
