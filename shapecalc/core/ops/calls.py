"""The framework calls of the ops, parsed from `Op.signatures`."""

from __future__ import annotations

from functools import cache

from shapecalc.core.answers import EMPTY_DICT
from shapecalc.core.ops import OPS
from shapecalc.core.record import Record, lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from shapecalc.core.ops.op import Op


class SignatureArgument(Record):
    """An argument of a framework call, and the op parameter that the argument sets."""

    names: tuple[str, ...]
    """The names of the argument in different framework versions, with the usual name first."""
    param: str
    """The parameter of the op, or the name of the argument if the op has no such parameter."""
    default: str = ""
    """The default as Python code, or an empty string if the argument is required."""
    style: str = ""
    """The notation of a list: `*` for separate arguments, `[]` for a list, or `each` for one call per item."""


class Signature(Record):
    """A framework call that is equivalent to an op.

    The text is a Python call, with `x` for the tensor: `np.roll(x, shift, axis=None)`. Slashes separate alternative
    names of a function or argument. If the parameter of the op has a different name, this name follows a colon, as in
    `dim/axis: axes`. `SignatureArgument.style` describes the notations `*`, `[]` and `each`.

    >>> signature = Signature("numpy jax", "np.flip(x, axis: axes=None)")
    >>> signature.names, signature.arguments[0].names, signature.arguments[0].param, signature.is_method
    (('flip',), ('axis',), 'axes', False)
    """

    frameworks: str
    """The names of the frameworks with this call, separated by spaces."""
    text: str
    options: Mapping[str, object] = EMPTY_DICT
    """The op arguments that the call fixes, such as `kind` for an average pool."""

    @lazy
    def path(self) -> str:
        """Return the qualified name of the call: `np.roll`, or `x.roll` for a method."""
        return self.text.partition("(")[0].partition("/")[0]

    @lazy
    def names(self) -> tuple[str, ...]:
        """Return the unqualified names of the function, method or layer."""
        return tuple(self.text.partition("(")[0].rpartition(".")[2].split("/"))

    @lazy
    def is_method(self) -> bool:
        """Return whether the call is a method of the tensor."""
        return self.text.startswith("x.")

    @lazy
    def arguments(self) -> tuple[SignatureArgument, ...]:
        """Return the arguments in order, except the tensor."""
        texts = self.text.partition("(")[2][:-1].split(", ")
        return tuple([_parse_argument(text) for text in texts if text not in ("", "x")])

    def exists_in(self, framework: str) -> bool:
        """Return whether the call exists in a framework."""
        return framework in self.frameworks.split()


def _parse_argument(text: str) -> SignatureArgument:
    """Parse an argument of a signature, such as `[axis]: axes=None`."""
    text, _, default = text.partition("=")
    name, _, param = text.partition(": ")
    style = "*" if name[0] == "*" else "[]" if name[0] == "[" else "each" if param.startswith("each ") else ""
    names = name.strip("*[]").split("/")
    return SignatureArgument(tuple(names), param.removeprefix("each ") or names[0], default, style)


@cache
def parse_signatures(name: str) -> tuple[Signature, ...]:
    """Parse the signatures of the op with this name.

    A signature with `{rank}` stands for three calls, with one, two and three spatial dims.
    """
    rows = ((*row, EMPTY_DICT)[:3] for row in OPS[name].signatures)
    return tuple(
        [
            Signature(frameworks, text.replace("{rank}", str(rank)), options)
            for frameworks, text, options in rows
            for rank in ((1, 2, 3) if "{rank}" in text else (0,))
        ]
    )


OpCall: TypeAlias = "tuple[Op, Signature]"
"""An op and one of its signatures."""


@cache
def calls_by_name() -> Mapping[str, tuple[OpCall, ...]]:
    """Map the name of each function, method or layer to its ops and signatures.

    >>> [(op.name, signature.frameworks) for op, signature in calls_by_name()["transpose"]][:2]
    [('transpose', 'tensorflow'), ('transpose', 'numpy jax')]
    """
    calls: dict[str, tuple[OpCall, ...]] = {}
    for op in OPS.values():
        for signature in parse_signatures(op.name):
            for name in signature.names:
                calls[name] = (*calls.get(name, ()), (op, signature))
    return calls


def find_call(name: str, framework: str) -> OpCall:
    """Return the call with this name, preferably a call of `framework`.

    >>> [find_call("transpose", framework)[0].name for framework in ("torch", "numpy", "onnx")]
    ['swapaxes', 'transpose', 'transpose']
    """
    calls = calls_by_name()[name]
    return next((call for call in calls if call[1].exists_in(framework)), calls[0])


def argument_names(op: Op, name: str, framework: str) -> Mapping[str, str]:
    """Map each parameter of an op to the argument names of a framework call.

    The names are separated by slashes. `name` is the name of the call. The result includes the argument names of other
    calls of the op, unless this call uses them for a different parameter.

    >>> from shapecalc.core.ops.swapaxes import SWAPAXES
    >>> argument_names(SWAPAXES, "transpose", "torch")
    {'axis1': 'dim0/axis0', 'axis2': 'axis2/dim1/axis1'}
    """
    return _argument_names(op.name, name, framework)


@cache
def _argument_names(op_name: str, name: str, framework: str) -> Mapping[str, str]:
    own = [
        signature
        for signature in parse_signatures(op_name)
        if name in signature.names and signature.exists_in(framework)
    ]
    params: dict[str, str] = {}
    for signature in (*own, *parse_signatures(op_name)):
        for argument in signature.arguments:
            for argument_name in argument.names:
                params.setdefault(argument_name, argument.param)
    names: dict[str, dict[str, None]] = {}
    for signature in parse_signatures(op_name):
        for argument in signature.arguments:
            row = names.setdefault(argument.param, {})
            row.update(dict.fromkeys([other for other in argument.names if params[other] == argument.param]))
    return {param: "/".join(row) for param, row in names.items()}


CONVERTED_PARAMS = frozenset(["padding"])
"""Parameters that `find_parameter` ignores. Frameworks list the values of these parameters in different orders."""


def find_parameter(op: Op, name: str) -> str:
    """Return the op parameter for the name of a framework argument.

    Returns `name` itself if the op has no such parameter.

    >>> find_parameter(OPS["pool"], "kernel_size"), find_parameter(OPS["pad"], "pad_width")
    ('kernel', 'pad_width')
    """
    params = (
        argument.param
        for signature in parse_signatures(op.name)
        for argument in signature.arguments
        if name in argument.names and argument.param in op.param_names - CONVERTED_PARAMS
    )
    return next(params, name)
