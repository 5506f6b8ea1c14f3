"""One task: read what it takes, move it, write whole chunks, return a checksum. It may be done again at any time."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from shapecalc.core.sizes.record import Record
from shapecalc.engine.stores.filling import filled
from shapecalc.engine.stores.reads import boxes_of
from shapecalc.engine.stores.stores import open_store, open_to_write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from shapecalc.engine.stores.plan import Pass


class Work(Record):
    """What a pass is carried out on: where it reads and writes."""

    plan: Pass
    source: str
    target: str


def do_task(work: Work, number: int) -> int:
    """Do a task of a pass by its number, and return the checksum of what it wrote.

    Raises `FileError` if the source cannot be opened; else what its library raises.
    """
    store, box = open_store(work.source), work.plan.box(number)
    out = filled(work.plan.lines, box, store.array, store.chunks)
    target = open_to_write(work.target)
    for part in boxes_of(out.shape, work.plan.chunks):  # one by one, so that one chunk is encoded at a time
        place = [slice(start + a, start + b) for (a, b), (start, _) in zip(part, box, strict=True)]
        target[(*place, ...)] = out[(*[slice(*span) for span in part], ...)]
    return checksum(out)


def checksum(array: Any) -> int:
    """Return the checksum of an array's elements in C order: CRC-32."""
    return crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
