"""einops code: a whole answer as one pattern, where its stages cut the tensor into pieces that fit.

The input's axes are cut into atoms as far as the reshapes ask for it; what is left of a reshape is then
which atoms stand together, and of a transpose their order.
"""

from __future__ import annotations

from collections import deque

from shapecalc.core.conditions import Never, divides
from shapecalc.core.dims import Dim, Shape, product, quotient, substitute
from shapecalc.core.problem import ShapeError, misuse
from shapecalc.core.record import Record
from shapecalc.core.text import shape_text
from shapecalc.core.trace import Expand, Permute, Reshape
from shapecalc.core.wording import brief
from shapecalc.view.code import Code
from shapecalc.view.code.actions import Action, actions, general_warnings, title
from shapecalc.view.code.sizes import left_open, size_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.core.conditions import Conditions
    from shapecalc.core.trace import Chain, Trace


class Atom(Record):
    """A piece of an axis that is moved whole."""

    number: int
    size: Dim


def einops(answer: Trace | Chain) -> Code:
    """Return one `rearrange`, or `repeat` where elements are repeated.

    Raises `ShapeError` (usage) where a reshape mixes axes, and for op `shape`.

    >>> import shapecalc as sc
    >>> print(einops(sc.chain((2, 12, 4), "reshape 2,3,4,4", "transpose 0,2,1,3")).text.splitlines()[-1])
    y = rearrange(x, "a (b1 b2) c -> a b2 b1 c", b1=3)
    """
    sizes = {
        condition.left.powers[0][0]: condition.right
        for condition in answer.conditions
        if condition.relation == "==" and not isinstance(condition.left, int) and isinstance(condition.right, int)
        if [power for _, power in condition.left.powers] == [1]
    }
    pattern = Pattern(_put_in(answer.input, sizes), answer.conditions)
    for action in actions(answer):
        pattern.move(action, _put_in(action.output, sizes))
    names = pattern.names()
    given = pattern.given()
    call = "repeat" if pattern.repeated else "rearrange"
    sides = [" ".join(_axis(axis, names) for axis in axes) for axes in (pattern.sources, pattern.axes)]
    lengths = "".join(f", {names[atom]}={size_text(atom.size, answer.input)}" for atom in given)
    line = f'y = {call}(x, "{sides[0]} -> {sides[1]}"{lengths})'
    open_names = left_open([atom.size for atom in given], answer.input)
    warnings = [f"{name} is a size that the code must be given" for name in open_names]
    text = "\n".join([f"from einops import {call}", title(answer), line])
    return Code(text, (*general_warnings(answer, "einops"), *warnings))


def _put_in(shape: Shape, sizes: Mapping[str, int]) -> Shape:
    return tuple(substitute(dim, sizes) for dim in shape)


def _axis(atoms: list[Atom], names: Mapping[Atom, str]) -> str:
    """Return an axis as a pattern writes it: 1 for none, brackets around several."""
    if len(atoms) < 2:
        return names[atoms[0]] if atoms else "1"
    return f"({' '.join(names[atom] for atom in atoms)})"


class Pattern:
    """Both sides of a pattern, while the moves are made: each axis as the atoms it is made of, none for a 1."""

    def __init__(self, shape: Shape, conditions: Conditions) -> None:
        """Start with every axis whole and in its place."""
        self.conditions = conditions
        self.count = 0
        self.sources = [self._atoms(dim) for dim in shape]
        self.axes = [list(axis) for axis in self.sources]
        self.repeated: list[Atom] = []

    def _atoms(self, size: Dim) -> list[Atom]:
        self.count += 1
        return [] if size == 1 else [Atom(self.count, size)]

    def move(self, action: Action, output: Shape) -> None:
        """Make one move; raise `ShapeError` (usage) where no pattern can."""
        match action.last.move:
            case Permute(axes):
                self.axes = [self.axes[axis] for axis in axes]
            case Expand():
                self._expand(output)
            case Reshape():
                pending = deque(atom for axis in self.axes for atom in axis)
                self.axes = []
                for dim in output:
                    self.axes.append(self._taken(pending, dim, action))
                if pending:
                    raise _mixing(action)
            case _:
                raise misuse("einops moves elements, and shape returns dims")

    def _expand(self, output: Shape) -> None:
        """Let axes of 1 grow; the new atoms are on the right side alone."""
        self.axes = [[] for _ in range(len(output) - len(self.axes))] + self.axes
        for out, size in enumerate(output):
            if not self.axes[out]:
                self.axes[out] = self._atoms(size)
                self.repeated += self.axes[out]

    def _taken(self, pending: deque[Atom], dim: Dim, action: Action) -> list[Atom]:
        """Take the atoms of an output dim, the last of them cut where it reaches into the next dim."""
        taken, need = list[Atom](), dim
        while need != 1:
            if not pending:
                raise _mixing(action)
            atom = pending.popleft()
            if need == atom.size:
                need = 1
            elif self._whole(need, atom.size):
                need = quotient(need, atom.size)
            elif self._whole(atom.size, need):
                atom, rest = self._cut(atom, need)
                pending.appendleft(rest)
                need = 1
            else:
                raise _mixing(action)
            taken.append(atom)
        return taken

    def _whole(self, a: Dim, b: Dim) -> bool:
        """Say whether `b` divides `a` wherever the answer holds."""
        try:
            return b != 0 and all(condition in self.conditions for condition in divides(a, b))
        except Never:
            return False

    def _cut(self, atom: Atom, size: Dim) -> tuple[Atom, Atom]:
        """Cut an atom in two wherever it stands."""
        (first,), (rest,) = self._atoms(size), self._atoms(quotient(atom.size, size))
        for axes in (self.sources, [self.repeated]):
            for axis in axes:
                if atom in axis:
                    place = axis.index(atom)
                    axis[place : place + 1] = [first, rest]
        return first, rest

    def names(self) -> dict[Atom, str]:
        """Return a name for each atom: its input axis's letter, with a number where the axis is cut."""
        found = {}
        for place, axis in enumerate([*self.sources, *([atom] for atom in self.repeated)]):
            letter = chr(ord("a") + place) if place < ALPHABET else f"z{place}"
            for part, atom in enumerate(axis, 1):
                found[atom] = letter if len(axis) == 1 else f"{letter}{part}"
        return found

    def given(self) -> list[Atom]:
        """Return the atoms whose sizes a call must be told: all but one of each input axis, and the repeated."""
        found = []
        for axis in self.sources:
            hole = next((atom for atom in reversed(axis) if not isinstance(atom.size, int)), axis[-1] if axis else None)
            if product(atom.size for atom in axis) == 0:
                hole = None
            found += [atom for atom in axis if len(axis) > 1 and atom != hole]
        return [*found, *self.repeated]


ALPHABET = 26


def _mixing(action: Action) -> ShapeError:
    before, after = (brief(shape_text(shape)) for shape in (action.shape, action.output))
    return misuse(f"einops has no pattern from {before} to {after}: the reshape mixes axes")
