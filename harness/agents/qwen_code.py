#!/usr/bin/env python3
"""qwen-code behind its Agent Client Protocol: JSON-RPC on the pipes of `qwen --acp`. Checkpoints and restores have
methods of qwen's own there. One process serves all projects."""

import json

from errors import AgentBroke, Refused
from front_door import FrontDoor, Package, serve
from processes import JsonRpc

METHOD_NOT_FOUND = -32601


class QwenCode(FrontDoor):
    package = Package("qwen-code", "0.24.4", ("@qwen-code/qwen-code@0.24.4", "node@22.23.3"))
    licence = "Apache-2.0"
    door = "acp"
    capabilities = ("list", "preview", "restore", "resume", "fork", "approval", "sub-agent", "parallel-calls", "turn-checkpoints",
                    "conversation", "edit-log", "shared-home")
    notes = {"restore-file": "none", "undo": "none", "preview": "a number of files, no names",
             "shell-covered": "only what its edit tools touch is held", "compact": "not driven"}
    agent = None

    def configure(self):
        self.write(".qwen/settings.json", json.dumps({
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "model": {"name": "scripted"}, "tools": {"approvalMode": "default"}, "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False}}))

    def variables(self):
        return {"OPENAI_API_KEY": "any", "OPENAI_MODEL": "scripted", "OPENAI_BASE_URL": f"{self.model_url}/v1"}

    def calls(self, project):
        return {
            "read": lambda call: ("read_file", {"file_path": str(project / call["path"])}),
            "write": lambda call: ("write_file", {"file_path": str(project / call["path"]),
                                                  "content": call["content"]}),
            "edit": lambda call: ("edit", {"file_path": str(project / call["path"]), "old_string": call["old"],
                                           "new_string": call["new"]}),
            "shell": lambda call: ("run_shell_command", {"command": call["command"], "description": "change",
                                                         "is_background": False}),
            "delegate": lambda call: ("agent", {"description": "change", "prompt": call["text"],
                                                "subagent_type": "general-purpose"}),
        }

    def open(self, project, session=None):
        if self.agent and session:
            self.close()
        self.project = project
        if not self.agent:
            self.agent = JsonRpc([self.program("node"), self.program("qwen"), "--acp"], project, self.environment())
            self.agent.on_message = self.on_message
            self.agent.call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
        else:
            self.agent.call("qwen/control/session/close", {"sessionId": self.session})
        where = {"cwd": project, "mcpServers": []}
        if session:
            self.agent.call("session/load", {"sessionId": session, **where})
        self.session = session or self.agent.call("session/new", where)["sessionId"]
        return {"session": self.session}

    def on_message(self, message):
        if message.get("method") == "session/update":
            update = message["params"]["update"]
            if update["sessionUpdate"] == "agent_message_chunk":
                self.said += update["content"].get("text", "")
            elif update["sessionUpdate"] == "tool_call":
                self.tools.append(update.get("title"))
        elif message.get("method") == "session/request_permission":
            self.asked += 1
            kinds = ("allow_once", "allow_always") if self.approves else ("reject_once", "reject_always")
            options = [option["optionId"] for kind in kinds for option in message["params"]["options"]
                       if option["kind"] == kind]
            outcome = {"outcome": "selected", "optionId": options[0]} if options else {"outcome": "cancelled"}
            self.agent.post({"id": message["id"], "result": {"outcome": outcome}})
        elif "id" in message and "method" in message:
            self.agent.post({"id": message["id"], "error": {"code": METHOD_NOT_FOUND, "message": "not found"}})

    said, tools, approves, asked = "", [], True, 0

    def say(self, text, approve=True):
        self.said, self.tools, self.approves, self.asked = "", [], approve, 0
        prompt = [{"type": "text", "text": text}]
        reply = self.agent.call("session/prompt", {"sessionId": self.session, "prompt": prompt})
        if reply["stopReason"] != "end_turn":
            raise AgentBroke(f"the turn ended with {reply}")
        return {"said": self.said, "tools": self.tools, "asked": self.asked}

    def snapshots(self):
        status = self.agent.call("qwen/status/session/rewind_snapshots", {"sessionId": self.session})
        return status["snapshots"][::-1]

    def list(self):
        # A turn after a restore has the number of an undone one; its snapshot is another.
        return {"checkpoints": [{"id": f"{snapshot['promptId']}@{snapshot['timestamp']}",
                                 "turn": snapshot["turnIndex"] + 1, "time": snapshot["timestamp"]}
                                for snapshot in self.snapshots()]}

    def preview(self, id):
        for snapshot in self.snapshots():
            if snapshot["promptId"] == id.partition("@")[0]:
                changes = snapshot["diffStats"]
                return {"files": None, "count": changes["filesChanged"], "text": json.dumps(changes)}
        raise Refused(f"no snapshot {id}")

    def restore(self, id, conversation=True):
        parameters = {"sessionId": self.session, "promptId": id.partition("@")[0]}
        reply = self.agent.call("qwen/control/session/rewind", parameters)
        if not reply.get("success"):
            raise Refused(json.dumps(reply))
        said = {name: reply[name] for name in ("success", "targetTurnIndex", "filesChanged", "filesFailed")}
        return {"said": json.dumps(said), "files": self.relative(reply["filesChanged"]), "conversation_undone": None}

    def fork(self):
        reply = self.agent.call("qwen/control/session/branch", {"sessionId": self.session})
        self.session = reply["newSessionId"]
        self.agent.call("session/load", {"sessionId": self.session, "cwd": self.project, "mcpServers": []})
        return {"session": self.session}

    def close(self):
        agent, self.agent = self.agent, None
        agent.call("qwen/control/session/close", {"sessionId": self.session})
        return {"killed": agent.end()}


if __name__ == "__main__":
    serve(QwenCode)
