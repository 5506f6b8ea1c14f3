"""The data model of dialects: parameters, operators, rules and element types.

The fields of `Dialect` describe the differences between frameworks. Shared behaviour is implemented here or in the
package `ops`.
"""

from __future__ import annotations

from shapecalc.core import rules
from shapecalc.core.answers import EMPTY_DICT, ResolvedDim, Stage, StageBuilder, StageKind, Stages, Step, make_step
from shapecalc.core.conditions import Conditions, Unsatisfiable, require_divisible, require_equal, require_relation
from shapecalc.core.dims import INT64_MAX, Dim, Shape, exceeds, monomial, product, quotient
from shapecalc.core.moves import Reshape
from shapecalc.core.params import Param as Param
from shapecalc.core.params import ParamType as ParamType
from shapecalc.core.problem import Rule, ShapeError, rule_error, usage_error
from shapecalc.core.record import Choice, FrozenDict, TableRow, fields
from shapecalc.core.results import NameAllocator
from shapecalc.core.text import dim_text, element_count_text, escape_unprintable, shape_text, truncate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias


NO_VERSIONS: Mapping[int, frozenset[str]] = {}
RefusalCheck: TypeAlias = "Callable[..., ShapeError | None]"
"""A function with the parameters of `Op.resolve` that returns the error for a refused request, or None."""
EndCounts: TypeAlias = "tuple[int, int]"
"""Two counts of dims: at the start and at the end of a shape."""


class ZeroMeaning(Choice):
    """The meaning of 0 in a requested shape."""

    COPIES = "copies"
    LITERAL = "is zero"


class InferMarker(Choice):
    """The negative integers that mark a dim to infer."""

    MINUS_ONE = "-1"
    ANY_NEGATIVE = "any < 0"


class ZeroWithInferPolicy(Choice):
    """The policy for a requested shape that contains both a literal 0 and -1."""

    ALLOWED = "yes"
    REFUSED = "no"


class ZeroVolumeInferPolicy(Choice):
    """The rule for -1 if the product of the other dims is zero."""

    REFUSED = "refused"
    WITHOUT_ZEROS = "no zeros"
    """-1 is the quotient of the element counts without the zeros."""
    WITHOUT_COPIES = "no copies"
    """-1 is the quotient of the element counts without the copied dims, and 0/0 is 1."""


class ReshapeSemantics(TableRow):
    """The meaning of 0 and -1 in a requested shape.

    Each setting of the switch has its own semantics. A switch selects all fields together, because frameworks change
    them together: ONNX's `allowzero=1` makes 0 literal, and also forbids 0 together with -1.
    """

    zero: ZeroMeaning
    infers: InferMarker = InferMarker.MINUS_ONE
    zero_beside: ZeroWithInferPolicy = ZeroWithInferPolicy.ALLOWED
    empty: ZeroVolumeInferPolicy = ZeroVolumeInferPolicy.REFUSED


ZERO_COPIES = ReshapeSemantics(ZeroMeaning.COPIES)
"""Semantics in which 0 copies a dim. If another dim is 0, -1 is refused."""
ZERO_LITERAL = ReshapeSemantics(ZeroMeaning.LITERAL, zero_beside=ZeroWithInferPolicy.REFUSED)
"""Semantics in which 0 is a dim of size 0. A 0 together with -1 is refused."""


class Switch(TableRow):
    """A framework attribute that changes the meaning of 0 in a requested shape."""

    name: str
    default: bool | None
    """The default setting, or None if the framework requires an explicit setting."""
    since: int = 1
    """The first operator version with the switch."""


class Operator(TableRow):
    """The operator that implements an op in a dialect, with its versions and parameters."""

    name: str
    versions: Mapping[int, frozenset[str]] = NO_VERSIONS
    """The accepted element types of each version; empty if the operator has no versions."""
    params_since: Mapping[str, int | None] = EMPTY_DICT
    """For each parameter, the first operator version that has the parameter, or None if there is no such version.

    If the version of a request lacks the parameter, a rule refuses the request. If no version has the parameter, the
    request is a usage error.
    """
    missing_types: frozenset[str] = frozenset()
    """The element types in `Dialect.types` that this unversioned operator refuses."""
    required_since: Mapping[str, int] = EMPTY_DICT
    """For each optional parameter of the op, the first operator version that requires the parameter."""
    params: tuple[Param, ...] = ()
    """Additional parameters of the operator, besides the parameters of the op."""
    resolve: Callable[..., Stages | None] | None = None
    """The operator's own resolver, with the signature of `Op.resolve`, or None.

    The resolver returns None for requests that the resolver of the op handles.
    """
    refusal_check: RefusalCheck | None = None
    """An additional check that can refuse a request.

    The error of the check is raised after the start of the first stage.
    """
    scalar_axis: bool = True
    """Whether `AxisSemantics.scalar_axis` applies to this operator."""
    variant_of: Callable[[Mapping[str, Any]], Operator] | None = None
    """A function that maps the arguments of a request to a variant of the operator."""


def operators_by_op(same_names: str = "", **others: str) -> dict[str, Operator]:
    """Map ops to operators.

    `same_names` lists the ops whose operator has the same name. `others` maps the other ops to the names of their
    operators.

    >>> [operator.name for operator in operators_by_op("reshape", unsqueeze="expand_dims").values()]
    ['reshape', 'expand_dims']
    """
    names = {op: op for op in same_names.split()} | others
    return {op: Operator(name) for op, name in names.items()}


class Dialect(TableRow):
    """A framework: its operators, rules and limits, with their sources."""

    name: str
    source: str
    reshape_semantics: Mapping[bool | None, ReshapeSemantics]
    """The reshape semantics of each switch setting; the setting is None in a dialect without a switch."""
    types: frozenset[str]
    """The element types that unversioned operators accept; empty if all operators have versions."""
    operators: Mapping[str, Operator] = EMPTY_DICT
    """The operators, keyed by op. Some ops list their own operators in `Op.operators`."""
    follows: Dialect | None = None
    """The dialect that supplies missing operators and table rows."""
    switch: Switch | None = None
    newest_opset: int | None = None
    """The newest supported opset, or None if operators are not versioned."""
    max_rank: int | None = None
    max_inferred: int | None = None
    missing_types: Mapping[str, frozenset[str]] = EMPTY_DICT
    """The element types that each operator refuses, keyed by op.

    These types are subtracted from `types` or from the types of the operator version.
    """
    spellings: Mapping[str, str] = EMPTY_DICT
    """The NumPy names of element types, keyed by their names in the dialect."""
    prefix: str = ""
    """The optional prefix of element types, such as `torch.`."""
    aliases: tuple[str, ...] = ()
    """Alternative names of the dialect."""
    note: str = ""
    rules: tuple[Rule, ...] = ()
    """The rules that are specific to this dialect."""

    def switch_settings(self) -> tuple[bool | None, ...]:
        """Return the settings of the switch, with the default first.

        In a dialect without a switch, the only setting is None.
        """
        default = self.switch and self.switch.default
        return tuple(sorted(self.reshape_semantics, key=lambda setting: setting is not default))

    @property
    def default_settings(self) -> tuple[bool | None, ...]:
        """The default settings of the switch.

        If the framework requires an explicit setting, all settings are defaults.
        """
        required = self.switch is not None and self.switch.default is None
        return self.switch_settings() if required else self.switch_settings()[:1]

    def reshape_semantics_as_json(self, setting: bool | None) -> dict[str, object]:
        """Return the reshape semantics of a switch setting as a JSON object."""
        return {"setting": setting} | {
            name: answer.value for name, answer in fields(self.reshape_semantics[setting]).items()
        }


class RequestRules(TableRow):
    """The rules for one request: dialect, operator, version and switch."""

    dialect: Dialect
    operator: Operator
    resolve: Callable[..., Stages]
    """The resolver for the request, from the operator or from the op."""
    version: int | None
    """The operator's version, or None if operators are not versioned."""
    reshape_semantics: ReshapeSemantics
    """The meaning of 0 and -1 in a requested shape."""
    options: FrozenDict
    """A mapping from the name of the switch to its setting."""
    extras: Callable[[Any], Mapping[str, object]] | FrozenDict = EMPTY_DICT
    """The function that computes the additional results of a trace, or an empty mapping."""
    names: NameAllocator = NameAllocator((), EMPTY_DICT)
    """The allocator of result names, for requests with named sizes."""

    def with_names(self, names: NameAllocator) -> RequestRules:
        """Return a copy of the rules with another name allocator.

        This method takes half the time of `replace`.
        """
        fields = self.dialect, self.operator, self.resolve, self.version, self.reshape_semantics
        return RequestRules(*fields, self.options, self.extras, names)


# Element types have the names of NumPy and ml_dtypes. `SINCE_n` contains the types that ONNX operators accept since
# version n.
INTEGERS = frozenset(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = frozenset({"float16", "float32", "float64"})
COMPLEX = frozenset({"complex64", "complex128"})
FLOAT8 = frozenset({"float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz"})
INT4 = frozenset({"int4", "uint4"})
SUB_BYTE = frozenset({"float4_e2m1fn", "float8_e8m0fnu", "int2", "uint2"})

UP_TO_12 = INTEGERS | FLOATS | COMPLEX | {"bool", "string"}
SINCE_13 = UP_TO_12 | {"bfloat16"}
ARITHMETIC_TYPES = FLOATS | {"int32", "int64", "uint32", "uint64"}
"""The element types that older versions of arithmetic operators accept."""
NUMBERS = FLOATS | INTEGERS
SINCE_19 = SINCE_13 | FLOAT8
SINCE_21 = SINCE_19 | INT4
SINCE_23 = SINCE_21 | {"float4_e2m1fn"}
SINCE_24 = SINCE_23 | {"float8_e8m0fnu"}
SINCE_25 = SINCE_24 | {"int2", "uint2"}
NEWEST_VERSIONS = {21: SINCE_21, 23: SINCE_23, 24: SINCE_24, 25: SINCE_25}
"""The element types of the newest versions of most ONNX operators, keyed by version."""

ALL_TYPES = SINCE_25 | {"float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float6_e2m3fn", "float6_e3m2fn"}
ALL_TYPES |= {"int1", "uint1", "longdouble", "clongdouble", "bytes", "object", "datetime64", "timedelta64", "void"}
"""All element types of NumPy and ml_dtypes."""

WHY_ANY_SIZE = "the other dims multiply to 0"
"""The default reason in the message about an ambiguous -1."""


def parse_element_type(text: str, dialect: Dialect) -> str | None:
    """Parse a dialect's name of an element type.

    Returns None for an unknown name.

    >>> from shapecalc.core.dialects.numpy import NUMPY
    >>> from shapecalc.core.dialects.onnx import ONNX
    >>> parse_element_type("float", ONNX), parse_element_type("tensor(float16)", ONNX)
    ('float32', 'float16')
    >>> parse_element_type("float", NUMPY)
    'float64'
    """
    name = text.strip()
    if name.startswith("tensor(") and name.endswith(")"):
        name = name[7:-1]
    name = name.removeprefix(dialect.prefix)
    name = dialect.spellings.get(name, name)
    return name if name in ALL_TYPES else None


def element_type_name(dtype: str, dialect: Dialect) -> str:
    """Return a dialect's name of an element type.

    >>> from shapecalc.core.dialects.onednn import ONEDNN
    >>> from shapecalc.core.dialects.onnx import ONNX
    >>> element_type_name("float32", ONNX), element_type_name("float32", ONEDNN), element_type_name("int8", ONNX)
    ('float', 'f32', 'int8')
    """
    return next((own for own, name in dialect.spellings.items() if name == dtype), dtype)


def element_size(dtype: str) -> int:
    """Return the size in bytes of an element in NumPy and ml_dtypes.

    Raises `ShapeError` (usage) for an unknown type, and for a type without a fixed element size.

    >>> element_size("bfloat16"), element_size("int4"), element_size("bool")
    (2, 1, 1)
    """
    sizes = {"bool": 1, "longdouble": 16, "clongdouble": 32, "datetime64": 8, "timedelta64": 8}
    kind = dtype.partition("_")[0]
    digits = kind[len(kind.rstrip("0123456789")) :]
    if dtype in sizes:
        return sizes[dtype]
    if dtype not in ALL_TYPES or not digits:
        raise usage_error(
            f"elements of type {escape_unprintable(truncate(dtype))} have no known size", argument="dtype"
        )
    return max(1, int(digits) // 8)


def check_rank(dims: Shape, dialect: Dialect, argument: str) -> None:
    """Raise `ShapeError` (rank-limit) if a shape exceeds the dialect's maximum rank."""
    if dialect.max_rank is not None and len(dims) > dialect.max_rank:
        message = f"{len(dims)} dims, and {dialect.name} takes at most {dialect.max_rank}"
        raise rule_error(rules.RANK_LIMIT, message, argument=argument, index=dialect.max_rank)


def check_sizes(dims: Shape, argument: str) -> None:
    """Raise `ShapeError` (overflow) if a dim exceeds int64.

    A symbolic dim is refused only if it exceeds int64 for all sizes.
    """
    for index, dim in enumerate(dims):
        if exceeds(dim, INT64_MAX):
            message = f"{dim_text(dim)} is too large for int64, whose limit is {INT64_MAX}"
            raise rule_error(rules.OVERFLOW, message, argument=argument, index=index)


def rank_limit_error(
    limit: int, rank: int, dialect: Any, verb: str = "takes", argument: str = "input"
) -> ShapeError | None:
    """Return an error (rank-limit) if `rank` exceeds `limit`, or None."""
    if rank <= limit:
        return None
    message = f"{rank} dims, and this operator of {dialect.name} {verb} at most {limit}"
    return rule_error(rules.RANK_LIMIT, message, argument=argument, index=limit)


def make_rank_limit_check(limit: int) -> RefusalCheck:
    """Return a check that refuses inputs of more than `limit` dims (rank-limit)."""
    return lambda shape, rules, **_: rank_limit_error(limit, len(shape), rules.dialect)


def compute_volume(dims: Shape, argument: str) -> Dim:
    """Return the element count of `dims`.

    Raises `ShapeError` (overflow) if a dim or the count exceeds int64 for all sizes.
    """
    volume = product(dims)
    if isinstance(volume, int) and 0 < volume <= INT64_MAX:
        return volume
    check_sizes(dims, argument)
    if exceeds(volume, INT64_MAX) or monomial(volume).denominator > INT64_MAX:
        message = f"{element_count_text(dims, volume)} are too many for int64, whose limit is {INT64_MAX}"
        raise rule_error(rules.OVERFLOW, message, argument=argument)
    return volume


def require_equal_counts(shape: Shape, target: Shape, input_count: Dim, target_count: Dim, argument: str) -> Conditions:
    """Return the conditions under which two shapes have equal element counts.

    Raises `ShapeError` (volume-mismatch) if the counts are never equal. Source: ONNX Reshape ("required to have the
    same number of elements").
    """
    if input_count == target_count:
        return ()
    try:
        return require_equal(input_count, target_count)
    except Unsatisfiable:
        pass
    requested = f"the requested {truncate(shape_text(target))} has {element_count_text(target, product(target))}"
    message = f"the input has {element_count_text(shape, input_count)}, {requested}"
    if input_count == 0 and isinstance(target_count, int):
        message += f": 0 elements cannot fill {target_count} places"
    raise rule_error(rules.VOLUME_MISMATCH, message, argument=argument)


def require_one(dim: Dim, axis: int, index: int) -> Conditions:
    """Return the conditions under which a dim is 1.

    Raises `ShapeError` (axis-not-one) if the dim is never 1.
    """
    return require_relation(
        require_equal,
        dim,
        1,
        lambda: rule_error(
            rules.AXIS_NOT_ONE,
            f"dim {axis} is {dim}, and only a dim of 1 can be squeezed",
            argument="axes",
            index=index,
        ),
    )


def check_negative_dim(index: int, dim: int, infer_index: int | None, argument: str = "target") -> None:
    """Raise `ShapeError` unless a negative dim is the first -1 of a requested shape.

    `infer_index` is the index of an earlier -1, or None. The rule of the error is two-infers or below-minus-one.
    """
    if dim < -1:
        message = f"{dim} is below -1, the only negative number with a meaning"
        raise rule_error(rules.BELOW_MINUS_ONE, message, argument=argument, index=index)
    if infer_index is not None:
        message = "at most one dim can be inferred, and this is the second"
        raise rule_error(rules.TWO_INFERS, message, argument=argument, index=index)


def regroup_step(shape: Shape, output: Shape, conditions: Conditions = ()) -> Step:
    """Return the last step of a reshape, which regroups the elements."""
    return Step(rules.REGROUPED, None, tuple(range(len(shape))), output, conditions, FrozenDict(before=shape))


def broadcast_step(shape: Shape, output: Shape) -> Step:
    """Return the last step of an expand, which broadcasts the input to `output`."""
    return Step(rules.BROADCASTED, None, tuple(range(len(shape))), output)


def explain_changed_axis(shape: Shape, step: Step) -> tuple[Step, ...]:
    """Return the steps of a stage that changes only one axis.

    `step` explains the changed axis.
    """
    return tuple([step if out == step.out else Step(rules.KEPT_DIM, out, (out,), dim) for out, dim in enumerate(shape)])


def finish_reshape_stage(stage: StageBuilder, output: Shape, conditions: Conditions = ()) -> Stages:
    """Finish a stage that reshapes its input to `output`."""
    stage.add_explanation(lambda _: (regroup_step(stage.before, output, conditions),))
    return stage.finish(Reshape(output))


def finish_unsqueeze_stage(
    stage: StageBuilder, sources: Sequence[int | None], dialect: Dialect | None = None
) -> Stages:
    """Finish a stage that inserts dims of 1.

    `sources` contains the input axis of each output dim, or None for a new dim. Raises `ShapeError` (rank-limit) if the
    output exceeds the maximum rank of `dialect`.
    """
    shape = stage.before

    def explain(finished: Stage) -> tuple[Step, ...]:
        steps = [
            Step(rules.INSERTED_ONE, out, (), 1) if axis is None else Step(rules.KEPT_DIM, out, (axis,), shape[axis])
            for out, axis in enumerate(sources)
        ]
        return tuple(steps) if finished.after is None else (*steps, regroup_step(shape, finished.after))

    stage.explain = explain
    output = tuple([1 if axis is None else shape[axis] for axis in sources])
    if dialect is not None:
        check_rank(output, dialect, "axes")
    return stage.finish(Reshape(output))


def infer_dim(shape: Shape, known: Dim, index: int, why_any: str = WHY_ANY_SIZE) -> ResolvedDim:
    """Infer the size of a -1.

    The size is the element count divided by `known`, the product of the other dims. `why_any` is the reason in the
    message if `known` is 0. Raises `ShapeError` (zero-volume-infer, indivisible) at `index` of the target.
    """
    have = product(shape)
    if known == 0:
        message = f"-1 could be any size, because {why_any}"
        raise rule_error(rules.ZERO_VOLUME_INFER, message, argument="target", index=index)
    dim = quotient(have, known)
    conditions: Conditions = ()
    if not isinstance(dim, int):
        try:
            conditions = require_divisible(have, known)
        except Unsatisfiable:
            message = f"{element_count_text(shape, have)} cannot be divided by {known}"
            raise rule_error(rules.INDIVISIBLE, message, argument="target", index=index) from None
    return rules.INFERRED, dim, conditions, {"shape": shape, "have": have, "known": known}


class Target:
    """A requested shape that is resolved dim by dim.

    Subclasses override `resolve_zero`, `zero_step` and `resolve_infer` to give 0 and -1 a different meaning.
    """

    __slots__ = (
        *("argument", "conditions", "copied", "dims", "infer_index", "inference", "kept_ends", "output"),
        *("resolved_count", "shape", "target"),
    )

    def __init__(self, shape: Shape, target: Shape, argument: str = "target", kept_ends: EndCounts = (0, 0)) -> None:
        """Store the input shape and the requested shape.

        `kept_ends` are the numbers of dims that are copied from the start and from the end of the input.
        """
        self.shape, self.target, self.argument, self.kept_ends = shape, target, argument, kept_ends
        self.dims = [*target]
        """The requested dims. A resolved dim replaces a 0, and 1 replaces -1 until the -1 is inferred."""
        self.copied: dict[int, int] = {}
        """A mapping from the index of each copying 0 to the copied input axis."""
        self.resolved_count = 0
        """The number of dims that were resolved before an error."""
        self.infer_index: int | None = None
        self.inference: ResolvedDim | None = None
        self.conditions: Conditions = ()
        """The conditions under which the element counts are equal."""
        self.output: Shape | None = None

    def resolve_zero(self, index: int) -> Dim:
        """Return the size of the 0 at `index` of the target.

        If the 0 copies an input dim, the axis of that dim is stored in `copied`.
        """
        return 0

    def zero_step(self, index: int) -> Step:
        """Return the step that explains the size of a 0."""
        return Step(rules.LITERAL_ZERO, index, (), 0)

    def resolve_infer(self, known: Dim, index: int) -> ResolvedDim:
        """Return the inferred size of the -1 at `index` of the target.

        `known` is the product of the other dims.
        """
        return infer_dim(self.shape, known, index - self.kept_ends[0])

    def require_equal_counts(self, output: Shape, known: Dim) -> Conditions:
        """Return the conditions under which input and output have equal element counts."""
        return require_equal_counts(self.shape, output, product(self.shape), known, self.argument)

    def resolve(self) -> Shape:
        """Return the output shape.

        Raises `ShapeError` (two-infers, below-minus-one, volume-mismatch or overflow), and the errors of `resolve_zero`
        and `resolve_infer`.
        """
        dims, (before, behind) = self.dims, self.kept_ends
        for out in range(before, len(dims) - behind):
            dim = dims[out]
            if isinstance(dim, int) and dim <= 0:
                self.resolved_count = out
                if dim == 0:
                    dims[out] = self.resolve_zero(out)
                else:
                    check_negative_dim(out - before, dim, self.infer_index, self.argument)
                    self.infer_index, dims[out] = out, 1
        self.resolved_count = len(dims)
        output = tuple(dims)
        known = compute_volume(output, self.argument)
        if self.infer_index is None:
            self.conditions = self.require_equal_counts(output, known)
        else:
            self.inference = self.resolve_infer(known, self.infer_index)
            dims[self.infer_index] = self.inference[1]
            output = tuple(dims)
        self.output = output
        return output

    def explain(self, _: Stage) -> tuple[Step, ...]:
        """Return the steps of the resolved dims and, without an error, the last step."""
        steps = self.dim_steps()
        if self.output is not None:
            steps.append(regroup_step(self.shape, self.output, self.conditions))
        return tuple(steps)

    def dim_steps(self) -> list[Step]:
        """Return the steps of the resolved dims; the step of the inferred dim is the last."""
        target, (before, behind), sources = self.target, self.kept_ends, set(self.copied.values())
        written, moved, steps = range(before, len(target) - behind), len(self.shape) - len(target), list[Step]()
        for out, dim in enumerate(self.dims[: self.resolved_count]):
            if out not in written:
                axis = out if out < before else out + moved
                sources.add(axis)
                steps.append(Step(rules.KEPT_DIM, out, (axis,), dim))
            elif out != self.infer_index:
                steps.append(self.zero_step(out) if target[out] == 0 else Step(rules.GIVEN_DIM, out, (), dim))
        if self.inference is not None:
            axes = tuple([axis for axis in range(len(self.shape)) if axis not in sources])
            steps.append(make_step(self.infer_index, axes, self.inference))
        return steps


def resolve_target(target: Target, requested: Shape, dialect: Dialect, label: str = "reshape") -> Stages:
    """Resolve a requested shape, and return its stage.

    `Target.explain` computes the steps of the stage. Raises `ShapeError` (rank-limit or an error of `Target.resolve`)
    with the refused stage.
    """
    try:
        check_rank(target.target, dialect, target.argument)
        output = target.resolve()
    except ShapeError as error:
        error.stages = (_target_stage(target, requested, label),)
        raise
    return (_target_stage(target, requested, label, output, Reshape(output)),)


def _target_stage(
    target: Target, requested: Shape, label: str, output: Shape | None = None, move: Reshape | None = None
) -> Stage:
    return Stage(StageKind.RESHAPE, label, target.argument, target.shape, requested, target.explain, output, move)
