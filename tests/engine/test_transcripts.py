"""Transcripts of the command line on array files; each runs in a folder filled by `files_in`."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tests.cli import test_transcripts
from tests.transcripts import transcripts

X = np.arange(6).reshape(2, 3)
ARRAYS = {"x": X, "y": X.T, "z": X[:, ::-1], "same": X * 0, "cube": np.arange(24.0).reshape(2, 3, 4)}


def files_in(folder):
    """Write arrays and invalid files into a folder."""
    for name, array in ARRAYS.items():
        np.save(folder / f"{name}.npy", array)
    np.save(folder / "pickled.npy", np.array([None]), allow_pickle=True)
    np.savez(folder / "x.npz", w=np.zeros(3))
    np.savez_compressed(folder / "damaged.npz", w=np.random.default_rng(1).integers(0, 9, 6000).astype("u1"))
    packed, damaged = (folder / "x.npz").read_bytes(), bytearray((folder / "damaged.npz").read_bytes())
    damaged[len(damaged) // 2] ^= 0xFF
    whole = (folder / "x.npy").read_bytes()
    for name, content in {
        "cut.npy": whole[:140],
        "cut-header.npy": whole[:50],
        "empty.npy": b"",
        "lies.npy": whole.replace(b"(2, 3)", b"(9, 9)"),
        "cut.npz": packed[: len(packed) // 2],
        "lies.npz": packed.replace(b"(3,)", b"(9,)"),
        "damaged.npz": damaged,
    }.items():
        (folder / name).write_bytes(content)
    (folder / "folder.npy").mkdir()
    os.mkfifo(folder / "pipe.npy")
    os.link(folder / "x.npy", folder / "linked.npy")


@pytest.mark.parametrize("lines", transcripts(Path(__file__).parent / "transcripts", r"\$|>|!|=|@|\||\?"))
def test_engine_transcripts(lines, shapecalc, tmp_path, monkeypatch):
    files_in(tmp_path)
    before = {path.name for path in tmp_path.iterdir()}
    test_transcripts.test_command_line_transcripts(lines, shapecalc, tmp_path, monkeypatch)
    written = {line.text.split("-o ")[1].split()[0] for line in lines if line.sign == "$" and "-o " in line.text}
    assert {path.name for path in tmp_path.iterdir()} <= before | written
