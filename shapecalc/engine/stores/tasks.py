"""One task: read what it takes, move it, write whole chunks, return a checksum. It may be done again at any time."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from shapecalc.core.sizes.record import Record
from shapecalc.engine.stores.chunks import running_codecs
from shapecalc.engine.stores.filling import filled
from shapecalc.engine.stores.reads import boxes_of
from shapecalc.engine.stores.stores import open_store, open_to_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from shapecalc.engine.stores.plan import Pass


class Work(Record):
    """What a pass is carried out on: where it reads and writes."""

    plan: Pass
    source: str
    target: str


class Done(Record):
    """What is noted of a task: the checksum of its elements, and how many files hold them."""

    checksum: int
    files: int


def do_task(work: Work, number: int) -> Done:
    """Do a task of a pass by its number; what it wrote is on the disk when it returns.

    Raises `FileError` if the source cannot be opened, `OSError` if the output cannot be written; else what the codecs
    of the source raise.
    """
    store, box = open_store(work.source), work.plan.box(number)

    def parts() -> Iterator[tuple[tuple[int, ...], Any]]:
        for part in boxes_of(out.shape, work.plan.chunks):
            steps = zip(box, part, work.plan.chunks, strict=True)
            place = tuple([(start + own[0]) // step for (start, _), own, step in steps])
            yield place, out[(*[slice(*span) for span in part], ...)]

    with running_codecs():
        out = filled(work.plan.lines, box, store.source, store.block)
        return Done(checksum(out), open_to_write(work.target).write(parts()))


def checksum(array: Any) -> int:
    """Return the checksum of an array's elements in C order: CRC-32."""
    return crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
