"""The options that every op has in every front end."""

from __future__ import annotations

from shapecalc.core.dialects.switches import SWITCHES

COMMON = ("dialect", "opset", "dtype", "where", *SWITCHES)
"""Their names."""
