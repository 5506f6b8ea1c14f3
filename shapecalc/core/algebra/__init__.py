"""Whole chains: whether two are the same function, and which lead from one shape to another."""
