"""The table of message templates: each matches its own text once, with the values of its holes."""

from __future__ import annotations

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.diagnosis.advice import advise_on_message
from shapecalc.diagnosis.causes import CAUSES
from shapecalc.diagnosis.context import FRAMEWORKS
from shapecalc.diagnosis.match import PLACEHOLDER_KINDS, TEMPLATES, clean_text, find_matches, parse_templates
from shapecalc.diagnosis.reading import parse_messages
from tests.sampling import some_and_rest

TEXTS = {"list": "[2, 3]", "lists": "[2, 3] [2, 3]", "count": "24", "words": "some words"}
VALUES = {"list": (2, 3), "lists": ((2, 3), (2, 3)), "count": 24, "words": "some words"}
"""A text for each kind of hole, and its parsed value."""


@pytest.mark.parametrize("templates", some_and_rest(TEMPLATES, 50))
def test_sentence_match_returns_its_holes_once(templates):
    for template in templates:
        filled = template.text.format_map({name: TEXTS[kind] for name, kind in PLACEHOLDER_KINDS.items()})
        text, holes = f"RuntimeError: {filled} and so on", template.parts[1::2]
        assert next(find_matches(template, clean_text(text))).values == {
            hole: VALUES[PLACEHOLDER_KINDS[hole]] for hole in holes
        }, text
        (message,) = parse_messages(text)
        assert message.cause in CAUSES, text
        if template.cause != "unspecified":  # a node of another operator may be about anything
            assert (message.about is None) == (template.about is None), text
        if message.about is not None:
            assert (message.op, message.elements, message.target, message.perm, message.axes) == (None,) * 5, text


@pytest.mark.parametrize("templates", some_and_rest(TEMPLATES, 50))
def test_sentence_advice_has_a_first_step(templates):
    for template in templates:
        filled = template.text.format_map({name: TEXTS[kind] for name, kind in PLACEHOLDER_KINDS.items()})
        for message in parse_messages(f"RuntimeError: {filled} and so on"):
            advice = advise_on_message(message)
            steps = [text for text, _ in advice.fixes]
            assert steps or (advice.missing and message.cause == "unspecified"), template.text
            assert all(steps), template.text


def find_lesson_errors(template):
    """Yield the values of a row that are defined nowhere."""
    causes = {*CAUSES, "counts", "asked"}  # the numbers decide between the causes of the last two
    yield from (f"the framework {name}" for name in [template.framework] if name not in {*FRAMEWORKS, ""})
    yield from (f"the op {name}" for name in [template.op] if name not in {*OPS, None})
    yield from (f"the cause {name}" for name in [template.cause] if name not in causes and not template.about)
    yield from (f"the hole {name}" for name in template.parts[1::2] if name not in PLACEHOLDER_KINDS)
    yield from ["one of a pair"] if len({"there", "wanted"} & {*template.parts[1::2]}) == 1 else []
    yield from ["a capital letter"] if template.text != template.text.lower() else []
    yield from [] if template.source else ["no source"]


def test_sentence_rows_are_complete():
    assert {template.text: faults for template in TEMPLATES if (faults := [*find_lesson_errors(template)])} == {}


def test_incomplete_sentence_row_is_detected():
    (row,) = parse_templates("tensorfow | reshap | two-infers | Only {on} dim, {there}")
    last_words = ["tensorfow", "reshap", "two-infers", "on", "pair", "letter", "source"]
    assert [fault.split()[-1] for fault in find_lesson_errors(row)] == last_words


def test_sentence_row_without_a_column_is_named():
    with pytest.raises(ValueError, match=r"incomplete: torch \| reshape \| only one"):
        [*parse_templates("[1.0]\ntorch | reshape | only one")]


def test_dialects_are_frameworks_of_messages():
    missing = DIALECTS.keys() - FRAMEWORKS.keys()
    assert not missing, f"say in FRAMEWORKS by which names {', '.join(missing)} is found, and where its shapes are"
    assert not [name for name in DIALECTS if FRAMEWORKS[name].zero_copies], "the dialect says what 0 means"


def test_sentence_table_has_no_duplicates():
    templates = [template.text for template in TEMPLATES]
    assert len(templates) == len(set(templates))
