"""The divisions that -1s are, each on one line."""

from __future__ import annotations

from shapecalc.core.dims import all_known, product
from shapecalc.core.text import brief, dim_text
from shapecalc.view.layout import INFERS, Layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from shapecalc.core.answers import Step
    from shapecalc.core.dims import Dim


def sums(made: Sequence[Layout]) -> Iterator[str]:
    """Yield the division of each -1 that is settled.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> [*sums(layouts(sc.reshape((2, 8, 3), (0, -1, 6))))]
    ['-1 = 48 / (2*6) = 4']
    """
    for layout in made:
        places = {out for out, dim in enumerate(layout.stage.asked if layout.cuts else ()) if dim == -1}
        settling = (step for step in layout.stage.steps if step.out in places)
        yield from (f"-1 = {division(layout, step)} = {dim_text(step.dim)}" for step in settling)


def division(layout: Layout, step: Step) -> str:
    """Return what is divided for a -1: all elements, or those of the axis that is split.

    >>> import shapecalc as sc
    >>> from shapecalc.view.layout import layouts
    >>> answer = sc.reshape(("N", 12, "H"), (0, -1))
    >>> division(layouts(answer)[0], answer.steps[1])
    'N*12*H / N'
    """
    whole = isinstance(step.facts, INFERS)
    link = next((link for link in layout.links if step.out in link.outs), None)
    sources = range(len(layout.before)) if whole or link is None else link.sources
    outs = range(len(layout.cells)) if whole or link is None else link.outs
    have = [layout.before[axis].dim or 0 for axis in sources]
    known = [layout.cells[out].dim or 0 for out in outs if out != step.out]
    if isinstance(step.facts, INFERS) and (product(have), product(known)) != (step.facts.have, step.facts.known):
        have, known = [step.facts.have], [step.facts.known]
    total = dim_text(product(have)) if all_known(have) else brief(_factors(have))
    divisor = brief(_factors(known))
    return f"{total} / {f'({divisor})' if '*' in divisor else divisor}"


def _factors(dims: Sequence[Dim]) -> str:
    return "*".join(map(str, dims)) or "1"
