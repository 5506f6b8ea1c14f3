"""`shapecalc match`: files held against a pattern, each that differs a line, each that cannot be read another."""

from __future__ import annotations

import json
import random
from xml.etree import ElementTree

import numpy as np
import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of three arrays, the third of which has another batch."""
    monkeypatch.chdir(tmp_path)
    for name, batch in (("a", 8), ("b", 8), ("c", 4)):
        np.save(f"{name}.npy", np.zeros((batch, 3, 5, 5), "f4"))
    return tmp_path


SHAPES = {"a.npy": "8,3,5,5", "b.npy": "8,3,5,5", "c.npy": "4,3,5,5"}
UNEVEN = "dim 2 is 5, and 2*H cannot be that"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("N,3,H,W", {"c.npy": "4,3,5,5 is not N,3,H,W: dim 0 is 4, and N is 8 (a.npy, dim 0)"}),
        ("?,3,H,H", {}),
        ("float32[?,...]", {}),
        ("...,W", {}),
        ("...", {}),
        ("?,3,2*H,?", {name: f"{shape} is not ?,3,2*H,?: {UNEVEN}" for name, shape in SHAPES.items()}),
        ("int8[5]", {name: f"float32[{shape}] is not int8[5]: it has 4 dims" for name, shape in SHAPES.items()}),
    ],
)
def test_each_array_that_differs_is_a_line(pattern, said, shapecalc):
    ran = shapecalc("match", pattern, *SHAPES)
    assert ran.out.splitlines() == [f"{name}: {message}" for name, message in said.items()]
    assert ran.code == (1 if said else 0)


@pytest.mark.usefixtures("folder")
def test_the_sizes_of_names_are_told(shapecalc):
    assert shapecalc("match", "N,3,H,W", "a.npy", "b.npy").err == "shapecalc: 2 passed; N is 8, H is 5, W is 5\n"
    assert shapecalc("match", "N,3,H,W", "c.npy", "-q") == shapecalc("match", "...", "c.npy", "--quiet")


def test_archives_tensors_and_stores_are_looked_into(shapecalc, folder):
    np.savez("x.npz", w=np.zeros((8, 2)), v=np.zeros(3))
    (folder / "z.zarr").mkdir()
    (folder / "z.zarr/.zarray").write_text('{"zarr_format": 2, "shape": [8, 9], "dtype": "<i4"}')
    ran = shapecalc("match", "8,?", "x.npz", "z.zarr", "x.npz:w")
    assert (ran.code, ran.out) == (1, "x.npz:v: 3 is not 8,?: it has 1 dim\n")
    assert ran.err == "shapecalc: 3 passed, 1 failed\n"


def test_as_json(shapecalc, folder):
    (folder / "bad.npy").write_bytes(b"")
    ran = shapecalc("match", "N,3,H,W", "a.npy", "c.npy", "bad.npy", "--json")
    found = json.loads(ran.out)
    assert (ran.code, ran.err, found["ok"], found["pattern"]) == (4, "", False, "N,3,H,W")
    assert found["names"]["N"] == {"size": 8, "from": "a.npy, dim 0"}
    good, differing, unread = found["arrays"]
    assert good == {"file": "a.npy", "shape": [8, 3, 5, 5], "dtype": "float32", "ok": True, "problem": None}
    assert (differing["problem"]["rule"], differing["problem"]["index"]) == ("differs", 0)
    assert (unread["shape"], unread["problem"]["rule"]) == (None, "file")
    usage = json.loads(shapecalc("match", "N..", "a.npy", "--json").out)
    assert (usage["arrays"], usage["problem"]["span"]) == ([], [1, 2])


def test_as_junit(shapecalc, folder):
    (folder / "bad.npy").write_bytes(b"")
    assert shapecalc("match", "N,3,H,W", "a.npy", "c.npy", "bad.npy", "--junit", "r.xml", "-q").code == 4
    ran = shapecalc("match", "8,...", "a.npy", "c.npy", "bad.npy", "--github")
    assert [line[:20] for line in ran.out.splitlines()] == ["::error file=c.npy::", "::error file=bad.npy"]
    suite = ElementTree.parse("r.xml").getroot()
    assert {name: suite.get(name) for name in ("name", "tests", "failures", "errors")} == {
        "name": "shapecalc match",
        "tests": "3",
        "failures": "1",
        "errors": "1",
    }
    assert [[inner.tag for inner in case] for case in suite] == [[], ["failure"], ["error"]]


def test_a_report_that_cannot_be_written_or_would_cost_an_array_is_exit_4(shapecalc, folder):
    before = (folder / "a.npy").read_bytes()
    for junit in ("none/r.xml", "a.npy", "."):
        ran = shapecalc("match", "...", "a.npy", "--junit", junit)
        assert (ran.code, ran.out, ran.err.count("\n")) == (4, "", 1)
        assert ran.err.startswith(f"shapecalc: file: {junit}: ")
    assert (folder / "a.npy").read_bytes() == before


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("pattern", ["", "N..", "-1", "...,...", "foo[2]", "N,\x1b[2J", "(" * 10_000])
def test_a_pattern_that_cannot_be_read_is_usage(pattern, shapecalc):
    ran = shapecalc("match", pattern, "a.npy")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith("shapecalc: usage: ")
    assert "\x1b" not in ran.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "the name of a file is empty"),
        (".", ".: it is a folder, but not a Zarr store; name its files: ./*.npy"),
        ("notes.txt", "notes.txt: it is not a .npy, .npz or .safetensors file, nor a Zarr store"),
        ("gone.zarr", "gone.zarr: no such file or directory"),
        ("notes.txt:w", "notes.txt:w: no such file or directory"),
    ],
)
def test_what_is_no_file_of_arrays_is_told_in_its_line(name, said, shapecalc, folder):
    (folder / "notes.txt").write_text("8,3,5,5")
    ran = shapecalc("match", "N,...", name, "a.npy")
    assert (ran.code, ran.err) == (4, f"shapecalc: file: {said}\nshapecalc: 1 passed, 1 could not be read; N is 8\n")
    unread, good = json.loads(shapecalc("match", "N,...", name, "a.npy", "--json").out)["arrays"]
    assert (unread["file"], unread["problem"]["message"], good["ok"]) == (name, said, True)


def test_a_folder_of_damaged_files_is_looked_through_to_its_end(shapecalc, folder):
    np.savez("x.npz", w=np.zeros((8, 2)))
    (folder / "x.safetensors").write_bytes(b"\x02\0\0\0\0\0\0\0{}")
    draw, damaged = random.Random(5), []
    for kind in ("a.npy", "x.npz", "x.safetensors"):
        whole = (folder / kind).read_bytes()
        for number in range(20):
            name = f"{number}\x1b[31m\n{kind}"
            (folder / name).write_bytes(whole[: draw.randrange(len(whole))] if number % 2 else draw.randbytes(300))
            damaged.append(name)
    ran = shapecalc("match", "N,...", *damaged, "gone.npy", "a.npy", "c.npy")
    assert ran.code == 4
    assert ran.out == "c.npy: 4,3,5,5 is not N,...: dim 0 is 4, and N is 8 (a.npy, dim 0)\n"
    lines = ran.err.splitlines()
    assert len(lines) == len(damaged) + 2
    assert all(line.startswith("shapecalc: file: ") and line.isprintable() for line in lines[:-1])
    assert lines[-1] == "shapecalc: 1 passed, 1 failed, 61 could not be read; N is 8"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["a.npy", "N,3,H,W"], "'a.npy' is a file (the pattern comes first: match N,3,H,W a.npy)"),
        (["x.npz:w", "2,3"], "'x.npz:w' is a file (the pattern comes first: match 2,3 x.npz:w)"),
        (["store.zarr/", "a.npy"], "'store.zarr/' is a file (the pattern comes first: match PATTERN store.zarr/)"),
    ],
)
def test_a_file_in_the_place_of_the_pattern_is_told(words, said, shapecalc):
    ran = shapecalc("match", *words)
    assert (ran.code, ran.out, ran.err) == (2, "", f"shapecalc: usage: {said}\n")
