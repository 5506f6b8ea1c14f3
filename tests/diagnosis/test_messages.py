"""Pasted messages, each with its parse (`=`), texts in the answer (`~`) and not in it (`!`), and fixes (`+`)."""

from __future__ import annotations

import html
import itertools
import json
import re
import shlex
import textwrap
from pathlib import Path

import pytest

from shapecalc.diagnosis import reading
from shapecalc.diagnosis.match import CHUNK_LENGTH, format_sizes
from shapecalc.diagnosis.phrases import PHRASES
from shapecalc.diagnosis.reading import has_known_message, parse_messages
from shapecalc.diagnosis.report import diagnose
from tests.sampling import each_row
from tests.transcripts import transcripts

FOLDER = Path(__file__).parent / "messages"
SIGNS = r"=|~|!|\+"
FIELDS = ("input", "operands", "elements", "target", "target_elements", "perm", "axes", "node")
COUNT = "RuntimeError: shape '[8, 3, 64]' is invalid for input of size 1600\n"


def summarize(message):
    """Return a parsed message in the notation of the tables."""
    parts = [f"{' '.join(filter(None, (message.framework, message.op))) or 'unknown'}: {message.cause}"]
    for name in FIELDS:
        value = getattr(message, name)
        lists = value if name == "operands" else [value]
        texts = (format_sizes(item) if isinstance(item, tuple) else str(item) for item in lists or ())
        parts += [] if value is None else [f"{name} {' '.join(texts)}"]
    return " | ".join(parts)


def messages(lines):
    """Yield each message of a transcript with its expectations by sign."""
    for is_text, group in itertools.groupby(lines, lambda line: line.sign == ""):
        if is_text:
            text = "\n".join(line.text for line in group).strip("\n")
        else:
            expected = [*group]
            yield text, {sign: [line.text for line in expected if line.sign == sign] for sign in "=~!+"}


@each_row("lines", transcripts(FOLDER, SIGNS))
def test_message_diagnosis_and_offered_commands(lines, shapecalc):
    for text, expected in messages(lines):
        report = diagnose(text)
        answer = "\n".join(report.format_lines())
        assert ([summarize(message) for message, _ in report.entries] or ["nothing"]) == expected["="], text
        assert [part for part in expected["~"] if part not in answer] == [], answer
        assert [part for part in expected["!"] if part in answer] == [], answer
        offered = [fix for _, advice in report.entries for fix, _ in advice.fixes]
        commands = [command for _, advice in report.entries for _, command in advice.fixes if command]
        runs = {command: shapecalc(*shlex.split(command)[1:]).code for command in commands if "FILE" not in command}
        assert {*runs.values()} <= {0}, runs
        pairs = zip(expected["+"], offered[: len(expected["+"])], strict=True)
        assert [(first, fix) for first, fix in pairs if not fix.startswith(first)] == []


def decorate_lines(decorate):
    return lambda text: "\n".join(decorate(line) for line in text.split("\n"))


DECORATIONS = {
    "colours": decorate_lines(lambda line: f"\x1b[1;31m{line}\x1b[0m"),
    "escaped colours": decorate_lines(lambda line: f"\\u001b[31m{line}\\u001b[0m"),
    "json": lambda text: json.dumps({"level": "error", "message": text}),
    "json in json": lambda text: json.dumps(json.dumps([text])),
    "html": lambda text: f"<pre>{html.escape(text)}</pre>".replace("\n", "<br/>\n"),
    "a CI service": decorate_lines(lambda line: f"2024-05-06T07:08:09.1234567Z {line}"),
    "a logger": decorate_lines(lambda line: f"2024-05-06 07:08:09,123 - ERROR - root - {line}"),
    "containers": decorate_lines(lambda line: f"app_1  | {line}"),
    "a cluster": decorate_lines(lambda line: f"2024-05-06T07:08:09.123456789Z stderr F {line}"),
    "a rank": decorate_lines(lambda line: f"[rank3]: {line}"),
    "pytest": decorate_lines(lambda line: f"E   {line}"),
    "a quotation": decorate_lines(lambda line: f"> {line}"),
    "a worker": decorate_lines(lambda line: f"(pid=1234, ip=10.0.0.1) {line}"),
    "a box": decorate_lines(lambda line: f"\u2502 {line} \u2502"),
    "windows": lambda text: text.replace("\n", "\r\n"),
    "curly quotes": lambda text: re.sub("'([^']*)'", "\u2018\\1\u2019", text),
    "repr": repr,
    "wrapped": decorate_lines(lambda line: textwrap.fill(line, 72, break_on_hyphens=False, break_long_words=False)),
    "broken": decorate_lines(lambda line: "\n".join(line[start : start + 72] for start in range(0, len(line), 72))),
    "a log": lambda text: "step 7 took 12 ms\n" * 5000 + text + "\nstep 8 took 12 ms" * 5000,
}


@each_row("decoration", DECORATIONS)
def test_message_decorations_are_ignored(decoration):
    forms = (row for row in transcripts(FOLDER, SIGNS) if row.id.startswith("forms"))
    for text, expected in (message for row in forms for message in messages(*row.values)):
        parsed = parse_messages(DECORATIONS[decoration](text))
        assert parsed, text
        assert summarize(parsed[0]).partition(" | node ")[0] == expected["="][0].partition(" | node ")[0]


def test_text_is_known_if_it_contains_a_sentence():
    texts = (COUNT, "see [2, 3]", "b c h w -> b (h w) c", "x.view(2, 3)")
    assert [has_known_message(text) for text in texts] == [True, False, False, False]


def test_offered_commands_name_the_given_model():
    text = "Got invalid dimensions for input: x for the following indices\n index: 0 Got: 512 Expected: 1\n"
    report = diagnose(text, "my model.onnx")
    assert any("shapecalc model 'my model.onnx' --fix -o fixed.onnx" in line for line in report.format_lines())
    assert report.as_json()[0]["fixes"][0]["command"] == "shapecalc model 'my model.onnx' --fix -o fixed.onnx"


# Long logs

SAME = "2024-05-06T07:08:09Z step 7 of 100: layer saved\n"
COUNTED = "cannot reshape array of size {} into shape (5,7)\n"
LOGS = {
    "repeated": SAME,
    "counted": SAME.replace("7 of", "{at} of"),
    "all different": "{word} was here\n",
    "one line": SAME.rstrip() + " ",
    "likely lines": "[V] layer {at}: invalid dimension, the shape is [1, {at}]\n",
}


@pytest.mark.parametrize("line", LOGS.values(), ids=LOGS)
def test_message_is_found_anywhere_in_a_long_log(line):
    words = ("".join(letters) for letters in itertools.product("abcdefghijklmnopqrst", repeat=3))
    log = [line.format(at=at, word=word) for at, word in zip(range(6_000), words, strict=False)]
    for index in (10, 3_000, 5_990):
        (message,) = parse_messages("".join([*log[:index], "\n", COUNTED.format(36), *log[index:]]))
        assert summarize(message) == "numpy reshape: count-mismatch | elements 36 | target 5,7"


def test_messages_differing_in_numbers_are_all_read():
    text = "".join(COUNTED.format(36 + at) + SAME * 2_000 for at in range(4))
    assert [message.elements for message in parse_messages(text)] == [36, 37, 38, 39]


def test_log_of_only_messages_reads_the_first_ones(monkeypatch):
    calls = []
    parse_match = reading._parse_match
    monkeypatch.setattr(reading, "_parse_match", lambda *args: calls.append(1) or parse_match(*args))
    messages_read = parse_messages("".join(COUNTED.format(at) for at in range(36, 20_036)))
    assert [message.elements for message in messages_read] == [*range(36, 36 + reading.MAX_MESSAGES)]
    assert len(calls) == reading.MAX_MESSAGES


def test_unrelated_messages_do_not_hide_shape_messages():
    other = "".join(f"step {at}: ValueError: operands could not be broadcast together {at}\n" for at in range(1000))
    (message,) = parse_messages(other + COUNTED.format(24))
    assert message.cause == "count-mismatch"


def test_numbers_at_log_boundaries_are_not_cut():
    log = "saved in 7 ms\n" * 60_000 + COUNT * 40_000 + COUNTED.format(36)
    assert [summarize(message) for message in parse_messages(log)] == [
        "torch reshape: count-mismatch | elements 1600 | target 8,3,64",
        "numpy reshape: count-mismatch | elements 36 | target 5,7",
    ]


PIECES = ["[", "(", "{", "<", "&", "\\", "'", "\x1b[", "&#", "shape '[", "1,", "np.int32(", "' (op: '", "{{node "]


@each_row("piece", PIECES)
def test_repeated_fragments_do_not_hide_messages(piece):
    assert parse_messages(f"{COUNT}\n{piece * 10_000}\n{COUNT}")[0].target == (8, 3, 64)


def test_sentence_across_a_block_boundary_is_read_once():
    assert len(parse_messages("a b " * (CHUNK_LENGTH // 4 - 14) + COUNT.strip() + " c" * 9000)) == 1


def test_quote_starts_at_its_own_sentence():
    sentence = COUNT.partition(": ")[2].strip()
    (message,) = parse_messages(f"It went on. {'a word ' * 45}{sentence}")
    assert message.quote == sentence


def test_every_phrase_is_the_first_step_of_a_message():
    """Each wording of the table of first steps is the first match of a message in the transcripts."""
    steps = dict.fromkeys(PHRASES, 0)
    for row in transcripts(FOLDER, SIGNS):
        for text, _ in messages(row.values[0]):
            for message, _ in diagnose(text).entries:
                lower, around = (
                    message.quote.lower(),
                    f"{message.quote} {message.nearby_text} {message.failing_line}".lower(),
                )
                found = [each for each in PHRASES if each.match(lower, around)]
                for phrase in found[:1]:
                    steps[phrase] += 1
    assert [phrase.words for phrase, count in steps.items() if not count] == []
