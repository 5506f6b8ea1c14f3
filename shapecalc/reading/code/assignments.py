"""Evaluate assignments and in-place changes of tensors."""

from __future__ import annotations

import ast

from shapecalc.core.conditions import Condition, Unsatisfiable, require_equal
from shapecalc.core.dims import Shape
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.core.rules import NOT_BROADCASTABLE
from shapecalc.core.text import shape_text, truncate
from shapecalc.reading.code.arithmetic import get_item
from shapecalc.reading.code.functions import FunctionEvaluator
from shapecalc.reading.code.kind_checks import apply_kind_rule
from shapecalc.reading.code.kinds import OPERATOR_FUNCTIONS
from shapecalc.reading.code.layer_calls import LAYER_PARAMETERS
from shapecalc.reading.code.logic import freeze_value
from shapecalc.reading.code.memory import MISSING
from shapecalc.reading.code.source import PASTE_HINT, dotted_name
from shapecalc.reading.code.values import (
    LAYER_KEY,
    PENDING_CHANGE,
    Binding,
    CheckRefused,
    CodeDict,
    CodeList,
    CodeValue,
    LayerInstance,
    ObjectValue,
    TensorChunks,
    TracedTensor,
    is_dim,
    unbind_first_axis,
)

SHAPE_METHODS_IN_PLACE = {
    *("unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_", "swapdims_"),
    *("resize_", "resize_as_", "set_", "as_strided_"),
}
"""The PyTorch methods that change the shape of a tensor in place."""


class AssignmentEvaluator(FunctionEvaluator):
    """An evaluator of assignments and in-place changes."""

    def find_binding(self, name: str) -> Binding:
        """Return the value of a dotted name or its error, or `MISSING` if the name is unbound."""
        value = self.find_value(name)
        if value is not MISSING or "." not in name:
            return value
        base, _, attribute = name.rpartition(".")
        owner = self.find_binding(base)
        return owner.attributes.get(attribute, MISSING) if isinstance(owner, ObjectValue) else MISSING

    def assign_name(self, name: str, value: Binding) -> None:
        """Assign a value to a variable or an attribute, given its dotted name."""
        base, _, attribute = name.rpartition(".")
        owner = self.find_binding(base) if base else MISSING
        if isinstance(owner, ObjectValue):
            self.undo_log.write(owner.attributes, attribute, value)
            self.add_child(owner, attribute, value)
            if owner.layer is not None and (changed := change_argument(owner.layer, attribute, value)):
                self.undo_log.write(owner.attributes, LAYER_KEY, changed)
        elif isinstance(owner, LayerInstance) and (changed := change_argument(owner, attribute, value)):
            self.assign_name(base, changed)
        elif isinstance(owner, LayerInstance) and can_change_shapes(owner, attribute, value):
            unknown = usage_error(
                f"{truncate(name)} is assigned, and the layer is not known", PASTE_HINT, argument="line"
            )
            self.assign_name(base, value if isinstance(value, ShapeError) else unknown)
        elif isinstance(owner, TracedTensor) and attribute == "shape":
            self.assign_name(base, value if isinstance(value, ShapeError) else reshape_in_place(owner, value))
        else:
            self.bind_variable(name, value)

    def add_child(self, owner: ObjectValue, name: str, value: Binding) -> None:
        """Add a layer to the children of a `Sequential` object if it is assigned to an attribute."""
        if isinstance(value, LayerInstance | ObjectValue) and self.library_base_name(owner.cls) == "Sequential":
            layers = owner.layer or LayerInstance("Sequential", (), {})
            self.undo_log.write(owner.attributes, LAYER_KEY, layers.add_child(name, value))

    def update_in_place(self, node: ast.AugAssign, value: CodeValue) -> CodeValue:
        """Return the value of a target after an augmented assignment.

        PyTorch and NumPy update a tensor in place: the tensor keeps its strides, and all variables that refer to it
        change.
        """
        before = self.evaluate(node.target)
        if isinstance(before, CodeList) and isinstance(value, CodeList):
            self.undo_log.write(before.state, "items", value.bindings)
            return before
        if not isinstance(before, TracedTensor) or not isinstance(value, TracedTensor):
            return value
        if before.conventions.updates_in_place:
            value = self.require_shape(node, value, before.shape)
            name = f"{OPERATOR_FUNCTIONS.get(type(node.op).__name__, '')}_"
            operands = (before, self.evaluate(node.value))
            checked = apply_kind_rule(name, operands, {}, value, self.error_factory(node))
            value = checked if isinstance(checked, TracedTensor) else value
        self.in_place_change = self.in_place_change or self.source_text(node)
        change = self.source_text(node) if value.untraced_change == PENDING_CHANGE else value.untraced_change
        return replace(value, strides=before.strides, untraced_change=change)

    def require_shape(self, node: ast.AugAssign, value: TracedTensor, shape: Shape) -> TracedTensor:
        """Return a tensor with the conditions under which its shape is `shape`.

        Raises `CheckRefused` if the shapes cannot be equal.
        """
        conditions = list[Condition]()
        try:
            for dim, wanted in zip(value.shape, shape, strict=True):
                conditions += require_equal(dim, wanted)
        except (ValueError, Unsatisfiable):
            message = f"a tensor {shape_text(shape)} does not become {shape_text(value.shape)} in place"
            raise CheckRefused(self.error(node, message), NOT_BROADCASTABLE) from None
        earlier = tuple(dict.fromkeys((*value.earlier_conditions, *conditions)))
        return replace(value, shape=shape, earlier_conditions=earlier) if conditions else value

    def assign_target(self, target: ast.expr, value: Binding) -> None:
        """Bind an assignment target, unpacking tuples and starred targets."""
        name, parts = dotted_name(target), getattr(target, "elts", None)
        if name:
            self.assign_name(name, value)
            return
        if isinstance(value, ShapeError):
            raise value
        if isinstance(target, ast.Attribute | ast.Subscript):
            self.assign_item(target, value)
            return
        value = unbind_first_axis(value, self.error_factory(target)) if isinstance(value, TracedTensor) else value
        if isinstance(value, CodeList):
            value = value.items
        if parts is None or not isinstance(value, tuple | TensorChunks):
            raise self.error(target, "nothing can be assigned to this here")
        star = next((index for index, part in enumerate(parts) if isinstance(part, ast.Starred)), None)
        if star is not None and isinstance(value, tuple):
            end = star + max(len(value) - len(parts) + 1, 0)
            value = (*value[:star], value[star:end], *value[end:])
            parts = [*parts[:star], parts[star].value, *parts[star + 1 :]]
        count = value.count if isinstance(value, TensorChunks) else len(value)
        if count is not None and count != len(parts):
            raise self.error(target, f"{len(parts)} names for {count} values")
        for position, part in enumerate(parts):
            self.assign_target(part, get_item(value, position, self.error_factory(part)))

    def evaluate_call(self, node: ast.Call) -> CodeValue:
        """Evaluate a call, and rebind the tensors that it changes in place.

        Raises `ShapeError` (usage) for an in-place method whose result shape is unknown. The names of the tensor are
        then bound to this error.
        """
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in SHAPE_METHODS_IN_PLACE:
            before = self.evaluate(function.value)
            if isinstance(before, TracedTensor):
                return self.rebind_reshaped_tensor(node, function, before)
        value = super().evaluate_call(node)
        for keyword in node.keywords:
            if keyword.arg == "out" and (name := dotted_name(keyword.value)) and isinstance(value, TracedTensor):
                self.assign_name(name, self.describe_untraced_change(node, value))
        return value

    def check_item_shape(self, target: ast.Subscript, value: CodeValue) -> None:
        """Check that a value broadcasts to the target of an item assignment.

        Unknown sizes are not compared. Raises `CheckRefused` or `StageRefused` if the value does not broadcast. Source:
        "broadcast" of numpy.ndarray.__setitem__ and of torch.Tensor.__setitem__, which drop leading dims of 1.
        """
        try:
            part = self.dispatch_expression(
                ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
            )
        except ShapeError:  # the index is unsupported, for example a mask of unknown size
            return
        if not (isinstance(part, TracedTensor) and isinstance(value, TracedTensor)):
            return
        dims = value.shape
        while len(dims) > part.rank and dims[0] == 1:
            dims = dims[1:]
        if all(isinstance(dim, int) for dim in (*dims, *part.shape)):
            pairs = zip(dims[::-1], part.shape[::-1], strict=False)
            if len(dims) > part.rank or any(own not in (1, dim) for own, dim in pairs):
                message = f"a part {shape_text(part.shape)} does not take a tensor {shape_text(value.shape)}"
                raise CheckRefused(self.error(target, message), NOT_BROADCASTABLE)

    def rebind_reshaped_tensor(self, node: ast.Call, function: ast.Attribute, before: TracedTensor) -> CodeValue:
        """Evaluate a method that changes a shape in place, and rebind the tensor.

        All names that refer to the tensor are bound to the result.
        """
        method = ast.copy_location(ast.Attribute(function.value, function.attr[:-1], ast.Load()), function)
        renamed = ast.copy_location(ast.Call(method, node.args, node.keywords), node)
        try:
            value: Binding = super().evaluate_call(renamed)
        except ShapeError as error:
            value = error
        name = dotted_name(function.value)
        root = "" if name else find_mutated_name(function.value)  # `x.add_(1).t_()` also changes x
        names = {name for name in self.names_in_scope() if self.find_binding(name) is before} | {
            *filter(None, (name, root))
        }
        if root:
            value = self.error(node, "the tensor that this changes has no name")
        item = function.value
        if isinstance(item, ast.Subscript) and not isinstance(value, ShapeError):  # noqa: SIM102 - mypy narrows the type
            if isinstance(self.evaluate(item.value), CodeList | CodeDict):
                self.assign_item(item, value)
        for name in names:
            self.assign_name(name, value)
        if isinstance(value, ShapeError):
            raise value
        return value

    def names_in_scope(self) -> list[str]:
        """Return the names of the variables in the current and enclosing frames."""
        names, frame = list[str](), self.frame
        while frame is not None:
            names += frame.variables
            frame = frame.parent  # type: ignore[assignment]
        return names

    def assign_item(self, target: ast.Subscript | ast.Attribute, value: CodeValue) -> None:
        """Set an item of a list, dict or tensor, or an attribute of an object.

        A change of a tensor is recorded.
        """
        base = self.evaluate(target.value)
        if isinstance(target, ast.Attribute):
            if not isinstance(base, ObjectValue):
                raise self.error(target, "nothing can be assigned to this here")
            self.undo_log.write(base.attributes, target.attr, value)
            return
        if isinstance(base, CodeDict):
            key = self.make_dict_key(target.slice, self.evaluate(target.slice))
            self.undo_log.write(base.state, "items", base.items | {key: value})
            return
        if isinstance(base, tuple):
            raise self.error(target, "the items of a tuple cannot be assigned")
        if not isinstance(base, CodeList):
            if isinstance(base, TracedTensor):
                self.check_item_shape(target, value)
            self.in_place_change = self.in_place_change or self.source_text(target)
            return
        items, key = [*base.bindings], self.evaluate(target.slice)
        new = freeze_value(value) if isinstance(key, slice) else value
        try:
            items[key] = new  # type: ignore[index]  # an invalid key raises
        except (TypeError, IndexError, ValueError):
            raise self.error(target, f"there is no such element among {len(items)}") from None
        self.undo_log.write(base.state, "items", tuple(items))


def can_change_shapes(layer: LayerInstance, name: str, value: Binding) -> bool:
    """Return whether the assignment of an attribute may change the shapes that a layer returns.

    If the parameters of the layer are known, all its other attributes are annotations of the user.
    """
    if name in ("weight", *LAYER_PARAMETERS.get(layer.name, ())):
        return True
    return layer.name not in LAYER_PARAMETERS and not isinstance(value, TracedTensor | None)


def change_argument(layer: LayerInstance, name: str, value: Binding) -> LayerInstance | None:
    """Return a layer with one argument changed, or None if it has no such argument.

    For example, `layer.padding = (0, 0)` changes an argument.
    """
    parameters = LAYER_PARAMETERS.get(layer.name, ())
    if name not in parameters or isinstance(value, ShapeError):
        return None
    named = dict(zip(parameters, layer.positional, strict=False)) | {**layer.keywords, name: freeze_value(value)}
    return replace(layer, positional=(), keywords=named)


def find_mutated_name(node: ast.expr) -> str:
    """Return the name of the tensor that a chain of method calls mutates.

    For example, `x.add_(1)` mutates x. Returns an empty string if the chain returns a new tensor.

    >>> [find_mutated_name(ast.parse(code, mode="eval").body) for code in ("x.add_(1)", "x.clone()", "x.add_(1).sum()")]
    ['x', '', '']
    """
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if not (name.endswith("_") or name in ("contiguous", "to", "requires_grad_")):
            return ""
        node = node.func.value
    return dotted_name(node)


def reshape_in_place(tensor: TracedTensor, target: CodeValue) -> Binding:
    """Apply `x.shape = target`, or return the error if the target is invalid."""
    target = freeze_value(target)
    dims = target if isinstance(target, tuple) else (target,)
    if not all(map(is_dim, dims)):
        return usage_error("the shape that is assigned is not known", "give sizes with --where", argument="line")
    return tensor.reshape(*dims)  # type: ignore[arg-type]  # all items are dims
