"""Record changes of the mutable state of interpreted code, so that they can be undone.

All mutable state (frames, objects and lists) is in dicts that are written with `UndoLog.write`, so that both branches
of a condition can be interpreted from the same state.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias


MISSING: Any = object()
"""The value of a key that a dict does not contain."""
Slot = tuple[int, object]
"""An item of a dict: the identity of the dict, and the key."""
Changes: TypeAlias = "dict[Slot, tuple[dict[Any, Any], Any, Any]]"
"""The dict, the key and the old or new value of each changed item."""


class UndoLog:
    """An undo log of changes to dicts.

    Each `start` is ended by `merge` or `roll_back`; they may be nested.

    >>> undo_log, state = UndoLog(), {"x": 1}
    >>> undo_log.start()
    >>> undo_log.write(state, "x", 2)
    >>> [value for _, _, value in undo_log.roll_back().values()], state
    ([2], {'x': 1})
    """

    def __init__(self) -> None:
        """Create a log that records nothing until `start` is called."""
        self.logs: list[Changes] = []

    def write(self, container: dict[Any, Any], key: Any, value: Any) -> None:
        """Set a key of a dict, and record its previous value.

        The value `MISSING` deletes the key.
        """
        if self.logs:
            self.logs[-1].setdefault((id(container), key), (container, key, container.get(key, MISSING)))
        if value is MISSING:
            container.pop(key, None)
        else:
            container[key] = value

    def start(self) -> None:
        """Start recording changes."""
        self.logs.append({})

    def merge(self) -> None:
        """Keep the changes since the last `start`, and record them as changes since the `start` before it."""
        log = self.logs.pop()
        if self.logs:
            for slot, change in log.items():
                self.logs[-1].setdefault(slot, change)

    def roll_back(self) -> Changes:
        """Undo the changes since the last `start`, and return them with their new values."""
        log = self.logs.pop()
        changes = {slot: (container, key, container.get(key, MISSING)) for slot, (container, key, _) in log.items()}
        for container, key, before in log.values():
            if before is MISSING:
                container.pop(key, None)
            else:
                container[key] = before
        return changes
