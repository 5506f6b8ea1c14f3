"""Chains on arrays larger than memory, executed region by region, locally or on a cluster."""
