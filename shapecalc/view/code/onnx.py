"""ONNX code: a whole model, made with `onnx.helper`."""

from __future__ import annotations

from typing import assert_never

from shapecalc.core.answers import Kind
from shapecalc.core.ask import DEFAULT_OPSET
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import SINCE_25, spelled
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.dims import Dim, Monomial, all_known
from shapecalc.core.moves import Dims, Permute
from shapecalc.core.ops import OPS
from shapecalc.core.problem import misuse
from shapecalc.core.text import brief
from shapecalc.view.code import Code
from shapecalc.view.code.batch import batch_warnings
from shapecalc.view.code.computed import Forms, Sizes, is_computed, texts_of
from shapecalc.view.code.folding import Part, parts_of
from shapecalc.view.code.requested import Rules, requested, two_way_dims
from shapecalc.view.code.sizes import Readings, given_warnings
from shapecalc.view.code.slices import Kept, cut_axes, split_axis
from shapecalc.view.code.written import drops_every_one, empty_warnings, general_warnings, inserted_axes, title
from shapecalc.view.layout import dropped_axes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.core.answers import Chain, Stage, Trace

AXES_ARE_INPUTS = 13
INTEGERS_ARE_COMPUTED = 6
SHAPES_ARE_INPUTS = 5
"""The first opsets in which axes are inputs of a node, Mul and Div take integers, and shapes are inputs."""
INDICES_FROM_THE_END = 11
"""The first opset in which negative indices count from the end."""
STEPS = 10
"""The first opset in which a Slice has steps, and inputs in place of attributes."""
PARTS_ARE_COUNTED = 18
"""The first opset in which a Split says how many outputs it has."""
MOST_PARTS = 1024
"""The most outputs of a Split that are written."""
FIRST_OPSETS = {"Expand": 8, "start": 15, "steps": STEPS}
"""The first opsets with an operator, or with an attribute."""
FORMS = Forms(
    sizes='helper.make_node("Shape", ["x"], ["sizes"]),',
    constant='helper.make_node("Constant", [], ["{name}"], value=helper.make_tensor("", TensorProto.INT64, '
    "[{1}], [{0}])),",
    axis='helper.make_node("Constant", [], ["{name}_at"], value=helper.make_tensor("", TensorProto.INT64, [1], [{0}])),'
    '\n    helper.make_node("Gather", ["sizes", "{name}_at"], ["{name}"]),',
    multiply='helper.make_node("Mul", ["{0}", "{1}"], ["{name}"]),',
    divide='helper.make_node("Div", ["{0}", "{1}"], ["{name}"]),',
    concat='helper.make_node("Concat", [{0}], ["{name}"], axis=0),',
    quote='"',
)


class Model:
    """The nodes so far, as code, with the constants that they read."""

    def __init__(self, answer: Trace | Chain, opset: int) -> None:
        """Start at the input `x`."""
        self.opset = opset
        self.readings = Readings(answer.input)
        self.sizes = Sizes(FORMS)
        self.nodes = self.sizes.lines
        self.constants: list[str] = []
        self.warnings: list[str] = []
        self.tensor = "x"
        self.count = 0

    def add(self, operator: str, *inputs: str, **attributes: object) -> None:
        """Write a node that reads the tensor and other inputs; raise `ShapeError` (usage) if the opset has none."""
        for lacking in (operator, *attributes):
            first = FIRST_OPSETS.get(lacking, 1)
            if self.opset < first:
                raise misuse(f"onnx has no {lacking} before opset {first}", f"use --opset {first} or later")
        self.count += 1
        quoted = ", ".join(f'"{name}"' for name in (self.tensor, *inputs))
        given = "".join(f", {name}={value}" for name, value in attributes.items())
        self.tensor = f"t{self.count}"
        self.nodes.append(f'helper.make_node("{operator}", [{quoted}], ["{self.tensor}"]{given}),')

    def split(self, parts: int, part: int, **attributes: int) -> None:
        """Write a Split, of whose outputs one is read."""
        self.add("Split", **attributes)
        count = self.count
        outputs = ", ".join(f'"{self.tensor}"' if each == part else f'"unread{count}_{each}"' for each in range(parts))
        self.nodes[-1] = self.nodes[-1].replace(f'["{self.tensor}"]', f"[{outputs}]")

    def index(self, index: int) -> str:
        """Return the name of the tensor that holds one index, for the node that comes next."""
        name = f"index{self.count + 1}"
        self.constants.append(f'{name} = helper.make_tensor("{name}", TensorProto.INT64, [], [{index}])')
        self.nodes.append(f'helper.make_node("Constant", [], ["{name}"], value={name}),')
        return name

    def vector(self, name: str, dims: Sequence[Dim]) -> str:
        """Return the name of the tensor that holds numbers or dims that were read, for the node that comes next."""
        if is_computed(dims):
            if self.opset < INTEGERS_ARE_COMPUTED:
                raise misuse("a model of this opset computes no sizes", f"use --opset {INTEGERS_ARE_COMPUTED} or later")
            return self.sizes.vector(dims)
        name = f"{name}{self.count + 1}"
        made = f'helper.make_tensor("{name}", TensorProto.INT64, [{len(dims)}], [{texts_of(dims)}])'
        self.constants.append(f"{name} = {made}")
        self.nodes.append(f'helper.make_node("Constant", [], ["{name}"], value={name}),')
        return name

    def lines(self) -> list[str]:
        """Return the code of all nodes; the last one makes `y`."""
        if not self.count:
            self.add("Identity")
        self.nodes[-1] = self.nodes[-1].replace(f'"{self.tensor}"', '"y"')
        return [*self.constants, "nodes = [", *(f"    {node}" for node in self.nodes), "]"]


def onnx(answer: Trace | Chain, opset: int | None = None) -> Code:
    """Return the code of an ONNX model with the input `x` and the output `y`. Without `opset`, the stages say it.

    Raises `ShapeError` (usage) if ONNX has no such element type, or if the opset cannot say it.
    """
    opset, *others = [opset] if opset else _model_opsets(answer)
    model = Model(answer, opset)
    for part in parts_of(answer):
        _add(part, model)
    kind = _element_type(answer.traces[0].request.dtype)
    vector = OPS[answer.traces[-1].op].ends_chain
    output = f"TensorProto.INT64, [{len(answer.output or ())}]" if vector else f"{kind}, {_dims(answer.output or ())}"
    lines = [
        "from onnx import TensorProto, helper",
        title(answer),
        *model.lines(),
        f'x = helper.make_tensor_value_info("x", {kind}, {_dims(answer.input)})',
        f'y = helper.make_tensor_value_info("y", {output})',
        'graph = helper.make_graph(nodes, "shapecalc", [x], [y])',
        f'model = helper.make_model_gen_version(graph, opset_imports=[helper.make_opsetid("", {opset})])',
    ]
    text = "\n".join(lines)
    if others:
        model.warnings.append(f"a model has one opset: {opset} for all stages")
    fixed = batch_warnings(answer, declared=True)
    about = (*general_warnings(answer, "onnx"), *fixed, *empty_warnings(answer, "onnx"))
    return Code(text, (*about, *given_warnings(text, answer), *model.warnings))


def _model_opsets(answer: Trace | Chain) -> list[int]:
    """Return the opsets that stages ask for, the largest first; the default if none asks for one."""
    asking = [trace.request for trace in answer.traces if DIALECTS[trace.dialect].newest_opset]
    return sorted({request.opset or DEFAULT_OPSET for request in asking}, reverse=True) or [DEFAULT_OPSET]


def _element_type(dtype: str | None) -> str:
    """Return the element type as code; float if none is named."""
    if dtype and dtype not in SINCE_25:
        raise misuse(f"onnx has no element type {dtype}", argument="dtype")
    return f"TensorProto.{spelled(dtype or 'float32', ONNX).upper()}"


def _dims(shape: Sequence[Dim]) -> str:
    """Return the dims of an input or output as code. A dim that is a product of names is left open."""
    texts = []
    for dim in shape:
        named = isinstance(dim, Monomial) and str(dim).isidentifier()
        texts.append(str(dim) if isinstance(dim, int) else f'"{dim}"' if named else "None")
    return f"[{', '.join(texts)}]"


def _add(part: Part, model: Model) -> None:
    """Write the node for a part."""
    stage = part.stage
    match stage.kind:
        case Kind.PERMUTE:
            assert isinstance(stage.move, Permute)
            model.add("Transpose", perm=list(stage.move.axes))
        case Kind.MERGE if len(part.dims) == 2:
            model.add("Flatten", axis=len(part.dims[0].axes or ()))
        case Kind.RESHAPE | Kind.VIEW | Kind.MERGE:
            _add_reshape(part, model)
        case Kind.SQUEEZE if drops_every_one(stage):
            model.add("Squeeze")
        case Kind.SQUEEZE:
            _add_with_axes("Squeeze", dropped_axes(stage), model)
        case Kind.UNSQUEEZE:
            _add_with_axes("Unsqueeze", inserted_axes(stage), model)
        case Kind.EXPAND:
            model.add("Expand", model.vector("shape", two_way_dims(stage.before, part.dims, model.readings)))
        case Kind.SELECT | Kind.SLICE | Kind.SPLIT | Kind.FLIP | Kind.ROLL:
            _add_kept(stage, model)
        case Kind.SHAPE:
            assert isinstance(stage.move, Dims)
            start, end = stage.move.start, stage.move.end
            model.add("Shape", **({} if (start, end) == (0, len(stage.before)) else {"start": start, "end": end}))
        case _:
            assert_never(stage.kind)


def _add_kept(stage: Stage, model: Model) -> None:
    """Write a Gather of one index, a Split of a dim with a name, or a Slice of axes."""
    if stage.kind is Kind.ROLL:
        raise misuse("onnx has no operator that rolls")
    kept = cut_axes(stage)
    if stage.kind is Kind.SPLIT and not all_known(stage.before):
        _add_split(stage, model)
    elif kept[0].goes:
        _add_gather(kept[0], model)
    else:
        _add_slice(kept, model)


def _add_gather(kept: Kept, model: Model) -> None:
    """Write a Gather of one index; a negative one needs an opset that counts from the end."""
    if kept.first < 0 and model.opset < INDICES_FROM_THE_END:
        raise misuse("the last index of a dim with a name", f"use --opset {INDICES_FROM_THE_END} or later")
    model.add("Gather", model.index(kept.first), **({"axis": kept.axis} if kept.axis else {}))


def _add_split(stage: Stage, model: Model) -> None:
    """Write a Split. Its outputs say how many parts there are before an attribute does."""
    axis, parts, part = split_axis(stage)
    if parts > MOST_PARTS:
        raise misuse(f"a Split into {brief(str(parts))} parts", "give the sizes with --where")
    counted = {"num_outputs": parts} if model.opset >= PARTS_ARE_COUNTED else {}
    model.split(parts, part, axis=axis, **counted)


def _add_slice(kept: Sequence[Kept], model: Model) -> None:
    """Write a Slice of some axes. Its arguments are attributes in the opsets that have no steps."""
    arguments = {
        "starts": [each.first for each in kept],
        "ends": [each.end for each in kept],
        "axes": [each.axis for each in kept],
    }
    steps = [each.step for each in kept]
    if {*steps} != {1}:
        arguments["steps"] = steps
    if model.opset < STEPS:
        model.add("Slice", **arguments)
    else:
        model.add("Slice", *(model.vector(name, values) for name, values in arguments.items()))


def _add_reshape(part: Part, model: Model) -> None:
    """Write a Reshape. 0 and -1 stay if they mean the same; allowzero is set if 0 is a size."""
    literal = part.trace.options.get("allowzero") is True
    rules = Rules({"dialect": "onnx", "opset": model.opset}, "allowzero", on=True)
    made = requested(part.stage.before, part.dims, model.readings, rules, literal=literal)
    model.warnings += made.warnings
    if model.opset >= SHAPES_ARE_INPUTS or is_computed(made.dims):
        model.add("Reshape", model.vector("shape", made.dims), **({"allowzero": 1} if made.literal else {}))
    elif made.dims:
        model.add("Reshape", shape=f"[{texts_of(made.dims)}]")
    else:
        raise misuse("an attribute cannot be an empty shape", f"use --opset {SHAPES_ARE_INPUTS} or later")


def _add_with_axes(operator: str, axes: Sequence[int], model: Model) -> None:
    if model.opset < AXES_ARE_INPUTS:
        model.add(operator, axes=list(axes))
    else:
        model.add(operator, model.vector("axes", axes))
