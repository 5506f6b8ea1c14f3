"""Shapes held against a pattern: which sizes its names take, and where a shape differs."""

from __future__ import annotations

from shapecalc.core.asking.shape_pattern import ShapePattern
from shapecalc.core.dialects.element_types import element_type
from shapecalc.core.dialects.numpy import NUMPY
from shapecalc.core.sizes.conditions import Conditions, Never, combine, equal
from shapecalc.core.sizes.dims import Dim, Monomial, Shape, monomial, named_dim, quotient, rewrite
from shapecalc.core.sizes.problem import DIFFERS, Problem
from shapecalc.core.sizes.quoting import brief, dim_text, rank_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    Wanted = int | str | Monomial | None
    Difference = tuple[int | None, str]
    """The dim that differs, None if it is the whole, and the reason."""


class Matcher:
    """A pattern that is held against shapes in turn: a name keeps the size that the first of them gave it."""

    def __init__(self, pattern: ShapePattern, sizes: Mapping[str, Dim] | None = None, own: Collection[str] = ()):
        """Begin with the sizes that are given. Names in `own` stand for themselves."""
        self.pattern = pattern
        self.sizes: dict[str, Dim] = dict(sizes or {})
        """The sizes of names that are known so far."""
        self.origins: dict[str, str] = dict.fromkeys(self.sizes, "as given")
        """Where each of these names was met first."""
        self._own = frozenset(own)
        self._wanted = tuple([self._compiled(dim) for dim in pattern.dims])
        self._passed: tuple[Shape, str | None] | None = None
        """The last shape that did not differ: it cannot differ later either, since names keep their sizes."""

    def problem(self, shape: Shape, dtype: str | None = None, place: str = "") -> Problem | None:
        """Return where a shape differs from the pattern; None if it does not, and then the sizes of names are kept.

        `place` says in later problems where a name was met.

        >>> from shapecalc.core.asking.shape_pattern import pattern_of
        >>> matcher = Matcher(pattern_of("N,2*H,..."))
        >>> matcher.problem((8, 6, 1), place="a.npy"), matcher.sizes
        (None, {'N': 8, 'H': 3})
        >>> matcher.problem((8, 8)).message
        '8,8 is not N,2*H,...: dim 1 is 8, and 2*H is 6 (H is 3: a.npy, dim 1)'
        """
        if (shape, dtype) == self._passed:
            return None
        wanted = self._spread(len(shape))
        if wanted is None:
            difference: Difference | None = None, f"it has {rank_text(len(shape))}"
        elif self.pattern.dtype not in (None, dtype):
            difference = None, f"its element type is {dtype or 'not known'}"
        else:
            difference = self._bind(wanted, shape, place)
        if difference is None:
            self._passed = shape, dtype
            return None
        shown = ShapePattern(shape, None, dtype if self.pattern.dtype else None)
        message = f"{brief(str(shown))} is not {brief(str(self.pattern))}: {difference[1]}"
        return Problem(DIFFERS, message, "", "input", difference[0])

    def _compiled(self, dim: Dim) -> Wanted:
        """Return a dim as it is compared fastest: None if it may be any, a text if it is a name that takes a size."""
        if isinstance(dim, int) or len(dim.powers) != 1:
            return dim
        ((name, _),) = dim.powers
        if name in self._own or dim != named_dim(name):
            return dim
        return None if name.startswith("?") else name

    def _spread(self, rank: int) -> tuple[Wanted, ...] | None:
        """Return what each dim of a shape must be; None if the pattern has another number of dims."""
        gap, more = self.pattern.gap, rank - len(self._wanted)
        if gap is None or more < 0:
            return None if more else self._wanted
        return (*self._wanted[:gap], *[None] * more, *self._wanted[gap:])

    def _bind(self, wanted: tuple[Wanted, ...], shape: Shape, place: str) -> Difference | None:
        """Give the names their sizes; if a dim differs, return it and change nothing."""
        sizes, met, products = self.sizes.copy(), dict[str, int](), list[int]()
        for at, (want, size) in enumerate(zip(wanted, shape, strict=True)):
            if want is None or (type(want) is int and want == size):
                continue
            if type(want) is not str:
                products.append(at)
            elif want not in sizes:
                sizes[want], met[want] = size, at
            elif sizes[want] != size:
                return at, self._reason(at, size, named_dim(want), sizes, met)
        if products:
            dims = {at: want for at, want in enumerate(wanted) if at in products and not isinstance(want, str)}
            differing = self._solve(dims, shape, sizes, met)
            if differing is not None:
                return differing, self._reason(differing, shape[differing], dims[differing] or 0, sizes, met)
        if met:
            prefix = f"{place}, " if place else ""
            self.sizes = {name: size for name, size in sizes.items() if name[0] != "?"}
            self.origins |= {name: f"{prefix}dim {at}" for name, at in met.items()}
        return None

    def _solve(
        self, dims: Mapping[int, Dim | None], shape: Shape, sizes: dict[str, Dim], met: dict[str, int]
    ) -> int | None:
        """Give sizes to the names of products, those first that have one left; return a dim that cannot be met."""
        waiting = {at: monomial(dim) for at, dim in dims.items() if dim is not None}
        while ready := [at for at, dim in waiting.items() if len(self._free(dim, sizes)) < 2]:
            for at in ready:
                dim = waiting.pop(at)
                free = self._free(dim, sizes)
                found = _solved(dim, shape[at], sizes, *free)
                if found is None:
                    return at
                sizes |= dict.fromkeys(free, found)
                met |= dict.fromkeys(free, at)
        return _impossible(waiting, shape, sizes)

    def _free(self, dim: Monomial, sizes: Mapping[str, Dim]) -> list[str]:
        """Return the names of a product that have no size yet."""
        return [name for name, _ in dim.powers if name not in sizes and name not in self._own]

    def _reason(self, at: int, size: Dim, want: Dim, sizes: Mapping[str, Dim], met: Mapping[str, int]) -> str:
        """Say why a size is not the one that is wanted."""
        shown = f"dim {at} is {dim_text(size)}"
        if isinstance(want, int):
            return f"{shown}, not {dim_text(want)}"
        origins = self.origins | {name: f"dim {at}" for name, at in met.items()}
        known = [name for name, _ in want.powers if name in sizes and name[0] != "?"]
        if len(known) < len(want.powers):
            own = any(name in self._own for name, _ in want.powers)
            return f"{shown}, and {want} {'stands for itself' if own else 'cannot be that'}"
        if want == named_dim(known[0]):
            return f"{shown}, and {want} is {dim_text(sizes[known[0]])} ({origins[known[0]]})"
        told = ", ".join(f"{name} is {dim_text(sizes[name])}: {origins[name]}" for name in known)
        return f"{shown}, and {want} is {_shown(want, sizes)} ({told})"


def element_type_of(array: object) -> str | None:
    """Return the name of an array's element type, in any framework; None if it has none that shapecalc names.

    >>> class Tensor: dtype = "torch.float32"
    >>> element_type_of(Tensor()), element_type_of((2, 3))
    ('float32', None)
    """
    dtype = getattr(array, "dtype", None)
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    kind = {"U": "string", "S": "bytes"}.get(str(getattr(dtype, "kind", "")))
    return kind or element_type(str(name).rpartition(".")[2], NUMPY)


def _shown(dim: Dim, sizes: Mapping[str, Dim]) -> str:
    try:
        return dim_text(rewrite(dim, sizes))
    except ZeroDivisionError:
        return "nothing"


def _solved(dim: Monomial, size: Dim, sizes: Mapping[str, Dim], free: str = "") -> Dim | None:
    """Return the size of the one free name with which a product is `size`; without one `size` itself, if it is that.

    None if there is none.
    """
    try:
        dim = monomial(rewrite(dim, sizes))
        power = dict(dim.powers).get(free)
        if power is None:
            return size if dim == monomial(size) else None
        if size == 0:
            return 0 if power > 0 else None
        if abs(power) > 1:
            return equal(dim, size)[0].right
        rest = quotient(dim, named_dim(free)) if power == 1 else quotient(dim, quotient(1, named_dim(free)))
        found = quotient(size, rest) if power == 1 else quotient(rest, size)
    except (ZeroDivisionError, Never):
        return None
    return found if _is_whole(found) else None


def _is_whole(dim: Dim) -> bool:
    return isinstance(dim, int) or (dim.denominator == 1 and all(power > 0 for _, power in dim.powers))


def _impossible(waiting: Mapping[int, Monomial], shape: Shape, sizes: Mapping[str, Dim]) -> int | None:
    """Return a dim that products with several names left cannot meet; None if there are sizes that meet all."""
    stated: Conditions = ()
    for at, dim in waiting.items():
        try:
            if shape[at] != 0:
                stated = combine((*stated, *equal(rewrite(dim, sizes), shape[at])))
        except (Never, ZeroDivisionError):
            return at
    return None
