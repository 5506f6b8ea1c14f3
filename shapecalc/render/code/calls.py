"""Formatting of framework calls, such as `np.roll(x, 1)`.

A call is the signature of an op in the framework, filled with the arguments of a request.
"""

from __future__ import annotations

from collections.abc import Sequence

from shapecalc.core.answers import Trace
from shapecalc.core.moves import Combine
from shapecalc.core.ops.calls import Signature, SignatureArgument, parse_signatures
from shapecalc.core.ops.op import Op
from shapecalc.core.problem import usage_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

ArgumentValue: TypeAlias = str | int | Sequence[str | int]
MODULE_PREFIXES = {"jax": ("np.", "jnp.")}
"""The module prefix in a signature and its replacement, keyed by framework.

JAX uses the signatures of NumPy.
"""


class ArgumentReader:
    """The arguments of a request, and a record of the arguments that were read.

    A request with an unread argument is refused, because the code would ignore this argument.
    """

    def __init__(self, trace: Trace) -> None:
        """Start with all arguments of the request unread."""
        self.trace, self._arguments, self.unread = trace, trace.request.arguments, [*trace.request.arguments]

    def read(self, name: str, default: Any = None) -> Any:
        """Return an argument and mark it as read.

        If the request does not have the argument, `default` is returned.
        """
        self.mark_read(name)
        return self._arguments.get(name, default)

    def mark_read(self, *names: str) -> None:
        """Mark arguments as read without returning them."""
        self.unread = [name for name in self.unread if name not in names]

    def check_all_read(self, target: str) -> None:
        """Raise `ShapeError` (usage) if an argument is unread."""
        for name in self.unread:
            raise usage_error(f"{name} of {self.trace.op} is not written as {target} code", argument=name)


def operand_shapes(traces: tuple[Trace, ...]) -> dict[str, Any]:
    """Return the shapes of all operands except `x`, keyed by variable name.

    >>> import shapecalc as sc
    >>> operand_shapes(sc.chain((2, 3), "matmul 3,4", "concat 1,4 --axis 0").traces)
    {'x1': (3, 4), 'x2': (1, 4)}
    """
    moves = [stage.move for trace in traces for stage in trace.stages]
    shapes = [shape for move in moves if isinstance(move, Combine) for shape in move.operands[1:]]
    return {f"x{number}": shape for number, shape in enumerate(shapes, 1)}


def find_signature(op: Op, framework: str) -> Signature | None:
    """Return the first signature of an op in a framework, or None."""
    return next((signature for signature in parse_signatures(op.name) if signature.exists_in(framework)), None)


def format_call(op: Op, framework: str, tensor: str, **arguments: ArgumentValue) -> str:
    """Format the call of an op in a framework.

    `arguments` are keyed by parameter of the op. If an argument is omitted, the call uses its default. A parameter of
    style `each` results in one call per item. If the default of an argument is a word, such as a mode, the argument is
    passed by keyword.

    >>> from shapecalc.core.ops import OPS
    >>> format_call(OPS["roll"], "jax", "x", shift=1, axis=0), format_call(OPS["squeeze"], "paddle", "x", axes=[0, 1])
    ('jnp.roll(x, 1, 0)', 'paddle.squeeze(x, [0, 1])')
    >>> format_call(OPS["unsqueeze"], "torch", "x", axes=[0, 1]), format_call(OPS["roll"], "numpy", "x", axis=0)
    ('x.unsqueeze(0).unsqueeze(1)', 'np.roll(x, axis=0)')
    """
    signature = find_signature(op, framework)
    assert signature is not None, f"{framework} has no call for {op.name}"
    for argument in signature.arguments:
        if argument.style == "each":
            for value in arguments[argument.param]:  # type: ignore[union-attr]
                tensor = _format_signature(signature, framework, tensor, [str(value)])
            return tensor
    texts, by_name = list[str](), False
    for argument in signature.arguments:
        by_name = by_name or argument.param not in arguments or argument.default.startswith("'")
        if argument.param in arguments:
            text = format_argument(argument, arguments[argument.param])
            texts.append(f"{argument.names[0]}={text}" if by_name else text)
    return _format_signature(signature, framework, tensor, texts)


def format_argument(argument: SignatureArgument, value: ArgumentValue) -> str:
    """Format an argument in the style that the signature requires.

    An empty list is `()` even in the style `*`, because a call without arguments would use the default.
    """
    if isinstance(value, str | int):
        return str(value)
    text = ", ".join(map(str, value))
    if argument.style == "*":
        return text or "()"
    if argument.style == "[]":
        return f"[{text}]"
    return f"({text},)" if len(value) == 1 else f"({text})"


def _format_signature(signature: Signature, framework: str, tensor: str, argument_texts: Sequence[str]) -> str:
    if signature.is_method:
        return f"{tensor}.{signature.names[0]}({', '.join(argument_texts)})"
    has_tensor = signature.text.partition("(")[2].startswith("x")
    function = signature.path.replace(*MODULE_PREFIXES.get(framework, ("", "")))
    return f"{function}({', '.join([*[tensor][:has_tensor], *argument_texts])})"
