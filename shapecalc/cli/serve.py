"""`shapecalc serve`: the terminal app in a browser."""

from __future__ import annotations

import socket
import sys
from ipaddress import ip_address
from shlex import join

from shapecalc.cli.answer import print_error
from shapecalc.cli.options import Option, Takes
from shapecalc.cli.output import Exit, stream_error, tell
from shapecalc.cli.signature import make_command
from shapecalc.cli.tui import PARAMETERS, UNKNOWN
from shapecalc.core.sizes.problem import ShapeError
from shapecalc.core.sizes.quoting import visible
from shapecalc.core.sizes.record import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import typer

    from shapecalc.cli.output import Output
    from shapecalc.cli.tui import TerminalApp

SUMMARY = "Serve the terminal app to a browser on this machine."
HELP = f"""\b
  shapecalc serve
  shapecalc serve shuffle 2,3,4 --first 1,0,2 --to 2,-1,3
  shapecalc serve --port 8080

{SUMMARY} Needs: pip install 'shapecalc[serve]'."""
WORDS = replace(PARAMETERS[0], help="what to open with")
HOST = Option("host", "The address to listen on.", metavar="ADDRESS", default="127.0.0.1", shows_default=True)
PORT = Option(
    "port",
    "The port to listen on, 1 to 65535.",
    Takes.NUMBER,
    metavar="N",
    default="8000",
    shows_default=True,
    least=1,
    most=65535,
)


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    made = make_command(run_serve, [WORDS, HOST, PORT], with_context=True)
    app.command("serve", cls=cls, short_help=SUMMARY, help=HELP, context_settings=UNKNOWN)(made)


def run_serve(context: typer.Context, words: list[str] | None, host: str, port: int, out: Output) -> int:
    """Serve until interrupted; every visitor gets an app of their own."""
    app: TerminalApp[Any] = context.obj
    words = words or []
    try:
        app.question_of(words)
    except ShapeError as error:
        return print_error(error, "serve", {"command": " ".join(words) or None}, out)
    try:
        from rich.console import Console
        from textual_serve.server import Server
    except ImportError:
        raise stream_error("serve", "textual-serve is not installed; pip install 'shapecalc[serve]'") from None
    _check_free(host, port)
    if not _is_loopback(host):
        tell(
            f"shapecalc: there is no authentication: whoever reaches {visible(host) or 'this machine'} can use the app"
        )
    server = Server(join([sys.executable, "-m", "shapecalc", "tui", *words]), host=host, port=port, title="shapecalc")
    server.console = Console(stderr=True)
    try:
        server.serve()
    except OSError as error:
        raise stream_error(f"{visible(host)}:{port}", error.strerror) from None
    return Exit.YES


def _check_free(host: str, port: int) -> None:
    """Raise `RunEnded` if nobody can listen at an address, before anything says that somebody does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except (OSError, UnicodeError) as error:
        raise stream_error(f"{visible(host)}:{port}", getattr(error, "strerror", None) or str(error)) from None


def _is_loopback(host: str) -> bool:
    """Say whether an address is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
