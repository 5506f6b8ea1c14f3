"""`shapecalc repl`: a prompt that holds a current shape."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from shapecalc.cli.output import Exit, put, stream_error, tell, tell_problem
from shapecalc.cli.session import COMMANDS, Reply, Session
from shapecalc.core.ops import OPS
from shapecalc.core.sizes.quoting import brief
from shapecalc.core.sizes.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typer

SUMMARY = "A prompt that holds a current shape and carries it from op to op."
HELP = f"""\b
  shapecalc repl
  printf '2,3,4\\nreshape 0,-1\\n' | shapecalc repl

{SUMMARY} Exit code, from a pipe: the largest of its lines."""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("repl", cls=cls, short_help=SUMMARY, help=HELP)(run_repl)


def run_repl() -> int:
    """Read lines and answer them until the end of input or `quit`."""
    session = Session()
    if sys.stdin is None:
        raise stream_error("stdin", "it is closed")
    sys.stdin.reconfigure(errors="surrogateescape")  # type: ignore[union-attr]
    if not (sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()):
        return _answer_lines(session)
    tell("shapecalc: write a shape, then ops; help lists the rest")
    with _History():
        while True:
            try:
                reply = session.reply(input(_prompt(session)))
            except EOFError:
                put("")
                return Exit.YES
            except KeyboardInterrupt:
                put("")
                continue
            if reply.done:
                return Exit.YES
            _print_reply(reply)


def _answer_lines(session: Session) -> int:
    """Answer the lines of a pipe or a file; return the largest exit code among them."""
    worst = Exit.YES
    try:
        for line in sys.stdin:
            reply = session.reply(line)
            if reply.done:
                break
            _print_reply(reply)
            worst = max(worst, reply.code)
    except OSError as error:
        raise stream_error("stdin", error.strerror) from None
    return worst


def _print_reply(reply: Reply) -> None:
    if reply.answer:
        put(reply.answer)
    if reply.story:
        tell(reply.story)
    if reply.problem:
        tell_problem(reply.problem, list(reply.pieces))


def _prompt(session: Session) -> str:
    shape = "" if session.shape is None else shape_text(session.shape)
    return " ".join(filter(None, [brief(shape), session.dialect])) + "> "


class _History:
    """Line editing and completion while the prompt runs, and a history that outlives it."""

    def __enter__(self) -> None:
        """Load the history; a missing file is an empty one."""
        import readline

        self.file = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "shapecalc" / "history"
        with suppress(OSError):
            readline.read_history_file(self.file)
        words = [*OPS, *(name.split()[0] for name in COMMANDS), "ans"]
        readline.set_completer(lambda text, at: [*(word for word in words if word.startswith(text)), None][at])
        readline.parse_and_bind("tab: complete")

    def __exit__(self, *error: object) -> None:
        """Keep the last thousand lines; tell if that fails."""
        import readline

        readline.set_history_length(1000)
        try:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            readline.write_history_file(self.file)
        except OSError as error_now:
            tell(f"shapecalc: history: {error_now.strerror}")
