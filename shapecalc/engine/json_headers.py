"""Headers in JSON, read within bounds: an object, its names said once, its sizes whole numbers of int64."""

from __future__ import annotations

import json

from shapecalc.core.dims import INT64_MAX
from shapecalc.core.text import brief
from shapecalc.engine.regular_files import Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Unreadable("its header says one thing twice")
    return made


READER = json.JSONDecoder(object_pairs_hook=_without_repeats)
"""What reads the text of every header. To make one takes longer than to read most."""


def read_object(data: bytes) -> dict[str, Any]:
    """Return the object that some bytes write; raise `Unreadable` for anything else, and for a name said twice."""
    try:
        found = READER.decode(data.decode("utf-8"))
    except UnicodeDecodeError:
        raise Unreadable("its header is not UTF-8") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"its header is not JSON: {error.msg.lower()} at character {error.pos + 1}") from None
    except RecursionError:
        raise Unreadable("its header is nested too deeply") from None
    except Unreadable:
        raise
    except ValueError:
        raise Unreadable("its header holds a number of too many digits") from None
    if not isinstance(found, dict):
        raise Unreadable("its header is not a JSON object")
    return found


def checked_shape(value: object) -> tuple[int, ...]:
    """Return the shape that a list of sizes states; raise `Unreadable` for anything else."""
    sizes = value if isinstance(value, list) else [None]
    for size in sizes:
        if type(size) is not int or not 0 <= size <= INT64_MAX:
            raise Unreadable(f"its header gives {brief(repr(value))} for a shape, which is not a list of sizes")
    return tuple(sizes)
