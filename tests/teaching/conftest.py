from tests.tui.conftest import data_folder

__all__ = ["data_folder"]
