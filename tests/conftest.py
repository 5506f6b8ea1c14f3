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
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job of a shell
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored under nohup
    for name in ("SHAPECALC_DIALECT", "SHAPECALC_OPSET"):
        os.environ.pop(name, None)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # every subprocess would compile all modules, which takes 0.2 s
    os.environ["SHAPECALC_CONFIG"] = os.devnull  # no configuration of who runs the tests
    gc.set_threshold(200_000)  # a collection every 700 objects takes a third of the time of the app tests


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    mark_slow(items)
