"""`Record`, `Choice` and `Table`: the bases of the values, the enumerations and the rooms of the house.

They do what frozen dataclasses and `enum.Enum` do, and type checkers treat them so. They are plain classes because
an import of `dataclasses`, `enum` or `collections` takes longer than a bare question.
"""

from __future__ import annotations

from _collections_abc import Mapping  # `collections.abc` has it from there, and takes longer to import
from _operator import attrgetter  # `operator` has it from there, and takes longer to import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import Enum
    from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

    R = TypeVar("R", bound="Record")
    Value = TypeVar("Value")

    class Choice(Enum):
        """One of a few answers to a question, by name."""

else:

    def dataclass_transform(**_):
        """Do nothing, as `typing.dataclass_transform` does when a program runs."""
        return lambda decorated: decorated


def _init_of(record: str, names: list[str], defaults: dict[str, object], last: str) -> Any:
    """Return the `__init__` that sets these fields, with a last line. It is made of a text, as that of a dataclass."""
    lines = [*[f"self._{name} = {name}" for name in names], last]
    found: dict[str, Any] = {}
    exec(f"def __init__(self, {', '.join(names)}): {'; '.join(lines)}", found)
    init = found["__init__"]
    init.__qualname__, init.__defaults__ = f"{record}.__init__", tuple(defaults.values())
    return init


class _Fields(type):
    """Gives each record a slot for each of its fields, hidden behind a property that nobody can set."""

    def __new__(meta, name: str, bases: tuple[Any, ...], body: dict[str, Any]) -> Any:
        own = [field for field, kind in body.get("__annotations__", {}).items() if not str(kind).startswith("ClassVar")]
        defaults = {field: body.pop(field) for field in own if field in body}
        body["__slots__"] = (*body.get("__slots__", ()), *[f"_{field}" for field in own])
        body |= {field: property(attrgetter(f"_{field}")) for field in own}
        for base in bases:
            own, defaults = [*base.__match_args__, *own], base._defaults | defaults
        if [*defaults] != own[len(own) - len(defaults) :]:
            raise TypeError(f"{name} has a field without a default after one with a default")
        body["__match_args__"], body["_defaults"] = tuple(own), defaults
        body["_field_values"] = attrgetter(*own) if own else type
        if "__init__" not in body:
            found = "__post_init__" in body or any(hasattr(base, "__post_init__") for base in bases)
            body["__init__"] = _init_of(name, own, defaults, "self.__post_init__()" if found else "pass")
        return super().__new__(meta, name, bases, body)


@dataclass_transform(frozen_default=True)
class Record(metaclass=_Fields):
    """A frozen value with named fields. Two records are equal if their classes and their fields are equal.

    The annotations of a subclass are its fields, in order. A field whose class attribute is set has a default. The
    values lie in slots, each called as its field with `_` in front. A class may have an `__init__` of its own that sets
    them, or a `__post_init__` as a dataclass has.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, y=0), hash(Point(1)) == hash(Point(1))
    (Point(x=1, y=0), True, True)
    """

    if TYPE_CHECKING:
        __match_args__: ClassVar[tuple[str, ...]]
        _defaults: ClassVar[dict[str, object]]
        _field_values: ClassVar[attrgetter[object]]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self._field_values(self) == other._field_values(other)

    def __hash__(self) -> int:
        return hash((type(self), self._field_values(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields(self).items())})"


def fields(record: Record) -> dict[str, Any]:
    """Return the fields of a record by name, in order."""
    return {name: getattr(record, name) for name in record.__match_args__}


def replace(record: R, **changes: Any) -> R:
    """Return the record with other values in some of its fields.

    Raises `TypeError` for a name that is not a field.
    """
    return type(record)(**{**fields(record), **changes})


if not TYPE_CHECKING:

    class _Members(type):
        """Makes each attribute of a class body a member with a name and a value."""

        def __new__(meta, name, bases, body):
            plain = {key: value for key, value in body.items() if key.startswith("_") or hasattr(value, "__get__")}
            made = super().__new__(meta, name, bases, plain)
            made._members = []
            for key in body.keys() - plain.keys():
                member = object.__new__(made)
                member.name, member.value = key, body[key]
                setattr(made, key, member)
            made._members = [getattr(made, key) for key in body if key not in plain]
            return made

        def __iter__(cls):
            return iter(cls._members)

    class Choice(metaclass=_Members):
        """One of a few answers to a question, by name."""

        def __reduce__(self):
            return getattr, (type(self), self.name)

        def __repr__(self):
            return f"{type(self).__name__}.{self.name}"


if TYPE_CHECKING:
    _Dict = dict[str, Any]
else:
    _Dict = dict


class FrozenDict(_Dict):
    """A dict that cannot be changed. It has a hash, so values that hold it have one too.

    >>> hash(FrozenDict(a=1)) == hash(FrozenDict(a=1)), FrozenDict(a=1) == {"a": 1}
    (True, True)
    """

    __slots__ = ()

    def __hash__(self) -> int:  # type: ignore[override]  # dict says that it has none
        return hash(frozenset(self.items()))

    def _refuse(self, *_: object, **__: object) -> Any:
        raise TypeError("it cannot be changed")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def copy(self) -> Self:
        """Return the dict itself, which cannot change."""
        return self

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


class Table(Mapping[str, "Value"]):
    """The values of a room by name. Each stands in the file of its name, which is imported when it is first asked for.

    A question asks for one op and one dialect, and to import the others takes longer than to answer it.

    >>> table = Table("shapecalc.core.ops", "reshape", "squeeze")
    >>> list(table), list(table.found), table["squeeze"].name, list(table.found)
    (['reshape', 'squeeze'], [], 'squeeze', ['squeeze'])
    """

    def __init__(self, room: str, *names: str) -> None:
        """Keep the name of the room's package, and the names of its values in order."""
        self.room = room
        self.names = dict.fromkeys(names)
        self.found: dict[str, Value] = {}
        """The values that were asked for."""

    def __getitem__(self, name: str) -> Value:
        if name not in self.found:
            if name not in self.names:
                raise KeyError(name)
            # `importlib.import_module` would do, but to import it takes half a millisecond.
            file = __import__(f"{self.room}.{name}", fromlist=[name])
            self.found[name] = getattr(file, name.upper())
        return self.found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names
