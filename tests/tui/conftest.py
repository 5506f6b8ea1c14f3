"""Every test of the app has a data folder of its own, and paints nothing that nobody looks at."""

import pytest
from textual._compositor import Compositor, visible_screen_stack

PAINT = Compositor.render_update


@pytest.fixture(autouse=True)
def data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture(autouse=True)
def nothing_is_painted(monkeypatch):
    """Leave out the pictures for the terminal that there is not: they take a third of the time.

    Who reads the screen, or exports it, has it drawn.
    """

    def paint(self, full=False, screen_stack=None, simplify=False):
        if full:
            return PAINT(self, full, screen_stack, simplify)
        visible_screen_stack.set(screen_stack or [])
        self._dirty_regions.clear()
        return None

    monkeypatch.setattr(Compositor, "render_update", paint)
