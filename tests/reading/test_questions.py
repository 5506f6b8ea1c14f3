"""What the user is asked for where code is unknown, and that each answer leads to the result."""

from __future__ import annotations

import pytest

from shapecalc.cli.pasted import parse_named_sizes
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import parse_dims, shape_text
from shapecalc.reading.code import interpret_code
from shapecalc.reading.code.lines import collect_code_lines
from shapecalc.reasoning.answers import answer_code
from tests.cases import describe_answer

INPUT = {"x": (2, 3)}
HELPERS = "from functools import partial\nimport torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
QUESTIONS = {
    "def f(x):\n    a, b = unknown(x)\n    return a @ b.mT": ("unknown(x)", 2),
    "def f(x):\n    rows, *rest = unknown(x)\n    return rows": ("unknown(x)", 1),
    "def f(x):\n    (a, b), c = unknown(x), x\n    return a": ("unknown(x)", 1),
    "def f(x, k):\n    return x[k]": ("x[k]", 1),
    "def f(x, n=2):\n    return f(x.T, n - 1) if n else x": ("f(x.T, n - 1)", 1),
    "pad = partial(unknown, value=3)\ndef f(x):\n    return pad(x)": ("pad(x)", 1),
}


def questions_of(code, **inputs):
    """Return the questions about code that is not answered."""
    calls = []
    with pytest.raises(ShapeError):
        interpret_code(HELPERS + code, INPUT | inputs, unknown_calls=calls)
    return calls


def inputs_of(code):
    """Return the inputs of the function in `code`."""
    return INPUT | ({"k": (2,)} if ", k)" in code else {})


@pytest.mark.parametrize(("code", "question"), QUESTIONS.items())
def test_questions_name_the_unknown_call_and_its_results(code, question):
    (call,) = questions_of(code, **inputs_of(code))
    assert (call.call, call.count) == question


@pytest.mark.parametrize(("code", "question"), QUESTIONS.items())
def test_questions_lead_to_the_result(code, question):
    call, _ = question
    parts = {f"{call}[0]": (4, 5), f"{call}[1]": (4, 5)} if "rows" in code or ", b" in code else {call: (4, 5)}
    shape = "4,4" if "@" in code else "4,5"
    assert describe_answer(answer_code(interpret_code(HELPERS + code, inputs_of(code) | parts))) == shape


def test_questions_propose_a_shape_for_each_unpacked_name():
    (call,) = questions_of("def f(x):\n    a, b = unknown(x)\n    return a")
    assert call.as_json() == {"call": "unknown(x)", "line": 6, "proposal": [[2, 3], [2, 3]]}


def test_result_may_be_a_given_call():
    code = "def f(x):\n    y = x.T\n    return unknown(y)"
    assert describe_answer(answer_code(interpret_code(code, INPUT | {"unknown(y)": (5, 6)}))) == "5,6"


BLOCKS = """
class Wide(nn.Module):
    expansion = 4

    def __init__(self, width):
        super().__init__()
        self.net = nn.Linear(width, width * self.expansion)

    def forward(self, x):
        return self.net(x)


class Net(nn.Module):
    def __init__(self, block, width=3):
        super().__init__()
        self.body = nn.Sequential(*[block(width * block.expansion**index) for index in range(2)])

    def forward(self, x):
        return self.body(x)


class Configured(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.scale = nn.Parameter(torch.Tensor([config.get("scale", 2.0)]))
        self.proj = nn.Linear(config["dim"], config["head"]["out"])

    def forward(self, x):
        x = x.to(next(self.parameters()).device)
        if hasattr(F, "scaled_dot_product_attention"):
            x = self.proj(x).fmod_(1.0)
        return x * torch.sigmoid(self.scale)
"""


@pytest.mark.parametrize(
    ("entry", "where", "shape"),
    [
        ("Net", "block=Wide", "2,48"),
        ("Net", "block=Wide,width=3", "2,48"),
        ("Configured", "dim=3,out=7", "2,7"),
        ("Configured", "config['dim']=3,config['head']['out']=8", "2,8"),
    ],
)
def test_classes_and_dicts_are_given_as_arguments(entry, where, shape):
    code = interpret_code(HELPERS + BLOCKS, INPUT, None, parse_named_sizes(where), entry=entry)
    assert describe_answer(answer_code(code)) == shape


def test_missing_classes_are_asked_for():
    code, sizes, calls = HELPERS + BLOCKS, parse_named_sizes("block=Basic"), []
    with pytest.raises(ShapeError, match=r"there is no class Basic here|body is not known"):
        interpret_code(code, INPUT, None, sizes, entry="Net", unknown_calls=calls)
    assert [call.call for call in calls] == ["self.body(x)"]


@pytest.mark.parametrize("use", ["a, b = y", "a = y.view(-1)", "a = y.shape[0]"])
def test_arguments_that_are_none_are_asked_for(use):
    (call,) = questions_of(f"def f(x, y=None):\n    {use}\n    return x + a")
    assert call.call == "y"


@pytest.mark.parametrize(("code", "shape"), [("torch.Tensor(2, 4)", "2,4"), ("torch.Tensor([[2], [4]])", "2,1")])
def test_tensor_takes_a_shape_or_elements(code, shape):
    assert shape_text(interpret_code(f"import torch\n{code}", {}).input_shape) == shape == shape_text(parse_dims(shape))


def test_unknown_types_are_asked_for():
    code = "def f(x, w):\n    if isinstance(w, int):\n        w = (w, 3)\n    return x.view(w)"
    (call,) = questions_of(code)
    assert call.as_json() == {"call": "w", "line": 6, "proposal": None, "option": "--where"}


UNKNOWN = """
class Attention(nn.Module):
    def __init__(self, width, half=False, mix=None, scale=2):
        super().__init__()
        self.proj = nn.Linear(width, width)
        self.half, self.scale = half, scale
        self.mix = nn.Linear(width, width) if mix else None

    def forward(self, x, mask=None):
        if self.half:
            x = x[:1]
        if self.mix is not None:
            x = self.mix(x)
        return self.proj(x) * self.scale


class Wide(Attention):
    def __init__(self, width, mix):
        super().__init__(width, mix=mix)
        self.proj = nn.Linear(width, 4 * width)


class Gated(nn.Module):
    def __init__(self, width, gate_class=nn.ReLU, half=False):
        super().__init__()
        self.attention = Attention(width, half=half)
        self.geglu = GEGLU(width)

    def forward(self, x):
        return self.geglu(x)
"""


@pytest.mark.parametrize(
    ("entry", "where", "questions"),
    [
        ("Attention", "width=3", ["self.half", "self.proj(x)"]),
        ("Attention", "width=3,half=True", ["self.proj(x)"]),
        ("Wide", "width=3,mix=True", []),
        ("Gated", "width=3", ["self.geglu(x)"]),
    ],
)
def test_defaults_that_the_file_overrides_are_asked_for(entry, where, questions):
    calls = []
    try:
        interpret_code(HELPERS + UNKNOWN, INPUT, None, parse_named_sizes(where), entry=entry, unknown_calls=calls)
    except ShapeError:
        assert questions
    assert [call.call for call in calls] == questions


@pytest.mark.parametrize(
    "line",
    [
        "x + mask",
        "x * (1 - mask)",
        "x.masked_fill(mask == 0, 0.0)",
        "torch.where(mask, x, 0.0)",
        "torch.add(x, mask)",
        "x.clamp(max=mask)",
    ],
)
def test_operands_of_unknown_shape_are_asked_for(line):
    code = f"def f(x, mask):\n    return {line}"
    (call,) = questions_of(code)
    assert call.call == "mask"
    given = INPUT | {"mask": (4, 1, 1)}
    assert describe_answer(answer_code(interpret_code(HELPERS + code, given))) == "4,2,3"


def test_unknown_numbers_keep_the_shape():
    code = "def f(x, scale: float, config):\n    return x * scale + config.eps"
    assert describe_answer(answer_code(interpret_code(HELPERS + code, INPUT))) == "2,3"


@pytest.mark.parametrize("test", ["mask is not None", "not (mask is None)", "mask is not None and x.size(0) > 0"])
def test_branches_know_that_a_name_is_not_none(test):
    code = f"""def f(x, flag):
    mask = x[:1] if flag else None
    if {test}:
        x = x + mask
    return x"""
    assert describe_answer(answer_code(interpret_code(HELPERS + code, INPUT))) == "2,3"


DEFAULTS = """
import itertools


class Causal(nn.Conv1d):
    def __init__(self, width, out_width, kernel):
        super().__init__(width, out_width, kernel, padding=kernel)
        self.before = self.padding[0]
        self.padding = (0,)

    def forward(self, x):
        return super().forward(F.pad(x, (self.before, 0)))


class Net(nn.Module):
    def __init__(self, config, width, inner=None):
        super().__init__()
        inner = inner or 4 * width
        self.head = getattr(config, "head", None) or width
        self.conv = Causal(width, inner, config.kernel)
        self.embed = nn.Embedding(8, self.head, _freeze=True)

    @staticmethod
    def double(x):
        return torch.cat([x, x])

    def forward(self, x, index=[0]):
        index[0] += len(list(itertools.product(range(2), range(3))))
        x = self.conv(x)
        return x, self.embed(torch.arange(0, self.head, 2)), x.new_zeros(index[0])


class Outer(nn.Module):
    def __init__(self, config, width, inner):
        super().__init__()
        self.net = Net(config, width, inner=inner)

    def forward(self, x):
        return self.net(x)
"""


@pytest.mark.parametrize(
    ("entry", "where", "shapes"),
    [
        ("Net", "width=2,config.kernel=2", ["inner,4", "1,2", "6"]),
        ("Net", "width=2,config.kernel=2,index=(5,)", ["inner,4", "1,2", "11"]),
        ("Net", "width=2,config.kernel=2,config.head=6,inner=None", ["8,4", "3,6", "6"]),
        ("Net", "width=2,inner=5,kernel=2", ["5,4", "head1,head", "6"]),
        ("Net.double", "", ["4,3"]),
    ],
)
def test_defaults_of_unknown_sizes(entry, where, shapes):
    sizes = parse_named_sizes(where) if where else {}
    code = interpret_code(HELPERS + DEFAULTS, INPUT, None, sizes, entry=entry)
    assert [*map(shape_text, code.outputs or [answer_code(code).output])] == shapes


def test_sizes_that_are_not_known_are_not_refused():
    code = "def f(x, mask):\n    a, b = x.split(torch.bincount(x[0].long()).tolist())\n    return a"
    with pytest.raises(ShapeError, match="is not known"):
        interpret_code(HELPERS + code, INPUT)


TURNS = """def f(x, masks):
    for mask in masks.unbind(0):
        rows = x[mask.bool()]
        total = rows.sum(0)
    return x
"""


def test_sizes_that_differ_in_each_turn_are_not_printed():
    records = []
    interpret_code(HELPERS + TURNS, {"x": (5, 6), "masks": parse_dims("N,5")}, records=records)
    shapes = {name: shape for line in collect_code_lines(records) for name, shape in line.shapes.items()}
    assert shapes == {"rows": None, "total": (6,), "": (5, 6)}


CONFIGURED = """def f(x, config, processor=None):
    scale = 2 if hasattr(config, "scale") else 1
    parts = x.split([config.first, config.second], 1)
    table = {config.name: x, "x": x.mT}
    return parts[0].new_zeros(scale), parts[1], table["x"]
"""


@pytest.mark.parametrize(
    ("where", "shapes"), [("config.first=1", ["1", "2,second"]), ("config.first=1,config.scale=3", ["2", "2,second"])]
)
def test_attributes_of_a_described_configuration(where, shapes):
    text, inputs, sizes = HELPERS + CONFIGURED, INPUT, parse_named_sizes(where)
    with pytest.raises(ShapeError, match="the key is not known"):
        interpret_code(text, inputs, None, sizes)
    code = interpret_code(text.replace(', table["x"]', ""), inputs, None, sizes)
    assert [*map(shape_text, code.outputs)] == shapes
