"""The evaluation of expressions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from math import nan
from types import EllipsisType

from shapecalc.core.dims import Monomial
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.matmul import MATMUL
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import truncate
from shapecalc.reading.code.arithmetic import (
    COMPARISON_SIGNS,
    OPERATOR_SYMBOLS,
    TENSOR_ATTRIBUTES,
    apply_binary,
    apply_unary,
    get_item,
    index_tensor,
)
from shapecalc.reading.code.operands import apply_multi_operand
from shapecalc.reading.code.scopes import Scope
from shapecalc.reading.code.source import dotted_name
from shapecalc.reading.code.values import UNNAMED_CHANGE, CodeValue, TracedTensor, is_dim, is_number, unwrap_size


class ExpressionEvaluator(Scope):
    """An evaluator of expressions over sizes, tuples and tensors."""

    def evaluate(self, node: ast.expr) -> CodeValue:
        """Return the value of an expression.

        Raises `ShapeError` (usage) if the expression is not supported.
        """
        return self.name_change(node, self.evaluate_node(node))

    def name_change(self, node: ast.expr | ast.stmt, value: CodeValue) -> CodeValue:
        """Return the value with the source text of its untraced change, if `node` is where it occurs."""
        if isinstance(value, TracedTensor) and value.untraced_change == UNNAMED_CHANGE:
            return replace(value, untraced_change=self.source_text(node))
        if isinstance(value, tuple) and any(isinstance(item, TracedTensor) for item in value):
            return tuple([self.name_change(node, item) for item in value])
        return value

    def evaluate_node(self, node: ast.expr) -> CodeValue:
        """Return the value of an expression, by its kind; raise `ShapeError` (usage) if it is not supported."""
        match node:
            case ast.Constant(value=None | bool() | int() | float() | str() | EllipsisType() as constant):
                return constant
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.evaluate_all(parts))
            case ast.Name() | ast.Attribute():
                return self.evaluate_name(node)
            case ast.UnaryOp(op=sign, operand=operand):
                return apply_unary(self.evaluate(operand), sign, self.error_factory(node))
            case ast.BinOp(left=left, op=sign, right=right) | ast.Compare(left=left, ops=[sign], comparators=[right]):
                return self.evaluate_operator(node, self.evaluate(left), sign, self.evaluate(right))
            case ast.Subscript(value=inner, slice=index):
                return self.evaluate_subscript(node, inner, index)
            case ast.Slice(lower=lower, upper=upper, step=step):
                return slice(
                    *[None if end is None else unwrap_size(self.evaluate(end)) for end in (lower, upper, step)]
                )
            case ast.Call():
                return self.evaluate_call(node)
        raise self.error(node, "this is not supported here")

    def evaluate_all(self, nodes: Sequence[ast.expr]) -> Iterator[CodeValue]:
        """Yield the values of expressions; unpack starred expressions."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                value = self.evaluate(node.value)
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
        """Return the value of a name or attribute.

        The name denotes a variable, an attribute of a tensor, or a size.
        """
        name = dotted_name(node)
        if isinstance(value := self.variables.get(name), ShapeError):
            raise value
        if name in self.variables:
            return value
        if isinstance(node, ast.Attribute) and name not in self.sizes:
            if node.attr == "newaxis":
                return None
            if not name or self.is_assigned(name):
                base = self.evaluate(node.value)
                if (
                    isinstance(base, TracedTensor)
                    and node.attr in TENSOR_ATTRIBUTES
                    and (node.attr != "mT" or base.rank > 1)
                ):
                    return TENSOR_ATTRIBUTES[node.attr](base)
                raise self.error(node, f".{truncate(node.attr)} of this is not supported")
            if node.attr == "shape" and not self.has_unnamed_input:
                raise self.undeclared_size_list_error(node)
            if node.attr in ("shape", "T", "mT"):
                raise self.missing_shape_error(node.value)
        return self.lookup_size(node, name)

    def evaluate_operator(
        self, node: ast.expr, left: CodeValue, op: ast.operator | ast.cmpop, right: CodeValue
    ) -> CodeValue:
        """Apply an operator or a comparison.

        The result of a comparison is nan if its truth value is unknown.
        """
        if isinstance(op, ast.operator) or isinstance(left, TracedTensor) or isinstance(right, TracedTensor):
            return self.apply_operator(node, left, OPERATOR_SYMBOLS.get(type(op).__name__, "&"), right)
        if isinstance(op, ast.Is | ast.IsNot) and right is None:
            return nan if isinstance(left, Monomial) else (left is None) == isinstance(op, ast.Is)
        if isinstance(left, int) and isinstance(right, int) and type(op) in COMPARISON_SIGNS:
            return (left > right) - (left < right) in COMPARISON_SIGNS[type(op)]
        return nan

    def apply_operator(
        self, node: ast.expr | ast.AugAssign, left: CodeValue, symbol: str, right: CodeValue
    ) -> CodeValue:
        """Apply a binary operator to sizes, tuples or tensors."""
        if symbol in ("//", "%") or self.in_shape_argument:
            left, right = unwrap_size(left), unwrap_size(right)
        if symbol == "@" and isinstance(node, ast.BinOp):
            self.check_tensors_known([node.left, node.right])
        if symbol == "@" or (isinstance(left, TracedTensor) and isinstance(right, TracedTensor)):
            return apply_multi_operand(MATMUL if symbol == "@" else BROADCAST, (left, right), self.error_factory(node))
        for one, other in ((left, right), (right, left)):
            if isinstance(one, TracedTensor):
                if is_number(other):
                    return one.compute_with_number()
                tuple_hint = ", and this is a tuple: take a part of it, as [0] does" if isinstance(other, tuple) else ""
                raise self.error(node, f"{symbol} is read between tensors and numbers only{tuple_hint}")
        result = apply_binary(left, symbol, right, self.error_factory(node))
        if symbol == "//" and isinstance(result, Monomial):
            self.notes[
                f"{truncate(self.source_text(node))} is read as {truncate(str(result))}: other sizes are left out"
            ] = None
        return result

    def evaluate_subscript(self, node: ast.Subscript, base_node: ast.expr, index: ast.expr) -> CodeValue:
        """Return an item of a tuple, or the tensor after an index expression."""
        if ast.List in map(type, (index, *getattr(index, "elts", ()))):
            raise self.error(node, "a list of positions has no op here")
        name, key = dotted_name(base_node), self.evaluate(index)
        if isinstance(key, str) and name and key.isidentifier():
            return self.lookup_size(node, key)
        known = name in self.sizes or self.is_assigned(name)
        if name and isinstance(key, int) and key >= 0 and not known and not name.endswith(".shape"):
            return self.lookup_size(node, f"{name.rpartition('.')[2]}_{key}")
        base = self.evaluate(base_node)
        if name and isinstance(base, Monomial):
            raise self.missing_shape_error(base_node)
        if isinstance(base, TracedTensor):
            return index_tensor(base, key, self.error_factory(node))
        return get_item(base, key, self.error_factory(node))

    def evaluate_call(self, node: ast.Call) -> CodeValue:
        """Return the value of a call."""
        raise NotImplementedError
