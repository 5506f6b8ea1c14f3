"""Chains on arrays larger than memory, executed locally or on a cluster."""
