"""The class `Op`, and functions that find the operator of an op in a dialect."""

from __future__ import annotations

from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.dialects.base import Dialect, Operator, Param, RequestRules
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import Record, lazy, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeAlias, TypeVar

    from shapecalc.core.answers import Stages, Trace
    from shapecalc.core.dims import Shape
    from shapecalc.core.problem import Rule, ShapeError

    Semantics = TypeVar("Semantics", bound=Record)


Arguments: TypeAlias = "Mapping[str, Any]"
FixCandidates: TypeAlias = "Iterator[tuple[str, object]]"
"""Pairs of an argument name and its new value. The value None removes the argument."""
SignatureRow: TypeAlias = "tuple[str, str] | tuple[str, str, Mapping[str, object]]"
"""The fields of a `calls.Signature`. A plain tuple keeps the import of the ops fast."""


class DialectTable(dict[str, "Semantics"]):
    """A table that maps the names of dialects to the semantics of an op.

    The first row is the default for dialects without a row.

    >>> class PadSemantics(Record):
    ...     allows_negative: bool = True
    >>> table = DialectTable({"onnx torch": PadSemantics(), "numpy": PadSemantics(allows_negative=False)})
    >>> from shapecalc.core.dialects import DIALECTS
    >>> [table.for_dialect(DIALECTS[name]).allows_negative for name in ("onnxruntime", "numpy", "caffe")]
    [True, False, True]
    """

    __slots__ = ("default",)

    def __init__(self, rows: Mapping[str, Semantics]) -> None:
        """Create a table from its rows.

        A key contains the names of one or more dialects, separated by spaces. Raises `ValueError` if two rows contain
        the same dialect.
        """
        super().__init__({name: row for names, row in rows.items() for name in names.split()})
        self.default = next(iter(rows.values()))
        if len(self) < sum(len(names.split()) for names in rows):
            raise ValueError("a dialect is in two rows")

    def for_dialect(self, dialect: Dialect) -> Semantics:
        """Return the semantics of the op in a dialect.

        A dialect without a row has the semantics of the dialect that it follows, or else the default semantics.
        """
        row = self.get(dialect.name)
        while row is None:
            if dialect.follows is None:
                return self.default
            dialect = dialect.follows
            row = self.get(dialect.name)
        return row


class Op(Record):
    """An operation: its parameters, resolver, operators and documentation."""

    name: str
    summary: str
    params: tuple[Param, ...]
    resolve: Callable[..., Stages]
    """The resolver: a function that returns the stages of a request.

    The positional arguments are the input shape and the `RequestRules`; the arguments of the op are keyword arguments.
    """
    operators: Mapping[str, Operator]
    """The operators of the op, keyed by dialect name.

    An operator in `Dialect.operators` takes precedence.
    """
    examples: tuple[str, ...]
    """The example command lines in the help of the op."""
    vectors: tuple[tuple[str, Mapping[str, str]], ...]
    """The test cases that `shapecalc vectors` exports: an input shape and arguments for each case."""
    signatures: tuple[SignatureRow, ...] = ()
    """The framework calls that are equivalent to the op.

    Each row has the fields of a `calls.Signature`. Generated code uses the first call of a framework.
    """
    printed_names: str = ""
    """The names of the op in the error messages of runtimes, in lower case and separated by spaces."""
    noun: str = ""
    """The name of the op in reports of `doctor`, such as `a matrix product`; empty for ops of one operand."""
    composed_of: tuple[Op, ...] = ()
    """The ops that this op can be composed of.

    A dialect supports this op if it has operators for all these ops. The first of these operators determines the
    versions of this op.
    """
    uses_switch: bool = False
    """Whether the result depends on the switch for the meaning of 0 in a shape, such as ONNX's `allowzero`."""
    default_dialect: str = "onnx"
    keeps_element_count: bool = True
    """Whether the element counts of input and output are always equal."""
    ends_chain: bool = False
    """Whether the op is allowed only at the end of a chain."""
    semantics: tuple[DialectTable[Any], ...] = ()
    """The tables of dialect semantics that the resolver uses. Several ops may share a table."""
    rules: tuple[Rule, ...] = ()
    """The rules that are specific to this op."""
    extras: Callable[[Trace], Mapping[str, object]] | None = None
    """A function that computes the additional results of a trace, keyed by JSON key.

    For example, these are the shapes of all parts of a split, or the inferred lengths of a rearrange.
    """
    describe_interpretation: Callable[[Shape, Mapping[str, Any], Dialect], str] | None = None
    """A function that describes how ambiguous arguments are interpreted. It returns an empty string if none is
    ambiguous.

    For example, the default stride of a pool differs between frameworks.
    """
    fix_candidates: Mapping[str, Callable[[Shape, Arguments], FixCandidates]] = EMPTY_DICT
    """For each rule id, a function that yields new arguments for a refused request.

    These candidates replace the general candidates for the rule. A candidate is suggested to the user only if it
    resolves.
    """

    @lazy
    def param_names(self) -> frozenset[str]:
        """Collect the names of all parameters.

        >>> from shapecalc.core.ops import OPS
        >>> sorted(OPS["select"].param_names)
        ['axis', 'index']
        """
        return frozenset([param.name for param in self.params])

    @lazy
    def positional_only_names(self) -> tuple[str, ...]:
        """Collect the names of the positional-only parameters, in order."""
        return tuple(param.name for param in self.params if param.positional)

    @lazy
    def positional_param_names(self) -> tuple[str, ...]:
        """Collect the names of all parameters that can be positional, in order."""
        return (*self.positional_only_names, *(param.name for param in self.params if param.positional_or_named))


def make_test_vectors(param_names: str, *rows: tuple[str, ...]) -> tuple[tuple[str, Mapping[str, str]], ...]:
    """Parse the test cases of an op.

    Each row starts with an input shape; every following string contains the arguments of one test case. Spaces separate
    the arguments, and `_` omits an argument.

    >>> make_test_vectors("axis index", ("2,3", "0 1", "_ 1"))
    (('2,3', {'axis': '0', 'index': '1'}), ('2,3', {'index': '1'}))
    """
    pairs = [
        (shape, zip(param_names.split(), values.split(), strict=False)) for shape, *texts in rows for values in texts
    ]
    return tuple([(shape, {name: value for name, value in arguments if value != "_"}) for shape, arguments in pairs])


def operators_by_dialect(**dialect_names: str) -> dict[str, Operator]:
    """Return operators without versions, keyed by dialect name.

    A keyword is the name of an operator. Its value contains the names of dialects, separated by spaces. The operators
    have no parameters of their own.

    >>> [(row, operator.name) for row, operator in operators_by_dialect(tile="numpy paddle", Tile="openvino").items()]
    [('numpy', 'tile'), ('paddle', 'tile'), ('openvino', 'Tile')]
    """
    return {dialect: Operator(name) for name, names in dialect_names.items() for dialect in names.split()}


def nearest_integers(number: int, minimum: int = 1, max_distance: int = 11) -> list[int]:
    """Return integers near `number`, the nearest first.

    All integers are at least `minimum`. Their distance from `max(minimum, number)` is at most `max_distance`.
    """
    start = max(minimum, number)
    return sorted(
        range(max(minimum, start - max_distance), start + max_distance), key=lambda other: abs(other - number)
    )


def operator_of(op: Op, dialect: Dialect) -> Operator | None:
    """Return a dialect's operator for an op, or None if the dialect lacks the op.

    If neither the dialect nor the op defines the operator, the operator of `Dialect.follows` applies. A dialect also
    supports an op if it supports all ops in `Op.composed_of`.
    """
    operator = dialect.operators.get(op.name) or op.operators.get(dialect.name)
    if operator is None and dialect.follows is not None:
        return operator_of(op, dialect.follows)
    if operator is None and op.composed_of:
        components = [operator_of(component, dialect) for component in op.composed_of]
        if None not in components:
            return Operator(op.name, components[0].versions)  # type: ignore[union-attr]
    return operator


def select_resolver(op: Op, operator: Operator) -> Callable[..., Stages]:
    """Return the resolver of an operator, or the resolver of the op by default."""
    own_resolver, check = operator.resolve, operator.refusal_check
    if own_resolver is None and check is None:
        return op.resolve

    def resolve(shape: Shape, rules: RequestRules, **arguments: Any) -> Stages:
        error = None if check is None else check(shape, rules, **arguments)
        if error is not None:
            error.stages = _make_refused_stages(op.resolve, shape, rules, arguments)
            raise error
        stages = None if own_resolver is None else own_resolver(shape, rules, **arguments)
        return op.resolve(shape, rules, **arguments) if stages is None else stages

    return resolve


def _make_refused_stages(
    resolve: Callable[..., Stages], shape: Shape, rules: RequestRules, arguments: Arguments
) -> Stages:
    """Return the first stage of a refused request, without steps and output."""
    try:
        stages = resolve(shape, rules, **arguments)
    except ShapeError as error:
        stages = error.stages
    return tuple([replace(stage, steps=(), after=None, move=None) for stage in stages[:1]])


def operator_types(op: Op, dialect: Dialect, version: int | None, variant: Operator | None = None) -> frozenset[str]:
    """Return the element types that a version of an operator accepts.

    `variant` is the variant of the operator that the request selects, or None.
    """
    operator = variant or operator_of(op, dialect)
    listed = dialect.types if operator is None or version is None else operator.versions[version]
    missing = operator.missing_types if operator else frozenset()
    return listed - missing - dialect.missing_types.get(op.name, frozenset())
