"""The command-line interface: parse, run and print the commands of `shapecalc`.

A request consists of an op (an operation on shapes, such as reshape), an input shape and options. A chain applies
several ops in sequence; each op of a chain is a stage. A dialect is the set of rules of one framework for 0, -1 and
axes. The answer to a request or chain consists of the output shape and the steps that lead to it. The answer to an
invalid request or chain is a refusal, which has no output.

Docstrings name the rule of a `ShapeError` in parentheses, as in `ShapeError` (usage).
"""
