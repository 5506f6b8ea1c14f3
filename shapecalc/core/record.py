"""Lightweight records, enumerations and lazy registries.

`Record` replaces frozen dataclasses, and `Choice` replaces enums. Type checkers treat their subclasses as dataclasses
and enums. Importing `dataclasses` or `enum` would take longer than resolving a single request. `LazyRegistry` imports
the module of an op or a dialect on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from enum import Enum
    from typing import Any, ClassVar, Generic, Self, TypeVar, dataclass_transform, overload

    R = TypeVar("R", bound="Record")
    T = TypeVar("T")
    Value = TypeVar("Value")

    class Choice(Enum):
        """The base class of enumerations for type checkers."""

else:

    def dataclass_transform(**_):
        """Return a decorator without effect, as `typing.dataclass_transform` does."""
        return lambda decorated: decorated


if TYPE_CHECKING:

    class lazy(Generic[T]):  # noqa: N801  # lower case, like `property`
        """A record attribute that is computed on first access and cached."""

        def __init__(self, compute: Callable[[Any], T] | None = None, *, default: T = ...) -> None:
            """Store the method that computes the attribute, or the default of a field."""

        @overload
        def __get__(self, record: None, owner: type) -> Self: ...
        @overload
        def __get__(self, record: Record, owner: type) -> T: ...
        def __get__(self, record: Record | None, owner: type) -> Self | T: ...
        def __set__(self, record: Record, value: T | Callable[[Any], T]) -> None: ...

else:

    class lazy:  # noqa: N801
        """A record attribute that is computed on first access and cached.

        `@lazy` turns a method into a cached property. A field with the annotation `lazy[T]` accepts a value, or a
        function that computes the value from the record. Comparisons of records ignore such fields.

        >>> class Squares(Record):
        ...     numbers: tuple
        ...     total: lazy[int] = lazy(default=0)
        ...     @lazy
        ...     def squares(self):
        ...         return [number**2 for number in self.numbers]
        >>> record = Squares((1, 2), lambda record: sum(record.squares))
        >>> record.total, record.squares is record.squares, record == Squares((1, 2))
        (5, True, True)
        """

        def __init__(self, compute=None, *, default=None):
            """Store the method that computes the attribute, or the default of a field."""
            self.compute, self.default, self.__doc__ = compute, default, getattr(compute, "__doc__", None)

        def __class_getitem__(cls, _):
            return cls

        def __set_name__(self, owner, name):
            self.slot = getattr(owner, f"_{name}")

        def __get__(self, record, _):
            if record is None:
                return self
            try:
                value = self.slot.__get__(record)
            except AttributeError:
                value = self.compute
            if callable(value):
                value = value(record)
                self.slot.__set__(record, value)
            return value


_init_templates: dict[tuple[int, bool], Any] = {}


def _make_init(class_name: str, names: list[str], defaults: dict[str, object], *, has_hook: bool) -> Any:
    """Return an `__init__` function that sets the fields of a record.

    If `has_hook` is True, the function also calls `__post_init__`. The code is compiled once for each number of fields,
    and its names are replaced for each class. Compiling the code for each class would take a twelfth of the time of a
    command.
    """
    slots = {f"_{index}": f"_{name}" for index, name in enumerate(names)}
    key = len(names), has_hook
    if key not in _init_templates:
        parameters = [f"a{index}" for index in range(len(names))]
        lines = [f"self.{slot} = {value}" for slot, value in zip(slots, parameters, strict=True)]
        namespace: dict[str, Any] = {}
        body = "; ".join([*lines, "self.__post_init__()" if has_hook else "pass"])
        exec(f"def __init__(self, {', '.join(parameters)}): {body}", namespace)
        _init_templates[key] = namespace["__init__"]
    template = _init_templates[key]
    code = template.__code__.replace(
        co_varnames=("self", *names),
        co_names=tuple([slots.get(name, name) for name in template.__code__.co_names]),
        co_qualname=f"{class_name}.__init__",
    )
    return type(template)(code, {}, "__init__", tuple(defaults.values()))


class _RecordMeta(type):
    """The metaclass of records.

    Each field becomes a slot and a read-only property. In a `TableRow`, a field is only a slot.
    """

    def __new__(meta, name: str, bases: tuple[Any, ...], body: dict[str, Any]) -> Any:
        kinds = {field: str(kind) for field, kind in body.get("__annotations__", {}).items()}
        own = [field for field, kind in kinds.items() if not kind.startswith("ClassVar")]
        defaults = {field: body.pop(field) for field in own if field in body}
        defaults = {
            field: getattr(value, "default", value) if type(value) is lazy else value
            for field, value in defaults.items()
        }
        computed = [name for name, value in body.items() if type(value) is lazy]
        is_row = "__setattr__" in body or any(base._is_row for base in bases)
        slot_names = {field: field if is_row else f"_{field}" for field in own}
        body["__slots__"] = (*body.get("__slots__", ()), *slot_names.values(), *[f"_{name}" for name in computed])
        body |= {
            field: lazy() if kinds[field].startswith("lazy") else property(attrgetter(f"_{field}"))
            for field in (() if is_row else own)
        }
        compared = [field for field in own if type(body.get(field)) is not lazy]
        for base in bases:
            own, defaults = [*base.__match_args__, *own], base._defaults | defaults
            compared, slot_names = [*base._compared, *compared], base._slot_names | slot_names
        if [*defaults] != own[len(own) - len(defaults) :]:
            raise TypeError(f"{name} has a field without a default after one with a default")
        body["__match_args__"], body["_defaults"] = tuple(own), defaults
        body["_slot_names"], body["_is_row"] = slot_names, is_row
        # reading a slot takes a sixth of the time of its property
        slots = [slot_names[field] for field in compared]
        body["_compared"], body["_field_values"] = tuple(compared), attrgetter(*slots) if slots else type

        def make_and_call_init(self: Record, *values: object, **named_values: object) -> None:
            """Create the `__init__` of the class, and call it."""
            has_hook = hasattr(record_class, "__post_init__")
            record_class.__init__ = _make_init(name, own, defaults, has_hook=has_hook)
            record_class.__init__(self, *values, **named_values)

        if not is_row:
            # created with the first instance, because a command instantiates only half of the imported classes
            body.setdefault("__init__", make_and_call_init)
        record_class: Any = super().__new__(meta, name, bases, body)
        record_class._setters = [getattr(record_class, field).__set__ for field in own if is_row]
        return record_class


@dataclass_transform(frozen_default=True)
class Record(metaclass=_RecordMeta):
    """An immutable value with named fields, like a frozen dataclass.

    The annotations of a subclass define its fields, and an assigned value is the default of a field. Records are equal
    if their classes and all their fields are equal. The value of field `x` is stored in the slot `_x`. A subclass may
    define an `__init__` that sets the slots, or a `__post_init__`.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, y=0), hash(Point(1)) == hash(Point(1))
    (Point(x=1, y=0), True, True)
    """

    if TYPE_CHECKING:
        __match_args__: ClassVar[tuple[str, ...]]
        _compared: ClassVar[tuple[str, ...]]
        _defaults: ClassVar[dict[str, object]]
        _slot_names: ClassVar[dict[str, str]]
        _field_values: ClassVar[attrgetter[object]]
        _is_row: ClassVar[bool]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self._field_values(self) == other._field_values(other)

    def __hash__(self) -> int:
        return hash((type(self), self._field_values(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self._compared)})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), tuple(fields(self).values())


class TableRow(Record):
    """A record that is fast to read and slow to create, without lazy fields.

    Reading a slot takes 10 ns, and reading a property of another record takes 60 ns. The rows of a table are created
    once and read by every request.

    >>> class Limit(TableRow):
    ...     name: str
    ...     rank: int = 8
    >>> Limit("a").rank, Limit("b", rank=3)
    (8, Limit(name='b', rank=3))
    """

    if not TYPE_CHECKING:

        def __init__(self, *values, **named_values):
            """Set the fields.

            Raises `TypeError` if a value is missing, unknown or passed twice.
            """
            names = self.__match_args__
            if named_values or len(values) != len(names):
                positional = dict(zip(names, values, strict=False))
                complete = {**self._defaults, **positional, **named_values}
                if len(values) > len(names) or positional.keys() & named_values.keys() or complete.keys() != {*names}:
                    raise TypeError(f"{type(self).__name__} takes the values {', '.join(names)}")
                values = [complete[name] for name in names]
            for set_field, value in zip(self._setters, values, strict=True):
                set_field(self, value)

    def __setattr__(self, name: str, _: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted")


def fields(record: Record) -> dict[str, Any]:
    """Return the fields of a record as a dict."""
    return {name: getattr(record, name) for name in record.__match_args__}


def replace(record: R, **changes: Any) -> R:
    """Return a copy of a record with some fields replaced.

    Raises `TypeError` if a name is not a field.
    """
    values = {name: getattr(record, slot) for name, slot in record._slot_names.items()}
    if not changes.keys() <= values.keys():
        raise TypeError(f"{type(record).__name__} has the fields {', '.join(values)}")
    return type(record)(*{**values, **changes}.values())


if not TYPE_CHECKING:

    class _ChoiceMeta(type):
        """The metaclass of choices.

        Each attribute in the body of a class becomes a member.
        """

        def __new__(meta, name, bases, body):
            plain = {key: value for key, value in body.items() if key.startswith("_") or hasattr(value, "__get__")}
            choice = super().__new__(meta, name, bases, plain)
            choice._members = []
            for key in body.keys() - plain.keys():
                member = object.__new__(choice)
                member.name, member.value = key, body[key]
                setattr(choice, key, member)
            choice._members = [getattr(choice, key) for key in body if key not in plain]
            return choice

        def __iter__(cls):
            return iter(cls._members)

    class Choice(metaclass=_ChoiceMeta):
        """The base class of enumerations.

        Each member has a `name` and a `value`.
        """

        def __reduce__(self):
            return getattr, (type(self), self.name)

        def __repr__(self):
            return f"{type(self).__name__}.{self.name}"


if TYPE_CHECKING:
    _Dict = dict[str, Any]
else:
    _Dict = dict


class FrozenDict(_Dict):
    """An immutable and hashable dict.

    >>> hash(FrozenDict(a=1)) == hash(FrozenDict(a=1)), FrozenDict(a=1) == {"a": 1}
    (True, True)
    """

    __slots__ = ("_hash",)
    _hash: int

    def __hash__(self) -> int:  # type: ignore[override]  # `dict` sets it to None
        try:
            return self._hash
        except AttributeError:  # computed once, because the arguments of a node are hashed several times
            self._hash = hash(frozenset(self.items()))
            return self._hash

    def _raise_immutable(self, *_: object, **__: object) -> Any:
        raise TypeError("it cannot be changed")

    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _raise_immutable

    def copy(self) -> Self:
        """Return the dict itself."""
        return self

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        return FrozenDict, (dict(self),)


def import_attribute(module: str, name: str) -> Any:
    """Import a module and return one of its attributes.

    >>> import_attribute("math", "pi")
    3.141592653589793
    """
    return getattr(__import__(module, fromlist=[name]), name)  # importing `importlib` would take 0.3 ms


class LazyRegistry(Mapping[str, "Value"]):
    """A mapping from module names to one constant of each module.

    The name of the constant is the name of the module in upper case, such as `RESHAPE` in module `reshape`. A module is
    imported on first access to its constant. A request needs only one op and one dialect, and importing all of them
    takes longer than resolving the request.

    >>> table = LazyRegistry("shapecalc.core.ops", "reshape", "squeeze")
    >>> list(table), list(table.loaded), table["squeeze"].name, list(table.loaded)
    (['reshape', 'squeeze'], [], 'squeeze', ['squeeze'])
    """

    def __init__(self, package: str, *names: str) -> None:
        """Create a registry of modules without importing them."""
        self.package = package
        self.names = dict.fromkeys(names)
        self.loaded: dict[str, Value] = {}
        """The constants of the imported modules, keyed by module name."""

    def __getitem__(self, name: str) -> Value:
        if name not in self.loaded:
            if name not in self.names:
                raise KeyError(name)
            self.loaded[name] = import_attribute(f"{self.package}.{name}", name.upper())
        return self.loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names
