#!/usr/bin/env python3
"""Tries `herma hook` with a real agent: turns of a scripted model change files, and the state before each turn is then
looked for in the store. Prints how many turns are restorable, and how long the calls of the hook took.

    hooks.py AGENT [--turns 50] [--herma FILE] [--conform FILE] [--cache FOLDER]

AGENT is one of the names of `AGENTS`. It is installed at a pinned version into the cache, and runs with a home of its
own; its language model is `herma-conform model` on the loopback interface. Every fifth turn calls four tools at once."""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FILES = ["a.txt", "b.txt", "c.txt", "d.txt"]


def shell(name, **more):
    return lambda command: {"name": name, "arguments": {"command": command, **more}}


class Agent:
    """How an agent is installed, configured and run; `shell` is its tool for a command."""

    package, manager, node = "", "npm", "node"

    def __init__(self, cache, home, project, port):
        self.cache, self.home, self.project, self.port = cache, home, project, port

    def install(self):
        if not self.cache.exists():
            self.cache.mkdir(parents=True)
            if self.manager == "pip":
                subprocess.run([sys.executable, "-m", "venv", "."], cwd=self.cache, check=True)
                subprocess.run(["bin/pip", "install", "--quiet", self.package], cwd=self.cache, check=True)
            else:
                (self.cache / "package.json").write_text("{}")
                install = ["npm", "install", "--no-audit", "--no-fund", *self.package.split()]
                subprocess.run(install, cwd=self.cache, check=True, stdout=subprocess.DEVNULL)

    def bin(self, name):
        folder = "bin" if self.manager == "pip" else "node_modules/.bin"
        return str(self.cache / folder / name)

    def write(self, path, text):
        path = self.home / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def environment(self):
        return {}

    def turn(self, said, turn):
        """The words of a process that says this to the agent."""
        raise NotImplementedError


class Codex(Agent):
    package = "@openai/codex@0.169.0"
    shell = staticmethod(lambda command: {"name": "exec_command", "arguments": {"cmd": command}})

    def configure(self):
        self.write(".codex/config.toml", f"""model = "scripted"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{self.port}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
""")

    def environment(self):
        return {"MODEL_KEY": "any"}

    def turn(self, said, turn):
        resumed = ["resume", "--last"] if turn % 2 else []
        options = ["--dangerously-bypass-hook-trust", "--skip-git-repo-check"]
        return [self.bin("codex"), "exec", *resumed, *options, said]


class Gemini(Agent):
    package = "@google/gemini-cli@0.61.0"
    shell = staticmethod(shell("run_shell_command", description="change"))

    def configure(self):
        self.write(".gemini/settings.json", json.dumps({
            "general": {"enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "ide": {"enabled": False}}))

    def environment(self):
        return {"GEMINI_API_KEY": "any", "GEMINI_CLI_TRUST_WORKSPACE": "true",
                "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{self.port}"}

    def turn(self, said, turn):
        return [self.bin("gemini"), "-m", "gemini-2.5-pro", "-p", said, "--yolo"]


class Qwen(Agent):
    package = "@qwen-code/qwen-code@0.24.4 node@22.23.3"
    shell = staticmethod(shell("run_shell_command", description="change", is_background=False))

    def configure(self):
        self.write(".qwen/settings.json", json.dumps({
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "model": {"name": "scripted"}, "general": {"enableAutoUpdate": False},
            "privacy": {"usageStatisticsEnabled": False}}))

    def environment(self):
        return {"OPENAI_API_KEY": "any", "OPENAI_MODEL": "scripted",
                "OPENAI_BASE_URL": f"http://127.0.0.1:{self.port}/v1"}

    def turn(self, said, turn):
        resumed = ["--continue"] if turn % 2 else []
        return [self.bin("node"), self.bin("qwen"), *resumed, said, "--yolo"]


class Hermes(Agent):
    package, manager = "hermes-agent==0.19.0", "pip"
    shell = staticmethod(shell("terminal"))

    def configure(self):
        self.write(".hermes/config.yaml", f"""model: {{provider: custom, default: scripted,
  base_url: "http://127.0.0.1:{self.port}/v1", api_key: any, context_length: 200000}}
approvals: {{mode: "off"}}
checkpoints:
  max_snapshots: 500
""")

    def turn(self, said, turn):
        return [self.bin("hermes"), "chat", "-q", said, "-Q", "--yolo", "--accept-hooks"]


class Opencode(Agent):
    package, command, folder = "opencode-ai@1.18.33", "opencode", "opencode"
    shell = staticmethod(shell("bash", description="change"))

    def configure(self):
        model = {"name": "scripted", "limit": {"context": 200000, "output": 8000}}
        options = {"baseURL": f"http://127.0.0.1:{self.port}/v1", "apiKey": "any"}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": options,
                    "models": {"scripted": model}}
        self.write(f".config/{self.folder}/{self.folder}.json", json.dumps({
            "autoupdate": False, "share": "disabled", "model": "scripted/scripted",
            "small_model": "scripted/scripted", "provider": {"scripted": provider},
            "permission": {"edit": "allow", "bash": "allow", "webfetch": "deny"}}))

    def environment(self):
        name = self.command.upper()
        return {f"{name}_DISABLE_AUTOUPDATE": "1", f"{name}_DISABLE_LSP_DOWNLOAD": "1",
                f"{name}_DISABLE_MODELS_FETCH": "1", f"{name}_TELEMETRY_LEVEL": "off"}

    def turn(self, said, turn):
        return [self.bin(self.command), "run", said]


class Kilo(Opencode):
    package, command, folder = "@kilocode/cli-linux-x64@7.7.9", "kilo", "kilo"

    def bin(self, name):
        return str(self.cache / "node_modules/@kilocode/cli-linux-x64/bin/kilo")


class Cline(Agent):
    package = "cline@3.0.65"
    shell = staticmethod(lambda command: {"name": "run_commands", "arguments": {"commands": [command]}})

    def configure(self):
        login = [self.bin("cline"), "auth", "openai-compatible", "-k", "any", "-m", "scripted", "-b",
                 f"http://127.0.0.1:{self.port}/v1"]
        environment = {**os.environ, "HOME": str(self.home), "PWD": str(self.project)}
        subprocess.run(login, env=environment, cwd=self.project, check=True, stdout=subprocess.DEVNULL)

    def turn(self, said, turn):
        return [self.bin("cline"), "--json", said]


AGENTS = {"codex": Codex, "gemini": Gemini, "qwen": Qwen, "hermes": Hermes, "opencode": Opencode, "kilo": Kilo,
          "cline": Cline}


def script(agent, turns):
    """Two steps that change a file each, or one message that changes four."""
    steps = {}
    for turn in range(turns):
        change = lambda name: agent.shell(f"echo turn {turn} > {name}")
        together = [{"tools": [change(name) for name in FILES]}]
        apart = [{"tools": [change(name)]} for name in FILES[:2]]
        steps[f"t{turn}"] = (together if turn % 5 == 4 else apart) + [{"text": f"done {turn}"}]
    return steps


def timed(folder, command):
    """A program that runs the hook and notes how long it took and how it ended."""
    path = folder / "timed"
    path.write_text(f"""#!{sys.executable}
import subprocess, sys, time
began = time.monotonic()
ended = subprocess.run({shlex.split(command)!r}).returncode
with open({str(folder / "times")!r}, "a") as times:
    print(time.monotonic() - began, ended, file=times)
sys.exit(ended)
""")
    path.chmod(0o755)
    return path


def hook_in(folder, herma, agent, home, environment):
    """Adds the hook, and replaces its command by one that notes the time; returns nothing."""
    init = [herma, "init", "--agent", agent, "--force", "--json"]
    said = subprocess.run(init, env=environment, check=True, capture_output=True, text=True).stdout
    command = f"{herma} hook {agent}"
    program = timed(folder, command)
    for file in json.loads(said)["files"]:
        path = Path(file)
        path.write_text(path.read_text().replace(command, str(program)))


def held(store, ids):
    """The turns whose state before is in a checkpoint: all files say so."""
    found = set()
    for checkpoint in ids:
        shown = [subprocess.run(["git", f"--git-dir={store}", "show", f"{checkpoint}:{name}"],
                                capture_output=True, text=True).stdout for name in FILES]
        if len(set(shown)) == 1 and shown[0].startswith("before "):
            found.add(int(shown[0].split()[1]))
    return found


def run(arguments):
    herma, conform = (str(Path(path).absolute()) for path in (arguments.herma, arguments.conform))
    folder = Path(tempfile.mkdtemp(prefix="herma-hooks-"))
    home, project = folder / "home", folder / "project"
    (home / ".hermes").mkdir(parents=True)
    project.mkdir()
    subprocess.run(["git", "init", "--quiet", "."], cwd=project, check=True)
    # Some agents believe `PWD`, and would work in the folder of this script's user.
    environment = {**os.environ, "HOME": str(home), "HERMES_HOME": str(home / ".hermes"), "PWD": str(project)}
    (home / ".hermes/config.yaml").write_text("checkpoints:\n  max_snapshots: 500\n")
    kind = AGENTS[arguments.agent]
    (folder / "script.json").write_text(json.dumps(script(kind, arguments.turns)))
    serve = [conform, "model", str(folder / "script.json"), "--record", str(folder / "requests.jsonl")]
    model = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
    try:
        port = int(model.stderr.readline().split(";")[0].rsplit(":", 1)[1])
        agent = kind(Path(arguments.cache).absolute() / f"agent-{arguments.agent}", home, project, port)
        agent.install()
        agent.configure()
        environment.update(agent.environment())
        hook_in(folder, herma, arguments.agent, home, environment)
        changed = 0
        for turn in range(arguments.turns):
            for name in FILES:
                (project / name).write_text(f"before {turn}\n")
            said = subprocess.Popen(agent.turn(f"#t{turn} please", turn), cwd=project, env=environment,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                said.wait(timeout=120)
            except subprocess.TimeoutExpired:
                print(f"turn {turn} did not end", file=sys.stderr)
            finally:
                try:
                    os.killpg(said.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            changed += (project / "a.txt").read_text() == f"turn {turn}\n"
        listed = subprocess.run([herma, "list", "--json"], cwd=project, env=environment, capture_output=True)
        ids = [checkpoint["id"] for checkpoint in json.loads(listed.stdout)["checkpoints"]]
        before = held(home / ".hermes/checkpoints/store", ids)
        times = [line.split() for line in (folder / "times").read_text().splitlines()]
    finally:
        model.kill()
    took = sorted(float(time) * 1000 for time, _ in times)
    codes = sorted({code for _, code in times})
    print(f"{arguments.agent}: {changed} of {arguments.turns} turns changed files; the state before "
          f"{len(before)} of them is restorable; {len(took)} calls of the hook ended with {', '.join(codes)}, "
          f"median {took[len(took) // 2]:.0f} ms, most {took[-1]:.0f} ms")
    print(f"left for you to look at: {folder}", file=sys.stderr)
    return 0 if len(before) == changed == arguments.turns and codes == ["0"] else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", choices=AGENTS)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--herma", default="target/release/herma")
    parser.add_argument("--conform", default="target/release/herma-conform")
    parser.add_argument("--cache", default=os.environ.get("HERMA_CACHE", "target/herma-cache"))
    return run(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
