"""`Record` and `Choice`: the bases of the values and the enumerations of the house.

They do what frozen dataclasses and `enum.Enum` do, and type checkers treat them so. They are plain classes because
an import of `dataclasses`, `enum` or `collections` takes longer than a bare question.
"""

from __future__ import annotations

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


@dataclass_transform(frozen_default=True)
class Record:
    """A frozen value with named fields. Two records are equal if their classes and their fields are equal.

    The annotations of a subclass are its fields, in order. A field whose class attribute is set has a default.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, y=0), hash(Point(1)) == hash(Point(1))
    (Point(x=1, y=0), True, True)
    """

    __match_args__: ClassVar[tuple[str, ...]] = ()
    _defaults: ClassVar[dict[str, object]] = {}

    def __init_subclass__(cls) -> None:
        own = [name for name, kind in cls.__annotations__.items() if not str(kind).startswith("ClassVar")]
        cls.__match_args__ += tuple(name for name in own if name not in cls.__match_args__)  # type: ignore[misc]
        cls._defaults = cls._defaults | {name: cls.__dict__[name] for name in own if name in cls.__dict__}
        if not cls._defaults and 0 < len(cls.__match_args__) < 4 and cls.__init__.__module__ == __name__:
            cls.__init__ = _init_of(*cls.__match_args__)  # type: ignore[method-assign]

    def __init__(self, *values: Any, **named: Any) -> None:
        """Set the fields; raise `TypeError` if there are too many or too few, or if a name is not a field."""
        made, fields = self.__dict__, self.__match_args__
        if len(values) == len(fields) and not named:
            made.update(zip(fields, values))  # noqa: B905 - `strict` costs a third of the time
            return
        made.update({**self._defaults, **dict(zip(fields, values, strict=False)), **named})
        if len(made) != len(fields) or len(values) > len(fields) or not named.keys() <= {*fields}:
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(fields)}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} cannot be changed")

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        ours, theirs = self.__dict__, other.__dict__
        return all(ours[name] == theirs[name] for name in self.__match_args__)

    def __hash__(self) -> int:
        return hash((type(self), *fields(self).values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in fields(self).items())})"


_MISSING: Any = object()


def _init_of(first: str, second: str = "", third: str = "") -> Any:
    """Return what sets one, two or three fields: most records have so few, and it takes half the time."""
    general = Record.__init__

    def set_one(self: Record, a: Any = _MISSING, /, *more: Any, **named: Any) -> None:
        if a is _MISSING or more or named:
            return general(self, *(value for value in (a, *more) if value is not _MISSING), **named)
        self.__dict__[first] = a
        return None

    def set_two(self: Record, a: Any = _MISSING, b: Any = _MISSING, /, *more: Any, **named: Any) -> None:
        if b is _MISSING or more or named:
            return general(self, *(value for value in (a, b, *more) if value is not _MISSING), **named)
        made = self.__dict__
        made[first], made[second] = a, b
        return None

    def set_three(
        self: Record, a: Any = _MISSING, b: Any = _MISSING, c: Any = _MISSING, /, *more: Any, **named: Any
    ) -> None:
        if c is _MISSING or more or named:
            return general(self, *(value for value in (a, b, c, *more) if value is not _MISSING), **named)
        made = self.__dict__
        made[first], made[second], made[third] = a, b, c
        return None

    return set_three if third else set_two if second else set_one


def fields(record: Record) -> dict[str, Any]:
    """Return the fields of a record by name, in order."""
    return {name: record.__dict__[name] for name in record.__match_args__}


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
