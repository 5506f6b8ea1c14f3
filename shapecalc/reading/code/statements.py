"""Interpret statements."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.dims import Dim, Monomial, Shape, dim_names, named_dim
from shapecalc.core.limits import MAX_SHAPE_DIMS, MAX_STATEMENTS
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.reading.code.arithmetic import OPERATOR_SYMBOLS
from shapecalc.reading.code.assignments import AssignmentEvaluator
from shapecalc.reading.code.builtins import BUILTINS
from shapecalc.reading.code.call_evaluation import (
    ACTIVATION_FUNCTIONS,
    CACHE_CLASSES,
    IMPORTED_BUILTINS,
    LIBRARY_TABLES,
    MASK_FUNCTIONS,
)
from shapecalc.reading.code.callers import derived_assignments
from shapecalc.reading.code.comments import ShapeCheck, check_shapes
from shapecalc.reading.code.expressions import UNKNOWN_KEY
from shapecalc.reading.code.functions import MODULE_CLASSES
from shapecalc.reading.code.library_sources import LIBRARY_MODULES, LIBRARY_SOURCES
from shapecalc.reading.code.logic import merge_values
from shapecalc.reading.code.memory import MISSING, Changes
from shapecalc.reading.code.modules import (
    MAX_FILES,
    ImportedName,
    find_imported_module,
    find_library,
    find_module,
    imported_names,
    module_aliases,
    read_module,
)
from shapecalc.reading.code.results import CodeChain, StatementRecord, UnknownCall, UnnamedInputIdentified
from shapecalc.reading.code.scopes import LoopExits
from shapecalc.reading.code.sizes import CREATION_FUNCTIONS
from shapecalc.reading.code.source import (
    ENTRY_METHODS,
    IGNORED_STATEMENTS,
    MODULE_NAMES,
    PASTE_HINT,
    EntryPoint,
    bound_names,
    dotted_name,
    find_first_variable,
    imported_modules,
    is_print_or_constant,
    names_in_statement,
    select_entry,
)
from shapecalc.reading.code.values import (
    Binding,
    CallFrame,
    CheckRefused,
    ClassValue,
    CodeDict,
    CodeList,
    CodeValue,
    FunctionValue,
    LayerInstance,
    ModuleValue,
    ObjectValue,
    StageRefused,
    TensorChunks,
    TracedTensor,
    is_dim,
    items_in,
    tensors_in,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


class CodeInterpreter(AssignmentEvaluator):
    """An abstract interpreter of Python code over sizes, tuples and tensors.

    The error of an unsupported statement becomes the value of the names that the statement assigns. The error is raised
    where such a name is used, so unsupported statements that do not affect the answer are harmless.
    """

    def interpret(
        self,
        tree: ast.Module,
        inputs: Mapping[str, Shape],
        strides: Mapping[str, Shape] = EMPTY_DICT,
        entry_name: str = "",
        path: str | None = None,
    ) -> CodeChain:
        """Interpret code, and return its chain.

        `inputs` maps the names of tensors to shapes, and `strides` maps the names of tensors that are not row-major to
        their strides. If a name is empty, the method finds the name in the code and raises `UnnamedInputIdentified`.
        `entry_name` is the name of the function, class or method to interpret; by default it is the last one. Raises
        `ShapeError` (usage) for code that is not supported.
        """
        if path is not None:
            from pathlib import Path  # imported here, because it takes 3 ms, and a line of code has no path

            self.frame.path = Path(path)
        try:
            value = self.interpret_module(tree, inputs, strides, entry_name)
        except CheckRefused as refused:
            raise refused.args[0] from None
        except StageRefused as refused:
            if "\n" in self.code.text.strip():
                line = self.refused_line or self.line
                source_line = self.code.text.splitlines()[line - 1].strip()
                self.notes[escape_unprintable(f"refused in line {line}: {truncate(source_line)}")] = None
            return CodeChain(refused.args[0], refused.args[1], self.collect_notes(), True, names=self.program.names)
        if isinstance(value, ShapeError):
            raise value
        for name in self.sizes.keys() - self.input_size_names - self.used_size_names:
            self.notes[f"the code does not use {escape_unprintable(truncate(name))}"] = None
        return self.build_chain(value)

    def interpret_module(
        self,
        tree: ast.Module,
        inputs: Mapping[str, Shape],
        strides: Mapping[str, Shape] = EMPTY_DICT,
        entry_name: str = "",
    ) -> Binding:
        """Interpret code, and return its result or error.

        Raises `StageRefused` for a refused op.
        """
        self.bind_inputs(inputs, strides)
        self.input_size_names = {*dim_names([dim for dims in inputs.values() for dim in dims])}
        self.frame.variables["__name__"] = MODULE_NAME
        self.frame.imports, self.frame.aliases = {**imported_names(tree)}, module_aliases(tree)
        self.module_names = MODULE_NAMES | imported_modules(tree).keys()
        entry, statements = select_entry(tree.body, entry_name)
        self.tree, self.entry = tree, entry
        if entry is not None and self.has_unnamed_input and (name := entry.only_parameter):
            raise UnnamedInputIdentified(name)
        self.frame.variables.update({**self.inputs, **self.input_groups})
        self.is_snippet = entry is None
        self.program.input_names = None if entry is None else self.input_size_names
        if entry is None:
            self.interpret_body(statements)
            value: Binding = self.frame.state["last"]
        else:
            value = self.interpret_entry(entry, statements)
        if self.has_unnamed_input:
            raise UnnamedInputIdentified(find_first_variable(entry.statements if entry else statements))
        return value

    def import_name(self, frame: CallFrame, name: str) -> Binding:
        """Return the value of a name imported from a file of the package, or `MISSING`."""
        imported = frame.imports[name]
        is_known = (
            name in IMPORTED_BUILTINS
            or name in MODULE_CLASSES
            or name
            in ACTIVATION_FUNCTIONS | LIBRARY_TABLES | MASK_FUNCTIONS | CACHE_CLASSES | {"dispatch_attention_fn"}
        )
        if name == "ROPE_INIT_FUNCTIONS":
            return self.find_in_library(frame, imported)
        if is_known or frame.path is None:
            return MISSING if is_known else self.find_in_library(frame, imported)
        value = self.find_in_module(find_module(frame.path, imported), imported.name)
        value = self.find_in_library(frame, imported) if value is MISSING else value
        if value is MISSING and (path := find_imported_module(frame.path, imported)):
            module = self.load_module(path)
            value = ModuleValue(module) if module else MISSING
        if value is not MISSING:
            frame.variables[name] = value
        return value

    def find_in_module(self, path: Path | None, name: str) -> Binding:
        """Return the value of a name that a file of the package defines, or `MISSING`."""
        module = path and self.load_module(path)
        if not module:
            return MISSING  # type: ignore[no-any-return]
        outer, self.frame = self.frame, module
        try:
            return self.find_value(name)
        finally:
            self.frame = outer

    def load_module(self, path: Path) -> CallFrame | None:
        """Interpret a module of the package, and return its frame.

        Returns None if the file cannot be read. The text of the module is appended to the text of the code, so that
        source positions stay unique.
        """
        if path in self.modules:
            return self.modules[path]
        source = read_module(path) if len(self.modules) < MAX_FILES else None
        return None if source is None else self.interpret_source(path, *source)

    def find_in_library(self, frame: CallFrame, imported: ImportedName) -> Binding:
        """Return the value of a name of a library whose files are not available, or `MISSING`.

        A relative import refers to the library of the file. Other imports of the file identify this library.
        """
        library = find_library(frame.imports, imported)
        source = LIBRARY_SOURCES.get(library, "")
        is_module = imported.name in LIBRARY_MODULES and library != ""
        if not is_module and not re.search(
            rf"^((def|class) {imported.name}\b|(\w+ = )*{imported.name} = )", source, re.MULTILINE
        ):
            return MISSING  # type: ignore[no-any-return]
        path = _library_path(library)
        module = self.modules.get(path) or self.interpret_source(path, source, ast.parse(source))
        return ModuleValue(module) if is_module else module.variables.get(imported.name, MISSING)

    def interpret_source(self, path: Path, text: str, tree: ast.Module) -> CallFrame:
        """Interpret the source of a module, and return its frame."""
        ast.increment_lineno(tree, self.code.append_file(text))
        module = self.modules[path] = CallFrame("")
        module.variables["__name__"] = MODULE_NAME
        module.path, module.imports, module.aliases = path, {**imported_names(tree)}, module_aliases(tree)
        state = self.frame, self.line, self.in_shape_argument, self.is_quiet, {**self.skipped_errors}
        self.frame, self.is_quiet = module, True
        try:
            self.interpret_body(tree.body)
        finally:
            self.frame, self.line, self.in_shape_argument, self.is_quiet, self.skipped_errors = state
        return module

    def interpret_entry(self, entry: EntryPoint, statements: Sequence[ast.stmt]) -> Binding:
        """Interpret the module and then the entry point, and return the result."""
        self.is_quiet = True
        self.interpret_body(statements)
        module = self.frame
        all_inputs: dict[str, CodeValue] = {**self.inputs, **self.input_groups}
        parameters = {name: value for name, value in all_inputs.items() if name.isidentifier()}
        owner: ObjectValue | None = None
        cls: ClassValue | None = None
        if entry.class_node is not None:
            self.interpret_body([entry.class_node])
            cls = module.variables[entry.class_node.name]  # type: ignore[assignment]
            assert isinstance(cls, ClassValue)
            owner = self.create_object(cls, entry.class_node)
            self.invalidate_assigned_attributes(owner, entry)
            self.invalidate_derived_attributes(owner, entry.class_node)
            for name, value in self.sizes.items():
                attribute = name.removeprefix("self.")
                if attribute != name and attribute.isidentifier():
                    owner.attributes[attribute] = value
                    self.used_size_names.add(name)
        self.is_quiet = False
        method = self.find_member(owner, entry.node.name) if owner else MISSING
        function = method if isinstance(method, FunctionValue) else FunctionValue(entry.node, module)
        frame = CallFrame(f"{cls.name}.{entry.node.name}" if cls else entry.node.name, function.frame)
        return self.run_entry_point(frame, function, parameters)

    def invalidate_assigned_attributes(self, owner: ObjectValue, entry: EntryPoint) -> None:
        """Mark an attribute as unknown if it contains a tensor and another method assigns it.

        The assignments of `__init__` and of the entry point are kept. A `forward` is called on a new object, but any
        other method may be called later.
        """
        assert entry.class_node is not None
        if entry.node.name in ENTRY_METHODS:
            return
        parameters = _parameter_names(entry.class_node)
        for method in entry.class_node.body:
            if isinstance(method, ast.FunctionDef) and method.name not in ("__init__", entry.node.name):
                for name, line in _assigned_values(method):
                    attribute = name.removeprefix("self.")
                    value = owner.attributes.get(attribute)
                    items = (value, *items_in(value)) if not isinstance(value, ShapeError) else ()
                    has_tensor = any(isinstance(item, TracedTensor) for item in items)
                    if name != attribute and name not in parameters and has_tensor:
                        hint = f"give its shape: --input {truncate(name)}=SHAPE"
                        error = self.error(method, f"{truncate(name)} is assigned here as well", hint)
                        proposal = value.shape if isinstance(value, TracedTensor) else None
                        self.unknown_calls[error] = UnknownCall(name, line, proposal)
                        owner.attributes[attribute] = error

    def invalidate_derived_attributes(self, owner: ObjectValue, cls: ast.ClassDef) -> None:
        """Mark an attribute as unknown if a derived class in the file assigns it.

        A number, a string or None is replaced with the name of the attribute.
        """
        for attribute, node in derived_assignments(self.tree, cls).items():
            value = owner.attributes.get(attribute, MISSING)
            if value is MISSING or isinstance(value, ShapeError):
                continue
            if value is None or isinstance(value, int | float | str | Monomial):
                owner.attributes[attribute] = named_dim(attribute)
                continue
            hint = f"give its shape: --input {truncate(attribute)}=SHAPE"
            error = self.error(node, f"{truncate(attribute)} is assigned here as well", hint)
            self.unknown_calls[error] = UnknownCall(f"self.{attribute}", node.lineno, None)
            owner.attributes[attribute] = error

    def build_chain(self, value: CodeValue) -> CodeChain:
        """Build the chain that computes a value.

        Raises `ShapeError` (usage) for a value other than a tensor.
        """
        tensors, outputs = self.split_results(value)
        if not tensors:
            raise usage_error("the code does not end with a tensor", PASTE_HINT, argument="line")
        first, others = tensors[0], tensors[1:]
        is_unchanged = "(" in first.input_name and not (first.stages or first.untraced_change)
        if is_unchanged and self.is_snippet and len(self.records) < 2:
            raise usage_error("the code is only a call of unknown shape", PASTE_HINT, argument="line")
        changes = [*filter(None, [*[tensor.untraced_change for tensor in tensors], self.in_place_change])]
        return CodeChain(
            first.input_shape,
            first.stages,
            self.collect_notes(),
            first.is_main,
            changes[0] if changes else "",
            outputs,
            tuple([(tensor.input_shape, tensor.stages, tensor.conditions) for tensor in others]),
            tuple(dict.fromkeys((*self.program.conditions, *first.conditions))),
            self.program.names,
            tuple(sorted(self.unchecked)),
        )

    def split_results(self, value: CodeValue) -> tuple[list[TracedTensor], tuple[Shape, ...]]:
        """Return the tensors in a value, and all shapes if there are several.

        The parts of a split are one tensor, after a stage that keeps all parts. Raises `ShapeError` (usage) if the
        number of parts is unknown, 0 or too large.
        """
        if isinstance(value, TensorChunks):
            part = value.all_chunks or (value.chunk(0) if value.count else value.tensor)
            count = value.count
            if not count:
                number = "0" if count == 0 else "an unknown number of"
                raise usage_error(f"the code ends with {number} parts", "give sizes with --where", argument="line")
            if count > MAX_SHAPE_DIMS:
                raise MAX_SHAPE_DIMS.error(f"{count} parts", argument="line")
            return [part], part.traces[-1].extras.get("outputs") or (part.shape,) * count
        tensors = [*tensors_in(value)]
        return tensors, tuple([tensor.shape for tensor in tensors]) if len(tensors) > 1 else ()

    def collect_notes(self) -> tuple[str, ...]:
        """Return the notes on the interpretation.

        The notes report assumptions, skipped statements, and comments that contradict the actual shapes.
        """
        passed_over = [f"passed over: {error.problem.message}" for error in self.skipped_errors]
        return (*self.notes, *passed_over, *filter(None, [check.message for check in self.check_shapes()]))

    def check_shapes(self) -> list[ShapeCheck]:
        """Compare declared shapes with the shapes of the interpreted lines.

        Shapes are declared in comments and annotations.
        """
        results = [name for name, definition in self.program.names.items() if definition is not None]
        inputs = {name: tensor.shape for name, tensor in self.inputs.items()}
        return check_shapes(self.code.own_text, self.tree, self.entry, self.records, inputs, results)

    def interpret_body(self, statements: Sequence[ast.stmt]) -> None:
        """Interpret statements up to the first one that leaves the body.

        The error of an unsupported statement becomes the value of the names that the statement assigns. If the
        statement assigns only inputs, the inputs keep their shapes.
        """
        for statement in statements:
            self.count_iteration(statement)
            self.line, self.in_shape_argument = statement.lineno, False
            try:
                self.interpret_statement(statement)
            except ShapeError as error:
                self.skip_statement(statement, error)
            if self.frame.state["exit"]:
                return

    def count_iteration(self, node: ast.AST) -> None:
        """Count a statement or an iteration of a loop.

        Raises `ShapeError` (usage) if the limit is exceeded.
        """
        self.statement_count += 1
        if self.statement_count > MAX_STATEMENTS:
            raise MAX_STATEMENTS.error(f"{self.statement_count} statements of code", PASTE_HINT, argument="line")

    def skip_statement(self, statement: ast.stmt, error: ShapeError) -> None:
        """Bind the error of a statement to the names that the statement assigns."""
        if self.statement_count > MAX_STATEMENTS:
            raise error
        if error not in self.unknown_calls and not self.is_quiet:
            self.record_unknown_part(statement, error)
        state = self.frame.state
        if isinstance(statement, ast.Return):
            self.undo_log.write(state, "results", (*state["results"], (error, None)))
            self.undo_log.write(state, "exit", "return")
            self.undo_log.write(state, "last", error)
            self.record_statement(statement, {"": error})
            return
        stored = names_in_statement(statement, ast.Store) - {""}
        self.record_in_place_change(statement)
        self.invalidate_containers(statement, error)
        if not stored or not self.assigns_declared_inputs(stored, names_in_statement(statement, ast.Load)):
            self.undo_log.write(state, "last", error)
            if stored and not self.is_quiet:
                self.skipped_errors[error] = None
            for name in stored:
                self.assign_name(name, error)
            self.record_statement(statement, dict.fromkeys(bound_names(statement), error))

    def record_unknown_part(self, statement: ast.stmt, error: ShapeError) -> None:
        """Record the first call or item in a statement that raises `error`.

        The user can provide its shape.
        """
        if error.problem.hint.startswith("give its shape"):  # the hint already says what to write
            return
        value = getattr(statement, "value", None)
        pending = [value] if isinstance(value, ast.expr) else []
        while pending:
            node = pending.pop(0)
            is_number = isinstance(node, ast.Call) and dotted_name(node.func) in BUILTINS
            is_change = isinstance(node, ast.Call) and getattr(node.func, "attr", "") in LIST_METHODS
            if isinstance(node, ast.Call | ast.Subscript) and not (is_number or is_change):
                if node is value or self.evaluate_binding(node) is error:
                    self.record_unknown_shape(node, error)
                    return
            else:
                pending += [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]

    def assigns_declared_inputs(self, stored: Iterable[str], loaded: set[str]) -> bool:
        """Return whether a statement assigns only inputs whose shapes the user declares.

        Such a statement, for example `img = imread('a.png')`, is outside of functions, its inputs are unassigned, and
        its value does not depend on a variable.
        """
        is_declared = all(name in self.inputs and self.find_value(name) is self.inputs[name] for name in stored)
        return is_declared and self.is_snippet and not any(self.is_assigned(name) for name in loaded if name)

    def invalidate_containers(self, statement: ast.stmt, error: ShapeError) -> None:
        """Invalidate the lists and dicts that a skipped statement may change.

        A call whose result is not used may change its arguments.
        """
        is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)
        targets = [*statement.value.args] if is_call else []  # type: ignore[attr-defined]  # it is a call
        for node in ast.walk(statement):
            target: ast.expr | None = targets.pop() if targets else None
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in LIST_METHODS:
                target = node.func.value
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
                target = node.value
            elif isinstance(node, ast.AugAssign):
                target = node.target
            name = dotted_name(target) if target is not None else ""
            value = self.find_binding(name) if name else MISSING
            if isinstance(value, CodeList | CodeDict):
                self.undo_log.write(value.state, "items", error)
            elif isinstance(value, LayerInstance | tuple):
                self.assign_name(name, error)

    def record_in_place_change(self, statement: ast.stmt) -> None:
        """Record that a skipped statement may change tensors in place.

        Examples are `x.fill_(0)`, `np.random.shuffle(x)` and a loop that assigns to `x[i]`.
        """
        nodes = [*ast.walk(statement)]
        may_change = isinstance(statement, ast.Expr) or any(
            isinstance(node, ast.Expr | ast.AugAssign)
            or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
            for node in nodes[1:]
        )
        names = {dotted_name(node) for node in nodes} - {""} if may_change else ()
        if any(isinstance(self.find_binding(name), TracedTensor) for name in names):
            self.in_place_change = self.in_place_change or self.source_text(statement)

    def interpret_statement(self, node: ast.stmt) -> None:
        """Interpret a statement, and record the values that it binds or returns."""
        if isinstance(node, ast.Raise | ast.Break | ast.Continue):
            self.undo_log.write(self.frame.state, "exit", type(node).__name__.lower())
        if isinstance(node, IGNORED_STATEMENTS) or is_print_or_constant(node):
            return
        match node:
            case ast.If():
                self.interpret_if(node)
            case ast.With(body=body):
                self.interpret_body(body)
            case ast.For() | ast.While():
                self.interpret_loop(node)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                self.interpret_alternatives(node, [[*body, *orelse], *[handler.body for handler in handlers]])
                if not self.frame.state["exit"]:
                    self.interpret_body(final)
            case ast.FunctionDef() | ast.ClassDef():
                self.interpret_definition(node)
            case ast.Expr() | ast.Return() | ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                self.interpret_simple_statement(node)
            case _:
                raise self.error(node, "this statement is not supported", PASTE_HINT)

    def interpret_simple_statement(
        self, node: ast.Expr | ast.Return | ast.Assign | ast.AnnAssign | ast.AugAssign
    ) -> None:
        """Interpret a statement without a body."""
        names = dict[str, Binding]()
        match node:
            case ast.Expr(value=ast.Attribute(value=inner, attr="shape") | inner) | ast.Return(value=inner) if inner:
                value = self.evaluate(inner)
                names[""] = value
            case ast.Return():
                value = None
            case ast.AnnAssign(value=None):
                return
            case ast.Assign(value=inner) | ast.AnnAssign(value=ast.expr() as inner):
                value = self.interpret_assignment(node, inner)
            case ast.AugAssign(target=target, op=sign, value=inner):
                value = self.apply_operator(
                    node, self.evaluate(target), OPERATOR_SYMBOLS.get(type(sign).__name__, "&"), self.evaluate(inner)
                )
                value = self.update_in_place(node, value)
                self.assign_target(target, value)
        state = self.frame.state
        names |= {name: self.find_binding(name) for name in bound_names(node)}
        self.record_statement(node, {name: binding for name, binding in names.items() if binding is not MISSING})
        tensors = value if isinstance(value, tuple) else value.bindings if isinstance(value, CodeList) else (value,)
        if isinstance(node, ast.Return):
            self.undo_log.write(state, "results", (*state["results"], (value, None)))
            self.undo_log.write(state, "exit", "return")
            self.undo_log.write(state, "last", value)
        elif any(isinstance(item, TracedTensor | TensorChunks) for item in tensors):
            self.undo_log.write(state, "last", value)

    def record_statement(self, node: ast.stmt, names: Mapping[str, Binding]) -> None:
        """Record the values that a statement binds or returns.

        Names without a value are omitted, for example an item of an unknown dict.
        """
        frame, end = self.frame, node.end_lineno or node.lineno
        if self.is_quiet:
            return
        values = {
            name: copy_lists(value)
            for name, value in names.items()
            if not (isinstance(value, Monomial) and str(value) == name and name not in self.input_size_names)
        }
        text = self.source_text(node)
        self.records.append(StatementRecord(node.lineno, end, frame.function, frame.depth, values, text))

    def interpret_definition(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        """Bind the name of a function or class.

        The body of a class is interpreted in a frame of its own.
        """
        if isinstance(node, ast.FunctionDef):
            closure = self.frame.parent if self.frame.state.get("is_class") else self.frame
            assert closure is not None
            self.bind_variable(node.name, FunctionValue(node, closure))
            return
        outer, was_quiet = self.frame, self.is_quiet
        bases = [self.find_value(name) if (name := dotted_name(base)) else MISSING for base in node.bases]
        members = CallFrame(node.name, outer, outer.depth)
        members.state["is_class"] = True
        self.frame, self.is_quiet = members, True
        try:
            self.interpret_body(node.body)
        finally:
            self.frame, self.is_quiet = outer, was_quiet
        self.bind_variable(node.name, ClassValue(node, outer, bases, members))

    def interpret_if(self, node: ast.If) -> None:
        """Interpret the branch of an `if` statement that is executed.

        If the condition is unknown, both branches are interpreted and their changes are merged.
        """
        is_true = self.evaluate_truth(node.test)
        if is_true is not None:
            self.interpret_body(node.body if is_true else node.orelse)
            return
        self.interpret_alternatives(node, [node.body, node.orelse], node.test)

    def interpret_alternatives(
        self, node: ast.If | ast.Try, bodies: Sequence[Sequence[ast.stmt]], test: ast.expr | None = None
    ) -> None:
        """Interpret alternative bodies, and merge their changes.

        Only one of the bodies would be executed. `test` is the condition of an `if` statement.
        """
        branches = [self.interpret_branch(body, test, index == 0) for index, body in enumerate(bodies)]
        error = self.branch_error(node, test) if test else self.error(node, "whether this raises is not known")
        possible = [branch for branch in branches if not isinstance(branch, StageRefused)]
        if len(possible) == len(branches):
            self.merge_branches(possible, error)
        elif possible:
            self.invalidate_assigned_names(node, possible, error)
        else:
            raise branches[0]  # type: ignore[misc]  # all are refusals

    def interpret_branch(
        self,
        body: Sequence[ast.stmt],
        test: ast.expr | None = None,
        is_true: bool = True,
    ) -> Changes | StageRefused:
        """Interpret a branch, undo its changes and return them.

        `test` is the condition of the branch, if there is one. Returns the exception if an op in the branch is refused.
        """
        self.undo_log.start()
        try:
            narrowed = self.narrow_names(test, is_true) if test is not None else []
            self.interpret_body(body)
        except StageRefused as refused:
            self.undo_log.roll_back()
            self.refused_line = 0
            return refused
        except BaseException:
            self.undo_log.roll_back()
            raise
        changes = self.undo_log.roll_back()
        for name, value in narrowed:
            key = name.rpartition(".")[2]
            for slot in [slot for slot in changes if slot[1] in (key, name) and changes[slot][2] is value]:
                del changes[slot]  # the body does not change the name
        return changes

    def invalidate_assigned_names(
        self, node: ast.If | ast.Try | ast.For | ast.While, branches: Sequence[Changes], error: ShapeError
    ) -> None:
        """Invalidate the values that the branches of a condition change.

        This is necessary if a branch is interrupted by a refused op.
        """
        for changes in branches:
            for container, key, _ in changes.values():
                if container is not self.frame.state:
                    self.undo_log.write(container, key, error)
        for name in names_in_statement(node, ast.Store):
            self.assign_name(name, error)
        state = self.frame.state
        if any(isinstance(part, ast.Return) for part in ast.walk(node)):
            self.undo_log.write(state, "results", (*state["results"], (error, None)))
            self.undo_log.write(state, "exit", "return")
        self.undo_log.write(state, "last", error)

    def merge_branches(self, branches: Sequence[Changes], error: ShapeError) -> None:
        """Merge the changes of two branches.

        A name with different values is bound to `error`. If a branch returns or raises, the statements after the
        condition belong to the other branch.
        """
        state = self.frame.state
        exits = [changes.get((id(state), "exit"), (state, "exit", ""))[2] for changes in branches]
        if self.loop_exits.choice is not None and 0 < sum(leaves in LOOP_EXITS for leaves in exits) < len(branches):
            is_left = self.loop_exits.count == self.loop_exits.choice
            self.loop_exits.count += 1
            branches = [
                changes for changes, leaves in zip(branches, exits, strict=True) if (leaves in LOOP_EXITS) == is_left
            ]
            self.merge_branches(branches, error)
            return
        if {"break", "continue", "unknown"} & {*exits}:
            self.apply_changes(branches, error)
            self.undo_log.write(state, "exit", "unknown")
            self.undo_log.write(state, "last", error)
            return
        going = [changes for changes, leaves in zip(branches, exits, strict=True) if not leaves]
        before = state["results"]
        results = [
            (value, error if other is None else other)
            for changes in branches
            for value, other in changes.get((id(state), "results"), (state, "", before))[2][len(before) :]
        ]
        if going:
            self.apply_changes(going, error)
            self.undo_log.write(state, "exit", "")
        else:
            self.apply_changes(branches, error)
            self.undo_log.write(state, "exit", "return" if "return" in exits else "raise")
        self.undo_log.write(state, "results", (*before, *results))

    def apply_changes(self, branches: Sequence[Changes], error: ShapeError) -> None:
        """Apply the merged changes of the branches that may be executed."""
        slots = {slot: (container, key) for changes in branches for slot, (container, key, _) in changes.items()}
        for slot, (container, key) in slots.items():
            before = container.get(key, MISSING)
            first, *rest = [changes[slot][2] if slot in changes else before for changes in branches]
            for other in rest:
                first = self.merge_slot(key, first, other, error)
            self.undo_log.write(container, key, first)

    def merge_slot(self, key: object, left: Any, right: Any, error: ShapeError) -> Any:
        """Merge the values of one key of a frame, object, list or dict."""
        if key == "items" and isinstance(left, tuple) and isinstance(right, tuple):
            joined = merge_values(CodeList(left), CodeList(right), error)
            return joined.state["items"] if isinstance(joined, CodeList) else error
        if isinstance(left, dict) and isinstance(right, dict):
            added = left.keys() ^ right.keys()  # an unknown key may equal any key of the other branch
            items = {name: error for name in added if name is not UNKNOWN_KEY}
            shared = left.keys() & right.keys()
            items |= {name: self.merge_slot(name, left[name], right[name], error) for name in shared}
            return {**left, **right, **items}
        if isinstance(left, dict) or isinstance(right, dict):
            return error
        return left if left is right else merge_values(left, right, error)

    def interpret_loop(self, node: ast.For | ast.While) -> None:
        """Interpret a `for` or `while` loop.

        If the number of iterations is unknown, the loop is interpreted until another iteration changes no values.
        """
        count, known, outer = len(self.records), {**self.skipped_errors}, self.loop_exits
        self.loop_exits = LoopExits(None)
        self.undo_log.start()
        try:
            if isinstance(node, ast.While):
                self.interpret_while(node)
            else:
                self.interpret_for(node)
        except UnknownIterations as unknown:
            self.undo_log.roll_back()
            del self.records[count:]
            self.skipped_errors = known
            self.interpret_unknown_loop(node, unknown)
        except BaseException:
            self.undo_log.merge()
            raise
        else:
            self.undo_log.merge()
        finally:
            self.loop_exits = outer

    def interpret_for(self, node: ast.For) -> None:
        """Interpret a `for` loop.

        Raises `UnknownIterations` if the number of iterations is unknown.
        """
        for item in self.iterate(node.iter):
            self.count_iteration(node)
            self.assign_target(node.target, item)
            self.interpret_body(node.body)
            if self.is_last_iteration(node):
                return
        self.interpret_body(node.orelse)

    def iterate(self, node: ast.expr) -> Iterator[Binding]:
        """Yield the items of the iterable in a `for` statement.

        If the iterable is an iterator, the body of the loop may also take items from it. Raises `UnknownIterations` for
        unknown items.
        """
        try:
            value = self.evaluate(node)
            if not (isinstance(value, CodeList) and value.is_iterator):
                yield from self.iterable_items(node, value)
                return
        except ShapeError as error:
            unknown = UnknownIterations(error.problem)
            if error in self.unknown_calls:
                self.unknown_calls[unknown] = self.unknown_calls[error]
            raise unknown from None
        while value.bindings:
            item, *rest = value.bindings
            self.undo_log.write(value.state, "items", tuple(rest))
            yield item

    def interpret_unknown_loop(self, node: ast.For | ast.While, error: ShapeError) -> None:
        """Interpret a loop with an unknown number of iterations.

        The values after an iteration are merged with those before it, until no value changes.
        """
        was_quiet, self.is_quiet = self.is_quiet, True
        try:
            is_stable = any(not self.merge_iteration(node, error) for _ in range(MAX_MERGES))
            self.is_quiet = was_quiet
            if not was_quiet:
                count, names = len(self.records), {*self.program.names}
                self.merge_iteration(node, error)
                self.hide_iteration_sizes(count, self.program.names.keys() - names, error)
        finally:
            self.is_quiet = was_quiet
        if not is_stable:
            self.invalidate_assigned_names(node, [], error)
        self.loop_exits = LoopExits(None)
        self.interpret_body(node.orelse)

    def hide_iteration_sizes(self, start: int, names: Set[str], error: ShapeError) -> None:
        """Replace recorded tensors whose shapes may differ between the iterations of a loop with `error`.

        Such sizes depend on elements. `names` are the new names, and `start` is the number of records before the loop.
        """
        own = names & self.program.data_dependent_names
        if not own:
            return
        for index, record in enumerate(self.records[start:], start):
            values = {
                name: error if own & {*dim_names(dims_in(value))} else value for name, value in record.names.items()
            }
            self.records[index] = replace(record, names=values)

    def merge_iteration(self, node: ast.For | ast.While, error: ShapeError) -> bool:
        """Interpret one iteration of a loop, and merge its changes with the values before it.

        The body is interpreted once to its end, and once for each unknown condition that may end the iteration. Returns
        whether a value changed.
        """
        branches: list[Changes | StageRefused] = []
        state = self.frame.state
        self.loop_exits = LoopExits(-1)
        branches.append(self.interpret_iteration(node))
        for choice in range(min(self.loop_exits.count, MAX_EARLY_EXITS)):
            was_quiet, self.is_quiet, self.loop_exits = self.is_quiet, True, LoopExits(choice)
            branches.append(self.interpret_iteration(node))
            self.is_quiet = was_quiet
        possible = [branch for branch in branches if not isinstance(branch, StageRefused)]
        if len(possible) < len(branches):
            self.invalidate_assigned_names(node, possible, error)
            return False
        before, results = state["results"], list[tuple[Binding, ShapeError | None]]()
        for changes in possible:
            changes.pop((id(state), "exit"), None)
            results += changes.pop((id(state), "results"), (state, "", before))[2][len(before) :]
        slots = {slot: (container, key) for changes in possible for slot, (container, key, _) in changes.items()}
        old = {slot: container.get(key, MISSING) for slot, (container, key) in slots.items()}
        self.apply_changes([{}, *possible], error)
        self.undo_log.write(state, "results", (*before, *[(value, other or error) for value, other in results]))
        return any(container.get(key, MISSING) != old[slot] for slot, (container, key) in slots.items())

    def interpret_iteration(self, node: ast.For | ast.While) -> Changes | StageRefused:
        """Interpret one iteration of an unknown loop, undo its changes and return them."""
        self.count_iteration(node)
        self.undo_log.start()
        if isinstance(node, ast.For):
            self.assign_unknown_item(node)
        inner = self.interpret_branch(node.body)
        if isinstance(inner, StageRefused):
            self.undo_log.roll_back()
            return inner
        for container, key, value in inner.values():
            self.undo_log.write(container, key, value)
        return self.undo_log.roll_back()

    def assign_unknown_item(self, node: ast.For) -> None:
        """Bind the target of a loop to an item of an iterable of unknown length."""
        value = self.evaluate_binding(node.iter)
        if isinstance(value, TracedTensor) and value.rank:
            value = TensorChunks(value, 0, None)
        if isinstance(value, TensorChunks) and value.split_options is None:
            self.assign_target(node.target, value.chunk(0))
            return
        error = value if isinstance(value, ShapeError) else self.error(node.iter, "this item is not known")
        items = value.bindings if isinstance(value, CodeList) else value if isinstance(value, tuple) else ()
        item: Binding = items[0] if items else error
        for other in items[1:]:
            item = merge_values(item, other, error)
        if not isinstance(item, ShapeError):
            self.assign_target(node.target, item)
            return
        for name in filter(None, bound_names(node.target)):
            self.assign_name(name, error)

    def interpret_while(self, node: ast.While) -> None:
        """Interpret a `while` loop."""
        while (is_true := self.evaluate_truth(node.test)) is not False:
            self.count_iteration(node)
            if is_true is None:
                raise UnknownIterations(self.error(node, "how often this loop is run is not known").problem)
            self.interpret_body(node.body)
            if self.is_last_iteration(node):
                return
        self.interpret_body(node.orelse)

    def is_last_iteration(self, node: ast.For | ast.While) -> bool:
        """Return whether a loop ends after this iteration.

        Raises `ShapeError` (usage) if this is unknown.
        """
        leaves = self.frame.state["exit"]
        if leaves in ("break", "continue", "unknown"):
            self.undo_log.write(self.frame.state, "exit", "")
        if leaves == "unknown":
            raise UnknownIterations(self.error(node, "how often this loop is run is not known").problem)
        return leaves not in ("", "continue")

    def interpret_assignment(self, node: ast.Assign | ast.AnnAssign, value_node: ast.expr) -> CodeValue:
        """Bind the targets of an assignment, and return its value.

        An input that is assigned a constant or a new tensor, as in `x = torch.zeros(2, 3)`, keeps the shape that the
        user declared.
        """
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        name, is_created = (
            dotted_name(targets[0]),
            isinstance(value_node, ast.Call) and getattr(value_node.func, "attr", "") in CREATION_FUNCTIONS,
        )
        is_top = self.frame.depth == 0
        value: CodeValue = None
        if (is_created or isinstance(value_node, ast.Constant)) and name in self.inputs:
            value = self.inputs[name] if self.assigns_declared_inputs([name], set()) else None
        if value is None and isinstance(value_node, ast.Constant) and name in self.sizes and is_top:
            value = self.lookup_size(value_node, name)
        elif value is None:
            self.check_shape_known(value_node, targets[0])
            parts = getattr(targets[0], "elts", [])
            if len(parts) > 1 and not any(isinstance(part, ast.Starred) for part in parts):
                self.unpacked_counts[value_node] = len(parts)
            value = self.evaluate(value_node)
        if hasattr(targets[0], "elts"):
            self.check_tensors_known([value_node])
            if value is None and dotted_name(value_node):
                raise self.absent_value_error(value_node)
        for target in targets:
            self.assign_target(target, value)
        return value

    def check_shape_known(self, value_node: ast.expr, target: ast.expr) -> None:
        """Raise `ShapeError` (usage) if the shape of an unknown tensor is unpacked.

        For example, `B, T, C = x.shape` unpacks the shape of x.
        """
        name, dims = dotted_name(value_node), ",".join(filter(None, map(dotted_name, getattr(target, "elts", ()))))
        if dims and name.endswith(".shape") and not (self.is_assigned(name) or {name, "shape"} & self.sizes.keys()):
            assert isinstance(value_node, ast.Attribute)
            raise self.missing_shape_error(value_node.value, dims)


def _library_path(library: str) -> Path:
    """Return the path that represents a library among the loaded modules."""
    from pathlib import Path  # imported here, because it takes 3 ms, and a line of code has no path

    return Path(library)


def dims_in(value: Binding) -> list[Dim]:
    """Return the sizes in the shapes of the tensors in a value, and a size itself."""
    if isinstance(value, TracedTensor):
        return [*value.shape]
    if isinstance(value, ShapeError) or (isinstance(value, CodeList) and not value.is_known):
        return []
    if is_dim(value):
        return [value]
    return [dim for item in items_in(value) for dim in dims_in(item)]


def copy_lists(value: Binding) -> Binding:
    """Return a value with copies of its lists and dataclasses, so that later statements do not change them."""
    if isinstance(value, CodeList) and value.is_known:
        return CodeList([copy_lists(item) for item in value.bindings])
    if isinstance(value, ObjectValue) and value.fields:
        copied = ObjectValue(value.cls)
        copied.attributes.update(value.attributes)
        return copied
    return tuple([copy_lists(item) for item in value]) if isinstance(value, tuple) else value  # type: ignore[misc]


def _assigned_values(method: ast.FunctionDef) -> Iterator[tuple[str, int]]:
    """Yield each name to which a method assigns a non-constant value, and the line."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and not isinstance(node.value, ast.Constant):
            for name in names_in_statement(node, ast.Store):
                yield name, node.lineno


def _parameter_names(cls: ast.ClassDef) -> set[str]:
    """Return the names to which `__init__` assigns a `Parameter`.

    Another method that replaces a parameter changes the model itself.
    """
    return {
        name
        for method in cls.body
        if isinstance(method, ast.FunctionDef) and method.name == "__init__"
        for node in ast.walk(method)
        if isinstance(node, ast.Assign)
        and any(isinstance(part, ast.Call) and dotted_name(part.func).endswith("Parameter") for part in ast.walk(node))
        for name in names_in_statement(node, ast.Store)
    }


class UnknownIterations(ShapeError):
    """The exception raised for a loop with an unknown number of iterations."""


LOOP_EXITS = ("break", "continue")
MAX_MERGES = 6
"""The maximum number of iterations that are merged. If a value still changes, the changed names become unknown."""
MAX_EARLY_EXITS = 4
"""The maximum number of unknown conditions in a loop body for which an early end of the iteration is interpreted."""
MODULE_NAME = "module"
"""The value of `__name__` in interpreted code, as in an imported module."""
LIST_METHODS = {
    "add_module",
    "append",
    "extend",
    "insert",
    "pop",
    "reverse",
    "clear",
    "sort",
    "remove",
    "update",
    "setdefault",
}
"""The methods that change a list or a dict."""
