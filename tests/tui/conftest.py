"""Every test of the app has a data folder of its own."""

import pytest


@pytest.fixture(autouse=True)
def data_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"
