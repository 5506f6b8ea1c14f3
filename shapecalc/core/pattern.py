"""Shape patterns and their matching against shapes.

    pattern = type "[" dims "]" | dims        dims as in a shape; one of them may be "..."

`?` matches any dim, `...` any number of dims. A name is bound to the first size that it matches.
"""

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

ANY_DIMS = "..."
"""The token for any number of dims."""


Wanted: TypeAlias = int | str | Monomial | None
"""An expected dim.

It is an integer or a product to solve, a name to bind, or None for any dim.
"""
Difference: TypeAlias = tuple[int | None, str]
"""The index of the dim that differs, None for the whole shape, and the reason."""


class ShapePattern(Record):
    """A pattern of dims, some of which may be names, and an optional element type."""

    dims: Shape
    gap: int | None = None
    """The number of dims before `...`; None without `...`."""
    dtype: str | None = None

    def __str__(self) -> str:
        texts = list(map(str, self.dims))
        if self.gap is not None:
            texts.insert(self.gap, ANY_DIMS)
        text = ",".join(texts)
        return f"{self.dtype}[{text}]" if self.dtype else text or "[]"

    def is_open(self, own: Collection[str]) -> bool:
        """Return whether the pattern matches more than one shape.

        `fixed_names` match only themselves.
        """
        return self.gap is not None or self.dtype is not None or any(name not in own for name in names(self.dims))


def pattern_of(value: object) -> ShapePattern:
    """Return the pattern of arrays that a text or a Python sequence describes.

    Raises `ShapeError` (usage) for an invalid pattern and for a negative size.

    >>> print(pattern_of(("N", 3, ...)), pattern_of("float32[N,3,?]"))
    N,3,... float32[N,3,?]
    """
    pattern = read_pattern(value, "pattern") if isinstance(value, str) else pattern_of_dims(value, "pattern")
    for dim in pattern.dims:
        if isinstance(dim, int) and dim < 0:
            raise misuse(f"{dim} is not the size of a dim", "write ? for any size, or a name", argument="pattern")
    return pattern


def read_pattern(text: str, argument: str) -> ShapePattern:
    """Parse a pattern; raise `ShapeError` (usage) if it is invalid.

    >>> read_pattern("float32[N, ..., 3]", "pattern")
    ShapePattern(dims=(N, 3), gap=1, dtype='float32')
    """
    dtype, start = _read_type(text, argument)
    text = " " * start + text[start:]  # keeps the spans of the dims
    if ANY_DIMS not in text:
        return ShapePattern(read_dims(text, argument), None, dtype)
    dim_tokens = tokens(text, argument)
    ellipses = [index for index, token in enumerate(dim_tokens) if token.text == ANY_DIMS]
    _check_gaps([dim_tokens[index] for index in ellipses], argument)
    unknowns = count()
    dims_written = [(index, token) for index, token in enumerate(dim_tokens) if index not in ellipses]
    dims = tuple(read_dim(token, unknowns, argument, index) for index, token in dims_written)
    return ShapePattern(dims, ellipses[0] if ellipses else None, dtype)


def pattern_of_dims(value: object, argument: str) -> ShapePattern:
    """Return the pattern of a Python sequence.

    `...` and "..." match any number of dims. Raises `ShapeError` (usage) for an invalid sequence.
    """
    elements = elements_of(value, argument)
    if ... not in elements and ANY_DIMS not in elements:
        return ShapePattern(dims_of(elements, argument))
    ellipses = [index for index, item in enumerate(elements) if item is ... or item == ANY_DIMS]
    _check_gaps(ellipses, argument)
    dims = dims_of(tuple(item for position, item in enumerate(elements) if position not in ellipses), argument)
    return ShapePattern(dims, ellipses[0])


def _read_type(text: str, argument: str) -> tuple[str | None, int]:
    """Return the element type before a bracket, if any, and the index of the bracket."""
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
    if len(gaps) > 1:
        span = gaps[1].span if isinstance(gaps[1], Token) else None
        raise misuse("... means any number of dims, so it can be written only once", argument=argument, span=span)


class Matcher:
    """A pattern that is matched against several shapes.

    Names keep the size of their first match.
    """

    def __init__(self, pattern: ShapePattern, sizes: Mapping[str, Dim] | None = None, own: Collection[str] = ()):
        """Start with these sizes; names in `fixed_names` match only themselves."""
        self.pattern = pattern
        self.sizes: dict[str, Dim] = dict(sizes or {})
        """The sizes of names bound so far."""
        self.origins: dict[str, str] = dict.fromkeys(self.sizes, "as given")
        """The location at which each name was bound."""
        self._own = frozenset(own)
        self._wanted = tuple([self._compiled(dim) for dim in pattern.dims])
        self._passed: tuple[Shape, str | None] | None = None
        """The last shape that matched: it still matches, since names keep their sizes."""

    def problem(self, shape: Shape, dtype: str | None = None, place: str = "") -> Problem | None:
        """Match a shape and bind its names.

        Return a problem if it differs, and bind nothing.

        `location` appears in the messages of later problems.

        >>> from shapecalc.core.pattern import pattern_of
        >>> matcher = Matcher(pattern_of("N,2*H,..."))
        >>> matcher.problem((8, 6, 1), place="a.npy"), matcher.sizes
        (None, {'N': 8, 'H': 3})
        >>> matcher.problem((8, 8)).message
        '8,8 is not N,2*H,...: dim 1 is 8, and 2*H is 6 (H is 3: a.npy, dim 1)'
        """
        if (shape, dtype) == self._passed:
            return None
        expected = self._spread(len(shape))
        if expected is None:
            difference: Difference | None = None, f"it has {rank_text(len(shape))}"
        elif self.pattern.dtype not in (None, dtype):
            difference = None, f"its element type is {dtype or 'not known'}"
        else:
            difference = self._bind(expected, shape, place)
        if difference is None:
            self._passed = shape, dtype
            return None
        shown = ShapePattern(shape, None, dtype if self.pattern.dtype else None)
        message = f"{brief(str(shown))} is not {brief(str(self.pattern))}: {difference[1]}"
        return Problem(DIFFERS, message, "", "input", difference[0])

    def _compiled(self, dim: Dim) -> Wanted:
        """Return the dim in the form that is fastest to compare.

        It is None for any dim, and a text for a name to bind.
        """
        if isinstance(dim, int) or len(dim.powers) != 1:
            return dim
        ((name, _),) = dim.powers
        if name in self._own or dim != named_dim(name):
            return dim
        return None if name.startswith("?") else name

    def _spread(self, rank: int) -> tuple[Wanted, ...] | None:
        """Return the expected dim of each axis; None if the rank differs."""
        gap, extra = self.pattern.gap, rank - len(self._wanted)
        if gap is None or extra < 0:
            return None if extra else self._wanted
        return (*self._wanted[:gap], *[None] * extra, *self._wanted[gap:])

    def _bind(self, wanted: tuple[Wanted, ...], shape: Shape, place: str) -> Difference | None:
        """Bind names to their sizes; on a mismatch return it and bind nothing."""
        sizes, seen_at, products = self.sizes.copy(), dict[str, int](), list[int]()
        for index, (expected, size) in enumerate(zip(wanted, shape, strict=True)):
            if expected is None or (type(expected) is int and expected == size):
                continue
            if type(expected) is not str:
                products.append(index)
            elif expected not in sizes:
                sizes[expected], seen_at[expected] = size, index
            elif sizes[expected] != size:
                return index, self._reason(index, size, named_dim(expected), sizes, seen_at)
        if products:
            dims = {
                index: expected
                for index, expected in enumerate(wanted)
                if index in products and not isinstance(expected, str)
            }
            failing = self._solve(dims, shape, sizes, seen_at)
            if failing is not None:
                return failing, self._reason(failing, shape[failing], dims[failing] or 0, sizes, seen_at)
        if seen_at:
            prefix = f"{place}, " if place else ""
            self.sizes = {name: size for name, size in sizes.items() if name[0] != "?"}
            self.origins |= {name: f"{prefix}dim {index}" for name, index in seen_at.items()}
        return None

    def _solve(
        self, dims: Mapping[int, Dim | None], shape: Shape, sizes: dict[str, Dim], met: dict[str, int]
    ) -> int | None:
        """Bind the names of products, starting with one free name each.

        Returns the first axis that cannot match, or None.
        """
        pending = {axis: monomial(dim) for axis, dim in dims.items() if dim is not None}
        while ready := [axis for axis, dim in pending.items() if len(self._free(dim, sizes)) < 2]:
            for axis in ready:
                dim = pending.pop(axis)
                free = self._free(dim, sizes)
                value = _solved(dim, shape[axis], sizes, *free)
                if value is None:
                    return axis
                sizes |= dict.fromkeys(free, value)
                met |= dict.fromkeys(free, axis)
        return _impossible(pending, shape, sizes)

    def _free(self, dim: Monomial, sizes: Mapping[str, Dim]) -> list[str]:
        """Return the names of a product that are not bound."""
        return [name for name, _ in dim.powers if name not in sizes and name not in self._own]

    def _reason(self, at: int, size: Dim, want: Dim, sizes: Mapping[str, Dim], met: Mapping[str, int]) -> str:
        """Return the reason why a size does not match."""
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
    """Return the name of an array's element type in any framework.

    Returns None if it has no known one.

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
    """Solve `dim == size` for the one free name, or check it if there is none.

    Returns None if there is no solution.
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
        value = quotient(size, rest) if power == 1 else quotient(rest, size)
    except (ZeroDivisionError, Never):
        return None
    return value if always_whole(value) else None


def _impossible(waiting: Mapping[int, Monomial], shape: Shape, sizes: Mapping[str, Dim]) -> int | None:
    """Return an axis whose product of several free names has no solution.

    Returns None if all products may have one.
    """
    stated: Conditions = ()
    for axis, dim in waiting.items():
        try:
            if shape[axis] != 0:
                stated = combine((*stated, *equal(rewrite(dim, sizes), shape[axis])))
        except (Never, ZeroDivisionError):
            return axis
    return None


def unexpected(expected: ShapePattern, answer: Trace | Chain, sized: Iterable[str] = ()) -> str | None:
    """Return the reason why an answer does not match, or None.

    The reason is empty for a plain shape. Names of the question, and those in `fixed_names` to which it assigned sizes,
    match only themselves; other names are free.

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
    """Return the names that the options of stages assign sizes to.

    >>> sorted(sized_names([{"where": "N=8,C=3"}, {"target": "0,-1"}]))
    ['C', 'N']
    """
    return {name for options in asked if options.get("where") is not None for name in read_sizes(options["where"])}


def _element_type(answer: Trace | Chain) -> str | None:
    """Return the element type of an output; None if the question names none."""
    if any(OPS[trace.op].ends_chain for trace in answer.traces):
        return "int64"
    return next((trace.request.dtype for trace in reversed(answer.traces) if trace.request.dtype), None)
