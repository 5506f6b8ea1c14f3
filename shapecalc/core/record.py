"""`Record`: a typed, frozen tuple with named fields, the base of every value in the core.

It is `typing.NamedTuple` with one difference: records of different classes are never equal, so
`Permute((1, 0)) != Reshape((1, 0))`. It is not `typing.NamedTuple` itself because importing `typing`
(or `dataclasses`) costs a bare question more time than answering it; type checkers see the original.
A record whose properties are `cached_property`s remembers them, which its fields never change.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cached_property

__all__ = ["Record"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NamedTuple as Record
else:

    class _Fields(type):
        """Turns the annotations of a class body into the fields of a named tuple."""

        def __new__(meta, name, bases, body):
            if not bases:
                return super().__new__(meta, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = [body.pop(field) for field in fields if field in body]
            base = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            if not any(isinstance(value, cached_property) for value in body.values()):
                body["__slots__"] = ()
            return type(name, (base,), {"__eq__": _same, "__ne__": _differs, "__hash__": _hash, **body})

    class Record(metaclass=_Fields):
        """A frozen value with named fields, compared by class and content."""

    def _same(self, other):
        return type(self) is type(other) and tuple.__eq__(self, other)

    def _differs(self, other):
        return not _same(self, other)

    def _hash(self):
        return tuple.__hash__(self)
