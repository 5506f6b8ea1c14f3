"""The table of spellings, read in every position where a shape is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shapecalc as sc
from shapecalc.cli.repl import Session
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import parse_element_type
from shapecalc.core.problem import ShapeError
from shapecalc.core.spellings import NON_SHAPE_FORMATS, SHAPE_FORMATS
from shapecalc.core.text import join_words, parse_shape, parse_typed_shape, shape_text
from shapecalc.reading.command_detection import is_shape
from shapecalc.reading.pattern import to_pattern
from shapecalc.tui.question import Question, resolve_question
from tests.man.tables import ALL_SPELLINGS
from tests.sampling import each_row
from tests.tables import rows

EXAMPLES = [(example,) for example in ALL_SPELLINGS]
REFUSED = [(text, hint, refusal.message) for refusal in NON_SHAPE_FORMATS for text, _, hint in refusal.examples]


def quoted(spelling):
    """Return a spelling as one word of a line."""
    if not any(char in spelling for char in " <'\""):
        return spelling
    quote = '"' if "'" in spelling else "'"
    return f"{quote}{spelling}{quote}"


def shown(dims):
    """Return the dims of JSON as text."""
    return ",".join(map(str, dims)) or "[]"


@each_row(("text", "shape"), [(text, shape) for _, text, shape in rows(Path(__file__).parent / "printed_shapes.txt")])
def test_printed_shape_as_argument_alone_in_chain_and_in_input(text, shape, shapecalc):
    alone = shapecalc(text, "--json")
    lines = (("unsqueeze", text, "0"), (f"{text} | unsqueeze 0",), ("code", "x.unsqueeze(0)", "--input", f"x={text}"))
    answers = [shapecalc(*line) for line in lines]
    if shape.startswith("error "):
        hint = shape.removeprefix("error ")
        assert [(ran.code, hint in ran.err) for ran in (*answers, shapecalc(text))] == [(2, True)] * 4
    else:
        output = f"1,{shape}" if shape != "[]" else "1"
        assert [(ran.code, ran.out.strip()) for ran in answers] == [(0, output)] * 3
        assert (alone.code, shown(json.loads(alone.out)["input"])) == (0, shape)


@each_row("example", EXAMPLES)
def test_spelling_has_shape_type_and_strides(example):
    typed = parse_typed_shape(example[0].spelling)
    strides = "" if typed.strides is None else shape_text(typed.strides)
    assert (shape_text(typed.dims), strides) == (example[0].shape, example[0].strides)
    assert parse_typed_shape(shape_text(typed.dims)).dims == typed.dims or "?" in example[0].shape


@each_row("example", EXAMPLES)
def test_spelling_as_argument_is_shape_and_dtype(example, shapecalc):
    ran = shapecalc("shape", example[0].spelling, "--json")
    answer = json.loads(ran.out)
    assert (ran.code, shown(answer["input"])) == (0, example[0].shape)
    dtype = answer["options"].get("dtype", "")
    assert (parse_element_type(dtype, DIALECTS["onnx"]) or "") == example[0].dtype


@each_row("example", EXAMPLES)
def test_spelling_without_command(example, shapecalc):
    ran = shapecalc(example[0].spelling, "--json")
    assert (ran.code, shown(json.loads(ran.out)["input"])) == (0, example[0].shape)
    ran = shapecalc(example[0].spelling, "-1", "--json")
    assert (ran.code, shown(json.loads(ran.out)["input"])) == (0, example[0].shape)


@each_row("example", EXAMPLES)
def test_spelling_on_standard_input(example, shapecalc):
    ran = shapecalc("shape", "-", "--json", stdin=example[0].spelling)
    assert (ran.code, shown(json.loads(ran.out)["input"])) == (0, example[0].shape)


@each_row("example", EXAMPLES)
def test_spelling_in_option_input(example, shapecalc):
    ran = shapecalc("code", "x.reshape(-1)", "--input", f"x={quoted(example[0].spelling)}", "--json")
    assert (ran.code, shown(json.loads(ran.out)["input"])) == (0, example[0].shape)


@each_row("example", [(example,) for (example,) in EXAMPLES if "?" not in example.shape])
def test_spelling_in_option_where(example, shapecalc):
    words = ("code", "x.reshape(s)", "--input", f"x={example[0].shape}", "--where", f"s={quoted(example[0].spelling)}")
    ran = shapecalc(*words, "--json")
    assert (ran.code, shown(json.loads(ran.out)["output"])) == (0, example[0].shape)


@each_row("example", EXAMPLES)
def test_spelling_in_case_lines(example, shapecalc):
    spelling, dims = example[0].spelling, parse_typed_shape(example[0].spelling).dims
    line = f"shape {quoted(spelling)} => {example[0].shape}"
    record = json.dumps(
        {"op": "shape", "input": spelling, "expect": [dim if type(dim) is int else str(dim) for dim in dims]}
    )
    ran = shapecalc("check", "-", stdin=f"{line}\n{record}\n")
    assert (ran.code, ran.out) == (0, "")
    assert shapecalc("check", "-", stdin=f"shape {quoted(spelling)} => 99,99,99\n").code == 1


@each_row("example", EXAMPLES)
def test_spelling_in_app_fields_and_python(example):
    answer = resolve_question(Question("shape", {"input": example[0].spelling}, {})).answer
    assert shape_text(answer.input) == example[0].shape
    answer = resolve_question(Question("chain", {"input": example[0].spelling, "stages": "shape"}, {})).answer
    assert shape_text(answer.input) == example[0].shape
    trace = sc.shape(example[0].spelling)
    assert (shape_text(trace.input), trace.request.dtype or "") == (example[0].shape, example[0].dtype)


@each_row("example", EXAMPLES)
def test_spelling_as_pattern(example):
    if "-1" in example[0].spelling:
        with pytest.raises(ShapeError) as raised:
            to_pattern(example[0].spelling)
        assert "write ?" in raised.value.problem.hint
    else:
        pattern = to_pattern(example[0].spelling)
        assert (shape_text(pattern.dims), pattern.dtype or "") == (example[0].shape, example[0].dtype)


@each_row("example", EXAMPLES)
def test_spelling_as_operand(example, shapecalc):
    ran = shapecalc("stack", "2,3", example[0].spelling, "--axis", "0", "--json")
    operands = json.loads(ran.out)["request"]["operands"]
    assert shown(operands[0]).replace("operands0", "") == example[0].shape


@each_row(("text", "hint", "message"), REFUSED)
def test_refused_spelling_says_what_to_write(text, hint, message, shapecalc):
    with pytest.raises(ShapeError) as raised:
        parse_shape(text)
    assert raised.value.problem.message == message
    assert hint in str(raised.value)
    assert not is_shape(text)
    ran = shapecalc("reshape", text, "-1")
    assert (ran.code, ran.out) == (2, "")
    assert hint in ran.err


def test_form_names_are_distinct():
    assert len({form.name for form in SHAPE_FORMATS}) == len(SHAPE_FORMATS)
    assert len({example.spelling for (example,) in EXAMPLES}) == len(EXAMPLES)


@each_row(
    ("words", "note"),
    [
        (("reshape", "NCHW", "-1"), "NCHW is one name; four dims are N,C,H,W"),
        (("reshape", "NxCxHxW", "-1"), "NxCxHxW is one name; four dims are N,C,H,W"),
        (("reshape", "2*3*4", "-1"), "2*3*4 is one dim, 24; three dims are 2,3,4"),
        (("reshape", "b x c", "-1"), "x is a name here: b x c has three dims; without it, write b,c"),
        (("reshape", "-1,3", "-1"), "-1 is an unknown size here, as ? is"),
        (("reshape", "(None, 3)", "-1"), "None is an unknown size here, as ? is"),
        (("reshape", "f32[2,3]{0,1}", "6"), "the strides 1,2 were not used"),
        (("flatten", "bf16[8,128]{1,0:T(8,128)}"), "T(8,128) was not used"),
        (("concat", "f32[2,3]", "f16[2,3]", "--axis", "0"), "the element type f16 of operands was not used"),
        (("rearrange", "2,3,4,5", "NCHW->NHWC"), "NCHW->NHWC is read as 'N C H W -> N H W C'"),
        (("transpose", "2,3,4,5", "NCHW->NHWC"), "NCHW->NHWC is read as 'N C H W -> N H W C'"),
        (("chain", "2,3,4,5 | flip 0 | rearrange NCHW->NHWC"), "NCHW->NHWC is read as 'N C H W -> N H W C'"),
        (("find", "2,3,4", "-1,6"), "the unknown size of the output is 4"),
        (("find", "float32[2,3]", "6"), "the element type float32 was not used"),
        (("reshape", "_ _ h w", "-1"), "_ is an unknown size here, as ? is"),
        (("size", "-1,3"), "-1 is an unknown size here, as ? is"),
    ],
)
def test_reading_is_noted(words, note, shapecalc):
    ran = shapecalc(*words)
    assert ran.code == 0
    assert f"shapecalc: {note}\n" in ran.err
    assert note not in shapecalc(*words, "--quiet").err


@each_row(
    ("words", "part"),
    [
        (("flatten", "f16[2,3]", "--dtype", "float"), "--dtype is float"),
        (("view", "f32[2,3]{0,1}", "6", "--strides", "3,1"), "--strides has others"),
        (("reshape", "-2,3", "6"), "-2 is not the size of an input dim"),
        (("reshape", "2,3", "-1", "--expect=-1"), "write ?"),
        (("chain", "N C | flatten"), "write N,C"),
        (("code", "x.view(-1)", "--input", "x=b c h w"), "write b,c,h,w"),
        (("2,3,4,5", "NCHW-"), "your shell took > for a file (write 'NCHW->NHWC')"),
        (("rearrange", "2,3,4,5", "NCHW-"), "your shell took > for a file (write 'NCHW->NHWC')"),
        (("rearrange", "2,3,4", "b c h-"), "your shell took > for a file (write 'b c h->...')"),
        (("find", "2,3,4", "?,?"), "write a name"),
        (("find", "2,3,4", "?,5"), "no size fits"),
    ],
)
def test_contradiction_says_what_to_write(words, part, shapecalc):
    ran = shapecalc(*words)
    assert (ran.code, ran.out) == (2, "")
    assert part in ran.err


def test_strides_of_spelling_are_those_of_view(shapecalc):
    assert shapecalc("view", "f32[2,3]{0,1}", "6").code == 3
    assert shapecalc("view", "f32[2,3]{1,0}", "6").out == "6\n"
    assert shapecalc("view", "f32[N,3]{0,1}", "N,-1").out == "N,3\n"
    assert shapecalc("code", "x.view(-1)", "--input", "x=f32[2,3]{0,1}").code == 3
    assert shapecalc("code", "x.t().view(-1)", "--input", "x=f32[2,3]{0,1}").out == "6\n"
    assert shapecalc("code", "x.contiguous().view(-1)", "--input", "x=f32[2,3]{0,1}").out == "6\n"


def test_name_of_element_type_is_code_if_it_is_bound(shapecalc):
    assert "read as: shapecalc size" in shapecalc("f32[2,3,4]").err
    assert "read as: shapecalc code" in shapecalc("f32[2,3,4]", "f32=5,6,7").err


@each_row(
    ("text", "expected"),
    [
        *(("b c h w", True), ("? 3 N", True), ("what is this", False), ("batch x 3", True), ("float32[3]", True)),
        *(("x[2,3]", False), ("x.view(2,3)", False), ("int(2,3)", False), ("x.shape[0]", False), ("shape[0]", False)),
        *(("np.zeros(shape=(2,3))", False), ("f(x, y)", False), ("max(2, 3)", False)),
    ],
)
def test_shape_without_command(text, expected):
    assert is_shape(text) is expected


def test_chain_has_the_element_type_in_all_stages(shapecalc):
    stages = json.loads(shapecalc("chain", "f16[2,3] | transpose | flatten", "--json").out)["stages"]
    assert [stage["options"]["dtype"] for stage in stages] == ["float16", "float16"]


def test_prompt_needs_brackets_around_names():
    session = Session()
    assert "write N,C" in session.reply("N C").problem.hint
    assert [session.reply(line).answer for line in ("[N C]", "'N C'", "float32[2,3]")] == ["N,C", "N,C", "2,3"]
    assert "float32" in session.reply("float32[2,3]").message


def test_match_compares_the_element_type_of_a_text():
    assert sc.match("float32[N,3]", "f32[2,3]") == {"N": 2}
    assert sc.match("_,_,3", "2,4,3") == {}
    with pytest.raises(ShapeError):
        sc.match("float32[N,3]", "f16[2,3]")


def test_joined_words_are_split_again():
    assert join_words(["2,3", "N C"]) == "2,3 'N C'"


@each_row(
    ("value", "output"),
    [((-1, 3), "3*?"), ([None, 3], "3*?"), (["batch", 3], "3*batch"), ("float32[-1,3]", "3*?")],
)
def test_python_input_has_unknown_sizes(value, output):
    trace = sc.reshape(value, (-1,))
    assert shape_text(trace.output) == output
    assert bool(trace.notes) is ("batch" not in map(str, value))
