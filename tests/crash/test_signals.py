"""Send random signals to every writer: the file is the complete old or new one, and no other file remains.

Each trial sends signals at random times to a writer whose critical calls are slowed down. The next writer to the same
target removes the temporary files of a killed one. `python -m tests.crash.test_signals N` runs N trials of each.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from functools import cache
from itertools import cycle
from pathlib import Path
from random import Random

import numpy as np
import pytest

from tests.cli.conftest import ROOT, environment
from tests.models import detector

WRITERS = {
    "output": (["reshape", "x.npy", "-1", "-o", "y.npy"], "y.npy", False, 0),
    "output over another": (["reshape", "x.npy", "-1", "-o", "y.npy", "--force"], "y.npy", True, 0),
    "update": (["check", "cases", "--update", "--jobs", "1"], "cases", True, 0),
    "update by two": (["check", "cases", "--update", "--jobs", "2"], "cases", True, 0),
    "report": (["check", "cases", "--junit", "report.xml"], "report.xml", True, 1),
    "progress": (["mark", "lessons.json"], "lessons.json", True, 0),
    "picture": (["picture", "picture.svg"], "picture.svg", False, 0),
    "sheet": (["drill", "--print", "3", "--seed", "a", "-o", "sheet.txt", "--force"], "sheet.txt", True, 0),
    "model": (["model", "model.onnx", "--fix", "-o", "mended.onnx"], "mended.onnx", False, 0),
}
"""The command lines, their output files, whether these replace old ones, and the exit codes."""
TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LONGEST = 0.4
"""The latest first signal, in seconds."""
LONGEST_PROOF = 1.5
"""The same for a model, which is also proved."""
PATIENCE = 30


def prepare(folder, writer):
    """Write the inputs of a writer and its old output into a folder."""
    for path in folder.iterdir():
        path.unlink()
    np.save(folder / "x.npy", np.ones((1 << 10, 3 << 9), np.float32))
    (folder / "cases").write_text("reshape 2,3 -1 => 7\n" * 3)
    if writer == "model":
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed, which proves a model")
        detector.write(folder / "model.onnx")
    _, target, exists, _ = WRITERS[writer]
    if exists and target != "cases":
        (folder / target).write_text('{"done": []}')


def start_writer(folder, writer, system):
    """Start a writer in its own session; return it when it begins to write."""
    begins, status_pipe = os.pipe()
    running = subprocess.Popen(
        [
            sys.executable,
            str(ROOT / "tests" / "crash" / "slow_writer.py"),
            str(status_pipe),
            system,
            *WRITERS[writer][0],
        ],
        cwd=folder,
        env={**environment(), "TMPDIR": str(folder)},
        pass_fds=[status_pipe],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    os.close(status_pipe)
    assert os.read(begins, 1) == b"b"
    os.close(begins)
    return running


def send_signals(running, random, longest):
    """Send signals to a writer, perhaps with its children, at random times; return the terminating ones."""
    sent = random.choice(
        [
            [signal.SIGKILL],
            [random.choice(TERMINATING)],
            random.choices(TERMINATING, k=3),
            [*TERMINATING, signal.SIGKILL],
        ]
    )
    send = random.choice([os.kill, os.killpg])
    time.sleep(random.uniform(0, longest))
    for number in (signal.SIGSTOP, signal.SIGCONT, *sent) if random.random() < 0.5 else sent:
        if running.poll() is None:
            send(running.pid, number)
        time.sleep(random.choice([0, 0.001, 0.02]))
    return sent


def wait_for_all(running):
    """Wait for a writer and all its children; return its exit code and standard error."""
    message, end = running.communicate(timeout=PATIENCE)[1], time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            os.killpg(running.pid, 0)
        except ProcessLookupError:
            return running.returncode, message.decode()
        time.sleep(0.01)
    raise AssertionError("a child lives longer than its writer")


def content(folder, writer):
    path = folder / WRITERS[writer][1]
    return path.read_bytes() if path.exists() else None


def write_once(folder, writer, system):
    """Run a writer, and return the names of all files afterwards."""
    code, message = wait_for_all(start_writer(folder, writer, system))
    assert code == WRITERS[writer][3], message
    return {path.name for path in folder.iterdir()}


@cache
def run_uninterrupted(writer):
    """Return the file names after an uninterrupted writer, and its output."""
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), writer)
        return write_once(Path(folder), writer, "all"), content(Path(folder), writer)


def check_trial(folder, writer, system, seed):
    """Interrupt a writer; fail if the file is neither old nor new, or if other files remain."""
    (_, target, exists, done), (after, new) = WRITERS[writer], run_uninterrupted(writer)
    prepare(folder, writer)
    before, old = {path.name for path in folder.iterdir()}, content(folder, writer)
    running = start_writer(folder, writer, system)
    longest = LONGEST_PROOF if writer == "model" else LONGEST
    sent = send_signals(running, Random(f"{writer} {system} {seed}"), longest)
    code, message = wait_for_all(running)
    found, names = content(folder, writer), {path.name for path in folder.iterdir()}
    trial = (writer, system, seed, sent, code, message, names)
    assert found == new or (found == old and code != done), trial
    assert code in (done, 130, *(-number for number in sent)), trial
    assert "Traceback" not in message, trial
    if signal.SIGKILL in sent:
        assert all(name.endswith(".part") for name in names - after), trial
    else:
        assert names == (before if found == old else after), trial
    if names != after:
        if not exists:
            (folder / target).unlink(missing_ok=True)
        assert write_once(folder, writer, system) == after, trial


@pytest.mark.slow
@pytest.mark.parametrize(("writer", "system"), [*zip(WRITERS, cycle(["all", "little"]))])
def test_interrupted_writer_leaves_old_or_new_file(tmp_path, writer, system):
    check_trial(tmp_path, writer, system, 0)


if __name__ == "__main__":
    for trial in range(int(sys.argv[1])):
        for each in WRITERS:
            for offered in ("all", "little"):
                with tempfile.TemporaryDirectory() as scratch:
                    check_trial(Path(scratch), each, offered, trial)
