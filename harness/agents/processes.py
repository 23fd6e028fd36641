"""The processes of an agent: all of them are found and ended, also those in sessions of their own. Processes that speak
lines, and JSON-RPC over lines."""

import ctypes
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from errors import AgentBroke, Refused

LIMIT = 120
"""Seconds that an agent may take for one operation."""


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
    ended, empty = {}, 0
    while empty < 2:  # One look may miss a process that is born during it.
        running = descendants()
        empty = 0 if running else empty + 1
        ended.update(running)
        for process in running:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)
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


def run(words, project, environment, limit=LIMIT):
    """What a process prints that ends by itself."""
    try:
        return subprocess.run(words, cwd=project, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, errors="replace", timeout=limit, check=True, start_new_session=True).stdout
    except subprocess.TimeoutExpired as error:
        end_descendants()
        raise AgentBroke(f"{words[0]} did not end in time") from error
    except subprocess.CalledProcessError as error:
        raise AgentBroke(f"{words[0]} ended with {error.returncode}: {error.stderr[-600:]}") from error


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
