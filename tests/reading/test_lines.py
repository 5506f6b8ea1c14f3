"""The shapes of every line of code: their rows, their comments in the source, and the code that is asked for."""

from __future__ import annotations

import ast

import pytest

from shapecalc.checking.source_code import check_source
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import parse_dims
from shapecalc.reading.code import interpret_code
from shapecalc.reading.code.annotate import annotate
from shapecalc.reading.code.comments import parse_annotation
from shapecalc.reading.code.lines import collect_code_lines, format_lines, result_names

ATTENTION = """\
import torch
from torch import nn


def scaled(y, factor: float):
    z = y * factor  # a comment that is no shape
    return z


class Attention(nn.Module):
    def __init__(self, dim=768):
        super().__init__()
        self.qkv = nn.Linear(dim, dim * 3)
        self.body = nn.Sequential(nn.Linear(dim, 8, bias=False), nn.ReLU())
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(12)])

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, 12, 64).permute(2, 0, 3, 1, 4).unbind(0)  # 1,2,3
        attn = scaled(q @ k.transpose(-2, -1), 0.125)
        x = (attn @ v).transpose(1, 2).reshape(B, N, C)
        x = self.body(x)
        for block in self.blocks:
            x = block(x)
        return x, attn
"""
ROWS = """\
Attention.forward
 18  B, N, C = x.shape                B=B  N=T  C=768
 19  q, k, v = self.qkv(x).reshap...  q, k, v B,12,T,64
 20  attn = scaled(q @ k.transpos...  attn B,12,T,T
  6    z = y * factor                 z B,12,T,T
  7    return z                       B,12,T,T
 21  x = (attn @ v).transpose(1, ...  x B,T,768
 22  x = self.body(x)                 x B,T,8  6,144 parameters
 22    0  Linear(768,8,bias=False)    B,T,8  6,144 parameters
 22    1  ReLU()                      B,T,8
 24  x = block(x)                     x B,T,8  x12
 25  return x, attn                   x B,T,8  attn B,12,T,T"""


def interpret(text, entry="", **inputs):
    """Return the records of interpreted code, and the names of its results."""
    records = []
    code = interpret_code(text, {name: parse_dims(dims) for name, dims in inputs.items()}, records=records, entry=entry)
    return records, result_names(records, len(code.outputs) or 1)


def test_lines_of_a_class():
    records, names = interpret(ATTENTION, x="B,T,768")
    assert "\n".join(format_lines(collect_code_lines(records), records[-1].function, 60)) == ROWS
    assert names == ["x", "attn"]


def test_lines_json():
    records, _ = interpret(ATTENTION, x="B,T,768")
    lines = [line.as_json() for line in collect_code_lines(records)]
    assert lines[0] == {
        "line": 18,
        "end": 18,
        "text": "B, N, C = x.shape",
        "names": {},
        "sizes": {"B": "B", "N": "T", "C": 768},
        "depth": 0,
        "times": 1,
        "conditions": [],
    }
    assert [line["parameters"] for line in lines if "parameters" in line] == [6144, 6144, 0]


def test_lines_conditions_stand_where_they_arise():
    records, _ = interpret("y = x.view(2, -1)\nz = y.view(-1, 3)", x="N,3")
    assert [line.as_json()["conditions"] for line in collect_code_lines(records)] == [["N % 2 == 0"], []]


def test_lines_before_a_refusal():
    records = []
    with pytest.raises(ShapeError, match="unknown_function"):
        interpret_code("y = x.view(-1)\nz = unknown_function(y)", {"x": (2, 3)}, records=records)
    assert [line.format_values() for line in collect_code_lines(records)] == ["y 6", "z ?"]


@pytest.mark.parametrize(
    ("entry", "function"),
    [("", "Attention.forward"), ("scaled", "scaled"), ("Attention", "Attention.forward")],
)
def test_entry_selects_a_function(entry, function):
    inputs = {"y": "2,3"} if entry == "scaled" else {"x": "B,T,768"}
    assert interpret(ATTENTION, entry, **inputs)[0][-1].function == function


@pytest.mark.parametrize("entry", ["missing", "Attention.missing", "scaled.inner", "Attention.forward.x"])
def test_entry_unknown_is_refused(entry):
    with pytest.raises(ShapeError, match=r"is no function or class of this file \(it has scaled, Attention"):
        interpret(ATTENTION, entry, x="B,T,768")


def test_annotate_adds_comments_only():
    records, _ = interpret(ATTENTION, x="B,T,768")
    annotated = annotate(ATTENTION, collect_code_lines(records))
    assert ast.dump(ast.parse(annotated)) == ast.dump(ast.parse(ATTENTION))
    assert "    z = y * factor  # a comment that is no shape  # z: B,12,T,T\n" in annotated
    assert ".unbind(0)  # q, k, v: B,12,T,64\n" in annotated
    assert annotate(annotated, collect_code_lines(interpret(annotated, x="B,T,768")[0])) == annotated


def test_annotate_renews_comments():
    first = annotate("y = x.view(-1)\n", collect_code_lines(interpret("y = x.view(-1)", x="2,3")[0]))
    assert first == "y = x.view(-1)  # y: 6\n"
    second = annotate(first, collect_code_lines(interpret(first, x="4,3")[0]))
    assert second == "y = x.view(-1)  # y: 12\n"


@pytest.mark.parametrize(
    ("item", "value", "message"),
    [
        ("x[0]", "torch.ones(5)", "a part 4 does not take a tensor 5"),
        ("x[:, 0]", "torch.ones(4)", "a part 3 does not take a tensor 4"),
        ("x[1:]", "torch.ones(9, 9)", "a part 2,4 does not take a tensor 9,9"),
    ],
)
def test_item_of_another_size_is_refused(item, value, message):
    with pytest.raises(ShapeError, match=message) as caught:
        interpret(f"{item} = {value}\nx", x="3,4")
    assert caught.value.problem.rule == "not-broadcastable"


DECLARED = """\
from jaxtyping import Float


# shapes: x=B,T,768
def heads(x, h=12):
    B, N, C = x.shape
    y = x.view(B, N, h, C // h)  # (B, N, H, D)
    z = y.transpose(1, 2)  # [B x H x N x D]
    T = N * 2
    w = z.flatten(1, 2)  # the heads -> B,H*N,D
    u = z.repeat(1, 1, 2, 1)  # u: B,H,T,D
    return w  # w: B,H*T,D


def scale(x: Float[Tensor, "b t c"], w: "Float[Tensor, 'c']") -> Float[torch.Tensor, "b c t"]:
    return x.mT


def other(x):
    return x  # B,T
"""


def declared_lines(text, **inputs):
    """Return the lines of the declarations that are true, and the messages of those that are not."""
    shapes = {name: parse_dims(dims) for name, dims in inputs.items()}
    report = check_source(text, shapes)
    passed = [check.declared.line for function in report.functions for check in function.checks if not check.problem]
    return passed, [*report.failures()], report.skipped


def test_check_source_compares_comments_and_annotations():
    passed, failures, skipped = declared_lines(DECLARED)
    assert passed == [7, 8, 10, 11, 15, 16]
    [(line, message)] = failures
    assert line == 12 and message.startswith("the comment: B,12*T,64 is not B,H*T,D: dim 1 is 12*T, and H*T is 24*T ")
    assert skipped == ("other",)


@pytest.mark.parametrize(
    ("text", "inputs", "passed", "failed"),
    [
        ("y = x.view(2, -1)  # 2,3", {"x": "6"}, [1], []),
        ("y = x.view(2, -1)  # 2,4", {"x": "6"}, [], [1]),
        ("y = x.view(2, -1)  # (N, 3) or (3, N)", {"x": "6"}, [], []),
        ("y = x.view(2, -1)  # a comment, and no shape", {"x": "6"}, [], []),
        ("a, b = x.split([2, 4])  # b: 4", {"x": "6"}, [1], []),
        ("a, b = x.split([2, 4])  # a: 4; b: 4", {"x": "6"}, [1], [1]),
        ("for n in (2, 3):\n    y = x.view(n, -1)  # 2,3", {"x": "6"}, [], []),
        ("y = x[:, ::2]  # B,T/2", {"x": "B,T"}, [], []),
        ("y: Float[Tensor, 'n 3'] = x.view(-1, 3)", {"x": "6"}, [1], []),
        ("y: Float[Tensor, 'n 4'] = x.view(-1, 3)", {"x": "6"}, [], [1]),
        ("y: Float[Tensor, '*batch n+1'] = x.view(-1, 3)", {"x": "6"}, [1], []),
    ],
)
def test_check_source_declaration(text, inputs, passed, failed):
    true, untrue, _ = declared_lines(text, **inputs)
    assert (true, [line for line, _ in untrue]) == (passed, failed)


@pytest.mark.parametrize(
    ("annotation", "pattern", "uncompared"),
    [
        ("Float[Tensor, 'b t c']", "b,t,c", ()),
        ("jaxtyping.Int64[Array, '... 3']", "...,3", ()),
        ("Float[Tensor, '#n _ m=4']", "?,?,4", ("#n",)),
        ("Optional[Float[Tensor, 'h*w ']]", "h*w", ()),
        ("Float[Tensor, 'n'] | None", "n", ()),
        ("Float[Tensor, '']", "[]", ()),
    ],
)
def test_parse_annotation(annotation, pattern, uncompared):
    declared = parse_annotation(ast.parse(annotation, mode="eval").body)
    assert (str(declared.pattern), declared.uncompared) == (pattern, uncompared)


@pytest.mark.parametrize("annotation", ["Tensor", "Float[Tensor]", "dict[str, 'b t']", "Literal['a', 'b c']"])
def test_parse_annotation_of_another_type(annotation):
    assert parse_annotation(ast.parse(annotation, mode="eval").body) is None


def test_check_source_names_a_refused_operation():
    _, failures, _ = declared_lines("# shapes: x=5\ndef f(x):\n    y = x.view(2, -1)\n    return y\n")
    [(line, message)] = failures
    assert line == 3 and message.startswith("indivisible: ")


def test_check_source_refuses_an_unreadable_declaration():
    _, [(line, message)], _ = declared_lines("# shapes: x=2,,3\ndef f(x):\n    return x\n")
    assert line == 2 and message.startswith("usage: ")


def test_lines_name_the_unknown_items_of_a_list():
    records, _ = interpret("a = unknown(x)\nys = [a, x.view(-1)]\nzs = (x, (x.T, x))", x="2,3")
    assert [line.format_values() for line in collect_code_lines(records)] == [
        "a ?",
        "ys[0] ?  ys[1] 6",
        "zs[0], zs[1][1] 2,3  zs[1][0] 3,2",
    ]


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("q, k = map(lambda t: t.view(2, -1), x.chunk(2, 0))\nq @ k.T", "2,2"),
        ("y, ps = pack([x, x.mean(1)], 'b *')\ny", "2,24"),
        ("y, ps = pack([x, x.mean(1)], 'b * d')\na, b = unpack(y, ps, 'b * d')\nb", "2,6"),
        ("reduce(x, 'b (n s) d -> b n d', 'mean', s=3)", "2,1,6"),
        ("einsum(x, x, 'b n d, b m d -> b n m')", "2,3,3"),
        ("torch.min(x, x[:1])", "2,3,6"),
        ("torch.pow(2.0, x)", "2,3,6"),
        ("x.reshape(int(np.log2(8) - np.log2(2)), -1)", "2,18"),
        ("x.view(2, getattr(config, 'heads', 3), -1)", "2,heads,18/heads"),
        ("seq = nn.Sequential()\nseq.add_module('a', nn.Linear(6, 4))\nseq.append(nn.Linear(4, 5))\nseq(x)", "2,3,5"),
        ("layer = nn.Linear(6, 6) if flag else nn.Identity()\nlayer(x)", "2,3,6"),
        ("act = ACT2FN[config.hidden_act]\nact(x)", "2,3,6"),
        ("sizes = (2, 3).copy()\nsizes[0] = 6\nx.view(sizes[0], -1)", "6,6"),
        ("x.int().view(-1)", "36"),
    ],
)
def test_interpret_code_of_libraries(text, shape):
    x = "2,6" if "q, k" in text else "2,3,6"
    records, _ = interpret(text, x=x)
    assert collect_code_lines(records)[-1].shapes[""] == parse_dims(shape)


def test_interpret_code_of_alternatives_that_differ():
    with pytest.raises(ShapeError, match="which branch is taken is not known"):
        interpret("layer = nn.Linear(6, 5) if flag else nn.Identity()\nlayer(x)", x="2,6")


def test_imports_of_the_package_are_read(tmp_path):
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "parts.py").write_text(
        "from torch import nn\n\n\nclass Part(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n"
        "        self.layer = nn.Linear(width, 2 * width)\n\n    def forward(self, x):\n        return self.layer(x)\n"
    )
    main = tmp_path / "net.py"
    main.write_text(
        "from .parts import Part\nfrom .missing import Other\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        self.part = Part(8)\n\n    def forward(self, x):\n        y = self.part(x)\n        return y\n"
    )
    records = []
    interpret_code(main.read_text(), {"x": (3, 8)}, records=records, path=str(main))
    assert [line.format_values() for line in collect_code_lines(records)] == ["y 3,16", "3,16"]
    refused = interpret_code(main.read_text(), {"x": (3, 7)}, path=str(main))
    assert refused.notes == ("refused in line 10: y = self.part(x)",)


def test_modules_beside_a_file_are_read(tmp_path):
    (tmp_path / "parts.py").write_text(
        "import torch.nn as nn\n\n\nclass GELU(nn.Module):\n"
        "    def __init__(self, width):\n        super().__init__()\n"
        "        self.layer = nn.Linear(width, 2 * width)\n\n    def forward(self, x):\n        return self.layer(x)\n"
    )
    (tmp_path / "blocks").mkdir()
    (tmp_path / "blocks" / "inner.py").write_text("def halve(x):\n    return x[:, ::2]\n")
    main = tmp_path / "net.py"
    main.write_text(
        "from parts import GELU\nfrom blocks import inner\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        self.part = GELU(8)\n\n    def forward(self, x):\n"
        "        y = self.part(x)\n        return inner.halve(y)\n"
    )
    records = []
    interpret_code(main.read_text(), {"x": (3, 8)}, records=records, path=str(main))
    assert [line.format_values() for line in collect_code_lines(records)] == ["y 3,16", "3,8"]


def test_lines_show_a_nested_list_as_it_was_bound():
    records = []
    code = "xs = [[x]]\nxs[0].append(x.mT)\nreturn xs[0][1]"
    interpret_code(code, {"x": (2, 3)}, records=records)
    assert collect_code_lines(records)[0].format_values() == "xs[0][0] 2,3"


INHERITED = """\
class Base(nn.Module):
    def __init__(self, width):
        self.body = nn.Identity()

    def forward(self, x):
        return self.body(x)


class Wide(Base):
    def __init__(self, width=8):
        super().__init__(width)
        self.parts = nn.ModuleDict(dict(first=nn.Linear(width, 5), rest=nn.ModuleList([nn.Linear(5, 4)])))
        self.body = nn.Sequential(self.parts.first, self.parts.rest[0])
"""


@pytest.mark.parametrize("entry", ["Wide", "Wide.forward"])
def test_entry_may_be_inherited(entry):
    records, _ = interpret(INHERITED, entry, x="2,8")
    assert collect_code_lines(records)[0].shapes == {"": (2, 4)}


def test_unknown_calls_are_listed_with_proposals():
    text = "y = backbone(x)\nz = head(x.T)\na, b = rnn(z)\ny.view(-1) + a"
    calls = []
    with pytest.raises(ShapeError, match="backbone is not known here"):
        interpret_code(text, {"x": (2, 3)}, unknown_calls=calls)
    assert [call.as_json() for call in calls] == [
        {"call": "backbone(x)", "line": 1, "proposal": [2, 3]},
        {"call": "head(x.T)", "line": 2, "proposal": [3, 2]},
        {"call": "rnn(z)", "line": 3, "proposal": None},
    ]
    given = {"backbone(x)": (4,), "2:head(x.T)": (5, 6), "rnn(z)[0]": (4,), "rnn(z)[1]": (7,)}
    records = []
    interpret_code(text, {"x": (2, 3), **given}, records=records)
    assert [line.format_values() for line in collect_code_lines(records)] == ["y 4", "z 5,6", "a 4  b 7", "4"]


def test_lines_show_a_list_as_it_was_bound():
    code = "def f(x):\n    parts = [x, x]\n    parts[0] = x.flatten(1)\n    return parts[0]\n"
    records, _ = interpret(code, x="2,3,4")
    assert [line.format_values() for line in collect_code_lines(records)][:1] == ["parts[:] 2,3,4"]


def test_lines_leave_out_a_name_of_itself():
    records, _ = interpret("def f(x, batch):\n    mask = batch['mask']\n    return x.mT\n", x="2,3,4")
    assert [line.line for line in collect_code_lines(records)] == [3]


LOOPS = """
def f(x, mask, n):
    y, z, count, kept, seen = x, x, 0, [], None
    for index in mask:
        if index > 0:
            continue
        y = y.relu()
        row = x[int(index)]
        seen = row
        count += 1
        z = z.mT
        kept.append(row)
    while unknown(n):
        y = y + 1
    part = y[kept]
    return y, {result}
"""


@pytest.mark.parametrize(("result", "shape"), [("y.mT", "3,2"), ("seen", None), ("z", None), ("part", None)])
def test_loops_of_unknown_length_keep_what_every_turn_keeps(result, shape):
    code, calls, records = LOOPS.replace("{result}", result), [], []
    inputs = {"x": (2, 3), "mask": (4,)}
    if shape:
        assert interpret_code(code, inputs, records=records).outputs == ((2, 3), parse_dims(shape))
        return
    with pytest.raises(ShapeError, match="how often this loop is run is not known"):
        interpret_code(code, inputs, unknown_calls=calls, records=records)
    rows = {line.line: line.format_values() for line in collect_code_lines(records)}
    assert (rows[7], rows[8], rows[10], rows[14]) == ("y 2,3", "row 3", "count ?", "y 2,3")
    assert [call.call for call in calls] == ["y[kept]"]


OUTPUTS = """
from .modeling_outputs import BaseModelOutputWithPooling


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x @ x.mT


def f(x, mask):
    kept = torch.where(mask)[0]
    kept = kept[:100]
    size = int(x.max().item())
    y = F.interpolate(x[None, None], size=(size, size))
    out = BaseModelOutputWithPooling(last_hidden_state=Square.apply(x), pooler_output=x)
    out.pooler_output = out[0].flatten()
    return out.pooler_output, out
"""


def test_lines_of_sizes_that_depend_on_elements_and_of_outputs():
    records, _ = interpret(OUTPUTS, x="2,3", mask="7")
    rows = {line.line: line.format_values() for line in collect_code_lines(records)}
    assert rows[13] == "kept K2"
    assert rows[15] == "y 1,1,K3,K4"
    assert rows[16] == "out.last_hidden_state 2,2  out.pooler_output 2,3"
    assert rows[18] == "out.pooler_output 4  out.last_hidden_state 2,2"


CONTAINERS = """
class Dense(nn.ModuleDict):
    def __init__(self, count):
        super().__init__()
        for i in range(count):
            self.add_module(f"layer{i}", nn.Linear(4 * (i + 1), 4))

    def forward(self, x):
        parts = [x]
        for name, layer in self.items():
            parts.append(layer(torch.cat(parts, 1)))
        return torch.cat(parts, 1)


class Blocks(nn.ModuleList):
    def __init__(self, width):
        super().__init__([nn.Linear(width, width) for _ in range(2)])
        self.append(nn.Linear(width, 7))

    def forward(self, x):
        for layer in self:
            x = layer(x)
        return x


class Net(nn.Module):
    def __init__(self):
        self.dense, self.blocks = Dense(3), Blocks(16)

    def forward(self, x):
        y = self.dense(x)
        return y, self.blocks(y)
"""


def test_classes_of_module_containers():
    records, _ = interpret(CONTAINERS, "Net", x="2,4")
    rows = {line.text: line.format_values() for line in collect_code_lines(records)}
    assert rows["y = self.dense(x)"] == "y 2,16"
    assert rows["return y, self.blocks(y)"] == "y 2,16  [1] 2,7"
