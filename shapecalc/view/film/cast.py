"""Films as asciicast (version 2), which terminals replay, and as plain text."""

from __future__ import annotations

import json
from io import StringIO

from rich.console import Console

from shapecalc.view.film.frames import moments
from shapecalc.view.film.screen import screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rich.text import Text

    from shapecalc.view.film.frames import Film

CLEAR = "\x1b[?25l\x1b[2J"
"""What hides the cursor and clears the screen before the first picture."""
END = "\x1b[?25h"


def cast(film: Film) -> bytes:
    """Return a film as an asciicast: a header, and the lines that change with their seconds.

    Source: asciicast v2, docs.asciinema.org.
    """
    header = {"version": 2, "width": film.width, "height": film.height, "title": film.title}
    lines, shown, hundredths = [json.dumps(header)], [""] * film.height, 0
    for sprites, stands in moments(film):
        now = _terminal_lines(screen(film, sprites), film)
        changed = [f"\x1b[{row + 1};1H{line}\x1b[0m\x1b[K" for row, line in enumerate(now) if line != shown[row]]
        text = ("" if hundredths else CLEAR) + "".join(changed)
        if text:
            lines.append(json.dumps([hundredths / 100, "o", text]))
        shown, hundredths = now, hundredths + stands
    lines.append(json.dumps([hundredths / 100, "o", f"{END}\x1b[{film.height};1H"]))
    return "".join(f"{line}\n" for line in lines).encode()


def _terminal_lines(text: Text, film: Film) -> list[str]:
    """Return the lines of a picture with the codes that colour them."""
    console = Console(file=StringIO(), force_terminal=True, color_system="truecolor", width=film.width, no_color=False)
    lines = []
    for line in text.split("\n", allow_blank=True):
        with console.capture() as captured:
            console.print(line, end="", soft_wrap=True, highlight=False)
        lines.append(captured.get())
    return lines


def txt(film: Film) -> bytes:
    """Return every frame of a film as text, each under a line with its number and its second."""
    parts = []
    for number, (frame, second) in enumerate(zip(film.frames, film.starts, strict=False), 1):
        lines = [line.rstrip() for line in screen(film, frame.sprites.values()).plain.rstrip().split("\n")]
        parts.append("\n".join([f"--- frame {number} of {len(film.frames)}, {second:.1f} s ---", *lines, "", ""]))
    return "".join(parts).encode()
