#!/usr/bin/env python3
"""codex behind `codex exec`, a process a turn. It has no checkpoints; it drives hooks."""

import json
import shlex

from errors import AgentBroke
from front_door import FrontDoor, Package, serve
from processes import run


class Codex(FrontDoor):
    package = Package("codex", "0.169.0", ("@openai/codex@0.169.0",))
    licence = "Apache-2.0"
    door = "exec"
    capabilities = ("resume", "parallel-calls")
    notes = {"list": "it has no checkpoints", "restore": "none"}
    options = ("--skip-git-repo-check",)

    def configure(self):
        self.write(".codex/config.toml", f"""model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "{self.model_url}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
""")

    def variables(self):
        return {"MODEL_KEY": "any"}

    def calls(self, project):
        def command(text):
            return "exec_command", {"cmd": text}

        def lines(sign, text):
            return "".join(f"{sign}{line}\n" for line in text.splitlines())

        def edit(call):
            return command(f"apply_patch <<'END'\n*** Begin Patch\n*** Update File: {call['path']}\n@@\n"
                           f"{lines('-', call['old'])}{lines('+', call['new'])}*** End Patch\nEND")

        # An unknown model has one tool, which runs commands. A patch of whole lines is one of them.
        return {
            "write": lambda call: command(f"printf %s {shlex.quote(call['content'])} > {shlex.quote(call['path'])}"),
            "edit": edit,
            "shell": lambda call: command(call["command"]),
        }

    def open(self, project, session=None):
        self.project, self.session = project, session
        return {"session": session}

    def words(self, text, *resumed):
        return [self.program("codex"), "exec", *resumed, "--json", *self.options, text]

    def say(self, text):
        resumed = ("resume", self.session) if self.session else ()
        events = [json.loads(line) for line in run(self.words(text, *resumed), self.project,
                                                   self.environment()).splitlines() if line.startswith("{")]
        said = [event["item"]["text"] for event in events
                if event["type"] == "item.completed" and event["item"]["type"] == "agent_message"]
        for event in events:
            if event["type"] == "thread.started":
                self.session = event["thread_id"]
        if not said:
            raise AgentBroke(f"no answer: {events[-3:]}")
        return {"said": said[-1], "session": self.session}

    def close(self):
        return {"killed": []}


if __name__ == "__main__":
    serve(Codex)
