"""Chains of public models, each with two sets of sizes, its source, and the targets that cannot express it."""

from pathlib import Path

from tests.tables import rows

REAL_CHAINS = rows(Path(__file__).with_name("real_chains.txt"))
