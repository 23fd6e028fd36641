"""What the adapters of coding agents share: requests and replies as JSON lines, packages in the cache, the agent's
processes and the end of all of them, JSON-RPC over lines, and HTTP.

An adapter is a subclass of `FrontDoor` in a file of its own; `docs/agents.md` describes the protocol. It translates
between the harness and the agent, and repairs no mistake of the agent. It ends with its standard input, and ends the
agent with all its children then."""

import ctypes
import fcntl
import inspect
import json
import os
import queue
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

LIMIT = 120
"""Seconds that an agent may take for one operation."""

OPERATIONS = ("hello", "open", "spell", "say", "list", "preview", "restore", "undo", "compact", "fork", "close", "kill")


class NotDone(Exception):
    """An operation was not carried out; `code` says on whose account."""

    code = "agent"


class AgentBroke(NotDone):
    """A crash, a time-out or an answer that cannot be read."""


class Refused(NotDone):
    code = "refused"


class Unsupported(NotDone):
    code = "unsupported"


class Unavailable(NotDone):
    code = "infrastructure"


@dataclass(frozen=True)
class Package:
    """An agent's package at a pinned version, in a folder of the cache that is named after both."""

    name: str
    version: str
    requirements: tuple
    manager: str = "npm"

    def install(self, cache):
        """The folder with the installed package."""
        folder = Path(cache).absolute() / f"{self.name}-{self.version}"
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{folder}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "installed").exists():
                if os.environ.get("HERMA_OFFLINE"):
                    raise Unavailable(f"{folder.name} is not in the cache, and HERMA_OFFLINE is set")
                self._install_in(folder)
                (folder / "installed").touch()
        return folder

    def _install_in(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if self.manager == "pip":
            commands = [[sys.executable, "-m", "venv", "."], ["bin/pip", "install", "--quiet", *self.requirements]]
        else:
            (folder / "package.json").write_text("{}")
            commands = [["npm", "install", "--no-audit", "--no-fund", *self.requirements]]
        for command in commands:
            try:
                subprocess.run(command, cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)
            except subprocess.CalledProcessError as error:
                raise Unavailable(f"{shlex.join(command)}: {error.output[-500:].decode(errors='replace')}") from error
            except OSError as error:
                raise Unavailable(f"{shlex.join(command)}: {error}") from error


def adopt_orphans():
    """Makes this process the parent of its descendants' orphans, so that `descendants` misses none. Linux only."""
    if sys.platform == "linux":
        set_child_subreaper = 36
        ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def descendants():
    """The ids of all processes below this one, also of those in a session of their own, with their command lines."""
    children = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[:2]
            if state != "Z":
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
                children.setdefault(int(parent), {})[int(folder.name)] = words
        except OSError:
            continue  # It ended meanwhile.
    found, parents = {}, [os.getpid()]
    while parents:
        below = children.get(parents.pop(), {})
        found.update(below)
        parents.extend(below)
    return found


def reap():
    """Collects ended children, adopted ones included."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def end_descendants():
    """Kills every process below this one; returns the command lines of those that still ran."""
    ended = {}
    while running := descendants():
        ended.update(running)
        for process in running:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
        reap()
    reap()
    return sorted(words for words in ended.values() if words)


class LineProcess:
    """A process whose standard output is read line by line; its standard error goes to a file."""

    def __init__(self, words, project, environment):
        self.log = Path(environment["HOME"]) / "agent.stderr"
        with open(self.log, "a") as log:
            self.child = subprocess.Popen(words, cwd=project, env=environment, stdin=subprocess.PIPE, stderr=log,
                                          stdout=subprocess.PIPE, start_new_session=True, text=True, bufsize=1,
                                          errors="replace")
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.child.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def send(self, line):
        try:
            self.child.stdin.write(line + "\n")
            self.child.stdin.flush()
        except OSError as error:
            raise AgentBroke(f"the agent reads no more: {error}; {self.last_words()}") from error

    def receive(self, deadline, awaited):
        """The next line; `awaited` is what the caller waits for."""
        try:
            line = self.lines.get(timeout=max(0, deadline - time.monotonic()))
        except queue.Empty:
            raise AgentBroke(f"no {awaited} in time; {self.last_words()}") from None
        if line is None:
            self.lines.put(None)
            raise AgentBroke(f"the agent ended before {awaited}; {self.last_words()}")
        return line

    def last_words(self):
        return "standard error: " + self.log.read_text(errors="replace")[-600:].strip()

    def end(self, limit=10):
        """Ends the process by the end of its input; returns the command lines of what had to be killed."""
        try:
            self.child.stdin.close()
        except OSError:
            pass  # It ended already.
        wait_for_end(limit)
        return end_descendants()


def wait_for_end(limit):
    """Waits until nothing runs below this process, or for `limit` seconds."""
    deadline = time.monotonic() + limit
    while descendants() and time.monotonic() < deadline:
        time.sleep(0.05)


class JsonRpc(LineProcess):
    """A process that speaks JSON-RPC 2.0, a message a line. Messages that nobody waits for go to `on_message`."""

    on_message = staticmethod(lambda message: None)
    number = 0

    def post(self, message):
        self.send(json.dumps({"jsonrpc": "2.0", **message}))

    def call(self, method, params, limit=LIMIT):
        """The result of a request; an error that the agent replies is a refusal."""
        self.number += 1
        number = self.number
        self.post({"id": number, "method": method, "params": params})
        reply = self.wait(lambda message: message.get("id") == number and "method" not in message,
                          f"reply to {method}", limit)
        if "error" in reply:
            raise Refused(f"{method}: {json.dumps(reply['error'])}")
        return reply.get("result") or {}

    def wait(self, is_awaited, name, limit=LIMIT):
        """The first message for which `is_awaited` holds."""
        deadline = time.monotonic() + limit
        while True:
            line = self.receive(deadline, name)
            if not line.startswith("{"):
                continue  # Some agents print other lines as well.
            message = json.loads(line)
            if is_awaited(message):
                return message
            self.on_message(message)


def http(method, url, body=None, limit=LIMIT):
    """The JSON document that a local server answers; never through a proxy."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=limit) as reply:
            return json.loads(reply.read() or b"null")
    except urllib.error.HTTPError as error:
        text = f"{method} {url}: {error.code} {error.read()[:500].decode(errors='replace')}"
        raise (Refused if error.code < 500 else AgentBroke)(text) from error
    except (OSError, ValueError) as error:
        raise AgentBroke(f"{method} {url}: {error}") from error


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def files_of_diff(diff):
    """The paths that git's text of a difference names; `None` if one of them is quoted."""
    headers = re.findall(r"^diff --git (.*)$", diff, re.MULTILINE)
    paths = [match[1] for header in headers if (match := re.fullmatch(r"a/(.*) b/\1", header))]
    return sorted(paths) if len(paths) == len(headers) else None


class FrontDoor:
    """An agent behind one of its front doors. A subclass says how it is configured, started and driven."""

    package, licence, door = None, "", ""
    capabilities, notes = (), {}
    project = model_url = None

    def hello(self, model_url, cache, home):
        self.model_url, self.home = model_url, Path(home).absolute()
        self.folder = self.package.install(cache)
        (self.home / "tmp").mkdir(parents=True, exist_ok=True)
        # A user of git has a name. Without one, cline's checkpoints are of the last commit.
        self.write(".gitconfig", "[user]\n\tname = user\n\temail = user@localhost\n")
        self.configure()
        return {"agent": self.package.name, "version": self.package.version, "licence": self.licence,
                "door": self.door, "capabilities": list(self.capabilities), "notes": self.notes}

    def program(self, name):
        return str(self.folder / ("bin" if self.package.manager == "pip" else "node_modules/.bin") / name)

    def write(self, path, text):
        """Writes a file of the agent's home."""
        path = self.home / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def configure(self):
        """Writes the configuration of the agent into its home."""

    def variables(self):
        """Environment variables of this agent alone."""
        return {}

    def environment(self):
        """The whole environment: nothing of the user's but the search path, so that no key and no proxy is seen."""
        home = str(self.home)
        return {"PATH": f"{self.folder}/node_modules/.bin:{os.environ['PATH']}", "HOME": home, "LANG": "C.UTF-8",
                "TMPDIR": f"{home}/tmp", "XDG_CONFIG_HOME": f"{home}/.config", "XDG_CACHE_HOME": f"{home}/.cache",
                "XDG_DATA_HOME": f"{home}/.local/share", "XDG_STATE_HOME": f"{home}/.local/state",
                "TERM": "dumb", "PWD": str(self.project or home), **self.variables()}

    def spell(self, call, project=None):
        """The tool call by which the model of this agent does something."""
        calls = self.calls(Path(project or self.project or "."))
        if call["kind"] == "delete":
            call = {"kind": "shell", "command": f"rm -- {shlex.quote(call['path'])}"}
        steps = [calls[call["kind"]](call)]
        if "read" in calls and (call["kind"] == "edit" or call.get("exists")):
            steps.insert(0, calls["read"](call))
        steps = [{"name": name, "arguments": arguments} for name, arguments in steps]
        return {"steps": steps} if len(steps) > 1 else steps[0]

    def calls(self, project):
        """For each kind of call a function to the name and the arguments of the tool; `read` only if the agent
        changes no file that it has not read."""
        raise NotImplementedError

    def relative(self, paths):
        """Paths as the harness writes them: relative to the project."""
        return [os.path.relpath(os.path.join(self.project, path), self.project) for path in paths]

    def kill(self):
        end_descendants()
        return {}


def answer(door, request):
    """The reply to a request; fields that the operation does not know are left out."""
    operation = getattr(door, request["op"], None) if request["op"] in OPERATIONS else None
    if operation is None:
        raise Unsupported(f"no operation {request['op']}")
    known = inspect.signature(operation).parameters
    return operation(**{name: value for name, value in request.items() if name in known})


def select(doors, name):
    for door in doors:
        if name in (None, door.door):
            return door()
    raise Unsupported(f"no door {name} here")


def leave(*_):
    end_descendants()
    os._exit(0)


def serve(*doors):
    """Answers requests until the end of standard input, or a signal, and then ends all processes. The first request
    is `hello`, and may select one of the doors; without it the first is meant."""
    adopt_orphans()
    signal.signal(signal.SIGTERM, leave)
    requests = queue.Queue()

    def read():
        for line in sys.stdin:
            requests.put(line)
        leave()  # At once, also while an operation is under way.

    threading.Thread(target=read, daemon=True).start()
    door = None
    while True:
        line = requests.get()
        try:
            request = json.loads(line)
            door = door or select(doors, request.get("door"))
            reply = {"ok": True, **answer(door, request)}
        except NotDone as error:
            reply = {"ok": False, "code": error.code, "error": str(error)}
        except Exception as error:  # An answer of the agent that this adapter does not expect.
            reply = {"ok": False, "code": "agent", "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)
