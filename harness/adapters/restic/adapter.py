#!/usr/bin/env python3
"""Drives the restic command. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that the Debian package is
unpacked in. The store is one repository, and a project's checkpoints are the snapshots of its path.
What is backed up is `.`, so that the root of a snapshot is the project, and `restore --target`
brings it back in place. A single path is what `--include` lets through; a path of a snapshot begins
with a slash, and is the same for a file and for a folder with all that it holds. It bounds the
snapshots of a path when it is told to forget the others, which is done whenever there are too many.

Not claimed: a reason (a tag is trimmed, and parted at commas); a clock (`--time` has seconds only,
and what has the same time is listed in no order); fifos (it captures them); a comparison with the
files as they are now (`diff` compares snapshots, and `backup --dry-run` does not name what is gone
and calls a file modified that only has another time).
"""

import base64
import calendar
import json
import os
import re
import subprocess
import sys
import time

VERSION, PACKAGES = sys.argv[1:3]
# Its cache would lie outside of the store.
RESTIC = [os.path.join(PACKAGES, "usr/bin/restic"), "--no-cache"]

CAPABILITIES = [
    "checkpoint",
    "project.any_directory",
    "restore.directory",
    "restore.file",
    "restore.leaves_new",
    "settings.max_file_bytes",
    "settings.max_snapshots",
    "target.short",
]

# What it prints when it gives up, and what that means.
ERRORS = [
    (rb'^invalid id ".*": no matching ID found', "unknown_checkpoint"),
    (rb'^invalid id ".*": multiple IDs with prefix', "ambiguous_checkpoint"),
    (rb"^Fatal: create repository at .* failed", "store_unusable"),
    (rb"^Fatal: unable to open config file", "store_unusable"),
    (rb"^unable to create lock in backend: repository is already locked", "busy"),
]
CANNOT_ENTER = {
    FileNotFoundError: "missing_directory",
    NotADirectoryError: "not_a_directory",
    PermissionError: "permission",
}
# What means more than itself in a pattern.
SPECIAL = re.compile(r"[\\*?\[]")

SETTINGS = None


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def text(value):
    """A path or target as Python has it: bytes that are no UTF-8 become surrogates."""
    if isinstance(value, dict):
        return os.fsdecode(base64.b64decode(value["b64"]))
    return value


def wire(raw):
    """A path as the protocol has it."""
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode("ascii")}


def shown(raw):
    return raw.decode("utf-8", "backslashreplace").strip()


def run(*arguments, directory=None):
    """How it ended, and what it printed to both streams."""
    if any("\0" in argument for argument in arguments):
        raise Refused("bad_target", "no command line holds a NUL")
    try:
        ended = subprocess.run(
            [*RESTIC, *arguments], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True
        )
    except OSError as error:
        # What a shell says to `cd` before the command is started at all.
        if error.filename != directory:
            raise
        code = CANNOT_ENTER.get(type(error), "io")
        raise Refused(code, str(error)) from error
    return ended.returncode, ended.stdout, ended.stderr


def refusal(printed):
    for pattern, code in ERRORS:
        if re.search(pattern, printed, re.MULTILINE | re.DOTALL):
            return Refused(code, shown(printed))
    return Refused("internal", shown(printed))


def answered(*arguments):
    """What it printed, if it did as it was told."""
    status, printed, complaint = run(*arguments)
    if status != 0:
        raise refusal(complaint)
    return printed


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "restic", "version": VERSION},
        "reusable": True,
        "capabilities": {name: True for name in CAPABILITIES},
    }


def open_(request):
    global SETTINGS
    SETTINGS = request["settings"]
    store = text(request["store"])
    os.environ["HOME"] = text(request["home"])
    os.environ["RESTIC_REPOSITORY"] = store
    os.environ["RESTIC_PASSWORD"] = "herma"
    os.chdir(text(request["current_directory"]))
    if not os.path.lexists(os.path.join(store, "config")):
        answered("init")
    return {}


def snapshots(*arguments):
    """It lists the oldest first, and null where there is none."""
    return json.loads(answered("snapshots", "--json", *arguments)) or []


def checkpoint(request):
    directory = text(request["dir"])
    # A tag is where it keeps a word about a snapshot; commas part tags, and blanks around them go.
    arguments = ["backup", "--json", "--quiet", "--tag=" + request["reason"]]
    if SETTINGS["max_file_bytes"]:
        arguments.append(f"--exclude-larger-than={SETTINGS['max_file_bytes']}")
    status, printed, complaint = run(*arguments, ".", directory=directory)
    # With 3 the snapshot is there, without what could not be read.
    if status not in (0, 3):
        # It has no snapshot of nothing.
        if shown(complaint) == "Fatal: unable to save snapshot: snapshot is empty":
            return {"outcome": "unchanged"}
        raise refusal(complaint)
    summary = json.loads(printed.splitlines()[-1])
    found = snapshots("--path", directory)
    keep = SETTINGS["max_snapshots"]
    if len(found) > keep:
        answered("forget", f"--keep-last={keep}", "--path", directory)
    # It tells only the first digits of the id.
    return {"outcome": "created", "id": snapshots(summary["snapshot_id"])[0]["id"]}


def seconds(stamp):
    """Seconds since the epoch of its time, whose fraction has as many digits as it needs."""
    date, fraction_and_zone = stamp[:19], stamp[19:]
    zone = fraction_and_zone.lstrip(".0123456789")
    offset = 0
    if zone != "Z":
        offset = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
    whole = calendar.timegm(time.strptime(date, "%Y-%m-%dT%H:%M:%S"))
    return whole + offset if zone[0] == "-" else whole - offset


def list_(request):
    found = snapshots("--path", text(request["dir"]))
    return {
        "checkpoints": [
            {
                "number": number,
                "id": one["id"],
                "time": seconds(one["time"]),
                "reason": ",".join(one.get("tags") or []),
            }
            for number, one in enumerate(reversed(found), 1)
        ]
    }


def restore(request, *options):
    directory = text(request["dir"])
    arguments = ["restore", "--target", directory, *options, "--", text(request["target"])]
    status, _, complaint = run(*arguments)
    if status == 0:
        return {}
    # It goes on after an error, and ends by saying how many there were.
    if not re.search(rb"^Fatal: There were \d+ errors$", complaint, re.MULTILINE):
        raise refusal(complaint)
    if b": mkdir " + os.fsencode(directory) + b": not a directory\n" in complaint:
        raise Refused("not_a_directory", shown(complaint))
    failed = []
    for one in complaint.split(b"ignoring error for /")[1:]:
        path, _, why = one.partition(b": ")
        failed.append({"path": wire(path), "why": shown(why.split(b"\n")[0])})
    return {"failed": failed}


def restore_file(request):
    path = text(request["path"])
    if "\0" in path:
        raise Refused("bad_path", "no command line holds a NUL")
    pattern = SPECIAL.sub(r"\\\g<0>", path)
    # Without a slash at its beginning a pattern is looked for in every folder.
    if path and not path.startswith("/"):
        pattern = "/" + pattern
    answer = restore(request, "--include=" + pattern)
    failed = answer.get("failed", [])
    # Of a folder it goes on with what is below.
    if {text(one["path"]) for one in failed} == {os.path.normpath(path)}:
        raise Refused("io", failed[0]["why"])
    return answer


OPERATIONS = {
    "hello": hello,
    "open": open_,
    "close": lambda _: {},
    "checkpoint": checkpoint,
    "list": list_,
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
    except Exception as error:  # something that the command is not known to do
        reply = {"err": {"code": "internal", "message": repr(error)}}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
