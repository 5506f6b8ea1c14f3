"""Undo log for the mutable state of interpreted code.

All mutable state (frames, objects and lists) is in dicts that are written with `Journal.write`, so that both branches
of a condition can be interpreted from the same state.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias


MISSING: Any = object()
"""The value of a slot that does not exist."""
Slot = tuple[int, object]
"""The identity of a dict, and a key."""
Changes: TypeAlias = "dict[Slot, tuple[dict[Any, Any], Any, Any]]"
"""The dict, the key and a value of each changed slot."""


class Journal:
    """An undo log for dicts with mutable state.

    >>> journal, state = Journal(), {"x": 1}
    >>> journal.start()
    >>> journal.write(state, "x", 2)
    >>> [value for _, _, value in journal.roll_back().values()], state
    ([2], {'x': 1})
    """

    def __init__(self) -> None:
        """Create an inactive log."""
        self.logs: list[Changes] = []

    def write(self, container: dict[Any, Any], key: Any, value: Any) -> None:
        """Set a key of a dict, and log its previous value.

        The value `MISSING` deletes the key.
        """
        if self.logs:
            self.logs[-1].setdefault((id(container), key), (container, key, container.get(key, MISSING)))
        if value is MISSING:
            container.pop(key, None)
        else:
            container[key] = value

    def start(self) -> None:
        """Start logging changes."""
        self.logs.append({})

    def merge(self) -> None:
        """Keep all changes since the last `start`, and log them as changes since the `start` before it."""
        log = self.logs.pop()
        if self.logs:
            for slot, change in log.items():
                self.logs[-1].setdefault(slot, change)

    def roll_back(self) -> Changes:
        """Undo all changes since the last `start`, and return the changes."""
        log = self.logs.pop()
        changes = {slot: (container, key, container.get(key, MISSING)) for slot, (container, key, _) in log.items()}
        for container, key, before in log.values():
            if before is MISSING:
                container.pop(key, None)
            else:
                container[key] = before
        return changes
