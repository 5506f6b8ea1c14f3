"""Generated tables of manual pages; `python -m tests.renew man` writes them."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import wrap

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dialects.base import (
    InferMarker,
    ZeroMeaning,
    ZeroVolumeInferPolicy,
    ZeroWithInferPolicy,
    element_type_name,
)
from shapecalc.core.dialects.onnx import ONNX
from shapecalc.core.limits import LIMITS, REQUEST_REFUSED
from shapecalc.core.ops import OPS, operators_of, refusal_rules, step_rules
from shapecalc.core.ops.axes import AXIS_SEMANTICS, RepeatedAxesPolicy
from shapecalc.core.ops.expand import EXPAND_SEMANTICS, ExpandMode
from shapecalc.core.ops.flatten import FLATTEN_SEMANTICS, FlattenMode
from shapecalc.core.ops.op import operator_of
from shapecalc.core.ops.shape import SHAPE_SEMANTICS
from shapecalc.core.ops.slice import SLICE_SEMANTICS, SliceBoundsPolicy
from shapecalc.core.ops.squeeze import SQUEEZE_SEMANTICS, NonUnitAxisPolicy
from shapecalc.core.ops.transpose import TRANSPOSE_SEMANTICS, DefaultPerm
from shapecalc.core.ops.unsqueeze import UNSQUEEZE_SEMANTICS
from shapecalc.core.spellings import NON_SHAPE_FORMATS, PLAIN_EXAMPLES, SHAPE_FORMATS

FOLDER = Path(__file__).parents[2] / "man"
ALL_SPELLINGS = (*PLAIN_EXAMPLES, *[example for form in SHAPE_FORMATS for example in form.examples])
"""The rows of the table of spellings."""
WIDTH = 78
EMPTY = "If the known dims multiply to 0, -1 is"
QUOTIENT = f"{EMPTY} the product of the input dims divided by the product of the known dims."
RESHAPE = {
    ZeroMeaning.COPIES: "0 copies the dim at the same index.",
    ZeroMeaning.LITERAL: "0 is a dim of size zero.",
    ZeroWithInferPolicy.ALLOWED: "",
    ZeroWithInferPolicy.REFUSED: "A 0 cannot be used together with -1.",
    InferMarker.MINUS_ONE: "Only -1 marks a dim to infer.",
    InferMarker.ANY_NEGATIVE: "Any negative value marks a dim to infer.",
    ZeroVolumeInferPolicy.REFUSED: f"{EMPTY} refused.",
    ZeroVolumeInferPolicy.WITHOUT_ZEROS: f"{QUOTIENT} Both products exclude zeros.",
    ZeroVolumeInferPolicy.WITHOUT_COPIES: f"{QUOTIENT} The quotient 0/0 is defined as 1.",
}
"""The sentence for each value of the semantics of reshape."""
SENTENCES = {
    True: "yes",
    False: "no",
    DefaultPerm.REVERSES: "The order of the dims is reversed",
    DefaultPerm.KEEPS: "The order of the dims is kept",
    NonUnitAxisPolicy.KEPT: "The axis is kept",
    RepeatedAxesPolicy.DROPPED: "Repetitions are ignored",
    RepeatedAxesPolicy.EACH: "Each occurrence of an axis inserts a dim",
    FlattenMode.AXIS: "The parameter is one axis. The output always has two dims",
    FlattenMode.RANGE: "The parameters are the first and the last dim to merge",
    FlattenMode.ALL: "There are no parameters. The output always has one dim",
    FlattenMode.REST: (
        "There are no parameters. The output always has two dims: the first dim of the input, and the product of its "
        "other dims"
    ),
    ExpandMode.BOTH_WAYS: "Dims of the input and of the target are repeated",
    ExpandMode.ONE_WAY: "Only dims of the input are repeated",
    ExpandMode.ONE_WAY_KEEPS: "Only dims of the input are repeated. A -1 keeps an existing dim",
    ExpandMode.RANK_STAYS: "Only dims of the input are repeated, and no dims are added. A 0 keeps a dim",
    SliceBoundsPolicy.CLAMPED: "A start or stop outside of the dim is clamped to the ends of the dim, as in Python",
    SliceBoundsPolicy.CLAMPED_INSIDE: (
        "A start or stop outside of the dim is clamped to the ends of the dim. If the step is negative, a start before "
        "the dim becomes 0"
    ),
    SliceBoundsPolicy.REFUSED: (
        "A start or stop outside of the dim is refused. Negative values do not count from the end"
    ),
}
"""The answers of the manual that differ from the values that `dialects --json` prints."""


def _slices(row):
    operator = operator_of(OPS["shape"], row)
    has_ends = operator and SHAPE_SEMANTICS.for_dialect(row).slices_shape
    return f"since {operator.params_since.get('start', 1)}" if has_ends else "no"


def _negative_axes(row):
    return f"since {AXIS_SEMANTICS.for_dialect(row).negative_axes_since}"


ANSWERS = (
    ("transpose", "without a permutation", lambda row: TRANSPOSE_SEMANTICS.for_dialect(row).no_perm),
    (
        "transpose",
        "an empty permutation reverses the dims",
        lambda row: TRANSPOSE_SEMANTICS.for_dialect(row).empty_perm_reverses,
    ),
    ("transpose", "negative axes", lambda row: TRANSPOSE_SEMANTICS.for_dialect(row).negative_perm),
    ("flatten", "parameters", lambda row: FLATTEN_SEMANTICS.for_dialect(row).flattens),
    ("squeeze", "an axis whose size is not 1", lambda row: SQUEEZE_SEMANTICS.for_dialect(row).not_one),
    ("squeeze", "a repeated axis", lambda row: SQUEEZE_SEMANTICS.for_dialect(row).squeeze_repeats),
    ("squeeze", "an empty list drops every dim of 1", lambda row: SQUEEZE_SEMANTICS.for_dialect(row).no_axes_is_all),
    ("squeeze", "a scalar counts as having one axis", lambda row: AXIS_SEMANTICS.for_dialect(row).scalar_axis),
    ("unsqueeze", "negative axes, here and in flatten and squeeze", _negative_axes),
    ("unsqueeze", "requires exactly one axis", lambda row: UNSQUEEZE_SEMANTICS.for_dialect(row).inserts_one),
    ("unsqueeze", "a repeated axis", lambda row: UNSQUEEZE_SEMANTICS.for_dialect(row).unsqueeze_repeats),
    ("expand", "shapes whose dims of 1 are repeated", lambda row: EXPAND_SEMANTICS.for_dialect(row).broadcast),
    ("shape", "a start and an end", _slices),
    ("slice", "a start or a stop outside of the dim", lambda row: SLICE_SEMANTICS.for_dialect(row).outside),
    ("slice", "a negative step", lambda row: SLICE_SEMANTICS.for_dialect(row).slices_backwards),
)
"""The questions about the other operations: the op, the question, and the answer as a function of the dialect."""


def page(path):
    """Return a page with its tables updated."""
    before, lines, after = TABLES[path]
    head, _, rest = path.read_text("utf-8").partition(before)
    tail = rest.partition(f"\n{after}")[2]
    return "\n".join([f"{head}{before}", *lines(), f"{after}{tail}"])


def rules():
    """Return the lines of all dialects, versions and rules."""
    dialects = [line for row in DIALECTS.values() for line in dialect(row)]
    all_rules = [
        *rule_list("Rules that determine a dim", step_rules()),
        *rule_list("Rules that refuse a request", refusal_rules()),
    ]
    return [*dialects, ".Sh VERSIONS", *versions(), ".Sh RULES", *all_rules]


def limits():
    """Return the lines of all limits."""
    return [line for name, limit in LIMITS.items() for line in entry(name, _limit_text(limit))]


def _limit_text(limit):
    consequence = "" if limit.consequence == REQUEST_REFUSED else f" If the limit is exceeded, {limit.consequence}."
    return f"At most {int(limit)} {limit.quantity}.{consequence}"


def spellings():
    """Return the lines of the spellings that are read, and of those that are refused."""
    read = [line for example in ALL_SPELLINGS for line in entry(example.spelling, _spelling_text(example))]
    refused = [
        line
        for refusal in NON_SHAPE_FORMATS
        for text, tool, _ in refusal.examples
        for line in entry(text, f"{tool}. {refusal.message[:1].upper()}{refusal.message[1:]}.")
    ]
    return [".Bl -tag -width Ds", *read, ".El", ".Sh REFUSED SPELLINGS", ".Bl -tag -width Ds", *refused, ".El"]


def _spelling_text(example):
    dtype = f", element type {example.dtype}" if example.dtype else ""
    strides = f", strides {example.strides}" if example.strides else ""
    return f"{example.tool}: {example.shape}{dtype}{strides}"


def dialect(row):
    """Yield the lines of a dialect."""
    yield from (f".Ss {row.name}", ".Bl -tag -width Ds")
    yield from entry("Source", f"{row.source}.")
    operators = {op: operator.name for op, operator in operators_of(row).items()}
    names = [f"{op} ({name})" if op != name else op for op, name in operators.items()]
    yield from entry("Operations", f"The supported operations are {join_words(names)}.")
    for setting in row.switch_settings():
        yield from entry(f"reshape{_setting_text(row, setting)}", _semantics_text(row.reshape_semantics[setting]))
    for op, question, answer in ANSWERS:
        text = _answer_text(answer(row))
        if op in operators and text != "since 1":
            yield from entry(f"{op}: {question}", f"{text[:1].upper()}{text[1:]}.")
    if row.switch:
        requirement = (
            "The switch is required, unless both settings give the same answer."
            if row.switch.default is None
            else "The switch is optional."
        )
        since = f" The switch was added in version {row.switch.since} of the operator." if row.switch.since > 1 else ""
        yield from entry(row.switch.name, f"{requirement}{since}")
    yield from entry("Limits", _limits_text(row))
    yield from entry("Element types", _types_text(row))
    if row.note:
        yield from entry("Note", f"{row.note}.")
    yield ".El"


def _answer_text(answer):
    return SENTENCES.get(answer) or getattr(answer, "value", answer)


def _semantics_text(rules):
    values = (rules.zero, rules.zero_beside, rules.infers, rules.empty)
    text = " ".join(filter(None, (RESHAPE[value] for value in values)))
    copies = rules.empty is ZeroVolumeInferPolicy.WITHOUT_COPIES and rules.zero is ZeroMeaning.COPIES
    return f"{text} Both products exclude the dims that 0 copies." if copies else text


def _setting_text(row, setting):
    if row.switch is None:
        return ""
    default = " (default)" if row.switch.default is setting else ""
    return f" with {row.switch.name} {'on' if setting else 'off'}{default}"


def _limits_text(row):
    sentences = [f"A shape has at most {row.max_rank} dims." if row.max_rank else "The number of dims is not limited."]
    if row.max_inferred:
        sentences.append(f"An inferred dim is at most {row.max_inferred}.")
    if row.newest_opset:
        sentences.append(f"The supported opsets are 1 to {row.newest_opset}.")
    return " ".join(sentences)


def _types_text(row):
    if row.name == "onnx":
        return "The element types of each operator version are listed below."
    if row.newest_opset:
        missing = {op: _newest_types(op, ONNX) - _newest_types(op, row) for op in operators_of(row)}
        return " ".join(["The element types are those of ONNX.", *_exceptions(missing, row)])
    return " ".join([f"The element types are {_type_list(row.types, row)}.", *_exceptions(row.missing_types, row)])


def _exceptions(missing_types, row):
    """Return a sentence for each operation that does not accept all element types."""
    return [
        f"The operation {op} does not accept {_type_list(types, row, 'or')}."
        for op, types in missing_types.items()
        if types
    ]


def _newest_types(op, row):
    versions = operator_of(OPS[op], row).versions
    return versions[max(versions)] - row.missing_types.get(op, frozenset())


def _type_list(dtypes, row, conjunction="and"):
    return join_words(sorted(element_type_name(dtype, row) for dtype in dtypes), conjunction)


def join_words(words, conjunction="and"):
    """Join words with commas, and with a conjunction before the last word.

    >>> join_words(["a", "b", "c"]), join_words(["a"], "or")
    ('a, b and c', 'a')
    """
    *first, last = words
    return f"{', '.join(first)} {conjunction} {last}" if first else last


def versions():
    """Yield the lines of the versions of ONNX operators, with the element types that each adds."""
    for operator in operators_of(ONNX).values():
        yield from (f".Ss {operator.name}", ".Bl -tag -width Ds")
        before = frozenset()
        for version, accepted in operator.versions.items():
            added = accepted - before
            text = f"This version adds {_type_list(added, ONNX)}." if added else "This version adds no types."
            yield from entry(str(version), text)
            before = accepted
        yield ".El"


def rule_list(title, rules):
    """Yield the lines of a list of rules."""
    yield from (f".Ss {title}", ".Bl -tag -width Ds")
    for rule in rules.values():
        yield from entry(rule, f"{rule.sentence[:1].upper()}{rule.sentence[1:]}. {rule.explanation}")
        yield from (".Pp", *fill_text(f"Source: {rule.source}."), f".Dl {escape(rule.example)}")
    yield ".El"


def entry(tag, text):
    """Return one entry of a list."""
    return [f".It Sy {escape(tag)}", *fill_text(text)]


def fill_text(text):
    """Wrap text into source lines; every sentence starts a line.

    >>> fill_text("First. Then -1.")
    ['First.', 'Then \\\\-1.']
    """
    sentences = re.split(r"(?<=[.:]) (?=[A-Z0-9])", text)
    lines = [line for sentence in sentences for line in wrap(escape(sentence), WIDTH, break_on_hyphens=False)]
    return [rf"\&{line}" if line[0] in ".'" else line for line in lines]


def escape(text):
    """Escape the characters that mdoc would interpret."""
    text = text.replace("\\", r"\e").replace("'", r"\(aq").replace('"', r"\(dq").replace("()", r"\&()")
    text = re.sub(r"^\[(?= )|(?<= \d)\]$", r"\\&\g<0>", text)
    return re.sub(r"-(?=[\d-]|\\-)|(?<=-)-", r"\-", text)


TABLES = {
    FOLDER / "shapecalc-dialects.7": (".Sh DIALECTS", rules, ".Sh SEE ALSO"),
    FOLDER / "shapecalc-spellings.7": (".Sh SPELLINGS", spellings, ".Sh SEE ALSO"),
    FOLDER / "shapecalc-limits.7": (".Sh LIMITS\n.Bl -tag -width Ds", limits, ".El"),
}
"""The pages with tables: the line before, the function that returns the lines, and the line after."""
