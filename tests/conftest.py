"""Fixtures that more than one folder of tests uses, and what is slow."""

import gc
import os
import signal

import pytest

from tests.cli.conftest import shapecalc
from tests.sampling import load_profile, mark_slow

__all__ = ["shapecalc"]


def pytest_configure(config):
    load_profile(sample="not slow" in config.option.markexpr, seed=config.getoption("--hypothesis-seed"))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's job in the background ignores
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which nohup ignores
    for name in ("SHAPECALC_DIALECT", "SHAPECALC_OPSET"):
        os.environ.pop(name, None)
    gc.set_threshold(200_000)  # looking for garbage every 700 objects takes a third of the tests of the app


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_slow(items)
