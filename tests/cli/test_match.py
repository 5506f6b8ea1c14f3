"""Patterns on damaged files, and in Python. Messages of `shapecalc match`: `transcripts/match.txt`."""

from __future__ import annotations

import random
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.testing import assert_shape, shapes
from tests.cli.conftest import environment, run_program


def test_match_continues_past_damaged_files(shapecalc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.zeros((8, 3, 5)))
    np.save("c.npy", np.zeros((4, 3, 5)))
    np.savez("x.npz", w=np.zeros((8, 2)))
    (tmp_path / "x.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    draw, damaged = random.Random(5), []
    for kind in ("a.npy", "x.npz", "x.safetensors"):
        intact = (tmp_path / kind).read_bytes()
        for number in range(20):
            name = f"{number}\x1b[31m\n{kind}"
            (tmp_path / name).write_bytes(intact[: draw.randrange(len(intact))] if number % 2 else draw.randbytes(300))
            damaged.append(name)
    ran = shapecalc("match", "N,...", *damaged, "gone.npy", "a.npy", "c.npy")
    assert (ran.code, ran.out.count("\n"), ran.out[:7]) == (4, 1, "c.npy: ")
    *lines, last = ran.err.splitlines()
    assert len(lines) == len(damaged) + 1
    assert all(line.startswith("shapecalc: file: ") and line.isprintable() for line in lines)
    assert last == "shapecalc: 1 passed, 1 failed, 61 could not be read; N is 8"


FLOAT32_DTYPES = ["float32", "torch.float32", np.dtype(">f4"), np.float32]
MATCHES = [
    ("N,3,H,H", np.zeros((8, 3, 5, 5)), {"N": 8, "H": 5}),
    (("N", ..., 4), (8, 2, 4), {"N": 8}),
    ("N,?", "7,9", {"N": 7}),
    ("N,3", SimpleNamespace(shape=(None, 3)), {"N": "?"}),
    ("string[N]", np.array(["ab", "c"]), {"N": 2}),
    *(("float32[N]", SimpleNamespace(shape=(2,), dtype=dtype), {"N": 2}) for dtype in FLOAT32_DTYPES),
]


@pytest.mark.parametrize(("pattern", "array", "sizes"), MATCHES)
def test_match_returns_the_bound_sizes(pattern, array, sizes):
    bound = sc.match(pattern, array)
    assert {name: size if isinstance(size, int) else str(size) for name, size in bound.items()} == sizes


FAILURES = [
    ("N,3,H,H", (8, 3, 5, 6), "differs", "8,3,5,6 is not N,3,H,H: dim 3 is 6, and H is 5 (dim 2)"),
    ("N,3", (8, None), "differs", "8,? is not N,3: dim 1 is ?, not 3"),
    ("float32[N]", SimpleNamespace(shape=(2,), dtype="int8"), "differs", "its element type is int8"),
    ("float32[N]", SimpleNamespace(shape=(2,), dtype=None), "differs", "its element type is not known"),
    ("N..", (2,), "usage", ""),
    ("N", 5, "usage", ""),
    (5, (2,), "usage", ""),
]


@pytest.mark.parametrize(("pattern", "array", "rule", "message"), FAILURES)
def test_match_failure_is_a_shape_error(pattern, array, rule, message):
    with pytest.raises(sc.ShapeError) as error:
        sc.match(pattern, array)
    problem = error.value.problem
    assert (problem.rule, message in problem.message) == (rule, True), problem
    assert array != (8, 3, 5, 6) or problem.index == 3


def test_assert_shape_names_dim_and_first_binding():
    sizes = assert_shape(np.zeros((8, 3)), "N,C")
    assert sizes == {"N": 8, "C": 3}
    assert assert_shape(np.zeros((8, 5)), "N,K", where=sizes) == {"N": 8, "C": 3, "K": 5}
    with pytest.raises(AssertionError, match=r"4,5 is not N,K: dim 0 is 4, and N is 8 \(as given\)"):
        assert_shape(np.zeros((4, 5)), "N,K", where=sizes)
    with pytest.raises(sc.ShapeError, match="is not allowed in"):
        assert_shape(np.zeros(2), "N..")


@pytest.mark.slow
def test_assert_shape_traceback_shows_the_callers_line(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "from shapecalc.testing import assert_shape\n\ndef test_it():\n    assert_shape((2, 3), 'N,N')\n"
    )
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    env = environment() | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # loading Hypothesis and others takes 0.5 s
    output = run_program(words, cwd=tmp_path, env=env, capture_output=True, text=True).stdout
    assert "E   AssertionError: 2,3 is not N,N: dim 1 is 3, and N is 2 (dim 0)" in output.replace("       ", "   ")
    assert "error.problem.rule" not in output


def test_shapes_checks_arguments_and_result():
    @shapes(x="b c h w", mask="b t", returns="b n")
    def net(x, mask=None, n=2):
        del mask
        return np.zeros((len(x), n) if n else (3,))

    assert net.__name__ == "net"
    x = np.zeros((8, 3, 5, 5))
    assert net(x).shape == net(x, np.zeros((8, 4))).shape == (8, 2)
    cases = {
        "net: x: 8,3,5 is not b,c,h,w: it has 3 dims": lambda: net(x[..., 0]),
        "net: mask: 4,4 is not b,t: dim 0 is 4, and b is 8 (x, dim 0)": lambda: net(mask=np.zeros((4, 4)), x=x),
        "net: the result: 3 is not b,n: it has 1 dim": lambda: net(x, n=0),
    }
    for message, call in cases.items():
        with pytest.raises(AssertionError) as caught:
            call()
        assert str(caught.value).removeprefix("test_shapes_checks_arguments_and_result.<locals>.") == message


def test_shapes_of_unknown_parameter_is_usage_error():
    with pytest.raises(sc.ShapeError, match=r"has no parameter y \(did you mean x\?|has no parameter y"):
        shapes(y="b c")(lambda x: x)
    assert sc.assert_shape is assert_shape
    assert sc.shapes is shapes
