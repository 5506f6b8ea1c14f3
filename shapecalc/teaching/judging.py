"""Tasks, predictions, and feedback on wrong predictions.

The answer to a task is a prediction or, in a puzzle, a chain of ops. A stage is one op of a chain, or one part of a
composite op such as Shuffle. The feedback is a hint, or the answer with its derivation.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING

from shapecalc.core import text
from shapecalc.core.answers import Chain, Stage, StageKind, Step, Trace, to_move_chain
from shapecalc.core.dims import Shape, product
from shapecalc.core.moves import Permute
from shapecalc.core.ops import OPS
from shapecalc.core.ops.concat import SAME_DIM
from shapecalc.core.ops.matmul import CONTRACTED
from shapecalc.core.ops.mean import REDUCED
from shapecalc.core.ops.operands import ALIGNED
from shapecalc.core.ops.transpose import TAKEN_AXIS
from shapecalc.core.ops.windows import WINDOW_SLIDE
from shapecalc.core.problem import ShapeError, usage_error
from shapecalc.core.record import Record
from shapecalc.core.requests import make_request
from shapecalc.core.rules import COPIED_ZERO, GIVEN_DIM, INFERRED, REGROUPED, STRETCHED
from shapecalc.core.text import format_count, parse_axes, shape_text, split_outside_brackets, truncate
from shapecalc.reading.commands import chain_text, parse_chain, parse_stage
from shapecalc.reasoning.answers import answer_chain
from shapecalc.reasoning.answers import answer_request as answer_request
from shapecalc.reasoning.equiv import EquivalenceVerdict, check_equivalence, resolve_chain_pair
from shapecalc.reasoning.examples import trace_element, trace_element_back
from shapecalc.reasoning.mistakes import Mistake, explain_misplacement, explain_prediction
from shapecalc.render.hints import make_dim_question, rules_phrase

if TYPE_CHECKING:
    from rich.text import Text

SIZE_PATTERN = re.compile(r"(?<![\w-])(?:[2-9]|\d{2,})(?!\w)")
"""The pattern of an integer of at least 2."""
PERMUTATION_WORDS = ("transpose", "--first", "--second")
"""The words before a permutation; after `transpose`, the input shape may come in between."""
REFUSAL_WORDS = ("error", "refused")
"""The words that the user types to predict that the request is refused."""

CUT = "cut"
"""The kind of a task in which the user cuts a row of all elements into the output shape."""
CHAIN_SYNTAX = "the ops with | between them, such as transpose 2,1,0 | reshape 3,-1"

Prediction = Shape | None
"""A predicted shape or index, or None if the user predicts that the request is refused."""
COUNT_HINT = "compare each number of the request with the input, then count the elements"
FOLLOW_HINT = "count the elements that come before it, in reading order, before and after each stage"
TRANSPOSE_HINT = "a transpose moves the numbers of an index with their axes: the first is now the number of axis {axis}"
FOLLOW_EACH_HINT = "go stage by stage: a transpose permutes the index, a reshape counts the elements before it"
"""The hint for following an element through a chain of both reshapes and transposes."""
NAME_PATTERN = re.compile(r"[^\W\d]\w*|\?")
"""The pattern of a symbolic size, or of the `?` for an unknown size."""
RULES_BY_STAGE_KIND = {
    StageKind.PERMUTE: TAKEN_AXIS,
    StageKind.EXPAND: STRETCHED,
    StageKind.BROADCAST: ALIGNED,
    StageKind.PRODUCT: CONTRACTED,
    StageKind.JOIN: SAME_DIM,
    StageKind.WINDOW: WINDOW_SLIDE,
    StageKind.REDUCE: REDUCED,
}
"""For some kinds of stages, the rule that determines every dim of the stage.

Stages of other kinds apply several rules.
"""
COPY_CODE, INFER_CODE = 0, -1


class Task(Record):
    """A question that is answered with a shape, an index or a chain of ops.

    The right answer is computed from the question; it is not stored.
    """

    question: str
    """A command line without `shapecalc`; in a puzzle, the command line of a solution."""
    stage: str = ""
    """The label of the stage whose output shape the user predicts; empty for the last stage."""
    follow: str = ""
    """The index of the input element whose output index the user predicts; empty to predict a shape."""
    puzzle: str = ""
    """The description of the chain to write in a puzzle; empty for a prediction."""
    kind: str = ""
    """`CUT` if the user cuts a row of all elements; empty if the answer is typed."""

    @property
    def text(self) -> str:
        """The question or, for a puzzle, its description with the input and output shape.

        >>> Task("chain '2,3 | transpose'", puzzle="turn the table").text
        'turn the table: 2,3 -> 3,2'
        """
        answer = resolve_command_line(self.question)
        ends = f"{shape_text(answer.input)} -> {shape_text(answer.output or ())}"
        return f"{self.puzzle}: {ends}" if self.puzzle else self.question

    @property
    def template(self) -> str:
        """The question with each size greater than 1 replaced by `#`.

        Questions that differ only in their sizes have equal templates.

        >>> Task("reshape 2,3,4 0,-1").template, Task("transpose 2,3 1,0").template
        ('reshape #,#,# 0,-1', 'transpose #,# 1,0')
        """
        words = self.question.split(" ")
        perms = {i + 1 + (i == 0) for i, word in enumerate(words) if word in PERMUTATION_WORDS}
        return " ".join(word if i in perms else SIZE_PATTERN.sub("#", word) for i, word in enumerate(words))

    @property
    def prompt(self) -> str:
        """The prompt at which the user types the answer."""
        if self.puzzle:
            return f"Type {CHAIN_SYNTAX}:"
        if self.kind == CUT:
            return "Cut the tape into the output shape:"
        if self.follow:
            return f"Where does the element at [{self.follow}] go?"
        return f"Predict {f'the shape after {self.stage}' if self.stage else 'the output shape'}, or error:"

    @property
    def dialect_phrase(self) -> str:
        """The dialect of the task as a phrase.

        It is empty if the answer depends on no rule of a dialect.

        >>> Task("reshape 2,3,4 0,-1").dialect_phrase, Task("reshape 2,3 3,2", follow="0,1").dialect_phrase
        (' by ONNX rules', '')
        """
        has_dialect = "-d " in self.question or "--dialect" in self.question
        if has_dialect or self.puzzle or self.follow or self.kind:
            return ""
        return rules_phrase(resolve_command_line(self.question).traces)


class Judgement(Record):
    """The verdict on an answer, with feedback."""

    right: bool
    feedback: str
    """One sentence that describes the mistake or the lesson."""
    solution: str = ""
    """The right answer with its derivation on one line; empty if it is not revealed yet."""

    @property
    def lines(self) -> list[str]:
        """The feedback and the solution, without empty lines."""
        return [*filter(None, (self.feedback, self.solution))]


def resolve_command_line(question: str) -> Trace | Chain:
    """Resolve a command line that does not start with `shapecalc`.

    Raises `ShapeError` (usage) if the command line is invalid, or if its input is a file or `-`.

    >>> resolve_command_line("chain '2,3 | transpose | reshape -1'").output
    (6,)
    """
    words = split_outside_brackets(question)
    if words[:1] == ["chain"]:
        shape, stages = parse_chain(" ".join(words[1:]))
        return answer_chain(_check_shape_text(shape), stages, {})
    stage = parse_stage(words, with_input=True)
    return answer_request(make_request(stage.op, _check_shape_text(stage.input or ""), stage.options))


def _check_shape_text(shape: str) -> str:
    """Return the text of a shape, or raise `ShapeError` (usage) for a file or `-`."""
    if text.is_file_argument(shape) or shape.strip() == "-":
        raise usage_error("the input must be a shape that is written out", "write one, such as 2,3,4", argument="input")
    return shape


def extract_prediction(task: Task, answer: Trace | Chain) -> Prediction:
    """Return the shape or index in a resolved answer that the user has to predict."""
    if task.follow and answer.output is not None:
        return trace_element(answer, parse_axes(task.follow))[-1][1]
    shapes = (stage.after for stage in answer.stages if stage.is_finished and stage.label == task.stage)
    return next(shapes, answer.output)


def correct_prediction(task: Task) -> Prediction:
    """Return the right prediction for a task.

    >>> correct_prediction(Task("transpose 2,3,4 1,2,0"))
    (3, 4, 2)
    """
    return extract_prediction(task, resolve_command_line(task.question))


def parse_prediction(typed: str) -> Prediction:
    """Parse a prediction that the user typed.

    Raises `ShapeError` (usage) if the prediction is invalid.
    """
    return None if typed.strip().lower() in REFUSAL_WORDS else text.parse_dims(typed, "prediction")


def prediction_text(prediction: Prediction) -> str:
    """Format a prediction as a user would type it.

    >>> prediction_text((2, 12)), prediction_text(None)
    ('2,12', 'error')
    """
    return REFUSAL_WORDS[0] if prediction is None else shape_text(prediction)


def invalid_reason(task: Task, typed: str) -> str:
    """Return the reason why a prediction is invalid, or an empty string.

    >>> task = Task("reshape 2,3,4 2,-1,2")
    >>> invalid_reason(task, "2,?,2"), invalid_reason(task, "2,6,2")
    ('that is not an answer yet: ? is not a size; type the sizes with commas between them, or error', '')
    """
    advice = "type a number for each axis" if task.follow else "type the sizes with commas between them, or error"
    advice = f"type {CHAIN_SYNTAX}" if task.puzzle else advice
    try:
        if task.puzzle:
            return "" if resolve_typed_chain(task, typed) else advice
        dims = parse_prediction(typed) or ()
    except ShapeError as error:
        return f"that is not an answer yet: {error.problem.message}; {advice}"
    names = (
        name
        for dim in dims
        for name in NAME_PATTERN.findall(str(dim))
        if name not in NAME_PATTERN.findall(task.question)
    )
    unknown = next(names, None)
    kind = "number" if task.follow else "size"
    return "" if unknown is None else f"that is not an answer yet: {unknown} is not a {kind}; {advice}"


def resolve_typed_chain(task: Task, typed: str) -> Chain:
    """Resolve the chain that the user typed as the solution of a puzzle.

    The chain may start with the input shape. Raises `ShapeError` if the chain is invalid or refused.
    """
    solution = resolve_command_line(task.question)
    stages = typed.strip().removeprefix(shape_text(solution.input)).lstrip(" |")
    built = resolve_chain_pair(chain_text(solution), f"| {stages}", {})[1]
    if built.problem:
        raise ShapeError(built.problem)
    to_move_chain(built)  # refuses the op `shape`, whose output is not made of input elements
    return built


def find_chain_mistake(task: Task, typed: str) -> Mistake | None:
    """Return the mistake in a typed chain, or None for a solution.

    A solution is right for all values of the symbolic sizes. Raises `ShapeError` if the chain is invalid or refused.

    >>> find_chain_mistake(Task("chain '2,3 | transpose'", puzzle="turn it"), "reshape 3,2").sentence
    'at [0,1] is element 1 of the input, where element 3 is asked for'
    """
    answer, built = resolve_command_line(task.question), resolve_typed_chain(task, typed)
    comparison = check_equivalence(answer, built)
    if comparison.verdict is EquivalenceVerdict.SAME:
        return None
    message, example = "; ".join(comparison.reasons), comparison.counterexample
    if comparison.conditions:
        message = f"it is the {comparison}, not always"
    elif built.output != answer.output:
        message = f"it gives {shape_text(built.output or ())}, and {shape_text(answer.output or ())} is asked for"
    elif example and example.elements and example.index is not None:
        right, wrong = example.elements
        position = shape_text(example.index)
        message = f"at [{position}] is element {wrong} of the input, where element {right} is asked for"
    return Mistake("built", message, built)


def hint_text(task: Task, answer: Trace | Chain, prediction: Prediction) -> str:
    """Return a hint for a wrong prediction, without the right answer.

    >>> hint_text(Task("reshape 2,3,4 2,-1,2"), resolve_command_line("reshape 2,3,4 2,-1,2"), (2, 4, 2))
    'the input has 24 elements, the answer 2,4,2 has 16'
    """
    right = extract_prediction(task, answer)
    if mistake := find_mistake(task, answer, prediction):
        return mistake.sentence
    if prediction is None:
        return "it is not refused: no rule forbids it, so begin with dim 0"
    if any(isinstance(dim, int) and dim < 0 for dim in prediction):
        return "no size in an answer is negative: -1 asks for a size, and the answer names it"
    if right is None:
        return _describe_count_mismatch(answer, prediction) or COUNT_HINT
    if task.follow:
        return _describe_source_element(answer, right, prediction)
    return _describe_difference(task, answer, right, prediction)


def find_mistake(task: Task, answer: Trace | Chain, prediction: Prediction) -> Mistake | None:
    """Return the common mistake that explains a wrong prediction, or None.

    >>> find_mistake(Task("reshape 2,3,4,5 0,-1"), resolve_command_line("reshape 2,3,4,5 0,-1"), (3, 40)).sentence
    'the dims were counted from 1: a 0 at index i copies dim i, counted from 0 at the left'
    """
    if task.stage:
        return None
    if not task.follow:
        return explain_prediction(answer, prediction)
    if answer.output is None or prediction is None or not all(isinstance(dim, int) for dim in prediction):
        return None
    return explain_misplacement(answer, parse_axes(task.follow), parse_axes(shape_text(prediction)))


def draw_task(task: Task, answer: Trace | Chain, width: int, height: int) -> Text:
    """Draw a task, with placeholders for the dims to predict.

    If there are no dims to predict, the elements of the input are drawn. The drawing of a single op contains only the
    sizes in the command line, so that it does not reveal a refusal. A permutation is drawn as one input dim for each
    output dim.
    """
    from rich.text import Text

    from shapecalc.render.canvas import UNICODE, stack_texts
    from shapecalc.render.flow import draw_flow
    from shapecalc.render.grid import draw_question_grid
    from shapecalc.render.pictures import draw_picture, has_own_picture
    from shapecalc.render.stage_layout import COMBINING_KINDS, stage_layouts, unresolved_dims, unresolved_trace
    from shapecalc.render.step import draw_permutation

    whole = isinstance(answer, Chain) and answer.problem is None
    drawn = answer if whole else unresolved_trace(answer)
    placeholders = dict.fromkeys(unresolved_dims(drawn, 0 if whole else len(drawn.steps)), UNICODE.placeholder)
    with suppress(ShapeError):  # raised if the tensor is too large to draw, or has symbolic sizes
        if task.follow or task.puzzle:
            return draw_question_grid(
                answer, parse_axes(task.follow) if task.follow else None, width=width, height=height
            )
        if not placeholders and drawn.stages[0].kind not in COMBINING_KINDS:
            return draw_question_grid(
                resolve_command_line(f"chain {shape_text(answer.input)}"), table_count=1, width=width, height=height
            )
    layout, *later = stage_layouts(drawn) or (None,)
    if not whole and layout and layout.stage.kind is StageKind.PERMUTE and layout.stage.requested:
        blanks = dict.fromkeys(range(len(layout.stage.requested)), UNICODE.placeholder)
        then = [f"then {other.name} {shape_text(other.stage.requested or ())}" for other in later if other]
        return stack_texts([draw_permutation(layout, blanks, width=width, height=height - len(then)), *map(Text, then)])
    if whole or (len(later) < 1 and not has_own_picture(drawn, len(drawn.steps))):
        return draw_flow(drawn, None, placeholders=placeholders, width=width, height=height, is_map=not whole)
    return draw_picture(drawn, len(drawn.steps), placeholders=placeholders, width=width, height=height)


def draw_comparison(task: Task, typed: str, *, width: int, height: int = 12) -> Text | None:
    """Draw the right answer next to the result of the user's mistake.

    The mistake is the typed chain, or the common mistake that leads to the typed prediction. Returns None if there is
    no such mistake, or if the elements cannot be drawn.
    """
    from shapecalc.render.grid import draw_mistake_grids  # deferred, because most uses of this module do not draw

    with suppress(ShapeError):  # raised for an invalid answer, or if the elements cannot be drawn
        answer = resolve_command_line(task.question)
        mistake = (
            find_chain_mistake(task, typed) if task.puzzle else find_mistake(task, answer, parse_prediction(typed))
        )
        return draw_mistake_grids(answer, mistake.answer, width=width, height=height) if mistake else None
    return None


def graded_hints(task: Task, answer: Trace | Chain, prediction: Prediction = None) -> tuple[str, ...]:
    """Return hints for a task, from general to specific.

    No hint reveals the answer. The hints refer to the first wrong dim of `prediction` or, if `prediction` is None, to
    the first dim that a rule determines.

    >>> graded_hints(Task("reshape 2,3,4 0,-1"), resolve_command_line("reshape 2,3,4 0,-1"))[2]
    '0 copies dim 0, which is ?'
    """
    if task.puzzle:
        ops = [trace.op for trace in answer.traces]
        first_shape = f"after the first, the shape is {shape_text(answer.traces[0].output or ())}"
        return f"{format_count(len(ops), 'op does', 'ops do')} it", " | ".join(f"{op} ?" for op in ops), first_shape
    stage, right = _task_stage(task, answer), extract_prediction(task, answer)
    if stage is None or task.follow:
        return (_follow_hint(answer) if task.follow else COUNT_HINT,)
    steps = [
        (out, _step_of_dim(stage, out)) for out in _differing_indices(right, prediction) or range(len(right or ()))
    ]
    ruled = [(out, step) for out, step in steps if step and step.rule != GIVEN_DIM]
    out, step = (ruled or steps or [(0, None)])[0]
    if step is None or step.out is None:
        return _stage_hints(stage)
    return make_dim_question(stage, step, out, name="input" if stage is answer.stages[0] else "tensor").levels


def _follow_hint(answer: Trace | Chain) -> str:
    """Return the hint for following an element through the stages of an answer.

    The hint depends on the kinds of the stages.

    >>> _follow_hint(resolve_command_line("transpose 2,3 1,0"))
    'a transpose moves the numbers of an index with their axes: the first is now the number of axis 1'
    """
    moves = [stage.move for stage in answer.stages]
    permutes = [move for move in moves if isinstance(move, Permute)]
    if not permutes:
        return FOLLOW_HINT
    return TRANSPOSE_HINT.format(axis=permutes[0].axes[0]) if len(moves) == 1 else FOLLOW_EACH_HINT


def _stage_hints(stage: Stage) -> tuple[str, ...]:
    """Return general hints on a stage.

    They are used for a refused stage, and for a stage whose dims are not determined one by one. They have the same form
    in both cases, so that they do not reveal a refusal.
    """
    rules = [step.rule for step in stage.steps if step.rule != GIVEN_DIM][: 1 if stage.is_finished else None]
    if not rules and stage.kind in RULES_BY_STAGE_KIND:
        rules = [RULES_BY_STAGE_KIND[stage.kind]]
    if not rules:
        rules = [rule for code, rule in ((INFER_CODE, INFERRED), (COPY_CODE, COPIED_ZERO)) if code in stage.requested]
    rule = rules[-1] if rules else REGROUPED
    shapes = {"input": stage.before} | ({"asked": stage.requested} if stage.requested else {})
    rows = (f"{name}   {'   '.join(map(str, shape))}" for name, shape in shapes.items())
    return f"{rule.sentence}  [{rule}]", "\n".join(rows), COUNT_HINT


def derivation_text(answer: Trace | Chain) -> str:
    """Format the derivation of an answer on one line.

    The derivation of a refusal is its message.

    >>> derivation_text(resolve_command_line("shuffle 2,3,4 --first 2,0,1 --to 0,-1"))
    'first takes dims 2,0,1 of 2,3,4: 4,2,3; the 0 at index 0 copies dim 0, which is 4; -1 = 24 / 4 = 6'
    """
    if answer.problem is not None:
        return answer.problem.message
    return (
        "; ".join(line for stage in answer.stages for line in _stage_derivation(stage)) or "the request says every size"
    )


def _stage_derivation(stage: Stage) -> list[str]:
    """Format the derivation of each output dim that the command line does not contain."""
    if stage.kind is StageKind.PERMUTE:
        axes = (step.sources[0] for step in stage.steps if step.rule == TAKEN_AXIS)
        shapes = (tuple(axes), stage.before, stage.after or ())
        return ["{} takes dims {} of {}: {}".format(stage.label, *map(shape_text, shapes))]
    return [_step_derivation(step) for step in stage.steps if step.out is not None and step.rule != GIVEN_DIM]


def _step_derivation(step: Step) -> str:
    if step.rule == COPIED_ZERO:
        return f"the 0 at index {step.out} copies dim {step.sources[0]}, which is {step.value}"
    if step.rule == INFERRED:
        have, known = step.facts["have"], step.facts["known"]
        return f"-1 = {have} / {f'({known})' if '*' in str(known) else known} = {step.value}"
    return step.why


def _describe_count_mismatch(answer: Trace | Chain, prediction: Shape) -> str:
    """Describe a wrong element count, or return "" if the count is right."""
    if product(prediction) == product(answer.input) or not all(
        OPS[trace.op].keeps_element_count for trace in answer.traces
    ):
        return ""
    count, predicted = text.element_count_text((), product(answer.input)), truncate(shape_text(prediction))
    return f"the input has {count}, the answer {predicted} has {text.dim_text(product(prediction))}"


def _describe_source_element(answer: Trace | Chain, right: Shape, index: Shape) -> str:
    """Describe which input element is at a predicted output index."""
    if len(index) != len(right):
        axes, numbers = format_count(len(right), "axis", "axes"), format_count(len(right), "number", "numbers")
        return f"the output has {axes}, so a place in it has {numbers}, not {len(index)}"
    try:
        source = trace_element_back(answer, parse_axes(shape_text(index)))[-1][1]
    except ShapeError as error:
        return error.problem.message
    if source is None:
        return f"the element at [{shape_text(index)}] of the output is new"
    return f"the element at [{shape_text(index)}] of the output is the one at [{shape_text(source)}] of the input"


def _describe_difference(task: Task, answer: Trace | Chain, right: Shape, prediction: Shape) -> str:
    """Describe the first difference between a prediction and the right answer.

    These are checked in order: the value of the -1 instead of a complete shape, the element count, the rank, the order
    of the sizes, and each dim.
    """
    stage = _task_stage(task, answer)
    requested = [str(dim) for dim in stage.requested] if stage and stage.requested else []
    sizes = [right[index] for index, dim in enumerate(requested[: len(right)]) if dim == str(INFER_CODE)]
    if len(right) > 1 and [*prediction] == sizes:
        blanks = ",".join(dim if dim.isdecimal() and dim != "0" else "_" for dim in requested)
        return f"{prediction[0]} is right for the -1, now type the whole shape: {blanks}"
    if count := _describe_count_mismatch(answer, prediction):
        return count
    if len(prediction) != len(right):
        return f"{format_count(len(right), 'dim comes', 'dims come')} out, not {len(prediction)}"
    out = _differing_indices(right, prediction)[0]
    step = _step_of_dim(stage, out)
    because = make_dim_question(stage, step, out).arithmetic if stage and step else ""
    if step and step.rule == TAKEN_AXIS:
        because = f"place {out} fetches dim {step.sources[0]}"
    if because and sorted(map(str, prediction)) == sorted(map(str, right)):
        return f"right sizes, wrong order: {because}"
    return f"dim {out} is not {truncate(str(prediction[out]))}{f': {because}' if because else ''}"


def _differing_indices(right: Prediction, prediction: Prediction) -> list[int]:
    """Return the indices at which two predicted shapes differ.

    Only indices that both shapes have are compared.
    """
    pairs = zip(right or (), prediction or (), strict=False)
    return [index for index, (expected, predicted) in enumerate(pairs) if expected != predicted]


def _step_of_dim(stage: Stage | None, index: int) -> Step | None:
    """Return the step that determines an output dim of a stage.

    If no step does, return the last step, or None for a stage without steps.
    """
    steps = stage.steps if stage else ()
    return next((step for step in steps if step.out == index), steps[-1] if steps else None)


def _task_stage(task: Task, answer: Trace | Chain) -> Stage | None:
    """Return the stage to which a task refers, by default the last stage.

    Returns None if the answer has no stages.
    """
    stages = answer.stages
    return next((stage for stage in stages if stage.label == task.stage), stages[-1] if stages else None)
