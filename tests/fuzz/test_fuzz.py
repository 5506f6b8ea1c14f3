"""The fuzzer: its corpus ends well, a seed gives the same attempts, and faults are detected."""

from __future__ import annotations

import sys

import pytest

from shapecalc import __main__
from tests.fuzz.__main__ import corpus, fuzz
from tests.fuzz.drawing import Draw
from tests.fuzz.running import Attempt, prepared, run


def test_fuzz_corpus_and_sample_end_well():
    count, findings, _ = fuzz(sys.maxsize, 3, most=len(corpus()) + 400)
    assert count > 400
    assert findings == []


@pytest.mark.slow
def test_fuzz_seed_is_reproducible():
    first, second = ([draw.attempt(corpus()) for _ in range(300)] for draw in (Draw(5), Draw(5)))
    assert first == second
    assert len({attempt.words for attempt in first}) > 200


def test_fuzz_attempt_is_read_from_its_line():
    attempt = Attempt(("reshape", "\udcff", "\x1b"), "2,3\n", {"x.npy": "\x93NUMPY"})
    assert Attempt.read(attempt.line()) == attempt


BROKEN = {
    "raise KeyError('onn')": "KeyError",
    "return 9": "exit code 9",
    "print(chr(27) + '[2J', end='')": r"prints '\x1b'",
    "import warnings; warnings.warn('raw', stacklevel=1)": "UserWarning",
    "while True: pass": "Hang",
}


@pytest.mark.parametrize("body", BROKEN)
def test_fuzz_bad_endings_are_detected(body, monkeypatch, tmp_path):
    if BROKEN[body] == "Hang":
        pytest.importorskip("termios", reason="this system has no alarm signal")
        monkeypatch.setattr("tests.fuzz.running.PATIENCE", 0.1)
    names = {}
    exec(f"def broken(*_):\n    {body}\n    return 0", names)
    monkeypatch.setattr(__main__, "run_command_line", names["broken"])
    with prepared(tmp_path):
        assert BROKEN[body] in "".join(run(Attempt(("reshape", "2,3", "6"))).complaints())
