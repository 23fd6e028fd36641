#!/usr/bin/env python3
"""Drives the borg command. Translates, and repairs nothing.

Started as: python3 -I -S adapter.py VERSION PACKAGES, the folder that the Debian packages are
unpacked in; their extension modules need the Python that they were built for. Each command runs in
a process of its own, forked from this one, which has loaded borg once for all of them.

An archive does not know the directory that it was made of, so each project has a repository of its
own in the store. What is archived is `.`, and extracting works in the directory that borg is started
in. A checkpoint's id is the name of its archive: the time, as borg's manual suggests.

Not claimed: a clock (`--timestamp` has seconds only); numbers and short ids (a name is all it takes);
fifos (it archives them); a comparison with the files as they are now (it compares archives); removing
files created since (extracting only adds and replaces); a bound on the number of checkpoints
(`prune --keep-last` keeps one archive of each second).
"""

import base64
import hashlib
import json
import os
import re
import sys
import tempfile
import time

VERSION, PACKAGES = sys.argv[1:3]
sys.path.insert(0, os.path.join(PACKAGES, "usr/lib/python3/dist-packages"))
sys.dont_write_bytecode = True

from borg import archiver  # noqa: E402  (found on the path set above)

CAPABILITIES = [
    "checkpoint",
    "list.reason",
    "project.any_directory",
    "restore.directory",
    "restore.file",
    "restore.leaves_new",
]

# The names that borg gives its errors, and what they mean.
ERRORS = {
    "Archive.DoesNotExist": "unknown_checkpoint",
    "Repository.DoesNotExist": "unknown_checkpoint",
    "LockTimeout": "busy",
    "LockFailed": "busy",
    "Repository.InvalidRepository": "store_unusable",
    "Repository.CheckNeeded": "store_unusable",
    "Repository.InsufficientFreeSpaceError": "no_space",
    "IntegrityError": "corrupt_checkpoint",
}
CANNOT_ENTER = {
    FileNotFoundError: "missing_directory",
    NotADirectoryError: "not_a_directory",
    PermissionError: "permission",
}
BAD_TARGET = re.compile(r"error: argument ARCHIVE: |^Invalid placeholder|^Formatting Error")
# The call is not named where a link could not be made.
FAILED = re.compile(r"(.*?): ((?:\w+: )?\[Errno \d+\].*)", re.DOTALL)
# Something stands there already, is a folder, or is a folder that is not empty.
IN_THE_WAY = re.compile(r"\[Errno (?:17|21|39)\]")
NEVER_MATCHED = re.compile(r"Include pattern .* never matched\.", re.DOTALL)

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


def wire(path):
    """A path as the protocol has it."""
    try:
        path.encode("utf-8")
        return path
    except UnicodeEncodeError:
        return {"b64": base64.b64encode(os.fsencode(path)).decode("ascii")}


def shown(said):
    """A text as the protocol has it: no surrogates."""
    return said.encode("utf-8", "backslashreplace").decode("utf-8")


def in_child(repository, directory, arguments, printed, said):
    """Becomes the borg command; answers how it ends."""
    os.environ["BORG_REPO"] = repository
    for descriptor, stream in ((0, open(os.devnull)), (1, printed), (2, said)):
        os.dup2(stream.fileno(), descriptor)
    os.chdir(directory)
    sys.argv = ["borg", *arguments]
    try:
        archiver.main()
        return 0
    except SystemExit as ended:
        return ended.code
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def borg(repository, directory, *arguments):
    """How it ended, what it printed, and what it said about it: name of the error and text each."""
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            status = 101
            try:
                status = in_child(repository, directory, arguments, printed, said)
            finally:
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        printed.seek(0)
        said.seek(0)
        output, complaints = printed.read(), said.read().decode("utf-8", "surrogateescape")
    messages = []
    for line in complaints.splitlines():
        try:
            one = json.loads(line)
            messages.append((one.get("msgid"), one.get("message", "")))
        except ValueError:  # of its argument parser, or of Python
            messages.append((None, line))
    return status, output, messages


def refusal(messages):
    said = shown("\n".join(message for _, message in messages))
    code = next((ERRORS[name] for name, _ in messages if name in ERRORS), None)
    if code is None and BAD_TARGET.search(said):
        code = "bad_target"
    return Refused(code or "internal", said)


def repository_of(request):
    name = hashlib.sha256(os.fsencode(text(request["dir"]))).hexdigest()[:16]
    return os.path.join(STORE, name)


def project(request):
    """The directory, which a person must enter before borg is started at all."""
    directory = text(request["dir"])
    try:
        os.scandir(directory).close()
    except OSError as error:
        raise Refused(CANNOT_ENTER.get(type(error), "io"), shown(str(error))) from error
    return directory


def hello(_):
    return {
        "protocol": 1,
        "impl": {"name": "borg", "version": VERSION},
        "reusable": True,
        "capabilities": {name: True for name in CAPABILITIES},
    }


def open_(request):
    global STORE
    STORE = text(request["store"])
    os.environ["HOME"] = text(request["home"])
    # Its cache and its settings would lie outside of the store.
    os.environ["BORG_BASE_DIR"] = STORE
    # It would ask whether the other program is to be trusted that made the repository.
    os.environ["BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK"] = "yes"
    os.chdir(text(request["current_directory"]))
    return {}


def checkpoint(request):
    directory, repository = project(request), repository_of(request)
    if not os.path.lexists(repository):
        options = ["--log-json", "init", "--encryption=none", "--make-parent-dirs"]
        status, _, messages = borg(repository, "/", *options)
        if status != 0:
            raise refusal(messages)
    options = ["--log-json", "create", "--json", "--comment=" + request["reason"]]
    status, printed, messages = borg(
        repository, directory, *options, "::{now:%Y-%m-%dT%H:%M:%S.%f}", "."
    )
    # With 1 the archive is there, without what could not be read.
    if status not in (0, 1):
        raise refusal(messages)
    return {"outcome": "created", "id": json.loads(printed)["archive"]["name"]}


def archives(request):
    """What `borg list` shows, oldest first."""
    repository = repository_of(request)
    if not os.path.lexists(repository):
        return []
    options = ["--log-json", "list", "--json", "--format={comment}"]
    status, printed, messages = borg(repository, "/", *options)
    if status != 0:
        raise refusal(messages)
    return json.loads(printed)["archives"]


def list_(request):
    return {
        "checkpoints": [
            {
                "number": number,
                "id": one["name"],
                # It prints the local time.
                "time": int(time.mktime(time.strptime(one["time"][:19], "%Y-%m-%dT%H:%M:%S"))),
                "reason": one["comment"],
            }
            for number, one in enumerate(reversed(archives(request)), 1)
        ]
    }


def extract(request, *paths):
    """Extracts, and answers what it said of single files."""
    target, directory = text(request["target"]), text(request["dir"])
    if "\0" in target or any("\0" in path for path in paths):
        raise Refused("bad_target", "no command line holds a NUL")
    # A person makes the directory again before extracting into it.
    made = not os.path.lexists(directory) and target in [
        one["name"] for one in archives(request)
    ]
    if made:
        os.mkdir(directory)
    options = ["--log-json", "extract", "--", "::" + target]
    status, _, messages = borg(repository_of(request), project(request), *options, *paths)
    if status not in (0, 1):
        raise refusal(messages)
    return [message for _, message in messages]


def failures(messages):
    """The paths that it could not extract."""
    failed = []
    for message in messages:
        found = FAILED.fullmatch(message)
        if found is None:
            raise Refused("internal", shown(message))
        failed.append({"path": wire(found[1]), "why": shown(found[2])})
    return failed


def restore(request):
    return {"failed": failures(extract(request))}


def restore_file(request):
    path = text(request["path"])
    # The style of a plain path, which stands for all below it too; a path could name another one.
    messages = extract(request, "pp:" + path)
    if any(NEVER_MATCHED.fullmatch(message) for message in messages):
        raise Refused("not_in_checkpoint", shown("\n".join(messages)))
    failed = failures(messages)
    # Of a folder it goes on with what is below.
    if {text(one["path"]) for one in failed} == {os.path.normpath(path)}:
        why = failed[0]["why"]
        raise Refused("would_overwrite" if IN_THE_WAY.search(why) else "io", why)
    return {"failed": failed}


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
        reply = {"err": {"code": "internal", "message": shown(repr(error))}}
    print(json.dumps({"id": asked["id"], **reply}), flush=True)
