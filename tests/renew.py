"""Writes anew what tests expect, and prints what changed: `python -m tests.renew [--check] [KIND ...]`.

Tests compare with what the same functions make. Whoever renews looks at the changes, and keeps them if they are right.
With `--check` nothing is written, and the exit code is 1 if something would be.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from difflib import unified_diff
from html import unescape
from pathlib import Path

from tests import doctests, transcripts
from tests.man import tables
from tests.render import film_picture, golden_pictures
from tests.render.golden_pictures import GOLDEN
from tests.sessions import MARKDOWN, PAGES, ROOT, renewed_markdown, renewed_page
from tests.tui import scenes

TRANSCRIPTS = [ROOT / "tests" / part / "test_transcripts.py" for part in ("cli", "tui")]
Expected = Iterator[tuple[Path, str | None]]
"""Files, each with what it should hold; None of a file that should not be there."""


def renewed(files: Iterable[Path], renew: Callable[[str], str]) -> Expected:
    """Yield files with what is drawn or printed in them made anew."""
    return ((file, renew(file.read_text("utf-8"))) for file in files)


def man() -> Expected:
    """Yield the manual pages: the tables of those that have them, and the sessions and the Python of the others."""
    yield from ((page, tables.page(page)) for page in tables.TABLES)
    yield from renewed((page for page in PAGES if page not in tables.TABLES), renewed_page)


def screens() -> Expected:
    """Yield the screenshots and the film of the README, and those that nothing makes any more."""
    made = {scenes.FOLDER / f"{name}.svg": scenes.picture(scene) for name, scene in scenes.SCENES.items()}
    made |= {scenes.VERSIONS: scenes.versions(), film_picture.FILM: film_picture.made().decode("utf-8")}
    yield from (dict.fromkeys(scenes.FOLDER.glob("*.svg")) | made).items()


KINDS: dict[str, Callable[[], Expected]] = {
    "doctests": lambda: doctests.renewed(ROOT / "shapecalc", ROOT / "tests"),
    "golden": lambda: renewed(sorted(GOLDEN.iterdir()), golden_pictures.renewed),
    "readme": lambda: renewed(MARKDOWN, renewed_markdown),
    "man": man,
    "screens": screens,
    "transcripts": lambda: transcripts.renewed(*TRANSCRIPTS),
}
"""What there is to renew."""


def renew(kinds: Iterable[str], *, write: bool) -> int:
    """Write what these kinds expect, or only look for it, print what changed, and return how many files did."""
    count = 0
    for kind in kinds:
        for file, text in KINDS[kind]():
            before = file.read_text("utf-8") if file.exists() else None
            if text != before:
                count += 1
                print(change(file, before, text), end="", flush=True)
                if write:
                    file.unlink() if text is None else file.write_text(text, "utf-8")
    return count


def change(file: Path, before: str | None, after: str | None) -> str:
    """Return what changed in a file, line by line."""
    name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name
    lines = unified_diff(shown(file, before), shown(file, after), name, name, n=0, lineterm="")
    return "".join(f"{line}\n" for line in lines) or f"--- {name}: only how it looks\n"


def shown(file: Path, text: str | None) -> list[str]:
    """Return the lines that a file shows; of a picture, the words in it."""
    if file.suffix == ".svg":
        return [unescape(words) for words in re.findall(r"<text[^>]*>([^<]+)", text or "")]
    return (text or "").splitlines()


def main(words: list[str]) -> int:
    """Renew what is named, or everything."""
    parser = argparse.ArgumentParser(prog="python -m tests.renew", description=__doc__.split("\n\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument(
        "--check", action="store_true", help="print what would change, and exit with 1 if anything would"
    )
    given = parser.parse_args(words)
    if wrong := [kind for kind in given.kinds if kind not in KINDS]:
        parser.error(f"{wrong[0]} is none of {', '.join(KINDS)}")
    count = renew(given.kinds or KINDS, write=not given.check)
    print(f"{count} {'file' if count == 1 else 'files'} {'would change' if given.check else 'changed'}")
    return 1 if given.check and count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
