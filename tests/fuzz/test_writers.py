"""Several writers at once, and the peers of `mcp` and `serve`: samples of the attacks, and what they detect."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.fuzz import peers, writers
from tests.fuzz.writers import KINDS, Ending, OutputKind, RewriteKind

pytest.importorskip("fcntl", reason="this system has no fork")
pytest.importorskip("zarr", reason="zarr is not installed, which writes stores")


def test_writers_sample_ends_well():
    assert writers.attack(8, 3) == 0


@pytest.mark.slow
def test_writers_larger_sample_ends_well():
    """The attack takes minutes: `python -m tests.fuzz.writers 10000`."""
    assert writers.attack(20, 4) == 0


@pytest.mark.slow
def test_peers_sample_ends_well():
    """The attack takes minutes: `python -m tests.fuzz.peers 10000`."""
    pytest.importorskip("mcp", reason="mcp is not installed")
    pytest.importorskip("textual_serve", reason="textual-serve is not installed")
    assert peers.attack(120, 3) == 0


def test_writers_lost_answers_are_detected(tmp_path):
    kind = KINDS["progress"]
    kind.old, kind.counts = "newer", [3, 2]
    (tmp_path / "lessons.json").write_text('{"done": ["lesson0"], "drill": {"asked": 8}}')
    assert [*kind.complaints(tmp_path, [Ending(0, False), Ending(0, False)])] == [
        "8 answers, and 10 to 10 were given",
        "lessons are lost: {'done': ['lesson0'], 'drill': {'asked': 8}}",
        "unknown fields are lost: {'done': ['lesson0'], 'drill': {'asked': 8}}",
    ]


def test_writers_broken_files_are_detected(tmp_path):
    kind = OutputKind("npy")
    kind.prepare(Random(1), tmp_path)
    kind.is_forced, kind.has_old = False, False
    kind.write(Path(tmp_path, "y.npy"), writers.ARRAY[:, 1:])
    assert [*kind.complaints(tmp_path, [Ending(0, False)] * 2)] == [
        "the output is none of the results",
        "2 wrote the output, and none was told to replace it",
    ]
    (tmp_path / "net.py").write_text("de")
    assert len([*RewriteKind("net.py", "def", "define").complaints(tmp_path, [])]) == 1
