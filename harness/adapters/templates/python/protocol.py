#!/usr/bin/env python3
"""A complete adapter, for a small store. Put your own calls in the place of what `Store` does.

The runner writes one JSON object on a line to standard input and reads one reply on a line from
standard output. Print nothing else there; diagnostics go to standard error.
"""

import base64
import json
import os
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


# STORE


STORE = None


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "my-store", "version": "0.1.0"},
        # One process may serve one history after another: `open` begins with a new store.
        "reusable": True,
        # Everyone is asked to list and restore; anything else needs a capability.
        "capabilities": {"checkpoint": True},
    }


def open_(request):
    global STORE
    STORE = Store(path(request["store"]))
    return {}


def checkpoint(request):
    return {"outcome": "created", "id": STORE.checkpoint(path(request["dir"]), request["reason"])}


def list_(request):
    newest_first = enumerate(STORE.list(path(request["dir"])), 1)
    return {"checkpoints": [{"number": number, **one} for number, one in newest_first]}


def restore(request):
    STORE.restore(path(request["dir"]), path(request["target"]))
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
