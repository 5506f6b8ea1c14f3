"""How fast the terminal app is: its first paint and its keys, against the least app there is.

Run it from a checkout: `python tests/benchmarks/tui.py`. First paints are whole processes on a terminal of their own,
from the start to the picture, in turns, as a ratio. A key is timed from the byte that the terminal sends to the text
that it brings onto the screen, at both sizes in turns with a key of an app that has a field and a label.
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
from shapecalc.tui.explore import Explore
from shapecalc.tui.question import question_from_words
from tests.benchmarks.harness import ASK, ROOT, in_turns, medians, used_seconds

ROUNDS, KEYS, HELD = 21, 200, 100
LEAST = "a field and a label"
SIZES = ((80, 24), (200, 60))
TURNED = "7,6,5,4,3,2,1,0"
RANK_8 = ["shuffle", "2,3,4,5,6,7,8,2", "--first", TURNED, "--to", "0,0,0,0,0,-1,2,3", "--second", TURNED]
LABEL = """
from textual.app import App
from textual.widgets import Input, Label
class A(App):
    def compose(self):
        yield Label('answer hidden')
"""
ECHO = LABEL.replace("yield", "yield Input()\n        yield") + (
    "    def on_input_changed(self, event):\n        self.query_one(Label).update(f'typed {event.value}!')\n"
)
LEAST_APPS = [[sys.executable, "-c", f"{code}A().run()"] for code in (LABEL, ECHO)]
TUI = [*ASK, "tui"]
APPS = {"Textual app with a Label": LEAST_APPS[0], "shapecalc tui": [*TUI, "reshape", "2,3,4", "0,-1"]}
TYPED = {
    "a step": [(b"\x1b[5~", b"move axes]"), (b"\x1b[6~", b"Transpose moves")],
    "a digit": [(b"0", b"8,20 --f"), (b"\x7f", b"7,8,2 --f")],
    LEAST: [(b"0", b"typed 0!"), (b"\x7f", b"typed !")],
}
"""Keys as a terminal sends them, with what each brings onto the screen; the last are for the least app."""
PAINTED = b"answer"
"""What all show in their first picture."""


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command: list[str], size: tuple[int, int] = SIZES[0]) -> None:
        """Start it, and wait for its first picture."""
        self.parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        env = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled once
        self.running = subprocess.Popen(
            command, stdin=child, stdout=child, stderr=child, env=env, start_new_session=True
        )
        os.close(child)
        self.until(PAINTED)

    def until(self, text: bytes) -> None:
        """Wait until it writes a text."""
        seen = b""
        while text not in seen:
            seen += os.read(self.parent, 65536)

    def seconds(self, key: bytes, text: bytes) -> float:
        """Return the seconds from a key to the text that it brings."""
        sleep(0.1)
        while select.select([self.parent], [], [], 0)[0]:
            os.read(self.parent, 65536)
        start = perf_counter()
        os.write(self.parent, key)
        self.until(text)
        return perf_counter() - start

    def end(self) -> None:
        """Stop it."""
        os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait()
        os.close(self.parent)


def first_paint(command: list[str]) -> float:
    """Return the seconds from starting a process to its first picture."""
    start = perf_counter()
    terminal = Terminal(command)
    taken = perf_counter() - start
    terminal.end()
    return taken


def put_keys(size: tuple[int, int]) -> None:
    """Print the median, the 95th percentile and the CPU time of each kind of key, and the last two as ratios."""
    ours = [*TUI, *RANK_8, "--step", "last"]
    terminals = {name: Terminal(LEAST_APPS[1] if name == LEAST else ours, size) for name in TYPED}
    sleep(1)
    before = {name: used_seconds(terminal.running.pid) for name, terminal in terminals.items()}
    keys = {name: cycle(each) for name, each in TYPED.items()}
    found = in_turns(KEYS, {name: lambda n=name, t=each: t.seconds(*next(keys[n])) for name, each in terminals.items()})
    spent = {name: (used_seconds(each.running.pid) - before[name]) / KEYS for name, each in terminals.items()}
    for terminal in terminals.values():
        terminal.end()
    high = {name: sorted(times)[int(0.95 * KEYS)] for name, times in found.items()}
    head = f"from a key to the picture, rank 8, {size[0]}x{size[1]}".ljust(44)
    print(f"\n{head}  median     95th  ratio     CPU  ratio")
    for name, times in found.items():
        figures = (
            f"{statistics.median(times) * 1e3:6.1f} ms {high[name] * 1e3:6.1f} ms  {high[name] / high[LEAST]:5.2f}"
        )
        print(f"{name.ljust(42)} {figures} {spent[name] * 1e3:4.1f} ms  {spent[name] / spent[LEAST]:5.2f}")


async def put_held(words: list[str]) -> None:
    """Print how often the screen is drawn for a held key, and how long it takes until all is done."""
    shows, show = [], Explore.draw
    Explore.draw = lambda self: shows.append(show(self))  # type: ignore[method-assign]
    app = ShapecalcApp(question_from_words(words), 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shows.clear()
        start = perf_counter()
        for turn in range(HELD):
            app.post_message(events.Key("pagedown" if turn % 20 < 10 else "pageup", None))
        await pilot.pause()
        print(f"\n{HELD} keys at once: drawn {len(shows)} times in {(perf_counter() - start) * 1e3:.0f} ms")


if __name__ == "__main__":
    paints = medians(in_turns(ROUNDS, {name: partial(first_paint, command) for name, command in APPS.items()}))
    print("first paint".ljust(44) + "  median   ratio")
    for name, taken in paints.items():
        print(f"{name.ljust(42)} {taken * 1e3:6.0f} ms  {taken / next(iter(paints.values())):5.2f}")
    for size in SIZES:
        put_keys(size)
    asyncio.run(put_held(RANK_8))
