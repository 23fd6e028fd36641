#!/usr/bin/env python3
"""A small agent of our own behind the front door, so that the judge is judged: it takes a checkpoint with `herma`
before the first change of each turn, and must pass every rule. With `--broken` it has one bug, which must be found.

    stand_in.py [--herma FILE] [--broken BUG]

It is adapter and agent in one file: requests arrive as JSON lines on standard input."""

import argparse
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

CAPABILITIES = ["list", "preview", "restore", "restore-file", "undo", "resume", "compact", "fork", "parallel-calls",
                "approval", "sub-agent", "shell-covered", "turn-checkpoints", "conversation", "shared-home"]
OPERATIONS = ["open", "spell", "say", "list", "preview", "restore", "undo", "compact", "fork", "close"]
BUGS = ["after-write", "writes-again", "conversation-kept", "compact-clears", "fork-of-all", "refused-runs",
        "start-clears", "sub-agent-uncovered"]
STEPS_MAX = 20


class Refused(Exception):
    code = "refused"


class Infrastructure(Exception):
    code = "infrastructure"


class Agent:
    def __init__(self, options, model_url, home):
        self.options, self.model_url, self.home = options, model_url, Path(home)
        (self.home / ".hermes").mkdir(exist_ok=True)
        (self.home / ".hermes/config.yaml").write_text("checkpoints:\n  enabled: true\n")

    def open(self, project, session=None):
        self.project = Path(project)
        self.session = session or f"session-{time.time_ns()}"
        self.log = self.home / f"{self.session}.jsonl"
        if self.options.broken == "start-clears":
            self.clear()
        self.messages, self.undone, self.written, self.compacted = [], [], None, 0
        # The log is never rewritten: a restore adds a line that says how many messages remain.
        for line in self.log.read_text().splitlines() if self.log.exists() else []:
            entry = json.loads(line)
            if isinstance(entry, int):
                self.rewind(entry)
            elif isinstance(entry, list):
                self.messages += entry
            elif "compacted" in entry:
                self.compacted = entry["compacted"]
            else:
                self.messages.append(entry)
        return {"session": self.session}

    def rewind(self, remaining):
        del self.messages[remaining:]
        if self.compacted > remaining:
            self.compacted = 0  # The summary is of undone messages, too.

    def compact(self):
        self.compacted = len(self.messages)
        self.add({"compacted": self.compacted})
        if self.options.broken == "compact-clears":
            self.clear()
        return {}

    def clear(self):
        """A bug: takes every checkpoint from the list, also for other processes."""
        (self.home / "hidden").write_text("\n".join(entry["id"] for entry in self.herma("list")["checkpoints"]))

    def hidden(self):
        file = self.home / "hidden"
        return file.read_text().splitlines() if file.exists() else []

    def fork(self):
        lines = self.log.read_text().splitlines(keepends=True) if self.log.exists() else []
        if self.options.broken == "fork-of-all":
            lines = [line for line in lines if not line.strip().isdigit()]
        session = f"session-{time.time_ns()}"
        (self.home / f"{session}.jsonl").write_text("".join(lines))
        return self.open(self.project, session)

    def add(self, *entries):
        with self.log.open("a") as log:
            log.writelines(json.dumps(entry) + "\n" for entry in entries)

    def herma(self, *words):
        command = [self.options.herma, *words, "--json"]
        done = subprocess.run(command, cwd=self.project, capture_output=True, text=True)
        if done.returncode:
            raise Refused(done.stdout.strip() or done.stderr.strip())
        return json.loads(done.stdout)

    def say(self, text, approve=True):
        # The turn is known by the number of messages before it.
        self.turn, self.has_checkpoint, self.approves, self.asked = len(self.messages), False, approve, 0

        def keep(message):
            self.messages.append(message)
            self.add(message)

        summary = [{"role": "user", "content": "a summary"}] if self.compacted else []
        said = self.converse(summary + self.messages[self.compacted:], text, keep)
        return {"said": said, "asked": self.asked}

    def converse(self, messages, text, keep=lambda message: None):
        """Says the text to the model, and runs its tools until it only talks; `keep` gets each new message."""
        def add(message):
            messages.append(message)
            keep(message)

        add({"role": "user", "content": text})
        for _ in range(STEPS_MAX):
            answer = self.ask_model(messages)
            add(answer)
            for call in answer.get("tool_calls", []):
                result = self.call_tool(call["function"]["name"], json.loads(call["function"]["arguments"]))
                add({"role": "tool", "tool_call_id": call["id"], "content": result})
            if not answer.get("tool_calls"):
                return answer["content"]
        raise Refused("the model did not come to an end")

    def call_tool(self, name, arguments):
        if name == "delegate":
            if self.options.broken == "sub-agent-uncovered":
                self.has_checkpoint = True
            return self.converse([], arguments["text"])  # A sub-agent has a conversation of its own.
        self.asked += 1
        if not self.approves and self.options.broken != "refused-runs":
            return "the user refused it"
        is_late = self.options.broken == "after-write"
        if not self.has_checkpoint and not is_late:
            self.checkpoint()
        result = self.run_tool(name, arguments)
        if not self.has_checkpoint and is_late:
            self.checkpoint()
        self.has_checkpoint = True
        return result

    def ask_model(self, messages):
        names = ("write", "replace", "shell", "delegate")
        tools = [{"type": "function", "function": {"name": name}} for name in names]
        body = json.dumps({"model": "scripted", "messages": messages, "tools": tools}).encode()
        request = urllib.request.Request(f"{self.model_url}/v1/chat/completions", body,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=30) as reply:
            return json.load(reply)["choices"][0]["message"]

    def checkpoint(self):
        turn = f"{self.session}-{self.turn}-{time.time_ns()}"
        self.herma("checkpoint", "--reason", f"turn {self.turn}", "--turn", turn)

    def run_tool(self, name, arguments):
        if name == "shell":
            done = subprocess.run(arguments["command"], shell=True, cwd=self.project, capture_output=True, text=True)
            return done.stdout + done.stderr + f"[exit {done.returncode}]"
        path = self.project / arguments["path"]
        if name == "replace":
            text = path.read_text().replace(arguments["old"], arguments["new"], 1)
        else:
            text = arguments["content"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.written = path, text
        return "done"

    def list(self):
        hidden = self.hidden()
        return {"checkpoints": [{"id": entry["id"], "label": entry["reason"]}
                                for entry in self.herma("list")["checkpoints"] if entry["id"] not in hidden]}

    def preview(self, id, file=None):
        would = self.herma("rollback", id, *([file] if file else ["--exact"]), "--dry-run")
        return {"files": would["restored"] + would["removed"], "text": json.dumps(would)}

    def restore(self, id, file=None, conversation=True):
        entries = self.herma("list")["checkpoints"]
        reason = next((entry["reason"] for entry in entries if entry["id"] == id), "")
        did = self.herma("rollback", id, *([file] if file else ["--exact"]))
        if not file and reason.startswith("turn "):
            remaining = int(reason.split()[1])
            self.undone = self.messages[remaining:]
            self.rewind(remaining)
            if self.options.broken != "conversation-kept":
                self.add(remaining)
        if self.options.broken == "writes-again" and self.written:
            time.sleep(0.05)
            self.written[0].write_text(self.written[1])
        return {"said": "restored", "files": did["restored"] + did["removed"]}

    def undo(self):
        self.herma("rollback", "undo")
        self.messages += self.undone
        self.add(self.undone)
        self.undone = []
        return {"said": "undone"}

    def close(self):
        return {}

    def spell(self, call):
        kind = call["kind"]
        if kind == "write":
            return {"name": "write", "arguments": {"path": call["path"], "content": call["content"]}}
        if kind == "edit":
            return {"name": "replace", "arguments": {key: call[key] for key in ("path", "old", "new")}}
        if kind == "delegate":
            return {"name": "delegate", "arguments": {"text": call["text"]}}
        command = f"rm {call['path']}" if kind == "delete" else call["command"]
        return {"name": "shell", "arguments": {"command": command}}


def hello(options, model_url, home, **_):
    try:
        version = subprocess.run([options.herma, "--version"], capture_output=True, text=True, check=True).stdout
    except OSError as error:
        raise Infrastructure(f"{options.herma}: {error}") from error
    agent = Agent(options, model_url, home)
    about = {"agent": "stand-in", "version": version.split()[-1], "licence": "MIT OR Apache-2.0",
             "door": "JSON lines", "capabilities": CAPABILITIES, "notes": {}}
    return agent, about


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--herma", default="herma")
    parser.add_argument("--broken", choices=BUGS)
    options = parser.parse_args()
    agent = None
    for line in sys.stdin:
        request = json.loads(line)
        op = request.pop("op")
        try:
            if op == "hello":
                agent, reply = hello(options, **request)
            elif op in OPERATIONS:
                reply = getattr(agent, op)(**request)
            else:
                reply = {"ok": False, "code": "unsupported", "error": op}
        except Exception as error:  # Whatever it is, the harness is told.
            code = getattr(error, "code", "agent")
            reply = {"ok": False, "code": code, "error": f"{type(error).__name__}: {error}"}
        print(json.dumps({"ok": True, **reply}), flush=True)


if __name__ == "__main__":
    os.environ["HERMES_HOME"] = os.path.join(os.environ["HOME"], ".hermes")
    main()
