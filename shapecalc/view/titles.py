"""What a stage is called, alone and with its arguments."""

from __future__ import annotations

from shapecalc.core.answers import Kind
from shapecalc.core.ops import OPS, params_of
from shapecalc.core.text import shape_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from shapecalc.core.answers import Request, Stage


def stage_name(stage: Stage) -> str:
    """Return what everybody calls a stage. Its label may be an argument's name, or what an op does with it.

    >>> import shapecalc as sc
    >>> [stage_name(stage) for stage in sc.shuffle((2, 3), first=(1, 0), to=(6,)).stages]
    ['transpose', 'reshape']
    """
    if stage.kind is Kind.PERMUTE and stage.label in (stage.argument, "move"):
        return "transpose"
    return "reshape" if stage.kind is Kind.RESHAPE and stage.label == stage.argument else stage.label


def stage_title(request: Request, stage: Stage) -> str:
    """Return a stage with its arguments. An argument is named if its place does not tell which one it is."""
    arguments = request.arguments
    if stage.label != request.op:
        asked = stage.asked or arguments.get(stage.argument, "")
        return f"{stage_name(stage)} {_text(asked)}".rstrip()
    texts, op = [stage.label], OPS[request.op]
    for param in params_of(op):
        value = arguments.get(param.name)
        if isinstance(value, bool):
            texts.append(param.name if value else f"no {param.name}")
        elif value is not None:
            text = _text(value)
            texts.append(text if param.positional or op.params == (param,) else f"{param.name} {text}")
    return " ".join(texts)


def _text(value: object) -> str:
    return shape_text(value) if isinstance(value, tuple) else str(value)
