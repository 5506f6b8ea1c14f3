"""Chains of public models: each with two choices of sizes, where it comes from, and what cannot say it."""

from pathlib import Path

from tests.tables import rows

REAL_CHAINS = rows(Path(__file__).with_name("real_chains.txt"))
