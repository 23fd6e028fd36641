#!/usr/bin/env python3
"""opencode behind the HTTP interface of `opencode serve`. One server serves all projects. Its checkpoints are the
messages of the user: reverting to one takes back what came since. Reverting is lazy: the messages are dropped by the
next prompt, and hidden until then."""

import json
import time
from concurrent.futures import ThreadPoolExecutor, wait

from errors import AgentBroke, Unsupported
from front_door import FrontDoor, Package, files_of_diff, free_port, http, serve
from processes import LIMIT, LineProcess

MODEL = {"providerID": "scripted", "modelID": "scripted"}


class Opencode(FrontDoor):
    package = Package("opencode", "1.18.33", ("opencode-ai@1.18.33",))
    licence = "MIT"
    door = "serve"
    capabilities = ("list", "restore", "undo", "resume", "compact", "fork", "approval", "sub-agent", "parallel-calls",
                    "shell-covered", "turn-checkpoints", "conversation", "git-project", "shared-home")
    notes = {"preview": "what a revert changes is answered by the revert", "restore-file": "none",
             "step-checkpoints": "taken, but a user reverts to messages"}
    name = "opencode"
    server = None

    def configure(self):
        model = {"name": "scripted", "limit": {"context": 200000, "output": 8000}}
        options = {"baseURL": f"{self.model_url}/v1", "apiKey": "any"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options,
                    "models": {"scripted": model}}
        self.write(f".config/{self.name}/{self.name}.json", json.dumps({
            "autoupdate": False, "share": "disabled", "snapshot": True, "model": "scripted/scripted",
            "small_model": "scripted/scripted", "provider": {"scripted": provider},
            "permission": {"edit": "ask", "bash": "ask", "webfetch": "deny"}}))

    def variables(self):
        prefix = self.name.upper()
        return {f"{prefix}_DISABLE_AUTOUPDATE": "1", f"{prefix}_DISABLE_LSP_DOWNLOAD": "1",
                f"{prefix}_DISABLE_MODELS_FETCH": "1", f"{prefix}_TELEMETRY_LEVEL": "off"}

    def calls(self, project):
        return {
            "read": lambda call: ("read", {"filePath": str(project / call["path"])}),
            "write": lambda call: ("write", {"filePath": str(project / call["path"]), "content": call["content"]}),
            "edit": lambda call: ("edit", {"filePath": str(project / call["path"]), "oldString": call["old"],
                                           "newString": call["new"]}),
            "shell": lambda call: ("bash", {"command": call["command"], "description": "change"}),
            "delegate": lambda call: ("task", {"prompt": call["text"], "description": "change",
                                               "subagent_type": "general"}),
        }

    def open(self, project, session=None):
        if self.server and session:
            self.close()
        self.project = project
        if not self.server:
            self.start()
        self.session = session or self.ask("POST", "/session", {"title": "scripted"})["id"]
        self.ask("GET", f"/session/{self.session}")
        return {"session": self.session}

    def start(self):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        words = [self.program(self.name), "serve", "--port", str(port), "--hostname", "127.0.0.1"]
        self.server = LineProcess(words, self.project, self.environment())
        deadline = time.monotonic() + LIMIT
        while True:
            try:
                # It says that it listens before it answers, and a first request may hang.
                self.ask("GET", "/session", limit=5)
                return
            except AgentBroke as error:
                if time.monotonic() > deadline or self.server.child.poll() is not None:
                    raise AgentBroke(f"{error}; {self.server.last_words()}") from error
                time.sleep(0.1)

    def ask(self, method, path, body=None, limit=LIMIT):
        return http(method, f"{self.url}{path}?directory={self.project}", body, limit)

    def of_session(self, method, path, body=None):
        return self.ask(method, f"/session/{self.session}/{path}", body)

    def say(self, text, approve=True):
        message, questions = {"parts": [{"type": "text", "text": text}], "model": MODEL}, set()
        with ThreadPoolExecutor(1) as pool:
            answered = pool.submit(self.of_session, "POST", "message", message)
            while not wait([answered], 0.05).done:
                for question in self.ask("GET", "/permission"):
                    questions.add(question["id"])
                    reply = {"reply": "once" if approve else "reject"}
                    self.ask("POST", f"/permission/{question['id']}/reply", reply)
            answer = answered.result()
        if answer["info"].get("error"):
            raise AgentBroke(json.dumps(answer["info"]["error"]))
        self.wait_until_idle()
        said = "".join(part["text"] for part in answer["parts"] if part["type"] == "text")
        return {"said": said, "asked": len(questions)}

    def wait_until_idle(self):
        deadline = time.monotonic() + LIMIT
        while self.ask("GET", "/session/status").get(self.session, {"type": "idle"})["type"] != "idle":
            if time.monotonic() > deadline:
                raise AgentBroke("the agent runs on after its answer")
            time.sleep(0.02)

    def list(self):
        """The messages of the user that are not reverted; their ids sort by time."""
        revert = self.ask("GET", f"/session/{self.session}").get("revert") or {}
        messages = [message for message in self.of_session("GET", "message")
                    if message["info"]["role"] == "user" and message["info"]["id"] < revert.get("messageID", "~")]
        checkpoints = [{"id": message["info"]["id"], "turn": turn,
                        "label": " ".join(part.get("text", "") for part in message["parts"])}
                       for turn, message in enumerate(messages, 1)]
        return {"checkpoints": checkpoints[::-1]}

    def restore(self, id, file=None, conversation=True):
        if file or not conversation:
            raise Unsupported("a revert is of all files and of the conversation")
        revert = self.of_session("POST", "revert", {"messageID": id}).get("revert") or {}
        return {"said": json.dumps(revert), "files": files_of_diff(revert.get("diff", "")),
                "conversation_undone": None}

    def undo(self):
        session = self.of_session("POST", "unrevert", {})
        return {"said": json.dumps({"revert": session.get("revert")})}

    def compact(self):
        return {"said": json.dumps(self.of_session("POST", "summarize", MODEL))}

    def fork(self):
        self.session = self.of_session("POST", "fork", {})["id"]
        return {"session": self.session}

    def close(self):
        """Ends the server; it has no request for that, and ends at a signal late or not at all."""
        server, self.server = self.server, None
        server.child.terminate()
        return {"killed": server.end(limit=3)}


if __name__ == "__main__":
    serve(Opencode)
