"""Evaluate expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import inf, nan
from types import EllipsisType

from shapecalc.core.dims import Monomial, Shape
from shapecalc.core.limits import MAX_SHAPE_DIMS
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import truncate
from shapecalc.reading.code.arithmetic import (
    OPERATOR_SYMBOLS,
    TENSOR_ATTRIBUTES,
    apply_binary_operator,
    apply_unary_operator,
    get_item,
    index_tensor,
)
from shapecalc.reading.code.indexing import IndexArray, IndexItem, has_arrays, index_with_arrays
from shapecalc.reading.code.kind_checks import apply_kind_rule
from shapecalc.reading.code.kinds import ANY_KIND, OPERATOR_FUNCTIONS
from shapecalc.reading.code.layer_calls import layer_attribute
from shapecalc.reading.code.logic import (
    compare_values,
    freeze_value,
    is_tuple_index,
    make_set,
    merge_values,
    truth_value,
)
from shapecalc.reading.code.memory import MISSING
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.scopes import InterpreterState
from shapecalc.reading.code.source import dotted_name, is_dict_item
from shapecalc.reading.code.values import (
    MAYBE_NONE,
    PENDING_CHANGE,
    UNKNOWN_INTEGER,
    AlternativeValue,
    AnswerableError,
    Binding,
    CallFrame,
    ClassValue,
    CodeDict,
    CodeList,
    CodeValue,
    FunctionValue,
    LayerInstance,
    LibraryName,
    ModuleValue,
    ObjectValue,
    TensorChunks,
    TracedTensor,
    UnknownConditionError,
    find_extremes,
    has_bool_items,
    initial_tensor,
    is_dim,
    is_number,
    kinds_of,
    mark_not_none,
    mark_untraced_change,
    nested_shape,
    single_name,
    unbind_first_axis,
    unwrap_size,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIBRARY_NAMES = {"torch", "np", "numpy", "math", "tf", "tensorflow", "jnp", "jax", "nn"}
"""Names of modules with constants or types as attributes, for example `torch.float32`."""
UNKNOWN_KEY = float("nan")
"""The dict key that represents all unknown keys."""
FALSE_ATTRIBUTES = {"is_cuda", "is_sparse", "is_nested", "is_quantized", "is_mps", "is_meta"}
"""Attributes of tensors that are False, because inputs are dense tensors on a CPU."""
CACHE_PARTS = {"self_attention_cache", "cross_attention_cache", "is_updated"}
"""The attributes of an empty transformers cache: two nested caches, and the dict of updated layers."""
OPAQUE_ATTRIBUTES = {"dtype", "device", "requires_grad", "grad", "itemsize", "layout"}
"""Attributes of tensors that are neither tensors nor sizes."""


def evaluate_tensor_attribute(tensor: TracedTensor, name: str) -> CodeValue:
    """Return an attribute of a tensor, or `MISSING` if it is unknown."""
    if name in TENSOR_ATTRIBUTES and (name != "mT" or tensor.rank > 1):
        return TENSOR_ATTRIBUTES[name](tensor)
    if name in FALSE_ATTRIBUTES:
        return False
    opaque = MAYBE_NONE if name == "grad" else nan
    return opaque if name in OPAQUE_ATTRIBUTES else MISSING


def _exclude_none(value: CodeValue) -> CodeValue:
    """Remove None from the possible values of a value."""
    if isinstance(value, AlternativeValue):
        return value.exclude_none()
    return mark_not_none(value) if isinstance(value, TracedTensor) else value


def _operand_nodes(node: ast.expr | ast.AugAssign) -> list[ast.expr]:
    """Return the operands of an operator or a comparison."""
    return [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]


class ExpressionEvaluator(InterpreterState):
    """An evaluator of expressions over sizes, tuples and tensors."""

    def evaluate(self, node: ast.expr) -> CodeValue:
        """Evaluate an expression.

        Raises `ShapeError` (usage) for an unsupported expression.
        """
        value = self.dispatch_expression(node)
        if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Subscript | ast.Compare):
            value = mark_not_none(value)
        return self.describe_untraced_change(node, value)

    def describe_untraced_change(self, node: ast.expr | ast.stmt, value: CodeValue) -> CodeValue:
        """Describe an untraced change of a value with the source text of `node`.

        A change is untraced if no stage represents it. An existing description is kept.
        """
        if isinstance(value, TracedTensor) and value.untraced_change == PENDING_CHANGE:
            return replace(value, untraced_change=self.source_text(node))
        if isinstance(value, tuple) and any(isinstance(item, TracedTensor) for item in value):
            return tuple([self.describe_untraced_change(node, item) for item in value])
        return value

    def dispatch_expression(self, node: ast.expr) -> CodeValue:
        """Evaluate an expression with the method for its node type.

        Raises `ShapeError` (usage) for an unsupported expression.
        """
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() | EllipsisType() as constant):
                return constant
            case ast.Tuple(elts=parts):
                return tuple(self.evaluate_expressions(parts))
            case ast.Name() | ast.Attribute():
                return self.evaluate_name(node)
            case ast.UnaryOp(op=sign, operand=operand) if not isinstance(sign, ast.Not):
                value = self.evaluate(operand)
                result = apply_unary_operator(value, sign, self.error_factory(node))
                if isinstance(result, TracedTensor):
                    return self.set_operator_kinds(node, sign, (value,), result)
                return result
            case ast.BinOp():
                return self._evaluate_binary_operator(node)
            case ast.Subscript(value=inner, slice=index):
                return self.evaluate_subscript(node, inner, index)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(
                    *[None if end is None else unwrap_size(self.evaluate(end)) for end in (lower, upper, step)]
                )
            case ast.Call():
                return self.evaluate_call(node)
        return self.evaluate_compound(node)

    def _evaluate_binary_operator(self, node: ast.BinOp) -> CodeValue:
        """Evaluate a binary operator.

        `-size % divisor` is evaluated as a whole, because `-size` is not a size.
        """
        if isinstance(node.left, ast.UnaryOp) and isinstance(node.left.op, ast.USub) and isinstance(node.op, ast.Mod):
            value, divisor = self.evaluate(node.left.operand), self.evaluate(node.right)
            if isinstance(value, Monomial) and isinstance(divisor, int) and divisor > 0:
                return self.program.modulo(value, divisor, negates=True)
            left = apply_unary_operator(value, node.left.op, self.error_factory(node.left))
            return self.evaluate_operator(node, left, node.op, divisor)
        return self.evaluate_operator(node, self.evaluate(node.left), node.op, self.evaluate(node.right))

    def evaluate_compound(self, node: ast.expr) -> CodeValue:
        """Evaluate a container, a conditional expression, a comprehension or a lambda."""
        match node:
            case ast.Set(elts=parts):
                return make_set([*self.evaluate_expressions(parts)])
            case ast.List(elts=parts):
                return CodeList(self.evaluate_bindings(parts))
            case ast.Dict(keys=keys, values=values):
                return self.evaluate_dict(keys, values)
            case ast.UnaryOp(operand=operand):
                is_true = truth_value(self.evaluate(operand))
                return nan if is_true is None else not is_true
            case ast.Compare() | ast.BoolOp() | ast.IfExp():
                return self.evaluate_logic(node)
            case ast.Lambda():
                return FunctionValue(node, self.frame)
            case ast.JoinedStr(values=parts):
                return self.evaluate_string(parts)
            case ast.ListComp() | ast.GeneratorExp() | ast.DictComp():
                return self.evaluate_comprehension(node)
            case ast.NamedExpr(target=target, value=inner):
                value = self.evaluate(inner)
                self.bind_variable(target.id, value)
                return value
        raise self.error(node, "this is not supported here")

    def evaluate_logic(self, node: ast.Compare | ast.BoolOp | ast.IfExp) -> CodeValue:
        """Evaluate a comparison or logical expression, or return nan if it is unknown."""
        if isinstance(node, ast.Compare):
            values = [self.evaluate(operand) for operand in (node.left, *node.comparators)]
            results = [
                self.evaluate_operator(node, left, sign, right)
                for left, sign, right in zip(values, node.ops, values[1:], strict=False)
            ]
            if len(results) == 1:
                return results[0]
            truths = [truth_value(result) for result in results]
            return False if False in truths else nan if None in truths else True
        if isinstance(node, ast.IfExp):
            is_true = self.evaluate_truth(node.test)
            if is_true is not None:
                return self.evaluate(node.body if is_true else node.orelse)
            taken, other = self.evaluate_narrowed(node, True), self.evaluate_narrowed(node, False)
            joined = merge_values(taken, other, self.branch_error(node, node.test))
            if isinstance(joined, ShapeError):
                raise joined
            return joined
        is_or, last = isinstance(node.op, ast.Or), len(node.values) - 1
        for index, operand in enumerate(node.values):
            value = self.evaluate_binding(operand)
            is_true = self.truth_of(operand, value)
            if is_true is None and index < last:
                return self.evaluate_unknown_logic(node)
            if index == last and isinstance(value, ShapeError) and is_true is None:
                raise value
            if index == last or is_true == is_or:
                is_given = isinstance(value, ShapeError) or truth_value(value) is None
                return bool(is_true) if is_given and is_true is not None else value  # type: ignore[return-value]
        return nan

    def evaluate_narrowed(self, node: ast.IfExp, is_true: bool) -> Binding:
        """Evaluate one branch of a conditional expression, given the truth of its condition."""
        self.undo_log.start()
        try:
            self.narrow_names(node.test, is_true)
            return self.evaluate_binding(node.body if is_true else node.orelse)
        finally:
            self.undo_log.roll_back()

    def narrow_names(self, test: ast.expr, is_true: bool) -> list[tuple[str, Binding]]:
        """Bind the names that a condition compares with None to the values that its truth implies.

        Returns the changed names with their new values.
        """
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.narrow_names(operand, not is_true)
            case ast.BoolOp(op=operator, values=parts) if isinstance(operator, ast.And) == is_true:
                return [pair for part in parts for pair in self.narrow_names(part, is_true)]
            case ast.Compare(left=ast.expr() as operand, ops=[ast.Is() | ast.IsNot() as sign], comparators=[other]):
                if not (isinstance(other, ast.Constant) and other.value is None):
                    return []
                is_none = isinstance(sign, ast.Is) == is_true
            case ast.Name() | ast.Attribute() as operand:
                is_none = not is_true
            case _:
                return []
        name = dotted_name(operand)
        value = self.peek_value(operand) if name else MISSING
        if value is MISSING or isinstance(value, ShapeError) or not self.may_be_none(value):
            return []
        if is_none and isinstance(test, ast.Name | ast.Attribute) and isinstance(value, Monomial):
            return []  # it may be 0 or False
        narrowed = None if is_none else _exclude_none(value)
        if narrowed is value:
            return []
        self.assign_name(name, narrowed)
        return [(name, narrowed)]

    def evaluate_unknown_logic(self, node: ast.BoolOp) -> CodeValue:
        """Evaluate `and` or `or` with an unknown operand.

        Returns nan, unless another operand determines the value. An unknown size with a default, as in `size or 4`,
        keeps its name.
        """
        decisive = isinstance(node.op, ast.Or)
        values = [self.evaluate_binding(operand) for operand in node.values] if decisive else []
        if values and all(map(is_dim, values)) and isinstance(values[0], Monomial) and self.may_be_none(values[0]):  # type: ignore[arg-type]
            return values[0]
        for operand in node.values:
            if self.evaluate_truth(operand) is decisive:
                return decisive
        return nan

    def evaluate_truth(self, node: ast.expr) -> bool | None:
        """Return the truth value of an expression, or None if it is unknown."""
        return self.truth_of(node, self.evaluate_binding(node))

    def truth_of(self, node: ast.expr, value: Binding) -> bool | None:
        """Return the truth value of an evaluated expression, or None if it is unknown.

        An unknown truth value is looked up among the values that the user provides.
        """
        is_true = None if isinstance(value, ShapeError) else truth_value(value)
        if is_true is None and (given := self.user_value(node)) is not MISSING:
            return truth_value(given)
        return is_true

    def evaluate_binding(self, node: ast.expr) -> Binding:
        """Evaluate an expression, and return its value or error."""
        try:
            return self.evaluate(node)
        except ShapeError as error:
            return error

    def evaluate_bindings(self, nodes: Sequence[ast.expr]) -> list[Binding]:
        """Evaluate expressions, and return their values or errors.

        Starred expressions are unpacked.
        """
        values = list[Binding]()
        for node in nodes:
            if isinstance(node, ast.Starred):
                values += self.evaluate_expressions([node])
            else:
                values.append(self.evaluate_binding(node))
        return values

    def evaluate_dict(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> CodeDict:
        """Evaluate a dict display."""
        items: dict[object, Binding] = {}
        for key, value in zip(keys, values, strict=True):
            if key is None:
                inner = self.evaluate(value)
                if not isinstance(inner, CodeDict):
                    raise self.error(value, "only a dict can be unpacked")
                items |= inner.items
            else:
                items[self.make_dict_key(key, self.evaluate(key))] = self.evaluate_binding(value)
        return CodeDict(items)

    def make_dict_key(self, node: ast.expr, key: CodeValue) -> object:
        """Return the key of a dict item.

        Raises `ShapeError` (usage) for a key that is not constant.
        """
        if key is None or isinstance(key, str | int):
            return key
        if isinstance(key, float | Monomial):
            return UNKNOWN_KEY
        raise self.error(node, "a key is a text or a whole number")

    def evaluate_string(self, parts: Sequence[ast.expr]) -> CodeValue:
        """Evaluate an f-string, or return nan if a part is unknown."""
        texts = list[str]()
        for part in parts:
            value = self.evaluate(part.value if isinstance(part, ast.FormattedValue) else part)
            if not isinstance(value, str | int) or getattr(part, "format_spec", None):
                return nan
            texts.append(str(value))
        return "".join(texts)

    def evaluate_comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> CodeValue:
        """Evaluate a list, generator or dict comprehension."""
        outer, self.frame = self.frame, CallFrame(self.frame.function, self.frame, self.frame.depth)
        self.frame.state = outer.state
        items: list[Any] = []
        try:
            self.evaluate_clauses(node, node.generators, items)
        finally:
            self.frame = outer
        return CodeDict(dict(items)) if isinstance(node, ast.DictComp) else CodeList(items)

    def evaluate_clauses(
        self,
        node: ast.ListComp | ast.GeneratorExp | ast.DictComp,
        clauses: Sequence[ast.comprehension],
        items: list[Any],
    ) -> None:
        """Append the items of a comprehension to `items`.

        `clauses` are the `for` clauses that remain to be evaluated.
        """
        if not clauses:
            if isinstance(node, ast.DictComp):
                items.append((self.make_dict_key(node.key, self.evaluate(node.key)), self.evaluate_binding(node.value)))
            else:
                items.append(self.evaluate_binding(node.elt))
            return
        clause, *rest = clauses
        for item in self.evaluate_iterable(clause.iter):
            self.count_iteration(node)
            self.assign_target(clause.target, item)
            tests = [self.evaluate_truth(test) for test in clause.ifs]
            if None in tests and False not in tests:
                test = clause.ifs[tests.index(None)]
                raise self.record_unknown_value(test, self.error(test, "whether this holds is not known"), False)
            if all(tests):
                self.evaluate_clauses(node, rest, items)

    def evaluate_expressions(self, nodes: Sequence[ast.expr]) -> Iterator[CodeValue]:
        """Evaluate expressions, and yield their values.

        Starred expressions are unpacked.
        """
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.evaluate(node.value)
                if isinstance(value, CodeList | LayerInstance | TensorChunks):
                    value = tuple(self.iterable_items(node.value, value))  # type: ignore[arg-type]  # errors are raised
                if not isinstance(value, tuple):
                    raise (
                        self.undeclared_size_list_error(node.value)
                        if is_dim(value)
                        else self.error(node, "only a shape can be unpacked")
                    )
                yield from value
            else:
                yield self.evaluate(node)

    def evaluate_name(self, node: ast.expr) -> CodeValue:
        """Evaluate a name or an attribute.

        The name denotes a variable, an attribute of a tensor, or a size.
        """
        name = dotted_name(node)
        value = self.find_value(name) if name else MISSING
        if isinstance(value, ShapeError):
            raise value
        if value is not MISSING:
            return value
        if isinstance(node, ast.Attribute) and name not in self.sizes:
            if node.attr == "newaxis":
                return None
            if not name or self.is_assigned(name):
                return self.evaluate_attribute(node, self.evaluate(node.value))
            is_callable = self.is_library_callable(name)
            if name.partition(".")[0] in LIBRARY_NAMES or (name.startswith("F.") and is_callable):
                return LibraryName(name) if is_callable else inf if node.attr == "inf" else nan
            if node.attr == "shape" and not self.has_unnamed_input:
                raise self.undeclared_size_list_error(node)
            if node.attr in ("shape", "T", "mT"):
                raise self.missing_shape_error(node.value)
        if name in self.frame.module.imports and self.is_library_callable(name) and name not in self.sizes:
            return LibraryName(name)
        return self.lookup_size(node, name)

    def is_library_callable(self, path: str) -> bool:
        """Return whether a name is a supported library function or layer."""
        raise NotImplementedError

    def evaluate_attribute(self, node: ast.Attribute, base: CodeValue) -> CodeValue:
        """Return an attribute of a value."""
        attribute = node.attr
        value: Binding = MISSING
        if isinstance(base, TracedTensor):
            value = evaluate_tensor_attribute(base, attribute)
        elif isinstance(base, LayerInstance) and base.name == "EncoderDecoderCache" and attribute in CACHE_PARTS:
            return CodeDict({}) if attribute == "is_updated" else base
        elif isinstance(base, LayerInstance):
            value = base.children.get(attribute, layer_attribute(base, attribute, self.new_tensor))
        if value is not MISSING and not isinstance(value, ShapeError):
            return value
        if isinstance(base, CodeDict) and attribute in base.items:  # the layers of a `ModuleDict` are also attributes
            return get_item(base, attribute, self.error_factory(node))
        if isinstance(base, tuple) and len(base) == 2 and attribute in ("values", "indices"):
            return base[attribute == "indices"]
        return self.evaluate_member(node, base)

    def evaluate_member(self, node: ast.Attribute, base: CodeValue) -> CodeValue:
        """Return an attribute of a value other than a tensor or a layer, such as a module or an object."""
        if isinstance(base, ModuleValue):
            return self.find_module_member(node, base)
        if isinstance(base, ObjectValue | ClassValue):
            return self.get_attribute(node, base)
        if isinstance(base, Monomial):
            return self.evaluate_unknown_attribute(node, base)
        # a member of an enumeration is represented by its value
        if isinstance(base, float) or (node.attr == "value" and isinstance(base, str | int)):
            return base
        if base is None and node.attr in self.sizes:  # the user provides values for an object whose default is None
            return self.lookup_size(node, node.attr)
        if base is None and dotted_name(node.value):
            raise self.absent_value_error(node.value)
        if name := single_name(base):
            raise self.error(node, f"there is no class {truncate(name)} here", "paste the class, too")
        raise self.error(node, f".{truncate(node.attr)} of this is not supported")

    def find_module_member(self, node: ast.Attribute, module: ModuleValue) -> CodeValue:
        """Return the value of a name in a module of the package."""
        value = self.find_in_frame(module.frame, node.attr)
        return self.lookup_size(node, dotted_name(node) or node.attr) if value is MISSING else value

    def find_in_frame(self, frame: CallFrame, name: str) -> CodeValue:
        """Return the value of a name in the frame `frame`, or `MISSING`.

        Raises the error of an unknown value.
        """
        outer, self.frame = self.frame, frame
        try:
            value = self.find_value(name)
        finally:
            self.frame = outer
        if isinstance(value, ShapeError):
            raise value
        return value

    def evaluate_unknown_attribute(self, node: ast.Attribute, base: Monomial) -> CodeValue:
        """Return the size that an attribute of an unknown object denotes.

        The object may be bound to several names. The size is first looked up with the original name.
        """
        if is_dict_item(node.value):
            raise self.missing_shape_error(node.value)
        if not (name := dotted_name(node)):
            raise self.error(node, f".{truncate(node.attr)} of this is not supported")
        own = f"{base}.{node.attr}"
        return self.lookup_size(node, own if own in self.sizes else name)

    def evaluate_operator(
        self, node: ast.expr, left: CodeValue, op: ast.operator | ast.cmpop, right: CodeValue
    ) -> CodeValue:
        """Apply an operator or a comparison.

        An unknown truth value is nan.
        """
        if isinstance(op, ast.Is | ast.IsNot) and (right is None or left is None):
            is_same = left is right
            is_unknown = any(map(self.may_be_none, (left, right)))
            return nan if is_unknown and not is_same else is_same == isinstance(op, ast.Is)
        if isinstance(op, ast.operator) or isinstance(left, TracedTensor) or isinstance(right, TracedTensor):
            result = self.apply_operator(node, left, OPERATOR_SYMBOLS.get(type(op).__name__, "&"), right)
            if isinstance(result, TracedTensor):
                return self.set_operator_kinds(node, op, (left, right), result)
            return result
        return compare_values(left, op, right)

    def may_be_none(self, value: CodeValue) -> bool:
        """Return whether a value may be None.

        A name that is not a symbolic size may denote anything. An expression that contains names is a number.
        """
        if isinstance(value, Monomial):
            return str(value).isidentifier() and str(value) not in self.program.names
        if isinstance(value, AlternativeValue):
            return value.may_be_none
        return value is MAYBE_NONE or (isinstance(value, TracedTensor) and value.absence is not None)

    def set_operator_kinds(
        self,
        node: ast.expr | ast.stmt,
        op: ast.operator | ast.cmpop | ast.unaryop,
        operands: Sequence[CodeValue],
        result: TracedTensor,
    ) -> TracedTensor:
        """Set the element kinds of the result of an operator.

        Raises `CheckRefused` (element-kind) if PyTorch refuses the kinds of the operands.
        """
        name = OPERATOR_FUNCTIONS.get(type(op).__name__, "")
        value = apply_kind_rule(name, operands, {}, result, self.error_factory(node))
        return value if isinstance(value, TracedTensor) else result

    def apply_operator(
        self, node: ast.expr | ast.AugAssign, left: CodeValue, symbol: str, right: CodeValue
    ) -> CodeValue:
        """Apply a binary operator to sizes, tuples, lists or tensors."""
        if isinstance(left, CodeList) or isinstance(right, CodeList):
            return self.apply_list_operator(node, left, symbol, right)
        if symbol in ("//", "%") or self.in_shape_argument:
            left, right = unwrap_size(left), unwrap_size(right)
        if symbol == "@" and isinstance(node, ast.BinOp):
            self.check_tensors_known([node.left, node.right])
        if symbol == "@" or (isinstance(left, TracedTensor) and isinstance(right, TracedTensor)):
            return apply_multi_operand(MATMUL if symbol == "@" else BROADCAST, (left, right), self.error_factory(node))
        for index, (one, other) in enumerate(((right, left), (left, right))):
            if isinstance(one, TracedTensor):
                if is_number(other):
                    nodes = _operand_nodes(node)
                    self.require_operand_shapes(nodes if len(nodes) > 2 else nodes[index : index + 1])
                    scalar = one.apply_scalar_op()
                    if one.rank or not (is_dim(one.size) and is_dim(other)) or symbol == "/":
                        return scalar
                    size = apply_binary_operator(
                        unwrap_size(left), symbol, unwrap_size(right), self.error_factory(node), self.program
                    )
                    return replace(scalar, size=size if is_dim(size) else None)
                tuple_hint = ", and this is a tuple: take a part of it, as [0] does" if isinstance(other, tuple) else ""
                raise self.error(node, f"{symbol} is read between tensors and numbers only{tuple_hint}")
        result = apply_binary_operator(left, symbol, right, self.error_factory(node), self.program)
        if symbol == "//" and isinstance(result, Monomial) and is_dim(left) and is_dim(right):
            self.program.require_division(left, right)
            self.notes[
                f"{truncate(self.source_text(node))} is read as {truncate(str(result))}: other sizes are left out"
            ] = None
        return result

    def apply_list_operator(
        self, node: ast.expr | ast.AugAssign, left: CodeValue, symbol: str, right: CodeValue
    ) -> CodeValue:
        """Concatenate two lists, or repeat a list."""
        if symbol == "+" and isinstance(left, CodeList) and isinstance(right, CodeList):
            return CodeList((*left.bindings, *right.bindings))
        if symbol == "*":
            items, count = (left, right) if isinstance(left, CodeList) else (right, left)
            if isinstance(items, CodeList) and isinstance(count, int):
                if len(items.bindings) * count > MAX_SHAPE_DIMS:
                    raise self.error(node, MAX_SHAPE_DIMS.message(f"{len(items.bindings) * count} items"))
                return CodeList(items.bindings * count)
        return self.apply_operator(node, freeze_value(left), symbol, freeze_value(right))

    def evaluate_subscript(self, node: ast.Subscript, base_node: ast.expr, index: ast.expr) -> CodeValue:
        """Return an item of a container, or index a tensor."""
        if (given := self.user_tensors(node)) is not MISSING:
            return given
        name, key = dotted_name(base_node), self.evaluate(index)
        if name == "ACT2FN":
            return LayerInstance("Activation", (), {})
        known = name in self.sizes or self.is_assigned(name)
        if isinstance(key, str) and name and key.isidentifier() and not known:
            return self.lookup_entry(node, key)
        if name and isinstance(key, int) and key >= 0 and not known and not name.endswith(".shape"):
            return self.lookup_size(node, f"{name.rpartition('.')[2]}_{key}")
        base = self.evaluate(base_node)
        if isinstance(base, Monomial) and isinstance(key, str) and key.isidentifier():
            return self.lookup_entry(node, key)
        if name and isinstance(base, Monomial):
            raise self.missing_shape_error(base_node)
        if isinstance(base, TracedTensor):
            return self.index_tensor_or_record(node, base, key)
        if isinstance(base, float):  # an unknown number, or a mask
            return base
        return self.get_container_item(node, base, key)

    def get_container_item(self, node: ast.Subscript, base: CodeValue, key: CodeValue) -> CodeValue:
        """Return an item of a container.

        If the key is unknown, the items are merged.
        """
        if isinstance(base, CodeDict) and (isinstance(key, Monomial | float) or UNKNOWN_KEY in base.items):
            return self.get_possible_item(node, base)
        if isinstance(base, tuple | CodeList) and key is UNKNOWN_INTEGER:
            return self.merge_items(node, self.iterable_items(node, base))
        return get_item(base, key, self.error_factory(node))

    def lookup_entry(self, node: ast.Subscript, key: str) -> CodeValue:
        """Return the size of an entry of an unknown dict.

        The user provides the size for the source text of the entry, or for its key.
        """
        given = self.user_value(node)
        return self.lookup_size(node, key) if given is MISSING else given

    def index_tensor_or_record(self, node: ast.Subscript, tensor: TracedTensor, key: CodeValue) -> CodeValue:
        """Index a tensor, or record the index expression if its shape is unknown."""
        try:
            return self.index_tensor(node, tensor, key)
        except AnswerableError as error:
            raise self.record_unknown_shape(node, ShapeError(error.problem)) from None

    def get_possible_item(self, node: ast.Subscript, table: CodeDict) -> CodeValue:
        """Return the merged items of a dict for a key that may be unknown."""
        key = self.make_dict_key(node.slice, self.evaluate(node.slice))
        keys = [own for own in (key, UNKNOWN_KEY) if own in table.items] if key in table.items else [*table.items]
        return self.merge_items(node, [table.items[own] for own in keys])

    def merge_items(self, node: ast.Subscript, items: Sequence[Binding]) -> CodeValue:
        """Merge the items that an index expression may select.

        Equal items are merged into one item, functions and layers into alternatives. Raises `ShapeError` (usage) for
        other items.
        """
        unknown = self.error(node, "the key is not known", "give it with --where")
        first, *others = items or (unknown,)
        for other in others:
            first = merge_values(first, other, unknown)
        if isinstance(first, ShapeError):
            raise unknown
        return first

    def index_tensor(self, node: ast.Subscript, base: TracedTensor, key: CodeValue) -> TracedTensor:
        """Index a tensor.

        A list in the index is an index array.
        """
        error = self.error_factory(node)
        if base.conventions.torch_checks and isinstance(key, CodeList) and is_tuple_index(key):
            key = key.items
        items = list[IndexItem](key if isinstance(key, tuple) else (key,))
        # PyTorch accepts a second `...` at the end, which selects no axis
        while Ellipsis in items[:-1] and items[-1] is Ellipsis:
            items.pop()
        for position, item in enumerate(items):
            if isinstance(item, CodeList | tuple):
                values = freeze_value(item)
                array = self.new_tensor(nested_shape(values, error), kinds_of(values), find_extremes(values))
                items[position] = array if has_bool_items(values) else IndexArray(array)
            elif item is UNKNOWN_INTEGER:
                items[position] = IndexArray(self.new_tensor((), "i"))
            elif isinstance(item, TracedTensor) and item.size is not None and isinstance(item.size, int):
                items[position] = replace(item, size=None)
        if has_arrays(items):
            return index_with_arrays(base, items, error)
        return index_tensor(base, tuple(items), error)  # type: ignore[arg-type]  # without arrays

    def new_tensor(self, dims: Shape, kinds: str = "f", extremes: tuple[int, int] | None = None) -> TracedTensor:
        """Return the initial tensor of a new chain, which does not depend on the inputs."""
        tensor = initial_tensor(dims, self.dialect, self.program)
        tensor = replace(tensor, kinds=kinds or ANY_KIND, extremes=extremes)
        return mark_untraced_change(tensor) if self.inputs else tensor

    def evaluate_iterable(self, node: ast.expr) -> Sequence[Binding]:
        """Return the items of the iterable in a `for` clause."""
        return self.iterable_items(node, self.evaluate(node))

    def iterable_items(self, node: ast.expr, value: CodeValue) -> Sequence[Binding]:
        """Return the items of an iterable value.

        Raises `ShapeError` (usage) for unknown items.
        """
        if isinstance(value, TracedTensor):
            value = unbind_first_axis(value, self.error_factory(node))
        if isinstance(value, CodeList):
            items = value.bindings
            if value.is_iterator:
                self.undo_log.write(value.state, "items", ())
            return items
        if isinstance(value, CodeDict):
            return [*value.items]  # type: ignore[list-item]  # keys are constants
        if isinstance(value, ObjectValue):
            value = tuple(value.children.values()) if self.is_module_list(value) else value.layer
        if isinstance(value, LayerInstance) and value.name == "Sequential":
            return value.positional
        if isinstance(value, TensorChunks) and value.count is not None:
            if value.count > MAX_SHAPE_DIMS:
                raise self.error(node, MAX_SHAPE_DIMS.message(f"{value.count} parts"))
            return [value.chunk(index) for index in range(value.count)]
        if isinstance(value, tuple | str):
            return value
        raise self.error(node, "how many values there are is not known", "give sizes with --where")

    def is_module_list(self, value: ObjectValue) -> bool:
        """Return whether the class of an object derives from `ModuleList`."""
        raise NotImplementedError

    def branch_error(self, node: ast.expr | ast.stmt, test: ast.expr) -> ShapeError:
        """Build the error for a condition with an unknown truth value.

        The condition, or its first unknown part, is recorded as a value that the user can provide.
        """
        part = self.find_unknown_part(test)
        is_type_test = isinstance(part, ast.Call) and dotted_name(part.func) == "isinstance" and part.args
        if is_type_test and isinstance(value := self.evaluate_binding(is_type_test[0]), Monomial):
            return self.error(node, "which branch is taken is not known", unknown=value, placeholder="VALUE")
        condition = truncate(ast.unparse(part))
        mark = "" if dotted_name(part) else '"' if "'" in condition else "'"
        option = f"{mark}{condition}=False{mark}"
        hint = f"paste the lines of one, or give it: --where {option}"
        unknown = UnknownConditionError(self.error(node, "which branch is taken is not known", hint).problem)
        unknown.tested = tuple(self.find_tested_values(test))
        return self.record_unknown_value(part, unknown, False)

    def find_tested_values(self, test: ast.expr) -> Iterator[Monomial]:
        """Yield the values of the names in a condition that may be None."""
        for node in ast.walk(test):
            if isinstance(node, ast.Name | ast.Attribute) and dotted_name(node):
                value = self.peek_value(node)
                if isinstance(value, Monomial) and self.may_be_none(value):
                    yield value

    def find_unknown_part(self, test: ast.expr) -> ast.expr:
        """Return the first part of a condition that has an unknown truth value."""
        if isinstance(test, ast.BoolOp):
            return next(
                (self.find_unknown_part(part) for part in test.values if self.evaluate_truth(part) is None), test
            )
        return self.find_unknown_part(test.operand) if isinstance(test, ast.UnaryOp) else test

    def count_iteration(self, node: ast.AST) -> None:
        """Count a statement or an iteration of a loop.

        Raises `ShapeError` (usage) if the limit is exceeded.
        """
        raise NotImplementedError

    def assign_target(self, target: ast.expr, value: Binding) -> None:
        """Bind an assignment target."""
        raise NotImplementedError

    def assign_name(self, name: str, value: Binding) -> None:
        """Assign a value to a variable or attribute by its dotted name."""
        raise NotImplementedError

    def find_binding(self, name: str) -> Binding:
        """Return the value of a dotted name, its error, or `MISSING`."""
        raise NotImplementedError

    def get_attribute(self, node: ast.Attribute, base: ObjectValue | ClassValue) -> CodeValue:
        """Return an attribute of an object or class that the code defines."""
        raise NotImplementedError

    def evaluate_call(self, node: ast.Call) -> CodeValue:
        """Evaluate a call."""
        raise NotImplementedError
