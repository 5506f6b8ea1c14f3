"""What the command line does with pictures: the one of a step, written into a file."""

from __future__ import annotations

from shapecalc.cli.output import tell
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.text import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.cli.output import Output
    from shapecalc.core.answers import Chain, Trace


def write_picture(answer: Trace | Chain, out: Output) -> None:
    """Write the picture that is asked for, and tell so. A refused request is drawn as far as it got.

    Raises `ShapeError`: usage for options that cannot be met, file if the file cannot be written.
    """
    if out.picture is None:
        raise misuse("--step, --theme and --width need a picture", "add --picture FILE")
    from shapecalc.view.still import WIDTH, still

    data = still(answer, out.picture, out.step, theme=out.theme, width=out.width or WIDTH)
    write_file(out.picture, data, force=out.force)
    if not (out.quiet or out.json):
        step = "" if out.step is None else f" of step {out.step} of {len(answer.steps)}"
        tell(visible(f"shapecalc: {out.picture}: a picture{step}"))


def write_file(name: str, data: bytes, *, force: bool) -> None:
    """Write a whole file; raise `ShapeError` (file) if that cannot be done."""
    from pathlib import Path

    from shapecalc.engine.whole_files import write_whole

    try:
        write_whole(Path(name), data, force=force)
    except FileExistsError as error:
        raise ShapeError(Problem(FILE, f"{error}; --force writes over it")) from None
    except OSError as error:
        raise ShapeError(Problem(FILE, str(error))) from None
