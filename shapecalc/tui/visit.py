"""The app for a visitor: in a process of its own, which opens no files, writes none, and has a limit of memory.

Textual is imported in that process alone, not by the server that starts it.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress

from shapecalc.core.sizes.record import fields
from shapecalc.tui.files import close_files
from shapecalc.tui.question import Question, without_file

LARGEST = 1 << 29
"""The most bytes of memory that an app may ask the system for."""


def command_of(question: Question) -> list[str]:
    """Return the command that opens an app at a question, with what the question's file says in place of its name.

    Raises `ShapeError` (file) if that file cannot be used.
    """
    asked = without_file(question)
    return [sys.executable, "-P", "-m", __name__, json.dumps([*fields(asked).values()])]


def limit_process() -> None:
    """Let the system hold this process to its memory and keep it from writing to files, where the system can.

    Libraries of numbers set memory aside for every core that they may use, so they use one.
    """
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        import resource
    except ImportError:
        return
    for name, most in (("RLIMIT_AS", LARGEST), ("RLIMIT_FSIZE", 0)):
        with suppress(AttributeError, OSError, ValueError):
            resource.setrlimit(getattr(resource, name), (most, most))


def main() -> None:
    """Run the app for one visitor until it is left, or until the server is gone."""
    limit_process()
    close_files()
    from shapecalc.tui.app import ShapecalcApp
    from shapecalc.tui.memory import VisitorMemory
    from shapecalc.tui.progress import VisitorProgress
    from shapecalc.tui.web import PipeDriver

    app = ShapecalcApp(Question(*json.loads(sys.argv[1])), progress=VisitorProgress(), memory=VisitorMemory())
    app.driver_class = PipeDriver
    app.run()


if __name__ == "__main__":
    main()
