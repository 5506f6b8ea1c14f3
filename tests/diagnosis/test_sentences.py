"""The table of sentences: each is found in its own words, with what its holes hold, and once."""

from __future__ import annotations

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.diagnosis.context import FRAMEWORKS
from shapecalc.diagnosis.match import HOLE_KINDS, TEMPLATES, clean_text, find_matches, parse_templates
from shapecalc.diagnosis.reading import CAUSES, parse_messages
from shapecalc.diagnosis.report import OP_DESCRIPTIONS
from tests.sampling import some_and_rest

TEXTS = {"list": "[2, 3]", "lists": "[2, 3] [2, 3]", "count": "24", "words": "some words"}
VALUES = {"list": (2, 3), "lists": ((2, 3), (2, 3)), "count": 24, "words": "some words"}
"""What stands in a hole, and what is read there."""


@pytest.mark.parametrize("sentences", some_and_rest(TEMPLATES, 50))
def test_sentence_match_returns_its_holes_once(sentences):
    for sentence in sentences:
        filled = sentence.text.format_map({name: TEXTS[kind] for name, kind in HOLE_KINDS.items()})
        text, holes = f"RuntimeError: {filled} and so on", sentence.parts[1::2]
        assert next(find_matches(sentence, clean_text(text))).values == {
            hole: VALUES[HOLE_KINDS[hole]] for hole in holes
        }, text
        (found,) = parse_messages(text)
        assert found.cause in CAUSES, text
        if sentence.cause != "unspecified":  # a node of another operator may be about anything
            assert (found.about is None) == (sentence.about is None), text
        if found.about is not None:
            assert (found.op, found.elements, found.target, found.perm, found.axes) == (None,) * 5, text


def lacking(sentence):
    """Yield what a row says that nothing else knows."""
    causes = {*CAUSES, "counts", "asked"}  # the last two stand where the numbers decide it
    yield from (f"the framework {each}" for each in [sentence.framework] if each not in {*FRAMEWORKS, ""})
    yield from (f"the op {each}" for each in [sentence.op] if each not in {*OPS, *OP_DESCRIPTIONS, None})
    yield from (f"the cause {each}" for each in [sentence.cause] if each not in causes and not sentence.about)
    yield from (f"the hole {each}" for each in sentence.parts[1::2] if each not in HOLE_KINDS)
    yield from ["one of a pair"] if len({"there", "wanted"} & {*sentence.parts[1::2]}) == 1 else []
    yield from ["a capital letter"] if sentence.text != sentence.text.lower() else []
    yield from [] if sentence.source else ["no versions that say so"]


def test_sentence_rows_are_complete():
    assert {each.text: found for each in TEMPLATES if (found := [*lacking(each)])} == {}


def test_incomplete_sentence_row_is_detected():
    (row,) = parse_templates("tensorfow | reshap | two-infers | Only {on} dim, {there}")
    lacks = ["tensorfow", "reshap", "two-infers", "on", "pair", "letter", "so"]
    assert [each.split()[-1] for each in lacking(row)] == lacks


def test_sentence_row_without_a_column_is_named():
    with pytest.raises(ValueError, match=r"incomplete: torch \| reshape \| only one"):
        [*parse_templates("[1.0]\ntorch | reshape | only one")]


def test_sentence_frameworks_have_dialects():
    assert {*DIALECTS} >= {name for name, known in FRAMEWORKS.items() if known.is_dialect}


def test_sentence_table_has_no_duplicates():
    templates = [each.text for each in TEMPLATES]
    assert len(templates) == len(set(templates))
