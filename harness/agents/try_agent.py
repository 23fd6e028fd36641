#!/usr/bin/env python3
"""Drives one adapter through a fixed story against the scripted model, and prints what happened. For a person who
writes an adapter: the suite judges, this only shows.

    try_agent.py NAME [--door DOOR] [--cache FOLDER] [--conform FILE] [--keep]

NAME is a file of this folder without `.py`. Three turns change files, then come the agent's list, a preview, a restore
to the newest checkpoint and one to the oldest, and a new process that resumes the session. After each operation the
seconds, the reply and the files of the project are printed, and after each turn also what the model was sent."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from front_door import free_port
from processes import adopt_orphans, descendants, end_descendants

TURNS = {
    "one": [[{"kind": "write", "path": "a.txt", "content": "turn one\n", "exists": True}]],
    "two": [[{"kind": "edit", "path": "a.txt", "old": "turn one", "new": "turn two"},
             {"kind": "write", "path": "b.txt", "content": "new in two\n", "exists": False}]],
    "three": [[{"kind": "shell", "command": "echo shell > c.txt"}], [{"kind": "delete", "path": "a.txt"}]],
    "next": [], "last": [],
}


class Adapter:
    """The process of an adapter."""

    def __init__(self, name):
        path = Path(__file__).with_name(f"{name}.py")
        self.process = subprocess.Popen([sys.executable, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, op, **fields):
        began = time.monotonic()
        self.process.stdin.write(json.dumps({"op": op, **fields}) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        fields.pop("call", None)
        if op != "spell":
            print(f"{time.monotonic() - began:6.2f} s  {op} {fields or ''}")
            print(f"         {json.dumps(reply)[:900]}", flush=True)
        return reply


def steps_of(adapter, turn, project, together):
    """The steps of a turn as the model of this agent writes them."""
    steps = []
    for calls in TURNS[turn]:
        spelled = [adapter.ask("spell", call=call, project=str(project)) for call in calls]
        if any("steps" in call for call in spelled) or not together:
            steps += [{"tools": [tool(step)]} for call in spelled for step in call.get("steps", [call])]
        else:
            steps.append({"tools": [tool(call) for call in spelled]})
    return [*steps, {"text": f"done {turn}"}]


def tool(call):
    return {"name": call["name"], "arguments": call["arguments"]}


class Story:
    def __init__(self, arguments, folder):
        self.folder, self.project = folder, folder / "project"
        self.requests = folder / "requests.jsonl"
        self.adapter = Adapter(arguments.name)
        port = free_port()
        hello = {"model_url": f"http://127.0.0.1:{port}", "cache": arguments.cache, "home": str(folder / "home")}
        if arguments.door:
            hello["door"] = arguments.door
        self.known = self.adapter.ask("hello", **hello)
        if not self.known["ok"]:
            sys.exit(1)
        together = "parallel-calls" in self.known["capabilities"]
        script = {turn: steps_of(self.adapter, turn, self.project, together) for turn in TURNS}
        (folder / "script.json").write_text(json.dumps(script))
        self.model = subprocess.Popen([arguments.conform, "model", folder / "script.json", "--port", str(port),
                                       "--record", self.requests], stderr=subprocess.DEVNULL)

    def can(self, capability):
        return capability in self.known["capabilities"]

    def show(self):
        files = {path.name: path.read_text() for path in sorted(self.project.iterdir()) if path.is_file()}
        print(f"         files: {files}", flush=True)

    def say(self, turn):
        before = self.asked()
        reply = self.adapter.ask("say", text=f"do #{turn}", approve=True)
        self.session = reply.get("session", self.session)
        self.show()
        sent = [exchange for exchange in self.asked()[len(before):] if exchange["selected"]]
        if turn in ("next", "last") and sent:
            text = json.dumps(sent[-1]["request"])
            print(f"         the model was sent: {[name for name in TURNS if f'do #{name}' in text]}", flush=True)

    def asked(self):
        lines = self.requests.read_text().splitlines() if self.requests.exists() else []
        return [json.loads(line) for line in lines]

    def restore(self, checkpoint):
        if self.can("preview"):
            self.adapter.ask("preview", id=checkpoint)
        self.session = self.adapter.ask("restore", id=checkpoint).get("session", self.session)
        time.sleep(1)
        self.show()

    def tell(self):
        self.session = self.adapter.ask("open", project=str(self.project)).get("session")
        for turn in ("one", "two", "three"):
            self.say(turn)
        listed = self.adapter.ask("list").get("checkpoints", []) if self.can("list") else []
        if listed and self.can("restore"):
            self.restore(listed[0]["id"])
            if self.can("undo"):
                self.adapter.ask("undo")
                self.show()
                self.restore(listed[0]["id"])
            self.say("next")
            if self.can("list"):
                listed = self.adapter.ask("list").get("checkpoints", listed)
            self.restore(listed[-1]["id"])
        self.adapter.ask("close")
        if self.can("resume"):
            self.adapter.ask("open", project=str(self.project), session=self.session)
            self.say("last")
            if self.can("list"):
                self.adapter.ask("list")
        self.adapter.ask("close")

    def end(self):
        self.adapter.process.stdin.close()
        self.adapter.process.wait(10)
        self.model.kill()
        self.model.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    parser.add_argument("--door")
    parser.add_argument("--conform", default="target/debug/herma-conform")
    parser.add_argument("--cache", default=os.environ.get("HERMA_CACHE", "target/herma-cache"))
    arguments = parser.parse_args()
    adopt_orphans()
    folder = Path(tempfile.mkdtemp(prefix=f"herma-{arguments.name}-"))
    project = folder / "project"
    project.mkdir()
    (project / "a.txt").write_text("original\n")
    (project / "keep.txt").write_text("kept\n")
    user = ["-c", "user.name=user", "-c", "user.email=user@localhost"]
    for words in (["init", "--quiet"], ["add", "."], [*user, "commit", "--quiet", "--message", "start"]):
        subprocess.run(["git", *words], cwd=project, check=True)
    story = Story(arguments, folder)
    try:
        story.tell()
    finally:
        story.end()
        print(f"left running: {descendants() or 'nothing'}; look at {folder}", flush=True)
        end_descendants()


if __name__ == "__main__":
    main()
