"""Patterns in Python: the sizes that names take, and an assertion that explains itself."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import shapecalc as sc
from shapecalc.testing import assert_shape
from tests.cli.conftest import environment


def test_the_sizes_of_the_names_are_returned():
    assert sc.match("N,3,H,H", np.zeros((8, 3, 5, 5))) == {"N": 8, "H": 5}
    assert sc.match(("N", ..., 4), (8, 2, 4)) == {"N": 8}
    assert sc.match("N,?", "7,9") == {"N": 7}
    assert str(sc.match("N,3", SimpleNamespace(shape=(None, 3)))["N"]) == "?"


def test_where_it_differs_is_a_shape_error_with_the_dim():
    with pytest.raises(sc.ShapeError) as error:
        sc.match("N,3,H,H", (8, 3, 5, 6))
    assert (error.value.problem.rule, error.value.problem.index) == ("differs", 3)
    assert error.value.problem.message == "8,3,5,6 is not N,3,H,H: dim 3 is 6, and H is 5 (dim 2)"
    with pytest.raises(sc.ShapeError, match=r"dim 1 is .*not 3"):
        sc.match("N,3", (8, None))


SINGLE = ["float32", "torch.float32", np.dtype(">f4"), np.float32]


@pytest.mark.parametrize(("dtype", "fits"), [*((dtype, True) for dtype in SINGLE), ("int8", False), (None, False)])
def test_the_element_type_is_that_of_any_framework(dtype, fits):
    array = SimpleNamespace(shape=(2,), dtype=dtype)
    if fits:
        assert sc.match("float32[N]", array) == {"N": 2}
    else:
        with pytest.raises(sc.ShapeError, match="its element type is"):
            sc.match("float32[N]", array)


def test_texts_of_numpy_are_strings():
    assert sc.match("string[N]", np.array(["ab", "c"])) == {"N": 2}


@pytest.mark.parametrize("call", [lambda: sc.match("N..", (2,)), lambda: sc.match("N", 5), lambda: sc.match(5, (2,))])
def test_what_cannot_be_read_is_usage(call):
    with pytest.raises(sc.ShapeError) as error:
        call()
    assert error.value.problem.rule == "usage"


def test_an_assertion_says_which_dim_differs_and_where_its_name_was_met():
    sizes = assert_shape(np.zeros((8, 3)), "N,C")
    assert sizes == {"N": 8, "C": 3}
    assert assert_shape(np.zeros((8, 5)), "N,K", where=sizes) == {"N": 8, "C": 3, "K": 5}
    with pytest.raises(AssertionError, match=r"4,5 is not N,K: dim 0 is 4, and N is 8 \(as given\)"):
        assert_shape(np.zeros((4, 5)), "N,K", where=sizes)
    with pytest.raises(sc.ShapeError, match="is not allowed in"):
        assert_shape(np.zeros(2), "N..")


def test_pytest_shows_the_line_of_the_test_and_not_of_the_assertion(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "from shapecalc.testing import assert_shape\n\ndef test_it():\n    assert_shape((2, 3), 'N,N')\n"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", str(tmp_path)],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=tmp_path,
        check=False,
    )
    assert "E   AssertionError: 2,3 is not N,N: dim 1 is 3, and N is 2 (dim 0)" in ran.stdout.replace("       ", "   ")
    assert "error.problem.rule" not in ran.stdout
