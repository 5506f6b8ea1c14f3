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
from pathlib import Path
from time import perf_counter, sleep

from textual import events

from shapecalc.tui.app import ShapecalcApp
from shapecalc.tui.explore import Explore
from shapecalc.tui.question import question_of

ROOT = str(Path(__file__).parents[2])
ROUNDS = 21
LEAST = "a field and a label"
KEYS = 200
SIZES = ((80, 24), (200, 60))
HELD = 100
RANK_8 = ["shuffle", "2,3,4,5,6,7,8,2", "--first", "7,6,5,4,3,2,1,0", "--to", "0,0,0,0,0,-1,2,3"]
RANK_8 += ["--second", "7,6,5,4,3,2,1,0"]
LABEL = "from textual.app import App; from textual.widgets import Label\n" + (
    "class A(App):\n    def compose(self):\n        yield Label('answer hidden')\nA().run()"
)
ECHO = "from textual.app import App; from textual.widgets import Input, Label\n" + (
    "class A(App):\n"
    "    def compose(self):\n        yield Input()\n        yield Label('answer')\n"
    "    def on_input_changed(self, event):\n        self.query_one(Label).update(f'typed {event.value}!')\n"
    "A().run()"
)
APPS = {
    "Textual app with a Label": [sys.executable, "-c", LABEL],
    "shapecalc tui": [sys.executable, "-m", "shapecalc", "tui", "reshape", "2,3,4", "0,-1"],
}
TYPED = {
    "a step": [(b"\x1b[5~", b"move axes]"), (b"\x1b[6~", b"Transpose moves")],
    "a digit": [(b"0", b"8,20 --f"), (b"\x7f", b"7,8,2 --f")],
}
"""Keys as a terminal sends them, with what each brings onto the screen."""
ECHOED = [(b"0", b"typed 0!"), (b"\x7f", b"typed !")]
"""The same for the app that has a field and a label."""
PAINTED = b"answer"
"""What both show in their first picture."""


def first_paint(command: list[str]) -> float:
    """Return the seconds from starting a process to its first picture."""
    start = perf_counter()
    terminal = Terminal(command)
    terminal.until(PAINTED)
    taken = perf_counter() - start
    terminal.end()
    return taken


def first_paints() -> dict[str, float]:
    """Return the median time to the first picture of each app, measured in turns."""
    times: dict[str, list[float]] = {name: [] for name in APPS}
    for _ in range(ROUNDS):
        for name, command in APPS.items():
            times[name].append(first_paint(command))
    return {name: statistics.median(taken) for name, taken in times.items()}


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, command: list[str], size: tuple[int, int] = SIZES[0]) -> None:
        """Start it."""
        self.parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        env = {**os.environ, "PYTHONPATH": ROOT, "TERM": "xterm-256color"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed is compiled once
        self.running = subprocess.Popen(
            command, stdin=child, stdout=child, stderr=child, env=env, start_new_session=True
        )
        os.close(child)

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

    @property
    def cpu(self) -> float:
        """The CPU seconds that it has taken."""
        fields = Path(f"/proc/{self.running.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self) -> None:
        """Stop it."""
        os.killpg(self.running.pid, signal.SIGKILL)
        self.running.wait()
        os.close(self.parent)


def key_seconds(size: tuple[int, int]) -> dict[str, tuple[list[float], float]]:
    """Return the seconds from each key to what it brings, in turns, and the CPU seconds of one key."""
    ours = {name: Terminal([*APPS["shapecalc tui"], *RANK_8, "--step", "last"], size) for name in TYPED}
    terminals, keys = ours | {LEAST: Terminal([sys.executable, "-c", ECHO], size)}, TYPED | {LEAST: ECHOED}
    for terminal in terminals.values():
        terminal.until(b"answer")
    sleep(1)
    before = {name: terminal.cpu for name, terminal in terminals.items()}
    taken: dict[str, list[float]] = {name: [] for name in terminals}
    for turn in range(KEYS):
        for name, terminal in terminals.items():
            taken[name].append(terminal.seconds(*keys[name][turn % len(keys[name])]))
    spent = {name: (terminal.cpu - before[name]) / KEYS for name, terminal in terminals.items()}
    for terminal in terminals.values():
        terminal.end()
    return {name: (sorted(times), spent[name]) for name, times in taken.items()}


def put_keys(size: tuple[int, int]) -> None:
    """Print the median, the 95th percentile and the CPU time of each kind of key, and the last two as ratios."""
    head = f"from a key to the picture, rank 8, {size[0]}x{size[1]}".ljust(44)
    print(f"\n{head}  median     95th  ratio     CPU  ratio")
    found, at = key_seconds(size), int(0.95 * KEYS)
    least, least_cpu = found[LEAST][0][at], found[LEAST][1]
    for name, (times, cpu) in found.items():
        figures = f"{statistics.median(times) * 1e3:6.1f} ms {times[at] * 1e3:6.1f} ms  {times[at] / least:5.2f}"
        print(f"{name.ljust(42)} {figures} {cpu * 1e3:4.1f} ms  {cpu / least_cpu:5.2f}")


shows: list[None] = []
"""One entry for each time that the screen was drawn from the state."""


def counted() -> None:
    """Count how often the main screen is drawn."""
    show = Explore.show

    def counting(self: Explore) -> None:
        show(self)
        shows.append(None)

    Explore.show = counting  # type: ignore[method-assign]


async def held(words: list[str]) -> tuple[int, float]:
    """Return how often the screen is drawn for a held key, and the seconds until all is done."""
    app = ShapecalcApp(question_of(words), 0)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        shows.clear()
        start = perf_counter()
        for turn in range(HELD):
            app.post_message(events.Key("pagedown" if turn % 20 < 10 else "pageup", None))
        await pilot.pause()
        return len(shows), perf_counter() - start


def main() -> None:
    """Print every figure."""
    counted()
    paints = first_paints()
    base = next(iter(paints.values()))
    print("first paint".ljust(44) + "  median   ratio")
    for name, taken in paints.items():
        print(f"{name.ljust(42)} {taken * 1e3:6.0f} ms  {taken / base:5.2f}")
    for size in SIZES:
        put_keys(size)
    drawn, seconds = asyncio.run(held(RANK_8))
    print(f"\n{HELD} keys at once: drawn {drawn} times in {seconds * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
