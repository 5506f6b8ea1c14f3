"""Lines of code as chains: PyTorch, NumPy, TensorFlow or JAX, read from the syntax tree and never run.

A line is an expression over one tensor. Names that are not the tensor's are sizes.
"""

from __future__ import annotations

import ast

from shapecalc.core.asking.ask import check_names_known, dialect_called
from shapecalc.core.asking.code_calls import call_tensor, is_known
from shapecalc.core.asking.code_syntax import MODULES, as_written, dialect_of, dotted_name, parsed, root_of, span_of
from shapecalc.core.asking.code_tensors import Parts, Refused, Tensor, flipped, indexed, positions
from shapecalc.core.asking.code_values import arithmetic, element, is_number, measure, negated
from shapecalc.core.sizes.dims import Monomial, Shape, named_dim, names, substitute
from shapecalc.core.sizes.problem import ShapeError, misuse
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.record import Record
from shapecalc.core.sizes.text import read_dims
from shapecalc.core.sizes.tokens import LONGEST_WORD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shapecalc.core.asking.code_tensors import Failing, Value
    from shapecalc.core.asking.defaults import Stage

LONGEST = 1 << 16
"""The most characters of code that are read."""
OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
}


class Read(Record):
    """What a piece of code does to its tensor: the stages of a chain, and what is to be said of the reading."""

    shape: Shape
    stages: tuple[Stage, ...]
    notes: tuple[str, ...]


def read_code(text: str, name: str | None, shape: Shape, dialect: str | None, sizes: Mapping[str, int]) -> Read:
    """Return what code does to the tensor called `name`, of that shape; without a name, to the one that it begins with.

    `sizes` are put in for names of sizes. Raises `ShapeError` (usage) for what cannot be read, with its place.

    >>> from shapecalc.core.sizes.text import read_dims
    >>> read_code("x.transpose(1, 2)", "x", read_dims("B,T,C"), None, {}).stages
    (('transpose', {'perm': (0, 2, 1), 'dialect': 'torch'}),)
    """
    if len(text) > LONGEST:
        raise misuse(f"{len(text)} characters of code, and no more than {LONGEST} are read", argument="line")
    tree = parsed(text)
    try:
        row = dialect_called(dialect).name if dialect else dialect_of(tree)
        given = tuple([substitute(dim, sizes) for dim in shape])
        reader = Reader(text, as_written(name) if name else root_of(tree), row, sizes)
        return reader.read(tree, given, {*names(shape)})
    except RecursionError:
        raise misuse("the code is nested too deep", argument="line") from None


def is_code(text: str) -> bool:
    """Say whether a text is Python that does something known to a tensor, and no shape.

    >>> is_code("x.view(2, -1)"), is_code("x[:, None]"), is_code("torch.Size([2, 3])"), is_code("3*H*W")
    (True, True, False, False)
    """
    if len(text) > LONGEST or _is_shape(text):
        return False
    try:
        nodes = list(ast.walk(parsed(text.strip())))
    except ShapeError:
        return False
    called = [getattr(each.func, "attr", dotted_name(each.func)) for each in nodes if isinstance(each, ast.Call)]
    return any(map(is_known, called)) or any(isinstance(each, ast.Subscript) for each in nodes)


def _is_shape(text: str) -> bool:
    try:
        read_dims(text)
    except ShapeError:
        return False
    return True


class Reader:
    """A walk through a syntax tree that gives every expression its value: a size, a tuple or a tensor."""

    def __init__(self, text: str, name: str, dialect: str, sizes: Mapping[str, int]) -> None:
        """Begin with nothing assigned."""
        self.text, self.name, self.dialect, self.sizes = text, name, dialect, sizes
        self.assigned: dict[str, Value] = {}
        self.notes: dict[str, None] = {}
        self.met: set[str] = set()
        """The names of sizes that were read."""

    def read(self, tree: ast.Module, shape: Shape, known: set[str]) -> Read:
        """Return what the code does to a tensor of `shape`; `known` are the names in it as it was given."""
        self.assigned[self.name] = Tensor(shape, (), self.dialect)
        self.from_layer = "(" in self.name
        value: Value = None
        try:
            for statement in tree.body:
                value = self.carried_out(statement)
        except Refused as refused:
            return Read(shape, refused.stages, tuple(self.notes))
        check_names_known(self.sizes, [*known, *sorted(self.met)])
        if isinstance(value, Parts):
            raise misuse(f"the code ends with {value.count} parts, not with one tensor", value.hint, argument="line")
        if not isinstance(value, Tensor):
            raise misuse(
                "the code does not end with a tensor", f"it is read as a line about {brief(self.name)}", argument="line"
            )
        if not value.stages:
            raise misuse(f"nothing in the code changes the shape of {brief(self.name)}", argument="line")
        return Read(shape, value.stages, tuple(self.notes))

    def carried_out(self, statement: ast.stmt) -> Value:
        """Return the value of a statement, once the names that it assigns have theirs."""
        match statement:
            case ast.Expr(value=node):
                return self.value(node)
            case ast.Return(value=ast.expr() as node):
                return self.value(node)
            case ast.Assign(targets=targets, value=node):
                value = self.value(node)
                for target in targets:
                    self.assign(target, value)
                return value
        raise self.error(statement, "this statement is not supported; write an expression or an assignment")

    def assign(self, target: ast.expr, value: Value) -> None:
        """Give a name its value, or each of several names its part."""
        name = dotted_name(target)
        if isinstance(value, Tensor) and not name:
            value = positions(value, self.failing(target))
        if name:
            self.assigned[name] = value
        elif isinstance(target, ast.Tuple | ast.List) and isinstance(value, tuple | Parts):
            count = value.count if isinstance(value, Parts) else len(value)
            if count != len(target.elts):
                raise self.error(target, f"{len(target.elts)} names for {count} values")
            for place, each in enumerate(target.elts):
                self.assign(each, element(value, place, self.failing(each)))
        else:
            raise self.error(target, "nothing can be assigned to this here")

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression; raise `ShapeError` (usage) for one that is not read."""
        match node:
            case ast.Constant(value=constant) if constant is None or isinstance(constant, bool | int | float | str):
                return constant
            case ast.Constant(value=constant) if constant is Ellipsis:
                return constant
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                return tuple(self.values(parts))
            case ast.Name() | ast.Attribute():
                return self.named(node)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return negated(self.value(operand), self.failing(node))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
                return self.computed(node, self.value(left), OPERATORS[type(sign)], self.value(right))
            case ast.Subscript(value=inner, slice=index):
                return self.subscript(node, inner, index)
            case ast.Slice(lower=lower, upper=upper, step=step):
                ends = [None if end is None else self.value(end) for end in (lower, upper, step)]
                return slice(*ends)
            case ast.Call():
                return self.called(node)
        raise self.error(node, "this is not supported here")

    def values(self, nodes: list[ast.expr]) -> Iterator[Value]:
        """Yield the values of expressions, those of a starred one each by itself."""
        for node in nodes:
            if isinstance(node, ast.Starred):
                found = self.value(node.value)
                if not isinstance(found, tuple):
                    raise self.error(node, "only a shape can be unpacked")
                yield from found
            else:
                yield self.value(node)

    def named(self, node: ast.expr) -> Value:
        """Return the value of a name: assigned, of a tensor, or a size."""
        name = dotted_name(node)
        if name in self.assigned:
            return self.assigned[name]
        if isinstance(node, ast.Attribute):
            if node.attr == "newaxis":
                return None
            if not name or self.is_assigned(name):
                base = self.value(node.value)
                if isinstance(base, Tensor):
                    found = measure(base, node.attr)
                    return flipped(base, node.attr, self.failing(node)) if found is None else found
                raise self.error(node, f".{brief(node.attr)} of this is not supported")
        return self.size(node, name.rpartition(".")[2])

    def is_assigned(self, name: str) -> bool:
        """Say whether a dotted name, or what it is an attribute of, has a value."""
        return any(name == each or name.startswith(f"{each}.") for each in self.assigned)

    def size(self, node: ast.expr, name: str) -> Value:
        """Return the size that a name stands for."""
        if not name.isascii() or len(name) > LONGEST_WORD:
            raise self.error(node, "a size has a name of plain letters")
        self.met.add(name)
        return self.sizes.get(name) or (0 if name in self.sizes else named_dim(name))

    def computed(self, node: ast.expr, left: Value, sign: str, right: Value) -> Value:
        """Return what an operator makes of two values."""
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Tensor):
                if is_number(other):
                    return one
                raise self.error(node, f"{sign} of tensors is not supported: a line is about one tensor")
        found = arithmetic(left, sign, right, self.failing(node))
        if sign == "//" and isinstance(found, Monomial):
            self.notes[f"{brief(self.segment(node))} is read as {brief(str(found))}: other sizes are left out"] = None
        return found

    def subscript(self, node: ast.Subscript, inner: ast.expr, index: ast.expr) -> Value:
        """Return an element, or a tensor that is indexed."""
        if ast.List in map(type, (index, *getattr(index, "elts", ()))):
            raise self.error(node, "a list of positions has no op here")
        name, key = dotted_name(inner), self.value(index)
        if isinstance(key, str) and name and key.isidentifier():
            return self.size(node, key)
        if name and isinstance(key, int) and key >= 0 and not self.is_assigned(name):
            return self.size(node, f"{name.rpartition('.')[2]}_{key}")
        base = self.value(inner)
        if isinstance(base, Tensor):
            return indexed(base, key, self.failing(node))
        return element(base, key, self.failing(node))

    def called(self, node: ast.Call) -> Value:
        """Return the value of a call: of a method of a tensor, of a function, or of a layer."""
        if self.from_layer and ast.unparse(node) == self.name:
            return self.assigned[self.name]
        args = list(self.values(node.args))
        keywords = {each.arg or "**": self.value(each.value) for each in node.keywords}
        function = node.func
        if isinstance(function, ast.Call):  # nn.PixelShuffle(2)(x)
            layer = dotted_name(function.func).rpartition(".")[2]
            args += self.values(function.args)
            keywords |= {each.arg or "**": self.value(each.value) for each in function.keywords}
            return call_tensor(layer, args, keywords, self.failing(node))
        if isinstance(function, ast.Attribute) and dotted_name(function).split(".")[0] not in MODULES - {self.name}:
            return self.method(node, function, args, keywords)
        whole = dotted_name(function)
        name = whole if is_known(whole) else whole.rpartition(".")[2]
        return call_tensor(name, args, keywords, self.failing(node))

    def method(self, node: ast.Call, function: ast.Attribute, args: list[Value], keywords: dict[str, Value]) -> Value:
        """Return the value of a method."""
        if not is_known(function.attr):
            hint = f"name its result as the tensor: --input '{brief(self.segment(node))}=SHAPE'"
            raise self.error(node, f"{brief(function.attr)} is not known here", hint)
        base = self.value(function.value)
        if is_number(base) and not isinstance(base, tuple):
            shown = brief(self.segment(function.value))
            raise self.error(function.value, f"{shown} is not the tensor: the input is {brief(self.name)}")
        return call_tensor(function.attr, [base, *args], keywords, self.failing(node))

    def failing(self, node: ast.AST) -> Failing:
        """Return what makes the error for an expression."""
        return lambda message, hint="": self.error(node, message, hint)

    def segment(self, node: ast.AST) -> str:
        """Return the text of an expression."""
        start, end = span_of(self.text, node)
        return visible(self.text[start:end])

    def error(self, node: ast.AST, message: str, hint: str = "") -> ShapeError:
        """Return the error (usage) for an expression, with its place."""
        return misuse(f"'{brief(self.segment(node))}': {message}", hint, argument="line", span=span_of(self.text, node))
