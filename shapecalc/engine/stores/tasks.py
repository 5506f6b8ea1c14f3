"""One task: read what it takes, move it, write whole chunks, return a checksum. It may be done again at any time."""

from __future__ import annotations

from math import prod

from shapecalc.core.record import Record
from shapecalc.engine.stores.chunks import running_codecs
from shapecalc.engine.stores.filling import filled
from shapecalc.engine.stores.reads import boxes_of
from shapecalc.engine.stores.stores import open_store, open_to_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from shapecalc.engine.stores.boxes import Box
    from shapecalc.engine.stores.lines import Sizes
    from shapecalc.engine.stores.plan import Pass

ALONE = 1 << 20
"""Chunks of at least so many bytes are filled one by one, unless lines mix; smaller ones are cut out of their task."""


class Work(Record):
    """What a pass is carried out on: where it reads and writes."""

    plan: Pass
    source: str
    target: str


class Done(Record):
    """What is noted of a task: the checksum of what it has written, CRC-32, and how many files hold that."""

    checksum: int
    files: int


def do_task(work: Work, number: int) -> Done:
    """Do a task of a pass by its number; what it wrote is on the disk when it returns.

    Raises `FileError` if the source cannot be opened, `OSError` if the output cannot be written; else what the codecs
    of the source raise.
    """
    store, plan = open_store(work.source), work.plan
    box, alone = plan.box(number), prod(plan.chunks) * plan.itemsize >= ALONE
    boxes = [*_grid(box, plan.chunks)] if alone and not any(line.mixed for line in plan.lines.lines) else [box]

    def parts() -> Iterator[tuple[tuple[int, ...], Any]]:
        for own, held in zip(boxes, outs, strict=True):
            for part in _grid(own, plan.chunks):
                place = tuple([start // step for (start, _), step in zip(part, plan.chunks, strict=True)])
                inside = [
                    slice(start - first, stop - first) for (start, stop), (first, _) in zip(part, own, strict=True)
                ]
                yield place, held[(*inside, ...)]

    with running_codecs():
        outs = filled(plan.lines, boxes, store.source, store.block)
        return Done(*open_to_write(work.target).write(parts()))


def _grid(box: Box, steps: Sizes) -> Iterator[Box]:
    """Yield the boxes of a grid of `steps` from the corner of a box on."""
    for part in boxes_of([stop - start for start, stop in box], steps):
        yield tuple([(first + start, first + stop) for (first, _), (start, stop) in zip(box, part, strict=True)])
