"""Text styles that are legible on white and on black.

Their contrast is at least 4.5:1 on both.
"""

from __future__ import annotations

ERROR_COLOUR = "#DD3333"
"""The colour of refusals and errors; ANSI red is too dark on black in many terminals."""
SUCCESS_COLOUR = "#008830"
BOLD_ERROR = f"bold {ERROR_COLOUR}"
BAR_COLOUR = "#007BC0"
"""The colour of bars that represent element counts."""
