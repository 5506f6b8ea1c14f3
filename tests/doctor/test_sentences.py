"""The table of sentences: each is found in its own words, with what its holes hold, and once."""

from __future__ import annotations

import pytest

from shapecalc.core.dialects import DIALECTS
from shapecalc.core.ops import OPS
from shapecalc.doctor.causes import SAID
from shapecalc.doctor.excerpts import folded
from shapecalc.doctor.reading import DIALECTS_READ, readings
from shapecalc.doctor.sentence import COUNTS, LISTS, matches
from shapecalc.doctor.sentences import SENTENCES

HOLES = {**dict.fromkeys(LISTS, "[2, 3]"), **dict.fromkeys(COUNTS, "24"), "words": "some words"}
DECIDED = {"counts", "asked"}
"""What stands in place of a cause where the numbers decide it."""


def example(sentence):
    """Return a text that holds a sentence."""
    return f"RuntimeError: {sentence.template.format_map(HOLES)} and so on"


@pytest.mark.sampled(120)
@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence.template[:60])
def test_a_sentence_is_found_with_what_its_holes_hold(sentence):
    found = next(matches(sentence, folded(example(sentence))))
    assert set(found.held) == set(sentence.parts[1::2])
    for name, value in found.held.items():
        assert value == ((2, 3) if name in LISTS else 24 if name in COUNTS else "some words")


@pytest.mark.sampled(120)
@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda sentence: sentence.template[:60])
def test_a_text_with_one_sentence_has_one_reading(sentence):
    (found,) = readings(example(sentence))
    assert found.cause in SAID
    if sentence.cause != "unspecified":  # a node of another operator may be about anything
        assert (found.about is not None) == sentence.cause.startswith("about:")
    if found.about is not None:
        assert (found.op, found.input, found.elements, found.target, found.perm, found.axes) == (None,) * 6


def test_sentences_name_known_causes_and_ops():
    causes = {each.cause for each in SENTENCES if not each.cause.startswith("about:")}
    assert causes - DECIDED <= set(SAID)
    assert {each.op for each in SENTENCES if each.op} <= {*OPS}
    assert set(DIALECTS) >= DIALECTS_READ


def test_no_sentence_stands_in_the_table_twice():
    templates = [each.template for each in SENTENCES]
    assert len(templates) == len(set(templates))


def test_sentences_are_written_in_small_letters_and_name_a_source():
    assert [each.template for each in SENTENCES if each.template != each.template.lower() or not each.source] == []
