"""Lessons and exercises: questions to predict, what is said to a prediction, and how far a person has come.

Here stands what help and completion name, without what makes it.
"""

ALL = "all"
"""The topic that has every other in it but `build`."""
BUILD = "build"
"""The topic of puzzles: a chain is to be built, not a shape to be predicted."""
TOPICS = ("zero", "infer", "perm", "shuffle", "broadcast", "operands", BUILD, ALL)
"""What exercises are about."""
FORMATS = ("text", "html")
"""How worksheets are written."""
