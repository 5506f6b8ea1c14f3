"""What the command line does with data: shapes from files, elements to show or follow, outputs to write."""

from __future__ import annotations

import sys
from time import monotonic

from shapecalc.cli.output import tell
from shapecalc.core.dtypes import element_type
from shapecalc.core.following import followed, followed_back
from shapecalc.core.problem import FILE, Problem, ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.request import default_dialect
from shapecalc.core.text import is_file, read_axes, shape_text
from shapecalc.core.wording import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from rich.progress import Progress

    from shapecalc.cli.options import Output
    from shapecalc.core.trace import Chain, Trace
    from shapecalc.engine.files import Source

PATIENCE = 1.0
"""Seconds after which a bar shows how far the work has come."""


class Given(Record):
    """An input as it was given: its shape, the options that come with it, and its data where it is a file."""

    shape: str
    options: Mapping[str, object]
    source: Source | None


def unusable(error: Exception) -> ShapeError:
    """Return the error to raise where a file or a backend cannot be used."""
    return ShapeError(Problem(FILE, str(error), argument="input"))


def read_input(text: str, options: Mapping[str, object], op: str) -> Given:
    """Return the input that a text gives: a shape as it is, a file's shape and element type from its header.

    Raises `ShapeError` (file) where the file cannot be used.
    """
    if not is_file(text):
        return Given(text, options, None)
    from shapecalc.engine.files import FileError, opened

    try:
        source = opened(text)
    except FileError as error:
        raise unusable(error) from None
    dialect = str(options.get("dialect") or default_dialect(op))
    known = source.dtype and element_type(source.dtype, dialect)
    return Given(shape_text(source.shape), {"dtype": known, **_present(options)}, source)


def loaded(source: Source) -> Any:
    """Return a file's array, mapped; raise `ShapeError` (file) where it is not what its header says."""
    from shapecalc.engine.files import FileError

    try:
        return source.array
    except FileError as error:
        raise unusable(error) from None


def _present(options: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in options.items() if value is not None}


def check(answer: Trace | Chain, out: Output, source: Source | None) -> None:
    """Raise `ShapeError` (usage) for options that ask for data where there is none."""
    if out.out is not None and source is None:
        raise misuse("--out carries data out, and the input is a shape only", "give a file: x.npy")
    if out.backend != "auto":
        _check_backend(out.backend)
    if answer.output is not None:
        followings(answer, out)


def _check_backend(wanted: str) -> None:
    """Raise `ShapeError` for a backend that there is not (usage), or that cannot be had here (file)."""
    from shapecalc.engine.backends import NAMES, BackendError, backend_for

    if wanted not in NAMES:
        raise misuse(f"there is no backend '{visible(wanted)}'", f"there are {', '.join(NAMES)}")
    try:
        backend_for(None, wanted)
    except BackendError as error:
        raise unusable(error) from None


WAYS = {"follow": ("goes", followed), "follow_out": ("came", followed_back)}
"""The options that ask for the way of an element: how it is told, and what finds it."""


def followings(answer: Trace | Chain, out: Output) -> dict[str, list[dict[str, Any]]]:
    """Return the ways of the elements that were asked after, by option, for JSON."""
    asked = {name: text for name in WAYS if (text := getattr(out, name)) is not None and answer.output is not None}
    return {
        name: [{"stage": stage, "index": list(at)} for stage, at in WAYS[name][1](answer, read_axes(text, name))]
        for name, text in asked.items()
    }


def tell_elements(answer: Trace | Chain, source: Source | None, out: Output) -> None:
    """Tell the elements before and after, and the way of one, where that was asked."""
    for name, way in followings(answer, out).items():
        places = (f"{at['stage']} [{','.join(map(str, at['index']))}]" for at in way)
        tell(f"{WAYS[name][0]}: {' -> '.join(places)}")
    if out.values:
        from shapecalc.engine.samples import samples
        from shapecalc.view.values import values_text

        data = None if source is None else loaded(source)
        for title, sample in zip(("before", "after"), samples(answer, data), strict=True):
            tell(f"{title} {shape_text(sample.shape)}\n{values_text(sample.elements, sample.gaps)}")


def tell_plan(answer: Trace | Chain, source: Source | None, out: Output) -> None:
    """Tell whether the data would move, how much of it, and why; strides are in elements, of a file in bytes."""
    from shapecalc.core.trace import Slice
    from shapecalc.engine.atoms import contiguous_strides
    from shapecalc.engine.plan import planned

    if not answer.concrete or not answer.moves:
        return
    if isinstance(answer.moves[-1], Slice):
        return
    shape: Any = answer.input
    strides = contiguous_strides(shape, 1) if source is None else loaded(source).strides
    plan = planned(answer.moves, shape, strides, 1 if source is None else source.kind.itemsize)
    unit = "elements" if source is None else "bytes"
    if plan.copies:
        first, second = plan.copies[0].culprits
        tell(f"engine: copy of {plan.bytes_moved} {unit}; no one step goes {first} and then {second} {unit}")
    else:
        tell("engine: view, nothing moves")
    for stage in plan.stages:
        tell(f"engine: {shape_text(stage.shape)} with strides {shape_text(stage.strides)}")
    if source is not None:
        tell(f"engine: backend {'numpy' if out.backend == 'auto' else out.backend}")


def write(answer: Trace | Chain, source: Source, out: Output) -> None:
    """Carry an answer out into the output file; raise `ShapeError` (file) where that cannot be done."""
    from pathlib import Path

    from shapecalc.engine.backends import BackendError
    from shapecalc.engine.files import FileError
    from shapecalc.engine.writing import carry_out

    try:
        with Meter(loaded(source).nbytes) as meter:
            carry_out(answer, source, Path(str(out.out)), force=out.force, tick=meter.tick, backend=out.backend)
    except (FileError, BackendError) as error:
        raise unusable(error) from None


class Meter:
    """A bar on the terminal for work that takes a while."""

    def __init__(self, total: int) -> None:
        """Start to wait."""
        self.total, self.done, self.start = total, 0, monotonic()
        self.bar: Progress | None = None

    def __enter__(self) -> Meter:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def tick(self, done: int) -> None:
        """Note that so many bytes are done."""
        self.done += done
        if self.bar is None and monotonic() - self.start > PATIENCE and sys.stderr is not None and sys.stderr.isatty():
            self.bar = self._shown()
        if self.bar is not None:
            self.bar.update(self.bar.task_ids[0], completed=self.done)

    def _shown(self) -> Progress:
        from rich.console import Console
        from rich.progress import Progress

        bar = Progress(console=Console(file=sys.stderr), transient=True)
        bar.add_task("writing", total=self.total)
        bar.start()
        return bar
