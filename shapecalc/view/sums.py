"""The divisions that -1s are, each on one line."""

from __future__ import annotations

from shapecalc.core.sizes.dims import product
from shapecalc.view.layout import INFERS, Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.core.answers.stage import Step
    from shapecalc.core.sizes.dims import Dim


def sums(made: Sequence[Layout]) -> Iterator[str]:
    """Yield the division of each -1 that is settled.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> [*sums(layouts(sc.reshape((2, 8, 3), (0, -1, 6))))]
    ['-1 = 48 / (2*6) = 4']
    """
    for layout in made:
        places = {out for out, dim in enumerate(layout.stage.asked if layout.cuts else ()) if dim == -1}
        yield from (_sum(layout, step) for step in layout.stage.steps if step.out in places)


def _sum(layout: Layout, step: Step) -> str:
    """Return a division: of all elements, or of those of the axis that is split."""
    whole = isinstance(step.facts, INFERS)
    link = next((link for link in layout.links if step.out in link.outs), None)
    sources = range(len(layout.before)) if whole or link is None else link.sources
    outs = range(len(layout.cells)) if whole or link is None else link.outs
    have = [layout.before[axis].dim or 0 for axis in sources]
    known = [layout.cells[out].dim or 0 for out in outs if out != step.out]
    total = str(product(have)) if all(isinstance(dim, int) for dim in have) else _factors(have)
    divisor = _factors(known)
    return f"-1 = {total} / {f'({divisor})' if '*' in divisor else divisor} = {step.value}"


def _factors(dims: Sequence[Dim]) -> str:
    return "*".join(map(str, dims)) or "1"
