"""Sizes that a model computes while it runs, because no number, 0 or -1 in a requested shape can say them."""

from __future__ import annotations

from functools import reduce
from itertools import groupby

from shapecalc.core.dims import Dim, Shape, lowest_terms, monomial, names
from shapecalc.core.record import Record
from shapecalc.view.code.sizes import size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def is_computed(dims: Iterable[Dim]) -> bool:
    """Say whether dims that were read are only known when a model runs: they hold axes of its input."""
    return any(name.startswith("[") for name in names(dims))


def texts_of(dims: Iterable[Dim]) -> str:
    """Return dims that are known before a model runs as the items of a list."""
    return ", ".join(map(size_text, dims))


class Forms(Record):
    """How a framework writes the nodes that compute sizes, as templates. Each makes a tensor of one axis, `{name}`."""

    sizes: str
    """The shape of `x`, which the others call `sizes`."""
    constant: str
    """The items `{0}`, `{1}` of them."""
    axis: str
    """Item `{0}` of `sizes`."""
    multiply: str
    divide: str
    concat: str
    """All items of the tensors `{0}`."""
    quote: str = ""
    """What stands around the name of a tensor in `concat`."""


class Sizes:
    """The nodes that compute sizes, each written once."""

    def __init__(self, forms: Forms) -> None:
        """Start without nodes."""
        self.forms = forms
        self.made: dict[tuple[str, ...], str] = {}
        self.lines: list[str] = []

    def vector(self, dims: Iterable[Dim]) -> str:
        """Return the name of the tensor that holds these dims."""
        parts = list[str]()
        for computed, run in groupby(dims, lambda dim: is_computed([dim])):
            row = tuple(run)
            parts += map(self._size, row) if computed else [self._constant(row)]
        quote = self.forms.quote
        joined = ", ".join(f"{quote}{part}{quote}" for part in parts)
        return parts[0] if len(parts) == 1 else self._make(self.forms.concat, joined)

    def _size(self, dim: Dim) -> str:
        whole = monomial(dim)
        above = self._product(whole.numerator, {name: power for name, power in whole.powers if power > 0})
        below = {name: -power for name, power in whole.powers if power < 0}
        if whole.denominator == 1 and not below:
            return above
        return self._make(self.forms.divide, above, self._product(whole.denominator, below))

    def _product(self, number: int, powers: Mapping[str, int]) -> str:
        """Return the name of the tensor that holds a product of axes, names that are given, and a number."""
        axes = [name[1:-1] for name, power in powers.items() if name.startswith("[") for _ in range(power)]
        given = lowest_terms(number, 1, {name: power for name, power in powers.items() if not name.startswith("[")})
        factors = [self._make(self.forms.axis, axis) for axis in axes]
        if given != 1 or not factors:
            factors.append(self._constant((given,)))
        return reduce(lambda first, second: self._make(self.forms.multiply, first, second), factors)

    def _constant(self, dims: Shape) -> str:
        return self._make(self.forms.constant, texts_of(dims), str(len(dims)))

    def _make(self, form: str, *inputs: str) -> str:
        """Return the name of what a node makes; the node is written when it is first asked for."""
        if form == self.forms.axis and not any(key[0] == form for key in self.made):
            self.lines.append(self.forms.sizes)
        key = (form, *inputs)
        if key not in self.made:
            self.made[key] = f"size{len(self.made) + 1}"
            self.lines.append(form.format(*inputs, name=self.made[key]))
        return self.made[key]
