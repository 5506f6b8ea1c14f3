"""Parse shape patterns, and match shapes against them.

    pattern = type "[" dims "]" | dims        dims as in a shape; one of the dims may be "..."

`?` matches any dim, and `...` matches any number of dims. A name is bound to the first dim that it matches, and then
matches only equal dims. A fixed name is a symbolic size of the matched shape, and matches only itself.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.conditions import Conditions, Unsatisfiable, require_equal, simplify_conditions
from shapecalc.core.dialects.base import ALL_TYPES, parse_element_type
from shapecalc.core.dialects.numpy import NUMPY
from shapecalc.core.dims import (
    Dim,
    Monomial,
    Shape,
    dim_names,
    is_always_integral,
    monomial,
    named_dim,
    quotient,
    substitute_dims,
)
from shapecalc.core.ops import OPS
from shapecalc.core.problem import DIFFERS, Problem, ShapeError, usage_error
from shapecalc.core.record import Record
from shapecalc.core.requests import parse_printed_element_type
from shapecalc.core.text import (
    ScannedShape,
    Token,
    dim_text,
    escape_unprintable,
    parse_dim,
    parse_typed_shape,
    rank_text,
    scan_shape,
    shape_text,
    suggest_name,
    truncate,
)
from shapecalc.core.values import parse_sizes, to_dims, to_element_tuple, to_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

ANY_DIMS = "..."
"""The token that matches any number of dims."""


ExpectedDim: TypeAlias = int | str | Monomial | None
"""A dim of a pattern, prepared for comparison.

An integer or a monomial must equal the actual dim, a string is a name to bind, and None matches any dim.
"""
DimMismatch: TypeAlias = tuple[int | None, str]
"""The index of the mismatched dim, and the reason.

The index is None if the rank or the element type differs.
"""


class ShapePattern(Record):
    """A pattern of dims with an optional element type."""

    dims: Shape
    ellipsis_index: int | None = None
    """The number of dims before `...`, or None if the pattern has no `...`."""
    dtype: str | None = None

    def __str__(self) -> str:
        texts = list(map(str, self.dims))
        if self.ellipsis_index is not None:
            texts.insert(self.ellipsis_index, ANY_DIMS)
        text = ",".join(texts)
        return f"{self.dtype}[{text}]" if self.dtype else text or "[]"

    def is_open(self, fixed_names: Collection[str]) -> bool:
        """Return whether the pattern is open: contains `...`, an element type or a name to bind.

        The names in `fixed_names` are not bound.
        """
        return (
            self.ellipsis_index is not None
            or self.dtype is not None
            or any(name not in fixed_names for name in dim_names(self.dims))
        )


def to_pattern(value: object) -> ShapePattern:
    """Convert a string or a sequence to a shape pattern.

    Raises `ShapeError` (usage) for an invalid pattern and for a negative size.

    >>> print(to_pattern(("N", 3, ...)), to_pattern("float32[N,3,?]"))
    N,3,... float32[N,3,?]
    """
    return parse_pattern(value, "pattern") if isinstance(value, str) else pattern_from_sequence(value, "pattern")


def parse_pattern(text: str, argument: str) -> ShapePattern:
    """Parse a pattern.

    Raises `ShapeError` (usage) for an invalid pattern.

    >>> parse_pattern("float32[N, ..., 3]", "pattern")
    ShapePattern(dims=(N, 3), ellipsis_index=1, dtype='float32')
    """
    scanned = _scan_pattern(text, argument)
    dtype = parse_printed_element_type(scanned.dtype, NUMPY) if scanned.dtype else None
    dim_tokens = [Token("?", token.start) if token.text == "_" else token for token in scanned.tokens]
    ellipses = [index for index, token in enumerate(dim_tokens) if token.text == ANY_DIMS]
    _check_single_ellipsis([dim_tokens[index] for index in ellipses], argument)
    unknowns = count()
    dims_written = [(index, token) for index, token in enumerate(dim_tokens) if index not in ellipses]
    dims = tuple(parse_dim(token, unknowns, argument, index) for index, token in dims_written)
    _check_nonnegative(dims, [token for _, token in dims_written], argument)
    return ShapePattern(dims, ellipses[0] if ellipses else None, dtype)


def pattern_from_sequence(value: object, argument: str) -> ShapePattern:
    """Convert a Python sequence to a shape pattern.

    The items `...` and "..." match any number of dims. Raises `ShapeError` (usage) for an invalid sequence.
    """
    elements = to_element_tuple(value, argument)
    if ... not in elements and ANY_DIMS not in elements:
        dims = to_dims(elements, argument, allows_unknown=True)
        _check_nonnegative(dims, (), argument)
        return ShapePattern(dims)
    ellipses = [index for index, item in enumerate(elements) if item is ... or item == ANY_DIMS]
    _check_single_ellipsis(ellipses, argument)
    others = tuple(item for position, item in enumerate(elements) if position not in ellipses)
    dims = to_dims(others, argument, allows_unknown=True)
    _check_nonnegative(dims, (), argument)
    return ShapePattern(dims, ellipses[0])


def _check_nonnegative(dims: Shape, tokens: Sequence[Token], argument: str) -> None:
    """Raise `ShapeError` (usage) for a negative size."""
    for index, dim in enumerate(dims):
        if isinstance(dim, int) and dim < 0:
            span = tokens[index].span if index < len(tokens) else None
            message = f"{dim} is not the size of a dim"
            raise usage_error(message, "write ? for any size, or a name", argument=argument, index=index, span=span)


def _scan_pattern(text: str, argument: str) -> ScannedShape:
    """Split a pattern into tokens.

    Raises `ShapeError` (usage) unless the text is a single shape.
    """
    try:
        scanned = scan_shape(text, argument)
    except ShapeError:
        _check_type_prefix(text, argument)
        raise
    if not scanned.form:
        _check_type_prefix(text, argument)
    return scanned


def _check_type_prefix(text: str, argument: str) -> None:
    """Raise `ShapeError` (usage) for an unknown element type before a bracket."""
    word, bracket, _ = text.partition("[")
    name = word.strip()
    if not (bracket and name.isidentifier()):
        return
    from shapecalc.core.spellings import is_element_type  # imported here, because few patterns have a type

    if not is_element_type(name):
        start = text.index(name)
        message = f"there is no element type '{escape_unprintable(truncate(name))}'"
        raise usage_error(
            message, suggest_name(name, sorted(ALL_TYPES)), argument=argument, span=(start, start + len(name))
        )


def _check_single_ellipsis(ellipses: list[Token] | list[int], argument: str) -> None:
    if len(ellipses) > 1:
        span = ellipses[1].span if isinstance(ellipses[1], Token) else None
        raise usage_error("... means any number of dims, so it can be written only once", argument=argument, span=span)


class MatchedSizes(dict[str, Dim]):
    """The sizes of the names in a matching pattern.

    Its truth value is True even if the pattern has no names.
    """

    def __bool__(self) -> bool:
        return True


class Matcher:
    """A matcher of shapes against one pattern.

    A name that is bound keeps its size for later shapes.
    """

    def __init__(
        self, pattern: ShapePattern, sizes: Mapping[str, Dim] | None = None, fixed_names: Collection[str] = ()
    ):
        """Create a matcher of a pattern.

        `sizes` contains the sizes of names that are already bound.
        """
        self.pattern = pattern
        self.sizes: dict[str, Dim] = dict(sizes or {})
        """The sizes of the bound names."""
        self.binding_locations: dict[str, str] = dict.fromkeys(self.sizes, "as given")
        """The location of the shape that bound each name."""
        self._fixed_names = frozenset(fixed_names)
        self._expected = tuple([self._compile_dim(dim) for dim in pattern.dims])
        self._last_match: tuple[Shape, str | None] | None = None
        """The last shape and element type that matched.

        An equal shape matches again, since names keep their sizes.
        """

    @classmethod
    def with_sizes_of(cls, other: Matcher | None, pattern: ShapePattern) -> Matcher:
        """Return a matcher of `pattern` that starts with the sizes bound by `other`."""
        matcher = cls(pattern, other.sizes if other else None)
        matcher.binding_locations |= other.binding_locations if other else {}
        return matcher

    def match_shape(self, shape: Shape, dtype: str | None = None, location: str = "") -> Problem | None:
        """Match a shape, and bind the names of the pattern.

        If the shape does not match, returns the problem and binds no name. `location` is the source of the shape, such
        as a file. If a later shape does not match, its problem reports where the sizes were bound.

        >>> from shapecalc.reading.pattern import to_pattern
        >>> matcher = Matcher(to_pattern("N,2*H,..."))
        >>> matcher.match_shape((8, 6, 1), location="a.npy"), matcher.sizes
        (None, {'N': 8, 'H': 3})
        >>> matcher.match_shape((8, 8)).message
        '8,8 is not N,2*H,...: dim 1 is 8, and 2*H is 6 (H is 3: a.npy, dim 1)'
        """
        if (shape, dtype) == self._last_match:
            return None
        expected = self._expand_ellipsis(len(shape))
        if expected is None:
            difference: DimMismatch | None = None, f"it has {rank_text(len(shape))}"
        elif self.pattern.dtype not in (None, dtype):
            difference = None, f"its element type is {dtype or 'not known'}"
        else:
            difference = self._bind_names(expected, shape, location)
        if difference is None:
            self._last_match = shape, dtype
            return None
        shown = ShapePattern(shape, None, dtype if self.pattern.dtype else None)
        message = f"{truncate(str(shown))} is not {truncate(str(self.pattern))}: {difference[1]}"
        return Problem(DIFFERS, message, "", "input", difference[0])

    def _compile_dim(self, dim: Dim) -> ExpectedDim:
        """Convert a pattern dim to a form that is fast to compare."""
        if isinstance(dim, int) or len(dim.powers) != 1:
            return dim
        ((name, _),) = dim.powers
        if name in self._fixed_names or dim != named_dim(name):
            return dim
        return None if name.startswith("?") else name

    def _expand_ellipsis(self, rank: int) -> tuple[ExpectedDim, ...] | None:
        """Return the expected dim of each axis, or None if the rank differs."""
        gap, extra = self.pattern.ellipsis_index, rank - len(self._expected)
        if gap is None or extra < 0:
            return None if extra else self._expected
        return (*self._expected[:gap], *[None] * extra, *self._expected[gap:])

    def _bind_names(self, expected_dims: tuple[ExpectedDim, ...], shape: Shape, location: str) -> DimMismatch | None:
        """Bind names to the dims of a shape.

        If a dim does not match, returns the mismatch and binds no name.
        """
        sizes, seen_at, products = self.sizes.copy(), dict[str, int](), list[int]()
        for index, (expected, size) in enumerate(zip(expected_dims, shape, strict=True)):
            if expected is None or (type(expected) is int and expected == size):
                continue
            if type(expected) is not str:
                products.append(index)
            elif expected not in sizes:
                sizes[expected], seen_at[expected] = size, index
            elif sizes[expected] != size:
                return index, self._explain_mismatch(index, size, named_dim(expected), sizes, seen_at)
        if products:
            dims = {
                index: expected
                for index, expected in enumerate(expected_dims)
                if index in products and not isinstance(expected, str)
            }
            failing = self._bind_products(dims, shape, sizes, seen_at)
            if failing is not None:
                return failing, self._explain_mismatch(failing, shape[failing], dims[failing] or 0, sizes, seen_at)
        if seen_at:
            prefix = f"{location}, " if location else ""
            self.sizes = {name: size for name, size in sizes.items() if name[0] != "?"}
            self.binding_locations |= {name: f"{prefix}dim {index}" for name, index in seen_at.items()}
        return None

    def _bind_products(
        self, dims: Mapping[int, Dim | None], shape: Shape, sizes: dict[str, Dim], bound_axes: dict[str, int]
    ) -> int | None:
        """Bind the unbound names in dims that are products.

        A product with one unbound name is solved for it. Returns the first axis that cannot match, or None.
        """
        pending = {axis: monomial(dim) for axis, dim in dims.items() if dim is not None}
        while ready := [axis for axis, dim in pending.items() if len(self._unbound_names(dim, sizes)) < 2]:
            for axis in ready:
                dim = pending.pop(axis)
                free = self._unbound_names(dim, sizes)
                value = _solve_name(dim, shape[axis], sizes, *free)
                if value is None:
                    return axis
                sizes |= dict.fromkeys(free, value)
                bound_axes |= dict.fromkeys(free, axis)
        return _find_unsatisfiable_axis(pending, shape, sizes)

    def _unbound_names(self, dim: Monomial, sizes: Mapping[str, Dim]) -> list[str]:
        """Return the names of a product that are neither bound nor fixed."""
        return [name for name, _ in dim.powers if name not in sizes and name not in self._fixed_names]

    def _explain_mismatch(
        self, axis: int, size: Dim, expected: Dim, sizes: Mapping[str, Dim], bound_axes: Mapping[str, int]
    ) -> str:
        """Return the reason why a size does not match."""
        shown = f"dim {axis} is {dim_text(size)}"
        if isinstance(expected, int):
            return f"{shown}, not {dim_text(expected)}"
        origins = self.binding_locations | {name: f"dim {at}" for name, at in bound_axes.items()}
        known = [name for name, _ in expected.powers if name in sizes and name[0] != "?"]
        if len(known) < len(expected.powers):
            own = any(name in self._fixed_names for name, _ in expected.powers)
            return f"{shown}, and {expected} {'stands for itself' if own else 'cannot be that'}"
        if expected == named_dim(known[0]):
            return f"{shown}, and {expected} is {dim_text(sizes[known[0]])} ({origins[known[0]]})"
        known_sizes = ", ".join(f"{name} is {dim_text(sizes[name])}: {origins[name]}" for name in known)
        return f"{shown}, and {expected} is {_format_dim(expected, sizes)} ({known_sizes})"


def get_element_type(array: object) -> str | None:
    """Return the name of an array's element type, or None if it is unknown.

    The array may belong to any framework.

    >>> class Tensor: dtype = "torch.float32"
    >>> get_element_type(Tensor()), get_element_type((2, 3))
    ('float32', None)
    """
    dtype = getattr(array, "dtype", None)
    name = getattr(dtype, "name", None) or getattr(dtype, "__name__", None) or str(dtype)
    kind = {"U": "string", "S": "bytes"}.get(str(getattr(dtype, "kind", "")))
    return kind or parse_element_type(str(name).rpartition(".")[2], NUMPY)


def _format_dim(dim: Dim, sizes: Mapping[str, Dim]) -> str:
    try:
        return dim_text(substitute_dims(dim, sizes))
    except ZeroDivisionError:
        return "nothing"


def _solve_name(dim: Monomial, size: Dim, sizes: Mapping[str, Dim], name: str = "") -> Dim | None:
    """Solve `dim == size` for the unbound name `name`.

    Returns the size of the name, or None if there is no solution. If `name` is empty, returns `size` if the equation
    holds.
    """
    try:
        dim = monomial(substitute_dims(dim, sizes))
        power = dict(dim.powers).get(name)
        if power is None:
            return size if dim == monomial(size) else None
        if size == 0:
            return 0 if power > 0 else None
        if abs(power) > 1:
            return require_equal(dim, size)[0].right
        rest = quotient(dim, named_dim(name)) if power == 1 else quotient(dim, quotient(1, named_dim(name)))
        value = quotient(size, rest) if power == 1 else quotient(rest, size)
    except (ZeroDivisionError, Unsatisfiable):
        return None
    return value if is_always_integral(value) else None


def _find_unsatisfiable_axis(dims: Mapping[int, Monomial], shape: Shape, sizes: Mapping[str, Dim]) -> int | None:
    """Return the first axis whose product cannot equal its size, or None.

    Each product has several unbound names. Some sizes of these names must satisfy the equations `product == size` of
    all axes.
    """
    stated: Conditions = ()
    for axis, dim in dims.items():
        try:
            if shape[axis] != 0:
                stated = simplify_conditions((*stated, *require_equal(substitute_dims(dim, sizes), shape[axis])))
        except (Unsatisfiable, ZeroDivisionError):
            return axis
    return None


def pattern_mismatch(expected: ShapePattern, answer: Trace | Chain, fixed_names: Iterable[str] = ()) -> str | None:
    """Return the reason why an output does not match a pattern, or None.

    The names in the request and in `fixed_names` match only themselves; all other names match any size. The reason is
    an empty string if the pattern contains only integers and these names.

    >>> import shapecalc as sc
    >>> from shapecalc.reading.pattern import parse_pattern
    >>> answer = sc.reshape("N,C,H,W", "0,-1,64")
    >>> pattern_mismatch(parse_pattern("N,B,64", "expect"), answer)
    >>> pattern_mismatch(parse_pattern("N,C,64", "expect"), answer)
    ''
    >>> pattern_mismatch(parse_pattern("1,?,...", "expect"), answer)
    'differs: N,C*H*W/64,64 is not 1,?,...: dim 0 is N, not 1'
    """
    output = answer.output or ()
    if expected.dims == output and expected.ellipsis_index is None and expected.dtype is None:
        return None
    own = {name for trace in answer.traces for name in dim_names(trace.request.dims) if name[0] != "?"}.union(
        fixed_names
    )
    if expected.is_open(own):
        problem = Matcher(expected, fixed_names=own).match_shape(output, _output_element_type(answer))
        return None if problem is None else str(problem)
    return None if str(expected) == shape_text(output) else ""


def shape_and_type(value: object) -> tuple[Shape, str | None]:
    """Return the shape and the element type of a value.

    The value is a string, an array or a sequence of dims. The type is None if it is unknown.
    """
    if not isinstance(value, str):
        return to_shape(value), get_element_type(value)
    typed = parse_typed_shape(value)
    return typed.dims, parse_printed_element_type(typed.dtype, NUMPY) if typed.dtype else None


def match_pattern(pattern: object, shape: object, where: Mapping[str, int] | None) -> MatchedSizes:
    """Match a shape against a pattern, and return the sizes of the names.

    `where` contains the sizes of names that are already known. Raises `ShapeError` (differs) if the shape does not
    match, and `ShapeError` (usage) for an invalid argument.
    """
    matcher = Matcher(to_pattern(pattern), parse_sizes(where or {}))
    problem = matcher.match_shape(*shape_and_type(shape))
    if problem:
        raise ShapeError(problem)
    return MatchedSizes(matcher.sizes)


def names_with_sizes(stage_options: Iterable[Mapping[str, object]]) -> set[str]:
    """Return the names to which stage options assign sizes.

    >>> sorted(names_with_sizes([{"where": "N=8,C=3"}, {"target": "0,-1"}]))
    ['C', 'N']
    """
    return {
        name for options in stage_options if options.get("where") is not None for name in parse_sizes(options["where"])
    }


def _output_element_type(answer: Trace | Chain) -> str | None:
    """Return the element type of an answer's output, or None if it is unknown.

    The op `shape` returns int64. Other ops keep the element type of the last request that has one.
    """
    if any(OPS[trace.op].ends_chain for trace in answer.traces):
        return "int64"
    return next((trace.request.dtype for trace in reversed(answer.traces) if trace.request.dtype), None)
