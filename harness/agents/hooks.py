#!/usr/bin/env python3
"""Tries `herma hook` with a real agent: turns of a scripted model change files, and the state before each turn is then
looked for in the store. Prints how many turns are restorable, and how long the calls of the hook took.

    hooks.py AGENT [--turns 50] [--herma FILE] [--conform FILE] [--cache FOLDER]

AGENT is one of the names of `AGENTS`. It is installed at a pinned version into the cache, and runs with a home of its
own; its language model is `herma-conform model` on the loopback interface. Each fifth turn calls four tools at once."""

import argparse
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import cline
import codex
import gemini_cli
import hermes_agent
import kilo
import opencode
import qwen_code
from front_door import FrontDoor, Package, free_port
from processes import run

FILES = ["a.txt", "b.txt", "c.txt", "d.txt"]


class Claude(FrontDoor):
    package = Package("claude-code", "2.1.332", ("@anthropic-ai/claude-code@2.1.332",))

    def variables(self):
        return {"ANTHROPIC_BASE_URL": self.model_url, "ANTHROPIC_API_KEY": "any",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}

    def calls(self, project):
        return {"shell": lambda call: ("Bash", {"command": call["command"], "description": "change"})}

    def turn(self, said, turn):
        resumed = ["--continue"] if turn % 2 else []
        return [self.program("claude"), "-p", said, *resumed, "--permission-mode", "acceptEdits",
                "--allowedTools", "Bash"]


class Codex(codex.Codex):
    options = ("--dangerously-bypass-hook-trust", "--skip-git-repo-check")

    def turn(self, said, turn):
        return self.words(said, *(["resume", "--last"] if turn % 2 else []))


class Copilot(FrontDoor):
    package = Package("copilot-cli", "1.0.102", ("@github/copilot@1.0.102",))

    def variables(self):
        return {"COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": f"{self.model_url}/v1",
                "COPILOT_MODEL": "scripted"}

    def calls(self, project):
        return {"shell": lambda call: ("bash", {"command": call["command"], "description": "change"})}

    def turn(self, said, turn):
        resumed = ["--continue"] if turn % 2 else []
        return [self.program("copilot"), "-p", said, *resumed, "--allow-all-tools"]


class Gemini(gemini_cli.GeminiCli):
    def turn(self, said, turn):
        return [self.program("gemini"), "-m", "gemini-2.5-pro", "-p", said, "--yolo"]


class Qwen(qwen_code.QwenCode):
    def turn(self, said, turn):
        resumed = ["--continue"] if turn % 2 else []
        return [self.program("node"), self.program("qwen"), *resumed, said, "--yolo"]


class Hermes(hermes_agent.Hermes):
    settings = "\n  max_snapshots: 500"  # Its own checkpoints would be in the same store.

    def turn(self, said, turn):
        return [self.program("hermes"), "chat", "-q", said, "-Q", "--yolo", "--accept-hooks"]


class Opencode(opencode.Opencode):
    def turn(self, said, turn):
        return [self.program(self.name), "run", said]


class Kilo(kilo.Kilo):
    def turn(self, said, turn):
        return [self.program(self.name), "run", said]


class Cline(cline.Cline):
    def configure(self):
        run([self.program("cline"), "auth", "openai-compatible", "-k", "any", "-m", "scripted", "-b",
             f"{self.model_url}/v1"], self.project, self.environment())

    def turn(self, said, turn):
        return [self.program("cline"), "--json", said]


AGENTS = {"claude": Claude, "codex": Codex, "copilot": Copilot, "gemini": Gemini, "qwen": Qwen, "hermes": Hermes,
          "opencode": Opencode, "kilo": Kilo, "cline": Cline}


def script(agent, turns):
    """Two steps that change a file each, or one message that changes four."""
    steps = {}
    for turn in range(turns):
        change = lambda name: agent.spell({"kind": "shell", "command": f"echo turn {turn} > {name}"})
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


def judge(arguments):
    herma, conform = (str(Path(path).absolute()) for path in (arguments.herma, arguments.conform))
    folder = Path(tempfile.mkdtemp(prefix="herma-hooks-"))
    home, project = folder / "home", folder / "project"
    (home / ".hermes").mkdir(parents=True)
    project.mkdir()
    subprocess.run(["git", "init", "--quiet", "."], cwd=project, check=True)
    (home / ".hermes/config.yaml").write_text("checkpoints:\n  max_snapshots: 500\n")
    agent = AGENTS[arguments.agent]()
    agent.project = project
    port = free_port()
    agent.hello(f"http://127.0.0.1:{port}", arguments.cache, home)
    environment = {**agent.environment(), "HERMES_HOME": str(home / ".hermes")}
    (folder / "script.json").write_text(json.dumps(script(agent, arguments.turns)))
    serve = [conform, "model", str(folder / "script.json"), "--port", str(port), "--record",
             str(folder / "requests.jsonl")]
    model = subprocess.Popen(serve, stderr=subprocess.DEVNULL)
    try:
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
          f"median {took[len(took) // 2]:.0f} ms, 95% {took[len(took) * 95 // 100]:.0f} ms, most {took[-1]:.0f} ms")
    print(f"left for you to look at: {folder}", file=sys.stderr)
    return 0 if len(before) == changed == arguments.turns and codes == ["0"] else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agent", choices=AGENTS)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--herma", default="target/release/herma")
    parser.add_argument("--conform", default="target/release/herma-conform")
    parser.add_argument("--cache", default=os.environ.get("HERMA_CACHE", "target/herma-cache"))
    return judge(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
