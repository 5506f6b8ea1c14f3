"""Diagnose shape errors from the messages of frameworks and runtimes."""
