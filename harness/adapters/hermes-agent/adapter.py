#!/usr/bin/env python3
"""Drives hermes-agent's checkpoint manager in-process. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that holds the installed packages. What the manager does not say (why no checkpoint was taken, which id a new one has) is
read from its log and its list; what it cannot do is not claimed.
"""

import base64
import calendar
import json
import logging
import os
import sys
import time

VERSION = sys.argv[1]
sys.path[:0] = sys.argv[2:]
sys.dont_write_bytecode = True

from tools import checkpoint_manager  # noqa: E402  (found on the path set above)

CAPABILITIES = [
    "capture.default_excludes",
    "capture.gitignore",
    "capture.no_repositories",
    "ensure_checkpoint",
    "files.special",
    "layout",
    "list.reason",
    "list.stats",
    "project.any_directory",
    "project.spellings",
    "project_of",
    "refusal.reasons",
    "restore.file",
    "restore.leaves_new",
    "restore.safety",
    "scope.refusals",
    "settings.enabled",
    "settings.max_snapshots",
    "take.declines_empty",
    "take.unchanged",
    "target.number",
    "target.short",
    "test.clock",
]

# What the manager's log says when it takes none, and what that means.
WHY_NONE = [
    ("Checkpoint skipped: no changes", "unchanged"),
    ("Checkpoint skipped: empty tree", "unchanged"),
]
WHY_REFUSED = [
    ("Checkpoint skipped: directory too broad", "scope_home"),
    ("Checkpoint skipped: >50000 files", "too_many_files"),
]
# How its errors begin, and what they mean.
ERRORS = [
    ("Empty commit hash", "bad_target"),
    ("Invalid commit hash", "bad_target"),
    ("No checkpoints exist", "unknown_checkpoint"),
    ("Checkpoint '", "unknown_checkpoint"),
    ("Empty file path", "bad_path"),
    ("File path must be relative", "bad_path"),
    ("File path escapes", "bad_path"),
    ("Restore failed: error: pathspec", "not_in_checkpoint"),
    ("Restore failed: fatal: unable to read tree", "unknown_checkpoint"),
]


class Refused(Exception):
    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class Log(logging.Handler):
    """Keeps what the manager says while one request is served."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


LOG = Log()
logger = logging.getLogger("tools.checkpoint_manager")
logger.addHandler(LOG)
logger.setLevel(logging.DEBUG)
logger.propagate = False

MANAGER = None


def text(value):
    """A path or target as Python has it: bytes that are no UTF-8 become surrogates."""
    if isinstance(value, dict):
        return os.fsdecode(base64.b64decode(value["b64"]))
    return value


def wire(value):
    """A path as the protocol has it."""
    raw = os.fsencode(value)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(raw).decode("ascii")}


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "hermes-agent", "version": VERSION},
        "capabilities": {name: True for name in CAPABILITIES},
    }


def open_(request):
    global MANAGER
    os.environ["HOME"] = text(request["home"])
    os.chdir(text(request["current_directory"]))
    checkpoint_manager.CHECKPOINT_BASE = checkpoint_manager.Path(text(request["store"]))
    settings = request["settings"]
    MANAGER = checkpoint_manager.CheckpointManager(
        enabled=settings["enabled"], max_snapshots=settings["max_snapshots"]
    )
    return {}


def clock(request):
    # Git takes its time from the environment, which the manager hands on.
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        os.environ[name] = f"{request['seconds']} +0000"
    return {}


def new_turn(_):
    MANAGER.new_turn()
    return {}


def project_of(request):
    return {"project": wire(MANAGER.get_working_dir_for_path(text(request["file"])))}


def ids(directory):
    return [one["hash"] for one in MANAGER.list_checkpoints(directory)]


def ensure_checkpoint(request):
    directory = text(request["dir"])
    if not MANAGER.enabled:
        # The manager says the same of this as of every other reason: nothing.
        MANAGER.ensure_checkpoint(directory, request["reason"])
        return {"outcome": "disabled"}
    resolved = str(checkpoint_manager.Path(directory).expanduser().resolve())
    used = resolved in MANAGER._checkpointed_dirs
    LOG.lines.clear()
    if MANAGER.ensure_checkpoint(directory, request["reason"]):
        return {"outcome": "created", "id": ids(directory)[0]}
    for line in LOG.lines:
        for beginning, outcome in WHY_NONE:
            if line.startswith(beginning):
                return {"outcome": outcome}
        for beginning, code in WHY_REFUSED:
            if line.startswith(beginning):
                raise Refused("scope_root" if resolved == "/" else code, line)
    if used and not LOG.lines:
        return {"outcome": "deduped"}
    if not os.path.isdir(resolved):
        missing = "not_a_directory" if os.path.lexists(resolved) else "missing_directory"
        raise Refused(missing, "; ".join(LOG.lines) or "no checkpoint was taken")
    raise Refused("internal", "; ".join(LOG.lines) or "no checkpoint, and no word why")


def seconds(stamp):
    """Seconds since the epoch of git's strict ISO form."""
    plain, zone = (stamp[:-1], "+00:00") if stamp.endswith("Z") else (stamp[:-6], stamp[-6:])
    sign = -1 if zone[0] == "-" else 1
    offset = sign * (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60)
    return calendar.timegm(time.strptime(plain, "%Y-%m-%dT%H:%M:%S")) - offset


def list_(request):
    found = MANAGER.list_checkpoints(text(request["dir"]))
    checkpoints = []
    for number, one in enumerate(found, 1):
        names = ("files_changed", "insertions", "deletions")
        files, added, removed = (one[name] for name in names)
        stats = {"files": files, "added": added, "removed": removed}
        checkpoints.append({
            "number": number,
            "id": one["hash"],
            "time": seconds(one["timestamp"]),
            "reason": one["reason"],
            # It prints none where nothing changed, which for the oldest is what it reports.
            "stats": None if number == len(found) and not files else stats,
        })
    return {"checkpoints": checkpoints}


def target(request):
    """/rollback reads a number as a place in the list, before the manager sees it."""
    typed = text(request["target"])
    listed = ids(text(request["dir"]))
    if typed.isascii() and typed.isdigit() and len(typed) < 4:
        if not 1 <= int(typed) <= len(listed):
            raise Refused("unknown_checkpoint", f"Invalid checkpoint number. Use 1-{len(listed)}.")
        return listed[int(typed) - 1]
    return typed


def checked(result):
    if result["success"]:
        return result
    message = result["error"]
    for beginning, code in ERRORS:
        if message.startswith(beginning):
            raise Refused(code, message)
    raise Refused("internal", message)


def diff(request):
    shown = checked(MANAGER.diff(text(request["dir"]), target(request)))
    entries = []
    # The paths are only in the patch, where git quotes what is unusual; those are not claimed.
    for block in ("\n" + shown["diff"]).split("\ndiff --git ")[1:]:
        head = block.split("\n", 2)
        name = head[0][2:].split(" b/")[0]
        change = "modified"
        if block.split("\n")[1].startswith("new file"):
            change = "added"
        elif block.split("\n")[1].startswith("deleted file"):
            change = "deleted"
        entries.append({"path": name, "change": change})
    return {"entries": entries, "stats": {"files": 0, "added": 0, "removed": 0}}


def restore(request, path=None):
    directory = text(request["dir"])
    wanted = target(request)
    before = ids(directory)
    checked(MANAGER.restore(directory, wanted, path))
    after = ids(directory)
    return {"safety": after[0] if after[:1] != before[:1] else None}


def restore_file(request):
    return restore(request, text(request["path"]))


OPERATIONS = {
    "hello": hello,
    "open": open_,
    "close": lambda _: {},
    "new_turn": new_turn,
    "project_of": project_of,
    "ensure_checkpoint": ensure_checkpoint,
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
        # A path in a message need not be UTF-8; a line of the protocol is.
        message = str(refused).encode("utf-8", "backslashreplace").decode()
        reply = {"err": {"code": refused.code, "message": message}}
    except Exception as error:  # the manager raised, which its caller would have met
        reply = {"err": {"code": "internal", "message": repr(error)}}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
