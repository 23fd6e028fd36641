#!/usr/bin/env python3
"""gemini-cli behind its terminal interface. Its checkpoints are taken while it asks for an approval, and `/restore`
lists and restores them. Each project has a process of its own."""

import json
import re
import time
import uuid

from errors import AgentBroke, Refused
from front_door import FrontDoor, Package, serve
from processes import LIMIT, end_descendants, wait_for_end
from terminal import Terminal

PROMPT = "Type your message"
BUSY = "esc to cancel"
FAILED = "Error resuming session"
CLEAR = "\x15"
QUESTION = re.compile(r"Apply this change\?|Allow execution")
CHECKPOINT = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d_\d{3}Z-[^\s,]+")


class GeminiCli(FrontDoor):
    package = Package("gemini-cli", "0.61.0", ("@google/gemini-cli@0.61.0",))
    licence = "Apache-2.0"
    door = "terminal"
    capabilities = ("list", "restore", "resume", "approval", "parallel-calls", "call-checkpoints", "conversation",
                    "redo-call", "shared-home")
    notes = {"preview": "/restore has none", "restore-file": "none", "undo": "none",
             "shell-covered": "documented for tools that modify files, not for commands",
             "fork": "none", "compact": "not driven", "sub-agent": "not driven"}
    agent = None
    mode = "default"

    def configure(self):
        self.write(".gemini/settings.json", json.dumps({
            "general": {"enableAutoUpdate": False, "checkpointing": {"enabled": True}},
            "privacy": {"usageStatisticsEnabled": False}, "ide": {"enabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}}}))

    def variables(self):
        return {"GEMINI_API_KEY": "any", "GEMINI_CLI_TRUST_WORKSPACE": "true", "COLORTERM": "truecolor",
                "GOOGLE_GEMINI_BASE_URL": self.model_url}

    def calls(self, project):
        return {
            "write": lambda call: ("write_file", {"file_path": str(project / call["path"]),
                                                  "content": call["content"]}),
            "edit": lambda call: ("replace", {"file_path": str(project / call["path"]), "old_string": call["old"],
                                              "new_string": call["new"], "instruction": "change"}),
            "shell": lambda call: ("run_shell_command", {"command": call["command"], "description": "change"}),
        }

    def open(self, project, session=None):
        if self.agent:
            self.close()
        self.project, self.session = project, session or str(uuid.uuid4())
        option = "--resume" if session else "--session-id"
        # Without a model it asks a router first, which expects more than a scripted model says.
        words = [self.program("gemini"), "-m", "gemini-2.5-pro", "--approval-mode", self.mode, option,
                 self.session]
        self.agent = Terminal(words, project, self.environment())
        shown = self.agent.wait(lambda text: is_idle(text) or FAILED in text, "prompt", still=0.5)
        if FAILED in shown:
            end_descendants()
            self.agent = None
            raise Refused(shown.strip())
        return {"session": self.session}

    def say(self, text, approve=True, pause=1):
        """One turn. Every question is answered `pause` seconds after it is seen, as a person takes a while."""
        began, asked = len(self.record()), 0
        self.enter(text)
        deadline = time.monotonic() + LIMIT
        while True:
            shown = self.agent.wait(lambda text: is_idle(text) or QUESTION.search(text), "answer",
                                    deadline - time.monotonic(), still=0.3)
            if QUESTION.search(shown):
                asked += 1
                time.sleep(pause)
                self.agent.type("\r" if approve else "\x1b")
                self.agent.wait(lambda text: text != shown, "reaction to the approval")
            elif self.is_over(began):
                return {"said": self.answer(began), "asked": asked}
            elif time.monotonic() > deadline:
                raise AgentBroke("the agent does not end its turn")

    def record(self):
        """What the agent records of this session, which says that a turn is over before the screen does."""
        records = self.home.glob(f".gemini/tmp/*/chats/session-*{self.session[:8]}.jsonl")
        lines = [json.loads(line) for path in records for line in path.read_text().splitlines() if line.endswith("}")]
        return [line for line in lines if "type" in line]

    def is_over(self, began):
        messages = self.record()[began:]
        newest = messages[-1] if messages else {"type": "user"}
        return newest["type"] != "user" and not newest.get("toolCalls") and newest.get("content")

    def answer(self, began):
        newest = self.record()[began:][-1]["content"]
        return newest if isinstance(newest, str) else json.dumps(newest)

    def enter(self, line):
        """Types a line, waits until it is shown and any completion has come, and submits it. While a list of
        completions is shown, the key chooses its first entry; a space at the end of the line closes the list."""
        typed = f"> {line.strip()}"
        is_typed = lambda text: input_of(text) == typed
        self.agent.type(line)
        if not self.agent.was(is_typed, 20):
            self.agent.type(CLEAR)  # It lost keys, as it was not ready for them yet.
            self.agent.wait(is_idle, "empty input", still=0.5)
            self.agent.type(line)
        self.agent.wait(is_typed, "echo", still=1 if line.startswith("/") else 0.2)
        is_taken = lambda text: not is_typed(text) or QUESTION.search(text) or BUSY in text
        for _ in range(3):  # While it still starts, it may lose the key, or give the line back.
            self.agent.type("\r")
            if self.agent.was(is_taken, 20):
                time.sleep(0.3)
                if is_taken(self.agent.text()):
                    return
        raise AgentBroke(f"it does not take {line}")

    def escape(self):
        """Leaves a dialog, which may lead back to another."""
        for _ in range(3):
            self.agent.type("\x1b")
            if self.agent.was(is_idle, 5):
                return
        raise AgentBroke("the dialog does not close")

    def list(self):
        self.enter("/restore")
        shown = self.agent.wait(is_idle, "list", still=0.5).rpartition("> /restore")[2]
        return {"checkpoints": [{"id": name, "label": name} for name in CHECKPOINT.findall(shown)][::-1]}

    def restore(self, id):
        self.enter(f"/restore {id} ")
        shown = self.agent.wait(lambda text: is_idle(text) or QUESTION.search(text), "restore", still=1.5)
        if QUESTION.search(shown):  # The call is proposed again, as documented.
            self.agent.type("\x1b")
            self.agent.wait(is_idle, "prompt", still=0.5)
        said = [line for line in shown.splitlines() if line.startswith(("ℹ", "✕"))][-1]
        if said.startswith("✕"):
            raise Refused(said)
        return {"said": said, "conversation_undone": None}

    def close(self):
        agent, self.agent = self.agent, None
        agent.type("/quit")
        agent.wait(lambda text: "/quit" in text, "echo", still=1)
        agent.type("\r")
        wait_for_end(10)
        return {"killed": end_descendants()}


class AutoEdit(GeminiCli):
    """The mode in which edits need no approval; commands still do."""

    door, mode = "auto-edit", "auto_edit"


class Rewind(AutoEdit):
    """The dialog of `/rewind`: a log of what its edit tools wrote, one entry a message of the user. It shows no ids; an
    entry's is its number and its text."""

    door = "rewind"
    capabilities = ("list", "preview", "restore", "resume", "parallel-calls", "turn-checkpoints", "conversation",
                    "edit-log", "shared-home")
    notes = {**GeminiCli.notes, "preview": "names the file only if it is one",
             "shell-covered": "documented not to affect files changed by commands"}

    def entries(self):
        """Opens the dialog; the texts of the user's messages in it, oldest first, and the rows' texts."""
        self.enter("/rewind")
        shown = self.agent.wait(lambda text: "Stay at current position" in text, "dialog", still=0.5)
        rows = [row.strip("│ ●") for row in shown.rpartition("> Rewind")[2].splitlines()]
        rows = [row for row in rows if row]
        # A message's first line is above the line that counts its files; a tool's response has no text.
        counted = [at for at, row in enumerate(rows) if re.match(r"(No files have|\d+ files? ch)", row)]
        begins = [0] + [at + 1 for at in counted[:-1]]
        return [rows[begin] if begin < at else "" for begin, at in zip(begins, counted)]

    def select(self, id):
        """Selects an entry of the dialog by its id, and returns the question that follows."""
        texts = self.entries()
        names = identified(texts)
        if id not in names:
            self.escape()
            raise Refused(f"the dialog has no entry {id}")
        for _ in range(len(texts) - names.index(id)):
            before = self.agent.text()
            self.agent.type("\x1b[A")
            self.agent.wait(lambda text: text != before, "selection", still=0.2)
        self.agent.type("\r")
        return self.agent.wait(lambda text: "Select an action" in text, "question", still=0.3)

    def list(self):
        names = identified(self.entries())
        self.escape()
        return {"checkpoints": [{"id": name, "label": name} for name in names if name][::-1]}

    def preview(self, id):
        text = self.select(id).rpartition("Confirm Rewind")[2].partition("Select an action")[0]
        self.escape()
        files = re.findall(r"File: (\S+)", text)
        is_empty = "No code changes" in text
        return {"files": files or ([] if is_empty else None), "text": " ".join(re.sub("[│┌┐└┘─]", " ", text).split())}

    def restore(self, id):
        self.select(id)
        self.agent.type("\r")
        self.agent.wait(lambda text: "Select an action" not in text, "end of the dialog", still=1)
        self.agent.type(CLEAR)  # The message is in the input again.
        self.agent.wait(is_idle, "prompt", still=0.5)
        return {"said": "rewound", "conversation_undone": None}


def identified(texts):
    """The ids of the dialog's entries: messages are numbered; what is none has an empty id."""
    is_message = [bool(text) and not text.startswith("<session_context>") for text in texts]
    return [f"{sum(is_message[:at + 1])} {text}" if is_message[at] else "" for at, text in enumerate(texts)]


def input_of(text):
    """The row of the input, which is the last one with its sign."""
    rows = [row.strip() for row in text.splitlines() if row.lstrip().startswith(">")]
    return rows[-1] if rows else ""


def is_idle(text):
    return PROMPT in text and BUSY not in text


if __name__ == "__main__":
    serve(GeminiCli, AutoEdit, Rewind)
