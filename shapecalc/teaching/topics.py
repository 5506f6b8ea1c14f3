"""The topics of exercises and the formats of worksheets: what help and completion name, without what makes them."""

from __future__ import annotations

ALL = "all"
"""The topic that has every other in it."""
TOPICS = ("zero", "infer", "perm", "shuffle", "broadcast", ALL)
FORMATS = ("text", "markdown", "html")
