"""`shapecalc find`: the chains that lead from one shape to another."""

from __future__ import annotations

from shapecalc.cli.answer import print_error
from shapecalc.cli.inputs import file_error, input_text, read_input
from shapecalc.cli.options import Argument, Command, Option, Takes, printing_options
from shapecalc.cli.output import Exit, put, put_json, tell
from shapecalc.core.conditions import Never, equal
from shapecalc.core.dims import product
from shapecalc.core.find import named_shape
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.text import number_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from shapecalc.cli.output import Output
    from shapecalc.core.dims import Shape
    from shapecalc.core.find import Found

SHAPES = (
    Argument("input", "the shape to start from", "[INPUT]", required=False),
    Argument("output", "the shape to arrive at", "[OUTPUT]", required=False),
)
PAIRS = (
    Option("before", "An array of INPUT's shape; may be repeated.", Takes.TEXTS, metavar="FILE"),
    Option("after", "The array that it must become; may be repeated.", Takes.TEXTS, metavar="FILE"),
)
LONGEST_COPY = 1 << 28
"""Up to this many bytes of an array are read into memory, more into a scratch file."""


def run_find(
    input: str | None, output: str | None, before: list[str] | None, after: list[str] | None, out: Output
) -> int:
    """Print the chains, or their JSON; return whether there are any as an exit code."""
    texts: dict[str, object] = {"input": input, "output": output}
    try:
        shapes = _shapes(input, output, needed=not before)
        arrays = _arrays(before or [], after or [])
        found = _found(shapes, arrays)
    except ShapeError as error:
        return print_error(error, "find", {name: text for name, text in texts.items() if text is not None}, out)
    if out.json and not out.quiet:
        put_json(found.as_json())
    elif not out.quiet:
        for way in found.ways:
            put(way.chain)
        _tell_limits(found)
        tell(f"shapecalc: {_counts(found) if found.ways or arrays else _volumes(shapes or ())}")
    return Exit.YES if found.ways else Exit.NO


def _shapes(before: str | None, after: str | None, *, needed: bool) -> tuple[Shape, Shape] | None:
    """Return the two shapes; None if arrays stand in their place. Raises `ShapeError`: usage, file."""
    if before is None and not needed:
        return None
    if before is None or after is None:
        raise misuse("find needs two shapes, or arrays with --before and --after", "write find INPUT OUTPUT")
    given = read_input(input_text(before), {}, RESHAPE.name).shape
    return named_shape(given, "input"), named_shape(after, "output")


def _arrays(before: list[str], after: list[str]) -> list[tuple[Any, Any]]:
    """Return the arrays in pairs; raise `ShapeError`: usage if they are not pairs, file if one cannot be read."""
    if len(before) != len(after):
        given, wanted = (number_text(len(each), "time", "times") for each in (before, after))
        raise misuse(f"--before was given {given}, and --after {wanted}")
    if not before:
        return []
    from shapecalc.engine.arrays import FileError, copy_of, open_array

    try:
        read = {text: copy_of(open_array(text), LONGEST_COPY) for text in (*before, *after)}
    except FileError as error:
        raise file_error(error) from None
    return [(read[first], read[second]) for first, second in zip(before, after, strict=True)]


def _found(shapes: tuple[Shape, Shape] | None, arrays: list[tuple[Any, Any]]) -> Found:
    """Return the chains between shapes, or those that do what pairs of arrays show."""
    from shapecalc.engine.finding import chains_between, chains_for

    return chains_between(*shapes) if shapes and not arrays else chains_for(arrays, shapes)


def _tell_limits(found: Found) -> None:
    """Tell under which conditions the chains hold; they are the same for all, since all have the same shapes."""
    from shapecalc.engine.finding import answer_of

    for way in found.ways[:1]:
        for condition in answer_of(way, {}).conditions:
            tell(f"shapecalc: holds when {condition.words}")


def _counts(found: Found) -> str:
    """Say how many functions fit, and how many of them are listed."""
    fits = f"{'' if found.complete else 'at least '}{found.fits or 'no'} function{'' if found.fits == 1 else 's'}"
    listed = f", of which {len(found.ways)} are listed" if len(found.ways) < found.fits else ""
    return f"{fits} fit{'s' * (found.fits == 1)}{listed}"


def _volumes(shapes: Sequence[Shape]) -> str:
    """Say why no chain leads from one shape to the other."""
    have, want = map(product, shapes)
    try:
        words = " and ".join(condition.words for condition in equal(have, want))
    except Never:
        words = ""
    return f"no chain leads there: {have} elements in, {want} out" + (f" (as many when {words})" if words else "")


FIND_COMMAND = Command(
    name="find",
    run=run_find,
    parameters=[*SHAPES, *PAIRS, *printing_options("json", "quiet")],
    summary="Find the chains that lead from one shape to another.",
    examples="""\
  shapecalc find B,H*W,C B,C,H,W
  shapecalc find --before x.npy --after y.npy
  shapecalc find B,H*W,C B,C,H,W --before x.npy --after y.npy""",
    more=""" The chain that moves no element comes first, then those with one transpose. It also says how many
functions fit. It tries a single reshape, then a split into as few parts as possible with one transpose and one
merge. It does not split further, so it does not find 6,10 to 2,3,2,5 to 4,15. With arrays, it lists only the
chains that turn --before into --after. The elements of --before must all differ, as 0, 1, 2 and so on do. A size that
differs between pairs gets a name. Exit 1 if there is no such chain.""",
)
