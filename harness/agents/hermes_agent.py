#!/usr/bin/env python3
"""hermes-agent behind two of its front doors: `gateway`, the JSON-RPC of its terminal interface, and `classic`, the
command `hermes chat` at a terminal. Checkpoints are enabled as its documentation says for each."""

import re
import time

from errors import AgentBroke, Refused
from front_door import FrontDoor, Package, files_of_diff, serve
from processes import LIMIT, JsonRpc, end_descendants, wait_for_end
from terminal import Terminal


class Hermes(FrontDoor):
    """What both doors share."""

    package = Package("hermes-agent", "0.19.0", ("hermes-agent==0.19.0",), "pip")
    licence = "MIT"
    capabilities = ("list", "preview", "restore", "restore-file", "resume", "parallel-calls", "shell-covered",
                    "turn-checkpoints", "keeps-created", "undoes-last-turn", "git-project", "shared-home")
    notes = {"conversation": "documented to undo the last turn only, whichever turn the checkpoint is of",
             "shell-covered": "documented for commands like rm, mv, cp, sed -i, truncate, dd and >",
             "git-project": "without a root such as .git a checkpoint is of the folder of the changed file",
             "undo": "a restore takes a checkpoint first, which can be restored",
             "approval": "asked for dangerous commands only",
             "sub-agent": "runs in the background, after its turn"}
    agent = None
    option = {}
    settings = "{enabled: true}"

    def configure(self):
        self.write(".hermes/config.yaml", f"""\
model: {{provider: custom, default: scripted, base_url: "{self.model_url}/v1", api_key: any, context_length: 200000}}
checkpoints: {self.settings}
approvals: {{mode: "off"}}
""")

    def variables(self):
        return {"HERMES_HOME": f"{self.home}/.hermes", "HERMES_YOLO_MODE": "1", **self.option,
                "PATH": f"{self.folder}/bin:/usr/local/bin:/usr/bin:/bin"}

    def calls(self, project):
        return {
            "write": lambda call: ("write_file", {"path": str(project / call["path"]), "content": call["content"]}),
            "edit": lambda call: ("patch", {"mode": "replace", "path": str(project / call["path"]),
                                            "old_string": call["old"], "new_string": call["new"]}),
            "shell": lambda call: ("terminal", {"command": call["command"]}),
        }


class Gateway(Hermes):
    door = "gateway"
    capabilities = (*Hermes.capabilities, "compact", "fork")
    option = {"HERMES_TUI_CHECKPOINTS": "1"}
    """What the option `--checkpoints` of `hermes --tui` sets."""

    def open(self, project, session=None):
        if self.agent and session:
            self.close()
        self.project = project
        if not self.agent:
            self.agent = JsonRpc([self.program("python"), "-m", "tui_gateway.entry"], project, self.environment())
            self.agent.on_message = self.remember
            self.agent.wait(lambda message: self.event(message) == "gateway.ready", "gateway.ready")
        else:
            self.agent.call("session.close", {"session_id": self.session})
            # Checkpoints before commands are of the folder of the process, whatever the session's folder is.
            self.agent.call("config.set", {"key": "cwd", "value": project})
        if session:
            opened = self.agent.call("session.resume", {"session_id": session, "cols": 100})
        else:
            opened = self.agent.call("session.create", {"cols": 100, "cwd": project})
        self.session = opened["session_id"]
        return {"session": session or opened["stored_session_id"]}

    def event(self, message):
        return message.get("params", {}).get("type") if message.get("method") == "event" else None

    def remember(self, message):
        if self.event(message) == "tool.start":
            self.tools.append(message["params"].get("payload", {}).get("name"))

    def say(self, text):
        self.tools = []
        self.ask("prompt.submit", text=text)
        done = self.agent.wait(lambda message: self.event(message) in ("message.complete", "error"),
                               "message.complete")["params"]["payload"]
        if done.get("status") != "complete":
            raise AgentBroke(f"the turn ended with {done}")
        self.wait_until_idle()
        return {"said": done["text"], "tools": self.tools}

    def wait_until_idle(self):
        deadline = time.monotonic() + LIMIT
        while "Agent Running: No" not in self.ask("session.status")["output"]:
            if time.monotonic() > deadline:
                raise AgentBroke("the agent runs on after its answer")
            time.sleep(0.02)

    def ask(self, method, **parameters):
        return self.agent.call(method, {"session_id": self.session, **parameters})

    def list(self):
        reply = self.ask("rollback.list")  # Empty if it holds checkpoints for not enabled.
        return {"checkpoints": [{"id": entry["hash"], "label": entry["message"], "time": entry["timestamp"]}
                                for entry in reply["checkpoints"]]}

    def preview(self, id, file=None):
        reply = self.ask("rollback.diff", hash=id)
        is_cut = len(reply["diff"]) >= 4000
        return {"files": None if is_cut else files_of_diff(reply["diff"]), "text": f"{reply['stat']}\n{reply['diff']}"}

    def restore(self, id, file=None):
        reply = self.ask("rollback.restore", hash=id, **({"file_path": file} if file else {}))
        if not reply.get("success"):
            raise Refused(reply.get("error") or str(reply))
        return {"said": str(reply), "conversation_undone": reply.get("history_removed", 0)}

    def compact(self):
        self.ask("session.compress")
        return self.renamed()

    def fork(self):
        self.session = self.ask("session.branch")["session_id"]
        return self.renamed()

    def renamed(self):
        """Compacting and forking begin a session with a name of its own."""
        return {"session": re.search(r"Session ID: (\S+)", self.ask("session.status")["output"])[1]}

    def close(self):
        agent, self.agent = self.agent, None
        agent.call("session.close", {"session_id": self.session})
        return {"killed": agent.end()}


class GatewayConfigured(Gateway):
    """The gateway with checkpoints enabled in the configuration alone."""

    door = "gateway-configured"
    option = {}


class Classic(Hermes):
    """Each project has a process of its own."""

    door = "classic"

    def open(self, project, session=None):
        if self.agent:
            self.close()
        self.project = project
        resumed = ["--resume", session] if session else []
        self.agent = Terminal([self.program("hermes"), "chat", "--yolo", *resumed], project, self.environment())
        shown = self.agent.wait(is_idle, "prompt", still=0.3)
        self.session = session or re.search(r"Session: (\S+)", shown)[1]
        self.is_begun = bool(session)
        return {"session": self.session}

    def submit(self, line):
        self.agent.forget()
        self.agent.type(line)
        self.agent.wait(lambda text: f"❯ {line[:80]}" in text, "echo", still=0.2)
        self.agent.type("\r")

    def command(self, line, end):
        """What the agent shows after a command; `end` is a pattern that its last words match."""
        self.submit(line)
        echo = f"⚙  {line[:80]}"  # It may come after the words.
        said = lambda text: text.partition("\n ⚕ ")[0].replace(echo, "").strip()
        is_said = lambda text: is_idle(text) and re.search(f"{end}|{REFUSALS}", said(text))
        shown = said(self.agent.wait(is_said, f"reply to {line}", still=0.5))
        if re.search(REFUSALS, shown):
            raise Refused(shown)
        return shown

    def say(self, text):
        self.is_begun = True
        self.submit(text)
        # A short turn may be over before it is seen to run.
        self.agent.was(lambda text: BUSY in text or ANSWER in text, 10)
        shown = self.agent.wait(is_idle, "prompt", still=0.3)
        if ANSWER not in shown:
            raise AgentBroke(f"no answer is shown:\n{shown}")
        answer = shown.rpartition(ANSWER)[2].partition("\n")[2].partition("╰")[0]
        return {"said": "\n".join(line.strip() for line in answer.strip().splitlines())}

    def list(self):
        if not self.is_begun:  # A new session has no list before its first turn.
            return {"checkpoints": []}
        shown = self.command("/rollback", "single file from checkpoint|No checkpoints found")
        entries = re.findall(r"^ *\d+\. ([0-9a-f]+)  (\S+ \S+)  (.*)$", shown, re.MULTILINE)
        return {"checkpoints": [{"id": id, "label": label, "time": time} for id, time, label in entries]}

    def preview(self, id, file=None):
        text = self.command(f"/rollback diff {id}", "files? changed|No changes since")
        return {"files": None if "more lines, showing first" in text else files_of_diff(text), "text": text}

    def restore(self, id, file=None):
        said = self.command(f"/rollback {id} {file}" if file else f"/rollback {id}", "Chat turn undone")
        undone = re.search(r"Undid \d+ turn.*\((\d+) message", said)
        return {"said": said, "conversation_undone": int(undone[1]) if undone else 0}

    def close(self):
        agent, self.agent = self.agent, None
        agent.type("/exit\r")
        wait_for_end(10)
        return {"killed": end_descendants()}


BUSY, ANSWER = "msg=interrupt", "─ ⚕ Hermes ─"
REFUSALS = "❌|Invalid|No active agent session"


def is_idle(text):
    """Whether the prompt is empty and bears no sign of a turn."""
    return "\n❯\n" in text


if __name__ == "__main__":
    serve(Gateway, GatewayConfigured, Classic)
