"""Readers that turn text, code and case lines into requests."""
