"""Lessons and exercises: questions to predict, what is said to a prediction, and how far a person has come.

Here stands what help and completion name, without what makes it.
"""

ALL = "all"
"""The topic that has every other in it."""
TOPICS = ("zero", "infer", "perm", "shuffle", "broadcast", "operands", ALL)
"""What exercises are about."""
FORMATS = ("text", "markdown", "html")
"""How worksheets are written."""
