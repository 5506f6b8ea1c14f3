"""Fixtures that more than one folder of tests uses."""

from tests.cli.conftest import shapecalc

__all__ = ["shapecalc"]
