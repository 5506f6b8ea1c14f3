"""Lessons and exercises on shapes.

This module contains only constants, so that the help and the shell completion need not import the rest of the package.
"""

ALL = "all"
"""The topic that includes all other topics except `build`."""
BUILD = "build"
"""The topic of puzzles, in which the user writes a chain of ops instead of predicting a shape."""
TOPICS = ("zero", "infer", "perm", "shuffle", "broadcast", "operands", BUILD, ALL)
"""The topics of exercises."""
FORMATS = ("text", "html")
"""The file formats of worksheets."""
