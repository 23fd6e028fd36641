#!/usr/bin/env python3
"""Drives hermes-agent's checkpoint manager in-process. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that holds the installed packages.
What the manager does not say (why no checkpoint was taken, which id a new one has) is read from its
log and its refs; what it cannot do is not claimed. Its bound on the number of files is a constant
that no caller sets, and so is not claimed either.
"""

import argparse
import base64
import calendar
import contextlib
import io
import json
import logging
import os
import re
import shutil
import sys
import tempfile
import textwrap
import time
import types

VERSION = sys.argv[1]
sys.path[:0] = sys.argv[2:]
sys.dont_write_bytecode = True

from tools import checkpoint_manager  # noqa: E402  (found on the path set above)

try:
    from agent.tool_dispatch_helpers import _is_destructive_command as is_destructive
except ImportError:
    # An older version keeps it in the agent itself, which needs much more to be loaded.
    is_destructive = None

# Sizes are set in whole megabytes.
MEGABYTE = 1024 * 1024
CAPABILITIES = """
    capture.default_excludes capture.gitignore capture.no_repositories clear diff diff.stats
    ensure_checkpoint files.special layout list.printed list.reason list.stats project.any_directory
    project.spellings project_of prune refusal.reasons restore.file restore.file_safety
    restore.leaves_new restore.safety scope.refuses_home scope.refuses_root scope.refuses_store
    settings.enabled settings.max_snapshots status sweep take.declines_empty take.unchanged target.number target.short test.clock
    test.store test.without_backend
""".split()
if is_destructive is not None:
    CAPABILITIES.append("classify")

try:
    import yaml  # noqa: F401  (the configuration is read with it, where it was installed beside)
    from hermes_cli import checkpoints as command

    CAPABILITIES += ["config", "prune.as_configured"]
except ImportError:
    command = None

SIZES = ["settings.max_file_bytes", "settings.max_total_bytes"]

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
    ("Restore failed: fatal: invalid reference", "unknown_checkpoint"),
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



class Clock:
    """The manager's `time`, at the time that the suite says."""

    now = None

    def time(self):
        return time.time() if self.now is None else float(self.now)

    def strftime(self, form):
        return time.strftime(form, time.localtime(self.time()))

    def __getattr__(self, name):
        return getattr(time, name)


CLOCK = Clock()
checkpoint_manager.time = CLOCK
archive_first_layout = checkpoint_manager._migrate_legacy_store


def archive_at_that_time(base):
    """The age of an archive is that of its folder, which the machine's clock would give it."""
    archive = archive_first_layout(base)
    if archive is not None and CLOCK.now is not None:
        os.utime(archive, (CLOCK.now, CLOCK.now))
    return archive


checkpoint_manager._migrate_legacy_store = archive_at_that_time


def own_method(module, name):
    """A method as it stands in a module that cannot be imported without all it is packed with."""
    with open(os.path.join(sys.path[0], module), encoding="utf-8") as source:
        found = re.search(rf"^    def {name}\(.*?(?=^ {{0,4}}\S)", source.read(), re.M | re.S)
    defined = {}
    exec(textwrap.dedent(found.group()), defined)
    return defined[name]


def preflight():
    """What the agent does before it runs a tool, as it stands in a function that takes a whole agent;
    None in a version that has it elsewhere."""
    path = os.path.join(sys.path[0], "agent", "tool_executor.py")
    if is_destructive is None or not os.path.exists(path):
        return None
    begin = "# Checkpoint: snapshot working dir before file-mutating tools"
    with open(path, encoding="utf-8") as source:
        found = re.search(rf"^ *{begin}.*?(?=^ *tool_start_time =)", source.read(), re.M | re.S)
    return found and compile(textwrap.dedent(found.group()), path, "exec")


PREFLIGHT = preflight()
if PREFLIGHT is not None:
    CAPABILITIES.append("before_tool")

# How /rollback reads what is typed.
resolve_checkpoint_ref = own_method("cli.py", "_resolve_checkpoint_ref")
MANAGER = None
SETTINGS = None


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
        "reusable": True,
        "capabilities": dict.fromkeys(CAPABILITIES, True) | dict.fromkeys(SIZES, MEGABYTE),
    }


def manager():
    return checkpoint_manager.CheckpointManager(
        enabled=SETTINGS["enabled"],
        max_snapshots=SETTINGS["max_snapshots"],
        max_total_size_mb=SETTINGS["max_total_bytes"] // MEGABYTE,
        max_file_size_mb=SETTINGS["max_file_bytes"] // MEGABYTE,
    )


def open_(request):
    global MANAGER, SETTINGS
    os.environ["HOME"] = text(request["home"])
    os.chdir(text(request["current_directory"]))
    checkpoint_manager.CHECKPOINT_BASE = checkpoint_manager.Path(text(request["store"]))
    SETTINGS = request["settings"]
    MANAGER = manager()
    return {}


def clock(request):
    CLOCK.now = request["seconds"]
    # Git takes its time from the environment, which the manager hands on.
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
        os.environ[name] = f"{request['seconds']} +0000"
    return {}


def new_turn(_):
    MANAGER.new_turn()
    return {}


def project_of(request):
    return {"project": wire(MANAGER.get_working_dir_for_path(text(request["file"])))}


def classify(request):
    return {"changes_files": bool(is_destructive(request["command"]))}


def newest(directory):
    """The id of its newest checkpoint."""
    store = checkpoint_manager._store_path(checkpoint_manager.CHECKPOINT_BASE)
    ref = checkpoint_manager._ref_name(checkpoint_manager._project_hash(directory))
    command = ["rev-parse", "--verify", "--quiet", ref + "^{commit}"]
    found, printed, _ = checkpoint_manager._run_git(command, store, directory)
    return printed if found else None


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
        return {"outcome": "created", "id": newest(directory)}
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


class Watched:
    """The manager as the agent's tools have it; keeps what came of each request to it."""

    enabled = property(lambda _: MANAGER.enabled)

    def __init__(self):
        self.projects = []

    def get_working_dir_for_path(self, path):
        return MANAGER.get_working_dir_for_path(path)

    def ensure_checkpoint(self, directory, reason):
        try:
            taken = ensure_checkpoint({"dir": wire(directory), "reason": reason})
        except Refused:
            taken = None
        self.projects.append({"project": wire(directory), "taken": taken})


def before_tool(request):
    directory = text(request["dir"])
    (name, told), = request["tool"].items()
    files = [os.path.join(directory, text(file)) for file in told.get("files", [])]
    if name == "terminal":
        arguments = {"command": told["command"], "workdir": directory}
    elif name == "write_file":
        arguments = {"path": os.path.join(directory, text(told["path"])), "content": ""}
    elif len(files) == 1:
        arguments = {"mode": "replace", "path": files[0], "old_string": "a", "new_string": "b"}
    else:
        # Its tool takes one form for several files.
        updates = "".join(f"*** Update File: {file}\n@@\n-a\n+b\n" for file in files)
        arguments = {"mode": "patch", "patch": f"*** Begin Patch\n{updates}*** End Patch\n"}
    agent = types.SimpleNamespace(_checkpoint_mgr=Watched())
    exec(PREFLIGHT, {
        "agent": agent,
        "function_name": name,
        "function_args": arguments,
        "_execution_blocked": False,
        "_is_destructive_command": is_destructive,
        "os": os,
    })
    return {"projects": agent._checkpoint_mgr.projects}


def without_backend(request):
    path, os.environ["PATH"] = os.environ["PATH"], ""
    try:
        LOG.lines.clear()
        if manager().ensure_checkpoint(text(request["dir"]), request["reason"]):
            return {"outcome": "created", "id": newest(text(request["dir"]))}
        if not SETTINGS["enabled"] or "Checkpoints disabled: git not found" in LOG.lines:
            return {"outcome": "disabled"}
        raise Refused("io", "; ".join(LOG.lines))
    finally:
        os.environ["PATH"] = path


def configured(_):
    # What else it makes in the home of an agent is no business of checkpoints.
    file = checkpoint_manager.CHECKPOINT_BASE.with_name("config.yaml")
    with tempfile.TemporaryDirectory() as home:
        if file.exists():
            shutil.copyfile(file, os.path.join(home, file.name))
        before, os.environ["HERMES_HOME"] = os.environ.get("HERMES_HOME"), home
        try:
            from hermes_cli.config import load_config

            return load_config()["checkpoints"]
        finally:
            del os.environ["HERMES_HOME"]
            if before is not None:
                os.environ["HERMES_HOME"] = before


def seconds(stamp):
    """Seconds since the epoch of git's strict ISO form."""
    plain, zone = (stamp[:-1], "+00:00") if stamp.endswith("Z") else (stamp[:-6], stamp[-6:])
    sign = -1 if zone[0] == "-" else 1
    offset = sign * (int(zone[1:3]) * 3600 + int(zone[4:6]) * 60)
    return calendar.timegm(time.strptime(plain, "%Y-%m-%dT%H:%M:%S")) - offset


def stats(counted):
    names = {"files": "files_changed", "added": "insertions", "removed": "deletions"}
    return {name: counted[its] for name, its in names.items()}


def list_(request):
    found = MANAGER.list_checkpoints(text(request["dir"]))
    checkpoints = []
    for number, one in enumerate(found, 1):
        oldest_of_all = number == len(found) and not one["files_changed"]
        checkpoints.append({
            "number": number,
            "id": one["hash"],
            "time": seconds(one["timestamp"]),
            "reason": one["reason"],
            # It prints none where nothing changed, which for the oldest is what it reports.
            "stats": None if oldest_of_all else stats(one),
        })
    return {"checkpoints": checkpoints}


def print_list(request):
    directory = text(request["dir"])
    printed = checkpoint_manager.format_checkpoint_list(
        MANAGER.list_checkpoints(directory), directory
    )
    # A directory in its heading need not be UTF-8; a line of the protocol is.
    printed = printed.encode("utf-8", "backslashreplace").decode()
    return list_(request) | {"printed": printed}


def target(request):
    """/rollback reads a number as a place in the list, before the manager sees it."""
    listed = MANAGER.list_checkpoints(text(request["dir"]))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        named = resolve_checkpoint_ref(None, text(request["target"]), listed)
    if named is None:
        raise Refused("unknown_checkpoint", printed.getvalue().strip())
    return named


def checked(result):
    if result["success"]:
        return result
    message = result["error"]
    if message.startswith("Restore failed: fatal:") and "' is outside repository at '" in message:
        raise Refused("bad_path", message)
    for beginning, code in ERRORS:
        if message.startswith(beginning):
            raise Refused(code, message)
    raise Refused("internal", message)


def unquoted(name):
    """A path of a patch, in which git quotes what is unusual, without the letter of its side."""
    if name.startswith('"'):
        return name[1:-1].encode("latin-1").decode("unicode_escape").encode("latin-1")
    return os.fsencode(name)


def entries(block):
    """What one part of a patch says of the files it is about."""
    names, *head = block.split("\n@@ ")[0].split("\n")
    words = ("rename from ", "rename to ")
    renamed = [line.split(" ", 2)[2] for line in head if line.startswith(words)]
    if renamed:
        # Who reads that one file became another knows that the one is gone and the other new.
        return list(zip((unquoted(name) for name in renamed), ("deleted", "added")))
    # Both sides have the same name, with a letter before it.
    name = names[: (len(names) - 1) // 2]
    path = unquoted(name)[2:]
    for word, change in (("new file mode", "added"), ("deleted file mode", "deleted")):
        if any(line.startswith(word) for line in head):
            return [(path, change)]
    return [(path, "modified")]


def diff(request):
    shown = checked(MANAGER.diff(text(request["dir"]), target(request)))
    # A file whose type changed has two parts, for what went and what came.
    changes = {}
    for block in ("\n" + shown["diff"]).split("\ndiff --git ")[1:]:
        for path, change in entries(block):
            changes[path] = "modified" if path in changes else change
    counted = {"files_changed": 0, "insertions": 0, "deletions": 0}
    checkpoint_manager.CheckpointManager._parse_shortstat(shown["stat"].split("\n")[-1], counted)
    named = [{"path": wire(os.fsdecode(path)), "change": how} for path, how in changes.items()]
    return {"entries": named, "stats": stats(counted)}


def restore(request, path=None):
    directory = text(request["dir"])
    wanted = target(request)
    before = newest(directory)
    checked(MANAGER.restore(directory, wanted, path))
    after = newest(directory)
    return {"safety": after if after != before else None}


def restore_file(request):
    return restore(request, text(request["path"]))


def swept(result):
    counts = {name: result[name] for name in ("scanned", "errors", "bytes_freed")}
    counts |= {"orphans": result["deleted_orphan"], "stale": result["deleted_stale"]}
    return {"outcome": "done", "counts": counts}


def sweep(_):
    # What its startup asks for before it calls the manager.
    if not SETTINGS["auto_prune"]:
        return {"outcome": "off"}
    result = checkpoint_manager.maybe_auto_prune_checkpoints(
        retention_days=SETTINGS["retention_days"],
        min_interval_hours=SETTINGS["min_interval_hours"],
        delete_orphans=SETTINGS["delete_orphans"],
        max_total_size_mb=SETTINGS["max_total_bytes"] // MEGABYTE,
    )
    if "error" in result:
        raise Refused("internal", result["error"])
    return {"outcome": "not_due"} if result["skipped"] else swept(result["result"])


def prune(request):
    result = checkpoint_manager.prune_checkpoints(
        retention_days=request["retention_days"],
        delete_orphans=request["delete_orphans"],
        max_total_size_mb=request["max_total_bytes"] // MEGABYTE,
    )
    return swept(result)


def prune_as_configured(_):
    """What is typed is `hermes checkpoints prune`."""
    results = []
    prune_checkpoints = checkpoint_manager.prune_checkpoints

    def kept(**options):
        results.append(prune_checkpoints(**options))
        return results[-1]

    parser = argparse.ArgumentParser()
    command.register_cli(parser)
    arguments = parser.parse_args(["prune"])
    checkpoint_manager.prune_checkpoints = kept
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            arguments.func(arguments)
    finally:
        checkpoint_manager.prune_checkpoints = prune_checkpoints
    return swept(results[0])


def status(_):
    told = checkpoint_manager.store_status()
    projects = [
        {
            "workdir": wire(one["workdir"]) if one["workdir"] else None,
            "checkpoints": one["commits"],
            "state": "live" if one["exists"] else "orphan",
        }
        for one in told["projects"]
    ]
    return {"projects": projects, "archives": [one["name"] for one in told["legacy_archives"]]}


def clear(_):
    cleared = checkpoint_manager.clear_all()
    if not cleared["deleted"] and checkpoint_manager.CHECKPOINT_BASE.exists():
        raise Refused("internal", "Could not clear checkpoint base (see logs).")
    return {}


def clear_legacy(_):
    checkpoint_manager.clear_legacy()
    return {}


OPERATIONS = {
    "hello": hello,
    "open": open_,
    "close": lambda _: {},
    "new_turn": new_turn,
    "project_of": project_of,
    "classify": classify,
    "before_tool": before_tool,
    "ensure_checkpoint": ensure_checkpoint,
    "test.without_backend": without_backend,
    "list": list_,
    "print_list": print_list,
    "diff": diff,
    "restore": restore,
    "restore_file": restore_file,
    "sweep": sweep,
    "prune": prune,
    "prune_as_configured": prune_as_configured,
    "configured": configured,
    "status": status,
    "clear": clear,
    "clear_legacy": clear_legacy,
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
