"""Evaluate calls of functions, methods and layers."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from math import nan

from shapecalc.core.dims import Dim, Monomial, dim_names
from shapecalc.core.ops.broadcast import BROADCAST
from shapecalc.core.ops.calls import parse_signatures
from shapecalc.core.ops.expand import EXPAND
from shapecalc.core.ops.reshape import RESHAPE
from shapecalc.core.ops.view import VIEW
from shapecalc.core.problem import ShapeError
from shapecalc.core.record import replace
from shapecalc.core.text import truncate
from shapecalc.reading.checks import CHECKED_FUNCTIONS
from shapecalc.reading.code.arguments import Call
from shapecalc.reading.code.arithmetic import apply_binary_operator, get_item
from shapecalc.reading.code.bindings import propose_binding
from shapecalc.reading.code.builtins import (
    BUILTINS,
    ITERATION_FUNCTIONS,
    MATH_FUNCTIONS,
    REPEATING_FUNCTIONS,
    call_list_method,
    get_length,
)
from shapecalc.reading.code.calls import (
    SCALAR_CONSTRUCTORS,
    SHAPE_PRESERVING_FUNCTIONS,
    call_function,
    is_known_function,
)
from shapecalc.reading.code.kind_checks import apply_kind_rule
from shapecalc.reading.code.kinds import parse_type_name
from shapecalc.reading.code.layer_evaluation import LayerEvaluator, is_known_layer
from shapecalc.reading.code.logic import CALLABLES, freeze_value, make_set, merge_values, truth_value
from shapecalc.reading.code.memory import MISSING
from shapecalc.reading.code.modules import MATH_NAMES
from shapecalc.reading.code.namespaces import TORCH_MODULES, find_namespace, is_missing_from_namespace
from shapecalc.reading.code.ops import REDUCTION_FUNCTIONS, SHAPE_CHANGING_FUNCTIONS
from shapecalc.reading.code.shape_functions import IN_PLACE_METHODS, SHAPE_FUNCTIONS, qualified_name
from shapecalc.reading.code.sizes import CREATION_FUNCTIONS, SIZE_FUNCTIONS, created_elements, require_created_size
from shapecalc.reading.code.source import MODULE_NAMES, dotted_name, is_preserving_layer
from shapecalc.reading.code.tuple_layers import FUNCTIONS_OF_LAYERS
from shapecalc.reading.code.values import (
    MAYBE_NONE,
    UNKNOWN_ELEMENT,
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
    PartialValue,
    StageRefused,
    SuperValue,
    TensorChunks,
    TracedTensor,
    find_extremes,
    is_dim,
    is_number,
    is_real_number,
    kinds_of,
    mark_not_none,
    nested_shape,
    single_name,
    tensors_in,
    unwrap_size,
    unwrap_sizes,
)
from shapecalc.reading.layers import MULTI_OPERAND_FUNCTIONS
from shapecalc.reading.preserving import (
    BROADCASTING_METHODS,
    find_preserving_layer,
)

IGNORED_ARGUMENTS = {
    "dtype",
    "device",
    "out",
    "requires_grad",
    "name",
    "copy",
    "memory_format",
    "inplace",
    "non_blocking",
}
"""Keyword arguments that do not affect shapes."""


IMPORTED_BUILTINS = {"partial", "OrderedDict", *REPEATING_FUNCTIONS, "make_divisible", "_make_divisible"}
"""Functions that code imports, but that are evaluated like Python's built-in functions."""
OPERATOR_FUNCTIONS: Mapping[str, type[ast.operator]] = {
    "operator.add": ast.Add,
    "operator.sub": ast.Sub,
    "operator.mul": ast.Mult,
    "operator.truediv": ast.Div,
    "operator.floordiv": ast.FloorDiv,
    "operator.mod": ast.Mod,
    "operator.matmul": ast.MatMult,
}
"""The operator that each function of the `operator` module applies, keyed by full name."""
FALSE_FUNCTIONS = {
    *("is_scripting", "is_tracing", "is_exporting", "is_compiling", "is_in_onnx_export", "is_grad_enabled"),
    *("is_torchdynamo_compiling", "is_tracing_or_exporting", "is_exportable", "is_autocast_enabled"),
}
"""Functions that return False in eager inference, such as is_scripting."""
ACCELERATOR_TEST = (
    r"(?a)_?is_(torch_)?(npu|xla|mlu|musa|cuda|hpu|xpu|mps|flash_attn|xformers|sageattention|apex)\w*_available"
)
"""A regular expression for the names of functions that test whether a device or a kernel library is available."""
LIBRARY_TABLES = {"ACT2FN", "ALL_ATTENTION_FUNCTIONS"}
"""The names of the tables in transformers that contain activations and attention functions."""
MASK_FUNCTIONS = {
    *("create_causal_mask", "create_bidirectional_mask", "create_sliding_window_causal_mask"),
    *("create_bidirectional_sliding_window_mask", "create_chunked_causal_mask", "get_extended_attention_mask"),
    *("_prepare_4d_attention_mask", "_prepare_4d_causal_attention_mask", "_prepare_4d_attention_mask_for_sdpa"),
    *("_prepare_4d_causal_attention_mask_for_sdpa", "invert_attention_mask"),
}
"""Functions of transformers that return an attention mask or None.

Adding the mask to attention weights keeps their shape.
"""
LEGACY_CONSTRUCTOR = "(Float|Double|Half|BFloat16|Long|Int|Short|Char|Byte|Bool)Tensor"
"""A regular expression for the names of the constructors that `torch.Tensor` has for each element type."""
ACTIVATION_FUNCTIONS = {"get_activation", "get_act_layer", "create_act_layer", "get_activation_fn"}
"""Functions of libraries that return an elementwise layer, given its name."""
TENSOR_CONSTRUCTORS = {"tensor", "as_tensor", "array", "asarray", "constant", "convert_to_tensor"}
"""Functions that create a tensor from nested lists."""
TARGET_FUNCTIONS = {name for op in (RESHAPE, VIEW, EXPAND) for call in parse_signatures(op.name) for name in call.names}
"""Functions with a target shape: a list of sizes or, for a vector, a single size."""
INSTANCE_TYPES: Mapping[str, tuple[type, ...]] = {
    "int Integral": (int,),
    "Number Real": (int, float),
    "bool": (bool,),
    "float": (float,),
    "str": (str,),
    "tuple": (tuple,),
    "list ModuleList": (CodeList,),
    "dict Mapping": (CodeDict,),
    "Tensor ndarray Array": (TracedTensor,),
    "Iterable Sequence": (tuple, str, CodeList, CodeDict, TracedTensor),
}
"""The Python types that represent instances of a type, keyed by the name of the type in code."""


REFLECTION_FUNCTIONS = (
    *("isinstance", "issubclass", "hasattr", "callable", "getattr", "setattr", "dict", "OrderedDict"),
)
"""Built-in functions that inspect or change an object, or create a dict."""
COPYING_FUNCTIONS = {
    *("deepcopy", "copy.copy", "Variable", "operator.index", "torch.compile", "torch.jit.script"),
    *("weight_norm", "spectral_norm", "torch.nn.utils.weight_norm", "remove_weight_norm"),
}
"""Functions that return a copy of their first argument, or an equivalent layer."""
SELF_METHODS = {"eval", "train", "to", "cuda", "cpu", "half", "float", "requires_grad_", "apply", "double", "bfloat16"}
"""Methods of a module that return the module itself."""
STRING_METHODS = ("join", "format", "lower", "upper", "split", "strip", "replace", "startswith", "endswith")
DICT_METHODS = {"keys", "values", "items", "get", "pop", "copy", "update", "setdefault"}
CACHE_CLASSES = {"DynamicCache", "EncoderDecoderCache"}
"""The cache classes of transformers, which grow with each call."""
CHILD_METHODS = ("children", "named_children")
PLAIN_MODULE = ast.ClassDef("Module", [], [], [], [])
"""The class of an object that `nn.Module()` creates."""
NUMBER_MODULES = frozenset(("np", "numpy"))
"""The modules whose functions return numbers for arguments that are numbers."""
TENSOR_FUNCTIONS = SHAPE_PRESERVING_FUNCTIONS - {*SCALAR_CONSTRUCTORS} | {"sqrt", "floor"}
"""The functions of `torch` that require a tensor among their operands."""
SCALAR_DIVISIONS = ("div", "divide", "floor_divide")
"""The functions that return the quotient of two sizes as a scalar tensor."""
SEQUENTIAL_METHODS = ("append", "extend", "insert", "add_module", "register_module")
"""The methods that add layers to a `Sequential`."""


def is_false_function(name: str) -> bool:
    """Return whether a function returns False on a CPU without a compiler."""
    return name.lstrip("_") in FALSE_FUNCTIONS or re.fullmatch(ACCELERATOR_TEST, name) is not None


def make_sequential(values: Sequence[CodeValue]) -> LayerInstance:
    """Return a `Sequential` of layers, or of a dict of layers."""
    if len(values) == 1 and isinstance(values[0], CodeDict):
        layers = values[0].values()
        return LayerInstance("Sequential", tuple(layers.values()), {}, tuple(layers))
    return LayerInstance("Sequential", tuple(values), {})


def make_child_list(layers: Mapping[str, CodeValue], method: str) -> CodeList:
    """Return the child layers of a module, paired with their names if the method returns names."""
    return CodeList([*layers.items()] if method == "named_children" else layers.values())


def is_output_class(name: str) -> bool:
    """Return whether a class is a dataclass of results, as in transformers and diffusers.

    >>> [is_output_class(name) for name in ("BaseModelOutputWithPast", "Transformer2DModelOutput", "OutputLayer")]
    [True, True, False]
    """
    return re.fullmatch(r"\w*Output(With\w*)?", name) is not None


class CallEvaluator(LayerEvaluator):
    """An evaluator of function, method and layer calls."""

    def make_output(self, node: ast.Call, name: str) -> ObjectValue:
        """Return an object of a dataclass of results, whose fields are the keyword arguments of the call."""
        fields = self.evaluate_keywords(node)
        decorator, annotation = ast.Name("dataclass", ast.Load()), ast.Name("object", ast.Load())
        body: list[ast.stmt] = [ast.AnnAssign(ast.Name(word, ast.Store()), annotation, None, 1) for word in fields]
        definition = ast.copy_location(ast.ClassDef(name, [], [], body, [decorator]), node)
        instance = ObjectValue(ClassValue(definition, self.frame.module, (), CallFrame(name)))
        instance.attributes.update(fields)
        return instance

    def evaluate_call(self, node: ast.Call) -> CodeValue:
        """Evaluate a call, or return the tensors that the user provides for it."""
        if (given := self.user_tensors(node)) is not MISSING:
            return given
        try:
            return self.dispatch_call(node)
        except AnswerableError as error:
            raise self.record_unknown_call(node, ShapeError(error.problem)) from None

    def dispatch_call(self, node: ast.Call) -> CodeValue:
        """Evaluate a call whose result the user does not provide."""
        function, path = node.func, dotted_name(node.func)
        try:
            callee, base = self.find_callee(function, path)
        except ShapeError as error:
            # if the code does not define the layer, its value is this error
            if error in self.unknown_calls and self.find_binding(path) is error:
                hint = self.input_hint(node, "B,T,C")
                raise self.record_unknown_call(node, ShapeError(replace(error.problem, hint=hint))) from None
            raise
        if callee is not MISSING:
            is_test = isinstance(callee, FunctionValue) and is_false_function(callee.name)
            return False if is_test else self.call_value(node, callee)
        if base is None and isinstance(function, ast.Attribute) and dotted_name(function.value):
            raise self.absent_value_error(function.value)
        if base is not MISSING and (result := self.call_method(node, base)) is not MISSING:
            return result
        if path.endswith(".get") and (base is MISSING or isinstance(base, Monomial)) and node.args:
            return self.get_dict_entry(node)
        builtin = "partial" if path == "functools.partial" else path
        if (
            "." not in builtin
            and builtin
            and (builtin not in self.frame.module.imports or builtin in IMPORTED_BUILTINS)
        ):
            special = self.call_builtin(node, builtin)
            if special is not MISSING:
                return special
        return self.call_by_name(node, path, base)

    def call_user_code(
        self, node: ast.Call, callee: CodeValue, positional: Sequence[Binding], keywords: Mapping[str, Binding]
    ) -> CodeValue:
        """Call a function, class or object that the code defines."""
        raise NotImplementedError

    def find_member(self, base: ObjectValue | ClassValue | SuperValue, name: str) -> CodeValue:
        """Return an attribute or method of an object or class, or `MISSING`."""
        raise NotImplementedError

    def call_module_method(self, node: ast.Call, base: ObjectValue | SuperValue, name: str) -> CodeValue:
        """Call a method that is inherited from `nn.Module`.

        Returns `MISSING` for any other method.
        """
        raise NotImplementedError

    def evaluate_super(self, node: ast.Call) -> CodeValue:
        """Return the value of `super()` in a method."""
        raise NotImplementedError

    def find_callee(self, function: ast.expr, path: str) -> tuple[CodeValue, CodeValue]:
        """Return the callee of a call, and the value before its last dot.

        Either is `MISSING` if it is unknown.
        """
        if path:
            value = self.find_value(path)
            if isinstance(value, ShapeError):
                raise value
            if value is not MISSING and not isinstance(value, TracedTensor):
                return value, MISSING
        if not isinstance(function, ast.Attribute):
            return (MISSING if path else self.evaluate(function)), MISSING
        root = dotted_name(function.value)
        if root and not self.is_assigned(root):
            return MISSING, MISSING
        return self.find_callee_in(self.evaluate(function.value), function, path)

    def find_callee_in(self, base: CodeValue, function: ast.Attribute, path: str) -> tuple[CodeValue, CodeValue]:
        """Return the called attribute of a value, and the object on which it is called.

        Either is `MISSING` if it is unknown.
        """
        if isinstance(base, ModuleValue):
            return self.find_in_frame(base.frame, function.attr), MISSING
        if isinstance(base, ObjectValue | ClassValue | SuperValue):
            if path and is_preserving_layer(path) and isinstance(self.find_binding(path), ShapeError):
                return MISSING, MISSING  # the name implies that the layer preserves the shape
            return self.find_member(base, function.attr), base
        if isinstance(base, CodeDict) and function.attr in base.items and function.attr not in DICT_METHODS:
            return get_item(base, function.attr, self.error_factory(function)), MISSING
        if isinstance(base, LayerInstance) and function.attr in ("forward", *base.children):
            return base.children.get(function.attr, base), MISSING
        return MISSING, base

    def call_value(self, node: ast.Call, callee: CodeValue) -> CodeValue:
        """Call a function, class, object or layer."""
        if isinstance(callee, Monomial | ModuleValue):
            raise self.unknown_function_error(node)
        if isinstance(callee, LayerInstance):
            if not is_known_layer(callee.name):
                raise self.unknown_function_error(node)
            self.check_tensors_known(node.args[:1])
            result = self.apply_layer(callee, *self.evaluate_arguments(node, node.args), self.error_factory(node))
            return mark_not_none(result)
        if isinstance(callee, FunctionValue | ClassValue | ObjectValue):
            return self.call_user_code(node, callee, self.evaluate_bindings(node.args), self.evaluate_keywords(node))
        if isinstance(callee, AlternativeValue):
            return self.call_alternatives(node, callee)
        if isinstance(callee, LibraryName):
            function = ast.copy_location(ast.parse(callee.path, mode="eval").body, node.func)
            return self.call_by_name(node, callee.path, MISSING, function)
        if isinstance(callee, PartialValue):
            return self.call_partial(node, callee)
        if name := single_name(callee):
            hint = f"paste the class, too; or {self.input_hint(node, 'B,T,C')}"
            raise self.record_unknown_call(node, self.error(node, f"there is no class {truncate(name)} here", hint))
        raise self.error(node, "this is not a function")

    def call_alternatives(self, node: ast.Call, callee: AlternativeValue) -> CodeValue:
        """Return the result of calling one of several functions or layers.

        Raises an error if their results differ.
        """
        results = list[Binding]()
        if callee.may_be_none:
            raise self.record_unknown_call(node, ShapeError(callee.error.problem))
        for value in callee.values:
            try:
                results.append(self.call_value(node, value))
            except ShapeError as error:
                results.append(error)
        joined = results[0]
        if isinstance(joined, ShapeError) and all(isinstance(result, ShapeError) for result in results):
            raise joined
        for result in results[1:]:
            joined = merge_values(joined, result, callee.error)
        if isinstance(joined, ShapeError):
            raise joined
        return joined

    def is_library_callable(self, path: str) -> bool:
        """Return whether a name is a supported library function or layer."""
        name = path.rpartition(".")[2]
        return (
            (is_known_layer(name) if name[:1].isupper() else is_known_function(name))
            or name == "ModuleList"
            or name in MASK_FUNCTIONS | COPYING_FUNCTIONS
        )

    def call_partial(self, node: ast.Call, callee: PartialValue) -> CodeValue:
        """Call a `functools.partial` object."""
        keywords = {**callee.keywords, **self.evaluate_keywords(node)}
        positional = [*callee.positional, *self.evaluate_bindings(node.args)]
        function = callee.function
        if isinstance(function, FunctionValue | ClassValue | ObjectValue):
            return self.call_user_code(node, function, positional, keywords)
        if isinstance(function, PartialValue):
            inner = [*function.positional, *callee.positional], {**function.keywords, **callee.keywords}
            return self.call_partial(node, PartialValue(function.function, *inner))
        if isinstance(function, AlternativeValue):
            values: list[CodeValue] = [
                PartialValue(value, callee.positional, callee.keywords) for value in function.values
            ]
            return self.call_alternatives(node, AlternativeValue(values, function.error))
        if function == LibraryName("get_interface") and isinstance(positional[0], FunctionValue):
            try:
                result = self.call_user_code(node, positional[0], positional[1:], keywords)
            except StageRefused:  # another implementation may accept these shapes
                unknown = self.error(node, "the attention implementation is not known", self.input_hint(node, "B,T,C"))
                raise self.record_unknown_call(node, unknown) from None
            # the attention weights depend on the implementation that the configuration selects
            return (result[0], MAYBE_NONE) if isinstance(result, tuple) and len(result) == 2 else result
        if isinstance(function, LibraryName) and function.path.rpartition(".")[2][:1].isupper():
            values = [freeze_value(value) for value in CodeList(positional).items]
            items: dict[object, Binding] = {name: value for name, value in keywords.items()}  # noqa: C416 - other types
            named = {name: freeze_value(value) for name, value in CodeDict(items).values().items()}
            return LayerInstance(
                function.path.rpartition(".")[2],
                tuple(values),
                {name: value for name, value in named.items() if name not in IGNORED_ARGUMENTS},
            )
        if isinstance(function, LibraryName):
            return self.call_with_values(node, function, positional, keywords)
        raise self.record_unknown_call(node, self.error(node, "this partial function is not supported"))

    def call_with_values(
        self, node: ast.Call, function: LibraryName, positional: Sequence[Binding], keywords: Mapping[str, Binding]
    ) -> CodeValue:
        """Call a library function that is used as a value, for example as an argument of `map`."""
        names = [f"(item {index})" for index in range(len(positional))]
        outer, self.frame = self.frame, CallFrame(self.frame.function, self.frame, self.frame.depth)
        self.frame.state = outer.state
        self.frame.variables |= dict(zip(names, positional, strict=True))
        self.frame.variables |= {f"(word {name})": value for name, value in keywords.items()}
        arguments: list[ast.expr] = [ast.copy_location(ast.Name(name, ast.Load()), node) for name in names]
        words = [
            ast.keyword(name, ast.copy_location(ast.Name(f"(word {name})", ast.Load()), node))
            for name in keywords
            if name not in IGNORED_ARGUMENTS
        ]
        callee = ast.copy_location(ast.parse(function.path, mode="eval").body, node)
        try:
            return self.evaluate(ast.copy_location(ast.Call(callee, arguments, words), node))
        finally:
            self.frame = outer

    def evaluate_keywords(self, node: ast.Call) -> dict[str, Binding]:
        """Return the keyword arguments of a call; an error represents an argument of unknown value."""
        keywords = dict[str, Binding]()
        for word in node.keywords:
            if word.arg is not None:
                keywords[word.arg] = self.evaluate_binding(word.value)
                continue
            value = self.evaluate(word.value)
            if not isinstance(value, CodeDict):
                raise self.error(word.value, "only a dict can be unpacked")
            keywords |= {str(name): item for name, item in value.items.items()}
        return keywords

    def call_method(self, node: ast.Call, base: CodeValue) -> CodeValue:
        """Call a method of a list, a dict, an object or a string.

        Returns `MISSING` for any other value.
        """
        assert isinstance(node.func, ast.Attribute)
        name, error = node.func.attr, self.error_factory(node)
        if isinstance(base, ObjectValue | SuperValue):
            return self.call_module_method(node, base, name)
        if isinstance(base, ClassValue) and name in ("_from_config", "from_config"):
            return self.call_value(node, base)
        if (
            isinstance(base, ClassValue)
            and name == "apply"
            and isinstance(forward := self.find_member(base, "forward"), FunctionValue)
        ):  # a subclass of `torch.autograd.Function`, whose context is the first argument
            return self.call_user_code(node, forward, [nan, *self.evaluate_bindings(node.args)], {})
        if isinstance(base, CodeList):
            call = Call(name, tuple(self.evaluate_bindings(node.args)), {}, error)  # type: ignore[arg-type]
            result, items = call_list_method(base, call)
            if items is not None:
                self.undo_log.write(base.state, "items", items)
            return result
        if isinstance(base, CodeDict):
            return self.call_dict_method(node, base, name)
        if isinstance(base, LayerInstance):
            return self.call_layer_method(node, base, name)
        if isinstance(base, tuple) and name in ("copy", "index", "count"):
            call = Call(name, tuple(self.evaluate_bindings(node.args)), {}, error)  # type: ignore[arg-type]
            return call_list_method(CodeList(base), call)[0]
        if isinstance(base, str) and name in STRING_METHODS:
            return self.call_string_method(node, base, name)
        return MISSING  # type: ignore[no-any-return]

    def call_layer_method(self, node: ast.Call, base: LayerInstance, name: str) -> CodeValue:
        """Call a method of a library layer, or return `MISSING` for an unknown method."""
        if base.name == "Sequential" and name in SEQUENTIAL_METHODS:
            return self.extend_sequential(node, base, name)
        if name in SELF_METHODS:
            return base
        if base.name in CACHE_CLASSES:
            return self.call_cache_method(node, name)
        is_listing = name in CHILD_METHODS and not node.args
        return make_child_list(base.children, name) if is_listing else MISSING

    def call_cache_method(self, node: ast.Call, name: str) -> CodeValue:
        """Call a method of an empty transformers cache, or return `MISSING` for an unknown method."""
        if name == "get_seq_length":
            return 0
        if name == "get_mask_sizes" and node.args:
            return self.evaluate(node.args[0]), 0
        if name == "update" and len(node.args) > 1:
            return tuple(self.evaluate_expressions(node.args[:2]))
        return MISSING  # type: ignore[no-any-return]

    def extend_sequential(self, node: ast.Call, base: LayerInstance, name: str) -> CodeValue:
        """Add layers to a `Sequential`, and bind its name to the result."""
        assert isinstance(node.func, ast.Attribute)
        path, arguments = dotted_name(node.func.value), [*self.evaluate_expressions(node.args)]
        layers = base.positional
        if name == "extend" and arguments:
            added = CodeList(self.iterable_items(node.args[0], arguments[0])).items
            changed = replace(base, positional=(*layers, *added), child_names=())
        elif name == "insert" and len(arguments) == 2 and isinstance(arguments[0], int):
            moved = (*layers[: arguments[0]], arguments[1], *layers[arguments[0] :])
            changed = replace(base, positional=moved, child_names=())
        else:
            name = arguments[0] if len(arguments) == 2 and isinstance(arguments[0], str) else str(len(layers))
            changed = base.add_child(name, arguments[-1]) if arguments else base
        if not path:
            raise self.error(node, "the layers that this changes have no name")
        self.assign_name(path, changed)
        return changed

    def call_string_method(self, node: ast.Call, base: str, name: str) -> CodeValue:
        """Call a method of a string, or return nan if the result is unknown."""
        arguments = [*self.evaluate_expressions(node.args)]
        if name in ("lower", "upper") and not arguments:
            return base.lower() if name == "lower" else base.upper()
        if name == "replace" and len(arguments) == 2 and all(isinstance(argument, str) for argument in arguments):
            return base.replace(*arguments)  # type: ignore[arg-type]  # both are strings
        if name in ("startswith", "endswith") and len(arguments) == 1 and isinstance(arguments[0], str):
            return base.startswith(arguments[0]) if name == "startswith" else base.endswith(arguments[0])
        return nan

    def call_dict_method(self, node: ast.Call, base: CodeDict, name: str) -> CodeValue:
        """Call a method of a dict."""
        arguments = [*self.evaluate_expressions(node.args)]
        if name in ("keys", "values", "items") and not arguments:
            pairs = base.items.items()
            parts = {
                "keys": [*base.items],
                "values": [*base.items.values()],
                "items": [*pairs],
            }
            return CodeList(parts[name])  # type: ignore[arg-type]  # keys are constants
        if name == "copy" and not arguments:
            return CodeDict(base.items)
        if name in ("get", "pop") and 1 <= len(arguments) <= 2:
            key = self.make_dict_key(node.args[0], arguments[0])
            value = base.items.get(key, arguments[1] if len(arguments) == 2 else None)
            if name == "pop":
                self.undo_log.write(base.state, "items", {own: item for own, item in base.items.items() if own != key})
            if isinstance(value, ShapeError):
                raise value
            return value
        if name == "setdefault" and len(arguments) == 2:
            key = self.make_dict_key(node.args[0], arguments[0])
            if key not in base.items:
                self.undo_log.write(base.state, "items", base.items | {key: arguments[1]})
            return get_item(base, arguments[0], self.error_factory(node))
        if name == "update" and len(arguments) <= 1 and all(isinstance(argument, CodeDict) for argument in arguments):
            others = [argument.items for argument in arguments if isinstance(argument, CodeDict)]
            added = {key: value for other in others for key, value in other.items()} | self.evaluate_keywords(node)
            self.undo_log.write(base.state, "items", base.items | added)
            return None
        raise self.error(node, f"{truncate(name)} of a dict is not supported")

    def call_builtin(self, node: ast.Call, name: str) -> CodeValue:
        """Call a built-in function with evaluated arguments.

        Returns `MISSING` if the function does not support these arguments.
        """
        if name == "super":
            return self.evaluate_super(node)
        special = self.call_special_builtin(node, name)
        if special is not MISSING or name not in BUILTINS:
            return special
        operands = self.take_iterators(node, [*self.evaluate_expressions(node.args)])
        if name in ("list", "tuple", "enumerate", "reversed", "zip", "sum"):
            operands = [
                CodeList(self.iterable_items(argument, operand)) if isinstance(operand, TracedTensor) else operand
                for argument, operand in zip(node.args, operands, strict=False)
            ]
        elif len(operands) == 1 and isinstance(operands[0], TracedTensor) and operands[0].size is None:
            if name in ("max", "min"):
                raise self.error(node, f"{name} of a tensor is its largest or smallest part", f"write x.{name}()")
            return MISSING if name == "abs" else UNKNOWN_INTEGER if name == "int" else UNKNOWN_ELEMENT
        keywords = {word.arg or "": self.evaluate(word.value) for word in node.keywords}
        return BUILTINS[name](Call(name, tuple(operands), keywords, self.error_factory(node)), self.program)

    def take_iterators(self, node: ast.Call, operands: Sequence[CodeValue]) -> list[CodeValue]:
        """Return the arguments of a call, with each iterator replaced by the list of its items.

        The call exhausts the iterators. Raises `ShapeError` (usage) for an iterator that occurs twice, as in `zip(it,
        it)`.
        """
        iterators = [value for value in operands if isinstance(value, CodeList) and value.is_iterator]
        if any(value is other for index, value in enumerate(iterators) for other in iterators[:index]):
            raise self.error(node, "an iterator that is taken twice is not supported")
        return [
            CodeList(self.iterable_items(argument, value)) if value in iterators else value
            for argument, value in zip(node.args, operands, strict=False)
        ] + [*operands[len(node.args) :]]

    def call_special_builtin(self, node: ast.Call, name: str) -> CodeValue:
        """Call a built-in function that needs the syntax nodes of its arguments.

        Returns `MISSING` for any other function.
        """
        if name in ("iter", "next") and node.args:
            return self.call_iterator_function(node, name)
        if name == "partial" and node.args:
            return PartialValue(
                self.evaluate(node.args[0]), self.evaluate_bindings(node.args[1:]), self.evaluate_keywords(node)
            )
        if name in ("map", "filter") and len(node.args) > 1:
            return self.call_map(node) if name == "map" else self.call_filter(node)
        if name in ("str", "repr", "type", "id") and len(node.args) == 1:
            value = self.evaluate_binding(node.args[0])
            return str(value) if name == "str" and isinstance(value, int | str) else nan
        if name in REFLECTION_FUNCTIONS:
            return self.call_reflection(node, "dict" if name == "OrderedDict" else name)
        if name == "slice" and node.args:
            return slice(*[unwrap_size(value) for value in self.evaluate_expressions(node.args)])
        if name in ("set", "frozenset") and len(node.args) < 2:
            return make_set(CodeList(self.evaluate_iterable(node.args[0]) if node.args else ()).items)
        if name in ("len", *REPEATING_FUNCTIONS) and len(node.args) == 1:
            value = self.evaluate(node.args[0])
            if name in REPEATING_FUNCTIONS:
                return value if isinstance(value, tuple | CodeList) else (value,) * REPEATING_FUNCTIONS[name]
            length = get_length(value)
            return MISSING if length is None else length
        return MISSING  # type: ignore[no-any-return]

    def call_iterator_function(self, node: ast.Call, name: str) -> CodeValue:
        """Call `iter` or `next`.

        A generator expression is evaluated to a list at once, and `next` takes the items of this list.
        """
        if re.fullmatch(r".*\.(parameters|buffers)\(.*\)", ast.unparse(node.args[0])):
            return nan  # code uses such an iterator only for a device or an element type
        value = self.evaluate(node.args[0])
        if name == "iter":
            is_iterator = isinstance(value, CodeList) and value.is_iterator
            return value if is_iterator else CodeList(self.iterable_items(node.args[0], value), is_iterator=True)
        if not isinstance(value, CodeList):
            raise self.record_unknown_call(node, self.error(node, "the items of this iterator are not known"))
        item: Binding = self.error(node, "there are no more items")
        if value.bindings:
            item, *rest = value.bindings
            self.undo_log.write(value.state, "items", tuple(rest))
        elif len(node.args) == 2:
            item = self.evaluate(node.args[1])
        if isinstance(item, ShapeError):
            raise item
        return item

    def call_map(self, node: ast.Call) -> CodeValue:
        """Return the results of calling a function with the items of lists, as `map` does."""
        function, *operands = node.args
        iterables = [self.evaluate_iterable(operand) for operand in operands]
        outer, self.frame = self.frame, CallFrame(self.frame.function, self.frame, self.frame.depth)
        self.frame.state = outer.state
        names = [ast.copy_location(ast.Name(f"(item {index})", ast.Load()), node) for index in range(len(iterables))]
        results = list[Binding]()
        try:
            for items in zip(*iterables, strict=False):
                self.count_iteration(node)
                self.frame.variables.update(zip([name.id for name in names], items, strict=True))
                results.append(self.evaluate_binding(ast.copy_location(ast.Call(function, [*names], []), node)))
        finally:
            self.frame = outer
        return CodeList(results)

    def call_filter(self, node: ast.Call) -> CodeValue:
        """Return the items of a list for which a function is true, like `filter`."""
        items = [*self.evaluate_iterable(node.args[1])]
        results = self.call_map(ast.copy_location(ast.Call(node.func, node.args[:2], []), node))
        truths = [truth_value(result) for result in results.items] if isinstance(results, CodeList) else []
        if None in truths:
            raise self.error(node, "which items are kept is not known")
        return CodeList([item for item, is_kept in zip(items, truths, strict=True) if is_kept])

    def call_reduce(self, node: ast.Call) -> CodeValue:
        """Combine the items of a list from the left with a function of two arguments, like `functools.reduce`."""
        items = [*self.evaluate_iterable(node.args[1])]
        items = [*self.evaluate_bindings(node.args[2:]), *items]
        outer, self.frame = self.frame, CallFrame(self.frame.function, self.frame, self.frame.depth)
        self.frame.state = outer.state
        names = [ast.copy_location(ast.Name(f"(item {index})", ast.Load()), node) for index in range(2)]
        try:
            total = CodeList(items[:1]).items[0] if items else self.evaluate_name(names[0])
            for item in items[1:]:
                self.count_iteration(node)
                self.frame.variables.update(zip([name.id for name in names], (total, item), strict=True))
                total = self.evaluate(ast.copy_location(ast.Call(node.args[0], [*names], []), node))
        finally:
            self.frame = outer
        return total

    def call_reflection(self, node: ast.Call, name: str) -> CodeValue:
        """Call a built-in function that inspects or changes an object."""
        if name == "dict":
            items = self.evaluate(node.args[0]) if node.args else CodeDict({})
            if isinstance(items, CodeList | tuple):
                items = self.make_dict(node.args[0], self.iterable_items(node.args[0], items))
            if not isinstance(items, CodeDict):
                raise self.error(node, "only a dict, pairs and keyword arguments of dict are supported")
            added = self.evaluate_keywords(node)
            return CodeDict(items.items | {name: item for name, item in added.items()})  # noqa: C416 - other types
        if name in ("isinstance", "issubclass", "callable"):
            return self.evaluate_type_test(node, name)
        return self.call_attribute_function(node, name)

    def make_dict(self, node: ast.expr, pairs: Iterable[Binding]) -> CodeDict:
        """Return a dict, given its keys and values as pairs."""
        items: dict[object, Binding] = {}
        for pair in pairs:
            parts = freeze_value(pair) if isinstance(pair, CodeList) else pair
            if not isinstance(parts, tuple) or len(parts) != 2:
                raise self.error(node, "a dict is made of pairs")
            items[self.make_dict_key(node, parts[0])] = parts[1]
        return CodeDict(items)

    def call_attribute_function(self, node: ast.Call, name: str) -> CodeValue:
        """Call `getattr`, `hasattr` or `setattr`."""
        base, attribute, *rest = [self.evaluate_binding(argument) for argument in node.args]
        if isinstance(base, ShapeError):
            raise base
        library = dotted_name(node.args[0])
        is_library = library.partition(".")[0] in MODULE_NAMES
        if name == "hasattr" and is_library and self.is_library_callable(f"{library}.{attribute}"):
            return True
        if isinstance(base, Monomial) and isinstance(attribute, str) and name != "setattr" and not is_library:
            has_attribute = self.has_config_attribute(node.args[0], attribute)
            is_test = name == "hasattr"
            return has_attribute if is_test else self.get_config_attribute(node, node.args[0], attribute, rest)
        if not isinstance(base, ObjectValue) or not isinstance(attribute, str):
            return nan if name == "hasattr" else MISSING
        if name == "setattr":
            self.undo_log.write(base.attributes, attribute, rest[0])
            return None
        value = self.find_member(base, attribute)
        if name == "hasattr":
            return value is not MISSING
        if value is MISSING and rest:
            if isinstance(rest[0], ShapeError):
                raise rest[0]
            return rest[0]
        if value is MISSING:
            raise self.error(node, "there is no such attribute")
        return value

    def get_dict_entry(self, node: ast.Call) -> CodeValue:
        """Evaluate a call of `get` with a string key on an unknown dict."""
        key, *default = self.evaluate_bindings(node.args)
        if not (isinstance(key, str) and key.isidentifier()) or not isinstance(node.func, ast.Attribute):
            raise self.unknown_function_error(node)
        return self.get_config_attribute(node, node.func.value, key, default)

    def get_config_attribute(self, node: ast.Call, owner: ast.expr, name: str, default: Sequence[Binding]) -> CodeValue:
        """Return the size denoted by an attribute of an unknown object, such as a configuration.

        Returns the default if the user provides sizes for other attributes of the object, but not for this one. If the
        user provides none of them, the object is assumed to have the attribute.
        """
        path = f"{dotted_name(owner)}.{name}".lstrip(".")
        if not default or self.has_config_attribute(owner, name) is not False:
            return self.lookup_size(node, path)
        self.used_size_names.add(name)
        if isinstance(default[0], ShapeError):
            raise default[0]
        self.notes[f"{truncate(self.source_text(node))} is read as its default"] = None
        return default[0]

    def has_config_attribute(self, owner: ast.expr, name: str) -> bool | float:
        """Return whether the user provides an attribute of an unknown object, such as a configuration.

        Returns nan if the user provides none of its attributes.
        """
        path = f"{dotted_name(owner)}.{name}".lstrip(".")
        if name in self.sizes or any(path.endswith(f".{size}") or path == size for size in self.sizes):
            return True
        prefix = f"{dotted_name(owner).rpartition('.')[2]}."
        return False if any(prefix in size for size in self.sizes) else nan

    def evaluate_type_test(self, node: ast.Call, name: str) -> CodeValue:
        """Evaluate an `isinstance` or `callable` call.

        Returns nan if the result is unknown.
        """
        value = self.evaluate(node.args[0])
        if name == "callable":
            is_unknown = isinstance(value, Monomial | ObjectValue) or value is MAYBE_NONE
            return nan if is_unknown else isinstance(value, (*CALLABLES, PartialValue))
        kinds = [*getattr(node.args[1], "elts", node.args[1:])]
        test = self.is_subclass if name == "issubclass" else self.is_instance
        results = [test(value, kind) for kind in kinds]
        return True if True in results else nan if None in results else False

    def is_subclass(self, value: CodeValue, kind: ast.expr) -> bool | None:
        """Return whether a class derives from another class, or None if it is unknown."""
        base = self.find_value(dotted_name(kind))
        return (
            base in value.resolution_order() if isinstance(value, ClassValue) and isinstance(base, ClassValue) else None
        )

    def is_instance(self, value: CodeValue, kind: ast.expr) -> bool | None:
        """Return whether a value is an instance of a type, or None if it is unknown."""
        name = dotted_name(kind).rpartition(".")[2]
        cls = self.find_value(dotted_name(kind))
        if isinstance(cls, ClassValue):
            return isinstance(value, ObjectValue) and cls in value.cls.resolution_order()
        if isinstance(value, Monomial) and self.may_be_none(value) and str(value) not in self.input_size_names:
            return None  # an unknown name may be a size, a string or a tuple
        if isinstance(value, Monomial) and name in ("int", "str"):
            return name == "int"
        for known, types in INSTANCE_TYPES.items():
            if name in known.split():
                return isinstance(value, types) and not (isinstance(value, bool) and name == "float")
        if isinstance(value, LayerInstance):
            return value.name == name if name not in ("Module", "_ConvNd", "_BatchNorm", "_NormBase") else None
        return None

    def call_by_name(
        self, node: ast.Call, path: str, base_value: CodeValue, function: ast.expr | None = None
    ) -> CodeValue:
        """Call a library function or method by its name.

        `function` is the expression of the callee.
        """
        function = function or node.func
        root, _, rest = path.partition(".")
        module = self.frame.module.aliases.get(root, "")
        if rest and root not in MODULE_NAMES and module.partition(".")[0] in MODULE_NAMES:
            path = f"{module}.{rest}"
            function = ast.copy_location(ast.parse(path, mode="eval").body, function)
        name = path.rpartition(".")[2]
        imported = self.frame.module.imports.get(path)
        full_name = f"{imported.module}.{imported.name}" if imported and not imported.level else path
        if (special := self.call_helper(node, name, full_name)) is not MISSING:
            return special
        if imported and not (imported.level or is_known_function(path) or path[:1].isupper()):
            path = f"{imported.module}.{imported.name}"
            function = ast.copy_location(ast.parse(path, mode="eval").body, function)
        qualified = qualified_name(path)
        name = qualified if is_known_function(qualified) else getattr(function, "attr", path)
        base = path.rpartition(".")[0]
        is_tensor_method = isinstance(base_value, TracedTensor | TensorChunks)
        is_unknown_layer = is_preserving_layer(path) and (base or not (is_known_function(name) or name[0].isupper()))
        if is_unknown_layer and node.args and not is_tensor_method:
            self.notes[f"{truncate(self.source_text(node))} is read as keeping the shape"] = None
            value = self.evaluate(node.args[0])
            return (
                value.apply_shape_preserving(find_preserving_layer(path)) if isinstance(value, TracedTensor) else value
            )
        if name in MATH_FUNCTIONS and self.is_number_function(node, base, full_name):
            call = Call(name, tuple(self.evaluate_expressions(node.args)), {}, self.error_factory(node))
            return MATH_FUNCTIONS[name](call, self.program)
        if is_false_function(name) and not isinstance(base_value, ObjectValue):
            return False
        if name == "Module" and not node.args:
            return ObjectValue(ClassValue(PLAIN_MODULE, self.frame.module, (), CallFrame(name)))
        if name in ("ModuleList", "ModuleDict", "ParameterList", "BufferList"):
            return self.make_module_list(node, name)
        if name in ("Parameter", "Buffer") and len(node.args) == 1:
            return self.evaluate(node.args[0])
        module = base or full_name.rpartition(".")[0]
        return self.evaluate_function_call(node, function, module, name, base_value)

    def is_number_function(self, node: ast.Call, module: str, full_name: str) -> bool:
        """Return whether a call computes a number: a function of `math`, or one of NumPy with numbers as arguments."""
        if "math" in (module, full_name.rpartition(".")[0]):
            return True
        takes_numbers = module in NUMBER_MODULES and bool(node.args) and not node.keywords
        values = self.evaluate_bindings(node.args) if takes_numbers else [None]
        return all(not isinstance(value, ShapeError) and is_real_number(value) for value in values)

    def call_helper(self, node: ast.Call, name: str, full_name: str) -> CodeValue:
        """Call a library helper, or return `MISSING` for any other function."""
        if name in ACTIVATION_FUNCTIONS:
            return LayerInstance("Activation", (), {})
        if name in MASK_FUNCTIONS:
            return MAYBE_NONE
        if name == "get_interface" and len(node.args) == 2:
            is_eager = self.evaluate_binding(node.args[0]) == "eager"
            eager = self.evaluate(node.args[1])
            return eager if is_eager else PartialValue(LibraryName(name), [eager], {})
        if (name in COPYING_FUNCTIONS or full_name in COPYING_FUNCTIONS) and node.args:
            return self.evaluate(node.args[0])
        if is_output_class(name) and not is_known_layer(name) and not node.args:
            return self.make_output(node, name)
        return self.call_standard_helper(node, name, full_name)

    def call_standard_helper(self, node: ast.Call, name: str, full_name: str) -> CodeValue:
        """Call a helper of Python's standard library, or return `MISSING` for any other function."""
        if full_name in OPERATOR_FUNCTIONS and len(node.args) == 2:
            left, right = node.args
            return self.evaluate(ast.copy_location(ast.BinOp(left, OPERATOR_FUNCTIONS[full_name](), right), node))
        if full_name == "functools.reduce" and len(node.args) in (2, 3):
            return self.call_reduce(node)
        if full_name == "typing.cast" and len(node.args) == 2:
            return self.evaluate(node.args[1])
        if full_name == "inspect.signature" and len(node.args) == 1:
            return self.make_signature(self.evaluate(node.args[0]))
        if name == "is_tensor" and len(node.args) == 1:
            return isinstance(self.evaluate(node.args[0]), TracedTensor)
        if full_name in ITERATION_FUNCTIONS:
            call = Call(name, tuple(self.evaluate_expressions(node.args)), {}, self.error_factory(node))
            return ITERATION_FUNCTIONS[full_name](call)
        return MISSING  # type: ignore[no-any-return]

    def make_signature(self, value: CodeValue) -> CodeValue:
        """Return the signature of a function: a dict that contains the dict of its parameters."""
        if not isinstance(value, FunctionValue):
            return nan
        arguments = value.node.args
        parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
        named: dict[object, Binding] = {argument.arg: nan for argument in parameters[bool(value.owner) :]}
        return CodeDict({"parameters": CodeDict(named)})

    def make_module_list(self, node: ast.Call, name: str) -> CodeValue:
        """Create the list or dict that represents a `ModuleList`, `ModuleDict` or `ParameterList`."""
        values = self.evaluate_bindings(node.args)
        if name == "ModuleDict":
            return values[0] if values and isinstance(values[0], CodeDict) else CodeDict({})
        return CodeList(self.iterable_items(node.args[0], self.evaluate(node.args[0])) if values else ())

    def evaluate_function_call(
        self, node: ast.Call, function: ast.expr, base_name: str, name: str, base_value: CodeValue
    ) -> CodeValue:
        """Call a library function or method, or create a layer."""
        is_class = name[:1].isupper() and name not in SIZE_FUNCTIONS
        is_unknown = (base_name == "self" and not self.is_assigned("self")) or not (is_class or is_known_function(name))
        if is_unknown or isinstance(base_value, ObjectValue | SuperValue | ClassValue):
            raise self.unknown_function_error(node)
        is_method = isinstance(function, ast.Attribute) and (
            base_name.partition(".")[0] not in self.module_names - self.inputs.keys() or self.is_tensor(base_name)
        )
        is_method = is_method and not is_class and (name not in CREATION_FUNCTIONS or self.is_assigned(base_name))
        operands = [function.value, *node.args] if is_method else node.args  # type: ignore[attr-defined]
        rest, first = [*operands], list[CodeValue]()
        if is_method and base_value is not MISSING:
            first, rest = [base_value], rest[1:]
        elif name not in CREATION_FUNCTIONS:
            first, rest = [freeze_value(value) for value in self.evaluate_expressions(rest[:1])], rest[1:]
        self.in_shape_argument, outer = (
            name in SHAPE_CHANGING_FUNCTIONS or name in CREATION_FUNCTIONS,
            self.in_shape_argument,
        )
        others, keywords = self.evaluate_arguments(node, [] if name in SHAPE_PRESERVING_FUNCTIONS else rest)
        self.in_shape_argument, values = outer, [*first, *others]
        if outer and name in SHAPE_PRESERVING_FUNCTIONS and values and isinstance(values[0], tuple):
            return values[0]  # a list converted to a tensor, as in `x.repeat_interleave(torch.tensor([1, 2]), 0)`
        is_scalar = values and not outer and self.is_known_number(values[0])
        if (created := self.construct_tensor(node, name, values, is_scalar=bool(is_scalar))) is not None:
            return created
        if is_class and (layer := self.make_layer(node, name, values, keywords)):
            return layer
        if is_method or (
            name not in (SIZE_FUNCTIONS | CREATION_FUNCTIONS)
            and (isinstance(function, ast.Attribute) or name not in SHAPE_PRESERVING_FUNCTIONS)
        ):
            tensors = [item for operand in operands for item in getattr(operand, "elts", [operand])]
            self.check_tensors_known(
                tensors if MULTI_OPERAND_FUNCTIONS.get(name, BROADCAST) is not BROADCAST else operands[:1]
            )
        if not is_known_function(name):
            raise self.unknown_function_error(node)
        self.check_namespace(node, base_name, name, values, is_method=is_method)
        self.check_operands(node, name, operands, rest)
        result = self.call_library_function(node, name, values, keywords, operands, is_method=is_method)
        return mark_not_none(result)

    def check_operands(
        self, node: ast.Call, name: str, operands: Sequence[ast.expr], arguments: Sequence[ast.expr]
    ) -> None:
        """Raise `ShapeError` (usage) for a target that is not a size, or for operands of unknown shape."""
        if name in TARGET_FUNCTIONS and len(arguments) == 1:
            self.check_reshape_target(arguments[0])
        if MULTI_OPERAND_FUNCTIONS.get(name) is BROADCAST or name in BROADCASTING_METHODS:
            self.require_operand_shapes([*operands, *[word.value for word in node.keywords]])

    def is_tensor(self, name: str) -> bool:
        """Return whether a dotted name is a variable whose value is a tensor."""
        return bool(name) and isinstance(self.find_value(name), TracedTensor)

    def make_layer(
        self, node: ast.Call, name: str, values: Sequence[CodeValue], keywords: Mapping[str, CodeValue]
    ) -> LayerInstance | None:
        """Return the layer that a call creates, or None for a class that is called with tensors.

        A one-dimensional input among the arguments denotes a size. Only a loss takes a tensor argument, its class
        weights.
        """
        if not name.endswith("Loss"):
            values, keywords = [*map(unwrap_sizes, values)], {word: unwrap_sizes(v) for word, v in keywords.items()}
        if name not in FUNCTIONS_OF_LAYERS and any(isinstance(value, TracedTensor) for value in values):
            return None
        if name == "Sequential":
            return make_sequential(values)
        flags = {word.arg: self.evaluate(word.value) for word in node.keywords if word.arg == "inplace"}
        named = {**keywords, **(flags if is_preserving_layer(name) else {})}
        return LayerInstance(name, tuple(values), named)

    def is_known_number(self, value: CodeValue) -> bool:
        """Return whether a value is a number or a product of input sizes.

        Any other name may denote a tensor.
        """
        return is_number(value) and (not isinstance(value, Monomial) or {*dim_names([value])} <= self.input_size_names)

    def construct_tensor(
        self, node: ast.Call, name: str, values: Sequence[CodeValue], *, is_scalar: bool
    ) -> TracedTensor | None:
        """Return the tensor that a constructor creates, or None for any other function.

        The arguments are the shape in `torch.Tensor(2, 3)`, and the elements in `torch.Tensor([2, 3])`.
        """
        kinds = parse_type_name(name) if re.fullmatch(LEGACY_CONSTRUCTOR, name) else ""
        name = "Tensor" if kinds else name
        if name == "Tensor" and values and all(map(is_dim, values)):
            return self.new_tensor(tuple(values), kinds or "f")  # type: ignore[arg-type]  # each value is a size
        is_constructor, is_listed = name in TENSOR_CONSTRUCTORS, bool(values) and isinstance(values[0], tuple)
        if (is_constructor and is_scalar) or ((is_constructor or name == "Tensor") and is_listed):
            created = self.create_tensor_from(node, values[0])
            return replace(created, kinds=kinds, extremes=None) if kinds else created
        return None

    def create_tensor_from(self, node: ast.Call, value: CodeValue) -> TracedTensor:
        """Return the tensor that `torch.tensor` creates from a number or nested tuples."""
        dims = nested_shape(value, self.error_factory(node)) if isinstance(value, tuple) else ()
        created = self.new_tensor(dims, kinds_of(value), find_extremes(value))
        return self.cast_created(node, replace(created, size=value if is_dim(value) else None))

    def check_namespace(
        self, node: ast.Call, base_name: str, name: str, values: Sequence[CodeValue], *, is_method: bool
    ) -> None:
        """Raise `ShapeError` (usage) if PyTorch defines the function in another namespace."""
        is_torch = any(tensor.conventions.torch_checks for value in values[:1] for tensor in tensors_in(value))
        if is_torch and is_missing_from_namespace(name, base_name, is_method=is_method):
            owner = "a tensor has no method" if is_method else f"{base_name} has no"
            raise self.error(node, f"{owner} {name}", f"write {find_namespace(name)}")
        number = values[0] if values else None
        takes_tensor = base_name in TORCH_MODULES and name in TENSOR_FUNCTIONS
        if takes_tensor and is_real_number(number) and not any(map(self.peek_tensor, node.args[1:])):
            other = f"math.{name}" if name in MATH_NAMES else f"torch.{name}(torch.tensor({number}))"
            raise self.error(node, f"torch.{name} takes a tensor, not the number {number}", f"write {other}")

    def call_library_function(
        self,
        node: ast.Call,
        name: str,
        values: list[CodeValue],
        keywords: dict[str, CodeValue],
        operands: Sequence[ast.expr],
        *,
        is_method: bool,
    ) -> CodeValue:
        """Call a known library function with evaluated arguments."""
        if name in CREATION_FUNCTIONS and not is_method:
            call = Call(name, tuple(values), keywords, self.error_factory(node), self.program)
            created = self.new_tensor(CREATION_FUNCTIONS[name](call), *created_elements(call))
            require_created_size(created, call)
            return self.cast_created(node, created)
        if name in SCALAR_DIVISIONS and values and all(map(is_dim, values)):
            quotient = apply_binary_operator(values[0], "//", values[1], self.error_factory(node), self.program)
            return replace(self.new_tensor((), "i"), size=quotient if is_dim(quotient) else None)
        if name in SHAPE_PRESERVING_FUNCTIONS and values and not isinstance(values[0], TracedTensor):
            tensors = [*filter(None, [self.peek_tensor(operand) for operand in operands[1:]])]
            if tensors and is_method and isinstance(values[0], float):
                raise self.record_unknown_shape(node, self.error(node, "the shape of this tensor is not known"))
            values = [*values, *tensors]
        if name in BROADCASTING_METHODS and values and isinstance(values[0], TracedTensor):
            kept = self.apply_broadcasting_method(node, name, values[0], operands[1:])
            bindings = map(self.evaluate_frozen, operands[1:])
            others = [None if isinstance(value, ShapeError) else value for value in bindings]
            named = {
                word: value
                for word, value in self.evaluate_keywords(node).items()
                if isinstance(value, Dim | float | TracedTensor)
            }
            return apply_kind_rule(name, [values[0], *others], named, kept, self.error_factory(node))
        value = call_function(name, values, keywords, self.error_factory(node))
        if name in (VIEW.name, RESHAPE.name):
            self.add_binding_note(operands, values)
        changes = name in IN_PLACE_METHODS or (name in SHAPE_FUNCTIONS and name.endswith("_"))
        if changes or any(keyword.arg == "out" for keyword in node.keywords):
            self.in_place_change = self.in_place_change or self.source_text(node)
        if isinstance(value, TracedTensor) and name in SHAPE_PRESERVING_FUNCTIONS:
            value = self.apply_preserving_function(node, name, value, operands[1:])
        if name in REDUCTION_FUNCTIONS and isinstance(value, TracedTensor) and value.rank and not value.stages:
            self.notes[f"the chain begins with what {truncate(self.source_text(node))} returns"] = None
        return self.set_result_kinds(node, name, values, keywords, operands, value, is_method=is_method)

    def add_binding_note(self, operands: Sequence[ast.expr], values: Sequence[CodeValue]) -> None:
        """Add a note that proposes how to bind the undefined names in a reshape target."""
        tensor, *target = values
        name = dotted_name(operands[0])
        if not isinstance(tensor, TracedTensor) or not name or not target:
            return
        dims = target[0] if isinstance(target[0], tuple) else target
        line = propose_binding(name, tensor.shape, dims, self.input_size_names | self.sizes.keys())
        if line:
            names = line.partition(" = ")[0]
            self.notes[f"{names} can be any size; to bind: {line}"] = None

    def set_result_kinds(
        self,
        node: ast.Call,
        name: str,
        values: Sequence[CodeValue],
        keywords: Mapping[str, CodeValue],
        operands: Sequence[ast.expr],
        value: CodeValue,
        *,
        is_method: bool,
    ) -> CodeValue:
        """Set the element kinds of the result of a library function, and its smallest and largest element."""
        if re.fullmatch(r"dropout\d?d?", name) and "training" not in keywords and len(operands) < 3:
            name = "training_dropout"
        if name in CHECKED_FUNCTIONS:
            values = [*values, *filter(None, [self.peek_tensor(operand) for operand in operands[1:]])]
        if isinstance(value, TracedTensor) and (extremes := self.find_fill_extremes(node, name, operands)):
            value = replace(value, extremes=extremes)
        cast = self.keyword_kinds(node)
        if name == "where" and is_method:  # in `x.where(mask, y)`, the mask is the argument, not the tensor
            values = [*values[1:2], values[0], *values[2:]]
        return apply_kind_rule(name, values, keywords, value, self.error_factory(node), cast=cast)

    def find_fill_extremes(self, node: ast.Call, name: str, operands: Sequence[ast.expr]) -> tuple[int, int] | None:
        """Return the smallest and the largest element of the result of a function such as `full_like`.

        Returns None for a function that does not fill a tensor.
        """
        if name in ("full_like", "new_full"):
            fills = [word.value for word in node.keywords if word.arg == "fill_value"] or operands[-1:]
            return find_extremes(self.evaluate_frozen(fills[0])) if fills else None  # type: ignore[arg-type]
        value = {"zeros_like": 0, "new_zeros": 0, "ones_like": 1, "new_ones": 1}.get(name)
        return None if value is None else (value, value)

    def cast_created(self, node: ast.Call, created: TracedTensor) -> TracedTensor:
        """Return a created tensor with the element type that the call requests."""
        kinds = self.keyword_kinds(node)
        return replace(created, kinds=kinds) if kinds else created

    def peek_tensor(self, node: ast.expr) -> TracedTensor | None:
        """Return the value of an argument if it is a tensor, or None."""
        value = self.evaluate_binding(node)
        return value if isinstance(value, TracedTensor) else None

    def check_reshape_target(self, node: ast.expr) -> None:
        """Raise `ShapeError` (usage) if a reshape target is a name that does not denote a size.

        A name denotes a size if it occurs in the shape of an input, if the user or the code assigns a number to it, or
        if it is a single letter.
        """
        name = dotted_name(node)
        if not name or len(name) == 1 or not isinstance(self.evaluate(node), Monomial) or self.is_assigned(name):
            return
        last = name.rpartition(".")[2]
        if last not in self.input_size_names and not {name, last} & self.sizes.keys():
            raise self.undeclared_size_list_error(node)

    def evaluate_arguments(
        self, node: ast.Call, operands: Sequence[ast.expr]
    ) -> tuple[list[CodeValue], dict[str, CodeValue]]:
        """Evaluate the positional and keyword arguments of a call.

        The positional arguments are `operands`.
        """
        values = [freeze_value(value) for value in self.evaluate_expressions(operands)]
        named = {word.arg: word.value for word in node.keywords if word.arg and word.arg not in IGNORED_ARGUMENTS}
        keywords = {name: freeze_value(self.evaluate(argument)) for name, argument in named.items()}
        for word in node.keywords:
            if word.arg is None:
                keywords |= self.unpack_keywords(word.value)
        return values, keywords

    def unpack_keywords(self, node: ast.expr) -> dict[str, CodeValue]:
        """Return the keyword arguments in a dict that a call unpacks.

        Raises the error of an unsupported value.
        """
        value = self.evaluate(node)
        if not isinstance(value, CodeDict):
            raise self.error(node, "only a dict can be unpacked")
        keywords = {}
        for name, item in value.items.items():
            if name in IGNORED_ARGUMENTS:
                continue
            if isinstance(item, ShapeError):
                raise item
            keywords[str(name)] = freeze_value(item)
        return keywords
