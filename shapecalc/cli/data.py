"""What the command line does with data: elements to show or to follow, plans to tell, outputs to write."""

from __future__ import annotations

from shapecalc.cli.inputs import file_error
from shapecalc.cli.meter import Meter
from shapecalc.cli.output import tell
from shapecalc.core.follow import follow, follow_back, index_text
from shapecalc.core.moves import Slice
from shapecalc.core.problem import misuse
from shapecalc.core.text import read_axes, shape_text, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from shapecalc.cli.output import Output
    from shapecalc.core.answers import Chain, Trace
    from shapecalc.engine.files import Source

    Path = Sequence[tuple[str, tuple[int, ...] | None]]
    Paths = dict[str, list[dict[str, Any]]]
    """The paths of elements as JSON has them, by the option that asks for one."""


def load_array(source: Source) -> Any:
    """Return a file's array, mapped; raise `ShapeError` (file) if it is not what its header says."""
    from shapecalc.engine.files import FileError

    try:
        return source.array
    except FileError as error:
        raise file_error(error) from None


def checked_paths(answer: Trace | Chain, out: Output, source: Source | None) -> Paths:
    """Return the paths of the elements that were asked after, by option.

    Raises `ShapeError` (usage) for options that ask for data if there is none, or for an element that there is not.
    """
    if out.out is not None and source is None:
        raise misuse("--out needs data, and the input is only a shape", "give a file: x.npy")
    if out.about_store:
        from shapecalc.cli.storing import check_options

        check_options(source, out)
    if out.backend != "auto":
        _check_backend(out.backend)
    return {} if answer.output is None else _element_paths(answer, out)


def _check_backend(wanted: str) -> None:
    """Raise `ShapeError` for a backend that there is not (usage), or that cannot be had here (file)."""
    from shapecalc.engine.backends import NAMES, BackendError, backend_for

    if wanted not in NAMES:
        raise misuse(f"there is no backend '{visible(wanted)}'", f"there are {', '.join(NAMES)}")
    try:
        backend_for(None, wanted)
    except BackendError as error:
        raise file_error(error) from None


PATHS: dict[str, tuple[str, Callable[..., Path]]] = {"follow": ("goes", follow), "follow_out": ("came", follow_back)}
"""The options that ask for the path of an element: how it is told, and what finds it."""


def _element_paths(answer: Trace | Chain, out: Output) -> Paths:
    asked = {name: text for name in PATHS if (text := getattr(out, name)) is not None}
    return {
        name: [
            {"stage": stage, "index": None if at is None else list(at)}
            for stage, at in PATHS[name][1](answer, read_axes(text, name))
        ]
        for name, text in asked.items()
    }


def tell_elements(answer: Trace | Chain, source: Source | None, paths: Paths, *, values: bool) -> None:
    """Tell the paths of elements, and if `values` are asked for the elements before and after."""
    for name, path in paths.items():
        places = (f"{at['stage']} {index_text(at['index'])}" for at in path)
        tell(f"{PATHS[name][0]}: {' -> '.join(places)}")
    if values:
        from shapecalc.engine.files import FileError
        from shapecalc.engine.samples import samples
        from shapecalc.view.values import values_text

        try:
            shown = samples(answer, source)
        except FileError as error:
            raise file_error(error) from None
        for title, sample in zip(("before", "after"), shown, strict=True):
            tell(f"{title} {shape_text(sample.shape)}\n{values_text(sample.elements, sample.gaps)}")


def plan_lines(answer: Trace | Chain, source: Source | None, out: Output) -> list[str]:
    """Return whether the data would move, how much of it, and why; strides are in elements, of a file in bytes."""
    from shapecalc.engine.plan import plan_moves

    if not answer.concrete or not answer.moves:
        return []
    if isinstance(answer.moves[-1], Slice):
        return []
    shape: Any = answer.input
    itemsize = 1 if source is None else source.kind.itemsize
    plan = plan_moves(answer.moves, shape, _strides(answer, source), itemsize)
    unit = "elements" if source is None else "bytes"
    if plan.copies:
        culprits = plan.copies[0].culprits
        two = f"one dim would need the strides {culprits[0]} and {culprits[1]} at once" if culprits else ""
        why = two or "no stride goes round the end of an axis"
        lines = [f"engine: {plan.bytes_moved} {unit} are copied: {why}"]
    else:
        lines = ["engine: no data is copied: the output is a view of the input"]
    for stage in plan.stages if out.explains_all else ():
        lines.append(f"engine: {shape_text(stage.shape)} with strides {shape_text(stage.strides)}")
    if source is not None:
        lines.append(f"engine: backend {'numpy' if out.backend == 'auto' else out.backend}")
    return lines


def _strides(answer: Trace | Chain, source: Source | None) -> tuple[int, ...]:
    """Return the strides of the data: of a file its own, else those that the request names or of contiguous data."""
    from shapecalc.engine.atoms import contiguous_strides

    if source is not None and not source.is_store:
        return tuple(load_array(source).strides)
    named: tuple[int, ...] | None = answer.traces[0].request.arguments.get("strides")
    shape: Any = answer.input
    return contiguous_strides(shape, source.kind.itemsize if source else 1) if named is None else named


def carry(answer: Trace | Chain, source: Source, out: Output) -> bool:
    """Carry an answer out if that is asked for; say whether the plan for that was printed in place of the answer.

    Raises `ShapeError` (file) if it cannot be done.
    """
    if out.plan:
        from shapecalc.cli.storing import print_plan

        print_plan(answer, source, out)
    elif out.out is not None:
        write_output(answer, source, out)
    return out.plan


def write_output(answer: Trace | Chain, source: Source, out: Output) -> None:
    """Carry an answer out into the output file; raise `ShapeError` (file) if that cannot be done."""
    from pathlib import Path

    from shapecalc.cli.storing import is_for_stores, write_store

    if is_for_stores(source, out):
        write_store(answer, source, out)
        return
    from shapecalc.engine.backends import BackendError
    from shapecalc.engine.files import FileError
    from shapecalc.engine.writing import carry_out

    try:
        with Meter(load_array(source).nbytes) as meter:
            carry_out(answer, source, Path(str(out.out)), force=out.force, tick=meter.tick, backend=out.backend)
    except (FileError, BackendError) as error:
        raise file_error(error) from None
