"""The engine: carry a resolved plan out on real data, with NumPy or CuPy.

A resolved plan holds no 0 and no -1, so every backend does the same thing: it only moves bytes.
"""

from shapecalc.engine.run import Result, run

__all__ = ["Result", "run"]
