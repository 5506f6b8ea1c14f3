"""Update the expected output of tests, and print the changes: `python -m tests.renew [--check] [KIND ...]`.

Review the changes before you commit them. `--check` writes nothing, and the exit code is 1 if a file would change.
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
from tests.sessions import MARKDOWN, PAGES, ROOT, update_markdown, update_page
from tests.tui import scenes

TRANSCRIPTS = [ROOT / "tests" / part / "test_transcripts.py" for part in ("cli", "tui")]
Expected = Iterator[tuple[Path, str | None]]
"""The files with their expected texts, or None for a file that should not exist."""


def updated_files(files: Iterable[Path], renew: Callable[[str], str]) -> Expected:
    """Yield files with their updated texts."""
    return ((file, renew(file.read_text("utf-8"))) for file in files)


def manual_pages() -> Expected:
    """Yield the manual pages with generated tables, then the pages with sessions."""
    yield from ((page, tables.page(page)) for page in tables.TABLES)
    yield from updated_files((page for page in PAGES if page not in tables.TABLES), update_page)


def screenshots() -> Expected:
    """Yield the screenshots and the film of the README, and obsolete files with None."""
    pictures = {scenes.FOLDER / f"{name}.svg": scenes.picture(scene) for name, scene in scenes.SCENES.items()}
    pictures |= {scenes.VERSIONS: scenes.versions(), film_picture.FILM: film_picture.made().decode("utf-8")}
    yield from (dict.fromkeys(scenes.FOLDER.glob("*.svg")) | pictures).items()


KINDS: dict[str, Callable[[], Expected]] = {
    "doctests": lambda: doctests.updated_modules(ROOT / "shapecalc", ROOT / "tests"),
    "golden": lambda: updated_files(sorted(GOLDEN.iterdir()), golden_pictures.renewed),
    "readme": lambda: updated_files(MARKDOWN, update_markdown),
    "man": manual_pages,
    "screens": screenshots,
    "transcripts": lambda: transcripts.updated_files(*TRANSCRIPTS),
}
"""The function that yields the files of each kind of expected output."""


def renew(kinds: Iterable[str], *, write: bool) -> int:
    """Print the changes of these kinds, write them if `write`, and return the number of changed files."""
    count = 0
    for kind in kinds:
        for file, text in KINDS[kind]():
            before = file.read_text("utf-8") if file.exists() else None
            if text != before:
                count += 1
                print(format_diff(file, before, text), end="", flush=True)
                if write:
                    file.unlink() if text is None else file.write_text(text, "utf-8")
    return count


def format_diff(file: Path, before: str | None, after: str | None) -> str:
    """Return the changed lines of a file."""
    name = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name
    lines = unified_diff(visible_lines(file, before), visible_lines(file, after), name, name, n=0, lineterm="")
    return "".join(f"{line}\n" for line in lines) or f"--- {name}: only how it looks\n"


def visible_lines(file: Path, text: str | None) -> list[str]:
    """Return the lines of a text file, or the words in a picture."""
    if file.suffix == ".svg":
        return [unescape(words) for words in re.findall(r"<text[^>]*>([^<]+)", text or "")]
    return (text or "").splitlines()


def main(words: list[str]) -> int:
    """Update the named kinds of expected output, or all kinds."""
    parser = argparse.ArgumentParser(prog="python -m tests.renew", description=__doc__.split("\n\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join(KINDS))
    parser.add_argument(
        "--check", action="store_true", help="print what would change, and exit with 1 if anything would"
    )
    options = parser.parse_args(words)
    if unknown := [kind for kind in options.kinds if kind not in KINDS]:
        parser.error(f"{unknown[0]} is none of {', '.join(KINDS)}")
    count = renew(options.kinds or KINDS, write=not options.check)
    print(f"{count} {'file' if count == 1 else 'files'} {'would change' if options.check else 'changed'}")
    return 1 if options.check and count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
