"""A program behind a pseudo-terminal, and the text on its screen."""

import codecs
import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
import unicodedata

from errors import AgentBroke
from processes import LIMIT

TOKENS = re.compile(r"""
    \x1b\[(?P<parameters>[0-?]*)[ -/]*(?P<final>[@-~])      # a control sequence
  | \x1b[\]PX^_].*?(?:\x07|\x1b\\)                          # a string for the terminal
  | \x1b[ -/]*(?P<escape>[0-Z\\`-~])                        # a short escape
  | (?P<control>[\x00-\x1a\x1c-\x1f])
  | (?P<text>[^\x00-\x1f]+)
""", re.VERBOSE | re.DOTALL)


class Screen:
    """The text that a terminal shows: cursor moves, erasing and scrolling, no colours."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.row = self.column = 0
        self.cells = [self.blank() for _ in range(rows)]
        self.rest = ""
        self.replies = ""

    def blank(self):
        return [" "] * self.columns

    def text(self):
        return "\n".join("".join(row).rstrip() for row in self.cells)

    def feed(self, text):
        """Takes output of the program; what a terminal would answer is added to `replies`."""
        text = self.rest + text
        at = 0
        while match := TOKENS.match(text, at):
            at = match.end()
            if match["text"]:
                for letter in match["text"]:
                    self.put(letter)
            elif match["control"]:
                self.control(match["control"])
            elif match["final"]:
                self.sequence(match["parameters"], match["final"])
            elif match["escape"] == "M":
                self.row = max(0, self.row - 1)
        self.rest = text[at:]

    def put(self, letter):
        if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
            return
        width = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if self.column + width > self.columns:
            self.column = 0
            self.line_feed()
        self.cells[self.row][self.column] = letter
        if width == 2:
            self.cells[self.row][self.column + 1] = ""
        self.column += width

    def line_feed(self):
        if self.row == self.rows - 1:
            self.cells.append(self.blank())
            del self.cells[0]
        else:
            self.row += 1

    def control(self, letter):
        if letter == "\n":
            self.line_feed()
        elif letter == "\r":
            self.column = 0
        elif letter == "\b":
            self.column = max(0, self.column - 1)
        elif letter == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)

    def sequence(self, parameters, final):
        numbers = [int(number) if number.isdigit() else 0 for number in parameters.split(";")]
        count = max(1, numbers[0])
        if final in "ABCDEFGd":
            row = {"A": self.row - count, "B": self.row + count, "E": self.row + count, "F": self.row - count,
                   "d": count - 1}.get(final, self.row)
            column = {"C": self.column + count, "D": self.column - count, "E": 0, "F": 0,
                      "G": count - 1}.get(final, self.column)
            self.move(row, column)
        elif final in "Hf":
            self.move(count - 1, max(1, numbers[1] if len(numbers) > 1 else 1) - 1)
        elif final == "K":
            self.erase(self.row, numbers[0])
        elif final == "J":
            self.erase(self.row, numbers[0])
            others = {0: range(self.row + 1, self.rows), 1: range(self.row)}.get(numbers[0], range(self.rows))
            for row in others:
                self.cells[row] = self.blank()
        elif final == "c" and parameters in ("", "0"):
            self.replies += "\x1b[?62c"
        elif final == "n" and parameters == "6":
            self.replies += f"\x1b[{self.row + 1};{self.column + 1}R"

    def move(self, row, column):
        self.row = min(max(0, row), self.rows - 1)
        self.column = min(max(0, column), self.columns - 1)

    def erase(self, row, kind):
        column = min(self.column, self.columns - 1)
        erased = {0: range(column, self.columns), 1: range(column + 1)}.get(kind, range(self.columns))
        for column in erased:
            self.cells[row][column] = " "


class Terminal:
    """A process whose terminal this is."""

    def __init__(self, words, project, environment, rows=100, columns=160):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        # The new session takes the terminal for its own when its first process opens it again.
        take = ["/bin/sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(slave), *words]
        self.child = subprocess.Popen(take, cwd=project, env={**environment, "TERM": "xterm-256color"},
                                      stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)
        self.screen = Screen(rows, columns)
        self.lock = threading.Lock()
        self.changed = time.monotonic()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while True:
            try:
                output = os.read(self.master, 65536)
            except OSError:
                return  # The process ended.
            with self.lock:
                before = self.screen.text()
                self.screen.feed(decoder.decode(output))
                replies, self.screen.replies = self.screen.replies, ""
                if self.screen.text() != before:
                    self.changed = time.monotonic()
            if replies:
                self.type(replies)

    def type(self, keys):
        try:
            os.write(self.master, keys.encode())
        except OSError as error:
            raise AgentBroke(f"the agent reads no more: {error}") from error

    def text(self):
        with self.lock:
            return self.screen.text()

    def forget(self):
        """Blanks what is shown above the prompt, so that what is shown later is new. The program does not know."""
        with self.lock:
            for row in range(self.screen.row - 2):
                self.screen.cells[row] = self.screen.blank()

    def was(self, is_awaited, limit):
        """Whether `is_awaited` holds for the screen within `limit` seconds."""
        try:
            self.wait(is_awaited, "change", limit)
        except AgentBroke:
            return False
        return True

    def wait(self, is_awaited, name, limit=LIMIT, still=0):
        """The screen's text, once `is_awaited` holds for it and nothing changed on it for `still` seconds."""
        deadline = time.monotonic() + limit
        while True:
            text = self.text()
            if is_awaited(text) and time.monotonic() - self.changed >= still:
                return text
            is_over = self.child.poll() is not None and not is_awaited(text)
            if is_over or time.monotonic() > deadline:
                shown = "\n".join(line for line in text.splitlines() if line)[-1500:]
                raise AgentBroke(f"no {name} in time; the screen shows:\n{shown}")
            time.sleep(0.03)
