"""Execution of chains on arrays larger than memory, locally or on a cluster."""
