"""Define the state of an interpreter: inputs, variables, sizes and notes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Set
from functools import partial

from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.dims import Monomial, Shape, dim_names, named_dim, substitute
from shapecalc.core.limits import MAX_DIM_TEXT_LENGTH
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.core.text import escape_unprintable, shape_text, truncate
from shapecalc.reading.code.memory import MISSING, UndoLog
from shapecalc.reading.code.results import StatementRecord, UnknownCall, UnnamedInputIdentified
from shapecalc.reading.code.source import (
    MODULE_NAMES,
    CodeText,
    EntryPoint,
    dotted_name,
    is_dict_item,
    normalize_tensor_name,
)
from shapecalc.reading.code.values import (
    Binding,
    CallFrame,
    ClassValue,
    CodeValue,
    ErrorFactory,
    ProgramSizes,
    StageRefused,
    TracedTensor,
    UserValue,
    initial_tensor,
    single_name,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

SEQUENCE_LAYER = "(?i)proj|fc|linear|dense|mlp|att|head|classif|embed|qkv"
"""A regular expression for the names of layers with inputs that are usually `(B, T, C)`.

The input of any other unknown layer is assumed to be `(B, C, H, W)` in hints.
"""
PART_LABEL = r"(?s).*\[\d+\]"
"""A regular expression for the names of inputs that are parts of a result, such as `self.f(x)[0]`."""
SIZE_LIST_NAME = r"(.*_)?(shape|sizes|dims|perm|axes)"


class LoopExits:
    """The unknown conditions that may end an iteration of a loop with an unknown number of iterations."""

    def __init__(self, choice: int | None) -> None:
        """Create the state at the start of an iteration that the condition with the index `choice` ends.

        `choice` is -1 if no condition ends the iteration, and None outside of such loops.
        """
        self.choice = choice
        self.count = 0
        """The number of unknown conditions in the iteration so far."""


class InterpreterState:
    """The state of an interpreter, with lookup of names and error builders."""

    def __init__(self, text: str, dialect: str, sizes: Mapping[str, UserValue], records: list[StatementRecord]) -> None:
        """Create an interpreter of the code `text`.

        `sizes` maps names and expressions in the code to their values. The interpreted statements are appended to
        `records`.
        """
        self.code, self.dialect, self.sizes, self.line = CodeText(text), dialect, sizes, 1
        self.program, self.undo_log = ProgramSizes(), UndoLog()
        self.tree = ast.Module([], [])
        """The syntax tree of the interpreted code."""
        self.entry: EntryPoint | None = None
        """The interpreted function, or None if the code consists of statements."""
        self.inputs: dict[str, TracedTensor] = {}
        self.has_unnamed_input = False
        """Whether the name of the input tensor is still unknown."""
        self.frame = CallFrame("")
        """The frame of the statement that is being interpreted."""
        self.skipped_errors: dict[ShapeError, None] = {}
        """The errors of skipped statements, in order."""
        self.records = records
        """The interpreted statements, in order."""
        self.notes: dict[str, None] = {}
        self.used_size_names: set[str] = set()
        """The names that the code has looked up as sizes."""
        self.input_size_names: set[str] = set()
        """The names of symbolic sizes in the shapes of the inputs."""
        self.possible_tensors: set[str] = set()
        """The names of parameters and attributes without a value, each of which may denote a tensor."""
        self.module_names: Set[str] = MODULE_NAMES
        """The names of modules in the code."""
        self.modules: dict[Path, CallFrame] = {}
        """The frame of each imported file."""
        self.function_nodes: dict[ast.FunctionDef, list[ast.AST]] = {}
        """Cached syntax nodes of the functions that were called."""
        self.is_snippet = False
        """Whether the code consists of statements rather than a function or a class."""
        self.is_quiet = False
        """Whether statements are interpreted without records and notes."""
        self.refused_line = 0
        """The line of the refused op, or 0 if it is the line of the current statement."""
        self.unknown_calls: dict[ShapeError, UnknownCall] = {}
        """The calls with unknown results, keyed by their errors."""
        self.unpacked_counts: dict[ast.expr, int] = {}
        """The number of targets to which the result of each call is unpacked."""
        self.input_groups: dict[str, tuple[TracedTensor, ...]] = {}
        """The inputs that consist of several tensors, such as the results of a call."""
        self.unchecked: dict[tuple[int, str], None] = {}
        """The line and the name of each layer whose input sizes are not checked."""
        self.statement_count = 0
        """The number of interpreted statements."""
        self.in_place_change = ""
        """The first expression that may change the elements of a tensor in place, or an empty string if there is none.
        """
        self.loop_exits = LoopExits(None)
        """The unknown conditions that may end the current iteration of a loop."""
        self.in_shape_argument = False
        """Whether a shape argument is being evaluated; an input of rank 1 then denotes a size."""

    def bind_inputs(self, inputs: Mapping[str, Shape], strides: Mapping[str, Shape] = EMPTY_DICT) -> None:
        """Bind the names of the input tensors.

        `strides` contains the strides of tensors that are not row-major. An empty name denotes a tensor whose name is
        not known yet.
        """
        numbers = {name: size for name, size in self.sizes.items() if type(size) is int}
        self.has_unnamed_input = "" in inputs
        for name, dims in inputs.items() if not self.has_unnamed_input else ():
            tensor = initial_tensor(tuple([substitute(dim, numbers) for dim in dims]), self.dialect, self.program)
            size = tensor.shape[0] if tensor.rank == 1 else None
            own_strides = (
                tuple([substitute(step, numbers) for step in strides[name]]) if name in strides else tensor.strides
            )
            self.inputs[normalize_tensor_name(name)] = replace(
                tensor, input_name=name, is_main=not self.inputs, size=size, strides=own_strides
            )
        labels = [label for label in self.inputs if re.fullmatch(PART_LABEL, label)]
        for name in dict.fromkeys(label.rpartition("[")[0] for label in labels):
            parts = [self.inputs.pop(label) for label in labels if label.rpartition("[")[0] == name]
            self.input_groups[name] = tuple(parts)
        names = dim_names([dim for dims in inputs.values() for dim in dims])
        self.program.names.update(dict.fromkeys(names))

    def bind_variable(self, name: str, value: Binding) -> None:
        """Set a variable in the current frame."""
        self.undo_log.write(self.frame.variables, name, value)

    def find_value(self, name: str) -> Binding:
        """Return the value of a dotted name, or `MISSING`.

        The name is looked up in the current and the enclosing frames, and last among the names of Python.
        """
        frame: CallFrame | None = self.frame
        while frame is not None:
            if name in frame.variables:
                return frame.variables[name]
            if frame.parent is None and name in frame.imports:
                return self.import_name(frame, name)
            frame = frame.parent
        return ... if name == "Ellipsis" else MISSING

    def import_name(self, frame: CallFrame, name: str) -> Binding:
        """Return the value of a name that a module imports, or `MISSING`."""
        raise NotImplementedError

    def is_assigned(self, name: str) -> bool:
        """Return whether a dotted name or one of its prefixes is a variable."""
        parts = name.split(".")
        return any(self.find_value(".".join(parts[:count])) is not MISSING for count in range(len(parts), 0, -1))

    def lookup_size(self, node: ast.expr, name: str) -> CodeValue:
        """Return the size, or the list of sizes, that a name denotes.

        An attribute is looked up first by its full name, such as `config.text.heads`, then by its last components.
        """
        parts = name.split(".")
        last = parts[-1]
        if not name.isascii() or len(name) > MAX_DIM_TEXT_LENGTH:
            raise self.error(node, "a size has a name of plain letters")
        names = [".".join(parts[start:]) for start in range(len(parts))]
        self.used_size_names.update(names)
        size_name = next((own for own in names if own in self.sizes), None)
        if size_name is not None:
            return self.find_user_class(self.sizes[size_name])
        tensor = self.inputs.get(last)
        if tensor is not None and tensor.size is not None:
            return tensor.size
        if re.fullmatch(SIZE_LIST_NAME, last):
            raise self.undeclared_size_list_error(node)
        return named_dim(last)

    def find_user_class(self, value: UserValue) -> CodeValue:
        """Return the class in the code with the name `value`, or `value` itself."""
        name = single_name(value)
        found = self.find_value(name) if name and name not in self.sizes else MISSING
        return found if isinstance(found, ClassValue) else value

    def user_value(self, node: ast.expr) -> CodeValue:
        """Return the value that the user provides for an expression, or `MISSING`."""
        if not self.sizes:
            return MISSING  # type: ignore[no-any-return]
        text = ast.unparse(node)
        self.used_size_names.add(text)
        return self.sizes.get(text, MISSING)  # type: ignore[no-any-return]

    def user_tensors(self, node: ast.Call | ast.Subscript) -> CodeValue:
        """Return the tensors that the user provides for a call or an item, or `MISSING`.

        The user may write the line number before the text of a call.
        """
        names = (*self.inputs, *self.input_groups)
        if not any(name.endswith((")", "]")) for name in names):
            return MISSING  # type: ignore[no-any-return]
        text = ast.unparse(node)
        name = next((own for own in (f"{node.lineno}:{text}", text) if own in names), "")
        return (self.inputs.get(name) or self.input_groups[name]) if name else MISSING

    def undeclared_size_list_error(self, node: ast.expr) -> ShapeError:
        """Build the error for an undeclared list of sizes."""
        return self.error(
            node, "this is a list of sizes", f"--where {truncate(self.source_text(node))}=2,3,32,32 gives them"
        )

    def check_tensors_known(self, nodes: Iterable[ast.expr]) -> None:
        """Raise `ShapeError` (usage) for the first node that is a tensor of unknown shape."""
        for node in nodes:
            if (is_dict_item(node) or dotted_name(node)) and isinstance(self.evaluate(node), Monomial):
                raise self.missing_shape_error(node)

    def may_be_tensor(self, value: Binding) -> bool:
        """Return whether a value is the name of a parameter or an attribute that may denote a tensor."""
        if not isinstance(value, Monomial):
            return False
        names = {*dim_names([value])} & self.possible_tensors
        return bool(names - self.input_size_names - self.sizes.keys())

    def find_possible_tensor(self, node: ast.expr) -> ast.expr | None:
        """Return the first name in an expression that may denote a tensor of unknown shape.

        The arguments of calls are skipped, because a call of such a tensor raises its own error.
        """
        if isinstance(node, ast.Name | ast.Attribute):
            return node if self.possible_tensors and self.may_be_tensor(self.peek_value(node)) else None
        if isinstance(node, ast.Call | ast.Lambda):
            return None
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        return next(filter(None, map(self.find_possible_tensor, parts)), None)

    def require_operand_shapes(self, nodes: Iterable[ast.expr]) -> None:
        """Raise `ShapeError` (usage) if an operand of an elementwise function may be a tensor of unknown shape.

        Such a tensor may broadcast the other operands to another shape.
        """
        for node in nodes if self.possible_tensors else ():
            if (found := self.find_possible_tensor(node)) is not None:
                raise self.missing_shape_error(found)

    def peek_value(self, node: ast.expr) -> Binding:
        """Evaluate an expression without records, and return its value or error."""
        was_quiet, self.is_quiet = self.is_quiet, True
        try:
            return self.evaluate(node)
        except ShapeError as error:
            return error
        finally:
            self.is_quiet = was_quiet

    def unknown_function_error(self, node: ast.Call) -> ShapeError:
        """Build the error for an unknown function, with a hint."""
        callee = getattr(node.func, "attr", "") or dotted_name(node.func) or "this layer"
        if self.has_unnamed_input and dotted_name(node.func) in (callee, f"self.{callee}"):
            raise UnnamedInputIdentified(ast.unparse(node))
        example = "B,T,C" if re.search(SEQUENCE_LAYER, callee) else "B,256,H,W"
        hint_input, is_attribute = self.input_hint(node, example), dotted_name(node.func).startswith("self.")
        hint = f"paste its class, too, with __init__; or {hint_input}" if is_attribute else hint_input
        return self.record_unknown_call(node, self.error(node, f"{truncate(callee)} is not known here", hint))

    def record_unknown_call(self, node: ast.Call, error: ShapeError) -> ShapeError:
        """Record a call whose result the user can provide, and return its error."""
        was_quiet, self.is_quiet = self.is_quiet, True
        try:
            value = self.evaluate(node.args[0]) if node.args else None
        except (ShapeError, StageRefused):
            value = None
        finally:
            self.is_quiet = was_quiet
        return self.record_unknown_shape(node, error, value.shape if isinstance(value, TracedTensor) else None)

    def record_unknown_shape(self, node: ast.expr, error: ShapeError, proposal: Shape | None = None) -> ShapeError:
        """Record an expression whose shape the user can provide, and return its error."""
        count = self.unpacked_counts.get(node, 1)
        self.unknown_calls[error] = UnknownCall(ast.unparse(node), node.lineno, proposal, count=count)
        return error

    def record_unknown_value(self, node: ast.expr, error: ShapeError, proposal: UserValue = None) -> ShapeError:
        """Record an expression whose value the user can provide, and return its error."""
        self.unknown_calls[error] = UnknownCall(ast.unparse(node), node.lineno, None, "where", proposal)
        return error

    def collect_unknown_calls(self, final: ShapeError | None = None) -> list[UnknownCall]:
        """Return the unknown calls on which statements depend, in order.

        `final` is the error of the result. A call that occurs on several lines is listed once, unless the proposals for
        its shape differ.
        """
        values = [value for record in self.records for value in record.names.values()]
        needed = [value for value in (*values, final) if isinstance(value, ShapeError)]
        calls = [self.unknown_calls[error] for error in dict.fromkeys(needed) if error in self.unknown_calls]
        own = [call for call in calls if call.line <= self.code.own_text.count("\n") + 1]
        result = dict[tuple[str, Shape | None], UnknownCall]()
        first = {(call.call, call.line): call for call in reversed(own)}
        for call in sorted(first.values(), key=lambda call: call.line):
            result.setdefault((call.call, call.proposal), call)
        names = [call.call for call in result.values()]
        return [
            replace(call, call=f"{call.line}:{call.call}") if names.count(call.call) > 1 else call
            for call in result.values()
        ]

    def missing_shape_error(self, node: ast.expr, example: str = "N,C,H,W") -> ShapeError:
        """Build the error for a tensor of unknown shape, with a hint."""
        if self.has_unnamed_input:
            raise UnnamedInputIdentified(ast.unparse(node))
        error = self.error(node, "the shape of this tensor is not known", self.input_hint(node, example))
        is_answerable = is_dict_item(node) or dotted_name(node).rpartition(".")[2] in self.possible_tensors
        return self.record_unknown_shape(node, error) if is_answerable else error

    def absent_value_error(self, node: ast.expr) -> ShapeError:
        """Build the error for a name that is None where the code needs a tensor, with a hint."""
        error = self.error(node, "this is None here", self.input_hint(node, "B,T,C"))
        return self.record_unknown_shape(node, error) if isinstance(node, ast.Name) else error

    def input_hint(self, node: ast.expr, example: str) -> str:
        """Return a hint to declare the shape of an expression with `--input`."""
        inputs = " ".join([f"{name}={shape_text(tensor.shape)} " for name, tensor in self.inputs.items()])
        return f"give its shape: --input '{truncate(inputs)}{truncate(self.source_text(node))}={example}'"

    def error_factory(self, node: ast.expr | ast.stmt) -> ErrorFactory:
        """Return a function that builds errors for a syntax node."""
        return partial(self.error, node)

    def source_text(self, node: ast.expr | ast.stmt) -> str:
        """Return the source text of a syntax node on one line."""
        start, end = self.code.node_span(node)
        return escape_unprintable(" ".join(self.code.text[start:end].split()))

    def error(
        self,
        node: ast.expr | ast.stmt,
        message: str,
        hint: str = "",
        *,
        unknown: CodeValue = None,
        placeholder: str = "NUMBER",
    ) -> ShapeError:
        """Build a usage error for a syntax node, with its span.

        If `unknown` is a name, it is recorded as a value that the user can provide.
        """
        name = str(unknown) if isinstance(unknown, Monomial) and str(unknown).isidentifier() else ""
        text = f"'{truncate(self.source_text(node))}': {message}"
        hint = f"give it: --where {truncate(name)}={placeholder}" if name and not hint else hint
        error = usage_error(text, hint, argument="line", span=self.code.node_span(node))
        if name:
            self.unknown_calls[error] = UnknownCall(name, node.lineno, None, "where", None, placeholder)
        return error

    def evaluate(self, node: ast.expr) -> CodeValue:
        """Evaluate an expression."""
        raise NotImplementedError
