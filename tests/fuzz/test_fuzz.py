"""The fuzzer: what it keeps ends well, what it draws is the same for a seed, and it finds what is broken."""

from __future__ import annotations

import sys
from random import Random

import pytest

from shapecalc import __main__
from tests.fuzz.__main__ import corpus, fuzz
from tests.fuzz.drawing import drawn
from tests.fuzz.running import Attempt, prepared, run


def test_the_corpus_and_some_command_lines_of_a_seed_end_well():
    count, findings, _ = fuzz(sys.maxsize, 3, most=len(corpus()) + 400)
    assert count > 400
    assert findings == []


def test_a_seed_always_draws_the_same():
    first, second = ([drawn(random, corpus()) for _ in range(300)] for random in (Random(5), Random(5)))
    assert first == second
    assert len({attempt.words for attempt in first}) > 200


def test_an_attempt_is_read_from_the_line_that_it_writes():
    attempt = Attempt(("reshape", "\udcff", "\x1b"), "2,3\n", {"x.npy": "\x93NUMPY"})
    assert Attempt.read(attempt.line()) == attempt


def error(*_):
    raise KeyError("onn")


def exit_9(*_):
    return 9


def escape(*_):
    print("\x1b[2J", end="")
    return 0


def warn(*_):
    import warnings

    warnings.warn("raw", stacklevel=1)
    return 0


def loop(*_):
    while True:
        pass


BROKEN = [
    (error, "KeyError"),
    (exit_9, "exit code 9"),
    (escape, r"prints '\x1b'"),
    (warn, "UserWarning"),
    (loop, "Hang"),
]


@pytest.mark.parametrize(("broken", "said"), BROKEN, ids=lambda value: getattr(value, "__name__", None))
def test_what_ends_badly_is_found(broken, said, monkeypatch, tmp_path):
    if broken is loop:
        pytest.importorskip("termios", reason="there is no signal that ends a loop here")
        monkeypatch.setattr("tests.fuzz.running.PATIENCE", 0.1)
    monkeypatch.setattr(__main__, "run_line", broken)
    with prepared(tmp_path):
        assert said in "".join(run(Attempt(("reshape", "2,3", "6"))).complaints())
