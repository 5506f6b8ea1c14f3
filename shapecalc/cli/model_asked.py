"""Models as front ends ask for them: what options say, models read, judged and mended, nodes that messages name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shapecalc.cli.model_report import node_lines, node_object, printable
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import FrozenDict
from shapecalc.core.text import brief, read_target, tokens, visible
from shapecalc.core.values import read_sizes
from shapecalc.doctor.reading import Reading
from shapecalc.models.file import read_model
from shapecalc.models.input_sizes import SizeOptions
from shapecalc.models.judge import judged_model, near, runs_of, uncollected
from shapecalc.models.operators import LISTED
from shapecalc.models.propagate import Stop
from shapecalc.models.report import Judged, Report, found_node, name_of, offends
from shapecalc.models.verdicts import Fix

LARGEST_BATCH = 4096
"""The largest batch that is judged."""
MOST_DIGITS = 9


def size_options(batch: str | None, shapes: Iterable[str], where: str | None) -> SizeOptions:
    """Return what `--batch`, `--set` and `--where` ask for; raise `ShapeError` (usage) for what cannot be read.

    >>> size_options("N,1,4", ["x=N,3,8"], "H=640").shapes
    {'x': ('N', 3, 8)}
    """
    name, sizes = _batch(batch) if batch is not None else (None, SizeOptions().sizes)
    taken: dict[str, tuple[int | str, ...]] = {}
    for text in shapes:
        input, shape = _input_shape(text)
        if input in taken:
            raise misuse(f"{visible(brief(input))} is given two shapes", argument="set")
        taken[input] = shape
    where_sizes = FrozenDict(read_sizes(where)) if where is not None else FrozenDict()
    for other, size in where_sizes.items():
        if not 0 < size < 10**MOST_DIGITS:
            said = f"{visible(brief(other))} is {brief(str(size))}, and a size is from 1 to {10**MOST_DIGITS - 1}"
            raise misuse(said, argument="where")
    return SizeOptions(name, sizes, FrozenDict(taken), where_sizes)


def _batch(text: str) -> tuple[str | None, tuple[int, ...]]:
    """Return the batch's name and the sizes to judge, of which there are two or more."""
    words = [word.strip() for word in text.split(",")]
    is_name = words[0].isprintable() and not words[0].lstrip("+-")[:1].isdigit()
    name = words.pop(0) if words[0] and is_name else None
    sizes = [_size(word) for word in words]
    if words and len({*sizes}) < 2:
        raise misuse("one size is not enough: write two sizes or more", "write N,1,8", argument="batch")
    return name, tuple(sorted({*sizes})) or SizeOptions().sizes


def _size(word: str) -> int:
    if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS and 0 < int(word) <= LARGEST_BATCH:
        return int(word)
    shown = visible(brief(word))
    raise misuse(f"'{shown}' is not a batch size from 1 to {LARGEST_BATCH}", "write N or N,1,2,8", argument="batch")


def _input_shape(text: str) -> tuple[str, tuple[int | str, ...]]:
    """Return the input and the shape that `INPUT=N,3,H,W` gives it."""
    input, sign, shape = text.rpartition("=")
    if not sign or not input:
        raise misuse(f"'{visible(brief(text))}' is not INPUT=SHAPE", "write images=N,3,H,W", argument="set")
    words = [token.text for token in tokens(shape, "set")] if shape.strip() not in ("", "[]") else []
    return input, tuple([_dim(word) for word in words])


def _dim(word: str) -> int | str:
    """Return a dim of `--set`: a number or one name."""
    if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS:
        return int(word)
    if word.isidentifier():
        return word
    raise misuse(f"'{visible(brief(word))}' is neither a size nor a name", "write images=N,3,H,W", argument="set")


def targets_of(texts: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """Return the targets that `--fix-as` gives to nodes; raise `ShapeError` (usage) for what cannot be read.

    >>> targets_of(["/Reshape=0,-1,85"])
    {'/Reshape': (0, -1, 85)}
    """
    targets: dict[str, tuple[int, ...]] = {}
    for text in texts:
        node, sign, target = text.rpartition("=")
        if not sign or not node:
            raise misuse(f"'{visible(brief(text))}' is not NODE=TARGET", "write /Reshape=0,-1,85", argument="fix_as")
        dims = read_target(target)
        if node in targets:
            raise misuse(f"{visible(brief(node))} is given two targets", argument="fix_as")
        targets[node] = tuple([dim for dim in dims if isinstance(dim, int)])
        if len(targets[node]) < len(dims):
            raise misuse(f"a target in a file is made of numbers, not '{visible(brief(target))}'", argument="fix_as")
    return targets


def report_of(file: str, options: SizeOptions, names: Iterable[str] = ()) -> Report:
    """Return the report of a model, which says of the named nodes also what fails below them.

    Raises `ShapeError`: file if it cannot be used, usage for what it does not have.
    """
    with uncollected():
        found = judged_model(read_model(file), options)
        return near(found, found.report(file), names)


def report_with_runs(file: str, options: SizeOptions) -> tuple[Report, list[list[Judged]]]:
    """Return the report of a model, and its runs of nodes that only turn and cut; raise `ShapeError`: file, usage."""
    found = judged_model(read_model(file), options)
    report = found.report(file)
    return report, runs_of(found.walk.model, report.nodes)


def stops_left(report: Report, options: SizeOptions) -> tuple[Stop, ...]:
    """Return the nodes that are not listed and stop in what was written of a model; raise `ShapeError` (file).

    A proof shows that there are none.
    """
    if not report.stops or report.fixed is None or report.fixed.proved:
        return ()
    return report.stops if report.fixed.path is None else report_of(report.fixed.path, options).stops


def mended_report(
    file: str, options: SizeOptions, out: str, targets: Mapping[str, tuple[int, ...]], *, force: bool, prove: bool
) -> Report:
    """Write a model mended and return its report; `targets` go before the best fixes of the nodes that they name.

    Raises `ShapeError`: file if a file cannot be used, usage for a node that there is not or that does not offend.
    """
    found = judged_model(read_model(file), options)
    report = found.report(file)
    chosen: dict[str, Fix] = {}
    for text, target in targets.items():
        judged = found_node(report, text)
        if not offends(judged):
            raise misuse(f"{visible(name_of(judged.node))} does not offend, so it stays as it is", argument="fix_as")
        chosen[judged.node.path] = Fix(target, None, "")
    from shapecalc.models.write import written

    try:
        return written(found, report, Path(out), chosen, force=force, prove=prove)
    except FileExistsError:
        reason = "it exists; --force writes over it"
    except OSError as error:
        reason = error.strerror or str(error)
    raise ShapeError(Problem(FILE, f"{out}: {reason[:1].lower()}{reason[1:]}", argument="out"))


@dataclass(frozen=True, slots=True)
class NamedNodes:
    """What a model tells of the nodes that messages name."""

    lines: tuple[str, ...]
    """The nodes in full, each once and after an empty line."""
    objects: tuple[dict[str, object] | None, ...]
    """The object of each message's node; None if it names none, or none that is listed."""


def named_nodes(messages: Sequence[Reading], file: str) -> NamedNodes:
    """Return what a model tells of the nodes that messages name; raise `ShapeError` (file) if it cannot be used.

    A message without a name is about the node that has its shapes, if there is one alone.
    """
    report = report_of(file, SizeOptions(), [read.node for read in messages if read.node is not None])
    lines: dict[str, None] = {}
    objects: list[dict[str, object] | None] = []
    for read in messages:
        said, judged = _node_of_message(report, read)
        shown = node_lines(report, judged) if judged else []
        lines["\n".join(["", *([printable(f"{report.model}: {said}")] if said else []), *shown])] = None
        objects.append(None if judged is None else node_object(judged))
    return NamedNodes(tuple(lines), tuple(objects))


def _node_of_message(report: Report, read: Reading) -> tuple[str, Judged | None]:
    """Return what is to be said of the node of a message, and the node to show."""
    if read.node is None:
        alike = [judged for judged in report.nodes if _fits(judged, read)]
        if len(alike) != 1:
            return "the message names no node", None
        return f"the message names no node, and {name_of(alike[0].node)} alone has its shapes", alike[0]
    try:
        return "", found_node(report, read.node)
    except ShapeError as error:
        path = report.above.get(read.node)
        return error.problem.message, next((each for each in report.nodes if each.node.path == path), None)


def _fits(judged: Judged, read: Reading) -> bool:
    """Say whether a node has the shapes of a message, in which zeros may be replaced by what they copy."""
    input, target = judged.input, judged.target
    if LISTED[judged.node.op].op != read.op or not read.target or not read.input or input is None or target is None:
        return False
    if len(input) != len(read.input) or len(target) != len(read.target):
        return False
    copied = [size if size != 0 or at >= len(read.input) else read.input[at] for at, size in enumerate(target)]
    same_input = [dim == size for dim, size in zip(input, read.input, strict=True) if isinstance(dim, int)]
    return all(same_input) and copied == [*read.target]
