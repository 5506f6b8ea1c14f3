"""Represent the values of expressions: tensors, containers, layers and functions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import EllipsisType

from shapecalc.core.answers import Request, Trace
from shapecalc.core.conditions import Condition, Conditions, Unsatisfiable, require_divisible
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, Monomial, Shape, dim_names, named_dim, product
from shapecalc.core.layout import contiguous_strides
from shapecalc.core.limits import MAX_SHAPE_DIMS, MAX_STAGES
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.flatten import FLATTEN
from shapecalc.core.ops.flip import FLIP
from shapecalc.core.ops.op import Op
from shapecalc.core.ops.rearrange import REARRANGE
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.select import SELECT
from shapecalc.core.ops.split import SPLIT, part_count
from shapecalc.core.ops.squeeze import SQUEEZE
from shapecalc.core.ops.strides import (
    compute_elementwise_strides,
    is_contiguous,
    strides_after_trace,
)
from shapecalc.core.ops.tile import TILE
from shapecalc.core.ops.transpose import TRANSPOSE
from shapecalc.core.ops.unsqueeze import UNSQUEEZE, UNSQUEEZE_SEMANTICS
from shapecalc.core.ops.view import VIEW
from shapecalc.core.problem import Problem, Rule, ShapeError, usage_error
from shapecalc.core.record import Record, lazy, replace
from shapecalc.core.requests import StageRequest, make_request
from shapecalc.core.resolve import resolve
from shapecalc.core.results import NameAllocator, SizeExpression
from shapecalc.core.rules import AXIS_OUT_OF_RANGE
from shapecalc.core.text import rank_text
from shapecalc.reading.code.conventions import CODE_CONVENTIONS, CodeConventions
from shapecalc.reading.code.kinds import ANY_KIND, number_kinds, promote_kinds
from shapecalc.reading.code.modules import ImportedName
from shapecalc.reading.preserving import SAME_STRIDES, PreservingFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, TypeAlias, TypeGuard

CodeValue: TypeAlias = (
    "Dim | float | str | slice | EllipsisType | TracedTensor | TensorChunks | LayerInstance | CodeList | CodeDict"
    " | FunctionValue | ClassValue | ObjectValue | SuperValue | LibraryName | PartialValue | AlternativeValue"
    " | ModuleValue | tuple[CodeValue, ...] | None"
)
"""The value of an expression; nan represents an unknown number or truth value."""
UserValue: TypeAlias = "int | float | str | Shape | tuple[UserValue, ...] | None"
"""A value that the user provides for a name, or for an expression such as a condition."""
Binding: TypeAlias = "CodeValue | ShapeError"
"""The value of a name, or the error that is raised when the name is used."""
ErrorFactory: TypeAlias = Callable[..., ShapeError]
"""A function that builds the error for an expression from a message and a hint."""
REARRANGING_OPS = {
    op.name for op in (RESHAPE, VIEW, TRANSPOSE, UNSQUEEZE, SQUEEZE, FLATTEN, EXPAND, TILE, FLIP, REARRANGE)
}
"""The names of the ops whose output has the same elements as the input."""
MAYBE_NONE = float("nan")
"""An unknown value that may be None, such as a mask."""
UNKNOWN_INTEGER = float("nan")
"""An unknown integer, such as an element of a tensor."""
UNKNOWN_ELEMENT = float("nan")
"""An unknown number that depends on the elements of a tensor."""
PENDING_CHANGE = "?"
"""The placeholder for a change of the elements, until the expression that causes it is evaluated."""


class StageRefused(Exception):
    """The exception raised if a rule of the dialect refuses an op.

    `args` contains the input shape of the chain, and its stages up to and including the refused stage.
    """


class CheckRefused(StageRefused):
    """The exception raised if a call rejects its input, but is not represented by a stage.

    An example is the call of a shape-preserving layer.
    """

    def __init__(self, error: ShapeError, rule: Rule) -> None:
        """Create the exception for an input that violates `rule`.

        `args` contains `error` with the rule added.
        """
        super().__init__(ShapeError(replace(error.problem, rule=rule)))


class UnknownConditionError(ShapeError):
    """The error for a condition with an unknown truth value."""

    tested: tuple[Monomial, ...] = ()
    """The unknown values that the condition tests, for example whether they are None."""


class AnswerableError(ShapeError):
    """The exception raised for a call or an item that is not supported, but whose shape the user can provide."""


def index_count_error(count: int, rank: int, error: ErrorFactory) -> CheckRefused:
    """Return the error for an index with too many items, or with several `...`."""
    message = f"{count} indices for {rank_text(rank)}" if count > rank else "two ... in one index"
    return CheckRefused(error(message), AXIS_OUT_OF_RANGE)


def _names_in(sizes: object) -> Iterator[str]:
    """Yield the names of sizes in nested tuples and mappings."""
    if isinstance(sizes, Monomial):
        yield from dim_names([sizes])
    elif isinstance(sizes, Mapping):
        yield from _names_in(tuple(sizes.values()))
    elif isinstance(sizes, tuple | list):
        for size in sizes:
            yield from _names_in(size)


class ProgramSizes:
    """The symbolic sizes of a program, which the chains of all its tensors share.

    A size that is not a monomial gets a new name, such as H1. Sizes with equal definitions share a name.
    """

    def __init__(self) -> None:
        """Create a program without names."""
        self.names: dict[str, SizeExpression | None] = {}
        """The definition of each new name, or None for any other name."""
        self.conditions: dict[Condition, None] = {}
        """The conditions under which divisions of symbolic sizes have no remainder."""
        self.input_names: set[str] | None = None
        """The names in the shapes of the inputs, or None for code without a function, where any name may be a size."""
        self.data_dependent_names: set[str] = set()
        """The names of sizes that depend on the elements of tensors."""
        self.data_dependent_sizes: dict[int, tuple[object, Dim]] = {}
        """The scalar tensors that are used as sizes, with the names of these sizes, keyed by identity."""

    def is_undecided(self, problem: Problem, sizes: object) -> bool:
        """Return whether the values of unknown names decide if a refused op is valid."""
        if self.input_names is None:
            return False
        free = {name for name in _names_in(sizes) if self.names.get(name) is None}
        return problem.rule == "needs-size" or not free <= self.input_names

    def add_dims(self, left: Dim, right: Dim) -> Dim:
        """Return the sum of two sizes.

        A sum that is not a monomial gets a new name.
        """
        allocator = NameAllocator(self.names, self.names)
        total = allocator.floor_dim(allocator.expand_sums([left, right]))
        self.names.update(allocator.new_results)
        return total

    def floor_dim(self, terms: Sequence[Dim], divisor: int, offset: int) -> Dim:
        """Return `floor(sum(terms) / divisor) + offset`.

        A value that is not a monomial gets a new name.
        """
        allocator = NameAllocator(self.names, self.names)
        result = allocator.floor_dim(allocator.expand_sums(terms), divisor, offset)
        self.names.update(allocator.new_results)
        return result

    def data_dependent_size(self, value: object) -> Dim:
        """Return the name of a size that depends on the elements of a tensor.

        The name is the same for the same tensor.
        """
        if id(value) not in self.data_dependent_sizes or isinstance(value, float):
            self.data_dependent_sizes[id(value)] = (value, self.new_name("K"))
        return self.data_dependent_sizes[id(value)][1]

    def new_name(self, prefix: str) -> Dim:
        """Return a new name for a data-dependent size."""
        number = 1
        while f"{prefix}{number}" in self.names:
            number += 1
        self.names[f"{prefix}{number}"] = None
        self.data_dependent_names.add(f"{prefix}{number}")
        return named_dim(f"{prefix}{number}")

    def modulo(self, dim: Dim, divisor: int, *, negates: bool = False) -> Dim:
        """Return `dim % divisor`, or `-dim % divisor` if `negates` is True.

        The divisor is positive.
        """
        if negates:
            return self.add_dims(product((divisor, self.floor_dim([dim, divisor - 1], divisor, 0))), product((-1, dim)))
        return self.add_dims(dim, product((-divisor, self.floor_dim([dim], divisor, 0))))

    def round_dim(self, fraction: Monomial, *, rounds_up: bool) -> Dim:
        """Round a non-integral size down, or up if `rounds_up` is True.

        The result gets a new name.
        """
        dividend, divisor = product((fraction, fraction.denominator)), fraction.denominator
        allocator = NameAllocator(self.names, self.names)
        result = allocator.floor_dim([dividend, divisor - 1 if rounds_up else 0], divisor)
        self.names.update(allocator.new_results)
        return result

    def require_division(self, left: Dim, right: Dim) -> None:
        """Record the condition that `left` is a multiple of `right`."""
        with suppress(Unsatisfiable):
            self.conditions.update(dict.fromkeys(require_divisible(left, right)))

    def resolve(self, request: Request) -> Trace:
        """Resolve a request.

        Output dims that are not monomials get new names.
        """
        if not request.is_symbolic:
            return resolve(request)
        trace = resolve(replace(request, names_in_use=self.names))
        for name in dim_names(request.dims):
            self.names.setdefault(name)
        self.names.update(trace.results)
        return trace


class TracedTensor(Record):
    """A tensor without data, with its shape and the stages that computed it."""

    shape: Shape
    stages: tuple[StageRequest, ...]
    dialect: str
    program: ProgramSizes
    traces: tuple[Trace, ...] = ()
    """The resolved request of each stage."""
    strides: Shape | None = ()
    """The strides in elements, or None if they are unknown, for example because a size is symbolic."""
    chain_strides: Shape | None = None
    """The strides that the stages of the chain imply, or None if they are contiguous or unknown."""
    untraced_change: str = ""
    """The first expression that changes the elements without a stage, or an empty string if there is none."""
    input_shape: Shape = ()
    """The shape before the first stage."""
    input_name: str = ""
    """The name of the input with which the chain begins, or an empty string if the code creates this tensor."""
    is_main: bool = False
    """Whether the tensor derives from the first input."""
    size: Dim | None = None
    """The only dim of an input of rank 1. In arithmetic, the input represents an integer with this value."""
    earlier_conditions: Conditions = ()
    """The conditions of other chains on which this tensor depends."""
    kinds: str = ANY_KIND
    """The possible kinds of the elements, as defined in the module `kinds`."""
    extremes: tuple[int, int] | None = None
    """The smallest and the largest element, or None if they are unknown or not integers."""
    absence: ShapeError | None = None
    """The error to raise if the value is None instead of a tensor, or None if it is always a tensor.

    The value may be None if only one branch of a condition assigns a tensor.
    """

    @lazy
    def conditions(self) -> Conditions:
        """Return the conditions on sizes under which the tensor is valid."""
        own = [condition for trace in self.traces for condition in trace.conditions]
        return tuple(dict.fromkeys((*self.earlier_conditions, *own)))

    @property
    def rank(self) -> int:
        """The number of dims."""
        return len(self.shape)

    @property
    def conventions(self) -> CodeConventions:
        """The code conventions of the tensor's framework."""
        return CODE_CONVENTIONS.for_dialect(DIALECTS[self.dialect])

    def apply(self, op: Op, **options: object) -> TracedTensor:
        """Apply an op as a new stage.

        Raises `StageRefused` if a rule refuses the op, and `ShapeError` if its options are invalid.
        """
        return self.apply_to_operands(op, (), options)

    def apply_to_operands(
        self, op: Op, operand_strides: Sequence[Shape], options: Mapping[str, object]
    ) -> TracedTensor:
        """Apply an op to several operands as a new stage.

        `operand_strides` are the strides of the other operands. Raises the errors of `apply`.
        """
        if len(self.stages) >= MAX_STAGES:
            return self.start_chain().apply_to_operands(op, operand_strides, options)
        request_options = {name: value for name, value in options.items() if value is not None} | {
            "dialect": self.dialect
        }
        stages = (*self.stages, (op.name, request_options))
        trace = self.program.resolve(make_request(op.name, self.shape, request_options))
        if trace.output is None:
            if trace.problem is not None and self.program.is_undecided(trace.problem, (self.shape, options)):
                raise AnswerableError(usage_error(trace.problem.message, argument="line").problem)
            raise StageRefused(self.input_shape, stages)
        strides = strides_after_trace(trace, self.strides, operand_strides)
        traces, chain_strides = (*self.traces, trace), self.derive_chain_strides(trace, strides, operand_strides)
        extremes = self.extremes if op.name in REARRANGING_OPS else None
        changes = {"stages": stages, "traces": traces, "chain_strides": chain_strides, "strides": strides, "size": None}
        result = replace(self, shape=trace.output, **changes)
        return result if extremes == self.extremes else replace(result, extremes=extremes)

    def derive_chain_strides(
        self, trace: Trace, strides: Shape | None, operand_strides: Sequence[Shape]
    ) -> Shape | None:
        """Return the strides that the stages of the chain imply after the stage `trace`.

        `strides` are the actual strides after this stage. Returns None for contiguous and for unknown strides.
        """
        before = trace.request.arguments.get("strides") or self.chain_strides or contiguous_strides(trace.input)
        is_actual = before == self.strides and not operand_strides
        after = strides if is_actual else strides_after_trace(trace, before)
        return None if after and is_contiguous(trace.output or (), after) else after

    def start_chain(self) -> TracedTensor:
        """Return the tensor as the input of a new chain.

        This is necessary if the chain of the tensor has the maximum number of stages.
        """
        return replace(derived_tensor(self.shape, self), strides=self.strides, kinds=self.kinds)

    def reshape(self, *target: Dim) -> TracedTensor:
        """Reshape the tensor to `target`."""
        return self.apply(RESHAPE, target=target)

    def insert_axes(self, axes: Sequence[int]) -> TracedTensor:
        """Insert dims of size 1 at the output indices `axes`.

        The indices are in ascending order.
        """
        inserts_one = UNSQUEEZE_SEMANTICS.for_dialect(DIALECTS[self.dialect]).inserts_one
        groups = [(axis,) for axis in axes] if inserts_one else [tuple(axes)]
        tensor = self
        for group in groups:
            tensor = tensor.apply(UNSQUEEZE, axes=group)
        return tensor

    def permute(self, perm: Sequence[int]) -> TracedTensor:
        """Permute the axes by `perm`."""
        return self.apply(TRANSPOSE, perm=tuple(perm))

    def reverse_axes(self) -> TracedTensor:
        """Reverse the order of the axes."""
        return self.permute(range(self.rank)[::-1])

    def view(self, target: Shape, error: ErrorFactory) -> TracedTensor:
        """Apply PyTorch's `view`.

        A chain derives strides from its stages. If they differ from the actual strides, the stage contains the actual
        strides, or is replaced by a reshape. Raises `ShapeError` (usage) if the strides are unknown, unless the shape
        stays the same.
        """
        if self.strides is None and target == self.shape:
            return replace(self.reshape(*target), strides=None)
        if self.strides is None:
            unknown = error("the strides of this tensor are not known", "give sizes with --where, or write reshape")
            raise AnswerableError(unknown.problem)
        derived = self.chain_strides or contiguous_strides(self.shape)
        is_derived = all(
            dim == 1 or one == other for dim, one, other in zip(self.shape, self.strides, derived, strict=True)
        )
        if is_contiguous(self.shape, self.strides):
            return self.apply(VIEW, target=target) if is_derived else self.reshape(*target)
        if not is_derived:
            return self.apply(VIEW, target=target, strides=self.strides)
        stages = self.apply(VIEW, target=target).stages
        try:
            return replace(self.apply(VIEW, target=target, strides=self.strides), stages=stages)
        except StageRefused:
            raise StageRefused(self.input_shape, stages) from None

    def apply_scalar_op(self) -> TracedTensor:
        """Apply an elementwise op whose other operand is a number.

        The caller sets the kinds of the result.
        """
        strides = self.strides and compute_elementwise_strides(self.shape, [(self.shape, self.strides), ((), ())])
        return replace(self.apply_shape_preserving(SAME_STRIDES), strides=strides)

    def apply_shape_preserving(self, function: PreservingFunction) -> TracedTensor:
        """Apply a shape-preserving function."""
        strides = self.strides and function.result_strides(self.shape, self.strides)
        if self.strides is None and function.is_contiguous:
            strides = contiguous_strides(self.shape)
        if function.keeps_elements:
            return replace(self, strides=strides)
        change = self.untraced_change or PENDING_CHANGE
        return replace(
            self, strides=strides, size=None, untraced_change=change, kinds=ANY_KIND.replace("b", ""), extremes=None
        )


class TensorChunks(Record):
    """The parts of a split tensor, before one of them is selected."""

    tensor: TracedTensor
    axis: int
    count: int | None
    """The number of parts, or None if it is unknown."""
    split_options: Mapping[str, object] | None = None
    """The options of the `split` op, or None for an unbind, which removes the axis."""

    def chunk(self, index: int) -> TracedTensor:
        """Return the part at `index` as a tensor."""
        if self.split_options is None:
            return self.tensor.apply(SELECT, axis=self.axis, index=index)
        return self.tensor.apply(SPLIT, axis=self.axis, part=index, **self.split_options)

    @property
    def all_chunks(self) -> TracedTensor | None:
        """The tensor after a `split` stage that keeps all parts, or None for an unbind."""
        return (
            None
            if self.split_options is None
            else self.tensor.apply(SPLIT, axis=self.axis, all=True, **self.split_options)
        )


class LayerInstance(Record):
    """A layer with its constructor arguments, such as `nn.Conv2d(3, 64, 7)`."""

    name: str
    positional: tuple[CodeValue, ...]
    keywords: Mapping[str, CodeValue]
    child_names: tuple[str, ...] = ()
    """The names of the layers of a `Sequential`, or an empty tuple if they are numbered."""

    @property
    def children(self) -> dict[str, CodeValue]:
        """The layers of a `Sequential`, keyed by name."""
        names = self.child_names or [*map(str, range(len(self.positional)))]
        return dict(zip(names, self.positional, strict=True)) if self.name == "Sequential" else {}

    def add_child(self, name: str, layer: CodeValue) -> LayerInstance:
        """Return a `Sequential` with a layer added.

        An existing layer with the same name is replaced.
        """
        layers = self.children | {name: layer}
        return replace(self, positional=tuple(layers.values()), child_names=tuple(layers))

    def __str__(self) -> str:
        """Format the layer with short argument names, such as `Conv2d(3,64,7,s2,p3)`."""
        words = [*map(_format_argument, self.positional)]
        marks = {name: ARGUMENT_MARKS.get(name, f"{name}=") for name in self.keywords}
        words += [f"{marks[name]}{_format_argument(value)}" for name, value in self.keywords.items()]
        return f"{self.name}({','.join(words)})"


ARGUMENT_MARKS = {"stride": "s", "padding": "p", "dilation": "d", "groups": "g"}
"""The abbreviations of layer arguments."""


def _format_argument(value: CodeValue) -> str:
    """Format an argument of a layer.

    Tuples are formatted without spaces. Values other than numbers, sizes and strings are formatted as `...`.
    """
    if isinstance(value, tuple):
        return f"({','.join(map(_format_argument, value))})"
    return str(value) if value is None or isinstance(value, int | float | str | Monomial) else "..."


class CodeList:
    """A mutable list or an iterator."""

    def __init__(self, items: Iterable[Binding], *, is_iterator: bool = False) -> None:
        """Create a list, or an iterator over remaining items if `is_iterator` is True.

        An item may be an error, which is raised when the item is used.
        """
        self.is_iterator = is_iterator
        self.state: dict[str, tuple[Binding, ...] | ShapeError] = {"items": tuple(items)}

    @property
    def items(self) -> tuple[CodeValue, ...]:
        """The items.

        Raises the error of an unknown item, or of a list of unknown length.
        """
        items = self.bindings
        for item in items:
            if isinstance(item, ShapeError):
                raise item
        return items  # type: ignore[return-value]  # errors are raised

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The items, or their errors.

        Raises the error of a list of unknown length.
        """
        items = self.state["items"]
        if isinstance(items, ShapeError):
            raise items
        return items

    @property
    def is_known(self) -> bool:
        """Whether the length is known."""
        return not isinstance(self.state["items"], ShapeError)


class CodeDict:
    """A mutable dict."""

    def __init__(self, items: Mapping[object, Binding]) -> None:
        """Create a dict.

        A value may be an error, which is raised when the value is used.
        """
        self.state: dict[str, dict[object, Binding] | ShapeError] = {"items": {**items}}

    @property
    def items(self) -> dict[object, Binding]:
        """The items, or their errors.

        Raises the error of a dict with unknown keys.
        """
        items = self.state["items"]
        if isinstance(items, ShapeError):
            raise items
        return items

    def values(self) -> dict[str, CodeValue]:
        """Return the values, keyed by the keys as strings.

        Raises the error of an unknown value.
        """
        for item in self.items.values():
            if isinstance(item, ShapeError):
                raise item
        return {str(key): item for key, item in self.items.items()}  # type: ignore[misc]  # errors are raised


class CallFrame:
    """The variables and the interpreter state of a call, a module or a comprehension."""

    def __init__(self, function: str, parent: CallFrame | None = None, depth: int = 0) -> None:
        """Create a frame.

        Names that are unbound in the frame are looked up in `parent`. `depth` is the number of enclosing calls.
        """
        self.function, self.parent, self.depth = function, parent, depth
        self.variables: dict[str, Binding] = {}
        self.imports: dict[str, ImportedName] = {}
        """The names that a module imports."""
        self.aliases: Mapping[str, str] = {}
        """The full name of each module, keyed by the alias with which it is imported."""
        self.path: Path | None = None
        """The file of a module."""
        self.state: dict[str, Any] = {"exit": "", "results": (), "last": None}
        """How the body ends ("exit"), the values of possible returns ("results"), and the last tensor ("last")."""

    @property
    def module(self) -> CallFrame:
        """The frame of the module that contains this frame."""
        frame = self
        while frame.parent is not None:
            frame = frame.parent
        return frame


class FunctionValue:
    """A function, method or lambda, with the frame of its definition."""

    def __init__(
        self,
        node: ast.FunctionDef | ast.Lambda,
        frame: CallFrame,
        owner: ObjectValue | ClassValue | None = None,
        cls: ClassValue | None = None,
    ) -> None:
        """Create a function.

        `owner` is the object that a method is bound to, and `cls` is the method's class.
        """
        self.node, self.frame, self.owner, self.cls = node, frame, owner, cls

    @property
    def name(self) -> str:
        """The name of the function."""
        return getattr(self.node, "name", "lambda")

    @property
    def decorators(self) -> set[str]:
        """The names of the decorators, without module prefixes."""
        nodes = [getattr(node, "func", node) for node in getattr(self.node, "decorator_list", ())]
        return {getattr(node, "attr", getattr(node, "id", "?")) for node in nodes}

    @property
    def is_static(self) -> bool:
        """Whether the function is a static method."""
        return "staticmethod" in self.decorators

    def bound_owner(self, owner: ObjectValue | None, cls: ClassValue) -> ObjectValue | ClassValue | None:
        """Return the object or class that is passed as the first argument of a call, or None."""
        return cls if "classmethod" in self.decorators else owner


class ClassValue:
    """A class that the code defines."""

    def __init__(self, node: ast.ClassDef, frame: CallFrame, bases: Sequence[Binding], members: CallFrame) -> None:
        """Create a class with its base classes and the frame of its body."""
        self.node, self.frame, self.bases, self.members = node, frame, bases, members

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.node.name

    def resolution_order(self) -> list[ClassValue]:
        """Return the class and its base classes in the order of attribute lookup.

        Base classes outside the code are omitted.
        """
        resolution_order = [self]
        for base in self.bases:
            resolution_order += [
                cls
                for cls in (base.resolution_order() if isinstance(base, ClassValue) else ())
                if cls not in resolution_order
            ]
        return resolution_order


def is_dataclass(cls: ClassValue) -> bool:
    """Return whether a class is a dataclass or named tuple."""
    decorators = [getattr(node, "func", node) for node in cls.node.decorator_list]
    names = [getattr(node, "attr", getattr(node, "id", "")) for node in (*decorators, *cls.node.bases)]
    return not {"dataclass", "NamedTuple", "define"}.isdisjoint(names)


def is_enumeration(cls: ClassValue) -> bool:
    """Return whether a class derives from `enum.Enum`."""
    bases = [base for own in cls.resolution_order() for base in own.node.bases]
    return any(getattr(base, "attr", getattr(base, "id", "")) in ENUMERATIONS for base in bases)


ENUMERATIONS = {"Enum", "IntEnum", "StrEnum"}


def dataclass_fields(cls: ClassValue) -> dict[str, ast.expr | None]:
    """Map each field of a dataclass to its default, or to None if it has none."""
    return {
        statement.target.id: statement.value
        for own in cls.resolution_order()[::-1]
        for statement in own.node.body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }


LAYER_KEY = "(layer)"
"""The attribute that contains the library layer from which the class of an object derives."""


class ObjectValue:
    """An instance of a class that the code defines."""

    def __init__(self, cls: ClassValue) -> None:
        """Create an instance without attributes."""
        self.cls = cls
        self.attributes: dict[str, Binding] = {}

    @property
    def layer(self) -> LayerInstance | None:
        """The library layer that the class derives from, or None."""
        layer = self.attributes.get(LAYER_KEY)
        return layer if isinstance(layer, LayerInstance) else None

    @property
    def children(self) -> dict[str, CodeValue]:
        """The layers and modules among the attributes."""
        attributes = self.attributes.items()
        layers = {name: value for name, value in attributes if isinstance(value, LayerInstance | ObjectValue)}
        own = layers.pop(LAYER_KEY, None)
        return (own.children if isinstance(own, LayerInstance) else {}) | layers

    @property
    def fields(self) -> dict[str, Binding]:
        """The fields of a dataclass, in order, except those that are unset or None.

        Empty if the class is not a dataclass.
        """
        names = dataclass_fields(self.cls) if is_dataclass(self.cls) else ()
        return {name: self.attributes[name] for name in names if self.attributes.get(name) is not None}


class LibraryName(Record):
    """A library function or class as a value, such as `nn.ReLU`."""

    path: str


class PartialValue:
    """A `functools.partial` object."""

    def __init__(self, function: CodeValue, positional: Sequence[Binding], keywords: Mapping[str, Binding]) -> None:
        """Store the function and the arguments."""
        self.function, self.positional, self.keywords = function, positional, keywords


class AlternativeValue:
    """An unknown choice between several functions or layers, or None."""

    def __init__(self, values: Sequence[CodeValue], error: ShapeError) -> None:
        """Store the values, and the error that is raised if their results differ."""
        self.values, self.error = values, error

    @property
    def may_be_none(self) -> bool:
        """Whether one of the values is None."""
        return None in self.values

    def exclude_none(self) -> CodeValue:
        """Return the choice between the values other than None."""
        values = [value for value in self.values if value is not None]
        return values[0] if len(values) == 1 else AlternativeValue(values, self.error)


class ModuleValue:
    """A module of the package.

    The names that it defines are its attributes.
    """

    def __init__(self, frame: CallFrame) -> None:
        """Store the frame of the module."""
        self.frame = frame


class SuperValue:
    """The value of `super()`.

    Members are looked up in the classes after `cls`.
    """

    def __init__(self, owner: ObjectValue, cls: ClassValue) -> None:
        """Store the object and the class of the method that calls `super`."""
        self.owner, self.cls = owner, cls


def is_number(value: CodeValue) -> TypeGuard[Dim | float]:
    """Return whether a value is a number or a symbolic size."""
    return isinstance(value, int | float | Monomial)


def is_dim(value: CodeValue) -> TypeGuard[Dim]:
    """Return whether a value is a size: an integer or a product of names."""
    return isinstance(value, int | Monomial) and not isinstance(value, bool)


def is_integer(value: CodeValue) -> TypeGuard[int]:
    """Return whether a value is an integer other than a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def single_name(value: CodeValue | UserValue) -> str:
    """Return the name that the user provides as the value of an argument, or an empty string for any other value."""
    part = value[0] if isinstance(value, tuple) and len(value) == 1 else None
    return str(part) if isinstance(part, Monomial) and str(part).isidentifier() else ""


def is_real_number(value: CodeValue) -> TypeGuard[int | float]:
    """Return whether a value is a known number other than a truth value."""
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def tensors_in(value: CodeValue) -> Iterator[TracedTensor]:
    """Yield the tensors in a value and its nested containers.

    Raises the error of an unknown item.
    """
    if isinstance(value, TracedTensor):
        if value.absence is not None:
            raise value.absence
        yield value
    for item in items_in(value):
        if isinstance(item, ShapeError):
            raise item
        yield from tensors_in(item)


def mark_not_none(value: CodeValue) -> CodeValue:
    """Mark the result of an operation as not None.

    The operands of an operation, and so its result, cannot be None.
    """
    return replace(value, absence=None) if isinstance(value, TracedTensor) and value.absence is not None else value


def items_in(value: CodeValue) -> Iterable[Binding]:
    """Return the items of a container, or the fields of a dataclass.

    Returns an empty result for any other value.
    """
    if isinstance(value, CodeDict):
        return value.items.values()
    if isinstance(value, CodeList):
        return value.bindings
    return value.fields.values() if isinstance(value, ObjectValue) else value if isinstance(value, tuple) else ()


def unwrap_size(value: CodeValue) -> CodeValue:
    """Return the size that an input of rank 1 represents in arithmetic.

    Returns any other value unchanged.
    """
    return value if not isinstance(value, TracedTensor) or value.size is None else value.size


def unwrap_sizes(value: CodeValue) -> CodeValue:
    """Replace the inputs of rank 1 in a value or its tuples with the sizes that they represent."""
    return tuple(map(unwrap_sizes, value)) if isinstance(value, tuple) else unwrap_size(value)


def initial_tensor(dims: Shape, dialect: str, program: ProgramSizes) -> TracedTensor:
    """Return a tensor with no stages, the start of a chain."""
    return TracedTensor(dims, (), dialect, program, strides=contiguous_strides(dims), input_shape=dims)


def inherit_conditions(tensor: TracedTensor, others: Iterable[TracedTensor]) -> TracedTensor:
    """Add the conditions of other tensors to a tensor."""
    added = [condition for other in others for condition in other.conditions]
    earlier = tuple(dict.fromkeys((*tensor.earlier_conditions, *added)))
    return tensor if earlier == tensor.earlier_conditions else replace(tensor, earlier_conditions=earlier)


def attach_conditions(tensor: TracedTensor, conditions: Conditions) -> TracedTensor:
    """Add conditions on sizes to a tensor."""
    earlier = tuple(dict.fromkeys((*tensor.earlier_conditions, *conditions)))
    return replace(tensor, earlier_conditions=earlier) if conditions else tensor


def derived_tensor(dims: Shape, *sources: TracedTensor) -> TracedTensor:
    """Return the start of a new chain, which depends on the conditions of other tensors."""
    first = sources[0]
    return mark_untraced_change(inherit_conditions(initial_tensor(dims, first.dialect, first.program), sources))


def split_tensor(tensor: TracedTensor, axis: int, **options: object) -> TensorChunks:
    """Split a tensor into chunks.

    Raises `StageRefused` if a rule refuses the split.
    """
    trace = tensor.apply(SPLIT, axis=axis, **options).traces[-1]
    (runs,) = [step.facts["runs"] for step in trace.steps if "runs" in step.facts]
    return TensorChunks(tensor, axis, part_count(runs), options)


def unpack_chunks(value: CodeValue) -> CodeValue:
    """Convert a split tensor with a known number of parts to a tuple.

    Returns any other value unchanged.
    """
    if isinstance(value, TensorChunks) and value.count is not None and value.count <= MAX_SHAPE_DIMS:
        return tuple([value.chunk(index) for index in range(value.count)])
    return value


def unbind_first_axis(tensor: TracedTensor, error: ErrorFactory) -> TensorChunks:
    """Unbind a tensor along its first axis.

    Raises `ShapeError` (usage) if the size of this axis is unknown.
    """
    if not tensor.shape or not isinstance(tensor.shape[0], int):
        raise error("how many values there are is not known", "give sizes with --where")
    return TensorChunks(tensor, 0, tensor.shape[0])


def mark_untraced_change(tensor: TracedTensor) -> TracedTensor:
    """Mark the elements of a tensor as changed by an op without a stage."""
    return replace(tensor, untraced_change=tensor.untraced_change or PENDING_CHANGE)


def are_unmodified_inputs(tensors: Sequence[TracedTensor]) -> bool:
    """Return whether all tensors except the first are distinct unmodified inputs."""
    names = [tensor.input_name for tensor in tensors]
    are_fresh = not any(tensor.stages or tensor.untraced_change for tensor in tensors[1:])
    return are_fresh and all(names[1:]) and len({*names}) == len(names)


def nested_shape(value: CodeValue, error: ErrorFactory) -> Shape:
    """Return the shape of a tensor that is written as nested tuples.

    Raises `ShapeError` (usage) if lengths differ.
    """
    if not isinstance(value, tuple):
        return value.shape if isinstance(value, TracedTensor) else ()
    parts = {nested_shape(item, error) for item in value}
    if len(parts) > 1:
        raise error("the lists have different lengths")
    return (len(value), *(parts.pop() if parts else ()))


def has_bool_items(value: CodeValue) -> bool:
    """Return whether the items of nested tuples are booleans."""
    return kinds_of(value) == "b"


def kinds_of(value: CodeValue) -> str:
    """Return the possible kinds of a tensor, a number or the items of nested tuples.

    Returns an empty string for any other value.
    """
    if isinstance(value, tuple):
        kinds = [kinds_of(item) for item in value]
        return promote_kinds(kinds) if kinds and all(kinds) else "" if kinds else "f"
    return value.kinds if isinstance(value, TracedTensor) else number_kinds(value)


def find_extremes(value: CodeValue) -> tuple[int, int] | None:
    """Return the smallest and the largest integer in nested tuples.

    Returns None if an item is not an integer.
    """
    if is_integer(value):
        return value, value
    pairs = [find_extremes(item) for item in value] if isinstance(value, tuple) else []
    known = [pair for pair in pairs if pair is not None]
    if not known or len(known) < len(pairs):
        return None
    return min(low for low, _ in known), max(high for _, high in known)
