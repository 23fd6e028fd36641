"""What the adapters of coding agents share: requests and replies as JSON lines, packages in the cache, the home of the
agent, and HTTP. `processes` and `terminal` know the processes.

An adapter is a subclass of `FrontDoor` in a file of its own; `docs/adding-an-agent.md` describes the protocol. It
translates between the harness and the agent, and repairs no mistake of the agent. It ends with its standard input, and
ends the agent with all its children then."""

import argparse
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
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from errors import AgentBroke, NotDone, Refused, Unavailable, Unsupported
from processes import LIMIT, adopt_orphans, end_descendants

OPERATIONS = ("hello", "open", "spell", "say", "list", "preview", "restore", "undo", "compact", "fork", "close")


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
    """Answers requests until the end of standard input, or a signal, and then ends all processes. The option `--door`,
    or the first request, which is `hello`, may select one of the doors; the first is the default."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--door", choices=[door.door for door in doors])
    chosen = parser.parse_args().door
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
            door = door or select(doors, request.get("door") or chosen)
            reply = {"ok": True, **answer(door, request)}
        except NotDone as error:
            reply = {"ok": False, "code": error.code, "error": str(error)}
        except Exception as error:  # An answer of the agent that this adapter does not expect.
            reply = {"ok": False, "code": "agent", "error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)
