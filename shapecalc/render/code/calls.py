"""Formatting of framework calls, such as `np.roll(x, 1)`, from op signatures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from shapecalc.core.ops.calls import Signature, SignatureArgument, parse_signatures
from shapecalc.core.ops.op import Op

ArgumentValue: TypeAlias = str | int | Sequence[str | int]
MODULE_PREFIXES = {"jax": ("np.", "jnp.")}
"""The replacement of the module prefix in a signature, by framework: JAX uses the signatures of NumPy."""


def find_signature(op: Op, framework: str) -> Signature | None:
    """Return the first signature of an op in a framework; None if there is none."""
    return next((signature for signature in parse_signatures(op.name) if signature.exists_in(framework)), None)


def format_call(op: Op, framework: str, tensor: str, **arguments: ArgumentValue) -> str:
    """Format the call of an op in a framework; omitted arguments have their defaults.

    The names of `arguments` are the op's parameters. A parameter of style `each` is formatted as one call per item. An
    argument whose default is a word, such as a mode, is written by name.

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
                tensor = _format(signature, framework, tensor, [str(value)])
            return tensor
    texts, by_name = list[str](), False
    for argument in signature.arguments:
        by_name = by_name or argument.param not in arguments or argument.default.startswith("'")
        if argument.param in arguments:
            text = format_argument(argument, arguments[argument.param])
            texts.append(f"{argument.names[0]}={text}" if by_name else text)
    return _format(signature, framework, tensor, texts)


def format_argument(argument: SignatureArgument, value: ArgumentValue) -> str:
    """Format the value of an argument in the style of its signature.

    An empty list is written as `()` even in the style `*`, because the call without arguments uses the default.
    """
    if isinstance(value, str | int):
        return str(value)
    text = ", ".join(map(str, value))
    if argument.style == "*":
        return text or "()"
    if argument.style == "[]":
        return f"[{text}]"
    return f"({text},)" if len(value) == 1 else f"({text})"


def _format(signature: Signature, framework: str, tensor: str, argument_texts: Sequence[str]) -> str:
    """Format a call from its formatted arguments."""
    if signature.is_method:
        return f"{tensor}.{signature.names[0]}({', '.join(argument_texts)})"
    has_tensor = signature.text.partition("(")[2].startswith("x")
    function = signature.path.replace(*MODULE_PREFIXES.get(framework, ("", "")))
    return f"{function}({', '.join([*[tensor][:has_tensor], *argument_texts])})"
