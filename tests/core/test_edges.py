"""Values at the edge of a rule, messages to the letter, and the short ways, which must be taken."""

from __future__ import annotations

import pytest

import shapecalc as sc
from shapecalc.core.answers import Request
from shapecalc.core.ask import ask, setting_of
from shapecalc.core.cases import read_object, request_text
from shapecalc.core.commands import token_span
from shapecalc.core.conditions import Never, equal
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import KNOWN
from shapecalc.core.dims import lowest_terms
from shapecalc.core.examples import example_sizes, follow
from shapecalc.core.fixing import _cut, divisors_near, fixes, nearest_sizes, other_image, refused_request
from shapecalc.core.fixing import answer as answer_with_hint
from shapecalc.core.limits import LONGEST_WORD
from shapecalc.core.ops import OPS
from shapecalc.core.ops.view import Clash, view_strides
from shapecalc.core.origins import regrouping
from shapecalc.core.problem import USAGE, Problem
from shapecalc.core.record import Record
from shapecalc.core.resolve import resolve
from shapecalc.core.rules import INDIVISIBLE
from shapecalc.core.text import brief, dim_text, read_dims, visible
from tests.cases import NAMES, cases, described

LINES = [
    ("depth_to_space", "1,8,2,3", {"block": "1"}, "1,8,2,3"),
    ("split", "4,6", {"axis": "1", "parts": "1"}, "4,6"),
    ("split", "N,C", {"axis": "1", "parts": "1"}, "N,C"),
    ("depth_to_space", "1,1,8,2,3", {"block": "2"}, "error wrong-rank"),
    ("space_to_depth", "1,1,2,4,6", {"block": "2"}, "error wrong-rank"),
    ("space_to_depth", "1,1,2,4,6", {"block": "2", "dialect": "torch"}, "1,1,8,2,3"),
    ("expand", "2,3", {"target": "3", "dialect": "numpy"}, "error not-broadcastable"),
    ("expand", "1,1", {"target": "4294967296,4294967296"}, "error overflow"),
    ("reshape", "0,3", {"target": "-2,3", "dialect": "paddle"}, "error below-minus-one"),
    ("reshape", "2,3", {"target": "6", "dtype": "bool", "dialect": "paddle"}, "6"),
    ("unsqueeze", "2,3", {"axes": "2,1,0,0", "dialect": "paddle"}, "1,1,2,1,3,1"),
    ("reshape", "2,3", {"target": "6", "dtype": "complex64", "dialect": "onnxruntime"}, "error dtype"),
    ("depth_to_space", "1,4,1,1", {"block": "2", "opset": "1", "dialect": "onnxruntime"}, "1,1,2,2"),
    ("depth_to_space", "1,1,1,1,1,12,2,3", {"block": "2", "dialect": "torch"}, "1,1,1,1,1,3,4,6"),
    ("space_to_depth", "1,1,1,1,1,3,4,6", {"block": "2", "dialect": "torch"}, "1,1,1,1,1,12,2,3"),
]


def answer(op, shape, **options):
    """Return the trace of a request."""
    return resolve(ask(op, shape, options))


@pytest.mark.parametrize(("op", "shape", "options", "expected"), LINES, ids=lambda value: str(value)[:30])
def test_an_edge_is_answered(op, shape, options, expected):
    assert described(answer(op, shape, **options)) == expected


MESSAGES = [
    ("reshape", "2,3,4", "5,-1", "24 elements (2*3*4) cannot be divided by 5, 4 left over"),
    ("reshape", "2,3,4", "2,-1,5", "24 elements (2*3*4) cannot be divided by 10 (2*5), 4 left over"),
    ("reshape", "5", "5,0", "0 copies dim 1, and 5 has 1 dim"),
    ("reshape", "5,1", "5,1,0", "0 copies dim 2, and 5,1 has 2 dims"),
]


@pytest.mark.parametrize(("op", "shape", "target", "message"), MESSAGES)
def test_a_message_is_exact(op, shape, target, message):
    assert answer(op, shape, target=target).problem.message == message


def test_an_axis_that_comes_too_early_is_told_with_those_that_exist_then():
    message = answer("unsqueeze", "2,3", axes="1,0,9", dialect="paddle").problem.message
    assert message == "axis 9 does not exist when it is inserted: axes then run from -5 to 4"


@pytest.mark.parametrize("dialect", ["paddle", "openvino"])
def test_a_part_of_the_dims_is_not_everywhere(dialect):
    with pytest.raises(sc.ShapeError, match=f"{dialect} has no start here"):
        ask("shape", "2,3", {"start": "1", "dialect": dialect})


def test_dims_that_do_not_lie_as_one_are_told_with_their_strides():
    message = answer("view", "3,4,2", target="12,2", strides="1,6,3").problem.message
    assert message.startswith("a dim would span dims 0 and 1, and dim 0 has stride 1 where 24 is needed (dim 1 is 4 of")


@pytest.mark.parametrize(
    ("more", "said"), [("", "'a' is not allowed in"), ("a", f"{LONGEST_WORD + 1} characters of a dim")]
)
def test_the_longest_word_is_looked_at(more, said):
    with pytest.raises(sc.ShapeError, match=said):
        sc.reshape(("9a" * (LONGEST_WORD // 2) + more,), (-1,))


def test_the_nearest_of_two_sizes_is_told():
    assert nearest_sizes(24, (8, 4), (8, 4), None) == (1, [3])


def test_equal_counts_are_told_once():
    assert sc.reshape((10, 100), (1000,)).steps[-1].why.startswith("1000 elements in and out: ")


def test_one_place_of_a_long_target_is_told():
    trace = answer_with_hint(ask("reshape", "24", {"target": ",".join(["5", "-1", *["1"] * 20])}))
    assert trace.problem.hint == "4 and 6 would divide: write 4 in place of the 5 at index 0"


def test_sizes_of_a_thousand_digits_are_the_largest():
    product = "*".join(["N"] * 39 + ["M"])
    with pytest.raises(sc.ShapeError, match="more digits than any size"):
        sc.reshape((product,), (-1,), where={"N": 10**25, "M": 10**25})
    with pytest.raises(sc.ShapeError, match="is too large for int64"):
        sc.reshape((product,), (-1,), where={"N": 10**25, "M": 10**25 - 1})


@pytest.mark.parametrize("pair", [(0, 5), (5, 0)])
def test_nothing_is_not_something(pair):
    with pytest.raises(Never, match="{} == {}".format(*pair)):
        equal(*pair)


@pytest.mark.parametrize("index", [(1,), (1, 0, 0)])
def test_an_element_has_an_index_for_every_dim(index):
    with pytest.raises(sc.ShapeError, match="has 2 indices, not"):
        follow(sc.transpose((2, 3)), index)


def test_an_operator_that_keeps_the_rank_says_so():
    message = answer("expand", "2,3", target="3", dialect="numpy").problem.message
    assert message == "the input has 2 dims, the target 1: the operator never drops a dim"


def test_an_option_that_does_not_exist_is_shown_up_to_forty_characters():
    with pytest.raises(sc.ShapeError, match=f"has no option '--{'x' * 38}'"):
        sc.chain((2, 3), f"flatten --{'x' * 60}")


VERSIONS = {
    "reshape": (1, 5, 13, 14, 19, 21, 23, 24, 25),
    "transpose": (1, 13, 21, 23, 24, 25),
    "flatten": (1, 9, 11, 13, 21, 23, 24, 25),
    "squeeze": (1, 11, 13, 21, 23, 24, 25),
    "unsqueeze": (1, 11, 13, 21, 23, 24, 25),
    "shape": (1, 13, 15, 19, 21, 23, 24, 25),
    "expand": (8, 13),
}


@pytest.mark.parametrize("op", VERSIONS)
def test_an_opset_has_the_version_that_onnx_lists(op):
    asked = [Request(op, (), dialect="onnx", opset=opset) for opset in range(VERSIONS[op][0], 29)]
    found = {setting_of(request).version for request in asked}
    assert found == {*VERSIONS[op]}


@pytest.mark.parametrize(("dialect", "newest"), [("onnx", 28), ("onnxruntime", 26)])
def test_the_newest_opset_is_taken_and_the_next_is_not(dialect, newest):
    assert answer("reshape", "2,3", target="6", dialect=dialect, opset=newest).output == (6,)
    with pytest.raises(sc.ShapeError, match=str(newest)):
        resolve(ask("reshape", "2,3", {"target": "6", "dialect": dialect, "opset": newest + 1}))


def test_comparing_tells_an_element_type_from_a_version():
    rows = {row.trace.dialect: row.trace.problem for row in sc.compare((2, 3), (6,), dtype="f32").rows}
    assert {str(problem.rule) for problem in rows.values() if problem} == {"dtype"}


@pytest.mark.parametrize("row", DIALECTS.values(), ids=lambda row: row.name)
def test_a_spelling_stands_for_an_element_type_that_exists(row):
    assert {*row.spellings.values()} <= {*KNOWN}
    assert row.name != "openvino" or {f"i{bits}" for bits in (4, 8, 16, 32, 64)} <= row.spellings.keys()


def test_the_axis_at_fault_is_found_from_either_end():
    assert answer("squeeze", "2,1", axes="-2,1", dialect="mxnet").problem.index == 0
    assert answer("squeeze", "1,2", axes="0,-1", dialect="mxnet").problem.index == 1


def test_a_target_of_too_many_dims_is_cut_to_an_inferred_one():
    trace = answer("reshape", "2,3,4", target="1,1,1,1,1,1,2,3,4", dialect="tensorrt")
    assert "1,1,1,1,1,1,2,-1" in [fix.value for fix in fixes(trace)]
    assert [*_cut(refused_request(trace, trace.problem))] == [(1, 1, 1, 1, 1, 1, 2, -1)]


def test_divisors_are_looked_for_so_far_and_no_further():
    assert divisors_near(2 * 24_989, 4_988) == [2]
    assert divisors_near(2 * 24_989, 4_989) == [2, 24_989]
    assert divisors_near(24_989 * 24_989, 44_988) == [24_989]
    assert divisors_near(24_989 * 24_989, 44_989) == []


def test_example_sizes_multiply_what_divides():
    assert example_sizes(sc.reshape("N", "-1,1000"))["N"] == 2000
    assert example_sizes(sc.reshape("N,C", "1000,-1,C"))["N"] == 2000


NUMBERS = [
    ("reshape", "onnx", {"target": (6,)}, (2, 3), (6,)),
    ("shape", "onnx", {"start": 1, "end": None}, (2, 3), (3,)),
    ("shape", "onnx", {"start": None, "end": -1}, (2, 3), (2,)),
    ("expand", "onnx", {"target": (4, 1, 3)}, (2, 1), (4, 2, 3)),
    ("depth_to_space", "onnx", {"block": 2}, (1, 8, 2, 3), (1, 2, 4, 6)),
    ("depth_to_space", "onnx", {"block": 1}, (1, 8, 2, 3), (1, 8, 2, 3)),
    ("space_to_depth", "onnx", {"block": 1}, (1, 8, 2, 3), (1, 8, 2, 3)),
    ("space_to_depth", "onnx", {"block": 2}, (1, 2, 4, 6), (1, 8, 2, 3)),
    ("space_to_depth", "torch", {"block": 2}, (1, 2, 3, 4, 6), (1, 2, 12, 2, 3)),
    ("depth_to_space", "torch", {"block": 2}, (1, 2, 12, 2, 3), (1, 2, 3, 4, 6)),
    ("swapaxes", "numpy", {"axis1": -1, "axis2": 0}, (2, 3, 4), (4, 3, 2)),
    ("unflatten", "torch", {"axis": 1, "sizes": (3, -1)}, (2, 12), (2, 3, 4)),
    ("unflatten", "torch", {"axis": 0, "sizes": (1, 2)}, (2, 12), (1, 2, 12)),
    ("tile", "onnx", {"repeats": (2, 2)}, (2, 3), (4, 6)),
    ("tile", "numpy", {"repeats": (2,)}, (2, 3), (2, 6)),
    ("tile", "torch", {"repeats": (4, 2, 2)}, (2, 3), (4, 4, 6)),
    ("moveaxis", "torch", {"axes": (0,), "destination": (-1,)}, (2, 3, 4), (3, 4, 2)),
]


@pytest.mark.parametrize(("op", "dialect", "arguments", "shape", "output"), NUMBERS)
def test_an_ordinary_request_of_numbers_is_answered(op, dialect, arguments, shape, output):
    assert resolve(ask(op, shape, arguments | {"dialect": dialect})).output == output


def test_many_axes_are_told_by_the_first_and_the_last():
    assert regrouping((2,) * 13, (2**13,)) == "axes 0 to 12 merge into axis 0"
    assert regrouping((2,) * 12, (2**12,)) == "axes 0,1,2,3,4,5,6,7,8,9,10,11 merge into axis 0"


def test_a_row_of_a_comparison_is_told_with_its_setting():
    rows = sc.compare((2, 3, 4), (0, -1)).as_json()["rows"]
    assert [row["default"] for row in rows if row["dialect"] == "onnx"] == [True, False]
    assert [row["output"] for row in rows if row["dialect"] == "onnx"] == [[2, 12], None]


@pytest.mark.parametrize("index", [(2,), (3,), (-3,), (-4,)])
def test_an_element_beside_a_dim_is_none(index):
    with pytest.raises(sc.ShapeError, match=rf"index {index[0]} is outside of dim 0, which is 2"):
        follow(sc.reshape((2,), (2, 1)), index)


@pytest.mark.parametrize(("index", "place"), [((1,), 1), ((-1,), 1), ((-2,), 0)])
def test_an_element_is_counted_from_either_end(index, place):
    assert follow(sc.reshape((2,), (2, 1)), index)[-1] == ("reshape", (place, 0))


@pytest.mark.parametrize(("text", "place"), [("{", 2), ('{"a" 1}', 6), ('{"ab" 1}', 7), ("[1", 3)])
def test_a_line_that_is_no_json_is_told_with_the_place(text, place):
    with pytest.raises(sc.ShapeError, match=rf" at character {place}$"):
        read_object(text)


def test_paddle_counts_the_zeros_of_the_input():
    message = answer("reshape", "0,4,3", target="0,0,-1", dialect="paddle").problem.message
    assert message == "-1 beside 2 dims of size zero, and the input has 1: Paddle requires the same number"


@pytest.mark.parametrize("dtype", ["i4", "u4", "bf16", "boolean"])
def test_openvino_moves_small_types(dtype):
    assert answer("transpose", "2,3", perm="1,0", dialect="openvino", dtype=dtype).output == (3, 2)


@pytest.mark.parametrize(
    ("shape", "strides", "target", "expected"),
    [
        ((3, 2, 4), (1, 12, 3), (24,), Clash(0, 1, 24)),
        ((3, 1, 4), (1, 99, 3), (12,), Clash(0, 2, 12)),
    ],
)
def test_the_strides_that_forbid_a_view(shape, strides, target, expected):
    assert view_strides(shape, strides, target) == expected


@pytest.mark.parametrize(("target", "expected"), [("0,4", (4, 1)), ("0,2", (2, 1)), ("0,3", (5, 7))])
def test_a_tensor_without_elements_has_every_view(target, expected):
    assert answer("view", "0,3", target=target, strides="5,7").steps[-1].shape == expected


@pytest.mark.sampled(200)
@pytest.mark.parametrize("case", [case for name in NAMES for case in cases(name)], ids=str)
def test_a_step_that_settles_a_dim_settles_it_as_the_stage_ends(case):
    for stage in case.answer().stages:
        settled = {step.out: step.value for step in stage.steps if step.out is not None}
        after = dict(enumerate(stage.after or ()))
        assert {out: after.get(out, dim) for out, dim in settled.items()} == settled


def test_what_changes_the_text_around_it_is_escaped_and_what_stands_beside_it_is_not():
    hidden = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFEFF, 0x2028, 0x2029]
    assert [code for code in hidden if visible(chr(code)) == chr(code)] == []
    assert [visible(chr(code)) for code in (0x061B, 0x2010, 0x2030, 0x00E9)] == ["\u061b", "\u2010", "\u2030", "\u00e9"]


def test_a_merge_of_no_axes_says_so():
    assert [step.why for step in sc.flatten((2, 3), axis=0).steps[:2]] == [
        "no axis is left for output dim 0, so it is 1",
        "output dim 1 is 2*3 = 6",
    ]


@pytest.mark.parametrize(("index", "nearest"), [("7", ["2", "0"]), ("3", ["2", "0"]), ("-4", ["0", "2"])])
def test_an_index_that_does_not_exist_has_the_nearest_that_do(index, nearest):
    assert [fix.value for fix in fixes(answer("select", "5,3", axis="1", index=index))] == nearest


@pytest.mark.parametrize(
    ("slices", "rule"),
    [(":0", "needs-size"), ("0:0", "needs-size"), ("-2:-1", "needs-size"), ("1:3", "needs-size"), ("0::0", "bad-step")],
)
def test_a_slice_of_a_name_is_refused_by_what_it_would_take(slices, rule):
    assert str(answer("slice", "N", slices=slices).problem.rule) == rule


@pytest.mark.parametrize(("rank", "rule"), [(6, None), (7, "rank-limit")])
def test_mxnet_transposes_six_dims(rank, rule):
    perm = ",".join(map(str, reversed(range(rank))))
    problem = answer("transpose", ",".join("2" * rank), perm=perm, dialect="mxnet").problem
    assert rule == (problem and str(problem.rule))


def test_a_key_that_stands_twice_is_named():
    with pytest.raises(sc.ShapeError, match="the key 'b' is there twice"):
        read_object('{"a": 1, "b": 2, "b": 3}')


@pytest.mark.parametrize("text", ["reshape 2,3 6 => 6 # why", "reshape 2,3 6# why => 6", " reshape 2,3 6 =>6"])
def test_a_plain_line_asks_what_stands_before_the_arrow_and_the_comment(text):
    assert request_text(text) == "reshape 2,3 6"


def test_fields_with_defaults_are_the_last_ones():
    with pytest.raises(TypeError, match="a field without a default after one with a default"):
        type(Record)("Made", (Record,), {"__annotations__": {"one": "int", "two": "int"}, "one": 1})


@pytest.mark.parametrize(("axes", "fixed"), [("0,1,2,3", ["[]"]), ("0,1,2,3,4", [])])
def test_a_fix_is_made_of_four_changes_and_no_more(axes, fixed):
    assert [fix.value for fix in fixes(answer("squeeze", "2,3,4,5,6", axes=axes))] == fixed


def test_a_fix_goes_on_from_the_argument_at_fault_and_not_from_the_switch():
    trace = answer("reshape", "1", target="-1,3,6", dialect="onnxruntime", allowzero=False)
    assert [(fix.name, fix.value) for fix in fixes(trace)] == [("target", "-1,1,1")]


SENTENCES = [
    ("flatten", "2,3", {"axis": "1"}, 0, "output dim 0 is 2"),
    ("shape", "2,3,4", {"start": "-2"}, 0, "start -2 counts from the end: 1"),
    ("shape", "2,3,4", {"start": "-9"}, 0, "start -9 counts from the end: -6, moved to 0"),
    ("shape", "2,3,4", {"end": "9"}, 0, "end 9, moved to 3"),
    ("reshape", "2,3,4", {"target": "-3,0", "dialect": "mxnet"}, 0, "-3 merges dims 0 and 1: 2*3 = 6"),
    ("reshape", "5,2,3", {"target": "0,-3", "dialect": "mxnet"}, 1, "-3 merges dims 1 and 2: 2*3 = 6"),
]


@pytest.mark.parametrize(("op", "shape", "options", "place", "sentence"), SENTENCES)
def test_a_sentence_says_what_its_step_does(op, shape, options, place, sentence):
    assert answer(op, shape, **options).steps[place].why == sentence


def test_a_dim_that_merges_two_comes_of_both():
    steps = answer("reshape", "5,2,3", target="0,-3", dialect="mxnet").steps
    assert [step.sources for step in steps[:2]] == [(0,), (1, 2)]


@pytest.mark.parametrize(("wanted", "near"), [(5, [4, 6]), (7, [6, 8]), (11, [12, 8]), (23, [24])])
def test_the_nearest_divisor_comes_first(wanted, near):
    assert nearest_sizes(24, (wanted, -1), (wanted, 1), 1)[1][: len(near)] == near


@pytest.mark.parametrize("axes", ["-2,-1", "0,1", "0,-1", "1,-2"])
def test_mxnet_keeps_one_of_the_dims_that_are_all_named(axes):
    assert answer("squeeze", "1,1", axes=axes, dialect="mxnet").output == (1,)


def test_mxnet_names_the_axis_outside_of_dims_that_are_all_named():
    assert answer("squeeze", "1,1", axes="-3,-1", dialect="mxnet").problem.message.startswith("axis -3 does not exist")


def test_a_path_through_two_blocks_is_told_by_its_axes():
    """The axes in front of the channels are counted with them."""
    to_space = answer("depth_to_space", "5,7,8,4,6", block="2", dialect="torch")
    assert told(to_space, 0) == [
        ((0,), "dim 0 is 5 and stays"),
        ((1,), "dim 1 is 7 and stays"),
        ((2,), "rows of a block: 2"),
        ((2,), "columns of a block: 2"),
        ((3,), "dim 3 is 4 and stays"),
        ((4,), "dim 4 is 6 and stays"),
        ((2,), "channels that are left: 8 / 4 = 2"),
    ]
    to_depth = answer("space_to_depth", "5,7,8,4,6", block="2", dialect="torch")
    assert told(to_depth, 0)[2:] == [
        ((2,), "dim 2 is 8 and stays"),
        ((3,), "rows of a block: 2"),
        ((4,), "columns of a block: 2"),
        ((3,), "rows of blocks: 4 / 2 = 2"),
        ((4,), "columns of blocks: 6 / 2 = 3"),
    ]


def told(trace, place):
    """Return the axes and the sentences of one stage, but for its last, which is about all of it."""
    return [(step.sources, step.why) for step in trace.stages[place].steps[:-1]]


SPANS = [
    ("reshape", "2,3,4", {"target": " 5, -1"}, (4, 6)),
    ("depth_to_space", " 1, 7,2,3", {"block": "2"}, (4, 5)),
    ("transpose", "2,3", {"perm": "0, 0"}, (3, 4)),
    ("squeeze", "1,3", {"axes": "0, 5"}, (3, 4)),
    ("slice", "2,3,4", {"slices": ":, ::0"}, (3, 6)),
    ("select", "2,3", {"axis": "0", "index": " 9"}, None),
    ("flatten", "2,3,4", {"axis": "7"}, None),
]


@pytest.mark.parametrize(("op", "shape", "options", "span"), SPANS)
def test_a_problem_has_the_place_of_its_token(op, shape, options, span):
    assert answer(op, shape, **options).problem.span == span


@pytest.mark.parametrize(
    ("dialect", "off"), [("onednn", "it is refused: zero-beside-infer"), ("openvino", "the answer is 0,1")]
)
def test_a_switch_that_must_be_set_is_told_with_both_answers(dialect, off):
    trace = answer_with_hint(ask("reshape", "2,0", {"target": "0,-1", "dialect": dialect}))
    on = "with special_zero on (0 copies) the answer is 2,0"
    assert trace.problem.hint == f"{on}; with special_zero off (0 is a dim of size zero) {off}"


def test_a_symbolic_count_is_written_up_to_a_thousand_digits():
    name = {"N": 1}
    assert dim_text(lowest_terms(1, 1, name)) == "N"
    assert dim_text(lowest_terms(2**3320 - 1, 1, name)) == brief(f"{2**3320 - 1}*N")
    assert dim_text(lowest_terms(1, 2**3320 - 1, name)) == brief(f"N/{2**3320 - 1}")
    assert [dim_text(lowest_terms(*numbers, name)) for numbers in ((2**3320, 1), (1, 2**3320))] == ["too many"] * 2
    assert [dim_text(2**3320 - 1), dim_text(2**3320)] == [brief(str(2**3320 - 1)), "about 10**999"]


def test_an_expand_to_too_many_dims_keeps_the_last_ones():
    trace = answer("expand", "2,3", target="1,1,1,1,5,1,1,1,2,3", dialect="paddle")
    assert str(trace.problem.rule) == "rank-limit"
    assert [fix.value for fix in fixes(trace)] == ["1,1,5,1,1,1,2,3"]


@pytest.mark.parametrize(
    ("wanted", "told"), [((5, -1), (0, [4, 6])), ((7, 5), (1, [3])), ((100, -1), (0, [24])), ((0, 5), (0, []))]
)
def test_what_fits_is_told_with_its_place(wanted, told):
    hole = wanted.index(-1) if -1 in wanted else None
    settled = tuple(1 if dim == -1 else dim for dim in wanted)
    assert nearest_sizes(24 if hole is not None else 21, wanted, settled, hole) == told


@pytest.mark.parametrize("number", range(3))
def test_a_stage_is_found_without_its_blanks(number):
    problem = Problem(USAGE, "")
    stages = "  flip |  squeeze x|  flatten  "
    words = stages.split("|")[number].strip()
    assert token_span(stages, number, problem) == (stages.index(words), stages.index(words) + len(words))


def test_nothing_comes_after_a_shape():
    assert sc.chain((2, 3), "flatten", "shape").output == (2, 3)
    with pytest.raises(sc.ShapeError, match="shape must be the last stage: it returns the dims as a vector"):
        sc.chain((2, 3), "shape", "flatten")


@pytest.mark.parametrize(("shape", "others"), [("1,4,900,900", [(3, (-1,))]), ("1,4,901,900", [])])
def test_another_image_is_as_wide_as_it_is_high(shape, others):
    assert [*other_image(read_dims(shape), read_dims("1,4,1,4096"))] == others


@pytest.mark.parametrize(
    ("shape", "pattern", "lengths", "message", "hint"),
    [
        ("2,14", "a (b c) -> a b c", "b=4", "dim 1, 14, cannot be divided by 4 for (b c), 2 left over", "write b=2"),
        ("2,7", "a (b c d) -> a b c d", "b=40,c=7,d=50", "(b c d) is 14000 in all, and dim 1, 7, is not", ""),
    ],
)
def test_a_length_that_does_not_fit(shape, pattern, lengths, message, hint):
    problem = answer_with_hint(ask("rearrange", shape, {"pattern": pattern, "lengths": lengths})).problem
    assert (problem.message, problem.hint) == (message, hint)


def test_the_other_lengths_of_a_pattern_are_near_or_one_is_left_out():
    texts = [text for _, text in OPS["rearrange"].changes[INDIVISIBLE]((), {"lengths": "b=30,c=1,d=2"})]
    assert texts[-3:] == ["c=1,d=2", "b=30,d=2", "b=30,c=1"]
    assert texts[:3] == ["b=29,c=1,d=2", "b=31,c=1,d=2", "b=28,c=1,d=2"]
    assert {int(text.split(",")[0][2:]) for text in texts[:-2] if text[0] == "b"} == {*range(19, 41)}
