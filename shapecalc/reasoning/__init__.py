"""Reasoning about requests: comparison, proof, simplification, search and fixes."""
