"""Fixtures of the app tests: a temporary data folder, and no terminal output."""

import pytest
from textual._compositor import Compositor, visible_screen_stack

from tests.cli.conftest import shapecalc as shapecalc

PAINT = Compositor.render_update


@pytest.fixture(autouse=True)
def data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture(autouse=True)
def skip_partial_updates(monkeypatch):
    """Skip the partial screen updates, which take a third of the time; full ones are still rendered."""

    def paint(self, full=False, screen_stack=None, simplify=False):
        if full:
            return PAINT(self, full, screen_stack, simplify)
        visible_screen_stack.set(screen_stack or [])
        self._dirty_regions.clear()
        return None

    monkeypatch.setattr(Compositor, "render_update", paint)
