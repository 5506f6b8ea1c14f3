"""Renderers of answers: terminal text, pictures, films and framework code.

An answer is the result of one op (`Trace`) or of several ops (`Chain`). It consists of stages, each of which changes
the shape once. A stage consists of steps; most steps determine one dim. A refusal is the answer to an invalid request;
it has no output. A placeholder is drawn instead of a dim that the user must predict. The mark of a dim is a short
label, such as `ac`, that names its input axes. A wire is a line from an input dim to an output dim that depends on the
input dim.
"""
