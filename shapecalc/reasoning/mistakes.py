"""Typical mistakes in predicting the output shape of a request.

A mistake is modelled as a misread request: the wrong prediction is the correct output of that other request. A new kind
of mistake requires a function and an entry in `MISTAKE_KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from shapecalc.core.answers import Chain, Request, Stage, Trace
from shapecalc.core.dialects import DIALECTS
from shapecalc.core.dims import Dim, Shape
from shapecalc.core.moves import Index, Permute
from shapecalc.core.record import Record, replace
from shapecalc.core.resolve import resolve, resolve_chain
from shapecalc.core.rules import COPIED_ZERO
from shapecalc.core.text import shape_text
from shapecalc.reasoning.examples import trace_element

MisreadRequest: TypeAlias = tuple[Request, str]
"""A misread request, with a sentence that describes the mistake."""


class Mistake(Record):
    """A mistake, with the wrong answer that results from it."""

    kind: str
    sentence: str
    """A sentence that describes the mistake."""
    answer: Trace | Chain
    """The answer to the misread request."""


def find_mistakes(answer: Trace | Chain) -> Iterator[Mistake]:
    """Yield the mistakes that lead to an answer other than the correct one.

    Yields nothing for a refused request.

    >>> import shapecalc as sc
    >>> [(mistake.kind, mistake.answer.output) for mistake in find_mistakes(sc.reshape((2, 2, 3, 2), (-1, 0, 0)))]
    [('zero miscounted', (4, 3, 2)), ('switch', None)]
    """
    if answer.output is None:
        return
    for index, trace in enumerate(answer.traces):
        for kind, misread in MISTAKE_KINDS.items():
            for request, sentence in misread(trace):
                other = _replace_request(answer, index, request)
                if (other.output, other.moves) != (answer.output, answer.moves):
                    yield Mistake(kind, sentence, other)


def explain_prediction(answer: Trace | Chain, predicted: Sequence[Dim | None] | None) -> Mistake | None:
    """Return the mistake that explains a predicted output shape.

    Returns None if the prediction is correct or unexplained. A dim of None in `predicted` matches any
    dim. If `predicted` itself is None, the user predicts an error.

    >>> import shapecalc as sc
    >>> explain_prediction(sc.transpose((2, 3, 4), (1, 2, 0)), (4, None, None)).kind
    'permutation the other way'
    """
    if predicted is None or answer.output is None or _matches_prediction(answer.output, predicted):
        refused = (mistake for mistake in find_mistakes(answer) if mistake.answer.output is None)
        return next(refused, None) if predicted is None else None
    return next(
        (mistake for mistake in find_mistakes(answer) if _matches_prediction(mistake.answer.output, predicted)), None
    )


def find_same_shape_mistake(answer: Trace | Chain) -> Mistake | None:
    """Return a mistake with the same output shape but another order of elements.

    Returns None if there is no such mistake.

    >>> import shapecalc as sc
    >>> find_same_shape_mistake(sc.transpose((2, 3), (1, 0))).kind
    'reshape for transpose'
    """
    return next((mistake for mistake in find_mistakes(answer) if mistake.answer.output == answer.output), None)


def explain_misplacement(answer: Trace | Chain, element: Index, predicted: Index) -> Mistake | None:
    """Return a mistake that moves an input element to the predicted index.

    Returns None if there is no such mistake. Raises `ShapeError` (usage) as `trace_element` does for the answer.

    >>> import shapecalc as sc
    >>> explain_misplacement(sc.reshape((2, 3), (3, 2)), (0, 2), (2, 0)).kind
    'transpose for reshape'
    """
    if trace_element(answer, element)[-1][1] == predicted:
        return None
    others = (mistake for mistake in find_mistakes(answer) if mistake.answer.output is not None)
    return next((mistake for mistake in others if trace_element(mistake.answer, element)[-1][1] == predicted), None)


def _matches_prediction(output: Shape | None, predicted: Sequence[Dim | None]) -> bool:
    """Return whether a shape matches the predicted dims.

    A predicted dim of None matches any dim.
    """
    same_rank = output is not None and len(output) == len(predicted)
    return same_rank and all(dim in (None, actual) for actual, dim in zip(output or (), predicted, strict=True))


def _replace_request(answer: Trace | Chain, index: int, request: Request) -> Trace | Chain:
    """Resolve a request or chain again, with the request at `index` replaced."""
    if isinstance(answer, Trace):
        return resolve(request)
    requests = [trace.request for trace in answer.traces]
    return resolve_chain([*requests[:index], request, *requests[index + 1 :]])


def _replace_arguments(trace: Trace, **arguments: object) -> Request:
    """Return the request of a trace with some arguments replaced.

    An argument is removed if its new value is None.
    """
    changed = {**trace.request.arguments, **arguments}
    return replace(trace.request, arguments={name: value for name, value in changed.items() if value is not None})


def _iter_argument_stages(trace: Trace) -> Iterator[Stage]:
    """Yield the stages that use an argument in the form in which the user wrote it."""
    for stage in trace.stages:
        if stage.requested and trace.request.arguments.get(stage.argument) == stage.requested:
            yield stage


def _invert_permutations(trace: Trace) -> Iterator[MisreadRequest]:
    for stage in _iter_argument_stages(trace):
        if isinstance(stage.move, Permute):
            axes = stage.move.axes
            inverse = tuple(sorted(range(len(axes)), key=axes.__getitem__))
            place = next((place for place, axis in enumerate(axes) if place != axis), 0)
            axis = axes[place] if axes else 0
            sentence = (
                f"{stage.argument} was read the other way round: entry {place}, which is {axis}, fetches dim {axis} "
                f"to place {place}; it does not send dim {place} to place {axis}"
            )
            yield _replace_arguments(trace, **{stage.argument: inverse}), sentence


def _miscount_zeros(trace: Trace) -> Iterator[MisreadRequest]:
    """Yield requests whose zeros are replaced by input dims at wrong indices.

    If several ways of counting lead to the same request, one sentence describes all of them.
    """
    for stage in _iter_argument_stages(trace):
        last, shift = len(stage.before) - 1, len(stage.before) - len(stage.requested)
        ways = {"counted from 1": (1, 1), "counted from the right": (last, -1), "lined up at the right": (shift, 1)}
        ways_by_target: dict[Shape, list[str]] = {}
        for way, (start, by) in ways.items():
            if target := _fill_zeros(stage, stage.before, start, by):
                ways_by_target.setdefault(target, []).append(way)
        for target, texts in ways_by_target.items():
            sentence = f"the dims were {', or '.join(texts)}: a 0 at index i copies dim i, counted from 0 at the left"
            yield _replace_arguments(trace, **{stage.argument: target}), sentence


def _copy_zeros_from_input(trace: Trace) -> Iterator[MisreadRequest]:
    for stage in _iter_argument_stages(trace):
        sentence = f"0 was taken from the input: the transpose came first, so the 0 sees {shape_text(stage.before)}"
        if stage.before != trace.input and (target := _fill_zeros(stage, trace.input)):
            yield _replace_arguments(trace, **{stage.argument: target}), sentence


def _fill_zeros(stage: Stage, shape: Shape, start: int = 0, increment: int = 1) -> Shape:
    """Return the target with its zeros replaced by dims of `shape`.

    A zero at index i copies the dim at index `start + increment * i`. Returns an empty shape if the target has no
    zeros, if an index is out of range, or if a copied dim is 0.
    """
    outs = [step.out for step in stage.steps if step.rule == COPIED_ZERO and step.out is not None]
    target = list(stage.requested)
    for out in outs:
        axis = start + increment * out
        if not 0 <= axis < len(shape) or shape[axis] == 0:
            return ()
        target[out] = shape[axis]
    return tuple(target) if outs else ()


def _omit_transposes(trace: Trace) -> Iterator[MisreadRequest]:
    stages = [*_iter_argument_stages(trace)]
    for stage in stages if len(stages) > 1 else ():
        if isinstance(stage.move, Permute):
            yield _replace_arguments(trace, **{stage.argument: None}), f"the transpose {stage.label} was left out"


def _misread_switch(trace: Trace) -> Iterator[MisreadRequest]:
    """Yield the request with the opposite setting of its dialect's switch."""
    switch = DIALECTS[trace.dialect].switch
    if switch is not None and switch.name in trace.options:
        on = bool(trace.options[switch.name])
        words = ("off", "on") if on else ("on", "off")
        yield replace(trace.request, switch=not on), f"{switch.name} was taken to be {words[0]}: it is {words[1]}"


def _transpose_instead_of_reshape(trace: Trace) -> Iterator[MisreadRequest]:
    before, after = trace.input, trace.output
    if trace.op == "reshape" and after is not None and sorted(map(str, before)) == sorted(map(str, after)):
        remaining = [*range(len(before))]
        perm = []
        for dim in after:
            axis = next(axis for axis in remaining if before[axis] == dim)
            remaining.remove(axis)
            perm.append(axis)
        sentence = "the axes were swapped, as a transpose does: reshape keeps the reading order and moves only the cuts"
        yield replace(trace.request, op="transpose", arguments={"perm": tuple(perm)}, switch=None), sentence


def _reshape_instead_of_transpose(trace: Trace) -> Iterator[MisreadRequest]:
    if trace.op == "transpose" and trace.output is not None and 0 not in trace.output:
        sentence = (
            "the elements were kept in their reading order, as a reshape does: transpose moves them with their axes"
        )
        yield replace(trace.request, op="reshape", arguments={"target": trace.output}), sentence


MISTAKE_KINDS: Mapping[str, Callable[[Trace], Iterator[MisreadRequest]]] = {
    "permutation the other way": _invert_permutations,
    "zero of the input": _copy_zeros_from_input,
    "zero miscounted": _miscount_zeros,
    "transpose left out": _omit_transposes,
    "switch": _misread_switch,
    "transpose for reshape": _transpose_instead_of_reshape,
    "reshape for transpose": _reshape_instead_of_transpose,
}
"""For each kind of mistake, the function that yields the misread requests."""
