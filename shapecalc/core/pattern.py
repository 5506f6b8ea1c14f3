"""Patterns of shapes: how they are read, and shapes held against them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import count
from typing import TypeAlias

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.conditions import Conditions, Never, combine, equal
from shapecalc.core.dialects.base import KNOWN, element_type
from shapecalc.core.dialects.numpy import NUMPY
from shapecalc.core.dims import Dim, Monomial, Shape, always_whole, monomial, named_dim, names, quotient, rewrite
from shapecalc.core.ops import OPS
from shapecalc.core.problem import DIFFERS, Problem, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import (
    Token,
    brief,
    dim_text,
    rank_text,
    read_dim,
    read_dims,
    shape_text,
    suggestion,
    tokens,
    visible,
)
from shapecalc.core.values import dims_of, elements_of, read_sizes

# Patterns of shapes: what the shape of an array, or of an answer, must be.
#
#     pattern = type "[" dims "]" | dims        dims as in a shape, and one of them may be "..."
#
# `?` is any dim, `...` any number of dims. A name takes the size that it first meets and keeps it.


ANY_DIMS = "..."
"""What stands for any number of dims."""


class ShapePattern(Record):
    """What a shape must be: dims, of which some may be names, and an element type."""

    dims: Shape
    gap: int | None = None
    """How many of the dims stand before `...`; None if there is no `...`."""
    dtype: str | None = None

    def __str__(self) -> str:
        texts = list(map(str, self.dims))
        if self.gap is not None:
            texts.insert(self.gap, ANY_DIMS)
        text = ",".join(texts)
        return f"{self.dtype}[{text}]" if self.dtype else text or "[]"

    def is_open(self, own: Collection[str]) -> bool:
        """Say whether it asks for more than one shape as it is written; names in `own` stand for themselves."""
        return self.gap is not None or self.dtype is not None or any(name not in own for name in names(self.dims))


def pattern_of(value: object) -> ShapePattern:
    """Return the pattern of arrays that a text or a Python sequence states.

    Raises `ShapeError` (usage) for what states none, and for a negative size.

    >>> print(pattern_of(("N", 3, ...)), pattern_of("float32[N,3,?]"))
    N,3,... float32[N,3,?]
    """
    made = read_pattern(value, "pattern") if isinstance(value, str) else pattern_of_dims(value, "pattern")
    for dim in made.dims:
        if isinstance(dim, int) and dim < 0:
            raise misuse(f"{dim} is not the size of a dim", "write ? for any size, or a name", argument="pattern")
    return made


def read_pattern(text: str, argument: str) -> ShapePattern:
    """Return the pattern that a text writes; raise `ShapeError` (usage) if it writes none.

    >>> read_pattern("float32[N, ..., 3]", "pattern")
    ShapePattern(dims=(N, 3), gap=1, dtype='float32')
    """
    dtype, start = _read_type(text, argument)
    text = " " * start + text[start:]  # the dims stay at their places
    if ANY_DIMS not in text:
        return ShapePattern(read_dims(text, argument), None, dtype)
    listed = tokens(text, argument)
    gaps = [place for place, token in enumerate(listed) if token.text == ANY_DIMS]
    _check_gaps([listed[place] for place in gaps], argument)
    unknowns = count()
    written = [(place, token) for place, token in enumerate(listed) if place not in gaps]
    dims = tuple(read_dim(token, unknowns, argument, place) for place, token in written)
    return ShapePattern(dims, gaps[0] if gaps else None, dtype)


def pattern_of_dims(value: object, argument: str) -> ShapePattern:
    """Return the pattern that a Python sequence states, in which `...` and "..." are any number of dims.

    Raises `ShapeError` (usage) for anything else.
    """
    elements = elements_of(value, argument)
    if ... not in elements and ANY_DIMS not in elements:
        return ShapePattern(dims_of(elements, argument))
    gaps = [place for place, each in enumerate(elements) if each is ... or each == ANY_DIMS]
    _check_gaps(gaps, argument)
    dims = dims_of(tuple(each for at, each in enumerate(elements) if at not in gaps), argument)
    return ShapePattern(dims, gaps[0])


def _read_type(text: str, argument: str) -> tuple[str | None, int]:
    """Return the element type before a bracket, if there is one, and the place of the bracket."""
    word, bracket, _ = text.partition("[")
    name = word.strip()
    if not bracket or not name.isidentifier():
        return None, 0
    dtype = element_type(name, NUMPY)
    if dtype is None:
        start = text.index(name)
        message = f"there is no element type '{visible(brief(name))}'"
        raise misuse(message, suggestion(name, sorted(KNOWN)), argument=argument, span=(start, start + len(name)))
    return dtype, len(word)


def _check_gaps(gaps: list[Token] | list[int], argument: str) -> None:
    """Raise `ShapeError` (usage) if `...` stands more than once."""
    if len(gaps) > 1:
        span = gaps[1].span if isinstance(gaps[1], Token) else None
        raise misuse("... means any number of dims, so it can be written only once", argument=argument, span=span)


# Shapes held against a pattern: which sizes its names take, and where a shape differs.


Wanted: TypeAlias = int | str | Monomial | None
Difference: TypeAlias = tuple[int | None, str]
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

        >>> from shapecalc.core.pattern import pattern_of
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
        known_sizes = ", ".join(f"{name} is {dim_text(sizes[name])}: {origins[name]}" for name in known)
        return f"{shown}, and {want} is {_shown(want, sizes)} ({known_sizes})"


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
    return found if always_whole(found) else None


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


# What was expected of an answer: a shape, which is compared as it is written, or a pattern of shapes.


def unexpected(expected: ShapePattern, answer: Trace | Chain, sized: Iterable[str] = ()) -> str | None:
    """Return which dim of an answer a pattern does not fit, nothing of a shape; None if it is what was expected.

    Names of the question, and those in `sized`, to which it gave sizes, stand for themselves; any other takes a dim.

    >>> import shapecalc as sc
    >>> from shapecalc.core.pattern import read_pattern
    >>> answer = sc.reshape("N,C,H,W", "0,-1,64")
    >>> unexpected(read_pattern("N,B,64", "expect"), answer)
    >>> unexpected(read_pattern("N,C,64", "expect"), answer), unexpected(read_pattern("1,?,...", "expect"), answer)
    ('', 'differs: N,C*H*W/64,64 is not 1,?,...: dim 0 is N, not 1')
    """
    output = answer.output or ()
    if expected.dims == output and expected.gap is None and expected.dtype is None:
        return None
    own = {name for trace in answer.traces for name in names(trace.request.dims) if name[0] != "?"}.union(sized)
    if expected.is_open(own):
        problem = Matcher(expected, own=own).problem(output, _element_type(answer))
        return None if problem is None else str(problem)
    return None if str(expected) == shape_text(output) else ""


def sized_names(asked: Iterable[Mapping[str, object]]) -> set[str]:
    """Return the names to which the options of a question, or of the stages of one, give sizes.

    >>> sorted(sized_names([{"where": "N=8,C=3"}, {"target": "0,-1"}]))
    ['C', 'N']
    """
    return {name for options in asked if options.get("where") is not None for name in read_sizes(options["where"])}


def _element_type(answer: Trace | Chain) -> str | None:
    """Return the element type of an output; None if the question names none."""
    if any(OPS[trace.op].ends_chain for trace in answer.traces):
        return "int64"
    return next((trace.request.dtype for trace in reversed(answer.traces) if trace.request.dtype), None)
