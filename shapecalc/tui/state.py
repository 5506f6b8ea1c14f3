"""The state of the main screen, independent of widgets.

The state consists of the question, the current step and the predictions. The flow diagram has columns of dims: column 0
is the input shape, and column n is the output shape of stage n. A blank is a hidden dim, which the user predicts by
typing an entry. A refusal is the answer to an invalid request; it has no output.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from math import prod

from shapecalc.core.answers import Chain, Trace
from shapecalc.core.dims import Dim, product
from shapecalc.core.moves import Index
from shapecalc.core.problem import ShapeError
from shapecalc.core.text import parse_dims, split_outside_brackets
from shapecalc.reading.commands import stage_line
from shapecalc.reasoning.fixing import Fix, apply_fix
from shapecalc.reasoning.mistakes import Mistake, explain_prediction, find_same_shape_mistake
from shapecalc.render.cut import can_cut
from shapecalc.render.grid import build_tensor_path
from shapecalc.render.hints import DimQuestion, is_size_requested, make_dim_question, should_ask_for_dim
from shapecalc.render.stage_layout import DimCell, stage_layouts, unresolved_trace
from shapecalc.teaching.progress import Score
from shapecalc.tui.question import Question, parse_followed_index, resolve_question

Blank = tuple[int, int]
"""The position of a hidden dim in the flow diagram: its column, and its index in the column."""

VALIDITY_BLANK = (0, 0)
"""The position that represents the question whether the request is valid.

It is the position of the first input dim, which is never hidden.
"""
VALIDITY_KEYS = {"y": True, "n": False}
"""The predicted validity of the request for each key."""
MAX_SKIPPED_COPIES = 1 << 12
"""The maximum number of copies of one element over which an arrow key skips."""
MAX_BLANK_LENGTH = 40
"""The maximum number of characters that can be typed into a blank."""
VISIBLE_ROWS = 8
"""The number of rows of elements that are visible in most terminals."""
ARROW_MOVES: Mapping[str, tuple[int, int]] = {"left": (-1, -1), "right": (-1, 1), "up": (-2, -1), "down": (-2, 1)}
"""The cursor movement of each arrow key: an axis, as a negative index, and an offset."""
_cached_mistake, _same_shape_mistake = (
    lru_cache(maxsize=1)(explain_prediction),
    lru_cache(maxsize=1)(find_same_shape_mistake),
)


class Predictions:
    """The user's predictions for one answer.

    The user first predicts whether the request is valid, and then the hidden dims of the flow diagram.

    >>> import shapecalc as sc
    >>> mine = Predictions(sc.reshape((2, 2, 3, 2), (-1, 0, 0)), Score())
    >>> mine.type_char((1, 1), "3")
    >>> mine.is_wrong((1, 1)), [*mine.blanks(0)], mine.dim_question((1, 1)).question
    (True, [(1, 0), (1, 1), (1, 2)], 'what does the 0 at index 1 copy?')
    """

    def __init__(self, answer: Trace | Chain | None, score: Score) -> None:
        """Start without predictions.

        `score` counts the first attempt at each hidden dim.
        """
        self.is_valid: bool | None = None
        """Whether the user predicted that the request is valid; None before the prediction."""
        self.texts: dict[Blank, str] = {}
        self.requested_hints: dict[Blank, int] = {}
        """The number of hints that the user requested for each blank."""
        self._score = score
        self.scored_blanks: set[Blank] = set()
        """The blanks whose first attempt has been scored."""
        self._submitted: dict[Blank, str] = {}
        """The entry of each blank when it was submitted last."""
        self._layouts = () if answer is None else stage_layouts(answer)
        self.steps = () if answer is None else answer.steps
        self.cells: Mapping[Blank, DimCell] = {
            (column, row): cell
            for column, layout in enumerate(self._layouts, 1)
            for row, cell in enumerate(layout.cells)
            if cell.step_index < len(self.steps) and cell.dim is not None
        }
        """The cell of each dim that some step determines, keyed by position."""

    @cached_property
    def blanks_to_predict(self) -> Mapping[Blank, DimCell]:
        """The cell of each dim that the user must predict, keyed by position."""
        candidates = ((blank, cell, self._layouts[blank[0] - 1].stage) for blank, cell in self.cells.items())
        return {
            blank: cell
            for blank, cell, stage in candidates
            if should_ask_for_dim(stage, self.steps[cell.step_index], blank[1], cell.dim or 0)
        }

    @property
    def output_blanks(self) -> tuple[Blank, ...]:
        """The positions of the output dims that some step determines."""
        return tuple(filter(self.is_in_output, self.cells))

    def is_in_output(self, blank: Blank) -> bool:
        """Return whether a blank is an output dim of the answer."""
        return blank[0] == len(self._layouts)

    def blanks(self, step_count: int) -> tuple[Blank, ...]:
        """Return the positions of the dims that are hidden after `step_count` steps.

        A dim to predict is hidden until its step is complete or the user predicts it correctly. A dim that a stage only
        copies is hidden as long as its original, and need not be predicted.
        """
        hidden = dict[Blank, None]()
        for blank, cell in self.cells.items():
            if cell.step_index >= step_count and (
                not self.is_right(blank) if blank in self.blanks_to_predict else self._is_hidden_copy(blank, hidden)
            ):
                hidden[blank] = None
        return tuple(hidden)

    def _is_hidden_copy(self, blank: Blank, hidden: Collection[Blank]) -> bool:
        """Return whether a dim is a copy of a hidden dim of the previous column."""
        (column, index), dim = blank, self.cells[blank].dim or 0
        return (column - 1, index) in hidden and not is_size_requested(self._layouts[column - 1].stage, index, dim)

    def blanks_at_step(self, step: int) -> tuple[Blank, ...]:
        """Return the positions of the dims to predict that are determined by a step."""
        return tuple(blank for blank, cell in self.blanks_to_predict.items() if cell.step_index == step)

    def type_char(self, blank: Blank, char: str) -> None:
        """Append a character to the entry of a blank, or replace a wrong entry.

        A backspace deletes the last character.
        """
        text = "" if char != "\b" and self.is_wrong(blank) else self.texts.get(blank, "")  # a wrong entry is replaced
        self.texts[blank] = text[:-1] if char == "\b" else (text + char)[:MAX_BLANK_LENGTH]
        self._submitted.pop(blank, None)
        if self.is_wrong(blank) or self.is_right(blank):
            self.score_attempt(blank, is_right=self.is_right(blank))

    def score_attempt(self, blank: Blank, *, is_right: bool) -> None:
        """Score an attempt at a blank, unless an earlier attempt was scored."""
        if blank not in self.scored_blanks:
            self.scored_blanks.add(blank)
            self._score.record_answer(right=is_right)

    def submit_entry(self, blank: Blank) -> None:
        """Submit the entry of a blank, and reveal one more hint."""
        self._submitted[blank] = self.texts.get(blank, "")
        if self.is_wrong(blank):
            self.score_attempt(blank, is_right=False)
        self.requested_hints[blank] = min(3, self.hint_count(blank) + 1)

    def hint_count(self, blank: Blank) -> int:
        """Return the number of visible hints for a blank.

        A wrong entry reveals the first hint automatically.
        """
        return max(self.is_wrong(blank), self.requested_hints.get(blank, 0))

    def typed_dim(self, blank: Blank) -> Dim | None:
        """Return the dim that was typed into a blank, or None if the text is not a dim."""
        try:
            (dim,) = parse_dims(self.texts.get(blank, ""))
        except (ShapeError, ValueError):
            return None
        return dim

    def is_right(self, blank: Blank) -> bool:
        """Return whether the entry in a blank is correct."""
        return bool(self.texts.get(blank)) and str(self.typed_dim(blank)) == str(self.cells[blank].dim)

    def is_wrong(self, blank: Blank) -> bool:
        """Return whether the entry in a blank is wrong.

        Before submission, a prefix of the correct dim is not wrong, and neither is an entry that is not a number. If
        the correct dim is symbolic, every entry is treated as a prefix, because a symbolic dim can be written in
        several ways.
        """
        text, right = self.texts.get(blank, "").strip(), self.cells[blank].dim
        if not text or self.is_right(blank):
            return False
        is_submitted = self._submitted.get(blank, "").strip() == text
        return is_submitted or (
            isinstance(right, int) and text.isdigit() and not str(right).startswith(text.lstrip("0"))
        )

    def find_confused_axis(self, blank: Blank) -> int | None:
        """Return the only axis of the previous column whose size is the entry of a blank.

        The user may have confused this axis with the blank. Returns None if no axis, or several axes, have this size.
        """
        dim, before = self.typed_dim(blank), self._layouts[blank[0] - 1].stage.before
        return before.index(dim) if dim is not None and before.count(dim) == 1 else None

    def dim_question(self, blank: Blank) -> DimQuestion:
        """Return the question about a blank, with its hints."""
        name = "input" if blank[0] == 1 else self._layouts[blank[0] - 2].stage.label
        return make_dim_question(
            self._layouts[blank[0] - 1].stage, self.steps[self.cells[blank].step_index], blank[1], name=name
        )

    @property
    def predicted_output(self) -> list[Dim | None]:
        """The predicted output shape, with None for each missing prediction."""
        return [
            self.typed_dim(blank) if blank in self.blanks_to_predict else self.cells[blank].dim
            for blank in self.output_blanks
        ]


class QuestionHistory:
    """The questions before and after the current one, for undo and redo.

    Consecutive insertions or deletions in one field count as one change.
    """

    def __init__(self) -> None:
        """Create empty stacks."""
        self.past: list[Question] = []
        self.future: list[Question] = []
        self._change: tuple[str, bool] | None = None

    def record_change(self, before: Question, after: Question, field: str | None) -> None:
        """Record a change of the question.

        `field` is the edited field, if any.
        """
        if before == after:
            self._change = None
            return
        is_insertion = field is not None and len(after.texts.get(field, "")) > len(before.texts.get(field, ""))
        change = None if field is None else (field, is_insertion)
        if change is None or change != self._change:
            self.past.append(before)
        self.future.clear()
        self._change = change

    def undo_or_redo(self, current: Question, *, back: bool) -> Question:
        """Return the previous question, or the last undone one if `back` is False.

        Questions that cannot be parsed are skipped.
        """
        self._change = None
        source, target = (self.past, self.future) if back else (self.future, self.past)
        while True:
            target.append(current)
            current = source.pop()
            if not source or resolve_question(current).answer is not None:
                return current


@lru_cache(maxsize=1)
def elements_obstacle(answer: Trace | Chain | None) -> str:
    """Return why the elements of an answer cannot be drawn at every stage, or "" if they can.

    >>> import shapecalc as sc
    >>> elements_obstacle(sc.transpose((2, 3), (1, 0))), elements_obstacle(sc.transpose((0, 3), (1, 0)))
    ('', 'the tensor has no elements')
    """
    if answer is None:
        return NO_ANSWER_REASON
    try:
        return "" if prod(build_tensor_path(answer).tensors[0].shape) > 0 else "the tensor has no elements"
    except ShapeError as error:
        return error.problem.message


class ExploreState:
    """The state of the main screen: a question, its answer, and predictions.

    >>> from shapecalc.tui.question import question_from_words
    >>> state = ExploreState(question_from_words(["shuffle", "2,3,4", "--first", "1,0,2", "--to", "0,-1"]))
    >>> state.go_to_step(5)
    >>> state.current_step, state.answer.steps[5].rule, state.is_available("step(1)"), state.is_available("fix")
    (5, 'infer', True, False)
    """

    def __init__(
        self, question: Question, step: int | None = None, *, is_learning: bool = False, score: Score | None = None
    ) -> None:
        """Resolve the question, and go to a step; None means after the last step.

        In learning mode, `score` counts the first attempt at each prediction.
        """
        self.question = question
        self.result = resolve_question(question)
        self.answer: Trace | Chain | None = self.result.answer
        """The answer to the question or, if it is invalid, to the last valid question."""
        self.requested_step = step
        """The index of the requested step; None means the position after the last step."""
        self._is_before_refusal = False
        """Whether the request is refused, and the user views a step before the refusal."""
        self.is_learning = is_learning
        """Whether the user must predict dims before the screen shows them."""
        self.is_revealed = False
        """Whether the dims of the current step are visible without a prediction."""
        self.score = score or Score()
        self.predictions = Predictions(self.answer, self.score)
        self.history = QuestionHistory()
        self.highlighted: Blank | None = None
        """The position of the highlighted dim in the flow diagram."""
        self._last_typed: Blank | None = None
        """The blank into which the user typed last.

        This blank receives typed characters until the user selects another dim, even if its text is right.
        """
        self.shows_grid = False
        self.shows_mistake = False
        """Whether the elements of a mistake with the same shape are drawn beside those of the answer."""
        self._selected_tint_axis: int | None = None
        """The input axis that the user selected for the colours of elements, or None."""
        self.cursor: tuple[int, ...] | None = None
        """The input index of the element under the cursor, or None."""
        self.typed_index = ""
        """The element index that the user is typing, as text."""

    @property
    def end_step(self) -> int:
        """The index after the last step, at which the output or the refusal is visible."""
        return len(self.predictions.steps)

    @property
    def current_step(self) -> int:
        """The index of the current step.

        For a refused request, this is `end_step` until the user goes to an earlier step.
        """
        if self.must_predict_validity:
            return 0
        if self.requested_step is None or (
            self.answer is not None and self.answer.problem and not self._is_before_refusal
        ):
            return self.end_step
        return min(self.requested_step, self.end_step)

    @property
    def is_complete(self) -> bool:
        """Whether the output of a valid request is visible."""
        return (
            self.current_step >= self.end_step
            and not self.must_predict_validity
            and not (self.answer and self.answer.problem)
        )

    def change_question(self, question: Question, focused_field: str | None = None) -> None:
        """Replace the question, and record the change in the history.

        The current step is kept if the new answer has the same number of steps. A refusal is displayed at once. If
        `focused_field` is given, the last answer is kept until there is a new one.
        """
        self.history.record_change(self.question, question, focused_field)
        is_edited = focused_field is not None or question == self.question
        self._replace_question(question, focused_field, keeps_answer=is_edited)

    def _replace_question(
        self, question: Question, focused_field: str | None = None, *, keeps_answer: bool = True
    ) -> None:
        """Replace the question.

        If there is no answer and `keeps_answer` is True, the last answer is kept.
        """
        self.question, self.result = question, resolve_question(question, focused_field)
        if self.result.answer == self.answer or (self.result.answer is None and keeps_answer):
            return
        self.answer, self.highlighted, self.cursor = self.result.answer, None, None
        self.shows_grid, self.shows_mistake = (
            self.shows_grid and not elements_obstacle(self.answer) and not self.is_learning,
            False,
        )
        self._is_before_refusal = False
        self._reset_predictions()

    def undo_or_redo(self, *, back: bool) -> None:
        """Undo a change of the question if `back` is True, otherwise redo one."""
        self._replace_question(self.history.undo_or_redo(self.question, back=back))

    def go_to_step(self, step: int) -> None:
        """Go to a step; a step before the current one has no hidden dims."""
        self.is_revealed, self._is_before_refusal = step < self.current_step, step < self.end_step
        if step < self.end_step:
            self.requested_step = max(0, step)
        elif not (self.answer and self.answer.problem):
            self.requested_step = None
        self.highlighted, self._last_typed = None, None

    def advance(self, direction: int) -> None:
        """Go to the previous step, or to the next step with a dim to predict.

        If the current step has hidden dims, these are revealed before the next step is shown.
        """
        if direction > 0 and self.must_predict_validity:
            self.predict_validity(None)
        elif direction > 0 and self._current_step_blanks:
            for blank in self._current_step_blanks:
                self.predictions.score_attempt(blank, is_right=False)
            self.is_revealed, self.highlighted, self._last_typed = True, None, None
        else:
            self.go_to_step(self._next_question_step(self.current_step + 1) if direction > 0 else self.current_step - 1)

    def _next_question_step(self, first: int) -> int:
        """Return the next step, from `first` on, with a dim to predict.

        Returns `first` if there is no such step.
        """
        question_steps = (
            self.predictions.cells[blank].step_index
            for blank in self.blanks
            if blank in self.predictions.blanks_to_predict
        )
        return min((step for step in question_steps if step >= first), default=first)

    def toggle_learning(self) -> None:
        """Turn learning mode off, or turn it on and go to the first step."""
        self.is_learning = not self.is_learning
        if self.is_learning:
            self._reset_predictions(self.predictions.scored_blanks)
            self.go_to_step(0)

    def start_learning_after(self, step: int) -> None:
        """Start learning mode after a step whose dims the user knows.

        If no later dim must be predicted, all steps are asked.
        """
        self.toggle_learning()
        self.predictions.is_valid = self.answer is not None and self.answer.problem is None
        self.go_to_step(step + 1)
        if self.blanks:
            self.go_to_step(self._next_question_step(step + 1))
        else:
            self._reset_predictions(self.predictions.scored_blanks)
            self.go_to_step(0)

    def _reset_predictions(self, scored_blanks: Collection[Blank] = ()) -> None:
        """Discard all predictions.

        Attempts at the dims in `scored_blanks` are not scored again.
        """
        self.is_revealed, self.predictions = False, Predictions(self.answer, self.score)
        self.predictions.scored_blanks |= {*scored_blanks}
        self._last_typed = None

    @property
    def must_predict_validity(self) -> bool:
        """Whether the user must first predict the validity of the request."""
        is_readable = self.result.answer is not None and bool(self.answer and self.answer.traces)
        return self.is_learning and is_readable and self.predictions.is_valid is None

    def predict_validity(self, is_valid: bool | None) -> None:
        """Record the predicted validity, and go to the first blank.

        If `is_valid` is None, the validity is revealed, and the attempt counts as wrong.
        """
        resolves = self.answer is not None and self.answer.problem is None
        self.predictions.score_attempt(VALIDITY_BLANK, is_right=is_valid is resolves)
        self.predictions.is_valid = resolves if is_valid is None else is_valid
        self.go_to_step(self._next_question_step(0))
        self._is_before_refusal = False

    @property
    def visible_answer(self) -> Trace | Chain | None:
        """The answer to draw. It has no steps while the app asks whether the request is valid."""
        return unresolved_trace(self.answer) if self.must_predict_validity and self.answer is not None else self.answer

    @property
    def shown_step_count(self) -> int:
        """The number of completed steps in the flow diagram."""
        return self.current_step + self.is_revealed

    @property
    def blanks(self) -> tuple[Blank, ...]:
        """The positions of the hidden dims in the flow diagram."""
        if not self.is_learning or self.is_complete or (self.answer is not None and self.answer.problem):
            return ()
        return self.predictions.blanks(self.shown_step_count)

    @property
    def is_answer_hidden(self) -> bool:
        """Whether the output or the refusal of the request is still hidden."""
        return self.must_predict_validity or any(map(self.predictions.is_in_output, self.blanks))

    @property
    def open_blanks(self) -> tuple[Blank, ...]:
        """The blanks that accept input: all blanks of the first column that has any."""
        questions = [blank for blank in self.blanks if blank in self.predictions.blanks_to_predict]
        return tuple(blank for blank in questions if blank[0] == questions[0][0])

    @property
    def current_blank(self) -> Blank | None:
        """The blank that receives typed characters, or None.

        This is the last edited blank, else the highlighted blank, else the first blank of the current step.
        """
        if not self.is_learning or self.is_complete or self.must_predict_validity:
            return None
        questions = () if self.is_revealed else self.predictions.blanks_at_step(self.current_step)
        if self._last_typed in self.predictions.blanks_to_predict:
            return self._last_typed
        return (
            self.highlighted
            if self.highlighted in self.open_blanks
            else next(iter((*self._current_step_blanks, *questions[-1:])), None)
        )

    @property
    def _current_step_blanks(self) -> tuple[Blank, ...]:
        """The positions of the hidden dims that the current step determines."""
        questions = () if self.is_revealed or not self.blanks else self.predictions.blanks_at_step(self.current_step)
        return tuple(blank for blank in questions if not self.predictions.is_right(blank))

    @property
    def mistake(self) -> Mistake | None:
        """The common mistake whose result is the predicted output, or None."""
        mine = self.predictions
        if (
            not self.is_learning
            or self.answer is None
            or not any(map(mine.is_wrong, filter(mine.is_in_output, mine.blanks_to_predict)))
        ):
            return None
        return _cached_mistake(self.answer, tuple(mine.predicted_output))

    @property
    def same_shape_mistake(self) -> Mistake | None:
        """A common mistake whose result has the right shape but wrong elements, or None."""
        return None if self.answer is None else _same_shape_mistake(self.answer)

    @property
    def is_awaiting_input(self) -> bool:
        """Whether there is a current blank without a correct entry."""
        return self.current_blank is not None and not self.predictions.is_right(self.current_blank)

    def is_accepted_char(self, char: str) -> bool:
        """Return whether the current prediction accepts a character."""
        if self.must_predict_validity:
            return char.lower() in VALIDITY_KEYS
        return self.current_blank is not None and char.isprintable()

    def type_char(self, char: str) -> None:
        """Type a character into the current blank.

        If the user must predict whether the request is valid, `y` means valid and `n` means refused.
        """
        if self.must_predict_validity:
            if char.lower() in VALIDITY_KEYS:
                self.predict_validity(VALIDITY_KEYS[char.lower()])
            return
        blank = self.current_blank
        if char != "\b" and blank is not None and self.predictions.is_right(blank) and self.open_blanks:
            self.submit_prediction()  # the next blank then receives the character
            blank = self.current_blank
        self._last_typed = blank
        if blank is not None:
            self.predictions.type_char(blank, char)

    def submit_prediction(self) -> None:
        """Continue if the prediction is correct, otherwise show another hint."""
        if self.current_blank is not None and self.is_awaiting_input:
            self.predictions.submit_entry(self.current_blank)
        elif self._current_step_blanks:
            self.toggle_highlight(None)
        elif not self.must_predict_validity:
            self.advance(1)

    def toggle_highlight(self, dim: Blank | None) -> None:
        """Highlight a dim of the flow diagram, or remove the highlight if it has one."""
        self.highlighted, self._last_typed = None if dim == self.highlighted else dim, None

    def highlight_neighbor(self, key: str) -> None:
        """Move the highlight to the adjacent dim in the direction of an arrow key."""
        if self.answer is None:
            return
        counts = [len(self.answer.input), *(len(layout.cells) for layout in stage_layouts(self.answer))]
        column, row = self.highlighted or self.current_blank or (0, -1)
        columns, rows = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}[key]
        column = max(0, min(column + columns, len(counts) - 1))
        if counts[column]:
            self._last_typed = None
            self.highlighted = column, max(0, min(row + rows, counts[column] - 1))

    @property
    def tinted_axis(self) -> int:
        """The input axis whose index determines the background colour of each element."""
        shape = self.answer.input if self.answer else ()
        if self._selected_tint_axis is not None and self._selected_tint_axis < len(shape):
            return self._selected_tint_axis
        return first_varying_axis(shape)

    def tint_next_axis(self) -> None:
        """Colour the elements by their index along the next axis of the input."""
        rank = len(self.answer.input) if self.answer else 0
        self._selected_tint_axis = (self.tinted_axis + 1) % rank if rank else None

    def move_cursor(self, key: str, tensor_index: int = 0) -> None:
        """Move the cursor in the direction of an arrow key.

        The cursor moves in the tensor at `tensor_index`; other copies of the same element are skipped. At the end of an
        axis, the cursor wraps around, and moves along the preceding axis.
        """
        if self.answer is None:
            return
        path = build_tensor_path(self.answer)
        cursor = self.cursor or (0,) * len(path.tensors[0].shape)
        start = path.indices_of(cursor)[tensor_index]
        if start is None:  # this tensor does not contain the element
            tensor_index, start = 0, cursor
        index = _next_index(start, path.tensors[tensor_index].shape, key)
        for _ in range(MAX_SKIPPED_COPIES):
            source = None if index is None else path.source_index(tensor_index, index)
            if isinstance(source, tuple) and source != cursor:
                self.cursor = source
            if index is None or self.cursor == source:
                return
            index = _next_index(index, path.tensors[tensor_index].shape, key)

    def type_index(self, char: str) -> None:
        """Append a character to the typed element index; a backspace deletes the last one.

        The cursor moves as soon as the text is the index of an element.
        """
        self.typed_index = self.typed_index[:-1] if char == "\b" else self.typed_index + char
        with suppress(ShapeError):
            self.cursor = parse_followed_index(self.question, self.typed_index)

    @property
    def fix(self) -> Fix | None:
        """The suggested fix of the request, or None.

        A valid request has a fix if it is valid for only one batch size.
        """
        return self.result.first_fix[1]

    def apply_fix(self) -> Question:
        """Return the question with the suggested fix applied."""
        (index, fix), answer = self.result.first_fix, self.result.answer
        if fix is None or answer is None:
            return self.question
        if self.question.is_chain:
            pieces = split_outside_brackets(self.question.texts["stages"], "|")
            pieces[index] = f" {stage_line(apply_fix(answer.traces[index].request, fix))} "
            return self.question.with_text("stages", "|".join(pieces).strip())
        if fix.name in self.question.fields:
            return self.question.with_text(fix.name, "" if fix.value is None else str(fix.value))
        return self.question.with_setting(fix.name, fix.value)

    def is_available(self, action: str) -> bool:
        """Return whether an action has an effect in the current state."""
        return action not in ACTION_CONDITIONS or ACTION_CONDITIONS[action](self)

    def unavailable_reason(self, action: str) -> str:
        """Return why an action has no effect in the current state, or "" if it has one."""
        if self.is_available(action) or action not in UNAVAILABLE_REASONS:
            return ""
        if self.question.is_chain and action in CHAIN_REASONS:
            return CHAIN_REASONS[action]
        if action in ("elements", "tint"):
            return elements_obstacle(self.answer)
        return (
            UNAVAILABLE_REASONS[action] if self.answer is not None or action in ANY_STATE_ACTIONS else NO_ANSWER_REASON
        )

    def is_offered(self, action: str) -> bool:
        """Return whether an action is available and does not reveal a hidden answer."""
        is_revealing = action in REVEALING_ACTIONS or (action == "film" and self.must_predict_validity)
        return self.is_available(action) and not (is_revealing and self.is_answer_hidden)


def _next_index(index: Index, shape: Sequence[int], key: str) -> Index | None:
    """Return the adjacent index in the direction of an arrow key.

    Returns None if there is no such index.

    >>> _next_index((0, 2), (2, 3), "right"), _next_index((1, 2), (2, 3), "right"), _next_index((0,), (3,), "up")
    ((1, 0), None, None)
    """
    axis_offset, direction = ARROW_MOVES[key]
    result = list(index)
    for axis in range(len(shape) + axis_offset, -1, -1):
        result[axis] += direction
        if 0 <= result[axis] < shape[axis]:
            return tuple(result)
        result[axis] %= shape[axis]
    return None


ACTION_CONDITIONS: dict[str, Callable[[ExploreState], bool]] = {
    "undo": lambda state: bool(state.history.past),
    "redo": lambda state: bool(state.history.future),
    **dict.fromkeys(
        ("step(1)", "go(-1)"), lambda state: state.current_step < state.end_step or state.must_predict_validity
    ),
    **dict.fromkeys(("step(-1)", "go(0)"), lambda state: state.current_step > 0),
    **dict.fromkeys(
        ("dim('up')", "dim('down')"), lambda state: bool(state.result.answer and state.result.answer.traces)
    ),
    "fix": lambda state: not state.must_predict_validity and state.fix is not None,
    "compare": lambda state: not state.question.is_chain and state.result.answer is not None,
    **dict.fromkeys(("equiv", "simplify"), lambda state: state.result.answer is not None),
    "cut": lambda state: state.answer is not None and can_cut(state.answer.input),
    **dict.fromkeys(("film", "save", "save_picture"), lambda state: state.answer is not None),
    **dict.fromkeys(("elements", "tint"), lambda state: not elements_obstacle(state.answer)),
    "mode": lambda state: bool(state.answer and state.answer.traces),
    "code": lambda state: state.answer is not None and state.answer.output is not None,
}
"""The condition under which each action is available.

Actions without a condition are always available.
"""
NO_ANSWER_REASON = "the request has no answer yet"
CHAIN_REASONS = {
    "compare": "frameworks are compared for one operation, not for a chain; / compares it with another chain"
}
"""Why an action is not available for a chain."""
ANY_STATE_ACTIONS = ("undo", "redo", "fix")
"""The actions whose reason does not depend on an answer."""
UNAVAILABLE_REASONS = {
    **dict.fromkeys(("step(1)", "go(-1)"), "this is after the last step: ← goes back, Home to the first step"),
    **dict.fromkeys(("step(-1)", "go(0)"), "this is the first step"),
    **dict.fromkeys(("dim('up')", "dim('down')"), NO_ANSWER_REASON),
    "undo": "nothing was changed yet",
    "redo": "nothing was undone",
    "fix": "no fix is suggested for this request",
    "compare": NO_ANSWER_REASON,
    "cut": "only a tensor with known sizes and few elements can be cut",
    "save_picture": NO_ANSWER_REASON,
    "film": NO_ANSWER_REASON,
    "save": NO_ANSWER_REASON,
    "equiv": NO_ANSWER_REASON,
    "simplify": NO_ANSWER_REASON,
    **dict.fromkeys(("elements", "tint"), NO_ANSWER_REASON),
    "mode": "there is no dim to predict",
    "code": "there is no tensor to compute",
}
"""Why an action is not available, keyed by action."""
REVEALING_ACTIONS = (
    "elements",
    "tint",
    "compare",
    "equiv",
    "simplify",
    "code",
    "save",
    "save_picture",
    "mistake",
    "cut",
)
"""The actions that reveal a hidden answer."""


def first_varying_axis(shape: Sequence[Dim]) -> int:
    """Return the first axis with several visible indices in a table of elements.

    The table has `VISIBLE_ROWS` rows. The last axis is horizontal, so all its indices are visible.

    >>> first_varying_axis((2, 3, 4)), first_varying_axis((1, 3, 4)), first_varying_axis((2, 128, 768))
    (0, 1, 1)
    """
    for axis, size in enumerate(shape[:-1]):
        rows = product(shape[axis + 1 : -1])
        if size != 1 and not (isinstance(rows, int) and rows >= VISIBLE_ROWS):
            return axis
    return max(0, len(shape) - 1)


def first_differing_step(before: Trace | Chain, after: Trace | Chain) -> int:
    """Return the index of the first step that differs in two answers.

    >>> import shapecalc as sc
    >>> copied, literal = (sc.reshape((0, 3), (0, -1), dialect="openvino", special_zero=on) for on in (True, False))
    >>> first_differing_step(copied, literal)
    0
    """
    for index, (ours, theirs) in enumerate(zip(before.steps, after.steps, strict=False)):
        if (ours.rule, ours.out, ours.value) != (theirs.rule, theirs.out, theirs.value):
            return index
    return min(len(before.steps), len(after.steps))
