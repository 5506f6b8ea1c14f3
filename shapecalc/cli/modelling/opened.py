"""Models as they are asked for: read, judged and mended."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.models.report import Asked, Report


def report_of(file: str, asked: Asked) -> Report:
    """Return the report of a model; raise `ShapeError`: file if it cannot be used, usage for names it does not have."""
    raise NotImplementedError


def mended_report(
    file: str, asked: Asked, out: str, targets: Mapping[str, tuple[int, ...]], *, force: bool, prove: bool
) -> Report:
    """Write a model mended and return its report; raise `ShapeError`: file, usage."""
    raise NotImplementedError
