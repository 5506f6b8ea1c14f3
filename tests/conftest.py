"""Shared fixtures, the Hypothesis profile, and the marks of slow tests."""

import gc
import os
import signal

import pytest

from tests.cli.conftest import shapecalc
from tests.sampling import load_profile, mark_slow

__all__ = ["shapecalc"]


def pytest_configure(config):
    load_profile(sample="not slow" in config.option.markexpr, seed=config.getoption("--hypothesis-seed"))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores SIGINT in background jobs
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup ignores SIGHUP
    for name in ("SHAPECALC_DIALECT", "SHAPECALC_OPSET"):
        os.environ.pop(name, None)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # without bytecode, each subprocess compiles all modules in 0.2 s
    os.environ["SHAPECALC_CONFIG"] = os.devnull  # ignore the user's configuration
    gc.set_threshold(200_000)  # at the default of 700, collections take a third of the time of the app tests


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_slow(items)
