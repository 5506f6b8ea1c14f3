"""The rules that settle something, each with the facts that its sentence needs.

A step holds the facts of its rule; the rule says the rest. Adding a rule is adding a class here and its line in
`STEP_FACTS`.
"""

from __future__ import annotations

from shapecalc.core.answers.stage import Facts, Step
from shapecalc.core.sizes.dims import Dim, Shape, product
from shapecalc.core.sizes.quoting import count_text
from shapecalc.core.sizes.record import Choice
from shapecalc.core.sizes.rule import Rule
from shapecalc.core.sizes.text import shape_text


class LeftOut(Choice):
    """Which dims a dialect leaves out of both products, if the known dims hold no elements."""

    ZEROS = "zeros left out"
    COPIES = "copied dims left out"


class CopiedZero(Facts):
    """A 0 that copies a dim."""

    name = "copy 0"
    rule = Rule(
        "copy-zero",
        "0 copies the dim at the same index of the tensor being reshaped",
        "Dims are counted from the left, also when the rank changes: people often expect the dim that lines up at "
        "the right. In a Shuffle the tensor being reshaped is the one after the first transpose.",
        "shapecalc reshape 2,2,3,2 -1,0,0",
        "ONNX Reshape: 'the actual dimension value is unchanged (i.e. taken from the input tensor)'",
    )
    from_left: bool
    """Whether it matters that dims are counted from the left."""

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        counting = ", counted from the left" if self.from_left else ""
        return f"0 copies dim {step.out}{counting}, which is {step.value}"


class LiteralZero(Facts):
    """A 0 that asks for an empty dim."""

    name = "literal 0"
    rule = Rule(
        "literal-zero",
        "0 is a dim of size zero",
        "NumPy and PyTorch always read a 0 in this way, other dialects only if their switch says so. The output then "
        "has no elements, so the input must have none either.",
        "shapecalc reshape 0,3,4 3,4,0 --allowzero",
        "ONNX Reshape 14: 'allowzero=1 indicates that ... the zero value is honored, similar to NumPy'",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return "0 is a dim of size zero"


class Given(Facts):
    """A number or a name that is asked for."""

    name = "given"
    rule = Rule(
        "given",
        "a number or a name in the requested shape is used as it is",
        "0 and -1 are codes; every other entry is the size itself. At the end the element counts are compared.",
        "shapecalc reshape 2,3,4 4,6",
        "ONNX Reshape: 'second input is a shape tensor which specifies the output shape'",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"{step.value} is given"


class Inferred(Facts):
    """A -1 that the element counts decide."""

    name = "solve -1"
    rule = Rule(
        "infer",
        "-1 is the element count divided by the product of the known dims",
        "-1 is computed so that the element count stays the same. At most one dim can be inferred, and the division "
        "must leave no remainder.",
        "shapecalc reshape 2,3,4 0,-1",
        "ONNX Reshape: 'the value is inferred from the size of the tensor and the remaining dimensions'",
    )
    shape: Shape
    have: Dim
    """The elements there are."""
    known: Dim
    """The product of the known dims."""

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        divisor = f"({self.known})" if "*" in str(self.known) else self.known
        return f"-1 is {count_text(self.shape, self.have)} / {divisor} known = {step.value}"


class InferredEmpty(Facts):
    """A -1 beside a dim of zero, in a runtime that has an answer."""

    name = "solve -1"
    rule = Rule(
        "infer-empty",
        "-1 with a dim of zero, in the runtimes that have an answer",
        "Both products are 0, so they do not decide -1. OpenVINO leaves the dims that 0 copies out of both products, "
        "and counts 0/0 as 1. ONNX Runtime leaves all zeros out of both. Most runtimes refuse.",
        "shapecalc reshape 0,3,4 0,-1 --dialect openvino --special-zero",
        "measured: OpenVINO 2026.4.1, ONNX Runtime 1.31.1",
    )
    have: Dim
    known: Dim
    left_out: LeftOut

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"-1 is {self.have} / {self.known}, {self.left_out.value} = {step.value}"


class Regrouped(Facts):
    """The cuts of a reshape."""

    name = "regroup"
    rule = Rule(
        "regroup",
        "the elements keep their order; only the cuts between dims move",
        "If the products of the first dims of both shapes are equal, both shapes have a cut there. Between two such "
        "cuts axes stay, merge or split; if a new cut falls inside an old block, they mix. Reshape never swaps axes: "
        "transpose does.",
        "shapecalc reshape 2,3,4 6,2,2",
        "ONNX Reshape: 'required to have the same number of elements'",
    )
    before: Shape
    after: Shape

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        from shapecalc.core.answers.regrouping import regrouping

        have, want = product(self.before), product(self.after)
        elements = "element" if have == 1 else "elements"
        counts = f"{have} {elements} in and out" if have == want else f"{have} {elements} in, {want} out"
        return f"{counts}: {regrouping(self.before, self.after)}"


class Merged(Facts):
    """Axes that become one dim."""

    name = "merge"
    rule = Rule(
        "merge",
        "a flattened dim is the product of the dims it merges",
        "ONNX always gives two dims, PyTorch merges a range into one, NumPy merges everything.",
        "shapecalc flatten 2,3,4 --axis 2",
        "ONNX Flatten, torch.flatten, ndarray.flatten",
    )
    dims: Shape

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        if not self.dims:
            return f"no axis is left for output dim {step.out}, so it is 1"
        factors = "*".join(map(str, self.dims))
        return f"output dim {step.out} is {factors}" + (f" = {step.value}" if len(self.dims) > 1 else "")


class DroppedOne(Facts):
    """A dim of 1 that is dropped."""

    name = "drop 1"
    rule = Rule(
        "drop-one",
        "a dim of 1 is dropped",
        "Squeeze drops dims of 1: those that are named, or all of them.",
        "shapecalc squeeze 1,3,1 --axes 0",
        "ONNX Squeeze",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"dim {step.sources[0]} is {step.value} and is dropped"


class KeptDim(Facts):
    """A dim that stays as it is."""

    name = "keep dim"
    rule = Rule(
        "keep-dim",
        "a dim stays as it is",
        "If squeeze names a dim that is not 1, PyTorch and OpenVINO leave it as it is. In expand, -1 keeps a dim in "
        "PyTorch, and 0 in MXNet.",
        "shapecalc squeeze 1,3,1 --axes 1 --dialect torch",
        "torch.squeeze, Tensor.expand, OpenVINO Squeeze, MXNet broadcast_to",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"dim {step.sources[0]} is {step.value} and stays"


class InsertedOne(Facts):
    """A new dim of 1."""

    name = "insert 1"
    rule = Rule(
        "insert-one",
        "a new dim of 1",
        "The axes of unsqueeze are places in the output, not in the input.",
        "shapecalc unsqueeze 2,3 --axes 0,3",
        "ONNX Unsqueeze",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"output dim {step.out} is a new 1"


class Stretched(Facts):
    """A dim that is repeated, or that already has the size."""

    name = "stretch"
    rule = Rule(
        "stretch",
        "a dim of 1 is repeated; any other must already have the requested size",
        "Shapes are aligned at the right. In ONNX a 1 in the target becomes the size of the input, too.",
        "shapecalc expand 3,1 3,4",
        "ONNX Expand, numpy.broadcast_to, Tensor.expand",
    )
    dim: Dim
    """The input dim."""

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        if step.value == self.dim:
            return f"input dim {step.sources[0]} is {self.dim} and stays"
        return f"input dim {step.sources[0]} has size {self.dim}, repeated to {step.value}"


class NewDim(Facts):
    """A dim in front of those of the input."""

    name = "new dim"
    rule = Rule(
        "new-dim",
        "a new dim in front of the dims of the input",
        "A longer target adds dims on the left; each repeats everything that follows.",
        "shapecalc expand 3 2,3",
        "ONNX Expand: 'the broadcast rule is similar to numpy.array(input) * numpy.ones(shape)'",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"{step.value} {'copy' if step.value == 1 else 'copies'} of the dims after it"


class Broadcasted(Facts):
    """The whole tensor, read as a larger one."""

    name = "broadcast"
    rule = Rule(
        "broadcast",
        "the tensor is read as if it had the larger shape",
        "No element is copied: those along a dim of 1 are read again and again.",
        "shapecalc expand 8,1,1 1,2",
        "ONNX Expand",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"the tensor is read as {shape_text(step.shape)}"


class WrittenFraction(Facts):
    """A fraction that the request writes."""

    name = "fraction"
    rule = Rule(
        "written-fraction",
        "a fraction in the request must be a whole number",
        "A dim such as C*H*W/64 is a size, so 64 must divide C*H*W.",
        "shapecalc reshape N,C/2 -1",
        "arithmetic",
    )

    def why(self, step: Step) -> str:
        """Return the step's sentence."""
        return f"{step.value} is a whole number"


STEP_FACTS = (
    CopiedZero,
    LiteralZero,
    Given,
    Inferred,
    InferredEmpty,
    Regrouped,
    Merged,
    DroppedOne,
    KeptDim,
    InsertedOne,
    Stretched,
    NewDim,
    Broadcasted,
    WrittenFraction,
)
STEP_RULES: dict[str, Rule] = {facts.rule: facts.rule for facts in STEP_FACTS}
"""The rules that settle something, by id."""

LITERAL_ZERO = LiteralZero()
GIVEN = Given()
DROPPED_ONE = DroppedOne()
KEPT_DIM = KeptDim()
INSERTED_ONE = InsertedOne()
NEW_DIM = NewDim()
BROADCASTED = Broadcasted()
WRITTEN_FRACTION = WrittenFraction()
"""The facts that are the same in every step of their rule."""
