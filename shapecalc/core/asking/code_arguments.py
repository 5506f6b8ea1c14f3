"""The arguments of a call in code, given by place or by name."""

from __future__ import annotations

from shapecalc.core.asking.code_values import is_dim
from shapecalc.core.sizes.quoting import brief, visible
from shapecalc.core.sizes.record import Record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from shapecalc.core.asking.code_tensors import Failing, Value
    from shapecalc.core.sizes.dims import Dim, Shape


class Arguments(Record):
    """The arguments of a call beside the tensor."""

    name: str
    """What is called."""
    values: tuple[Value, ...]
    keywords: Mapping[str, Value]
    failing: Failing

    def named(self, *names: str) -> list[Value]:
        """Return the arguments of these names, given by place or by name; None for one that is left out.

        A name may have others behind slashes: `dim/axis`. Raises `ShapeError` (usage) for arguments of other names.
        """
        known = {spelled: place for place, name in enumerate(names) for spelled in name.split("/")}
        if len(self.values) > len(names):
            raise self.failing(f"{self.name} takes at most {len(names)} arguments")
        found: list[Value] = [*self.values, *[None] * (len(names) - len(self.values))]
        for name, value in self.keywords.items():
            if name not in known:
                raise self.failing(f"the argument {visible(brief(name))} of {self.name} is not supported")
            found[known[name]] = value
        return found

    def listed(self, *names: str) -> tuple[Value, ...]:
        """Return the one argument that is a list, given by place, by one of these names, or as several arguments."""
        named = [value for name, value in self.keywords.items() if name in names]
        if len(named) < len(self.keywords):
            raise self.failing(f"only {' or '.join(names)} of {self.name} can be given by name")
        match (*self.values, *named):
            case (tuple() as only,):
                return only
            case values:
                return values

    def dims(self, *names: str) -> Shape:
        """Return the requested shape that is given; raise `ShapeError` (usage) if it holds other than sizes."""
        dims = self.listed(*names)
        for dim in dims:
            self.dim(dim)
        return dims  # type: ignore[return-value]

    def axes(self, *names: str) -> tuple[int, ...]:
        """Return the list of axes that is given; raise `ShapeError` (usage) if it holds other than numbers."""
        return tuple([self.whole(axis) for axis in self.listed(*names)])

    def whole(self, value: Value, default: int | None = None) -> int:
        """Return a whole number; raise `ShapeError` (usage) for anything else."""
        if value is None and default is not None:
            return default
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.failing(f"{self.name} needs whole numbers here")
        return value

    def dim(self, value: Value) -> Dim:
        """Return a size; raise `ShapeError` (usage) for anything else."""
        if not is_dim(value):
            raise self.failing(f"{self.name} needs sizes here")
        return value
