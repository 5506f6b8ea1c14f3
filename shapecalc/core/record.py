"""`Record` and `Choice`: the bases of the values and the enumerations of the house.

They do what frozen dataclasses and `enum.Enum` do, and type checkers treat them so. They are plain classes because
an import of `dataclasses`, `enum` or `collections` takes longer than a bare question.
"""

from __future__ import annotations

from _operator import attrgetter  # `operator` has it from there, and takes longer to import

TYPE_CHECKING = False
if TYPE_CHECKING:
    from enum import Enum
    from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

    R = TypeVar("R", bound="Record")

    class Choice(Enum):
        """One of a few answers to a question, by name."""

else:

    def dataclass_transform(**_):
        """Do nothing, as `typing.dataclass_transform` does when a program runs."""
        return lambda decorated: decorated


def _set_none(self: Any) -> None:
    pass


def _set_one(self: Any, a: Any) -> None:
    self.a = a


def _set_two(self: Any, a: Any, b: Any) -> None:
    self.a = a
    self.b = b


def _set_three(self: Any, a: Any, b: Any, c: Any) -> None:
    self.a = a
    self.b = b
    self.c = c


def _set_four(self: Any, a: Any, b: Any, c: Any, d: Any) -> None:
    self.a = a
    self.b = b
    self.c = c
    self.d = d


def _set_five(self: Any, a: Any, b: Any, c: Any, d: Any, e: Any) -> None:
    self.a = a
    self.b = b
    self.c = c
    self.d = d
    self.e = e


def _set_six(self: Any, a: Any, b: Any, c: Any, d: Any, e: Any, f: Any) -> None:
    self.a = a
    self.b = b
    self.c = c
    self.d = d
    self.e = e
    self.f = f


TEMPLATES = (_set_none, _set_one, _set_two, _set_three, _set_four, _set_five, _set_six)
"""What sets no slot, one, two, and so on. Most records have so few."""


def _init_of(record: str, names: list[str], defaults: dict[str, object]) -> Any:
    """Return the `__init__` that sets these fields: a template with the fields' names in place of its own.

    It takes half the time of the general one, and no text is compiled, which would take longer than a question.
    """
    template: Any = TEMPLATES[len(names)]
    slots = tuple([f"_{name}" for name in names])
    code = template.__code__.replace(co_names=slots, co_varnames=("self", *names), co_qualname=f"{record}.__init__")
    return type(template)(code, globals(), "__init__", tuple(defaults.values()))


def _refuse_change(self: object, name: str, *_: object) -> None:
    raise AttributeError(f"{type(self).__name__} cannot be changed, nor its {name}")


def _call_with_fields(self: Record) -> tuple[type[Record], tuple[Any, ...]]:
    """Return how to make the record again, for `pickle` and `copy`, which would set its slots."""
    return type(self), tuple(fields(self).values())


class _Fields(type):
    """Gives each record a slot for each of its fields, and lets nobody set them.

    The slots are hidden behind read-only properties, since values are made often. A record that is made once and read
    often, such as a dialect, has open slots, and refuses changes itself: that takes half the time to read.
    """

    def __new__(meta, name: str, bases: tuple[Any, ...], body: dict[str, Any], *, read_often: bool = False) -> Any:
        own = [field for field, kind in body.get("__annotations__", {}).items() if not str(kind).startswith("ClassVar")]
        defaults = {field: body.pop(field) for field in own if field in body}
        body["_hidden"] = hidden = "" if read_often else "_"
        body["__slots__"] = (*body.get("__slots__", ()), *[hidden + field for field in own])
        if read_often:
            body |= {"__setattr__": _refuse_change, "__delattr__": _refuse_change, "__reduce__": _call_with_fields}
        else:
            body |= {field: property(attrgetter(f"_{field}")) for field in own}
        for base in bases:
            own, defaults = [*base.__match_args__, *own], base._defaults | defaults
        body["__match_args__"], body["_defaults"] = tuple(own), defaults
        body["_slots"] = tuple([hidden + field for field in own])
        if [*defaults] != own[len(own) - len(defaults) :]:
            raise TypeError(f"{name} has a field without a default after one with a default")
        if "__init__" not in body and not read_often and len(own) < len(TEMPLATES):
            body["__init__"] = _init_of(name, own, defaults)
        return super().__new__(meta, name, bases, body)

    def __init__(cls, name: str, bases: tuple[Any, ...], body: dict[str, Any], *, read_often: bool = False) -> None:
        super().__init__(name, bases, body)


@dataclass_transform(frozen_default=True)
class Record(metaclass=_Fields):
    """A frozen value with named fields. Two records are equal if their classes and their fields are equal.

    The annotations of a subclass are its fields, in order. A field whose class attribute is set has a default. The
    values lie in slots, each called as its field with `_` in front, unless the class is `read_often`. A class that is
    made often may have an `__init__` of its own that sets them.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, y=0), hash(Point(1)) == hash(Point(1))
    (Point(x=1, y=0), True, True)
    """

    if TYPE_CHECKING:
        __match_args__: ClassVar[tuple[str, ...]]
        _slots: ClassVar[tuple[str, ...]]
        _defaults: ClassVar[dict[str, object]]
        _hidden: ClassVar[str]

        def __init_subclass__(cls, *, read_often: bool = False) -> None: ...

    def __init__(self, *values: Any, **named: Any) -> None:
        """Set the fields; raise `TypeError` if there are too many or too few, or if a name is not a field."""
        names, set_slot = self.__match_args__, object.__setattr__
        if (len(values) == len(names) and not named) or (not values and (*named,) == names):
            for slot, value in zip(self._slots, values or named.values(), strict=True):
                set_slot(self, slot, value)
            return
        made = {**self._defaults, **dict(zip(names, values, strict=False)), **named}
        if len(made) != len(names) or len(values) > len(names) or not named.keys() <= {*names}:
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}")
        for name, value in made.items():
            set_slot(self, self._hidden + name, value)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return fields(self) == fields(other)

    def __hash__(self) -> int:
        return hash((type(self), *fields(self).values()))

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
