"""`shapecalc backends`: what can carry an answer out here."""

from __future__ import annotations

from shapecalc.cli.options import Command, printing_options
from shapecalc.cli.output import Exit, put, put_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.output import Output


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


BACKENDS_COMMAND = Command(
    name="backends",
    run=run_backends,
    parameters=printing_options("json"),
    summary="List the backends with their versions, devices and memory.",
    examples="""\
  shapecalc backends
  shapecalc backends --json""",
)
