#!/usr/bin/env python3
"""Shows failures of docs/agents.md without the suite and its adapters: an agent is driven by its own protocol, its model
is `herma-conform model`, and what is on the disk and in the last request is printed.

    failures.py AGENT [--cache FOLDER] [--conform FILE]

AGENT is opencode, kilo, qwen-code, hermes-agent, cline or gemini-cli, installed by `herma-conform agent AGENT`."""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path


class Rig:
    """A project, a home, a scripted model, and the agent's processes."""

    def __init__(self, arguments):
        self.cache, self.conform = Path(arguments.cache).absolute(), arguments.conform
        self.processes = []

    def begin(self, title, files, turns):
        """Starts anew; `turns` are functions of the project that return the tool calls of a turn, one a message."""
        self.end()
        folder = Path(tempfile.mkdtemp(prefix="failures-"))
        self.home, self.project, self.record = folder / "home", folder / "project", folder / "requests.jsonl"
        self.home.mkdir()
        self.project.mkdir()
        for path, text in files.items():
            (self.project / path).write_text(text)
        (self.home / ".gitconfig").write_text("[user]\n\tname = user\n\temail = user@localhost\n")
        for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--message", "start"]):
            subprocess.run(["git", *words], cwd=self.project, env=self.environment(), check=True)
        script = {name: [{"tools": [{"name": tool, "arguments": arguments}]} for tool, arguments in calls(self.project)]
                  for name, calls in turns.items()}
        (folder / "script.json").write_text(json.dumps(script))
        port = free_port()
        self.model = f"http://127.0.0.1:{port}"
        self.start([self.conform, "model", folder / "script.json", "--port", str(port), "--record", self.record],
                   stderr=subprocess.DEVNULL)
        print(f"\n{title}")
        self.show("before")

    def environment(self, **more):
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **more}

    def start(self, words, **options):
        process = subprocess.Popen(words, start_new_session=True, **options)
        self.processes.append(process)
        return process

    def show(self, moment):
        files = {path.name: path.read_text() for path in sorted(self.project.iterdir()) if path.is_file()}
        print(f"  {moment:<24} {files}", flush=True)

    def sent(self, *names):
        """Which of these turns the newest request of the conversation contains."""
        exchanges = [json.loads(line) for line in self.record.read_text().splitlines()]
        text = json.dumps([exchange["request"] for exchange in exchanges if exchange["selected"]][-1])
        print(f"  the model was sent       {[name for name in names if f'#{name}' in text]}")

    def end(self):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        self.processes = []


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


NOTHING = {"talk": lambda project: [], "next": lambda project: []}


def opencode(rig, name="opencode"):
    packages = {"opencode": "opencode-1.18.33/node_modules/.bin/opencode",
                "kilo": "kilo-7.7.9/node_modules/@kilocode/cli-linux-x64/bin/kilo"}

    def serve():
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "s", "models": {"s": {"name": "s"}},
                    "options": {"baseURL": f"{rig.model}/v1", "apiKey": "any"}}
        file = rig.home / f".config/{name}/{name}.json"
        file.parent.mkdir(parents=True)
        file.write_text(json.dumps({"autoupdate": False, "snapshot": True, "model": "s/s", "small_model": "s/s",
                                    "provider": {"s": provider}, "permission": {"edit": "allow", "bash": "allow"}}))
        port, upper = free_port(), name.upper()
        off = {f"{upper}_DISABLE_{what}": "1" for what in ("AUTOUPDATE", "LSP_DOWNLOAD", "MODELS_FETCH")}
        rig.start([rig.cache / packages[name], "serve", "--port", str(port)], cwd=rig.project,
                  env=rig.environment(PWD=str(rig.project), **off), stdout=subprocess.DEVNULL,
                  stderr=subprocess.DEVNULL)

        def ask(method, path, body=None, limit=60):
            request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body or {}).encode(),
                                             {"Content-Type": "application/json"}, method=method)
            with urllib.request.urlopen(request, timeout=limit) as reply:
                return json.load(reply)

        for _ in range(100):
            try:
                return ask, ask("POST", "/session", limit=5)["id"]
            except OSError:
                time.sleep(0.3)

    def say(ask, session, text):
        message = {"parts": [{"type": "text", "text": f"#{text}"}], "model": {"providerID": "s", "modelID": "s"}}
        return ask("POST", f"/session/{session}/message", message)["info"]["parentID"]

    bash = lambda command: lambda project: [("bash", {"command": command, "description": "change"})]
    # It restores what `git diff --name-only` names, where a renamed file is its new name only; Kilo adds --no-renames.
    rig.begin("restore-gives-recorded-files: a revert of `mv old.txt new.txt`", {"old.txt": "text\n"},
              {"move": bash("mv old.txt new.txt")})
    ask, session = serve()
    message = say(ask, session, "move")
    rig.show("after the turn")
    ask("POST", f"/session/{session}/revert", {"messageID": message})
    rig.show("reverted, should be old")
    rig.begin("undo-gives-back: a revert of `rm old.txt` is undone", {"old.txt": "text\n"}, {"rm": bash("rm old.txt")})
    ask, session = serve()
    message = say(ask, session, "rm")
    ask("POST", f"/session/{session}/revert", {"messageID": message})
    rig.show("reverted")
    ask("POST", f"/session/{session}/unrevert")
    rig.show("undone, should be none")
    rig.begin("fork-has-the-turns: a fork after a revert of the turn `talk`", {"a.txt": "text\n"}, NOTHING)
    ask, session = serve()
    ask("POST", f"/session/{session}/revert", {"messageID": say(ask, session, "talk")})
    say(ask, ask("POST", f"/session/{session}/fork")["id"], "next")
    rig.sent("talk", "next")


class Lines:
    """JSON-RPC, a message a line."""

    def __init__(self, rig, words, environment):
        self.process = rig.start(words, cwd=rig.project, env=environment, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1)
        self.number = 0

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")

    def call(self, method, **parameters):
        self.number += 1
        self.send(id=self.number, method=method, params=parameters)
        return self.wait(lambda message: message.get("id") == self.number and "method" not in message).get("result")

    def wait(self, is_awaited):
        for line in self.process.stdout:
            message = json.loads(line) if line.startswith("{") else {}
            if is_awaited(message):
                return message
            if "id" in message and "method" in message:  # A question: the first option, or no such method.
                options = message["params"].get("options")
                outcome = {"outcome": {"outcome": "selected", "optionId": options[0]["optionId"]}} if options else None
                answer = {"result": outcome} if options else {"error": {"code": -32601, "message": "not found"}}
                self.send(id=message["id"], **answer)
        raise SystemExit("the agent ended")


def qwen_code(rig):
    folder = rig.cache / "qwen-code-0.24.4/node_modules/.bin"

    def start():
        (rig.home / ".qwen").mkdir()
        (rig.home / ".qwen/settings.json").write_text(json.dumps({
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "model": {"name": "scripted"}, "general": {"enableAutoUpdate": False}}))
        agent = Lines(rig, [folder / "node", folder / "qwen", "--acp"], rig.environment(
            OPENAI_API_KEY="any", OPENAI_MODEL="scripted", OPENAI_BASE_URL=f"{rig.model}/v1"))
        agent.call("initialize", protocolVersion=1, clientCapabilities={})
        session = agent.call("session/new", cwd=str(rig.project), mcpServers=[])["sessionId"]
        say = lambda turn: agent.call("session/prompt", sessionId=session,
                                      prompt=[{"type": "text", "text": f"#{turn}"}])
        snapshots = lambda: agent.call("qwen/status/session/rewind_snapshots", sessionId=session)["snapshots"]

        def rewind(id):
            reply = agent.call("qwen/control/session/rewind", sessionId=session, promptId=id)
            print(f"  rewind                   { {name: reply[name] for name in ('success', 'filesChanged')} }")

        return say, snapshots, rewind

    def write(path):
        read = lambda project: [("read_file", {"file_path": f"{project}/{path}"})] if path == "a.txt" else []
        return lambda project: read(project) + [("write_file", {"file_path": f"{project}/{path}", "content": "2\n"})]

    turns = {**NOTHING, "edit": write("a.txt"), "create": write("new.txt")}
    rig.begin("restore-gives-recorded-files, restore-removes-created-files, preview-names-changes: a rewind to `talk`",
              {"a.txt": "1\n"}, turns)
    say, snapshots, rewind = start()
    for turn in ("talk", "edit", "create"):
        say(turn)
    rig.show("after three turns")
    print(f"  preview of the first     {snapshots()[0]}")
    rewind(snapshots()[0]["promptId"])
    rig.show("should be as before")
    rig.begin("state-before-change-held: a rewind to a turn after a rewind", {"a.txt": "1\n"}, turns)
    say, snapshots, rewind = start()
    say("talk")
    rewind(snapshots()[0]["promptId"])
    say("edit")
    rig.show("after the turn")
    print(f"  snapshots                {snapshots()}")
    rewind(snapshots()[0]["promptId"])
    rig.show("should be as before")


def hermes_agent(rig):
    folder = rig.cache / "hermes-agent-0.19.0/bin"

    def start(session=None):
        (rig.home / "config.yaml").write_text(
            f'model: {{provider: custom, default: scripted, base_url: "{rig.model}/v1", api_key: any, '
            'context_length: 200000}\ncheckpoints: {enabled: true}\napprovals: {mode: "off"}\n')
        agent = Lines(rig, [folder / "python", "-m", "tui_gateway.entry"], rig.environment(
            HERMES_HOME=str(rig.home), HERMES_TUI_CHECKPOINTS="1", HERMES_YOLO_MODE="1"))
        is_event = lambda kind: lambda message: message.get("params", {}).get("type") == kind
        agent.wait(is_event("gateway.ready"))
        opened = agent.call("session.resume", session_id=session, cols=100) if session else agent.call(
            "session.create", cols=100, cwd=str(rig.project))
        ask = lambda method, **parameters: agent.call(method, session_id=opened["session_id"], **parameters)

        def say(turn):
            ask("prompt.submit", text=f"#{turn}")
            agent.wait(is_event("message.complete"))
            time.sleep(1)

        return ask, say, opened.get("stored_session_id")

    write = lambda path: lambda project: ("write_file", {"path": f"{project}/{path}", "content": "2\n"})
    rig.begin("one-checkpoint-a-turn: a turn that writes a.txt, and then b.txt", {"a.txt": "1\n", "b.txt": "1\n"},
              {"two": lambda project: [write("a.txt")(project), write("b.txt")(project)]})
    ask, say, _ = start()
    say("two")
    rig.show("after the turn")
    print(f"  checkpoints              {len(ask('rollback.list')['checkpoints'])}, should be 1")
    rig.begin("conversation-matches-files-after-resume: `write` is rolled back", {"a.txt": "1\n"},
              {"write": lambda project: [write("a.txt")(project)], **NOTHING})
    ask, say, session = start()
    say("write")
    ask("rollback.restore", hash=ask("rollback.list")["checkpoints"][0]["hash"])
    rig.show("rolled back")
    ask("session.close")
    _, say, _ = start(session)
    say("next")
    rig.sent("write", "next")


def cline(rig):
    folder = rig.cache / "cline-3.0.65/node_modules"
    rig.begin("edits-of-a-person-kept: restored after an edit by a person", {"person.txt": "1\n"}, NOTHING)
    (rig.home / "drive.mjs").write_text(f"""
import {{ writeFileSync }} from "node:fs";
import {{ ClineCore }} from "{folder}/@cline/core/dist/index.js";
const core = await ClineCore.create({{ clientName: "manual", backendMode: "local" }});
const cwd = "{rig.project}";
const config = {{ providerId: "openai-compatible", modelId: "scripted", apiKey: "any", baseUrl: "{rig.model}/v1", cwd,
  workspaceRoot: cwd, mode: "act", enableTools: true, enableSpawnAgent: false, enableAgentTeams: false,
  systemPrompt: "x", checkpoint: {{ enabled: true }} }};
const start = {{ config, interactive: true, source: "manual" }};
const {{ sessionId }} = await core.start(start);
await core.send({{ sessionId, prompt: "#talk" }});
writeFileSync(cwd + "/person.txt", "by a person\\n");
writeFileSync(cwd + "/of-person.txt", "by a person\\n");
await core.restore({{ sessionId, checkpointRunCount: 1, start, restore: {{ messages: true }} }});
process.exit(0);
""")
    subprocess.run([folder / ".bin/node", rig.home / "drive.mjs"], cwd=rig.project, check=True, timeout=120,
                   env=rig.environment(CLINE_TELEMETRY_DISABLED="1"), stdout=subprocess.DEVNULL)
    rig.show("should hold the edits")
    holds = lambda *words: subprocess.run(["git", *words], cwd=rig.project, text=True, capture_output=True).stdout
    print(f"  refs and stashes         {(holds('for-each-ref', '--format=%(refname)') + holds('stash', 'list')).split()}")


def gemini_cli(rig):
    program = rig.cache / "gemini-cli-0.61.0/node_modules/.bin/gemini"
    session = f"failures-{os.getpid()}"
    tmux = lambda *words: subprocess.run(["tmux", "-L", session, "-f", "/dev/null", *words], text=True, check=True,
                                         capture_output=True, env=variables()).stdout
    variables = lambda: rig.environment(GEMINI_API_KEY="any", GEMINI_CLI_TRUST_WORKSPACE="true",
                                        GOOGLE_GEMINI_BASE_URL=rig.model, TERM="xterm-256color")

    def start(window, *options):
        file = rig.home / ".gemini/settings.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({
            "general": {"checkpointing": {"enabled": True}, "enableAutoUpdate": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}}))
        tmux("new-session", "-d", "-s", window, "-x", "150", "-y", "60", "-c", rig.project,
             f"{program} -m gemini-2.5-pro {' '.join(options)}")
        wait(window, "Type your message")
        time.sleep(2)

    def wait(window, pattern):
        for _ in range(300):
            shown = tmux("capture-pane", "-p", "-t", window)
            if re.search(pattern, shown):
                return shown
            time.sleep(0.2)
        raise SystemExit(f"no {pattern}:\n{shown}")

    def enter(window, line):
        tmux("send-keys", "-t", window, "-l", line)
        time.sleep(2)
        tmux("send-keys", "-t", window, "Enter")

    def checkpoints():
        return sorted(path.name for path in rig.home.glob(".gemini/tmp/*/checkpoints/*.json"))

    def say(turn):
        enter("first", f"#{turn}")
        wait("first", "Apply this change")
        time.sleep(2)
        tmux("send-keys", "-t", "first", "Enter")
        time.sleep(4)

    edit = lambda text: lambda project: [("write_file", {"file_path": f"{project}/a.txt", "content": text})]
    rig.begin("redo-asks-first, edits-of-a-person-kept: /restore of `two` after an edit by a person", {"a.txt": "1\n"},
              {"one": edit("2\n"), "two": edit("3\n"), **NOTHING})
    session_id = "11111111-2222-4333-8444-555555555555"
    try:
        start("first", "--session-id", session_id)
        say("one")
        say("two")
        (rig.project / "of-person.txt").write_text("by a person\n")
        rig.show("after two turns")
        print(f"  checkpoints              {checkpoints()}")
        enter("first", f"/restore {checkpoints()[-1].removesuffix('.json')} ")
        wait("first", "Restored project")
        time.sleep(3)
        rig.show("a.txt should be 2")
        print("second-process-costs-nothing, checkpoint-stays-listed: a second process starts")
        start("second")
        print(f"  checkpoints              {checkpoints()}, should be as before")
        print("conversation-kept: the session continues in a new process")
        enter("first", "/quit")
        time.sleep(3)
        start("resumed", "--resume", session_id)
        enter("resumed", "#next")
        time.sleep(5)
        rig.sent("one", "two", "next")
    finally:
        panes = tmux("list-panes", "-a", "-F", "#{pane_pid}").split()
        tmux("kill-server")
        for pane in panes:
            subprocess.run(["kill", "-KILL", "--", f"-{pane}"], capture_output=True)


AGENTS = {"opencode": opencode, "kilo": lambda rig: opencode(rig, "kilo"), "qwen-code": qwen_code,
          "hermes-agent": hermes_agent, "cline": cline, "gemini-cli": gemini_cli}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", choices=AGENTS)
    parser.add_argument("--cache", default=Path.home() / ".cache/herma/agents")
    parser.add_argument("--conform", default="herma-conform")
    arguments = parser.parse_args()
    rig = Rig(arguments)
    try:
        AGENTS[arguments.agent](rig)
    finally:
        rig.end()


if __name__ == "__main__":
    main()
