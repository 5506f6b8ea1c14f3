"""The interpretation of statements."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import nan

from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.dims import Dim, Shape, dim_names
from shapecalc.core.limits import MAX_SHAPE_DIMS, MAX_STATEMENTS
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import replace
from shapecalc.core.requests import check_size_names
from shapecalc.core.text import escape_unprintable, shape_text, truncate
from shapecalc.reading.code.arithmetic import OPERATOR_SYMBOLS, get_item
from shapecalc.reading.code.call_evaluation import CallEvaluator
from shapecalc.reading.code.comments import shapes_in_comments
from shapecalc.reading.code.results import CodeChain, UnnamedInputIdentified
from shapecalc.reading.code.sizes import CREATION_FUNCTIONS
from shapecalc.reading.code.source import (
    IGNORED_STATEMENTS,
    PASTE_HINT,
    dotted_name,
    first_variable,
    is_print,
    names_in_statement,
)
from shapecalc.reading.code.values import (
    UNNAMED_CHANGE,
    CodeValue,
    StageRefused,
    TensorChunks,
    TracedTensor,
    is_dim,
    tensors_in,
    unbind_first_axis,
)
from shapecalc.reading.pattern import Matcher


class CodeInterpreter(CallEvaluator):
    """An abstract interpreter of Python code over sizes, tuples and tensors.

    The error of an unsupported statement becomes the value of the names that the statement assigns. The error is raised
    where such a name is used, so unsupported statements that do not affect the answer are harmless.
    """

    def interpret(
        self, statements: Sequence[ast.stmt], inputs: Mapping[str, Shape], strides: Mapping[str, Shape] = EMPTY_DICT
    ) -> CodeChain:
        """Interpret statements and return the chain that they perform.

        `inputs` maps the names of tensors to shapes, and `strides` those of some tensors to their strides. If a name is
        empty, the method finds the name in the code and raises `UnnamedInputIdentified`. Raises `ShapeError` (usage)
        for code that is not supported.
        """
        self.interpret_inputs(inputs, strides)
        known = dim_names([dim for dims in inputs.values() for dim in dims])
        try:
            self.interpret_body(statements)
        except StageRefused as refused:
            if "\n" in self.text.strip():
                source_line = self.text.splitlines()[self.line - 1].strip()
                self.notes[escape_unprintable(f"refused in line {self.line}: {truncate(source_line)}")] = None
            return CodeChain(refused.args[0], refused.args[1], self.collect_notes(known), True)
        if self.has_unnamed_input:
            raise UnnamedInputIdentified(first_variable(statements))
        if isinstance(self.last_result, ShapeError):
            raise self.last_result
        check_size_names(dict.fromkeys(self.sizes, 0), [*known, *sorted(self.used_size_names)])
        return self.build_chain(self.last_result, known)

    def build_chain(self, value: CodeValue, known_names: Sequence[str]) -> CodeChain:
        """Return the chain that produces a value.

        Raises `ShapeError` (usage) if the value is not a tensor, or is a tensor without stages.
        """
        tensors, outputs = self.results_of(value)
        if not tensors:
            raise usage_error("the code does not end with a tensor", PASTE_HINT, argument="line")
        first, others = tensors[0], tensors[1:]
        if not first.stages:
            shown = truncate(shape_text(first.shape))
            hint = "give what comes before it, or the class that makes it"
            raise usage_error(f"the code ends with a tensor as it was given or made, {shown}", hint, argument="line")
        changes = [*filter(None, [*[tensor.untraced_change for tensor in tensors], self.in_place_change])]
        return CodeChain(
            first.input_shape,
            first.stages,
            self.collect_notes(known_names),
            first.is_main,
            changes[0] if changes else "",
            outputs,
            tuple([(tensor.input_shape, tensor.stages) for tensor in others]),
        )

    def results_of(self, value: CodeValue) -> tuple[list[TracedTensor], tuple[Shape, ...]]:
        """Return the tensors of a value, and the shapes of all if there are several.

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

    def collect_notes(self, known_names: Sequence[str]) -> tuple[str, ...]:
        """Return the notes on the interpretation.

        The notes report assumptions, skipped statements, and comments that contradict the actual shapes.
        """
        notes = [*self.notes, *[f"passed over: {error.problem.message}" for error in self.skipped_errors]]
        sizes = {
            name: size for name, size in self.variables.items() if isinstance(size, Dim) and name not in known_names
        }
        for line, pattern in shapes_in_comments(self.text) if self.shape_by_line else ():
            matcher = Matcher(pattern, sizes, known_names)
            problem = matcher.match_shape(self.shape_by_line[line]) if line in self.shape_by_line else None
            sizes = matcher.sizes if problem is None else sizes
            notes += [f"line {line}, the comment: {problem.message}"] if problem else []
        return tuple(notes)

    def interpret_body(self, statements: Sequence[ast.stmt]) -> None:
        """Interpret statements in order, up to the first return.

        The error of an unsupported statement becomes the value of the names that the statement assigns. If the
        statement assigns only inputs, the inputs keep their shapes.
        """
        for statement in statements:
            self.statement_count += 1
            if self.statement_count > MAX_STATEMENTS:
                raise MAX_STATEMENTS.error(f"{self.statement_count} statements of code", PASTE_HINT, argument="line")
            self.line, self.in_shape_argument = statement.lineno, False
            try:
                self.interpret_statement(statement)
            except ShapeError as error:
                stored = names_in_statement(statement, ast.Store)
                self.note_in_place_change(statement)
                if not stored or stored - (self.inputs.keys() - names_in_statement(statement, ast.Load)):
                    self.last_result = error
                    self.skipped_errors.update(dict.fromkeys([error] if stored else []))
                    self.variables.update(dict.fromkeys(stored, error))
            self.has_returned = self.has_returned or isinstance(statement, ast.Return | ast.Raise)
            if self.has_returned:
                return

    def note_in_place_change(self, statement: ast.stmt) -> None:
        """Record that a statement may change a tensor in place, if it was not interpreted and names a tensor.

        Examples are `x.fill_(0)`, `np.random.shuffle(x)` and a loop that assigns to `x[i]`.
        """
        names = {name for name, value in self.variables.items() if isinstance(value, TracedTensor)}
        nodes = [*ast.walk(statement)]
        may_change = isinstance(statement, ast.Expr) or any(
            isinstance(node, ast.Expr | ast.AugAssign)
            or (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store))
            for node in nodes[1:]
        )
        if may_change and names & {dotted_name(node) for node in nodes}:
            self.in_place_change = self.in_place_change or self.source_text(statement)

    def interpret_statement(self, node: ast.stmt) -> None:
        """Interpret one statement; record its value if it is a tensor."""
        match node:
            case _ if isinstance(node, IGNORED_STATEMENTS) or is_print(node):
                return
            case ast.If():
                self.interpret_if(node)
                return
            case ast.With(body=body):
                self.interpret_body(body)
                return
            case ast.Expr(value=ast.Attribute(value=inner, attr="shape") | inner) | ast.Return(value=inner) if inner:
                value = self.evaluate(inner)
            case ast.Assign(value=inner) | ast.AnnAssign(value=ast.expr() as inner):
                value = self.interpret_assignment(node, inner)
            case ast.AugAssign(target=target, op=sign, value=inner):
                value = self.apply_operator(
                    node, self.evaluate(target), OPERATOR_SYMBOLS.get(type(sign).__name__, "&"), self.evaluate(inner)
                )
                value = self.update_in_place(node, value)
                self.assign(target, value)
            case _:
                raise self.error(node, "this statement is not supported", PASTE_HINT)
        part = value.chunk(0) if isinstance(value, TensorChunks) and value.count != 0 else value
        shape = part.shape if isinstance(part, TracedTensor) else part
        if isinstance(shape, tuple):
            self.shape_by_line[node.end_lineno or 0] = tuple(filter(is_dim, shape))
        tensors = value if isinstance(value, tuple) else (value,)
        if isinstance(node, ast.Return) or any(isinstance(item, TracedTensor | TensorChunks) for item in tensors):
            self.last_result = value

    def interpret_if(self, node: ast.If) -> None:
        """Interpret the branch that is taken; if it is unknown, no branch assigns a name."""
        branch = self.evaluate_condition(node.test, node)
        self.interpret_body({True: node.body, False: node.orelse, None: ()}[branch])
        for statement in (*node.body, *node.orelse) if branch is None else ():
            if not isinstance(statement, IGNORED_STATEMENTS) and not is_print(statement):
                self.note_in_place_change(statement)

    def update_in_place(self, node: ast.AugAssign, value: CodeValue) -> CodeValue:
        """Return the value of a target after an augmented assignment.

        PyTorch and NumPy update a tensor in place, so that it keeps its strides and other names of it change, too.
        """
        before = self.evaluate(node.target)
        if not isinstance(before, TracedTensor) or not isinstance(value, TracedTensor):
            return value
        self.in_place_change = self.in_place_change or self.source_text(node)
        change = self.source_text(node) if value.untraced_change == UNNAMED_CHANGE else value.untraced_change
        return replace(value, strides=before.strides, untraced_change=change)

    def interpret_assignment(self, node: ast.Assign | ast.AnnAssign, value_node: ast.expr) -> CodeValue:
        """Bind the targets of an assignment and return the value.

        If the first target is an input and the value is a constant or a new tensor, as in `x = torch.zeros(2, 3)`, the
        input keeps the shape that the user declared.
        """
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        name, is_created = (
            dotted_name(targets[0]),
            isinstance(value_node, ast.Call) and getattr(value_node.func, "attr", "") in CREATION_FUNCTIONS,
        )
        value: CodeValue = self.inputs.get(name) if is_created or isinstance(value_node, ast.Constant) else None
        if value is None and isinstance(value_node, ast.Constant) and name in self.sizes:
            value = self.lookup_size(value_node, name)
        elif value is None:
            self.check_shape_known(value_node, targets[0])
            value = self.evaluate(value_node)
        if hasattr(targets[0], "elts"):
            self.check_tensors_known([value_node])
        for target in targets:
            self.assign(target, value)
        return value

    def check_shape_known(self, value_node: ast.expr, target: ast.expr) -> None:
        """Raise `ShapeError` (usage) for `B, T, C = x.shape` if `x` is unknown."""
        name, dims = dotted_name(value_node), ",".join(filter(None, map(dotted_name, getattr(target, "elts", ()))))
        if dims and name.endswith(".shape") and not (self.is_assigned(name) or {name, "shape"} & self.sizes.keys()):
            assert isinstance(value_node, ast.Attribute)
            raise self.missing_shape_error(value_node.value, dims)

    def assign(self, target: ast.expr, value: CodeValue) -> None:
        """Bind an assignment target; unpack tuples and starred targets."""
        name, parts = dotted_name(target), getattr(target, "elts", None)
        if name:
            self.variables[name] = value
            return
        if parts is None and isinstance(target, ast.Subscript):
            self.in_place_change = self.in_place_change or self.source_text(target)
            return
        value = unbind_first_axis(value, self.error_factory(target)) if isinstance(value, TracedTensor) else value
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
            self.assign(part, get_item(value, position, self.error_factory(part)))

    def evaluate_condition(self, test: ast.expr, node: ast.If) -> bool | None:
        """Return the truth value of a condition, or None if it is unknown.

        Raises `ShapeError` (usage) if the truth value is unknown and a branch assigns a name.
        """
        value: CodeValue = nan
        with suppress(ShapeError):
            value = self.evaluate(test)
        if value is None or isinstance(value, int):
            return bool(value)
        if names_in_statement(node, ast.Store):
            hint = f"paste the lines of one, or give it: --where {truncate(self.source_text(test))}=0"
            raise self.error(node, "which branch is taken is not known", hint)
        return None
