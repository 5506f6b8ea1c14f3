"""Drawn programs of PyTorch: `code` answers and refuses as PyTorch does."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.fuzz.programs import STEPS, StepDraw, nested_program

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("SHAPECALC_TORCH_PYTHON") or (find_spec("torch") and sys.executable)


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON, reason="torch is not installed, and SHAPECALC_TORCH_PYTHON names no Python that has it")
def test_programs_sample_agrees_with_torch():
    """The attack takes minutes: `python -m tests.fuzz.programs 10000`."""
    command = [PYTHON, "-m", "tests.fuzz.programs", "300", "--seed", "5"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_programs_seed_is_reproducible():
    first, second = ([StepDraw(5).fill(step, (2, 4, 6)) for step, _ in STEPS] for _ in range(2))
    assert first == second
    assert not any("{" in step for step in first)


def test_programs_nested_steps_are_one_expression():
    assert nested_program(["y.t()", "y * 2", "F.relu(y)"]) == "y = F.relu(((y.t()) * 2))\n"
