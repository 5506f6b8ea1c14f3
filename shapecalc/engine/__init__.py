"""Execute resolved answers on real data, with NumPy or CuPy.

All sizes are known when an answer is executed, so a backend only moves bytes. NumPy is imported when a name of this
module is first used.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.engine.execute import Result, run

__all__ = ["Result", "run"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'shapecalc.engine' has no attribute '{name}'")
    from shapecalc.engine import execute

    return getattr(execute, name)
