"""`shapecalc backends`: what can carry an answer out here."""

from __future__ import annotations

from shapecalc.cli.options import printing_options
from shapecalc.cli.output import Exit, put, put_json
from shapecalc.cli.signature import make_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    import typer

    from shapecalc.cli.output import Output

SUMMARY = "List the backends with their versions, devices and memory."
HELP = f"""\b
  shapecalc backends
  shapecalc backends --json

{SUMMARY}"""


def add(app: typer.Typer, cls: type) -> None:
    """Give the app the command."""
    app.command("backends", cls=cls, short_help=SUMMARY, help=HELP)(
        make_command(run_backends, printing_options("json"))
    )


def run_backends(out: Output) -> int:
    """Print a line for every backend and device."""
    from shapecalc.engine.execute import list_backends

    rows = list_backends()
    if out.json:
        put_json(rows)
        return Exit.YES
    for row in rows:
        memory = "" if row["memory"] is None else f", {int(str(row['memory'])) / 2**30:.1f} GiB"
        said = row["problem"] or f"{row['version']} on {row['device']}{memory}"
        put(f"{row['name']}: {said}")
    return Exit.YES
