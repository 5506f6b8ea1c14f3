"""Lessons and exercises on shapes.

This module contains only the constants that help and completion use, so that they import no other module of the
package.
"""

ALL = "all"
"""The topic that includes all other topics except `build`."""
BUILD = "build"
"""The topic of puzzles, in which the user builds a chain instead of predicting a shape."""
TOPICS = ("zero", "infer", "perm", "shuffle", "broadcast", "operands", BUILD, ALL)
"""The topics of exercises."""
FORMATS = ("text", "html")
"""The formats of worksheets."""
