"""Parse shapes in the formats of other tools.

`SHAPE_FORMATS` is the only table of formats. Each format has a regular expression and examples. The parser uses the
expression, the tests parse the examples in all contexts, and the manual page shapecalc-spellings(7) lists them.
`NON_SHAPE_FORMATS` contains the formats of texts that are not a single shape, each with a hint. The module `core.text`
parses plain shapes such as `2,3,4`, and imports this module only for other texts.

A text is first rewritten without changing its length, so that offsets stay valid: ASCII characters replace full-width
characters, and blanks replace quotes and wrappers of numbers.
"""

from __future__ import annotations

import re
from re import Pattern

from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Record, lazy

MAX_SPELLING_LENGTH = 2_000
"""The maximum length, in characters, of a text that is matched against the formats."""
MAX_REFUSED_LENGTH = 400
"""The maximum length, in characters, of an invalid text that is matched with `NON_SHAPE_FORMATS`."""
MAX_DEPTH = 4
"""The maximum nesting depth of formats. For example, `x: TensorShape([2, 3])` has two levels."""
FULL_WIDTH: dict[int, str] = {
    **{0xFF01 + offset: chr(0x21 + offset) for offset in range(94) if not chr(0x21 + offset).isalnum()},
    ord("\u3001"): ",",
    ord("\u3000"): " ",
}
"""A translation table from full-width punctuation to ASCII."""
TIMES = "\u00d7"
"""The multiplication sign that Core ML and Julia print between dims."""

FLOAT8 = {
    **dict.fromkeys(("f8e4m3fn", "f8E4M3FN", "F8_E4M3"), "float8_e4m3fn"),
    **dict.fromkeys(("f8e5m2", "f8E5M2", "F8_E5M2"), "float8_e5m2"),
}
ELEMENT_TYPES = {
    **{f"{sign}int{bits}": f"{sign}int{bits}" for sign in ("", "u") for bits in (4, 8, 16, 32, 64)},
    **{f"{short}{bits}": f"int{bits}" for short in ("i", "s", "si") for bits in (4, 8, 16, 32, 64)},
    **{f"{short}{bits}": f"uint{bits}" for short in ("u", "ui") for bits in (4, 8, 16, 32, 64)},
    **{f"{short}{bits}": f"float{bits}" for short in ("f", "fp", "float", "F") for bits in (16, 32, 64)},
    **{f"complex{bits}": f"complex{bits}" for bits in (64, 128)},
    "c64": "complex64", "c128": "complex128",
    **dict.fromkeys(("bf16", "BF16", "bfloat16", "BFloat16", "BFLOAT16"), "bfloat16"),
    **dict.fromkeys(("bool", "boolean", "pred", "i1", "Bool", "BOOL"), "bool"),
    **{f"Float{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"FLOAT{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"FP{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"{name}{bits}": f"int{bits}" for name in ("Int", "INT", "I") for bits in (8, 16, 32, 64)},
    **{f"{name}{bits}": f"uint{bits}" for name in ("UInt", "UINT", "U") for bits in (8, 16, 32, 64)},
    **{f"<f{size}": f"float{8 * size}" for size in (2, 4, 8)},
    **{f"<i{size}": f"int{8 * size}" for size in (2, 4, 8)},
    "|u1": "uint8", "|i1": "int8", "|b1": "bool",
    "Float": "float32", "Double": "float64", "Half": "float16", "FLOAT": "float32", "DOUBLE": "float64",
    "Long": "int64", "Int": "int32", "Short": "int16", "Char": "int8", "Byte": "uint8",
    "ComplexFloat": "complex64", "ComplexDouble": "complex128", "STRING": "string", "string": "string",
}  # fmt: skip
"""The NumPy names of element types, keyed by the names that tools print. Names in `DIALECT_TYPES` depend on the
dialect.
"""
DIALECT_TYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "single": "float32",
    "int": "int32",
    "long": "int64",
}
"""Element type names that depend on the dialect. For example, `float` has 32 bits in ONNX and 64 bits in NumPy."""
GENERIC_TYPES = ("Float", "Int", "UInt", "Integer", "Num", "Inexact", "Real", "Complex", "Shaped", "Key")
"""The element types of jaxtyping without a number of bits."""

WORD = r"[A-Za-z_]\w*"
NAME = rf"(?:{WORD}\.)*{WORD}"
SIZE = r"(?:-?\d+|\?)"
TIMES_LIST = rf"{SIZE}(?:\s*x\s*{SIZE})*"
"""A regular expression for sizes that are separated by `x`."""
LIST = r"(?:\[[^\[\]<>=:]*\]|\([^()<>=:]*\)|\{[^{}<>=:]*\})"
"""A regular expression for dims in a pair of brackets."""
TYPE = rf"(?:{NAME}|[<|][fiub]\d)"
JIT_SIZE = r"(?:\d+(?::\d+)?|\*)"
"""A regular expression for a size in a torch.jit type, with an optional stride."""
SHORT_TYPE = re.compile(r"[a-z]{1,2}\d+")
"""A regular expression for the element types that torch.compile prints."""
TENSOR_CLASSES = (
    "KerasTensor|TensorSpec|TensorType|ShapeDtypeStruct|ShapedArray|NodeArg|Tensor|FakeTensor|TensorMetadata|TensorInfo|"
    "Variable|Parameter|EagerTensor|InputSpec|Array|Dataset|tensor(?=\\(\\.\\.\\.)"
)
SIZE_CLASSES = "Size|TensorShape|PartialShape|Shape|StaticShape|Dims|Dims[2-8]|DimsNCHW"


class PrintedShape(Record):
    """An example of a shape in another tool's format, with the expected result."""

    spelling: str
    tool: str
    shape: str
    """The shape in the format of shapecalc."""
    dtype: str = ""
    strides: str = ""


class ShapeFormat(Record):
    """The format of a shape that another tool prints.

    The pattern has the group `inner` for the text with the dims. The groups `dtype`, `strides` and `order` are
    optional; `order` contains the axes from minor to major.
    """

    name: str
    expression: str
    """The regular expression. A dot also matches line ends."""
    examples: tuple[PrintedShape, ...]
    has_generic_type: bool = False
    """Whether the element types are generic, such as Float, and specify no number of bits."""
    needs_type: bool = True
    """Whether the format matches only known element types."""
    without_brackets: bool = False
    """Whether `inner` contains dims without brackets."""
    dims_cleaned: bool = False
    """Whether the dims are in torch.jit notation: `2:12` is a size with its stride, and `*` is an unknown size."""

    @lazy
    def pattern(self) -> Pattern[str]:
        """Compile the expression.

        The expressions are compiled on first use. Compiling all of them takes 5 ms, a fifth of the time of a command.
        """
        return re.compile(self.expression, re.DOTALL | re.ASCII)


class LocatedDims(Record):
    """The location of the dims in a text, with other attributes in the text.

    The attributes are the element type, the strides and the layout.
    """

    text: str
    """The text that contains the dims."""
    start: int
    end: int
    bracketed: bool
    dtype: str = ""
    strides: str = ""
    order: str = ""
    unused: str = ""
    """The ignored part of the text, such as the tiles of a layout."""
    form: str = ""
    """The name of the innermost format, or an empty string if no format matches."""


def _make_format(name: str, expression: str, *examples: PrintedShape, **flags: bool) -> ShapeFormat:
    return ShapeFormat(name, expression, examples, **flags)


SHAPE_FORMATS = (
    _make_format(
        "label",
        rf"%?[A-Za-z_][\w./-]*\s*:\s*(?P<inner>{TIMES_LIST}|[\[({{].*|!?{NAME}\s*[\[(<].*)"
        rf"|(?:[\w.]+\s+|[\w.]+\.)?(?:shape|size|dims?)(?:\s*[=:]\s*|\s+)"
        rf"(?P<inner2>[\[(].*[\])]|(?:{NAME}\.)?Size\(.*\))",
        PrintedShape("input:1x3x224x224", "trtexec --shapes", "1,3,224,224"),
        PrintedShape("x: tensor<2x3xf32>", "MLIR arguments", "2,3", "float32"),
        PrintedShape("shape=(1, 3, 224, 224)", "print statements", "1,3,224,224"),
        PrintedShape("shape: [1, 3, 224, 224]", "logs", "1,3,224,224"),
        PrintedShape("x.shape = torch.Size([2, 3])", "print statements", "2,3"),
        PrintedShape("PartialShape: {1,3,?,?}", "OpenVINO", "1,3,?,?"),
        PrintedShape("dims: [3, 224, 224]", "Triton config.pbtxt", "3,224,224"),
        needs_type=False,
    ),
    _make_format(
        "size class",
        rf"(?:{NAME}\.|{NAME}::)?(?:{SIZE_CLASSES})\s*(?P<inner>(?!\(\s*None\s*\))[\[({{].*[\])}}])"
        rf"|<(?:{SIZE_CLASSES})\s*:?\s*(?P<inner2>[\[({{].*[\])}}])>",
        PrintedShape("torch.Size([2, 3, 4])", "PyTorch", "2,3,4"),
        PrintedShape("TensorShape([None, 3])", "TensorFlow", "?,3"),
        PrintedShape("TensorShape([Dimension(None), Dimension(3)])", "TensorFlow 1", "?,3"),
        PrintedShape("Dims4{1,3,224,224}", "TensorRT C++", "1,3,224,224"),
        PrintedShape("ov::Shape{1, 3, 224, 224}", "OpenVINO C++", "1,3,224,224"),
        PrintedShape("oneflow.Size([2, 3])", "OneFlow", "2,3"),
        PrintedShape("ttnn.Shape([1, 1, 32, 32])", "TT-NN", "1,1,32,32"),
        PrintedShape("<PartialShape: [?,3,224,224]>", "OpenVINO in Python", "?,3,224,224"),
        needs_type=False,
    ),
    _make_format(
        "abstract type",
        r"(?:ShapedArray|(?:ir\.)?RankedTensorType)\((?P<inner>.*?)(?:,\s*weak_type=\w+)?\)",
        PrintedShape("ShapedArray(float32[2,3], weak_type=True)", "JAX", "2,3", "float32"),
        needs_type=False,
    ),
    _make_format(
        "Caffe",
        r"(?:(?:Top|Bottom)\s+shape:\s*)?(?P<inner>\d+(?:\s+\d+)*)\s+\(\d+\)",
        PrintedShape("Top shape: 1 3 224 224 (150528)", "Caffe", "1,3,224,224"),
        needs_type=False,
        without_brackets=True,
    ),
    _make_format(
        "R",
        r"\[1\](?P<inner>(?:\s+\d+)+)",
        PrintedShape("[1] 2 3 4", "dim() in R", "2,3,4"),
        needs_type=False,
        without_brackets=True,
    ),
    _make_format(
        "class, then sizes",
        rf"<NDArray\s+(?P<inner>{TIMES_LIST})\s*@\w+\(\d+\)>"
        rf"|\[?(?:torch\.(?:cuda\.)?)?(?P<dtype>\w+)Tensor of size (?P<inner2>{TIMES_LIST})(?:\s*\(GPU \d+\))?\]?",
        PrintedShape("<NDArray 2x3x4 @cpu(0)>", "MXNet", "2,3,4"),
        PrintedShape("[torch.FloatTensor of size 2x3x4]", "PyTorch before 0.4", "2,3,4", "float32"),
        PrintedShape("torch.cuda.HalfTensor of size 2x3", "PyTorch before 0.4", "2,3", "float16"),
        needs_type=False,
        without_brackets=True,
    ),
    _make_format(
        "nested brackets",
        rf"\[\s*(?P<inner>{LIST})\s*,?\s*\]|\(\s*(?P<inner2>{LIST})\s*,?\s*\)",
        PrintedShape("[(None, 224, 224, 3)]", "Keras summary", "?,224,224,3"),
        PrintedShape("[[1, 3, 224, 224]]", "lists of inputs", "1,3,224,224"),
        needs_type=False,
    ),
    _make_format(
        "vtensor",
        rf"!?(?:{WORD}\.)?vtensor<\s*\[(?P<inner>[^\[\]]*)\]\s*,\s*(?P<dtype>{WORD})\s*>",
        PrintedShape("!torch.vtensor<[?,3,224,224],f32>", "torch-mlir", "?,3,224,224", "float32"),
        without_brackets=True,
    ),
    _make_format(
        "MLIR",
        rf"(?:tensor|memref|vector)<\s*(?:(?P<inner>{TIMES_LIST})\s*x)?\s*(?P<dtype>{WORD})"
        r"(?:,\s*strided<\[(?P<strides>[^\[\]]*)\](?:,\s*offset:\s*(?:\d+|\?))?>|,(?P<unused>[^>]*(?:<[^>]*>)?[^>]*))?\s*>",
        PrintedShape("tensor<2x3x4xf32>", "MLIR", "2,3,4", "float32"),
        PrintedShape("tensor<?x3x224x224xf16>", "MLIR, IREE", "?,3,224,224", "float16"),
        PrintedShape("tensor<bf16>", "MLIR", "[]", "bfloat16"),
        PrintedShape("memref<2x3xf32>", "MLIR", "2,3", "float32"),
        PrintedShape("memref<2x3xf32, strided<[1, 2]>>", "MLIR", "2,3", "float32", "1,2"),
        PrintedShape("vector<4x8xi8>", "MLIR", "4,8", "int8"),
        without_brackets=True,
    ),
    _make_format(
        "sizes and type with x",
        rf"(?P<inner>{TIMES_LIST})x(?P<dtype>[A-Za-z]\w*)(?:=.*)?",
        PrintedShape("1x3x224x224xf32", "iree-run-module", "1,3,224,224", "float32"),
        PrintedShape("2x3xi64=1 2 3 4 5 6", "iree-run-module", "2,3", "int64"),
        without_brackets=True,
    ),
    _make_format(
        "torch.jit",
        r"(?P<dtype>Float|Double|Half|Long|Int|Short|Char|Byte|Bool|BFloat16|ComplexFloat|ComplexDouble)"
        rf"\((?P<inner>\s*(?:{JIT_SIZE}(?:\s*,\s*{JIT_SIZE})*)?)\s*,?\s*(?:strides=\[(?P<strides>[\d,\s*]*)\])?"
        r"(?:,?\s*(?:requires_grad|device)=[\w:]+)*\s*\)",
        PrintedShape(
            "Float(2, 3, 4, strides=[12, 4, 1], requires_grad=0, device=cpu)", "torch.jit", "2,3,4", "float32"
        ),
        PrintedShape("Float(2, 3, strides=[1, 2])", "torch.jit", "2,3", "float32", "1,2"),
        PrintedShape("Double(2:12, 3:4, 4:1)", "torch.jit before 1.8", "2,3,4", "float64"),
        PrintedShape("Half(*, 3, 224, 224)", "torch.jit", "?,3,224,224", "float16"),
        PrintedShape("Long()", "torch.jit", "[]", "int64"),
        without_brackets=True,
        dims_cleaned=True,
    ),
    _make_format(
        "jaxtyping",
        rf"(?P<dtype>{NAME})\[\s*(?:{WORD}\.)*(?:Array|ArrayLike|Tensor|ndarray)\s*,(?P<inner>[^\[\],]*)\]",
        PrintedShape('Float[Array, "b c h w"]', "jaxtyping", "b,c,h,w"),
        PrintedShape('Float32[Tensor, "batch 3 h w"]', "jaxtyping", "batch,3,h,w", "float32"),
        has_generic_type=True,
        without_brackets=True,
        needs_type=False,
    ),
    _make_format(
        "type in front",
        rf"(?P<dtype>{TYPE})\s*(?P<inner>\[[^\[\]<>=:]*\])"
        r"(?:\{(?P<order>[\d,\s]*)(?P<unused>:[^{}]*)?\}|\[(?P<strides>[\d,\s]*)\]\s*(?:[a-z]+(?::\d+)?)?"
        rf"|\s+%?(?P<value>{WORD}))?"
        rf"|(?P<dtype2>{TYPE})(?:\s+(?P<inner2>\([^()<>=:]*\))|\s*(?P<inner3>\{{[^{{}}<>=:]*\}}))",
        PrintedShape("float32[1,3,224,224]", "Netron, IREE, JAX", "1,3,224,224", "float32"),
        PrintedShape("float32[batch_size,3,224,224]", "Netron", "batch_size,3,224,224", "float32"),
        PrintedShape("f32[2,3,4]{2,1,0}", "XLA", "2,3,4", "float32"),
        PrintedShape("f32[2,3,4]{0,1,2}", "XLA", "2,3,4", "float32", "1,2,6"),
        PrintedShape("bf16[8,128]{1,0:T(8,128)}", "XLA on TPU", "8,128", "bfloat16"),
        PrintedShape("pred[]", "XLA", "[]", "bool"),
        PrintedShape("f32[64, 128][128, 1]cuda:0", "torch.compile", "64,128", "float32"),
        PrintedShape("f32[s0, 3]", "torch.export, FX", "s0,3", "float32"),
        PrintedShape("f32{1, 3, 224, 224}", "nGraph", "1,3,224,224", "float32"),
        PrintedShape("torch.float32 (2, 3)", "print(x.dtype, x.shape)", "2,3", "float32"),
        PrintedShape("FLOAT[1,3,224,224]", "ONNX tools", "1,3,224,224", "float32"),
        PrintedShape("float[N, 3, 224, 224] x", "onnx.printer", "N,3,224,224", "float32"),
    ),
    _make_format(
        "type, then shape",
        rf"(?:%?[\w./:-]*\[)?\s*(?P<dtype>[A-Z][A-Z0-9]*)\s*,\s*(?P<inner>{TIMES_LIST}|{LIST})\s*\]?",
        PrintedShape("%input[FLOAT, 1x3x224x224]", "onnx.helper.printable_graph", "1,3,224,224", "float32"),
    ),
    _make_format(
        "shape, then type",
        rf"(?:{WORD}\.)*(?:Tensor|Buffer)\s*[\[(]\s*(?P<inner>{LIST})\s*,\s*(?:dtype\s*=\s*)?(?P<dtype>{NAME})\s*[\])]"
        rf"|(?P<inner2>{NAME}\({LIST}\)|{LIST})\s*[,:]?\s+(?P<dtype2>{TYPE})"
        rf"|(?P<inner3>{SIZE}(?:\s*[,x]\s*{SIZE})+)\s+(?:(?:\w*Array|Matrix)\{{)?(?P<dtype3>{TYPE})(?:,\s*\d+)?\}}?:?",
        PrintedShape("Tensor[(1, 3, 224, 224), float32]", "TVM Relay", "1,3,224,224", "float32"),
        PrintedShape('R.Tensor((1, 3, 224, 224), dtype="float32")', "TVM Relax", "1,3,224,224", "float32"),
        PrintedShape("Tensor[[2, 3], f32]", "candle", "2,3", "float32"),
        PrintedShape("(2, 3, 4) float32", "print(x.shape, x.dtype)", "2,3,4", "float32"),
        PrintedShape("torch.Size([2, 3]) torch.float16", "print(x.shape, x.dtype)", "2,3", "float16"),
        PrintedShape("224x224x3 single", "MATLAB whos", "224,224,3", "float32"),
        PrintedShape("2\u00d73\u00d74 Array{Float32, 3}", "Julia", "2,3,4", "float32"),
    ),
    _make_format(
        "Core ML",
        rf"(?:MultiArray\s*)?\(?\s*(?P<dtype>{WORD})\s+(?P<inner>{SIZE}(?:\s*[,x]\s*{SIZE})+)\s*\)?",
        PrintedShape(
            "MultiArray (Float32 1 \u00d7 3 \u00d7 224 \u00d7 224)", "Core ML, Xcode", "1,3,224,224", "float32"
        ),
        without_brackets=True,
    ),
    _make_format(
        "fields",
        rf"(?:[\w./:-]*\s*[\[<{{]|(?:<\s*)?(?:{WORD}\.)*(?:{TENSOR_CLASSES})\s*\(|(?:d?type|name)\s*=).*?"
        rf"\b(?:shape|size)\s*[=:]?\s*(?P<inner>{NAME}\({LIST}\)|{LIST})(?P<rest>(?:(?!\b(?:shape|size)\s*[=:]).)*)",
        PrintedShape("[dtype=float32, shape=(1, 3, 224, 224)]", "polygraphy", "1,3,224,224", "float32"),
        PrintedShape(
            "images [dtype=float32, shape=('batch', 3, 640, 640)]", "polygraphy", "batch,3,640,640", "float32"
        ),
        PrintedShape(
            "NodeArg(name='x', type='tensor(float)', shape=['batch', 3, 224, 224])",
            "ONNX Runtime",
            "batch,3,224,224",
            "float32",
        ),
        PrintedShape("TensorSpec(shape=(None, 3), dtype=tf.float32, name=None)", "TensorFlow", "?,3", "float32"),
        PrintedShape(
            "<KerasTensor shape=(None, 784), dtype=float32, sparse=False, name=x>", "Keras", "?,784", "float32"
        ),
        PrintedShape("ShapeDtypeStruct(shape=(2, 3), dtype=float32)", "JAX", "2,3", "float32"),
        PrintedShape("Tensor(shape=[2, 3], dtype=int64, place=Place(cpu))", "PaddlePaddle", "2,3", "int64"),
        PrintedShape("Tensor(shape=[2, 3], dtype=Float32, value=...)", "MindSpore", "2,3", "float32"),
        PrintedShape('<HDF5 dataset "x": shape (2, 3), type "<f4">', "h5py", "2,3", "float32"),
        PrintedShape('{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}', "safetensors header", "2,3", "float32"),
        PrintedShape("<ConstOutput: names[x] shape[?,3,224,224] type: f32>", "OpenVINO", "?,3,224,224", "float32"),
        PrintedShape(
            "FakeTensor(..., device='cuda:0', size=(s0, 3), dtype=torch.float16)", "PyTorch", "s0,3", "float16"
        ),
        PrintedShape("tensor(..., device='meta', size=(2, 3))", "PyTorch", "2,3"),
        PrintedShape('Tensor("x:0", shape=(?, 224, 224, 3), dtype=float32)', "TensorFlow 1", "?,224,224,3", "float32"),
        PrintedShape("<Matrix(float64, shape=(?, 3))>", "PyTensor", "?,3", ""),
        PrintedShape("type=float(1), shape=[?,224,224,3]", "summarize_graph", "?,224,224,3", "float32"),
        needs_type=False,
    ),
)
"""The formats, in the order of matching."""
FIELD_TYPE = re.compile(
    r"\b(?:dtype|type|data_?type)\b\s*[=:]?\s*(?P<onnx>tensor\()?\s*(?P<dtype>(?:[A-Za-z_]\w*\.)*\w+|[<|][fiub]\d)(?P<number>\(\d+\))?",
    re.ASCII,
)
"""A regular expression for a field that contains the element type."""
PLAIN_EXAMPLES = (
    PrintedShape("2x3x4", "common", "2,3,4"),
    PrintedShape("(2, 3, 4)", "NumPy", "2,3,4"),
    PrintedShape("[1, 3, 224, 224]", "ONNX, torchinfo", "1,3,224,224"),
    PrintedShape("{1,3,224,224}", "C++", "1,3,224,224"),
    PrintedShape("['batch', 3, 224, 224]", "ONNX Runtime", "batch,3,224,224"),
    PrintedShape("-1x3x224x224", "trtexec", "?,3,224,224"),
    PrintedShape("(-1, 3, 224, 224)", "TensorRT", "?,3,224,224"),
    PrintedShape("[-1, 64, 112, 112]", "torchsummary", "?,64,112,112"),
    PrintedShape("[?,3,224,224]", "OpenVINO", "?,3,224,224"),
    PrintedShape("?x3x224x224", "MLIR", "?,3,224,224"),
    PrintedShape("(None, 224, 224, 3)", "Keras", "?,224,224,3"),
    PrintedShape("[  1 224 224   3]", "TensorFlow Lite", "1,224,224,3"),
    PrintedShape("(np.int64(2), np.int64(3))", "NumPy 2", "2,3"),
    PrintedShape("(tensor(2), tensor(3))", "torch.jit tracing", "2,3"),
    PrintedShape("1L, 2L", "Python 2", "1,2"),
    PrintedShape("N C H W", "einops", "N,C,H,W"),
    PrintedShape('"b c h w"', "jaxtyping", "b,c,h,w"),
    PrintedShape("batch_size x 3", "papers", "batch_size,3"),
    PrintedShape("1\uff0c3\uff0c224\uff0c224", "full-width commas", "1,3,224,224"),
    PrintedShape("\uff082\uff0c3\uff09", "full-width brackets", "2,3"),
    PrintedShape("2\u00d73\u00d74", "Julia", "2,3,4"),
)
"""Examples that need no format: other separators, other brackets and spellings of an unknown size."""


def rewrite_characters(text: str) -> str:
    """Replace full-width characters, quotes and wrappers of numbers.

    The replacement does not change the length of the text.

    >>> rewrite_characters("\uff082\uff0c'N'\uff09"), rewrite_characters("(np.int64(2), 3)")
    ('(2, N )', '(         2 , 3)')
    """
    text = text.translate(FULL_WIDTH)
    if TIMES in text:
        text = text.replace(TIMES, "x" if "," in text else ",")
    text = text.replace("'", " ").replace('"', " ")
    return WRAPPED_NUMBER.sub(lambda match: " " * (match.start(1) - match.start()) + match[1] + " ", text)


WRAPPED_NUMBER = re.compile(
    r"(?<![\w.])(?:np\.|numpy\.)?(?:u?int\d+|Dimension|Dim|SymInt|tensor)\((-?\d+|None)\)", re.ASCII
)
"""A regular expression for a dim in a constructor call, such as `np.int64(3)` or `Dimension(None)`."""


def locate_printed_dims(text: str) -> LocatedDims | None:
    """Locate the dims in a shape that another tool printed.

    Returns None if no format matches.
    """
    if len(text) > MAX_SPELLING_LENGTH:
        return None
    rewritten = rewrite_characters(text)
    located = _match_nested_formats(
        rewritten, LocatedDims(rewritten, *_strip_whitespace(rewritten, 0, len(rewritten)), False), 0
    )
    return located if located.form or rewritten != text else None


def _match_nested_formats(text: str, located: LocatedDims, depth: int) -> LocatedDims:
    """Match nested formats from the outermost to the innermost."""
    start, end = located.start, located.end
    for form in SHAPE_FORMATS if depth < MAX_DEPTH else ():
        match = form.pattern.fullmatch(text, start, end)
        groups = _merge_groups(match) if match else {}
        if match is None or not _has_known_type(form, groups):
            continue
        inner_start, inner_end = _find_inner_span(match)
        dtype = groups.get("dtype", "") or _find_field_type(f"{text[start:inner_start]} {groups.get('rest', '')}", form)
        if "value" in groups:
            dtype = DIALECT_TYPES.get(dtype, dtype)  # in the text format of ONNX, `float` is float32
        if form.has_generic_type and dtype.rpartition(".")[2] in GENERIC_TYPES:
            dtype = ""
        strides = groups.get("strides", "")
        if form.dims_cleaned:
            text, strides = _clean_jit_dims(text, inner_start, inner_end, strides)
        found = LocatedDims(
            text,
            *_strip_whitespace(text, inner_start, inner_end),
            form.without_brackets,
            dtype or located.dtype,
            strides or located.strides,
            groups.get("order", "") or located.order,
            groups.get("unused", "") or located.unused,
            form.name,
        )
        return found if form.without_brackets else _match_nested_formats(text, found, depth + 1)
    return located


def _merge_groups(match: re.Match[str]) -> dict[str, str]:
    """Return the groups of a match, with numbered groups renamed.

    For example, the group `dtype2` becomes `dtype`.
    """
    return {name.rstrip("23"): value.strip() for name, value in match.groupdict().items() if value is not None}


def _find_inner_span(match: re.Match[str]) -> tuple[int, int]:
    for name in ("inner", "inner2", "inner3"):
        if name in match.re.groupindex and match[name] is not None:
            return match.span(name)
    return match.end() - 1, match.end() - 1  # the format of a scalar, such as `tensor<f32>`


def _has_known_type(form: ShapeFormat, groups: dict[str, str]) -> bool:
    """Return whether the element type of a match is known or optional.

    If strides in brackets follow, only short names such as `f32` are known.
    """
    dtype = groups.get("dtype", "")
    if form.name == "type in front" and "strides" in groups and not SHORT_TYPE.fullmatch(dtype):
        return False  # `float[2][3]` is a C array
    return not form.needs_type or is_element_type(dtype)


def is_element_type(word: str) -> bool:
    """Return whether a word is the name of an element type in a tool.

    >>> is_element_type("torch.float32"), is_element_type("Half"), is_element_type("x")
    (True, True, False)
    """
    name = word.rpartition(".")[2]
    return name in ELEMENT_TYPES or name in DIALECT_TYPES


def _find_field_type(text: str, form: ShapeFormat) -> str:
    for match in FIELD_TYPE.finditer(text) if form.name == "fields" else ():
        if is_element_type(match["dtype"]):
            is_fixed = match["onnx"] or match["number"]  # `float` has 32 bits in ONNX and in TensorFlow's enumeration
            return DIALECT_TYPES.get(match["dtype"], match["dtype"]) if is_fixed else match["dtype"]
    return ""


def canonical_type(word: str) -> str:
    """Return the NumPy or ml_dtypes name of an element type.

    An unknown word is returned unchanged.

    >>> canonical_type("torch.float32"), canonical_type("Half"), canonical_type("bf16")
    ('float32', 'float16', 'bfloat16')
    """
    name = word.rpartition(".")[2]
    return ELEMENT_TYPES.get(name) or DIALECT_TYPES.get(name) or name


def _clean_jit_dims(text: str, start: int, end: int, strides: str) -> tuple[str, str]:
    """Convert torch.jit dims to dims and strides.

    `*` is an unknown size, and `2:12` is a size with its stride.
    """
    dims = text[start:end]
    pairs = [dim.partition(":") for dim in dims.split(",")] if ":" in dims else []
    strides = ",".join([stride for _, _, stride in pairs]) if pairs else strides
    dims = re.sub(r":\d+", lambda match: " " * len(match[0]), dims.replace("*", "?"))
    return text[:start] + dims + text[end:], strides.replace(" ", "")


def _strip_whitespace(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the offsets of `text[start:end]` without surrounding blanks."""
    piece = text[start:end]
    if not piece.strip():
        return start, start
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


class NonShapeFormat(Record):
    """A text format that is not a single shape, with the message and a hint."""

    expression: str
    message: str
    hint: str
    """The hint. The dims in the text replace `{dims}`."""
    examples: tuple[tuple[str, str, str], ...]
    """Examples: each contains a text, the tool that prints it, and a part of the error message."""

    @lazy
    def pattern(self) -> Pattern[str]:
        """Compile the expression."""
        return re.compile(self.expression, re.DOTALL | re.ASCII)


NON_SHAPE_FORMATS = (
    NonShapeFormat(
        r"\s*\S+(?:\s+(?:by|and|to|into)\s+\S+)+\s*",
        "the words of a sentence are not dims",
        "write {dims}",
        (("2 by 3", "English", "write 2,3"),),
    ),
    NonShapeFormat(
        r".*(?:Shape|Size)\(\s*None\s*\)\s*|.*(?:tensor|memref)<\s*\*\s*x.*|\s*\[?\(?\.\.\.\)?\]?\s*",
        "a tensor of unknown rank has no shape",
        "write a name or ? for each dim, such as ?,?",
        (
            ("tensor<*xf32>", "MLIR", "unknown rank"),
            ("[...]", "OpenVINO", "unknown rank"),
            ("TensorShape(None)", "TensorFlow", "unknown rank"),
        ),
    ),
    NonShapeFormat(
        r".*(?:\d\s*\.\.\s*\d|<=\s*\d|\.\.\s*\d+\s*,|\d+\s*\.\.\s*[,\]]).*",
        "a range is not the size of a dim",
        "write a name (N) or ? for a size that is not known",
        (("[1..8,3,224,224]", "OpenVINO", "a range"), ("f32[<=10,3]", "XLA", "a range")),
    ),
    NonShapeFormat(
        rf"\s*\(?\s*(?:{TYPE}\s*)?{LIST}(?:\{{[^{{}}]*\}})?\s*,\s*(?:{TYPE}\s*)?{LIST}.*",
        "one shape was expected, not several",
        "write one of them: {dims}",
        (
            ("(2, 3), (3, 4)", "Python", "write one of them: 2,3"),
            ("(f32[2,3], f32[4])", "XLA tuples", "write one of them: 2,3"),
        ),
    ),
    NonShapeFormat(
        r"\s*\w*\s*[({\[<]*\s*(?:[A-Za-z_]\w*\s*[:=]\s*\d+\s*,?\s*)+[)}\]>]*\s*",
        "a list of named sizes is not a shape",
        "write the sizes alone: {dims}",
        (
            ("(time: 10, lat: 5)", "xarray", "write the sizes alone: 10,5"),
            ("{'b': 2, 'c': 3}", "einops.parse_shape", "write the sizes alone: 2,3"),
        ),
    ),
    NonShapeFormat(
        r"\s*(?:\w+\s+)?\w*(?:\s*\[\s*\w+\s*\]){2,}\s*",
        "dims in separate brackets declare an array in C",
        "write {dims}",
        (("[2][3][4]", "C", "write 2,3,4"), ("float x[2][3]", "C", "write 2,3")),
    ),
    NonShapeFormat(
        r"\s*(?:np\.|torch\.)?(?:array|tensor)\s*\(\s*\[.*",
        "this is data, not a shape",
        "if the numbers are the shape, write {dims}",
        (("array([1, 224, 224, 3], dtype=int32)", "TensorFlow Lite", "write 1,224,224,3"),),
    ),
    NonShapeFormat(
        r"[^()]*[\w)]\s*[+]\s*[\w(].*",
        "a dim cannot be a sum",
        "write a name for it, such as L",
        (("['batch', 'past + 1']", "ONNX Runtime", "a dim cannot be a sum"),),
    ),
    NonShapeFormat(
        r"[^,]*(?:^|[\s\[(])[*#]\w[^,]*",
        "* and # are for annotations of functions",
        "write the name alone, or ... in a pattern",
        (('"*batch c h w"', "jaxtyping", "write the name alone"),),
    ),
    NonShapeFormat(
        r"\s*[A-Za-z_]\w*\s*=\s*[\[(]?\s*(?:-?\w+)(?:\s*[,x]\s*-?\w+)*\s*[\])]?\s*",
        "a shape has no name here",
        "write {dims}",
        (("x=2,3", "code --input", "write 2,3"),),
    ),
)
"""The formats of refused texts, in the order of matching."""
DIMS_IN_TEXT = re.compile(r"[\[({]\s*([\w?]+(?:\s*[,x]\s*[\w?]+)*)\s*,?\s*[\])}]", re.ASCII)
LISTS_IN_TEXT = re.compile(
    rf"(?P<name>\b(?:shape|size)\W*(?:array\()?)?"
    rf"(?:[\[({{]\s*(?P<dims>{SIZE}(?:\s*,\s*{SIZE})*)\s*,?\s*[\])}}]|(?<![\w.])(?P<sizes>{SIZE}(?:x{SIZE})+)(?!\w))",
    re.ASCII,
)
"""A regular expression for lists of sizes in a text."""
SIZES_IN_TEXT = re.compile(r"(?:[:=\[]\s*)(\d+|\?)", re.ASCII)


def find_non_shape_error(text: str, argument: str) -> ShapeError | None:
    """Return the error for a text that is not a single shape, or None.

    Only the formats in `NON_SHAPE_FORMATS` are recognized.

    >>> print(find_non_shape_error("[1..8,3]", "input"))
    usage: a range is not the size of a dim (write a name (N) or ? for a size that is not known)
    """
    rewritten = rewrite_characters(text[:MAX_SPELLING_LENGTH])
    for form in NON_SHAPE_FORMATS if len(text) <= MAX_REFUSED_LENGTH else ():
        if form.pattern.fullmatch(rewritten):
            return _non_shape_error(form, rewritten, argument)
    return None


def extract_dims(text: str) -> str:
    """Extract the dims from a list of sizes in a text.

    The first list with the name `shape` or `size` is preferred. Otherwise, the text must contain only one list. Returns
    an empty string if there is no such list.

    >>> extract_dims("#tf.shape<?x784>"), extract_dims("[torch.FloatTensor of size 2x3]"), extract_dims("a, b")
    ('?,784', '2,3', '')
    """
    matches = [*LISTS_IN_TEXT.finditer(rewrite_characters(text[:MAX_REFUSED_LENGTH]))]
    named = [match for match in matches if match["name"]]
    found = named[0] if named else matches[0] if len(matches) == 1 else None
    return re.sub(r"\s+", "", (found["dims"] or found["sizes"]).replace("x", ",")).rstrip(",") if found else ""


def _non_shape_error(form: NonShapeFormat, text: str, argument: str) -> ShapeError:
    if "words" in form.message:
        dims = ",".join([word for word in text.split() if word not in ("by", "and", "to", "into")])
    elif "sizes" in form.message or "brackets" in form.message:
        dims = ",".join(SIZES_IN_TEXT.findall(text))
    else:
        found = DIMS_IN_TEXT.search(text)
        dims = re.sub(r"\s", "", found[1]) if found else text.partition("=")[2].strip()
    hint = form.hint.format(dims=dims or "2,3,4")
    return usage_error(form.message, hint, argument=argument, span=(0, max(1, len(text))))
