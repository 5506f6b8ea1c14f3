"""`shapecalc serve`: the terminal app in a browser."""

from __future__ import annotations

import socket

from shapecalc.cli.answer import print_error
from shapecalc.cli.inputs import input_text
from shapecalc.cli.opening import opening_course, opening_question
from shapecalc.cli.options import Command, Option, Takes, printing_options
from shapecalc.cli.output import Exit, put, stream_error, tell
from shapecalc.cli.split_shapes import split_shape_error
from shapecalc.cli.tui import LESSONS, PARAMETERS
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import typer

    from shapecalc.cli.opening import TerminalApp
    from shapecalc.cli.output import Output
    from shapecalc.teaching.lessons import Course

WORDS = replace(PARAMETERS[0], help="the request to open with")
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


ALLOW_HOST = Option(
    "allow_host", "Another host name that browsers may use; may be repeated.", Takes.TEXTS, metavar="NAME"
)
SESSIONS = Option(
    "sessions",
    "How many may use it at once, 1 to 256.",
    Takes.NUMBER,
    metavar="N",
    default="8",
    shows_default=True,
    least=1,
    most=256,
)
OPENS = Option("opens", "Open the address in a browser.", Takes.NOTHING, long="--open")


def run_serve(
    context: typer.Context,
    words: list[str] | None,
    host: str,
    port: int,
    allow_host: list[str] | None,
    sessions: int,
    lesson_file: str | None,
    out: Output,
    *,
    opens: bool,
    lesson: bool,
) -> int:
    """Serve until interrupted; every visitor gets an app of their own."""
    from shapecalc.serving.door import new_door, url_host

    words = words or []
    try:
        command = _visit_command(context.obj, words, opening_course(lesson_file, lesson=lesson), out)
        door = new_door(host, allow_host or [])
    except ShapeError as error:
        shown: dict[str, object] = {"command": " ".join(words) or None}
        return print_error(split_shape_error(["serve", *words]) or error, "serve", shown, out)
    try:
        import asyncio

        from shapecalc.serving.server import Serving, serve
    except ImportError as error:
        raise stream_error("serve", f"{error.name} is not installed; pip install 'shapecalc[serve]'") from None
    with _listening(host, port) as listening:
        address = f"http://{url_host(host)}:{port}/?token={door.token}"
        _tell_address(host, address, opens=opens)
        asyncio.run(serve(Serving(command, door, sessions, tell), listening))
    return Exit.YES


def _visit_command(app: TerminalApp[Any], words: list[str], course: Course | None, out: Output) -> list[str]:
    """Return what starts an app at the question of some words; raise `ShapeError` (usage, file) if there is none."""
    question = opening_question(app, words, out)
    if question.texts.get("input", "").strip() == "-":
        question = question.with_text("input", input_text("-"))
    return app.visit(question, course)


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address; raise `RunEnded` if nobody can."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        raise stream_error(f"{visible(host)}:{port}", getattr(error, "strerror", None) or str(error)) from None


def _tell_address(host: str, address: str, *, opens: bool) -> None:
    """Print the address, and say who can use it and what they cannot do; open it in a browser if that is asked for."""
    from shapecalc.serving.door import is_loopback

    put(address)
    tell("shapecalc: serving until interrupted; the apps that are served open no files and write none")
    if not is_loopback(host):
        tell("shapecalc: the address and all that is typed can be read on the network, since nothing is encrypted")
    if opens:
        import webbrowser
        from threading import Thread

        Thread(target=webbrowser.open, args=[address], daemon=True).start()


SERVE_COMMAND = Command(
    name="serve",
    run=run_serve,
    parameters=[
        WORDS,
        HOST,
        PORT,
        ALLOW_HOST,
        SESSIONS,
        OPENS,
        *LESSONS,
        *printing_options("no_config"),
    ],
    summary="Serve the terminal app to a browser on this machine.",
    examples="""\
  shapecalc serve
  shapecalc serve shuffle 2,3,4 --first 1,0,2 --to 2,-1,3
  shapecalc serve --open --port 8080
  shapecalc serve --lesson-file week3.toml
  shapecalc serve --host 0.0.0.0 --allow-host box.example""",
    more=""" Whoever has the address that is printed can use it.
Needs: pip install 'shapecalc[serve]'.""",
    with_context=True,
    takes_unknown=True,
)
