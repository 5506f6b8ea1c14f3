"""Rename free dims of a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from shapecalc.core.problem import usage_error
from shapecalc.core.record import FrozenDict, Record
from shapecalc.core.text import escape_unprintable, truncate
from shapecalc.engine.atomic_files import atomic_file
from shapecalc.models.file import Model
from shapecalc.models.free_dims import NO_BATCH, BatchOptions
from shapecalc.models.judge import judge_model
from shapecalc.models.static import iter_value_infos
from shapecalc.models.write import check_output_path, serialize_model

EXPRESSION = re.compile(r"[-+*/(]")
"""An operator in a dim name, which shows that the name is an expression, such as `2*H`."""
NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?![\w.(])")
"""A dim name in an expression; names of functions do not match."""


class DimRename(NamedTuple):
    """A new name for one axis of an input, or of every input."""

    input: str | None
    """The name of the input, or None for every input with this axis."""
    axis: int
    """The axis; a negative axis counts from the last one."""
    name: str

    def __str__(self) -> str:
        return f"{'' if self.input is None else f'{self.input}:'}{self.axis}={self.name}"


class RenamedModel(Record):
    """The result of writing a model with renamed dims."""

    path: str
    renamed: Mapping[str, tuple[str, str]]
    """The old and the new name of each renamed dim, by `INPUT:AXIS`.

    The old name of an unnamed dim is `?`.
    """


class _RenamedDim(NamedTuple):
    """An input dim to rename."""

    label: str
    """The input and the axis as the user writes them, such as `x:0`."""
    proto: Any
    """The Dimension message of the dim in the ModelProto."""

    @property
    def shown(self) -> str:
        """The size or name that the file declares, or `?`."""
        return self.proto.dim_param or (str(self.proto.dim_value) if self.proto.HasField("dim_value") else "?")


def parse_renames(texts: Iterable[str]) -> list[DimRename]:
    """Parse the values of `--rename`, such as `x:0=batch` or `0=batch,1=length`.

    The name of an input may contain colons. Raises `ShapeError` (usage) for an invalid text.

    >>> [str(rename) for rename in parse_renames(["x:0=batch,-1=length"])]
    ['x:0=batch', '-1=length']
    """
    return [_parse_rename(word.strip()) for text in texts for word in text.split(",")]


def _parse_rename(text: str) -> DimRename:
    place, equals, name = (part.strip() for part in text.rpartition("="))
    input, colon, axis = place.rpartition(":")
    digits = axis.removeprefix("-")
    if not (equals and digits.isascii() and digits.isdigit() and len(digits) < 5 and name.isidentifier()):
        shown = escape_unprintable(truncate(text))
        raise usage_error(f"'{shown}' is not INPUT:AXIS=NAME", "write x:0=batch, or 0=batch", argument="rename")
    return DimRename(input if colon else None, int(axis), name)


def write_renamed_model(model: Model, renames: Sequence[DimRename], output_path: Path, *, force: bool) -> RenamedModel:
    """Rename free dims of a model, and write it to a file.

    Raises `ShapeError` (usage) as `rename_dims` does, and `ShapeError` (file) if the output path is not usable. Raises
    `OSError` if the file cannot be written.
    """
    check_output_path(model, output_path)
    proto = deepcopy(model.proto)
    renamed = rename_dims(proto, renames, model)
    with atomic_file(output_path, force=force) as file:
        for piece in serialize_model(model, proto):
            file.write(piece)
    return RenamedModel(str(output_path), renamed)


def rename_dims(proto: Any, renames: Sequence[DimRename], model: Model) -> dict[str, tuple[str, str]]:
    """Rename free dims in a ModelProto.

    The old names are replaced wherever they are declared, also in expressions. `proto` is the ModelProto of `model`, or
    a fixed copy of it. Returns the names as in `RenamedModel.renamed`. Raises `ShapeError` (usage) for an input or an
    axis that does not exist, for a dim with a fixed size, for a dim with two new names, and for one new name for dims
    of different sizes. The sizes of dims without a name are not compared.
    """
    chosen: dict[str, list[_RenamedDim]] = {}
    for rename in renames:
        chosen.setdefault(rename.name, []).extend(_find_dims(proto, rename))
    values = [*iter_value_infos(proto.graph), *[value for function in proto.functions for value in function.value_info]]
    messages = [message for value in values for message in value.type.tensor_type.shape.dim]
    kept_names = {message.dim_param for message in messages} - {dim.shown for dims in chosen.values() for dim in dims}
    new_names: dict[str, str] = {}
    for name, dims in chosen.items():
        labels = {dim.shown: dim.label for dim in reversed(dims) if dim.proto.dim_param}
        if name in kept_names:
            labels[name] = "another dim"
        _check_equal_sizes(name, labels, model)
        for old in labels:
            if new_names.setdefault(old, name) != name:
                raise usage_error(f"{_escape(old)} gets two names, {new_names[old]} and {name}", argument="rename")
    result = {dim.label: (dim.shown, name) for name, dims in chosen.items() for dim in dims}
    unnamed = [(dim.proto, name) for name, dims in chosen.items() for dim in dims if not dim.proto.dim_param]
    _check_conflicting_names(unnamed)
    for message in messages:
        if message.dim_param in new_names:
            message.dim_param = new_names[message.dim_param]
        elif EXPRESSION.search(message.dim_param):
            message.dim_param = NAME.sub(lambda match: new_names.get(match[0], match[0]), message.dim_param)
    for message, name in unnamed:
        message.dim_param = name
    return result


def _check_conflicting_names(named: Iterable[tuple[Any, str]]) -> None:
    """Raise `ShapeError` (usage) if a dim of a ModelProto is listed with two names."""
    names: dict[int, str] = {}
    for dim, name in named:
        if names.setdefault(id(dim), name) != name:
            raise usage_error(f"an axis gets two names, {names[id(dim)]} and {name}", argument="rename")


def _find_dims(proto: Any, rename: DimRename) -> Iterator[_RenamedDim]:
    """Yield the dims to which a rename applies.

    Raises `ShapeError` (usage) if there are none, or if one has a fixed size.
    """
    weights = {tensor.name for tensor in proto.graph.initializer}
    inputs = {value.name: value.type.tensor_type.shape.dim for value in proto.graph.input if value.name not in weights}
    if rename.input is not None and rename.input not in inputs:
        known = escape_unprintable(truncate(", ".join(inputs)))
        raise usage_error(f"no input is called {_escape(rename.input)}", f"the inputs are {known}", argument="rename")
    names = [*inputs] if rename.input is None else [rename.input]
    found = [name for name in names if -len(inputs[name]) <= rename.axis < len(inputs[name])]
    if not found:
        subject = "no input" if rename.input is None else f"input {_escape(rename.input)} does not"
        verb = "has" if rename.input is None else "have"
        raise usage_error(f"{subject} {verb} an axis {rename.axis}", argument="rename")
    for name in found:
        dim = _RenamedDim(f"{name}:{rename.axis}", inputs[name][rename.axis])
        if dim.proto.HasField("dim_value"):
            message = f"{_escape(dim.label)} is {dim.shown}, a fixed size, which cannot be renamed"
            raise usage_error(message, "--fix frees the batch: add --fix, or name the input", argument="rename")
        yield dim


def _check_equal_sizes(name: str, labels: Mapping[str, str], model: Model) -> None:
    """Raise `ShapeError` (usage) if dims with the same new name may differ in size.

    `labels` contains the label of one dim for each old name. Dims never differ in size if the model fails at different
    sizes.
    """
    if len(labels) < 2:
        return
    shapes = {
        value.name: tuple([dim for dim in value.dims if dim is not None])
        for value in model.inputs
        if value.dims and all(isinstance(dim, int) or (dim and dim.isidentifier()) for dim in value.dims)
    }
    judged = judge_model(model, BatchOptions(NO_BATCH, shapes=FrozenDict(shapes)))
    equal = {condition.text.split(" or ")[0] for condition in judged.limits.conditions}
    for first, second in combinations(labels, 2):
        if not {f"{first} == {second}", f"{second} == {first}"} & equal:
            shown = " and ".join(f"{_escape(labels[old])} ({_escape(old)})" for old in (first, second))
            raise usage_error(f"{shown} may have different sizes, and cannot both be {name}", argument="rename")


def _escape(text: str) -> str:
    return escape_unprintable(truncate(text))
