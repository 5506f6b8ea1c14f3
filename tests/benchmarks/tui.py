"""Measure the first paint and the keys of the terminal app, against a minimal Textual app.

Run it from a checkout: `python -m tests.benchmarks.tui`. First paints are whole processes on a pseudo-terminal,
measured in turns from the start to the first picture. A key is timed from the byte that the terminal sends to the text
on the screen, at both sizes, in turns with a key of an app with a field and a label.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import pty
import select
import signal
import statistics
import struct
import subprocess
import sys
import termios
from functools import partial
from itertools import cycle
from time import perf_counter, sleep

from textual import events

from shapecalc.tui.app import ShapecalcApp
from shapecalc.tui.explore import ExploreScreen
from shapecalc.tui.question import question_from_words
from tests.benchmarks.harness import ASK, ROOT, in_turns, medians, used_seconds

ROUNDS, KEYS, HELD_KEY_EVENTS = 21, 200, 100
LEAST = "a field and a label"
SIZES = ((80, 24), (200, 60))
TURNED = "7,6,5,4,3,2,1,0"
RANK_8 = ["shuffle", "2,3,4,5,6,7,8,2", "--first", TURNED, "--to", "0,0,0,0,0,-1,2,3", "--second", TURNED]
LABEL = """
from textual.app import App
from textual.widgets import Input, Label
class A(App):
    def compose(self):
        yield Label('2,3,4')
"""
ECHO = LABEL.replace("yield", "yield Input()\n        yield") + (
    "    def on_input_changed(self, event):\n        self.query_one(Label).update(f'typed {event.value}!')\n"
)
LEAST_APPS = [[sys.executable, "-c", f"{code}A().run()"] for code in (LABEL, ECHO)]
TUI = [*ASK, "tui"]
APPS = {"Textual app with a Label": LEAST_APPS[0], "shapecalc tui": [*TUI, "reshape", "2,3,4", "0,-1"]}
TYPED = {
    "a step": [(b"\x1b[5~", b"Step 27 of"), (b"\x1b[6~", "Why ·".encode())],
    "a digit": [(b"0", "8,20 ─".encode()), (b"\x7f", "8,2 ─".encode())],
    LEAST: [(b"0", b"typed 0!"), (b"\x7f", b"typed !")],
}
"""Keys as a terminal sends them, with the text that each displays; the last are for the minimal app."""
PAINTED = b"2,3,4"
"""A text in the first picture of all apps."""


class Terminal:
    """A program on a pseudo-terminal."""

    def __init__(self, command: list[str], size: tuple[int, int] = SIZES[0]) -> None:
        """Start the program, and wait for its first picture."""
        self.parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # so that modules are compiled once
        self.running = subprocess.Popen(
            command, stdin=child, stdout=child, stderr=child, env=env, start_new_session=True
        )
        os.close(child)
        self.until(PAINTED)

    def edit(self) -> None:
        """Focus the first field of the app, if nothing has the focus."""
        os.write(self.parent, b"e")

    def until(self, text: bytes) -> None:
        """Wait until the program writes a text."""
        seen = b""
        while text not in seen:
            seen += os.read(self.parent, 65536)

    def seconds(self, key: bytes, text: bytes) -> float:
        """Return the seconds from a key to the text that it displays."""
        sleep(0.1)
        while select.select([self.parent], [], [], 0)[0]:
            os.read(self.parent, 65536)
        start = perf_counter()
        os.write(self.parent, key)
        self.until(text)
        return perf_counter() - start

    def end(self) -> None:
        """Kill the program."""
        os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait()
        os.close(self.parent)


def first_paint(command: list[str]) -> float:
    """Return the seconds from starting a process to its first picture."""
    start = perf_counter()
    terminal = Terminal(command)
    seconds = perf_counter() - start
    terminal.end()
    return seconds


def print_key_times(size: tuple[int, int]) -> None:
    """Print the median, 95th percentile and CPU time of each kind of key, with ratios of the last two."""
    ours = [*TUI, *RANK_8, "--step", "last"]
    terminals = {name: Terminal(LEAST_APPS[1] if name == LEAST else ours, size) for name in TYPED}
    sleep(1)
    for name, terminal in terminals.items():
        if name == "a digit":
            terminal.edit()
    sleep(0.5)
    before = {name: used_seconds(terminal.running.pid) for name, terminal in terminals.items()}
    keys = {name: cycle(pairs) for name, pairs in TYPED.items()}
    results = in_turns(
        KEYS, {name: lambda n=name, t=terminal: t.seconds(*next(keys[n])) for name, terminal in terminals.items()}
    )
    spent = {name: (used_seconds(terminal.running.pid) - before[name]) / KEYS for name, terminal in terminals.items()}
    for terminal in terminals.values():
        terminal.end()
    high = {name: sorted(times)[int(0.95 * KEYS)] for name, times in results.items()}
    head = f"from a key to the picture, rank 8, {size[0]}x{size[1]}".ljust(44)
    print(f"\n{head}  median     95th  ratio     CPU  ratio")
    for name, times in results.items():
        figures = (
            f"{statistics.median(times) * 1e3:6.1f} ms {high[name] * 1e3:6.1f} ms  {high[name] / high[LEAST]:5.2f}"
        )
        print(f"{name.ljust(42)} {figures} {spent[name] * 1e3:4.1f} ms  {spent[name] / spent[LEAST]:5.2f}")


async def print_held_key_time(words: list[str]) -> None:
    """Print the number of drawings for a held key, and the time until the app is idle."""
    drawings, draw = [], ExploreScreen.draw
    ExploreScreen.draw = lambda self: drawings.append(draw(self))  # type: ignore[method-assign]
    app = ShapecalcApp(question_from_words(words), 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        drawings.clear()
        start = perf_counter()
        for turn in range(HELD_KEY_EVENTS):
            app.post_message(events.Key("pagedown" if turn % 20 < 10 else "pageup", None))
        await pilot.pause()
        print(
            f"\n{HELD_KEY_EVENTS} keys at once: drawn {len(drawings)} times in {(perf_counter() - start) * 1e3:.0f} ms"
        )


if __name__ == "__main__":
    paints = medians(in_turns(ROUNDS, {name: partial(first_paint, command) for name, command in APPS.items()}))
    print("first paint".ljust(44) + "  median   ratio")
    for name, seconds in paints.items():
        print(f"{name.ljust(42)} {seconds * 1e3:6.0f} ms  {seconds / next(iter(paints.values())):5.2f}")
    for size in SIZES:
        print_key_times(size)
    asyncio.run(print_held_key_time(RANK_8))
