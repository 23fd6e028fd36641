#!/usr/bin/env python3
"""cline behind its SDK, which `cline.mjs` drives in a process of node. Its checkpoints are in the user's repository,
one a turn. A restore goes on in a new session. One process serves all projects."""

import json
import re
import time
from pathlib import Path

from errors import AgentBroke, Refused
from front_door import FrontDoor, Package, serve
from processes import LIMIT, LineProcess


class Cline(FrontDoor):
    package = Package("cline", "3.0.65", ("cline@3.0.65", "node@22.23.3"))
    licence = "Apache-2.0"
    door = "sdk"
    capabilities = ("list", "preview", "restore", "resume", "approval", "sub-agent", "parallel-calls", "shell-covered",
                    "turn-checkpoints", "conversation", "git-project", "shared-home")
    notes = {"restore-file": "none", "undo": "none", "compact": "not driven"}
    agent = None

    def variables(self):
        return {"CLINE_TELEMETRY_DISABLED": "1"}

    def calls(self, project):
        def write(call):
            path = project / call["path"]
            old = {"old_text": path.read_text()} if call.get("exists") and path.exists() else {}
            return "editor", {"path": str(path), **old, "new_text": call["content"]}

        return {
            "write": write,
            "edit": lambda call: ("editor", {"path": str(project / call["path"]), "old_text": call["old"],
                                             "new_text": call["new"]}),
            "shell": lambda call: ("run_commands", {"commands": [call["command"]]}),
            "delegate": lambda call: ("spawn_agent", {"systemPrompt": "You are a coding agent.", "task": call["text"]}),
        }

    def open(self, project, session=None):
        if self.agent and session:
            self.close()
        self.project = project
        if not self.agent:
            sdk = self.folder / "node_modules/@cline/core/dist/index.js"
            driver = Path(__file__).with_name("cline.mjs")
            self.agent = LineProcess([self.program("node"), driver, sdk], project, self.environment())
        return self.ask("open", project=project, model=self.model_url, resumed=session)

    def ask(self, operation, **fields):
        self.agent.send(json.dumps({"op": operation, **fields}))
        reply = json.loads(self.agent.receive(time.monotonic() + LIMIT, f"reply to {operation}"))
        if "error" in reply:
            raise Refused(reply["error"])
        return reply

    def say(self, text, approve=True):
        reply = self.ask("say", text=text, approve=approve)
        if reply.pop("finish", None) != "completed":
            raise AgentBroke(f"the turn ended with {reply}")
        return reply

    def list(self):
        # A turn after a restore has the number of an undone one; its checkpoint is another.
        return {"checkpoints": [{"id": f"{entry['runCount']}-{entry['createdAt']}", "turn": entry["runCount"],
                                 "label": entry["ref"], "time": entry["createdAt"]}
                                for entry in self.ask("list")["history"][::-1]]}

    def preview(self, id):
        reply = self.ask("preview", run=run_of(id))
        return {"files": self.relative(reply["files"]), "text": reply["text"]}

    def restore(self, id, conversation=True):
        reply = self.ask("restore", run=run_of(id), conversation=conversation)
        return {"said": "restored", "session": reply["session"], "conversation_undone": None}

    def close(self):
        agent, self.agent = self.agent, None
        agent.send(json.dumps({"op": "close"}))
        return {"killed": agent.end()}


def run_of(id):
    """The number of a checkpoint; 0, which the agent refuses, if the id has none."""
    number = re.match(r"\d+", id)
    return int(number[0]) if number else 0


if __name__ == "__main__":
    serve(Cline)
