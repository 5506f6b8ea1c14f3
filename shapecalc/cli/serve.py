"""`shapecalc serve`: the terminal app in a browser."""

from __future__ import annotations

import socket
import sys
from ipaddress import ip_address
from shlex import join
from typing import Annotated

import typer

from shapecalc.cli.answer import refused, unpadded
from shapecalc.cli.options import Output
from shapecalc.cli.output import Exit, failed, tell
from shapecalc.cli.tui import UNKNOWN, openings
from shapecalc.core.problem import ShapeError
from shapecalc.core.wording import visible

SUMMARY = "Serve the terminal app to a browser on this machine."
HELP = f"""\b
  shapecalc serve
  shapecalc serve shuffle 2,3,4 --first 1,0,2 --to 2,-1,3
  shapecalc serve --port 8080

{SUMMARY} Needs: pip install 'shapecalc[serve]'."""
LOOPBACK = "127.0.0.1"


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("serve", cls=cls, short_help=SUMMARY, help=HELP, context_settings=UNKNOWN)(serve)


def serve(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[OP ARGS...]", help="what to open with", autocompletion=openings, show_default=False),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen on.", metavar="ADDRESS")] = LOOPBACK,
    port: Annotated[int, typer.Option("--port", help="The port to listen on.", metavar="N", min=1, max=65535)] = 8000,
) -> int:
    """Serve until interrupted; every visitor gets an app of their own."""
    asking = [unpadded(word) for word in (*(words or []), *ctx.args)]
    try:
        from shapecalc.tui.question import asked

        asked(asking)
    except ShapeError as error:
        return refused(error, "serve", {"command": " ".join(asking) or None}, Output())
    try:
        from rich.console import Console
        from textual_serve.server import Server
    except ImportError:
        raise failed("serve", "textual-serve is not installed; pip install 'shapecalc[serve]'") from None
    _check_free(host, port)
    if not _is_loopback(host):
        tell(
            f"shapecalc: there is no authentication: whoever reaches {visible(host) or 'this machine'} can use the app"
        )
    server = Server(join([sys.executable, "-m", "shapecalc", "tui", *asking]), host=host, port=port, title="shapecalc")
    server.console = Console(stderr=True)
    try:
        server.serve()
    except OSError as error:
        raise failed(f"{visible(host)}:{port}", error.strerror) from None
    return Exit.YES


def _check_free(host: str, port: int) -> None:
    """Raise `RunEnded` where nobody can listen at an address, before anything says that somebody does."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        socket.create_server((host, port), family=family).close()
    except (OSError, UnicodeError) as error:
        raise failed(f"{visible(host)}:{port}", getattr(error, "strerror", None) or str(error)) from None


def _is_loopback(host: str) -> bool:
    """Say whether an address is this machine's own."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
