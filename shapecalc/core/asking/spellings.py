"""Words of frameworks for ops: those that are shapecalc's under another name, and those that have no op here."""

from __future__ import annotations

from shapecalc.core.sizes.problem import misuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from shapecalc.core.sizes.problem import ShapeError

SPELLINGS = {"permute": ("transpose", "torch"), "movedim": ("moveaxis", "torch"), "swapdims": ("swapaxes", "torch")}
"""Other names of ops: the op, and the dialect that calls it so."""
ELSEWHERE = {
    "reshape_as": ("it needs the shape of another tensor", "write that shape: reshape INPUT TARGET"),
    "view_as": ("it needs the shape of another tensor", "write that shape: view INPUT TARGET"),
    "expand_as": ("it needs the shape of another tensor", "write that shape: expand INPUT TARGET"),
    "repeat": (
        "it can mean three things",
        "PyTorch repeats the whole: tile 2,3 2,1; NumPy repeats each element: rearrange 2,3 'a b -> (a r) b' r=2; "
        "einops follows a pattern: rearrange 2,3 'a b -> r a b' r=2",
    ),
}
"""Names that are no ops: why, and what to write in their place."""


def respelled(words: Sequence[str]) -> list[str]:
    """Return the words of a request with shapecalc's own name of the op, and the dialect that has the other name.

    >>> respelled(["permute", "2,3,4", "2,0,1"]), respelled(["permute", "2,3", "1,0", "-d", "numpy"])[-1]
    (['transpose', '2,3,4', '2,0,1', '--dialect', 'torch'], 'numpy')
    """
    if not words or words[0] not in SPELLINGS:
        return [*words]
    op, dialect = SPELLINGS[words[0]]
    named = any(word in ("-d", "--dialect") or word.startswith("--dialect=") for word in words)
    return [op, *words[1:], *([] if named else ["--dialect", dialect])]


def elsewhere_error(name: str) -> ShapeError | None:
    """Return the error to raise (usage) for a name that is no op here but one elsewhere; None for other names."""
    if name not in ELSEWHERE:
        return None
    why, instead = ELSEWHERE[name]
    return misuse(f"there is no {name} here: {why}", instead)
