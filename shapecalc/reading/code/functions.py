"""Evaluate calls to functions and classes that the code defines."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from shapecalc.core.problem import ShapeError
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.reading.code.call_evaluation import (
    CHILD_METHODS,
    SELF_METHODS,
    CallEvaluator,
    make_child_list,
    make_sequential,
)
from shapecalc.reading.code.callers import overridden_parameters
from shapecalc.reading.code.layer_calls import layer_attribute
from shapecalc.reading.code.logic import merge_values
from shapecalc.reading.code.memory import MISSING
from shapecalc.reading.code.source import ENTRY_METHODS, PASTE_HINT, dotted_name
from shapecalc.reading.code.values import (
    LAYER_KEY,
    AnswerableError,
    Binding,
    CallFrame,
    CheckRefused,
    ClassValue,
    CodeDict,
    CodeList,
    CodeValue,
    ErrorFactory,
    FunctionValue,
    LayerInstance,
    ObjectValue,
    StageRefused,
    SuperValue,
    dataclass_fields,
    is_dataclass,
    is_enumeration,
    is_integer,
)

MAX_CALL_DEPTH = 30
"""The maximum number of nested calls."""
MODULE_CONTAINERS = ("ModuleList", "ModuleDict")
PROPERTIES = {"property", "cached_property"}
MODULE_CLASSES = {
    "ConfigMixin",
    "Module",
    "object",
    "ABC",
    "Generic",
    "Protocol",
    "PreTrainedModel",
    "ModelMixin",
    "LightningModule",
}
"""Library base classes that define no attributes."""


SETTER_METHODS = {"set_processor": "processor"}
"""The attribute that each setter method of a library base class sets."""


class FunctionEvaluator(CallEvaluator):
    """An evaluator of calls to functions and classes that the code defines."""

    def call_user_code(
        self, node: ast.Call, callee: CodeValue, positional: Sequence[Binding], keywords: Mapping[str, Binding]
    ) -> CodeValue:
        """Call a function, class or object that the code defines."""
        if isinstance(callee, ClassValue):
            return self.instantiate_class(node, callee, positional, keywords)
        if isinstance(callee, ObjectValue):
            return self.call_object(callee, positional, keywords, self.error_factory(node))
        assert isinstance(callee, FunctionValue)
        return self.call_function(callee, positional, keywords, self.error_factory(node))

    def call_function(
        self,
        function: FunctionValue,
        positional: Sequence[Binding],
        keywords: Mapping[str, Binding],
        error: ErrorFactory,
    ) -> CodeValue:
        """Call a function by interpreting its body.

        Raises `ShapeError` (usage) for recursion, a generator, or calls that are nested too deeply.
        """
        frame: CallFrame | None = self.frame
        while frame is not None:
            caller = frame.state.get("function")
            if frame.state.get("node") is function.node and (caller is None or caller.owner is function.owner):
                raise AnswerableError(error("a function that calls itself is not followed").problem)
            frame = frame.state.get("caller")
        if self.frame.depth >= MAX_CALL_DEPTH:
            raise error("the calls are nested too deep")
        if function.owner is not None and not function.is_static:
            positional = (function.owner, *positional)
        name = f"{function.cls.name}.{function.name}" if function.cls else function.name
        frame = CallFrame(name, function.frame, self.frame.depth + 1)
        frame.state |= {"node": function.node, "caller": self.frame, "function": function}
        self.bind_parameters(frame, function, positional, keywords, error)
        if frame.module is not self.frame.module and frame.module.path in self.modules:
            return self.run_imported_function(frame, function.node, error)
        return self.run_function(frame, function.node, error)

    def run_imported_function(
        self, frame: CallFrame, node: ast.FunctionDef | ast.Lambda, error: ErrorFactory
    ) -> CodeValue:
        """Interpret the body of an imported function without recording its lines."""
        was_quiet, self.is_quiet = self.is_quiet, True
        assert frame.module.path is not None
        place = f"in {escape_unprintable(frame.module.path.name)}"
        try:
            return self.run_function(frame, node, error)
        except CheckRefused as refused:
            problem = refused.args[0].problem
            outer = error(f"{problem.message} {place}").problem
            raise CheckRefused(ShapeError(outer), problem.rule) from None
        except StageRefused:
            self.refused_line = self.line
            raise
        except ShapeError as inner:
            call_error = error(f"{inner.problem.message} {place}", inner.problem.hint)
            # the node is the first argument of the partial that `error_factory` returns
            called: object = getattr(error, "args", [None])[0]
            raise (
                self.record_unknown_call(called, call_error) if isinstance(called, ast.Call) else call_error
            ) from None
        finally:
            self.is_quiet = was_quiet

    def run_function(self, frame: CallFrame, node: ast.FunctionDef | ast.Lambda, error: ErrorFactory) -> CodeValue:
        """Interpret the body of a function in a frame, and return its result."""
        outer, line, in_shape_argument = self.frame, self.line, self.in_shape_argument
        self.frame = frame
        try:
            if isinstance(node, ast.Lambda):
                return self.evaluate(node.body)
            if any(isinstance(part, ast.Yield | ast.YieldFrom | ast.Await) for part in self.syntax_nodes(node)):
                raise error("a generator is not followed")
            self.interpret_body(node.body)
        except StageRefused as refused:
            self.refused_line = self.refused_line or self.line
            raise refused
        finally:
            self.frame, self.line, self.in_shape_argument = outer, line, in_shape_argument
        return self.frame_result(frame)

    def syntax_nodes(self, node: ast.FunctionDef) -> Sequence[ast.AST]:
        """Return all syntax nodes in a function.

        The result is cached.
        """
        if node not in self.function_nodes:
            self.function_nodes[node] = [*ast.walk(node)]
        return self.function_nodes[node]

    def frame_result(self, frame: CallFrame) -> CodeValue:
        """Return the result of the function that ran in a frame.

        Raises the error of an unknown result.
        """
        results: list[tuple[Binding, ShapeError | None]] = [*frame.state["results"]]
        if frame.state["exit"] not in ("return", "raise"):
            results.append((None, None))
        if not results:
            raise self.error(frame.state["node"], "this function only raises")
        value = results[-1][0]
        for other, error in results[-2::-1]:
            assert error is not None
            value = merge_values(value, other, error)
        if isinstance(value, ShapeError):
            raise value
        return value

    def bind_parameters(
        self,
        frame: CallFrame,
        function: FunctionValue,
        positional: Sequence[Binding],
        keywords: Mapping[str, Binding],
        error: ErrorFactory,
    ) -> None:
        """Bind the parameters of a function to arguments or defaults."""
        arguments, variables, rest = function.node.args, frame.variables, {**keywords}
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        defaults = _default_expressions(arguments)
        variables.update(zip(names, positional, strict=False))
        if len(positional) > len(names) and arguments.vararg is None:
            raise error(f"{truncate(function.name)} takes at most {len(names)} arguments")
        if arguments.vararg is not None:
            extra = CodeList(positional[len(names) :])
            variables[arguments.vararg.arg] = tuple(extra.items)
        for name in [*names, *[argument.arg for argument in arguments.kwonlyargs]]:
            if name in rest:
                variables[name] = rest.pop(name)
            elif name not in variables and name in defaults:
                variables[name] = self.evaluate_in_frame(function.frame, defaults[name])
            elif name not in variables:
                raise error(f"the argument {truncate(name)} of {truncate(function.name)} is missing")
        if arguments.kwarg is not None:
            variables[arguments.kwarg.arg] = CodeDict(rest)  # type: ignore[arg-type]
        elif rest:
            raise error(f"{truncate(function.name)} has no argument {truncate(next(iter(rest)))}")

    def evaluate_in_frame(self, frame: CallFrame, node: ast.expr) -> Binding:
        """Evaluate an expression in the frame `frame`, and return its value or error."""
        outer, self.frame = self.frame, frame
        try:
            return self.evaluate_binding(node)
        finally:
            self.frame = outer

    def instantiate_class(
        self, node: ast.Call, cls: ClassValue, positional: Sequence[Binding], keywords: Mapping[str, Binding]
    ) -> CodeValue:
        """Create an object of a class that the code defines.

        A member of an enumeration is represented by its value.
        """
        instance, error = ObjectValue(cls), self.error_factory(node)
        if is_enumeration(cls) and len(positional) == 1:
            if isinstance(positional[0], ShapeError):
                raise positional[0]
            return positional[0]
        initializer = self.find_initializer(instance)
        if isinstance(initializer, FunctionValue):
            self.call_function(initializer, positional, keywords, error)
        elif is_dataclass(cls):
            self.initialize_dataclass(instance, positional, keywords, error)
        elif positional or keywords:
            self.initialize_layer(instance, cls, positional, keywords, error)
        return instance

    def find_initializer(self, instance: ObjectValue) -> CodeValue:
        """Return the `__init__` of an object, or `MISSING` if there is none or a dataclass generates it."""
        cls = instance.cls
        is_generated = is_dataclass(cls) and "__init__" not in cls.members.variables
        return MISSING if is_generated else self.find_member(instance, "__init__")

    def initialize_dataclass(
        self,
        instance: ObjectValue,
        positional: Sequence[Binding],
        keywords: Mapping[str, Binding],
        error: ErrorFactory,
    ) -> None:
        """Set the fields of a dataclass object to its arguments or defaults."""
        fields = dataclass_fields(instance.cls)
        given = dict(zip(fields, positional, strict=False)) | {**keywords}
        for name, default in fields.items():
            if name in given:
                self.undo_log.write(instance.attributes, name, given[name])
            elif default is None:
                self.undo_log.write(instance.attributes, name, error(f"the field {truncate(name)} is missing"))

    def initialize_layer(
        self,
        instance: ObjectValue,
        cls: ClassValue,
        positional: Sequence[Binding],
        keywords: Mapping[str, Binding],
        error: ErrorFactory,
    ) -> None:
        """Create the library layer from which the class of an object derives.

        An example is a class that derives from `nn.Sequential`.
        """
        base = self.library_base_name(cls)
        if base == "PreTrainedModel" and positional:
            self.undo_log.write(instance.attributes, "config", positional[0])
        if base in ("", *MODULE_CLASSES):
            return
        values = [*CodeList(positional).items]
        if base in MODULE_CONTAINERS:
            self.add_children(instance, values, error)
            return
        layer = LayerInstance(base, tuple(values), dict(keywords))  # type: ignore[arg-type]
        self.undo_log.write(instance.attributes, LAYER_KEY, make_sequential(values) if base == "Sequential" else layer)

    def add_children(self, instance: ObjectValue, values: Sequence[CodeValue], error: ErrorFactory) -> None:
        """Add the modules in a list or a dict to the children of a module container."""
        items = values[0] if values else CodeList(())
        if isinstance(items, CodeDict):
            children = items.values()
        elif isinstance(items, CodeList | tuple):
            listed = items.items if isinstance(items, CodeList) else items
            children = {str(index): item for index, item in enumerate(listed, len(instance.children))}
        else:
            raise error("the modules of this container are not known")
        for name, child in children.items():
            self.undo_log.write(instance.attributes, name, child)

    def is_module_list(self, value: ObjectValue) -> bool:
        """Return whether the class of an object derives from `ModuleList`."""
        return self.library_base_name(value.cls) == "ModuleList"

    def call_container_method(self, node: ast.Call, instance: ObjectValue, name: str) -> CodeValue:
        """Call a method of a module that derives from `ModuleDict` or `ModuleList`, or return `MISSING`."""
        base, children = self.library_base_name(instance.cls), instance.children
        if base not in MODULE_CONTAINERS:
            return MISSING  # type: ignore[no-any-return]
        if name in ("append", "extend") and len(node.args) == 1:
            added = self.evaluate(node.args[0])
            values = [added if name == "extend" else CodeList([added])]
            self.add_children(instance, values, self.error_factory(node))
            return instance
        if base == "ModuleDict" and name in ("keys", "values", "items") and not node.args:
            items: dict[object, Binding] = {key: child for key, child in children.items()}  # noqa: C416 - other types
            return self.call_dict_method(node, CodeDict(items), name)
        return MISSING  # type: ignore[no-any-return]

    def library_base_name(self, cls: ClassValue) -> str:
        """Return the name of the first base class that the code does not define.

        A module prefix is omitted.
        """
        for own in cls.resolution_order():
            for base, value in zip(own.node.bases, own.bases, strict=True):
                if not isinstance(value, ClassValue):
                    return dotted_name(base).rpartition(".")[2]
        return ""

    def call_object(
        self,
        instance: ObjectValue,
        positional: Sequence[Binding],
        keywords: Mapping[str, Binding],
        error: ErrorFactory,
    ) -> CodeValue:
        """Call an instance of a class that the code defines.

        The call runs `forward`, or applies the layer that the class derives from.
        """
        for name in ENTRY_METHODS:
            method = self.find_member(instance, name)
            if isinstance(method, FunctionValue):
                return self.call_function(method, positional, keywords, error)
        layer = instance.layer
        if layer is not None:
            values = [*CodeList(positional).items]
            return self.apply_layer(layer, values, dict(keywords), error)  # type: ignore[arg-type]
        unknown = error(f"{truncate(instance.cls.name)} has no forward", PASTE_HINT)
        raise AnswerableError(unknown.problem)

    def find_member(self, base: ObjectValue | ClassValue | SuperValue, name: str) -> CodeValue:
        """Return an attribute or method of an object or class, or `MISSING`.

        Raises the error of an unknown attribute.
        """
        owner = base if isinstance(base, ObjectValue) else base.owner if isinstance(base, SuperValue) else None
        cls = base if isinstance(base, ClassValue) else base.cls
        value: Binding = base.attributes.get(name, MISSING) if isinstance(base, ObjectValue) else MISSING
        resolution_order = owner.cls.resolution_order() if owner else cls.resolution_order()
        for own in (
            resolution_order[resolution_order.index(cls) + 1 :] if isinstance(base, SuperValue) else resolution_order
        ):
            if value is MISSING and name in own.members.variables:
                value = own.members.variables[name]
                if isinstance(value, FunctionValue):
                    value = FunctionValue(value.node, value.frame, value.bound_owner(owner, own), own)
        if isinstance(value, ShapeError):
            raise value
        if isinstance(value, FunctionValue) and owner and value.decorators & PROPERTIES:
            return self.call_function(value, (), {}, self.error_factory(value.node))
        if value is MISSING and owner and (layer := owner.layer):
            return layer.children.get(name, layer_attribute(layer, name, self.new_tensor))
        return value

    def get_attribute(self, node: ast.Attribute, base: ObjectValue | ClassValue) -> CodeValue:
        """Return an attribute of an object or class.

        An attribute that the code does not define is looked up as a size.
        """
        value = self.find_member(base, node.attr)
        if value is not MISSING:
            return value
        if node.attr == "training":
            return False
        if node.attr == "__class__" and isinstance(base, ObjectValue):
            return base.cls
        self.possible_tensors.add(node.attr)
        return self.lookup_size(node, dotted_name(node) or node.attr)

    def evaluate_super(self, node: ast.Call) -> CodeValue:
        """Evaluate `super()` in a method."""
        frame: CallFrame | None = self.frame
        while frame is not None and "function" not in frame.state:
            frame = frame.parent
        function = frame.state["function"] if frame else None
        if function is None or function.cls is None:
            return MISSING  # type: ignore[no-any-return]
        owner = function.owner or next(iter(frame.variables.values()), None)  # type: ignore[union-attr]
        return SuperValue(owner, function.cls) if isinstance(owner, ObjectValue) else MISSING

    def call_module_method(self, node: ast.Call, base: ObjectValue | SuperValue, name: str) -> CodeValue:
        """Call a method that is inherited from `nn.Module`.

        Returns `MISSING` for any other method.
        """
        instance, error = base.owner if isinstance(base, SuperValue) else base, self.error_factory(node)
        if (result := self.call_container_method(node, instance, name)) is not MISSING:
            return result
        if name == "__init__":
            values, keywords = self.evaluate_bindings(node.args), self.evaluate_keywords(node)
            if values or keywords:
                self.initialize_layer(instance, instance.cls, values, keywords, error)
            return None
        is_sequential = self.library_base_name(instance.cls) == "Sequential"
        if is_sequential and name in ("append", "add_module", "register_module") and node.args:
            layers = instance.layer or LayerInstance("Sequential", (), {})
            key = self.evaluate(node.args[0]) if len(node.args) > 1 else str(len(layers.positional))
            added = layers.add_child(str(key), self.evaluate(node.args[-1]))
            self.undo_log.write(instance.attributes, LAYER_KEY, added)
        if name in ("register_buffer", "register_parameter", "add_module", "register_module") and len(node.args) > 1:
            key = self.evaluate(node.args[0])
            if not isinstance(key, str):
                raise error("the name is not known")
            self.undo_log.write(instance.attributes, key, self.evaluate_binding(node.args[1]))
            return None
        if name in ("forward", "__call__") and (layer := instance.layer):
            values = [*self.evaluate_expressions(node.args)]
            return self.apply_layer(layer, values, {}, error)  # type: ignore[arg-type]
        if name in SETTER_METHODS and len(node.args) == 1:
            self.undo_log.write(instance.attributes, SETTER_METHODS[name], self.evaluate_binding(node.args[0]))
            return None
        if name in SELF_METHODS:
            return instance
        is_listing = name in CHILD_METHODS and not node.args
        return make_child_list(instance.children, name) if is_listing else MISSING

    def create_object(
        self, cls: ClassValue, node: ast.stmt | ast.expr, *, has_unknown_numbers: bool = False
    ) -> ObjectValue:
        """Create an object.

        Each constructor argument is the value that the user provides, the default, or a name. If `has_unknown_numbers`
        is True, names replace numeric defaults.
        """
        owner = ObjectValue(cls)
        initializer = self.find_initializer(owner)
        if isinstance(initializer, FunctionValue):
            frame = CallFrame(f"{cls.name}.__init__", initializer.frame)
            self.run_entry_point(frame, initializer, {}, has_unknown_numbers=has_unknown_numbers)
        elif is_dataclass(cls):
            self.initialize_dataclass(owner, (), {}, self.error_factory(node))
        return owner

    def create_annotated_object(self, annotation: ast.expr | None) -> ObjectValue | None:
        """Create an instance of the module class that annotates a parameter.

        Returns None for any other annotation. Names replace numeric defaults of the class, because the caller probably
        passes other numbers.
        """
        name = annotation.value if isinstance(annotation, ast.Constant) else annotation and dotted_name(annotation)
        cls = self.find_value(name) if isinstance(name, str) and name else MISSING
        if annotation is None or not isinstance(cls, ClassValue) or not self.is_module_class(cls):
            return None
        was_quiet, self.is_quiet = self.is_quiet, True
        try:
            return self.create_object(cls, annotation, has_unknown_numbers=True)
        finally:
            self.is_quiet = was_quiet

    def is_module_class(self, cls: ClassValue) -> bool:
        """Return whether a class derives from `nn.Module`."""
        bases = [dotted_name(base) for own in cls.resolution_order() for base in own.node.bases]
        return any(base.rpartition(".")[2] == "Module" for base in bases)

    def run_entry_point(
        self,
        frame: CallFrame,
        function: FunctionValue,
        inputs: Mapping[str, CodeValue],
        *,
        has_unknown_numbers: bool = False,
    ) -> Binding:
        """Interpret the entry function with the inputs, and return its result or error.

        A parameter without a value stays unbound. Its name then denotes a size. If `has_unknown_numbers` is True,
        parameters whose default is a number also stay unbound.
        """
        frame.state |= {"node": function.node, "function": function}
        assert isinstance(function.node, ast.FunctionDef)
        arguments = function.node.args
        parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        names = [argument.arg for argument in parameters]
        annotations = {argument.arg: argument.annotation for argument in parameters}
        defaults = self.reliable_defaults(function, has_numbers=not has_unknown_numbers)
        if function.owner is not None and names and not function.is_static:
            frame.variables[names.pop(0)] = function.owner
        for name in names:
            if name in inputs:
                frame.variables[name] = inputs[name]
            elif name in self.sizes:
                value = self.find_user_class(self.sizes[name])
                is_list = isinstance(value, tuple) and isinstance(defaults.get(name), ast.List)
                frame.variables[name] = CodeList(value) if is_list else value  # type: ignore[arg-type]  # it is a tuple
                self.used_size_names.add(name)
            elif name in defaults:
                frame.variables[name] = self.evaluate_in_frame(function.frame, defaults[name])
            else:
                self.bind_unknown_parameter(frame, function, name, annotations[name])
        if arguments.kwarg is not None:
            frame.variables[arguments.kwarg.arg] = CodeDict({})
        if arguments.vararg is not None:
            frame.variables.setdefault(arguments.vararg.arg, inputs.get(arguments.vararg.arg, ()))
        try:
            return self.run_function(frame, function.node, self.error_factory(function.node))
        except ShapeError as error:
            return error

    def reliable_defaults(self, function: FunctionValue, *, has_numbers: bool) -> dict[str, ast.expr]:
        """Return the parameter defaults of an entry function, except those that the file overrides.

        Models pass the processor of an attention class in another file. Integer defaults are omitted unless
        `has_numbers` is True.
        """
        assert isinstance(function.node, ast.FunctionDef)
        defaults = _default_expressions(function.node.args, has_numbers=has_numbers)
        if function.name != "__init__" or not isinstance(function.owner, ObjectValue):
            return defaults
        overridden = overridden_parameters(self.tree, function.owner.cls.name, function.node)
        return {
            name: default
            for name, default in defaults.items()
            if name not in overridden
            and not (name.endswith("processor") and isinstance(default, ast.Constant) and default.value is None)
        }

    def bind_unknown_parameter(
        self, frame: CallFrame, function: FunctionValue, name: str, annotation: ast.expr | None
    ) -> None:
        """Bind a parameter without a value to an object of its annotated class.

        Any other parameter stays unbound. Unless it is annotated as a number, an argument of a function may be a
        tensor.
        """
        if (instance := self.create_annotated_object(annotation)) is not None:
            frame.variables[name] = instance
        elif function.name != "__init__" and not _is_number_annotation(annotation):
            self.possible_tensors.add(name)

    def interpret_body(self, statements: Sequence[ast.stmt]) -> None:
        """Interpret statements in order."""
        raise NotImplementedError


def _is_number_annotation(annotation: ast.expr | None) -> bool:
    """Return whether a parameter is annotated as a number, a string or a tuple of them."""
    names = {getattr(node, "id", None) for node in ast.walk(annotation)} if annotation is not None else {None}
    return not names.isdisjoint({"int", "float", "bool", "str", "Size"}) and "Tensor" not in names


def _default_expressions(arguments: ast.arguments, *, has_numbers: bool = True) -> dict[str, ast.expr]:
    """Return the default of each parameter that has one.

    Integer defaults are omitted unless `has_numbers` is True.
    """
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    defaults = dict(zip(names[::-1], arguments.defaults[::-1], strict=False))
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    defaults |= {argument.arg: default for argument, default in pairs if default is not None}
    return {
        name: node for name, node in defaults.items() if has_numbers or not is_integer(getattr(node, "value", None))
    }
